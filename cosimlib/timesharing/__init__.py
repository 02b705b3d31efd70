"""Time-sharing of nodes against batch scheduling (Hofmeyr et al., HPCC 2016).

- `simulate_timesharing`: jobs share nodes; a `TimesharedSchedule`, audited by `audit_timeshared`
- `simulate_batch`, `with_noise`: EASY in steps, under the same noise; a `SteppedSchedule`, audited
  by `audit_stepped`
- `draw_noise`, with `NOISE`, `SLOWEST`, `STEP`: nodes slowed for a step; `in_steps`
- `with_node_memory`: a log with what time-sharing needs
- `RunSummary`, `summarize_run`: a schedule of millions of jobs in a few hundred numbers
"""

from cosimlib.timesharing.audit import audit_stepped, audit_timeshared
from cosimlib.timesharing.batch import simulate_batch, with_node_memory, with_noise
from cosimlib.timesharing.kernel import NOISE, SLOWEST, STEP, draw_noise
from cosimlib.timesharing.schedule import (
    RunSummary,
    SteppedSchedule,
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
    "SteppedSchedule",
    "TimesharedSchedule",
    "audit_stepped",
    "audit_timeshared",
    "draw_noise",
    "in_steps",
    "simulate_batch",
    "simulate_timesharing",
    "summarize_run",
    "with_node_memory",
    "with_noise",
]
