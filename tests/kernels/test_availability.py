"""The availability profile against an array with one cell per second."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.kernels import availability

NODES, SECONDS = 6, 40
INTERVALS = st.lists(
    st.tuples(st.integers(0, 25), st.integers(1, 12), st.integers(1, 3), st.booleans()), max_size=25
)


def filled(intervals, now):
    """Profile and cells after taking what fits, and giving back what is marked so."""
    profile, cells = availability.empty(60, NODES), np.full(SECONDS, NODES)
    availability.advance(profile, 0.0)
    given_back = []
    for begin, lasting, count, back in intervals:
        if cells[begin : begin + lasting].min() >= count:
            cells[begin : begin + lasting] -= count
            availability.add(profile, float(begin), float(begin + lasting), -count)
            given_back += [(begin, begin + lasting, count)] * back
    for begin, end, count in given_back:
        cells[begin:end] += count
        availability.add(profile, float(begin), float(end), count)
    availability.advance(profile, float(now))
    return profile, cells


def as_cells(profile, now):
    """What the breakpoints say of every second from `now` on."""
    times, free, (first, last), _ = profile
    place = np.searchsorted(times[first:last], np.arange(now, SECONDS), side="right") - 1
    return free[first:last][place]


@settings(max_examples=100)
@given(INTERVALS, st.integers(0, 10))
def test_breakpoints_hold_what_was_taken_and_given_back(intervals, now):
    profile, cells = filled(intervals, now)
    assert as_cells(profile, now).tolist() == cells[now:].tolist()
    times, free, (first, last), (rises,) = profile
    assert times[first] == now
    assert (np.diff(times[first:last]) > 0).all()
    assert (np.diff(free[first + 1 : last]) != 0).all(), "a breakpoint at which nothing changes"
    falls = times[first + 1 : last][np.diff(free[first:last]) < 0]
    assert (falls <= rises).all()


@settings(max_examples=100)
@given(INTERVALS, st.integers(0, 10), st.integers(1, NODES), st.integers(1, 10))
def test_the_earliest_hole_is_the_first_second_from_which_a_job_fits(intervals, now, wanted, last):
    profile, cells = filled(intervals, now)
    endless = np.append(cells, np.full(last, NODES))
    fits = [t for t in range(now, SECONDS) if endless[t : t + last].min() >= wanted]
    for since in (-np.inf, float(fits[0])):
        assert availability.earliest_start(profile, wanted, float(last), since) == fits[0]


@settings(max_examples=100)
@given(INTERVALS, st.integers(0, 10), st.integers(1, 3), st.integers(1, 10), st.integers(0, 40))
def test_a_reservation_moves_to_the_first_hole_that_it_would_leave(
    intervals, now, wanted, last, before
):
    profile, cells = filled(intervals, now)
    start = availability.earliest_start(profile, NODES, float(last), -np.inf)
    availability.add(profile, start, start + last, -wanted)
    lifted = np.append(cells, np.full(last, NODES))
    fits = [t for t in range(now, int(start)) if lifted[t : t + last].min() >= wanted]
    expected = next((t for t in fits if t < before), start)
    moment, room = availability.earlier_start(
        profile, wanted, float(last), start, float(before), float(now)
    )
    assert moment == expected
    free = cells[int(moment) : min(int(moment) + last, int(start))]
    assert room == (free.min() if moment < start else 0)


@settings(max_examples=50)
@given(INTERVALS, st.integers(0, 10), st.integers(1, 30))
def test_the_most_free_nodes_before_a_moment(intervals, now, seconds):
    profile, cells = filled(intervals, now)
    assert availability.max_free(profile, float(now + seconds)) == cells[now : now + seconds].max()
    assert availability.max_free(profile, float(now)) == 0


@settings(max_examples=100)
@given(INTERVALS, st.integers(0, 10), st.integers(1, 3), st.integers(1, 10), st.integers(1, 9))
def test_equal_jobs_are_placed_as_if_one_by_one(intervals, now, wanted, last, jobs):
    together, _ = filled(intervals, now)
    alone, _ = filled(intervals, now)
    moments, since = [], float(now)
    while len(moments) < jobs:
        since, placed = availability.reserve(
            together, wanted, float(last), since, jobs - len(moments)
        )
        moments += [since] * placed
    assert moments == [
        availability.reserve(alone, wanted, float(last), -np.inf, 1)[0] for _ in moments
    ]
    assert as_cells(together, now).tolist() == as_cells(alone, now).tolist()


@settings(max_examples=100)
@given(INTERVALS, st.integers(0, 10), st.integers(1, 3), st.integers(1, 10), st.integers(0, 20))
def test_a_search_goes_on_from_where_another_ended_in_vain(intervals, now, wanted, last, near):
    profile, _ = filled(intervals, now)
    start = availability.earliest_start(profile, NODES, float(last), -np.inf)
    availability.add(profile, start, start + last, -wanted)
    moment, room = availability.earlier_start(
        profile, wanted, float(last), start, np.inf, float(now)
    )
    again = (profile, wanted, float(last), start, np.inf, moment)
    assert availability.earlier_start(*again) == (moment, room)
    assert availability.earlier_start_near(*again, near) == (moment, room)


@settings(max_examples=50)
@given(INTERVALS, st.integers(0, 30), st.integers(0, 12), st.sampled_from([-1, 1]))
def test_a_change_tells_where_it_begins_and_ends(intervals, begin, lasting, count):
    profile, cells = filled(intervals, 0)
    cells[begin : begin + lasting] += count
    places = availability.add(profile, float(begin), float(begin + lasting), count)
    times, _, (first, last), _ = profile
    expected = np.searchsorted(times[first:last], [begin, begin + lasting])
    assert places == tuple(first + expected)
    assert as_cells(profile, 0).tolist() == cells.tolist()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 40)), min_size=1, max_size=12))
def test_jobs_are_placed_in_turn_behind_a_long_row_of_releases(jobs):
    profile, cells = availability.empty(60, 20), np.minimum(np.arange(500), 20)
    availability.advance(profile, 0.0)
    for release in range(1, 21):
        availability.add(profile, 0.0, float(release), -1)
    for wanted, last in jobs:
        fits = (t for t in range(cells.size) if cells[t : t + last].min() >= wanted)
        start, _ = availability.reserve(profile, wanted, float(last), -np.inf, 1)
        assert start == next(fits)
        cells[int(start) : int(start) + last] -= wanted


@settings(max_examples=50)
@given(INTERVALS, st.integers(0, 10), st.integers(1, 40), st.integers(0, 60))
def test_the_place_of_a_moment_is_found_from_anywhere(intervals, now, seconds, near):
    profile, _ = filled(intervals, now)
    times, _, (first, last), _ = profile
    place = first + np.searchsorted(times[first:last], float(now + seconds))
    assert availability.place_at(profile, float(now + seconds)) == place
    assert availability.place_near(profile, float(now + seconds), near) == place


@settings(max_examples=50)
@given(INTERVALS, st.integers(0, 10), st.integers(1, NODES), st.integers(1, 30))
def test_nodes_are_free_without_interruption_up_to_a_place(intervals, now, wanted, seconds):
    profile, cells = filled(intervals, now)
    moment = float(min(now + seconds, SECONDS))
    place = availability.place_at(profile, moment)
    left, room = availability.free_since(profile, wanted, place)
    times, free, _, _ = profile
    since = times[left]
    assert (left < place) == bool(free[place - 1] >= wanted)
    if left < place:
        assert cells[int(since) : int(times[place - 1]) + 1].min() == room >= wanted
        assert since == now or cells[int(since) - 1] < wanted
    else:
        assert room == 0


@settings(max_examples=60)
@given(INTERVALS, st.integers(0, 10), st.integers(0, 12), st.integers(1, 12))
def test_the_least_free_between_two_moments_is_that_of_all_seconds(intervals, now, wait, lasting):
    profile, cells = filled(intervals, now)
    begin = now + wait
    least = availability.min_free(profile, float(begin), float(begin + lasting))
    assert least == cells[begin : begin + lasting].min()
    profile, _ = filled([(10, 10, 3, False), (30, 10, 2, False)], 0)
    assert availability.min_free(profile, 20.0, 30.0) == NODES
    assert availability.min_free(profile, 19.0, 31.0) == NODES - 3
