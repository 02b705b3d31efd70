"""Idle nodes: how long they stay so, what filler containers would use, what could be lent.

Idle nodes are counted, not numbered. The node that became idle last is taken first, as filler
containers are (`cosimlib.filling`), so that stretches of idleness are as long as they can be.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import count, percent
from cosimlib.filling import (
    FilledSchedule,
    saved_every,
    simulate_filling,
    slots_between_kills,
    use_table,
    young_interval,
)
from cosimlib.metrics import occupied_nodes
from cosimlib.report.log import Log, redrawn, window_name
from cosimlib.report.page import Section, axis, bar_chart, cell, line_chart
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload

IDLE_CLASSES = {
    "under 5 min": 5 * MINUTE, "5–15 min": 15 * MINUTE, "15–60 min": HOUR, "1–4 h": 4 * HOUR,
    "4–24 h": DAY, "over a day": np.inf,
}  # fmt: skip
"""Longest stretch of each class, seconds."""

LEASES = (1, 2, 4, 8, 12, 24, 48)
"""Hours for which nodes are lent."""

LEASE = 8
"""Hours, at most, of the lease that a finding tells."""

LENT = {"p10": "at 9 hours of 10", "median": "at half of the hours", "mean": "mean"}
FILLERS = ("no fillers", "saved each minute", "saved before reservations", "killed for jobs")
PARTS = {"regular": "jobs", "containers": "fillers", "overhead": "overhead", "lost": "lost",
         "idle": "idle"}  # fmt: skip
"""Columns of uses, and their names."""

QUEUE_DEPTH = 100
"""Jobs with a reservation while containers fill the machine: Slurm's `default_queue_depth`."""


def idle_nodes(schedule: Schedule, start: float, end: float) -> pd.Series:
    """Idle nodes between two instants (s), a step function; 0 where a record holds too many."""
    held = occupied_nodes(schedule)
    before = held[held.index <= start]
    at_start = float(before.iloc[-1]) if len(before) else 0.0
    inside = held[(held.index > start) & (held.index < end)]
    steps = pd.concat([pd.Series({start: at_start}), inside])
    return (schedule.total_nodes - steps).clip(lower=0).rename("idle_nodes")


def idle_by_length(schedule: Schedule, start: float, end: float) -> pd.DataFrame:
    """Idle node-hours between two instants (s) by the length of the stretch of idleness.

    Returns
    -------
    pd.DataFrame
        Indexed by class of lengths: `node_hours`, and the `share` of all that the machine offers.
        A stretch that the window cuts counts with what is inside.
    """
    idle = idle_nodes(schedule, start, end)
    stretches = _stretches(idle.index.to_numpy(), idle.to_numpy().astype(np.int64), end)
    length, nodes = stretches[:, 0], stretches[:, 1]
    classes = np.searchsorted([*IDLE_CLASSES.values()][:-1], length, side="right")
    hours = np.bincount(classes, length * nodes / HOUR, minlength=len(IDLE_CLASSES))
    offered = schedule.total_nodes * (end - start) / HOUR
    table = {"node_hours": hours, "share": hours / offered if offered > 0 else 0.0}
    return pd.DataFrame(table, index=pd.Index(IDLE_CLASSES, name="idle for"))


def lendable_nodes(
    schedule: Schedule, start: float, end: float, leases: Sequence[int] = LEASES
) -> pd.DataFrame:
    """Nodes that stay idle for so many hours in a row, from each whole hour of a window on.

    As recorded: to lend them would have delayed no job. Who lends without knowing the future must
    take nodes back at times, which is what preemption vectors are for (`cosimlib.elastic`).

    Returns
    -------
    pd.DataFrame
        One row per lease that fits into the window: `hours`; `p10`, `median` and `mean` of the
        nodes, over the hours at which a lease may begin.
    """
    least = _least_idle(schedule, start, end)
    rows = []
    for lease in [lease for lease in leases if lease <= least.size]:
        lent = pd.Series(least).rolling(lease).min().dropna()
        rows.append((lease, lent.quantile(0.1), lent.median(), lent.mean()))
    return pd.DataFrame(rows, columns=["hours", "p10", "median", "mean"])


