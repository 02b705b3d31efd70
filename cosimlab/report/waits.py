"""Use of a machine, waits of its jobs, those that no order of submission explains, and forecasts.

A queue in order of submission starts its first jobs as soon as they fit together on the idle nodes.
A job that waits while it and all jobs that have waited longer would fit is held back by something
else. The record does not say by what, but shows signs, of which the first that holds is counted as
the likely cause (`CAUSES`):

1. *closure*: the machine is closed, or is known to close before the job's requested time ends;
2. *partition*: the nodes that its partition (or queue) ever held at once are held, or too many;
3. *standstill*: no job starts anywhere for long;
4. *user*: its user has other jobs running;
5. *other*: none of these; the record shows no cause.

A wait of less than two minutes (`SHORTEST_WAIT`) is the time that a scheduler needs to act, and no
waiting. What was waited before the first start does not count: the record does not have the jobs
that ran then.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cosimlab.forecasting import Backtest, backtest
from cosimlab.forecasting.backtest import FEW_INSTANTS, FINE
from cosimlab.report.log import (
    LEAST_SCORE,
    MOST_STARTED,
    NO_WINDOWS,
    Interval,
    Log,
    drawn_blocks,
    interval_around,
    interval_of,
    lack_finding,
    machine_table,
    made_once,
    span_text,
    window_name,
    window_of,
)
from cosimlab.report.page import Section, cell, dot_chart, hours_axis, steps_chart
from cosimlib.display import count, duration, durations, percent
from cosimlib.kernels.steps import step_function
from cosimlib.metrics import hourly, utilization_series, waiting_jobs
from cosimlib.metrics.groups import GROUPS, LABELS, job_groups
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR, MINUTE, WEEK

QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

CAUSES = {
    "closure": "a closed or closing machine",
    "partition": "a full partition or queue",
    "standstill": "an outage, maintenance, or a large reservation",
    "user": "a limit per user, or a dependency",
    "other": "no cause is visible",
}
"""Likely causes of waiting while nodes are idle, in the order in which their signs are tried."""

SIGNS = "The last picture shows what was asked for by jobs that waited although enough was idle."

CAUSED = (
    "The record does not say why a job waits, but shows signs, of which the first that holds "
    "counts: {closed}the partition or queue is full; no job starts anywhere for hours; the user "
    "has other jobs running. Holds, dependencies, reservations and nodes out of service leave no "
    "sign."
)
CLOSED_SIGN = "the machine is closed, or will be before the requested time ends; "

SHORTEST_WAIT = 2 * MINUTE
"""Seconds below which a wait is the scheduler's own time, and no waiting."""

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

NOMINAL = 0.8
"""Share of the waits that intervals should hold."""

SIMPLE = {
    "static plan": "a plan from requested times",
    "user's median wait": "the user's median wait",
    "queue's median wait": "the median wait of the queue",
}
"""Simple rules that forecasts must beat."""

SCORES = {
    "coverage_50": "50 % intervals hold (%)",
    "coverage_80": "80 % intervals hold (%)",
    "pinball": "loss (h)",
}

ENDED, SUBMITTED, STARTED = 0, 1, 2
"""Kinds of events, in the order in which those of an instant happen."""


def weekly_use(schedule: Schedule) -> pd.DataFrame:
    """Weekly table of load, utilization and queue, from first start to last end.

    Returns
    -------
    pd.DataFrame
        Indexed by week, from 0: `begin` (s) and `days` of the week; `jobs` submitted, of which
        those before the first start are left out;
        `offered_load`, node-seconds of the jobs submitted ÷ those offered; `utilization`; the mean
        number of `waiting_jobs`; `median_wait` of the jobs submitted (h; NaN without jobs).
    """
    first, last = window_of(schedule)
    jobs = schedule.jobs
    jobs = jobs[jobs["submit_time"] >= first]
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
    return _by_group(schedule, job_groups(schedule.workload, by)).rename_axis(by)


