"""Comparison of policies on one log, with intervals: the log and logs drawn anew from it.

A log is one sample of what its users do, and the mean of a skewed metric over one sample says
little. `compare` simulates each policy on the log and on new logs drawn from it
(`synthetic.resample`). All policies get the same logs, so differences and ratios are paired.

The ends of an interval are the values of two of the logs drawn, 2.5 % of them outside at each end,
after widening by the number of weeks (`intervals.widen`). It always includes the log's own value.
It should contain the long-run value (of an endless log of the same users) for 95 % of logs. If the
interval of a difference contains 0, another such log may rank the two policies in the other order:
*this log cannot tell*. Below six whole weeks there is no interval.

This was measured on five endless synthetic workloads, with 500 logs of 7 and of 12 weeks each
(``python -m tests.cosimlab.comparison.coverage``, docs/intervals.md). Ratios are covered in 96 to
99 %, on busy weeks in 87 and 88 %; mean waits in 91 to 100 %, but in 75 to 81 % where single
sessions of users carry much of the load. Nearly all misses are intervals that lie below the truth.

- `compare`: policies side by side; `Comparison`
- `MEASURES`: the metrics by name
- `compare_ondemand`: on-demand policies on streams of bursts, over seeds
- `compare_where_possible`: the same, or the reason why the log is too short
- `compare_solvers`, `SolverComparison`: eviction solvers at full moments of a log
- `drain_or_evict`, `mean_costs`: node-hours that windows of a calendar cost, by their notice
"""

from cosimlab.comparison.draining import drain_or_evict, mean_costs
from cosimlab.comparison.intervals import MEASURES, Comparison
from cosimlab.comparison.ondemand import compare_ondemand
from cosimlab.comparison.run import compare, compare_where_possible
from cosimlab.comparison.solvers import SolverComparison, compare_solvers

__all__ = [
    "MEASURES",
    "Comparison",
    "SolverComparison",
    "compare",
    "compare_ondemand",
    "compare_solvers",
    "compare_where_possible",
    "drain_or_evict",
    "mean_costs",
]
