"""Nodes that can be freed for a burst within minutes, and the node-hours lost by that.

At an hour of a schedule some nodes are idle. Some jobs end within the deadline by their requested
times; those that have outlived theirs are not counted on. All other running jobs may be killed, or
checkpointed one after another, at least loss (`cosimlib.eviction`), whose model of checkpoints is
that of Maurya et al.: hourly checkpoints of the application, memory drawn per job.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import count, percent
from cosimlib.eviction import EvictionProblem, solve_spectrum
from cosimlib.eviction.problem import draw_memory, running_jobs_at
from cosimlib.metrics import occupied_nodes, running_jobs
from cosimlib.report.log import Log
from cosimlib.report.page import Section, axis, cell, line_chart
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.traces.oddities import NEARLY_FULL
from cosimlib.units import HOUR, MINUTE

DEADLINES = (0, 5, 10, 15)
"""Minutes."""

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75)
"""Of the machine's nodes, wanted by a burst."""

STEP = MINUTE
FINEST, AGREED = 1.0, 0.01
"""Least step of checkpoints (s), and the change by half of it below which a step is fine enough."""

CELLS_PER_SECOND = 3e8
MOST_MOMENTS = 40
SHOWN = (0.2, 10)
"""The share of the machine and the deadline (minutes) that a finding tells."""

SMALL = System("small", {"main": 1}, 1, 64.0, 5.0, 1.0)
"""Memory (GB per node) and file system (GB/s) of a small machine."""

MOST_CELLS = 2.0**31
"""Jobs · deadlines · nodes of one table; four cells take a byte."""


class Freeable(NamedTuple):
    """Nodes that can be freed at some hours, and what it costs.

    Parameters
    ----------
    nodes : pd.DataFrame
        `time` (s), `deadline` (minutes), and the nodes that are `idle`, that are `ending` by then,
        and that are `saved`: freed by checkpoints without loss.
    costs : pd.DataFrame
        `time` (s), `deadline` (minutes), `share` of the machine and `nodes` wanted, `loss`
        (node-hours).
    """

    nodes: pd.DataFrame
    costs: pd.DataFrame


def freeable_nodes(
    schedule: Schedule,
    hours: np.ndarray,
    *,
    deadlines: Sequence[int] = DEADLINES,
    shares: Sequence[float] = SHARES,
    system: System | None = None,
    step: float = STEP,
    seed: int = 0,
) -> Freeable:
    """Nodes that can be freed at some instants within minutes, and the loss of freeing shares.

    Parameters
    ----------
    schedule : Schedule
    hours : np.ndarray
        Instants (s); of none both tables are empty.
    deadlines : sequence of int
        Minutes.
    shares : sequence of float
        Of the machine's nodes, for `Freeable.costs`.
    system : System, optional
        With memory and bandwidths; by default that of `checkpoint_machines`, the last of several.
    step : float, default 60
        Seconds to which checkpoints are rounded up.
    seed : int, default 0
        Of the memory of the jobs.
    """
    schedule = _around(schedule, hours)
    system = system or checkpoint_machines(schedule.system)[-1]
    memory = draw_memory(schedule.workload, system, seed=seed)
    idle = np.maximum(schedule.total_nodes - _at(occupied_nodes(schedule), hours), 0)
    wanted = np.ceil(np.array(shares) * schedule.total_nodes).astype(np.int64)
    nodes, costs = [], []
    for hour, at_once in zip(hours.tolist(), idle.tolist(), strict=True):
        running = _running(schedule, hour, system, memory)
        for deadline in deadlines:
            ending = running["left"] <= deadline * MINUTE
            soon = int(running["nodes"][ending].sum())
            loss = _loss(running[~ending], deadline, step)
            saved = int(np.flatnonzero(loss == 0).max())
            nodes.append((hour, deadline, int(at_once), soon, saved))
            missing = np.clip(wanted - int(at_once) - soon, 0, loss.size - 1)
            costs += [
                (hour, deadline, *row)
                for row in zip(shares, wanted.tolist(), loss[missing].tolist(), strict=True)
            ]
    columns = ["time", "deadline", "idle", "ending", "saved"]
    of_costs = ["time", "deadline", "share", "nodes", "loss"]
    kind = None if nodes else "float64"
    return Freeable(
        pd.DataFrame(nodes, columns=columns, dtype=kind),
        pd.DataFrame(costs, columns=of_costs, dtype=kind),
    )


