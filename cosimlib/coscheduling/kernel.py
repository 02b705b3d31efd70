"""Kernels of coupled machines: the event loop, a machine's scheduling pass, and Algorithm 1.

*The event loop* is `coschedule`. At each instant at which something happens, jobs end, outages
begin or end, jobs are submitted, and held nodes are released. Each of these events marks its
machine. Then every marked machine has one scheduling pass, in the order of machines.

*A job's life.* A job that is submitted is *queued*. A queued job that gets its nodes is *ready*: it
has nodes, but does not run yet. Readiness lasts no longer than one turn of a pass, at the end of
which the job has started, holds, or is queued again. A job that *holds* keeps its nodes idle for
its mates over many instants. It starts when its mates can start, or a release returns it to the
queue. A job that has *started* runs without interruption until its end.

*A pass* (`_run_pass`) gives each queued job that fits a turn, the most urgent first. The first job
that does not fit gets a reservation, and a later job may start only if it does not delay that
reservation, as in EASY backfilling.

*A turn* is Algorithm 1 (see `simulation`). A job without mates starts. A job with
mates starts together with them if each of them holds nodes or can be given nodes now. Otherwise it
holds or yields: this depends on the scheme of its machine.

*A nested pass* (`_run_nested_pass`) tries to give nodes to one queued mate on the mate's machine.
Its jobs have no turns of Algorithm 1, so that passes are never nested deeper than this.

*A release* (`_release_holds`) returns the jobs that have held for long enough to their queues, at
fixed intervals. Without releases, jobs that hold for one another can wait for ever.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, whole
from cosimlib.kernels.scores import cubed_wait

UNSUBMITTED, QUEUED, READY, HOLDING, STARTED = range(5)
"""The states in a job's life, in this order: a job has nodes from READY on, and runs if STARTED."""

NO_JOB = whole(-1)

JOB = record_type(
    floats="submit_time run_time requested_time start_time hold_start first_try urgency",
    integers="nodes machine first_mate next_mate status release_instant yields yield_pass",
)
"""A job.

- `submit_time`, `run_time`, `requested_time` (s), `nodes`, and the number of its `machine`
- `first_mate`: the first job of its group; `next_mate`: the job after it in its group; `NO_JOB` if
  there is none
- `status`: one of the five states in its life
- `start_time` (s): NaN until it starts
- `hold_start` (s): since when it holds; NaN in every other state
- `first_try` (s): when it first held or yielded; NaN if it never did
- `release_instant`: number of the instant at which it was last released; 0 if it never was
- `yields`: how often it has yielded; `yield_pass`: number of the pass of its machine in which it
  last yielded; −1 if it never did
- `urgency`: its priority in the latest pass in which it could have a turn
"""

MACHINE = record_type(
    floats="release_interval next_release",
    integers=(
        "free held held_limit prefers_hold down needs_pass passes queued turns idlers releases "
        "limits releases_due"
    ),
)
"""A machine.

- `free`: nodes that no job has; `held`: nodes of jobs that hold; `held_limit`: the most of these
- `prefers_hold`: 1 if its scheme is to hold, 0 if it is to yield
- `down`: 1 during an outage; `needs_pass`: 1 if this instant has an event of the machine
- `passes`: how many passes of its own it has begun; nested ones do not count
- `queued`, `turns`: lengths of its lists `queue` and `turns`
- `idlers`: jobs in its queue that have nodes but do not run, which are ready or hold
- `releases`, `limits`: lengths of its lists `expected` and `limits`
- `release_interval` and `next_release` (s): the clock of its releases, and `releases_due`: how many
  of the clock's ticks have passed
"""

KNOBS = record_type(
    floats="release_after most_idle least_remaining most_futile_rounds",
    integers="wfp only_yielding max_yields",
)
"""The knobs of a simulation, as `simulate_coscheduling` has them.

- `release_after`, `least_remaining`: seconds; `most_idle`: node-seconds
- `most_futile_rounds`: instants with nothing but releases after which the simulation ends
- `wfp`: 1 if the queue is ordered by WFP, 0 if by submission
- `only_yielding`: 1 if only mates that yielded in the latest pass are tried
- `max_yields`: yields after which a job holds
"""

