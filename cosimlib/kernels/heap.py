"""Indexed binary min-heap: the key of an item can be changed after insertion.

Items are the whole numbers below a given one, each in the heap at most once. Ties go to the lower
item, so that the order of items does not depend on the order of insertion.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel


class Heap(NamedTuple):
    """`item` per place, `size[0]` of them; `place` (−1: not in the heap) and `key` per item."""

    item: np.ndarray
    place: np.ndarray
    key: np.ndarray
    size: np.ndarray


@kernel
def empty(n: int) -> Heap:
    """A heap without items, for items below `n`."""
    return Heap(np.empty(n, np.int64), np.full(n, -1, np.int64), np.empty(n), np.zeros(1, np.int64))


@kernel
def push(heap: Heap, item: int, key: float) -> None:
    """Insert `item` with `key`, or change its key, up or down."""
    place = heap.place[item]
    if place < 0:
        place = heap.size[0]
        heap.size[0] += 1
        heap.item[place] = item
        heap.place[item] = place
        heap.key[item] = key
        _sift_up(heap, place)
        return
    before = heap.key[item]
    heap.key[item] = key
    if key < before:
        _sift_up(heap, place)
    elif key > before:
        _sift_down(heap, place)


@kernel
def decrease_key(heap: Heap, item: int, key: float) -> None:
    """Lower the key of `item` to `key`, and insert it where it is absent; never raise a key."""
    if heap.place[item] < 0 or key < heap.key[item]:
        push(heap, item, key)


@kernel
def pop(heap: Heap) -> int:
    """Remove and return the item with the least key."""
    item = heap.item[0]
    remove(heap, item)
    return item


@kernel
def remove(heap: Heap, item: int) -> None:
    """Remove `item`, if it is in the heap."""
    place = heap.place[item]
    if place < 0:
        return
    heap.size[0] -= 1
    heap.place[item] = -1
    last = heap.item[heap.size[0]]
    if last != item:
        heap.item[place] = last
        heap.place[last] = place
        _sift_up(heap, place)
        _sift_down(heap, heap.place[last])


@kernel
def _before(key: float, item: int, other_key: float, other: int) -> bool:
    """Whether an item of this key comes before another."""
    return (key < other_key) | ((key == other_key) & (item < other))


@kernel
def _sift_up(heap: Heap, place: int) -> None:
    """Sift the item at `place` up."""
    item = heap.item[place]
    key = heap.key[item]
    while place > 0:
        parent = (place - 1) // 2
        above = heap.item[parent]
        if not _before(key, item, heap.key[above], above):
            break
        heap.item[place] = above
        heap.place[above] = place
        place = parent
    heap.item[place] = item
    heap.place[item] = place


@kernel
def _sift_down(heap: Heap, place: int) -> None:
    """Sift the item at `place` down."""
    item, size = heap.item[place], heap.size[0]
    key = heap.key[item]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        below = heap.item[child]
        below_key = heap.key[below]
        if child + 1 < size:
            other = heap.item[child + 1]
            other_key = heap.key[other]
            if _before(other_key, other, below_key, below):
                child, below, below_key = child + 1, other, other_key
        if not _before(below_key, below, key, item):
            break
        heap.item[place] = below
        heap.place[below] = place
        place = child
    heap.item[place] = item
    heap.place[item] = place
