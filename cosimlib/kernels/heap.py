"""Indexed binary min-heap in the records of its items, whose keys can be changed after insertion.

Items are rows, each in the heap at most once. The record of a row has its `key` and its `place` in
the heap (−1: not in it), and beside them row k has the item at place k, `entry`. The heap's own
record has their number, `length`. Ties go to the lower item, so that the order of items does not
depend on the order of insertion.
"""

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type

ROW = record_type(floats="key", integers="place entry")
"""What the record of a row has, at least."""

HEAP = record_type(integers="length")


@kernel
def push(rows: np.recarray, heap: np.record, item: int, key: float) -> None:
    """Insert `item` with `key`, or change its key, up or down."""
    place, before = rows[item].place, rows[item].key
    rows[item].key = key
    if place < 0:
        place = heap.length
        heap.length += 1
        _sift_up(rows, item, place)
    elif key < before:
        _sift_up(rows, item, place)
    elif key > before:
        _sift_down(rows, heap, item, place)


@kernel
def decrease_key(rows: np.recarray, heap: np.record, item: int, key: float) -> None:
    """Lower the key of `item` to `key`, and insert it where it is absent; never raise a key."""
    if rows[item].place < 0 or key < rows[item].key:
        push(rows, heap, item, key)


@kernel
def pop(rows: np.recarray, heap: np.record) -> int:
    """Remove and return the item with the least key."""
    item = rows[0].entry
    remove(rows, heap, item)
    return item


@kernel
def remove(rows: np.recarray, heap: np.record, item: int) -> None:
    """Remove `item`, if it is in the heap."""
    place = rows[item].place
    if place < 0:
        return
    length: int = heap.length - 1
    heap.length = length
    rows[item].place = -1
    last = rows[length].entry
    if last != item:
        _sift_up(rows, last, place)
        _sift_down(rows, heap, last, rows[last].place)


@kernel
def _sift_up(rows: np.recarray, item: int, place: int) -> None:
    """Sift an item up from a place."""
    key = rows[item].key
    while place > 0:
        parent = (place - 1) // 2
        above = rows[parent].entry
        above_key = rows[above].key
        if not (key < above_key or (key == above_key and item < above)):
            break
        rows[place].entry = above
        rows[above].place = place
        place = parent
    rows[place].entry = item
    rows[item].place = place


@kernel
def _sift_down(rows: np.recarray, heap: np.record, item: int, place: int) -> None:
    """Sift an item down from a place."""
    key = rows[item].key
    while 2 * place + 1 < heap.length:
        child = 2 * place + 1
        below = rows[child].entry
        below_key = rows[below].key
        if child + 1 < heap.length:
            other = rows[child + 1].entry
            other_key = rows[other].key
            if other_key < below_key or (other_key == below_key and other < below):
                child, below, below_key = child + 1, other, other_key
        if not (below_key < key or (below_key == key and below < item)):
            break
        rows[place].entry = below
        rows[below].place = place
        place = child
    rows[place].entry = item
    rows[item].place = place
