"""Audit of coupled machines: intervals of holding, and mates that start together."""

from dataclasses import replace

import numpy as np

from cosimlib.audit import (
    InfeasibleScheduleError,
    audit_rule,
    check_capacity,
    check_columns,
    check_times,
    demand,
    demand_of_jobs,
)
from cosimlib.coscheduling.mates import mate_groups
from cosimlib.coscheduling.schedule import HOLD, YIELD, CoupledSchedule


@audit_rule.register
def audit_coupled(schedule: CoupledSchedule, *, all_start: bool = True) -> None:
    """Raise an error if a schedule of coupled machines could not have happened.

    The rules of any schedule apply, and nodes held idle count as busy. Schemes are a letter per
    machine, and a policy of such letters is the schemes. Groups are those of the workload's mates;
    without schemes no job has one. Only jobs with mates hold or yield, between their submission and
    their start, first when they first try. A job holds where its machine's letter is H or after
    `max_yields` yields, one interval at a time and none longer than a release allows. All jobs of a
    group start at one instant, unless the machine of the later one was down when the earlier one
    started.

    Parameters
    ----------
    schedule : CoupledSchedule
    all_start : bool, default True
        Whether a job that never starts is refused; else it may hold its nodes for ever.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, or the time and the nodes.
    """
    check_columns(schedule, group="whole number", first_try="number", yields="whole number")
    _check_held_jobs(schedule)
    check_times(schedule if all_start else _settled(schedule))
    _check_schemes(schedule)
    _check_groups(schedule)
    _check_yields(schedule)
    _check_tries(schedule)
    _check_holds(schedule)
    _check_starts(schedule)
    check_capacity(schedule)


def _settled(schedule: CoupledSchedule) -> CoupledSchedule:
    """The schedule in which jobs that never start run at their submission."""
    stuck, jobs = np.isnan(schedule.start_time), schedule.workload.jobs
    start_time = np.where(stuck, jobs["submit_time"], schedule.start_time)
    end_time = np.where(stuck, start_time + jobs["run_time"], schedule.end_time)
    return replace(schedule, start_time=start_time, end_time=end_time)


def _check_held_jobs(schedule: CoupledSchedule) -> None:
    """Raise an error if holds are no numbers, and for one whose job is no row of the workload."""
    for name, kinds in (("job", "iu"), ("start", "fiu"), ("end", "fiu")):
        dtype = schedule.holds[name].dtype
        if dtype.kind not in kinds:
            raise InfeasibleScheduleError(
                f"{schedule.policy}: holds have {name} of {dtype}; expected jobs' rows and seconds"
            )
    job, name, n = schedule.holds["job"], schedule.workload.name, len(schedule.workload)
    demand(
        schedule, job.isin(range(n)), "job {} holds; {} has {} jobs, numbered from 0", job, name, n
    )


def _check_schemes(schedule: CoupledSchedule) -> None:
    """Raise an error if schemes are not a letter per machine, or the policy claims others."""
    policy, schemes, machines = schedule.policy, schedule.schemes, schedule.system.partitions
    letters = {HOLD, YIELD}
    if schemes is not None and not (set(schemes) <= letters and len(schemes) == len(machines)):
        raise InfeasibleScheduleError(
            f"{policy}: schemes are {schemes!r}; expected H (hold) or Y (yield) for each of "
            f"{', '.join(machines)}"
        )
    if set(policy) <= letters and policy != schemes:
        raise InfeasibleScheduleError(f"{policy}: schemes are {schemes!r}; expected {policy!r}")


def _check_groups(schedule: CoupledSchedule) -> None:
    """Raise an error for the first job whose group is not that of its mates in the workload."""
    expected = np.full(len(schedule.workload), -1)
    if schedule.schemes is not None:
        expected = mate_groups(schedule.workload, schedule.partition)
    why = "without schemes no mates count" if schedule.schemes is None else "by its mates"
    message = "is in group {}; expected {}, {}"
    fine = schedule.group == expected
    demand_of_jobs(schedule, fine, message, schedule.group, expected, why)


def _check_yields(schedule: CoupledSchedule) -> None:
    """Raise an error for the first job that yields less than never, or without mates."""
    alone, yields = schedule.group < 0, schedule.yields
    expected = np.where(alone, "0, for it has no mates", "0 or more")
    fine = (yields >= 0) & ~(alone & (yields > 0))
    demand_of_jobs(schedule, fine, "yields {} times; expected {}", yields, expected)


def _check_tries(schedule: CoupledSchedule) -> None:
    """Raise an error for the first job that holds or yields before its first try, or tries late."""
    submit_time, first_try = schedule.workload.jobs["submit_time"].to_numpy(), schedule.first_try
    in_time = ~((first_try < submit_time) | (first_try > schedule.start_time))
    message = "first tries at t={:.15g}; it was submitted at t={:.15g} and starts at t={:.15g}"
    demand_of_jobs(schedule, in_time, message, first_try, submit_time, schedule.start_time)
    never = np.isnan(first_try)
    message = "first tries at t={:.15g}; it has no mates"
    demand_of_jobs(schedule, never | (schedule.group >= 0), message, first_try)
    fine = ~never | (schedule.yields <= 0)
    demand_of_jobs(schedule, fine, "yields {} times, but never tries", schedule.yields)


def _check_holds(schedule: CoupledSchedule) -> None:
    """Raise an error for the first interval of holding that could not be."""
    holds = schedule.holds.sort_values(["job", "start"])
    job, begin, end = (holds[name].to_numpy() for name in ("job", "start", "end"))
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()[job]
    start_time, first_try = schedule.start_time[job], schedule.first_try[job]
    for_ever = np.isnan(start_time) & (end == np.inf)
    allowed = (submit_time <= begin) & (begin < end) & ~(end > start_time)
    allowed &= (end - begin <= schedule.longest_hold) | for_ever
    again = np.append(False, (job[1:] == job[:-1]) & (begin[1:] < end[:-1]))[: job.size]
    for fine, why, columns in (
        (schedule.group[job] >= 0, "has no mates", ()),
        (
            ~_must_yield(schedule)[job],
            "yields on machine {!r}, and yielded {} times",
            (schedule.partition.to_numpy()[job], schedule.yields[job]),
        ),
        (
            allowed,
            "was submitted at t={:.15g}, starts at t={:.15g} and may hold for {:.15g} s",
            (submit_time, start_time, schedule.longest_hold),
        ),
        (~again, "holds already then", ()),
        (first_try <= begin, "first tries at t={:.15g}", (first_try,)),
    ):
        message = f"holds from t={{:.15g}} to t={{:.15g}}; it {why}"
        demand_of_jobs(schedule, fine, message, begin, end, *columns, job=job)


def _must_yield(schedule: CoupledSchedule) -> np.ndarray:
    """Whether each job never holds: on a machine that yields, and too few times for more."""
    scheme = dict(zip(schedule.system.partitions, schedule.schemes or "", strict=False))
    yields = schedule.partition.map(scheme).to_numpy() == YIELD
    most = np.inf if schedule.max_yields is None else schedule.max_yields
    return yields & (schedule.yields < most)


def _check_starts(schedule: CoupledSchedule) -> None:
    """Raise an error for the first job that starts after a mate although its machine was up."""
    for job in schedule.apart:
        first = schedule.group_start[job]
        down = any(
            partition == schedule.partition[job] and begin <= first < end
            for partition, begin, end in schedule.outages
        )
        message = "starts at t={:.15g}, a mate of it at t={:.15g}; mates start at one instant"
        start_time = schedule.start_time[job]
        demand_of_jobs(schedule, [down], message, start_time, first, job=[job])
