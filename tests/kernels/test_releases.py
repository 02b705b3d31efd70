"""Expected releases against a dictionary, and the shadow time by trying every moment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosimlib.kernels import releases

MOMENTS = st.integers(0, 8)
COUNTS = st.integers(1, 4)


@given(st.lists(st.tuples(MOMENTS, COUNTS), max_size=12), st.randoms(use_true_random=False))
def test_they_are_sums_of_nodes_by_time(given_releases, chance):
    """All are added, then removed in another order."""
    times, nodes, size, known = np.empty(12), np.empty(12, np.int64), 0, {}

    def is_known():
        held = {time: count for time, count in sorted(known.items()) if count}
        assert dict(zip(times[:size].tolist(), nodes[:size].tolist(), strict=True)) == held
        assert (np.diff(times[:size]) > 0).all()

    for time, count in given_releases:
        size = releases.add(times, nodes, size, float(time), count)
        known[time] = known.get(time, 0) + count
        is_known()
    for time, count in chance.sample(given_releases, len(given_releases)):
        size = releases.remove(times, nodes, size, float(time), count)
        known[time] -= count
        is_known()
    assert size == 0


@given(st.dictionaries(MOMENTS, COUNTS, min_size=1), st.integers(0, 4), MOMENTS, st.data())
def test_the_shadow_time_is_the_first_moment_at_which_the_job_fits(expected, free, now, data):
    """Overdue releases come now. What fits now has waited for the releases that come now."""
    total = free + sum(expected.values())
    wanted = data.draw(st.integers(1, total), label="wanted")
    times = np.array(sorted(expected), np.float64)
    nodes = np.array([expected[time] for time in sorted(expected)])
    found = releases.shadow(times, nodes, times.size, free, wanted, float(now))

    def free_at(moment):
        return free + sum(count for time, count in expected.items() if max(time, now) <= moment)

    shadow_time = min(moment for moment in range(now, 10) if free_at(moment) >= wanted)
    assert found == (shadow_time, free_at(shadow_time) - wanted)


@given(st.lists(st.tuples(MOMENTS, COUNTS), max_size=12), st.integers(0, 3), MOMENTS, COUNTS)
def test_records_of_releases_say_the_same_as_arrays(given_releases, free, now, wanted):
    times, nodes, size = np.empty(12), np.empty(12, np.int64), 0
    expected = np.recarray(12, releases.RELEASE)
    state = np.zeros(1, [("free", "i8"), ("releases", "i8")]).view(np.recarray)[0]
    state.free = free
    for place, (time, count) in enumerate(given_releases):
        size = releases.add(times, nodes, size, float(time), count)
        releases.expect(expected, state, float(time), count)
        if place % 3 == 2:
            size = releases.remove(times, nodes, size, float(time), count)
            releases.expect(expected, state, float(time), -count)
    rows = list(zip(times[:size].tolist(), nodes[:size].tolist(), strict=True))
    assert expected[: state.releases][::-1].tolist() == rows
    found = releases.shadow(times, nodes, size, free, wanted, float(now))
    assert releases.reservation(expected, state, wanted, float(now)) == found
