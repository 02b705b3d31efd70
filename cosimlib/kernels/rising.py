"""Availability profile made from nothing, behind whose last breakpoint nodes only come free.

What comes free there, at the ends of running jobs and of reservations, is kept as releases: moments
and nodes in order. They become breakpoints when a search reaches them. So a reservation changes the
breakpoints that it covers, and its end is one release more: in a long plan that is far less than
all the breakpoints up to its end.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import availability, shifts
from cosimlib.kernels.availability import Profile
from cosimlib.kernels.jit import frugal_kernel, inlined_kernel, kernel


class Coming(NamedTuple):
    """Releases that are not breakpoints yet: from ``bounds[0]`` to before ``bounds[1]``.

    `times` in seconds, ascending and later than the profile's last breakpoint, and the `nodes` that
    come free then.
    """

    times: np.ndarray
    nodes: np.ndarray
    bounds: np.ndarray


@kernel
def empty(n: int) -> Coming:
    """No releases; room for `n`."""
    return Coming(np.empty(n), np.empty(n, np.int64), np.zeros(2, np.int64))


@frugal_kernel
def rebuild(
    profile: Profile,
    coming: Coming,
    now: float,
    free: int,
    times: np.ndarray,
    nodes: np.ndarray,
    size: int,
) -> None:
    """Reset to `free` nodes at `now` and the expected releases, without reservations.

    `times` and `nodes` are `size` releases (see `kernels.releases`); overdue ones count as free.
    """
    bounds = coming.bounds
    bounds[0], bounds[1] = 0, 0
    for release in range(size):
        if times[release] > now:
            coming.times[bounds[1]], coming.nodes[bounds[1]] = times[release], nodes[release]
            bounds[1] += 1
        else:
            free += nodes[release]
    availability.clear(profile, now, free)


@frugal_kernel
def settle(profile: Profile, coming: Coming, before: float) -> None:
    """Let the releases before a moment be breakpoints."""
    bounds = coming.bounds
    while bounds[0] < bounds[1] and coming.times[bounds[0]] < before:
        _settle_next(profile, coming)


@inlined_kernel
def _settle_next(profile: Profile, coming: Coming) -> None:
    """Let the next release be a breakpoint."""
    release, place = coming.bounds[0], profile.bounds[1]
    profile.times[place] = coming.times[release]
    profile.free[place] = profile.free[place - 1] + coming.nodes[release]
    coming.bounds[0] += 1
    profile.bounds[1] += 1


@frugal_kernel
def reserve(
    profile: Profile,
    coming: Coming,
    nodes: int,
    duration: float,
    not_before: float,
    near: int,
    jobs: int,
) -> tuple[float, int, int]:
    """As `availability.reserve`: start and number of the jobs that are placed; about their place.

    Where the place `near` is not negative the search for `not_before` begins there.
    """
    if near < 0 or profile.times[profile.bounds[0]] >= not_before:
        near = availability.place_at(profile, not_before)
    else:
        near = availability.place_near(profile, not_before, near)
    place, end, room = _find(profile, coming, nodes, duration, near)
    moment, placed = profile.times[place], 1
    if jobs > 1:
        placed = min(jobs, room // nodes)
    if end < profile.bounds[1]:
        availability.add_between(profile, place, moment, end, moment + duration, -placed * nodes)
    else:
        availability.take_on(profile, place, placed * nodes)
        _expect(coming, moment + duration, placed * nodes)
    return moment, placed, place


@inlined_kernel
def _expect(coming: Coming, time: float, count: int) -> None:
    """Expect a release of `count` nodes at a moment."""
    times, nodes, bounds = coming
    place = shifts.first_at(times, time, bounds[0], bounds[1])
    if place < bounds[1] and times[place] == time:
        nodes[place] += count
        return
    place = shifts.make_room(times, nodes, bounds, place)
    times[place], nodes[place] = time, count


@inlined_kernel
def _find(
    profile: Profile, coming: Coming, nodes: int, duration: float, place: int
) -> tuple[int, int, int]:
    """First and last (exclusive) breakpoint of the earliest run from a place on; its free nodes."""
    times, free, bounds, _ = profile
    while True:
        while place < bounds[1] and free[place] < nodes:
            place += 1
        while place == bounds[1]:
            _settle_next(profile, coming)
            if free[place] < nodes:
                place += 1
        until, room = times[place] + duration, free[place]
        end = place + 1
        while end < bounds[1] and times[end] < until and free[end] >= nodes:
            room = min(room, free[end])
            end += 1
        if end == bounds[1] or times[end] >= until:
            return place, end, room
        place = end + 1
