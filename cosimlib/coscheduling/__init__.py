"""Mates on coupled machines start together: each machine holds or yields until they can."""

from cosimlib.coscheduling.simulation import simulate_coscheduling

__all__ = ["simulate_coscheduling"]
