"""Estimates of a plain rule: multiples of run times, round values, a uniform accuracy."""

import math

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.synthetic.estimates import ROUND_VALUES
from cosimlib.units import DAY
from cosimlib.workload import Workload
from tests.cosimlib.synthetic.test_estimates import jobs_of


@pytest.mark.parametrize("factor", [1, 1.5, 20.0])
def test_scaled_estimates_are_the_run_time_times_the_factor(factor):
    workload = synthetic.with_scaled_estimates(jobs_of([0, 0.2, 10, 3600]), factor)
    assert workload.jobs["requested_time"].tolist() == [
        1,
        max(1, 0.2 * factor),
        10 * factor,
        3600 * factor,
    ]
    entry = ["mended", f"requested_time set to {factor:g} times run_time", 4]
    assert workload.account.to_numpy().tolist() == [entry]


@pytest.mark.parametrize("factor", [0.99, -1, math.inf, math.nan, True])
def test_a_factor_below_one_is_refused(factor):
    with pytest.raises(ValueError, match=f"estimates: factor={factor}; expected a number from 1"):
        synthetic.with_scaled_estimates(jobs_of([5]), factor)


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.75, 1.0])
def test_round_estimates_have_the_probabilities_of_the_model(accuracy):
    jobs = pd.DataFrame({"submit_time": 0, "run_time": [61.0] * 40_000, "nodes": 1})
    estimates = synthetic.with_round_estimates(Workload(jobs), accuracy).jobs["requested_time"]
    shares = estimates.value_counts(normalize=True).reindex([61.0, 120.0, 300.0], fill_value=0)
    expected = [accuracy, accuracy * (1 - accuracy), (1 - accuracy) ** 2]
    assert sum(expected) == pytest.approx(1)
    np.testing.assert_allclose(shares, expected, atol=0.01)


@pytest.mark.parametrize(
    ("run_time", "next_one", "after"),
    [
        (1, 60, 120),
        (60, 60, 120),
        (1_800, 1_800, 3_600),
        (1_801, 3_600, 7_200),
        (129_600, 129_600, 172_800),
        (863_999, 864_000, 1_296_000),
        (900_000, 1_296_000, 1_296_000),
        (1_300_000, 1_300_000, 1_300_000),
        (0, 60, 120),
    ],
)
def test_round_estimates_are_the_next_round_value_or_the_one_after(run_time, next_one, after):
    jobs = pd.DataFrame({"submit_time": 0, "run_time": [run_time] * 400, "nodes": 1})
    half = synthetic.with_round_estimates(Workload(jobs), 0.5).jobs["requested_time"]
    never = synthetic.with_round_estimates(Workload(jobs), 0.0).jobs["requested_time"]
    assert set(half) == {max(run_time, 60 * (run_time == 0)), next_one, after}
    assert set(never) == {after}


def test_there_are_twenty_round_values():
    assert len(ROUND_VALUES) == 20 and (np.diff(ROUND_VALUES) > 0).all()
    assert ROUND_VALUES[0] == 60 and ROUND_VALUES[-1] == 15 * DAY
    assert {30 * 60, 12 * 3600, 1.5 * DAY} <= set(ROUND_VALUES)


def test_only_missing_estimates_are_drawn():
    table = {"submit_time": 0.0, "run_time": [50.0, 70.0], "nodes": 1}
    given = Workload(pd.DataFrame(table | {"requested_time": [60.0, np.nan]}), "half")
    drawn = synthetic.with_drawn_estimates(given, seed=0).jobs["requested_time"]
    assert drawn[0] == 60 and drawn[1] >= 300


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="estimates: seed=-1; expected a whole number from 0"):
        synthetic.with_drawn_estimates(jobs_of([5]), seed=-1)
