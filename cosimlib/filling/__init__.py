"""Filler containers: short jobs on the nodes that batch scheduling leaves idle."""

from cosimlib.filling.audit import audit_filled
from cosimlib.filling.schedule import FilledSchedule
from cosimlib.filling.simulation import FILLING_POLICIES, simulate_filling
from cosimlib.filling.usage import (
    efficiency,
    full_queue,
    held_table,
    node_seconds,
    saved_every,
    slots_between_kills,
    use_table,
    young_interval,
)

__all__ = [
    "FILLING_POLICIES",
    "FilledSchedule",
    "audit_filled",
    "efficiency",
    "full_queue",
    "held_table",
    "node_seconds",
    "saved_every",
    "simulate_filling",
    "slots_between_kills",
    "use_table",
    "young_interval",
]
