"""EASY backfilling on the nodes that bursts leave: first come, first served, one reservation.

The queue's head starts as soon as it fits, and otherwise has a reservation; what comes behind may
start where it delays the head by nothing (see `cosimlib.batch.easy`). Jobs that were evicted stand
in the queue at the place of their submission. Of `reserved` nodes, those that no burst uses are
kept free from all batch jobs but those that would otherwise never fit.
"""

import numpy as np

from cosimlib.kernels import releases
from cosimlib.kernels.jit import inner_kernel
from cosimlib.ondemand import moves
from cosimlib.ondemand.planning import Rules
from cosimlib.ondemand.state import (
    BURST_SIZE,
    FREE,
    GATHER,
    QUEUE,
    SIZE,
    USED,
    State,
    elapsed_for,
)


@inner_kernel
def backfill(jobs: np.recarray, rules: Rules, state: State, now: float) -> None:
    """Start all waiting jobs that may start now."""
    queue, counts = state.queue, state.counts
    size, first = counts[QUEUE], 0
    while first < size and jobs[queue[first]].nodes + _kept(
        jobs, rules, queue[first], counts[USED]
    ) <= counts[FREE]:  # fmt: skip
        moves.start(jobs, state, queue[first], now)
        first += 1
    kept = 0
    if counts[FREE] > 0 and first + 1 < size:
        queue[0] = queue[first]
        kept = 1
        shadow_time, extra = _reservation(jobs, rules, state, queue[0], now)
        for place in range(first + 1, size):
            job = queue[place]
            nodes = jobs[job].nodes
            late = now + _estimate(jobs, state, job) > shadow_time
            fits = nodes + _kept(jobs, rules, job, counts[USED]) <= counts[FREE]
            if fits and (nodes <= extra or not late):
                extra -= nodes if late else 0
                moves.start(jobs, state, job, now)
            else:
                queue[kept] = job
                kept += 1
    else:
        for place in range(first, size):
            queue[kept] = queue[place]
            kept += 1
    counts[QUEUE] = kept


@inner_kernel
def _estimate(jobs: np.recarray, state: State, job: int) -> float:
    """Seconds that a job is expected to take if it starts now."""
    saved = state.jobs[job].saved
    return state.jobs[job].reread + elapsed_for(jobs, job, saved, jobs[job].requested_time)


@inner_kernel
def _kept(jobs: np.recarray, rules: Rules, job: int, used: int) -> int:
    """Nodes that stay free for bursts when this job starts."""
    wide = jobs[job].nodes > rules.total_nodes - rules.reserved
    return 0 if wide or jobs[job].on_demand else max(0, rules.reserved - used)


@inner_kernel
def _reservation(
    jobs: np.recarray, rules: Rules, state: State, head: int, now: float
) -> tuple[float, int]:
    """Shadow time and extra nodes of the queue's head.

    Nodes held for a burst are expected back when it has arrived as expected and run as long as it
    asked for.
    """
    counts = state.counts
    for place in range(counts[GATHER]):
        burst = state.gathering[place]
        if state.jobs[burst].held > 0:
            _expect_held(jobs, state, burst, now)
    wide = jobs[head].nodes > rules.total_nodes - rules.reserved
    reserved = 0 if wide or jobs[head].on_demand else rules.reserved
    found = _shadow(state, counts[FREE], reserved, jobs[head].nodes, now)
    for place in range(counts[GATHER]):
        burst = state.gathering[place]
        if state.jobs[burst].held > 0:
            _forget_held(state, burst)
    return found


@inner_kernel
def _expect_held(jobs: np.recarray, state: State, burst: int, now: float) -> None:
    """Expect the release of the nodes held for a burst, for as long as a reservation is sought."""
    arrived = jobs[burst].submit_time <= now
    begin = now if arrived else max(now, jobs[burst].expected_time)
    state.jobs[burst].expected = begin + jobs[burst].requested_time
    counts, held = state.counts, state.jobs[burst].held
    counts[SIZE] = releases.add(
        state.times, state.nodes, counts[SIZE], state.jobs[burst].expected, held
    )
    counts[BURST_SIZE] = releases.add(
        state.burst_times, state.burst_nodes, counts[BURST_SIZE], state.jobs[burst].expected, held
    )


@inner_kernel
def _forget_held(state: State, burst: int) -> None:
    """Forget what `_expect_held` expects."""
    counts, held = state.counts, state.jobs[burst].held
    counts[SIZE] = releases.remove(
        state.times, state.nodes, counts[SIZE], state.jobs[burst].expected, held
    )
    counts[BURST_SIZE] = releases.remove(
        state.burst_times, state.burst_nodes, counts[BURST_SIZE], state.jobs[burst].expected, held
    )


@inner_kernel
def _shadow(state: State, free: int, reserved: int, wanted: int, now: float) -> tuple[float, int]:
    """`releases.shadow` where as many nodes of `reserved` as no burst uses count as taken."""
    used, ended, shadow_time = state.counts[USED], 0, now
    for place in range(state.counts[SIZE]):
        if state.times[place] > shadow_time and free - max(0, reserved - used) >= wanted:
            break
        shadow_time = max(state.times[place], now)
        free += state.nodes[place]
        while ended < state.counts[BURST_SIZE] and state.burst_times[ended] <= state.times[place]:
            used -= state.burst_nodes[ended]
            ended += 1
    return shadow_time, free - max(0, reserved - used) - wanted
