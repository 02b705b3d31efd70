"""Generator of a synthetic year of Theta, calibrated to statistics of its 2023 log.

Known are, per class of size, the share of jobs and of node-hours, the mean and median run time and
the mean request; over all jobs, the popular sizes and estimates, the accuracy of estimates, the
share of jobs that outrun theirs, and the time between submissions. Each is built in:

- *Nodes.* A class's share of node-hours and its mean run time give its mean size, if sizes and
  run times are independent inside a class. Popular sizes have their share, the others (multiples
  of 128 from 512 nodes up) a maximum-entropy share that makes that mean. 128 to 255 nodes are
  3.1 % more jobs than 128 nodes are, so that some sizes in between have to be there.
- *Estimates.* Round values, likewise: the popular with their share, the others to the mean.
- *Run times.* 21.7 % of the jobs of each class run into their limit and end seconds after it. The
  others follow a two-piece quantile function that makes the class's mean and median, those at the
  limit included.
- *Assignment of estimates to run times.* Tsafrir, Etsion and Feitelson, Modeling User Runtime
  Estimates, JSSPP 2005, with a share `SNUG` of jobs that have the smallest estimate possible.
- *Submissions.* A Weibull renewal stream, whose shape follows from median over mean.

Two numbers are fitted instead of printed: `SNUG` to the accuracy, and the shortest run time (10 s
for most jobs) to the correlation of size and run time. Draws are spread evenly over each
distribution (`shapes.spread`), so that each seed's year has the printed statistics; years differ
in the combination and order of jobs, less than real years would.

Not modeled, since nothing about it is printed: users, days and weeks, dependencies, holds.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic import shapes
from cosimlib.system import THETA
from cosimlib.workload import Workload

NAME = "synthetic Theta"
YEAR_JOBS = 29_520
YEAR_SECONDS = 365 * 86_400
NODES = 4_360
UTILIZATION = 0.825
OVERRUN = 0.217
INTERARRIVAL_MEAN = 1_198.0
INTERARRIVAL_MEDIAN = 299.0

SNUG = 0.3
LONGEST_OVERRUN = 30


class SizeClass(NamedTuple):
    """A class of jobs by size: percent of all jobs and of all node-hours, times in seconds."""

    jobs: float
    node_hours: float
    run_mean: float
    run_median: float
    request_mean: float
    shortest_run: float
    longest_run: float
    sizes: Mapping[int, float | None]
    estimates: Mapping[int, float | None]

    def size_shares(self) -> np.ndarray:
        """Probability of each size, with the mean that the class's node-hours imply."""
        menu = self._within(self.sizes)
        if not self.node_hours:
            return shapes.tilted_shares(menu)
        work_per_job = UTILIZATION * NODES * YEAR_SECONDS / YEAR_JOBS
        mean = self.node_hours / self.jobs * work_per_job / self.run_mean
        return shapes.tilted_shares(menu, mean)

    def estimate_shares(self) -> np.ndarray:
        """Probability of each estimate, with the class's mean request."""
        return shapes.tilted_shares(self._within(self.estimates), self.request_mean)

    def _within(self, menu: Mapping[int, float | None]) -> dict[int, float | None]:
        """Percentages of all jobs as shares of the class."""
        return {value: share and share / self.jobs for value, share in menu.items()}


def _menu(popular: Mapping[int, float], *others: int) -> dict[int, float | None]:
    """Values in ascending order: popular ones with percent of all jobs, `others` with None."""
    return dict(sorted((dict.fromkeys(others) | dict(popular)).items()))


SIZE_CLASSES = (
    SizeClass(
        30.9, 0.0, 1_184, 284, 3_338, 10, 3_600,
        _menu({1: 16, 8: 12}, 2, 3, 4, 5, 6, 7),
        _menu({3_600: 28}, 300, 600, 900, 1_200, 1_800, 2_700),
    ),
    SizeClass(
        0.1, 0.0, 35_547, 29_571, 57_053, 300, 86_400,
        _menu({}, 16, 32, 48, 64),
        _menu({}, 28_800, 43_200, 86_400),
    ),
    SizeClass(
        47.1, 6.2, 3_828, 2_535, 7_405, 10, 10_800,
        _menu({128: 44}, 144, 160, 192, 224, 240),
        _menu({3_600: 6.8, 10_800: 21}, 900, 1_200, 1_800, 2_700, 5_400, 7_200, 9_000),
    ),
    SizeClass(
        12.3, 11.3, 13_022, 15_280, 20_080, 1_200, 21_600,
        _menu({256: 11}, 320, 384, 448, 500),
        _menu({3_600: 0.1, 10_800: 0.4, 21_600: 8.8}, 7_200, 14_400, 18_000, 32_400),
    ),
    SizeClass(
        5.7, 32.3, 28_518, 19_858, 43_788, 300, 86_400,
        _menu({}, 512, 640, 768, 896),
        _menu({10_800: 0.35, 21_600: 0.7}, 7_200, 14_400, 32_400, 43_200, 86_400),
    ),
    SizeClass(
        2.9, 34.3, 35_793, 21_110, 50_509, 600, 86_400,
        _menu({}, *range(1_024, 2_048, 128)),
        _menu({3_600: 0.05, 10_800: 0.2, 21_600: 0.4}, 7_200, 14_400, 43_200, 86_400),
    ),
    SizeClass(
        0.9, 15.8, 21_761, 4_618, 39_166, 60, 86_400,
        _menu({}, *range(2_048, 4_353, 128)),
        _menu({3_600: 0.05, 10_800: 0.05, 21_600: 0.1}, 1_800, 7_200, 43_200, 86_400),
    ),
)  # fmt: skip


