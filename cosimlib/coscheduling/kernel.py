"""Kernels of coupled machines: the event loop, a machine's scheduling pass, and Algorithm 1.

*The event loop* is `coschedule`. At each instant at which something happens, jobs end, outages
begin or end, jobs are submitted, and held nodes are released. Each of these events marks its
machine. The beginning of an outage marks every machine. Then every marked machine that is up has
one scheduling pass, in the order of machines.

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
Its jobs have no turns of Algorithm 1, so that passes are never nested deeper than this. If several
mates are queued, their nested passes run one after another.

*A release* (`_release_holds`) returns the jobs that have held for long enough to their queues, at
fixed intervals. Without releases, jobs that hold for one another can wait for ever.

In these kernels, `job`, `mate` and `machine` are records. A `row` is a job's row in `jobs`, and an
`index` is a machine's row in `machines`.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.records import record_type
from cosimlib.kernels.scores import cubed_wait

UNSUBMITTED, QUEUED, READY, HOLDING, STARTED = range(5)
"""The states in a job's life, in this order: a job has nodes from READY on, and runs if STARTED."""

NO_JOB = -1

JOB = record_type(
    floats="submit_time run_time requested_time start_time hold_start first_try urgency",
    integers="nodes machine first_mate next_mate status released_at_instant yields yield_pass",
)
"""A job.

- `submit_time`, `run_time`, `requested_time` (s), `nodes`, and the index of its `machine`
- `first_mate`: row of the first job of its group; `next_mate`: row of the job after it in its
  group; `NO_JOB` if there is none
- `status`: one of the five states in its life
- `start_time` (s): NaN until it starts
- `hold_start` (s): since when it holds; NaN in every other state
- `first_try` (s): when it first held or yielded in a turn of its own; NaN if it never did
- `released_at_instant`: number of the instant at which it was last released; 0 if it never was
- `yields`: how often it has yielded; `yield_pass`: number of its machine's own pass in which it
  last yielded; −1 if it never did
- `urgency`: its priority in the latest pass, own or nested, in which it took part
"""

MACHINE = record_type(
    floats="release_interval next_release",
    integers=(
        "free held held_limit prefers_hold down needs_pass passes queue_length candidate_count "
        "with_idle_nodes releases limits ticks_passed"
    ),
)
"""A machine.

- `free`: nodes that no job has; `held`: nodes of jobs that hold; `held_limit`: the most of these
- `prefers_hold`: 1 if its scheme is to hold, 0 if it is to yield
- `down`: 1 during an outage; `needs_pass`: 1 if it is to have a pass at this instant, should it be
  up
- `passes`: how many passes of its own it has begun; nested ones do not count
- `queue_length`: length of its list `queue`: jobs submitted and not yet dropped as started
- `candidate_count`: length of its list `candidates`
- `with_idle_nodes`: jobs in its queue that have nodes but do not run, which are ready or hold
- `releases`, `limits`: lengths of its lists `expected` and `limits`, as `kernels.backfilling` names
  them; these `releases` are the expected ends of running jobs, not releases of holds
- `release_interval` and `next_release` (s): the clock of its releases of holds, and `ticks_passed`:
  how many ticks of this clock have passed
"""

KNOBS = record_type(
    floats="release_after most_idle least_remaining most_futile_instants",
    integers="wfp only_yielding max_yields",
)
"""The knobs of a simulation, as `simulate_coscheduling` has them.

- `release_after`, `least_remaining`: seconds; `most_idle`: node-seconds
- `most_futile_instants`: futile instants in a row (see `PROGRESS`) after which the simulation ends
- `wfp`: 1 if the queue is ordered by WFP, 0 if by submission
- `only_yielding`: 1 if only mates that yielded in their machine's latest pass of its own are tried
- `max_yields`: yields after which a job holds
"""