PROGRESS = record_type(integers="instants submitted started changes ended_holds futile_rounds")
"""How far a simulation has come.

- `instants`: number of the present instant, from 1
- `submitted`, `started`: jobs so far; `started` is also the length of that list
- `changes`: beginnings and ends of outages so far
- `ended_holds`: length of the list of holds that ended at this instant
- `futile_rounds`: instants in a row, up to the present one, before which nothing but releases was
  left to happen
"""

ENDED_HOLD = record_type(floats="start", integers="job")
"""A hold that is over: the job, and since when it held its nodes (s)."""

CHANGE = record_type(floats="time", integers="down machine")
"""The beginning of a machine's outage (`down` is 1) or its end (−1)."""


class State(NamedTuple):
    """Coupled machines at an instant.

    Parameters
    ----------
    jobs, machines : records of `JOB` and `MACHINE`
        Jobs are in order of submission.
    queue : np.ndarray
        A row per machine: its queued jobs in order of submission. Jobs that are ready, that hold or
        that have started stay in the list until the first pass after their start.
    turns : np.ndarray
        A row per machine: the jobs of its latest pass, the most urgent first.
    started : np.ndarray
        Jobs in the order of their starts.
    ended_holds : records of `ENDED_HOLD`
        The holds that have ended at this instant, but for those that began at it.
    expected, limits : records of `kernels.backfilling.STEP`
        A row per machine: the expected ends of running jobs; and the limit that the reservation of
        the latest pass sets, which is one at most.
    knobs, progress : record of `KNOBS` and of `PROGRESS`
    """

    jobs: np.recarray
    machines: np.recarray
    queue: np.ndarray
    turns: np.ndarray
    started: np.ndarray
    ended_holds: np.recarray
    expected: np.recarray
    limits: np.recarray
    knobs: np.record
    progress: np.record


@kernel
def coschedule(state: State, changes: np.recarray) -> list[tuple[int, float, float]]:
    """Simulate until no event is left; return all holds that ended, as (job, start, end).

    `changes` are records of `CHANGE` in order of time. The simulation also ends after
    `most_futile_rounds` rounds of releases that led to no start: the jobs left are deadlocked.
    """
    ends = [(0.0, 0) for _ in range(0)]
    holds = [(0, 0.0, 0.0) for _ in range(0)]
    progress = state.progress
    while progress.futile_rounds < state.knobs.most_futile_rounds:
        now = _next_instant(state, ends, changes)
        if now == np.inf:
            break
        started_before = progress.started
        progress.instants += 1
        progress.ended_holds = 0
        _end_jobs(state, ends, now)
        _change_outages(state, changes, now)
        _submit_jobs(state, now)
        _release_holds(state, now)
        for machine in range(state.machines.size):
            if state.machines[machine].needs_pass and state.machines[machine].down == 0:
                _run_pass(state, machine, now)
            state.machines[machine].needs_pass = 0
        for place in range(started_before, progress.started):
            job = state.started[place]
            heappush(ends, (now + state.jobs[job].run_time, job))
        for place in range(progress.ended_holds):
            hold = state.ended_holds[place]
            holds.append((hold.job, hold.start, now))
    return holds


# --- Events ---------------------------------------------------------------------------------------


@kernel
def _next_instant(state: State, ends: list[tuple[float, int]], changes: np.recarray) -> float:
    """The earliest time of a submission, an end, a release or a change of an outage (s).

    It is infinite if there is none. Changes of outages do not count once no job waits or runs and
    none is still to be submitted. Also counts the rounds in which only releases are left.
    """
    jobs, progress = state.jobs, state.progress
    all_submitted = progress.submitted == jobs.size
    instant = np.inf
    for machine in range(state.machines.size):
        if state.machines[machine].idlers > 0:
            instant = min(instant, state.machines[machine].next_release)
    if not all_submitted:
        instant = min(instant, jobs[progress.submitted].submit_time)
    if len(ends) > 0:
        instant = min(instant, ends[0][0])
    all_changed = progress.changes == changes.size
    some_job_waits = progress.started < progress.submitted
    if not all_changed and (some_job_waits or instant < np.inf):
        instant = min(instant, changes[progress.changes].time)
    only_releases_left = len(ends) == 0 and all_submitted and all_changed
    progress.futile_rounds = progress.futile_rounds + 1 if only_releases_left else 0
    return instant


