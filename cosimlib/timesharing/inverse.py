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
from cosimlib.sweep import Workers, sweep
from cosimlib.synthetic.assumptions import LIKE, Assumptions
from cosimlib.synthetic.edison import EDISON, edison
from cosimlib.timesharing.experiment import node_noise
from cosimlib.timesharing.noise import NOISE
from cosimlib.timesharing.runs import run_batch, run_timesharing
from cosimlib.units import DAY

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
    executor : optional
        See `sweep`.

    Returns
    -------
    pd.DataFrame
        `assumptions`, `seed`, the numbers of `PRINTED` (NaN for those of time-sharing without
        days), and of EASY, which lets jobs take extra nodes: `EASY`, `EASY, noise`.
    """
    check.number("shared_days", shared_days, least=0, none=True)
    fixed = {"nodes": nodes, "days": days, "warm_up": warm_up}
    fixed["shared_days"] = days if shared_days is None else shared_days
    grid = {"assumptions": dict(assumed)}
    return sweep(_results, grid, seeds, shared=fixed, executor=executor, errors="raise")


def _results(
    assumptions: Assumptions, seed: int, nodes: int, days: float, warm_up: float, shared_days: float
) -> dict[str, Any]:
    """The numbers of one seed."""
    workload = edison(days, nodes=nodes, like=assumptions, seed=seed)
    machine = EDISON.with_nodes(nodes)
    knobs: dict[str, Any] = {"warm_up": warm_up * DAY, "seed": seed}
    row: dict[str, Any] = {}
    for suffix, noise in (("", None), (", noise", node_noise(NOISE, nodes))):
        for name, extra in (("batch", False), ("EASY", True)):
            run = run_batch(workload, machine, extra_nodes=extra, noise=noise, **knobs)
            row[f"{name}{suffix}"] = run.mean_slowdown
            if not extra:
                row[f"75 %{suffix}"] = run.quantile(0.75)
    row |= dict.fromkeys(list(PRINTED)[4:], math.nan)
    if shared_days:
        few = edison(shared_days, nodes=nodes, like=assumptions, seed=seed)
        knobs |= {"warm_up": warm_up * shared_days / days * DAY, "memory": False}
        shared = run_timesharing(few, machine, **knobs)
        row["time-sharing"], row["jobs per node"] = shared.mean_slowdown, shared.cpu_load
        row["most in a week"] = max(shared.weekly_load, default=math.nan)
        row["not SPMD"] = run_timesharing(few, machine, spmd=False, **knobs).mean_slowdown
    return row


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
    numbers = table.drop(columns="seed").groupby("assumptions", sort=False)
    means = numbers.agg(lambda values: float(np.exp(mean_interval(np.log(values)).mean)))
    known = [name for name in PRINTED if name in means and means[name].notna().any()]
    apart = np.abs(np.log(means[known] / pd.Series(PRINTED)[known]))
    met = (apart <= math.log(MET)).sum(axis=1).astype(str) + f" of {len(known)}"
    printed = pd.DataFrame([PRINTED], index=["printed"]).rename_axis(means.index.name)
    order = [*known, *means.columns.difference(list(PRINTED))]
    return pd.concat([printed, means])[order].assign(met=met).fillna({"met": ""})


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
