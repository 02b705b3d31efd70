"""Schedules side by side."""

from collections.abc import Iterable

import pandas as pd

from cosimlib.metrics.capacity import utilization
from cosimlib.metrics.jobs import bounded_slowdown, makespan, wait_time
from cosimlib.schedule import Schedule


def summarize(
    schedules: Iterable[Schedule], *, start: float | None = None, end: float | None = None
) -> pd.DataFrame:
    """One row a policy: what papers compare first.

    Parameters
    ----------
    schedules : iterable of Schedule
    start, end : float, optional
        The window in seconds: numbers a job are of the jobs submitted in it.

    Returns
    -------
    pd.DataFrame
        `jobs`, mean `wait_time` (s), mean `bounded_slowdown` (τ = 10 s), `utilization` from first
        submission to last end or in the window, `makespan` (s); indexed by `policy`, in the order
        given.
    """
    rows = []
    for schedule in schedules:
        wait = wait_time(schedule, start=start, end=end)
        slowdown = bounded_slowdown(schedule, start=start, end=end)
        row = {
            "policy": schedule.policy,
            "jobs": len(wait),
            "wait_time": float(wait.mean()),
            "bounded_slowdown": float(slowdown.mean()),
            "utilization": utilization(schedule, start=start, end=end),
            "makespan": makespan(schedule, start=start, end=end),
        }
        rows.append(row)
    columns = ["policy", "jobs", "wait_time", "bounded_slowdown", "utilization", "makespan"]
    return pd.DataFrame(rows, columns=columns).set_index("policy")
