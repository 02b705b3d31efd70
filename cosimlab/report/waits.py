"""Use of a machine, waits of its jobs, those that no order of submission explains, and forecasts.

A queue in order of submission starts its first jobs as soon as they fit together on the idle nodes.
A job that waits while it and all jobs that have waited longer would fit is held back by something
else. The record does not say by what, but shows signs, of which the first that holds is counted as
the likely cause (`CAUSES`):

1. *closure*: the machine is closed, or is known to close before the job's requested time ends;
2. *partition*: the nodes that its partition (or queue) ever held at once are held, or too many;
3. *standstill*: no job starts anywhere for long;
4. *user*: its user has other jobs running;
5. *other*: none of these.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cosimlab.forecasting import Backtest, backtest
from cosimlab.forecasting.backtest import FEW_INSTANTS
from cosimlab.report.log import (
    LEAST_SCORE,
    NO_WINDOWS,
    Log,
    interval_text,
    machine_table,
    made_once,
    window_name,
)
from cosimlab.report.page import Section, cell, dot_chart, hours_axis, steps_chart
from cosimlib.display import count, duration, percent
from cosimlib.kernels.steps import step_function
from cosimlib.metrics import hourly, utilization_series, waiting_jobs
from cosimlib.metrics.groups import GROUPS, OTHERS, job_groups
from cosimlib.metrics.series import waiting_nodes
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR, MINUTE, WEEK

QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

CAUSES = {
    "closure": "the machine was closed, or about to close",
    "partition": "a full partition or queue",
    "standstill": "an outage, maintenance, or a large reservation",
    "user": "limits per user, or jobs that follow others",
    "other": "a hold, a reservation, or nodes out of service",
}
"""Likely causes of waiting while nodes are idle, in the order in which their signs are tried."""

SIGNS = (
    "The last picture shows what was asked for by jobs that waited although they, and all jobs "
    "that had waited longer, fitted on what was idle together: first come, first served would have "
    "started them. Signs of the likely causes, in order: the partition or queue is full; no job "
    "starts anywhere for hours; the user has other jobs running; none of these."
)

STANDSTILL = 20
"""Mean times between starts, and at least an hour, without a start: nothing starts anywhere."""

FEWEST = 20
"""Jobs of a group that a finding may name."""

NECESSARY = 0.01
"""Share of the node-hours waited while nodes were idle, below which waiting was necessary."""

STARTS_TITLE = "When would a job start?"
INSTANTS, FEWEST_INSTANTS, FUTURES = 90, 12, 20
"""Past instants at which starts are forecast, at most and at least, and futures per forecast."""

QUEUE = 200.0
"""Mean number of waiting jobs from which on fewer instants are taken."""

SCORES = {
    "coverage_50": "50 % intervals hold (%)",
    "coverage_80": "80 % intervals hold (%)",
    "pinball": "loss (h)",
}

ENDED, SUBMITTED, STARTED = 0, 1, 2
"""Kinds of events, in the order in which those of an instant happen."""


def weekly_use(schedule: Schedule) -> pd.DataFrame:
    """Weekly table of load, utilization and queue, from first submission to last end.

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
        `p99` of the wait (h). Empty if no job has a user (group, …).
    """
    jobs, groups = schedule.jobs, job_groups(schedule.workload, by)
    work = jobs["nodes"] * jobs["run_time"]
    grouped = (jobs["wait_time"] / HOUR).groupby(groups, observed=True)
    table = pd.DataFrame({name: grouped.quantile(q) for name, q in QUANTILES.items()})
    table.insert(0, "jobs", grouped.size())
    share = work.groupby(groups, observed=True).sum() / max(float(work.sum()), 1e-9)
    table.insert(1, "share", share)
    table.insert(2, "mean", grouped.mean())
    return table.rename_axis(by)


def waits_by_hour(schedule: Schedule) -> pd.DataFrame:
    """Mean wait (h) by weekday (rows) and hour (columns) of the submission.

    A cell without jobs is missing; the table is empty if the log does not say when it began.
    """
    began = schedule.workload.began
    if began is None:
        return pd.DataFrame()
    jobs = schedule.jobs
    clock = began + pd.to_timedelta(jobs["submit_time"].round(), unit="s")
    wait = (jobs["wait_time"] / HOUR).groupby([clock.dt.day_of_week, clock.dt.hour]).mean()
    table = wait.unstack().reindex(index=range(7), columns=range(24))  # noqa: PD010
    return table.set_axis(list(WEEKDAYS)).rename_axis(index="submitted on", columns="hour")


def idle_waits(
    schedule: Schedule, *, length: float = WEEK, windows: pd.DataFrame = NO_WINDOWS
) -> pd.DataFrame:
    """Node-hours waited by jobs that fitted on the idle nodes with all that had waited longer.

    Parameters
    ----------
    schedule : Schedule
        As recorded.
    length : float, default a week
        Of the periods, seconds.
    windows : pd.DataFrame, optional
        In which the machine was closed, as `closures` has them.

    Returns
    -------
    pd.DataFrame
        Node-hours by period of the log (its beginning, s) and cause; `waited` is all that was
        waited.
    """
    workload, (first, last) = schedule.workload, schedule.span
    several = [c for c in ("partition", "queue") if workload.column(c).dropna().unique().size > 1]
    user, label = (
        pd.factorize(workload.column(column))[0] for column in ("user", [*several, "partition"][0])
    )
    nodes = workload.jobs["nodes"].to_numpy()
    begin = np.arange(first, max(last, first + 1), length)
    requested = workload.jobs["requested_time"].fillna(0.0).to_numpy()
    events, most = _events(schedule, length, windows), _capacity(schedule, label)
    held_back = _held_back(events, nodes, requested, user, label, most, begin.size)
    table = pd.DataFrame(held_back.T / HOUR, pd.Index(begin, name="begin"), list(CAUSES))
    every = np.diff(begin, append=max(last, first + 1))
    queue = hourly(waiting_nodes(schedule), length, first, max(last, first + 1)).to_numpy()
    return table.assign(waited=queue * every / HOUR)


@made_once
def log_section(log: Log) -> Section:
    """Section: the log, its machine, the account of its records, and its weeks."""
    schedule = log.schedule
    first, last = schedule.span
    end = max(last, first + MINUTE)
    days = utilization_series(schedule, DAY, first, end)
    length = np.diff(days.index.to_numpy(), append=end)
    at = days.index.to_numpy() - first
    interval = interval_text(at, days * length, length, percent, seed=log.seed)
    findings = [
        f"{count(len(log.workload), 'job')} hold {percent(schedule.utilization(first, last))} of "
        f"{count(log.machine.total_nodes, log.unit)} over {duration(last - first)}"
        f"{log.simulated} {interval}."
    ]
    if log.used < 0.995:
        findings.append(f"This report is on {percent(log.used)} of the log's {log.unit}-hours.")
    findings += [f"{why[0].upper()}{why[1:]}." for why in log.lacks.values()]
    closed, windows = _closures(log)
    findings += closed
    weeks = weekly_use(schedule)
    shown = 100 * weeks.set_index("begin")[["utilization", "offered_load"]]
    shown.columns = ["utilization", "offered load"]
    shaded = log.windows[["start", "end"]].to_numpy()
    picture = steps_chart(shown, end, log.workload.began, "percent of the machine", shaded)
    begin = [window_name(schedule, t, t + WEEK) for t in weeks["begin"]]
    tables = {
        "The machine and its jobs": machine_table(log),
        "Records dropped, mended and noted": log.workload.account.set_index("action"),
        "Weeks (waits in hours)": weeks.drop(columns="begin").set_axis(begin).rename_axis("week"),
    } | windows
    how_to_read = (
        "Utilization is the share of the machine that jobs held in a week, offered load the work "
        "submitted in it. Where load is above utilization the queue grows. Dropped records are no "
        "jobs or do not fit, mended ones were changed, noted ones may matter."
    )
    return Section("log", "The log", (" ".join(findings),), (picture,), tables, how_to_read)


def _closures(log: Log) -> tuple[list[str], dict[str, pd.DataFrame]]:
    """Windows in which the machine seems to have been closed: a sentence, a table; or none."""
    windows = log.windows
    if not len(windows):
        return [], {}
    start, end = windows["start"], windows["end"]
    hours, sudden = (end - start) / HOUR, int((windows["kind"] == "down").sum())
    notice = f" Of these windows, {sudden} were known less than an hour ahead." * (sudden > 0)
    sentence = (
        f"The machine seems to have been closed in {count(len(windows), 'window')} of three hours "
        f"or more (grey in the first picture), {hours.sum():,.0f} h in all: jobs held at most 2 % "
        f"of the {log.unit}s, and for {percent(LEAST_SCORE)} or more of each window (its score) "
        f"jobs waited that all fitted on the idle ones.{notice}"
    )
    table = pd.DataFrame(
        {
            "hours": hours,
            "known ahead (h)": (start - windows["known_from"]) / HOUR,
            "score": windows["score"],
            "jobs started within": windows["contradicting"].map(len),
        }
    )
    names = [window_name(log.schedule, *times) for times in zip(start, end, strict=True)]
    caption = "Windows in which the machine seems to have been closed"
    return [sentence], {caption: table.set_axis(names).rename_axis("window")}


@made_once
def waits_section(log: Log) -> Section:
    """Section: who waits, and whether that was necessary."""
    title = "Who waits, and was it necessary?"
    if "waits" in log.lacks or "starts" in log.lacks:
        sentence = "Who waits is open: a log with submissions and starts would decide it."
        return Section("waits", title, (sentence,))
    schedule = log.schedule
    groups = {by: waits_by(schedule, by) for by in GROUPS}
    groups["size"].index = [
        f"{size} {log.unit}{'s' * (size != '1')}" for size in groups["size"].index
    ]
    by_hour = waits_by_hour(schedule)
    longest = _longest(groups)
    tables = {f"Who waits longest (h; share of the {log.unit}-hours)": longest}
    tables |= {f"Waits by {by} of the jobs (h)": t for by, t in groups.items() if len(t)}
    sizes = groups["size"]
    marks = sizes[["median", "p90"]].clip(lower=1 / 60)
    marks.columns = ["half of the jobs wait no longer", "90 % of them"]
    pictures = [dot_chart(marks, hours_axis(sizes["p90"], "wait"))]
    if len(by_hour):
        tables["Mean wait by weekday and hour of the submission (h)"] = by_hour
    how_to_read = "A mark is the wait that half of the jobs, or 90 % of them, do not exceed."
    findings = [_who_waits(log, longest)]
    if (schedule.jobs["wait_time"] > 0).any():
        finding, picture, table = _idle_finding(log)
        findings.append(finding)
        pictures += picture
        tables |= table
        how_to_read += f" {SIGNS}" * bool(picture)
        if picture and len(log.windows):
            how_to_read += " Before all these: the machine is closed, or soon will be."
    return Section("waits", title, tuple(findings), tuple(pictures), tables, how_to_read)


def _longest(groups: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The group of the longest mean wait by size, by length, …, of those with enough jobs."""
    named = {by: t[(t["jobs"] >= FEWEST) & (t.index != OTHERS)] for by, t in groups.items()}
    rows = {by: table.nlargest(1, "mean") for by, table in named.items() if len(table) > 1}
    empty = groups["size"].head(0)
    return pd.concat(rows or {"size": empty}, names=["longest by", "jobs of"])


