"""Recorded waits beside those of batch policies: replays, tables, and a grade.

A replay schedules all jobs of the log; waits are compared job by job, over the jobs whose start the
log recorded. Policies know nothing of what moved the recorded starts besides the queue: holds,
dependencies, quotas, drained nodes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.display import UNKNOWN, count, duration
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import RECORDED, Schedule
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

REPLAYED = ("FCFS", "EASY", "conservative", "EASY (sjbf)")
WAIT_CLASSES = {
    "≤ 1 min": MINUTE, "≤ 10 min": 10 * MINUTE, "≤ 1 h": HOUR, "≤ 4 h": 4 * HOUR,
    "≤ 12 h": 12 * HOUR, "≤ 1 day": DAY, "≤ 3 days": 3 * DAY, "longer": np.inf,
}  # fmt: skip
"""Longest wait of each class, seconds."""

PERCENTS = (*range(5, 100, 5), 99)
GRADES = {"well": 0.75, "in part": 0.5, "poorly": 0.25, "hardly at all": -1.0}
"""Least rank correlation of each word, rounded as sentences tell it."""

DECIMALS = 2


class Grade(NamedTuple):
    """Goodness of fit of a policy's waits to the recorded ones.

    Parameters
    ----------
    policy : str
    jobs : int
        With a recorded start.
    error : float
        Median distance of the wait under the policy from the recorded one, seconds; NaN where
        none is recorded.
    correlation : float
        Spearman's, of the waits' ranks; NaN where all waits are equal.
    """

    policy: str
    jobs: int
    error: float
    correlation: float

    @property
    def word(self) -> str:
        """The grade by `GRADES`; "unknown" where there is no correlation."""
        shown = round(float(self.correlation), DECIMALS)
        fitting = (word for word, least in GRADES.items() if shown >= least)
        return next(fitting, UNKNOWN)

    @property
    def sentence(self) -> str:
        """The grade and its numbers in a sentence."""
        if not self.jobs:
            return f"{self.policy}: {UNKNOWN}, this log does not tell when its jobs started"
        jobs = count(self.jobs, "job")
        error = f"half of the waits are within {duration(self.error)} of the recorded ones"
        if not np.isfinite(self.correlation):
            return f"{self.policy}: {UNKNOWN}, all waits are equal; {error} ({jobs})"
        return (
            f"{self.policy} explains this log {self.word}: rank correlation of waits "
            f"{self.correlation:.{DECIMALS}f}, {error} ({jobs})"
        )


def replay(
    workload: Workload, policies: Sequence[str] = REPLAYED, *, most: float = np.inf
) -> tuple[list[Schedule], dict[str, str]]:
    """The log's jobs under batch policies, and the policies left out with the reasons.

    Parameters
    ----------
    workload : Workload
        With its machine.
    policies : sequence of str
        Names in `SIMULATORS`. Those after the first are left out where a requested time is missing.
    most : float, optional
        Jobs · jobs that wait on average under EASY up to which conservative backfilling, which
        keeps a reservation for each waiting job, is tried.
    """
    schedules: list[Schedule] = []
    left_out = {}
    known = workload.jobs["requested_time"].notna().all()
    for policy in policies:
        if policy != "FCFS" and not known:
            left_out[policy] = "needs requested times"
        elif policy.startswith("conservative") and schedules and _queue(schedules[-1]) > most:
            waiting = _queue(schedules[-1]) / len(workload)
            left_out[policy] = f"{waiting:,.0f} jobs wait on average: scale=paper has it"
        else:
            schedules.append(SIMULATORS[policy](workload, workload.machine))
    return schedules, left_out


def compare_to_recorded(schedules: Iterable[Schedule]) -> pd.DataFrame:
    """Waits of the recorded schedule and of policies on the same jobs, one row each.

    Returns
    -------
    pd.DataFrame
        Indexed by policy: mean, median and p90 of the wait (h), mean `bounded slowdown` (10 s), and
        of policies beside the recorded waits the median `|error|` (h) and the rank `correlation`.
        Without recorded starts there is no recorded row, and all jobs count.
    """
    schedules = list(schedules)
    recorded, known = _recorded(schedules[0].workload)
    waits = {RECORDED: recorded[known]} if known.any() else {}
    counted = known if known.any() else np.ones(known.size, dtype=bool)
    waits |= {schedule.policy: _waits(schedule)[counted] for schedule in schedules}
    run_time = schedules[0].workload.jobs["run_time"].to_numpy()[counted]
    rows = {}
    for policy, wait in waits.items():
        graded = _grade(policy, recorded[counted], wait)
        slowdown = np.maximum((wait + run_time) / np.maximum(run_time, 10.0), 1.0)
        rows[policy] = {
            "mean wait (h)": wait.mean() / HOUR,
            "median wait (h)": np.median(wait) / HOUR,
            "p90 wait (h)": np.quantile(wait, 0.9) / HOUR,
            "bounded slowdown": slowdown.mean(),
            "median |error| (h)": graded.error / HOUR,
            "rank correlation": graded.correlation,
        }
    return pd.DataFrame(rows).T.rename_axis("policy")


def grade(schedule: Schedule) -> Grade:
    """Goodness of fit of a replay's waits to those that its log recorded."""
    recorded, known = _recorded(schedule.workload)
    return _grade(schedule.policy, recorded[known], _waits(schedule)[known])


