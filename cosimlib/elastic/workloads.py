"""Workloads of the paper's kind: a log as one batch, Table 1 of it, and classes to prioritize."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.metrics import busy_stretch
from cosimlib.units import HOUR
from cosimlib.workload import Workload

LOT = "lot"
"""The column of classes that are drawn."""


def as_batch(
    workload: Workload,
    *,
    max_nodes: int = 20,
    max_run_time: float = 24 * HOUR,
    jobs: int | None = None,
    request_factor: float = 1.0,
) -> Workload:
    """A log as one batch: the jobs that the paper would select, all submitted at time 0.

    The batch is of one partition, which jobs no longer name: of several, that with most node-hours.
    It may be without jobs; the account says how many were dropped for what.

    Parameters
    ----------
    workload : Workload
    max_nodes : int, default 20
    max_run_time : float, default 24 h
        Seconds; jobs of no run time are left out too, and so are those known not to have completed.
    jobs : int, optional
        Only so many of the jobs selected, those of `metrics.busy_stretch`.
    request_factor : float, default 1.0
        Requested times are run times × this.
    """
    check.whole("max_nodes", max_nodes, 1)
    check.whole("jobs", jobs, 1, none=True)
    check.seconds("max_run_time", max_run_time, above=0)
    check.number("request_factor", request_factor, least=1)
    kept = _busiest_partition(workload)
    kept = kept.keep(kept.jobs["nodes"] <= max_nodes, f"more than {max_nodes} nodes")
    run_time = kept.jobs["run_time"]
    kept = kept.keep((run_time > 0) & (run_time <= max_run_time), "run time 0 or too long")
    kept = kept.keep((kept.column("status").fillna(1) == 1).to_numpy(bool), "not completed")
    kept = kept if jobs is None else busy_stretch(kept, jobs)
    requested = kept.jobs["run_time"] * request_factor
    jobs = kept.jobs.assign(submit_time=0.0, requested_time=requested)
    return replace(kept, jobs=jobs, began=None)


def _busiest_partition(workload: Workload) -> Workload:
    """The jobs of the partition with most node-hours, without its name; all where none is named."""
    partition = workload.column("partition")
    work = workload.jobs["nodes"] * workload.jobs["run_time"]
    by_name = work.groupby(partition).sum()
    if len(by_name) > 1:
        busiest = by_name.idxmax()
        reason = f"not of partition {busiest}, which has most node-hours"
        workload = workload.keep((partition == busiest).fillna(False).to_numpy(bool), reason)
    return replace(workload, jobs=workload.jobs.drop(columns="partition", errors="ignore"))


def describe(workloads: Mapping[str, Workload]) -> pd.DataFrame:
    """The paper's Table 1: one row per workload that has jobs.

    Returns
    -------
    pd.DataFrame
        `workload`, `jobs`, `node-hours`; mean, minimum, quartiles and maximum of run times (s)
        and of node counts.
    """
    rows = []
    for name, workload in workloads.items():
        jobs = workload.jobs
        if jobs.empty:
            continue
        row = {"workload": name, "jobs": len(jobs)}
        row["node-hours"] = round(float(jobs["nodes"] @ jobs["run_time"]) / HOUR, 2)
        for label, column in (("run", "run_time"), ("nodes", "nodes")):
            values = jobs[column].describe().drop(["count", "std"]).round(2)
            row |= {f"{label} {statistic}": value for statistic, value in values.items()}
        rows.append(row)
    return pd.DataFrame(rows, columns=None if rows else ["workload", "jobs", "node-hours"])


def priority_classes(
    workload: Workload, shares: Sequence[float], *, by: str = "user", seed: int = 0
) -> tuple[Workload, dict[str, str]]:
    """Classes of jobs to prioritize in a log: the workload, and the column of each class by name.

    Classes are values of the column `by`, such as users: for each share in turn the one whose part
    of the jobs is nearest to it, ties to the first in the workload. A value with half of the jobs
    or more is no class, for too few would be left to compare it with. Where there are not enough
    classes, as in a log that names no users, jobs are drawn by lot, and the workload gets a column
    ``lot``. Jobs that are no more than the shares make no classes.

    Parameters
    ----------
    workload : Workload
    shares : sequence of float
        Parts of the number of jobs, such as 0.01 and 0.05.
    by : str, default "user"
    seed : int, default 0
        Of the lots.
    """
    fine = bool(shares) and min(shares) > 0 and sum(shares) < 0.5
    check.that("shares", shares, fine, "parts above 0 that sum to less than 0.5")
    check.seed(seed)
    if len(workload) <= len(shares):
        return workload, {}
    parts = workload.column(by).value_counts() / max(len(workload), 1)
    parts = parts[parts < 0.5]
    classes: dict[str, str] = {}
    if len(parts) >= len(shares):
        for share in shares:
            classes[str((parts.drop(list(classes)) - share).abs().idxmin())] = by
        return workload, classes
    return _by_lot(workload, shares, seed), {percent(share, 1): LOT for share in shares}


def _by_lot(workload: Workload, shares: Sequence[float], seed: int) -> Workload:
    """The workload with a column that names the share that a job was drawn for."""
    drawn = np.random.default_rng(seed).permutation(len(workload))
    lot = np.full(len(workload), "", dtype=object)
    for share in shares:
        count = max(1, round(share * len(workload)))
        lot[drawn[:count]], drawn = percent(share, 1), drawn[count:]
    return replace(workload, jobs=workload.jobs.assign(**{LOT: lot}))