PROGRESS = record_type(
    integers=(
        "instant_number submitted_count started_count change_count ended_hold_count futile_instants"
    )
)
"""How far a simulation has come.

- `instant_number`: number of the present instant, from 1; several instants may be at one time
- `submitted_count`: jobs submitted so far; `started_count`: length of the list `started`
- `change_count`: beginnings and ends of outages so far
- `ended_hold_count`: length of the list `ended_holds`
- `futile_instants`: instants in a row, up to the present one, at which only releases could happen
"""

ENDED_HOLD = record_type(floats="start", integers="row")
"""A hold that is over: the row of the job, and since when it held its nodes (s)."""

CHANGE = record_type(floats="time", integers="step machine")
"""The beginning of a machine's outage (`step` is 1) or its end (−1)."""


class State(NamedTuple):
    """Coupled machines at an instant.

    Parameters
    ----------
    jobs, machines : records of `JOB` and `MACHINE`
        Jobs are in order of submission.
    queue : np.ndarray
        A row per machine: its queued jobs in order of submission. Jobs that are ready, that hold or
        that have started stay in the list until the first pass after their start.
    candidates : np.ndarray
        A row per machine: the jobs that its latest pass, own or nested, goes through, the most
        urgent first.
    started : np.ndarray
        Jobs in the order of their starts.
    ended_holds : records of `ENDED_HOLD`
        The holds that have ended at this instant, but for those that began at the same time.
    expected, limits : records of `kernels.backfilling.STEP`
        A row per machine: the expected ends of running jobs; and the limit that the reservation of
        the latest pass, own or nested, sets, which is one at most.
    knobs, progress : record of `KNOBS` and of `PROGRESS`
    """

    jobs: np.recarray
    machines: np.recarray
    queue: np.ndarray
    candidates: np.ndarray
    started: np.ndarray
    ended_holds: np.recarray
    expected: np.recarray
    limits: np.recarray
    knobs: np.record
    progress: np.record


@allocating_kernel
def coschedule(state: State, changes: np.recarray) -> list[tuple[int, float, float]]:
    """Simulate until no event is left; return all holds that ended, as (row, start, end).

    `changes` are records of `CHANGE` in order of time. The simulation also ends after
    `most_futile_instants` instants in a row at which only releases could happen and no job started:
    the jobs left are deadlocked.
    """
    ends = [(0.0, 0) for _ in range(0)]
    holds = [(0, 0.0, 0.0) for _ in range(0)]
    progress = state.progress
    while progress.futile_instants < state.knobs.most_futile_instants:
        now = _next_instant(state, ends, changes)
        if now == np.inf:
            break
        some_job_is_ahead = len(ends) > 0 or progress.submitted_count < state.jobs.size
        is_futile = not some_job_is_ahead and progress.change_count == changes.size
        progress.futile_instants = progress.futile_instants + 1 if is_futile else 0
        progress.instant_number += 1
        progress.ended_hold_count = 0
        started_before = progress.started_count
        _end_jobs(state, ends, now)
        _change_outages(state, changes, now)
        _submit_jobs(state, now)
        _release_holds(state, now)
        for index in range(state.machines.size):
            if state.machines[index].needs_pass and state.machines[index].down == 0:
                _run_pass(state, index, now)
            state.machines[index].needs_pass = 0
        for place in range(started_before, progress.started_count):
            row = state.started[place]
            heappush(ends, (now + state.jobs[row].run_time, row))
        for place in range(progress.ended_hold_count):
            hold = state.ended_holds[place]
            holds.append((hold.row, hold.start, now))
    return holds


# --- Events ---------------------------------------------------------------------------------------


@allocating_kernel
def _next_instant(state: State, ends: list[tuple[float, int]], changes: np.recarray) -> float:
    """The earliest time of a submission, an end, a release or a change of an outage (s).

    It is infinite if there is none. Changes of outages do not count once no job waits or runs and
    none is still to be submitted.
    """
    jobs, progress = state.jobs, state.progress
    earliest = np.inf
    for index in range(state.machines.size):
        if state.machines[index].with_idle_nodes > 0:
            earliest = min(earliest, state.machines[index].next_release)
    if progress.submitted_count < jobs.size:
        earliest = min(earliest, jobs[progress.submitted_count].submit_time)
    if len(ends) > 0:
        earliest = min(earliest, ends[0][0])
    some_job_waits = progress.started_count < progress.submitted_count
    if progress.change_count < changes.size and (some_job_waits or earliest < np.inf):
        earliest = min(earliest, changes[progress.change_count].time)
    return earliest


