"""Which limit makes jobs wait: users, groups, queues or partitions that stay at a plateau.

Sites limit the jobs that a user, a group, a queue or a partition runs at once, or their nodes. The
record does not name such a limit, but shows it: the number of running jobs, or of their nodes,
stays at a *plateau* while other jobs pass the ones that wait.

A job is *passed* when a job of another user (group, …) starts that was submitted later, and needs
as many nodes and as long a requested time, or more. The job would have fitted in its place. Under
EASY and conservative backfilling by submission that never happens; where the queue has another
order it does, but then at any number of running jobs. So two things together are the evidence: jobs
are passed, and nearly always at the same number of running jobs (or with too few nodes left below
the same number of nodes), which the user (group, …) hardly ever exceeds.

The rule was frozen before it was run on a log. `tests/cosimlab/report/test_limits.py` counts how
often it is right.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlab.report.log import Log, made_once
from cosimlab.report.page import Section
from cosimlab.report.waits import NECESSARY, SHORTEST_WAIT
from cosimlib.display import count, percent
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR

KINDS = ("user", "group", "queue", "partition")
"""Whose limit it may be, in the order in which a limit is sought: a job counts for the first."""

LOOKED_AT, NOTED = 200, 10
"""Starts that are looked at while a job waits, evenly, and those noted that pass it, at most.

A job that waits for days sees thousands of starts; ten moments tell how many jobs its user ran.
"""

FEWEST_PASSED, FEWEST_DAYS = 20, 5
"""Passed jobs of a user (group, …), and days on which they are passed, from which on it is judged.

One busy day has one number of running jobs, whatever the reason.
"""

STEADY = 0.9
"""Share of the passings at the plateau.

Not all: a site takes minutes to start the next job after one has ended, and jobs are passed then.
"""

EXCEEDED = 0.01
"""Share of the starts by which the plateau may be exceeded.

Records round times to seconds, so that a job may seem to start before another has ended.
"""

LEAST_JOBS = 2
"""Running jobs of a plateau, at least: one at a time may as well be jobs that depend on another."""

LEAST_PART = 0.5
"""Part of the nodes of a plateau that are held at nine of ten passings.

Otherwise it is one wide job that does not fit below a number which is hardly ever reached.
"""

ALIKE = 3
"""Users (groups, …) with the same plateau from which on it is taken as one limit for all."""


NO_LIMIT = "No limit is visible: nobody stays at a number of jobs or {unit}s while others pass."


class Limit(NamedTuple):
    """A plateau: of whom, of jobs or nodes, how many; its passed jobs, as places in the log."""

    by: str
    who: str
    of: str
    most: int
    passed: np.ndarray


def limits_of(schedule: Schedule) -> tuple[list[Limit], int]:
    """The plateaus of a recorded schedule, and how many users, groups, … could be judged."""
    found: list[Limit] = []
    judged, explained = 0, np.zeros(len(schedule.workload), dtype=bool)
    for by in KINDS:
        names, labels = _labels(schedule, by)
        if names.size < 2:
            continue
        passings = _passings(schedule, labels, by)
        for who, own in passings.groupby("who"):
            passed = own["job"].unique()
            days = (own["time"] // DAY).nunique()
            if passed.size < FEWEST_PASSED or days < FEWEST_DAYS:
                continue
            judged += 1
            limit = _plateau(schedule, np.flatnonzero(labels == who), own)
            if limit is not None and not explained[passed].mean() > 1 / 2:
                found.append(Limit(by, str(names[who]), *limit, passed))
                explained[passed] = True
    return found, judged


def _plateau(schedule: Schedule, rows: np.ndarray, own: pd.DataFrame) -> tuple[str, int] | None:
    """Of jobs or nodes, and how many: the plateau of whose jobs these are, if it stays at one."""
    jobs, nodes = _running(schedule, rows, schedule.start_time[rows])
    most = int(np.quantile(own["jobs"], 1 - EXCEEDED, method="higher"))
    stays = (own["jobs"] >= most).mean() >= STEADY
    if most >= LEAST_JOBS and stays and (jobs > most).mean() <= EXCEEDED:
        return "jobs", most
    most = int(np.quantile(nodes, 1 - EXCEEDED, method="higher"))
    asked = schedule.workload.jobs["nodes"].to_numpy()[own["job"]]
    stays = (own["nodes"] + asked > most).mean() >= STEADY
    holds = np.quantile(own["nodes"], 1 - STEADY) >= LEAST_PART * most
    several = np.quantile(own["jobs"], 1 - STEADY) >= LEAST_JOBS
    if stays and holds and several:
        return "nodes", most
    return None


def _labels(schedule: Schedule, by: str) -> tuple[np.ndarray, np.ndarray]:
    """Names of users (groups, …), and the place of each job's in them; −1 where it has none."""
    labels, names = pd.factorize(schedule.workload.column(by))
    return np.asarray(names), labels


