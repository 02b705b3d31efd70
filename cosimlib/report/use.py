"""Use of a machine and waits of its jobs, by week, by size, length and user, and in a window."""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.steps import step_function
from cosimlib.metrics import hourly, job_groups, utilization_series, waiting_jobs
from cosimlib.metrics.groups import largest_groups
from cosimlib.placement import lowest_blocks
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR, MINUTE, WEEK

NO_USER = "jobs"

QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
GROUPS = ("size", "length", "user")


def weekly_use(schedule: Schedule) -> pd.DataFrame:
    """Load, utilization and queue in each week from the first submission to the last end.

    Returns
    -------
    pd.DataFrame
        Indexed by week, from 0: `begin` (s) and `days` of the week; `jobs` submitted;
        `offered_load`, node-seconds of the jobs submitted ÷ those offered; `utilization`; the mean
        number of `waiting_jobs`; `median_wait` of the jobs submitted (h; NaN without jobs).
    """
    jobs = schedule.jobs
    first, last = _span(schedule)
    used = utilization_series(schedule, WEEK, first, last)
    begin = used.index.to_numpy()
    week = np.minimum(((jobs["submit_time"] - first) // WEEK).astype("int64"), begin.size - 1)
    length = np.diff(begin, append=last)
    work = (jobs["nodes"] * jobs["run_time"]).groupby(week).sum().reindex(range(begin.size))
    waits = jobs["wait_time"].groupby(week).median().reindex(range(begin.size))
    table = {
        "begin": begin,
        "days": length / DAY,
        "jobs": np.bincount(week, minlength=begin.size),
        "offered_load": work.fillna(0.0).to_numpy() / (schedule.total_nodes * length),
        "utilization": used.to_numpy(),
        "waiting_jobs": hourly(waiting_jobs(schedule), WEEK, first, last).to_numpy(),
        "median_wait": waits.to_numpy() / HOUR,
    }
    return pd.DataFrame(table).rename_axis("week")


def window_name(schedule: Schedule, start: float, end: float) -> str:
    """Two instants (s) in words: dates where the log tells when it began, else days."""
    began = schedule.workload.began
    if began is None:
        return f"days {start / DAY:,.1f} to {end / DAY:,.1f}"
    first, last = (began + pd.Timedelta(time, "s") for time in (start, end))
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"


def waits_by(schedule: Schedule, by: str) -> pd.DataFrame:
    """Waits by size, length or user of the jobs.

    Parameters
    ----------
    schedule : Schedule
    by : {"size", "length", "user"}
        Nodes in powers of four, run times, or the users with most node-hours and all others.

    Returns
    -------
    pd.DataFrame
        Indexed by group: `jobs`, `share` of the node-hours (of 1), and `median`, `p90` and `p99` of
        the wait (h). Empty where no job names its user.
    """
    check.choice("by", by, GROUPS)
    jobs = schedule.jobs
    groups = job_groups(schedule.workload, by)
    work = jobs["nodes"] * jobs["run_time"]
    grouped = (jobs["wait_time"] / HOUR).groupby(groups, observed=True)
    table = pd.DataFrame({name: grouped.quantile(q) for name, q in QUANTILES.items()})
    table.insert(0, "jobs", grouped.size())
    total = float(work.sum())
    share = work.groupby(groups, observed=True).sum()
    table.insert(1, "share", share / total if total > 0 else 0.0)
    return table.rename_axis(by)


def window_blocks(
    schedule: Schedule, start: float, end: float, *, most: int = 1500
) -> pd.DataFrame:
    """Jobs on their nodes between two instants (s), as blocks of neighboring nodes.

    Parameters
    ----------
    schedule : Schedule
    start, end : float
    most : int, default 1500
        Jobs taken, those with most node-seconds in the window.

    Returns
    -------
    pd.DataFrame
        `job`, `user` (as in `waits_by`, "jobs" where no job names its user), `start` and `end` (s,
        cut at the window), `node` (the lowest, from 0) and `nodes`. Where a record holds more nodes
        than there are, numbers go on beyond those of the machine.
    """
    rows = schedule.allocations
    rows = rows[(rows["start"] < end) & (rows["end"] > start) & (rows["job"] >= 0)]
    rows = rows.assign(start=rows["start"].clip(lower=start), end=rows["end"].clip(upper=end))
    rows = rows.sort_values(["start", "job"], ignore_index=True)
    work = rows["nodes"] * (rows["end"] - rows["start"])
    rows = rows[work.rank(method="first", ascending=False) <= most].reset_index(drop=True)
    begin, last, nodes = (rows[name].to_numpy() for name in ("start", "end", "nodes"))
    peak = int(step_function(begin, last, nodes)[1].max(initial=0))
    blocks = lowest_blocks(begin, last, nodes, max(schedule.total_nodes, peak))
    job = rows["job"].to_numpy()[blocks["row"]]
    users = _owners(schedule, np.unique(job)).reindex(job).reset_index(drop=True)
    return blocks.assign(job=job, user=users)[["job", "user", "start", "end", "node", "nodes"]]


def _span(schedule: Schedule) -> tuple[float, float]:
    """From the first submission to the last end, a minute at least."""
    first, last = schedule.span
    return first, max(last, first + MINUTE)


def _owners(schedule: Schedule, jobs: np.ndarray) -> pd.Series:
    """The user of each of the jobs: one of the largest among them, "all others", or "jobs"."""
    owners = largest_groups(schedule.workload, "user", jobs)
    if len(owners.cat.categories):
        return owners
    return pd.Series(pd.Categorical([NO_USER] * len(jobs)), index=jobs)
