"""Conservative backfilling: every waiting job has a reservation, which no other job may delay.

On submission a job is reserved its earliest start: from then on it fits beside the running jobs, to
their expected ends, and the waiting jobs, in their reservations. When jobs end early the plan has
more room than it needs, and the literature uses it in two ways:

``reservations="kept"``: a reservation is a promise, and may only move earlier. At an instant with
ends every waiting job, in the queue's order, is lifted and placed anew at its earliest start
(*compression*; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001); then new jobs are placed.

``reservations="replanned"``: at every instant the plan is made from nothing in the queue's order.
The reservation of a job may then be later than it was, because another job that comes before it in
the queue took the nodes that came free.

The default is kept, for *conservative* stands for the promise made on submission: the latest start.

A job that outlives its request breaks promises. As long as one runs, and at the instant at which
the last of them ends, kept reservations too are made from nothing, in order of the starts promised
so far (ties: the queue's order), so that no job is delayed without need. Under both, the nodes of
such a job count as free right after now; a reservation for now that therefore cannot begin waits.

Availability is one sorted array of breakpoints (`kernels.availability`). While reservations are
only added, the search for a job begins where that for the last job of the same nodes and requested
time ended. Of plans that are made from nothing only the starts matter: each ends where no job that
is left could begin before the next event.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import queue
from cosimlib.batch.orders import Order, Prepared, policy_name, prepare
from cosimlib.kernels import availability, releases
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.releases import RELEASE
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

RESERVATIONS = ("kept", "replanned")

JOB = np.dtype(
    [
        *queue.FIELDS,
        ("reserved", "f8"),
        ("promised", "f8"),
        ("alike", "i8"),
        ("none_before", "f8"),
        ("version", "i8"),
    ]
)
"""A job; its start, its reservation and the first that it had, NaN before.

`alike` is one of the jobs of the same nodes and requested time. In the record of that one,
`none_before` is a moment before which such jobs find no start, as long as nothing has come free
since `version`.
"""

STATE = np.dtype(
    [
        ("now", "f8"),
        ("next_start", "f8"),
        ("kind", "i8"),
        ("submitted", "i8"),
        ("waiting", "i8"),
        ("free", "i8"),
        ("releases", "i8"),
        ("breakpoints", "i8"),
        ("rises", "f8"),
        ("version", "i8"),
        ("movable_before", "f8"),
        ("overdue", "?"),
        ("changed", "?"),
        ("begun", "?"),
        ("promises", "?"),
        ("idle", "i8"),
    ]
)
"""State of a simulation: the instant, and when the next reservation begins; the `kind` of order.

