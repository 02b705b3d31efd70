"""Preempting nodes of a partition: what they are worth, and what taking them wastes."""

from cosimlib.kernels.valuing import POLICIES
from cosimlib.preemption.auditing import audit_elastic
from cosimlib.preemption.sequences import draw_preemptions, sweep_preemptions
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
    "audit_elastic",
    "compare_policies",
    "cumulative_waste",
    "draw_preemptions",
    "execution_states",
    "occupants",
    "preempted_jobs",
    "preemption_values",
    "prioritize",
    "same_choice",
    "sweep_preemptions",
    "wasted_cycles",
]
