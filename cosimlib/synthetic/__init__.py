"""Workloads made from a seed and printed statistics, for where no trace may or can be had."""

from cosimlib.synthetic.coupled import eureka, intrepid, packed, with_estimates
from cosimlib.synthetic.theta import theta

__all__ = ["eureka", "intrepid", "packed", "theta", "with_estimates"]
