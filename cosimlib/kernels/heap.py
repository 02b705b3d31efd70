"""Indexed binary min-heap of items whose keys can be changed after insertion.

An item is the number of a row, and is in the heap at most once. The record of its row has its `key`
and its `place` in the heap (−1: not in it). The heap lists its items by place. Ties go to the lower
item, so that the order of items does not depend on the order of insertion.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records

ROW = record_type(floats="key", integers="place")
"""What the record of a row has, at least."""

STATE = record_type(integers="length")
"""How many items a heap has."""


class Heap(NamedTuple):
    """The items of a heap by their places, of which the first `state.length` are taken."""

    items: np.ndarray
    state: np.record


def empty(room: int) -> Heap:
    """A heap without items, with room for so many."""
    return Heap(np.empty(room, np.int64), records(1, STATE)[0])


@kernel
def push(rows: np.recarray, heap: Heap, item: int, key: float) -> None:
    """Insert `item` with `key`, or change its key, up or down."""
    place, before = rows[item].place, rows[item].key
    rows[item].key = key
    if place < 0:
        place = heap.state.length
        heap.state.length += 1
        _sift_up(rows, heap, item, place)
    elif key < before:
        _sift_up(rows, heap, item, place)
    elif key > before:
        _sift_down(rows, heap, item, place)


@kernel
def decrease_key(rows: np.recarray, heap: Heap, item: int, key: float) -> None:
    """Lower the key of `item` to `key`, and insert it where it is absent; never raise a key."""
    if rows[item].place < 0 or key < rows[item].key:
        push(rows, heap, item, key)


@kernel
def pop(rows: np.recarray, heap: Heap) -> int:
    """Remove and return the item with the least key."""
    item = heap.items[0]
    remove(rows, heap, item)
    return item


@kernel
def remove(rows: np.recarray, heap: Heap, item: int) -> None:
    """Remove `item`, if it is in the heap."""
    place = rows[item].place
    if place < 0:
        return
    length: int = heap.state.length - 1
    heap.state.length = length
    rows[item].place = -1
    last = heap.items[length]
    if last != item:
        _sift_up(rows, heap, last, place)
        _sift_down(rows, heap, last, rows[last].place)


@kernel
def _sift_up(rows: np.recarray, heap: Heap, item: int, place: int) -> None:
    """Sift an item up from a place."""
    key = rows[item].key
    while place > 0:
        parent = (place - 1) // 2
        above = heap.items[parent]
        above_key = rows[above].key
        if not (key < above_key or (key == above_key and item < above)):
            break
        heap.items[place] = above
        rows[above].place = place
        place = parent
    heap.items[place] = item
    rows[item].place = place


@kernel
def _sift_down(rows: np.recarray, heap: Heap, item: int, place: int) -> None:
    """Sift an item down from a place."""
    key = rows[item].key
    while 2 * place + 1 < heap.state.length:
        child = 2 * place + 1
        below = heap.items[child]
        below_key = rows[below].key
        if child + 1 < heap.state.length:
            other = heap.items[child + 1]
            other_key = rows[other].key
            if other_key < below_key or (other_key == below_key and other < below):
                child, below, below_key = child + 1, other, other_key
        if not (below_key < key or (below_key == key and below < item)):
            break
        heap.items[place] = below
        rows[below].place = place
        place = child
    heap.items[place] = item
    rows[item].place = place
