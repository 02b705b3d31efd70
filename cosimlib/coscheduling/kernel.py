"""Kernels of coupled machines: the event loop, a machine's scheduling pass, and Algorithm 1.

A job is queued, holds its nodes idle, or has started. `_run_pass` gives each job that may start its
turn, in order of urgency and beside one reservation, as EASY does. The turn of a job with mates is
Algorithm 1 (see `simulation`); it may run a nested pass on another machine.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, whole
from cosimlib.kernels.scores import cubed_wait

UNSUBMITTED, QUEUED, HOLDING, STARTED = range(4)
NO_JOB = whole(-1)

JOB = record_type(
    floats=(
        "submit_time run_time requested_time start_time hold_since first_try urgency held_since"
    ),
    integers="nodes machine first_mate next_mate status released_in yields yielding begun let_go",
)
"""A job. `first_mate` is the first row of its group, and `next_mate` the row after it; `NO_JOB`
where there is none. `hold_since` is NaN unless it holds; `yielding` is 1 if it yielded in the
latest pass of its machine, and `released_in` the number of the instant of its latest release.
`held_since` began its latest hold that is over. Row k also has the job that was the k-th to start,
`begun`, and at each instant the k-th whose hold is over, `let_go`."""

MACHINE = record_type(
    floats="release_interval next_release",
    integers=(
        "free held held_limit holds down needs_pass queued ranked holders releases limits rounds"
    ),
)
"""A machine: its nodes, its scheme, the sizes of its lists, also those of its latest pass, and the
clock of its releases."""

PLACE = record_type(integers="job ranked")
"""The k-th job in a machine's queue, and the k-th in the order of its latest pass. A queue is in
order of rows; it has the jobs that hold, and until the next pass those that have started."""

RUN = record_type(
    floats="release_after most_idle least_remaining most_futile",
    integers="wfp only_yielding max_yields instants futile submitted started let_go changed",
)
"""The knobs of a simulation; how many instants there were, and releases in a row that led to
nothing; how many jobs have been submitted and started, how many holds are over at this instant, and
how many changes of outages have come."""

CHANGE = record_type(floats="time", integers="down machine")
"""The beginning of a machine's outage (`down` is 1) or its end (−1)."""


class State(NamedTuple):
    """Coupled machines at an instant: records of `JOB` and `MACHINE`; per machine a row of `PLACE`,
    one of expected releases and one of limits; and a record of `RUN`."""

    jobs: np.recarray
    machines: np.recarray
    queue: np.recarray
    expected: np.recarray
    limits: np.recarray
    run: np.record


@kernel
def coschedule(state: State, changes: np.recarray) -> list[tuple[int, float, float]]:
    """Simulate until no event is left; return the intervals of holding as (job, start, end).

    Changes are beginnings and ends of outages in order of time. Simulation also ends after
    `most_futile` rounds of releases in which nothing else happened and no job started.
    """
    ends, log = [(0.0, 0) for _ in range(0)], [(0, 0.0, 0.0) for _ in range(0)]
    jobs, machines, run = state.jobs, state.machines, state.run
    while run.futile < run.most_futile:
        now, begun = _next_instant(state, ends, changes), run.started
        if now == np.inf:
            break
        run.instants += 1
        run.let_go = 0
        _absorb_ends(state, ends, now)
        _absorb_changes(state, changes, now)
        while run.submitted < jobs.size and jobs[run.submitted].submit_time <= now:
            _submit_next(state)
        _release(state, now)
        for machine in range(machines.size):
            if machines[machine].needs_pass and machines[machine].down == 0:
                _run_pass(state, machine, now)
            machines[machine].needs_pass = 0
        for place in range(begun, run.started):
            job = jobs[place].begun
            heappush(ends, (now + jobs[job].run_time, job))
        for place in range(run.let_go):
            job = jobs[place].let_go
            log.append((job, jobs[job].held_since, now))
    return log


@kernel
def _next_instant(state: State, ends: list[tuple[float, int]], changes: np.recarray) -> float:
    """The earliest of the next submission, end, release of a hold and change of an outage.

    If no job waits or runs, outages to come change nothing.
    """
    jobs, machines, run = state.jobs, state.machines, state.run
    release_time = np.inf
    for machine in range(machines.size):
        if machines[machine].holders > 0:
            release_time = min(release_time, machines[machine].next_release)
    now, to_come = release_time, run.submitted < jobs.size
    if to_come:
        now = min(now, jobs[run.submitted].submit_time)
    if len(ends) > 0:
        now = min(now, ends[0][0])
    if run.changed < changes.size:
        if run.started < run.submitted or now < np.inf:
            now = min(now, changes[run.changed].time)
        to_come = True
    only_releases = len(ends) == 0 and not to_come and now == release_time
    run.futile = run.futile + 1 if only_releases else 0
    return now


