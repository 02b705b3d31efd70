"""Groups of jobs: by size, length, user, group, queue or partition; means by size and length."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.metrics.jobs import bounded_slowdown, slowdown, turnaround_time, wait_time
from cosimlib.schedule import Schedule, check_schedule
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
BINNED = ["nodes", "run_time"]
"""What jobs are binned by, which says where a bin begins."""

SHORTEST = 10.0
"""Seconds at which the first bin of lengths begins."""

METRICS: dict[str, Callable[..., pd.Series]] = {
    "bounded_slowdown": bounded_slowdown,
    "slowdown": slowdown,
    "turnaround_time": turnaround_time,
    "wait_time": wait_time,
}
"""Metrics of jobs, by the names of their columns."""


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


def by_size_and_length(
    schedule: Schedule,
    metric: str | pd.Series,
    *,
    sizes: Sequence[float] | None = None,
    lengths: Sequence[float] | None = None,
    start: float | None = None,
    end: float | None = None,
    statistic: str = "mean",
) -> pd.DataFrame:
    """Mean or median of a metric by size and length of jobs, a row per bin, for a heat map.

    Parameters
    ----------
    schedule : Schedule
    metric : str or pd.Series
        ``"bounded_slowdown"``, ``"slowdown"``, ``"turnaround_time"``, ``"wait_time"``, or a Series
        of numbers by job, whose name becomes the column's. Missing values do not count.
    sizes, lengths : sequence of float, optional
        Nodes and run times (s) at which bins begin, ascending. A job below the first belongs to the
        first bin. By default nodes double from 1 and run times from 10 s.
    start, end : float, optional
        The window in which a job must have been submitted.
    statistic : {"mean", "median"}
        Of the jobs in a bin.

    Returns
    -------
    pd.DataFrame
        `nodes` and `run_time` from which a bin goes, `jobs`, and the statistic. Every pair of a
        size and a length has a row: without a job, `jobs` is 0 and the statistic is NaN.

    Examples
    --------
    >>> import cosimlib as cs
    >>> log = cs.synthetic.lublin(1_000, load=0.8, seed=1)
    >>> schedule = cs.simulate_fcfs(log, log.machine)
    >>> bins = {"sizes": [1, 16], "lengths": [0, 3600]}
    >>> cs.metrics.by_size_and_length(schedule, "wait_time", **bins).round(0)
       nodes  run_time  jobs  wait_time
    0      1       0.0   687   175416.0
    1      1    3600.0    88   155666.0
    2     16       0.0   173   180027.0
    3     16    3600.0    52   147031.0
    """
    check_schedule(schedule)
    check.choice("statistic", statistic, ["mean", "median"])
    values = _per_job(schedule, metric, start, end)
    jobs = schedule.workload.jobs.loc[values.index]
    begins = [
        _doubling(first, jobs[column]) if given is None else _ascending(name, given)
        for name, given, first, column in (
            ("sizes", sizes, 1.0, "nodes"),
            ("lengths", lengths, SHORTEST, "run_time"),
        )
    ]
    keys = [_bin(jobs[name], each).rename(name) for name, each in zip(BINNED, begins, strict=True)]
    table = values.groupby(keys).agg(["count", statistic])
    table = table.reindex(pd.MultiIndex.from_product(begins, names=BINNED))
    table = table.set_axis(["jobs", str(values.name)], axis=1).reset_index()
    return table.astype({"nodes": np.int64}).assign(jobs=table["jobs"].fillna(0).astype(np.int64))


def ratio_by_size_and_length(
    schedule: Schedule,
    other: Schedule,
    metric: str,
    *,
    sizes: Sequence[float] | None = None,
    lengths: Sequence[float] | None = None,
    start: float | None = None,
    end: float | None = None,
    statistic: str = "mean",
) -> pd.DataFrame:
    """Mean or median of a metric under one schedule ÷ that under another, by size and length.

    Parameters
    ----------
    schedule, other : Schedule
        Of the same jobs.
    metric, sizes, lengths, start, end, statistic
        As of `by_size_and_length`. With ``"median"`` it is a ratio of two medians.

    Returns
    -------
    pd.DataFrame
        `nodes` and `run_time` from which a bin goes, `jobs`, and `ratio`: NaN without a job, and
        where both are 0.

    Examples
    --------
    >>> import cosimlib as cs
    >>> log = cs.synthetic.lublin(1_000, load=0.8, seed=1)
    >>> fcfs, fit = cs.simulate_fcfs(log, log.machine), cs.simulate_first_fit(log, log.machine)
    >>> table = cs.metrics.ratio_by_size_and_length(fcfs, fit, "bounded_slowdown")
    >>> bool(table["ratio"].max() > 1)
    True
    """
    check_schedule(schedule)
    check_schedule(other)
    check.choice("metric", metric, METRICS)
    runs = [one.workload.jobs[["nodes", "run_time"]] for one in (schedule, other)]
    if not runs[0].equals(runs[1]):
        raise ValueError(
            f"{schedule.name} and {other.name}: their jobs differ in nodes or run times; expected "
            "schedules of the same jobs"
        )
    how: dict[str, Any] = {"sizes": sizes, "lengths": lengths, "start": start, "end": end}
    table, below = (
        by_size_and_length(one, metric, statistic=statistic, **how) for one in (schedule, other)
    )
    ratio = table[metric] / below[metric]
    return table[[*BINNED, "jobs"]].assign(ratio=ratio)


def _per_job(
    schedule: Schedule, metric: str | pd.Series, start: float | None, end: float | None
) -> pd.Series:
    """The values of a metric for the jobs submitted in a window."""
    if isinstance(metric, pd.Series):
        inside = wait_time(schedule, start=start, end=end).index
        given = metric if metric.name is not None else metric.rename("value")
        return given.reindex(inside).dropna()
    check.choice("metric", metric, METRICS)
    return METRICS[metric](schedule, start=start, end=end).rename(metric).dropna()


def _doubling(first: float, values: pd.Series) -> np.ndarray:
    """Where bins begin that double, up to the greatest of some values."""
    most = max(float(values.max()), first) if len(values) else first
    return first * 2.0 ** np.arange(int(np.log2(most / first) + 1e-9) + 1)


def _ascending(name: str, begins: Sequence[float]) -> np.ndarray:
    """Given beginnings of bins, checked."""
    given = np.array(begins, dtype=float)
    rising = given.ndim == 1 and given.size > 0 and bool((np.diff(given) > 0).all())
    check.that(name, begins, rising, "ascending numbers")
    return given


def _bin(values: pd.Series, begins: np.ndarray) -> pd.Series:
    """Where the bin of each value begins."""
    place = np.searchsorted(begins, values.to_numpy(dtype=float), side="right") - 1
    return pd.Series(begins[np.maximum(place, 0)], values.index)
