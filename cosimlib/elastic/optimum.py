"""The least that a preemption can waste: what a preemption vector costs the host that goes by it.

The nodes that run the jobs k₁, k₂, … come free together, for a job touched is wasted whole. So the
least waste of P nodes is a covering knapsack problem: of the running jobs those of least cost whose
nodes, with the idle ones, are P or more (system 1 solves the same for evictions). A vector of one
number per node ranks jobs one by one and cannot solve it. Two optima bound it:

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

from cosimlib.elastic.states import (
    GRACE_PERIODS,
    PREEMPTED,
    check_preempted,
    checked_grace_periods,
    follow,
    moments_of,
)
from cosimlib.kernels import occupancy
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.schedule import Schedule

OPTIMA = ("blind optimum", "foresighted optimum")


def least_waste(
    schedule: Schedule,
    *,
    known_ends: bool = False,
    preempted: int = PREEMPTED,
    grace_periods: Sequence[float] = GRACE_PERIODS,
    moments: Sequence[float] | np.ndarray | None = None,
) -> pd.DataFrame:
    """Node-seconds wasted if the host takes the jobs of least cost, per state and grace period.

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
    _least_waste(
        followed.line, followed.total_nodes, at, int(preempted), periods, known_ends, wasted
    )
    columns = pd.Index(periods, name="grace_period")
    return pd.DataFrame(wasted, index=pd.Index(at, name="time"), columns=columns)


@kernel
def _least_waste(line, total_nodes, at, preempted, periods, known_ends, wasted):
    """Fill `wasted` (moments × grace periods)."""
    current, elapsed = occupancy.empty(total_nodes), np.empty(total_nodes)
    running = np.empty(total_nodes, np.int64)
    held, cost, real = np.empty(total_nodes, np.int64), np.empty(total_nodes), np.empty(total_nodes)
    for state in range(at.size):
        occupancy.advance(line, current, at[state])
        occupancy.elapsed_at(line.start_time, current.job, at[state], elapsed)
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
