"""Queues that are not in order of submission: the lower its rank, the earlier a job's turn.

`rank` has one value a job; jobs of equal rank go in order of submission. Ranks that change with
time (WFP's) are written into the same array, and the queue is sorted anew: it is nearly sorted from
the time before, so each job is moved up to its place past the few that it overtakes.

The clock of an event-driven simulation: what happens next, and who waits when it does.

Running jobs are a heap of (end time, job), so ties go to the lower job. A job of zero run time that
starts now is in the heap with end time now: the clock then names the same instant again, until
nothing more ends in it.

Waiting jobs are a `Queue`: arrays of which the places from `first` to before `last` count, in
order, those of jobs that have started marked `TAKEN`. So starting a job costs nothing, and one
comparison with the free nodes passes over both those that do not fit and those that are gone.
"""

from typing import Any, NamedTuple

import numpy as np

from cosimlib.kernels.jit import frugal_kernel, kernel

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


@kernel
def empty_queue(n: int) -> Queue:
    """A queue with room for `n` jobs."""
    return Queue(np.empty(n, np.int64), np.empty(n, np.int64))


@kernel
def insert(queue: Queue, rank: np.ndarray, first: int, last: int, job: int, wanted: int) -> int:
    """Queue a job, younger than all others, where its rank says; return the queue's new end."""
    place = last
    while place > first and rank[queue.job[place - 1]] > rank[job]:
        queue.job[place] = queue.job[place - 1]
        queue.wanted[place] = queue.wanted[place - 1]
        place -= 1
    queue.job[place] = job
    queue.wanted[place] = wanted
    return last + 1


@kernel
def put_in_turn(
    jobs: Any,
    queue: Queue,
    rank: np.ndarray,
    start_time: np.ndarray,
    aging: bool,
    eldest: bool,
    last: int,
    now: float,
) -> int:
    """Drop from the queue who has started and order the others for `now`; return how many.

    With `aging` by WFP's score; with `eldest` by rank, but for the job submitted first, which is
    the head. Otherwise `insert` has put them in order.
    """
    last = _forget_started(queue, start_time, last)
    if aging:
        _age(jobs, queue, rank, last, now)
    if aging or eldest:
        _sort(queue, rank, last)
    if eldest:
        _put_eldest_first(queue, last)
    return last


@kernel
def _age(jobs: Any, queue: Queue, rank: np.ndarray, last: int, now: float) -> None:
    """Rank the queue by minus WFP's score, ``(waited / requested_time)³ · nodes``."""
    for place in range(last):
        job = queue.job[place]
        waited = (now - jobs.submit_time[job]) / jobs.requested_time[job]
        rank[job] = -(waited * waited * waited * jobs.nodes[job])


@kernel
def _sort(queue: Queue, rank: np.ndarray, last: int) -> None:
    """Put the queue in order of rank, by insertion, for it is nearly so."""
    for end in range(1, last):
        job, wanted, place = queue.job[end], queue.wanted[end], end
        while place > 0 and _earlier(rank, job, queue.job[place - 1]):
            queue.job[place] = queue.job[place - 1]
            queue.wanted[place] = queue.wanted[place - 1]
            place -= 1
        queue.job[place] = job
        queue.wanted[place] = wanted


@kernel
def _earlier(rank: np.ndarray, job: int, other: int) -> bool:
    """Whether it is `job`'s turn before `other`'s."""
    return rank[job] < rank[other] or (rank[job] == rank[other] and job < other)


@kernel
def _put_eldest_first(queue: Queue, last: int) -> None:
    """Move the job submitted first to the front."""
    eldest = 0
    for place in range(last):
        if queue.job[place] < queue.job[eldest]:
            eldest = place
    if last > 0:
        job, wanted = queue.job[eldest], queue.wanted[eldest]
        for place in range(eldest, 0, -1):
            queue.job[place] = queue.job[place - 1]
            queue.wanted[place] = queue.wanted[place - 1]
        queue.job[0] = job
        queue.wanted[0] = wanted


@frugal_kernel
def last_alike(nodes: np.ndarray, lasting: np.ndarray, waiting: np.ndarray, place: int) -> int:
    """Where those end who, from this place on, all want as many nodes for as long."""
    job, end = waiting[place], place + 1
    while (
        end < waiting.size
        and nodes[waiting[end]] == nodes[job]
        and lasting[waiting[end]] == lasting[job]
    ):
        end += 1
    return end


@kernel
def by_start(waiting: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The waiting jobs in order of their starts; ties: as they come.

    Neighbors often start together: what is sorted is the stretches of those who do.
    """
    begins, stretches = np.empty(waiting.size + 1, np.int64), 0
    for place in range(waiting.size):
        if place == 0 or start[waiting[place]] != start[waiting[place - 1]]:
            begins[stretches] = place
            stretches += 1
    begins[stretches] = waiting.size
    sorted_jobs, size = np.empty_like(waiting), 0
    for stretch in np.argsort(start[waiting[begins[:stretches]]], kind="mergesort"):
        for place in range(begins[stretch], begins[stretch + 1]):
            sorted_jobs[size] = waiting[place]
            size += 1
    return sorted_jobs


@kernel
def _forget_started(queue: Queue, start_time: np.ndarray, last: int) -> int:
    """Move jobs that have not started to the front of the arrays; return how many they are."""
    kept = 0
    for place in range(last):
        job = queue.job[place]
        if np.isnan(start_time[job]):
            queue.wanted[kept] = queue.wanted[place]
            queue.job[kept] = job
            kept += 1
    return kept
