"""Kernels of coupled machines: a job's transitions, a machine's scheduling pass, and Algorithm 1.

A job is queued, holds its nodes idle, or has started. `run_pass` gives each job that may start its
turn, in order of urgency and beside one reservation, as EASY does. The turn of a job with mates is
Algorithm 1 (see `simulation`); it may run a nested pass on another machine.
"""

from heapq import heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import releases
from cosimlib.kernels.jit import kernel

UNSUBMITTED, QUEUED, HOLDING, STARTED = 0, 1, 2, 3
NO_JOB = -1

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
        ("needs_pass", "i8"),
        ("queued", "i8"),
        ("holders", "i8"),
        ("expected", "i8"),
        ("rounds", "i8"),
        ("next_release", "f8"),
    ]
)
CHANGE = np.dtype([("time", "f8"), ("down", "i8"), ("machine", "i8")])
"""Records, because each array that is handed from kernel to kernel costs time to compile.

A change is the beginning of a machine's outage (`down` is 1) or its end (−1)."""


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
    """The state before the first submission; its lists can take all jobs that can wait or run."""
    n, machines = job.size, machine.size
    most = 0
    for free in machine.free:
        most = max(most, min(n, free))
    return State(
        job,
        machine,
        np.empty((machines, n), np.int64),
        np.empty((machines, most), np.int64),
        np.empty((machines, most), np.float64),
        np.empty((machines, most), np.int64),
        [(0.0, 0) for _ in range(0)],
        [(0, 0.0, 0.0) for _ in range(0)],
    )


@kernel
def run_pass(jobs: CoupledJobs, rules: Rules, state: State, machine: int, now: float) -> None:
    """The machine's own pass: each queued job that may start has a turn, the most urgent first."""
    queue, yielding = state.queue[machine], state.job.yielding
    for place in range(state.machine.queued[machine]):
        yielding[queue[place]] = 0
    ranked = _ranked(jobs, rules, state, machine, now, NO_JOB, False)
    shadow_time, extra = np.inf, 0
    for job in ranked:
        backfills, shadow_time, extra, left = _beside_reservation(
            jobs, rules, state, job, now, shadow_time, extra
        )
        if backfills:
            _take_turn(jobs, rules, state, job, now)
        if backfills and state.job.status[job] != QUEUED:
            extra = left


