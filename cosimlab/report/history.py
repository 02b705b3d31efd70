"""What the record alone tells next: months, outcomes of jobs, requests, before and after a date.

Each section is None where the log cannot tell. *Before and after* compares weeks of two periods.
Weeks differ by their load, too. So the logarithm of a week's mean wait is fitted by a constant, the
load offered in the week, and whether the week is after the date (least squares). The last
coefficient is the change at equal load. Intervals draw the weeks of either period anew.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlab.report.log import (
    REDRAWS,
    Interval,
    Log,
    interval_around,
    interval_of,
    made_once,
    window_name,
)
from cosimlab.report.page import Section, cell, dot_chart, panels_chart
from cosimlab.report.policies import described_by, policies_section, replay
from cosimlab.report.waits import FEWEST
from cosimlib import checks as check
from cosimlib.calendar import Calendar
from cosimlib.display import count, duration, percent, times_as_long
from cosimlib.metrics import occupied_nodes
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR, MINUTE, WEEK

FAILED, COMPLETED, CANCELLED = 0, 1, 5
"""Status of a job (SWF 11)."""

MOST_UNKNOWN = 0.1
"""Share of the jobs without a status up to which outcomes are told."""

SHORTEST_MONTH = 15.0
"""Days of a month in the log from which on it counts in a finding."""

FEWEST_MONTHS, FEWEST_SIDE = 3, 4
"""Months that are told apart, and weeks before and after a date."""


@made_once
def months_section(log: Log) -> Section | None:
    """Section: use and waits by month; None for a log without dates or of few months."""
    began = log.schedule.workload.began
    if began is None or "starts" in log.lacks:
        return None
    # Some logs are of jobs that start in a period: their first submissions are long before.
    first, last = log.window
    # On the site's own clock, which summer time puts forward.
    begin, end = ((began + pd.Timedelta(at, "s")).tz_localize(None) for at in (first, last))
    months = pd.period_range(begin, end, freq="M")
    if len(months) < FEWEST_MONTHS:
        return None
    edges = np.append(np.maximum([_second(began, month) for month in months], first), last)
    table = _by_month(log.schedule, edges).set_axis(months.astype(str)).rename_axis("month")
    whole = table[(table["days"] >= SHORTEST_MONTH) & (table["jobs"] >= FEWEST)]
    if len(whole) < FEWEST_MONTHS:
        return None
    use = whole["utilization"]
    finding = f"By month, use ranges from {percent(use.min(), 0)} to {percent(use.max(), 0)}"
    beyond = use.max() > 1
    if beyond:
        finding = "By month, use is open, as jobs hold more than the machine has"
    panels = {"% used": pd.Series(100 * table["utilization"].to_numpy(), edges[:-1])}
    if "waits" in log.lacks:
        table = table.drop(columns=["mean wait (h)", "median wait (h)", "p90 wait (h)"])
    else:
        wait = whole["mean wait (h)"] * HOUR
        low, high = (
            f"{duration(wait[month])} ({month})" for month in (wait.idxmin(), wait.idxmax())
        )
        finding += "; the mean wait ranges" if beyond else ", the mean wait"
        finding += f" from {low} to {high}"
        panels["mean wait (h)"] = pd.Series(table["mean wait (h)"].fillna(0).to_numpy(), edges[:-1])
    shaded = log.windows[["start", "end"]].to_numpy()
    drawn = panels_chart(panels, float(edges[-1]), began, shaded)
    how = (
        f"Months with at least {SHORTEST_MONTH:g} days and {FEWEST} jobs, from the log's first "
        "start on. Waits are of the jobs that are submitted in the month."
    )
    computed = {f"{finding}.": how}
    tables = {"Use and waits by month": table}
    return Section("months", "Month by month", tuple(computed), (drawn,), tables, "", computed)


def _second(began: pd.Timestamp, month: pd.Period) -> float:
    """The second of the log at which a month begins on the site's clock."""
    begin = month.start_time
    if began.tzinfo is not None:
        begin = begin.tz_localize(began.tzinfo, ambiguous=True, nonexistent="shift_forward")
    return (begin - began).total_seconds()


