"""What each user got, and how evenly."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cosimlib.metrics.jobs import bounded_slowdown
from cosimlib.metrics.windows import submitted
from cosimlib.schedule import Schedule
from cosimlib.units import HOUR


def by_user(
    schedule: Schedule,
    *,
    tau: float = 10.0,
    start: float | None = None,
    end: float | None = None,
) -> pd.DataFrame:
    """One row a user, of the jobs submitted in the window.

    Parameters
    ----------
    schedule : Schedule
    tau : float, default 10.0
        Threshold of the bounded slowdown, in seconds.
    start, end : float, optional
        The window in which a job must have been submitted.

    Returns
    -------
    pd.DataFrame
        `jobs`, `node_hours` (nodes · run time), mean `wait_time` (s), mean `bounded_slowdown`;
        indexed by `user`. Jobs that name no user are left out.

    Raises
    ------
    ValueError
        Where no job of the workload names its user.
    """
    user = schedule.workload.column("user")
    if len(user) and user.isna().all():
        raise ValueError(
            f"{schedule.workload.name}: no job names its user; fairness by user needs the column "
            "'user'"
        )
    jobs = schedule.jobs[submitted(schedule, start, end)]
    table = pd.DataFrame(
        {
            "node_hours": jobs["nodes"] * jobs["run_time"] / HOUR,
            "wait_time": jobs["wait_time"],
            "bounded_slowdown": bounded_slowdown(schedule, tau=tau, start=start, end=end),
        }
    )
    users = table.groupby(user[jobs.index])
    how = {"node_hours": "sum", "wait_time": "mean", "bounded_slowdown": "mean"}
    return users.agg(how).assign(jobs=users.size())[["jobs", *how]]


def fairness(
    schedule: Schedule,
    *,
    tau: float = 10.0,
    start: float | None = None,
    end: float | None = None,
) -> float:
    """How evenly users fare: Jain's index of their mean bounded slowdowns.

    1 where every user has the same mean bounded slowdown, 1/n where one of n has all of it. It says
    nothing of how good it is: a queue that makes everybody wait ten times as long is as fair. Every
    user counts the same, however many jobs they submit. (Others measure against a fair start time,
    or a user's part of the machine; those need a second schedule, or shares.)

    Jain, Chiu and Hawe, A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems, DEC TR-301, 1984. Parameters are those of `by_user`.
    """
    return jain_index(by_user(schedule, tau=tau, start=start, end=end)["bounded_slowdown"])


def jain_index(values: Iterable[float]) -> float:
    """``(Σx)² / (n · Σx²)``, from 1/n to 1; 1 where all are 0, NaN where there are none.

    Raises
    ------
    ValueError
        For a value that is negative, infinite or NaN.
    """
    x = np.array(list(values), dtype=np.float64)
    odd = ~((x >= 0) & np.isfinite(x))
    if odd.any():
        raise ValueError(f"Jain's index of {x[odd][0]:g}; expected numbers of 0 or more")
    if x.size == 0:
        return float("nan")
    largest = x.max()
    # Divided by the largest so that squares neither overflow nor vanish.
    shares = x / largest if largest > 0 else np.ones_like(x)
    return float(shares.sum() ** 2 / (x.size * (shares @ shares)))
