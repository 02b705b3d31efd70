"""The waiting jobs in the order of a policy, as leaves of a tournament tree.

The leaves, from left to right, are places for the jobs that wait and for the next `BLOCK` to be
submitted. Once these have come, leaves are given out anew: so the tree spans the waiting jobs and
not the whole workload.

Ranks that change with time (WFP's) give no job a place that stays. Leaves are then in order of
submission, and the job with the highest score of the moment is sought among all that may start.
"""

import numpy as np

from cosimlib.batch import capacity
from cosimlib.kernels import tournament
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.kernels.tournament import NOBODY, ROOT
from cosimlib.workload import JobArrays

SUBMITTED, STATIC, WFP, HEAD_FIRST = range(4)
"""Kinds of order: by submission; by ranks that stay; by WFP's scores of the moment; by ranks that
stay, behind the job submitted first."""

BLOCK = 256

FLOATS, INTEGERS = "submit_time run_time requested_time rank start_time", "nodes"
"""Fields of a job that every policy of this room reads; the times in seconds."""

JOB = record_type(floats=FLOATS, integers=f"{INTEGERS} leaf coming begun")
"""A job, and its leaf: 0 where it is still to come, has none yet, or has begun.

Two fields are lists of jobs and say nothing of the job in whose record they stand: `coming` has all
jobs, by rank within each `BLOCK` of submissions; `begun` those that have begun, one after another.
"""

STATE = record_type(
    floats=f"longest {capacity.FLOATS}",
    integers="kind rule per_event submitted oldest leaves width begun free releases limits "
    f"{capacity.INTEGERS}",
)
"""State of a simulation: `kind` of order, `rule` of backfilling, whether each event has a pass.

Then how many jobs have been submitted, the first of them that may still wait, the leaves in use and
those of the tree; how many jobs have begun, free nodes, expected releases; the limits of jobs that
start now, the longest request of all (s), and the fields of `batch.capacity`.
"""


def empty(
    jobs: JobArrays, rank: np.ndarray, kind: int
) -> tuple[np.recarray, np.recarray, np.recarray]:
    """Records of jobs that are all to come, a tree for them, and one record of state."""
    n = rank.size
    rows = records(n, JOB, rank=rank, **jobs._asdict())
    np.nan_to_num(rows.requested_time, copy=False)
    coming = np.arange(n)
    by_submission = kind in (SUBMITTED, WFP)
    rows.coming = coming if by_submission else np.lexsort((rank, coming // BLOCK))
    longest = rows.requested_time.max(initial=0.0)
    states = records(1, STATE, kind=kind, next_fall=np.inf, longest=longest)
    return rows, tournament.empty(n), states


@kernel
def submit_next(jobs: np.recarray, tree: np.recarray, state: np.record) -> None:
    """Let the next job wait."""
    if state.submitted % BLOCK == 0:
        _give_leaves(jobs, tree, state)
    job = jobs[state.submitted]
    tournament.put(tree, job.leaf, job.nodes, job.requested_time)
    state.submitted += 1


@kernel
def _give_leaves(jobs: np.recarray, tree: np.recarray, state: np.record) -> None:
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
def take(jobs: np.recarray, tree: np.recarray, leaf: int) -> int:
    """Let the job of a leaf, which is returned, wait no longer."""
    job = tree[leaf].job
    tournament.put(tree, leaf, NOBODY, np.inf)
    jobs[job].leaf = 0
    return job


@kernel
def head(
    jobs: np.recarray, tree: np.recarray, limits: np.recarray, state: np.record, now: float
) -> int:
    """The leaf of the first job in order, where one waits and nothing is reserved yet."""
    if state.kind == HEAD_FIRST:
        while jobs[state.oldest].leaf == 0:
            state.oldest += 1
        return jobs[state.oldest].leaf
    free = state.free
    state.free = NOBODY - ROOT
    first = next_fitting(jobs, tree, limits, state, ROOT, now)
    state.free = free
    return first


@kernel
def next_fitting(
    jobs: np.recarray,
    tree: np.recarray,
    limits: np.recarray,
    state: np.record,
    leaf: int,
    now: float,
) -> int:
    """The first leaf in order, from a leaf on, whose job may start now; 0 if none may."""
    free, rows = state.free, state.limits
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
        while place > 0 and precedes(jobs, number, waiting[place - 1]):
            waiting[place] = waiting[place - 1]
            place -= 1
        waiting[place] = number


@kernel
def precedes(jobs: np.recarray, number: int, other: int) -> bool:
    """Whether a job comes before another in the queue."""
    rank, other_rank = jobs[number].rank, jobs[other].rank
    return rank < other_rank or (rank == other_rank and number < other)
