"""Numbers that follow from a schedule, each in one function named as papers name it.

A *step function* is a Series indexed by time in seconds: its value holds from that instant on, to
the next; before the first instant it is 0. Jobs are rigid: they hold their nodes from start to end.
"""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload


def slowdown(schedule: Schedule) -> pd.Series:
    """How many times longer than its run a job took from submission to end, per job.

    ``turnaround_time / run_time``: infinite for a job of zero run time that waited, NaN for one
    that did not.
    """
    jobs = schedule.jobs
    return (jobs["turnaround_time"] / jobs["run_time"]).rename("slowdown")


def bounded_slowdown(schedule: Schedule, *, tau: float = 10.0) -> pd.Series:
    """Slowdown with run times below `tau` seconds counted as `tau`, per job.

    Parameters
    ----------
    schedule : Schedule
    tau : float, default 10.0
        Threshold in seconds that keeps very short jobs from dominating.

    Returns
    -------
    pd.Series
        ``max(1, turnaround_time / max(run_time, tau))``, indexed by job.
    """
    if not tau > 0:
        raise ValueError(f"tau={tau!r}; expected seconds above 0")
    jobs = schedule.jobs
    bounded = jobs["turnaround_time"] / jobs["run_time"].clip(lower=tau)
    return bounded.clip(lower=1.0).rename("bounded_slowdown")


def utilization(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> float:
    """Node-seconds held inside a window ÷ node-seconds the whole system offers in it.

    Parameters
    ----------
    schedule : Schedule
    start, end : float, optional
        The window in seconds; by default from the first submission to the last end.

    Returns
    -------
    float
        NaN where the schedule itself has no length and no window was given.

    Raises
    ------
    ValueError
        Where the window ends before it starts, or has no length.
    """
    first = float(schedule.workload.jobs["submit_time"].min()) if start is None else start
    last = float(pd.Series(schedule.end_time).max()) if end is None else end
    if (start is not None or end is not None) and not first < last:
        raise ValueError(f"window from {first:.15g} to {last:.15g} s; expected start before end")
    inside = np.minimum(schedule.end_time, last) - np.maximum(schedule.start_time, first)
    held = float(schedule.workload.jobs["nodes"].to_numpy() @ np.maximum(inside, 0.0))
    offered = schedule.system.total_nodes * (last - first)
    return held / offered if offered > 0 else math.nan


def makespan(schedule: Schedule) -> float:
    """Seconds from the first submission to the last end."""
    last_end = pd.Series(schedule.end_time).max()
    return float(last_end - schedule.workload.jobs["submit_time"].min())


def offered_load(workload: Workload, system: System) -> float:
    """Work submitted ÷ work the system can do while it is submitted.

    ``Σ nodes·run_time / (total_nodes · (last submission − first submission))``; infinite where
    all jobs are submitted at once, NaN without jobs.
    """
    jobs = workload.jobs
    if jobs.empty:
        return math.nan
    work = float((jobs["nodes"] * jobs["run_time"]).sum())
    span = float(jobs["submit_time"].max() - jobs["submit_time"].min())
    return work / (system.total_nodes * span) if span > 0 else math.inf


def occupied_nodes(schedule: Schedule) -> pd.Series:
    """Nodes held in the whole system, an exact step function."""
    nodes = schedule.workload.jobs["nodes"].to_numpy()
    return _steps(schedule, nodes, "occupied_nodes")


def running_jobs(schedule: Schedule) -> pd.Series:
    """Jobs running in the whole system, an exact step function."""
    return _steps(schedule, np.ones(len(schedule.workload), dtype=np.int64), "running_jobs")


def hourly(
    steps: pd.Series,
    every: float = 3600.0,
    start: float | None = None,
    end: float | None = None,
) -> pd.Series:
    """Time-weighted mean of a step function in each window of `every` seconds.

    Parameters
    ----------
    steps : pd.Series
        A step function, such as `occupied_nodes`.
    every : float, default 3600.0
        Length of a window in seconds.
    start, end : float, optional
        From where to where; by default from the first step to the last. The last window may be
        shorter than the others.

    Returns
    -------
    pd.Series
        Indexed by the windows' beginnings.
    """
    if not every > 0:
        raise ValueError(f"every={every!r}; expected seconds above 0")
    times, values = steps.index.to_numpy(dtype=np.float64), steps.to_numpy(dtype=np.float64)
    if times.size == 0:
        return pd.Series(dtype=np.float64, name=steps.name)
    first = float(times[0]) if start is None else start
    last = float(times[-1]) if end is None else end
    if last < first:
        raise ValueError(f"windows from {first:.15g} to {last:.15g} s; expected start before end")
    edges = first + every * np.arange(math.ceil((last - first) / every))
    edges = np.append(edges[edges < last], last)
    area = np.append(0.0, np.cumsum(values[:-1] * np.diff(times)))
    area_at = np.interp(edges, times, area) + values[-1] * np.maximum(edges - times[-1], 0.0)
    return pd.Series(np.diff(area_at) / np.diff(edges), index=edges[:-1], name=steps.name)


def held_durations(steps: pd.Series) -> pd.Series:
    """Seconds that a step function spends at each of its values, from first step to last.

    ``held_durations(occupied_nodes(schedule)).idxmax()`` is the commonest number of occupied nodes.
    """
    seconds = pd.Series(np.diff(steps.index.to_numpy(dtype=np.float64)), name="seconds")
    return seconds.groupby(pd.Index(steps.to_numpy()[:-1], name=steps.name)).sum()


def summarize(schedules: Iterable[Schedule]) -> pd.DataFrame:
    """One row a policy: what papers compare first.

    Returns
    -------
    pd.DataFrame
        `jobs`, mean `wait_time` (s), mean `bounded_slowdown` (τ = 10 s), `utilization` from first
        submission to last end, `makespan` (s); indexed by `policy`, in the order given.
    """
    rows = [
        {
            "policy": schedule.policy,
            "jobs": len(schedule.workload),
            "wait_time": float(schedule.jobs["wait_time"].mean()),
            "bounded_slowdown": float(bounded_slowdown(schedule).mean()),
            "utilization": utilization(schedule),
            "makespan": makespan(schedule),
        }
        for schedule in schedules
    ]
    columns = ["policy", "jobs", "wait_time", "bounded_slowdown", "utilization", "makespan"]
    return pd.DataFrame(rows, columns=columns).set_index("policy")


def _steps(schedule: Schedule, amount: np.ndarray, name: str) -> pd.Series:
    """The sum of `amount` over running jobs as a step function."""
    times, held = step_function(schedule.start_time, schedule.end_time, amount)
    return pd.Series(held, index=pd.Index(times, name="time"), name=name)
