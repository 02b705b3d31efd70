"""Coverage of intervals on logs whose truth is known: five kinds of workload, drawn many times.

``python -m tests.cosimlab.comparison.coverage FOLDER [minutes] [logs]`` draws logs of 8 and of 13
weeks, 500 of each length and kind by default, until so many minutes of processor time are over (25
by default). Draws are stored in the folder, and the next call goes on where the last one ended; its
minutes count from anew. Then it prints how often a 95 % interval of `compare` holds the truth: of
the mean wait under EASY and under FCFS, and of the ratio FCFS ÷ EASY. The truth is the value of
8,000 weeks.

A log is compared as `compare` does it, with 39 replicates, but on arrays: the same weeks are drawn,
the same kernels schedule them, and `interval_table` makes the intervals. The test beside this file
checks that the numbers are those of `compare`.

Unless said otherwise, jobs are of 1, 2, 4 … 32 of 128 nodes, with log-normal run times, at an
offered load of 0.7:

- *steady*: Poisson arrivals;
- *busy weeks*: rates of weeks are log-normal factors, correlated from week to week by one half, so
  that weekly loads vary as much as on KTH-SP2 (a standard deviation of 0.11);
- *days*: rates follow the hours of a day, and are halved on weekends;
- *sessions*: users come at random, and each submits a Pareto number of like jobs (index 1.5, at
  most 100), one about every five minutes; run times are at most three days;
- *Lublin*: jobs of the Lublin-Feitelson model with its own constants, at its own load of 0.4. This
  kind was fixed before its first interval was seen, and nothing was chosen by it.

``python -m tests.cosimlab.comparison.coverage --false-alarms [logs]`` compares two random orders of
EASY in the same way, on so many logs of each length, steady and of busy weeks (100 by default).
Their ratio is 1 in the long run, so it prints how many of its intervals contain 1.
"""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlab.comparison import compare
from cosimlab.comparison.intervals import CANNOT_TELL, HIGHER, LOWER, interval_table
from cosimlab.comparison.run import PART
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.batch.easy import EXTRA_NODES, NO_BACKFILLING, simulate_in_passes
from cosimlib.batch.orders import STATIC, SUBMITTED, Prepared
from cosimlib.metrics import wait_time
from cosimlib.schedule import Schedule
from cosimlib.synthetic import lublin
from cosimlib.synthetic.resampling import _by_blocks
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE, WEEK
from cosimlib.workload import JobArrays, Workload

MACHINE, LOAD = System.of(128), 0.7
SIZES = 2 ** np.arange(6)
RUN_TIME, SIGMA = 2 * HOUR, 1.25
"""Mean of the log-normal run times (s), and the standard deviation of their logarithms."""
SWING, CORRELATION = 0.1, 0.5
"""Of the rates of busy weeks: standard deviation of the logarithm, and from week to week."""
INDEX, MOST, ALIKE, PAUSE = 1.5, 100, 0.3, 5 * MINUTE
"""Of sessions: index of the Pareto number of jobs, and the most; standard deviation of the
logarithms of their run times; mean time between two submissions (s)."""
LUBLIN_JOBS = 1500
"""Jobs a week that are drawn of Lublin's model, which submits some 1,180."""
POLICIES = {"EASY": simulate_easy, "FCFS": simulate_fcfs}
RULES = {"EASY": EXTRA_NODES, "FCFS": NO_BACKFILLING}
REPLICATES, LENGTHS = 39, (8, 13)
TRUTH = 1_000_000
"""Seeds from which on logs are for the truth."""


class Draws(NamedTuple):
    """Mean waits (s) of logs, a row each, and of their replicates, by policy (the last axis).

    `weeks` are whole weeks of a log, one less than it is long: its last submission is before the
    end of the last.
    """

    own: np.ndarray
    drawn: np.ndarray
    weeks: int


def model_log(kind: str, seed: int, weeks: int) -> Workload:
    """So many weeks of one of `KINDS`."""
    rng = np.random.default_rng([seed, weeks])
    submit_time, run_time, nodes, ratio = KINDS[kind](weeks, rng)
    columns = {
        "submit_time": np.floor(submit_time),
        "run_time": np.ceil(run_time),
        "nodes": nodes,
        "requested_time": np.ceil(run_time * ratio),
    }
    table = pd.DataFrame(columns)[submit_time < weeks * WEEK]
    return Workload(table, f"{kind} (seed {seed})", MACHINE)


