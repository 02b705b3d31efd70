"""Filler containers: short jobs on the nodes that batch scheduling leaves idle."""

from cosimlib.filling.audit import audit_filled
from cosimlib.filling.schedule import FilledSchedule
from cosimlib.filling.simulation import efficiency, node_seconds, simulate_filling

__all__ = ["FilledSchedule", "audit_filled", "efficiency", "node_seconds", "simulate_filling"]
