"""Availability profile: how many nodes are free from which moment on, and where jobs fit.

Breakpoints lie in a sorted array, from the present on; the nodes of each are free until the next,
and those of the last for good. A record of the caller's state counts them, `breakpoints`, and says
when the number of free nodes stops falling, `rises` (s): from there on no search need look further.
"""

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.steps import first_at

FIRST = 0

BREAKPOINT = np.dtype((np.record, [("time", "f8"), ("free", "i8")]))
"""A moment in seconds, and the nodes free from it to the next."""


@kernel
def clear(profile: np.recarray, state: np.record, now: float, free: int) -> None:
    """Let so many nodes be free from now on."""
    profile[0].time, profile[0].free = now, free
    state.breakpoints, state.rises = 1, now


@kernel
def advance(profile: np.recarray, state: np.record, now: float) -> None:
    """Drop the past: the first breakpoint becomes now."""
    passed = 0
    while passed + 1 < state.breakpoints and profile[passed + 1].time <= now:
        passed += 1
    if passed > 0:
        _remove(profile, state, FIRST, passed)
    profile[0].time = now


@kernel
def add(profile: np.recarray, state: np.record, begin: float, end: float, count: int) -> None:
    """Add `count` free nodes from `begin` to `end`; a negative count takes nodes."""
    if begin == end:
        return
    state.rises = max(state.rises, begin if count < 0 else end)
    first = _breakpoint_at(profile, state, begin)
    last = _breakpoint_at(profile, state, end)
    for place in range(first, last):
        profile[place].free += count
    if profile[last].free == profile[last - 1].free:
        _remove(profile, state, last, last + 1)
    if first > 0 and profile[first].free == profile[first - 1].free:
        _remove(profile, state, first, first + 1)


@kernel
def _breakpoint_at(profile: np.recarray, state: np.record, moment: float) -> int:
    """The breakpoint at a moment, now or later, which is inserted if there is none."""
    place = first_at(profile, state.breakpoints, moment)
    if place == state.breakpoints or profile[place].time != moment:
        _insert(profile, state, place, moment)
    return place


@kernel
def _insert(profile: np.recarray, state: np.record, place: int, moment: float) -> None:
    """Insert a breakpoint at which nothing changes."""
    # Places of a slice are not negative: so the compiler makes of the loop one move of memory.
    part = profile[place : state.breakpoints + 1]
    for later in range(part.size - 1, 0, -1):
        part[later] = part[later - 1]
    profile[place].time, profile[place].free = moment, profile[place - 1].free
    state.breakpoints += 1


@kernel
def _remove(profile: np.recarray, state: np.record, first: int, last: int) -> None:
    """Remove the breakpoints from `first` to before `last`."""
    part, count = profile[first : state.breakpoints], last - first
    for place in range(part.size - count):
        part[place] = part[place + count]
    state.breakpoints -= count


@kernel
def earliest_start(
    profile: np.recarray,
    state: np.record,
    nodes: int,
    duration: float,
    since: float,
    before: float,
    reserved: float,
) -> float:
    """The earliest moment from which a job finds its nodes free for its duration.

    It is sought from `since`, before which the caller knows that there is none, to before `before`;
    infinity if there is none. A job that has a reservation moves to before that, `reserved`, from
    where on its own nodes, which count as taken, are free.
    """
    place = 0 if profile[0].time >= since else first_at(profile, state.breakpoints, since)
    last, stop = state.breakpoints, min(before, reserved)
    while place < last and profile[place].time < stop:
        if profile[place].free >= nodes:
            until, end = min(profile[place].time + duration, reserved), place + 1
            change = min(until, state.rises)
            while end < last and profile[end].time < change and profile[end].free >= nodes:
                end += 1
            if end == last or profile[end].time >= until or profile[end].free >= nodes:
                return profile[place].time
            place = end
        place += 1
    return np.inf


@kernel
def max_free(profile: np.recarray, state: np.record, before: float) -> int:
    """The most nodes that are free at a time before a moment."""
    place, most = 0, 0
    while place < state.breakpoints and profile[place].time < before:
        most = max(most, profile[place].free)
        place += 1
    return most


@kernel
def min_free(profile: np.recarray, state: np.record, begin: float, end: float) -> int:
    """The fewest nodes that are free at a time from `begin`, now or later, to before `end`."""
    place = first_at(profile, state.breakpoints, begin)
    if place == state.breakpoints or profile[place].time > begin:
        place -= 1
    least = profile[place].free
    while place < state.breakpoints and profile[place].time < end:
        least = min(least, profile[place].free)
        place += 1
    return least
