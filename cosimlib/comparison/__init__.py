"""Comparison of policies on one log, with intervals: the log and logs drawn anew from it.

A log is one sample of what its users do, and the mean of a skewed metric over one sample says
little. `compare` simulates each policy on the log and on logs drawn anew from it
(`synthetic.resample`), all policies on the same ones, so that differences and ratios are paired.

An interval is from the 2.5th to the 97.5th percentile over the logs drawn, widened upwards by the
number of weeks (`intervals.widen`). It is meant to hold the value of the long run, of a log of the
same users without end, in 95 % of logs. Where the interval of a difference has 0 in it, another
such log may rank the two policies in the other order: *this log cannot tell*.

Measured on three workloads of which logs can be drawn without end, logs of 10 and 12 weeks
(``python -m tests.comparison.coverage``, docs/intervals.md): where weeks are independent 98 to
100 % of the intervals hold the value of the long run, where busy weeks follow busy ones 93 to 97 %.
Plain percentiles do in 83 to 95 and in 55 to 73 %.

- `compare`: policies side by side; `Comparison`
- `MEASURES`: the metrics by name
- `compare_where_possible`: the same of a log that may be too short, in words then
- `drain_or_evict`, `mean_costs`: the node-hours that windows of a calendar cost, by their notice
"""

from cosimlib.comparison.draining import drain_or_evict, mean_costs
from cosimlib.comparison.intervals import Comparison
from cosimlib.comparison.measures import MEASURES
from cosimlib.comparison.run import compare, compare_where_possible

__all__ = [
    "MEASURES",
    "Comparison",
    "compare",
    "compare_where_possible",
    "drain_or_evict",
    "mean_costs",
]
