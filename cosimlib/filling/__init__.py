"""Filler containers: short jobs on the nodes that batch scheduling leaves idle."""

from cosimlib.filling.simulation import FilledSchedule, efficiency, node_seconds, simulate_filling

__all__ = ["FilledSchedule", "efficiency", "node_seconds", "simulate_filling"]
