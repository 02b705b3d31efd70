"""Wasted cycles of a single preemption at any moment: by policy, and the least possible.

At a state, the P nodes of least value are preempted, as a thought: the simulation goes on as it is.
Each job j that runs on one of them wastes, once, in node-seconds,

    WC_j = 0                                 if remaining time < GP,
    WC_j = (elapsed time + GP) · node count  otherwise

with GP the grace period (Duplyakin, Johnson and Ricci, ScienceCloud 2017, Section 4.1); the state
wastes their sum.

*The least waste.* The nodes that run the jobs k₁, k₂, … come free together, for a job touched is
wasted whole. So the least waste of P nodes is a covering knapsack problem: of the running jobs
those of least cost whose nodes, with the idle ones, are P or more (system 1 solves the same for
evictions). A vector of one number per node ranks jobs one by one and cannot solve it. Two optima
bound it:

- *blind*: without knowing when jobs end, each costs (elapsed + GP) · nodes, as if none ended within
  the grace period. What is reported is what the choice then really wastes.
- *foresighted*: with known ends, each costs what it will really waste. Nothing can waste less.

Per node freed, a job costs elapsed + GP, however many nodes it has. LIFO therefore takes jobs in
the order of cost per node, the greedy rule of the knapsack; PAP ranks them by total cost, and
takes several old one-node jobs before one young job of many nodes.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.elastic.vectors import (
    GRACE_PERIODS,
    PREEMPTED,
    Followed,
    check_preempted,
    checked_grace_periods,
    evaluate,
    follow,
    moments_of,
    occupants,
    policy_number,
)
from cosimlib.kernels import occupancy
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.schedule import Schedule


def wasted_cycles(
    schedule: Schedule,
    *,
    policy: str = "PAP",
    preempted: int = PREEMPTED,
    grace_periods: Sequence[float] = GRACE_PERIODS,
    moments: Sequence[float] | np.ndarray | None = None,
    counted: np.ndarray | None = None,
    taken: np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Wasted cycles: node-seconds that a preemption would waste, per state and grace period.

    Parameters
    ----------
    schedule : Schedule
        On one partition of the paper's N nodes.
    policy : str, default "PAP"
        One of `POLICIES`; PAP+ reads the workload's `priority`.
    preempted : int, default 10
        The paper's P.
    grace_periods : sequence of float
        Seconds.
    moments : sequence of float, optional
        Ascending seconds; by default `execution_states`.
    counted : array of bool, optional
        One per job: count only what these jobs waste.
    taken : np.ndarray, optional
        What `taken_jobs` gives for these moments, where it is known; `policy`, `preempted` and
        `seed` are then not read.
    seed : int, default 0
        Of RANDOM's draws.

    Returns
    -------
    pd.DataFrame
        One row per state, indexed by `time`, one column per grace period.
    """
    at, periods = moments_of(schedule, moments), checked_grace_periods(grace_periods)
    jobs = len(schedule.workload)
    mask = np.ones(jobs, dtype=np.bool_) if counted is None else np.array(counted, dtype=np.bool_)
    if mask.shape != (jobs,):
        raise ValueError(f"counted has shape {mask.shape}; expected one bool for each of {jobs}")
    if taken is None:
        taken = taken_jobs(schedule, policy=policy, preempted=preempted, moments=at, seed=seed)
    elif taken.ndim != 2 or len(taken) != at.size:
        shape = f"one row of nodes for each of {at.size} moments"
        raise ValueError(f"taken has shape {taken.shape}; expected {shape}, as of taken_jobs")
    start_time, end_time = (
        np.array(times, dtype=np.float64) for times in (schedule.start_time, schedule.end_time)
    )
    nodes = schedule.workload.jobs["nodes"].to_numpy(np.int64).copy()
    return _by_state(_wasted(taken, at, start_time, end_time, nodes, mask, periods), at, periods)