@allocating_kernel
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

    A machine that goes down releases all its holds. Then jobs elsewhere start that hold and whose
    missing mates are all on machines that are down, and every machine that is up needs a pass. The
    end of an outage lets its own machine have a pass.
    """
    machines, progress = state.machines, state.progress
    some_went_down = False
    while progress.change_count < changes.size and changes[progress.change_count].time <= now:
        change = changes[progress.change_count]
        machines[change.machine].down += change.step
        machines[change.machine].needs_pass = 1
        if change.step > 0:
            _release_machine(state, change.machine, 0.0, now)
            some_went_down = True
        progress.change_count += 1
    if some_went_down:
        for index in range(machines.size):
            machines[index].needs_pass = 1
        for row in range(progress.submitted_count):
            if state.jobs[row].status == HOLDING and not _waits_for_a_mate(state, row):
                _start_group(state, row, now)


@kernel
def _waits_for_a_mate(state: State, row: int) -> bool:
    """Whether a mate of a job on a machine that is up has no nodes yet."""
    mate_row = state.jobs[row].first_mate
    while mate_row != NO_JOB:
        mate = state.jobs[mate_row]
        if mate.status < READY and state.machines[mate.machine].down == 0:
            return True
        mate_row = mate.next_mate
    return False


@kernel
def _submit_jobs(state: State, now: float) -> None:
    """Queue the jobs that are submitted by now; their machines need a pass."""
    jobs, progress = state.jobs, state.progress
    while (
        progress.submitted_count < jobs.size and jobs[progress.submitted_count].submit_time <= now
    ):
        row = progress.submitted_count
        job = jobs[row]
        machine = state.machines[job.machine]
        state.queue[job.machine, machine.queue_length] = row
        job.status = QUEUED
        machine.queue_length += 1
        machine.needs_pass = 1
        progress.submitted_count += 1


@kernel
def _release_holds(state: State, now: float) -> None:
    """Release holds on the machines whose clock is due, and set these clocks.

    A clock ticks at the first submission plus 1, 2, 3, … intervals. Its next tick is the first one
    after now; ticks that passed while no job held are skipped.
    """
    origin = state.jobs[0].submit_time
    for index in range(state.machines.size):
        machine = state.machines[index]
        if machine.next_release <= now:
            _release_machine(state, index, state.knobs.release_after, now)
        # − 2: a safe lower bound; the loop below counts up to the exact tick.
        passed = int((now - origin) / machine.release_interval) - 2
        machine.ticks_passed = max(machine.ticks_passed, passed)
        while machine.next_release <= now:
            machine.ticks_passed += 1
            machine.next_release = origin + (1 + machine.ticks_passed) * machine.release_interval


@kernel
def _release_machine(state: State, index: int, least: float, now: float) -> None:
    """Return the jobs of a machine that have held for `least` seconds or more to its queue.

    They are the last of the queue at this instant.
    """
    machine = state.machines[index]
    if machine.with_idle_nodes == 0:
        return
    for place in range(machine.queue_length):
        row = state.queue[index, place]
        job = state.jobs[row]
        if job.status == HOLDING and now - job.hold_start >= least:
            _return_nodes(state, row, now)
            job.released_at_instant = state.progress.instant_number
            machine.needs_pass = 1


# --- A scheduling pass ----------------------------------------------------------------------------


@kernel
def _run_pass(state: State, index: int, now: float) -> None:
    """A machine's own pass: each candidate that may start has a turn, the most urgent first.

    The turn is Algorithm 1: the job starts together with all its mates, or else it holds or yields.
    """
    state.machines[index].passes += 1
    _list_candidates(state, index, NO_JOB, now)
    for place in range(state.machines[index].candidate_count):
        row = state.candidates[index, place]
        if not _may_start_or_reserve(state, row, now):
            continue
        if state.jobs[row].first_mate == NO_JOB or _try_mates(state, row, now):
            _start_group(state, row, now)
        else:
            _hold_or_yield(state, row, now)


@kernel
def _try_mates(state: State, row: int, now: float) -> bool:
    """Give nodes to each queued mate of a job, if possible; whether nobody is left to wait for.

    Each queued mate is tried in a nested pass of its machine, one after another. If one cannot
    start, the mates that were made ready before it return their nodes. Jobs without mates that the
    nested passes started stay started all the same.

    Mates that have started, and mates whose machine is down, submitted or not, have the status
    "unknown" in the paper. Nobody waits for them.
    """
    first_mate = state.jobs[row].first_mate
    mate_row = first_mate
    while mate_row != NO_JOB:
        mate = state.jobs[mate_row]
        if mate.status == UNSUBMITTED and state.machines[mate.machine].down == 0:
            return False
        mate_row = mate.next_mate
    mate_row = first_mate
    while mate_row != NO_JOB:
        mate = state.jobs[mate_row]
        machine = state.machines[mate.machine]
        if mate_row != row and mate.status == QUEUED and machine.down == 0:
            just_yielded = mate.yield_pass == machine.passes
            is_tried = just_yielded or not state.knobs.only_yielding
            if not is_tried or not _run_nested_pass(state, mate_row, now):
                _return_ready_mates(state, first_mate, now)
                return False
        mate_row = mate.next_mate
    return True


@kernel
def _return_ready_mates(state: State, first_mate: int, now: float) -> None:
    """Return the jobs of a group that were made ready in this turn to their queues."""
    mate_row = first_mate
    while mate_row != NO_JOB:
        mate = state.jobs[mate_row]
        if mate.status == READY:
            _return_nodes(state, mate_row, now)
        mate_row = mate.next_mate


@kernel
def _run_nested_pass(state: State, mate_row: int, now: float) -> bool:
    """A pass of the machine of a queued mate: whether the mate is ready after it.

    Jobs without mates that may start do so at once, and stay started even if the mate cannot start.
    Jobs of other groups take no part: they do not start and reserve nothing.
    """
    index = state.jobs[mate_row].machine
    _list_candidates(state, index, mate_row, now)
    for place in range(state.machines[index].candidate_count):
        row = state.candidates[index, place]
        if _may_start_or_reserve(state, row, now):
            _give_nodes(state, row, now)
            if row != mate_row:
                _start(state, row, now)
    return state.jobs[mate_row].status == READY


@kernel
def _hold_or_yield(state: State, row: int, now: float) -> None:
    """Let a job whose mates cannot start hold its nodes, or else yield its turn.

    It holds if the scheme of its machine says so and the hold is not expected to leave too much
    idle, or if it has yielded often enough. In both cases the machine must not hold too many nodes.
    """
    job, knobs = state.jobs[row], state.knobs
    machine = state.machines[job.machine]
    if np.isnan(job.first_try):
        job.first_try = now
    holds = machine.prefers_hold == 1
    if holds and knobs.most_idle < np.inf:
        holds = job.nodes * _expected_hold(state, row, now) <= knobs.most_idle
    if job.yields >= knobs.max_yields:
        holds = True
    if holds and machine.held + job.nodes <= machine.held_limit:
        _give_nodes(state, row, now)
        job.status = HOLDING
        job.hold_start = now
        machine.held += job.nodes
    else:
        job.yields += 1
        job.yield_pass = machine.passes


@kernel
def _expected_hold(state: State, row: int, now: float) -> float:
    """Seconds until all reachable mates of a job have nodes, as far as requested times tell.

    A mate that holds or that fits now takes no time. Another queued mate takes until the moment at
    which it would fit if it were next. A mate that is not submitted takes for ever.
    """
    longest, mate_row = 0.0, state.jobs[row].first_mate
    while mate_row != NO_JOB:
        mate = state.jobs[mate_row]
        machine = state.machines[mate.machine]
        if mate_row != row and machine.down == 0:
            if mate.status == UNSUBMITTED:
                return np.inf
            if mate.status == QUEUED and mate.nodes > machine.free:
                shadow_time, _ = _reservation(state, mate.machine, mate.nodes, now)
                longest = max(longest, shadow_time - now)
        mate_row = mate.next_mate
    return longest


# --- A job goes from state to state ---------------------------------------------------------------


@kernel
def _start_group(state: State, row: int, now: float) -> None:
    """Start a job and its mates that have idle nodes.

    No job on a machine that is down has idle nodes: its holds ended when the outage began.
    """
    jobs = state.jobs
    if jobs[row].status == QUEUED:
        _give_nodes(state, row, now)
    member_row = row if jobs[row].first_mate == NO_JOB else jobs[row].first_mate
    while member_row != NO_JOB:
        if READY <= jobs[member_row].status <= HOLDING:
            _start(state, member_row, now)
        member_row = jobs[member_row].next_mate


@kernel
def _give_nodes(state: State, row: int, now: float) -> None:
    """Queued → ready: give a job its nodes, and those extra nodes that it needs."""
    job = state.jobs[row]
    machine = state.machines[job.machine]
    job.status = READY
    machine.free -= job.nodes
    machine.with_idle_nodes += 1
    backfilling.take(state.limits[job.machine], machine, job.nodes, now + job.requested_time)


@kernel
def _return_nodes(state: State, row: int, now: float) -> None:
    """Ready or holding → queued: take a job's nodes back."""
    _end_hold(state, row, now)
    job = state.jobs[row]
    machine = state.machines[job.machine]
    job.status = QUEUED
    machine.free += job.nodes
    machine.with_idle_nodes -= 1


