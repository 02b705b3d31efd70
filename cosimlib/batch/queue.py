"""The waiting jobs in the order of a policy, as leaves of a tournament tree.

The leaves, from left to right, are places for the jobs that wait and for the next `BLOCK` to be
submitted. Once these have come, leaves are given out anew: so the tree spans the waiting jobs and
not the whole workload.

Ranks that change with time (WFP's and others) give no job a place that stays. Leaves are then in
order of submission, and the job with the highest score of the moment is sought among all that may
start. Scores that a function gives in Python are written as ranks before each decision.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch.orders import AGING, ASKED, HEAD_FIRST, SUBMITTED, UNICEF, WFP
from cosimlib.kernels import tournament
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.scores import cubed_wait, expansion, small_first
from cosimlib.kernels.tournament import NOBODY, ROOT

BLOCK = 256
"""Submissions for which leaves are given out at once: the more, the larger the tree of a short
queue; the fewer, the more often leaves are given out."""

FLOATS, INTEGERS = "submit_time run_time requested_time start_time rank before_rank", "nodes"
"""Fields of a job that every policy of this room reads; the times in seconds.

The lowest `rank` comes first in the queue, but `before_rank` counts before it; it is usually 0.
"""


class Queue(NamedTuple):
    """The waiting jobs as leaves of a tree, and two lists of numbers of jobs.

    `coming` lists all jobs, by rank within each `BLOCK` of submissions. `by_leaf` has room for the
    jobs to which leaves are given.
    """

    tree: np.recarray
    coming: np.ndarray
    by_leaf: np.ndarray


def queue_of(rank: np.ndarray, kind: int) -> Queue:
    """A queue to which all jobs are still to come."""
    numbers = np.arange(rank.size)
    is_by_rank = kind != SUBMITTED and kind < AGING
    coming = np.lexsort((rank, numbers // BLOCK)) if is_by_rank else numbers
    return Queue(tournament.empty(rank.size), coming, np.empty_like(numbers))


@kernel
def submit_next(jobs: np.recarray, state: np.record, tree: np.recarray) -> None:
    """Let the next job wait, which has a leaf."""
    job = jobs[state.submitted]
    tournament.put(tree, job.leaf, job.nodes, job.requested_time)
    state.submitted += 1


@kernel
def give_leaves(
    jobs: np.recarray,
    state: np.record,
    tree: np.recarray,
    coming: np.ndarray,
    by_leaf: np.ndarray,
) -> None:
    """Give leaves to the waiting jobs and to the next block, in order of their ranks."""
    last = min(state.submitted + BLOCK, jobs.size)
    leaves = _merge(jobs, state, tree, coming[state.submitted : last], by_leaf)
    _grow(jobs, state, tree, by_leaf[:leaves])


@kernel
def _merge(
    jobs: np.recarray,
    state: np.record,
    tree: np.recarray,
    block: np.ndarray,
    by_leaf: np.ndarray,
) -> int:
    """List the waiting jobs and those of the next block by rank; return how many there are.

    Both are in order of their ranks already. Ties go to the jobs that wait.
    """
    count, place = 0, 0
    for leaf in range(state.width, state.width + state.leaves):
        if tree[leaf].nodes == NOBODY:
            continue
        waiting = tree[leaf].job
        while place < block.size and jobs[block[place]].rank < jobs[waiting].rank:
            by_leaf[count] = block[place]
            count += 1
            place += 1
        by_leaf[count] = waiting
        count += 1
    while place < block.size:
        by_leaf[count] = block[place]
        count += 1
        place += 1
    return count


@kernel
def _grow(jobs: np.recarray, state: np.record, tree: np.recarray, by_leaf: np.ndarray) -> None:
    """Make a new tree with these jobs at its leaves; those that wait already ask for nodes."""
    width = 1
    while width < by_leaf.size:
        width *= 2
    for place in range(width):
        leaf = tree[width + place]
        leaf.nodes, leaf.time = NOBODY, np.inf
        if place < by_leaf.size:
            leaf.job = by_leaf[place]
            job = jobs[leaf.job]
            job.leaf = width + place
            if leaf.job < state.submitted:
                leaf.nodes, leaf.time = job.nodes, job.requested_time
    tournament.build(tree, width)
    state.leaves, state.width = by_leaf.size, width


@kernel
def remove(jobs: np.recarray, tree: np.recarray, leaf: int) -> int:
    """Remove the job of a leaf from the queue, and return its number."""
    number = tree[leaf].job
    jobs[number].leaf = 0
    tournament.put(tree, leaf, NOBODY, np.inf)
    return number


@kernel
def head(jobs: np.recarray, state: np.record, tree: np.recarray) -> int:
    """The leaf of the first job in order, where one waits."""
    if state.kind == HEAD_FIRST:
        while jobs[state.oldest].leaf == 0:
            state.oldest += 1
        return jobs[state.oldest].leaf
    leaf = tournament.next_waiting(tree, ROOT)
    if state.kind < AGING:
        return leaf
    first, highest, kind, now = leaf, -np.inf, state.kind, state.now
    while leaf > 0:
        score = _score(jobs[tree[leaf].job], kind, now)
        if score > highest:
            first, highest = leaf, score
        leaf = tournament.next_waiting(tree, tournament.right_of(leaf))
    return first


@kernel
def next_fitting(
    jobs: np.recarray, state: np.record, tree: np.recarray, limits: np.recarray, leaf: int
) -> int:
    """The first leaf in order, from a leaf on, whose job may start now; 0 if there is none.

    Where scores change with time it is sought among all leaves.
    """
    now, free, rows = state.now, state.free, state.limits
    if state.kind < AGING:
        return tournament.next_fitting(tree, leaf, free, limits, rows, now)
    kind = state.kind
    leaf = tournament.next_fitting(tree, ROOT, free, limits, rows, now)
    first, highest = leaf, -np.inf
    while leaf > 0:
        score = _score(jobs[tree[leaf].job], kind, now)
        if score > highest:
            first, highest = leaf, score
        other = tournament.right_of(leaf)
        leaf = tournament.next_fitting(tree, other, free, limits, rows, now)
    return first


@kernel
def _score(job: np.record, kind: int, now: float) -> float:
    """The score of a waiting job at a moment; the highest comes first."""
    waited = now - job.submit_time
    if kind == WFP:
        return cubed_wait(waited, job.requested_time, job.nodes)
    if kind == ASKED:
        return -job.rank
    if kind == UNICEF:
        return small_first(waited, job.requested_time, job.nodes)
    return expansion(waited, job.requested_time)


@kernel
def rank(jobs: np.recarray, waiting: np.ndarray, kind: int, now: float) -> None:
    """Write the ranks of waiting jobs that depend on time.

    Under `HEAD_FIRST` the job submitted first has the lowest rank until it begins.
    """
    if kind >= AGING and kind != ASKED:
        for number in waiting:
            jobs[number].rank = -_score(jobs[number], kind, now)
    elif kind == HEAD_FIRST and waiting.size > 0:
        first = waiting[0]
        for number in waiting:
            first = min(first, number)
        jobs[first].rank = -np.inf


@kernel
def sort(jobs: np.recarray, waiting: np.ndarray, kind: int, now: float) -> None:
    """Sort numbers of waiting jobs by rank; ties: the job submitted first.

    They are sorted by insertion, for they are nearly in order from the time before.
    """
    rank(jobs, waiting, kind, now)
    for last in range(1, waiting.size):
        number, place = waiting[last], last
        while place > 0 and _precedes(jobs, number, waiting[place - 1]):
            waiting[place] = waiting[place - 1]
            place -= 1
        waiting[place] = number


@kernel
def _precedes(jobs: np.recarray, number: int, other: int) -> bool:
    """Whether a job comes before another in the queue."""
    job, before = jobs[number], jobs[other]
    if job.before_rank != before.before_rank:
        return job.before_rank < before.before_rank
    return job.rank < before.rank or (job.rank == before.rank and number < other)
