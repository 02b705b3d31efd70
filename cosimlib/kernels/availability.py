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
def rebuild(
    profile: Profile, now: float, free: int, times: np.ndarray, nodes: np.ndarray, size: int
) -> None:
    """Reset the profile to `free` nodes at `now` and the expected releases, without reservations.

    `times` and `nodes` are `size` releases (see `kernels.releases`); overdue ones count as free.
    """
    bounds = profile.bounds
    bounds[0], bounds[1] = 0, 1
    profile.times[0], profile.free[0], profile.rises[0] = now, free, now
    for release in range(size):
        last = bounds[1]
        if times[release] > now:
            profile.times[last] = times[release]
            profile.free[last] = profile.free[last - 1] + nodes[release]
            bounds[1] += 1
        else:
            profile.free[0] += nodes[release]


@frugal_kernel
def place_at(profile: Profile, moment: float) -> int:
    """The first breakpoint at or after a moment."""
    return _place_between(profile, moment, profile.bounds[0], profile.bounds[1])


@inlined_kernel
def _place_between(profile: Profile, moment: float, low: int, high: int) -> int:
    """As `place_at`, where that is known to be from `low` to `high`."""
    times = profile.times
    while low < high:
        middle = (low + high) // 2
        if times[middle] < moment:
            low = middle + 1
        else:
            high = middle
    return low


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
def add(profile: Profile, begin: float, end: float, count: int) -> None:
    """Add `count` free nodes from `begin` to `end`; a negative count takes nodes."""
    times, bounds = profile.times, profile.bounds
    left = place_at(profile, begin)
    if left == bounds[1] or times[left] != begin:
        left = _insert(profile, left, begin)
    _add_between(profile, left, place_at(profile, end), end, count)


@inlined_kernel
def _add_between(profile: Profile, left: int, right: int, end: float, count: int) -> None:
    """Add `count` free nodes from the breakpoint `left` to `end`, which is at or before `right`."""
    times, free, bounds, rises = profile
    if right == bounds[1] or times[right] != end:
        origin = bounds[0]
        right = _insert(profile, right, end)
        left += bounds[0] - origin
    changed = free[left:right]
    for place in range(changed.size):
        changed[place] += count
    rises[0] = max(rises[0], times[left] if count < 0 else end)
    if left > bounds[0] and free[left] == free[left - 1]:
        origin = bounds[0]
        _remove(profile, left)
        right += bounds[0] - origin - 1
    if free[right] == free[right - 1]:
        _remove(profile, right)


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
    _add_between(profile, place, end, moment + duration, -placed * nodes)
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
                return place, _place_between(profile, until, end + 1, last), room
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
    times, free, bounds, _ = profile
    place, last = bounds[0], bounds[1]
    if times[place] < not_before:
        place = place_at(profile, not_before)
    stop = min(start, before)
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
    first, last = bounds[0], bounds[1]
    if first > 0 and place - first < last - place:
        _shift_down(times, first, place)
        _shift_down(free, first, place)
        bounds[0] -= 1
        place -= 1
    else:
        _shift_up(times, place, last)
        _shift_up(free, place, last)
        bounds[1] += 1
    times[place] = time
    free[place] = free[place - 1]
    return place


@frugal_kernel
def _remove(profile: Profile, place: int) -> None:
    """Remove a breakpoint at which nothing changes."""
    times, free, bounds, _ = profile
    if place - bounds[0] < bounds[1] - place:
        _shift_up(times, bounds[0], place)
        _shift_up(free, bounds[0], place)
        bounds[0] += 1
    else:
        _shift_down(times, place + 1, bounds[1])
        _shift_down(free, place + 1, bounds[1])
        bounds[1] -= 1


@inlined_kernel
def _shift_down(values: np.ndarray, first: int, last: int) -> None:
    """Move the values from `first` to before `last` down by one place."""
    # Places count from zero, so that none can be negative, and the loop becomes one call.
    part = values[first - 1 : last]
    for place in range(part.size - 1):
        part[place] = part[place + 1]


@inlined_kernel
def _shift_up(values: np.ndarray, first: int, last: int) -> None:
    """Move the values from `first` to before `last` up by one place."""
    part = values[first : last + 1]
    for place in range(part.size - 1, 0, -1):
        part[place] = part[place - 1]


@frugal_kernel
def _move_to_front(profile: Profile) -> None:
    """Move the breakpoints to the front of the arrays, which makes room at the end."""
    times, free, bounds, _ = profile
    size = bounds[1] - bounds[0]
    for place in range(size):
        times[place] = times[bounds[0] + place]
        free[place] = free[bounds[0] + place]
    bounds[0], bounds[1] = 0, size
