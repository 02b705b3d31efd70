"""Intervals cover the truth of a model as often as they say; `coverage` has the long check."""

import pytest

from tests.cosimlab.comparison.coverage import coverage, draws, true_waits


@pytest.mark.compiled("hundreds of logs need compiled kernels")
def test_intervals_cover_the_truth_and_percentiles_alone_are_narrower():
    """With 19 replicates an interval is from the least to the most, and its level is 90 %."""
    table = coverage(draws("steady", 12, 8, 19), true_waits("steady", 200, 4))
    # Of 12 intervals of 90 %, 7 or fewer cover in four of a thousand cases.
    ours, plain = (table.xs(name, level=1) for name in ("compare", "percentile"))
    assert (ours["covered"] > 7 / 12).all() and (ours["covered"] >= plain["covered"]).all()
    assert (ours["width"] > plain["width"]).all()