def poisson(times: Callable[..., np.ndarray], weeks: int, rng: np.random.Generator) -> tuple:
    """Independent jobs, whose submissions `times` moves."""
    gap = SIZES.mean() * RUN_TIME / (LOAD * MACHINE.total_nodes)
    n = int(1.5 * weeks * WEEK / gap) + 3000
    submit_time = times(np.cumsum(rng.exponential(gap, n)), weeks, rng)
    return submit_time, run_times(rng, n), rng.choice(SIZES, n), rng.uniform(1, 5, n)


def run_times(rng: np.random.Generator, n: int) -> np.ndarray:
    """Log-normal run times (s)."""
    return np.exp(rng.normal(np.log(RUN_TIME) - SIGMA**2 / 2, SIGMA, n))


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


def sessions(weeks: int, rng: np.random.Generator) -> tuple:
    """Jobs of users who submit many like ones, one after another."""
    mean = (np.arange(1, MOST + 1) ** -INDEX).sum()
    gap = mean * SIZES.mean() * RUN_TIME / (LOAD * MACHINE.total_nodes)
    number = int(1.5 * weeks * WEEK / gap) + 1500
    jobs = np.minimum(np.floor(rng.random(number) ** (-1 / INDEX)), MOST).astype(int)
    begin = np.cumsum(rng.exponential(gap, number))
    session, n = np.repeat(np.arange(number), jobs), jobs.sum()
    passed = np.cumsum(rng.exponential(PAUSE, n))
    into = passed - passed[np.cumsum(jobs) - jobs][session]
    alike = np.exp(rng.normal(-(ALIKE**2) / 2, ALIKE, n))
    run_time = np.minimum(run_times(rng, number)[session] * alike, 3 * DAY)
    nodes, ratio = rng.choice(SIZES, number)[session], rng.uniform(1, 5, number)[session]
    order = np.argsort(begin[session] + into, kind="stable")
    submit_time = begin[session] + into
    return submit_time[order], run_time[order], nodes[order], ratio[order]


def lublin_jobs(weeks: int, rng: np.random.Generator) -> tuple:
    """Jobs of the Lublin-Feitelson model."""
    n = LUBLIN_JOBS * weeks + 1000
    jobs = lublin(n, seed=int(rng.integers(2**31))).jobs
    columns = (jobs[name].to_numpy() for name in ("submit_time", "run_time", "nodes"))
    return *columns, rng.uniform(1, 5, n)


KINDS: dict[str, Callable[..., tuple]] = {
    "steady": partial(poisson, steady),
    "busy weeks": partial(poisson, busy_weeks),
    "days": partial(poisson, days),
    "sessions": sessions,
    "Lublin": lublin_jobs,
}


def true_waits(kind: str, weeks: int = 1000, runs: int = 8) -> np.ndarray:
    """Mean waits (s) of each policy over runs of so many weeks; ten at each end do not count."""
    limits = {"start": 10 * WEEK, "end": (weeks + 10) * WEEK}
    logs = [model_log(kind, TRUTH + run, weeks + 20) for run in range(runs)]
    waits = [
        [wait_time(simulate(log, MACHINE), **limits).mean() for simulate in POLICIES.values()]
        for log in logs
    ]
    return np.array(waits)


def random_order(workload: Workload, system: System, seed: int) -> Schedule:
    """EASY in an order by chance."""
    return simulate_easy(workload, system, order=random_ranks(len(workload), seed))


def random_ranks(n: int, seed: int) -> np.ndarray:
    """The places of so many jobs in an order by chance."""
    return np.random.default_rng([seed, n]).random(n)


CHANCE = {f"order {seed}": partial(random_order, seed=seed) for seed in (1, 2)}


def draws(kind: str, logs: int, weeks: int, replicates: int, policies: dict = POLICIES) -> Draws:
    """Means of `compare` on so many logs."""
    own, drawn = [], []
    for seed in range(logs):
        log = model_log(kind, seed, weeks)
        found = compare(log, policies, replicates=replicates, measures=["wait_time"], seed=seed)
        values = found.rows("value", measure="wait_time", statistic="mean").set_index("policy")
        means = found.drawn.xs("mean", axis=1, level="statistic")
        own.append(values.loc[[*policies], "log"].to_numpy(dtype=np.float64))
        drawn.append(np.column_stack([means[name].to_numpy() for name in policies]))
    return Draws(np.array(own), np.array(drawn), weeks - 1)


