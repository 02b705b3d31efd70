"""Recorded waits beside those of batch policies: replays, tables, and a grade.

A replay schedules all jobs of the log; waits are compared job by job, over the jobs whose start the
log recorded. Policies know nothing of what moved the recorded starts besides the queue: holds,
dependencies, quotas, drained nodes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.comparison import Comparison, compare_where_possible
from cosimlib.display import UNKNOWN, count, duration, durations, percent
from cosimlib.metrics import busy_stretch
from cosimlib.policies import SIMULATORS
from cosimlib.report.log import Log, window_name
from cosimlib.report.page import Section, axis, dot_chart
from cosimlib.schedule import RECORDED, Schedule
from cosimlib.timesharing import simulate_timesharing
from cosimlib.units import HOUR, MINUTE, WEEK
from cosimlib.workload import Workload

REPLAYED = ("FCFS", "EASY", "conservative", "EASY (sjbf)")
MOST_WAITING = 2e7
"""Jobs · jobs that wait on average, up to which conservative backfilling is tried."""

SECONDS, QUEUE = 1.2e-6, 0.15
"""CPU time of a policy per job; conservative backfilling's part more of it per job that waits."""

FEWEST_LOGS, MOST_LOGS, FEWEST_JOBS = 20, 59, 2000
"""Logs drawn anew, and jobs of each where not all are taken."""

FEWEST_WEEKS = 4
"""Weeks that decide whether sharing helps."""

MOST_HELD = 200_000
"""Nodes of all jobs of a week at most that share nodes: the first jobs of the week are taken."""

SAMPLED = "as many as the budget allows"

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
            left_out[policy] = f"{waiting:,.0f} jobs wait on average, and each has a reservation"
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


def policies_section(log: Log, *, budget: float = 25.0, seed: int = 0) -> Section:
    """What batch policies would have done, with intervals over logs drawn anew.

    Parameters
    ----------
    log : Log
    budget : float, default 25.0
        CPU seconds for the intervals.
    seed : int, default 0
    """
    if "waits" in log.lacks:
        why = "What another policy would do is open: a log with submissions would tell."
        return Section("policies", "Policies", (why,))
    runs, left_out = replay(log.workload, most=MOST_WAITING)
    table = compare_to_recorded(runs)
    told, sampled, why = _compared(log, runs, budget, seed)
    tables = {"All jobs of the log (waits in hours)": table}
    if told is None:
        findings = [f"Which policy is better is open: {why}."]
        means = table["mean wait (h)"]
        rows, low, high = means.index.tolist(), None, None
    else:
        findings = [_best(told, sampled)]
        if RECORDED in table.index:
            wait = duration(table.loc[RECORDED, "mean wait (h)"] * HOUR)
            findings = [f"{findings[0]} The recorded mean wait is {wait}."]
        values = told.rows("value", measure="wait_time", statistic="mean").set_index("policy")
        means = values["log"] / HOUR
        rows = [spoken(name) for name in means.index]
        low, high = (values[side].to_numpy(dtype=float) / HOUR for side in ("low", "high"))
        tables["Ratios to EASY, with intervals"] = _ratios(told)
    graded = max(
        (grade(run) for run in runs), key=lambda each: np.nan_to_num(each.correlation, nan=-1)
    )
    explains = graded.jobs and np.isfinite(graded.correlation)
    note = f" {graded.sentence[0].upper()}{graded.sentence[1:]}." if explains else ""
    ends = [*means, *([] if high is None else high)]
    picture = dot_chart(
        rows, {sampled: means.tolist()}, axis(ends, "mean wait (hours)"), low=low, high=high
    )
    note += "".join(f" {spoken(name)} is left out: {why}." for name, why in left_out.items())
    reading = (
        "Every policy schedules the same jobs, with their own submissions, requests and run times. "
        "Lines are intervals: where such logs, drawn anew from this one, have their mean. Ratios "
        "compare policies on the same logs, and decide where intervals overlap. Policies know "
        f"nothing of holds, quotas, partitions or drained nodes.{note}"
    )
    return Section("policies", "Policies", tuple(findings), (picture,), tables, reading)


