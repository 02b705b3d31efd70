"""Mates on coupled machines start together: each machine holds or yields until they can."""

from cosimlib.coscheduling.audit import audit_coupled
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.coscheduling.simulation import simulate_coscheduling

__all__ = ["CoupledSchedule", "audit_coupled", "simulate_coscheduling"]
