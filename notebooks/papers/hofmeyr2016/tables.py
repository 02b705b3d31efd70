"""Tables of Edison's jobs and of runs, which the notebook shows or draws."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cosimlab.figures import BOX
from cosimlab.twins.edison import EDISON, UTILIZATION
from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.timesharing import RunSummary
from cosimlib.timesharing.schedule import LEVELS
from cosimlib.units import DAY
from cosimlib.workload import Workload
from papers.hofmeyr2016.experiment import Runs, Span, jobs_of


def printed_statistics(workload: Workload) -> pd.DataFrame:
    """Statistics of Edison's jobs as the paper prints them, beside those of a workload.

    Sizes are parts of the machine: Edison's 31, 100 and 1,000 of 5,576 nodes are 4, 13 and 125 of
    697, an eighth of Edison.
    """
    jobs, system = workload.jobs, check.machine(workload.machine, workload.name)
    nodes, work = jobs["nodes"], jobs["nodes"] * jobs["run_time"]
    sizes = [math.ceil(n * system.total_nodes / EDISON.total_nodes) for n in (31, 100, 1_000)]
    light = workload.column("memory") < 0.6 * system.memory_per_node
    large = [work[nodes > size].sum() / work.sum() for size in sizes[1:]]
    span = float(jobs["submit_time"].max() - jobs["submit_time"].min())
    rows = [
        (f"jobs of up to {sizes[0]:,} nodes", 0.90, float((nodes <= sizes[0]).mean())),
        (f"node-hours in jobs above {sizes[1]:,} nodes", 0.50, large[0]),
        (f"node-hours in jobs above {sizes[2]:,} nodes", 0.20, large[1]),
        ("node-hours with less than 60 % of a node's memory", 0.90, work[light].sum() / work.sum()),
        ("offered load", UTILIZATION, work.sum() / (system.total_nodes * span)),
    ]
    return pd.DataFrame(rows, columns=["statistic", "paper", "ours"]).round(3)


def overview(runs: Sequence[RunSummary]) -> pd.DataFrame:
    """A row per run: policy, number of jobs, utilization, CPU load, slowdowns, who waited."""
    rows = [
        (
            r.policy,
            r.jobs,
            r.utilization,
            r.cpu_load,
            r.mean_slowdown,
            r.quantile(0.5),
            r.quantile(0.75),
            r.waited,
        )
        for r in runs
    ]
    measures = ["jobs", "utilization", "CPU load", "mean slowdown", "median", "75 %", "waited"]
    return pd.DataFrame(rows, columns=["policy", *measures]).round(3)


def memory_needs(span: Span, seed: int, load: float, like: str) -> pd.DataFrame:
    """The part of a node's memory that a job needs on average, each as long as it is there.

    By which jobs need much (`memory_spread` of `twins.edison`): that part, and nine times it.
    """
    rows = []
    for spread in ("longest", "tenth", "UniLu-Gaia"):
        workload = jobs_of(span, seed, load, like, spread)
        work = workload.jobs["nodes"] * workload.jobs["run_time"]
        memory = (work * workload.column("memory")).sum() / work.sum()
        part = memory / check.machine(workload.machine, workload.name).memory_per_node
        rows.append((spread, percent(part, 1), percent(9 * part, 0)))
    return pd.DataFrame(rows, columns=["memory spread", "a job needs", "9 jobs need"])


def sharing_factors(jobs: Sequence[float], overheads: Sequence[float]) -> pd.DataFrame:
    """The factor by which an overhead slows jobs down by processor sharing; infinite at saturation.

    Jobs that share a node by processor sharing, whatever their lengths, are on average
    ``L = ρ / (1 - ρ)`` at a load ρ (Kleinrock, Queueing Systems II, 1976, section 4.4). An overhead
    ε makes ρ to ρ / (1 - ε), and slowdowns greater by a factor ``1 / (1 - ε (1 + L))``. A row per
    overhead, a column per L.
    """
    left = 1.0 - np.multiply.outer(np.array(overheads), 1.0 + np.array(jobs))
    factors = np.divide(1.0, left, out=np.full(left.shape, math.inf), where=left > 0)
    index = pd.Index([percent(part) for part in overheads], name="overhead")
    return pd.DataFrame(factors, index, pd.Index(jobs, name="jobs on a node")).round(2)


def node_hours_by_size(workload: Workload) -> pd.DataFrame:
    """Share of the node-hours in jobs of at most so many nodes: `nodes`, `share`."""
    work = workload.jobs["nodes"] * workload.jobs["run_time"].astype(float)
    sums = work.groupby(workload.jobs["nodes"]).sum().cumsum()
    return pd.DataFrame({"nodes": sums.index, "share": (sums / sums.iloc[-1]).to_numpy()})


def weeks(runs: Mapping[str, RunSummary]) -> pd.DataFrame:
    """Means over the week before, by name: `policy`, `day`, `utilization`, `cpu_load`."""
    columns = {"utilization": "weekly_utilization", "cpu_load": "weekly_load"}
    tables = [
        pd.DataFrame(
            {"policy": name, "day": run.weeks / DAY}
            | {column: getattr(run, field) for column, field in columns.items()}
        )
        for name, run in runs.items()
    ]
    return pd.concat(tables, ignore_index=True)


def distributions(runs: Sequence[RunSummary]) -> pd.DataFrame:
    """Share of the jobs with at most some slowdown: `policy`, `slowdown`, `share`."""
    tables = [
        pd.DataFrame({"policy": run.policy, "slowdown": run.quantiles, "share": LEVELS})
        for run in runs
    ]
    return pd.concat(tables, ignore_index=True)


def overheads(runs: Runs, policies: Mapping[str, str]) -> pd.DataFrame:
    """The first seed's runs with overheads, by what policies are called, ascending.

    Returns
    -------
    pd.DataFrame
        `memory` (the name of a policy), `overhead`, `utilization`, `slowdown` (the mean).
    """
    rows = [
        (name, overhead, run.utilization, run.mean_slowdown)
        for name, policy in policies.items()
        for overhead, run in by_overhead(runs, policy).items()
    ]
    return pd.DataFrame(rows, columns=["memory", "overhead", "utilization", "slowdown"])


def by_overhead(runs: Runs, policy: str) -> dict[float, RunSummary]:
    """The first seed's runs with overheads, in ascending order."""
    rows = runs.table.query("kind == 'overheads' and policy == @policy")
    rows = rows.drop_duplicates("overhead").sort_values("overhead")
    return dict(zip(rows["overhead"], rows["summary"], strict=True))