def timesharing_section(log: Log, *, weeks: int = 6) -> Section:
    """What time-sharing would do: every job starts at once, and jobs share nodes.

    Parameters
    ----------
    log : Log
    weeks : int, default 6
        Weeks of the log, evenly from all of it, of which each is simulated by itself.
    """
    title = "Time-sharing"
    if "waits" in log.lacks:
        why = "Whether jobs should share nodes is open: a log with submissions would tell."
        return Section("timesharing", title, (why,))
    batch = simulate_fcfs if "requests" in log.lacks else simulate_easy
    rows = []
    for start, jobs in _weeks_of(log.workload, weeks):
        alone, shared = batch(jobs, log.machine), simulate_timesharing(jobs, log.machine)
        times = [run.jobs["turnaround_time"].mean() / HOUR for run in (alone, shared)]
        slow = [run.bounded_slowdown().mean() for run in (alone, shared)]
        when = window_name(alone, start, start + WEEK)
        rows.append((when, len(jobs), *times, times[1] / max(times[0], 1e-9), *slow))
    columns = ["week", "jobs", "hours, batch", "hours, shared", "ratio", "slowdown, batch",
               "slowdown, shared"]  # fmt: skip
    table = pd.DataFrame(rows, columns=columns).set_index("week")
    ratio = float(table["hours, shared"].sum() / max(table["hours, batch"].sum(), 1e-9))
    low, high = float(table["ratio"].min()), float(table["ratio"].max())
    policy = "FCFS" if "requests" in log.lacks else "EASY"
    finding = (
        f"If jobs shared nodes and all started at once, they would take {ratio:.3g} times as long "
        f"from submission to end as under {policy} ({low:.3g} to {high:.3g} in "
        f"{count(len(table), 'week')} taken evenly from the log, as if memory were always enough)"
    )
    parts = {"batch": table["hours, batch"], "shared": table["hours, shared"]}
    picture = dot_chart(
        [str(name)[:10] if log.workload.began is not None else str(name) for name in table.index],
        {name: values.tolist() for name, values in parts.items()},
        axis(pd.concat(list(parts.values())), "mean hours from submission to end"),
    )
    reading = (
        "Jobs share nodes equally and run at the speed of their slowest node; nothing is lost by "
        "sharing itself. Short jobs gain, as none waits; long ones take longer where nodes are "
        "crowded. Each week is simulated by itself, from an empty machine, in steps of 10 s."
    )
    return Section(
        "timesharing", title, (f"{finding}; {_decided(low, high, len(table))}.",), (picture,),
        {"Time from submission to end, by week": table}, reading,
    )  # fmt: skip


def _decided(low: float, high: float, weeks: int) -> str:
    """What ratios from `low` to `high` in some weeks decide about sharing."""
    if weeks < FEWEST_WEEKS:
        return f"whether that helps is open: a log of {FEWEST_WEEKS} weeks or more would decide"
    if high < 0.99:
        return "it would help"
    if low > 1.01:
        return "it would harm"
    if low > 0.99:
        return "it would not help" if high > 1.01 else "it would change little"
    return "whether that helps is open, as weeks differ"


