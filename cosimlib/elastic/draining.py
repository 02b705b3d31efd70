"""Fates of the jobs that a preemption touches: how many are killed, and which nodes idle.

A touched job that ends within the grace period wastes nothing, but the nodes that were wanted of it
are then idle until the period is over, where the host waits for its end: "we could also count the
cycles spent between the job completion and the end of GP, and treat such idle cycles as another
evaluation metric" (Duplyakin, Johnson and Ricci, ScienceCloud 2017, Section 4.1). At a state,

    idle = sum over touched jobs with remaining time < GP of (GP - remaining) · nodes taken of it.

Their prototype, like `simulate_elastic`, gives a node back as soon as it is idle.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.elastic.policies import POLICIES, choose, evaluate, policy_number
from cosimlib.elastic.states import (
    GRACE_PERIODS,
    PREEMPTED,
    check_preempted,
    checked_grace_periods,
    distinct,
    follow,
    moments_of,
)
from cosimlib.kernels import occupancy
from cosimlib.kernels.jit import kernel
from cosimlib.schedule import Schedule
from cosimlib.units import HOUR


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
        killed, idle = np.zeros(periods.size, dtype=np.int64), np.zeros(periods.size)
        rng = np.random.default_rng(seed)
        touched = _drained(*followed, at, number, int(preempted), periods, rng, killed, idle)
        table = {
            "policy": policy,
            "grace_period": periods,
            "touched": touched / max(at.size, 1),
            "killed": killed / touched if touched else np.nan,
            "idle": idle / max(at.size, 1) / HOUR,
        }
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


@kernel
def _drained(line, total_nodes, priority, at, policy, preempted, periods, rng, killed, idle):
    """Fill killed jobs and idle node-seconds per grace period; return how many jobs are touched."""
    current, elapsed = occupancy.empty(total_nodes), np.empty(total_nodes)
    values, chosen = np.empty(total_nodes), np.arange(total_nodes) < preempted
    seen, touched = np.full(line.nodes.size, -1), 0
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        occupancy.elapsed_at(line.start_time, current.job, at[state], elapsed)
        evaluate(policy, current.job, elapsed, line.nodes, priority, rng, values)
        choose(values, chosen)
        for node in range(total_nodes):
            job = current.job[node]
            if not chosen[node] or job == occupancy.IDLE:
                continue
            remaining = line.end_time[job] - at[state]
            first = seen[job] != state
            seen[job] = state
            touched += first
            for period in range(periods.size):
                if remaining < periods[period]:
                    idle[period] += periods[period] - remaining
                elif first:
                    killed[period] += 1
    return touched