def mean_costs(freeable: Freeable) -> pd.DataFrame:
    """Mean node-hours lost over the hours, by deadline and share of the machine wanted.

    Returns
    -------
    pd.DataFrame
        `within` (the deadline in words), `percent` of the machine, `nodes`, `loss`: the mean, and
        `p90`: the loss not exceeded at 9 hours of 10.
    """
    loss = freeable.costs.groupby(["deadline", "share", "nodes"])["loss"]
    table = pd.DataFrame({"loss": loss.mean(), "p90": loss.quantile(0.9)}).reset_index()
    within = [f"within {deadline} min" if deadline else "at once" for deadline in table["deadline"]]
    table = table.assign(within=within, percent=(100 * table["share"]).round(1))
    return table[["within", "percent", "nodes", "loss", "p90"]]


def bursts_section(
    log: Log,
    *,
    memory_per_node: float | None = None,
    bandwidth: float | None = None,
    at: float | None = None,
    deadlines: Sequence[int] = DEADLINES,
    shares: Sequence[float] = SHARES,
    budget: float = 10.0,
    seed: int = 0,
) -> Section:
    """What a burst of other work would cost where the machine is nearly full.

    Parameters
    ----------
    log : Log
    memory_per_node : float, optional
        GB; by default the machine's own.
    bandwidth : float, optional
        Of the file system, GB/s; by default the machine's own. Where one of both is unknown, a
        small machine and one like Theta are the ends of a band.
    at : float, optional
        The moment, seconds of the log; by default whole hours at which 90 % of the nodes are held.
    deadlines : sequence of int
        Minutes.
    shares : sequence of float
        Sizes of bursts, of the machine's nodes.
    budget : float, default 10.0
        CPU seconds.
    seed : int, default 0
        Of the memory of jobs.
    """
    title, schedule = "Nodes for a burst", log.schedule
    if "idle nodes" in log.lacks:
        why = f"What a burst would cost is open: {log.lacks['idle nodes']}."
        return Section("bursts", title, (why,))
    machines = checkpoint_machines(log.machine, memory_per_node, bandwidth)
    moments, of = _moments(log, at)
    if not moments.size:
        return Section("bursts", title, (of,))
    step = fine_step(schedule, moments[:: max(1, moments.size // 3)][:3], machines[0], seed)
    moments = _affordable(schedule, moments, step, budget / len(machines))
    costs = {
        machine.name: mean_costs(
            freeable_nodes(
                schedule, moments, deadlines=deadlines, shares=shares, system=machine, step=step,
                seed=seed,
            )
        )
        for machine in machines
    }  # fmt: skip
    unit = log.unit
    tables = _cost_tables(costs, machines, unit)
    first, last = (costs[machine.name] for machine in (machines[0], machines[-1]))
    series, bands = {}, {}
    for within, rows in first.groupby("within", sort=False):
        other = last[last["within"] == within]
        low = np.minimum(rows["loss"].to_numpy(), other["loss"].to_numpy())
        high = np.maximum(rows["loss"].to_numpy(), other["loss"].to_numpy())
        series[str(within)] = rows["percent"].to_numpy(), (low + high) / 2
        bands[str(within)] = low, high
    tops = [*first["loss"], *last["loss"]]
    picture = line_chart(
        series, axis(first["percent"], "percent of the machine wanted"),
        axis(tops, f"{unit}-hours lost (mean)"), bands=bands,
    )  # fmt: skip
    reading = (
        f"Idle {unit}s are taken first, then jobs that end in time by their requests; other jobs "
        "are checkpointed one after another, or killed, at the least loss. Lost is the work since "
        "a job's last checkpoint, which applications write hourly. Memory in use is drawn, 40 to "
        f"90 % of a {unit}'s, unless the log tells it. Checkpoints are rounded up to {step:g} s, "
        "the longest step of which a half changes losses by less than 1 %, down to a second."
    )
    if len(machines) > 1:
        reading += (
            " Bands are from a small machine to one like Theta; give yours with --memory and "
            "--bandwidth."
        )
    found = _burst_finding(log, costs, machines, f"{count(moments.size, 'moment')} {of}")
    return Section("bursts", title, (found,), (picture,), tables, reading)


def _cost_tables(
    costs: dict[str, pd.DataFrame], machines: list[System], unit: str
) -> dict[str, pd.DataFrame]:
    """Losses by size and deadline, from machine to machine, and all numbers."""
    parts = [costs[machine.name].assign(machine=described(machine)) for machine in machines]
    every = pd.concat(parts)
    index = ["percent", "nodes"]
    sides = [part.set_index([*index, "within"])["loss"].unstack() for part in parts]  # noqa: PD010
    low, high = (side[list(parts[0]["within"].unique())] for side in (sides[0], sides[-1]))
    shown = low.copy().astype(object)
    for column in shown:
        shown[column] = [
            cell(one)
            if cell(one) == cell(other)
            else f"{cell(min(one, other))} to {cell(max(one, other))}"
            for one, other in zip(low[column], high[column], strict=True)
        ]
    shown.index.names = ["percent of the machine", f"{unit}s"]
    return {
        f"{unit}-hours lost by a burst (mean)".capitalize(): shown.rename_axis(columns=None),
        "The same by memory and file system (p90: at 9 moments of 10 at most)": every.set_index(
            "machine"
        ),
    }


def checkpoint_machines(
    machine: System, memory_per_node: float | None = None, bandwidth: float | None = None
) -> list[System]:
    """The machine with what was given, where memory and file system are known; else a range."""
    for name, value in (("memory_per_node", memory_per_node), ("bandwidth", bandwidth)):
        check.that(
            name,
            value,
            value is None or (check.is_number(value) and value > 0),
            "a number above 0",
            none=True,
        )
    memory = memory_per_node or machine.memory_per_node
    total = bandwidth or machine.aggregate_bandwidth
    kinds = [SMALL, THETA] if np.isnan([memory, total]).any() else [THETA]
    made = [
        replace(
            machine,
            name=kind.name if len(kinds) > 1 else machine.name,
            memory_per_node=kind.memory_per_node if np.isnan(memory) else memory,
            aggregate_bandwidth=kind.aggregate_bandwidth if np.isnan(total) else total,
        )
        for kind in kinds
    ]
    return [
        replace(
            each,
            node_bandwidth=min(kind.node_bandwidth, each.aggregate_bandwidth)
            if np.isnan(machine.node_bandwidth)
            else machine.node_bandwidth,
        )
        for each, kind in zip(made, kinds, strict=True)
    ]


def described(machine: System) -> str:
    """Memory and file system of a machine in words."""
    return f"{machine.memory_per_node:g} GB per node and {machine.aggregate_bandwidth:g} GB/s"


def fine_step(schedule: Schedule, hours: np.ndarray, system: System, seed: int = 0) -> float:
    """The step of checkpoints (s) at which half of it changes losses by less than 1 %."""
    step = STEP
    loss = _total_loss(schedule, hours, system, step, seed)
    while step > FINEST and _cells(schedule, hours, step / 2).max(initial=0) <= MOST_CELLS / 4:
        finer = _total_loss(schedule, hours, system, step / 2, seed)
        if abs(loss - finer) <= AGREED * loss:
            break
        step, loss = step / 2, finer
    return step


def _total_loss(
    schedule: Schedule, hours: np.ndarray, system: System, step: float, seed: int
) -> float:
    """Node-hours lost by all bursts at some moments."""
    freeable = freeable_nodes(schedule, hours, system=system, step=step, seed=seed)
    return float(freeable.costs["loss"].sum())


def _moments(log: Log, at: float | None) -> tuple[np.ndarray, str]:
    """Moments at which the machine is nearly full, and which those are; none and why."""
    if at is not None:
        check.number("at", at, kind="seconds of the log")
        return np.array([float(at)]), f"at {at:g} s of the log"
    first, last = log.schedule.span
    hours = first + HOUR * np.arange(1 + int((last - first) // HOUR))
    held = _at(occupied_nodes(log.schedule), hours)
    total, unit = log.machine.total_nodes, log.unit
    full = (held >= NEARLY_FULL * total) & (held <= total)
    if full.any():
        return hours[full], (
            f"of {count(int(full.sum()), 'hour')} at which {percent(NEARLY_FULL)} of the {unit}s "
            "are held"
        )
    most = int(held[held <= total].max(initial=0))
    return hours[:0], (
        f"No job has to make way for a burst of up to {count(total - most, unit)}: the machine is "
        f"never nearly full, at most {percent(most / total)} of it is held at any of "
        f"{count(hours.size, 'whole hour')}."
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


def _burst_finding(
    log: Log, costs: dict[str, pd.DataFrame], machines: list[System], rests: str
) -> str:
    """The loss of one burst, with its range over moments and machines."""
    table = costs[machines[0].name]
    place = (
        (table["percent"] - 100 * SHOWN[0]).abs()
        + 100 * (table["within"] != f"within {SHOWN[1]} min")
    ).idxmin()
    rows = [costs[machine.name].loc[place] for machine in machines]
    row, unit = rows[0], log.unit
    told = ", ".join(
        f"{cell(each['loss'])} {unit}-hours with {described(machine)} "
        f"(at 9 moments of 10 at most {cell(each['p90'])})"
        for each, machine in zip(rows, machines, strict=True)
    )
    sentence = (
        f"A burst that takes {row['percent']:g} % of the machine "
        f"({count(int(row['nodes']), unit)}) {row['within']} where it is nearly full would lose "
        f"{told}; {rests}{log.simulated}"
    )
    low, high = (pick(float(each["loss"]) for each in rows) for pick in (min, max))
    if len(rows) > 1 and high > 2 * low + 0.1:
        return f"{sentence}. Which of them is yours is open: --memory and --bandwidth decide it."
    return f"{sentence}."


def _running(schedule: Schedule, hour: float, system: System, memory: pd.DataFrame) -> pd.DataFrame:
    """The jobs that run at an instant as an eviction problem has them, and the seconds `left`.

    Left is the time to the requested end; infinite where that is past or unknown.
    """
    running = (schedule.start_time <= hour) & (hour < schedule.end_time)
    if not running.any():
        return pd.DataFrame(
            {name: [] for name in ("nodes", "loss", "app_time", "sys_time", "left")}
        )
    table = running_jobs_at(schedule, hour, system=system, interval=HOUR, memory=memory)
    requested = schedule.workload.jobs["requested_time"].to_numpy()[running]
    left = schedule.start_time[running] + requested - hour
    return table.assign(left=np.where(left > 0, left, np.inf))


def _loss(jobs: pd.DataFrame, deadline: int, step: float) -> np.ndarray:
    """Least node-hours lost for each number of nodes, by a deadline in minutes.

    Where a table of all jobs would be too large the smallest go on to run, up to the last: beyond
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


def _around(schedule: Schedule, hours: np.ndarray) -> Schedule:
    """The schedule of the jobs that run at any time near the instants."""
    last, first = hours.max(initial=-np.inf), hours.min(initial=np.inf)
    near = (schedule.start_time <= last) & (schedule.end_time > first)
    workload = schedule.workload.keep(near, "not running in the window")
    start_time, end_time = schedule.start_time[near], schedule.end_time[near]
    return replace(schedule, workload=workload, start_time=start_time, end_time=end_time)


def _at(steps: pd.Series, times: np.ndarray) -> np.ndarray:
    """Values of a step function at some instants; 0 before it begins."""
    values = np.append(steps.to_numpy(), 0)
    return values[np.searchsorted(steps.index.to_numpy(), times, side="right") - 1]