def _by_month(schedule: Schedule, edges: np.ndarray) -> pd.DataFrame:
    """Days, jobs, utilization and waits between edges (s)."""
    held = occupied_nodes(schedule)
    times, nodes = held.index.to_numpy(), held.to_numpy()
    until = np.append(0.0, np.cumsum(nodes[:-1] * np.diff(times)))
    used = np.diff(np.interp(edges, times, until))
    length = np.diff(edges)
    jobs = schedule.jobs
    jobs = jobs[jobs["submit_time"] >= edges[0]]
    month = np.searchsorted(edges[1:-1], jobs["submit_time"], "right")
    wait = (jobs["wait_time"] / HOUR).groupby(month)
    columns = {
        "days": pd.Series(length / DAY),
        "jobs": wait.size(),
        "utilization": pd.Series(used / (schedule.total_nodes * np.maximum(length, 1e-9))),
        "mean wait (h)": wait.mean(),
        "median wait (h)": wait.median(),
        "p90 wait (h)": wait.quantile(0.9),
    }
    table = pd.DataFrame(columns).reindex(range(length.size))
    return table.assign(jobs=table["jobs"].fillna(0).astype(int))


@made_once
def outcomes_section(log: Log) -> Section | None:
    """Section: node-hours of jobs that did not complete; None where statuses do not tell."""
    workload = log.schedule.workload
    status, jobs = workload.column("status"), workload.jobs
    kinds = set(status.dropna().astype(int))
    known = status.notna().mean() >= 1 - MOST_UNKNOWN
    if not known or COMPLETED not in kinds or len(jobs) < FEWEST:
        return None
    if len(kinds) < 2 or not kinds <= {FAILED, COMPLETED, CANCELLED}:
        return None
    at_limit = (jobs["run_time"] >= jobs["requested_time"]) & (status != COMPLETED)
    outcome = status.map({FAILED: "failed", COMPLETED: "completed", CANCELLED: "cancelled"})
    outcome = outcome.astype("object").fillna("unknown").mask(at_limit.fillna(False), "timed out")
    work = jobs["nodes"] * jobs["run_time"] / HOUR
    table = pd.DataFrame(
        {"jobs": outcome.value_counts(), f"{log.unit}-hours": work.groupby(outcome).sum()}
    )
    table["share"] = table[f"{log.unit}-hours"] / max(float(work.sum()), 1e-9)
    table = table.sort_values("share", ascending=False).rename_axis("outcome")
    lost = table["share"].drop(["completed", "unknown"], errors="ignore")
    at = jobs["submit_time"] - log.schedule.span[0]
    interval = interval_of(at, work.where(outcome.isin(lost.index), 0.0), work, seed=log.seed)
    parts = ", ".join(f"{percent(share)} {name}" for name, share in lost.items())
    finding = (
        f"Incomplete jobs hold {percent(lost.sum())} of the {log.unit}-hours"
        f"{interval.text(percent)}: {parts}."
    )
    how = (
        "By the status that the log records. A job that did not complete and ran for its requested "
        f"time or longer is counted as timed out. {interval.basis}"
    )
    tables = {"Jobs by their outcome": table}
    return Section(
        "outcomes", "Jobs that did not complete", (finding,), (), tables, "", {finding: how}
    )


@made_once
def requests_section(log: Log) -> Section | None:
    """Section: over-requested time, and what exact requests would bring; None without requests."""
    jobs = log.schedule.workload.jobs
    if "requests" in log.lacks or len(jobs) < FEWEST:
        return None
    asked = jobs["nodes"] * jobs["requested_time"]
    used = jobs["nodes"] * np.minimum(jobs["run_time"], jobs["requested_time"])
    at = jobs["submit_time"] - log.schedule.span[0]
    interval = interval_of(at, used, asked, seed=log.seed)
    half = (jobs["run_time"] / jobs["requested_time"]).median()
    finding = (
        f"Jobs use {percent(used.sum() / asked.sum())} of their requested {log.unit}-hours"
        f"{interval.text(percent)}; half use {percent(half)} of their time or less."
    )
    how = f"Run time beyond the requested time does not count. {interval.basis}"
    computed = {finding: how} | _exact_requests(log)
    groups = pd.DataFrame({"asked": asked, "used": used, "nodes": jobs["nodes"]})
    widest = int(groups["nodes"].max())
    size = pd.cut(groups["nodes"], _size_edges(widest), right=True)
    sums = groups.groupby(size, observed=True)[["asked", "used"]].sum()
    table = pd.DataFrame({"share used": sums["used"] / sums["asked"]})
    table.index = [_size_name(each, widest, log.unit) for each in sums.index]
    drawn = dot_chart(100 * table, "percent of the requested time used")
    caption = f"Share of the requested {log.unit}-hours that is used, by size"
    tables = {caption: table.rename_axis("size")}
    return Section(
        "requests", "Requested and used time", tuple(computed), (drawn,), tables, "", computed
    )


