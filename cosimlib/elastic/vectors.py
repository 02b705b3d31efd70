"""Preemption vectors of a schedule, and the nodes and jobs that a preemption would take.

Values are those of `elastic.policies`. The host takes the nodes of least value, ties to the lower
number; RANDOM draws from the `seed`, one number per state and node in order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.elastic import policies
from cosimlib.elastic.policies import policy_number
from cosimlib.elastic.states import (
    PREEMPTED,
    check_preempted,
    checked_grace_periods,
    checked_moments,
    follow,
    moments_of,
)
from cosimlib.kernels import occupancy
from cosimlib.kernels.copying import copy
from cosimlib.kernels.jit import kernel
from cosimlib.schedule import Schedule
from cosimlib.workload import InvalidWorkloadError, Workload


class Agreement(NamedTuple):
    """Share of the states in which the very `same` nodes are taken; mean share in `common`."""

    same: float
    common: float


def prioritize(
    workload: Workload, priorities: Mapping[str, float], *, by: str = "queue"
) -> Workload:
    """The workload with priorities per queue, application, …, and 1 for all other jobs.

    Parameters
    ----------
    workload : Workload
    priorities : mapping of str to float
        As the paper's ``{"bigmem": 10.0}``.
    by : str, default "queue"
        The column that the mapping names values of.
    """
    expected = f"a mapping of values of {by} to numbers, such as {{'bigmem': 10.0}}"
    check.instance("priorities", priorities, Mapping, expected=expected)
    known = workload.column(by).dropna().unique() if by in workload.jobs else []
    for name, priority in priorities.items():
        if name not in known:
            listed = ", ".join(repr(value) for value in sorted(known)[:20]) or "none"
            raise InvalidWorkloadError(
                f"{workload.name}: no job with {by}={name!r} to give priority {priority!r}; "
                f"known are {listed}"
            )
        if not check.is_number(priority) or not 0 < priority < np.inf:
            raise InvalidWorkloadError(
                f"{workload.name}: priority {priority!r} for {by}={name!r}; expected a number "
                "above 0"
            )
    named = workload.column(by).map(dict(priorities)) if priorities else np.nan
    priority = pd.Series(named, index=workload.jobs.index, dtype="float64").fillna(1.0)
    return replace(workload, jobs=workload.jobs.assign(priority=priority))


def preemption_values(
    schedule: Schedule, moments: Sequence[float] | np.ndarray, *, policy: str = "PAP", seed: int = 0
) -> pd.DataFrame:
    """Preemption vectors: one row per moment, one column per node, values in [0, 1].

    Parameters
    ----------
    schedule : Schedule
    moments : sequence of float
        Ascending seconds, such as `execution_states` gives.
    policy : str, default "PAP"
        One of `POLICIES`; PAP+ reads the workload's `priority`.
    seed : int, default 0
        Of RANDOM's draws.
    """
    at, number = checked_moments(moments), policy_number(policy)
    followed = follow(schedule, [number])
    check.seed(seed)
    values = np.empty((at.size, followed.total_nodes))
    _vectors(followed.line, followed.priority, at, number, np.random.default_rng(seed), values)
    index, columns = pd.Index(at, name="time"), pd.RangeIndex(followed.total_nodes, name="node")
    return pd.DataFrame(values, index=index, columns=columns)


def occupants(schedule: Schedule, moments: Sequence[float] | np.ndarray) -> pd.DataFrame:
    """The job on each node at each moment, -1 where it is idle: one row per moment."""
    at, followed = checked_moments(moments), follow(schedule)
    jobs = np.empty((at.size, followed.total_nodes), dtype=np.int64)
    _occupants(followed.line, at, jobs)
    index, columns = pd.Index(at, name="time"), pd.RangeIndex(followed.total_nodes, name="node")
    return pd.DataFrame(jobs, index=index, columns=columns)


def preempted_jobs(
    schedule: Schedule,
    at: float,
    *,
    policy: str = "PAP",
    preempted: int = PREEMPTED,
    grace_period: float = 120.0,
    seed: int = 0,
) -> pd.DataFrame:
    """The jobs that a preemption at one moment touches, and what becomes of each.

    Returns
    -------
    pd.DataFrame
        Indexed by job: `nodes`, `nodes_taken`, `elapsed` and `remaining` (s), `killed` (whether
        it cannot end within the grace period), `wasted_cycles` (node-seconds).
    """
    (grace,) = checked_grace_periods([grace_period])
    values = preemption_values(schedule, [at], policy=policy, seed=seed).to_numpy()[0]
    check_preempted(preempted, values.size)
    taken = np.argsort(values, kind="stable")[:preempted]
    jobs, counts = np.unique(occupants(schedule, [at]).to_numpy()[0][taken], return_counts=True)
    jobs, counts = jobs[jobs != occupancy.IDLE], counts[jobs != occupancy.IDLE]
    nodes = schedule.workload.jobs["nodes"].to_numpy()[jobs]
    elapsed, remaining = at - schedule.start_time[jobs], schedule.end_time[jobs] - at
    killed = remaining >= grace
    columns = {"nodes": nodes, "nodes_taken": counts, "elapsed": elapsed, "remaining": remaining}
    table = pd.DataFrame(columns, index=pd.Index(jobs, name="job"))
    return table.assign(killed=killed, wasted_cycles=np.where(killed, (elapsed + grace) * nodes, 0))


def same_choice(
    schedule: Schedule,
    first: str,
    second: str,
    *,
    preempted: int = PREEMPTED,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> float:
    """Share of the states in which two policies preempt the very same nodes; NaN without states.

    `moments` are by default `execution_states`; `preempted` is the paper's P. Both policies see the
    draws of `seed`, as each does alone: RANDOM agrees with itself.
    """
    return compare_choices(
        schedule, first, second, preempted=preempted, moments=moments, seed=seed
    ).same


def compare_choices(
    schedule: Schedule,
    first: str,
    second: str,
    *,
    preempted: int = PREEMPTED,
    moments: Sequence[float] | np.ndarray | None = None,
    seed: int = 0,
) -> Agreement:
    """How far two policies preempt the same nodes, over all states; as for `same_choice`."""
    at = moments_of(schedule, moments)
    numbers = policy_number(first), policy_number(second)
    followed = follow(schedule, numbers)
    check_preempted(preempted, followed.total_nodes)
    check.seed(seed)
    draws = np.random.default_rng(seed), np.random.default_rng(seed)
    same, common = _agreement(followed.line, followed.priority, followed.total_nodes, at, *numbers,
                              preempted, *draws)  # fmt: skip
    if not at.size:
        return Agreement(float("nan"), float("nan"))
    return Agreement(same / at.size, common / (at.size * preempted))


@kernel
def _vectors(line, priority, at, policy, rng, values):
    """Preemption vectors (moments × nodes)."""
    nodes = values.shape[1]
    current, elapsed = occupancy.empty(nodes), np.empty(nodes)
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        occupancy.elapsed_at(line.start_time, current.job, at[state], elapsed)
        policies.evaluate(policy, current.job, elapsed, line.nodes, priority, rng, values[state])


@kernel
def _occupants(line, at, jobs):
    """The job on each node (moments × nodes)."""
    current = occupancy.empty(jobs.shape[1])
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        copy(current.job, jobs[state])


@kernel
def _agreement(line, priority, total_nodes, at, first, second, preempted, rng, other_rng):
    """In how many of the moments two policies choose the same nodes; nodes in common, in all."""
    current = occupancy.empty(total_nodes)
    elapsed, values = np.empty(total_nodes), np.empty(total_nodes)
    one, other = np.arange(total_nodes) < preempted, np.arange(total_nodes) < preempted
    agreed, common, both = 0, 0, preempted
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        occupancy.elapsed_at(line.start_time, current.job, at[state], elapsed)
        policies.evaluate(first, current.job, elapsed, line.nodes, priority, rng, values)
        moved = policies.choose(values, one)
        policies.evaluate(second, current.job, elapsed, line.nodes, priority, other_rng, values)
        if policies.choose(values, other) or moved:
            both = (one & other).sum()
        agreed += both == preempted
        common += both
    return agreed, common
