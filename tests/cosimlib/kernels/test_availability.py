"""The availability profile against an array with one cell per second."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.kernels import availability
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.steps import first_at

NODES, SECONDS = 6, 40
STATE = np.dtype((np.record, [("breakpoints", "i8"), ("rises", "f8")]))
INTERVALS = st.lists(
    st.tuples(st.integers(0, 25), st.integers(1, 12), st.integers(1, 3), st.booleans()), max_size=25
)
ALWAYS = (np.inf, np.inf)
"""No limit to the search, and no reservation."""


def empty(nodes=NODES):
    """A plan in which so many nodes are free for good."""
    plan = np.recarray(120, BREAKPOINT), np.zeros(1, STATE)[0]
    availability.clear(*plan, 0.0, nodes)
    return plan


def filled(intervals, now):
    """Plan and cells after taking what fits, and giving back what is marked so."""
    plan, cells = empty(), np.full(SECONDS, NODES)
    given_back = []
    for begin, lasting, count, back in intervals:
        if cells[begin : begin + lasting].min() >= count:
            cells[begin : begin + lasting] -= count
            availability.add(*plan, float(begin), float(begin + lasting), -count)
            given_back += [(begin, begin + lasting, count)] * back
    for begin, end, count in given_back:
        cells[begin:end] += count
        availability.add(*plan, float(begin), float(end), count)
    availability.advance(*plan, float(now))
    return plan, cells


def as_cells(plan, now):
    """What the breakpoints say of every second from `now` on."""
    profile, state = plan
    rows = profile[: state.breakpoints]
    place = np.searchsorted(rows["time"], np.arange(now, SECONDS), side="right") - 1
    return rows["free"][place]


@settings(max_examples=100)
@given(INTERVALS, st.integers(0, 10))
def test_breakpoints_hold_what_was_taken_and_given_back(intervals, now):
    plan, cells = filled(intervals, now)
    assert as_cells(plan, now).tolist() == cells[now:].tolist()
    profile, state = plan
    times, free = (profile[: state.breakpoints][field] for field in ("time", "free"))
    assert times[0] == now
    assert (np.diff(times) > 0).all()
    assert (np.diff(free[1:]) != 0).all(), "a breakpoint at which nothing changes"
    falls = times[1:][np.diff(free) < 0]
    assert (falls <= state.rises).all()


@settings(max_examples=100)
@given(INTERVALS, st.integers(0, 10), st.integers(1, NODES), st.integers(1, 10))
def test_the_earliest_hole_is_the_first_second_from_which_a_job_fits(intervals, now, wanted, last):
    plan, cells = filled(intervals, now)
    endless = np.append(cells, np.full(last, NODES))
    fits = [t for t in range(now, SECONDS) if endless[t : t + last].min() >= wanted]
    for since in (-np.inf, float(fits[0])):
        found = availability.earliest_start(*plan, wanted, float(last), since, *ALWAYS)
        assert found == fits[0]


@settings(max_examples=100)
@given(INTERVALS, st.integers(0, 10), st.integers(1, 3), st.integers(1, 10), st.integers(0, 40))
def test_a_reservation_moves_to_the_first_hole_that_it_would_leave(
    intervals, now, wanted, last, before
):
    plan, cells = filled(intervals, now)
    start = availability.earliest_start(*plan, NODES, float(last), -np.inf, *ALWAYS)
    availability.add(*plan, start, start + last, -wanted)
    lifted = np.append(cells, np.full(last, NODES))
    fits = [t for t in range(now, int(start)) if lifted[t : t + last].min() >= wanted]
    expected = next((t for t in fits if t < before), np.inf)
    for since in (float(now), min(expected, start)):
        found = availability.earliest_start(*plan, wanted, float(last), since, float(before), start)
        assert found == expected


@settings(max_examples=50)
@given(INTERVALS, st.integers(0, 10), st.integers(1, 30))
def test_the_most_free_nodes_before_a_moment(intervals, now, seconds):
    plan, cells = filled(intervals, now)
    assert availability.max_free(*plan, float(now + seconds)) == cells[now : now + seconds].max()
    assert availability.max_free(*plan, float(now)) == 0


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 40)), min_size=1, max_size=12))
def test_jobs_are_placed_in_turn_behind_a_long_row_of_releases(jobs):
    plan, cells = empty(20), np.minimum(np.arange(500), 20)
    for release in range(1, 21):
        availability.add(*plan, 0.0, float(release), -1)
    for wanted, last in jobs:
        fits = (t for t in range(cells.size) if cells[t : t + last].min() >= wanted)
        start = availability.earliest_start(*plan, wanted, float(last), -np.inf, *ALWAYS)
        assert start == next(fits)
        availability.add(*plan, start, start + last, -wanted)
        cells[int(start) : int(start) + last] -= wanted


@settings(max_examples=50)
@given(INTERVALS, st.integers(0, 10), st.integers(1, 40))
def test_the_place_of_a_moment(intervals, now, seconds):
    profile, state = filled(intervals, now)[0]
    times = profile[: state.breakpoints]["time"]
    place = np.searchsorted(times, float(now + seconds))
    assert first_at(profile, state.breakpoints, float(now + seconds)) == place


@settings(max_examples=60)
@given(INTERVALS, st.integers(0, 10), st.integers(0, 12), st.integers(1, 12))
def test_the_least_free_between_two_moments_is_that_of_all_seconds(intervals, now, wait, lasting):
    plan, cells = filled(intervals, now)
    begin = now + wait
    least = availability.min_free(*plan, float(begin), float(begin + lasting))
    assert least == cells[begin : begin + lasting].min()
    plan, _ = filled([(10, 10, 3, False), (30, 10, 2, False)], 0)
    assert availability.min_free(*plan, 20.0, 30.0) == NODES
    assert availability.min_free(*plan, 19.0, 31.0) == NODES - 3
