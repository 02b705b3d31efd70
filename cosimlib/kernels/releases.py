"""Promises over time: how many nodes come free when, if everybody ends as announced.

A profile of promises is two arrays of which the first `size` entries count, `times` strictly
ascending and `nodes` that come free then.
"""

import numpy as np

from cosimlib.kernels.jit import kernel


@kernel
def promise(times: np.ndarray, nodes: np.ndarray, size: int, time: float, count: int) -> int:
    """Add `count` nodes that come free at `time`; return the new size."""
    place = np.searchsorted(times[:size], time)
    if place < size and times[place] == time:
        nodes[place] += count
        return size
    for later in range(size, place, -1):
        times[later] = times[later - 1]
        nodes[later] = nodes[later - 1]
    times[place] = time
    nodes[place] = count
    return size + 1


@kernel
def redeem(times: np.ndarray, nodes: np.ndarray, size: int, time: float, count: int) -> int:
    """Take away `count` nodes promised for `time`, for they are free; return the new size."""
    place = np.searchsorted(times[:size], time)
    nodes[place] -= count
    if nodes[place] > 0:
        return size
    for later in range(place, size - 1):
        times[later] = times[later + 1]
        nodes[later] = nodes[later + 1]
    return size - 1


@kernel
def shadow(
    times: np.ndarray, nodes: np.ndarray, size: int, free: int, wanted: int, now: float
) -> tuple[float, int]:
    """When `wanted` nodes are free if every promise is kept, and how many are left over then.

    A promise that is already broken, for a time before `now`, counts for `now`.
    """
    shadow_time = now
    for place in range(size):
        if times[place] > shadow_time and free >= wanted:
            break
        shadow_time = max(times[place], now)
        free += nodes[place]
    return shadow_time, free - wanted