Then the jobs submitted and waiting, free nodes; what `releases` and `availability` need; how often
nodes came free in the plan; before when waiting jobs could move; whether a job has outlived its
request, and whether one came, began or ended at this instant; whether first reservations are asked
for; how many jobs were planned at instants at which nothing changed.
"""

MOST_IDLE, MOST_IDLE_PER_JOB = 1_000_000, 2_000
"""Jobs planned at most, in all and per job, at instants at which none comes, begins or ends."""


class Plan(NamedTuple):
    """Everything that a kernel needs.

    `waiting` are numbers of jobs, of which ``state.waiting`` count; the rows of `profile` and of
    `expected` are breakpoints and releases; `ends` is a heap of the true ends of running jobs.
    """

    jobs: np.recarray
    waiting: np.ndarray
    profile: np.recarray
    expected: np.recarray
    state: np.record
    ends: list[tuple[float, int]]


def simulate_conservative(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    reservations: str = "kept",
    kill_at_request: bool = False,
) -> Schedule:
    """Backfill around a reservation for every job.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
        Of one partition.
    order : str, pd.Series or np.ndarray, default "submit"
        One of `ORDERS`, a column, or one number per job, lowest first (see `cosimlib.batch`): in
        which order reservations are lifted and placed anew. Kept reservations are first given in
        order of submission, whatever it is.
    reservations : {"kept", "replanned"}, default "kept"
        Whether a reservation may only move earlier, or the plan is made from nothing at every
        instant; see the module's text for both and for why the first is the default.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    Schedule
        Of policy ``"conservative"``, or ``"conservative (replanned)"`` and so on.

    Raises
    ------
    InvalidWorkloadError
        Where a job is wider than the system or has no requested time, or the system has several
        partitions.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> cs.simulate_conservative(workload, cs.System.of(4)).start_time
    array([ 0., 10.,  2.])
    """
    run = prepare(workload, system, order, kill_at_request, requested_time=True)
    start_time, _ = _simulate(run, reservations)
    details = [] if reservations == "kept" else [reservations]
    name = policy_name("conservative", order, *details)
    return Schedule.from_starts(run.workload, system, start_time, name)


def promised_starts(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    reservations: str = "kept",
    kill_at_request: bool = False,
) -> pd.Series:
    """Start of the first reservation of each job, made at its submission, in seconds.

    The knobs are those of `simulate_conservative`. Where no job outlives its request, kept
    reservations start no job later than this.
    """
    run = prepare(workload, system, order, kill_at_request, requested_time=True)
    _, promised = _simulate(run, reservations, promises=True)
    return pd.Series(promised, index=workload.jobs.index, name="promised_start")


def _simulate(
    run: Prepared, reservations: str, promises: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Starts and first reservations, in order of jobs; the latter only where `promises` says so."""
    check.choice("reservations", reservations, RESERVATIONS)
    jobs, states = _records(run), np.zeros(1, STATE).view(np.recarray)
    states.free, states.kind, states.promises = run.total_nodes, run.kind, promises
    states.next_start, states.movable_before, states.changed = np.inf, -np.inf, True
    waiting, profile = np.empty(jobs.size, np.int64), np.recarray(2 * jobs.size + 4, BREAKPOINT)
    expected = np.recarray(min(jobs.size, run.total_nodes), RELEASE)
    simulate = _keep_reservations if reservations == "kept" else _plan_anew
    simulate(jobs, waiting, profile, expected, states)
    if states[0].now < np.inf:
        _refuse(run.workload, jobs, states[0].now)
    return jobs.start_time.copy(), jobs.promised.copy()


def _records(run: Prepared) -> np.recarray:
    """Records of jobs that are all to come."""
    jobs = queue.records_of(run.jobs, run.rank, JOB)
    jobs.version = -1
    jobs.start_time = jobs.reserved = jobs.promised = np.nan
    by_request = pd.DataFrame({"nodes": jobs.nodes, "time": jobs.requested_time})
    jobs.alike = by_request.groupby(["nodes", "time"]).ngroup().to_numpy()
    return jobs


def _refuse(workload: Workload, jobs: np.recarray, now: float) -> None:
    """Raise: plans were made without end for now and, a short request later, again."""
    is_running = jobs.start_time + jobs.run_time > now
    over = np.where(is_running, jobs.run_time - jobs.requested_time, -np.inf)
    is_waiting = np.isnan(jobs.start_time) & ~np.isnan(jobs.reserved)
    request = np.where(is_waiting, jobs.requested_time, np.inf)
    longest, shortest = int(over.argmax()), int(request.argmin())
    raise check.ArgumentError(
        f"{workload.label(longest)} outlives its request by {over[longest]:.15g} s: "
        f"{over[longest] / request[shortest]:,.0f} plans, as {workload.label(shortest)} asks for "
        f"{request[shortest]:.15g} s; take kill_at_request=True, or drop one of the two"
    )


@kernel
def _keep_reservations(
    jobs: np.recarray,
    waiting: np.ndarray,
    profile: np.recarray,
    expected: np.recarray,
    states: np.recarray,
) -> None:
    """Simulate reservations that move earlier only, as long as no job outlives its request."""
    state = states[0]
    plan = Plan(jobs, waiting, profile, expected, state, [(0.0, 0) for _ in range(0)])
    availability.clear(profile, state, -np.inf, state.free)
    while _next_instant(plan):
        availability.advance(profile, state, state.now)
        ended, was_overdue = _absorb_ends(plan), state.overdue
        state.overdue = state.releases > 0 and expected[0].time <= state.now
        if state.overdue or was_overdue:
            _renew(plan)
        else:
            _begin_reserved(plan)
            if ended and state.movable_before > state.now:
                _compress(plan)
        new = _submit(plan)
        _reserve_all(plan, new)
        jobs.promised[new] = jobs.reserved[new]
        if state.begun:
            _drop_begun(plan)


