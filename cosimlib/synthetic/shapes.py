"""Quantile functions with given means and medians, and stratified draws from them.

Calibration to a few printed numbers needs families whose mean and median can be set exactly, and
draws that do not scatter around them: `spread` draws one uniform number from each of n equal
slices of [0, 1), in random order, so that a sample of any of these shapes has nearly the mean and
quantiles of the shape itself, for each seed.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

GRID = 20_001
"""Points between the ends of a distribution whose quantiles are found from its density."""


def bisect(
    is_low: Callable[[float], bool], low: float, high: float, steps: int = 60
) -> tuple[float, float]:
    """The ends between which a function of a number turns from True to False, halved so often."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return low, high


def spread(n: int, rng: np.random.Generator) -> np.ndarray:
    """A stratified sample: one uniform number from each of `n` equal slices of [0, 1), shuffled."""
    uniform = (rng.permutation(n) + rng.random(n)) / n
    return np.minimum(uniform, np.nextafter(1.0, 0.0))


def rounded_at_random(expected: float, rng: np.random.Generator) -> int:
    """A whole number next to `expected` whose mean over seeds is `expected`."""
    return math.floor(expected + rng.random())


def whole_counts(n: int, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Split `n` by `shares`: each count within one of its part, its mean over seeds exact."""
    edges = np.cumsum(shares) / np.sum(shares)
    places = (np.arange(n) + rng.random()) / n
    return np.bincount(np.searchsorted(edges[:-1], places, side="right"), minlength=len(shares))


def choice_at(uniform: np.ndarray, values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The quantile function of a choice among `values` with probabilities `shares`."""
    return values[np.searchsorted(np.cumsum(shares)[:-1], uniform, side="right")]


def log_uniform_factors(n: int, median: float, rng: np.random.Generator) -> np.ndarray:
    """Factors from 1 up to the square of their median, log-uniform: all 1 if that is 1."""
    return median ** (2.0 * spread(n, rng))


def weighted_choice(
    weights: np.ndarray, count: int, share: float, rng: np.random.Generator
) -> np.ndarray:
    """A mask of `count` members with about a given share of all weight, drawn at random.

    Members are drawn without replacement with probabilities in proportion to a power of the weight
    (Efraimidis and Spirakis, Inf. Process. Lett. 97(5), 2006), by bisection over that power.
    """
    draw = np.log(rng.random(weights.size))
    low, high = 0.0, 3.0
    for _ in range(40):
        power = (low + high) / 2
        chosen = np.argsort(-draw / weights**power, kind="stable")[:count]
        above = weights[chosen].sum() >= share * weights.sum()
        low, high = (low, power) if above else (power, high)
    mask = np.zeros(weights.size, dtype=bool)
    mask[chosen] = True
    return mask


def tilted_shares(menu: Mapping[int, float | None], mean: float | None = None) -> np.ndarray:
    """Probabilities with a given mean: some fixed, the others of maximum entropy.

    Parameters
    ----------
    menu : mapping of int to float or None
        Values with their fixed probabilities; None for those that share the rest.
    mean : float, optional
        Of the whole menu. The rest is split in proportion to exp(λ · value), the split of maximum
        entropy with that mean; without a mean it is split evenly.

    Raises
    ------
    ValueError
        If no split has that mean.
    """
    values = np.array(list(menu), dtype=np.float64)
    shares = np.array([share or 0.0 for share in menu.values()])
    free = np.array([share is None for share in menu.values()])
    left = 1.0 - shares.sum()
    if mean is None:
        shares[free] = left / free.sum()
        return shares
    target = (mean - shares @ values) / left
    others = values[free]
    if not others.min() < target < others.max():
        raise ValueError(
            f"no split of {left:.3g} over {others.tolist()} makes the mean {mean:g}; they would "
            f"need a mean of {target:g} themselves: change the menu or its given shares"
        )
    weights = _tilt((others - target) / np.ptp(others))
    shares[free] = left * weights / weights.sum()
    return shares


def two_piece_quantiles(
    uniform: np.ndarray,
    *,
    shortest: float,
    pivot: float,
    longest: float,
    below: float,
    mean: float,
) -> np.ndarray:
    """Quantiles of a distribution with a given mean and a given probability below a pivot.

    Log-uniform on [shortest, pivot] with probability `below`, and above it
    ``pivot + (longest - pivot) · v^k`` with v uniform. With U the mean that the upper piece needs,
    ``(mean - below · lower mean) / (1 - below)``, the exponent is
    ``k = (longest - pivot) / (U - pivot) - 1``. With ``below = 0.5`` the pivot is the median.

    Raises
    ------
    ValueError
        Where U is not between pivot and longest: no exponent gives the mean.
    """
    lower_mean = (pivot - shortest) / math.log(pivot / shortest)
    upper_mean = (mean - below * lower_mean) / (1.0 - below)
    if not pivot < upper_mean < longest:
        raise ValueError(
            f"a mean of {mean:g} needs a mean of {upper_mean:g} above the pivot; expected one "
            f"between {pivot:g} and {longest:g}: change shortest={shortest:g} or longest"
        )
    exponent = (longest - pivot) / (upper_mean - pivot) - 1.0
    lower = shortest * (pivot / shortest) ** (uniform / below)
    upper = np.clip((uniform - below) / (1.0 - below), 0.0, 1.0)
    return np.where(uniform < below, lower, pivot + (longest - pivot) * upper**exponent)


def quartile_quantiles(
    uniform: np.ndarray, *, quartiles: tuple[float, float, float, float, float], mean: float
) -> np.ndarray:
    """Quantiles of a distribution with a given minimum, quartiles, maximum and mean.

    Log-uniform between neighbors up to the third quartile, ``q + (max - q) · v^k`` above it. With
    U the mean that the upper quarter needs, ``4 mean - (the lower quarters' means)``, the exponent
    is ``k = (max - q) / (U - q) - 1``.

    Raises
    ------
    ValueError
        Where U is not between the third quartile and the maximum: no exponent gives the mean.
    """
    low, longest = np.array(quartiles[:4]), quartiles[4]
    upper_mean = 4.0 * mean - float((np.diff(low) / np.diff(np.log(low))).sum())
    if not low[3] < upper_mean < longest:
        raise ValueError(
            f"a mean of {mean:g} needs a mean of {upper_mean:g} in the upper quarter; expected one "
            f"between {low[3]:g} and {longest:g}: change the quartiles or the maximum"
        )
    exponent = (longest - low[3]) / (upper_mean - low[3]) - 1.0
    lower = np.exp(np.interp(uniform, [0.0, 0.25, 0.5, 0.75], np.log(low)))
    upper = np.clip((uniform - 0.75) / 0.25, 0.0, 1.0)
    return np.where(uniform < 0.75, lower, low[3] + (longest - low[3]) * upper**exponent)


def scaled_quantiles(
    uniform: np.ndarray,
    density: Callable[[np.ndarray, float], np.ndarray],
    *,
    shortest: float,
    longest: float,
    mean: float,
) -> np.ndarray:
    """Quantiles of a family of distributions between two ends, at the scale that gives the mean.

    Parameters
    ----------
    uniform : np.ndarray
        Probabilities.
    density : callable
        Logarithm of the density of log t, up to a constant, by log t and the logarithm of the
        scale; the mean grows with the scale.
    shortest, longest, mean : float

    Raises
    ------
    ValueError
        If no scale gives the mean.
    """
    log = np.linspace(math.log(shortest), math.log(longest), GRID)

    def weights(scale: float) -> np.ndarray:
        height = density(log, scale)
        return np.exp(height - height.max())

    def mean_of(scale: float) -> float:
        weight = weights(scale)
        return float(np.trapezoid(weight * np.exp(log), log) / np.trapezoid(weight, log))

    low, high = log[0], log[-1] + 10.0
    if not mean_of(low) < mean < mean_of(high):
        raise ValueError(
            f"no scale makes the mean {mean:g} between {shortest:g} and {longest:g}; expected one "
            f"between {mean_of(low):g} and {mean_of(high):g}"
        )
    weight = weights(bisect(lambda scale: mean_of(scale) < mean, low, high)[1])
    below = np.concatenate([[0.0], np.cumsum((weight[1:] + weight[:-1]) / 2)])
    return np.exp(np.interp(uniform, below / below[-1], log))


def weibull_shape(median_over_mean: float) -> float:
    """The shape parameter of a Weibull distribution by median ÷ mean, up to ln 2 (exponential).

    The ratio is ``(ln 2)^(1/shape) / Γ(1 + 1/shape)`` and rises with the shape until far above 1.
    """

    def ratio(shape: float) -> float:
        return math.log(2.0) ** (1 / shape) / math.gamma(1 + 1 / shape)

    low, high = bisect(lambda shape: ratio(shape) < median_over_mean, 0.05, 1.0)
    return (low + high) / 2


def weibull_quantiles(uniform: np.ndarray, *, mean: float, shape: float) -> np.ndarray:
    """Quantiles of the Weibull distribution with a given mean and shape parameter."""
    return mean / math.gamma(1 + 1 / shape) * (-np.log1p(-uniform)) ** (1 / shape)


def renewal_times(
    n: int, rng: np.random.Generator, *, mean: float, median_over_mean: float
) -> np.ndarray:
    """Times of `n` events from 0 on, whose distances have a Weibull distribution."""
    shape = weibull_shape(median_over_mean)
    gaps = weibull_quantiles(spread(n - 1, rng), mean=mean, shape=shape)
    return np.concatenate([[0.0], np.cumsum(gaps)])


def fitting_estimates(
    run_time: np.ndarray,
    estimates: np.ndarray,
    menu: np.ndarray,
    *,
    snug: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Assignment of estimates to jobs, each used once, none below its job's run time.

    As Tsafrir, Etsion and Feitelson (JSSPP 2005): by descending run time, each job draws
    uniformly among the unused estimates that are long enough. The jobs between two neighboring
    values of the menu have the same estimates to draw from, hence one shuffle serves them all.
    A share `snug` of the jobs takes the smallest of them instead of a random one: 0 is Tsafrir's
    rule, more makes estimates more accurate without changing either distribution.

    Parameters
    ----------
    run_time, estimates : arrays of the same size
    menu : ascending array
        The values in `estimates`; no run time exceeds its last.
    snug : float
    rng : np.random.Generator

    Returns
    -------
    np.ndarray
        One estimate per job. Where too few are long enough, as happens in small samples, a job has
        the menu's next value above its run time, and a shorter estimate stays unused.
    """
    smallest = np.searchsorted(menu, run_time)
    order = np.argsort(smallest, kind="stable")
    ends = np.cumsum(np.bincount(smallest, minlength=menu.size))
    available = np.bincount(np.searchsorted(menu, estimates), minlength=menu.size)
    assigned = np.empty(run_time.size)
    unused, places = np.zeros(menu.size, dtype=np.int64), np.arange(menu.size)
    for level in reversed(range(menu.size)):
        jobs = rng.permutation(order[ends[level - 1] if level else 0 : ends[level]])
        unused[level] = available[level]
        unused[level] += max(0, jobs.size - int(unused.sum()))
        ascending = np.repeat(places[level:], unused[level:])
        n_snug = min(jobs.size, rounded_at_random(snug * jobs.size, rng))
        others = rng.permutation(ascending[n_snug:])
        drawn = np.concatenate([ascending[:n_snug], others[: jobs.size - n_snug]])
        unused -= np.bincount(drawn, minlength=menu.size)
        assigned[jobs] = menu[drawn]
    return assigned


def _tilt(offsets: np.ndarray) -> np.ndarray:
    """Weights exp(λ · offset) under which the offsets, of both signs and within ±1, average 0."""
    low, _ = bisect(lambda tilt: bool(offsets @ np.exp(tilt * offsets) < 0), -500.0, 500.0, 80)
    return np.exp(low * offsets)
