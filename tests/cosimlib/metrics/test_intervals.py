"""Intervals of means: closed forms, and how often they cover."""

import numpy as np
import pytest

from cosimlib.metrics import mean_interval


def test_an_interval_in_closed_form():
    """Of 1, 2, 3: mean 2, s = 1, t = 4.3027 with two degrees of freedom."""
    mean, low, high = mean_interval([3, 1, 2])
    assert mean == 2 and high - mean == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)
    assert mean - low == pytest.approx(high - mean)
    wider = mean_interval([3, 1, 2], level=0.99)
    assert wider.low < low and high < wider.high


def test_few_values_and_equal_ones():
    assert np.isnan(mean_interval([])).all()
    assert mean_interval([5]) == (5, -np.inf, np.inf)
    assert mean_interval([5, 5]) == (5, 5, 5)
    mean, *ends = mean_interval([1, np.inf])
    assert mean == np.inf and np.isnan(ends).all()


def test_intervals_cover_the_mean_as_often_as_they_say():
    """2,000 samples of five: 95 % ± 4 standard errors."""
    samples = np.random.default_rng(1).normal(7.0, 3.0, (2000, 5))
    covered = [low <= 7 <= high for _, low, high in map(mean_interval, samples)]
    assert np.mean(covered) == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 2000))