@kernel
def _end_jobs(state: State, ends: list[tuple[float, int]], now: float) -> None:
    """End the jobs whose time has come: their nodes are free, and their machines need a pass."""
    while len(ends) > 0 and ends[0][0] <= now:
        job = state.jobs[heappop(ends)[1]]
        machine = state.machines[job.machine]
        machine.free += job.nodes
        machine.needs_pass = 1
        expected_end = job.start_time + job.requested_time
        backfilling.expect(state.expected[job.machine], machine, expected_end, -job.nodes)


@kernel
def _change_outages(state: State, changes: np.recarray, now: float) -> None:
    """Begin and end outages.

    A machine that goes down releases all its holds. Then jobs on other machines that held only for
    mates on such machines start, and every machine needs a pass.
    """
    jobs, machines, progress = state.jobs, state.machines, state.progress
    some_went_down = False
    while progress.changes < changes.size and changes[progress.changes].time <= now:
        change = changes[progress.changes]
        machines[change.machine].down += change.down
        machines[change.machine].needs_pass = 1
        if change.down > 0:
            _release_machine(state, change.machine, 0.0, now)
            some_went_down = True
        progress.changes += 1
    if some_went_down:
        for machine in range(machines.size):
            machines[machine].needs_pass = 1
        for job in range(progress.submitted):
            if jobs[job].status == HOLDING and not _waits_for_a_mate(jobs, machines, job):
                _start_group(state, job, now)


@kernel
def _waits_for_a_mate(jobs: np.recarray, machines: np.recarray, job: int) -> bool:
    """Whether a mate on a machine that is up has no nodes yet."""
    mate = jobs[job].first_mate
    while mate != NO_JOB:
        if jobs[mate].status < READY and machines[jobs[mate].machine].down == 0:
            return True
        mate = jobs[mate].next_mate
    return False


@kernel
def _submit_jobs(state: State, now: float) -> None:
    """Queue the jobs that are submitted by now; their machines need a pass."""
    jobs, progress = state.jobs, state.progress
    while progress.submitted < jobs.size and jobs[progress.submitted].submit_time <= now:
        job = jobs[progress.submitted]
        machine = state.machines[job.machine]
        state.queue[job.machine, machine.queued] = progress.submitted
        job.status = QUEUED
        machine.queued += 1
        machine.needs_pass = 1
        progress.submitted += 1


@kernel
def _release_holds(state: State, now: float) -> None:
    """Release holds on the machines whose clock is due, and set these clocks.

    A clock ticks at the first submission plus 1, 2, 3, … intervals. Its next tick is the first one
    after now; ticks that passed while no job held are skipped.
    """
    origin = state.jobs[0].submit_time
    for number in range(state.machines.size):
        machine = state.machines[number]
        if machine.next_release <= now:
            _release_machine(state, number, state.knobs.release_after, now)
        # The quotient may be rounded up, so this stays well below the tick that is sought.
        passed = int((now - origin) / machine.release_interval) - 2
        machine.releases_due = max(machine.releases_due, passed)
        while machine.next_release <= now:
            machine.releases_due += 1
            machine.next_release = origin + (1 + machine.releases_due) * machine.release_interval


@kernel
def _release_machine(state: State, machine: int, least: float, now: float) -> None:
    """Return the jobs of a machine that have held for `least` seconds or more to its queue.

    They are the last of the queue at this instant.
    """
    jobs, machines = state.jobs, state.machines
    if machines[machine].idlers == 0:
        return
    for place in range(machines[machine].queued):
        job = state.queue[machine, place]
        if jobs[job].status == HOLDING and now - jobs[job].hold_start >= least:
            _return_nodes(state, job, now)
            jobs[job].release_instant = state.progress.instants
            machines[machine].needs_pass = 1


