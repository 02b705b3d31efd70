"""Could a schedule have happened? `audit` raises where it could not."""

from cosimlib.audit.errors import InfeasibleScheduleError
from cosimlib.audit.schedules import audit

__all__ = ["InfeasibleScheduleError", "audit"]
