"""Coverage of intervals on logs whose truth is known: three kinds of workload, drawn many times.

``python -m tests.cosimlab.comparison.coverage [logs] [weeks] [replicates]`` prints how often 95 %
intervals of the mean wait under EASY and of the ratio FCFS ÷ EASY hold the value of 8,000 weeks:
as `compare` has them, and as plain percentiles of the same draws. 150 logs of 10 weeks with 60
replicates
each, the default, take about half an hour of processor time for the three kinds.

Jobs are of 1, 2, 4 … 32 of 128 nodes, with log-normal run times, at an offered load of 0.7:

- *steady*: Poisson arrivals;
- *busy weeks*: rates of weeks are log-normal factors, correlated from week to week by one half, so
  that weekly loads vary as much as on KTH-SP2 (a standard deviation of 0.11);
- *days*: rates follow the hours of a day, and are halved on weekends.

And *null*: two random orders under EASY on steady logs, whose ratio is 1.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlab.comparison import compare
from cosimlab.comparison.intervals import LEVEL, widen
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.metrics import wait_time
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR, WEEK
from cosimlib.workload import Workload

MACHINE, LOAD = System.of(128), 0.7
SIZES = 2 ** np.arange(6)
RUN_TIME, SIGMA = 2 * HOUR, 1.25
"""Mean of the log-normal run times (s), and the standard deviation of their logarithms."""
SWING, CORRELATION = 0.1, 0.5
"""Of the rates of busy weeks: standard deviation of the logarithm, and from week to week."""
POLICIES = {"EASY": simulate_easy, "FCFS": simulate_fcfs}
TRUTH = 1_000_000
"""Seeds from which on logs are for the truth."""


class Draws(NamedTuple):
    """Mean waits of the replicates of logs (rows), of the first and the second policy.

    `weeks` are whole weeks of a log, one less than it is long: its last submission is before the
    end of the last.
    """

    drawn: np.ndarray
    weeks: int


def model_log(kind: str, seed: int, weeks: int) -> Workload:
    """So many weeks of one of `KINDS`."""
    rng = np.random.default_rng([seed, weeks])
    gap = SIZES.mean() * RUN_TIME / (LOAD * MACHINE.total_nodes)
    n = int(1.5 * weeks * WEEK / gap) + 3000
    submit_time = KINDS[kind](np.cumsum(rng.exponential(gap, n)), weeks, rng)
    run_time = np.exp(rng.normal(np.log(RUN_TIME) - SIGMA**2 / 2, SIGMA, n))
    columns = {
        "submit_time": np.floor(submit_time),
        "run_time": np.ceil(run_time),
        "nodes": rng.choice(SIZES, n),
        "requested_time": np.ceil(run_time * rng.uniform(1, 5, n)),
    }
    table = pd.DataFrame(columns)[submit_time < weeks * WEEK]
    return Workload(table, f"{kind} (seed {seed})", MACHINE)


def steady(times: np.ndarray, weeks: int, rng: np.random.Generator) -> np.ndarray:
    """Submissions as they are."""
    return times


def busy_weeks(times: np.ndarray, weeks: int, rng: np.random.Generator) -> np.ndarray:
    """Submissions at the rates of weeks that are correlated."""
    number = 2 * weeks + 50
    state = rng.normal(size=number)
    for week in range(1, number):
        fresh = np.sqrt(1 - CORRELATION**2) * state[week]
        state[week] = CORRELATION * state[week - 1] + fresh
    passed = np.append(0.0, np.cumsum(np.exp(SWING * state - SWING**2 / 2)))
    return np.interp(times, passed * WEEK, np.arange(number + 1) * WEEK, right=np.inf)


def days(times: np.ndarray, weeks: int, rng: np.random.Generator) -> np.ndarray:
    """Submissions at the rates of a week's hours."""
    hour = np.arange(168)
    rate = (1 - 0.8 * np.cos(2 * np.pi * (hour - 2) / 24)) * np.where(hour >= 120, 0.5, 1.0)
    passed = np.append(0.0, np.cumsum(rate / rate.mean()))
    week, rest = np.divmod(times, WEEK)
    return week * WEEK + np.interp(rest / HOUR, passed, np.arange(169)) * HOUR


