"""Comparison of runs: tables, and the measures of two policies that the claims are about."""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic.edison import EDISON
from cosimlib.timesharing.summary import RunSummary
from cosimlib.units import HOUR
from cosimlib.workload import Workload

LEAST_JOBS = 1_000
"""Counted jobs below which nothing is decided."""


def printed_statistics(workload: Workload) -> pd.DataFrame:
    """Statistics of Edison's jobs as the paper prints them, beside those of a workload.

    Sizes are parts of the machine: Edison's 31, 100 and 1,000 of 5,576 nodes are 4, 13 and 125 of
    697, an eighth of Edison.

    Returns
    -------
    pd.DataFrame
        `statistic`, `paper`, `ours`: NaN where the workload does not say; jobs whose memory is
        unknown are left out of that row.
    """
    jobs, system = workload.jobs, check.machine(workload.machine, workload.name)
    nodes, memory = jobs["nodes"], workload.column("memory")
    work = nodes * jobs["run_time"]
    sizes = [math.ceil(n * system.total_nodes / EDISON.total_nodes) for n in (31, 100, 1_000)]
    known = memory.notna() & (system.memory_per_node > 0)
    light = work[known & (memory < 0.6 * system.memory_per_node)].sum()
    total = float(work.sum())
    large = [work[nodes > size].sum() / total if total > 0 else math.nan for size in sizes[1:]]
    span = float(jobs["submit_time"].max() - jobs["submit_time"].min())
    rows = [
        (f"jobs of up to {sizes[0]:,} nodes", 0.90, float((nodes <= sizes[0]).mean())),
        (f"node-hours in jobs above {sizes[1]:,} nodes", 0.50, large[0]),
        (f"node-hours in jobs above {sizes[2]:,} nodes", 0.20, large[1]),
        ("node-hours with less than 60 % of a node's memory", 0.90,
         light / work[known].sum() if work[known].any() else math.nan),
        ("offered load", 0.89, work.sum() / (system.total_nodes * span) if span else math.nan),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["statistic", "paper", "ours"])


def overview(runs: Iterable[RunSummary]) -> pd.DataFrame:
    """A row per run: `policy`, `jobs`, `utilization`, `CPU load`, slowdown, `waited`."""
    rows = [
        (r.policy, r.jobs, r.utilization, r.cpu_load, r.mean_slowdown, r.quantile(0.5),
         r.quantile(0.75), r.waited)
        for r in runs
    ]  # fmt: skip
    measures = ["jobs", "utilization", "CPU load", "mean slowdown", "median", "75 %", "waited"]
    return pd.DataFrame(rows, columns=["policy", *measures])


def undecided(batch: RunSummary) -> str:
    """Reason why a run under batch scheduling decides nothing; empty where it does."""
    if batch.jobs < LEAST_JOBS:
        return f"jobs that are counted: {batch.jobs:,}, too few"
    return "" if batch.waited else "no job waits under batch scheduling"


def ratio_by_length(
    batch: RunSummary, shared: RunSummary, *, least_nodes: float = 1.0
) -> np.ndarray:
    """Mean slowdown under batch ÷ time-shared in each bin of `length_edges`; NaN for no jobs.

    Parameters
    ----------
    batch, shared : RunSummary
        Of the same jobs.
    least_nodes : float, default 1
        Only bins of size from so many nodes on count.
    """
    large = np.array(batch.nodes_edges[:-1]) >= least_nodes
    sums = [np.array(run.slowdown_sums)[large].sum(axis=0) for run in (batch, shared)]
    return np.divide(sums[0], sums[1], out=np.full(sums[0].size, np.nan), where=sums[1] > 0)


def crossover_hours(batch: RunSummary, shared: RunSummary, *, least_nodes: float = 1.0) -> float:
    """Run time (h) from which on jobs are better off under batch scheduling.

    Where the ratio of mean slowdowns is 1: between the last bin of length in which it is above and
    the next that has jobs, from middle to middle, both on a logarithmic scale. 0 where all jobs are
    better off under batch scheduling, infinite where the longest are not, NaN where there are no
    jobs. `least_nodes` is that of `ratio_by_length`.
    """
    ratio = ratio_by_length(batch, shared, least_nodes=least_nodes)
    known = np.flatnonzero(np.isfinite(ratio) & (ratio > 0.0))
    if not known.size:
        return math.nan
    above = np.flatnonzero(ratio[known] > 1.0)
    if not above.size:
        return 0.0
    if above[-1] == known.size - 1:
        return math.inf
    neighbors = known[above[-1] : above[-1] + 2]
    edges = np.log(batch.length_edges)
    middles, logs = (edges[neighbors] + edges[neighbors + 1]) / 2, np.log(ratio[neighbors])
    part = logs[0] / (logs[0] - logs[1])
    return float(np.exp(middles[0] + part * (middles[1] - middles[0])) / HOUR)


