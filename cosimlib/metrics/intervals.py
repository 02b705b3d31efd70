"""Confidence interval of a mean over seeds: Student's, for few values of independent runs."""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A mean and the ends of its confidence interval."""

    mean: float
    low: float
    high: float


def mean_interval(values: Iterable[float], *, level: float = 0.95) -> Interval:
    """Mean of values from independent seeds, and its confidence interval: mean ± t·s/√n.

    Give the differences of two runs on the same seeds to compare the two (paired). The interval of
    one value is all numbers; of none, mean and ends are NaN, and so are the ends where a value is
    not finite.

    Parameters
    ----------
    values : iterable of float
    level : float, default 0.95
        Probability that the interval contains the mean of the distribution, if that is normal.
    """
    sample = np.array(list(values), dtype=np.float64)
    if not sample.size:
        return Interval(np.nan, np.nan, np.nan)
    mean, freedom = float(sample.mean()), sample.size - 1
    if not freedom:
        return Interval(mean, -np.inf, np.inf)
    if not np.isfinite(sample).all():
        return Interval(mean, np.nan, np.nan)
    spread = float(sample.std(ddof=1)) / math.sqrt(sample.size)
    half = spread and spread * student_quantile(0.5 + level / 2, freedom)
    return Interval(mean, mean - half, mean + half)


@lru_cache(maxsize=1000)
def student_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t distribution, from a half to 1, by bisection of its distribution."""
    low, high = 0.0, 1.0
    while _student(high, freedom) < probability:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _student(middle, freedom) > probability else (middle, high)
    return high


def _student(t: float, freedom: int) -> float:
    """Distribution function of Student's t at t ≥ 0: the finite series in cos² of the angle.

    Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = total = (math.cos(angle) if odd else 1.0) if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    inside = (angle + sine * total) * 2 / math.pi if odd else sine * total
    return 0.5 + inside / 2
