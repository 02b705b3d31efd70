"""Event loop of coupled machines: the events of an instant, then a scheduling pass per machine."""

from heapq import heappop

import numpy as np

from cosimlib.coscheduling.passes import run_pass, start_group_if_complete
from cosimlib.coscheduling.state import (
    HOLDING,
    CoupledJobs,
    Rules,
    State,
    empty,
    enqueue,
    give_back,
    retire,
)
from cosimlib.kernels.jit import allocating_kernel, kernel

FUTILE_ROUNDS, MOST_FUTILE_ROUNDS = 1000, 20_000
"""Rounds of releases without any other event after which a simulation is taken to be deadlocked:
the first more than two whole beats of the machines' clocks, altogether the second at most."""


@kernel
def coschedule(
    jobs: CoupledJobs,
    rules: Rules,
    job_state: np.recarray,
    machine_state: np.recarray,
    change_time: np.ndarray,
    change_machine: np.ndarray,
    change_down: np.ndarray,
) -> list[tuple[int, float, float]]:
    """Simulate until no event is left; return the intervals of holding as (job, start, end).

    Changes are beginnings (+1) and ends (−1) of outages in order of time. Simulation also ends
    after so many rounds of releases in which nothing else happened and no job started (see
    `_patience`).
    """
    n = jobs.job.size
    state = empty(job_state, machine_state)
    submitted, changed, futile = 0, 0, 0
    origin = jobs.job.submit_time[0] if n > 0 else 0.0
    for machine in range(machine_state.size):
        state.machine.next_release[machine] = origin + rules.release_interval[machine]
    most_futile = machine_state.size * _patience(rules)
    while futile < most_futile:
        release_time = _next_release(state)
        now = _next(jobs, state, submitted, release_time)
        if changed < change_time.size and (
            submitted < n or state.machine.queued.sum() > 0 or now < np.inf
        ):
            now = min(now, change_time[changed])
        if now == np.inf:
            break
        only_releases = len(state.ends) == 0 and submitted == n and changed == change_time.size
        futile = futile + 1 if only_releases and now == release_time else 0
        state.machine.due[:] = 0
        _absorb_ends(jobs, state, now)
        went_down = 0
        while changed < change_time.size and change_time[changed] <= now:
            went_down += _change(jobs, state, change_machine[changed], change_down[changed], now)
            changed += 1
        if went_down > 0:
            _start_complete_groups(jobs, state, now)
        while submitted < n and jobs.job.submit_time[submitted] <= now:
            enqueue(jobs, state, submitted)
            state.machine.due[jobs.job.machine[submitted]] = 1
            submitted += 1
        if release_time <= now:
            _release(jobs, rules, state, now)
        _advance_releases(rules, state, origin, now)
        for machine in range(machine_state.size):
            if state.machine.due[machine] and state.machine.down[machine] == 0:
                run_pass(jobs, rules, state, machine, now)
        if release_time <= now:
            state.job.released[:] = 0
    _close(jobs, state)
    return state.log


@allocating_kernel
def _patience(rules: Rules) -> float:
    """Rounds of releases without a start before the jobs left are taken to be deadlocked.

    Some deadlocks end only where all machines release at one instant. The k-th machine's clock is k
    offsets slower than the first's, so that their releases meet once in interval ÷ offset rounds.
    """
    interval, rounds = rules.release_interval, float(FUTILE_ROUNDS)
    if interval.size > 1 and interval[0] < interval[1] < np.inf:
        rounds += 2 * interval[0] / (interval[1] - interval[0])
    # A hold outlasts many releases where they come more often than it may last.
    return min(rounds, MOST_FUTILE_ROUNDS) + 2 * rules.release_after / interval[0]


@allocating_kernel
def _next(jobs: CoupledJobs, state: State, submitted: int, release_time: float) -> float:
    """The earliest of the next submission, the next end and the next release."""
    now = release_time
    if submitted < jobs.job.size:
        now = min(now, jobs.job.submit_time[submitted])
    if len(state.ends) > 0:
        now = min(now, state.ends[0][0])
    return now


@allocating_kernel
def _next_release(state: State) -> float:
    """The earliest release on a machine that holds nodes."""
    release_time = np.inf
    for machine in range(state.machine.size):
        if state.machine.holders[machine] > 0:
            release_time = min(release_time, state.machine.next_release[machine])
    return release_time


@allocating_kernel
def _advance_releases(rules: Rules, state: State, origin: float, now: float) -> None:
    """Set each machine's next release to its first multiple of the interval after now."""
    for machine in range(state.machine.size):
        interval = rules.release_interval[machine]
        passed = int((now - origin) / interval) - 2
        state.machine.rounds[machine] = max(state.machine.rounds[machine], passed)
        while state.machine.next_release[machine] <= now:
            state.machine.rounds[machine] += 1
            rounds = 1 + state.machine.rounds[machine]
            state.machine.next_release[machine] = origin + rounds * interval


@allocating_kernel
def _absorb_ends(jobs: CoupledJobs, state: State, now: float) -> None:
    """Free the nodes of each job that ends by now; its machine is due for a pass."""
    while len(state.ends) > 0 and state.ends[0][0] <= now:
        _, job = heappop(state.ends)
        retire(jobs, state, job)
        state.machine.due[jobs.job.machine[job]] = 1


@allocating_kernel
def _change(jobs: CoupledJobs, state: State, machine: int, down: int, now: float) -> int:
    """Begin or end an outage, in which held nodes are given back; 1 where one begins."""
    state.machine.down[machine] += down
    state.machine.due[machine] = 1
    if down < 0:
        return 0
    while state.machine.holders[machine] > 0:
        give_back(jobs, state, state.holding[machine, 0], now)
    return 1


@allocating_kernel
def _start_complete_groups(jobs: CoupledJobs, state: State, now: float) -> None:
    """After machines went down, start the jobs that held for mates on them; all machines pass."""
    state.machine.due[:] = 1
    for job in range(jobs.job.size):
        if state.job.status[job] == HOLDING:
            start_group_if_complete(jobs, state, job, now)


@allocating_kernel
def _release(jobs: CoupledJobs, rules: Rules, state: State, now: float) -> None:
    """Return the jobs that have held long enough on the machines whose release is due.

    They are last in their queue for this instant.
    """
    for machine in range(state.machine.size):
        if state.machine.next_release[machine] > now:
            continue
        for place in range(state.machine.holders[machine] - 1, -1, -1):
            job = state.holding[machine, place]
            if now - state.job.hold_since[job] >= rules.release_after:
                give_back(jobs, state, job, now)
                state.job.released[job] = 1
                state.machine.due[machine] = 1


@allocating_kernel
def _close(jobs: CoupledJobs, state: State) -> None:
    """Log the holds that never ended."""
    for machine in range(state.machine.size):
        for place in range(state.machine.holders[machine]):
            job = state.holding[machine, place]
            state.log.append((job, state.job.hold_since[job], np.inf))
