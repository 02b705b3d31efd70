"""Workbench of cosimlib: what one asks about logs and policies, and what one looks at.

`cosimlib` simulates and solves; this package compares, forecasts, reports, advises and draws. Names
are loaded when they are first used::

    import cosimlab as lab
    import cosimlib as cs

    log = cs.prepare_workload("KTH-SP2")
    lab.compare(log, ["EASY", "conservative"])
    lab.report("my.log")

Ask

- `report`: a report on a log, as sentences, tables and one page
- `compare`: policies on a log and on new logs drawn from it, with intervals
- `what_if`: other nodes, limits or jobs, from what the log recorded, with an interval
- `compare_solvers`: eviction solvers at full moments of a log, with intervals
- `identify`: which rule made a schedule, with the few jobs that show where it is another
- `sweep`: table of a function's results on a grid of arguments and seeds, in parallel
- `forecast`: start times of waiting jobs and of a new job, with intervals
- `backtest`: how often such forecasts are right on a log's own past
- `predict`: predicted run times, from requests, the user's last two jobs, or similar jobs
- `advise`: jobs of a live Slurm to stop, to free nodes by a deadline
- `drain_or_evict`: node-hours that maintenance costs, by the hours of notice
- `closures`: windows in which a log's machine seems to have been closed
- `convert`: a log in another format (SWF, Batsim's JSON, CSV, parquet), and what is lost

Explorers: widgets for a notebook

- `explore_advise`: advice on a saved queue
- `explore_batch`: batch policies
- `explore_coscheduling`: hold and yield on coupled machines
- `explore_elastic`: preemption policies
- `explore_eviction`: nodes, deadline and loss
- `explore_filling`: filler containers
- `explore_ondemand`: on-demand bursts on a batch machine
- `explore_timesharing`: shares of nodes
- `explore_what_if`: another machine, by a log's own record

Rooms

- `comparison`: intervals of metrics, paired differences and ratios of policies
- `figures`: plotly figures, `plot_*`, and `Publisher`
- `forecasting`: futures of a queue
- `gym`: batch scheduling as an environment of Gymnasium
- `slurm`: your own Slurm, read from its files, and what would change
- `testing`: the laws of scheduling and eviction, checked on your own policy or solver
- `twins`: synthetic twins of the machines in the reproduced papers
- `whatif`: why jobs waited, and replays of a record on another machine
"""

import lazy_loader

from cosimlab.interrupts import expect_interrupts
from cosimlib import __version__ as __version__

expect_interrupts()
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
