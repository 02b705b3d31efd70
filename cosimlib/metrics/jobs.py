"""Numbers a job: how long it waited, how long it took, how much longer than its run that was."""

import numpy as np
import pandas as pd

from cosimlib.metrics.windows import submitted
from cosimlib.schedule import Schedule
from cosimlib.units import DAY


def wait_time(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Seconds from submission to start, per job submitted in the window."""
    return schedule.jobs["wait_time"][submitted(schedule, start, end)]


def turnaround_time(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Seconds from submission to end, per job submitted in the window."""
    return schedule.jobs["turnaround_time"][submitted(schedule, start, end)]


def overtaking(schedule: Schedule) -> pd.Series:
    """Whether each job started before one that comes before it in order of submission."""
    latest = np.maximum.accumulate(schedule.start_time)
    return pd.Series(schedule.start_time < latest, name="overtaking")


def slowdown(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """How many times longer than its run a job took from submission to end, per job.

    ``turnaround_time / run_time`` of the jobs submitted in the window: infinite for a job of zero
    run time that waited, NaN for one that did not.
    """
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
    if not tau > 0:
        raise ValueError(f"tau={tau!r}; expected seconds above 0")
    jobs = schedule.jobs[submitted(schedule, start, end)]
    bounded = jobs["turnaround_time"] / jobs["run_time"].clip(lower=tau)
    return bounded.clip(lower=1.0).rename("bounded_slowdown")


def makespan(schedule: Schedule, *, start: float | None = None, end: float | None = None) -> float:
    """Seconds from the first submission to the last end, of the jobs submitted in the window."""
    jobs = schedule.jobs[submitted(schedule, start, end)]
    return float(jobs["end_time"].max() - jobs["submit_time"].min())


def by_submission(
    schedule: Schedule,
    values: pd.Series,
    every: float = DAY,
    start: float | None = None,
    end: float | None = None,
) -> pd.DataFrame:
    """How numbers a job change over time: their mean in each window of submissions.

    Parameters
    ----------
    schedule : Schedule
    values : pd.Series
        A number a job, such as `wait_time(schedule)`, indexed by job.
    every : float, default DAY
        Length of a window in seconds.
    start, end : float, optional
        From where to where; by default from the first submission to the last.

    Returns
    -------
    pd.DataFrame
        `jobs` and the mean of the values (NaN without jobs), indexed by the windows' beginnings.

    Raises
    ------
    ValueError
        Where the values are not numbers of jobs, or the windows have no length.
    """
    if not every > 0:
        raise ValueError(f"every={every!r}; expected seconds above 0")
    all_times = schedule.workload.jobs["submit_time"]
    if len(values) and not set(values.index) <= set(all_times.index):
        raise ValueError("values are not indexed by job; expected some such as wait_time(schedule)")
    inside = submitted(schedule, start, end)[values.index.astype(np.int64)]
    submit_time = all_times[values.index].to_numpy()[inside]
    first = (submit_time.min() if submit_time.size else 0.0) if start is None else start
    place = ((submit_time - first) // every).astype(np.int64)
    windows = 1 + int(place.max(initial=-1))
    if end is not None:
        windows = max(windows, int(np.ceil((end - first) / every)))
    jobs = np.bincount(place, minlength=windows)
    total = np.bincount(place, values.to_numpy(dtype=np.float64)[inside], minlength=windows)
    mean = np.divide(total, jobs, out=np.full(windows, np.nan), where=jobs > 0)
    index = pd.Index(first + every * np.arange(windows), name="time")
    return pd.DataFrame({"jobs": jobs, values.name or "mean": mean}, index=index)
