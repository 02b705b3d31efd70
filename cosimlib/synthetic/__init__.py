"""Synthetic workloads: generators calibrated to published statistics, and users' estimates."""

from cosimlib.synthetic.edison import EDISON, edison
from cosimlib.synthetic.estimates import (
    estimate_shares,
    with_drawn_estimates,
    with_estimates,
    with_round_estimates,
    with_scaled_estimates,
)
from cosimlib.synthetic.htc import htc
from cosimlib.synthetic.intrepid import eureka, intrepid, with_offered_load
from cosimlib.synthetic.lomonosov import lomonosov
from cosimlib.synthetic.lublin import lublin
from cosimlib.synthetic.peregrine import peregrine
from cosimlib.synthetic.theta import theta

__all__ = [
    "EDISON",
    "edison",
    "estimate_shares",
    "eureka",
    "htc",
    "intrepid",
    "lomonosov",
    "lublin",
    "peregrine",
    "theta",
    "with_drawn_estimates",
    "with_estimates",
    "with_offered_load",
    "with_round_estimates",
    "with_scaled_estimates",
]
