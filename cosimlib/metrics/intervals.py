"""Confidence interval of a mean over seeds: Student's t, for a few independent values."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """Mean and the two ends of its confidence interval."""

    mean: float
    low: float
    high: float


def mean_interval(values: Iterable[float], *, level: float = 0.95) -> Interval:
    """Mean of values from independent seeds, and its confidence interval: mean ± t·s/√n.

    To compare two policies (paired), give the differences of runs on the same seeds. The interval
    of a single value is infinite. Without values, mean and ends are NaN. If a value is not finite,
    the ends are NaN.

    Parameters
    ----------
    values : iterable of float
    level : float, default 0.95
        Probability that the interval contains the mean of the distribution, if that is normal.
    """
    from scipy.special import stdtrit  # not with the package: it takes a fifth of a second

    sample = np.array(list(values), dtype=np.float64)
    if not sample.size:
        return Interval(np.nan, np.nan, np.nan)
    mean, freedom = float(sample.mean()), sample.size - 1
    if not freedom:
        return Interval(mean, -np.inf, np.inf)
    if not np.isfinite(sample).all():
        return Interval(mean, np.nan, np.nan)
    spread = float(sample.std(ddof=1)) / sample.size**0.5
    half = spread and spread * float(stdtrit(freedom, 0.5 + level / 2))
    return Interval(mean, mean - half, mean + half)