def _weeks_of(workload: Workload, weeks: int) -> list[tuple[float, Workload]]:
    """Some weeks of a log that have jobs, evenly from all: their begin, and their jobs."""
    submit_time = workload.jobs["submit_time"].to_numpy()
    week = ((submit_time - submit_time[0]) // WEEK).astype(np.int64)
    busy = np.unique(week)
    places = np.linspace(0, busy.size - 1, min(weeks, busy.size)).round().astype(int)
    found = []
    for number in busy[np.unique(places)].tolist():
        chosen = week == number
        held = np.cumsum(np.where(chosen, workload.jobs["nodes"], 0))
        few = workload.keep(chosen & (held <= max(MOST_HELD, held[chosen][0])), "of other weeks")
        jobs = few.jobs.drop(columns="memory", errors="ignore")
        found.append((float(submit_time[0] + WEEK * number), replace(few, jobs=jobs)))
    return found


def spoken(policy: str) -> str:
    """A policy in words."""
    words = {"EASY (sjbf)": "EASY, shortest first", "conservative": "conservative backfilling"}
    return words.get(policy, policy)


def _compared(
    log: Log, runs: Sequence[Schedule], budget: float, seed: int
) -> tuple[Comparison | None, str, str]:
    """A comparison within the budget, what it was sampled from, and why there is none."""
    workload, part = log.workload, "all of the log"
    costs = {
        run.policy: SECONDS
        * (len(workload) + QUEUE * _queue(run) * run.policy.startswith("conservative"))
        for run in runs[1:] or runs
    }
    # All of the log tells more than one more policy does.
    if budget < (FEWEST_LOGS + 1) * sum(costs.values()):
        costs.pop("conservative", None)
    names, cost = list(costs), sum(costs.values())
    logs = int(min(MOST_LOGS, budget / cost - 1))
    if logs < FEWEST_LOGS:
        jobs = max(FEWEST_JOBS, int(len(workload) * budget / cost / (FEWEST_LOGS + 1)))
        logs = FEWEST_LOGS
        if jobs < len(workload):
            workload = busy_stretch(workload, jobs)
            part = f"{jobs:,} of its {len(log.workload):,} jobs, {SAMPLED}"
    told, why = compare_where_possible(workload, names, replicates=logs, seed=seed)
    return told, part, why


def _best(told: Comparison, sampled: str) -> str:
    """The policy of the shortest mean wait beside EASY, or that none is better."""
    values = told.rows("value", measure="wait_time", statistic="mean").set_index("policy")
    first = values.index[0]
    rests = f"{percent(told.level)} of {len(told.drawn)} logs drawn anew from {sampled}"
    own = durations(*values.loc[first, ["log", "low", "high"]].astype(float))
    pairs = told.rows("ratio", measure="wait_time", statistic="mean")
    pairs = pairs[pairs["against"] == first]
    if not len(pairs):
        mean = f"{own[0]} on average ({own[1]} to {own[2]}; {rests})"
        return f"Under {spoken(first)} jobs would wait {mean}."
    lower = pairs["verdict"] == "lower"
    best = (pairs[lower] if lower.any() else pairs).sort_values("log", kind="stable").iloc[0]
    if best["verdict"] not in ("lower", "higher", "cannot tell"):
        return f"The policies tried do not differ in their mean wait, {own[0]} ({rests})."
    name = spoken(best["policy"])
    one, other = durations(*(float(values.loc[p, "log"]) for p in (first, best["policy"])))
    span = f"{best['log']:.3g} times ({best['low']:.3g} to {best['high']:.3g}; {rests})"
    if best["verdict"] == "lower":
        return (
            f"{name} would cut the mean wait under {spoken(first)} from {one} to {other}: {span}."
        )
    if best["verdict"] == "higher":
        return f"No policy tried waits less than {spoken(first)}, {one} on average: {name} {span}."
    more = "A larger budget" if SAMPLED in sampled else "A longer log"
    return (
        f"Whether {name} waits less than {spoken(first)} ({other} and {one} on average) is open: "
        f"{span}. {more} may decide it."
    )


def _ratios(told: Comparison) -> pd.DataFrame:
    """Ratios of each policy to the first, by measure."""
    table = told.rows("ratio", statistic="mean")
    table = table[table["against"] == told.policies[0]]
    kept = table[["policy", "measure", "log", "low", "high", "verdict"]]
    return kept.assign(policy=kept["policy"].map(spoken)).set_index(["policy", "measure"])


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