def lean_draws(
    kind: str, seed: int, weeks: int, replicates: int, policies: Iterable[str] = POLICIES
) -> np.ndarray:
    """Means of `draws` on one log, by arrays: a row of the log, and one of each replicate."""
    log = model_log(kind, seed, weeks)
    jobs, number = log.arrays(MACHINE), weeks - 1
    first, span = jobs.submit_time[0], float(np.ptp(jobs.submit_time)) + 1.0
    margin = min(WEEK, PART * (span - 1.0))
    rows = [_mean_waits(log, jobs, margin, policies)]
    unknown, work = np.full(jobs.nodes.size, -1), jobs.nodes * jobs.run_time
    for own_seed in np.random.SeedSequence(seed).generate_state(replicates).tolist():
        rng = np.random.default_rng(own_seed)
        origin = first + np.floor(rng.uniform(0.0, span - number * WEEK))
        place = np.floor((jobs.submit_time - origin) / WEEK).astype(np.int64)
        drawn = _by_blocks(unknown, place, work, number, number, 1.0, rng)
        submit_time = jobs.submit_time[drawn.row] + drawn.moved * WEEK
        order = np.lexsort((drawn.row, submit_time))
        order = order[submit_time[order] < origin + number * WEEK]
        row = drawn.row[order]
        replicate = JobArrays(
            submit_time[order], jobs.run_time[row], jobs.requested_time[row], jobs.nodes[row]
        )
        rows.append(_mean_waits(log, replicate, margin, policies))
    return np.array(rows)


def lean_logs(
    kind: str, logs: int, weeks: int, replicates: int, policies: Iterable[str] = POLICIES
) -> Draws:
    """What `draws` gives, by `lean_draws`: replicates are in another order."""
    drawn = [lean_draws(kind, seed, weeks, replicates, policies) for seed in range(logs)]
    return Draws(np.array([rows[0] for rows in drawn]), np.array([r[1:] for r in drawn]), weeks - 1)


def _mean_waits(
    log: Workload, jobs: JobArrays, margin: float, policies: Iterable[str]
) -> list[float]:
    """Mean waits (s) under each policy, of the jobs between warm-up and cool-down."""
    n = jobs.nodes.size
    end = np.nextafter(jobs.submit_time[-1] - margin, np.inf)
    counted = (jobs.submit_time >= jobs.submit_time[0] + margin) & (jobs.submit_time < end)
    waits = []
    for policy in policies:
        run, rule = Prepared(log, jobs, np.zeros(n), SUBMITTED, MACHINE), RULES.get(policy)
        if rule is None:
            ranks = random_ranks(n, int(policy.removeprefix("order ")))
            run, rule = run._replace(rank=ranks, kind=STATIC), EXTRA_NODES
        start_time = simulate_in_passes(run, rule)[0]
        waits.append(float((start_time - jobs.submit_time)[counted].mean()))
    return waits


def intervals(found: Draws, policies: Sequence[str] = tuple(POLICIES)) -> pd.DataFrame:
    """Intervals of `compare`: those of all logs, which are its groups of jobs here."""
    groups = [f"log {log}" for log in range(len(found.own))]
    names = ["policy", "measure", "group", "statistic"]
    keys = pd.MultiIndex.from_product([policies, ["wait_time"], groups, ["mean"]], names=names)
    own = pd.Series(found.own.T.ravel(), keys)
    drawn = pd.DataFrame(found.drawn.transpose(1, 2, 0).reshape(-1, len(keys)), columns=keys)
    return interval_table(own, drawn, policies, found.weeks)


QUANTITIES = {
    "EASY wait": ("value", "EASY", 0),
    "FCFS wait": ("value", "FCFS", 1),
    "FCFS ÷ EASY": ("ratio", "FCFS", 2),
}