def _by_group(schedule: Schedule, groups: pd.Series) -> pd.DataFrame:
    """Jobs, share of the node-hours and waits (h) of each group."""
    jobs = schedule.jobs
    work = jobs["nodes"] * jobs["run_time"]
    grouped = (jobs["wait_time"] / HOUR).groupby(groups, observed=True)
    table = pd.DataFrame({name: grouped.quantile(q) for name, q in QUANTILES.items()})
    table.insert(0, "jobs", grouped.size())
    share = work.groupby(groups, observed=True).sum() / max(float(work.sum()), 1e-9)
    table.insert(1, "share", share)
    table.insert(2, "mean", grouped.mean())
    return table


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
        waited. Jobs that wait less than `SHORTEST_WAIT` do not count.
    """
    workload, (first, last) = schedule.workload, window_of(schedule)
    several = [c for c in ("partition", "queue") if workload.column(c).dropna().unique().size > 1]
    user, label = (
        pd.factorize(workload.column(column))[0] for column in ("user", [*several, "partition"][0])
    )
    nodes = workload.jobs["nodes"].to_numpy()
    wait = schedule.start_time - workload.jobs["submit_time"].to_numpy()
    waits = wait >= SHORTEST_WAIT
    begin = np.arange(first, last, length)
    requested = workload.jobs["requested_time"].fillna(0.0).to_numpy()
    events, most = _events(schedule, length, windows), _capacity(schedule, label)
    held_back = _held_back(events, nodes, requested, user, label, most, begin.size, waits)
    table = pd.DataFrame(held_back.T / HOUR, pd.Index(begin, name="begin"), list(CAUSES))
    times, queued = step_function(
        schedule.start_time[waits] - wait[waits], schedule.start_time[waits], nodes[waits]
    )
    queue = hourly(pd.Series(queued, times), length, first, last).to_numpy() if times.size else 0.0
    return table.assign(waited=queue * np.diff(begin, append=last) / HOUR)


@made_once
def log_section(log: Log) -> Section:
    """Section: the log, its machine, the account of its records, and its weeks."""
    schedule = log.schedule
    first, end = log.window
    use, share = use_interval(log), schedule.utilization(first, end)
    machine = f"{count(log.machine.total_nodes, log.unit)} over {duration(end - first)}"
    jobs_hold = f"{count(len(log.workload), 'job')} {_hold(len(log.workload))}"
    whole = f"{jobs_hold} {percent(share)} of {machine}{log.simulated}{use.text(percent)}."
    how = f"Of all {log.unit}-hours from the first start to the last end, jobs hold this share."
    if share > 1:
        whole = (
            f"{jobs_hold} {cell(share)} times the {log.unit}-hours of {machine}{use.text(cell)}: "
            "the machine is taken too small."
        )
        how = "Give its size with --nodes, or the processors of a node with --cores."
    computed = {whole: f"{how} {use.basis}"}
    if log.used < 0.995:
        part = f"This report is on {percent(log.used)} of the log's {log.unit}-hours."
        computed[part] = (
            "Jobs that are wider than the machine, and jobs without a recorded start, are left out "
            "of everything."
        )
    computed |= dict(map(lack_finding, log.lacks.values()))
    closed, windows = _closures(log)
    computed |= closed
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
    title = "The log"
    return Section("log", title, tuple(computed), (picture,), tables, how_to_read, computed)


def _hold(jobs: int) -> str:
    return "holds" if jobs == 1 else "hold"


def use_interval(log: Log) -> Interval:
    """Interval of the utilization."""
    first, end = log.window
    days = utilization_series(log.schedule, DAY, first, end)
    length = np.diff(days.index.to_numpy(), append=end)
    at = days.index.to_numpy() - first
    return interval_of(at, days * length, length, seed=log.seed)


def _closures(log: Log) -> tuple[dict[str, str], dict[str, pd.DataFrame]]:
    """Windows in which the machine seems to have been closed: a finding, a table; or none."""
    windows = log.windows
    if not len(windows):
        return {}, {}
    start, end = windows["start"], windows["end"]
    hours, sudden = (end - start) / HOUR, int((windows["kind"] == "down").sum())
    notice = f"; {sudden:,} of them {_was(sudden)} known less than an hour ahead" * (sudden > 0)
    sentence = (
        f"The machine seems to have been closed in {count(len(windows), 'window')}, "
        f"{hours.sum():,.0f} h in all{notice}."
    )
    how = (
        "Such windows, grey in pictures over time, last three hours or more. In them jobs hold at "
        f"most 2 % of the {log.unit}s and at most {MOST_STARTED} jobs start. For "
        f"{percent(LEAST_SCORE)} or more of each window (its score) jobs wait that all fit on the "
        "idle ones."
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
    return {sentence: how}, {caption: table.set_axis(names).rename_axis("window")}


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


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
    longest = _longest(schedule, groups)
    tables = {f"Who waits longest (h; share of the {log.unit}-hours)": longest}
    tables |= {f"Waits by {by} of the jobs (h)": t for by, t in groups.items()}
    tables = {caption: table for caption, table in tables.items() if len(table)}
    sizes = groups["size"]
    marks = sizes[["median", "p90"]].clip(lower=1 / 60)
    marks.columns = ["half of the jobs wait no longer", "90 % of them"]
    pictures = [dot_chart(marks, hours_axis(sizes["p90"], "wait"))]
    if len(by_hour):
        tables["Mean wait by weekday and hour of the submission (h)"] = by_hour
    how_to_read = "A mark is the wait that half of the jobs, or 90 % of them, do not exceed."
    few = sizes[(sizes["jobs"] > 0) & (sizes["jobs"] < FEWEST)]
    if len(few):
        named = ", ".join(f"{name} ({count(jobs, 'job')})" for name, jobs in few["jobs"].items())
        how_to_read += f" Sentences leave out sizes of fewer than {FEWEST} jobs: {named}."
    computed = _who_waits(log, longest)
    if (schedule.jobs["wait_time"] > 0).any():
        found, picture, table = _idle_findings(log)
        computed |= found
        pictures += picture
        tables |= table
        how_to_read += f" {SIGNS}" * bool(picture)
    findings = tuple(computed)
    return Section("waits", title, findings, tuple(pictures), tables, how_to_read, computed)


def _longest(schedule: Schedule, groups: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The group of the longest mean wait by size, by length, …, of all with enough jobs."""
    every = dict(groups)
    for by in LABELS:
        # Tables have the largest users (groups, …) alone; the one that waits longest may be small.
        every[by] = _by_group(schedule, by + " " + schedule.workload.column(by))
    named = {by: table[table["jobs"] >= FEWEST] for by, table in every.items()}
    rows = {by: table.nlargest(1, "mean") for by, table in named.items() if len(table) > 1}
    empty = groups["size"].head(0)
    return pd.concat(rows or {"size": empty}, names=["longest by", "jobs of"])


