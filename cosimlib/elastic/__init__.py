"""Elastic partitions: a host lends nodes to partitions, and preempts the least valued of them.

The protocol

- `simulate_elastic`: elastic partitions on one hosting cluster; `ElasticSchedule`
- `draw_preemptions`: a Poisson process of preemptions
- `sweep_preemptions`, `average_sweep`: what sequences of preemptions cost, over their parameters
- `nodes_owned`: nodes per owner over time; `HOST` and `USER` own what no partition has

A single preemption, at any moment of a schedule

- `execution_states`: the moments; `preemption_values`, `occupants`: vectors and jobs on the nodes
- `preempted_jobs`, `same_choice`: the jobs that a preemption touches; whether policies agree
- `wasted_cycles`, `compare_policies`: what it wastes, by policy and grace period
- `medians`, `difference`: medians of that, and how far two policies are apart
- `cumulative_waste`, `final_waste`, `priority_change`: the same by priority of the jobs

Workloads

- `as_batch`, `describe`: a log as one batch; Table 1 of the paper
- `prioritize`, `priority_classes`: priorities, and classes of jobs to give them to

Claims of the paper

- `judge`: verdicts, by `Evidence`, of which a `Reading` is the part about single preemptions
- `compare_readings`, `compare_sizes`: the numbers behind claims 1 to 4, side by side
"""

from cosimlib.elastic.audit import audit_elastic
from cosimlib.elastic.claims import Evidence, Reading, compare_readings, compare_sizes, judge
from cosimlib.elastic.policies import POLICIES
from cosimlib.elastic.schedule import HOST, USER, ElasticSchedule
from cosimlib.elastic.sequences import (
    average_sweep,
    draw_preemptions,
    nodes_owned,
    sweep_preemptions,
)
from cosimlib.elastic.simulation import simulate_elastic
from cosimlib.elastic.states import (
    GRACE_PERIODS,
    LONG_GRACE_PERIODS,
    PREEMPTED,
    SAMPLING_INTERVAL,
    SHORT_GRACE_PERIODS,
    execution_states,
)
from cosimlib.elastic.vectors import (
    occupants,
    preempted_jobs,
    preemption_values,
    prioritize,
    same_choice,
)
from cosimlib.elastic.waste import (
    Comparison,
    compare_policies,
    cumulative_waste,
    difference,
    final_waste,
    medians,
    priority_change,
    wasted_cycles,
)
from cosimlib.elastic.workloads import as_batch, describe, priority_classes

__all__ = [
    "GRACE_PERIODS",
    "HOST",
    "LONG_GRACE_PERIODS",
    "POLICIES",
    "PREEMPTED",
    "SAMPLING_INTERVAL",
    "SHORT_GRACE_PERIODS",
    "USER",
    "Comparison",
    "ElasticSchedule",
    "Evidence",
    "Reading",
    "as_batch",
    "audit_elastic",
    "average_sweep",
    "compare_policies",
    "compare_readings",
    "compare_sizes",
    "cumulative_waste",
    "describe",
    "difference",
    "draw_preemptions",
    "execution_states",
    "final_waste",
    "judge",
    "medians",
    "nodes_owned",
    "occupants",
    "preempted_jobs",
    "preemption_values",
    "prioritize",
    "priority_change",
    "priority_classes",
    "same_choice",
    "simulate_elastic",
    "sweep_preemptions",
    "wasted_cycles",
]
