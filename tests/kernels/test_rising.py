"""A profile made from nothing, against an array with one cell per second."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.kernels import availability, rising
from tests.kernels.test_availability import as_cells

NODES = 20
RELEASES = st.lists(st.integers(1, 30), unique=True, max_size=NODES).map(sorted)


def begun(releases, now):
    """Profile and releases, one node each; cells of the same, for as long as jobs may be placed."""
    profile, coming = availability.empty(60, NODES), rising.empty(60)
    times, nodes = np.array(releases, float), np.ones(len(releases), np.int64)
    free = NODES - len(releases)
    rising.rebuild(profile, coming, float(now), free, times, nodes, len(releases))
    return profile, coming, free + np.searchsorted(times, np.arange(600), side="right")


@given(RELEASES, st.integers(0, 31), st.integers(0, 31))
def test_releases_are_nodes_that_come_free(releases, now, before):
    profile, coming, cells = begun(releases, now)
    rising.settle(profile, coming, float(before))
    later = [time for time in releases if time > now and time >= before]
    assert coming.times[slice(*coming.bounds)].tolist() == later
    settled = max(now, before)
    assert as_cells(profile, now)[: settled - now].tolist() == cells[now:settled].tolist()
    rising.settle(profile, coming, np.inf)
    assert as_cells(profile, now).tolist() == cells[now:40].tolist()


@settings(max_examples=200)
@given(
    RELEASES,
    st.lists(
        st.tuples(st.integers(1, NODES), st.integers(1, 40), st.integers(1, 3), st.integers(0, 60)),
        min_size=1,
        max_size=12,
    ),
)
def test_jobs_are_placed_at_the_earliest_seconds_at_which_they_fit(releases, jobs):
    profile, coming, cells = begun(releases, 0)
    for wanted, last, alike, settled in jobs:
        rising.settle(profile, coming, float(settled))
        fits = (t for t in range(cells.size) if cells[t : t + last].min() >= wanted)
        start = next(fits)
        room = cells[start : start + last].min() // wanted
        since = float(max(0, start - settled))
        near = settled - 1
        placed = rising.reserve(profile, coming, wanted, float(last), since, near, alike)
        assert placed[:2] == (start, min(alike, room))
        cells[start : start + last] -= placed[1] * wanted
    rising.settle(profile, coming, np.inf)
    times, free, (first, last), (rises,) = profile
    assert (np.diff(times[first:last]) > 0).all()
    assert (np.diff(free[first:last]) != 0).all(), "a breakpoint at which nothing changes"
    assert (times[first + 1 : last][np.diff(free[first:last]) < 0] <= rises).all()
    seconds = np.searchsorted(times[first:last], np.arange(cells.size), side="right") - 1
    assert free[first:last][seconds].tolist() == cells.tolist()