@kernel
def _start(state: State, row: int, now: float) -> None:
    """Ready or holding → started: let a job run from now on."""
    _end_hold(state, row, now)
    job, progress = state.jobs[row], state.progress
    machine = state.machines[job.machine]
    job.status = STARTED
    job.start_time = now
    state.started[progress.started_count] = row
    progress.started_count += 1
    machine.with_idle_nodes -= 1
    expected_end = now + job.requested_time
    backfilling.expect(state.expected[job.machine], machine, expected_end, job.nodes)


@kernel
def _end_hold(state: State, row: int, now: float) -> None:
    """End the hold of a job, if it holds, and list it, unless it began now."""
    job, progress = state.jobs[row], state.progress
    if job.status != HOLDING:
        return
    state.machines[job.machine].held -= job.nodes
    if now > job.hold_start:
        hold = state.ended_holds[progress.ended_hold_count]
        hold.row, hold.start = row, job.hold_start
        progress.ended_hold_count += 1
    job.hold_start = np.nan


# --- Backfilling ----------------------------------------------------------------------------------


@kernel
def _may_start_or_reserve(state: State, row: int, now: float) -> bool:
    """Whether a job fits and does not delay the reservation of its pass.

    The first job of a pass that does not fit makes this reservation here.
    """
    job = state.jobs[row]
    machine, limits = state.machines[job.machine], state.limits[job.machine]
    if job.nodes > machine.free and machine.limits == 0:
        shadow_time, extra_nodes = _reservation(state, job.machine, job.nodes, now)
        backfilling.limit(limits, machine, shadow_time, extra_nodes)
    return backfilling.may_start(limits, machine, job.nodes, now + job.requested_time)


