"""Audit of time-shared schedules: placement, memory, capacity, windows of the series, shares."""

from typing import NamedTuple

import numpy as np

from cosimlib.audit import (
    InfeasibleScheduleError,
    audit_rule,
    check_columns,
    demand,
    demand_of_jobs,
)
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.timesharing.schedule import TimesharedSchedule


@audit_rule.register
def audit_timeshared(schedule: TimesharedSchedule) -> None:
    """Raise an error if a schedule of shared nodes could not have happened.

    No job starts early or is done sooner than alone on its nodes, each is on as many different
    nodes of the system as it asks for, no node's memory is exceeded, no node does more work in a
    busy period than it lasts (SPMD jobs), each window of the series has the jobs' presence and
    waiting, and no more work than that allows, all of it together is the jobs', and sampled shares
    are those of the jobs that run, no more than their nodes have.

    An end is a quotient, rounded to the nearest float: a job's work may be off by the distance of
    the floats there, 1.5e-5 s near the latest times that a `Workload` may have.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, the node, or the window.
    """
    jobs = schedule.workload.jobs
    check_columns(schedule)
    _check_placement(schedule)
    submit_time, run_time = jobs["submit_time"].to_numpy(), jobs["run_time"].to_numpy()
    nodes, duration = jobs["nodes"].to_numpy(), schedule.end_time - schedule.start_time
    exact = 1e-6 + 2 * np.spacing(schedule.end_time)
    rules = (
        ("starts before its submission", schedule.start_time >= submit_time),
        ("never ends", schedule.end_time < np.inf),
        ("is done sooner than alone", duration * schedule.speed >= run_time * (1 - 1e-9) - exact),
        ("is not on as many nodes as it asks for", np.diff(schedule.first) == nodes),
        (
            "is on a node twice, or on none of the system's",
            _distinct(schedule.first, schedule.members, schedule.system.total_nodes),
        ),
    )
    times = "submitted at t={:.15g}, from t={:.15g} to t={:.15g}, {:.15g} s alone"
    columns = submit_time, schedule.start_time, schedule.end_time, run_time, nodes
    for wrong, fine in rules:
        where = schedule.nodes_of(int(np.argmin(fine))).tolist() if len(nodes) else []
        message = f"{wrong}: {times}, {{}} nodes, placed on {where}"
        demand_of_jobs(schedule, fine, message, *columns)
    _check_memory(schedule)
    if schedule.spmd:
        _check_capacity(schedule)
    _check_series(schedule)
    _check_shares(schedule)


def _check_placement(schedule: TimesharedSchedule) -> None:
    """Raise an error if the placement is not one list of nodes per job."""
    first, n = schedule.first, len(schedule.workload)
    for name in ("first", "members"):
        values = getattr(schedule, name)
        if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iu":
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {name} is not an array of whole numbers, the nodes of each job"
            )
    whole = first.shape == (n + 1,) and first[0] == 0 and first[-1] == schedule.members.size
    if not whole or (np.diff(first) < 0).any():
        raise InfeasibleScheduleError(
            f"{schedule.policy}: a placement of {first.size - 1} jobs on {schedule.members.size} "
            f"nodes; {schedule.workload.name} has {n} jobs that ask for "
            f"{schedule.workload.jobs['nodes'].sum()} nodes, in order"
        )


