"""What the machines of a coscheduling simulation know, and the small steps that change it."""

from heapq import heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import profile
from cosimlib.kernels.compiling import kernel

UNSUBMITTED, QUEUED, HOLDING, STARTED = 0, 1, 2, 3


class CoupledJobs(NamedTuple):
    """One value a job; the members of group g are ``members[first_member[g]:first_member[g + 1]]``."""

    submit_time: np.ndarray
    run_time: np.ndarray
    requested_time: np.ndarray
    nodes: np.ndarray
    machine: np.ndarray
    group: np.ndarray
    first_member: np.ndarray
    members: np.ndarray


class Rules(NamedTuple):
    """The knobs; `holds` and `held_limit` one value a machine, infinity or a huge number for none."""

    holds: np.ndarray
    held_limit: np.ndarray
    fair: bool
    only_yielding: bool
    release_interval: float
    release_after: float
    max_yields: int
    least_remaining: float


class State(NamedTuple):
    """Arrays of one value a job, one value a machine, or lists a machine with their sizes."""

    status: np.ndarray
    start_time: np.ndarray
    hold_since: np.ndarray
    first_try: np.ndarray
    yields: np.ndarray
    yielding: np.ndarray
    released: np.ndarray
    free: np.ndarray
    held: np.ndarray
    down: np.ndarray
    due: np.ndarray
    queue: np.ndarray
    queued: np.ndarray
    holding: np.ndarray
    holders: np.ndarray
    promise_time: np.ndarray
    promise_nodes: np.ndarray
    promises: np.ndarray
    ends: list[tuple[float, int]]
    log: list[tuple[int, float, float]]


@kernel
def new_state(jobs: CoupledJobs, capacity: np.ndarray) -> State:
    """Nobody is submitted and every node is free."""
    n, machines = jobs.submit_time.size, capacity.size
    room = min(n, capacity.max())
    return State(
        np.full(n, UNSUBMITTED, np.int8),
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.zeros(n, np.int64),
        np.zeros(n, np.bool_),
        np.zeros(n, np.bool_),
        capacity.copy(),
        np.zeros(machines, np.int64),
        np.zeros(machines, np.int64),
        np.zeros(machines, np.bool_),
        np.empty((machines, n), np.int64),
        np.zeros(machines, np.int64),
        np.empty((machines, room), np.int64),
        np.zeros(machines, np.int64),
        np.empty((machines, room), np.float64),
        np.empty((machines, room), np.int64),
        np.zeros(machines, np.int64),
        [(0.0, 0) for _ in range(0)],
        [(0, 0.0, 0.0) for _ in range(0)],
    )


@kernel
def enqueue(jobs: CoupledJobs, state: State, job: int) -> None:
    """Put `job` in its machine's queue, which is kept in order of jobs."""
    machine = jobs.machine[job]
    queue, place = state.queue[machine], state.queued[machine]
    while place > 0 and queue[place - 1] > job:
        queue[place] = queue[place - 1]
        place -= 1
    queue[place] = job
    state.queued[machine] += 1
    state.status[job] = QUEUED


@kernel
def take(jobs: CoupledJobs, state: State, job: int) -> None:
    """Give a queued job its nodes, idle for now."""
    machine = jobs.machine[job]
    _remove(state.queue[machine], state.queued[machine], job)
    state.queued[machine] -= 1
    state.holding[machine, state.holders[machine]] = job
    state.holders[machine] += 1
    state.free[machine] -= jobs.nodes[job]
    state.status[job] = HOLDING


@kernel
def hold(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Let a queued job keep its nodes idle from now on."""
    take(jobs, state, job)
    state.hold_since[job] = now
    state.held[jobs.machine[job]] += jobs.nodes[job]


@kernel
def give_back(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Return a job that was given nodes to its queue."""
    machine = jobs.machine[job]
    _end_hold(jobs, state, job, now)
    _remove(state.holding[machine], state.holders[machine], job)
    state.holders[machine] -= 1
    state.free[machine] += jobs.nodes[job]
    enqueue(jobs, state, job)


@kernel
def start(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Let a queued or a holding job run from now on."""
    if state.status[job] == QUEUED:
        take(jobs, state, job)
    machine = jobs.machine[job]
    _end_hold(jobs, state, job, now)
    _remove(state.holding[machine], state.holders[machine], job)
    state.holders[machine] -= 1
    state.status[job] = STARTED
    state.start_time[job] = now
    heappush(state.ends, (now + jobs.run_time[job], job))
    state.promises[machine] = profile.promise(
        state.promise_time[machine],
        state.promise_nodes[machine],
        state.promises[machine],
        now + jobs.requested_time[job],
        jobs.nodes[job],
    )


@kernel
def retire(jobs: CoupledJobs, state: State, job: int) -> None:
    """Free the nodes of a job that ends, and forget its promise."""
    machine = jobs.machine[job]
    state.free[machine] += jobs.nodes[job]
    state.promises[machine] = profile.redeem(
        state.promise_time[machine],
        state.promise_nodes[machine],
        state.promises[machine],
        state.start_time[job] + jobs.requested_time[job],
        jobs.nodes[job],
    )


@kernel
def reservation(
    jobs: CoupledJobs, rules: Rules, state: State, machine: int, wanted: int, now: float
) -> tuple[float, int]:
    """Shadow time and extra nodes of a blocked job: running jobs keep their promises, of which
    those in the next `least_remaining` seconds count for then, and holding jobs start now."""
    size, holders = state.promises[machine], state.holders[machine]
    times = np.empty(size + holders, np.float64)
    nodes = np.empty(size + holders, np.int64)
    times[:size] = state.promise_time[machine, :size]
    nodes[:size] = state.promise_nodes[machine, :size]
    for place in range(holders):
        job = state.holding[machine, place]
        size = profile.promise(times, nodes, size, now + jobs.requested_time[job], jobs.nodes[job])
    return profile.shadow(
        times, nodes, size, state.free[machine], wanted, now + rules.least_remaining
    )


@kernel
def _end_hold(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Close the stretch in which `job` held nodes, where it did, and log it."""
    since = state.hold_since[job]
    if np.isnan(since):
        return
    state.hold_since[job] = np.nan
    state.held[jobs.machine[job]] -= jobs.nodes[job]
    if now > since:
        state.log.append((job, since, now))


@kernel
def _remove(line: np.ndarray, size: int, job: int) -> None:
    """Take `job` out of the first `size` places of a line, whose order stays."""
    place = 0
    while line[place] != job:
        place += 1
    for later in range(place, size - 1):
        line[later] = line[later + 1]
