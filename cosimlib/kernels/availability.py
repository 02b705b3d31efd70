"""Free nodes over time, promises and reservations counted, and the holes in which a job fits.

From breakpoint ``times[k]`` to the next, ``free[k]`` nodes are free; from the last on, all are. The
breakpoints that count lie from ``bounds[0]`` to before ``bounds[1]``, strictly ascending, the first
at the present. Most changes happen near the present, so what is inserted or removed shifts the
shorter side of the arrays, and the past is dropped by moving the first bound.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import frugal_kernel, kernel


class Holes(NamedTuple):
    """Breakpoints, the nodes free from each to the next, and from where to where they count."""

    times: np.ndarray
    free: np.ndarray
    bounds: np.ndarray


@kernel
def all_free(breakpoints: int, total_nodes: int) -> Holes:
    """Nothing is taken, ever; room for as many breakpoints at a time."""
    room = 2 * breakpoints + 2
    holes = Holes(np.empty(room, np.float64), np.empty(room, np.int64), np.array([0, 1]))
    holes.times[0] = -np.inf
    holes.free[0] = total_nodes
    return holes


@frugal_kernel
def advance(holes: Holes, now: float) -> None:
    """Let the past go: the first breakpoint is `now`."""
    times, bounds = holes.times, holes.bounds
    while bounds[0] + 1 < bounds[1] and times[bounds[0] + 1] <= now:
        bounds[0] += 1
    times[bounds[0]] = now


@frugal_kernel
def begin_anew(
    holes: Holes, now: float, free: int, times: np.ndarray, nodes: np.ndarray, size: int
) -> None:
    """Let `free` nodes be free now, and more of them at each promised time; nothing else is known.

    Promises are a profile (see `kernels.profile`). What was promised by now counts as free.
    """
    bounds = holes.bounds
    bounds[0], bounds[1] = 0, 1
    holes.times[0], holes.free[0] = now, free
    for promise in range(size):
        last = bounds[1]
        if times[promise] > now:
            holes.times[last] = times[promise]
            holes.free[last] = holes.free[last - 1] + nodes[promise]
            bounds[1] += 1
        else:
            holes.free[0] += nodes[promise]


@frugal_kernel
def change(holes: Holes, begin: float, end: float, count: int) -> None:
    """Add `count` free nodes, or take them away where it is negative, from `begin` to `end`."""
    times, bounds = holes.times, holes.bounds
    left = bounds[0] + np.searchsorted(times[bounds[0] : bounds[1]], begin)
    if left == bounds[1] or times[left] != begin:
        left = _insert(holes, left, begin)
    right = left + np.searchsorted(times[left : bounds[1]], end)
    _add(holes, left, right, end, count)


@frugal_kernel
def _add(holes: Holes, left: int, right: int, end: float, count: int) -> None:
    """Add `count` free nodes from a breakpoint to `end`, which is at or before that at `right`."""
    times, free, bounds = holes
    if right == bounds[1] or times[right] != end:
        origin = bounds[0]
        right = _insert(holes, right, end)
        left += bounds[0] - origin
    for place in range(left, right):
        free[place] += count
    if left > bounds[0] and free[left] == free[left - 1]:
        origin = bounds[0]
        _remove(holes, left)
        right += bounds[0] - origin - 1
    if free[right] == free[right - 1]:
        _remove(holes, right)


@frugal_kernel
def earliest(holes: Holes, wanted: int, lasting: float, since: float) -> float:
    """The first moment from which `wanted` nodes are free for `lasting` seconds.

    It is known that there is none before `since`.
    """
    place, _, _ = _find(holes, wanted, lasting, since)
    return holes.times[place]


@frugal_kernel
def take(holes: Holes, wanted: int, lasting: float, since: float, jobs: int) -> tuple[float, int]:
    """Place a job in the earliest hole, and with it those of its neighbors that have room there.

    It is known that there is no hole before `since`. So many `jobs` are alike: each wants so many
    nodes for so long. Returns the moment that was found, and how many jobs were placed there.
    """
    place, end, room = _find(holes, wanted, lasting, since)
    moment, placed = holes.times[place], 1
    if jobs > 1:
        placed = min(jobs, room // wanted)
    _add(holes, place, end, moment + lasting, -placed * wanted)
    return moment, placed


@frugal_kernel
def _find(holes: Holes, wanted: int, lasting: float, since: float) -> tuple[int, int, int]:
    """The places where the earliest hole begins and has ended, and the nodes free all that time."""
    times, free, bounds = holes
    place, last = bounds[0], bounds[1]
    if times[place] < since:
        place += np.searchsorted(times[place:last], since)
    while True:
        while free[place] < wanted:
            place += 1
        until, room = times[place] + lasting, free[place]
        end = place + 1
        while end < last and times[end] < until and free[end] >= wanted:
            room = min(room, free[end])
            end += 1
        if end == last or times[end] >= until:
            return place, end, room
        place = end + 1


@frugal_kernel
def earlier(
    holes: Holes, wanted: int, lasting: float, start: float, before: float, since: float
) -> tuple[float, int]:
    """The first moment to which a reservation from `start` can move, or `start`.

    Only moments before `before` are looked at, and none before `since`, for they are known to be
    in vain. The reservation's own nodes count as taken: it would give them back, so that what must
    be free is the time from that moment to `start`. Returns, too, how many are free all that time.
    """
    times, free, bounds = holes
    place, last = bounds[0], bounds[1]
    if times[place] < since:
        place += np.searchsorted(times[place:last], since)
    stop = min(start, before)
    while place < last and times[place] < stop:
        if free[place] >= wanted:
            until, room = min(times[place] + lasting, start), free[place]
            end = place + 1
            while end < last and times[end] < until and free[end] >= wanted:
                room = min(room, free[end])
                end += 1
            if end == last or times[end] >= until:
                return times[place], room
            place = end
        place += 1
    return start, 0


@frugal_kernel
def most_free(holes: Holes, before: float) -> int:
    """The most nodes that are free at any one moment before `before`."""
    times, free, bounds = holes
    most = 0
    place = bounds[0]
    while place < bounds[1] and times[place] < before:
        most = max(most, free[place])
        place += 1
    return most


@frugal_kernel
def least_free(holes: Holes, begin: float, end: float) -> int:
    """The fewest nodes that are free at any one moment from `begin`, not past, to before `end`."""
    times, free, bounds = holes
    place = bounds[0]
    while place + 1 < bounds[1] and times[place + 1] <= begin:
        place += 1
    least = free[place]
    while place + 1 < bounds[1] and times[place + 1] < end:
        place += 1
        least = min(least, free[place])
    return least


@frugal_kernel
def _insert(holes: Holes, place: int, time: float) -> int:
    """Make a breakpoint before the one at `place`; return the place where it is."""
    times, free, bounds = holes
    if bounds[1] == times.size:
        place -= bounds[0]
        _move_to_front(holes)
    first, last = bounds[0], bounds[1]
    if first > 0 and place - first < last - place:
        for moved in range(first, place):
            times[moved - 1] = times[moved]
            free[moved - 1] = free[moved]
        bounds[0] -= 1
        place -= 1
    else:
        for moved in range(last, place, -1):
            times[moved] = times[moved - 1]
            free[moved] = free[moved - 1]
        bounds[1] += 1
    times[place] = time
    free[place] = free[place - 1]
    return place


@frugal_kernel
def _remove(holes: Holes, place: int) -> None:
    """Forget a breakpoint at which nothing changes."""
    times, free, bounds = holes
    if place - bounds[0] < bounds[1] - place:
        for moved in range(place, bounds[0], -1):
            times[moved] = times[moved - 1]
            free[moved] = free[moved - 1]
        bounds[0] += 1
    else:
        for moved in range(place, bounds[1] - 1):
            times[moved] = times[moved + 1]
            free[moved] = free[moved + 1]
        bounds[1] -= 1


@frugal_kernel
def _move_to_front(holes: Holes) -> None:
    """Make room at the arrays' end."""
    times, free, bounds = holes
    size = bounds[1] - bounds[0]
    for place in range(size):
        times[place] = times[bounds[0] + place]
        free[place] = free[bounds[0] + place]
    bounds[0], bounds[1] = 0, size
