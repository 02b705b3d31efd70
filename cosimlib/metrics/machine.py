"""Metrics per machine: utilization, node-hours by use, loss of capacity, offered load.

All metrics count nodes from `Schedule.allocations`. If jobs share nodes, only the useful work in
each window of the schedule's own series is known.
"""

import math
from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.kernels.steps import step_function, steps_at
from cosimlib.metrics.jobs import bounded_slowdown, makespan, wait_time
from cosimlib.metrics.windows import span
from cosimlib.schedule import Schedule, check_rigid, check_schedule
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload, check_run

NO_JOB_WAITS = np.iinfo(np.int64).max
"""Nodes of the smallest waiting job while no job waits: more than are ever idle."""


def utilization(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> float:
    """Utilization: node-seconds held in a window ÷ node-seconds that the system offers in it.

    Nodes closed by the schedule's calendar are not offered, except those that a job still holds.

    All uses count: runs, killed runs, nodes held idle for a mate, containers (see
    `node_hours_by_use`). If jobs share nodes, only useful work counts: the node-seconds that the
    jobs would have held alone.

    Parameters
    ----------
    schedule : Schedule
        Of a `TimesharedSchedule`, the window must begin and end with windows of its series, or
        before the first start and after the last end.
    start, end : float, optional
        The window in seconds; by default from the first submission to the last end.

    Returns
    -------
    float
        NaN if the schedule itself has no length and no window was given.
    """
    check_schedule(schedule)
    return schedule.utilization(*span(schedule, start, end))


def summarize(
    schedules: Iterable[Schedule], *, start: float | None = None, end: float | None = None
) -> pd.DataFrame:
    """Table of the usual metrics, one row per policy.

    Parameters
    ----------
    schedules : iterable of Schedule
    start, end : float, optional
        The window in seconds; metrics per job cover the jobs submitted in it.

    Returns
    -------
    pd.DataFrame
        `jobs`, mean `wait_time` (s), mean `bounded_slowdown` (τ = 10 s), `utilization` from first
        submission to last end or in the window, `makespan` (s); indexed by `policy`, in the order
        given.
    """
    if isinstance(schedules, Schedule) or not isinstance(schedules, Iterable):
        check.instance("schedules", schedules, list, expected="a list of schedules")
    rows = []
    for place, schedule in enumerate(schedules):
        check.instance(f"schedules[{place}]", schedule, Schedule)
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
    columns = ["jobs", "wait_time", "bounded_slowdown", "utilization", "makespan"]
    return pd.DataFrame(rows, columns=["policy", *columns]).set_index("policy")


def node_hours(
    schedule: Schedule,
    *,
    start: float | None = None,
    end: float | None = None,
) -> pd.Series:
    """Node-hours *useful*, *lost* and *idle* in a window; their sum is what the system offers.

    *Useful* are the run times of jobs, and saved containers. *Lost* is everything else that is
    held: killed runs, nodes held idle for a mate, and the excess of a run over its run time. If the
    window cuts a run, useful and lost have the same proportion as in the whole run. *Idle* is the
    rest.

    Parameters
    ----------
    schedule : Schedule
    start, end : float, optional
        The window in seconds; by default from the first submission to the last end.

    Returns
    -------
    pd.Series
        `useful`, `lost`, `idle`. Idle is negative if a recorded schedule holds too many nodes.

    Raises
    ------
    ValueError
        If the window has no length, or jobs share nodes.
    """
    check_schedule(schedule)
    first, last = span(schedule, start, end)
    table, held = schedule.allocations, schedule.held(first, last) / HOUR
    use, job = table["use"], table["job"].to_numpy()
    length = (table["end"] - table["start"]).to_numpy()
    run_time = np.append(schedule.workload.jobs["run_time"].to_numpy(), np.inf)[job]
    share = np.divide(run_time, length, out=np.ones(len(table)), where=length > run_time)
    share = np.where(use.isin(["run", "container"]), share, 0.0)
    parts = {"useful": held @ share, "lost": held @ (1.0 - share)}
    idle = _offered_node_hours(schedule, first, last) - held.sum()
    return pd.Series(parts | {"idle": idle}, name="node_hours", dtype=np.float64)


def node_hours_by_use(
    schedule: Schedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Node-hours of each use in a window, and `idle`; their sum is what the system offers.

    Parameters
    ----------
    schedule : Schedule
    start, end : float, optional
        The window in seconds; by default from the first submission to the last end.
    """
    check_schedule(schedule)
    first, last = span(schedule, start, end)
    by_use = schedule.node_hours_by_use(first, last)
    by_use["idle"] = _offered_node_hours(schedule, first, last) - by_use.sum()
    return by_use


def loss_of_capacity(
    schedule: Schedule,
    *,
    start: float | None = None,
    end: float | None = None,
) -> float:
    """Loss of capacity: share of a window's node-seconds that are idle while a waiting job fits.

    At the events (submissions, starts, ends) at times t_i, let n of the N nodes be idle from event
    i to the next. The loss is ``Σ lost_i · (t_{i+1} - t_i) / (N · window)``, where lost = n while
    some waiting job needs at most n nodes, else 0: the scheduler could have started this job. Some
    papers define "lost" differently.

    Parameters
    ----------
    schedule : Schedule
        Of one or more partitions. Each job waits for the nodes of its own partition; a job without
        a partition waits for the first.
    start, end : float, optional
        The window in seconds; by default from the first submission to the last end.

    Returns
    -------
    float
        NaN if the schedule itself has no length and no window was given.

    Raises
    ------
    ValueError
        If jobs share nodes, or a job never started.
    """
    check_schedule(schedule)
    check_rigid(schedule, "loss_of_capacity")
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
    lost = sum(
        _lost_node_seconds(
            schedule, (schedule.partition == name).to_numpy(bool), nodes, first, last
        )
        for name, nodes in partitions.items()
    )
    return lost / float(schedule.offered_node_seconds(np.array([first, last])).sum())


def offered_load(workload: Workload, system: System) -> float:
    """Offered load: submitted work ÷ capacity of the system from first to last submission.

    ``Σ nodes·run_time / (total_nodes · (last submission − first submission))``; infinite if all
    jobs are submitted at once, NaN without jobs.
    """
    check_run(workload, system)
    jobs = workload.jobs
    if jobs.empty:
        return math.nan
    work = float((jobs["nodes"] * jobs["run_time"]).sum())
    seconds = float(jobs["submit_time"].max() - jobs["submit_time"].min())
    return work / (system.total_nodes * seconds) if seconds > 0 else math.inf


def _offered_node_hours(schedule: Schedule, first: float, last: float) -> float:
    """Node-hours offered between two instants; 0 if they are not in order."""
    if not first < last:
        return 0.0
    return float(schedule.offered_node_seconds(np.array([first, last])).sum()) / HOUR


def _lost_node_seconds(
    schedule: Schedule, here: np.ndarray, capacity: int, first: float, last: float
) -> float:
    """Node-seconds idle in one partition while one of its waiting jobs fits."""
    jobs = schedule.workload.jobs[here]
    submit_time, nodes = jobs["submit_time"].to_numpy(np.float64), jobs["nodes"].to_numpy(np.int64)
    start_time, table = schedule.start_time[here], schedule.allocations
    table = table[np.append(here, len(schedule.system.partitions) == 1)[table["job"]]]
    held = step_function(*(table[name].to_numpy() for name in ("start", "end", "nodes")))
    order = np.argsort(start_time, kind="stable")
    waiting = _smallest_waiting(*map(np.array, (submit_time, start_time, order, nodes)))
    opened = schedule.calendar.capacity(capacity)
    opens = opened.index.to_numpy(np.float64), opened.to_numpy()
    times = np.sort(np.concatenate([held[0], waiting[0], opens[0]]))
    times = np.concatenate([[first], times[(times > first) & (times < last)]])
    idle = np.maximum(steps_at(*opens, times) - steps_at(*held, times), 0)
    lost = np.where(steps_at(*waiting, times, before=NO_JOB_WAITS) <= idle, idle, 0)
    return float(lost @ np.diff(times, append=last))


@allocating_kernel
def _smallest_waiting(
    submit_time: np.ndarray, start_time: np.ndarray, by_start: np.ndarray, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Instants at which a job is submitted or starts, and the fewest nodes wanted from each on.

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
        fewest[size] = waiting[0][0] if len(waiting) > 0 else NO_JOB_WAITS
        size += 1
    return times[:size], fewest[:size]