def theta(jobs: int = YEAR_JOBS, *, load: float | None = UTILIZATION, seed: int = 0) -> Workload:
    """Synthetic workload like Theta's in 2023: sizes, run times, estimates and submissions.

    Parameters
    ----------
    jobs : int, default 29_520
        The number that Theta started in 2023.
    load : float or None, default 0.825
        Offered load, Σ nodes · run_time ÷ (4,360 nodes · time of submissions). Two printed numbers
        contradict each other: 29,520 jobs, 1,198 s apart, take 409 days, the utilization of .825
        is over 365. (Some were submitted before the first one started.) By default all times
        between submissions are scaled by one factor to the load that was utilized, which makes
        their mean about 1,070 s and keeps median over mean; None keeps the printed 1,198 s, at
        which the offered load is .736.
    seed : int, default 0
        Of the PCG64 generator, 0 or more.

    Returns
    -------
    Workload
        In whole seconds, on 4,360 nodes of Theta.

    Notes
    -----
    Over seeds, a year of 29,520 jobs meets the printed shares of
    jobs, sizes, estimates and overruns within 0.5 points, those of node-hours within one point,
    means and medians of each class within 5 %, accuracy and correlation within .02. The exception
    is the 30 jobs of 9 to 127 nodes: one of them moves their median by up to a third. Fewer jobs
    meet all of it less closely, and some of their estimates are lengthened to fit the run time.
    """
    printed = "for the printed time between submissions"
    check.whole("jobs", jobs, 1, where=NAME)
    check.number("load", load, least=1e-6, most=1e6, none=printed, where=NAME)
    check.seed(seed, where=NAME)
    rng = np.random.Generator(np.random.PCG64(int(seed)))
    counts = shapes.whole_counts(int(jobs), np.array([c.jobs for c in SIZE_CLASSES]), rng)
    parts = [_class_jobs(c, n, rng) for c, n in zip(SIZE_CLASSES, counts, strict=True) if n]
    table = pd.concat(parts, ignore_index=True).iloc[rng.permutation(int(jobs))]
    work = float(table["run_time"] @ table["nodes"])
    span = None if load is None else work / (load * NODES)
    table["submit_time"] = _submissions(int(jobs), span, rng)
    return Workload(table, f"{NAME} (seed {seed})", THETA.with_nodes(NODES))


def _class_jobs(size_class: SizeClass, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """`n` jobs of a class: nodes, run and requested times."""
    at_limit = shapes.rounded_at_random(OVERRUN * n, rng)
    menu, shares = np.array(list(size_class.estimates)), size_class.estimate_shares()
    limit = shapes.choice_at(shapes.spread(at_limit, rng), menu, shares)
    estimates = shapes.choice_at(shapes.spread(n - at_limit, rng), menu, shares)
    run_time = _run_times_below_limit(size_class, n - at_limit, rng)
    fitting = shapes.fitting_estimates(run_time, estimates, menu, snug=SNUG, rng=rng)
    overrun = rng.integers(1, LONGEST_OVERRUN, at_limit, endpoint=True)
    nodes = np.array(list(size_class.sizes))
    return pd.DataFrame(
        {
            "run_time": np.concatenate([limit + overrun, run_time]),
            "requested_time": np.concatenate([limit, fitting]),
            "nodes": shapes.choice_at(shapes.spread(n, rng), nodes, size_class.size_shares()),
        }
    )


def _run_times_below_limit(size_class: SizeClass, n: int, rng: np.random.Generator) -> np.ndarray:
    """Run times of the jobs below their limit, for the mean and median of the whole class."""
    shorter = np.array(list(size_class.estimates)) < size_class.run_median
    limits_below = OVERRUN * size_class.estimate_shares()[shorter].sum()
    limit_mean = size_class.request_mean + (1 + LONGEST_OVERRUN) / 2
    quantiles = shapes.two_piece_quantiles(
        shapes.spread(n, rng),
        shortest=size_class.shortest_run,
        pivot=size_class.run_median,
        longest=size_class.longest_run,
        below=(0.5 - limits_below) / (1 - OVERRUN),
        mean=(size_class.run_mean - OVERRUN * limit_mean) / (1 - OVERRUN),
    )
    return np.rint(quantiles)


def _submissions(jobs: int, span: float | None, rng: np.random.Generator) -> np.ndarray:
    """Times of submission from 0, over `span` seconds or at the printed mean distance."""
    ratio = INTERARRIVAL_MEDIAN / INTERARRIVAL_MEAN
    submit_time = shapes.renewal_times(jobs, rng, mean=INTERARRIVAL_MEAN, median_over_mean=ratio)
    if span is not None and jobs > 1:
        submit_time *= span / submit_time[-1]
    return np.rint(submit_time)
