"""What comes next: a binary heap of numbered items whose keys may change.

Items are 0, 1, …; each is in the agenda at most once. Ties go to the lower item, so that what comes
next does not depend on the order in which things were put down.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import frugal_kernel, kernel


class Agenda(NamedTuple):
    """A heap: `item` by place, `size[0]` of them; `place` (−1: none) and `key` by item."""

    item: np.ndarray
    place: np.ndarray
    key: np.ndarray
    size: np.ndarray


@kernel
def empty_agenda(n: int) -> Agenda:
    """An agenda for items below `n`, with nothing in it."""
    return Agenda(
        np.empty(n, np.int64), np.full(n, -1, np.int64), np.empty(n), np.zeros(1, np.int64)
    )


@frugal_kernel
def put(agenda: Agenda, item: int, key: float) -> None:
    """Put `item` down under `key`, or move it there."""
    place = agenda.place[item]
    if place < 0:
        place = agenda.size[0]
        agenda.size[0] += 1
        agenda.item[place] = item
        agenda.place[item] = place
        agenda.key[item] = key
        _rise(agenda, place)
        return
    before = agenda.key[item]
    agenda.key[item] = key
    if key < before:
        _rise(agenda, place)
    elif key > before:
        _sink(agenda, place)


@frugal_kernel
def put_earlier(agenda: Agenda, item: int, key: float) -> None:
    """Put `item` down under `key` unless it is there under an earlier one."""
    if agenda.place[item] < 0 or key < agenda.key[item]:
        put(agenda, item, key)


@frugal_kernel
def take_first(agenda: Agenda) -> int:
    """Remove and return the item of the least key."""
    item = agenda.item[0]
    remove(agenda, item)
    return item


@frugal_kernel
def remove(agenda: Agenda, item: int) -> None:
    """Take `item` off, if it is there."""
    place = agenda.place[item]
    if place < 0:
        return
    agenda.size[0] -= 1
    agenda.place[item] = -1
    last = agenda.item[agenda.size[0]]
    if last != item:
        agenda.item[place] = last
        agenda.place[last] = place
        _rise(agenda, place)
        _sink(agenda, agenda.place[last])


@frugal_kernel
def _before(agenda: Agenda, one: int, other: int) -> bool:
    """Whether item `one` comes before item `other`."""
    return agenda.key[one] < agenda.key[other] or (
        agenda.key[one] == agenda.key[other] and one < other
    )


@frugal_kernel
def _rise(agenda: Agenda, place: int) -> None:
    """Move the item at `place` up to where it belongs."""
    item = agenda.item[place]
    while place > 0:
        parent = (place - 1) // 2
        above = agenda.item[parent]
        if not _before(agenda, item, above):
            break
        agenda.item[place] = above
        agenda.place[above] = place
        place = parent
    agenda.item[place] = item
    agenda.place[item] = place


@frugal_kernel
def _sink(agenda: Agenda, place: int) -> None:
    """Move the item at `place` down to where it belongs."""
    item = agenda.item[place]
    while True:
        child = 2 * place + 1
        if child >= agenda.size[0]:
            break
        if child + 1 < agenda.size[0] and _before(
            agenda, agenda.item[child + 1], agenda.item[child]
        ):
            child += 1
        below = agenda.item[child]
        if not _before(agenda, below, item):
            break
        agenda.item[place] = below
        agenda.place[below] = place
        place = child
    agenda.item[place] = item
    agenda.place[item] = place
