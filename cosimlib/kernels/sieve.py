"""Lower bounds by which a search of a long queue passes over most of it, block by block.

For every 64 places of a queue: the fewest nodes that one of their jobs wants, and by classes of
nodes (1, 2-3, 4-7, …) the least time that a job of that class or a lower one requests. A block none
of whose bounds would do holds no job that would. Bounds may be those of jobs that have started
since: whoever searched a block in vain makes them anew.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import frugal_kernel, inlined_kernel, kernel
from cosimlib.kernels.queue import TAKEN, Queue

BLOCK, CLASSES = 64, 32

FOREVER = np.finfo(np.float64).max
"""A shadow time by which all jobs end, but no block without any holds one."""


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
def clear(sieve: Sieve, block: int) -> None:
    """Let the bounds of a block be those of an empty one."""
    sieve.wanted[block] = TAKEN
    sieve.request[block, :] = np.inf


@frugal_kernel
def include(sieve: Sieve, waiting: Queue, requested_time: np.ndarray, place: int) -> None:
    """Let the bounds hold for the job at a place, too, unless it has started."""
    block, wanted = place // BLOCK, waiting.wanted[place]
    if wanted == TAKEN:
        return
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


@inlined_kernel
def may_hold(
    sieve: Sieve, block: int, free: int, few: int, widest: int, now: float, shadow_time: float
) -> bool:
    """Whether a block may hold a job of up to `few` nodes, or of up to `free`, whose class is
    `widest`, that ends by the shadow time."""
    least = sieve.wanted[block]
    return least <= few or (least <= free and now + sieve.request[block, widest] <= shadow_time)


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