@kernel
def _plan_anew(
    jobs: np.recarray,
    waiting: np.ndarray,
    profile: np.recarray,
    expected: np.recarray,
    states: np.recarray,
) -> None:
    """Simulate plans that are made from nothing at every instant.

    A plan ends where no job that is left could begin before the next event, for a reservation only
    takes nodes from those planned later. It is whole where first reservations are asked for.
    """
    state = states[0]
    plan = Plan(jobs, waiting, profile, expected, state, [(0.0, 0) for _ in range(0)])
    while _next_instant(plan):
        _absorb_ends(plan)
        new = _submit(plan)
        is_whole = state.promises and new.size > 0
        before = np.inf if is_whole else _next_event(plan)
        _order_queue(plan)
        _lay_out(plan)
        numbers, place, planned = waiting[: state.waiting], 0, 0
        while place < numbers.size:
            if _earliest_start(plan, numbers[place], before) < before:
                while planned <= place:
                    planned = _reserve(plan, numbers, planned)
                place = planned
            else:
                place += 1
        if is_whole:
            jobs.promised[new] = jobs.reserved[new]


@kernel
def _next_event(plan: Plan) -> float:
    """The next end or submission; infinity where there is none."""
    jobs, state, ends = plan.jobs, plan.state, plan.ends
    submission = jobs[state.submitted].submit_time if state.submitted < jobs.size else np.inf
    return min(submission, ends[0][0]) if len(ends) > 0 else submission


@kernel
def _next_instant(plan: Plan) -> bool:
    """Go on to the next event or reserved start; False where there is none, or too many idle."""
    state, now = plan.state, min(_next_event(plan), plan.state.next_start)
    if not state.changed:
        state.idle += state.waiting
    state.now, state.changed = now, False
    return now < np.inf and state.idle <= MOST_IDLE + MOST_IDLE_PER_JOB * plan.jobs.size


@kernel
def _absorb_ends(plan: Plan) -> bool:
    """End jobs, and let what they leave early be free in the plan; whether any ends by now."""
    state, ended = plan.state, False
    while len(plan.ends) > 0 and plan.ends[0][0] <= state.now:
        job = plan.jobs[heappop(plan.ends)[1]]
        expected_end = job.start_time + job.requested_time
        releases.expect(plan.expected, state, expected_end, -job.nodes)
        state.free += job.nodes
        if expected_end > state.now:
            availability.add(plan.profile, state, state.now, expected_end, job.nodes)
            state.movable_before = max(state.movable_before, expected_end)
            state.version += 1
        ended = state.changed = True
    return ended


@kernel
def _submit(plan: Plan) -> np.ndarray:
    """Put the jobs that come by now at the end of the queue; return them."""
    jobs, state, first = plan.jobs, plan.state, plan.state.submitted
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        plan.waiting[state.waiting] = state.submitted
        state.submitted += 1
        state.waiting += 1
        state.changed = True
    return np.arange(first, state.submitted)


@kernel
def _drop_begun(plan: Plan) -> None:
    """Drop jobs that have begun from the queue, and find out which reservation is the next."""
    state, kept = plan.state, 0
    state.next_start, state.begun = np.inf, False
    for number in plan.waiting[: state.waiting]:
        if np.isnan(plan.jobs[number].start_time):
            _expect_start(state, plan.jobs[number].reserved)
            plan.waiting[kept] = number
            kept += 1
    state.waiting = kept


@kernel
def _expect_start(state: np.record, reserved: float) -> None:
    """A reservation begins then, which is an instant unless it is now."""
    if reserved > state.now:
        state.next_start = min(state.next_start, reserved)


@kernel
def _order_queue(plan: Plan) -> None:
    """Drop jobs that have begun, and put the others in the queue's order."""
    _drop_begun(plan)
    state = plan.state
    queue.sort(plan.jobs, plan.waiting[: state.waiting], state.kind, state.now)


@kernel
def _begin_reserved(plan: Plan) -> None:
    """Begin the jobs whose reservations begin now."""
    state = plan.state
    if state.next_start <= state.now:
        for number in plan.waiting[: state.waiting]:
            if plan.jobs[number].reserved <= state.now:
                _begin(plan, number)


@kernel
def _begin(plan: Plan, number: int) -> None:
    """Begin a job."""
    job, state = plan.jobs[number], plan.state
    job.start_time = state.now
    state.changed = state.begun = True
    state.free -= job.nodes
    releases.expect(plan.expected, state, state.now + job.requested_time, job.nodes)
    heappush(plan.ends, (state.now + job.run_time, number))


