"""Preempting nodes of a partition: what they are worth, and what taking them wastes."""

from cosimlib.kernels.valuing import POLICIES
from cosimlib.preemption.auditing import audit_elastic
from cosimlib.preemption.batches import as_batch, describe
from cosimlib.preemption.classes import priority_classes
from cosimlib.preemption.comparing import medians
from cosimlib.preemption.sequences import (
    average_sweep,
    draw_preemptions,
    nodes_owned,
    sweep_preemptions,
)
from cosimlib.preemption.states import GRACE_PERIODS, PREEMPTED, execution_states
from cosimlib.preemption.vectors import (
    occupants,
    preempted_jobs,
    preemption_values,
    prioritize,
    same_choice,
)
from cosimlib.preemption.wasting import (
    Comparison,
    compare_policies,
    cumulative_waste,
    wasted_cycles,
)

__all__ = [
    "GRACE_PERIODS",
    "POLICIES",
    "PREEMPTED",
    "Comparison",
    "as_batch",
    "audit_elastic",
    "average_sweep",
    "compare_policies",
    "cumulative_waste",
    "describe",
    "draw_preemptions",
    "execution_states",
    "medians",
    "nodes_owned",
    "occupants",
    "preempted_jobs",
    "preemption_values",
    "prioritize",
    "priority_classes",
    "same_choice",
    "sweep_preemptions",
    "wasted_cycles",
]
