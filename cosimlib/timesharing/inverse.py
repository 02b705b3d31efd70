"""Inverse analysis: which jobs the paper's printed results imply, from results back to inputs.

Hofmeyr et al. (HPCC 2016) print some inputs, and results of jobs that nobody else has. What is not
printed is assumed in one way after another (`ASSUMED`), simulated, and set beside every printed
result. What meets most of them may be what Edison's jobs were like; it is no evidence for the
paper's claims, for it was chosen by them.

*A bound.* Jobs that share a node by processor sharing, whatever their lengths, are on average
``L = ρ / (1 - ρ)`` at a load ρ (Kleinrock, Queueing Systems II, 1976, section 4.4). An overhead ε
makes ρ to ρ / (1 - ε), and slowdowns greater by a factor ``1 / (1 - ε (1 + L))``: `sharing_factor`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.metrics import mean_interval
from cosimlib.metrics.intervals import Interval
from cosimlib.sweep import Workers, sweep
from cosimlib.synthetic.assumptions import LIKE, Assumptions
from cosimlib.synthetic.edison import EDISON, edison
from cosimlib.timesharing.experiment import node_noise
from cosimlib.timesharing.noise import NOISE
from cosimlib.timesharing.runs import run_batch, run_timesharing
from cosimlib.units import DAY
from cosimlib.workload import Workload

LOG_NORMAL = Assumptions(run_times="log-normal")

ASSUMED = {
    "printed inputs": LIKE["inputs"],
    "run times log-normal": LOG_NORMAL,
    "run times log-normal, narrower": replace(LOG_NORMAL, shape=1.85),
    "run times Weibull": Assumptions(run_times="Weibull", shape=0.4),
    "run times log-uniform": Assumptions(run_times="log-uniform"),
    "run times as in real logs": Assumptions(run_times="logs"),
    "steady weeks": Assumptions(weeks=0.0),
    "Poisson arrivals": Assumptions(bursts=0.0),
    "estimates: accuracy uniform": Assumptions(estimates="accuracy"),
    "estimates exact": Assumptions(estimates=1.0),
    "estimates × 2": Assumptions(estimates=2.0),
    "estimates × 5": Assumptions(estimates=5.0),
    "estimates × 10": Assumptions(estimates=10.0),
    "larger jobs are shorter": Assumptions(correlation=-0.3),
    "larger jobs are shorter, log-normal": replace(LOG_NORMAL, correlation=-0.3),
    "larger jobs are shorter, log-normal, wider": replace(LOG_NORMAL, correlation=-0.3, shape=3.0),
    "larger jobs are longer": Assumptions(correlation=0.3),
    "sizes up to the whole machine": Assumptions(largest=5_576),
    "printed results": LIKE["results"],
    "printed results, narrower": replace(LIKE["results"], shape=1.85),
}
"""One assumption changed at a time, and those that go together."""

SOURCES = {
    "jobs per day, 89 %, shares of sizes and of node-hours, run times from 10 s": "printed input",
    "memory independent of size, 90 % of node-hours below 60 %": "printed input",
    "a job overtakes if it ends before the head's start": "printed input",
    "mean run time, 71 minutes": "inferred from printed inputs",
    "largest size, half the machine": "inferred from the recorded utilization",
    "log-normal run times, steady weeks": "inferred from printed results",
    "noise with probability 0.001, where 0.0001 is printed": "inferred from two printed numbers",
    "estimates, bursts, days, who needs memory": "free",
}
"""What stands behind each assumption."""

PRINTED = {
    "batch": 137.0,
    "batch, noise": 1_009.0,
    "75 %": 13.0,
    "75 %, noise": 22.0,
    "time-sharing": 7.9,
    "not SPMD": 3.3,
    "jobs per node": 9.0,
    "most in a week": 20.0,
}
"""Results that the paper prints; slowdowns are means and the 75th percentile under batch."""

MET = 1.5
"""Factor within which a number is met."""


def inverse_table(
    assumed: Mapping[str, Assumptions] = ASSUMED,
    *,
    nodes: int = EDISON.total_nodes,
    days: float = 600.0,
    warm_up: float = 100.0,
    shared_days: float | None = None,
    seeds: Iterable[int] = range(3),
    shared_seeds: Iterable[int] | None = None,
    executor: Workers = None,
) -> pd.DataFrame:
    """Results of assumptions, one row per assumptions and seed.

    Parameters
    ----------
    assumed : mapping of str to Assumptions
    nodes, days, warm_up
        Of the machine and the jobs; those of the first `warm_up` days do not count.
    shared_days : float, optional
        Days that are time-shared, which takes most of the time, of which as large a part does not
        count; by default all, and 0 for none.
    seeds : iterable of int, default the first three
    shared_seeds : iterable of int, optional
        Those of `seeds` whose jobs are time-shared, too; by default all.
    executor : optional
        See `sweep`.

    Returns
    -------
    pd.DataFrame
        `assumptions`, `seed`, the numbers of `PRINTED` (NaN for those of time-sharing where it was
        not simulated), and of EASY, which lets jobs take extra nodes: `EASY`, `EASY, noise`.
    """
    check.number("shared_days", shared_days, least=0, none=True)
    seeds = list(seeds)
    few = days if shared_days is None else shared_days
    shared_seeds = [] if not few else seeds if shared_seeds is None else list(shared_seeds)
    cells = {f"{name}, batch, {seed}": (_in_batch, each, seed, days, warm_up)
             for name, each in assumed.items() for seed in seeds}  # fmt: skip
    # Time-sharing asks for no estimates: where only these differ, runs are the same.
    alike = {name: replace(each, estimates="Tsafrir") for name, each in assumed.items()}
    part = warm_up * few / days
    cells |= {f"{each}, shared, {seed}": (_time_shared, each, seed, few, part)
              for each in alike.values() for seed in shared_seeds}  # fmt: skip
    longest_first = {"cell": dict(reversed(cells.items()))}
    told = sweep(_numbers, longest_first, shared={"nodes": nodes}, executor=executor,
                 errors="raise").set_index("cell")  # fmt: skip
    names = [*PRINTED, "EASY", "EASY, noise"]
    rows = []
    for name, each in alike.items():
        for seed in seeds:
            row = told.loc[f"{name}, batch, {seed}"]
            if seed in shared_seeds:
                row = row.combine_first(told.loc[f"{each}, shared, {seed}"])
            rows.append({"assumptions": name, "seed": seed} | row.reindex(names).to_dict())
    return pd.DataFrame(rows)


def _numbers(cell: tuple[Any, ...], nodes: int) -> dict[str, float]:
    """The numbers of one seed, under batch scheduling or time-shared."""
    numbers, assumptions, seed, days, warm_up = cell
    workload = edison(days, nodes=nodes, like=assumptions, seed=seed)
    return numbers(workload, warm_up=warm_up * DAY, seed=seed)


def _in_batch(workload: Workload, **knobs: Any) -> dict[str, float]:
    """Slowdowns under batch scheduling, without and with extra nodes and noise."""
    machine = check.machine(workload.machine, workload.name)
    row = {}
    for suffix, noise in (("", None), (", noise", node_noise(NOISE, machine.total_nodes))):
        for name, extra in (("batch", False), ("EASY", True)):
            run = run_batch(workload, machine, extra_nodes=extra, noise=noise, **knobs)
            row[f"{name}{suffix}"] = run.mean_slowdown
            if not extra:
                row[f"75 %{suffix}"] = run.quantile(0.75)
    return row


def _time_shared(workload: Workload, **knobs: Any) -> dict[str, float]:
    """Slowdowns and jobs per node by time-sharing, memory unlimited."""
    machine = check.machine(workload.machine, workload.name)
    shared = run_timesharing(workload, machine, memory=False, **knobs)
    not_spmd = run_timesharing(workload, machine, memory=False, spmd=False, **knobs)
    return {
        "time-sharing": shared.mean_slowdown,
        "not SPMD": not_spmd.mean_slowdown,
        "jobs per node": shared.cpu_load,
        "most in a week": max(shared.weekly_load, default=math.nan),
    }


def compare_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Geometric means over seeds beside the paper's, and how many of its numbers they meet.

    Parameters
    ----------
    table : pd.DataFrame
        As of `inverse_table`.

    Returns
    -------
    pd.DataFrame
        One row per assumptions, first `printed`, the paper's; `met`: how many are within a factor
        of 1.5, of those that there are.
    """
    means = _intervals(table).map(lambda interval: interval.mean)
    known = [name for name in PRINTED if name in means and means[name].notna().any()]
    there = means[known].notna().sum(axis=1)
    apart = np.abs(np.log(means[known] / pd.Series(PRINTED)[known]))
    met = (apart <= math.log(MET)).sum(axis=1).astype(str) + " of " + there.astype(str)
    printed = pd.DataFrame([PRINTED], index=["printed"]).rename_axis(means.index.name)
    order = [*known, *means.columns.difference(list(PRINTED))]
    return pd.concat([printed, means])[order].assign(met=met).fillna({"met": ""})