def by_size_and_length(run: RunSummary, other: RunSummary | None = None) -> pd.DataFrame:
    """Mean slowdown by size and length, or that of a run ÷ that of another, a row per bin.

    Returns
    -------
    pd.DataFrame
        `nodes` and `run_time` (s) from which a bin goes, `jobs`, `slowdown` or `ratio`. Bins
        without jobs have NaN.
    """
    values = run.bins if other is None else run.bins / other.bins
    nodes, length = run.nodes_edges[:-1], run.length_edges[:-1]
    return pd.DataFrame(
        {
            "nodes": np.repeat(nodes, length.size),
            "run_time": np.tile(length, nodes.size),
            "jobs": run.counts.ravel(),
            "slowdown" if other is None else "ratio": values.ravel(),
        }
    )


def quartiles(runs: Mapping[str, RunSummary]) -> pd.DataFrame:
    """Quartiles, whiskers (1.5 interquartile ranges) and mean of slowdowns, a row per run."""
    rows = []
    for name, run in runs.items():
        low, middle, high = (run.quantile(level) for level in (0.25, 0.5, 0.75))
        reach = 1.5 * (high - low)
        least = float(run.quantiles[run.quantiles >= low - reach].min())
        most = float(run.quantiles[run.quantiles <= high + reach].max())
        rows.append((name, least, low, middle, high, most, run.mean_slowdown))
    return pd.DataFrame(rows, columns=["run", *BOX])
