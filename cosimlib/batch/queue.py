"""The waiting jobs in the order of a policy, as leaves of a tournament tree.

The leaves, from left to right, are places for the jobs that wait and for the next `BLOCK` to be
submitted. Once these have come, leaves are given out anew: so the tree spans the waiting jobs and
not the whole workload.

Ranks that change with time (WFP's) give no job a place that stays. Leaves are then in order of
submission, and the job with the highest score of the moment is sought among all that may start.
"""

import numpy as np

from cosimlib.batch.orders import HEAD_FIRST, SUBMITTED, WFP
from cosimlib.kernels import tournament
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.tournament import NOBODY, ROOT

BLOCK = 256

FLOATS, INTEGERS = "submit_time run_time requested_time start_time rank before_rank", "nodes"
"""Fields of a job that every policy of this room reads; the times in seconds.

The lowest `rank` comes first in the queue, but `before_rank` counts before it; it is usually 0.
"""


def coming(rank: np.ndarray, kind: int) -> np.ndarray:
    """All jobs, by rank within each `BLOCK` of submissions."""
    numbers = np.arange(rank.size)
    return numbers if kind in (SUBMITTED, WFP) else np.lexsort((rank, numbers // BLOCK))


@kernel
def submit_next(jobs: np.recarray, state: np.record, tree: np.recarray) -> None:
    """Let the next job wait."""
    if state.submitted % BLOCK == 0:
        _give_leaves(jobs, state, tree)
    job = jobs[state.submitted]
    tournament.put(tree, job.leaf, job.nodes, job.requested_time)
    state.submitted += 1


@kernel
def _give_leaves(jobs: np.recarray, state: np.record, tree: np.recarray) -> None:
    """Give leaves to the waiting jobs and the next block, merged by rank."""
    first, last, waiting = state.submitted, min(state.submitted + BLOCK, jobs.size), 0
    for leaf in range(state.width, state.width + state.leaves):
        if tree[leaf].nodes < NOBODY:
            tree[waiting].job = tree[leaf].job
            waiting += 1
    leaves = place = waiting + last - first
    for coming in range(last - 1, first - 1, -1):
        job = jobs[coming].coming
        place -= 1
        while waiting > 0 and jobs[tree[waiting - 1].job].rank > jobs[job].rank:
            waiting -= 1
            tree[place].job = tree[waiting].job
            place -= 1
        tree[place].job = job
    width = 1
    while width < leaves:
        width *= 2
    for place in range(width):
        leaf = tree[width + place]
        leaf.nodes, leaf.time = NOBODY, np.inf
        if place < leaves:
            leaf.job = tree[place].job
            job = jobs[leaf.job]
            job.leaf = width + place
            if leaf.job < first:
                leaf.nodes, leaf.time = job.nodes, job.requested_time
    tournament.build(tree, width)
    state.leaves, state.width = leaves, width


@kernel
def remove(jobs: np.recarray, tree: np.recarray, leaf: int) -> int:
    """Remove the job of a leaf from the queue, and return its number."""
    number = tree[leaf].job
    jobs[number].leaf = 0
    tournament.put(tree, leaf, NOBODY, np.inf)
    return number


@kernel
def head(jobs: np.recarray, state: np.record, tree: np.recarray, limits: np.recarray) -> int:
    """The leaf of the first job in order, where one waits and nothing is reserved yet."""
    if state.kind == HEAD_FIRST:
        while jobs[state.oldest].leaf == 0:
            state.oldest += 1
        return jobs[state.oldest].leaf
    return next_fitting(jobs, state, tree, limits, ROOT, NOBODY - ROOT)


@kernel
def next_fitting(
    jobs: np.recarray,
    state: np.record,
    tree: np.recarray,
    limits: np.recarray,
    leaf: int,
    free: int,
) -> int:
    """The first leaf in order, from a leaf on, whose job may start on the free nodes; 0 if none."""
    now, rows = state.now, state.limits
    if state.kind != WFP:
        return tournament.next_fitting(tree, leaf, free, limits, rows, now)
    first, highest = 0, -1.0
    leaf = tournament.next_fitting(tree, ROOT, free, limits, rows, now)
    while leaf > 0:
        score = wfp_score(jobs[tree[leaf].job], now)
        if score > highest:
            first, highest = leaf, score
        other = tournament.right_of(leaf)
        leaf = tournament.next_fitting(tree, other, free, limits, rows, now)
    return first


@kernel
def wfp_score(job: np.record, now: float) -> float:
    """WFP's score, ``(waited / requested_time)³ · nodes``."""
    waited = (now - job.submit_time) / job.requested_time
    return waited * waited * waited * job.nodes


@kernel
def rank(jobs: np.recarray, waiting: np.ndarray, kind: int, now: float) -> None:
    """Write the ranks of waiting jobs that depend on time.

    Under `HEAD_FIRST` the job submitted first has the lowest rank until it begins.
    """
    if kind == WFP:
        for number in waiting:
            jobs[number].rank = -wfp_score(jobs[number], now)
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
