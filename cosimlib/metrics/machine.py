"""What became of the machine's capacity: held, lost, idle; idle although somebody waited.

What can be said of a machine whose nodes jobs share: what its series add up to.

Jobs that share nodes hold none of them alone, and how fast they were is not kept. Known is how much
useful work was done in each window of the schedule's own series, hence between edges of these.

Schedules side by side.
"""

import math
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Literal, get_args

import numpy as np
import pandas as pd

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.steps import step_function
from cosimlib.metrics.jobs import bounded_slowdown, makespan, wait_time
from cosimlib.metrics.windows import span
from cosimlib.schedule import Schedule, TimesharedSchedule, check_rigid
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

NOBODY = np.iinfo(np.int64).max
"""What the smallest waiting job wants while none waits: more than is ever idle."""

LossRule = Literal["fits", "waiting", "demand"]


def utilization(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> float:
    """Node-seconds held inside a window ÷ node-seconds the whole system offers in it.

    Where jobs share nodes, node-seconds of useful work: what they would have held alone.

    Parameters
    ----------
    schedule : Schedule
        Of a `TimesharedSchedule` the window's ends must be those of windows of its series, or
        before the first start and after the last end.
    start, end : float, optional
        The window in seconds; by default from the first submission to the last end.

    Returns
    -------
    float
        NaN where the schedule itself has no length and no window was given.

    Raises
    ------
    ValueError
        Where the window ends before it starts, or has no length, or cuts one of a series.
    """
    first, last = span(schedule, start, end)
    if isinstance(schedule, TimesharedSchedule):
        held = float(useful_node_seconds(schedule, np.array([first, last])).sum())
    else:
        nodes = schedule.workload.jobs["nodes"].to_numpy()
        held = float(nodes @ _seconds_inside(schedule, first, last))
    offered = schedule.system.total_nodes * (last - first)
    return held / offered if offered > 0 else math.nan


def node_hours(
    schedule: Schedule,
    *,
    wasted: "pd.Series | np.ndarray | None" = None,
    start: float | None = None,
    end: float | None = None,
) -> pd.Series:
    """Node-hours *useful*, *lost* and *idle* in a window; together, what the system offers in it.

    A job is held from start to end and useful for its run time. What it is held beyond that is
    lost: work done again, nodes that wait for a mate. In a window that cuts a job, useful and lost
    are in the same proportion as in the whole job.

    Parameters
    ----------
    schedule : Schedule
    wasted : mask, optional
        Jobs that came to nothing, such as ``schedule.jobs["status"] == 0``: all they held is lost.
    start, end : float, optional
        The window in seconds; by default from the first submission to the last end.

    Returns
    -------
    pd.Series
        Of `useful`, `lost`, `idle`. Idle is below 0 where a recorded schedule overruns its machine.

    Raises
    ------
    ValueError
        Where the window has no length, or jobs share nodes.
    """
    check_rigid(schedule, "node_hours")
    first, last = span(schedule, start, end)
    jobs = schedule.workload.jobs
    held = jobs["nodes"].to_numpy() * _seconds_inside(schedule, first, last) / HOUR
    length = schedule.end_time - schedule.start_time
    run_time = jobs["run_time"].to_numpy()
    share = np.divide(run_time, length, out=np.ones(len(jobs)), where=length > run_time)
    if wasted is not None:
        share = np.where(_mask(wasted, len(jobs)), 0.0, share)
    offered = schedule.system.total_nodes * (last - first) / HOUR if first < last else 0.0
    parts = {"useful": held @ share, "lost": held @ (1.0 - share), "idle": offered - held.sum()}
    return pd.Series(parts, name="node_hours", dtype=np.float64)


def loss_of_capacity(
    schedule: Schedule,
    *,
    rule: LossRule = "fits",
    start: float | None = None,
    end: float | None = None,
) -> float:
    """Share of a window's node-seconds that are idle although somebody waits.

    With events (submissions, starts, ends) at times t, N nodes, and n of them idle from event i to
    the next, ``Σ lost_i · (t_{i+1} - t_i) / (N · window)``. Papers mean different things by that
    name, so look up what the one that you compare with counts as lost:

    - ``"fits"``: lost = n while some waiting job wants no more than n nodes, else 0: the scheduler
      could have started it.
    - ``"waiting"``: lost = n while any job waits, else 0: fragmentation counts, too.
    - ``"demand"``: lost = min(n, nodes that all waiting jobs want together): what is neither used
      nor unwanted.

    Parameters
    ----------
    schedule : Schedule
        Of one partition or several; jobs wait for and leave idle the nodes of their own, the first
        one where they name none.
    rule : {"fits", "waiting", "demand"}
    start, end : float, optional
        The window in seconds; by default from the first submission to the last end.

    Returns
    -------
    float
        NaN where the schedule itself has no length and no window was given.

    Raises
    ------
    ValueError
        For an unknown rule, a window without length, jobs that share nodes, or one that never
        started.
    """
    check_rigid(schedule, "loss_of_capacity")
    if rule not in get_args(LossRule):
        known = ", ".join(map(repr, get_args(LossRule)))
        raise ValueError(f"loss of capacity: rule={rule!r}; expected one of {known}")
    first, last = span(schedule, start, end)
    if not first < last:
        return math.nan
    unknown = ~np.isfinite(schedule.start_time)
    if unknown.any():
        job = int(unknown.argmax())
        raise ValueError(
            f"{schedule.policy}: {schedule.workload.label(job)} starts at "
            f"{schedule.start_time[job]}; expected a schedule in which every job has started"
        )
    partitions = schedule.system.partitions
    asked = schedule.workload.column("partition").fillna(next(iter(partitions)))
    lost = sum(
        _lost_node_seconds(schedule, (asked == name).to_numpy(bool), nodes, rule, first, last)
        for name, nodes in partitions.items()
    )
    return lost / (schedule.system.total_nodes * (last - first))


def offered_load(workload: Workload, system: System) -> float:
    """Work submitted ÷ work the system can do while it is submitted.

    ``Σ nodes·run_time / (total_nodes · (last submission − first submission))``; infinite where
    all jobs are submitted at once, NaN without jobs.
    """
    jobs = workload.jobs
    if jobs.empty:
        return math.nan
    work = float((jobs["nodes"] * jobs["run_time"]).sum())
    seconds = float(jobs["submit_time"].max() - jobs["submit_time"].min())
    return work / (system.total_nodes * seconds) if seconds > 0 else math.inf


def _seconds_inside(schedule: Schedule, first: float, last: float) -> np.ndarray:
    """How long each job is held between two instants."""
    inside = np.minimum(schedule.end_time, last) - np.maximum(schedule.start_time, first)
    return np.maximum(inside, 0.0)


def _mask(wasted: "pd.Series | np.ndarray", n: int) -> np.ndarray:
    """One truth value a job; jobs of unknown status count as false."""
    mask = pd.Series(wasted).fillna(False).to_numpy(dtype=bool)
    if mask.size != n:
        raise ValueError(f"wasted has {mask.size} values; expected one for each of the {n} jobs")
    return mask


def _lost_node_seconds(
    schedule: Schedule, here: np.ndarray, capacity: int, rule: str, first: float, last: float
) -> float:
    """What the jobs of one partition leave idle while they wait, from `first` to `last`."""
    jobs = schedule.workload.jobs[here]
    submit_time, nodes = jobs["submit_time"].to_numpy(np.float64), jobs["nodes"].to_numpy(np.int64)
    start_time, end_time = schedule.start_time[here], schedule.end_time[here]
    held = step_function(start_time, end_time, nodes)
    if rule == "fits":
        order = np.argsort(start_time, kind="stable")
        waiting = _smallest_waiting(*map(np.array, (submit_time, start_time, order, nodes)))
    else:
        amount = np.ones_like(nodes) if rule == "waiting" else nodes
        waiting = step_function(submit_time, np.maximum(start_time, submit_time), amount)
    times = np.sort(np.concatenate([held[0], waiting[0]]))
    times = np.concatenate([[first], times[(times > first) & (times < last)]])
    idle = np.maximum(capacity - _values_at(*held, times, before=0), 0)
    if rule == "fits":
        lost = np.where(_values_at(*waiting, times, before=NOBODY) <= idle, idle, 0)
    else:
        wanted = _values_at(*waiting, times, before=0)
        lost = np.minimum(idle, wanted) if rule == "demand" else np.where(wanted > 0, idle, 0)
    return float(lost @ np.diff(times, append=last))


def _values_at(times: np.ndarray, values: np.ndarray, at: np.ndarray, before: int) -> np.ndarray:
    """Values of a step function at some instants; `before` where it has not begun."""
    return np.append(values, before)[np.searchsorted(times, at, side="right") - 1]


@kernel
def _smallest_waiting(
    submit_time: np.ndarray, start_time: np.ndarray, by_start: np.ndarray, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Every instant at which a job is submitted or starts, and the fewest nodes wanted from then.

    Jobs in order of submission; `by_start` are their numbers in order of start.
    """
    n = nodes.size
    times = np.empty(2 * n, np.float64)
    fewest = np.empty(2 * n, np.int64)
    waiting = [(nodes[0], 0) for _ in range(0)]
    submitted, started, size = 0, 0, 0
    while submitted < n or started < n:
        now = np.inf
        if submitted < n:
            now = submit_time[submitted]
        if started < n:
            now = min(now, start_time[by_start[started]])
        while submitted < n and submit_time[submitted] <= now:
            heappush(waiting, (nodes[submitted], submitted))
            submitted += 1
        while started < n and start_time[by_start[started]] <= now:
            started += 1
        while len(waiting) > 0 and start_time[waiting[0][1]] <= now:
            heappop(waiting)
        times[size] = now
        fewest[size] = waiting[0][0] if len(waiting) > 0 else NOBODY
        size += 1
    return times[:size], fewest[:size]


def useful_node_seconds(schedule: TimesharedSchedule, edges: np.ndarray) -> np.ndarray:
    """Useful node-seconds from each instant in `edges` to the next.

    Raises
    ------
    ValueError
        For an edge that cuts a window of the series in which somebody runs.
    """
    if not len(schedule.workload):
        return np.zeros(edges.size - 1)
    width, begin, end = schedule.width, schedule.start_time.min(), schedule.end_time.max()
    outside = (edges <= begin) | (edges >= end)
    cuts = ~outside & (edges % width != 0)
    if cuts.any():
        raise ValueError(
            f"{schedule.name}: t={edges[cuts.argmax()]:.15g} is inside a window of the series; "
            f"expected multiples of {width:.15g} s, or all from the first start to the last end"
        )
    done = schedule.series["utilization"].to_numpy() * width * schedule.system.total_nodes
    total = np.append(0.0, np.cumsum(done))
    place = np.clip(edges // width, 0, done.size).astype(np.int64)
    place = np.where(edges <= begin, 0, np.where(edges >= end, done.size, place))
    return np.diff(total[place])


def summarize(
    schedules: Iterable[Schedule], *, start: float | None = None, end: float | None = None
) -> pd.DataFrame:
    """One row a policy: what papers compare first.

    Parameters
    ----------
    schedules : iterable of Schedule
    start, end : float, optional
        The window in seconds: numbers a job are of the jobs submitted in it.

    Returns
    -------
    pd.DataFrame
        `jobs`, mean `wait_time` (s), mean `bounded_slowdown` (τ = 10 s), `utilization` from first
        submission to last end or in the window, `makespan` (s); indexed by `policy`, in the order
        given.
    """
    rows = []
    for schedule in schedules:
        wait = wait_time(schedule, start=start, end=end)
        slowdown = bounded_slowdown(schedule, start=start, end=end)
        row = {
            "policy": schedule.policy,
            "jobs": len(wait),
            "wait_time": float(wait.mean()),
            "bounded_slowdown": float(slowdown.mean()),
            "utilization": utilization(schedule, start=start, end=end),
            "makespan": makespan(schedule, start=start, end=end),
        }
        rows.append(row)
    columns = ["policy", "jobs", "wait_time", "bounded_slowdown", "utilization", "makespan"]
    return pd.DataFrame(rows, columns=columns).set_index("policy")
