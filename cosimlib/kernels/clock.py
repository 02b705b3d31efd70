"""The clock of an event-driven simulation: what happens next, and who waits when it does.

Running jobs are a heap of (end time, job), so ties go to the lower job. A job of zero run time that
starts now is in the heap with end time now: the clock then names the same instant again, until
nothing more ends in it.

Waiting jobs are a `Queue`: arrays of which the places from `first` to before `last` count, in
order, those of jobs that have started marked `TAKEN`. So starting a job costs nothing, and one
comparison with the free nodes passes over both those that do not fit and those that are gone.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.compiling import kernel

TAKEN = np.iinfo(np.int64).max
"""What a place in the queue wants once its job has started: more than is ever free."""


class Queue(NamedTuple):
    """Jobs in order and the nodes they want, or `TAKEN`; room for every job."""

    job: np.ndarray
    wanted: np.ndarray


@kernel
def no_ends() -> list[tuple[float, int]]:
    """An empty heap of (end time, job), to be used with `heapq`."""
    return [(0.0, 0) for _ in range(0)]


@kernel
def next_instant(submit_time: np.ndarray, submitted: int, ends: list[tuple[float, int]]) -> float:
    """The earlier of the next submission and the next end; infinite when there is neither."""
    instant = np.inf
    if submitted < submit_time.size:
        instant = submit_time[submitted]
    if len(ends) > 0 and ends[0][0] < instant:
        instant = ends[0][0]
    return instant


@kernel
def admit(
    queue: Queue,
    submit_time: np.ndarray,
    nodes: np.ndarray,
    submitted: int,
    last: int,
    now: float,
) -> tuple[int, int]:
    """Queue every job submitted up to `now`; return the next job and the new end of the queue."""
    while submitted < submit_time.size and submit_time[submitted] <= now:
        queue.job[last] = submitted
        queue.wanted[last] = nodes[submitted]
        submitted += 1
        last += 1
    return submitted, last


@kernel
def compact(queue: Queue, first: int, last: int) -> int:
    """Move the waiting jobs to the front of the arrays; return how many they are."""
    kept = 0
    for place in range(first, last):
        if queue.wanted[place] != TAKEN:
            queue.job[kept] = queue.job[place]
            queue.wanted[kept] = queue.wanted[place]
            kept += 1
    return kept
