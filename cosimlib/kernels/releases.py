"""Expected releases: how many nodes come free when, if all running jobs end when expected."""

import numpy as np

from cosimlib.kernels.jit import kernel


@kernel
def shadow(
    times: np.ndarray, nodes: np.ndarray, size: int, free: int, wanted: int, now: float
) -> tuple[float, int]:
    """Shadow time and extra nodes of a job of `wanted` nodes, where `free` nodes are free now.

    As `reservation`, of arrays: of the first `size` entries, `times` ascend, in seconds.
    """
    shadow_time = now
    for place in range(size):
        if times[place] > shadow_time and free >= wanted:
            break
        shadow_time = max(times[place], now)
        free += nodes[place]
    return shadow_time, free - wanted


RELEASE = np.dtype([("time", "f8"), ("nodes", "i8")])
"""Nodes that are expected to come free at a time, or, below 0, to close.

Rows are in order of time, the latest first and without ties, so that what is far ahead stays where
it is while jobs begin and end. ``state.releases`` rows count.
"""


@kernel
def expect(expected: np.recarray, state: np.record, time: float, nodes: int) -> None:
    """Expect more nodes, or fewer, to come free at a time."""
    place = _row_at(expected, state.releases, time)
    if place == state.releases or expected[place].time != time:
        for row in range(state.releases, place, -1):
            _move(expected, row - 1, row)
        expected[place].time, expected[place].nodes = time, 0
        state.releases += 1
    expected[place].nodes += nodes
    if expected[place].nodes == 0:
        for row in range(place + 1, state.releases):
            _move(expected, row, row - 1)
        state.releases -= 1


@kernel
def _row_at(expected: np.recarray, size: int, moment: float) -> int:
    """The first of `size` rows at or before a moment."""
    place, last = 0, size
    while place < last:
        middle = (place + last) // 2
        if expected[middle].time > moment:
            place = middle + 1
        else:
            last = middle
    return place


@kernel
def _move(expected: np.recarray, row: int, to: int) -> None:
    """Copy a row: field by field, which is faster than as a whole."""
    expected[to].time, expected[to].nodes = expected[row].time, expected[row].nodes


@kernel
def reservation(
    expected: np.recarray, state: np.record, wanted: int, now: float
) -> tuple[float, int]:
    """Shadow time and extra nodes of a job of `wanted` nodes, where ``state.free`` are free now.

    The shadow time is the earliest moment at which it fits if all releases come when expected, the
    extra nodes are those left over then. A release that is overdue is expected now.
    """
    shadow_time, free = now, state.free
    for row in range(state.releases - 1, -1, -1):
        if expected[row].time > shadow_time and free >= wanted:
            break
        shadow_time = max(expected[row].time, now)
        free += expected[row].nodes
    return shadow_time, free - wanted


@kernel
def earliest_start(
    expected: np.recarray, state: np.record, wanted: int, duration: float, now: float
) -> float:
    """The earliest moment from which a job fits for its duration, where nodes close in between."""
    start, time, free, fits = now, now, state.free, False
    for row in range(state.releases - 1, -1, -1):
        if expected[row].time > time:
            start = start if fits and free >= wanted else time
            fits = free >= wanted
            if fits and expected[row].time >= start + duration:
                return start
            time = expected[row].time
        free += expected[row].nodes
    return start if fits and free >= wanted else time
