"""Metrics per job and per user: wait time, turnaround time, slowdown, overtaking, fairness."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.metrics.windows import submitted
from cosimlib.schedule import Schedule, check_schedule
from cosimlib.units import DAY, HOUR


def wait_time(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Wait time in seconds: submission to start, per job submitted in the window."""
    check_schedule(schedule)
    return schedule.jobs["wait_time"][submitted(schedule, start, end)]


def turnaround_time(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Turnaround time in seconds: submission to end, per job submitted in the window."""
    check_schedule(schedule)
    return schedule.jobs["turnaround_time"][submitted(schedule, start, end)]


def overtaking(schedule: Schedule) -> pd.Series:
    """Mask of jobs that started before a job submitted earlier (which may never start)."""
    check_schedule(schedule)
    start_time = np.where(np.isnan(schedule.start_time), np.inf, schedule.start_time)
    return pd.Series(start_time < np.maximum.accumulate(start_time), name="overtaking")


def slowdown(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Slowdown: turnaround time ÷ run time, per job submitted in the window.

    A job with a run time of zero has an infinite slowdown if it waited, and NaN if it did not.
    """
    check_schedule(schedule)
    jobs = schedule.jobs[submitted(schedule, start, end)]
    return (jobs["turnaround_time"] / jobs["run_time"]).rename("slowdown")


def bounded_slowdown(
    schedule: Schedule,
    *,
    tau: float = 10.0,
    start: float | None = None,
    end: float | None = None,
) -> pd.Series:
    """Slowdown with run times below `tau` seconds counted as `tau`, per job.

    Parameters
    ----------
    schedule : Schedule
    tau : float, default 10.0
        Threshold in seconds that keeps very short jobs from dominating.
    start, end : float, optional
        The window in which a job must have been submitted.

    Returns
    -------
    pd.Series
        ``max(1, turnaround_time / max(run_time, tau))``, indexed by job.
    """
    check_schedule(schedule)
    check.seconds("tau", tau, above=0)
    return schedule.bounded_slowdown(tau)[submitted(schedule, start, end)]


def makespan(schedule: Schedule, *, start: float | None = None, end: float | None = None) -> float:
    """Makespan in seconds: first submission to last end, of the jobs submitted in the window."""
    check_schedule(schedule)
    jobs = schedule.jobs[submitted(schedule, start, end)]
    return float(jobs["end_time"].max() - jobs["submit_time"].min())


def by_submission(
    schedule: Schedule,
    values: pd.Series,
    every: float = DAY,
    start: float | None = None,
    end: float | None = None,
) -> pd.DataFrame:
    """Mean of a metric per job in each window of submissions.

    Parameters
    ----------
    schedule : Schedule
    values : pd.Series
        One number per job, such as `wait_time(schedule)`, indexed by job.
    every : float, default DAY
        Length of a window in seconds.
    start, end : float, optional
        First and last instant in seconds; by default the first and the last submission.

    Returns
    -------
    pd.DataFrame
        `jobs` and the mean of the values (NaN without jobs), indexed by the start of the window.
    """
    check_schedule(schedule)
    check.seconds("every", every, above=0)
    all_times = schedule.workload.jobs["submit_time"]
    if len(values) and not set(values.index) <= set(all_times.index):
        raise ValueError("values are not indexed by job; expected such as wait_time(schedule)")
    inside = submitted(schedule, start, end)[values.index.astype(np.int64)]
    submit_time = all_times[values.index].to_numpy()[inside]
    first = (submit_time.min() if submit_time.size else 0.0) if start is None else start
    check.windows(first, max(submit_time.max(initial=first), end or first), every)
    place = ((submit_time - first) // every).astype(np.int64)
    windows = 1 + int(place.max(initial=-1))
    if end is not None:
        windows = max(windows, int(np.ceil((end - first) / every)))
    jobs = np.bincount(place, minlength=windows)
    total = np.bincount(place, values.to_numpy(dtype=np.float64)[inside], minlength=windows)
    mean = np.divide(total, jobs, out=np.full(windows, np.nan), where=jobs > 0)
    index = pd.Index(first + every * np.arange(windows), name="time")
    return pd.DataFrame({"jobs": jobs, values.name or "mean": mean}, index=index)


def by_user(
    schedule: Schedule,
    *,
    tau: float = 10.0,
    start: float | None = None,
    end: float | None = None,
) -> pd.DataFrame:
    """Table of users: jobs, node-hours, mean wait and mean bounded slowdown.

    Parameters
    ----------
    schedule : Schedule
    tau : float, default 10.0
        Threshold of the bounded slowdown, in seconds.
    start, end : float, optional
        The window in which a job must have been submitted.

    Returns
    -------
    pd.DataFrame
        `jobs`, `node_hours` (nodes · run time), mean `wait_time` (s), mean `bounded_slowdown`;
        indexed by `user`. Jobs that name no user are left out.

    Raises
    ------
    ValueError
        If no job of the workload has a user.
    """
    check_schedule(schedule)
    user = schedule.workload.column("user")
    if len(user) and user.isna().all():
        raise ValueError(
            f"{schedule.workload.name}: no job has a user; fairness needs the column 'user'"
        )
    jobs = schedule.jobs[submitted(schedule, start, end)]
    table = pd.DataFrame(
        {
            "node_hours": jobs["nodes"] * jobs["run_time"] / HOUR,
            "wait_time": jobs["wait_time"],
            "bounded_slowdown": bounded_slowdown(schedule, tau=tau, start=start, end=end),
        }
    )
    users = table.groupby(user[jobs.index])
    how = {"node_hours": "sum", "wait_time": "mean", "bounded_slowdown": "mean"}
    return users.agg(how).assign(jobs=users.size())[["jobs", *how]]


def fairness(
    schedule: Schedule,
    *,
    tau: float = 10.0,
    start: float | None = None,
    end: float | None = None,
) -> float:
    """Fairness among users: Jain's index of their mean bounded slowdowns.

    It is 1 if every user has the same mean bounded slowdown, and 1/n if one of n users has all of
    it. It does not say whether waits are short: if every job waits ten times as long, the queue is
    equally fair. Every user has the same weight, however many jobs they submit. (Other definitions
    compare with a fair start time, or with a user's share of the machine; they need a second
    schedule, or shares.)

    Jain, Chiu and Hawe, A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems, DEC TR-301, 1984. Parameters are those of `by_user`.
    """
    check_schedule(schedule)
    return jain_index(by_user(schedule, tau=tau, start=start, end=end)["bounded_slowdown"])


def jain_index(values: Iterable[float]) -> float:
    """Jain's fairness index ``(Σx)² / (n · Σx²)``: 1/n to 1; 1 if all are 0, NaN without values.

    Raises
    ------
    ValueError
        If a value is negative, infinite or NaN.
    """
    x = np.array(list(values), dtype=np.float64)
    odd = ~((x >= 0) & np.isfinite(x))
    if odd.any():
        raise ValueError(f"Jain's index of {x[odd][0]:g}; expected numbers of 0 or more")
    if x.size == 0:
        return float("nan")
    largest = x.max()
    # Divided by the largest so that squares neither overflow nor vanish.
    shares = x / largest if largest > 0 else np.ones_like(x)
    return float(shares.sum() ** 2 / (x.size * (shares @ shares)))
