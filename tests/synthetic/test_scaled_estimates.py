"""Requested times that are multiples of the run time."""

import math

import pytest

from cosimlib import synthetic
from tests.synthetic.test_estimates import jobs_of


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
def test_a_factor_below_one_makes_no_estimates(factor):
    with pytest.raises(ValueError, match=f"estimates: factor={factor}; expected a number from 1"):
        synthetic.with_scaled_estimates(jobs_of([5]), factor)