def _who_waits(log: Log, longest: pd.DataFrame) -> str:
    """The mean wait with its interval, and who waits longest."""
    jobs, first = log.schedule.jobs, log.schedule.span[0]
    wait = jobs["wait_time"]
    if not (wait > 0).any():
        return "No job waits."
    at = jobs["submit_time"] - first
    interval = interval_text(at, wait, np.ones(len(jobs)), duration, seed=log.seed)
    half = duration(wait.median())
    sentence = f"Jobs wait {duration(wait.mean())} on average {interval}, "
    sentence += f"half of them {half} or less."
    if not len(longest):
        return sentence
    means = [
        f"by {by}: {name}, {duration(mean * HOUR)}" for (by, name), mean in longest["mean"].items()
    ]
    worst = longest.iloc[0]
    return (
        f"{sentence} The longest mean waits, {'; '.join(means)}. The first are "
        f"{percent(worst['jobs'] / len(jobs))} of the jobs and {percent(worst['share'])} of the "
        f"{log.unit}-hours."
    )


def _idle_finding(log: Log) -> tuple[str, list[str], dict[str, pd.DataFrame]]:
    """What was waited while enough nodes were idle: the sentence, the picture, the table."""
    if "idle nodes" in log.lacks:
        return "Whether waiting was necessary is open, as idle nodes are unknown.", [], {}
    first, last = log.schedule.span
    length, unit = WEEK if last - first >= 8 * WEEK else DAY, log.unit
    waits = idle_waits(log.schedule, length=length, windows=log.windows)
    names = [cause for cause in CAUSES if cause != "closure" or len(log.windows)]
    causes, waited = waits[names], waits["waited"]
    total, idle = float(waited.sum()), float(causes.to_numpy().sum())
    rule = f"while enough {unit}s were idle for the job and for all that had waited longer"
    if idle == 0:
        return f"No job waited {rule}: first come, first served explains all waits.", [], {}
    at = causes.index.to_numpy() - first
    interval = interval_text(at, causes.sum(axis=1), waited, percent, seed=log.seed)
    sentence = f"{percent(idle / total)} of the waiting {interval} passed {rule}"
    if idle < NECESSARY * total:
        return f"{sentence}: first come, first served explains nearly all waits.", [], {}
    by_cause = causes.sum().sort_values(ascending=False, kind="stable")
    worst = float(causes.sum(axis=1).idxmax())
    sentence += (
        f", {cell(idle)} of {cell(total)} {unit}-hours; the most from "
        f"{window_name(log.schedule, worst, worst + length)}. Likely cause of "
        f"{percent(by_cause.iloc[0] / idle)} of it: {CAUSES[by_cause.index[0]]}."
    )
    held_back = (causes[by_cause.index[by_cause > 0]] * HOUR / length).rename(columns=CAUSES)
    end = causes.index[-1] + length
    picture = steps_chart(held_back, end, log.workload.began, f"{unit}s waited for")
    table = pd.DataFrame({f"{unit}-hours": by_cause, "share": by_cause / idle})
    table = table.rename(CAUSES).rename_axis("likely cause")
    return sentence, [picture], {f"{unit}-hours waited while enough {unit}s were idle": table}


