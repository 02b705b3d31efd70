"""Synthetic workloads: generators calibrated to published statistics, and users' estimates.

- Generators: `theta`, a year of Argonne's Theta, and `lublin`, the model of Lublin and Feitelson.
- Requested times: `with_estimates` (Tsafrir's model), `with_scaled_estimates`,
  `with_round_estimates`, `with_drawn_estimates`; and `with_missing_estimates`, which repairs logs.
- Load: `with_offered_load`.
- Logs drawn anew from a log: `resample`.
- On-demand work: `bursts`.

`cosimlab.twins` has generators of the machines in the reproduced papers.
"""

from cosimlib.synthetic.bursts import bursts
from cosimlib.synthetic.estimates import (
    with_drawn_estimates,
    with_estimates,
    with_missing_estimates,
    with_round_estimates,
    with_scaled_estimates,
)
from cosimlib.synthetic.loads import with_offered_load
from cosimlib.synthetic.lublin import lublin
from cosimlib.synthetic.resampling import resample
from cosimlib.synthetic.theta import theta

__all__ = [
    "bursts",
    "lublin",
    "resample",
    "theta",
    "with_drawn_estimates",
    "with_estimates",
    "with_missing_estimates",
    "with_offered_load",
    "with_round_estimates",
    "with_scaled_estimates",
]