def wait_quantiles(schedules: Iterable[Schedule]) -> pd.DataFrame:
    """Waits that so many percent of the jobs do not exceed, recorded and under policies.

    Returns
    -------
    pd.DataFrame
        `policy`, `percent`, `wait` (h, a minute at least, so that it has a logarithm).
    """
    schedules = list(schedules)
    recorded, known = _recorded(schedules[0].workload)
    counted = known if known.any() else np.ones(known.size, dtype=bool)
    waits = {RECORDED: recorded[known]} if known.any() else {}
    waits |= {schedule.policy: _waits(schedule)[counted] for schedule in schedules}
    rows = [
        (policy, percent, max(float(wait), MINUTE) / HOUR)
        for policy, values in waits.items()
        for percent, wait in zip(PERCENTS, np.percentile(values, PERCENTS), strict=True)
    ]
    return pd.DataFrame(rows, columns=["policy", "percent", "wait"])


def wait_classes(schedule: Schedule) -> pd.DataFrame:
    """Percent of the jobs by class of the recorded wait (rows) and of the replayed wait (columns).

    Empty where no start is recorded.
    """
    recorded, known = _recorded(schedule.workload)
    limits, names = [-np.inf, *WAIT_CLASSES.values()], list(WAIT_CLASSES)
    rows = pd.Series(pd.cut(recorded[known], limits, labels=names), name=RECORDED)
    columns = pd.Series(pd.cut(_waits(schedule)[known], limits, labels=names), name=schedule.policy)
    if not known.any():
        return pd.DataFrame()
    return 100 * pd.crosstab(rows, columns, normalize="all", dropna=False)


def _recorded(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Recorded waits (s), NaN where unknown, and which are known."""
    wait = (workload.column("recorded_start") - workload.jobs["submit_time"]).to_numpy()
    return wait, ~np.isnan(wait)


def _waits(schedule: Schedule) -> np.ndarray:
    return schedule.jobs["wait_time"].to_numpy()


def _queue(schedule: Schedule) -> float:
    """Jobs · jobs that wait on average between the first and the last submission."""
    submit_time = schedule.workload.jobs["submit_time"]
    span = max(float(submit_time.max() - submit_time.min()), MINUTE)
    return len(schedule.workload) * float(_waits(schedule).sum()) / span


def _grade(policy: str, recorded: np.ndarray, wait: np.ndarray) -> Grade:
    if policy == RECORDED or not recorded.size or np.isnan(recorded).any():
        return Grade(policy, 0, np.nan, np.nan)
    error = float(np.median(np.abs(wait - recorded)))
    if np.ptp(wait) == 0 or np.ptp(recorded) == 0:
        return Grade(policy, recorded.size, error, np.nan)
    ranks = [pd.Series(values).rank() for values in (recorded, wait)]
    return Grade(policy, recorded.size, error, float(ranks[0].corr(ranks[1])))