def _least_idle(schedule: Schedule, start: float, end: float) -> np.ndarray:
    """The fewest idle nodes in each whole hour of a window."""
    idle = idle_nodes(schedule, start, end)
    check.windows(start, end, HOUR)
    hours = int((end - start) // HOUR)
    if not hours:
        return np.empty(0)
    edges = start + HOUR * np.arange(hours + 1)
    times = np.union1d(idle.index.to_numpy(), edges[:-1])
    values = idle.to_numpy()[np.searchsorted(idle.index, times, side="right") - 1]
    inside = times < edges[-1]
    return np.minimum.reduceat(values[inside], np.searchsorted(times, edges[:-1]))


def fill_idle(
    workload: Workload, system: System, start: float, end: float, *, overhead: float = 0.1
) -> list[FilledSchedule]:
    """Jobs around a window (s) without filler containers and with those of policies A, B and C.

    The jobs submitted from a week before on are scheduled by conservative backfilling, once a
    minute; `overhead` is a container's, in minutes. Under policy C containers are killed where jobs
    come, and saved in between as often as is best: Young's √(2tM) slots apart, by the kills in the
    window (`filling.young_interval`).
    """
    submit_time = workload.jobs["submit_time"]
    near = (submit_time >= start - WEEK) & (submit_time < end)
    jobs = workload.keep(near, "submitted outside the window")
    ways = ((None, "save"), ("A", "save"), ("B", "save"), ("B", "kill"))
    *runs, killed = (
        simulate_filling(
            jobs, system, policy=policy, reclaim=how, overhead=overhead, queue_depth=QUEUE_DEPTH
        )
        for policy, how in ways
    )
    start, end = filled_window([*runs, killed], start, end)
    best = young_interval(overhead, slots_between_kills(killed, start=start, end=end))
    longest = max(1.0, (end - start) / killed.slot)
    return [*runs, saved_every(killed, max(1, round(min(best, longest))))]


def filled_window(runs: Sequence[FilledSchedule], start: float, end: float) -> tuple[float, float]:
    """The part of a window (s) in which each of the runs has jobs to come or to end.

    Containers run from the first submission to the last end of a run, jobs may end sooner or later
    than they did as recorded. What is before and after is no idleness that containers leave. Where
    no part of the window is left, it is one of the same length at the runs' end.
    """
    first = min(float(run.workload.jobs["submit_time"].min()) for run in runs)
    first = runs[0].slot * float(np.ceil(first / runs[0].slot))
    last = min(float(run.slot_ends.max()) for run in runs)
    if last <= start:
        start = last - (end - start)
    return max(first, start), min(last, end)


def _stretches(times: np.ndarray, idle: np.ndarray, end: float) -> np.ndarray:
    """Length (s) and nodes of each stretch; the nodes that became idle last are taken first."""
    since: list[tuple[float, int]] = []
    rows: list[tuple[float, int]] = []
    now = 0
    for time, nodes in [*zip(times.tolist(), idle.tolist(), strict=True), (end, 0)]:
        if nodes > now:
            since.append((time, nodes - now))
        while nodes < now:
            begin, some = since.pop()
            taken = min(some, now - nodes)
            rows.append((time - begin, taken))
            if taken < some:
                since.append((begin, some - taken))
            now -= taken
        now = nodes
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def lending_section(log: Log, *, leases: Sequence[int] = LEASES, seed: int = 0) -> Section:
    """Nodes that could be lent for hours, over the whole log."""
    title = "Nodes to lend"
    if "idle nodes" in log.lacks:
        why = f"How many nodes could be lent is open: {log.lacks['idle nodes']}."
        return Section("lending", title, (why,))
    first, last = log.schedule.span
    lent, unit = lendable_nodes(log.schedule, first, last, leases), log.unit
    stretches = idle_by_length(log.schedule, first, last)
    if lent.empty:
        short = f"The log is shorter than an hour: how many {unit}s could be lent is open."
        return Section("lending", title, (short,))
    row = lent[lent["hours"] <= LEASE].iloc[-1]
    hours = int(row["hours"])
    least = pd.Series(_least_idle(log.schedule, first, last)).rolling(hours).min().dropna()
    low, high, logs = redrawn(HOUR * least.index.to_numpy(), least, np.ones(least.size), seed=seed)
    total = log.machine.total_nodes
    interval = f"{cell(low)} to {cell(high)}; " if np.isfinite(low) else ""
    finding = (
        f"{cell(row['mean'])} of {count(total, unit)} on average ({interval}{logs}) stay idle for "
        f"{hours} h in a row{log.simulated} and could be lent, {row['p10']:,.0f} at 9 hours of 10"
    )
    if row["mean"] < 0.01 * total:
        finding += ": too few to lend"
    share = 100 * stretches["share"]
    pictures = (
        bar_chart(
            list(IDLE_CLASSES), {"idle": share.tolist()},
            axis(share, f"percent of the machine's {unit}-hours"),
        ),
        line_chart(
            {name: (lent["hours"], lent[column]) for column, name in LENT.items()},
            axis(lent["hours"], f"hours for which {unit}s are lent"),
            axis(lent["mean"].tolist() + lent["median"].tolist(), f"{unit}s"),
        ),
    )  # fmt: skip
    reading = (
        f"First picture: idle {unit}-hours by how long a {unit} stays idle in one stretch; short "
        f"stretches suit fillers, long ones other tenants. Second: {unit}s idle for so many hours "
        "in a row, known in hindsight; who lends without knowing the future has to take some back."
    )
    table = lent.set_index("hours").rename(columns=LENT)
    tables = {
        f"{unit}s to lend, by hours".capitalize(): table,
        f"Idle {unit}-hours by stretch (share of the machine's)": stretches,
    }
    return Section("lending", title, (f"{finding}.",), pictures, tables, reading)


def fillers_section(log: Log, *, weeks: int = 6, overhead: float = 0.1) -> Section:
    """What filler jobs of one node would use.

    Parameters
    ----------
    log : Log
    weeks : int, default 6
        Weeks of the log, evenly from all of it, that are simulated.
    overhead : float, default 0.1
        To start and save a filler, minutes.
    """
    title, unit = "Fillers", log.unit
    if "requests" in log.lacks:
        why = f"What fillers would use is open: {log.lacks['requests']}, which reservations need."
        return Section("fillers", title, (why,))
    weekly = []
    for start in _some_weeks(log.workload, weeks):
        try:
            runs = fill_idle(log.workload, log.machine, start, start + WEEK, overhead=overhead)
        except InvalidWorkloadError as error:
            return Section("fillers", title, (f"What fillers would use is open: {error}.",))
        begin, end = filled_window(runs, start, start + WEEK)
        used = use_table(runs, start=begin, end=end)
        used.index = [*FILLERS]
        weekly.append(used.assign(week=window_name(log.schedule, start, start + WEEK)))
    table = pd.concat(weekly).rename_axis("fillers")
    hours = table[list(PARTS)].groupby(level=0, sort=False).sum()
    use = table["utilization"].groupby(level=0, sort=False)
    best = use.mean().idxmax()
    plain, filled = use.mean()[FILLERS[0]], use.mean()[best]
    finding = (
        f"Fillers of one {unit} would raise the use of the machine from {percent(plain, 0)} to "
        f"{percent(filled, 0)} ({percent(use.min()[best], 0)} to {percent(use.max()[best], 0)} in "
        f"{count(len(weekly), 'week')} taken evenly from the log) where they are {best}"
    )
    if filled - plain < 0.02:
        finding += ": there is too little idle time for them"
    total = hours.sum(axis=1).clip(lower=1e-9)
    parts = {name: (100 * hours[column] / total).tolist() for column, name in PARTS.items()}
    picture = bar_chart(list(hours.index), parts, axis([100.0], f"percent of the {unit}-hours"))
    reading = (
        "The jobs of these weeks are scheduled by conservative backfilling, once a minute; fillers "
        f"take {unit}s that are idle when a minute begins. They are saved each minute, or before a "
        "reservation (jobs may then wait for a minute), or killed where a job comes and saved as "
        f"often as is best. To start and save one takes {overhead:g} min."
    )
    tables = {
        f"{unit}-hours by use".capitalize(): hours.rename(columns=PARTS),
        "The same by week, and the part of the machine that works": table.set_index(
            "week", append=True
        ),
    }
    return Section("fillers", title, (f"{finding}.",), (picture,), tables, reading)


def _some_weeks(workload: Workload, weeks: int) -> list[float]:
    """Beginnings (s) of weeks with submissions, evenly from all of them."""
    submit_time = workload.jobs["submit_time"].to_numpy()
    busy = np.unique((submit_time - submit_time[0]) // WEEK)
    places = np.unique(np.linspace(0, busy.size - 1, min(weeks, busy.size)).round().astype(int))
    return (submit_time[0] + WEEK * busy[places]).tolist()
