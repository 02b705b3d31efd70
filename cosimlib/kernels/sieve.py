"""Lower bounds by which a search of a long queue passes over most of it, block by block.

For every 64 places of a queue: the fewest nodes that one of their jobs wants, and by classes of
nodes (1, 2-3, 4-7, …) the least time that a job of that class or a lower one requests. A block none
of whose bounds would do holds no job that would. Bounds are not raised when a job starts, but when
its block has been searched in vain.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import frugal_kernel, kernel
from cosimlib.kernels.queue import TAKEN, Queue

BLOCK, CLASSES = 64, 32


class Sieve(NamedTuple):
    """Bounds per block: `request` (s) by class of nodes, which falls with the class; `wanted`."""

    request: np.ndarray
    wanted: np.ndarray


@kernel
def empty(n: int) -> Sieve:
    """Bounds for an empty queue with room for `n`."""
    blocks = n // BLOCK + 1
    return Sieve(np.empty((blocks, CLASSES)), np.empty(blocks, np.int64))


@frugal_kernel
def add(sieve: Sieve, waiting: Queue, requested_time: np.ndarray, first: int, last: int) -> None:
    """Let the bounds hold for the jobs from `first` to before `last`, which are new."""
    for place in range(first, last):
        block = place // BLOCK
        if place % BLOCK == 0:
            sieve.wanted[block] = TAKEN
            sieve.request[block, :] = np.inf
        wanted = waiting.wanted[place]
        if wanted == TAKEN:
            continue
        sieve.wanted[block] = min(sieve.wanted[block], wanted)
        request, at = requested_time[waiting.job[place]], class_of(wanted)
        while at < CLASSES and sieve.request[block, at] > request:
            sieve.request[block, at] = request
            at += 1


@frugal_kernel
def class_of(nodes: int) -> int:
    """The class of a number of nodes: its binary logarithm, rounded down."""
    found = 0
    while nodes > 1 and found < CLASSES - 1:
        nodes >>= 1
        found += 1
    return found


@frugal_kernel
def next_fitting(
    sieve: Sieve,
    waiting: Queue,
    requested_time: np.ndarray,
    first: int,
    last: int,
    free: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> int:
    """As `search`, but passing over blocks."""
    widest, few, place = class_of(free), min(free, extra), first
    while place < last and free > 0:
        block = place // BLOCK
        end = min(last, (block + 1) * BLOCK)
        if sieve.wanted[block] <= few or now + sieve.request[block, widest] <= shadow_time:
            found = search(waiting, requested_time, place, end, free, now, shadow_time, extra)
            if found < end:
                return found
            if place == block * BLOCK:
                add(sieve, waiting, requested_time, place, end)
        place = end
    return last


@frugal_kernel
def search(
    waiting: Queue,
    requested_time: np.ndarray,
    first: int,
    last: int,
    free: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> int:
    """First place from `first` on whose job may be backfilled now, or `last`.

    It fits the free nodes, and ends by the shadow time or takes no more than the extra nodes.
    """
    for place in range(first, last if free > 0 else first):
        wanted = waiting.wanted[place]
        if wanted <= free and (
            wanted <= extra or now + requested_time[waiting.job[place]] <= shadow_time
        ):
            return place
    return last
