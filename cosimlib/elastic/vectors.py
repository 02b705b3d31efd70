"""Preemption vectors: the value of each node at a moment, and the nodes that a preemption takes.

A preemption vector gives each node a value in [0, 1] (Duplyakin, Johnson and Ricci, ScienceCloud
2017, Section 3.3). With elapsed the seconds that a node's job has run, a busy node's value is

- RANDOM: uniform, drawn anew each time;
- FIFO: longest elapsed - elapsed + 1 s: the longer it runs, the lower;
- LIFO: elapsed: the longer it runs, the higher;
- PAP (parallel-aware): elapsed · nodes of the job;
- PAP+: elapsed · nodes · priority;

divided by the vector's maximum (RANDOM: as drawn). An idle node's value is 0 under every policy.
The 1 s in FIFO is ours: without it the oldest job's nodes would have the value of an idle node. The
host takes the nodes of least value, ties to the lower number; RANDOM draws from the `seed`, one
number per state and node in order.

An execution state is a moment at which a single preemption may come. The paper records the state of
a simulation whenever a job completes and, "while advancing through the simulated time between these
moments", every 30 s. We read this as 30 s after the last recorded state: that gives the paper's
number of samples for HTC, "over 14K"; a clock that ticks every 30 s whatever happens gives a third
more (`restart=False`). For PEREGRINE, of which the paper has 168K, they give 166K and 169K under
EASY, and 169K and 173K under first fit (means of 20 draws of its jobs). The jobs that run at a
state, and their nodes, follow from the schedule (`kernels.occupancy`), so states are never stored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.audit import InfeasibleScheduleError
from cosimlib.kernels import occupancy
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.occupancy import IDLE
from cosimlib.schedule import Schedule, check_rigid
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload

RANDOM, FIFO, LIFO, PAP, PAP_PLUS = range(5)
POLICIES = ("RANDOM", "FIFO", "LIFO", "PAP", "PAP+")
SAMPLING_INTERVAL = 30.0
"""Seconds between two states, the paper's T."""
PREEMPTED = 10
"""Nodes that a preemption takes, the paper's P."""
GRACE_PERIODS = (60.0, 120.0, 1200.0, 1800.0, *(hours * HOUR for hours in range(1, 7)))
"""Seconds, those of the paper: short ones in its figure 3, one to six hours in its figure 4."""
MOST_HELD = 2.0**31
"""Nodes of all jobs at most: 16 GiB."""


class Followed(NamedTuple):
    """A schedule as kernels see it: the nodes that jobs hold over time, and their priorities."""

    line: occupancy.Timeline
    total_nodes: int
    priority: np.ndarray


def execution_states(
    schedule: Schedule, *, every: float = SAMPLING_INTERVAL, restart: bool = True
) -> np.ndarray:
    """The distinct moments from the first start to before the last end, ascending, in seconds.

    Parameters
    ----------
    schedule : Schedule
    every : float, default 30.0
        Seconds between two regular states.
    restart : bool, default True
        Count `every` anew from each job's end. Otherwise regular states are the multiples of
        `every` after the first start, and every end is a state besides.
    """
    check.seconds("every", every, above=0)
    check_followed(schedule)
    if schedule.start_time.size == 0:
        return np.empty(0)
    first, last = float(schedule.start_time.min()), float(schedule.end_time.max())
    ends = np.unique(schedule.end_time)
    if restart:
        begins = np.append(first, ends[:-1])
        counts = np.maximum(np.ceil((ends - begins) / every), 1).astype(np.int64)
        step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        moments = np.repeat(begins, counts) + every * step
    else:
        regular = first + every * np.arange(np.ceil((last - first) / every))
        moments = np.union1d(regular, ends)
    return np.unique(moments[moments < last])


def prioritize(
    workload: Workload, priorities: Mapping[str, float], *, by: str = "queue"
) -> Workload:
    """Workload with priorities per queue, application, …, and 1 for all other jobs.

    Parameters
    ----------
    workload : Workload
    priorities : mapping of str to float
        As the paper's ``{"bigmem": 10.0}``.
    by : str, default "queue"
        The column that the mapping names values of.
    """
    expected = f"a mapping of values of {by} to numbers, such as {{'bigmem': 10.0}}"
    check.instance("priorities", priorities, Mapping, expected=expected)
    known = workload.column(by).dropna().unique() if by in workload.jobs else []
    for name, priority in priorities.items():
        if name not in known:
            listed = ", ".join(repr(value) for value in sorted(known)[:20]) or "none"
            raise InvalidWorkloadError(
                f"{workload.name}: no job with {by}={name!r} to give priority {priority!r}; "
                f"known are {listed}"
            )
        if not check.is_number(priority) or not 0 < priority < np.inf:
            raise InvalidWorkloadError(
                f"{workload.name}: priority {priority!r} for {by}={name!r}; expected a number "
                "above 0"
            )
    named = workload.column(by).map(dict(priorities)) if priorities else np.nan
    priority = pd.Series(named, index=workload.jobs.index, dtype="float64").fillna(1.0)
    return replace(workload, jobs=workload.jobs.assign(priority=priority))


