"""Intervals cover the truth of a model as often as they say; `coverage` has the long check."""

import pytest

from tests.comparison.coverage import coverage, intervals, true_values


@pytest.mark.compiled("hundreds of logs need compiled kernels")
def test_intervals_cover_the_truth_and_are_no_wider_than_logs_scatter():
    """With 19 replicates an interval is from the least to the most, and its level is 90 %."""
    table = coverage(true_values(60, weeks=8), intervals(12, weeks=8, replicates=19))
    # Of 12 intervals of 90 %, 7 or fewer cover in four of a thousand cases.
    assert (table["covered"] > 7 / 12).all()
    assert table["width"].between(0.5, 2).all()
    assert table.loc["ratio", "single"].between(0.8, 0.99).all()