@kernel
def _absorb_ends(state: State, ends: list[tuple[float, int]], now: float) -> None:
    """Free the nodes of each job that ends by now; its machine needs a pass."""
    while len(ends) > 0 and ends[0][0] <= now:
        job = state.jobs[heappop(ends)[1]]
        machine = state.machines[job.machine]
        machine.free += job.nodes
        machine.needs_pass = 1
        expected_end = job.start_time + job.requested_time
        backfilling.expect(state.expected[job.machine], machine, expected_end, -job.nodes)


@kernel
def _absorb_changes(state: State, changes: np.recarray, now: float) -> None:
    """Begin and end outages. Where one begins, held nodes are given back, and all machines pass,
    once the jobs that held for mates on machines that went down have started."""
    jobs, run, went_down = state.jobs, state.run, False
    while run.changed < changes.size and changes[run.changed].time <= now:
        change = changes[run.changed]
        state.machines[change.machine].down += change.down
        state.machines[change.machine].needs_pass = 1
        if change.down > 0:
            _give_back_all(state, change.machine, now, 0.0)
            went_down = True
        run.changed += 1
    if went_down:
        for machine in range(state.machines.size):
            state.machines[machine].needs_pass = 1
        for job in range(run.submitted):
            if jobs[job].status == HOLDING and not _waits_for_mates(state, job):
                _start_group(state, job, now)


@kernel
def _waits_for_mates(state: State, job: int) -> bool:
    """Whether a mate that is reachable is not submitted yet, or queued."""
    mate = state.jobs[job].first_mate
    while mate != NO_JOB:
        status = state.jobs[mate].status
        reachable = state.machines[state.jobs[mate].machine].down == 0
        if reachable and status in (UNSUBMITTED, QUEUED):
            return True
        mate = state.jobs[mate].next_mate
    return False


@kernel
def _submit_next(state: State) -> None:
    """Queue the next job; its machine needs a pass."""
    job = state.jobs[state.run.submitted]
    machine = state.machines[job.machine]
    state.queue[job.machine, machine.queued].job = state.run.submitted
    job.status = QUEUED
    machine.queued += 1
    machine.needs_pass = 1
    state.run.submitted += 1


@kernel
def _release(state: State, now: float) -> None:
    """Return the jobs that have held long enough on the machines whose release is due.

    They are last in their queue for this instant. The next release of each machine is at the first
    multiple of its interval after now.
    """
    origin = state.jobs[0].submit_time
    for number in range(state.machines.size):
        machine = state.machines[number]
        if machine.next_release <= now:
            _give_back_all(state, number, now, state.run.release_after)
        passed = int((now - origin) / machine.release_interval) - 2
        machine.rounds = max(machine.rounds, passed)
        while machine.next_release <= now:
            machine.rounds += 1
            machine.next_release = origin + (1 + machine.rounds) * machine.release_interval


@kernel
def _give_back_all(state: State, machine: int, now: float, least: float) -> None:
    """Return all jobs of a machine that have held for `least` seconds or more to its queue."""
    own = state.machines[machine]
    for place in range(own.queued if own.holders > 0 else 0):
        job = state.queue[machine, place].job
        if state.jobs[job].status == HOLDING and now - state.jobs[job].hold_since >= least:
            _give_back(state, job, now)
            state.jobs[job].released_in = state.run.instants
            own.needs_pass = 1


@kernel
def _run_pass(state: State, machine: int, now: float) -> None:
    """The machine's own pass: each queued job that may start has a turn, the most urgent first.

    The turn is Algorithm 1: start with all mates, or else hold or yield by the machine's scheme.
    """
    _rank(state, machine, NO_JOB, now)
    for place in range(state.machines[machine].ranked):
        job = state.queue[machine, place].ranked
        if not _may_start(state, job, now):
            continue
        if state.jobs[job].first_mate == NO_JOB or _mates_can_start(state, job, now):
            _start_group(state, job, now)
        else:
            _hold_or_yield(state, job, now)


