"""Windows of time: all of a schedule, after the warm-up, or the busiest part; shares of a log.

The share of a selection is its node-hours ÷ the log's.
"""

import math

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule, SharedNodesError, check_schedule
from cosimlib.units import HOUR
from cosimlib.workload import Workload, check_workload

TOLERATED = 0.01
"""Share of a window's node-seconds that may be beyond the machine's nodes."""

BUSIER = 1.5
"""Times the work at the beginning of a log from which on a busier time is taken instead."""


def window(
    schedule: Schedule, *, warm_up: float = 0.0, cool_down: float | None = None
) -> dict[str, float]:
    """Window without the times in which the machine fills up or empties, for other metrics.

    ``utilization(schedule, **window(schedule, warm_up=7 * DAY, cool_down=0))`` begins a week after
    the first submission and ends with the last.

    Parameters
    ----------
    schedule : Schedule
    warm_up : float, default 0.0
        Seconds from the first submission to the start of the window.
    cool_down : float, optional
        Seconds from the window's end to the last submission. Without it, the window has no `end`,
        and metrics of the machine continue to the last end.
    """
    check_schedule(schedule)
    for name, length in (("warm_up", warm_up), ("cool_down", cool_down)):
        check.seconds(name, length, none=name == "cool_down")
    submit_time = schedule.workload.jobs["submit_time"]
    first, last = float(submit_time.min()), float(submit_time.max())
    if cool_down is None:
        end = float(pd.Series(schedule.end_time).max())
        limits = {"start": first + warm_up}
    else:
        end = last - cool_down
        limits = {"start": first + warm_up, "end": end}
    if not limits["start"] < end:
        raise ValueError(
            f"{schedule.name}: warm_up={warm_up:g} and cool_down={cool_down} leave nothing of the "
            f"{last - first:.15g} s of submissions; expected less"
        )
    return limits


def busiest(data: Workload | Schedule, length: float) -> tuple[float, float]:
    """Window of `length` seconds with the most node-seconds, beginning at a whole hour.

    For a workload, node-seconds are nodes times run time of the jobs submitted in the window. For a
    schedule, they are what is held in the window. Windows of a schedule in which more than 1 % is
    beyond the machine's nodes are taken last, because such data are wrong. Ties go to the first
    window. Data shorter than `length` give one window of whole hours; without jobs it begins at 0.

    Parameters
    ----------
    data : Workload or Schedule
    length : float
        Seconds.

    Returns
    -------
    tuple of float
        `start` and `end` in seconds from the start of the trace, as other metrics take them.
    """
    check.seconds("length", length, above=0)
    if not len(_jobs(data)):
        return 0.0, float(length)
    first, last = _hours(data)
    if last - first <= length:
        return first, last
    check.windows(first, last, HOUR)
    starts = first + HOUR * np.arange(math.floor((last - length - first) / HOUR) + 1)
    edges = np.unique(np.concatenate([starts, starts + length]))
    begin, end = np.searchsorted(edges, starts), np.searchsorted(edges, starts + length)
    amount, beyond = (
        np.append(0.0, np.cumsum(part))[end] - np.append(0.0, np.cumsum(part))[begin]
        for part in (_node_seconds(data, edges), _beyond(data, edges))
    )
    amount[beyond > TOLERATED * amount] -= amount.max()
    start = float(starts[np.argmax(amount)])
    return start, start + length


def share_used(part: Workload | Schedule, whole: Workload | Schedule) -> float:
    """Share of a log in a selection of its jobs: node-hours ÷ node-hours, at most 1.

    It is 1 for a log without node-hours.
    """
    used, total = _work(part), _work(whole)
    return min(1.0, used / total) if total > 0 else 1.0


def busy_window(data: Workload | Schedule, length: float, *, start: float) -> tuple[float, float]:
    """Window of `length` seconds from `start`, or the busiest window if that one is quiet.

    It counts as quiet if the `busiest` window has at least 1.5 times as many node-seconds.
    """
    window = start, start + length
    most, here = busiest(data, length), np.array(window)
    amount = [float(_node_seconds(data, np.array(each))[0]) for each in (most, here)]
    return most if amount[0] > 0 and amount[0] >= BUSIER * amount[1] else window


