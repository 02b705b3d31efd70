"""Backfilling by EASY's rule: the reservation of a blocked job, and who may start beside it.

Nodes are expected to come free at some times, the *releases*. A job that does not fit now is
*reserved* the earliest moment at which it fits if they come when expected: its *shadow time*. The
nodes that it leaves over then are the *extra nodes* (Lifka 1995). A later job may start now if its
nodes are free and it keeps all *limits*, each of a time and nodes: a job that ends after the time
takes no more than the nodes. A reservation is one limit, of its shadow time and extra nodes, of
which a job that starts uses up its own.

Releases and limits are rows of `STEP`. The caller's record of state counts them, `releases` and
`limits`, and says how many nodes are `free` now.
"""

import numpy as np

from cosimlib.kernels.jit import kernel

STEP = np.dtype([("time", "f8"), ("nodes", "i8")])
"""A time in seconds and nodes: that are expected to come free at it, or, below 0, to close; or that
jobs which end after it may take.

Releases are in order of time, the latest first and without ties, so that what is far ahead stays
where it is while jobs begin and end. Limits are in order of time, the earliest first.
"""

NONE = 0
"""No nodes."""


@kernel
def expect(expected: np.recarray, state: np.record, time: float, nodes: int) -> None:
    """Expect more nodes, or fewer, to come free at a time."""
    place = state.releases
    while place > 0 and expected[place - 1].time < time:
        place -= 1
    if place == 0 or expected[place - 1].time != time:
        for row in range(state.releases, place, -1):
            before = expected[row - 1]
            expected[row].time, expected[row].nodes = before.time, before.nodes
        expected[place].time, expected[place].nodes = time, nodes
        state.releases += 1
        return
    expected[place - 1].nodes += nodes
    if expected[place - 1].nodes == 0:
        for row in range(place, state.releases):
            after = expected[row]
            expected[row - 1].time, expected[row - 1].nodes = after.time, after.nodes
        state.releases -= 1


@kernel
def reservation(
    expected: np.recarray, state: np.record, wanted: int, now: float
) -> tuple[float, int]:
    """Shadow time and extra nodes of a job of `wanted` nodes; these are below 0 if it never fits.

    A release that is overdue is expected now.
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


@kernel
def reserve(
    expected: np.recarray, limits: np.recarray, state: np.record, wanted: int, now: float
) -> None:
    """Limit the jobs that overtake a blocked one, so that none delays it; not if it never fits."""
    shadow_time, extra = reservation(expected, state, wanted, now)
    if extra >= 0:
        limit(limits, state, shadow_time, extra)


@kernel
def limit(limits: np.recarray, state: np.record, time: float, nodes: int) -> None:
    """Let jobs that end after a time take up to so many nodes, whatever later limits said."""
    while state.limits > 0 and limits[state.limits - 1].time >= time:
        state.limits -= 1
    limits[state.limits].time, limits[state.limits].nodes = time, nodes
    state.limits += 1


@kernel
def may_start(limits: np.recarray, state: np.record, nodes: int, end: float) -> bool:
    """Whether a job of so many nodes that ends at a moment may start now."""
    return nodes <= state.free and keeps(limits, state.limits, nodes, end)


@kernel
def keeps(limits: np.recarray, rows: int, nodes: int, end: float) -> bool:
    """Whether a job keeps the first limits."""
    row = 0
    while row < rows and limits[row].time < end:
        if nodes > limits[row].nodes:
            return False
        row += 1
    return True


@kernel
def take(limits: np.recarray, state: np.record, nodes: int, end: float) -> None:
    """Let a job start now: others may take fewer nodes beyond the limits that it outlasts."""
    row = 0
    while row < state.limits and limits[row].time < end:
        limits[row].nodes -= nodes
        row += 1


@kernel
def limit_by_falls(
    expected: np.recarray,
    limits: np.recarray,
    state: np.record,
    reserved: tuple[float, float, int],
    now: float,
    until: float,
) -> None:
    """Limits where free nodes fall, also beside a reservation of begin, end and nodes.

    There is one for each moment from now to `until` at which fewer nodes are left than before.
    """
    begin, end, nodes = reserved
    row, time, free, least = state.releases - 1, now, state.free, state.free
    while time <= until and least > 0:
        while row >= 0 and expected[row].time <= time:
            free += expected[row].nodes
            row -= 1
        if begin <= time:
            free, begin = free - nodes, np.inf
        if end <= time:
            free, end = free + nodes, np.inf
        if free < least:
            least = free
            limit(limits, state, time, free)
        if row < 0 and begin == np.inf:
            return
        time = min(begin, end, expected[row].time if row >= 0 else np.inf)
