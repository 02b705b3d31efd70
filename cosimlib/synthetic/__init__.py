"""Workloads made from a seed and printed statistics, for where no trace may or can be had."""

from cosimlib.synthetic.htc import htc
from cosimlib.synthetic.peregrine import peregrine
from cosimlib.synthetic.theta import theta

__all__ = ["htc", "peregrine", "theta"]
