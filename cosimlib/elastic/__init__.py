"""Elastic partitions: a host lends nodes to partitions and takes the least valued ones back.

The protocol

- `simulate_elastic`: elastic partitions on one hosting cluster; `ElasticSchedule`
- `draw_preemptions`: a Poisson process of preemptions
- `nodes_owned`: nodes per owner over time; `HOST` and `USER` own what no partition has

A single preemption, at any moment of a schedule

- `execution_states`: the moments; `preemption_values`, `occupants`: vectors and jobs on the nodes
- `prioritize`: priorities of jobs, by which PAP+ values nodes; `as_batch`: a log as one batch
- `preempted_jobs`: the jobs that a preemption touches
- `compare_choices`: how often policies agree, and how many nodes they have in common
- `wasted_cycles`: what it wastes; `drained`: how many jobs are killed, and what idles meanwhile
- `least_waste`: the least that any choice of nodes can waste, an exact optimum
"""

from cosimlib.elastic.audit import audit_elastic
from cosimlib.elastic.schedule import HOST, USER, ElasticSchedule, nodes_owned
from cosimlib.elastic.simulation import as_batch, draw_preemptions, simulate_elastic
from cosimlib.elastic.vectors import (
    GRACE_PERIODS,
    LONG_GRACE_PERIODS,
    POLICIES,
    PREEMPTED,
    SAMPLING_INTERVAL,
    SHORT_GRACE_PERIODS,
    Agreement,
    compare_choices,
    execution_states,
    occupants,
    preempted_jobs,
    preemption_values,
    prioritize,
)
from cosimlib.elastic.waste import drained, least_waste, wasted_cycles

__all__ = [
    "GRACE_PERIODS",
    "HOST",
    "LONG_GRACE_PERIODS",
    "POLICIES",
    "PREEMPTED",
    "SAMPLING_INTERVAL",
    "SHORT_GRACE_PERIODS",
    "USER",
    "Agreement",
    "ElasticSchedule",
    "as_batch",
    "audit_elastic",
    "compare_choices",
    "drained",
    "draw_preemptions",
    "execution_states",
    "least_waste",
    "nodes_owned",
    "occupants",
    "preempted_jobs",
    "preemption_values",
    "prioritize",
    "simulate_elastic",
    "wasted_cycles",
]
