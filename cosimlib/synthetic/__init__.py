"""Synthetic workloads: generators calibrated to published statistics, and users' estimates.

- Generators are named by their machine or model: `theta`, `edison` (and its `Assumptions`),
  `intrepid` and `eureka`, `lomonosov`, `htc`, `peregrine`, `lublin`; of the last but one
  `shuffled_copies`, `bigmem_jobs`.
- Requested times: `with_estimates` (Tsafrir's model), `with_scaled_estimates`,
  `with_round_estimates`, `with_drawn_estimates`; and `with_missing_estimates`, which repairs logs.
- Load: `with_offered_load`.
- Logs drawn anew from a log: `resample`.
- On-demand work: `bursts`.
"""

from cosimlib.synthetic.assumptions import Assumptions
from cosimlib.synthetic.bursts import bursts
from cosimlib.synthetic.edison import EDISON, edison
from cosimlib.synthetic.estimates import (
    with_drawn_estimates,
    with_estimates,
    with_missing_estimates,
    with_round_estimates,
    with_scaled_estimates,
)
from cosimlib.synthetic.htc import htc, shuffled_copies
from cosimlib.synthetic.intrepid import eureka, intrepid, with_offered_load
from cosimlib.synthetic.lomonosov import lomonosov
from cosimlib.synthetic.lublin import lublin
from cosimlib.synthetic.peregrine import bigmem_jobs, peregrine
from cosimlib.synthetic.resampling import resample
from cosimlib.synthetic.theta import theta

__all__ = [
    "EDISON",
    "Assumptions",
    "bigmem_jobs",
    "bursts",
    "edison",
    "eureka",
    "htc",
    "intrepid",
    "lomonosov",
    "lublin",
    "peregrine",
    "resample",
    "shuffled_copies",
    "theta",
    "with_drawn_estimates",
    "with_estimates",
    "with_missing_estimates",
    "with_offered_load",
    "with_round_estimates",
    "with_scaled_estimates",
]
