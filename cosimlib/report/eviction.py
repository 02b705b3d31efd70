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
from cosimlib.eviction import EvictionProblem, solve_spectrum
from cosimlib.eviction.problem import running_jobs_at
from cosimlib.metrics import occupied_nodes, running_jobs
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.units import HOUR, MINUTE

DEADLINES = (0, 5, 10, 15)
"""Minutes."""

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75)
"""Of the machine's nodes, wanted by a burst."""

STEP = MINUTE
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


def with_checkpoints(system: System) -> tuple[System, str]:
    """A system with memory and bandwidths, and whose they are: its own, or else Theta's."""
    quantities = (system.memory_per_node, system.aggregate_bandwidth, system.node_bandwidth)
    if all(np.isfinite(quantities)):
        return system, "memory and bandwidth of the machine itself"
    return THETA.with_nodes(system.total_nodes), "memory and bandwidth of Theta"


def sample_hours(
    schedule: Schedule, start: float, end: float, *, most: float = np.inf
) -> np.ndarray:
    """Instants (s) of whole hours in a window: each, or each second, third, …

    Parameters
    ----------
    schedule : Schedule
    start, end : float
    most : float, optional
        Cells of tables of dynamic programming to fill in all, about a billion per second.
    """
    check.windows(start, end, HOUR)
    hours = start + HOUR * np.arange(max(1, int((end - start) // HOUR)))
    steps = sum(deadline + 1 for deadline in DEADLINES)
    jobs = _at(running_jobs(schedule), hours)
    held = _at(occupied_nodes(schedule), hours)
    cells = float((jobs * held).sum() * steps)
    return hours[:: max(1, int(np.ceil(cells / most)))]


def freeable_nodes(
    schedule: Schedule,
    hours: np.ndarray,
    *,
    deadlines: Sequence[int] = DEADLINES,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
) -> Freeable:
    """Nodes that can be freed at some instants within minutes, and the loss of freeing shares.

    Parameters
    ----------
    schedule : Schedule
    hours : np.ndarray
        Instants (s), as of `sample_hours`; of none both tables are empty.
    deadlines : sequence of int
        Minutes.
    shares : sequence of float
        Of the machine's nodes, for `Freeable.costs`.
    seed : int, default 0
        Of the memory of the jobs.
    """
    schedule = _around(schedule, hours)
    system = with_checkpoints(schedule.system)[0]
    idle = np.maximum(schedule.total_nodes - _at(occupied_nodes(schedule), hours), 0)
    wanted = np.ceil(np.array(shares) * schedule.total_nodes).astype(np.int64)
    nodes, costs = [], []
    for hour, at_once in zip(hours.tolist(), idle.tolist(), strict=True):
        running = _running(schedule, hour, system, seed)
        for deadline in deadlines:
            ending = running["left"] <= deadline * MINUTE
            soon = int(running["nodes"][ending].sum())
            loss = _loss(running[~ending], deadline)
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


def _running(schedule: Schedule, hour: float, system: System, seed: int) -> pd.DataFrame:
    """The jobs that run at an instant as an eviction problem has them, and the seconds `left`.

    Left is the time to the requested end; infinite where that is past or unknown.
    """
    running = (schedule.start_time <= hour) & (hour < schedule.end_time)
    if not running.any():
        return pd.DataFrame(
            {name: [] for name in ("nodes", "loss", "app_time", "sys_time", "left")}
        )
    table = running_jobs_at(schedule, hour, system=system, interval=HOUR, seed=seed)
    requested = schedule.workload.jobs["requested_time"].to_numpy()[running]
    left = schedule.start_time[running] + requested - hour
    return table.assign(left=np.where(left > 0, left, np.inf))


def _loss(jobs: pd.DataFrame, deadline: int) -> np.ndarray:
    """Least node-hours lost for each number of nodes, by a deadline in minutes.

    Where a table of all jobs would be too large the smallest go on to run, up to the last: beyond
    what the others hold, all are killed.
    """
    if not len(jobs):
        return np.zeros(1)
    jobs = jobs.sort_values("nodes", ascending=False, kind="stable")
    cells = np.arange(1, len(jobs) + 1) * (deadline + 1.0) * jobs["nodes"].cumsum().to_numpy()
    fitting = max(1, int((cells <= MOST_CELLS).sum()))
    problem = EvictionProblem(jobs[:fitting], 0, deadline * MINUTE, STEP)
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
