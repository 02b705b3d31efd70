"""Could it have happened? Schedules, checked against what no system could have followed."""

from cosimlib.audit.failing import InfeasibleScheduleError
from cosimlib.audit.schedules import audit

__all__ = ["InfeasibleScheduleError", "audit"]
