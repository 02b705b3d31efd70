"""Comparison of policies on one log, with intervals: the log and logs drawn anew from it.

A log is one sample of what its users do, and the mean of a skewed metric over one sample says
little. `compare` simulates each policy on the log and on logs drawn anew from it
(`synthetic.resample`), all policies on the same ones, so that differences and ratios are paired.

An interval is from the 2.5th to the 97.5th percentile over the logs drawn: where a log of this
length, of the same users and weeks, has its value. Where the interval of a difference has 0 in it,
another such log may rank the two policies in the other order: *this log cannot tell*.

Measured on the Lublin-Feitelson model, of which logs can be drawn without end, 100 logs of 10 weeks
under EASY and EASY (sjbf) (``python -m tests.comparison.coverage``): the interval of a policy's
mean wait or mean bounded slowdown covers the model's expected value in 92 to 95 % of the logs. That
of the ratio of two policies covers it in all, for it is as wide as single logs scatter: 95 % of
them have their ratio in it. So a verdict may be missed, but is rarely wrong. A log of few weeks
knows little of how weeks differ: of 5 weeks the interval of a policy's mean covers in 83 to 87 %,
that of a ratio in all, and 90 % of single logs have their ratio in it. Below 8 weeks the note says
so.

- `compare`: policies side by side; `Comparison`
- `MEASURES`: the metrics by name
- `compare_where_possible`: the same of a log that may be too short, in words then
"""

from cosimlib.comparison.intervals import Comparison
from cosimlib.comparison.measures import MEASURES
from cosimlib.comparison.run import compare, compare_where_possible

__all__ = ["MEASURES", "Comparison", "compare", "compare_where_possible"]