@kernel
def _hold_or_yield(state: State, number: int, now: float) -> None:
    """Keep the nodes idle, where scheme, price and cap allow it, or give up the turn."""
    job, run = state.jobs[number], state.run
    machine = state.machines[job.machine]
    if np.isnan(job.first_try):
        job.first_try = now
    holds = machine.holds == 1
    if holds and run.most_idle < np.inf:
        holds = job.nodes * _expected_wait(state, number, now) <= run.most_idle
    holds = holds or job.yields >= run.max_yields
    if holds and machine.held + job.nodes <= machine.held_limit:
        _take(state, number, now)
        job.hold_since = now
        machine.held += job.nodes
    else:
        job.yields += 1
        job.yielding = 1


@kernel
def _expected_wait(state: State, job: int, now: float) -> float:
    """Seconds until all reachable mates have nodes, as far as running jobs' estimates tell.

    None for a mate that holds, or that fits; for another that is queued until it would fit if it
    were the next to start; without end for one that is not submitted.
    """
    longest, mate = 0.0, state.jobs[job].first_mate
    while mate != NO_JOB:
        machine, nodes = state.jobs[mate].machine, state.jobs[mate].nodes
        if mate != job and state.machines[machine].down == 0:
            if state.jobs[mate].status == UNSUBMITTED:
                return np.inf
            if state.jobs[mate].status == QUEUED and nodes > state.machines[machine].free:
                longest = max(longest, _reservation(state, machine, nodes, now)[0] - now)
        mate = state.jobs[mate].next_mate
    return longest


@kernel
def _mates_can_start(state: State, job: int, now: float) -> bool:
    """Whether each reachable mate holds nodes, or was just given some.

    Mates whose machine is down, or that have started, have the status "unknown". Where one mate
    cannot start, those that were given nodes here return them.
    """
    jobs, machines = state.jobs, state.machines
    first = jobs[job].first_mate
    mate = first
    while mate != NO_JOB:
        if jobs[mate].status == UNSUBMITTED and machines[jobs[mate].machine].down == 0:
            return False
        mate = jobs[mate].next_mate
    mate = first
    while mate != NO_JOB:
        waits = jobs[mate].status == QUEUED and machines[jobs[mate].machine].down == 0
        allowed = jobs[mate].yielding == 1 or not state.run.only_yielding
        if mate != job and waits and not (allowed and _give_nodes(state, mate, now)):
            while first != mate:
                # One that holds of its own accord has held since some moment.
                if jobs[first].status == HOLDING and np.isnan(jobs[first].hold_since):
                    _give_back(state, first, now)
                first = jobs[first].next_mate
            return False
        mate = jobs[mate].next_mate
    return True


@kernel
def _give_nodes(state: State, mate: int, now: float) -> bool:
    """A nested pass of the mate's machine: whether the mate was given nodes in it.

    Jobs without mates may start in it; others but the mate are passed over.
    """
    machine = state.jobs[mate].machine
    _rank(state, machine, mate, now)
    for place in range(state.machines[machine].ranked):
        job = state.queue[machine, place].ranked
        if _may_start(state, job, now):
            _take(state, job, now)
            if job != mate:
                _start(state, job, now)
    return state.jobs[mate].status == HOLDING


@kernel
def _start_group(state: State, job: int, now: float) -> None:
    """Start a job, and its mates that have nodes."""
    if state.jobs[job].status == QUEUED:
        _take(state, job, now)
    if state.jobs[job].first_mate == NO_JOB:
        _start(state, job, now)
    mate = state.jobs[job].first_mate
    while mate != NO_JOB:
        down = state.machines[state.jobs[mate].machine].down > 0
        if state.jobs[mate].status == HOLDING and (mate == job or not down):
            _start(state, mate, now)
        mate = state.jobs[mate].next_mate


@kernel
def _take(state: State, number: int, now: float) -> None:
    """Give a queued job its nodes, idle for now, and those extra nodes that it needs."""
    job = state.jobs[number]
    machine = state.machines[job.machine]
    machine.holders += 1
    machine.free -= job.nodes
    job.status = HOLDING
    backfilling.take(state.limits[job.machine], machine, job.nodes, now + job.requested_time)


@kernel
def _give_back(state: State, number: int, now: float) -> None:
    """Return a job that has nodes, idle, to its queue."""
    _end_hold(state, number, now)
    job = state.jobs[number]
    state.machines[job.machine].free += job.nodes
    job.status = QUEUED


@kernel
def _start(state: State, number: int, now: float) -> None:
    """Let a job that has nodes run from now on."""
    _end_hold(state, number, now)
    job = state.jobs[number]
    job.status = STARTED
    job.start_time = now
    state.jobs[state.run.started].begun = number
    state.run.started += 1
    machine, expected_end = state.machines[job.machine], now + job.requested_time
    backfilling.expect(state.expected[job.machine], machine, expected_end, job.nodes)


