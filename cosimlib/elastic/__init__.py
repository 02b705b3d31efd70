"""Preempting nodes of a partition: what they are worth, and what taking them wastes."""

from cosimlib.elastic.audit import audit_elastic
from cosimlib.elastic.policies import POLICIES, generator, is_seconds, policy_number, priorities
from cosimlib.elastic.schedule import HOST, USER, ElasticSchedule
from cosimlib.elastic.sequences import (
    average_sweep,
    draw_preemptions,
    nodes_owned,
    sweep_preemptions,
)
from cosimlib.elastic.simulation import combine, simulate_elastic
from cosimlib.elastic.states import GRACE_PERIODS, PREEMPTED, execution_states
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
    medians,
    wasted_cycles,
)
from cosimlib.elastic.workloads import as_batch, describe, priority_classes

__all__ = [
    "GRACE_PERIODS",
    "HOST",
    "POLICIES",
    "PREEMPTED",
    "USER",
    "Comparison",
    "ElasticSchedule",
    "as_batch",
    "audit_elastic",
    "average_sweep",
    "combine",
    "compare_policies",
    "cumulative_waste",
    "describe",
    "draw_preemptions",
    "execution_states",
    "generator",
    "is_seconds",
    "medians",
    "nodes_owned",
    "occupants",
    "policy_number",
    "preempted_jobs",
    "preemption_values",
    "priorities",
    "prioritize",
    "priority_classes",
    "same_choice",
    "simulate_elastic",
    "sweep_preemptions",
    "wasted_cycles",
]
