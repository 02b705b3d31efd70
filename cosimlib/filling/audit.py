"""Audit of filled machines: containers run on idle nodes only, and only while there are jobs."""

from cosimlib.audit import audit_rule, check_capacity, check_times
from cosimlib.filling.schedule import FilledSchedule


@audit_rule.register
def audit_filled(schedule: FilledSchedule) -> None:
    """Raise where a schedule with containers could not have happened.

    As of any schedule, and: containers hold idle nodes only.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job or the time and the nodes.
    """
    check_times(schedule)
    check_capacity(schedule)
