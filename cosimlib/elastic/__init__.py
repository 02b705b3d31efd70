"""Elastic partitions: a host lends nodes to partitions and takes the least valued ones back.

The protocol

- `simulate_elastic`: elastic partitions on one hosting cluster; `ElasticSchedule`
- `draw_preemptions`: a Poisson process of preemptions
- `HOST` and `USER` own the nodes that no partition has

A single preemption, at any moment of a schedule

- `execution_states`: the moments; `preemption_values`, `occupants`: vectors and jobs on the nodes
- `prioritize`: priorities of jobs, by which PAP+ values nodes
- `preempted_jobs`: the jobs that a preemption touches
- `wasted_cycles`: what it wastes; `taken_nodes`: the nodes that it takes; `taken_jobs`: their jobs
- `least_waste`: the least that any choice of nodes can waste, an exact optimum
"""

from cosimlib.elastic.audit import audit_elastic
from cosimlib.elastic.schedule import HOST, USER, ElasticSchedule
from cosimlib.elastic.simulation import draw_preemptions, simulate_elastic
from cosimlib.elastic.vectors import (
    GRACE_PERIODS,
    POLICIES,
    PREEMPTED,
    SAMPLING_INTERVAL,
    execution_states,
    occupants,
    preempted_jobs,
    preemption_values,
    prioritize,
)
from cosimlib.elastic.waste import least_waste, taken_jobs, taken_nodes, wasted_cycles

__all__ = [
    "GRACE_PERIODS",
    "HOST",
    "POLICIES",
    "PREEMPTED",
    "SAMPLING_INTERVAL",
    "USER",
    "ElasticSchedule",
    "audit_elastic",
    "draw_preemptions",
    "execution_states",
    "least_waste",
    "occupants",
    "preempted_jobs",
    "preemption_values",
    "prioritize",
    "simulate_elastic",
    "taken_jobs",
    "taken_nodes",
    "wasted_cycles",
]
