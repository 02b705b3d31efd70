"""Use of a machine and waits of its jobs, and waits that no order of first come explains.

A queue in order of submission starts its first jobs as soon as they fit together on the idle nodes.
A job that waits while it and all jobs that have waited longer would fit is held back by something
else. The record does not say by what, but shows signs, of which the first that holds is counted as
the likely cause (`CAUSES`):

1. *partition*: the nodes that its partition (or queue) ever held at once are held, or too many;
2. *standstill*: no job starts anywhere for long;
3. *user*: its user has other jobs running;
4. *other*: none of these.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import count, duration, durations, percent
from cosimlib.metrics import hourly, utilization_series, waiting_jobs
from cosimlib.metrics.groups import GROUPS, job_groups, largest_groups
from cosimlib.report.log import Log, machine_table, reading_table, redrawn, window_name
from cosimlib.report.page import (
    Section,
    axis,
    dot_chart,
    heat_map,
    hours_axis,
    line_chart,
    time_axis,
)
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR, MINUTE, WEEK

QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
LABELS = ("user", "group", "queue", "partition")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

CAUSES = {
    "partition": "its partition or queue was full",
    "standstill": "no job started for hours: an outage, maintenance, or one large reservation",
    "user": "its user had other jobs running: a limit per user, or jobs that depend on one another",
    "other": "a hold, a later start asked for, a reservation, or nodes out of service",
}
"""Likely causes of waiting while nodes are idle, in the order in which their signs are tried."""

SHORT = {
    "partition": "partition or queue full", "standstill": "no job started anywhere",
    "user": "other jobs of the user running", "other": "hold, reservation, or other",
}  # fmt: skip
"""The same in a picture."""

STANDSTILL = 20
"""Mean times between starts, and at least an hour, without a start: nothing starts anywhere."""

FEWEST = 20
"""Jobs of a group that a finding may name."""


ENDED, SUBMITTED, STARTED = 0, 1, 2
"""Kinds of events, in the order in which those of an instant happen."""


class Records(NamedTuple):
    """Jobs of a recorded schedule, one value each."""

    nodes: np.ndarray
    user: np.ndarray
    """Number of the user, from 0; −1 where unknown."""
    label: np.ndarray
    """Number of the partition or queue."""


class Events(NamedTuple):
    """Ends, submissions and starts of jobs in order of time, one value per event."""

    time: np.ndarray
    kind: np.ndarray
    job: np.ndarray
    period: np.ndarray
    standstill: np.ndarray


class IdleWaits(NamedTuple):
    """Node-hours waited while enough nodes were idle.

    Parameters
    ----------
    jobs : pd.DataFrame
        Hours that each job so waited, by cause; indexed by job.
    periods : pd.DataFrame
        Node-hours by period of the log (its beginning, s) and cause; `waited` is all that was
        waited.
    length : float
        Of a period, seconds.
    """

    jobs: pd.DataFrame
    periods: pd.DataFrame
    length: float


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
    first, last = schedule.span
    last = max(last, first + MINUTE)
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


def waits_by(schedule: Schedule, by: str) -> pd.DataFrame:
    """Waits by size, length, user, group, queue or partition of the jobs.

    Parameters
    ----------
    schedule : Schedule
    by : {"size", "length", "user", "group", "queue", "partition"}
        Nodes in powers of four, run times, or the users (groups, …) with most node-hours and all
        others.

    Returns
    -------
    pd.DataFrame
        Indexed by group: `jobs`, `share` of the node-hours (of 1), and `mean`, `median`, `p90` and
        `p99` of the wait (h). Empty where no job names its user (group, …).
    """
    check.choice("by", by, dict.fromkeys(["size", "length", *LABELS]))
    jobs = schedule.jobs
    if by in GROUPS:
        groups = job_groups(schedule.workload, by)
    else:
        groups = largest_groups(schedule.workload, by, jobs.index.to_numpy())
    work = jobs["nodes"] * jobs["run_time"]
    grouped = (jobs["wait_time"] / HOUR).groupby(groups, observed=True)
    table = pd.DataFrame({name: grouped.quantile(q) for name, q in QUANTILES.items()})
    table.insert(0, "jobs", grouped.size())
    total = float(work.sum())
    share = work.groupby(groups, observed=True).sum()
    table.insert(1, "share", share / total if total > 0 else 0.0)
    table.insert(2, "mean", grouped.mean())
    return table.rename_axis(by)


def waits_by_hour(schedule: Schedule) -> pd.DataFrame:
    """Mean wait (h) by weekday (rows) and hour (columns) of the submission.

    Without jobs it is missing; empty where the log does not tell when it began.
    """
    began = schedule.workload.began
    if began is None:
        return pd.DataFrame()
    jobs = schedule.jobs
    clock = began + pd.to_timedelta(jobs["submit_time"].round(), unit="s")
    wait = (jobs["wait_time"] / HOUR).groupby([clock.dt.day_of_week, clock.dt.hour]).mean()
    table = wait.unstack().reindex(index=range(7), columns=range(24))  # noqa: PD010
    return table.set_axis(list(WEEKDAYS)).rename_axis(index="submitted on", columns="hour")


def idle_waits(schedule: Schedule, *, length: float = WEEK) -> IdleWaits:
    """Node-hours waited while a job and all that had waited longer fitted on the idle nodes.

    Parameters
    ----------
    schedule : Schedule
        As recorded.
    length : float, default a week
        Of the periods, seconds.
    """
    workload, first = schedule.workload, schedule.span[0]
    several = [c for c in ("partition", "queue") if len(workload.column(c).dropna().unique()) > 1]
    label = [*several, "partition"][0]
    records = Records(
        workload.jobs["nodes"].to_numpy(np.int64).copy(),
        *(pd.factorize(workload.column(column))[0] for column in ("user", label)),
    )
    events = _events(schedule, length)
    periods = int(events.period.max(initial=0)) + 1
    capacity = _capacity(schedule, records)
    seconds, waited = _idle_waits(events, records, capacity, schedule.total_nodes, periods)
    begin = pd.Index(first + length * np.arange(periods), name="begin")
    columns = [*CAUSES, "waited"]
    return IdleWaits(
        pd.DataFrame(seconds.T / HOUR, columns=list(CAUSES)),
        pd.DataFrame(waited.T / HOUR, index=begin, columns=columns),
        length,
    )


def log_section(log: Log, *, seed: int = 0) -> Section:
    """The log, its machine, the account of its records, and its weeks."""
    schedule, jobs = log.schedule, len(log.workload)
    first, last = schedule.span
    weeks = weekly_use(schedule)
    days = utilization_series(schedule, DAY, first, max(last, first + MINUTE))
    length = np.diff(days.index.to_numpy(), append=max(last, first + MINUTE))
    low, high, logs = redrawn(days.index.to_numpy() - first, days * length, length, seed=seed)
    interval = f"{percent(low)} to {percent(high)}; " if np.isfinite(low) else ""
    finding = (
        f"{count(jobs, 'job')} hold {percent(schedule.utilization(first, last))} of "
        f"{count(log.machine.total_nodes, log.unit)} over {duration(last - first)} "
        f"({interval}{logs}){log.simulated}."
    )
    if log.lacks:
        finding += f" The log has oddities: {'; '.join(log.lacks.values())}."
    times = np.append(weeks["begin"], last)
    series = {
        name: (times, 100 * np.append(weeks[column], weeks[column].iloc[-1]))
        for column, name in (("utilization", "utilization"), ("offered_load", "offered load"))
    }
    top = axis(100 * weeks[["utilization", "offered_load"]].to_numpy().ravel(),
               "percent of the machine")  # fmt: skip
    picture = line_chart(series, time_axis(first, last, schedule.workload.began), top, steps=True)
    begin = [window_name(schedule, t, t + WEEK) for t in weeks["begin"]]
    tables = {
        "The machine and its jobs": machine_table(log).set_index("what"),
        "The account of the records": reading_table(log.workload).set_index("what"),
        "Weeks (waits in hours)": weeks.drop(columns="begin").set_axis(begin).rename_axis("week"),
    }
    reading = (
        "Utilization is the share of the machine that jobs held in a week, offered load the work "
        "submitted in it. Where load is above utilization the queue grows. Dropped records are no "
        "jobs or do not fit, mended ones were changed, noted ones may matter."
    )
    return Section("log", "The log", (finding,), (picture,), tables, reading)


def waits_section(log: Log, *, seed: int = 0) -> Section:
    """Who waits, and whether that was necessary."""
    if "waits" in log.lacks or "starts" in log.lacks:
        sentence = "Who waits is open: a log with submissions and starts would tell."
        return Section("waits", "Who waits", (sentence,))
    schedule = log.schedule
    tables = {by: waits_by(schedule, by) for by in ("size", "length", *LABELS)}
    shown = {f"Waits by {by} of the jobs (h)": table for by, table in tables.items() if len(table)}
    sizes = tables["size"]
    marks = {"half of the jobs wait no longer": sizes["median"], "90 % of them": sizes["p90"]}
    rows = [f"{size} {log.unit}s" for size in sizes.index]
    clipped = {name: values.clip(lower=1 / 60).tolist() for name, values in marks.items()}
    pictures = [dot_chart(rows, clipped, hours_axis(sizes["p90"], "wait"))]
    by_hour = waits_by_hour(schedule)
    if len(by_hour):
        pictures.append(heat_map(by_hour, "Mean wait by time of submission"))
        shown["Mean wait by weekday and hour of the submission (h)"] = by_hour
    finding, picture, table = _idle_finding(log, seed)
    reading = (
        "A mark is the wait that half of the jobs, or 90 % of them, do not exceed. Dark cells are "
        "times of submission with long waits. The last picture shows the queue that idle nodes "
        "could have taken: nodes asked for by jobs that waited although they, and all jobs that "
        "had waited longer, fitted on the idle nodes together. No order of first come does that."
    )
    return Section(
        "waits", "Who waits, and was it necessary?", (_who_waits(log, sizes, seed), finding),
        (*pictures, *picture), shown | table, reading,
    )  # fmt: skip


def _who_waits(log: Log, sizes: pd.DataFrame, seed: int) -> str:
    """The mean wait with its interval, and the sizes that wait longest."""
    jobs, first = log.schedule.jobs, log.schedule.span[0]
    low, high, logs = redrawn(
        jobs["submit_time"] - first, jobs["wait_time"], np.ones(len(jobs)), seed=seed
    )
    mean, below, above = durations(float(jobs["wait_time"].mean()), low, high)
    median = duration(float(jobs["wait_time"].median()))
    interval = f"{below} to {above}; " if np.isfinite(low) else ""
    sentence = f"Jobs wait {mean} on average ({interval}{logs}), half of them {median} or less"
    large = sizes[sizes["jobs"] >= min(FEWEST, sizes["jobs"].max())]
    worst = large["mean"].idxmax()
    row = large.loc[worst]
    if not row["mean"] > 0 or len(large) < 2:
        return f"{sentence}."
    return (
        f"{sentence}. Jobs of {worst} {log.unit}s wait longest, {duration(row['mean'] * HOUR)} on "
        f"average; they are {percent(row['jobs'] / len(jobs))} of the jobs and have "
        f"{percent(row['share'])} of the {log.unit}-hours."
    )


def _idle_finding(log: Log, seed: int) -> tuple[str, list[str], dict[str, pd.DataFrame]]:
    """What was waited while enough nodes were idle: the sentence, the picture, the table."""
    if "idle nodes" in log.lacks:
        sentence = f"Whether waiting was necessary is open: {log.lacks['idle nodes']}."
        return sentence, [], {}
    first, last = log.schedule.span
    waits = idle_waits(log.schedule, length=WEEK if last - first >= 8 * WEEK else DAY)
    causes, waited = waits.periods[list(CAUSES)], waits.periods["waited"]
    total, idle = float(waited.sum()), float(causes.to_numpy().sum())
    if not total > 0:
        return "No job waited.", [], {}
    low, high, logs = redrawn(
        waits.periods.index.to_numpy() - first, causes.sum(axis=1), waited, seed=seed
    )
    unit = f"{log.unit}-hours"
    sentence = (
        f"{percent(idle / total)} of the {unit} waited ({idle:,.0f} of {total:,.0f}) were waited "
        f"while enough {log.unit}s were idle for the job and all that had waited longer "
        f"({f'{percent(low)} to {percent(high)}; ' * bool(np.isfinite(low))}{logs})"
    )
    if idle < 0.01 * total:
        return (
            f"{sentence}: waiting was necessary, as far as first come, first served goes.",
            [],
            {},
        )
    by_cause = causes.sum().sort_values(ascending=False, kind="stable")
    likely, worst = by_cause.index[0], float(causes.sum(axis=1).idxmax())
    most = window_name(log.schedule, worst, worst + waits.length)
    sentence += (
        f"; most from {most}. The likely cause of "
        f"{percent(by_cause.iloc[0] / idle)} of it: {CAUSES[likely]}."
    )
    nodes = causes * HOUR / waits.length
    times = np.append(nodes.index, nodes.index[-1] + waits.length)
    series = {
        SHORT[cause]: (times, np.append(nodes[cause], nodes[cause].iloc[-1]))
        for cause in by_cause.index if by_cause[cause] > 0
    }  # fmt: skip
    top = axis(nodes.to_numpy().ravel(), f"{log.unit}s waited for, though idle")
    picture = line_chart(
        series, time_axis(times[0], times[-1], log.workload.began), top, steps=True
    )
    table = pd.DataFrame({
        "likely cause": [CAUSES[cause] for cause in by_cause.index],
        unit: by_cause.to_numpy(), "share": by_cause.to_numpy() / idle,
        "jobs": [int((waits.jobs[cause] > 0).sum()) for cause in by_cause.index],
    }).set_index("likely cause")  # fmt: skip
    return sentence, [picture], {f"{unit} waited while enough {log.unit}s were idle": table}


def _events(schedule: Schedule, length: float) -> Events:
    """All events of a schedule in order."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    columns = (schedule.end_time, submit_time, schedule.start_time)
    time, jobs = np.concatenate(columns), submit_time.size
    kind = np.repeat(np.arange(3), jobs)
    order = np.lexsort((kind, time))
    time = time[order]
    starts = np.sort(schedule.start_time)
    bounds = np.concatenate([[-np.inf], starts, [np.inf]])
    after = np.searchsorted(bounds, time, side="right")
    gap = bounds[np.minimum(after, bounds.size - 1)] - bounds[after - 1]
    mean_gap = float(np.ptp(starts)) / max(1, jobs - 1)
    period = ((time - submit_time[0]) // length).astype(np.int64)
    return Events(
        time, kind[order], np.tile(np.arange(jobs), 3)[order], period,
        gap >= max(HOUR, STANDSTILL * mean_gap),
    )  # fmt: skip


def _capacity(schedule: Schedule, records: Records) -> np.ndarray:
    """The most nodes that each partition or queue ever held at once; the last is that of none."""
    label = records.label
    most = np.full(int(label.max(initial=-1)) + 2, schedule.total_nodes)
    jobs = pd.DataFrame({"label": label, "start": schedule.start_time, "end": schedule.end_time,
                         "nodes": records.nodes})  # fmt: skip
    for number, rows in jobs[label >= 0].groupby("label"):
        moments = np.concatenate([rows["end"], rows["start"]])
        change = np.concatenate([-rows["nodes"], rows["nodes"]])
        held = np.cumsum(change[np.argsort(moments, kind="stable")])
        most[int(number)] = held.max(initial=0)
    return most


def _idle_waits(
    events: Events, records: Records, capacity: np.ndarray, total: int, periods: int
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds per cause and job, and node-seconds per cause (the last: all waited) and period."""
    kinds = len(CAUSES)
    seconds = [[0.0] * records.nodes.size for _ in range(kinds)]
    waited = [[0.0] * periods for _ in range(kinds + 1)]
    nodes, users, labels, most = (each.tolist() for each in (*records, capacity))
    of_user, of_label = [0] * (max(users, default=0) + 2), [0] * len(most)
    queue: dict[int, None] = {}  # in order of submission
    held = asked = 0
    lengths = np.append(np.diff(events.time), 0.0).tolist()
    rows = zip(*(each.tolist() for each in events[1:]), lengths, strict=True)
    for kind, job, period, standstill, length in rows:
        if kind == SUBMITTED:
            queue[job] = None
            asked += nodes[job]
        else:
            sign = -1 if kind == ENDED else 1
            held += sign * nodes[job]
            of_user[users[job]] += sign
            of_label[labels[job]] += sign * nodes[job]
        if kind == STARTED:
            del queue[job]
            asked -= nodes[job]
        if not queue or not length:
            continue
        waited[kinds][period] += asked * length
        idle = total - held
        for first in queue:
            if nodes[first] > idle:
                break
            idle -= nodes[first]
            label, user = labels[first], users[first]
            full = label >= 0 and most[label] - of_label[label] < nodes[first]
            others = user >= 0 and of_user[user] > 0
            cause = 0 if full else 1 if standstill else 2 if others else 3
            seconds[cause][first] += length
            waited[cause][period] += nodes[first] * length
    return np.array(seconds), np.array(waited)