# --- A scheduling pass ----------------------------------------------------------------------------


@kernel
def _run_pass(state: State, machine: int, now: float) -> None:
    """A machine's own pass: each queued job that may start has a turn, the most urgent first.

    The turn is Algorithm 1: the job starts together with all its mates, or else it holds or yields.
    """
    state.machines[machine].passes += 1
    _list_turns(state, machine, NO_JOB, now)
    for place in range(state.machines[machine].turns):
        job = state.turns[machine, place]
        if not _may_start(state, job, now):
            continue
        if state.jobs[job].first_mate == NO_JOB or _mates_can_start(state, job, now):
            _start_group(state, job, now)
        else:
            _hold_or_yield(state, job, now)


@kernel
def _mates_can_start(state: State, job: int, now: float) -> bool:
    """Whether each mate of a job has nodes, or is given some now in a nested pass.

    Mates that have started, and mates whose machine is down, have the status "unknown" in the
    paper; nobody waits for them. If one mate cannot start, the mates that were made ready for this
    turn return their nodes.
    """
    jobs, machines, first_mate = state.jobs, state.machines, state.jobs[job].first_mate
    mate = first_mate
    while mate != NO_JOB:
        if jobs[mate].status == UNSUBMITTED and machines[jobs[mate].machine].down == 0:
            return False
        mate = jobs[mate].next_mate
    mate = first_mate
    while mate != NO_JOB:
        machine = machines[jobs[mate].machine]
        if mate != job and jobs[mate].status == QUEUED and machine.down == 0:
            just_yielded = jobs[mate].yield_pass == machine.passes
            is_tried = just_yielded or not state.knobs.only_yielding
            if not is_tried or not _run_nested_pass(state, mate, now):
                _return_ready_mates(state, first_mate, now)
                return False
        mate = jobs[mate].next_mate
    return True


@kernel
def _return_ready_mates(state: State, first_mate: int, now: float) -> None:
    """Return the jobs of a group that were made ready in this turn to their queues."""
    mate = first_mate
    while mate != NO_JOB:
        if state.jobs[mate].status == READY:
            _return_nodes(state, mate, now)
        mate = state.jobs[mate].next_mate


@kernel
def _run_nested_pass(state: State, mate: int, now: float) -> bool:
    """A pass of the machine of a queued mate: whether the mate is ready after it.

    Jobs without mates that may start do so at once. Other jobs with mates are passed over.
    """
    machine = state.jobs[mate].machine
    _list_turns(state, machine, mate, now)
    for place in range(state.machines[machine].turns):
        job = state.turns[machine, place]
        if _may_start(state, job, now):
            _give_nodes(state, job, now)
            if job != mate:
                _start(state, job, now)
    return state.jobs[mate].status == READY


@kernel
def _hold_or_yield(state: State, number: int, now: float) -> None:
    """Let a job whose mates cannot start hold its nodes, or else yield its turn.

    It holds if the scheme of its machine says so and the hold is not expected to leave too much
    idle, or if it has yielded often enough. In both cases the machine must not hold too many nodes.
    """
    job, knobs = state.jobs[number], state.knobs
    machine = state.machines[job.machine]
    if np.isnan(job.first_try):
        job.first_try = now
    holds = machine.prefers_hold == 1
    if holds and knobs.most_idle < np.inf:
        holds = job.nodes * _expected_hold(state, number, now) <= knobs.most_idle
    if job.yields >= knobs.max_yields:
        holds = True
    if holds and machine.held + job.nodes <= machine.held_limit:
        _give_nodes(state, number, now)
        job.status = HOLDING
        job.hold_start = now
        machine.held += job.nodes
    else:
        job.yields += 1
        job.yield_pass = machine.passes


