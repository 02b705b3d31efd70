"""New holes of an availability profile: where room came free, and which jobs that may concern.

A job that has its earliest start can only move to an earlier one where nodes come free. What comes
free opens or lengthens *holes*, stretches of time throughout which at least so many nodes are free.
Holes are kept by classes of nodes (1, 2-3, 4-7, …) and of lengths (below 2 s, 2-4 s, 4-8 s, …): for
each the earliest beginning of a new hole of as many nodes, or more, and of that length, or longer.
So one comparison tells that no new hole holds a job for as long as it lasts. In a long queue that
is the rule. Jobs that are equal in nodes and duration, a *kind*, share what is known further: the
moment before which no hole for them begins, which only the holes opened since can make earlier.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.availability import Profile
from cosimlib.kernels.jit import allocating_kernel, inlined_kernel, inner_kernel
from cosimlib.kernels.sieve import class_of

LENGTHS, REMEMBERED = 64, 64
"""How many classes of lengths there are, and how many holes are remembered one by one."""

STRIDE = 16
"""Breakpoints that are compared at a time."""


class Holes(NamedTuple):
    """New holes by class and one by one, and what is known of every kind.

    `since` has the earliest beginnings (s) of the holes of this pass and of the pass before,
    `coming` of those of this pass: jobs looked at in one pass need to know of the holes that it
    opened after that. The class of a kind is its `cell` of both, ``LENGTHS · class of nodes + class
    of length``. The last holes, `opened[0]` in number, have each a row of `begin` and `end` (s)
    with one column per class of nodes. Before `known` (s) no hole for a kind begins, when the first
    `seen` holes have been opened.
    """

    since: np.ndarray
    coming: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    opened: np.ndarray
    cell: np.ndarray
    known: np.ndarray
    seen: np.ndarray


@allocating_kernel
def empty(kinds: int, total_nodes: int) -> Holes:
    """No new holes, for jobs of so many kinds and up to so many nodes."""
    classes = class_of(total_nodes) + 1
    return Holes(
        np.full(LENGTHS * classes, np.inf),
        np.full(LENGTHS * classes, np.inf),
        np.zeros((REMEMBERED, classes)),
        np.zeros((REMEMBERED, classes)),
        np.zeros(1, np.int64),
        np.zeros(kinds, np.int64),
        np.full(kinds, -np.inf),
        np.zeros(kinds, np.int64),
    )


@inner_kernel
def forget(holes: Holes) -> None:
    """No hole is new any more, and nothing is known of any kind."""
    holes.since[:] = np.inf
    holes.coming[:] = np.inf
    holes.opened[0] += REMEMBERED + 1


@inner_kernel
def begin_pass(holes: Holes) -> None:
    """From now on holes are of the next pass."""
    holes.coming[:] = np.inf


@inner_kernel
def end_pass(holes: Holes) -> None:
    """Forget holes that were there before the pass."""
    for cell in range(holes.since.size):
        holes.since[cell] = holes.coming[cell]


@inner_kernel
def cell_of(nodes: int, duration: float) -> int:
    """The class of a kind."""
    length, limit = 0, 2.0
    while limit <= duration and length < LENGTHS - 1:
        limit *= 2
        length += 1
    return LENGTHS * class_of(nodes) + length


@inlined_kernel
def any_since(holes: Holes, kind: int) -> float:
    """The earliest beginning of a new hole of the nodes of a kind, however short."""
    return holes.since[holes.cell[kind] & -LENGTHS]


@inlined_kernel
def first_since(holes: Holes, kind: int, duration: float, start: float) -> float:
    """A moment, or any after `start`, before which no new hole of a kind's length begins."""
    cell, opened = holes.cell[kind], holes.opened[0]
    first = holes.since[cell]
    if first >= start or opened - holes.seen[kind] > REMEMBERED:
        return first
    known, nodes_class = holes.known[kind], cell // LENGTHS
    for hole in range(holes.seen[kind], opened):
        row = hole % REMEMBERED
        if holes.begin[row, nodes_class] + duration <= holes.end[row, nodes_class]:
            known = min(known, holes.begin[row, nodes_class])
    return max(first, known)


@inner_kernel
def none_before(holes: Holes, kind: int) -> float:
    """A moment before which no hole for a kind begins, where none was opened since it was told."""
    return holes.known[kind] if holes.seen[kind] == holes.opened[0] else -np.inf


@inner_kernel
def learn(holes: Holes, kind: int, moment: float) -> None:
    """No hole for a kind begins before `moment`."""
    holes.known[kind], holes.seen[kind] = moment, holes.opened[0]


@inner_kernel
def note(holes: Holes, profile: Profile, place: int, begin: float, after: int, end: float) -> None:
    """Nodes have come free from `begin`, now or later, to `end`.

    The first breakpoints at or after these moments are at `place` and `after`. For every class of
    nodes, the new hole lasts from the beginning of the one at `begin`, if that is one, to the end
    of the one before `end`.
    """
    times, free, bounds, _ = profile
    first, last = bounds[0], bounds[1]
    if place == last or times[place] > begin:
        place -= 1
    most = 0
    for count in free[place:after]:
        most = max(most, count)
    row = holes.opened[0] % REMEMBERED
    holes.opened[0] += 1
    holes.end[row, :] = -np.inf
    left, right, length, limit = place, after, 0, 2.0
    for nodes_class in range(class_of(most) if most > 0 else -1, -1, -1):
        nodes = 1 << nodes_class
        since, until = begin, end
        if free[place] >= nodes:
            while left - STRIDE >= first and _all_free(free[left - STRIDE : left], nodes):
                left -= STRIDE
            while left > first and free[left - 1] >= nodes:
                left -= 1
            since = min(times[left], begin)
        if free[after - 1] >= nodes:
            while right + STRIDE <= last and _all_free(free[right : right + STRIDE], nodes):
                right += STRIDE
            while right < last and free[right] >= nodes:
                right += 1
            until = times[right] if right < last else np.inf
        while since + limit <= until and length < LENGTHS - 1:
            limit *= 2
            length += 1
        holes.begin[row, nodes_class], holes.end[row, nodes_class] = since, until
        _lower(holes.since, LENGTHS * nodes_class, length, since)
        _lower(holes.coming, LENGTHS * nodes_class, length, since)


@inlined_kernel
def _all_free(free: np.ndarray, nodes: int) -> bool:
    """Whether `nodes` nodes are free at all of `STRIDE` breakpoints, compared side by side."""
    fine = True
    for place in range(STRIDE):
        fine &= free[place] >= nodes
    return fine


@inner_kernel
def _lower(beginnings: np.ndarray, origin: int, length: int, moment: float) -> None:
    """A hole of this class of lengths, and so of the shorter ones, begins at `moment`."""
    while length >= 0 and beginnings[origin + length] > moment:
        beginnings[origin + length] = moment
        length -= 1