def _check_series(schedule: TimesharedSchedule) -> None:
    """Raise an error if the series is not what the jobs did, window by window."""
    jobs, series, width = schedule.workload.jobs, schedule.series, schedule.resolution
    nodes, submit_time = jobs["nodes"].to_numpy(), jobs["submit_time"].to_numpy()
    begins = series.index.to_numpy()
    if not np.array_equal(begins, np.arange(len(series)) * width):
        raise InfeasibleScheduleError(
            f"{schedule.policy}: windows of the series begin at {_few(begins)}; expected 0, "
            f"{width:.15g}, {2 * width:.15g} … s"
        )
    use, offered = series["utilization"].to_numpy(), schedule.system.total_nodes
    most = schedule.speed * np.minimum(1.0, series["cpu_load"].to_numpy())
    fine = (use >= -1e-9) & (use <= most * (1 + 1e-6) + 1e-9)
    message = (
        "utilization {:.15g} at t={:.15g}; expected 0 to {:.15g}, of nodes with a speed of {:.15g}"
    )
    demand(schedule, fine, message, use, begins, most, schedule.speed)
    for column, what, start, end, weight, parts in (
        (
            "cpu_load",
            "jobs × nodes × seconds",
            schedule.start_time,
            schedule.end_time,
            nodes,
            offered,
        ),
        ("waiting", "seconds of waiting", submit_time, schedule.start_time, np.ones(nodes.size), 1),
    ):
        expected = _by_window(start, end, weight, width, len(series))
        found = np.zeros(expected.size)
        found[: len(series)] = series[column].to_numpy() * (width * parts)
        fine = np.abs(found - expected) <= 1e-6 * (expected + width)
        message = (
            "the jobs of {} make {:.15g} {} in the window at t={:.15g}; the series has {:.15g}"
        )
        windows = np.arange(expected.size) * width
        demand(schedule, fine, message, schedule.workload.name, expected, what, windows, found)
    work, done = float(jobs["run_time"].to_numpy() @ nodes), float(use.sum() * width * offered)
    rounding = 1e-6 + float(np.spacing(schedule.end_time) @ nodes)
    # In steps a job may be given more than it needs, in its last step only.
    fine = [not done < work * (1 - 1e-6) - rounding]
    message = "the jobs of {} make {:.15g} node-seconds of work; the series adds up to {:.15g}"
    demand(schedule, fine, message, schedule.workload.name, work, done)


