"""Audit of coupled machines: stretches of holding, and mates that start together."""

import numpy as np
import pandas as pd

from cosimlib.audit import InfeasibleScheduleError, audit_rule, check_capacity, check_times
from cosimlib.coscheduling.schedule import CoupledSchedule


@audit_rule.register
def audit_coupled(schedule: CoupledSchedule) -> None:
    """Raise where a schedule of coupled machines could not have happened.

    As of any schedule, and: nodes that are held idle count as busy, a job holds between its
    submission and its start and never longer than a release allows, and all jobs of a group start
    at one instant, or else the machine of the later one was down when the earlier one started.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, or the time and the nodes.
    """
    check_times(schedule)
    _check_holds(schedule)
    _check_groups(schedule)
    check_capacity(schedule)


def _check_holds(schedule: CoupledSchedule) -> None:
    """Raise for the first stretch of holding that is too early, too late or too long."""
    holds = schedule.holds
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()[holds["job"].to_numpy()]
    start_time = schedule.start_time[holds["job"].to_numpy()]
    begin, end = holds["start"].to_numpy(), holds["end"].to_numpy()
    allowed = (submit_time <= begin) & (begin < end) & (end <= start_time)
    wrong = ~(allowed & (end - begin <= schedule.longest_hold))
    if wrong.any():
        stretch = int(wrong.argmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(holds['job'][stretch])} holds from "
            f"t={begin[stretch]:.15g} to t={end[stretch]:.15g}; it was submitted at "
            f"t={submit_time[stretch]:.15g}, starts at t={start_time[stretch]:.15g} and may hold "
            f"for {schedule.longest_hold:.15g} s"
        )


def _check_groups(schedule: CoupledSchedule) -> None:
    """Raise for the first job that starts after a mate that could have known of it."""
    grouped = np.flatnonzero(schedule.group >= 0)
    table = pd.DataFrame(
        {
            "group": schedule.group[grouped],
            "start": schedule.start_time[grouped],
            "partition": schedule.partition.to_numpy()[grouped],
        },
        index=grouped,
    )
    first = table.groupby("group")["start"].transform("min")
    for job in table.index[table["start"] != first]:
        heard = not any(
            partition == table["partition"][job] and begin <= first[job] < end
            for partition, begin, end in schedule.outages
        )
        if heard:
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {schedule.workload.label(job)} starts at "
                f"t={table['start'][job]:.15g}, a mate of it at t={first[job]:.15g}; mates start "
                "at one instant"
            )
