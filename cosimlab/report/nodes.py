"""Nodes for a burst, and idle nodes: to lend for hours, and for filler containers.

At any hour of a schedule some nodes are idle. Some jobs end within the deadline by their requested
times; jobs that exceed theirs are not counted. All other running jobs may be killed, or
checkpointed one after another, at the least loss (`cosimlib.eviction`). The model of checkpoints is
that of Maurya et al.: hourly checkpoints by the application, and random memory per job.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.report.log import (
    NO_WINDOWS,
    Log,
    interval_of,
    made_once,
    span_text,
    weeks_of,
    window_name,
)
from cosimlab.report.page import Section, capital, cell, dot_chart, line_chart
from cosimlib import checks as check
from cosimlib.display import count, percent
from cosimlib.eviction import EvictionProblem, solve_spectrum
from cosimlib.eviction.problem import draw_memory, running_jobs_at
from cosimlib.filling import (
    FilledSchedule,
    saved_every,
    simulate_filling,
    slots_between_kills,
    use_table,
    young_interval,
)
from cosimlib.kernels.steps import steps_at
from cosimlib.metrics import occupied_nodes, running_jobs
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.traces.oddities import NEARLY_FULL
from cosimlib.units import HOUR, MINUTE, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload

DEADLINES = (0, 5, 10, 15)
"""Minutes."""

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75)
"""Of the machine's nodes, wanted by a burst."""

STEP = MINUTE
FINEST, AGREED = 1.0, 0.01
"""Least step of checkpoints (s), and the change by half of it below which a step is fine enough."""

BUDGET = 0.2
"""Share of the report's budget."""

CELLS_PER_SECOND = 3e8
MOST_MOMENTS = 40
SHOWN = (0.2, 10)
"""The share of the machine and the deadline (minutes) that a finding tells."""

SMALL = System("small", {"main": 1}, 1, 64.0, 5.0, 1.0)
"""Memory (GB per node) and file system (GB/s) of a small machine."""

PROCESSORS = 64
"""Of a node of either machine."""

MOST_CELLS = 2.0**31
"""Jobs · deadlines · nodes of one table; four cells take a byte."""

LEASES = (1, 2, 4, 8, 12, 24, 48)
"""Hours for which nodes are lent."""

LEASE = 8
"""Hours, at most, of the lease that a finding tells."""

LENT = {"p10": "at 9 hours of 10", "median": "at half of the hours", "mean": "mean"}
FILLERS = ["no fillers", "saved each minute", "saved before reservations", "killed for jobs"]
PARTS = {
    "regular": "jobs",
    "containers": "fillers",
    "overhead": "overhead",
    "lost": "lost",
    "idle": "idle",
    "utilization": "works",
}
"""Columns of uses, and their names."""

QUEUE_DEPTH = 100
"""Jobs with a reservation while containers fill the machine: Slurm's `default_queue_depth`."""


def burst_costs(
    schedule: Schedule,
    moments: np.ndarray,
    *,
    deadlines: Sequence[int] = DEADLINES,
    shares: Sequence[float] = SHARES,
    system: System | None = None,
    step: float = STEP,
    seed: int = 0,
) -> pd.DataFrame:
    """Node-hours lost by bursts that take a share of the machine at given moments.

    Parameters
    ----------
    schedule : Schedule
    moments : np.ndarray
        Seconds of the schedule's clock.
    deadlines : sequence of int
        Minutes.
    shares : sequence of float
        Of the machine's nodes.
    system : System, optional
        With memory and bandwidths; by default that of `checkpoint_machines`, the last of several.
    step : float, default 60
        Seconds to which checkpoints are rounded up.
    seed : int, default 0
        Of the memory of the jobs.

    Returns
    -------
    pd.DataFrame
        Indexed by `deadline` (minutes), `percent` of the machine and `nodes` wanted: `mean` of the
        loss, and `p90`: the loss not exceeded at 9 moments of 10.
    """
    total = schedule.total_nodes
    system = system or checkpoint_machines(schedule.system)[-1]
    memory = draw_memory(schedule.workload, system, seed=seed)
    wanted = np.ceil(np.array(shares) * total).astype(np.int64)
    losses = np.zeros((moments.size, len(deadlines), wanted.size))
    for place, moment in enumerate(moments.tolist()):
        jobs = running_jobs_at(schedule, moment, system=system, interval=HOUR, memory=memory)
        requested = schedule.workload.jobs["requested_time"].reindex(jobs.index)
        left = (requested - jobs["elapsed"]).where(lambda left: left > 0, np.inf)
        idle = max(0, total - int(jobs["nodes"].sum()))
        for kind, deadline in enumerate(deadlines):
            ending = left <= deadline * MINUTE
            loss = _loss(jobs[~ending], deadline, step)
            missing = wanted - idle - int(jobs["nodes"][ending].sum())
            losses[place, kind] = loss[np.clip(missing, 0, loss.size - 1)]
    rows = [
        (deadline, round(100 * share, 1), nodes)
        for deadline in deadlines
        for share, nodes in zip(shares, wanted.tolist(), strict=True)
    ]
    index = pd.MultiIndex.from_tuples(rows, names=["deadline", "percent", "nodes"])
    p90 = np.quantile(losses, 0.9, axis=0).ravel()
    return pd.DataFrame({"mean": losses.mean(axis=0).ravel(), "p90": p90}, index)