def busy_stretch(workload: Workload, jobs: int) -> Workload:
    """Consecutive jobs of a log: the first ones, or those of a busy time if the first are quiet.

    The busy time is the `busy_window` of the length that this number of jobs takes on average. The
    account says how many jobs were left out.
    """
    check_workload(workload)
    check.whole("jobs", jobs, 1)
    submit_time = workload.jobs["submit_time"].to_numpy()
    if jobs >= submit_time.size:
        return workload
    first = 0
    length = float(submit_time[-1] - submit_time[0]) * jobs / submit_time.size
    if length > 0:
        start, _ = busy_window(workload, length, start=float(submit_time[0]))
        first = min(int(np.searchsorted(submit_time, start)), submit_time.size - jobs)
    busy = workload.keep(
        np.arange(submit_time.size) >= first, "submitted before the busiest stretch"
    )
    return busy.keep(np.arange(len(busy)) < jobs, f"submitted after the {jobs:,} jobs taken")


def span(schedule: Schedule, start: float | None, end: float | None) -> tuple[float, float]:
    """The window in seconds, by default from the first submission to the last end.

    If nothing is given and the schedule has no length, both are NaN or equal.
    """
    first = schedule.span[0] if start is None else start
    last = schedule.span[1] if end is None else end
    if start is not None or end is not None:
        check.window(first, last)
    return first, last


def submitted(schedule: Schedule, start: float | None, end: float | None) -> np.ndarray:
    """Mask of the jobs submitted in the window, from `start` to before `end`."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    first = -math.inf if start is None else start
    last = math.inf if end is None else end
    check.window(first, last)
    return (submit_time >= first) & (submit_time < last)


def _jobs(data: Workload | Schedule) -> pd.DataFrame:
    check.instance("data", data, Workload, Schedule)
    return (data.workload if isinstance(data, Schedule) else data).jobs


def _work(data: Workload | Schedule) -> float:
    """Node-seconds of the jobs, nodes times run time."""
    jobs = _jobs(data)
    return float(jobs["nodes"] @ jobs["run_time"])


def _hours(data: Workload | Schedule) -> tuple[float, float]:
    """The whole hours in which all submissions lie, and all that was held."""
    submit_time = _jobs(data)["submit_time"]
    first = float(submit_time.min()) // HOUR * HOUR
    last = (float(submit_time.max()) // HOUR + 1) * HOUR
    end_time = data.end_time if isinstance(data, Schedule) else np.array([])
    ended = end_time[np.isfinite(end_time)]
    return first, max(last, math.ceil(float(ended.max(initial=last)) / HOUR) * HOUR)


def _node_seconds(data: Workload | Schedule, edges: np.ndarray) -> np.ndarray:
    """Node-seconds from each edge to the next, submitted in a workload or held in a schedule."""
    if isinstance(data, Schedule):
        return data.node_seconds(edges)
    jobs = data.jobs
    work = np.append(0.0, np.cumsum((jobs["nodes"] * jobs["run_time"]).to_numpy()))
    return np.diff(work[np.searchsorted(jobs["submit_time"].to_numpy(), edges)])


def _beyond(data: Workload | Schedule, edges: np.ndarray) -> np.ndarray:
    """Node-seconds held beyond the machine's nodes from each edge to the next.

    A workload holds none, and neither do jobs that share nodes.
    """
    none = np.zeros(edges.size - 1)
    if isinstance(data, Workload):
        return none
    try:
        table = data.allocations
    except SharedNodesError:
        return none
    if not len(table):
        return none
    times, held = step_function(*(table[name].to_numpy() for name in ("start", "end", "nodes")))
    over = np.maximum(held - data.total_nodes, 0)
    area = np.append(0.0, np.cumsum(over[:-1] * np.diff(times)))
    return np.diff(np.interp(edges, times, area))