def _who_waits(log: Log, longest: pd.DataFrame) -> dict[str, str]:
    """Findings: the mean wait with its interval, and who waits longest."""
    jobs = log.schedule.jobs
    wait = jobs["wait_time"]
    if not (wait > 0).any():
        return {"No job waits.": ""}
    interval, half = wait_interval(log), duration(wait.median())
    sentence = f"Jobs wait {mean_text(wait.mean(), interval)}, half of them {half} or less."
    if len(jobs) == 1:
        sentence = f"The job waits {half}."
    computed = {sentence: f"From submission to start, as recorded. {interval.basis}"}
    if len(longest):
        worst = longest.iloc[0]
        by, name = longest.index[0]
        most = (
            f"By {by}, jobs of {name} wait longest, {duration(worst['mean'] * HOUR)} on average: "
            f"{percent(worst['jobs'] / len(jobs))} of the jobs, {percent(worst['share'])} of the "
            f"{log.unit}-hours."
        )
        others = "; ".join(
            f"by {by}: {name}, {duration(mean * HOUR)}"
            for (by, name), mean in longest["mean"].iloc[1:].items()
        )
        least = f"Sizes, users, … of fewer than {FEWEST} jobs are left out."
        computed[most] = f"The longest mean waits of others: {others}. {least}" if others else least
    return computed


def mean_text(mean: float, interval: Interval) -> str:
    """A mean duration (s) with its interval, all in the unit that suits the mean."""
    own, low, high = durations(mean, interval.low, interval.high)
    return f"{own} on average" + f" ({span_text(low, high)})" * bool(np.isfinite(interval.low))


def wait_interval(log: Log) -> Interval:
    """Interval of the mean wait (s)."""
    jobs = log.schedule.jobs
    at = jobs["submit_time"] - log.schedule.span[0]
    return interval_of(at, jobs["wait_time"], np.ones(len(jobs)), seed=log.seed)