def preemption_values(
    schedule: Schedule, moments: Sequence[float] | np.ndarray, *, policy: str = "PAP", seed: int = 0
) -> pd.DataFrame:
    """Preemption vectors: one row per moment, one column per node, values in [0, 1].

    Parameters
    ----------
    schedule : Schedule
    moments : sequence of float
        Ascending seconds, such as `execution_states` gives.
    policy : str, default "PAP"
        One of `POLICIES`; PAP+ reads the workload's `priority`.
    seed : int, default 0
        Of RANDOM's draws.
    """
    values, _ = vectors(schedule, moments, policy=policy, seed=seed)
    return _by_node(values, moments)


def occupants(schedule: Schedule, moments: Sequence[float] | np.ndarray) -> pd.DataFrame:
    """Job on each node at each moment, -1 if the node is idle: one row per moment."""
    _, jobs = vectors(schedule, moments, policy="LIFO")
    return _by_node(jobs, moments)


def _by_node(values: np.ndarray, moments: Sequence[float] | np.ndarray) -> pd.DataFrame:
    """A table of one row per moment and one column per node."""
    index = pd.Index(np.array(moments, dtype=np.float64), name="time")
    return pd.DataFrame(values, index, pd.RangeIndex(values.shape[1], name="node"))


def vectors(
    schedule: Schedule, moments: Sequence[float] | np.ndarray, *, policy: str, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Preemption vectors and the jobs on the nodes, as arrays (moments × nodes)."""
    at, number = moments_of(schedule, moments), policy_number(policy)
    check.seed(seed)
    return vectors_at(follow(schedule, [number]), at, number, np.random.default_rng(seed))


def preempted_jobs(
    schedule: Schedule,
    at: float,
    *,
    policy: str = "PAP",
    preempted: int = PREEMPTED,
    grace_period: float = 120.0,
    seed: int = 0,
) -> pd.DataFrame:
    """Jobs hit by a preemption at one moment, and what happens to each.

    Returns
    -------
    pd.DataFrame
        Indexed by job: `nodes`, `nodes_taken`, `elapsed` and `remaining` (s), `killed` (whether
        it cannot end within the grace period), `wasted_cycles` (node-seconds).
    """
    (grace,) = checked_grace_periods([grace_period])
    [values], [on_nodes] = vectors(schedule, [at], policy=policy, seed=seed)
    check_preempted(preempted, values.size)
    taken = np.argsort(values, kind="stable")[:preempted]
    jobs, counts = np.unique(on_nodes[taken], return_counts=True)
    jobs, counts = jobs[jobs != IDLE], counts[jobs != IDLE]
    nodes = schedule.workload.jobs["nodes"].to_numpy()[jobs]
    elapsed, remaining = at - schedule.start_time[jobs], schedule.end_time[jobs] - at
    killed = remaining >= grace
    columns = {"nodes": nodes, "nodes_taken": counts, "elapsed": elapsed, "remaining": remaining}
    table = pd.DataFrame(columns, index=pd.Index(jobs, name="job"))
    return table.assign(killed=killed, wasted_cycles=np.where(killed, (elapsed + grace) * nodes, 0))


def check_followed(schedule: Schedule) -> None:
    """Raise unless jobs run once, on the nodes of one partition, which then follow from times."""
    check_rigid(schedule, "a preemption")
    partitions = schedule.system.partitions
    if len(partitions) > 1:
        raise ValueError(
            f"{schedule.name}: the system has {len(partitions)} partitions, "
            f"{', '.join(partitions)}; a preemption is analyzed on one: schedule its jobs alone"
        )


def follow(schedule: Schedule, policies: Sequence[int] = ()) -> Followed:
    """A schedule with the numbers of the nodes that each job holds: always the lowest free.

    `policies` are those that will value nodes: PAP+ needs priorities above 0.

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the partition, or has a priority that PAP+ cannot take.
    InfeasibleScheduleError
        If the schedule holds more nodes than the partition has.
    """
    check_followed(schedule)
    nodes = schedule.workload.arrays(schedule.system, requested_time=False).nodes
    partition, capacity = next(iter(schedule.system.partitions.items()))
    start_time, end_time = (
        np.array(times, dtype=np.float64) for times in (schedule.start_time, schedule.end_time)
    )
    check.room(
        "nodes of all jobs",
        float(nodes.sum()),
        "keep fewer or narrower jobs",
        most=MOST_HELD,
        where=schedule.name,
    )
    line = occupancy.timeline(start_time, end_time, nodes, capacity)
    if (line.held == IDLE).any():
        place = int((line.held == IDLE).argmax())
        job = int(np.searchsorted(line.first, place, side="right")) - 1
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(job)} starts at "
            f"t={start_time[job]:.15g} where fewer than its {nodes[job]} nodes are free; "
            f"partition {partition!r} has {capacity}"
        )
    return Followed(line, capacity, priorities(schedule.workload, policies))


def policy_number(policy: str, *, where: str = "") -> int:
    """The number by which kernels know a preemption policy."""
    check.choice("policy", policy, POLICIES, where=where)
    return POLICIES.index(policy)


def priorities(workload: Workload, policies: Sequence[int] | np.ndarray) -> np.ndarray:
    """Priorities, one per job, checked where PAP+ is among the policies: it multiplies by them.

    Raises
    ------
    InvalidWorkloadError
        For the first job whose priority is not a number above 0.
    """
    priority = np.array(workload.column("priority"), dtype=np.float64)
    if PAP_PLUS in policies:
        fine = (priority > 0) & (priority < np.inf)
        expected = "a number above 0 (1 is the default); give priorities with prioritize"
        check.rows(
            "priority", priority, fine, expected, row=workload.label, error=InvalidWorkloadError
        )
    return priority


def check_preempted(preempted: int, total_nodes: int) -> None:
    """Raise unless that many of the nodes can be preempted."""
    expected = f"a whole number from 1 to the partition's {total_nodes} nodes (the paper's N)"
    fine = check.is_whole(preempted, 1) and preempted <= total_nodes
    check.that("preempted", preempted, fine, expected)


def checked_grace_periods(grace_periods: Sequence[float]) -> np.ndarray:
    """Grace periods (s) as an array, once each of them is 0 or more and there once."""
    periods = list(grace_periods) if isinstance(grace_periods, Iterable) else []
    fine = bool(periods) and len(set(periods)) == len(periods)
    expected = "a list of one or more numbers, each once"
    check.that("grace_periods", grace_periods, fine, expected)
    for period in periods:
        check.seconds("grace_period", period)
    return np.array(periods, dtype=np.float64)


def moments_of(
    schedule: Schedule, moments: Sequence[float] | np.ndarray | None = None
) -> np.ndarray:
    """Moments (s) as an array, once they are in ascending order; by default `execution_states`."""
    if moments is None:
        return execution_states(schedule)
    at = np.array(moments, dtype=np.float64)
    if at.ndim != 1 or not np.isfinite(at).all() or (np.diff(at) < 0).any():
        raise ValueError("moments must be finite seconds in ascending order; sort them")
    return at


@kernel
def evaluate(
    policy: int,
    job: np.ndarray,
    elapsed: np.ndarray,
    held: np.ndarray,
    priority: np.ndarray,
    rng: np.random.Generator,
    values: np.ndarray,
) -> None:
    """Write the preemption vector, one value per node, into `values`.

    `job` and `elapsed` (s) are per node, `held` (nodes of a job) and `priority` per job. RANDOM
    draws one number per node, idle nodes included, so that draws do not depend on what is idle.
    """
    longest = 0.0
    if policy == FIFO:
        for node in range(job.size):
            if job[node] != IDLE:
                longest = max(longest, elapsed[node])
    largest = 0.0
    for node in range(job.size):
        draw = 1.0 - rng.random() if policy == RANDOM else 0.0
        values[node] = 0.0
        if job[node] == IDLE:
            continue
        if policy == RANDOM:
            values[node] = draw
            largest = 1.0
            continue
        value = longest - elapsed[node] + 1.0 if policy == FIFO else elapsed[node]
        if policy >= PAP:
            value *= held[job[node]]
        if policy == PAP_PLUS:
            value *= priority[job[node]]
        values[node] = value
        largest = max(largest, value)
    if largest > 0.0:
        for node in range(job.size):
            values[node] /= largest


@allocating_kernel
def vectors_at(
    followed: tuple, at: np.ndarray, policy: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Preemption vectors and the job on each node, `occupancy.IDLE` for none (moments × nodes)."""
    line, total_nodes, priority = followed
    current, elapsed = occupancy.empty(total_nodes), np.empty(total_nodes)
    values = np.empty((at.size, total_nodes))
    jobs = np.empty((at.size, total_nodes), np.int64)
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        occupancy.elapsed_at(line.start_time, current.job, at[state], elapsed)
        evaluate(policy, current.job, elapsed, line.nodes, priority, rng, values[state])
        for node in range(total_nodes):
            jobs[state, node] = current.job[node]
    return values, jobs