@made_once
def bursts_section(
    log: Log,
    *,
    at: float | None = None,
    deadlines: Sequence[int] = DEADLINES,
    shares: Sequence[float] = SHARES,
) -> Section:
    """Section: the cost of an urgent burst when the machine is nearly full.

    Parameters
    ----------
    log : Log
        If memory or file system of its machine are unknown, a small machine and one like Theta
        are the ends of a band.
    at : float, optional
        The moment, seconds of the log; by default whole hours at which 90 % of the nodes are held.
    deadlines : sequence of int
        Minutes.
    shares : sequence of float
        Sizes of bursts, of the machine's nodes.
    """
    title, schedule = "Nodes for a burst", log.schedule
    if "idle nodes" in log.lacks:
        why = "What a burst would cost is open, as the record does not show which nodes are idle."
        return Section("bursts", title, (why,))
    machines = checkpoint_machines(log.machine, unit=log.unit)
    moments, of = _moments(log, at)
    if not moments.size:
        return Section("bursts", title, (of,))
    step = fine_step(schedule, moments[:: max(1, moments.size // 3)][:3], machines[0], log.seed)
    moments = _affordable(schedule, moments, step, BUDGET * log.budget / len(machines))
    costs = {
        described(system, log.unit): burst_costs(
            schedule,
            moments,
            deadlines=deadlines,
            shares=shares,
            system=system,
            step=step,
            seed=log.seed,
        )
        for system in machines
    }
    unit = log.unit
    parts = {
        name: table["mean"].unstack("deadline").rename(columns=_within)  # noqa: PD010
        for name, table in costs.items()
    }
    ends = [part.droplevel("nodes") for part in parts.values()]
    low, high = (ends[0].combine(ends[-1], least) for least in (np.minimum, np.maximum))
    picture = line_chart(
        (low + high) / 2,
        "percent of the machine wanted",
        f"{unit}-hours lost (mean)",
        low=low,
        high=high,
    )
    tables = {
        capital(f"{unit}-hours lost by a burst (mean)"): pd.concat(parts, names=["machine"]),
        "The same by deadline (p90: at 9 moments of 10 at most)": pd.concat(
            costs, names=["machine"]
        ),
    }
    how_to_read = (
        f"Idle {unit}s are taken first, then jobs that end in time by their requests; other jobs "
        "are checkpointed one after another, or killed, at the least loss. Lost is the work since "
        "a job's last checkpoint, which applications write hourly. Memory in use is drawn, 40 to "
        f"90 % of a {unit}'s, unless the log records it. Checkpoints are rounded up to {step:g} s: "
        "steps are halved until that changes losses by less than 1 %, down to a second."
    )
    if len(machines) > 1:
        how_to_read += (
            " Bands are from a small machine to one like Theta; give yours with --memory and "
            "--bandwidth."
        )
    computed = _burst_finding(log, costs, f"{count(moments.size, 'moment')} {of}")
    return Section("bursts", title, tuple(computed), (picture,), tables, how_to_read, computed)


def checkpoint_machines(machine: System, *, unit: str = "node") -> list[System]:
    """Machine with known memory and file system, else a range of two machines.

    If the log's `unit` is a processor or core, one has its part of a node with `PROCESSORS`.
    """
    made, part = [], PROCESSORS if unit in ("processor", "core") else 1
    for kind in (SMALL, THETA):
        total = _known(machine.aggregate_bandwidth, kind.aggregate_bandwidth)
        own = min(kind.node_bandwidth / part, total)
        made.append(
            replace(
                machine,
                memory_per_node=_known(machine.memory_per_node, kind.memory_per_node / part),
                aggregate_bandwidth=total,
                node_bandwidth=_known(machine.node_bandwidth, own),
            )
        )
    return made[1:] if described(made[0], unit) == described(made[1], unit) else made


def _known(value: float, otherwise: float) -> float:
    return value if np.isfinite(value) else otherwise


def described(machine: System, unit: str) -> str:
    """Memory and file system of a machine in words."""
    return f"{machine.memory_per_node:g} GB per {unit} and {machine.aggregate_bandwidth:g} GB/s"


def fine_step(schedule: Schedule, moments: np.ndarray, system: System, seed: int = 0) -> float:
    """The step of checkpoints (s) at which half of it changes losses by less than 1 %."""
    step = STEP
    loss = burst_costs(schedule, moments, system=system, step=step, seed=seed)["mean"].sum()
    while step > FINEST and _cells(schedule, moments, step / 2).max(initial=0) <= MOST_CELLS / 4:
        half = burst_costs(schedule, moments, system=system, step=step / 2, seed=seed)
        finer = half["mean"].sum()
        if abs(loss - finer) <= AGREED * loss:
            break
        step, loss = step / 2, finer
    return step


def _moments(log: Log, at: float | None) -> tuple[np.ndarray, str]:
    """Moments at which the machine is nearly full, and which those are; none and why."""
    if at is not None:
        check.number("at", at, kind="seconds of the log")
        return np.array([float(at)]), f"at {at:g} s of the log"
    first, last = log.schedule.span
    hours = first + HOUR * np.arange(1 + int((last - first) // HOUR))
    if hours.size == 1:
        return hours[:0], "What a burst would cost is open: the log is shorter than an hour."
    held = _at(occupied_nodes(log.schedule), hours)
    total, unit = log.machine.total_nodes, log.unit
    full = (held >= NEARLY_FULL * total) & (held <= total)
    if full.any():
        return hours[full], (
            f"of {count(int(full.sum()), 'hour')} at which {percent(NEARLY_FULL)} of the {unit}s "
            "are held"
        )
    # Jobs may fill the machine between two whole hours.
    most = min(log.held.most, total)
    if most >= NEARLY_FULL * total:
        return hours[:0], (
            f"What a burst would cost is open: {percent(NEARLY_FULL)} of the {unit}s are held at "
            "times, but at no whole hour."
        )
    return hours[:0], (
        f"No job has to make way for a burst of up to {count(total - most, unit)}: at most "
        f"{percent(most / total)} of the machine is ever held."
    )


def _cells(schedule: Schedule, hours: np.ndarray, step: float) -> np.ndarray:
    """Cells of the tables of dynamic programming at each moment, all deadlines together."""
    steps = sum(deadline * MINUTE / step + 1 for deadline in DEADLINES)
    return _at(running_jobs(schedule), hours) * _at(occupied_nodes(schedule), hours) * steps


def _affordable(schedule: Schedule, moments: np.ndarray, step: float, budget: float) -> np.ndarray:
    """As many of the moments as the budget allows, evenly from all."""
    mean = float(_cells(schedule, moments, step).mean())
    number = int(np.clip(budget * CELLS_PER_SECOND / max(mean, 1.0), 3, MOST_MOMENTS))
    return moments[
        np.unique(np.linspace(0, moments.size - 1, min(number, moments.size)).round().astype(int))
    ]


def _burst_finding(log: Log, costs: dict[str, pd.DataFrame], rests: str) -> dict[str, str]:
    """Finding: the loss of one burst, with its range over machines."""
    first = next(iter(costs.values()))
    rows = first.index.to_frame(index=False)
    place = (rows["percent"] / 100 - SHOWN[0]).abs() + (rows["deadline"] - SHOWN[1]).abs()
    deadline, share, nodes = first.index[int(place.idxmin())]
    means = {name: table["mean"][deadline, share, nodes] for name, table in costs.items()}
    p90 = max(table["p90"][deadline, share, nodes] for table in costs.values())
    unit = log.unit
    span = span_text(cell(min(means.values())), cell(max(means.values())))
    sentence = (
        f"On a nearly full machine, a burst on {count(nodes, unit)} ({share:g} %) "
        f"{_within(deadline)} would lose {span} {unit}-hours of work on average."
    )
    how = f"The mean over {rests}{log.simulated}. At 9 moments of 10 at most {cell(p90)} are lost."
    if len({cell(mean) for mean in means.values()}) > 1:
        losses = " and ".join(
            f"{cell(mean)} {unit}-hours with {name}" for name, mean in means.items()
        )
        how += f" The mean loss is {losses}: memory and bandwidth of your machine decide which."
    return {sentence: how}


def _within(deadline: int) -> str:
    return f"within {deadline} min" if deadline else "at once"


def _loss(jobs: pd.DataFrame, deadline: int, step: float) -> np.ndarray:
    """Least node-hours lost for each number of nodes, by a deadline in minutes.

    If a table of all jobs would be too large the smallest go on to run, up to the last: beyond
    what the others hold, all are killed.
    """
    if not len(jobs):
        return np.zeros(1)
    jobs = jobs.sort_values("nodes", ascending=False, kind="stable")
    steps = deadline * MINUTE // step + 1.0
    cells = np.arange(1, len(jobs) + 1) * steps * jobs["nodes"].cumsum().to_numpy()
    fitting = max(1, int((cells <= MOST_CELLS).sum()))
    problem = EvictionProblem(jobs[:fitting], 0, deadline * MINUTE, step)
    loss = solve_spectrum(problem).loss[:, -1]
    return np.append(loss, np.full(int(jobs["nodes"][fitting:].sum()), jobs["loss"].sum()))


def _at(steps: pd.Series, times: np.ndarray) -> np.ndarray:
    """Values of a step function at some instants; 0 before it begins."""
    return steps_at(steps.index.to_numpy(), steps.to_numpy(), times)


def lendable_nodes(
    schedule: Schedule,
    start: float,
    end: float,
    leases: Sequence[int] = LEASES,
    *,
    windows: pd.DataFrame = NO_WINDOWS,
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
    least, rows = _least_idle(schedule, start, end, windows), []
    for lease in [lease for lease in leases if lease <= least.size]:
        lent = least.rolling(lease).min().dropna()
        rows.append((lease, lent.quantile(0.1), lent.median(), lent.mean()))
    return pd.DataFrame(rows, columns=["hours", "p10", "median", "mean"])


def _least_idle(schedule: Schedule, start: float, end: float, windows: pd.DataFrame) -> pd.Series:
    """The fewest idle nodes in each whole hour; 0 if closed, or if a record holds too many."""
    held = occupied_nodes(schedule)
    check.windows(start, end, HOUR)
    edges = start + HOUR * np.arange((end - start) // HOUR + 1)
    if edges.size < 2:
        return pd.Series(dtype=float)
    inside = held.index[(held.index > start) & (held.index < edges[-1])]
    times = np.union1d(inside, edges[:-1])
    idle = np.maximum(schedule.total_nodes - _at(held, times), 0)
    least = np.minimum.reduceat(idle, np.searchsorted(times, edges[:-1]))
    for closed, opened in windows[["start", "end"]].to_numpy():
        least[(edges[:-1] < opened) & (edges[1:] > closed)] = 0
    return pd.Series(least)


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


@made_once
def lending_section(log: Log, *, leases: Sequence[int] = LEASES) -> Section:
    """Section: nodes that could be lent for hours, over the whole log."""
    title = "Nodes to lend"
    if "idle nodes" in log.lacks:
        why = "What could be lent is open, as the record does not show which nodes are idle."
        return Section("lending", title, (why,))
    # Before its first start a log does not show what was idle.
    first, last = float(log.schedule.start_time.min()), log.schedule.span[1]
    lent = lendable_nodes(log.schedule, first, last, leases, windows=log.windows)
    unit = log.unit
    if lent.empty:
        short = f"How many {unit}s could be lent is open: the log is shorter than an hour."
        return Section("lending", title, (short,))
    row = lent[lent["hours"] <= LEASE].iloc[-1]
    hours, total = int(row["hours"]), log.machine.total_nodes
    least = _least_idle(log.schedule, first, last, log.windows).rolling(hours).min().dropna()
    at = HOUR * least.index.to_numpy()
    interval = interval_of(at, least, np.ones(least.size), seed=log.seed)
    few = ": too few to lend" if row["mean"] < 0.01 * total else " and could be lent"
    under = f"Under {log.schedule.policy}, " * bool(log.simulated)
    finding = (
        f"{under}{cell(row['mean'])} of {count(total, unit)} on average{interval.text(cell)} stay "
        f"idle for {hours} h in a row{few}."
    )
    how = (
        "From each whole hour since the first start. At 9 hours of 10 it is at least "
        f"{row['p10']:,.0f}. {interval.basis}"
    )
    if len(log.windows):
        how += f" In the {count(len(log.windows), 'window')} of a closed machine nothing is lent."
    table = lent.set_index("hours").rename(columns=LENT)
    picture = line_chart(table, f"hours for which {unit}s are lent", f"{unit}s")
    how_to_read = (
        f"{capital(unit)}s that are idle for so many hours in a row, known in hindsight; who lends "
        "without knowing the future has to take some back."
    )
    tables = {capital(f"{unit}s to lend, by hours"): table}
    computed = {finding: how}
    return Section("lending", title, (finding,), (picture,), tables, how_to_read, computed)


@made_once
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
    if "idle nodes" in log.lacks:
        why = "What fillers would use is open, as the record does not show which nodes are idle."
        return Section("fillers", title, (why,))
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
    spent = _spent(table)
    cost = spent.groupby(level="fillers", sort=False).agg(["mean", "min", "max"]).drop(FILLERS[0])
    best = cost["mean"].idxmin()
    mean, low, high = cost.loc[best]
    weeks_span = f" ({percent(low)} to {percent(high)})" * (len(weekly) > 1)
    finding = (
        f"One-{unit} fillers would spend {percent(mean)} of the {unit}-hours that jobs leave on "
        f"starts and saves{weeks_span}, if {best}."
    )
    how = (
        f"The mean over {count(len(weekly), 'week')}, evenly from the log, and their range. There "
        f"are always enough fillers. Jobs leave {percent(_left(groups))} of the {unit}-hours."
    )
    shown = (100 * cost).set_axis(["mean, and range of weeks", "low", "high"], axis=1)
    picture = dot_chart(shown, "percent spent on starts and saves")
    how_to_read = (
        "The jobs of these weeks are scheduled by conservative backfilling, once a minute; fillers "
        f"take {unit}s that are idle when a minute begins. They are saved each minute, or before a "
        "reservation (jobs may then wait for a minute), or killed where a job comes and saved as "
        f"often as is best. To start and save one takes {overhead:g} min."
    )
    tables = {
        capital(f"{unit}-hours by use"): groups[[*PARTS.values()][:-1]].sum(),
        "The same by week, and the part of the machine that works": table,
    }
    computed = {finding: how}
    return Section("fillers", title, (finding,), (picture,), tables, how_to_read, computed)


def _spent(table: pd.DataFrame) -> pd.Series:
    """Share of the node-hours that jobs leave, spent on overhead or lost by fillers."""
    spent = table[PARTS["overhead"]] + table[PARTS["lost"]]
    left = spent + table[PARTS["containers"]] + table[PARTS["idle"]]
    return (spent / left.where(left > 0)).fillna(0.0)


def _left(groups: Any) -> float:
    """Share of the node-hours that jobs leave without fillers."""
    parts = groups[[*PARTS.values()][:-1]].sum().loc[FILLERS[0]]
    return float(parts[PARTS["idle"]] / max(parts.sum(), 1e-9))
