"""A stable order of items by two keys: the larger first key first, then the smaller second one."""

import numpy as np

from cosimlib.kernels.jit import kernel


@kernel
def sort_items(items: np.ndarray, first: np.ndarray, second: np.ndarray, room: np.ndarray) -> None:
    """Sort items in place: large `first` before small, then small `second`, then small item.

    Keys are looked up by item. `room` has at least the length of `items`. It is a merge sort that
    starts from the runs that are in order already, as most of a queue is.
    """
    n = items.size
    while True:
        begin, merged = 0, 0
        while begin < n:
            middle = _run_end(items, first, second, begin)
            end = _run_end(items, first, second, middle) if middle < n else n
            _merge(items, first, second, begin, middle, end, room)
            begin, merged = end, merged + 1
        if merged <= 1:
            return


@kernel
def precedes(first: np.ndarray, second: np.ndarray, one: int, other: int) -> bool:
    """Whether one item comes before the other."""
    if first[one] != first[other]:
        return first[one] > first[other]
    if second[one] != second[other]:
        return second[one] < second[other]
    return one < other


@kernel
def _run_end(items: np.ndarray, first: np.ndarray, second: np.ndarray, begin: int) -> int:
    """Where the items that are in order from `begin` on end."""
    end = begin + 1
    while end < items.size and not precedes(first, second, items[end], items[end - 1]):
        end += 1
    return end


@kernel
def _merge(
    items: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    begin: int,
    middle: int,
    end: int,
    room: np.ndarray,
) -> None:
    """Merge two neighboring runs."""
    for place in range(begin, middle):
        room[place] = items[place]
    left, right, place = begin, middle, begin
    while left < middle:
        if right < end and precedes(first, second, items[right], room[left]):
            items[place] = items[right]
            right += 1
        else:
            items[place] = room[left]
            left += 1
        place += 1