def period_of(log: Log) -> float:
    """Seconds of the periods of pictures over time: a week, or a day of a short log."""
    first, last = log.window
    return WEEK if last - first >= 8 * WEEK else DAY


def causes_of(log: Log) -> pd.DataFrame:
    """What `idle_waits` finds in a log, by week (day); computed once."""
    if "idle waits" not in log.kept:
        found = idle_waits(log.schedule, length=period_of(log), windows=log.windows)
        log.kept["idle waits"] = found
    return log.kept["idle waits"]


def _idle_findings(log: Log) -> tuple[dict[str, str], list[str], dict[str, pd.DataFrame]]:
    """What was waited while enough nodes were idle: findings, pictures, tables."""
    if "idle nodes" in log.lacks:
        return {"Whether waiting was necessary is open, as idle nodes are unknown.": ""}, [], {}
    first, length, unit = log.window[0], period_of(log), log.unit
    waits = causes_of(log)
    names = [cause for cause in CAUSES if cause != "closure" or len(log.windows)]
    causes, waited = waits[names], waits["waited"]
    total, idle = float(waited.sum()), float(causes.to_numpy().sum())
    how = (
        f"A job waits though enough was idle if it and all jobs that had waited longer fitted on "
        f"the idle {unit}s together. First come, first served would have started it. Waits under "
        f"{duration(SHORTEST_WAIT)} do not count."
    )
    if total == 0:
        return {f"No job waits {duration(SHORTEST_WAIT)} or longer.": how}, [], {}
    if idle == 0:
        return {f"No job waits while enough {unit}s are idle for it.": how}, [], {}
    at = causes.index.to_numpy() - first
    interval = interval_of(at, causes.sum(axis=1), waited, seed=log.seed)
    sentence = (
        f"{percent(idle / total)} of the waited {unit}-hours{interval.text(percent)} passed while "
        f"enough {unit}s were idle"
    )
    if idle < NECESSARY * total:
        return {f"{sentence}: nearly all waiting was necessary.": f"{how} {interval.basis}"}, [], {}
    by_cause = causes.sum().sort_values(ascending=False, kind="stable")
    worst = float(causes.sum(axis=1).idxmax())
    most = (
        f"These are {cell(idle)} of {cell(total)} {unit}-hours; the most from "
        f"{window_name(log.schedule, worst, worst + length)}."
    )
    signs = CAUSED.format(closed=CLOSED_SIGN if len(log.windows) else "")
    computed = {f"{sentence}.": f"{how} {most} {interval.basis}", _cause(by_cause / idle): signs}
    held_back = (causes[by_cause.index[by_cause > 0]] * HOUR / length).rename(columns=CAUSES)
    end = causes.index[-1] + length
    picture = steps_chart(held_back, end, log.workload.began, f"{unit}s waited for")
    table = pd.DataFrame({f"{unit}-hours": by_cause, "share": by_cause / idle})
    table = table.rename(CAUSES).rename_axis("likely cause")
    return computed, [picture], {f"{unit}-hours waited while enough {unit}s were idle": table}


