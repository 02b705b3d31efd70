"""Execution states: the moments at which a single preemption may come.

Duplyakin, Johnson and Ricci (ScienceCloud 2017) record the state of a simulation whenever a job
completes and, "while advancing through the simulated time between these moments", every 30 s, and
take each state as one preemption that may come. We read this as 30 s after the last recorded
state: that gives the paper's number of samples for HTC, "over 14K"; a clock that ticks every 30 s
whatever happens gives a third more (`restart=False`). For PEREGRINE both give about 168K.

A state is a moment: the jobs that run then, and their nodes, follow from the schedule
(`kernels.occupancy`), so states are never stored.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cosimlib import checks as check
from cosimlib.audit import InfeasibleScheduleError
from cosimlib.elastic.policies import priorities
from cosimlib.kernels import occupancy
from cosimlib.schedule import Schedule, check_rigid
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError

MOST_HELD = 2.0**31
"""Nodes of all jobs at most: 16 GiB."""

SAMPLING_INTERVAL = 30.0
"""Seconds between two states, the paper's T."""
PREEMPTED = 10
"""Nodes that a preemption takes, the paper's P."""
SHORT_GRACE_PERIODS = (60.0, 120.0, 1200.0, 1800.0)
LONG_GRACE_PERIODS = tuple(hours * HOUR for hours in range(1, 7))
GRACE_PERIODS = SHORT_GRACE_PERIODS + LONG_GRACE_PERIODS
"""Seconds, those of the paper's figure 3 and of its figure 4."""


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
        Where a job is wider than the partition, or has a priority that PAP+ cannot take.
    InfeasibleScheduleError
        Where the schedule holds more nodes than the partition has.
    """
    check_followed(schedule)
    partition, capacity = next(iter(schedule.system.partitions.items()))
    nodes = schedule.workload.jobs["nodes"].to_numpy()
    if (nodes > capacity).any():
        job = int((nodes > capacity).argmax())
        raise InvalidWorkloadError(
            f"{schedule.workload.label(job)} asks for {nodes[job]} nodes; partition {partition!r} "
            f"has {capacity}; drop it with Workload.keep or take a wider partition"
        )
    start_time, end_time = (
        np.array(times, dtype=np.float64) for times in (schedule.start_time, schedule.end_time)
    )
    check.room("nodes of all jobs", float(nodes.sum()), "keep fewer or narrower jobs",
               most=MOST_HELD, where=schedule.name)  # fmt: skip
    line = occupancy.timeline(start_time, end_time, np.array(nodes), capacity)
    if (line.held == occupancy.IDLE).any():
        place = int((line.held == occupancy.IDLE).argmax())
        job = int(np.searchsorted(line.first, place, side="right")) - 1
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(job)} starts at "
            f"t={start_time[job]:.15g} where fewer than its {nodes[job]} nodes are free; "
            f"partition {partition!r} has {capacity}"
        )
    return Followed(line, capacity, priorities(schedule.workload, policies))


def check_preempted(preempted: int, total_nodes: int) -> None:
    """Raise unless that many of the nodes can be preempted."""
    expected = f"a whole number from 1 to the partition's {total_nodes} nodes (the paper's N)"
    fine = check.is_whole(preempted, 1) and preempted <= total_nodes
    check.that("preempted", preempted, fine, expected)


def distinct(name: str, values: Iterable, kind: str) -> list:
    """Values as a list, one or more, each of them once: twice would be one row of every table."""
    several = isinstance(values, Iterable) and not isinstance(values, str)
    listed = list(values) if several else []
    fine = bool(listed) and len(set(listed)) == len(listed)
    check.that(name, values, fine, f"a list of one or more {kind}, each once")
    return listed


def checked_grace_periods(grace_periods: Sequence[float]) -> np.ndarray:
    """Grace periods (s) as an array, once each of them is 0 or more and there once."""
    periods = distinct("grace_periods", grace_periods, "numbers")
    for period in periods:
        check.seconds("grace_period", period)
    return np.array(periods, dtype=np.float64)


def moments_of(
    schedule: Schedule, moments: Sequence[float] | np.ndarray | None = None
) -> np.ndarray:
    """Moments (s) as an array, once they are in ascending order; by default `execution_states`."""
    return execution_states(schedule) if moments is None else checked_moments(moments)


def checked_moments(moments: Sequence[float] | np.ndarray) -> np.ndarray:
    """Moments (s) as an array, once they are in ascending order."""
    at = np.array(moments, dtype=np.float64)
    if at.ndim != 1 or not np.isfinite(at).all() or (np.diff(at) < 0).any():
        raise ValueError("moments must be finite seconds in ascending order; sort them")
    return at
