"""Metrics per job and per user: wait time, turnaround time, slowdown, overtaking, fairness."""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.metrics.windows import submitted
from cosimlib.schedule import Schedule, check_schedule


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
    Allocation in Shared Computer Systems, DEC TR-301, 1984.

    Parameters
    ----------
    schedule : Schedule
    tau : float, default 10.0
        Threshold of the bounded slowdown, in seconds.
    start, end : float, optional
        The window in which a job must have been submitted. Jobs that name no user are left out.

    Returns
    -------
    float
        ``(Σx)² / (n · Σx²)`` of the users' means; NaN without jobs.

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
    slowdown = bounded_slowdown(schedule, tau=tau, start=start, end=end)
    means = slowdown.groupby(user[slowdown.index]).mean()
    return float(means.sum() ** 2 / (means.size * (means @ means))) if means.size else float("nan")
