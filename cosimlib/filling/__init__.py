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
    use_table,
)
from cosimlib.filling.schedule import FilledSchedule
from cosimlib.filling.simulation import simulate_filling

__all__ = [
    "Evidence",
    "FilledSchedule",
    "audit_filled",
    "cost_table",
    "efficiency",
    "efficiency_table",
    "full_queue",
    "held_table",
    "judge",
    "load_table",
    "node_seconds",
    "simulate_filling",
    "use_table",
]