@kernel
def _reservation(state: State, index: int, nodes: int, now: float) -> tuple[float, int]:
    """Shadow time and extra nodes on a machine of a job of so many nodes that does not fit now.

    Running jobs are expected to end at their requested times, but not in the next
    `least_remaining` seconds. Jobs that have nodes idle are expected to run from now on. For this,
    their ends are added to the list of expected ends, and removed again once the answer is known.
    """
    machine, expected = state.machines[index], state.expected[index]
    earliest = now + state.knobs.least_remaining
    shadow_time, extra_nodes = np.inf, 0
    for sign in (1, -1):
        for place in range(machine.queue_length if machine.with_idle_nodes > 0 else 0):
            job = state.jobs[state.queue[index, place]]
            if READY <= job.status <= HOLDING:
                backfilling.expect(expected, machine, now + job.requested_time, sign * job.nodes)
        if sign > 0:
            shadow_time, extra_nodes = backfilling.reservation(expected, machine, nodes, earliest)
    return shadow_time, extra_nodes


# --- The candidates of a pass ---------------------------------------------------------------------


@kernel
def _list_candidates(state: State, index: int, mate_row: int, now: float) -> None:
    """List the jobs that a pass goes through, the most urgent first, without a reservation.

    These are the queued jobs that fit now, if there are any, and the most urgent one that does not,
    which makes the reservation. Free nodes only become fewer in a pass, so that no other job can
    start in it. The pass is nested if it is for the mate in `mate_row`; in a machine's own pass,
    `mate_row` is `NO_JOB`.
    """
    jobs, machine = state.jobs, state.machines[index]
    queue, candidates = state.queue[index], state.candidates[index]
    machine.queue_length = _drop_started(jobs, queue, machine.queue_length)
    machine.candidate_count = machine.limits = 0
    if not _some_job_fits(jobs, queue, machine, mate_row):
        return
    listed, blocked_row = 0, NO_JOB
    for place in range(machine.queue_length):
        row = queue[place]
        job = jobs[row]
        if not _takes_part(job, row, mate_row):
            continue
        job.urgency = _urgency(job, row, state.knobs, state.progress, now)
        if job.nodes <= machine.free:
            _insert_candidate(jobs, candidates, listed, row)
            listed += 1
        elif blocked_row == NO_JOB or job.urgency > jobs[blocked_row].urgency:
            blocked_row = row
    if blocked_row != NO_JOB:
        _insert_candidate(jobs, candidates, listed, blocked_row)
        listed += 1
    machine.candidate_count = listed