def _size_edges(most: int) -> list[int]:
    """Edges of sizes in powers of four."""
    edges = [0, 1]
    while edges[-1] < most:
        edges.append(4 * edges[-1])
    return edges


def _size_name(size: pd.Interval, widest: int, unit: str) -> str:
    """The sizes of a group in words, up to the widest job."""
    low, high = int(size.left) + 1, min(int(size.right), widest)
    return count(low, unit) if low == high else f"{low:,}–{high:,} {unit}s"


def _exact_requests(log: Log) -> dict[str, str]:
    """Finding: the effect of exact requests under the policy that describes the site, if any."""
    policies_section(log)
    base = described_by(log)
    if base is None:
        return {
            "What exact requests would bring is open: no policy is known to describe this site.": ""
        }
    workload = log.workload
    exact = workload.jobs.assign(requested_time=workload.jobs["run_time"].clip(lower=1.0))
    calendar = Calendar(log.windows)
    (plain,), _ = replay(workload, [base], calendar=calendar)
    (better,), _ = replay(replace(workload, jobs=exact), [base], calendar=calendar)
    at = workload.jobs["submit_time"] - log.schedule.span[0]
    waits = [run.jobs["wait_time"] for run in (better, plain)]
    if waits[1].sum() == 0:
        return {}
    interval = interval_of(at, *waits, seed=log.seed)
    ratio = times_as_long(cell(float(waits[0].sum() / waits[1].sum())))
    finding = f"Under {base}, with exact requests the mean wait would be {ratio}"
    how = (
        f"All jobs of the log under {base}, which describes this site, with requested times equal "
        f"to run times. {interval.basis}"
    )
    return {f"{finding}{interval.text(cell)}.": how}


def change_section(log: Log, *, since: str | float) -> Section:
    """Section: waits before and after a date, also at equal load.

    Parameters
    ----------
    log : Log
    since : str or float
        A date such as ``"2024-03-01"``, or seconds of the log.
    """
    title = "Before and after"
    if log.lacks.keys() & {"waits", "starts"}:
        return Section("change", title, ("What changed is open: the log does not record waits.",))
    at, name = _instant(log, since)
    weeks = weeks_around(log.schedule, at)
    sides = weeks.groupby("after").size().reindex([False, True], fill_value=0)
    if sides.min() < FEWEST_SIDE:
        why = (
            f"What changed since {name} is open: {count(int(sides[False]), 'week')} before, "
            f"{count(int(sides[True]), 'week')} after; expected {FEWEST_SIDE} or more each."
        )
        return Section("change", title, (why,))
    raw, equal = _change(weeks, log.seed)
    before, after = weeks.groupby("after")[["waited", "jobs"]].sum().eval("waited / jobs")
    ratio = times_as_long(cell(after / max(before, 1e-9)))
    first = (
        f"Since {name}, jobs wait {ratio}{raw.text(cell)}: "
        f"{duration(after)} on average, {duration(before)} before."
    )
    word = "whether waits changed is open"
    if equal[1].high < 1:
        word = "waits fell"
    elif equal[1].low > 1:
        word = "waits rose"
    at_equal_load = times_as_long(cell(equal[0]))
    second = f"At equal load they would wait {at_equal_load}{equal[1].text(cell)}: {word}."
    how = (
        f"{count(int(sides[False]), 'whole week')} before and {int(sides[True]):,} after. The "
        f"weeks of either period are drawn anew {REDRAWS:,} times; the interval holds 95 %."
    )
    fit = (
        "The logarithm of a week's mean wait is fitted by the load offered in the week and by the "
        "period (least squares). Other changes at that time have the same effect in the log."
    )
    table = weeks.groupby("after").agg(
        weeks=("jobs", "size"), jobs=("jobs", "sum"), load=("load", "mean"), wait=("wait", "mean")
    )
    table = table.set_axis(["before", "after"]).rename_axis("period")
    table.columns = ["weeks", "jobs", "offered load", "mean wait of a week (h)"]
    computed = {first: how, second: fit}
    return Section("change", title, tuple(computed), (), {"Both periods": table}, "", computed)


