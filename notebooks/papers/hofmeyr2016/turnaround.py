"""Turnaround of applications: what jobs like them waited and ran for, by policy and size."""

import math

import numpy as np
import pandas as pd

from cosimlib.display import percent
from cosimlib.timesharing import RunSummary
from papers.claims import Samples
from papers.hofmeyr2016.experiment import BATCH, SHARED, UNLIMITED, Runs

LEAST_APPLICATIONS = 3
"""Applications with turnarounds below which nothing is decided."""

KEPT = 0.5
"""Part of the dedicated run times' speedup from which on a turnaround falls."""


def turnaround_scales(runs: Runs) -> Samples:
    """The share of applications whose turnaround falls with nodes under time-sharing."""
    kept = kept_speedups(turnarounds(runs))
    unlimited = f" (memory unlimited {percent(_falling(kept, UNLIMITED), 0)})"
    return _of_applications(runs, SHARED, unlimited, waits_for_memory(runs))


def turnaround_batch(runs: Runs) -> Samples:
    """The share of applications whose turnaround falls with nodes under batch scheduling."""
    return _of_applications(runs, BATCH, "", start_at_once(runs))


def turnaround_largest(runs: Runs) -> Samples:
    """Median over applications of batch's turnaround ÷ that under time-sharing, at most nodes."""
    tables = [turnarounds(runs, place) for place in range(len(runs.of("sharing")))]
    values, free = (
        [gain_at_largest(table, BATCH, policy) for table in tables]
        for policy in (SHARED, UNLIMITED)
    )
    details = f"first seed {short(values[0])} (memory unlimited {short(free[0])})"
    few, why = _few_applications(kept_speedups(tables[0])), start_at_once(runs)
    return Samples(values, "median factor {:.3g}", details=details, why=why, missing=few)


def turnarounds(runs: Runs, place: int = 0) -> pd.DataFrame:
    """Turnarounds of applications under batch scheduling and time-sharing, of a place of seeds."""
    policies = (BATCH, SHARED, UNLIMITED)
    return turnaround_times(runs.applications, *(runs.of("sharing", p)[place] for p in policies))


def turnaround_times(table: pd.DataFrame, *runs: RunSummary, at_least: int = 10) -> pd.DataFrame:
    """Expected turnaround of applications: dedicated time × mean slowdown of jobs like that.

    A row per run and row of `table`, with `policy` and `turnaround_time` (s), which is NaN where a
    bin has fewer jobs than `at_least`. Times below 10 s count as that, as in slowdowns.
    """
    tables = []
    for run in runs:
        row = np.searchsorted(run.nodes_edges, table["nodes"], side="right") - 1
        length = table["run_time"].clip(lower=run.length_edges[0])
        column = np.searchsorted(run.length_edges, length, side="right") - 1
        inside = (row < run.counts.shape[0]) & (column < run.counts.shape[1])
        slowdown = np.full(len(table), np.nan)
        known = np.where(run.counts >= at_least, run.bins, np.nan)
        slowdown[inside] = known[row[inside], column[inside]]
        tables.append(table.assign(policy=run.policy, turnaround_time=length * slowdown))
    return pd.concat(tables, ignore_index=True)


def kept_speedups(turnarounds: pd.DataFrame) -> pd.DataFrame:
    """Part of each application's speedup, from its least to its greatest size, that is left.

    A row per application with two sizes or more, a column per policy: the turnaround's speedup ÷
    the run time's. Sizes at which a policy has no turnaround are left out.
    """
    pairs = _pairs(turnarounds)
    lines = pairs[pairs.groupby("application")["run_time"].transform("size") > 1]
    speedup = lines.groupby("application").first() / lines.groupby("application").last()
    return speedup.drop(columns="run_time").div(speedup["run_time"], axis=0)


def gain_at_largest(turnarounds: pd.DataFrame, batch: str, shared: str) -> float:
    """Median over applications of turnaround under `batch` ÷ `shared` at the greatest size."""
    pairs = _pairs(turnarounds)
    return float((pairs[batch] / pairs[shared]).groupby("application").last().median())


def _pairs(turnarounds: pd.DataFrame) -> pd.DataFrame:
    """A row per application and size: `run_time`, and turnarounds, where all policies have one."""
    index = ["application", "nodes"]
    wide = turnarounds.set_index([*index, "policy"])["turnaround_time"].unstack()  # noqa: PD010
    run_time = turnarounds.drop_duplicates(index).set_index(index)["run_time"]
    return wide.assign(run_time=run_time).dropna()


def _of_applications(runs: Runs, policy: str, unlimited: str, why: str) -> Samples:
    """The share of applications that keep half of their speedup under a policy."""
    kept = [kept_speedups(turnarounds(runs, at)) for at in range(len(runs.of("sharing")))]
    values, few = [_falling(table, policy) for table in kept], _few_applications(kept[0])
    details = f"first seed in {percent(values[0], 0)}{unlimited} of {len(kept[0])} applications"
    return Samples(values, "share of applications {:.3g}", details=details, why=why, missing=few)


def _falling(kept: pd.DataFrame, policy: str) -> float:
    """The share of applications that keep half of their speedup; NaN without applications."""
    return float((kept[policy] >= KEPT).mean())


def _few_applications(kept: pd.DataFrame) -> str:
    """The reason why turnarounds decide nothing; empty where they do."""
    few = f"fewer than {LEAST_APPLICATIONS} applications have turnarounds at two sizes: {len(kept)}"
    return few if len(kept) < LEAST_APPLICATIONS else ""


def waits_for_memory(runs: Runs, policy: str = SHARED) -> str:
    """What may explain a number with limited memory."""
    waited = runs.first("sharing", policy).waited
    memory = f"{percent(waited, 1)} of the jobs wait for memory, and which of them need much"
    sizes = "how sizes go with lengths and estimates"
    return f"{memory}, and {sizes}, is not printed" if waited else f"{sizes} is not printed"


def start_at_once(runs: Runs) -> str:
    """The share of jobs that do not wait under batch scheduling, in words."""
    return f"{percent(1 - runs.first('sharing').waited, 0)} of the jobs start at once in batch"


def short(value: float) -> str:
    """Three digits; "none" for NaN."""
    return "none" if math.isnan(value) else f"{value:.3g}"
