"""Coscheduling: mates on coupled machines start together, after Tang et al. (2011).

`simulation` has the model, `mates` the jobs that must start together, `workloads` coupled machines,
`measures` what coscheduling costs, `comparison` schemes and knobs over seeds, `deadlock` and
`narrative` one instant of a schedule, `example` the smallest machines that can deadlock, `claims`
the paper's statements.
"""

from cosimlib.coscheduling.audit import audit_coupled
from cosimlib.coscheduling.claims import OF_MADE_UP_JOBS, Evidence, judge
from cosimlib.coscheduling.comparison import (
    BASE,
    SCHEMES,
    SUMMARIZED,
    averages,
    compare_knobs,
    compare_on,
    compare_schemes,
    in_letters,
    never_started,
    over_ideal,
    yield_minus_hold,
)
from cosimlib.coscheduling.deadlock import (
    circular_wait,
    event_times,
    find_deadlock,
    free_nodes,
    job_states,
)
from cosimlib.coscheduling.example import MACHINES, deadlock_example
from cosimlib.coscheduling.mates import (
    couple,
    mate_groups,
    mates_by_proportion,
    mates_by_proximity,
    read_mates,
)
from cosimlib.coscheduling.measures import (
    IDEAL,
    MEASURES,
    ideal_schedule,
    lost_node_hours,
    summarize_machines,
    sync_up_overhead,
)
from cosimlib.coscheduling.narrative import describe, job_names
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.coscheduling.simulation import simulate_coscheduling
from cosimlib.coscheduling.workloads import (
    PROPORTIONS,
    UTILIZATIONS,
    by_proportion,
    by_utilization,
    couple_logs,
    first_machine,
    month_of_intrepid,
)

__all__ = [
    "BASE",
    "IDEAL",
    "MACHINES",
    "MEASURES",
    "OF_MADE_UP_JOBS",
    "PROPORTIONS",
    "SCHEMES",
    "SUMMARIZED",
    "UTILIZATIONS",
    "CoupledSchedule",
    "Evidence",
    "audit_coupled",
    "averages",
    "by_proportion",
    "by_utilization",
    "circular_wait",
    "compare_knobs",
    "compare_on",
    "compare_schemes",
    "couple",
    "couple_logs",
    "deadlock_example",
    "describe",
    "event_times",
    "find_deadlock",
    "first_machine",
    "free_nodes",
    "ideal_schedule",
    "in_letters",
    "job_names",
    "job_states",
    "judge",
    "lost_node_hours",
    "mate_groups",
    "mates_by_proportion",
    "mates_by_proximity",
    "month_of_intrepid",
    "never_started",
    "over_ideal",
    "read_mates",
    "simulate_coscheduling",
    "summarize_machines",
    "sync_up_overhead",
    "yield_minus_hold",
]