def _instant(log: Log, since: str | float) -> tuple[float, str]:
    """The second of the log at a date, and its name."""
    first, last = log.schedule.span
    if not isinstance(since, str):
        check.seconds("since", since)
        fine = first <= since <= last
        check.that("since", since, fine, f"seconds of the log, {first:g} to {last:g}")
        return float(since), f"day {since / DAY:,.1f}"
    began = log.schedule.workload.began
    if began is None:
        raise ValueError(f"since={since!r}; expected seconds, as {log.workload.name} has no dates")
    try:
        date = pd.Timestamp(since)
    except ValueError:
        date = pd.NaT
    check.that("since", since, not pd.isna(date), "a date such as 2024-03-01")
    if date.tzinfo is None and began.tzinfo is not None:
        date = date.tz_localize(began.tzinfo, ambiguous=True, nonexistent="shift_forward")
    elif date.tzinfo is not None and began.tzinfo is None:
        date = date.tz_localize(None)
    at = (date - began).total_seconds()
    check.that(
        "since",
        since,
        first <= at <= last,
        f"a date of the log: {window_name(log.schedule, first, last)}",
    )
    return at, since


def weeks_around(schedule: Schedule, at: float) -> pd.DataFrame:
    """Whole weeks before and after an instant (s) in which jobs are submitted.

    Returns
    -------
    pd.DataFrame
        `after` the instant or not, `jobs`, what they `waited` in all (s), their mean `wait` (h),
        the offered `load`.
    """
    jobs = schedule.jobs
    first, last = float(jobs["submit_time"].min()), float(jobs["submit_time"].max())
    week = ((jobs["submit_time"] - at) // WEEK).astype("int64")
    whole = (at + WEEK * week >= first) & (at + WEEK * (week + 1) <= last)
    work = (jobs["nodes"] * jobs["run_time"])[whole].groupby(week[whole]).sum()
    wait = jobs["wait_time"][whole].groupby(week[whole])
    table = pd.DataFrame({"jobs": wait.size(), "waited": wait.sum(), "wait": wait.mean() / HOUR})
    load = work / (schedule.total_nodes * WEEK)
    return table.assign(load=load, after=table.index >= 0).rename_axis("week")


def _change(weeks: pd.DataFrame, seed: int) -> tuple[Interval, tuple[float, Interval]]:
    """Interval of the ratio of mean waits; the ratio at equal load, and its interval."""
    random = np.random.default_rng(seed)
    rows = [np.flatnonzero(weeks["after"] == side) for side in (False, True)]
    drawn = [
        np.concatenate([random.choice(each, each.size) for each in rows]) for _ in range(REDRAWS)
    ]
    names = ("after", "waited", "jobs", "wait", "load")
    columns = {name: weeks[name].to_numpy(float) for name in names}

    def ratio(chosen: np.ndarray) -> float:
        after = columns["after"][chosen] > 0
        sums = [
            columns["waited"][chosen][side].sum() / columns["jobs"][chosen][side].sum()
            for side in (after, ~after)
        ]
        return sums[0] / max(sums[1], 1e-9)

    def at_equal_load(chosen: np.ndarray) -> float:
        features = [np.ones(chosen.size), columns["load"][chosen], columns["after"][chosen]]
        wait = np.log(columns["wait"][chosen] + MINUTE / HOUR)
        return float(np.exp(np.linalg.lstsq(np.stack(features, 1), wait, rcond=None)[0][2]))

    every = np.arange(len(weeks))
    raw, equal = (
        interval_around(value(every), np.array([value(each) for each in drawn]), every.size, "week")
        for value in (ratio, at_equal_load)
    )
    return raw, (at_equal_load(every), equal)
