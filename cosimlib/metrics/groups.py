"""Groups of jobs: by size, length, user, group, queue or partition."""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload, check_workload

SIZES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536)
"""Most nodes of each class of sizes; larger jobs are one more class."""

LENGTHS = {
    "up to 1 min": MINUTE,
    "1–10 min": 10 * MINUTE,
    "10–60 min": HOUR,
    "1–4 h": 4 * HOUR,
    "4–12 h": 12 * HOUR,
    "12–24 h": DAY,
    "over a day": np.inf,
}
"""Longest run time of each class of lengths, seconds."""

LARGEST = 8
"""Users and queues with a group of their own, those with most node-hours."""

OTHERS = "all others"
LABELS = ("user", "group", "queue", "partition")
GROUPS = ("size", "length", *LABELS)


def job_groups(workload: Workload, by: str) -> pd.Series:
    """Group of each job, by size, length, user, group, queue or partition.

    Parameters
    ----------
    workload : Workload
    by : {"size", "length", "user", "group", "queue", "partition"}
        Nodes in powers of four; run times; or the eight users (queues, …) with most node-hours, and
        all others.

    Returns
    -------
    pd.Series
        Name of each job's group, as an ordered categorical. All values are missing if no job has
        a user (queue, …).
    """
    check_workload(workload)
    check.choice("by", by, GROUPS)
    if by == "size":
        return _sizes(workload)
    if by == "length":
        run_time = workload.jobs["run_time"]
        return pd.cut(run_time, [-1.0, *LENGTHS.values()], labels=list(LENGTHS))
    return _largest(workload, by)


def _largest(workload: Workload, column: str) -> pd.Series:
    """User (queue, …) of each job, if it is one of the largest, else "all others"."""
    jobs, named = workload.jobs, workload.column(column)
    if named.isna().all():
        return pd.Series(pd.Categorical([None] * len(jobs), categories=[]), index=jobs.index)
    work = (jobs["nodes"] * jobs["run_time"]).groupby(named).sum()
    largest = work.sort_values(ascending=False, kind="stable").index[:LARGEST]
    names = {name: f"{column} {name}" for name in largest}
    labels = named.map(names).astype("object").fillna(OTHERS)
    kinds = [*names.values(), *([OTHERS] if (labels == OTHERS).any() else [])]
    return pd.Series(pd.Categorical(labels, categories=kinds), index=jobs.index)


def _sizes(workload: Workload) -> pd.Series:
    """The class of sizes of each job."""
    nodes = workload.jobs["nodes"]
    limits = [most for most in SIZES if most < nodes.max()]
    lows = [1, *(most + 1 for most in limits)]
    labels = [
        f"{low:,}" if low == high else f"{low:,}–{high:,}"
        for low, high in zip(lows, [*limits, int(nodes.max())], strict=True)
    ]
    return pd.cut(nodes, [0, *limits, np.inf], labels=labels)
