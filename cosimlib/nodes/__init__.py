"""Nodes that jobs share: cores, memory, GPUs and parts of GPUs, and where each job is placed.

- `place_jobs`: jobs come one by one and never leave; a `Placed`, with the allocated GPUs and the
  fragmentation after each job
- `simulate_nodes`: jobs queue for nodes, under FCFS, first fit, EASY or
  conservative backfilling; a `NodeSchedule`
- `PLACEMENTS`, `POLICIES`: the rules by which a node is chosen (`cosimlib.nodes.placement`), and
  those of the queue
- `resource_utilization`: the part of cores, memory and GPUs that jobs hold
- `idle_gpus`, `stranded_gpu_hours`: idle GPUs, fragments, and those that no waiting job can use
- `typical_requests`: the commonest requests, by which fragmentation is measured
"""

from cosimlib.nodes.placement import PLACEMENTS
from cosimlib.nodes.queue import POLICIES
from cosimlib.nodes.requests import typical_requests
from cosimlib.nodes.schedule import (
    NodeSchedule,
    idle_gpus,
    resource_utilization,
    stranded_gpu_hours,
)
from cosimlib.nodes.simulation import Placed, place_jobs, simulate_nodes

__all__ = [
    "PLACEMENTS",
    "POLICIES",
    "NodeSchedule",
    "Placed",
    "idle_gpus",
    "place_jobs",
    "resource_utilization",
    "simulate_nodes",
    "stranded_gpu_hours",
    "typical_requests",
]
