"""State of a coscheduling simulation, and the transitions of a job: queued, holding, started."""

from heapq import heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import releases
from cosimlib.kernels.jit import allocating_kernel, kernel

UNSUBMITTED, QUEUED, HOLDING, STARTED = 0, 1, 2, 3


JOB = np.dtype(
    [
        ("submit_time", "f8"),
        ("run_time", "f8"),
        ("requested_time", "f8"),
        ("nodes", "i8"),
        ("machine", "i8"),
        ("group", "i8"),
    ]
)
JOB_STATE = np.dtype(
    [
        ("status", "i8"),
        ("start_time", "f8"),
        ("hold_since", "f8"),
        ("first_try", "f8"),
        ("yields", "i8"),
        ("yielding", "i8"),
        ("released", "i8"),
    ]
)
MACHINE_STATE = np.dtype(
    [
        ("free", "i8"),
        ("held", "i8"),
        ("down", "i8"),
        ("due", "i8"),
        ("queued", "i8"),
        ("holders", "i8"),
        ("expected", "i8"),
        ("rounds", "i8"),
        ("next_release", "f8"),
    ]
)
"""Records, because each array that is handed from kernel to kernel costs time to compile."""


class CoupledJobs(NamedTuple):
    """Records of `JOB`; members of group g are ``members[first_member[g]:first_member[g + 1]]``."""

    job: np.recarray
    first_member: np.ndarray
    members: np.ndarray


class Rules(NamedTuple):
    """The knobs of the simulation; arrays have one value per machine."""

    holds: np.ndarray
    held_limit: np.ndarray
    release_interval: np.ndarray
    wfp: bool
    only_yielding: bool
    release_after: float
    max_yields: int
    most_idle: float
    least_remaining: float


class State(NamedTuple):
    """Records of `JOB_STATE` and `MACHINE_STATE`, and one row per machine of lists whose sizes are
    `queued`, `holders` and `expected`; a heap of ends, and the log of holds."""

    job: np.recarray
    machine: np.recarray
    queue: np.ndarray
    holding: np.ndarray
    expected_end: np.ndarray
    expected_nodes: np.ndarray
    ends: list[tuple[float, int]]
    log: list[tuple[int, float, float]]


def records(n: int, dtype: np.dtype, **columns: np.ndarray | float) -> np.recarray:
    """Records of zeros, but for the columns that are named."""
    table = np.zeros(n, dtype).view(np.recarray)
    for name, values in columns.items():
        table[name] = values
    return table


@kernel
def empty(job: np.recarray, machine: np.recarray) -> State:
    """The state before the first submission, with room for as many jobs as can wait or run."""
    n, machines = job.size, machine.size
    room = 0
    for free in machine.free:
        room = max(room, min(n, free))
    return State(
        job,
        machine,
        np.empty((machines, n), np.int64),
        np.empty((machines, room), np.int64),
        np.empty((machines, room), np.float64),
        np.empty((machines, room), np.int64),
        [(0.0, 0) for _ in range(0)],
        [(0, 0.0, 0.0) for _ in range(0)],
    )


@allocating_kernel
def enqueue(jobs: CoupledJobs, state: State, job: int) -> None:
    """Insert `job` in its machine's queue, which is kept in order of rows."""
    machine = jobs.job.machine[job]
    queue, place = state.queue[machine], state.machine.queued[machine]
    while place > 0 and queue[place - 1] > job:
        queue[place] = queue[place - 1]
        place -= 1
    queue[place] = job
    state.machine.queued[machine] += 1
    state.job.status[job] = QUEUED


@allocating_kernel
def take(jobs: CoupledJobs, state: State, job: int) -> None:
    """Give a queued job its nodes, idle for now."""
    machine = jobs.job.machine[job]
    _remove(state.queue[machine], state.machine.queued[machine], job)
    state.machine.queued[machine] -= 1
    state.holding[machine, state.machine.holders[machine]] = job
    state.machine.holders[machine] += 1
    state.machine.free[machine] -= jobs.job.nodes[job]
    state.job.status[job] = HOLDING


@allocating_kernel
def hold(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Let a queued job keep its nodes idle from now on."""
    take(jobs, state, job)
    state.job.hold_since[job] = now
    state.machine.held[jobs.job.machine[job]] += jobs.job.nodes[job]


@allocating_kernel
def give_back(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Return a job that has nodes, idle, to its queue."""
    machine = jobs.job.machine[job]
    _end_hold(jobs, state, job, now)
    _remove(state.holding[machine], state.machine.holders[machine], job)
    state.machine.holders[machine] -= 1
    state.machine.free[machine] += jobs.job.nodes[job]
    enqueue(jobs, state, job)


@allocating_kernel
def start(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Let a queued or a holding job run from now on."""
    if state.job.status[job] == QUEUED:
        take(jobs, state, job)
    machine = jobs.job.machine[job]
    _end_hold(jobs, state, job, now)
    _remove(state.holding[machine], state.machine.holders[machine], job)
    state.machine.holders[machine] -= 1
    state.job.status[job] = STARTED
    state.job.start_time[job] = now
    heappush(state.ends, (now + jobs.job.run_time[job], job))
    state.machine.expected[machine] = releases.add(
        state.expected_end[machine],
        state.expected_nodes[machine],
        state.machine.expected[machine],
        now + jobs.job.requested_time[job],
        jobs.job.nodes[job],
    )


@allocating_kernel
def retire(jobs: CoupledJobs, state: State, job: int) -> None:
    """Free the nodes of a job that ends, and drop its expected release."""
    machine = jobs.job.machine[job]
    state.machine.free[machine] += jobs.job.nodes[job]
    state.machine.expected[machine] = releases.remove(
        state.expected_end[machine],
        state.expected_nodes[machine],
        state.machine.expected[machine],
        state.job.start_time[job] + jobs.job.requested_time[job],
        jobs.job.nodes[job],
    )


@allocating_kernel
def reservation(
    jobs: CoupledJobs, rules: Rules, state: State, machine: int, wanted: int, now: float
) -> tuple[float, int]:
    """Shadow time and extra nodes of a blocked job: running jobs end as expected, but not in the
    next `least_remaining` seconds, and holding jobs start now."""
    size, holders = state.machine.expected[machine], state.machine.holders[machine]
    times, nodes = state.expected_end[machine], state.expected_nodes[machine]
    if holders > 0:
        times, nodes = np.empty(size + holders, np.float64), np.empty(size + holders, np.int64)
        for place in range(size):
            times[place] = state.expected_end[machine, place]
            nodes[place] = state.expected_nodes[machine, place]
    for place in range(holders):
        job = state.holding[machine, place]
        end = now + jobs.job.requested_time[job]
        size = releases.add(times, nodes, size, end, jobs.job.nodes[job])
    return releases.shadow(
        times, nodes, size, state.machine.free[machine], wanted, now + rules.least_remaining
    )


@allocating_kernel
def _end_hold(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """End the interval in which `job` held nodes, if it did, and log it."""
    since = state.job.hold_since[job]
    if np.isnan(since):
        return
    state.job.hold_since[job] = np.nan
    state.machine.held[jobs.job.machine[job]] -= jobs.job.nodes[job]
    if now > since:
        state.log.append((job, since, now))


@allocating_kernel
def _remove(line: np.ndarray, size: int, job: int) -> None:
    """Remove `job` from the first `size` places of a list, whose order stays."""
    place = 0
    while line[place] != job:
        place += 1
    for later in range(place, size - 1):
        line[later] = line[later + 1]
