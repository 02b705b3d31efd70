"""Audit of coupled machines: intervals of holding, and mates that start together."""

from typing import NoReturn

import numpy as np

from cosimlib.audit import (
    InfeasibleScheduleError,
    audit_rule,
    check_capacity,
    check_columns,
    check_times,
)
from cosimlib.coscheduling.mates import mate_groups
from cosimlib.coscheduling.schedule import CoupledSchedule


@audit_rule.register
def audit_coupled(schedule: CoupledSchedule) -> None:
    """Raise where a schedule of coupled machines could not have happened.

    The rules of any schedule apply, and nodes held idle count as busy. Jobs hold and yield between
    their submission and their start. Only a job with mates holds, one interval at a time and none
    longer than a release allows. Groups are those of the workload's mates, or no job has one. All
    jobs of a group start at one instant, unless the machine of the later one was down when the
    earlier one started.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, or the time and the nodes.
    """
    check_columns(schedule, group="whole number", first_try="number", yields="whole number")
    _check_held_jobs(schedule)
    check_times(schedule)
    _check_groups(schedule)
    _check_tries(schedule)
    _check_holds(schedule)
    _check_starts(schedule)
    check_capacity(schedule)


def _check_held_jobs(schedule: CoupledSchedule) -> None:
    """Raise where holds are no numbers, and for one whose job is no row of the workload."""
    for name, kinds in (("job", "iu"), ("start", "fiu"), ("end", "fiu")):
        dtype = schedule.holds[name].dtype
        if dtype.kind not in kinds:
            raise InfeasibleScheduleError(
                f"{schedule.policy}: holds have {name} of {dtype}; expected jobs' rows and seconds"
            )
    job, n = schedule.holds["job"], len(schedule.workload)
    unknown = ~job.isin(range(n))
    if unknown.any():
        raise InfeasibleScheduleError(
            f"{schedule.policy}: job {job[unknown].iloc[0]} holds; {schedule.workload.name} has "
            f"{n} jobs, numbered from 0"
        )


def _check_groups(schedule: CoupledSchedule) -> None:
    """Raise for the first job whose group is not that of its mates in the workload."""
    expected = mate_groups(schedule.workload, schedule.partition)
    wrong = schedule.group != expected
    if wrong.any() and (schedule.group >= 0).any():
        job = int(wrong.argmax())
        _fail(schedule, job, f"is in group {schedule.group[job]}; expected {expected[job]}")


def _check_tries(schedule: CoupledSchedule) -> None:
    """Raise for the first job that holds or yields before its submission or after its start."""
    submit_time, first_try = schedule.workload.jobs["submit_time"].to_numpy(), schedule.first_try
    wrong = (first_try < submit_time) | (first_try > schedule.start_time)
    if wrong.any():
        job = int(wrong.argmax())
        times = f"t={submit_time[job]:.15g} and starts at t={schedule.start_time[job]:.15g}"
        _fail(schedule, job, f"first tries at t={first_try[job]:.15g}; it was submitted at {times}")


def _check_holds(schedule: CoupledSchedule) -> None:
    """Raise for the first interval of holding that could not be."""
    holds = schedule.holds.sort_values(["job", "start"])
    job, begin, end = (holds[name].to_numpy() for name in ("job", "start", "end"))
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()[job]
    start_time = schedule.start_time[job]
    allowed = (submit_time <= begin) & (begin < end) & (end <= start_time)
    allowed &= end - begin <= schedule.longest_hold
    alone = schedule.group[job] < 0
    again = np.append(False, (job[1:] == job[:-1]) & (begin[1:] < end[:-1]))[: job.size]
    for wrong, why in (
        (alone, "has no mates"),
        (~allowed, "was submitted at t={:.15g}, starts at t={:.15g} and may hold for {:.15g} s"),
        (again, "holds already then"),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            reason = why.format(submit_time[row], start_time[row], schedule.longest_hold)
            interval = f"from t={begin[row]:.15g} to t={end[row]:.15g}"
            _fail(schedule, job[row], f"holds {interval}; it {reason}")


def _check_starts(schedule: CoupledSchedule) -> None:
    """Raise for the first job that starts after a mate although its machine was up by then."""
    for job in schedule.apart:
        first = schedule.group_start[job]
        down = any(
            partition == schedule.partition[job] and begin <= first < end
            for partition, begin, end in schedule.outages
        )
        if not down:
            times = f"t={schedule.start_time[job]:.15g}, a mate of it at t={first:.15g}"
            _fail(schedule, job, f"starts at {times}; mates start at one instant")


def _fail(schedule: CoupledSchedule, job: int, reason: str) -> NoReturn:
    raise InfeasibleScheduleError(f"{schedule.policy}: {schedule.workload.label(job)} {reason}")
