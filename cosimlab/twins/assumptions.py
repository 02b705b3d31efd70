"""Assumptions of synthetic Edison about numbers that Hofmeyr et al. (HPCC 2016) do not print.

`Assumptions()` follows the paper's words and printed inputs. Of run times it prints the least,
10 s, and, by 4,000 jobs per day, the shares of node-hours by size and a utilization of 89 %, the
mean. The least committed distribution with them is that of maximum entropy. Entropy depends on what
is measured evenly: the paper bins lengths logarithmically, and so they are here,
``density(log t) ∝ exp(-t / scale)`` between 10 s and 48 h, the longest that Edison's queues took;
the mean sets the scale. Nothing is left to choose. Mean over median is 9.9 then, and in real logs
3 to 50 (`RUN_SKEW`).

`LIKE["results"]` is an inverse analysis, from the paper's results back to the jobs: of all that was
tried (notebook 3) what meets most of the printed means.
"""

from dataclasses import dataclass, replace

import numpy as np

from cosimlib import checks as check
from cosimlib.synthetic import estimates, shapes
from cosimlib.units import HOUR
from cosimlib.workload import Workload

RUN_TIMES = ("maximum entropy", "log-normal", "Weibull", "log-uniform", "logs")
ESTIMATES = ("Tsafrir", "accuracy")
SHORTEST_RUN, LONGEST_RUN = 10, int(48 * HOUR)

RUN_SKEW = 11.5
"""Mean over median run time in real logs: the geometric mean of that of KTH-SP2 (10.5), SDSC-SP2
(20.6), HPC2N (5.9), CEA-Curie (49.7) and Theta 2023 (3.2)."""


@dataclass(frozen=True)
class Assumptions:
    """Assumptions about what the paper does not print of Edison's jobs.

    Parameters
    ----------
    run_times : {"maximum entropy", "log-normal", "Weibull", "log-uniform", "logs"}
        Family of the run times. "log-uniform" is from 10 s up to what the mean asks for; "logs" has
        the mean over median of real logs (`RUN_SKEW`).
    shape : float, default 2.2
        Standard deviation of the logarithm ("log-normal"), or shape parameter ("Weibull").
    correlation : float, default 0.0
        Of the normal scores of size and run time, from -0.99 to 0.99.
    largest : int, default 2788
        Nodes of the largest job, of 5,576. With sizes up to the whole machine batch scheduling does
        not reach the 89 % that were recorded, so that larger jobs must have been rare.
    estimates : {"Tsafrir", "accuracy"} or float, default "Tsafrir"
        Requested times: Tsafrir's model; run times divided by a uniform accuracy; or so many times
        the run time, up to 48 h.
    weeks : float, default 0.12
        Standard deviation of the logarithm of a week's submissions.
    bursts : float, default 1.0
        Variance of the factor (gamma, of mean 1) by which an hour's submissions differ from
        expected; 0 is a Poisson process.
    """

    run_times: str = "maximum entropy"
    shape: float = 2.2
    correlation: float = 0.0
    largest: int = 2_788
    estimates: str | float = "Tsafrir"
    weeks: float = 0.12
    bursts: float = 1.0

    def __post_init__(self) -> None:
        check.choice("run_times", self.run_times, RUN_TIMES)
        check.number("shape", self.shape, above=0)
        check.number("correlation", self.correlation, least=-0.99, most=0.99)
        check.whole("largest", self.largest, 1_002)
        check.number("weeks", self.weeks, least=0)
        check.number("bursts", self.bursts, least=0)
        if isinstance(self.estimates, str):
            check.choice("estimates", self.estimates, ESTIMATES)
        else:
            check.number("estimates", self.estimates, least=1, kind="a factor,")


LIKE = {
    "inputs": Assumptions(),
    "results": Assumptions(run_times="log-normal", weeks=0.0),
}
"""Assumptions that have a name: of the paper's words and printed inputs, of its printed results."""


def run_times(uniform: np.ndarray, mean: float, assumed: Assumptions) -> np.ndarray:
    """Quantiles of the run time (s)."""
    limits = {"shortest": SHORTEST_RUN, "longest": LONGEST_RUN, "mean": mean}
    if assumed.run_times == "logs":
        pivot = mean / RUN_SKEW
        return shapes.two_piece_quantiles(uniform, pivot=pivot, below=0.5, **limits)
    density = {
        "maximum entropy": lambda log, scale: -np.exp(log - scale),
        "log-normal": lambda log, scale: -0.5 * ((log - scale) / assumed.shape) ** 2,
        "Weibull": lambda log, scale: (
            assumed.shape * (log - scale) - np.exp(np.minimum(assumed.shape * (log - scale), 700.0))
        ),
        "log-uniform": lambda log, scale: np.where(log <= scale, 0.0, -np.inf),
    }[assumed.run_times]
    return shapes.scaled_quantiles(uniform, density, **limits)


def correlated(
    run_time: np.ndarray, sizes: np.ndarray, correlation: float, rng: np.random.Generator
) -> np.ndarray:
    """The same run times, in an order in which their normal scores go with those of the sizes."""
    if not correlation:
        return run_time
    n = sizes.size
    place = np.empty(n)
    place[np.lexsort((rng.random(n), sizes))] = np.arange(n)
    scores = np.sort(rng.standard_normal(n))[place.astype(np.int64)]
    mixed = correlation * scores + np.sqrt(1.0 - correlation**2) * rng.standard_normal(n)
    ordered = np.empty(n)
    ordered[np.argsort(mixed, kind="stable")] = np.sort(run_time)
    return ordered


def with_assumed_estimates(workload: Workload, assumed: Assumptions, seed: int) -> Workload:
    """The workload with requested times as assumed."""
    if assumed.estimates == "Tsafrir":
        return estimates.with_estimates(workload, seed=seed, maximum=LONGEST_RUN)
    if assumed.estimates == "accuracy":
        unknown = replace(workload, jobs=workload.jobs.assign(requested_time=np.nan))
        return estimates.with_drawn_estimates(unknown, seed=seed)
    scaled = estimates.with_scaled_estimates(workload, float(assumed.estimates))
    limited = scaled.jobs["requested_time"].clip(upper=LONGEST_RUN)
    return replace(scaled, jobs=scaled.jobs.assign(requested_time=limited))
