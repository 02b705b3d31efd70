"""Sorting inside kernels: one stable order of real numbers, compiled once for all that ask for it.

This merge sort compiles in half the time of Numba's, half a second less, and is a quarter slower.
"""

import numpy as np

from cosimlib.kernels.jit import allocating_kernel, inner_kernel

SHORT = 16
"""Numbers that are sorted by insertion."""


@allocating_kernel
def ascending(values: np.ndarray) -> np.ndarray:
    """Positions of contiguous float64 values in ascending order, equal ones as they stand."""
    size, width = values.size, SHORT
    order, merged = np.arange(size), np.empty(size, np.int64)
    for first in range(0, size, SHORT):
        for end in range(first + 1, min(first + SHORT, size)):
            item, place = order[end], end
            while place > first and values[item] < values[order[place - 1]]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = item
    while width < size:
        for first in range(0, size, 2 * width):
            middle, last = min(first + width, size), min(first + 2 * width, size)
            merge(order, values, first, middle, last, merged)
        order, merged = merged, order
        width *= 2
    return order


@inner_kernel
def merge(
    order: np.ndarray, values: np.ndarray, first: int, middle: int, last: int, merged: np.ndarray
) -> None:
    """Merge the positions from `first` to `middle`, in order of values, with those to `last`."""
    left, right = first, middle
    for place in range(first, last):
        if left < middle and (right == last or values[order[left]] <= values[order[right]]):
            merged[place] = order[left]
            left += 1
        else:
            merged[place] = order[right]
            right += 1