@kernel
def _expected_hold(state: State, job: int, now: float) -> float:
    """Seconds until all reachable mates of a job have nodes, as far as requested times tell.

    A mate that holds or that fits now takes no time. Another queued mate takes until the moment at
    which it would fit if it were next. A mate that is not submitted takes for ever.
    """
    longest, mate = 0.0, state.jobs[job].first_mate
    while mate != NO_JOB:
        status, nodes = state.jobs[mate].status, state.jobs[mate].nodes
        machine = state.jobs[mate].machine
        if mate != job and state.machines[machine].down == 0:
            if status == UNSUBMITTED:
                return np.inf
            if status == QUEUED and nodes > state.machines[machine].free:
                shadow_time, _ = _reservation(state, machine, nodes, now)
                longest = max(longest, shadow_time - now)
        mate = state.jobs[mate].next_mate
    return longest


# --- A job goes from state to state ---------------------------------------------------------------


@kernel
def _start_group(state: State, job: int, now: float) -> None:
    """Start a job and its mates that have nodes on machines that are up."""
    jobs = state.jobs
    if jobs[job].status == QUEUED:
        _give_nodes(state, job, now)
    member = job if jobs[job].first_mate == NO_JOB else jobs[job].first_mate
    while member != NO_JOB:
        is_reachable = state.machines[jobs[member].machine].down == 0
        has_idle_nodes = READY <= jobs[member].status <= HOLDING
        if has_idle_nodes and (member == job or is_reachable):
            _start(state, member, now)
        member = jobs[member].next_mate


@kernel
def _give_nodes(state: State, number: int, now: float) -> None:
    """Queued → ready: give a job its nodes, and those extra nodes that it needs."""
    job = state.jobs[number]
    machine = state.machines[job.machine]
    job.status = READY
    machine.free -= job.nodes
    machine.idlers += 1
    backfilling.take(state.limits[job.machine], machine, job.nodes, now + job.requested_time)


@kernel
def _return_nodes(state: State, number: int, now: float) -> None:
    """Ready or holding → queued: take a job's nodes back."""
    _end_hold(state, number, now)
    job = state.jobs[number]
    job.status = QUEUED
    state.machines[job.machine].free += job.nodes
    state.machines[job.machine].idlers -= 1


@kernel
def _start(state: State, number: int, now: float) -> None:
    """Ready or holding → started: let a job run from now on."""
    _end_hold(state, number, now)
    job, progress = state.jobs[number], state.progress
    machine = state.machines[job.machine]
    job.status = STARTED
    job.start_time = now
    state.started[progress.started] = number
    progress.started += 1
    machine.idlers -= 1
    expected_end = now + job.requested_time
    backfilling.expect(state.expected[job.machine], machine, expected_end, job.nodes)


@kernel
def _end_hold(state: State, number: int, now: float) -> None:
    """End the hold of a job, if it holds, and list it, unless it began now."""
    job, progress = state.jobs[number], state.progress
    if job.status != HOLDING:
        return
    state.machines[job.machine].held -= job.nodes
    if now > job.hold_start:
        hold = state.ended_holds[progress.ended_holds]
        hold.job, hold.start = number, job.hold_start
        progress.ended_holds += 1
    job.hold_start = np.nan


# --- Backfilling ----------------------------------------------------------------------------------


@kernel
def _may_start(state: State, number: int, now: float) -> bool:
    """Whether a job fits and does not delay the reservation of its pass.

    The first job of a pass that does not fit makes this reservation.
    """
    job = state.jobs[number]
    machine, limits = state.machines[job.machine], state.limits[job.machine]
    if job.nodes > machine.free and machine.limits == 0:
        shadow_time, extra_nodes = _reservation(state, job.machine, job.nodes, now)
        backfilling.limit(limits, machine, shadow_time, extra_nodes)
    return backfilling.may_start(limits, machine, job.nodes, now + job.requested_time)


