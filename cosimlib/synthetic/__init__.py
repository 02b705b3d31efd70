"""Workloads made from a seed and printed statistics, for where no trace may or can be had."""

from cosimlib.synthetic.estimates import estimate_shares, with_estimates
from cosimlib.synthetic.lomonosov import lomonosov
from cosimlib.synthetic.lublin import lublin
from cosimlib.synthetic.theta import theta

__all__ = ["estimate_shares", "lomonosov", "lublin", "theta", "with_estimates"]