def compare_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """`compare_printed` as text, with the 95 % intervals over seeds in parentheses."""
    numbers, intervals = compare_printed(table), _intervals(table)
    words = numbers.drop(columns="met").map(lambda value: f"{value:,.4g}")
    for name in words.columns:
        words.loc[intervals.index, name] = intervals[name].map(_in_words)
        if np.isnan(numbers.loc["printed", name]):
            words.loc["printed", name] = "not printed"
    return words.assign(met=numbers["met"])


def _intervals(table: pd.DataFrame) -> pd.DataFrame:
    """By assumptions, the geometric mean over seeds of each number and its interval."""
    numbers = table.drop(columns="seed").groupby("assumptions", sort=False)
    return numbers.agg(
        lambda values: Interval(*np.exp(mean_interval(np.log(values.dropna().astype(float)))))
    )


def _in_words(interval: Interval) -> str:
    """A mean, and its interval where more than one seed tells it."""
    if math.isnan(interval.mean):
        return "not simulated"
    if not 0 < interval.low <= interval.high < math.inf:
        return f"{interval.mean:,.3g}"
    return f"{interval.mean:,.3g} ({interval.low:,.3g} to {interval.high:,.3g})"


def sharing_factor(load: float, overhead: float) -> float:
    """Factor by which an overhead slows jobs down by processor sharing; infinite at saturation.

    Parameters
    ----------
    load : float
        Mean jobs per node without it, L = ρ / (1 - ρ).
    overhead : float
        Part of the capacity, ε. The factor is ``1 / (1 - ε (1 + L))``.
    """
    check.number("load", load, least=0)
    check.number("overhead", overhead, least=0, below=1)
    left = 1.0 - overhead * (1.0 + load)
    return 1.0 / left if left > 0 else math.inf
