"""Report on a job log: what an operator asks about a machine, on one page.

- `report`: sentences, tables and one page of a log; `Report`, of which each part is a `Section`
- `open_log`: a log prepared for the sections; `Log`; `example_log`: a small synthetic log

Sections, one call each: `log_section`, `waits_section`, `starts_section`, `policies_section`,
`bursts_section`, `fillers_section`, `lending_section`, `timesharing_section`; `limits_section`,
`months_section`, `outcomes_section`, `requests_section`, which are None where the log cannot tell;
`change_section`.
The modules of this room compute what they show:

- `log`: the account and the machine as tables, intervals over logs whose weeks are drawn anew
- `waits`: weeks; waits by size, user, queue, …; waits while enough nodes were idle; how well
  starts can be forecast
- `limits`: users, groups, queues and partitions that a limit makes wait
- `policies`: batch policies on the log's jobs, beside the recorded waits
- `nodes`: nodes for a burst, and what they cost; fillers, and nodes to lend
- `history`: months, outcomes, requests, before and after a date
- `overview`: the first screen: tiles, the picture, `changes` by a replay of the record
- `page`: charts and tables of the page; `command`: the report, and ``cosim-report``
"""

from cosimlab.report.command import Report as Report
from cosimlab.report.command import report as report
from cosimlab.report.history import change_section as change_section
from cosimlab.report.history import months_section as months_section
from cosimlab.report.history import outcomes_section as outcomes_section
from cosimlab.report.history import requests_section as requests_section
from cosimlab.report.limits import limits_section as limits_section
from cosimlab.report.log import Log as Log
from cosimlab.report.log import example_log as example_log
from cosimlab.report.log import open_log as open_log
from cosimlab.report.nodes import bursts_section as bursts_section
from cosimlab.report.nodes import fillers_section as fillers_section
from cosimlab.report.nodes import lending_section as lending_section
from cosimlab.report.page import Section as Section
from cosimlab.report.policies import policies_section as policies_section
from cosimlab.report.policies import timesharing_section as timesharing_section
from cosimlab.report.waits import log_section as log_section
from cosimlab.report.waits import starts_section as starts_section
from cosimlab.report.waits import waits_section as waits_section
