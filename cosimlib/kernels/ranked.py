"""An unrolled sorted list: a long queue by rank, in blocks, so that no search walks over all of it.

Jobs lie in blocks of up to 64 places, and `chain` has the blocks in the queue's order. A job comes
in at the place of its rank, for which at most the jobs behind it in its block move up; a full block
is split. A job that starts leaves its place `TAKEN`, until its block is full. Searches pass over
blocks by their bounds (`kernels.sieve`).

Ranks that change with time (WFP's) give no job a place that stays: then jobs lie in order of
submission, and the job with the highest score of the moment is searched. For every block a
*steepness* is kept, the most of its jobs' ``nodes / requested_time³``, so that no score in it is
above ``steepness · waited³`` of the job that has waited longest, its first.
"""

from typing import Any, NamedTuple

import numpy as np

from cosimlib.kernels import queue, sieve
from cosimlib.kernels.jit import allocating_kernel, inlined_kernel, inner_kernel
from cosimlib.kernels.queue import HEAD_FIRST, TAKEN, WFP, Queue
from cosimlib.kernels.sieve import BLOCK, FOREVER, Sieve

FILLED = 48
"""Jobs per block that is made anew, or up to which one is not split."""

BLOCKS, WAITING, ADMITTED, OLDEST = range(4)
"""Cells of `Ranked.counts`: blocks in the chain, waiting jobs, jobs submitted, the first of them
that may wait."""

ROUNDING = 1e-9
"""What rounding may take from a bound of scores, relative to it, and more."""

ANY = TAKEN - 1
"""More nodes than any job wants."""


class Ranked(NamedTuple):
    """A queue in blocks.

    `waiting` has the places of jobs, block by block, of which the first `size` of each block count;
    `bounds` and `steepness` say what a search need not look at; `chain` has the blocks in order;
    `moving` has room for all jobs while blocks are made anew; `counts` as `BLOCKS` and so on say.
    """

    waiting: Queue
    size: np.ndarray
    bounds: Sieve
    steepness: np.ndarray
    chain: np.ndarray
    moving: np.ndarray
    counts: np.ndarray


@allocating_kernel
def empty(n: int) -> Ranked:
    """A queue without jobs, with room for `n`.

    Fewer blocks than that are ever in use: each had half of `FILLED` jobs of its own when it was
    split off.
    """
    blocks = _most_blocks(n)
    ranked = Ranked(
        queue.empty(BLOCK * blocks),
        np.zeros(blocks, np.int64),
        sieve.empty(BLOCK * blocks),
        np.zeros(blocks),
        np.zeros(blocks, np.int64),
        np.empty(n, np.int64),
        np.array([1, 0, 0, 0]),
    )
    sieve.clear(ranked.bounds, 0)
    return ranked


@inner_kernel
def _most_blocks(waiting: int) -> int:
    """More blocks for so many jobs are too many."""
    return 2 * waiting // FILLED + 16


@inner_kernel
def submit(ranked: Ranked, jobs: Any, rank: np.ndarray, kind: int) -> int:
    """Insert the next job at the place of its rank; return that."""
    job_at, wanted, counts = ranked.waiting.job, ranked.waiting.wanted, ranked.counts
    job = counts[ADMITTED]
    if counts[BLOCKS] > _most_blocks(counts[WAITING]):
        _make_anew(ranked, jobs, kind)
    at = _block_of(ranked, rank, job)
    # More than once where the block loses its first jobs, and the one before is full.
    while ranked.size[ranked.chain[at]] == BLOCK:
        _split(ranked, jobs, kind, at)
        at = _block_of(ranked, rank, job)
    block = ranked.chain[at]
    first = block * BLOCK
    place = first + ranked.size[block]
    while place > first and rank[job_at[place - 1]] > rank[job]:
        job_at[place], wanted[place] = job_at[place - 1], wanted[place - 1]
        place -= 1
    job_at[place], wanted[place] = job, jobs.nodes[job]
    ranked.size[block] += 1
    counts[ADMITTED] += 1
    counts[WAITING] += 1
    _bound(ranked, jobs, kind, place)
    return place


