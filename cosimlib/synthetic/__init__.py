"""Workloads made from a seed and printed statistics, for where no trace may or can be had."""

from cosimlib.synthetic.coupled import eureka, intrepid, packed, with_estimates
from cosimlib.synthetic.htc import htc
from cosimlib.synthetic.peregrine import peregrine
from cosimlib.synthetic.theta import theta

__all__ = ["eureka", "htc", "intrepid", "packed", "peregrine", "theta", "with_estimates"]