def _passings(schedule: Schedule, who: np.ndarray, by: str) -> pd.DataFrame:
    """Moments at which jobs are passed: who, `job`, `time`, own `jobs` and `nodes` that run."""
    workload = schedule.workload
    # A job of another partition does not take the place of one of this.
    is_apart = by != "partition"
    pool = _labels(schedule, "partition")[1] if is_apart else np.zeros_like(who)
    columns = (workload.jobs[name].to_numpy() for name in ("submit_time", "requested_time"))
    submit_time, requested_time = columns
    order = np.argsort(schedule.start_time, kind="stable")
    found = _find(
        submit_time,
        schedule.start_time,
        requested_time,
        workload.jobs["nodes"].to_numpy(np.int64),
        who,
        pool,
        order,
        schedule.start_time[order],
        SHORTEST_WAIT,
    )
    table = pd.DataFrame({"job": found[0], "time": found[1]})
    table = table.assign(who=who[table["job"]], jobs=0, nodes=0)
    for number, rows in table.groupby("who").indices.items():
        running = _running(schedule, np.flatnonzero(who == number), table["time"].to_numpy()[rows])
        for name, values in zip(("jobs", "nodes"), running, strict=True):
            table.loc[rows, name] = values
    return table


def _running(
    schedule: Schedule, rows: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How many of some jobs run at each moment, and their nodes; those that end then do not."""
    nodes = schedule.workload.jobs["nodes"].to_numpy()[rows]
    counts = []
    for moments in (schedule.start_time[rows], schedule.end_time[rows]):
        order = np.argsort(moments, kind="stable")
        place = np.searchsorted(moments[order], times, "right")
        counts.append((place, np.append(0, np.cumsum(nodes[order]))[place]))
    return counts[0][0] - counts[1][0], counts[0][1] - counts[1][1]


@allocating_kernel
def _find(
    submit_time: np.ndarray,
    start_time: np.ndarray,
    requested_time: np.ndarray,
    nodes: np.ndarray,
    who: np.ndarray,
    pool: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    shortest: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Jobs that are passed, and when; `order` has the jobs by their `starts`.

    A start less than `shortest` before the job's own is the scheduler's own time.
    """
    jobs = np.empty(NOTED * submit_time.size, np.int64)
    times = np.empty(NOTED * submit_time.size)
    found = 0
    for job in range(submit_time.size):
        if who[job] < 0 or start_time[job] - submit_time[job] < shortest:
            continue
        first = np.searchsorted(starts, submit_time[job])
        last = np.searchsorted(starts, start_time[job] - shortest)
        step, noted, place = max(1, (last - first) // LOOKED_AT), 0, first
        while place < last and noted < NOTED:
            other = order[place]
            is_later = submit_time[other] > submit_time[job]
            is_apart = who[other] == who[job] or pool[other] != pool[job]
            needs = nodes[other] >= nodes[job] and requested_time[other] >= requested_time[job]
            if is_later and needs and not is_apart:
                jobs[found], times[found] = job, starts[place]
                found, noted = found + 1, noted + 1
            place += step
    return jobs[:found], times[:found]


@made_once
def limits_section(log: Log) -> Section | None:
    """Section: which limits make jobs wait; None where the log cannot tell.

    It cannot without submissions, starts and requests, nor where hardly any job is passed.
    """
    if log.lacks.keys() & {"waits", "starts", "requests"}:
        return None
    limits, judged = limits_of(log.schedule)
    if not judged:
        return None
    how = (
        "A job is passed when a job of another user (group, queue, partition) starts that was "
        "submitted later and needs as many nodes and as long, or more. A plateau is a number of "
        f"running jobs or nodes at which {percent(STEADY)} of the passings happen, and that is "
        f"exceeded at no more than {percent(EXCEEDED)} of the starts. Those with {FEWEST_PASSED} "
        f"passed jobs on {FEWEST_DAYS} days are judged: {judged:,}. Plateaus with less than "
        f"{percent(NECESSARY, 0)} of the waiting stand in the table only."
    )
    computed = dict.fromkeys(_findings(log, limits), how)
    tables = {"Plateaus at which jobs are passed": _table(log, limits)} if limits else {}
    title = "Which limit makes jobs wait?"
    return Section("limits", title, tuple(computed), (), tables, "", computed)


def _findings(log: Log, limits: list[Limit]) -> list[str]:
    """One sentence per plateau that several share, and per kind; small ones stand in the table."""
    waited = _waited(log)
    parts, alone = [], []
    for by, of, most in dict.fromkeys((each.by, each.of, each.most) for each in limits):
        alike = [each for each in limits if (each.by, each.of, each.most) == (by, of, most)]
        if len(alike) >= ALIKE:
            parts.append(alike)
        else:
            alone += alike
    parts += [[each for each in alone if each.by == by] for by in KINDS]
    found = [_finding(log, part, waited) for part in parts if part]
    return [sentence for sentence in found if sentence] or [NO_LIMIT.format(unit=log.unit)]


def _finding(log: Log, limits: list[Limit], waited: np.ndarray) -> str:
    """Who stays at which plateau, with which share of the waiting; "" where that is too small."""
    limits = sorted(limits, key=lambda each: -waited[each.passed].sum())
    share = sum(waited[each.passed].sum() for each in limits) / max(waited.sum(), 1e-9)
    if share < NECESSARY:
        return ""
    hours = f"{percent(share)} of the waited {log.unit}-hours"
    first, plateau = limits[0], _worded(log, limits[0])
    if len(limits) >= ALIKE and len({(each.of, each.most) for each in limits}) == 1:
        several = count(len(limits), first.by)
        return f"{several} seem to be limited to {plateau} each, with {hours}."
    others = f", and {count(len(limits) - 1, 'other')} to their own numbers" * (len(limits) > 1)
    whose = f"{first.by.capitalize()} {first.who}"
    return f"{whose} seems to be limited to {plateau}{others}, with {hours}."


def _worded(log: Log, limit: Limit) -> str:
    """The plateau in words."""
    return count(limit.most, "running job" if limit.of == "jobs" else log.unit)


def _waited(log: Log) -> np.ndarray:
    """Node-hours that each job waited."""
    return (log.schedule.jobs["wait_time"] * log.schedule.jobs["nodes"]).to_numpy() / HOUR


def _table(log: Log, limits: list[Limit]) -> pd.DataFrame:
    """One row per plateau, those with most waiting first."""
    waited = _waited(log)
    rows = [
        (f"{each.by} {each.who}", _worded(log, each), each.passed.size, waited[each.passed].sum())
        for each in limits
    ]
    names = ["whose", "plateau", "passed jobs", f"waited {log.unit}-hours"]
    table = pd.DataFrame(rows, columns=names).set_index("whose")
    return table.sort_values(names[-1], ascending=False)
