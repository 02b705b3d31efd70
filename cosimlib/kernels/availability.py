"""Availability profile: the free nodes over time, and the earliest start of a job.

From breakpoint ``times[k]`` (seconds) to the next, ``free[k]`` nodes are free, and all are from the
last breakpoint on. Nodes of running jobs are taken to their expected ends, and nodes of
reservations while these last. The breakpoints lie from ``bounds[0]`` to before ``bounds[1]``,
strictly ascending, the first at the present. Most changes happen near the present, so what is
inserted or removed shifts the shorter side of the arrays, and the past is dropped by moving the
first bound.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import shifts
from cosimlib.kernels.jit import frugal_kernel, inlined_kernel, kernel


class Profile(NamedTuple):
    """Breakpoints in seconds, the nodes free from each to the next, and the bounds of both.

    From the moment `rises[0]` (s) on the number of free nodes never falls.
    """

    times: np.ndarray
    free: np.ndarray
    bounds: np.ndarray
    rises: np.ndarray


@kernel
def empty(breakpoints: int, total_nodes: int) -> Profile:
    """All nodes are free at all times; room for this many breakpoints at a time."""
    room = 2 * breakpoints + 2
    times, free = np.empty(room, np.float64), np.empty(room, np.int64)
    times[0], free[0] = -np.inf, total_nodes
    return Profile(times, free, np.array([0, 1]), np.full(1, -np.inf))


@frugal_kernel
def advance(profile: Profile, now: float) -> None:
    """Drop the past: the first breakpoint becomes `now`."""
    times, bounds = profile.times, profile.bounds
    while bounds[0] + 1 < bounds[1] and times[bounds[0] + 1] <= now:
        bounds[0] += 1
    times[bounds[0]] = now


@frugal_kernel
def clear(profile: Profile, now: float, free: int) -> None:
    """Let so many nodes be free from `now` on."""
    profile.bounds[0], profile.bounds[1] = 0, 1
    profile.times[0], profile.free[0], profile.rises[0] = now, free, now


@frugal_kernel
def place_at(profile: Profile, moment: float) -> int:
    """The first breakpoint at or after a moment."""
    return shifts.first_at(profile.times, moment, profile.bounds[0], profile.bounds[1])


@frugal_kernel
def place_near(profile: Profile, moment: float, near: int) -> int:
    """As `place_at`, for a moment later than the first breakpoint, sought step by step."""
    times, first, last = profile.times, profile.bounds[0], profile.bounds[1]
    place = min(max(near, first + 1), last)
    while place < last and times[place] < moment:
        place += 1
    while times[place - 1] >= moment:
        place -= 1
    return place


@frugal_kernel
def add(profile: Profile, begin: float, end: float, count: int) -> tuple[int, int]:
    """Add `count` free nodes from `begin` to `end`; a negative count takes nodes.

    Returns the places, after the change, of the first breakpoints at or after `begin` and `end`.
    """
    left = place_at(profile, begin)
    return add_between(profile, left, begin, place_at(profile, end), end, count)


@inlined_kernel
def add_between(
    profile: Profile, left: int, begin: float, right: int, end: float, count: int
) -> tuple[int, int]:
    """As `add`, where the places of the first breakpoints at or after `begin` and `end` are known.

    Where a breakpoint comes and another goes, only those between them are shifted.
    """
    times, free, bounds, rises = profile
    if begin == end:
        return left, right
    rises[0] = max(rises[0], begin if count < 0 else end)
    left_comes = left == bounds[1] or times[left] != begin
    right_comes = right == bounds[1] or times[right] != end
    left_goes = not left_comes and left > bounds[0] and free[left] + count == free[left - 1]
    right_goes = not right_comes and free[right] == free[right - 1] + count
    if left_comes and right_goes:
        before = free[left - 1]
        shifts.up(times, left, right)
        shifts.up(free, left, right)
        times[left], free[left] = begin, before
        _change(free, left, right + 1, count)
        return left, right + 1
    if left_goes and right_comes:
        before = free[right - 1]
        shifts.down(times, left + 1, right)
        shifts.down(free, left + 1, right)
        times[right - 1], free[right - 1] = end, before
        _change(free, left, right - 1, count)
        return left, right - 1
    origin = bounds[0]
    if right_comes:
        right = _insert(profile, right, end)
        left, origin = left + bounds[0] - origin, bounds[0]
    if left_comes:
        left = _insert(profile, left, begin)
        right, origin = right + 1 + bounds[0] - origin, bounds[0]
    _change(free, left, right, count)
    if left_goes:
        _remove(profile, left)
        left, right, origin = left + bounds[0] - origin, right - 1 + bounds[0] - origin, bounds[0]
    if right_goes:
        _remove(profile, right)
        left, right = left + bounds[0] - origin, right + bounds[0] - origin
    return left, right


@inlined_kernel
def _change(free: np.ndarray, first: int, last: int, count: int) -> None:
    """Add to the free nodes from one place to before another."""
    changed = free[first:last]
    for place in range(changed.size):
        changed[place] += count


@frugal_kernel
def take_on(profile: Profile, place: int, count: int) -> None:
    """Take `count` free nodes from the breakpoint at `place` on."""
    free, bounds = profile.free, profile.bounds
    profile.rises[0] = max(profile.rises[0], profile.times[place])
    _change(free, place, bounds[1], -count)
    if place > bounds[0] and free[place] == free[place - 1]:
        _remove(profile, place)


@frugal_kernel
def earliest_start(profile: Profile, nodes: int, duration: float, not_before: float) -> float:
    """Earliest moment from which `nodes` nodes are free for `duration` seconds.

    The search begins at `not_before`, before which the caller knows that there is none.
    """
    place, _, _ = _find(profile, nodes, duration, not_before)
    return profile.times[place]


@frugal_kernel
def reserve(
    profile: Profile, nodes: int, duration: float, not_before: float, jobs: int
) -> tuple[float, int]:
    """Reserve the earliest start of a job, and of as many of `jobs` equal ones as fit beside it.

    Each wants `nodes` nodes for `duration` seconds; none fits before `not_before`. Returns the
    start, and how many jobs have it.
    """
    place, end, room = _find(profile, nodes, duration, not_before)
    moment, placed = profile.times[place], 1
    if jobs > 1:
        placed = min(jobs, room // nodes)
    add_between(profile, place, moment, end, moment + duration, -placed * nodes)
    return moment, placed


@inlined_kernel
def _find(profile: Profile, nodes: int, duration: float, not_before: float) -> tuple[int, int, int]:
    """First and last (exclusive) breakpoint of the earliest run, and the nodes free throughout."""
    times, free, bounds, rises = profile
    place, last = bounds[0], bounds[1]
    if times[place] < not_before:
        place = place_at(profile, not_before)
    while True:
        while free[place] < nodes:
            place += 1
        until, room = times[place] + duration, free[place]
        end = place + 1
        while end < last and times[end] < until and free[end] >= nodes:
            room = min(room, free[end])
            # Only now and then, because most runs are short.
            if end % 8 == 0 and times[end] >= rises[0]:
                return place, shifts.first_at(times, until, end + 1, last), room
            end += 1
        if end == last or times[end] >= until:
            return place, end, room
        place = end + 1


@frugal_kernel
def earlier_start(
    profile: Profile, nodes: int, duration: float, start: float, before: float, not_before: float
) -> tuple[float, int]:
    """Earliest moment to which a reservation at `start` can move, or `start`; the nodes free there.

    Only moments from `not_before` to before `before` are searched. The nodes of the reservation
    itself count as taken; a move returns them, so only the time from the moment to `start` must be
    free.
    """
    place = profile.bounds[0]
    if profile.times[place] < not_before:
        place = place_at(profile, not_before)
    return _earlier(profile, nodes, duration, start, before, place)


@frugal_kernel
def earlier_start_near(
    profile: Profile,
    nodes: int,
    duration: float,
    start: float,
    before: float,
    not_before: float,
    near: int,
) -> tuple[float, int]:
    """As `earlier_start`, where the first moment is sought step by step from the place `near`."""
    place = profile.bounds[0]
    if profile.times[place] < not_before:
        place = place_near(profile, not_before, near)
    return _earlier(profile, nodes, duration, start, before, place)


@inlined_kernel
def _earlier(
    profile: Profile, nodes: int, duration: float, start: float, before: float, place: int
) -> tuple[float, int]:
    """Earliest moment at the breakpoint `place` or later to which a reservation can move."""
    times, free, bounds, _ = profile
    last, stop = bounds[1], min(start, before)
    while place < last and times[place] < stop:
        if free[place] >= nodes:
            until, room = min(times[place] + duration, start), free[place]
            end = place + 1
            while end < last and times[end] < until and free[end] >= nodes:
                room = min(room, free[end])
                end += 1
            if end == last or times[end] >= until:
                return times[place], room
            place = end
        place += 1
    return start, 0


@frugal_kernel
def free_since(profile: Profile, nodes: int, place: int) -> tuple[int, int]:
    """Since which breakpoint `nodes` nodes are free up to that at `place`; how many are free."""
    free, first, left = profile.free, profile.bounds[0], place
    if free[left - 1] < nodes:
        return place, 0
    room = free[left - 1]
    while left > first and free[left - 1] >= nodes:
        left -= 1
        room = min(room, free[left])
    return left, room


@frugal_kernel
def max_free(profile: Profile, before: float) -> int:
    """The maximum of free nodes before the moment `before`."""
    times, free, bounds, _ = profile
    place, most = bounds[0], 0
    while place < bounds[1] and times[place] < before:
        most = max(most, free[place])
        place += 1
    return most


@frugal_kernel
def min_free(profile: Profile, begin: float, end: float) -> int:
    """The minimum of free nodes from `begin`, now or later, to before `end`."""
    times, free, bounds, _ = profile
    place = bounds[0]
    while place + 1 < bounds[1] and times[place + 1] <= begin:
        place += 1
    least = free[place]
    while place + 1 < bounds[1] and times[place + 1] < end:
        place += 1
        least = min(least, free[place])
    return least


@frugal_kernel
def _insert(profile: Profile, place: int, time: float) -> int:
    """Insert a breakpoint before the one at `place`; return its place."""
    times, free, bounds, _ = profile
    if bounds[1] == times.size:
        place -= bounds[0]
        _move_to_front(profile)
    place = shifts.make_room(times, free, bounds, place)
    times[place] = time
    free[place] = free[place - 1]
    return place


@frugal_kernel
def _remove(profile: Profile, place: int) -> None:
    """Remove a breakpoint at which nothing changes."""
    times, free, bounds, _ = profile
    if place - bounds[0] < bounds[1] - place:
        shifts.up(times, bounds[0], place)
        shifts.up(free, bounds[0], place)
        bounds[0] += 1
    else:
        shifts.down(times, place + 1, bounds[1])
        shifts.down(free, place + 1, bounds[1])
        bounds[1] -= 1


@frugal_kernel
def _move_to_front(profile: Profile) -> None:
    """Move the breakpoints to the front of the arrays, which makes room at the end."""
    times, free, bounds, _ = profile
    size = bounds[1] - bounds[0]
    for place in range(size):
        times[place] = times[bounds[0] + place]
        free[place] = free[bounds[0] + place]
    bounds[0], bounds[1] = 0, size