@kernel
def _renew(plan: Plan) -> None:
    """Make all reservations anew, in order of the starts reserved so far."""
    _order_queue(plan)
    waiting = plan.waiting[: plan.state.waiting]
    reserved = np.array([plan.jobs[number].reserved for number in waiting])
    _lay_out(plan)
    _reserve_all(plan, waiting[np.argsort(reserved, kind="mergesort")])
    plan.state.movable_before = -np.inf


@kernel
def _lay_out(plan: Plan) -> None:
    """Drop all reservations: a plan of the running jobs alone.

    Where a job has outlived its request, its nodes count as free from now on.
    """
    profile, expected, state = plan.profile, plan.expected, plan.state
    free = state.free
    availability.clear(profile, state, state.now, free)
    for row in range(state.releases):
        free += expected[row].nodes
        if expected[row].time > state.now:
            profile[state.breakpoints].time = expected[row].time
            state.breakpoints += 1
        profile[state.breakpoints - 1].free = free
    state.version += 1
    state.next_start = np.inf


@kernel
def _earliest_start(plan: Plan, number: int, before: float) -> float:
    """The earliest start of a job, if that is before a moment; else the moment, or a later one."""
    job, state = plan.jobs[number], plan.state
    alike = plan.jobs[job.alike]
    since = alike.none_before if alike.version == state.version else state.now
    if since >= before:
        return since
    start = availability.earliest_start(
        plan.profile, state, job.nodes, job.requested_time, since, before, np.inf
    )
    alike.none_before, alike.version = min(start, before), state.version
    return alike.none_before


@kernel
def _reserve_all(plan: Plan, numbers: np.ndarray) -> None:
    """Reserve the earliest start for each of these jobs in turn."""
    place = 0
    while place < numbers.size:
        place = _reserve(plan, numbers, place)


@kernel
def _reserve(plan: Plan, numbers: np.ndarray, place: int) -> int:
    """Reserve the earliest start for the job at a place, and begin it if it can begin now.

    So for the equal jobs that come next, as far as they fit beside it. Returns the next place.
    """
    jobs, profile, state = plan.jobs, plan.profile, plan.state
    job, start, last = (
        jobs[numbers[place]],
        _earliest_start(plan, numbers[place], np.inf),
        place + 1,
    )
    end = start + job.requested_time
    if last < numbers.size and jobs[numbers[last]].alike == job.alike:
        stop = place + availability.min_free(profile, state, start, end) // job.nodes
        while last < min(stop, numbers.size) and jobs[numbers[last]].alike == job.alike:
            last += 1
    availability.add(profile, state, start, end, (place - last) * job.nodes)
    _expect_start(state, start)
    for number in numbers[place:last]:
        jobs[number].reserved = start
        if start <= state.now and job.nodes <= state.free:
            _begin(plan, number)
    return last


@kernel
def _compress(plan: Plan) -> None:
    """Lift every waiting job, in the queue's order, and place it anew at its earliest start.

    Every job had its earliest start before nodes came free. So none of more nodes than are free
    where they did can move, nor one equal to the last that could not, with the same reservation.
    """
    _order_queue(plan)
    profile, state = plan.profile, plan.state
    before, state.movable_before = state.movable_before, -np.inf
    most, is_stale = availability.max_free(profile, state, before), False
    alike, reserved = -1, 0.0
    for number in plan.waiting[: state.waiting]:
        job = plan.jobs[number]
        if is_stale and job.nodes > most:
            most, is_stale = availability.max_free(profile, state, before), False
        if job.nodes > most or (job.alike == alike and job.reserved == reserved):
            continue
        alike, reserved = job.alike, job.reserved
        start = availability.earliest_start(
            profile, state, job.nodes, job.requested_time, state.now, before, reserved
        )
        if start < reserved:
            end = reserved + job.requested_time
            availability.add(profile, state, reserved, end, job.nodes)
            availability.add(profile, state, start, start + job.requested_time, -job.nodes)
            job.reserved, alike, is_stale = start, -1, True
            state.version += 1
            state.movable_before = max(state.movable_before, end)
            before = max(before, end)
            _expect_start(state, start)
            if start <= state.now:
                _begin(plan, number)