@kernel
def _end_hold(state: State, number: int, now: float) -> None:
    """End the interval in which a job held nodes, which is logged unless it is empty."""
    job = state.jobs[number]
    machine = state.machines[job.machine]
    machine.holders -= 1
    if not np.isnan(job.hold_since):
        machine.held -= job.nodes
        if now > job.hold_since:
            state.jobs[state.run.let_go].let_go = number
            state.run.let_go += 1
            job.held_since = job.hold_since
    job.hold_since = np.nan


@kernel
def _may_start(state: State, number: int, now: float) -> bool:
    """Whether a job may start now beside the reservation of the first in the pass that cannot."""
    job = state.jobs[number]
    machine, limits = state.machines[job.machine], state.limits[job.machine]
    if job.nodes > machine.free and machine.limits == 0:
        shadow_time, extra = _reservation(state, job.machine, job.nodes, now)
        backfilling.limit(limits, machine, shadow_time, extra)
    return backfilling.may_start(limits, machine, job.nodes, now + job.requested_time)


@kernel
def _reservation(state: State, machine: int, wanted: int, now: float) -> tuple[float, int]:
    """Shadow time and extra nodes of a blocked job: running jobs end as expected, but not in the
    next `least_remaining` seconds, and holding jobs start now."""
    own, expected = state.machines[machine], state.expected[machine]
    found = np.inf, 0
    for sign in (1, -1):
        for place in range(own.queued if own.holders > 0 else 0):
            job = state.jobs[state.queue[machine, place].job]
            if job.status == HOLDING:
                backfilling.expect(expected, own, now + job.requested_time, sign * job.nodes)
        if sign > 0:
            found = backfilling.reservation(expected, own, wanted, now + state.run.least_remaining)
    return found


@kernel
def _rank(state: State, machine: int, mate: int, now: float) -> None:
    """Rank the queued jobs that fit, the most urgent first, and the most urgent that does not.

    Free nodes only become fewer in a pass, so no other job could start in it, and the first job
    that cannot start is one of these. In a nested pass, for a `mate`, other jobs with mates do not
    count. Jobs that have started leave the queue.
    """
    jobs, queue, own = state.jobs, state.queue, state.machines[machine]
    kept, fitting, blocked = 0, 0, NO_JOB
    for place in range(own.queued):
        job = queue[machine, place].job
        if jobs[job].status == STARTED:
            continue
        queue[machine, kept].job = job
        kept += 1
        if mate == NO_JOB:
            jobs[job].yielding = 0
        fitting += _counts(jobs[job], mate, job) and jobs[job].nodes <= own.free
    own.queued, own.ranked, own.limits = kept, 0, 0
    for place in range(kept if fitting > 0 else 0):
        job = queue[machine, place].job
        if _counts(jobs[job], mate, job):
            jobs[job].urgency = _urgency(jobs[job], state.run, job, now)
            if jobs[job].nodes <= own.free:
                _insert(state, machine, job)
            elif blocked == NO_JOB or jobs[job].urgency > jobs[blocked].urgency:
                blocked = job
    if blocked != NO_JOB:
        _insert(state, machine, blocked)


@kernel
def _counts(job: np.record, mate: int, number: int) -> bool:
    """Whether a job of a queue may have a turn in a pass, nested if it is for a mate."""
    return job.status == QUEUED and (mate == NO_JOB or job.first_mate == NO_JOB or number == mate)


@kernel
def _urgency(job: np.record, run: np.record, number: int, now: float) -> float:
    """WFP's priority, ``(waited / requested)³ · nodes``, or the order of submission; the lowest of
    all for a job that was just released."""
    if job.released_in == run.instants:
        return -np.inf
    if not run.wfp:
        return -float(number)
    return cubed_wait(now - job.submit_time, job.requested_time, job.nodes)


@kernel
def _insert(state: State, machine: int, job: int) -> None:
    """Insert a job among those that are ranked; ties go to the lower row."""
    jobs, queue, place = state.jobs, state.queue, state.machines[machine].ranked
    urgency = jobs[job].urgency
    while place > 0:
        other = queue[machine, place - 1].ranked
        if jobs[other].urgency > urgency or (jobs[other].urgency == urgency and other < job):
            break
        queue[machine, place].ranked = other
        place -= 1
    queue[machine, place].ranked = job
    state.machines[machine].ranked += 1
