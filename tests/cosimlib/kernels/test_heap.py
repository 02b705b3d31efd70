"""The indexed heap against a sorted list."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.kernels import heap
from cosimlib.kernels.records import records

ITEMS = 12
KEYS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 7.0, float("inf")])
ACTS = st.tuples(
    st.sampled_from(["push", "push", "decrease_key", "remove", "pop"]),
    st.integers(0, ITEMS - 1),
    KEYS,
)


def empty(n):
    """Rows that are in no heap, and a heap without items."""
    return records(n, heap.ROW, place=-1), heap.empty(n)


def act(rows, pending, known, what, item, key):
    """Do the same to the heap and to a dictionary of keys."""
    if what == "push":
        heap.push(rows, pending, item, key)
        known[item] = key
    elif what == "decrease_key":
        heap.decrease_key(rows, pending, item, key)
        known[item] = min(known.get(item, key), key)
    elif what == "remove":
        heap.remove(rows, pending, item)
        known.pop(item, None)
    elif known:
        first = min(known, key=lambda item: (known[item], item))
        assert heap.pop(rows, pending) == first
        del known[first]


def in_order(rows, pending):
    """All items in the order in which they are popped; the heap is emptied."""
    return [int(heap.pop(rows, pending)) for _ in range(pending.state.length)]


@given(st.lists(ACTS, max_size=60))
@settings(max_examples=150)
def test_it_is_a_sorted_list(acts):
    (rows, pending), known = empty(ITEMS), {}
    for what, item, key in acts:
        act(rows, pending, known, what, item, key)
        assert pending.state.length == len(known)
        assert set(np.flatnonzero(rows.place >= 0)) == set(known)
        assert {item: rows.key[item] for item in known} == known
        assert all(pending.items[rows.place[item]] == item for item in known)
        if known:
            assert pending.items[0] == min(known, key=lambda item: (known[item], item))
    assert in_order(rows, pending) == sorted(known, key=lambda item: (known[item], item))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_many_items_come_out_sorted_with_ties_by_number(keys, chance):
    """Put down in any order, half of them moved and a third removed afterwards."""
    waiting, pending = empty(len(keys))
    items = list(range(len(keys)))
    chance.shuffle(items)
    for item in items:
        heap.push(waiting, pending, item, round(keys[item], 1) if item % 2 else chance.random())
    for item in items:
        heap.push(waiting, pending, item, round(keys[item], 1))
    chance.shuffle(items)
    gone = set(items[: len(items) // 3])
    for item in gone:
        heap.remove(waiting, pending, item)
    left = [item for item in range(len(keys)) if item not in gone]
    assert in_order(waiting, pending) == sorted(left, key=lambda item: (round(keys[item], 1), item))


def test_what_takes_a_removed_items_place_may_come_before_its_new_parent():
    """Seven items: the last, under 2, takes the place of 3, under 10."""
    rows, pending = empty(7)
    for item, key in enumerate([0.0, 10.0, 1.0, 11.0, 12.0, 3.0, 2.0]):
        heap.push(rows, pending, item, key)
    heap.remove(rows, pending, 3)
    assert in_order(rows, pending) == [0, 2, 6, 5, 1, 4]
