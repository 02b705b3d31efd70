"""Time-sharing of nodes (Hofmeyr et al., HPCC 2016).

- `simulate_timesharing`: jobs share nodes; a `TimesharedSchedule`, audited by `audit_timeshared`
- `draw_noise`, with `NOISE`, `SLOWEST`, `STEP`: nodes slowed for a step; `in_steps`
- `RunSummary`, `summarize_run`: a schedule of millions of jobs in a few hundred numbers
"""

from cosimlib.timesharing.audit import audit_timeshared
from cosimlib.timesharing.kernel import NOISE, SLOWEST, STEP, draw_noise
from cosimlib.timesharing.schedule import (
    RunSummary,
    TimesharedSchedule,
    summarize_run,
)
from cosimlib.timesharing.simulation import (
    in_steps,
    simulate_timesharing,
)

__all__ = [
    "NOISE",
    "SLOWEST",
    "STEP",
    "RunSummary",
    "TimesharedSchedule",
    "audit_timeshared",
    "draw_noise",
    "in_steps",
    "simulate_timesharing",
    "summarize_run",
]
