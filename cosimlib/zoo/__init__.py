"""Zoo of policies: every registered policy on every log that is on this machine, with intervals.

Each log is drawn anew several times (`synthetic.resample`, by weeks), each policy schedules the
same logs, every schedule is audited. What is compared is paired: a policy's number divided by that
of EASY on the same log drawn. A policy of one's own joins by ``cs.register("mine", simulator)``,
or on the command line by a file of Python that registers it::

    make zoo POLICY=mine.py

- `run_zoo`: one row per log, policy and replicate, computed by `sweep`
- `standing`: each policy's numbers per log, with intervals, beside those of EASY
- `page`: what ``make zoo`` writes, as Markdown
- `zoo_logs`: the known traces that are here, as policies can schedule them
- `semantics`: what a policy does, in one line
"""

from cosimlib.zoo.page import page, semantics
from cosimlib.zoo.runs import MEASURES, run_zoo, zoo_logs
from cosimlib.zoo.standing import standing

__all__ = ["MEASURES", "page", "run_zoo", "semantics", "standing", "zoo_logs"]
