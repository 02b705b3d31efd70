"""Inverse analyses of Hofmeyr et al. (HPCC 2016): which assumptions would give the printed results.

They go from results back to inputs that the paper does not print, so they are no evidence for any
claim. `inverse_table` changes one assumption at a time; `crossover_by_correlation` asks whether
larger jobs that run longer, or shorter, would move the crossover of large jobs as the paper says.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.sweep import Workers, sweep
from cosimlab.twins.assumptions import LIKE, Assumptions
from papers.claims import Rule, interval
from papers.hofmeyr2016.experiment import (
    BATCH,
    EASY,
    NOT_SPMD_UNLIMITED,
    SHARED,
    UNLIMITED,
    Kind,
    Run,
    Span,
    crossover_hours,
    simulate,
)
from papers.hofmeyr2016.measures import LARGE

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


def inverse_table(
    assumed: Mapping[str, Assumptions],
    batch: Kind,
    shared: Kind | None = None,
    *,
    executor: Workers = None,
) -> pd.DataFrame:
    """Results of assumptions about what is not printed, a row per assumptions and seed.

    Slowdowns under batch scheduling, and under that which lets jobs take extra nodes (`EASY`),
    without noise and with it; time-sharing has unlimited memory.

    Parameters
    ----------
    assumed : mapping of str to Assumptions
        Of `ASSUMED`, or others.
    batch, shared : Kind
        Days and seeds under batch scheduling and of time-sharing, which takes most of the time and
        may be left out.
    executor : optional
        See `sweep`.
    """
    grid = {"assumptions": dict(assumed)}
    how: dict[str, Any] = {"executor": executor, "errors": "raise"}
    table = sweep(_in_batch, grid, batch.places, shared={"span": batch.span}, **how)
    if shared is None:
        return table
    others = sweep(_time_shared, grid, shared.places, shared={"span": shared.span}, **how)
    return table.merge(others, how="left", on=["assumptions", "seed"])


def _in_batch(assumptions: Assumptions, span: Span, seed: int) -> dict[str, float]:
    """Slowdowns under batch scheduling, without and with extra nodes and noise."""
    row = {}
    for suffix, noise in (("", False), (", noise", True)):
        for name, policy in (("batch", BATCH), ("EASY", EASY)):
            run = simulate(span, Run(policy, noise), seed, like=assumptions)
            row[f"{name}{suffix}"] = run.mean_slowdown
            if policy == BATCH:
                row[f"75 %{suffix}"] = run.quantile(0.75)
    return row


def _time_shared(assumptions: Assumptions, span: Span, seed: int) -> dict[str, float]:
    """Slowdowns and jobs per node by time-sharing, memory unlimited."""
    policies = (UNLIMITED, NOT_SPMD_UNLIMITED)
    shared, not_spmd = (simulate(span, Run(p), seed, like=assumptions) for p in policies)
    return {
        "time-sharing": shared.mean_slowdown,
        "not SPMD": not_spmd.mean_slowdown,
        "jobs per node": shared.cpu_load,
        "most in a week": shared.most_in_a_week,
    }


def compare_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Geometric means over seeds beside the paper's numbers, with 95 % intervals in parentheses.

    `table` is as of `inverse_table`. `met` counts means within a factor of 1.5 of the paper's, of
    those that there are.
    """
    found = _means(table, "assumptions")
    means = found.map(lambda each: each[0])
    known = [name for name in PRINTED if name in means]
    factors = np.abs(np.log(means[known] / pd.Series(PRINTED)[known]))
    met = (factors <= math.log(MET)).sum(axis=1).astype(str)
    met += " of " + means[known].notna().sum(axis=1).astype(str)
    texts = found.map(_as_text)
    texts.loc["printed"] = [f"{PRINTED[n]:,.4g}" if n in PRINTED else "not printed" for n in means]
    columns = [*known, *means.columns.difference(known)]
    return texts.loc[["printed", *means.index], columns].assign(met=met).fillna({"met": ""})


def crossover_by_correlation(
    correlations: Iterable[float], kind: Kind, *, executor: Workers = None
) -> pd.DataFrame:
    """Crossovers between batch scheduling and time-sharing by the correlation of size and length.

    Parameters
    ----------
    correlations : iterable of float
        Of the normal scores of a job's size and run time.
    kind : Kind
        Days and seeds.
    executor : optional
        See `sweep`.

    Returns
    -------
    pd.DataFrame
        Per correlation the run times (h) from which on batch scheduling is better, for all jobs and
        for large ones, and the factor from one to the other: geometric means and 95 % intervals.
    """
    grid = {"correlation": list(correlations)}
    how: dict[str, Any] = {"executor": executor, "errors": "raise"}
    table = sweep(_crossovers, grid, kind.places, shared={"span": kind.span}, **how)
    table["later by a factor"] = table["large jobs (h)"] / table["all jobs (h)"]
    return _means(table, "correlation").map(_as_text)


def _crossovers(correlation: float, span: Span, seed: int) -> dict[str, float]:
    """Crossovers of all jobs and of large ones (h)."""
    like = Assumptions(correlation=correlation)
    pair = [simulate(span, Run(policy), seed, like=like) for policy in (BATCH, SHARED)]
    return {
        "all jobs (h)": crossover_hours(*pair),
        "large jobs (h)": crossover_hours(*pair, least_nodes=LARGE * span.nodes),
    }


def _means(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Geometric means over seeds with their intervals."""
    rule = Rule("geometric mean")
    numbers = table.drop(columns="seed").groupby(by, sort=False)
    return numbers.agg(lambda values: interval(rule, values.dropna().astype(float)))


def _as_text(found: tuple[float, float, float]) -> str:
    """A mean, and its interval where more than one seed gives it."""
    mean, low, high = found
    if math.isnan(mean):
        return "not simulated"
    if not 0 < low <= high < math.inf:
        return f"{mean:,.3g}"
    return f"{mean:,.3g} ({low:,.3g} to {high:,.3g})"
