"""The clock of coupled machines: what happens at an instant, and which machines pass then."""

from heapq import heappop

import numpy as np

from cosimlib.kernels.compiling import kernel
from cosimlib.schedulers.coscheduling.passes import run_pass, start_group_if_complete
from cosimlib.schedulers.coscheduling.state import (
    HOLDING,
    CoupledJobs,
    Rules,
    State,
    enqueue,
    give_back,
    new_state,
    retire,
)

PATIENCE = 1000


@kernel
def coschedule(
    jobs: CoupledJobs,
    rules: Rules,
    capacity: np.ndarray,
    change_time: np.ndarray,
    change_machine: np.ndarray,
    change_down: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[int, float, float]]]:
    """Start times (NaN for jobs that wait for ever), first tries, yields and stretches of holding.

    Changes are beginnings (+1) and ends (−1) of outages in order of time. Simulation ends when
    nothing more can happen, or when after `PATIENCE` releases that are all that happens nobody
    has started.
    """
    n = jobs.submit_time.size
    state = new_state(jobs, capacity)
    submitted, changed, ticks, idle = 0, 0, 1, 0
    origin = jobs.submit_time[0] if n > 0 else 0.0
    while idle < PATIENCE:
        tick = np.inf
        if state.holders.sum() > 0:
            tick = origin + ticks * rules.release_interval
        now = _next(jobs, state, submitted, tick)
        if changed < change_time.size and (submitted < n or state.queued.sum() > 0 or now < np.inf):
            now = min(now, change_time[changed])
        if now == np.inf:
            break
        alone = len(state.ends) == 0 and submitted == n and changed == change_time.size
        idle = idle + 1 if alone and now == tick else 0
        state.due[:] = False
        _absorb_ends(jobs, state, now)
        begun = 0
        while changed < change_time.size and change_time[changed] <= now:
            begun += _change(jobs, state, change_machine[changed], change_down[changed], now)
            changed += 1
        if begun > 0:
            _tell_holders(jobs, state, now)
        while submitted < n and jobs.submit_time[submitted] <= now:
            enqueue(jobs, state, submitted)
            state.due[jobs.machine[submitted]] = True
            submitted += 1
        if tick <= now:
            _release(jobs, rules, state, now)
        while origin + ticks * rules.release_interval <= now:
            ticks += 1
        for machine in range(capacity.size):
            if state.due[machine] and state.down[machine] == 0:
                run_pass(jobs, rules, state, machine, now)
        state.released[:] = False
    _close(jobs, state)
    return state.start_time, state.first_try, state.yields, state.log


@kernel
def _next(jobs: CoupledJobs, state: State, submitted: int, tick: float) -> float:
    """The earliest of the next submission, the next end and the next release."""
    now = tick
    if submitted < jobs.submit_time.size:
        now = min(now, jobs.submit_time[submitted])
    if len(state.ends) > 0:
        now = min(now, state.ends[0][0])
    return now


@kernel
def _absorb_ends(jobs: CoupledJobs, state: State, now: float) -> None:
    """Free the nodes of every job that ends by now; its machine is due."""
    while len(state.ends) > 0 and state.ends[0][0] <= now:
        _, job = heappop(state.ends)
        retire(jobs, state, job)
        state.due[jobs.machine[job]] = True


@kernel
def _change(jobs: CoupledJobs, state: State, machine: int, down: int, now: float) -> int:
    """Begin or end an outage, in which held nodes are given back; 1 where one begins."""
    state.down[machine] += down
    state.due[machine] = True
    if down < 0:
        return 0
    while state.holders[machine] > 0:
        give_back(jobs, state, state.holding[machine, 0], now)
    return 1


@kernel
def _tell_holders(jobs: CoupledJobs, state: State, now: float) -> None:
    """After machines went down: jobs that held for mates on them start, everybody asks anew."""
    state.due[:] = True
    for job in range(jobs.group.size):
        if state.status[job] == HOLDING:
            start_group_if_complete(jobs, state, job, now)


@kernel
def _release(jobs: CoupledJobs, rules: Rules, state: State, now: float) -> None:
    """Return every job that has held long enough to its queue, last in it for this instant."""
    for machine in range(state.holders.size):
        for place in range(state.holders[machine] - 1, -1, -1):
            job = state.holding[machine, place]
            if now - state.hold_since[job] >= rules.release_after:
                give_back(jobs, state, job, now)
                state.released[job] = True
                state.due[machine] = True


@kernel
def _close(jobs: CoupledJobs, state: State) -> None:
    """Log the holds that never ended."""
    for machine in range(state.holders.size):
        for place in range(state.holders[machine]):
            job = state.holding[machine, place]
            state.log.append((job, state.hold_since[job], np.inf))