def _capacity(schedule: Schedule, label: np.ndarray) -> np.ndarray:
    """The most nodes that each partition or queue ever held at once; the last is that of none."""
    most = np.full(int(label.max(initial=-1)) + 2, schedule.total_nodes)
    columns = (schedule.start_time, schedule.end_time, schedule.workload.jobs["nodes"].to_numpy())
    for number in range(most.size - 1):
        _, held = step_function(*(column[label == number] for column in columns))
        most[number] = held.max(initial=0)
    return most


def _events(schedule: Schedule, length: float, windows: pd.DataFrame) -> Iterable[tuple]:
    """Events in order: kind, job, period, standstill, seconds to close, seconds to the next."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    time = np.concatenate([schedule.end_time, submit_time, schedule.start_time])
    kind, job = np.divmod(np.arange(time.size), submit_time.size)
    order = np.lexsort((kind, time))
    time = time[order]
    starts = np.sort(schedule.start_time)
    after = np.searchsorted(starts, time, side="right")
    bounds = np.concatenate([[-np.inf], starts, [np.inf]])
    mean_gap = float(np.ptp(starts)) / max(1, starts.size - 1)
    standstill = bounds[after + 1] - bounds[after] >= max(HOUR, STANDSTILL * mean_gap)
    period = ((time - submit_time[0]) // length).astype(np.int64)
    seconds = np.append(np.diff(time), 0.0)
    closing = _until_closed(windows, time + seconds / 2)
    columns = (kind[order], job[order], period, standstill, closing, seconds)
    return zip(*(column.tolist() for column in columns), strict=True)


def _until_closed(windows: pd.DataFrame, time: np.ndarray) -> np.ndarray:
    """Seconds until the next window that is known then; none within, no end before that."""
    start, end, known = (windows[name].to_numpy() for name in ("start", "end", "known_from"))
    place = np.searchsorted(end, time, side="right")
    start, known = np.append(start, np.inf)[place], np.append(known, np.inf)[place]
    return np.where(start <= time, -np.inf, np.where(known <= time, start - time, np.inf))


def _held_back(
    events: Iterable[tuple],
    nodes: np.ndarray,
    requested: np.ndarray,
    user: np.ndarray,
    label: np.ndarray,
    most: np.ndarray,
    periods: int,
) -> np.ndarray:
    """Node-seconds per cause and period of jobs held back."""
    waited = [[0.0] * (periods + 1) for _ in CAUSES]
    of_user, free = [0] * (int(user.max(initial=0)) + 2), most.tolist()
    sizes, limits = nodes.tolist(), requested.tolist()
    users, labels = user.tolist(), label.tolist()
    idle, queue = free[-1], dict.fromkeys(range(0))
    for kind, job, period, standstill, closing, length in events:
        if kind == SUBMITTED:
            queue[job] = None
        else:
            sign = 1 if kind == ENDED else -1
            idle += sign * sizes[job]
            free[labels[job]] += sign * sizes[job]
            of_user[users[job]] -= sign
        if kind == STARTED:
            del queue[job]
        left = idle
        for first in queue if length else ():
            left -= sizes[first]
            if left < 0:
                break
            full = labels[first] >= 0 and free[labels[first]] < sizes[first]
            others = users[first] >= 0 and of_user[users[first]] > 0
            closes = limits[first] > closing
            cause = 0 if closes else 1 if full else 2 if standstill else 3 if others else 4
            waited[cause][period] += sizes[first] * length
    return np.array(waited)[:, :periods]


@made_once
def starts_section(log: Log) -> Section:
    """How often forecasts of starts would have held in the past, against simple ones."""
    tested, why = _backtested(log)
    if tested is None:
        sentence = f"How well starts can be forecast is open: {why}."
        return Section("starts", STARTS_TITLE, (sentence,))
    table = tested.scores[list(SCORES)].rename(columns=SCORES)
    table.iloc[:, :2] *= 100
    caption = f"Forecasts of {count(len(tested.judged), 'past wait')}"
    how_to_read = (
        "The loss (pinball loss, mean over five quantiles) is least for a forecast that is sharp "
        "and holds. The static plan is EASY with requested times and without further submissions, "
        "as squeue --start plans. The corrected forecast adds what earlier forecasts missed."
    )
    return Section(
        "starts", STARTS_TITLE, (_starts_finding(tested),), (), {caption: table}, how_to_read
    )


def _backtested(log: Log) -> tuple[Backtest | None, str]:
    """A backtest as the budget allows, or why there is none."""
    if log.lacks.keys() & {"starts", "waits", "requests"}:
        return None, "a log with submissions, starts and requested times would show it"
    waits = np.nan_to_num(log.schedule.jobs["wait_time"].to_numpy(dtype=float))
    if not (waits > 0).any():
        return None, "a log with jobs that wait would show it"
    first, last = log.schedule.span
    queue = waits.sum() / max(last - first, 1.0)
    most = min(2 * log.budget, INSTANTS * QUEUE / max(queue, QUEUE))
    number = int(np.clip(most, FEWEST_INSTANTS, INSTANTS))
    try:
        tested = backtest(log.schedule, instants=number, futures=FUTURES, seed=log.seed)
    except ValueError:
        return None, "too few jobs wait after the first sixth of the log"
    return (tested, "") if tested.instants > FEW_INSTANTS else (None, tested.sentence)


def _starts_finding(tested: Backtest) -> str:
    """What a backtest found, in one sentence."""
    scores = tested.scores
    held = (
        f"at {tested.instants} past instants, 80 % intervals held "
        f"{percent(scores['coverage_80'].iloc[0], 1)} of {count(len(tested.judged), 'wait')}"
    )
    if not tested.calibrated:
        return f"Forecasts of when waiting jobs start are not calibrated for this log: {held}."
    ratio = scores["loss_ratio"]["static plan"]
    return (
        f"When waiting jobs start can be forecast: {held}. The loss is {ratio:.2f} of that of a "
        "plan by requested times alone, as squeue --start makes it."
    )