def coverage(found: Draws, truth: np.ndarray) -> pd.DataFrame:
    """Parts of the intervals that hold the truth, lie below and above it; their width.

    `width` is the median of high ÷ low, and `spread` the 97.5 % ÷ the 2.5 % quantile of the logs'
    own values. `percentiles` is the coverage of plain percentiles of the same draws, and `plain
    width` their width. `outside` counts the logs whose interval excludes their own value.
    """
    table, rows = intervals(found), {}
    truths = np.append(truth, truth[1] / truth[0])
    for name, (quantity, policy, place) in QUANTITIES.items():
        each = table[(table["quantity"] == quantity) & (table["policy"] == policy)]
        own, low, high = (each[column].to_numpy(dtype=np.float64) for column in COLUMNS)
        drawn = np.concatenate([found.drawn, found.drawn[..., 1:] / found.drawn[..., :1]], axis=2)
        ends = np.quantile(drawn[..., place], [0.025, 0.975], axis=1, method="weibull")
        true = truths[place]
        rows[name] = {
            "covered": ((low <= true) & (true <= high)).mean(),
            "too low": (high < true).mean(),
            "too high": (low > true).mean(),
            "width": np.median(high / low),
            "spread": np.divide(*np.quantile(own, [0.975, 0.025])),
            "percentiles": ((ends[0] <= true) & (true <= ends[1])).mean(),
            "plain width": np.median(ends[1] / ends[0]),
            "outside": ((own < low) | (own > high)).sum(),
        }
    return pd.DataFrame(rows).T


COLUMNS = ("log", "low", "high")


def false_alarms(kind: str, logs: int, weeks: int, replicates: int = REPLICATES) -> pd.Series:
    """Verdicts on the ratio of the mean waits of two random orders of EASY, and its width.

    The ratio is 1 in the long run, so a verdict other than "cannot tell" is a false alarm.
    """
    table = intervals(lean_logs(kind, logs, weeks, replicates, CHANCE), [*CHANCE])
    ratios = table[table["quantity"] == "ratio"]
    verdicts = {each: int((ratios["verdict"] == each).sum()) for each in VERDICTS}
    return pd.Series(
        {"logs": len(ratios), **verdicts, "width": (ratios["high"] / ratios["low"]).median()}
    )


VERDICTS = (LOWER, HIGHER, CANNOT_TELL)


def run(folder: Path, minutes: float, logs: int) -> None:
    """Draw logs of all kinds in turn, and append them to files, until the time is over."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        truth = folder / f"{kind} truth.csv"
        if not truth.exists():
            np.savetxt(truth, true_waits(kind))
    print(f"truths after {time.process_time():.0f} CPU s", flush=True)
    for seed in range(logs):
        for kind in KINDS:
            for weeks in LENGTHS:
                stored = folder / f"{kind} {weeks}.csv"
                done = len(stored.read_text().splitlines()) if stored.exists() else 0
                if seed < done:
                    continue
                if time.process_time() > 60 * minutes:
                    return
                with stored.open("a") as file:
                    row = lean_draws(kind, seed, weeks, REPLICATES).ravel()
                    file.write(",".join(f"{number:.17g}" for number in row) + "\n")
        if seed % 25 == 24:
            print(f"{seed + 1} logs after {time.process_time():.0f} CPU s", flush=True)


def stored_draws(folder: Path, kind: str, weeks: int) -> Draws:
    """What `run` stored."""
    rows = np.loadtxt(folder / f"{kind} {weeks}.csv", delimiter=",", ndmin=2)
    values = rows.reshape(len(rows), 1 + REPLICATES, len(POLICIES))
    return Draws(values[:, 0], values[:, 1:], weeks - 1)


def print_false_alarms(logs: int) -> None:
    """Print the verdicts on two random orders, by kind and length of the logs."""
    for kind in ("steady", "busy weeks"):
        for weeks in LENGTHS:
            found = false_alarms(kind, logs, weeks)
            cells = ", ".join(f"{name} {number:.3g}" for name, number in found.items())
            print(f"{kind}, {weeks} weeks: {cells}; {time.process_time():.0f} CPU s", flush=True)


def print_coverage(folder: Path) -> None:
    """Print how often intervals hold the truth, of the logs that are stored in a folder."""
    for kind in KINDS:
        truth = np.loadtxt(folder / f"{kind} truth.csv", ndmin=2)
        error = truth.std(axis=0, ddof=1) / np.sqrt(len(truth)) / truth.mean(axis=0)
        print(f"\n{kind}: truth {truth.mean(axis=0).round()} s, standard error {error.round(3)}")
        for weeks in LENGTHS:
            found = stored_draws(folder, kind, weeks)
            table = coverage(found, truth.mean(axis=0)).round(3)
            print(f"{weeks} weeks, {len(found.own)} logs\n{table.to_string()}")


if __name__ == "__main__":
    if sys.argv[1] == "--false-alarms":
        print_false_alarms(int((sys.argv[2:] or ["100"])[0]))
    else:
        folder, minutes, logs = (*sys.argv[1:], *("25", "500")[len(sys.argv) - 2 :])
        run(Path(folder), float(minutes), int(logs))
        print_coverage(Path(folder))
