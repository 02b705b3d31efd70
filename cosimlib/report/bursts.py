"""Nodes that can be freed for a burst within minutes, and the node-hours lost.

At any hour of a schedule some nodes are idle. Some jobs end within the deadline by their requested
times; jobs that exceed theirs are not counted. All other running jobs may be killed, or
checkpointed one after another, at the least loss (`cosimlib.eviction`). The model of checkpoints is
that of Maurya et al.: hourly checkpoints by the application, and random memory per job.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import count, percent
from cosimlib.eviction import EvictionProblem, solve_spectrum
from cosimlib.eviction.problem import draw_memory, running_jobs_at
from cosimlib.metrics import occupied_nodes, running_jobs
from cosimlib.report.log import Log
from cosimlib.report.page import Section, cell, line_chart
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
            schedule, moments, deadlines=deadlines, shares=shares, system=system, step=step,
            seed=log.seed,
        )
        for system in machines
    }  # fmt: skip
    unit = log.unit
    parts = {
        name: table["mean"].unstack("deadline").rename(columns=_within)  # noqa: PD010
        for name, table in costs.items()
    }
    ends = [part.droplevel("nodes") for part in parts.values()]
    low, high = (ends[0].combine(ends[-1], least) for least in (np.minimum, np.maximum))
    picture = line_chart(
        (low + high) / 2, "percent of the machine wanted", f"{unit}-hours lost (mean)", low=low,
        high=high,
    )  # fmt: skip
    tables = {
        f"{unit}-hours lost by a burst (mean)".capitalize(): pd.concat(parts, names=["machine"]),
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
    found = _burst_finding(log, costs, f"{count(moments.size, 'moment')} {of}")
    return Section("bursts", title, (found,), (picture,), tables, how_to_read)


def checkpoint_machines(machine: System, *, unit: str = "node") -> list[System]:
    """Machine with known memory and file system, else a range of two machines.

    If the log's `unit` is a processor, one has its part of a node with `PROCESSORS`.
    """
    made, part = [], PROCESSORS if unit == "processor" else 1
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


def _burst_finding(log: Log, costs: dict[str, pd.DataFrame], rests: str) -> str:
    """The loss of one burst, with its range over moments and machines."""
    first = next(iter(costs.values()))
    rows = first.index.to_frame(index=False)
    place = (rows["percent"] / 100 - SHOWN[0]).abs() + (rows["deadline"] - SHOWN[1]).abs()
    deadline, share, nodes = first.index[int(place.idxmin())]
    means = {name: table["mean"][deadline, share, nodes] for name, table in costs.items()}
    p90 = max(table["p90"][deadline, share, nodes] for table in costs.values())
    unit = log.unit
    lost = f"{cell(max(means.values()))} {unit}-hours of work"
    differ = len({cell(mean) for mean in means.values()}) > 1
    if differ:
        losses = " and ".join(f"{cell(mean)} with {name}" for name, mean in means.items())
        lost = f"{unit}-hours of work: {losses}"
    sentence = (
        f"A burst on {share:g} % of the machine ({count(nodes, unit)}) {_within(deadline)}, while "
        f"the machine is nearly full, would lose {lost}, on average (at 9 moments of 10 at "
        f"most {cell(p90)}; {rests}{log.simulated})."
    )
    return sentence + " The memory and the bandwidth of your machine decide which." * differ


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
    values = np.append(steps.to_numpy(), 0)
    return values[np.searchsorted(steps.index.to_numpy(), times, side="right") - 1]