def _cause(shares: pd.Series) -> str:
    """Finding: the two largest likely causes of such waiting, and how much has none visible."""
    visible = shares.drop("other").nlargest(2)
    visible = visible[visible > 0]
    if not len(visible):
        return f"For {percent(shares['other'])} of such waiting the record shows no cause."
    parts = [(share, CAUSES[kind]) for kind, share in visible.items()]
    parts += [(shares["other"], "not visible")] if shares["other"] > 0 else []
    said = "; ".join(f"{percent(share)} {cause}" for share, cause in sorted(parts, reverse=True))
    return f"Likely causes: {said}."


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
    first = window_of(schedule)[0]
    period = ((time - first) // length).astype(np.int64)
    seconds = np.where(time < first, 0.0, np.append(np.diff(time), 0.0))
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
    waits: np.ndarray,
) -> np.ndarray:
    """Node-seconds per cause and period of jobs held back."""
    waited = [[0.0] * (periods + 1) for _ in CAUSES]
    of_user, free = [0] * (int(user.max(initial=0)) + 2), most.tolist()
    sizes, limits = nodes.tolist(), requested.tolist()
    users, labels, counts = user.tolist(), label.tolist(), waits.tolist()
    idle, queue = free[-1], dict.fromkeys(range(0))
    for kind, job, period, standstill, closing, length in events:
        if kind == SUBMITTED:
            if counts[job]:
                queue[job] = None
        else:
            sign = 1 if kind == ENDED else -1
            idle += sign * sizes[job]
            free[labels[job]] += sign * sizes[job]
            of_user[users[job]] -= sign
        if kind == STARTED:
            queue.pop(job, None)
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
    for label in ("user", "queue"):
        if log.workload.column(label).isna().all():
            table = table.drop(index=f"{label}'s median wait")
    caption = f"Forecasts of {count(len(tested.judged), 'past wait')}"
    how_to_read = (
        "The loss (pinball loss, mean over five quantiles) is least for a forecast that is sharp "
        "and holds. The static plan is EASY with requested times and without further submissions, "
        "as squeue --start plans. The corrected forecast adds what earlier forecasts missed. These "
        f"jobs wait {duration(tested.judged['wait'].mean())} on average: at a past instant "
        "one meets those that wait long."
    )
    computed = _starts_findings(tested, list(table.index), log.seed)
    tables = {caption: table}
    return Section("starts", STARTS_TITLE, tuple(computed), (), tables, how_to_read, computed)


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
    return (
        (tested, "")
        if tested.instants > FEW_INSTANTS
        else (None, f"{tested.sentence.removeprefix('not judged: ')}; more jobs or budget decide")
    )


def _starts_findings(tested: Backtest, methods: list[str], seed: int) -> dict[str, str]:
    """What a backtest found: first by its loss, then by its coverage."""
    best = tested.scores.loc[[name for name in methods if name in SIMPLE], "pinball"].idxmin()
    simple, block = SIMPLE[best], pd.factorize(tested.judged["at"])[0]
    ratio = _redrawn(block, tested.losses(methods[0]), tested.losses(best), seed)
    held = _redrawn(block, tested.holds(NOMINAL), np.ones(len(block)), seed)
    times = f"{tested.scores.loc[best, 'loss_ratio']:.2f} of its loss{ratio.text('{:.2f}'.format)}"
    if ratio.high < 1:
        loss = f"Starts can be forecast better than by {simple}: with {times}."
    elif ratio.low > 1:
        loss = f"Starts cannot be forecast better than by {simple}: with {times}."
    else:
        loss = f"Whether starts can be forecast better than by {simple} is open: with {times}."
    share = float(tested.scores["coverage_80"].iloc[0])
    coverage = (
        f"Their {percent(NOMINAL)} intervals hold {percent(share)} of the waits"
        f"{held.text(percent)}: {_judged_width(held)}."
    )
    basis = (
        f"{count(len(block), 'wait')} at {count(tested.instants, 'past instant')}. {ratio.basis} "
        "Of the simple rules, that with the least loss is taken."
    )
    fine = f"{100 * FINE[0]:g} to {percent(FINE[1])} of the waits count as {percent(NOMINAL)}."
    return {loss: basis, coverage: f"{basis} {fine}"}


def _judged_width(held: Interval) -> str:
    """What the share of waits that intervals hold, with its own interval, says of their width."""
    least, most = FINE
    if held.high < least:
        return "they are too narrow"
    if held.low > most:
        return "they are too cautious"
    if held.low >= least and held.high <= most:
        return "they hold as they should"
    open_as = "hold as they should"
    if held.low >= least:
        open_as = "are too cautious"
    elif held.high <= most:
        open_as = "are too narrow"
    return f"whether they {open_as} is not decided"


def _redrawn(block: np.ndarray, amount: np.ndarray, base: np.ndarray, seed: int) -> Interval:
    """Interval of Σ `amount` ÷ Σ `base` over instants drawn anew."""
    sums = [np.bincount(block, each) for each in (amount, base)]
    drawn = drawn_blocks(sums[0].size, seed)
    above, below = (each[drawn].sum(axis=1) for each in sums)
    own = sums[0].sum() / max(sums[1].sum(), 1e-9)
    return interval_around(own, above / np.maximum(below, 1e-9), sums[0].size, "instant")
