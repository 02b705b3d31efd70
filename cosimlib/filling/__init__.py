"""Filler containers: short jobs on the nodes that batch scheduling leaves idle."""

from cosimlib.filling.audit import audit_filled
from cosimlib.filling.claims import Evidence, judge
from cosimlib.filling.comparison import (
    cost_table,
    efficiency,
    efficiency_table,
    full_queue,
    held_table,
    load_table,
    node_seconds,
    paired_table,
    recorded_load,
    spread_table,
    use_table,
)
from cosimlib.filling.runs import (
    VARIANTS,
    container_costs,
    filled_jobs,
    reached_load,
    save_intervals,
    scheduler_variants,
)
from cosimlib.filling.saving import (
    save_table,
    saved_every,
    slots_between_kills,
    young_interval,
)
from cosimlib.filling.schedule import FilledSchedule
from cosimlib.filling.simulation import simulate_filling

__all__ = [
    "VARIANTS",
    "Evidence",
    "FilledSchedule",
    "audit_filled",
    "container_costs",
    "cost_table",
    "efficiency",
    "efficiency_table",
    "filled_jobs",
    "full_queue",
    "held_table",
    "judge",
    "load_table",
    "node_seconds",
    "paired_table",
    "reached_load",
    "recorded_load",
    "save_intervals",
    "save_table",
    "saved_every",
    "scheduler_variants",
    "simulate_filling",
    "slots_between_kills",
    "spread_table",
    "use_table",
    "young_interval",
]
