"""Time series of a schedule: exact step functions, and their means over windows."""

import math

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.steps import step_function
from cosimlib.metrics.windows import span
from cosimlib.schedule import Schedule, check_schedule
from cosimlib.units import HOUR

STEPS = "a step function, such as metrics.occupied_nodes(schedule)"


def occupied_nodes(schedule: Schedule) -> pd.Series:
    """Nodes held in the whole system, for any use: an exact step function.

    Raises
    ------
    SharedNodesError
        If jobs share nodes.
    """
    check_schedule(schedule)
    table = schedule.allocations
    begin, end, nodes = (table[name].to_numpy() for name in ("start", "end", "nodes"))
    return _steps(begin, end, nodes, "occupied_nodes")


def running_jobs(schedule: Schedule) -> pd.Series:
    """Number of running jobs in the whole system: an exact step function."""
    check_schedule(schedule)
    runs = schedule.runs
    ones = np.ones(len(runs), dtype=np.int64)
    return _steps(runs["start"].to_numpy(), runs["end"].to_numpy(), ones, "running_jobs")


def waiting_jobs(schedule: Schedule) -> pd.Series:
    """Length of the queue: an exact step function of the jobs submitted or killed, and not started.

    A job that never starts waits for ever; then the last value is not 0.
    """
    check_schedule(schedule)
    waits = _waits(schedule)
    ones = np.ones(len(waits), dtype=np.int64)
    return _steps(waits["begin"].to_numpy(), waits["end"].to_numpy(), ones, "waiting_jobs")


def waiting_nodes(schedule: Schedule) -> pd.Series:
    """Total nodes of the jobs in the queue: an exact step function."""
    check_schedule(schedule)
    waits = _waits(schedule)
    nodes = schedule.workload.jobs["nodes"].to_numpy()[waits["job"]]
    return _steps(waits["begin"].to_numpy(), waits["end"].to_numpy(), nodes, "waiting_nodes")


def _waits(schedule: Schedule) -> pd.DataFrame:
    """Stretches in the queue: `job`, from its submission or the end of a run to its next start."""
    runs = schedule.runs.sort_values(["job", "start"], kind="stable")
    submit_time = schedule.workload.jobs["submit_time"]
    job, first = runs["job"].to_numpy(), ~runs["job"].duplicated()
    begin = runs["end"].shift().where(~first, submit_time.to_numpy()[job])
    waits = pd.DataFrame({"job": job, "begin": begin, "end": runs["start"]})
    never = np.setdiff1d(np.arange(len(submit_time)), job)
    stuck = pd.DataFrame({"job": never, "begin": submit_time.to_numpy()[never], "end": math.inf})
    return pd.concat([waits, stuck.astype(waits.dtypes)], ignore_index=True)


def utilization_series(
    schedule: Schedule,
    every: float = HOUR,
    start: float | None = None,
    end: float | None = None,
) -> pd.Series:
    """Utilization in each window of `every` seconds, by default first submission to last end.

    The time-weighted mean of the series is `utilization` over the same window. If jobs share nodes,
    it is the useful work, and windows must begin and end with those of the schedule's series; by
    default the first is the one in which the first job is submitted.
    """
    check_schedule(schedule)
    first, last = span(schedule, start, end)
    if not first < last:
        return pd.Series(dtype=np.float64, name="utilization")
    if start is None and schedule.resolution:
        first = first // schedule.resolution * schedule.resolution
    edges = _edges(first, last, every)
    offered = schedule.offered_node_seconds(edges)
    held = np.divide(
        schedule.node_seconds(edges), offered, out=np.full(offered.size, np.nan), where=offered > 0
    )
    return pd.Series(held, index=edges[:-1], name="utilization")


def hourly(
    steps: pd.Series,
    every: float = HOUR,
    start: float | None = None,
    end: float | None = None,
) -> pd.Series:
    """Time-weighted mean of a step function in each window of `every` seconds.

    Parameters
    ----------
    steps : pd.Series
        A step function, such as `occupied_nodes`.
    every : float, default HOUR
        Length of a window in seconds.
    start, end : float, optional
        First and last instant in seconds; by default the first and the last step. The last window
        may be shorter than the others.

    Returns
    -------
    pd.Series
        Indexed by the windows' beginnings.
    """
    check.instance("steps", steps, pd.Series, expected=STEPS)
    check.seconds("every", every, above=0)
    steps = steps[np.isfinite(steps.index.to_numpy(dtype=np.float64))]
    times, values = steps.index.to_numpy(dtype=np.float64), steps.to_numpy(dtype=np.float64)
    if times.size == 0:
        return pd.Series(dtype=np.float64, name=steps.name)
    first = float(times[0]) if start is None else start
    last = float(times[-1]) if end is None else end
    if first != last:
        check.window(first, last, name="windows")
    edges = _edges(first, last, every)
    area = np.append(0.0, np.cumsum(values[:-1] * np.diff(times)))
    area_at = np.interp(edges, times, area) + values[-1] * np.maximum(edges - times[-1], 0.0)
    return pd.Series(np.diff(area_at) / np.diff(edges), index=edges[:-1], name=steps.name)


def _edges(first: float, last: float, every: float) -> np.ndarray:
    """Where windows of `every` seconds begin, and where the last one ends."""
    check.windows(first, last, every)
    edges = first + every * np.arange(math.ceil((last - first) / every))
    return np.append(edges[edges < last], last)


def held_durations(steps: pd.Series) -> pd.Series:
    """Total seconds that a step function spends at each of its values.

    ``held_durations(occupied_nodes(schedule)).idxmax()`` is the most frequent number of occupied
    nodes.
    """
    check.instance("steps", steps, pd.Series, expected=STEPS)
    steps = steps[np.isfinite(steps.index.to_numpy(dtype=np.float64))]
    seconds = pd.Series(np.diff(steps.index.to_numpy(dtype=np.float64)), name="seconds")
    return seconds.groupby(pd.Index(steps.to_numpy()[:-1], name=steps.name)).sum()


def _steps(begin: np.ndarray, end: np.ndarray, amount: np.ndarray, name: str) -> pd.Series:
    """The sum of `amount` over the intervals from `begin` to `end` as a step function."""
    times, total = step_function(begin, end, amount)
    return pd.Series(total, index=pd.Index(times, name="time"), name=name)
