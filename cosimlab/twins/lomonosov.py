"""Synthetic jobs like those of Lomonosov-1 in 2017, with estimates of a given accuracy.

S. P. Polyakov and Yu. Yu. Dubenskaya, Improving the Load of Supercomputers Based on Job Migration
Using Container Virtualization, GRID 2018, print six numbers about the jobs of Lomonosov-1: CPU
slots have mean 7.5, standard deviation 16.7 and maximum 512, run times 255 min, 1,204 min and 15
days. They print neither the shapes nor how jobs arrive. We take

- *shapes*: log-normal, rounded up to whole slots and minutes, cut at the maximum. Their two
  parameters are fitted so that mean and standard deviation after rounding and cutting are the
  printed ones. Slots and run times are independent, and so are jobs.
- *arrivals*: all jobs wait from the start and are enough work for `days` days, so that a scheduler
  shows the load that it can reach by itself; or a Poisson stream of a given offered load.

Requested times are exact or round (`estimates.round_estimates`).
"""

import math
from functools import cache

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic.estimates import round_estimates
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

NAME = "synthetic Lomonosov"
LOMONOSOV = System("Lomonosov-1 (512 CPU slots)", {"main": 512})
"""The machine of the paper's simulations; a node is one CPU slot."""

SLOTS_MEAN, SLOTS_MAX = 7.5, 512
RUN_MEAN, RUN_MAX = 255.0, 15 * 1440
SLOTS_SHAPE = (0.885918, 1.463887)
RUN_SHAPE = (2.263311, 2.871887)
"""Mean and standard deviation of the logarithm before rounding and cutting, fitted."""


def lomonosov(
    days: float = 180.0, *, accuracy: float = 0.5, load: float | None = None, seed: int = 0
) -> Workload:
    """Synthetic jobs like those of Lomonosov-1, for 512 CPU slots.

    Parameters
    ----------
    days : float, default 180
        How long they keep the machine busy (`load` None), or are submitted.
    accuracy : float, default 0.5
        The paper's p, from 0 to 1; its figure goes through all of them. The jobs of a seed are the
        same for every accuracy.
    load : float or None
        None: all jobs are submitted at 0, and there is work for 15 days more than `days`, the
        longest that running jobs can last: the queue cannot run dry before. A number: the jobs are
        a Poisson stream that offers this part of what the machine can do in `days` days (the last
        job drawn takes it beyond); submissions are rounded up to whole minutes.
    seed : int, default 0
        Of the PCG64 generator, 0 or more.

    Returns
    -------
    Workload
        In whole minutes, given in seconds.
    """
    waiting = "for jobs that all wait from the start"
    check.number("days", days, above=0, most=36_500, where=NAME)
    check.number("accuracy", accuracy, least=0, most=1, where=NAME)
    check.number("load", load, least=1e-6, most=1e3, none=waiting, where=NAME)
    check.seed(seed, where=NAME)
    rng = np.random.Generator(np.random.PCG64(int(seed)))
    minutes = days * 1440
    if load is None:
        jobs = _jobs(LOMONOSOV.total_nodes * (minutes + RUN_MAX), rng).assign(submit_time=0.0)
    else:
        jobs = _jobs(load * LOMONOSOV.total_nodes * minutes, rng)
        # Given their number, the moments of a Poisson process are uniform and independent.
        jobs = jobs.assign(submit_time=np.ceil(np.sort(rng.uniform(0.0, minutes, len(jobs)))))
    times = jobs[["submit_time", "run_time"]] * MINUTE
    estimate = round_estimates(times["run_time"].to_numpy(), accuracy, seed=seed)
    jobs = jobs.assign(**times, requested_time=estimate)
    return Workload(jobs, f"{NAME} (seed {seed})", LOMONOSOV)


def probabilities(shape: tuple[float, float], largest: int) -> np.ndarray:
    """Probabilities of 1, 2, …, `largest`: a log-normal rounded up and cut there.

    ``(F(k) - F(k - 1)) / F(largest)`` with F log-normal, `shape` the mean and standard deviation
    of its logarithm.
    """
    mean, deviation = shape
    values = (np.log(np.arange(1, largest + 1)) - mean) / (deviation * math.sqrt(2.0))
    cumulative = np.array([0.0] + [0.5 * math.erfc(-value) for value in values])
    return np.diff(cumulative) / cumulative[-1]


@cache
def _cumulative(shape: tuple[float, float], largest: int) -> np.ndarray:
    """Sums of `probabilities`: they are the same for all jobs."""
    return np.cumsum(probabilities(shape, largest))[:-1]


def _draw(shape: tuple[float, float], largest: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """`n` independent draws from `probabilities`."""
    values = np.arange(1.0, largest + 1)
    return values[np.searchsorted(_cumulative(shape, largest), rng.random(n), side="right")]


def _dimensions(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Slots and minutes of `n` jobs."""
    nodes = _draw(SLOTS_SHAPE, SLOTS_MAX, n, rng)
    return pd.DataFrame({"run_time": _draw(RUN_SHAPE, RUN_MAX, n, rng), "nodes": nodes})


def _jobs(work: float, rng: np.random.Generator) -> pd.DataFrame:
    """Slots and minutes of as many jobs as it takes to make `work` slot-minutes."""
    block = math.ceil(1.2 * work / (SLOTS_MEAN * RUN_MEAN)) + 1000
    jobs = _dimensions(block, rng)
    done = np.cumsum((jobs["run_time"] * jobs["nodes"]).to_numpy())
    while done[-1] < work:
        jobs = pd.concat([jobs, _dimensions(block, rng)], ignore_index=True)
        done = np.cumsum((jobs["run_time"] * jobs["nodes"]).to_numpy())
    return jobs[: int(np.searchsorted(done, work)) + 1]
