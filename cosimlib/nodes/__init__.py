"""Nodes that jobs share: cores, memory, GPUs and parts of GPUs, and where each job is placed.

- `place_jobs`: jobs come one by one and never leave; a `Placed`, with curves of allocated GPUs and
  of fragmentation
- `PLACEMENTS`: the rules by which a node is chosen (`cosimlib.nodes.placement`)
- `typical_requests`: the commonest requests, by which fragmentation is measured
"""

from cosimlib.nodes.arrivals import Placed, place_jobs
from cosimlib.nodes.placement import PLACEMENTS
from cosimlib.nodes.requests import typical_requests

__all__ = ["PLACEMENTS", "Placed", "place_jobs", "typical_requests"]
