"""Sorted arrays of which a stretch counts: where a value belongs, and room for it."""

import numpy as np

from cosimlib.kernels.jit import inlined_kernel


@inlined_kernel
def first_at(values: np.ndarray, value: float, low: int, high: int) -> int:
    """The first place from `low` to before `high` that holds at least `value`, or `high`."""
    size = high - low
    while size > 0:
        half = (size + 1) // 2
        # Without a branch, which would be guessed wrongly every second time.
        low += half * (values[low + half - 1] < value)
        size -= half
    return low


@inlined_kernel
def make_room(values: np.ndarray, others: np.ndarray, bounds: np.ndarray, place: int) -> int:
    """Make room in two arrays before `place`, on the shorter side; return the place of the room."""
    first, last = bounds[0], bounds[1]
    if first > 0 and place - first < last - place:
        down(values, first, place)
        down(others, first, place)
        bounds[0] -= 1
        return place - 1
    up(values, place, last)
    up(others, place, last)
    bounds[1] += 1
    return place


@inlined_kernel
def down(values: np.ndarray, first: int, last: int) -> None:
    """Move the values from `first` to before `last` down by one place."""
    # Places count from zero, so that none can be negative, and the loop becomes one call.
    part = values[first - 1 : last]
    for place in range(part.size - 1):
        part[place] = part[place + 1]


@inlined_kernel
def up(values: np.ndarray, first: int, last: int) -> None:
    """Move the values from `first` to before `last` up by one place."""
    part = values[first : last + 1]
    for place in range(part.size - 1, 0, -1):
        part[place] = part[place - 1]