@kernel
def start_group_if_complete(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Start a holding job and its holding mates unless another mate that is reachable waits."""
    group = jobs.job.group[job]
    for place in range(jobs.first_member[group], jobs.first_member[group + 1]):
        mate = jobs.members[place]
        reachable = state.machine.down[jobs.job.machine[mate]] == 0
        if reachable and (
            state.job.status[mate] == UNSUBMITTED or state.job.status[mate] == QUEUED
        ):
            return
    _start_group(jobs, state, job, now)


@kernel
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


@kernel
def give_back(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Return a job that has nodes, idle, to its queue."""
    machine = jobs.job.machine[job]
    _end_hold(jobs, state, job, now)
    _remove(state.holding[machine], state.machine.holders[machine], job)
    state.machine.holders[machine] -= 1
    state.machine.free[machine] += jobs.job.nodes[job]
    enqueue(jobs, state, job)


@kernel
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


@kernel
def _take_turn(jobs: CoupledJobs, rules: Rules, state: State, job: int, now: float) -> None:
    """Algorithm 1: start with all mates, or else hold or yield by the machine's scheme."""
    if jobs.job.group[job] < 0:
        _start(jobs, state, job, now)
    elif _mates_can_start(jobs, rules, state, job, now):
        _start_group(jobs, state, job, now)
    else:
        _hold_or_yield(jobs, rules, state, job, now)


@kernel
def _hold_or_yield(jobs: CoupledJobs, rules: Rules, state: State, job: int, now: float) -> None:
    """Keep the nodes idle, where scheme, price and cap allow it, or give up the turn."""
    machine = jobs.job.machine[job]
    if np.isnan(state.job.first_try[job]):
        state.job.first_try[job] = now
    holds = rules.holds[machine]
    if holds and rules.most_idle < np.inf:
        idle = jobs.job.nodes[job] * _expected_wait(jobs, rules, state, job, now)
        holds = idle <= rules.most_idle
    holds = holds or state.job.yields[job] >= rules.max_yields
    if holds and state.machine.held[machine] + jobs.job.nodes[job] <= rules.held_limit[machine]:
        _hold(jobs, state, job, now)
        return
    state.job.yields[job] += 1
    state.job.yielding[job] = 1


@kernel
def _expected_wait(jobs: CoupledJobs, rules: Rules, state: State, job: int, now: float) -> float:
    """Seconds until all reachable mates have nodes, as far as running jobs' estimates tell.

    None for a mate that holds, or that fits; for another that is queued until it would fit if it
    were the next to start; without end for one that is not submitted.
    """
    first, last = jobs.first_member[jobs.job.group[job]], jobs.first_member[jobs.job.group[job] + 1]
    longest = 0.0
    for place in range(first, last):
        mate = jobs.members[place]
        machine, nodes = jobs.job.machine[mate], jobs.job.nodes[mate]
        if mate == job or state.machine.down[machine] > 0:
            continue
        if state.job.status[mate] == UNSUBMITTED:
            return np.inf
        if state.job.status[mate] == QUEUED and nodes > state.machine.free[machine]:
            shadow_time = _reservation(jobs, rules, state, machine, nodes, now)[0]
            longest = max(longest, shadow_time - now)
    return longest


@kernel
def _mates_can_start(jobs: CoupledJobs, rules: Rules, state: State, job: int, now: float) -> bool:
    """Whether each reachable mate holds nodes, or was just given some.

    Mates whose machine is down, or that have started, have the status "unknown". Where one mate
    cannot start, those that were given nodes here return them.
    """
    first, last = jobs.first_member[jobs.job.group[job]], jobs.first_member[jobs.job.group[job] + 1]
    for place in range(first, last):
        mate = jobs.members[place]
        if (
            state.machine.down[jobs.job.machine[mate]] == 0
            and state.job.status[mate] == UNSUBMITTED
        ):
            return False
    for place in range(first, last):
        mate = jobs.members[place]
        if (
            mate == job
            or state.machine.down[jobs.job.machine[mate]] > 0
            or state.job.status[mate] != QUEUED
        ):
            continue
        allowed = state.job.yielding[mate] == 1 or not rules.only_yielding
        if not (allowed and _try_start_mate(jobs, rules, state, mate, now)):
            for earlier in range(first, place):
                lent = jobs.members[earlier]
                # One that holds of its own accord has held since some moment.
                if state.job.status[lent] == HOLDING and np.isnan(state.job.hold_since[lent]):
                    give_back(jobs, state, lent, now)
            return False
    return True


@kernel
def _start_group(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Start `job` and its mates that have nodes."""
    first, last = jobs.first_member[jobs.job.group[job]], jobs.first_member[jobs.job.group[job] + 1]
    for place in range(first, last):
        mate = jobs.members[place]
        if mate == job or (
            state.job.status[mate] == HOLDING and state.machine.down[jobs.job.machine[mate]] == 0
        ):
            _start(jobs, state, mate, now)


@kernel
def _try_start_mate(jobs: CoupledJobs, rules: Rules, state: State, mate: int, now: float) -> bool:
    """A nested pass of the mate's machine: whether the mate was given nodes in it.

    Jobs without mates may start in it; others but the mate are passed over.
    """
    machine = jobs.job.machine[mate]
    ranked = _ranked(jobs, rules, state, machine, now, mate, True)
    shadow_time, extra = np.inf, 0
    for job in ranked:
        backfills, shadow_time, extra, left = _beside_reservation(
            jobs, rules, state, job, now, shadow_time, extra
        )
        if not backfills:
            continue
        extra = left
        if job == mate:
            _take(jobs, state, job)
        else:
            _start(jobs, state, job, now)
    return state.job.status[mate] == HOLDING


@kernel
def _take(jobs: CoupledJobs, state: State, job: int) -> None:
    """Give a queued job its nodes, idle for now."""
    machine = jobs.job.machine[job]
    _remove(state.queue[machine], state.machine.queued[machine], job)
    state.machine.queued[machine] -= 1
    state.holding[machine, state.machine.holders[machine]] = job
    state.machine.holders[machine] += 1
    state.machine.free[machine] -= jobs.job.nodes[job]
    state.job.status[job] = HOLDING


@kernel
def _hold(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Let a queued job keep its nodes idle from now on."""
    _take(jobs, state, job)
    state.job.hold_since[job] = now
    state.machine.held[jobs.job.machine[job]] += jobs.job.nodes[job]


@kernel
def _start(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """Let a queued or a holding job run from now on."""
    if state.job.status[job] == QUEUED:
        _take(jobs, state, job)
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


@kernel
def _end_hold(jobs: CoupledJobs, state: State, job: int, now: float) -> None:
    """End the interval in which `job` held nodes, if it did, and log it."""
    since = state.job.hold_since[job]
    if np.isnan(since):
        return
    state.job.hold_since[job] = np.nan
    state.machine.held[jobs.job.machine[job]] -= jobs.job.nodes[job]
    if now > since:
        state.log.append((job, since, now))


@kernel
def _remove(line: np.ndarray, size: int, job: int) -> None:
    """Remove `job` from the first `size` places of a list, whose order stays."""
    place = 0
    while line[place] != job:
        place += 1
    for later in range(place, size - 1):
        line[later] = line[later + 1]


@kernel
def _beside_reservation(
    jobs: CoupledJobs,
    rules: Rules,
    state: State,
    job: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> tuple[bool, float, int, int]:
    """Whether a job may start now beside the pass's reservation, which the first that cannot gets.

    Also the reservation's shadow time and extra nodes, and the extra nodes left if the job starts.
    """
    machine, nodes = jobs.job.machine[job], jobs.job.nodes[job]
    if nodes > state.machine.free[machine]:
        if shadow_time == np.inf:
            shadow_time, extra = _reservation(jobs, rules, state, machine, nodes, now)
        return False, shadow_time, extra, extra
    if now + jobs.job.requested_time[job] <= shadow_time:
        return True, shadow_time, extra, extra
    return nodes <= extra, shadow_time, extra, extra - nodes


@kernel
def _reservation(
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


@kernel
def _ranked(
    jobs: CoupledJobs, rules: Rules, state: State, machine: int, now: float, mate: int, nested: bool
) -> np.ndarray:
    """The queued jobs that fit, the most urgent first, and the most urgent that does not.

    More urgent is a higher WFP priority, ``(waited / requested)³ · nodes``, or an earlier
    submission; jobs that were just released come last. Free nodes only become fewer in a pass, so
    no other job could start in it, and the first job that cannot start is one of these. In a nested
    pass jobs with mates do not count, except `mate`.
    """
    # Every look at a field of records counts references, so fields are looked up once.
    queue, queued = state.queue[machine], state.machine.queued[machine]
    free, nodes, group = state.machine.free[machine], jobs.job.nodes, jobs.job.group
    fitting, blocked, most = 0, NO_JOB, -np.inf
    for place in range(queued):
        job = queue[place]
        if nodes[job] <= free and (not nested or group[job] < 0 or job == mate):
            fitting += 1
    chosen = np.empty(fitting + 1 if fitting > 0 else 0, np.int64)
    if fitting == 0:
        return chosen
    urgency = np.empty(chosen.size, np.float64)
    submit_time, requested_time = jobs.job.submit_time, jobs.job.requested_time
    released, wfp = state.job.released, rules.wfp
    fitting = 0
    for place in range(queued):
        job = queue[place]
        if nested and group[job] >= 0 and job != mate:
            continue
        value = -float(job)
        if released[job] == 1:
            value = -np.inf
        elif wfp:
            waited = (now - submit_time[job]) / requested_time[job]
            value = waited * waited * waited * nodes[job]
        if nodes[job] <= free:
            chosen[fitting] = job
            urgency[fitting] = -value
            fitting += 1
        elif blocked == NO_JOB or value > most:
            blocked, most = job, value
    if blocked != NO_JOB:
        _insert(chosen, urgency, fitting, blocked, -most)
        fitting += 1
    if fitting == 1:
        return chosen[:1]
    return chosen[np.argsort(urgency[:fitting], kind="mergesort")]


@kernel
def _insert(chosen: np.ndarray, urgency: np.ndarray, size: int, job: int, value: float) -> None:
    """Put `job` among the first `size` jobs, in order of jobs."""
    place = size
    while place > 0 and chosen[place - 1] > job:
        chosen[place] = chosen[place - 1]
        urgency[place] = urgency[place - 1]
        place -= 1
    chosen[place] = job
    urgency[place] = value