def _by_window(
    start: np.ndarray, end: np.ndarray, weight: np.ndarray, width: float, windows: int
) -> np.ndarray:
    """Weighted seconds of intervals in each window of `width` seconds from 0; as many or more."""
    windows = max(windows, int(end.max(initial=0.0) // width) + 1)
    total = np.zeros(windows)
    for times, sign in ((start, 1.0), (end, -1.0)):
        place = (times // width).astype(np.int64)
        count = np.bincount(place, weight, windows)
        total += sign * np.bincount(place, weight * ((place + 1) * width - times), windows)
        total += sign * width * (np.cumsum(count) - count)
    return total


def _check_shares(schedule: TimesharedSchedule) -> None:
    """Raise an error if sampled shares are not of running jobs, or exceed what nodes have."""
    if schedule.shares is None:
        return
    n, speed, jobs = len(schedule.workload), schedule.speed, schedule.shares.columns.to_numpy()
    if not np.isin(jobs, np.arange(n)).all() or np.unique(jobs).size < jobs.size:
        raise InfeasibleScheduleError(
            f"{schedule.policy}: shares of the jobs {_few(jobs)}; expected rows of "
            f"{schedule.workload.name}, from 0 to {n - 1}, each once"
        )
    for moment, shares in zip(schedule.shares.index, schedule.shares.to_numpy(), strict=True):
        given = np.zeros(n)
        given[jobs] = shares
        runs = (schedule.start_time <= moment) & (moment < schedule.end_time)
        fine = np.where(runs, (given > 0) & (given <= speed * (1 + 1e-9)), given == 0)
        message = (
            "has a share of {:.15g} at t={:.15g}; it runs from t={:.15g} to t={:.15g}, and nodes "
            "have a speed of {:.15g}"
        )
        columns = given, moment, schedule.start_time, schedule.end_time, speed
        demand_of_jobs(schedule, fine, message, *columns)
        given = np.repeat(given, np.diff(schedule.first))
        used = np.bincount(schedule.members, given, schedule.system.total_nodes)
        fits = not (schedule.spmd and used.max() > speed * (1 + 1e-9))
        message = "shares on node {} add up to {:.15g} at t={:.15g}; nodes have a speed of {:.15g}"
        demand(schedule, [fits], message, used.argmax(), used.max(), moment, speed)


def _few(values: np.ndarray) -> str:
    """The first few values, for a message."""
    return ", ".join(str(value) for value in values[:3]) + (" …" if values.size > 3 else "")


def _check_memory(schedule: TimesharedSchedule) -> None:
    """Raise an error for the first node that holds more than its memory."""
    memory = schedule.workload.column("memory").fillna(0.0).to_numpy(np.float64).copy()
    capacity = schedule.system.memory_per_node
    if not capacity < np.inf:
        return
    events = _in_order(schedule, memory > 0, ends_first=True)
    free = np.full(schedule.system.total_nodes, capacity)
    event, node = _first_oversubscribed(schedule.first, schedule.members, memory, events, free)
    if event >= 0:
        raise InfeasibleScheduleError(
            f"{schedule.policy}: node {node} holds more than its {capacity:g} GB at "
            f"t={events.time[event]:.15g}, when "
            f"{schedule.workload.label(int(events.job[event]))} starts"
        )


def _check_capacity(schedule: TimesharedSchedule) -> None:
    """Raise an error for the first node that did more work in a busy period than it lasted."""
    work = schedule.workload.jobs["run_time"].to_numpy(np.float64).copy()
    begin, speed = np.zeros(schedule.system.total_nodes), schedule.speed
    events = _in_order(schedule, np.ones(work.size, np.bool_), ends_first=False)
    event, node = _first_overworked(schedule.first, schedule.members, work, events, begin, speed)
    if event >= 0:
        raise InfeasibleScheduleError(
            f"{schedule.policy}: node {node} does more work than its speed of "
            f"{speed:.15g} allows in the busy period that ends at t={events.time[event]:.15g}"
        )


class Events(NamedTuple):
    """Starts and ends in order: the time, the job, and whether it starts."""

    time: np.ndarray
    job: np.ndarray
    starts: np.ndarray


def _in_order(schedule: TimesharedSchedule, which: np.ndarray, *, ends_first: bool) -> Events:
    """The starts and ends of some jobs, those that run for a while."""
    jobs = np.flatnonzero(which & (schedule.end_time > schedule.start_time))
    times = np.concatenate([schedule.start_time[jobs], schedule.end_time[jobs]])
    starts = np.arange(times.size) < jobs.size
    order = np.lexsort((starts == ends_first, times))
    return Events(times[order], np.concatenate([jobs, jobs])[order], starts[order])


@allocating_kernel
def _first_overworked(
    first: np.ndarray,
    members: np.ndarray,
    run_time: np.ndarray,
    events: Events,
    begin: np.ndarray,
    speed: float,
) -> tuple[int, int]:
    """The first event, and the node, at which a busy period held more work than time; −1 if none.

    Jobs one of which starts when another ends make one busy period: starts come before ends.
    """
    here, work = np.zeros(begin.size, np.int64), np.zeros(begin.size)
    rounding = np.zeros(begin.size)
    for event in range(events.time.size):
        now, job = events.time[event], events.job[event]
        for place in range(first[job], first[job + 1]):
            node = members[place]
            if events.starts[event]:
                if here[node] == 0:
                    begin[node], work[node], rounding[node] = now, 0.0, 1e-6
                here[node] += 1
                work[node] += run_time[job]
            else:
                here[node] -= 1
                rounding[node] += np.spacing(now)
                allowed = speed * (now - begin[node]) * (1 + 1e-9) + rounding[node]
                if here[node] == 0 and work[node] > allowed:
                    return event, node
    return -1, -1


@allocating_kernel
def _distinct(first: np.ndarray, members: np.ndarray, total_nodes: int) -> np.ndarray:
    """Whether each job's nodes are all different, and all of the system's."""
    fine = np.ones(first.size - 1, np.bool_)
    seen = np.full(total_nodes, -1, np.int64)
    for job in range(fine.size):
        for place in range(first[job], first[job + 1]):
            node = members[place]
            if node < 0 or node >= total_nodes or seen[node] == job:
                fine[job] = False
            else:
                seen[node] = job
    return fine


@kernel
def _first_oversubscribed(
    first: np.ndarray, members: np.ndarray, memory: np.ndarray, events: Events, free: np.ndarray
) -> tuple[int, int]:
    """The first event, and the node, at which more memory is taken than is free; −1 if none."""
    for event in range(events.time.size):
        job = events.job[event]
        for place in range(first[job], first[job + 1]):
            free[members[place]] -= memory[job] if events.starts[event] else -memory[job]
            if free[members[place]] < -1e-6:
                return event, members[place]
    return -1, -1
