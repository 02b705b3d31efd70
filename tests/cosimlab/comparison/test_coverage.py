"""Intervals cover the truth of a model as often as they say; `coverage` has the long check."""

import numpy as np
import pytest

from tests.cosimlab.comparison.coverage import (
    CHANCE,
    KINDS,
    POLICIES,
    coverage,
    draws,
    false_alarms,
    lean_draws,
    lean_logs,
    true_waits,
)


@pytest.mark.compiled("hundreds of logs need compiled kernels")
def test_intervals_cover_the_truth_and_percentiles_alone_are_narrower():
    """With 19 replicates an interval is from the least to the most, and its level is 90 %.

    Lean draws are those of `compare`, see below.
    """
    truth = true_waits("steady", 200, 4).mean(axis=0)
    table = coverage(lean_logs("steady", 12, 8, 19), truth)
    # Of 12 intervals of 90 %, 7 or fewer cover in four of a thousand cases.
    assert (table["covered"] > 7 / 12).all() and (table["covered"] >= table["percentiles"]).all()
    assert (table["width"] > table["plain width"]).all() and (table["outside"] == 0).all()


@pytest.mark.compiled("logs of weeks need compiled kernels")
@pytest.mark.parametrize(
    ("kind", "policies"), [*((kind, POLICIES) for kind in KINDS), ("steady", CHANCE)]
)
def test_lean_draws_are_those_of_compare(kind, policies):
    """`compare` has replicates in order of their seeds."""
    found, lean = draws(kind, 1, 6, 3, policies), lean_draws(kind, 0, 6, 3, policies)
    assert found.own[0].tolist() == pytest.approx(lean[0].tolist(), rel=1e-12)
    in_order = np.sort(found.drawn[0], axis=0), np.sort(lean[1:], axis=0)
    np.testing.assert_allclose(*in_order, rtol=1e-12)


@pytest.mark.compiled("logs of weeks need compiled kernels")
def test_orders_by_chance_are_seldom_told_apart():
    """With 19 replicates the level is 90 %: 6 or more of 8 are wrong once in 40,000 cases."""
    found = false_alarms("steady", 8, 8, 19)
    assert found["logs"] == 8 and found["cannot tell"] > 2