@kernel
def _drop_started(jobs: np.recarray, queue: np.ndarray, queue_length: int) -> int:
    """Drop the jobs that have started from a machine's queue; return how many are left."""
    kept = 0
    for place in range(queue_length):
        if jobs[queue[place]].status != STARTED:
            queue[kept] = queue[place]
            kept += 1
    return kept


@kernel
def _some_job_fits(jobs: np.recarray, queue: np.ndarray, machine: np.record, mate_row: int) -> bool:
    """Whether a job that takes part in a pass fits on the free nodes of its machine."""
    for place in range(machine.queue_length):
        row = queue[place]
        if jobs[row].nodes <= machine.free and _takes_part(jobs[row], row, mate_row):
            return True
    return False


@kernel
def _takes_part(job: np.record, row: int, mate_row: int) -> bool:
    """Whether a job of the queue takes part in a pass, which is nested if it is for a mate.

    In a nested pass, the mate and the jobs without mates take part.
    """
    if job.status != QUEUED:
        return False
    return mate_row == NO_JOB or job.first_mate == NO_JOB or row == mate_row


@kernel
def _urgency(job: np.record, row: int, knobs: np.record, progress: np.record, now: float) -> float:
    """Priority of a job: WFP's ``(waited / requested)³ · nodes``, or the order of submission.

    A job that was released at this instant has the lowest priority of all.
    """
    if job.released_at_instant == progress.instant_number:
        return -np.inf
    if not knobs.wfp:
        return -float(row)
    return cubed_wait(now - job.submit_time, job.requested_time, job.nodes)


@kernel
def _insert_candidate(jobs: np.recarray, candidates: np.ndarray, listed: int, row: int) -> None:
    """Insert a job into the candidates, `listed` so far, by urgency; ties go to the lower row."""
    urgency, place = jobs[row].urgency, listed
    while place > 0:
        before = candidates[place - 1]
        if jobs[before].urgency > urgency or (jobs[before].urgency == urgency and before < row):
            break
        candidates[place] = before
        place -= 1
    candidates[place] = row
