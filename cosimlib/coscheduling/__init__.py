"""Coscheduling: mates on coupled machines start together, after Tang et al. (2011).

`simulation` has the model and its event loop, `kernel` the scheduling pass and the turn of a job
with mates, `mates` the jobs that must start together, `schedule` what coscheduling costs, `audit`
what no schedule may break, `deadlock` one instant of a schedule and the smallest deadlock.
"""

from cosimlib.coscheduling.audit import audit_coupled
from cosimlib.coscheduling.deadlock import (
    MACHINES,
    circular_wait,
    deadlock_example,
    event_times,
)
from cosimlib.coscheduling.mates import (
    couple,
    couple_logs,
    mate_groups,
    mates_by_proportion,
    mates_by_proximity,
    read_mates,
)
from cosimlib.coscheduling.schedule import (
    BASE,
    IDEAL,
    CoupledSchedule,
    ideal_schedule,
    lost_node_hours,
    summarize_machines,
    sync_up_overhead,
)
from cosimlib.coscheduling.simulation import SCHEMES, compare_on, simulate_coscheduling

__all__ = [
    "BASE",
    "IDEAL",
    "MACHINES",
    "SCHEMES",
    "CoupledSchedule",
    "audit_coupled",
    "circular_wait",
    "compare_on",
    "couple",
    "couple_logs",
    "deadlock_example",
    "event_times",
    "ideal_schedule",
    "lost_node_hours",
    "mate_groups",
    "mates_by_proportion",
    "mates_by_proximity",
    "read_mates",
    "simulate_coscheduling",
    "summarize_machines",
    "sync_up_overhead",
]