@kernel
def _reservation(state: State, machine: int, nodes: int, now: float) -> tuple[float, int]:
    """Shadow time and extra nodes of a job of so many nodes that does not fit now.

    Running jobs are expected to end at their requested times, but not in the next
    `least_remaining` seconds. Jobs that have nodes idle are expected to run from now on. For this,
    their ends are added to the list of expected ends, and removed again once the answer is known.
    """
    own, expected = state.machines[machine], state.expected[machine]
    earliest = now + state.knobs.least_remaining
    shadow_time, extra_nodes = np.inf, 0
    for sign in (1, -1):
        for place in range(own.queued if own.idlers > 0 else 0):
            job = state.jobs[state.queue[machine, place]]
            if READY <= job.status <= HOLDING:
                backfilling.expect(expected, own, now + job.requested_time, sign * job.nodes)
        if sign > 0:
            shadow_time, extra_nodes = backfilling.reservation(expected, own, nodes, earliest)
    return shadow_time, extra_nodes


# --- The order of turns ---------------------------------------------------------------------------


@kernel
def _list_turns(state: State, machine: int, mate: int, now: float) -> None:
    """List the jobs that may have a turn in a pass, the most urgent first, without a reservation.

    These are the queued jobs that fit now, if there are any, and the most urgent one that does not,
    which makes the reservation. Free nodes only become fewer in a pass, so that no other job can
    start in it. The pass is nested if it is for a `mate`; in other passes, `mate` is `NO_JOB`.
    """
    jobs, own = state.jobs, state.machines[machine]
    queue, turns = state.queue[machine], state.turns[machine]
    own.queued = _drop_started(jobs, queue, own.queued)
    own.turns = own.limits = 0
    if not _some_job_fits(jobs, queue, own, mate):
        return
    listed, blocked = 0, NO_JOB
    for place in range(own.queued):
        job = queue[place]
        if not _takes_part(jobs[job], job, mate):
            continue
        jobs[job].urgency = _urgency(jobs[job], job, state.knobs, state.progress, now)
        if jobs[job].nodes <= own.free:
            _insert_turn(jobs, turns, listed, job)
            listed += 1
        elif blocked == NO_JOB or jobs[job].urgency > jobs[blocked].urgency:
            blocked = job
    if blocked != NO_JOB:
        _insert_turn(jobs, turns, listed, blocked)
        listed += 1
    own.turns = listed


@kernel
def _drop_started(jobs: np.recarray, queue: np.ndarray, queued: int) -> int:
    """Drop the jobs that have started from a machine's queue; return how many are left."""
    kept = 0
    for place in range(queued):
        if jobs[queue[place]].status != STARTED:
            queue[kept] = queue[place]
            kept += 1
    return kept


@kernel
def _some_job_fits(jobs: np.recarray, queue: np.ndarray, machine: np.record, mate: int) -> bool:
    """Whether a job that takes part in a pass fits on the free nodes of its machine."""
    for place in range(machine.queued):
        job = queue[place]
        if jobs[job].nodes <= machine.free and _takes_part(jobs[job], job, mate):
            return True
    return False


@kernel
def _takes_part(job: np.record, number: int, mate: int) -> bool:
    """Whether a job of the queue takes part in a pass, which is nested if it is for a mate.

    In a nested pass, the mate and the jobs without mates take part.
    """
    if job.status != QUEUED:
        return False
    return mate == NO_JOB or job.first_mate == NO_JOB or number == mate


@kernel
def _urgency(
    job: np.record, number: int, knobs: np.record, progress: np.record, now: float
) -> float:
    """Priority of a job: WFP's ``(waited / requested)³ · nodes``, or the order of submission.

    A job that was released at this instant has the lowest priority of all.
    """
    if job.release_instant == progress.instants:
        return -np.inf
    if not knobs.wfp:
        return -float(number)
    return cubed_wait(now - job.submit_time, job.requested_time, job.nodes)


@kernel
def _insert_turn(jobs: np.recarray, turns: np.ndarray, listed: int, job: int) -> None:
    """Insert a job into the order of turns, `listed` so far; ties go to the lower row."""
    urgency, place = jobs[job].urgency, listed
    while place > 0:
        before = turns[place - 1]
        if jobs[before].urgency > urgency or (jobs[before].urgency == urgency and before < job):
            break
        turns[place] = before
        place -= 1
    turns[place] = job
