"""Expected releases against a dictionary; shadow times and starts by trying every moment."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from cosimlib.kernels import backfilling

MOMENTS = st.integers(0, 8)
COUNTS = st.integers(1, 4)


def no_releases(free=0):
    """Records of releases, and a state that has none."""
    state = np.zeros(1, [("free", "i8"), ("releases", "i8")]).view(np.recarray)[0]
    state.free = free
    return np.recarray(12, backfilling.STEP), state


@given(st.lists(st.tuples(MOMENTS, COUNTS), max_size=12), st.randoms(use_true_random=False))
def test_they_are_sums_of_nodes_by_time(given_releases, chance):
    """All are added, then removed in another order."""
    (expected, state), known = no_releases(), {}

    def change(time, count):
        backfilling.expect(expected, state, float(time), count)
        known[time] = known.get(time, 0) + count
        held = sorted((time, count) for time, count in known.items() if count)
        assert expected[: state.releases][::-1].tolist() == held

    for time, count in given_releases:
        change(time, count)
    for time, count in chance.sample(given_releases, len(given_releases)):
        change(time, -count)
    assert state.releases == 0


@given(st.dictionaries(MOMENTS, COUNTS, min_size=1), st.integers(0, 4), MOMENTS, st.data())
def test_the_shadow_time_is_the_first_moment_at_which_the_job_fits(expected, free, now, data):
    """Overdue releases come now. What fits now has waited for the releases that come now."""
    total = free + sum(expected.values())
    wanted = data.draw(st.integers(1, total), label="wanted")
    rows, state = no_releases(free)
    for time, count in expected.items():
        backfilling.expect(rows, state, float(time), count)
    found = backfilling.reservation(rows, state, wanted, float(now))

    def free_at(moment):
        return free + sum(count for time, count in expected.items() if max(time, now) <= moment)

    shadow_time = min(moment for moment in range(now, 10) if free_at(moment) >= wanted)
    assert found == (shadow_time, free_at(shadow_time) - wanted)
    assert backfilling.reservation(rows, state, total + 1, float(now))[1] < 0


@given(
    st.dictionaries(MOMENTS, st.integers(-4, 4).filter(bool), max_size=6),
    st.integers(0, 4),
    MOMENTS,
    st.integers(1, 5),
    st.data(),
)
def test_the_earliest_start_is_the_first_moment_from_which_the_job_fits(
    expected, free, now, duration, data
):
    """Nodes come free and close; a job may end at the very moment at which nodes close."""
    total = free + sum(expected.values())
    assume(total > 0)
    wanted = data.draw(st.integers(1, total), label="wanted")
    rows, state = no_releases(free)
    for time, count in expected.items():
        backfilling.expect(rows, state, float(time), count)

    def free_at(moment):
        return free + sum(count for time, count in expected.items() if max(time, now) <= moment)

    start = next(
        moment
        for moment in range(now, 10)
        if all(free_at(later) >= wanted for later in range(moment, moment + duration))
    )
    assert backfilling.earliest_start(rows, state, wanted, float(duration), float(now)) == start
