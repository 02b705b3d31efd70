"""Wasted cycles of a single preemption at any moment: by policy, and the least possible.

At a state, the P nodes of least value are preempted, as a thought: the simulation goes on as it is.
Each job j that runs on one of them wastes, once, in node-seconds,

    WC_j = 0                                 if remaining time < GP,
    WC_j = (elapsed time + GP) · node count  otherwise

with GP the grace period (Duplyakin, Johnson and Ricci, ScienceCloud 2017, Section 4.1); the state
wastes their sum. States are not stored: a kernel walks along the schedule, ranks the nodes once per
state and fills one number per state and grace period.

*Idle time.* A touched job that ends within the grace period wastes nothing, but the nodes that were
wanted of it are then idle until the period is over, where the host waits for its end: "we could
also count the cycles spent between the job completion and the end of GP, and treat such idle cycles
as another evaluation metric". At a state,

    idle = sum over touched jobs with remaining time < GP of (GP - remaining) · nodes taken of it.

Their prototype, like `simulate_elastic`, gives a node back as soon as it is idle.

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
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.elastic.vectors import (
    GRACE_PERIODS,
    POLICIES,
    PREEMPTED,
    Followed,
    check_preempted,
    checked_grace_periods,
    distinct,
    follow,
    moments_of,
    policy_number,
    preempt,
)
from cosimlib.kernels import occupancy
from cosimlib.kernels.jit import kernel
from cosimlib.schedule import Schedule
from cosimlib.units import HOUR


class Touched(NamedTuple):
    """The jobs on the nodes that a preemption takes at each moment (moments × nodes).

    Whether a node is the `first` of its job; seconds `remaining` and `elapsed`, and `nodes` of the
    job. An idle node is no job's first, and nothing is known of its job.
    """

    job: np.ndarray
    first: np.ndarray
    remaining: np.ndarray
    elapsed: np.ndarray
    nodes: np.ndarray


def wasted_cycles(
    schedule: Schedule,
    *,
    policy: str = "PAP",
    preempted: int = PREEMPTED,
    grace_periods: Sequence[float] = GRACE_PERIODS,
    moments: Sequence[float] | np.ndarray | None = None,
    counted: np.ndarray | None = None,
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
    seed : int, default 0
        Of RANDOM's draws.

    Returns
    -------
    pd.DataFrame
        One row per state, indexed by `time`, one column per grace period.
    """
    at, jobs = moments_of(schedule, moments), len(schedule.workload)
    mask = np.ones(jobs, dtype=np.bool_) if counted is None else np.array(counted, dtype=np.bool_)
    if mask.shape != (jobs,):
        raise ValueError(f"counted has shape {mask.shape}; expected one bool for each of {jobs}")
    periods, number = checked_grace_periods(grace_periods), policy_number(policy)
    followed = follow(schedule, [number])
    check_preempted(preempted, followed.total_nodes)
    check.seed(seed)
    touched = _touched(followed, at, number, preempted, seed)
    counts = touched.first & np.append(mask, False)[touched.job]
    wasted = np.zeros((at.size, periods.size))
    for place, period in enumerate(periods):
        cycles = (touched.elapsed + period) * touched.nodes
        cycles = np.where(counts & (touched.remaining >= period), cycles, 0.0)
        wasted[:, place] = cycles.cumsum(axis=1)[:, -1]
    return _by_state(wasted, at, periods)


def drained(
    schedule: Schedule,
    *,
    policies: Sequence[str] = POLICIES,
    preempted: int = PREEMPTED,
    grace_periods: Sequence[float] = GRACE_PERIODS,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """What becomes of touched jobs, over all states: one row per policy and grace period (s).

    The parameters are those of `wasted_cycles`.

    Returns
    -------
    pd.DataFrame
        `policy`, `grace_period`, `touched` (jobs per state), `killed` (share of these, NaN without
        any), `idle` (node-hours per state).
    """
    at = moments_of(schedule, moments)
    periods = checked_grace_periods(grace_periods)
    named = distinct("policies", policies, f"of {', '.join(POLICIES)}")
    numbers = [policy_number(policy) for policy in named]
    followed = follow(schedule, numbers)
    check_preempted(preempted, followed.total_nodes)
    check.seed(seed)
    tables = []
    for policy, number in zip(named, numbers, strict=True):
        taken = _touched(followed, at, number, preempted, seed)
        touched = int(taken.first.sum())
        lasts = [taken.remaining >= period for period in periods]
        killed = np.array([(taken.first & long).sum() for long in lasts])
        waits = [np.where(taken.remaining < each, each - taken.remaining, 0.0) for each in periods]
        idle = np.array([np.append(0.0, wait.cumsum())[-1] for wait in waits])
        table = {
            "policy": policy,
            "grace_period": periods,
            "touched": touched / max(at.size, 1),
            "killed": killed / touched if touched else np.nan,
            "idle": idle / max(at.size, 1) / HOUR,
        }
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


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
    at = moments_of(schedule, moments)
    periods, followed = checked_grace_periods(grace_periods), follow(schedule)
    check_preempted(preempted, followed.total_nodes)
    wasted = np.zeros((at.size, periods.size))
    _least_waste(followed, at, int(preempted), periods, known_ends, wasted)
    return _by_state(wasted, at, periods)


def _touched(followed: Followed, at: np.ndarray, policy: int, preempted: int, seed: int) -> Touched:
    """The nodes that a policy preempts at each moment, and what their jobs have done."""
    line = followed.line
    job = preempt(followed, at, policy, preempted, np.random.default_rng(seed))[1]
    order = np.argsort(job, axis=1, kind="stable")
    again = np.diff(np.take_along_axis(job, order, axis=1), axis=1, prepend=-2) == 0
    first = np.empty_like(again)
    np.put_along_axis(first, order, ~again, axis=1)
    # The last row is that of an idle node's job.
    start_time, end_time = np.append(line.start_time, np.nan), np.append(line.end_time, np.nan)
    remaining, elapsed = end_time[job] - at[:, None], at[:, None] - start_time[job]
    nodes = np.append(line.nodes, 0)[job]
    return Touched(job, first & (job != occupancy.IDLE), remaining, elapsed, nodes)


def _by_state(wasted: np.ndarray, at: np.ndarray, periods: np.ndarray) -> pd.DataFrame:
    """A table of one row per state and one column per grace period."""
    columns = pd.Index(periods, name="grace_period")
    return pd.DataFrame(wasted, index=pd.Index(at, name="time"), columns=columns)


@kernel
def _least_waste(followed, at, preempted, periods, known_ends, wasted):
    """Fill `wasted` (moments × grace periods)."""
    line, total_nodes, _ = followed
    current, running = occupancy.empty(total_nodes), np.empty(total_nodes, np.int64)
    held, cost, real = np.empty(total_nodes, np.int64), np.empty(total_nodes), np.empty(total_nodes)
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        size, idle = 0, 0
        for node in range(total_nodes):
            job = current.job[node]
            if job == occupancy.IDLE:
                idle += 1
                continue
            place = 0
            while place < size and running[place] != job:
                place += 1
            if place == size:
                running[size], held[size] = job, line.nodes[job]
                size += 1
        for period in range(periods.size):
            for place in range(size):
                job = running[place]
                ends = line.end_time[job] - at[state] < periods[period]
                whole = (at[state] - line.start_time[job] + periods[period]) * held[place]
                real[place] = 0.0 if ends else whole
                cost[place] = real[place] if known_ends else whole
            wanted = max(preempted - idle, 0)
            wasted[state, period] = _cover(held[:size], cost[:size], real[:size], wanted)


@kernel
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
