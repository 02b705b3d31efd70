"""Turnaround of applications: what jobs like them waited and ran for, by policy and size."""

import math

import numpy as np
import pandas as pd

from cosimlib.display import percent
from cosimlib.timesharing import RunSummary
from papers.claims import Samples
from papers.hofmeyr2016.experiment import BATCH, READINGS, SHARED, UNLIMITED, Runs

LEAST_APPLICATIONS = 3
"""Applications with turnarounds below which nothing is decided."""

KEPT = 0.5
"""Part of the dedicated run times' speedup from which on a turnaround falls."""


def turnaround_scales(runs: Runs) -> Samples:
    """The share of applications whose turnaround falls with nodes under time-sharing."""
    free = _falling(kept_speedups(turnarounds(runs)), UNLIMITED)
    kept = [kept_speedups(table) for table in _compared(runs)]
    values, few = [_falling(table, SHARED) for table in kept], _few_applications(kept[0])
    first, unlimited = percent(values[0], 0), percent(free, 0)
    details = f"first seed in {first} (memory unlimited {unlimited}) of {len(kept[0])} applications"
    why = waits_for_memory(runs)
    return Samples(values, "share of applications {:.3g}", details=details, why=why, missing=few)


def turnaround_batch(runs: Runs) -> Samples:
    """The share of applications whose turnaround falls with nodes under batch scheduling."""
    by_seed = _compared(runs)
    readings = {
        reading: [_falling(kept_speedups(table), policy) for table in by_seed]
        for reading, policy in READINGS.items()
    }
    few, why = _few_applications(kept_speedups(by_seed[0])), start_at_once(runs)
    return Samples(shown="share of applications {:.3g}", why=why, missing=few, readings=readings)


def turnaround_largest(runs: Runs) -> Samples:
    """Median over applications of batch's turnaround ÷ that under time-sharing, at most nodes."""
    by_seed, free = _compared(runs), gain_at_largest(turnarounds(runs), BATCH, UNLIMITED)
    readings = {
        reading: [gain_at_largest(table, policy, SHARED) for table in by_seed]
        for reading, policy in READINGS.items()
    }
    details = f"as worded, memory unlimited, first seed {short(free)}"
    few, why = _few_applications(kept_speedups(by_seed[0])), start_at_once(runs)
    return Samples(
        shown="median factor {:.3g}", details=details, why=why, missing=few, readings=readings
    )


def turnaround_example(runs: Runs) -> Samples:
    """The greatest factor over applications of batch's turnaround ÷ time-sharing's, at most nodes.

    The paper's example, "4 minutes vs 8 hours", is 120 times. A factor below it decides nothing.
    """
    by_seed = _compared(runs)
    readings = {
        reading: [_gains(table, policy, SHARED).max() for table in by_seed]
        for reading, policy in READINGS.items()
    }
    few, why = _few_applications(kept_speedups(by_seed[0])), start_at_once(runs)
    doubt = (
        "which application it is, and how long a job of its size waited on Edison, is not printed"
    )
    shown = "greatest factor {:.3g}"
    return Samples(shown=shown, why=why, doubt=doubt, missing=few, readings=readings)


def turnarounds(runs: Runs) -> pd.DataFrame:
    """Turnarounds of applications under batch scheduling and time-sharing, with the first seed."""
    policies = (BATCH, SHARED, UNLIMITED)
    return turnaround_times(runs.applications, *(runs.first("sharing", p) for p in policies))


def _compared(runs: Runs) -> list[pd.DataFrame]:
    """Turnarounds under both readings of batch scheduling and time-sharing, a table per seed."""
    by_policy = [runs.of("sharing", policy) for policy in (*READINGS.values(), SHARED)]
    return [turnaround_times(runs.applications, *each) for each in zip(*by_policy, strict=True)]


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
    return float(_gains(turnarounds, batch, shared).median())


def _gains(turnarounds: pd.DataFrame, batch: str, shared: str) -> pd.Series:
    """Turnaround under `batch` ÷ `shared` at the greatest size, of each application."""
    pairs = _pairs(turnarounds)
    return (pairs[batch] / pairs[shared]).groupby("application").last()


def _pairs(turnarounds: pd.DataFrame) -> pd.DataFrame:
    """A row per application and size: `run_time`, and turnarounds, where all policies have one."""
    index = ["application", "nodes"]
    wide = turnarounds.set_index([*index, "policy"])["turnaround_time"].unstack()  # noqa: PD010
    run_time = turnarounds.drop_duplicates(index).set_index(index)["run_time"]
    return wide.assign(run_time=run_time).dropna()


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
