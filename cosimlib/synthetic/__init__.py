"""Workloads made from a seed and printed statistics, for where no trace may or can be had."""

from cosimlib.synthetic.theta import theta

__all__ = ["theta"]