def slower_if_large(run: RunSummary, *, least_nodes: float) -> float:
    """Mean slowdown of jobs of so many nodes ÷ that of smaller ones, the median over lengths.

    NaN where no length has both.
    """
    large = np.array(run.nodes_edges[:-1]) >= least_nodes
    sums, counts = np.array(run.slowdown_sums), np.array(run.counts, float)
    sizes = (large, ~large)
    jobs = [counts[size].sum(axis=0) for size in sizes]
    known = (jobs[0] > 0) & (jobs[1] > 0)
    means = [sums[size].sum(axis=0)[known] / n[known] for size, n in zip(sizes, jobs, strict=True)]
    return float(np.median(means[0] / means[1])) if known.any() else math.nan


def won_bins(batch: RunSummary, shared: RunSummary, *, at_least: int = 10) -> tuple[float, float]:
    """Share of the bins in which time-sharing is better, and share of their jobs.

    Bins with fewer than `at_least` jobs do not count; NaN where no other is left.
    """
    counts = np.array(batch.counts)
    counted = counts >= at_least
    if not counted.any():
        return math.nan, math.nan
    weight, wins = counts[counted], (batch.bins[counted] > shared.bins[counted])
    return float(wins.mean()), float(weight[wins].sum() / weight.sum())


def lost_late(batch: RunSummary, shared: RunSummary, *, hours: float, at_least: int = 10) -> float:
    """Share of the bins that time-sharing loses that are of jobs longer than so many hours.

    Bins with fewer than `at_least` jobs do not count; NaN where none is lost.
    """
    counted = np.array(batch.counts) >= at_least
    lost = (counted & (batch.bins <= shared.bins)).sum(axis=0)
    late = np.array(batch.length_edges[:-1]) >= hours * HOUR
    return float(lost[late].sum() / lost.sum()) if lost.any() else math.nan


def kept_speedups(turnarounds: pd.DataFrame) -> pd.DataFrame:
    """Part of each application's speedup, from its least to its greatest size, that is left.

    Parameters
    ----------
    turnarounds : pd.DataFrame
        As of `turnaround_times`. Sizes at which a policy has no turnaround are left out.

    Returns
    -------
    pd.DataFrame
        A row per application, a column per policy: turnaround's speedup ÷ the run time's.
        Empty where no application has two sizes left.
    """
    pairs = _pairs(turnarounds)
    lines = pairs[pairs.groupby("application")["run_time"].transform("size") > 1].groupby(
        "application"
    )
    speedup = lines.first() / lines.last()
    return speedup.drop(columns="run_time").div(speedup["run_time"], axis=0)


def gain_at_largest(turnarounds: pd.DataFrame, batch: str, shared: str) -> float:
    """Median over applications of turnaround under `batch` ÷ `shared` at the greatest size."""
    pairs = _pairs(turnarounds)
    for policy in (batch, shared):
        if policy not in pairs:
            known = ", ".join(map(repr, pairs.columns.drop("run_time")))
            raise ValueError(f"no policy {policy!r} among the turnarounds; known are {known}")
    if pairs.empty:
        return math.nan
    return float((pairs[batch] / pairs[shared]).groupby("application").last().median())


def _pairs(turnarounds: pd.DataFrame) -> pd.DataFrame:
    """A row per application and size: `run_time`, and turnarounds, where all policies have one."""
    index = ["application", "nodes"]
    parts = turnarounds.set_index(index).groupby("policy")
    policies = {policy: part["turnaround_time"] for policy, part in parts}
    run_time = turnarounds.drop_duplicates(index).set_index(index)["run_time"]
    return pd.DataFrame(policies | {"run_time": run_time}).dropna()
