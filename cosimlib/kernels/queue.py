"""The queue: waiting jobs in order of a rank, lowest first; ties go to the job submitted first.

A `Queue` is two arrays of which the places from `first` to before `last` count. A job that starts
is only marked: its place then wants `TAKEN` nodes. So a start costs nothing, and one comparison
with the free nodes passes over jobs that do not fit and jobs that have started.

Ranks that change with time (WFP's) are written into the array of ranks, and the queue is sorted
anew by insertion: it is nearly sorted from the time before.
"""

from typing import Any, NamedTuple

import numpy as np

from cosimlib.kernels.jit import frugal_kernel, inlined_kernel, kernel
from cosimlib.kernels.sorting import merge

TAKEN = np.iinfo(np.int64).max
"""Nodes wanted at a place whose job has started: more than are ever free."""

SUBMITTED, STATIC, WFP, HEAD_FIRST = 0, 1, 2, 3
"""Kinds of order: by submission; by ranks that stay; by ranks that are WFP's scores of the moment;
by ranks that stay, behind the job submitted first."""


class Queue(NamedTuple):
    """Jobs in order, and the nodes that each wants, or `TAKEN`; room for all jobs."""

    job: np.ndarray
    wanted: np.ndarray


@kernel
def empty(n: int) -> Queue:
    """A queue without jobs, with room for `n`."""
    return Queue(np.empty(n, np.int64), np.empty(n, np.int64))


@frugal_kernel
def compact(queue: Queue, kept: int, first: int, last: int) -> int:
    """Move jobs that are not `TAKEN` to the places from `kept` on; return the end of these."""
    for place in range(first, last):
        if queue.wanted[place] != TAKEN:
            queue.job[kept] = queue.job[place]
            queue.wanted[kept] = queue.wanted[place]
            kept += 1
    return kept


@kernel
def insert(queue: Queue, rank: np.ndarray, last: int, job: int, wanted: int) -> int:
    """Insert the job submitted last at the place of its rank; return the new `last`."""
    place = last
    while place > 0 and rank[queue.job[place - 1]] > rank[job]:
        queue.job[place] = queue.job[place - 1]
        queue.wanted[place] = queue.wanted[place - 1]
        place -= 1
    queue.job[place] = job
    queue.wanted[place] = wanted
    return last + 1


@kernel
def reorder(
    jobs: Any,
    queue: Queue,
    rank: np.ndarray,
    start_time: np.ndarray,
    kind: int,
    last: int,
    now: float,
) -> int:
    """Drop started jobs and put the others in order for `now`; return how many wait.

    Where ranks stay, `insert` has put the jobs in order.
    """
    last = _drop_started(queue, start_time, last)
    if kind == WFP:
        _rank_by_wfp(jobs, queue, rank, last, now)
    if kind in (WFP, HEAD_FIRST):
        _sort(queue, rank, last)
    if kind == HEAD_FIRST:
        _move_oldest_to_front(queue, last)
    return last


@kernel
def _drop_started(queue: Queue, start_time: np.ndarray, last: int) -> int:
    """Move jobs that have not started to the front of the arrays; return how many wait."""
    kept = 0
    for place in range(last):
        job = queue.job[place]
        if np.isnan(start_time[job]):
            queue.wanted[kept] = queue.wanted[place]
            queue.job[kept] = job
            kept += 1
    return kept


@kernel
def _rank_by_wfp(jobs: Any, queue: Queue, rank: np.ndarray, last: int, now: float) -> None:
    """Set ranks to minus WFP's score."""
    for place in range(last):
        rank[queue.job[place]] = -wfp_score(jobs, queue.job[place], now)


@inlined_kernel
def wfp_score(jobs: Any, job: int, now: float) -> float:
    """WFP's score, ``(waited / requested_time)³ · nodes``."""
    waited = (now - jobs.submit_time[job]) / jobs.requested_time[job]
    return waited * waited * waited * jobs.nodes[job]


@kernel
def _sort(queue: Queue, rank: np.ndarray, last: int) -> None:
    """Sort the queue by rank, by insertion: it is nearly sorted."""
    for end in range(1, last):
        job, wanted, place = queue.job[end], queue.wanted[end], end
        while place > 0 and precedes(rank, job, queue.job[place - 1]):
            queue.job[place] = queue.job[place - 1]
            queue.wanted[place] = queue.wanted[place - 1]
            place -= 1
        queue.job[place] = job
        queue.wanted[place] = wanted


@frugal_kernel
def precedes(rank: np.ndarray, job: int, other: int) -> bool:
    """Whether `job` comes before `other` in the queue."""
    return rank[job] < rank[other] or (rank[job] == rank[other] and job < other)


@kernel
def _move_oldest_to_front(queue: Queue, last: int) -> None:
    """Move the job submitted first to the front."""
    oldest = 0
    for place in range(last):
        if queue.job[place] < queue.job[oldest]:
            oldest = place
    if last > 0:
        job, wanted = queue.job[oldest], queue.wanted[oldest]
        for place in range(oldest, 0, -1):
            queue.job[place] = queue.job[place - 1]
            queue.wanted[place] = queue.wanted[place - 1]
        queue.job[0] = job
        queue.wanted[0] = wanted


@frugal_kernel
def next_different(nodes: np.ndarray, duration: np.ndarray, jobs: np.ndarray, place: int) -> int:
    """First place after `place` whose job wants other nodes or another duration."""
    job, end = jobs[place], place + 1
    while (
        end < jobs.size and nodes[jobs[end]] == nodes[job] and duration[jobs[end]] == duration[job]
    ):
        end += 1
    return end


@kernel
def by_start(jobs: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Jobs sorted by start, stable: neighbors with one start are moved as one.

    Stretches of the queue that are in order already are merged.
    """
    first, moment = np.empty(jobs.size + 1, np.int64), np.empty(jobs.size)
    bounds, runs, stretches = np.empty(jobs.size + 1, np.int64), 0, 0
    for place in range(jobs.size):
        if place == 0 or start[jobs[place]] != moment[runs - 1]:
            first[runs], moment[runs] = place, start[jobs[place]]
            if runs == 0 or moment[runs] < moment[runs - 1]:
                bounds[stretches] = runs
                stretches += 1
            runs += 1
    first[runs], bounds[stretches] = jobs.size, runs
    order, merged = np.arange(runs), np.empty(runs, np.int64)
    while stretches > 1:
        for pair in range(0, stretches, 2):
            left, middle = bounds[pair], bounds[pair + 1]
            right = bounds[pair + 2] if pair + 2 <= stretches else middle
            merge(order, moment, left, middle, right, merged)
            bounds[pair // 2] = left
        stretches = (stretches + 1) // 2
        bounds[stretches] = runs
        order, merged = merged, order
    ordered, size = np.empty_like(jobs), 0
    for run in order:
        for place in range(first[run], first[run + 1]):
            ordered[size] = jobs[place]
            size += 1
    return ordered