def taken_jobs(
    schedule: Schedule,
    *,
    policy: str = "PAP",
    preempted: int = PREEMPTED,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> np.ndarray:
    """The job on each node that a preemption takes, −1 on an idle node (moments × nodes taken).

    Nodes are in ascending order. The parameters are those of `wasted_cycles`.
    """
    return _preempt(schedule, policy, preempted, moments, seed)[1]


def taken_nodes(
    schedule: Schedule,
    *,
    policy: str = "PAP",
    preempted: int = PREEMPTED,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> np.ndarray:
    """The nodes that a preemption takes, in ascending order (moments × nodes taken).

    The parameters are those of `wasted_cycles`.
    """
    return _preempt(schedule, policy, preempted, moments, seed)[0]


def _preempt(
    schedule: Schedule,
    policy: str,
    preempted: int,
    moments: Sequence[float] | np.ndarray | None,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that a preemption takes, ascending, and their jobs (moments × nodes taken)."""
    at, number = moments_of(schedule, moments), policy_number(policy)
    followed = follow(schedule, [number])
    check_preempted(preempted, followed.total_nodes)
    check.seed(seed)
    return _taken(followed, at, number, int(preempted), np.random.default_rng(seed))


def least_waste(
    schedule: Schedule,
    *,
    known_ends: bool = False,
    preempted: int = PREEMPTED,
    grace_periods: Sequence[float] = GRACE_PERIODS,
    moments: Sequence[float] | np.ndarray | None = None,
) -> pd.DataFrame:
    """Least wasted node-seconds, if the host takes the cheapest jobs, per state and grace period.

    Parameters
    ----------
    schedule : Schedule
    known_ends : bool, default False
        Whether the host knows when jobs end.
    preempted : int, default 10
    grace_periods : sequence of float
        Seconds.
    moments : sequence of float, optional
        Ascending seconds; by default `execution_states`.

    Returns
    -------
    pd.DataFrame
        As of `wasted_cycles`: one row per state, indexed by `time`, one column per grace period.
    """
    at, periods = moments_of(schedule, moments), checked_grace_periods(grace_periods)
    on_nodes = occupants(schedule, at).to_numpy()
    check_preempted(preempted, on_nodes.shape[1])
    held = schedule.workload.jobs["nodes"].to_numpy()
    wasted = np.zeros((at.size, periods.size))
    for state, now in enumerate(at):
        busy = on_nodes[state][on_nodes[state] != occupancy.IDLE]
        wanted = max(int(preempted) - on_nodes.shape[1] + busy.size, 0)
        running = pd.unique(busy)
        nodes = held[running].astype(np.int64)
        elapsed, left = now - schedule.start_time[running], schedule.end_time[running] - now
        for place, period in enumerate(periods):
            cost = (elapsed + period) * nodes
            real = np.where(left < period, 0.0, cost)
            known = real if known_ends else cost
            wasted[state, place] = _cover(nodes, known, real, wanted)
    return _by_state(wasted, at, periods)


def _by_state(wasted: np.ndarray, at: np.ndarray, periods: np.ndarray) -> pd.DataFrame:
    """A table of one row per state and one column per grace period."""
    columns = pd.Index(periods, name="grace_period")
    return pd.DataFrame(wasted, index=pd.Index(at, name="time"), columns=columns)


@allocating_kernel
def _taken(
    followed: Followed, at: np.ndarray, policy: int, preempted: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that a preemption takes, ascending, and their jobs (moments × nodes taken)."""
    line, total_nodes = followed.line, followed.total_nodes
    current, elapsed = occupancy.empty(total_nodes), np.empty(total_nodes)
    values = np.empty(total_nodes)
    nodes = np.empty((at.size, preempted), np.int64)
    jobs = np.empty((at.size, preempted), np.int64)
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        occupancy.elapsed_at(line.start_time, current.job, at[state], elapsed)
        evaluate(policy, current.job, elapsed, line.nodes, followed.priority, rng, values)
        # The largest value that is taken. Of the nodes that have it, the lowest are taken.
        largest = np.partition(values, preempted - 1)[preempted - 1]
        left = preempted - (values < largest).sum()
        place = 0
        for node in range(total_nodes):
            if values[node] == largest and left > 0:
                left -= 1
            elif not values[node] < largest:
                continue
            nodes[state, place] = node
            jobs[state, place] = current.job[node]
            place += 1
    return nodes, jobs


@allocating_kernel
def _wasted(
    taken: np.ndarray,
    at: np.ndarray,
    start_time: np.ndarray,
    end_time: np.ndarray,
    nodes: np.ndarray,
    counted: np.ndarray,
    periods: np.ndarray,
) -> np.ndarray:
    """Node-seconds that the jobs on the nodes taken waste (moments × grace periods).

    `taken` has the jobs (moments × nodes taken), each of which wastes once; `start_time`,
    `end_time`, `nodes` and `counted` are per job.
    """
    wasted = np.zeros((at.size, periods.size))
    latest = np.full(nodes.size, -1)
    for state in range(at.size):
        for job in taken[state]:
            if job == occupancy.IDLE or not counted[job] or latest[job] == state:
                continue
            latest[job] = state
            elapsed, remaining = at[state] - start_time[job], end_time[job] - at[state]
            for place in range(periods.size):
                if remaining >= periods[place]:
                    wasted[state, place] += (elapsed + periods[place]) * nodes[job]
    return wasted


@allocating_kernel
def _cover(held, cost, real, wanted):
    """What the jobs of least cost that hold `wanted` nodes or more really waste.

    Dynamic programming over the nodes still wanted. Of equal costs the earlier found stays.
    """
    least, wastes = np.full(wanted + 1, np.inf), np.zeros(wanted + 1)
    least[0] = 0.0
    for job in range(held.size):
        for covered in range(wanted, 0, -1):
            rest = max(covered - held[job], 0)
            if least[rest] + cost[job] < least[covered]:
                least[covered] = least[rest] + cost[job]
                wastes[covered] = wastes[rest] + real[job]
    return wastes[wanted]
