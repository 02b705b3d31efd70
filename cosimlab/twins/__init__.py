"""Synthetic twins of machines: workloads with the published statistics of logs that are not public.

- `edison` (and its `Assumptions`): jobs of NERSC's Edison that share nodes, of time-sharing
- `lomonosov`: jobs of Moscow's Lomonosov, of filler containers
- `peregrine` (and `bigmem_jobs`): jobs of NREL's Peregrine, of elastic partitions
"""

from cosimlab.twins.assumptions import Assumptions
from cosimlab.twins.edison import EDISON, edison
from cosimlab.twins.lomonosov import lomonosov
from cosimlab.twins.peregrine import bigmem_jobs, peregrine

__all__ = ["EDISON", "Assumptions", "bigmem_jobs", "edison", "lomonosov", "peregrine"]