@inlined_kernel
def take(ranked: Ranked, jobs: Any, kind: int, place: int) -> None:
    """The job at a place has started."""
    ranked.waiting.wanted[place] = TAKEN
    ranked.counts[WAITING] -= 1
    if kind == WFP:
        _bound_anew(ranked, jobs, kind, place // BLOCK)


@inlined_kernel
def head(
    ranked: Ranked, jobs: Any, rank: np.ndarray, start_time: np.ndarray, kind: int, now: float
) -> int:
    """The place of the first job of a queue that has one."""
    counts = ranked.counts
    if kind == HEAD_FIRST:
        while not np.isnan(start_time[counts[OLDEST]]):
            counts[OLDEST] += 1
        return _place_of(ranked, rank, counts[OLDEST])
    return next_fitting(ranked, jobs, kind, 0, ANY, now, FOREVER, ANY)[0]


@inlined_kernel
def fits(
    ranked: Ranked, jobs: Any, place: int, free: int, now: float, shadow_time: float, extra: int
) -> bool:
    """Whether the job at a place may be backfilled now."""
    requested_time = jobs.requested_time
    return place == sieve.search(
        ranked.waiting, requested_time, place, place + 1, free, now, shadow_time, extra
    )


@inner_kernel
def next_fitting(
    ranked: Ranked, jobs: Any, kind: int, since: int, free: int, now: float, shadow_time: float,
    extra: int,
) -> tuple[int, int]:  # fmt: skip
    """The first place in order whose job may be backfilled now (see `sieve.search`), or -1.

    Blocks of the chain before `since` hold none. The second number is the chain's place of its
    block, before which there is none until more nodes are free.
    """
    if kind == WFP:
        return _highest(ranked, jobs, free, now, shadow_time, extra), 0
    few, widest = min(free, extra), sieve.class_of(free)
    for at in range(since, ranked.counts[BLOCKS]):
        block = ranked.chain[at]
        if sieve.may_hold(ranked.bounds, block, free, few, widest, now, shadow_time):
            first, last = block * BLOCK, block * BLOCK + ranked.size[block]
            place = sieve.search(
                ranked.waiting, jobs.requested_time, first, last, free, now, shadow_time, extra
            )
            if place < last:
                return place, at
            _bound_anew(ranked, jobs, kind, block)
    return -1, 0


@inner_kernel
def _highest(
    ranked: Ranked, jobs: Any, free: int, now: float, shadow_time: float, extra: int
) -> int:
    """The place of the highest of WFP's scores among jobs that may be backfilled now, or -1."""
    requested_time, few, widest = jobs.requested_time, min(free, extra), sieve.class_of(free)
    found, best = -1, -1.0
    for at in range(ranked.counts[BLOCKS]):
        block = ranked.chain[at]
        place, last = block * BLOCK, block * BLOCK + ranked.size[block]
        waited = now - jobs.submit_time[ranked.waiting.job[place]]
        most = ranked.steepness[block] * waited * waited * waited * (1.0 + ROUNDING)
        if most > best and sieve.may_hold(
            ranked.bounds, block, free, few, widest, now, shadow_time
        ):
            while place < last:
                place = sieve.search(
                    ranked.waiting, requested_time, place, last, free, now, shadow_time, extra
                )
                if place < last:
                    score = queue.wfp_score(jobs, ranked.waiting.job[place], now)
                    if score > best:
                        found, best = place, score
                place += 1
    return found


@inner_kernel
def _block_of(ranked: Ranked, rank: np.ndarray, job: int) -> int:
    """Where in the chain the last block is whose first job does not come after a job, or 0."""
    low, high = 0, ranked.counts[BLOCKS] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if queue.precedes(rank, job, ranked.waiting.job[ranked.chain[middle] * BLOCK]):
            high = middle - 1
        else:
            low = middle
    return low


@inner_kernel
def _place_of(ranked: Ranked, rank: np.ndarray, job: int) -> int:
    """The place of a waiting job."""
    place = ranked.chain[_block_of(ranked, rank, job)] * BLOCK
    while ranked.waiting.job[place] != job:
        place += 1
    return place


@inner_kernel
def _split(ranked: Ranked, jobs: Any, kind: int, at: int) -> None:
    """Make room in a full block: its started jobs go, or else half of it to a new block behind."""
    chain, size, counts = ranked.chain, ranked.size, ranked.counts
    block, new = chain[at], counts[BLOCKS]
    first = block * BLOCK
    last = queue.compact(ranked.waiting, first, first, first + BLOCK)
    # Without any it keeps its first place, by which the chain is in order.
    size[block] = max(last - first, 1)
    if size[block] > FILLED:
        half = first + size[block] // 2
        size[new] = queue.compact(ranked.waiting, new * BLOCK, half, last) - new * BLOCK
        size[block] = half - first
        for later in range(new, at + 1, -1):
            chain[later] = chain[later - 1]
        chain[at + 1] = new
        counts[BLOCKS] += 1
        _bound_anew(ranked, jobs, kind, new)
    _bound_anew(ranked, jobs, kind, block)


@inner_kernel
def _make_anew(ranked: Ranked, jobs: Any, kind: int) -> None:
    """Write the waiting jobs to as few blocks as hold them with room for more."""
    waiting, size, chain, counts = ranked.waiting, ranked.size, ranked.chain, ranked.counts
    moved = 0
    for at in range(counts[BLOCKS]):
        first = chain[at] * BLOCK
        for place in range(first, first + size[chain[at]]):
            if waiting.wanted[place] != TAKEN:
                ranked.moving[moved] = waiting.job[place]
                moved += 1
    counts[BLOCKS] = max(1, (moved + FILLED - 1) // FILLED)
    for block in range(counts[BLOCKS]):
        chain[block], size[block] = block, min(FILLED, moved - block * FILLED)
        for place in range(size[block]):
            job = ranked.moving[block * FILLED + place]
            waiting.job[block * BLOCK + place] = job
            waiting.wanted[block * BLOCK + place] = jobs.nodes[job]
        _bound_anew(ranked, jobs, kind, block)


@inner_kernel
def _bound_anew(ranked: Ranked, jobs: Any, kind: int, block: int) -> None:
    """Let the bounds of a block be those of its jobs."""
    sieve.clear(ranked.bounds, block)
    ranked.steepness[block] = 0.0
    for place in range(block * BLOCK, block * BLOCK + ranked.size[block]):
        _bound(ranked, jobs, kind, place)


@inlined_kernel
def _bound(ranked: Ranked, jobs: Any, kind: int, place: int) -> None:
    """Let the bounds of a block hold for the job at a place, too."""
    sieve.include(ranked.bounds, ranked.waiting, jobs.requested_time, place)
    if kind == WFP and ranked.waiting.wanted[place] != TAKEN:
        job, block = ranked.waiting.job[place], place // BLOCK
        request = jobs.requested_time[job]
        steepness = jobs.nodes[job] / (request * request * request)
        ranked.steepness[block] = max(ranked.steepness[block], steepness)
