"""Idle nodes: nodes that could be lent for hours, and nodes that filler containers would use."""

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
from cosimlib.report.log import Log, redrawn, span_text, weeks_of, window_name
from cosimlib.report.page import Section, cell, dot_chart, line_chart
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload

LEASES = (1, 2, 4, 8, 12, 24, 48)
"""Hours for which nodes are lent."""

LEASE = 8
"""Hours, at most, of the lease that a finding tells."""

LENT = {"p10": "at 9 hours of 10", "median": "at half of the hours", "mean": "mean"}
FILLERS = ["no fillers", "saved each minute", "saved before reservations", "killed for jobs"]
PARTS = {"regular": "jobs", "containers": "fillers", "overhead": "overhead", "lost": "lost",
         "idle": "idle", "utilization": "works"}  # fmt: skip
"""Columns of uses, and their names."""

QUEUE_DEPTH = 100
"""Jobs with a reservation while containers fill the machine: Slurm's `default_queue_depth`."""


def lendable_nodes(
    schedule: Schedule, start: float, end: float, leases: Sequence[int] = LEASES
) -> pd.DataFrame:
    """Nodes that stay idle for a number of hours in a row, from each whole hour of a window.

    This uses the recorded future: lending these nodes would have delayed no job. A lender who does
    not know the future must sometimes take nodes back (`cosimlib.elastic`).

    Returns
    -------
    pd.DataFrame
        One row per lease that fits into the window: `hours`; `p10`, `median` and `mean` of the
        nodes, over the hours at which a lease may begin.
    """
    least = _least_idle(schedule, start, end)
    rows = []
    for lease in [lease for lease in leases if lease <= least.size]:
        lent = least.rolling(lease).min().dropna()
        rows.append((lease, lent.quantile(0.1), lent.median(), lent.mean()))
    return pd.DataFrame(rows, columns=["hours", "p10", "median", "mean"])


def _least_idle(schedule: Schedule, start: float, end: float) -> pd.Series:
    """The fewest idle nodes in each whole hour of a window; 0 if a record holds too many."""
    held = occupied_nodes(schedule)
    check.windows(start, end, HOUR)
    edges = start + HOUR * np.arange((end - start) // HOUR + 1)
    if edges.size < 2:
        return pd.Series(dtype=float)
    inside = held.index[(held.index > start) & (held.index < edges[-1])]
    times = np.union1d(inside, edges[:-1])
    values = np.append(held, 0)[np.searchsorted(held.index, times, side="right") - 1]
    idle = np.maximum(schedule.total_nodes - values, 0)
    return pd.Series(np.minimum.reduceat(idle, np.searchsorted(times, edges[:-1])))


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


def lending_section(log: Log, *, leases: Sequence[int] = LEASES) -> Section:
    """Section: nodes that could be lent for hours, over the whole log."""
    title = "Nodes to lend"
    if "idle nodes" in log.lacks:
        why = "What could be lent is open, as the record does not show which nodes are idle."
        return Section("lending", title, (why,))
    first, last = log.schedule.span
    lent, unit = lendable_nodes(log.schedule, first, last, leases), log.unit
    if lent.empty:
        short = f"How many {unit}s could be lent is open: the log is shorter than an hour."
        return Section("lending", title, (short,))
    row = lent[lent["hours"] <= LEASE].iloc[-1]
    hours, total = int(row["hours"]), log.machine.total_nodes
    least = _least_idle(log.schedule, first, last).rolling(hours).min().dropna()
    interval = redrawn(HOUR * least.index.to_numpy(), least, np.ones(least.size), seed=log.seed)
    finding = (
        f"{cell(row['mean'])} of {count(total, unit)} on average {interval.words(cell)} stay idle "
        f"for {hours} h in a row{log.simulated} and could be lent; at 9 hours of 10 at least "
        f"{row['p10']:,.0f}"
    )
    if row["mean"] < 0.01 * total:
        finding += ": too few to lend"
    table = lent.set_index("hours").rename(columns=LENT)
    picture = line_chart(table, f"hours for which {unit}s are lent", f"{unit}s")
    how_to_read = (
        f"{unit}s that are idle for so many hours in a row, known in hindsight; who lends without "
        "knowing the future has to take some back."
    ).capitalize()
    tables = {f"{unit}s to lend, by hours".capitalize(): table}
    return Section("lending", title, (f"{finding}.",), (picture,), tables, how_to_read)


def fillers_section(log: Log, *, weeks: int = 6, overhead: float = 0.1) -> Section:
    """Section: idle node-hours that filler jobs of one node would use.

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
    weekly = {}
    for start in weeks_of(log.workload, weeks):
        try:
            runs = fill_idle(log.workload, log.machine, start, start + WEEK, overhead=overhead)
        except InvalidWorkloadError as error:
            return Section("fillers", title, (f"What fillers would use is open: {error}.",))
        begin, end = filled_window(runs, start, start + WEEK)
        used = use_table(runs, start=begin, end=end).set_axis(FILLERS)
        weekly[window_name(log.schedule, start, start + WEEK)] = used.rename(columns=PARTS)
    table = pd.concat(weekly, names=["week", "fillers"])
    groups = table.groupby(level="fillers", sort=False)
    use = groups["works"].agg(["mean", "min", "max"])
    best, plain = use["mean"].idxmax(), use.loc[FILLERS[0], "mean"]
    filled, low, high = use.loc[best]
    finding = (
        f"Filler jobs of one {unit}, if there are always enough of them, would raise the share of "
        f"{unit}-hours that do work from {percent(plain, 0)} to {percent(filled, 0)} "
        f"({span_text(percent(low, 0), percent(high, 0))} in {count(len(weekly), 'week')}, evenly "
        f"from the log) where they are {best}"
    )
    if filled - plain < 0.02:
        finding += ": there is too little idle time for them"
    shown = (100 * use).set_axis(["mean, and range over the weeks", "low", "high"], axis=1)
    picture = dot_chart(shown, f"percent of the {unit}-hours that work")
    how_to_read = (
        "The jobs of these weeks are scheduled by conservative backfilling, once a minute; fillers "
        f"take {unit}s that are idle when a minute begins. They are saved each minute, or before a "
        "reservation (jobs may then wait for a minute), or killed where a job comes and saved as "
        f"often as is best. To start and save one takes {overhead:g} min."
    )
    tables = {
        f"{unit}-hours by use".capitalize(): groups[[*PARTS.values()][:-1]].sum(),
        "The same by week, and the part of the machine that works": table,
    }
    return Section("fillers", title, (f"{finding}.",), (picture,), tables, how_to_read)
