"""Collecting until the predicted arrival (CUP): jobs make way once they have just been saved.

From its notice on, a burst counts on the nodes of the jobs that are expected to end before it is,
besides those that it holds. For what is still lacking it chooses jobs that write a checkpoint of
their own before its expected arrival: each is stopped right after the last one of these, so that
it loses nothing. Who leaves fewest node-seconds idle until the arrival is chosen first, at equal
ones the lower job. What no such job can give is left to the arrival itself.
"""

import numpy as np

from cosimlib.eviction.problem import KILL
from cosimlib.kernels import heap
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.kernels.sorting import ascending
from cosimlib.ondemand.pace import running_batch
from cosimlib.ondemand.state import RUN, State, elapsed_for, progress, time_of


@allocating_kernel
def collect_until_predicted(jobs: np.recarray, state: State, burst: int, now: float) -> None:
    """Choose the jobs that are to stop after a checkpoint, before a burst is expected."""
    arrival = jobs[burst].expected_time
    lacking = jobs[burst].nodes - state.jobs[burst].held
    for job in state.running[: state.counts[RUN]]:
        if state.jobs[job].victim == burst or (
            state.jobs[job].victim < 0 and state.jobs[job].expected <= arrival
        ):
            lacking -= state.jobs[job].width
    if lacking <= 0 or arrival <= now:
        return
    found = running_batch(jobs, state)
    stops, idle = np.full(found.size, np.inf), np.full(found.size, np.inf)
    for place in range(found.size):
        job = found[place]
        stop = _last_checkpoint(jobs, state, job, now, arrival)
        if state.jobs[job].expected > arrival and stop < np.inf:
            stops[place], idle[place] = stop, state.jobs[job].width * (arrival - stop)
    for place in ascending(idle):
        if lacking <= 0 or stops[place] == np.inf:
            return
        job = found[place]
        state.jobs[job].victim, state.jobs[job].action, state.jobs[job].decided = burst, KILL, now
        state.jobs[job].write, state.jobs[job].write_begin = 0.0, stops[place]
        heap.push(state.ready, job, stops[place])
        lacking -= state.jobs[job].width


@allocating_kernel
def _last_checkpoint(
    jobs: np.recarray, state: State, job: int, now: float, arrival: float
) -> float:
    """When the last checkpoint that a job writes from now to the arrival is whole; or infinity."""
    saved = progress(jobs, state, job, arrival)[1]
    if saved <= progress(jobs, state, job, now)[1]:
        return np.inf
    own = elapsed_for(jobs, job, state.jobs[job].origin_progress, saved) + jobs[job].charge
    return max(time_of(state, job, own), now)