KINDS: dict[str, Callable[..., np.ndarray]] = {
    "steady": steady,
    "busy weeks": busy_weeks,
    "days": days,
}


def true_waits(kind: str, weeks: int = 1000, runs: int = 8) -> np.ndarray:
    """Mean waits (s) of each policy over runs of so many weeks; ten at each end do not count."""
    limits = {"start": 10 * WEEK, "end": (weeks + 10) * WEEK}
    logs = [model_log(kind, TRUTH + run, weeks + 20) for run in range(runs)]
    waits = [
        [wait_time(simulate(log, MACHINE), **limits).mean() for simulate in POLICIES.values()]
        for log in logs
    ]
    return np.mean(waits, axis=0)


def random_order(workload: Workload, system: System, seed: int) -> Schedule:
    """EASY in an order by chance."""
    order = np.random.default_rng([seed, len(workload)]).random(len(workload))
    return simulate_easy(workload, system, order=order)


CHANCE = {f"order {seed}": partial(random_order, seed=seed) for seed in (1, 2)}


def draws(kind: str, logs: int, weeks: int, replicates: int, policies: dict = POLICIES) -> Draws:
    """Replicates of `compare` on so many logs."""
    drawn = []
    for seed in range(logs):
        found = compare(
            model_log(kind, seed, weeks),
            policies,
            replicates=replicates,
            measures=["wait_time"],
            seed=seed,
        )
        means = found.drawn.xs("mean", axis=1, level="statistic")
        drawn.append(np.column_stack([means[name].to_numpy() for name in policies]))
    return Draws(np.log(drawn), weeks - 1)


def percentiles(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the interval of each log (rows) by its replicates."""
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(values, tails, axis=1, method="weibull")
    return low, high


def intervals(found: Draws, ratio: bool) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Logarithms of the ends of each log's interval: plain percentiles, and those of `compare`."""
    wide = np.array([np.log(_widened(each, found.weeks)) for each in np.exp(found.drawn)])
    return {
        name: percentiles(each[..., 1] - each[..., 0] if ratio else each[..., 0])
        for name, each in {"percentile": found.drawn, "compare": wide}.items()
    }


def _widened(drawn: np.ndarray, weeks: int) -> np.ndarray:
    names = ["policy", "measure", "group", "statistic"]
    keys = [(str(column), "wait_time", "all jobs", "mean") for column in range(drawn.shape[1])]
    return widen(
        pd.DataFrame(drawn, columns=pd.MultiIndex.from_tuples(keys, names=names)), weeks
    ).to_numpy()


def coverage(found: Draws, truth: np.ndarray) -> pd.DataFrame:
    """Part of the intervals that hold the truth, lie below and above it, and their mean width.

    Rows by quantity and correction; `width` is that of the logarithms.
    """
    rows = {}
    for quantity, true in (("wait", np.log(truth[0])), ("ratio", np.log(truth[1] / truth[0]))):
        for name, (low, high) in intervals(found, quantity == "ratio").items():
            rows[quantity, name] = {
                "covered": ((low <= true) & (true <= high)).mean(),
                "too low": (high < true).mean(),
                "too high": (low > true).mean(),
                "width": (high - low).mean(),
            }
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    logs, weeks, replicates = (*map(int, sys.argv[1:]), *(150, 10, 60)[len(sys.argv) - 1 :])
    for kind in KINDS:
        table = coverage(draws(kind, logs, weeks, replicates), true_waits(kind))
        print(f"{kind}, {weeks} weeks\n{table.round(3).to_string()}\n", flush=True)
    null = draws("steady", logs, weeks, replicates, CHANCE)
    print(f"null\n{coverage(null, np.ones(2)).loc['ratio'].round(3).to_string()}")
