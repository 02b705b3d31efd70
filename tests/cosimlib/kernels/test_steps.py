"""Step functions against sums counted one moment at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosimlib.kernels.steps import step_function

INTERVALS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 5)))


@given(INTERVALS)
def test_between_its_times_the_total_is_that_of_the_intervals_that_cover_the_moment(intervals):
    start, length, weight = np.array(intervals, np.int64).reshape(-1, 3).T
    times, values = step_function(start.astype(float), (start + length).astype(float), weight)
    assert times.tolist() == sorted({*start, *(start + length)})
    for moment in np.arange(-1, 20, 0.5):
        covering = sum(heavy for a, lasts, heavy in intervals if a <= moment < a + lasts)
        place = np.searchsorted(times, moment, side="right") - 1
        assert (values[place] if place >= 0 else 0) == covering


def test_two_intervals_that_meet():
    times, values = step_function(np.array([0.0, 2.0]), np.array([2.0, 5.0]), np.array([3, 4]))
    assert times.tolist() == [0, 2, 5] and values.tolist() == [3, 4, 0]
