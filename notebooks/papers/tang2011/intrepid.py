"""Synthetic months of two coupled machines, Intrepid and Eureka, from printed statistics.

Printed by Tang et al.: the number of jobs of a month and the utilization of each machine. Measured
on the first three thousand jobs that the Parallel Workloads Archive has of Intrepid: the shares of
sizes, and median over mean of run times (.668) and of the time between submissions (.168).

Of Eureka only its 100 nodes are known. The sizes of its jobs are ours, powers of two up to the
whole machine; shapes of run times and submissions are Intrepid's. Neither log has estimates: the
requested time is the run time divided by a uniform number, as accuracy on Argonne's later machines
nearly is, in whole five minutes and up to a day. Rounding makes the mean accuracy .44 on Intrepid
and .35 on Eureka, where jobs are shorter.

Run times follow a two-piece quantile function with that median over mean (`shapes`), and are scaled
so that the offered load is the utilization. Submissions are a Weibull renewal stream over the
month. Draws are spread evenly over each distribution, so that seeds differ in the order of jobs
and not in their total work.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic import shapes
from cosimlib.synthetic.estimates import accuracy_estimates
from cosimlib.system import System
from cosimlib.units import DAY
from cosimlib.workload import Workload

MONTH = 30 * DAY
INTREPID_NODES, EUREKA_NODES = 40_960, 100
INTREPID_JOBS, INTREPID_LOAD = 9_220, 0.70
EUREKA_JOBS: Mapping[float, int] = {0.25: 5_079, 0.48: 9_220, 0.50: 11_000, 0.75: 14_430}
"""Jobs of Eureka's month by its utilization."""

INTREPID_SIZES = {
    512: 52.0,
    64: 15.0,
    1_024: 12.6,
    2_048: 6.0,
    4_096: 6.0,
    8_192: 4.0,
    16_384: 2.7,
    32_768: 1.4,
    40_960: 0.3,
}
EUREKA_SIZES = {1: 30.0, 2: 15.0, 4: 15.0, 8: 15.0, 16: 12.0, 32: 8.0, 64: 3.0, 100: 2.0}

MEDIAN_RUN = 3_320.0 / 4_973.0
MEDIAN_INTERARRIVAL = 98.0 / 582.0
SHORTEST_RUN, LONGEST_RUN = 28.0 / 4_973.0, 86_400.0 / 4_973.0


def intrepid(
    jobs: int = INTREPID_JOBS,
    *,
    load: float = INTREPID_LOAD,
    span: float = MONTH,
    seed: int = 0,
) -> Workload:
    """Synthetic month of Intrepid, Argonne's Blue Gene/P of 40,960 nodes.

    Parameters
    ----------
    jobs : int, default 9_220
    load : float, default 0.7
        Σ nodes · run_time ÷ (nodes of the machine · `span`), to within rounding to seconds.
    span : float, default 30 days
        Seconds from the first submission to the last.
    seed : int, default 0
    """
    return _month("Intrepid", INTREPID_NODES, INTREPID_SIZES, jobs, load, span, seed)


def eureka(
    jobs: int | None = None, *, load: float = 0.5, span: float = MONTH, seed: int = 0
) -> Workload:
    """Synthetic month of Eureka, Argonne's analysis cluster of 100 nodes.

    Parameters
    ----------
    jobs : int, optional
        By default the number printed for the utilization (.25, .48, .5, .75), per 30 days.
    load, span, seed
        As for `intrepid`.

    Raises
    ------
    ValueError
        If neither `jobs` nor a printed utilization is given.
    """
    if jobs is None:
        if load not in EUREKA_JOBS:
            raise ValueError(
                f"synthetic Eureka: load={load!r} and no jobs; numbers of jobs are printed for "
                f"{', '.join(map(str, EUREKA_JOBS))}: give jobs"
            )
        jobs = max(1, round(EUREKA_JOBS[load] * span / MONTH))
    # Another stream than Intrepid's: equal seeds must not make equal draws.
    return _month("Eureka", EUREKA_NODES, EUREKA_SIZES, jobs, load, span, seed, stream=1)


def _month(
    machine: str,
    nodes: int,
    sizes: Mapping[int, float],
    jobs: int,
    load: float,
    span: float,
    seed: int,
    stream: int = 0,
) -> Workload:
    """A synthetic month: sizes, run times scaled to the load, estimates, submissions."""
    where = f"synthetic {machine}"
    check.whole("jobs", jobs, 1, where=where)
    check.number("load", load, above=0, where=where)
    check.seconds("span", span, above=0, where=where)
    check.seed(seed, where=where)
    rng = np.random.default_rng([int(seed), stream])
    widths, shares = np.array(list(sizes)), np.array(list(sizes.values()))
    width = shapes.choice_at(shapes.spread(jobs, rng), widths, shares / shares.sum())
    run_time = shapes.two_piece_quantiles(
        shapes.spread(jobs, rng),
        shortest=SHORTEST_RUN,
        pivot=MEDIAN_RUN,
        longest=LONGEST_RUN,
        below=0.5,
        mean=1.0,
    )
    run_time = np.maximum(np.rint(run_time * (load * nodes * span / (run_time @ width))), 1.0)
    table = pd.DataFrame(
        {
            "submit_time": _submissions(jobs, span, rng),
            "run_time": run_time,
            "requested_time": accuracy_estimates(run_time, rng),
            "nodes": width,
        }
    )
    return Workload(table, f"synthetic {machine} (seed {seed})", System(machine, {"main": nodes}))


def _submissions(jobs: int, span: float, rng: np.random.Generator) -> np.ndarray:
    """Times of submission in whole seconds, from 0 to `span`."""
    times = shapes.renewal_times(jobs, rng, mean=1.0, median_over_mean=MEDIAN_INTERARRIVAL)
    return np.rint(times * (span / times[-1])) if jobs > 1 else times
