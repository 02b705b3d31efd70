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

The default is kept: the word *conservative* stands for the promise made on submission, which tells
users when their job starts at the latest, and only kept reservations keep it.

A job that outlives its request breaks promises. As long as one runs, and at the instant at which
the last of them ends, kept reservations too are made from nothing, in order of the starts promised
so far (ties: the queue's order), so that no job is delayed without need. Under both, the nodes of
such a job count as free right after now; a reservation for now that therefore cannot begin waits.

Availability is one sorted array of breakpoints (`kernels.availability`). While a plan is only added
to, no search for a job begins before the start that was found for one of equal nodes and requested
time. Of plans made from nothing, only starts matter: each ends where no job that is left could
begin before the next event.
"""

from heapq import heappop, heappush

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import queue
from cosimlib.batch.orders import Order, Prepared, policy_name, prepare
from cosimlib.batch.queue import HEAD_FIRST, WFP
from cosimlib.kernels import availability, releases
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.releases import RELEASE
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import JobArrays, Workload

RESERVATIONS = ("kept", "replanned")

JOB = np.dtype(
    [
        ("submit_time", "f8"),
        ("run_time", "f8"),
        ("rank", "f8"),
        ("promised", "f8"),
        ("requested_time", "f8"),
        ("nodes", "i8"),
        ("start_time", "f8"),
        ("reserved", "f8"),
        ("alike", "i8"),
        ("none_before", "f8"),
        ("version", "i8"),
        ("waiting", "i8"),
    ]
)
"""A job; its start, its reservation and the first that it had, NaN before.

`alike` is one of the jobs of the same nodes and requested time. In the record of that one,
`none_before` is a moment before which such jobs find no start, as long as nothing has come free
since `version`. The field `waiting` is a list: of the waiting jobs, in the queue's order.
"""

STATE = np.dtype(
    [
        ("now", "f8"),
        ("due", "f8"),
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
        ("most_idle", "i8"),
    ]
)
"""State of a simulation: the instant, and when the next reservation begins; the `kind` of order.

Then the jobs submitted and waiting, free nodes; what `releases` and `availability` need; how often
nodes came free in the plan; before when waiting jobs could move; whether a job has outlived its
request, and whether one came, began or ended at this instant; whether first reservations are asked
for; how many jobs were planned at instants at which nothing changed, and how many may be.
"""

MOST_IDLE, MOST_IDLE_PER_JOB = 2_000_000, 2_000
"""Jobs planned at most, in all and per job, at instants at which none comes, begins or ends."""


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
    states.due, states.movable_before, states.changed = np.inf, -np.inf, True
    states.most_idle = MOST_IDLE + MOST_IDLE_PER_JOB * jobs.size
    profile = np.recarray(2 * jobs.size + 4, BREAKPOINT)
    expected = np.recarray(min(jobs.size, run.total_nodes), RELEASE)
    plan = _keep_reservations if reservations == "kept" else _plan_anew
    plan(jobs, profile, expected, states)
    _check_end(run, jobs, states[0])
    return jobs.start_time.copy(), jobs.promised.copy()


def _records(run: Prepared) -> np.recarray:
    """Records of jobs that are all to come."""
    jobs = np.zeros(run.rank.size, JOB).view(np.recarray)
    for field in JobArrays._fields:
        jobs[field] = getattr(run.jobs, field)
    jobs.rank, jobs.version = run.rank, -1
    jobs.start_time = jobs.reserved = jobs.promised = np.nan
    order = np.lexsort((jobs.requested_time, jobs.nodes))
    nodes, requested_time = jobs.nodes[order], jobs.requested_time[order]
    differs = (np.diff(nodes) != 0) | (np.diff(requested_time) != 0)
    first = np.append(True, differs)[: jobs.size]
    jobs.alike[order] = order[first][np.cumsum(first) - 1]
    return jobs


def _check_end(run: Prepared, jobs: np.recarray, state: np.record) -> None:
    """Raise where plans were made without end: for the present, and a short request later again."""
    if state.idle > state.most_idle:
        is_running = jobs.start_time + jobs.run_time > state.now
        over = np.where(is_running, jobs.run_time - jobs.requested_time, -np.inf)
        is_waiting = np.isnan(jobs.start_time) & ~np.isnan(jobs.reserved)
        request = np.where(is_waiting, jobs.requested_time, np.inf)
        longest, shortest = int(over.argmax()), int(request.argmin())
        check.room(
            f"new plans meanwhile, as {run.workload.label(shortest)} asks for so little",
            over[longest] / request[shortest],
            "take kill_at_request=True, or drop one of the two",
            most=0,
            where=f"{run.workload.label(longest)} outlives its request by {over[longest]:.15g} s",
        )


@kernel
def _keep_reservations(
    jobs: np.recarray, profile: np.recarray, expected: np.recarray, states: np.recarray
) -> None:
    """Simulate reservations that move earlier only, as long as no job outlives its request."""
    state, ends = states[0], [(0.0, 0) for _ in range(0)]
    availability.clear(profile, state, -np.inf, state.free)
    while _next_instant(jobs, state, ends):
        availability.advance(profile, state, state.now)
        ended = _absorb_ends(jobs, profile, expected, state, ends)
        was_overdue = state.overdue
        state.overdue = state.releases > 0 and expected[0].time <= state.now
        if state.overdue or was_overdue:
            _renew(jobs, profile, expected, state, ends)
        else:
            _begin_due(jobs, expected, state, ends)
            if ended and state.movable_before > state.now:
                _compress(jobs, profile, expected, state, ends)
        new = _submit(jobs, state)
        _reserve_all(jobs, profile, expected, state, ends, new)
        for number in new:
            jobs[number].promised = jobs[number].reserved
        _drop_begun(jobs, state)


@kernel
def _plan_anew(
    jobs: np.recarray, profile: np.recarray, expected: np.recarray, states: np.recarray
) -> None:
    """Simulate plans that are made from nothing at every instant.

    A plan ends where no job that is left could begin before the next event, for jobs placed before
    one only take nodes from it. It is whole where first reservations are asked for.
    """
    state, ends = states[0], [(0.0, 0) for _ in range(0)]
    while _next_instant(jobs, state, ends):
        _absorb_ends(jobs, profile, expected, state, ends)
        new = _submit(jobs, state)
        is_whole = state.promises and new.size > 0
        before = np.inf if is_whole else _next_event(jobs, state, ends)
        _order_queue(jobs, state)
        _lay_out(profile, expected, state)
        numbers, place, wanted = _in_order(jobs, state), 0, -1
        while wanted < numbers.size:
            if place > wanted:
                wanted = _next_before(jobs, profile, state, numbers, place, before)
            else:
                place = _reserve(jobs, profile, expected, state, ends, numbers, place)
        if is_whole:
            for number in new:
                jobs[number].promised = jobs[number].reserved
        _drop_begun(jobs, state)


@kernel
def _next_event(jobs: np.recarray, state: np.record, ends: list[tuple[float, int]]) -> float:
    """The next end or submission; infinity where there is none."""
    submission = jobs[state.submitted].submit_time if state.submitted < jobs.size else np.inf
    return min(submission, ends[0][0]) if len(ends) > 0 else submission


@kernel
def _next_instant(jobs: np.recarray, state: np.record, ends: list[tuple[float, int]]) -> bool:
    """Go on to the next event or reserved start; False where there is none, or there are too many.

    Without events there may be far more reserved starts than anybody waits for (`MOST_IDLE`).
    """
    if not state.changed:
        state.idle += state.waiting
    now = min(_next_event(jobs, state, ends), state.due)
    state.now, state.changed = now, False
    return now < np.inf and state.idle <= state.most_idle


@kernel
def _absorb_ends(
    jobs: np.recarray,
    profile: np.recarray,
    expected: np.recarray,
    state: np.record,
    ends: list[tuple[float, int]],
) -> bool:
    """End jobs, and let what they leave early be free in the plan; whether any ends by now."""
    ended = False
    while len(ends) > 0 and ends[0][0] <= state.now:
        job = jobs[heappop(ends)[1]]
        expected_end = job.start_time + job.requested_time
        releases.expect(expected, state, expected_end, -job.nodes)
        state.free += job.nodes
        if expected_end > state.now:
            availability.add(profile, state, state.now, expected_end, job.nodes)
            state.movable_before = max(state.movable_before, expected_end)
            state.version += 1
        ended = state.changed = True
    return ended


@kernel
def _submit(jobs: np.recarray, state: np.record) -> np.ndarray:
    """Queue the jobs that come by now, by rank; return them."""
    first = state.submitted
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        place = state.waiting
        while place > 0 and jobs[jobs[place - 1].waiting].rank > jobs[state.submitted].rank:
            jobs[place].waiting = jobs[place - 1].waiting
            place -= 1
        jobs[place].waiting = state.submitted
        state.submitted += 1
        state.waiting += 1
        state.changed = True
    return np.arange(first, state.submitted)


@kernel
def _drop_begun(jobs: np.recarray, state: np.record) -> None:
    """Drop jobs that have begun from the queue, and find out which reservation is the next."""
    if not state.begun:
        return
    kept, state.due, state.begun = 0, np.inf, False
    for place in range(state.waiting):
        number = jobs[place].waiting
        if np.isnan(jobs[number].start_time):
            _expect_start(state, jobs[number].reserved)
            jobs[kept].waiting = number
            kept += 1
    state.waiting = kept


@kernel
def _expect_start(state: np.record, reserved: float) -> None:
    """A reservation begins then, which is an instant unless it is now."""
    if reserved > state.now:
        state.due = min(state.due, reserved)


@kernel
def _order_queue(jobs: np.recarray, state: np.record) -> None:
    """Drop jobs that have begun, and put the others in order where ranks change with time.

    They are sorted by insertion, for they are nearly in order from the time before. The job
    submitted first keeps the lowest rank until it begins.
    """
    _drop_begun(jobs, state)
    if state.kind not in (WFP, HEAD_FIRST):
        return
    oldest = jobs.size
    for place in range(state.waiting):
        number = jobs[place].waiting
        oldest = min(oldest, number)
        if state.kind == WFP:
            jobs[number].rank = -queue.wfp_score(jobs[number], state.now)
    if state.kind == HEAD_FIRST and state.waiting > 0:
        jobs[oldest].rank = -np.inf
    for last in range(1, state.waiting):
        number, place = jobs[last].waiting, last
        while place > 0 and _precedes(jobs, number, jobs[place - 1].waiting):
            jobs[place].waiting = jobs[place - 1].waiting
            place -= 1
        jobs[place].waiting = number


@kernel
def _precedes(jobs: np.recarray, number: int, other: int) -> bool:
    """Whether a job comes before another in the queue."""
    rank, other_rank = jobs[number].rank, jobs[other].rank
    return rank < other_rank or (rank == other_rank and number < other)


@kernel
def _begin_due(
    jobs: np.recarray, expected: np.recarray, state: np.record, ends: list[tuple[float, int]]
) -> None:
    """Begin the jobs whose reservations begin now."""
    if state.due <= state.now:
        for place in range(state.waiting):
            number = jobs[place].waiting
            if jobs[number].reserved <= state.now:
                _begin(jobs, expected, state, ends, number)


@kernel
def _begin(
    jobs: np.recarray,
    expected: np.recarray,
    state: np.record,
    ends: list[tuple[float, int]],
    number: int,
) -> None:
    """Begin a job."""
    job = jobs[number]
    job.start_time = state.now
    state.changed = state.begun = True
    state.free -= job.nodes
    releases.expect(expected, state, state.now + job.requested_time, job.nodes)
    heappush(ends, (state.now + job.run_time, number))


@kernel
def _renew(
    jobs: np.recarray,
    profile: np.recarray,
    expected: np.recarray,
    state: np.record,
    ends: list[tuple[float, int]],
) -> None:
    """Make all reservations anew, in order of the starts reserved so far."""
    _order_queue(jobs, state)
    numbers = _in_order(jobs, state)
    reserved = np.empty(numbers.size)
    for place in range(numbers.size):
        reserved[place] = jobs[numbers[place]].reserved
    _lay_out(profile, expected, state)
    by_start = numbers[np.argsort(reserved, kind="mergesort")]
    _reserve_all(jobs, profile, expected, state, ends, by_start)
    state.movable_before = -np.inf


@kernel
def _in_order(jobs: np.recarray, state: np.record) -> np.ndarray:
    """The waiting jobs."""
    numbers = np.empty(state.waiting, np.int64)
    for place in range(state.waiting):
        numbers[place] = jobs[place].waiting
    return numbers


@kernel
def _lay_out(profile: np.recarray, expected: np.recarray, state: np.record) -> None:
    """Drop all reservations: a plan of the running jobs alone.

    Where a job has outlived its request, its nodes count as free from now on.
    """
    free = state.free
    availability.clear(profile, state, state.now, free)
    for row in range(state.releases):
        free += expected[row].nodes
        if expected[row].time > state.now:
            profile[state.breakpoints].time = expected[row].time
            state.breakpoints += 1
        profile[state.breakpoints - 1].free = free
    state.version += 1
    state.due = np.inf


@kernel
def _reserve_all(
    jobs: np.recarray,
    profile: np.recarray,
    expected: np.recarray,
    state: np.record,
    ends: list[tuple[float, int]],
    numbers: np.ndarray,
) -> None:
    """Reserve the earliest start for each of these jobs in turn."""
    place = 0
    while place < numbers.size:
        place = _reserve(jobs, profile, expected, state, ends, numbers, place)


@kernel
def _reserve(
    jobs: np.recarray,
    profile: np.recarray,
    expected: np.recarray,
    state: np.record,
    ends: list[tuple[float, int]],
    numbers: np.ndarray,
    place: int,
) -> int:
    """Reserve the earliest start for the job at a place, and begin it if it can begin now.

    So for the jobs like it that come next, as far as they fit beside it. Returns the next place.
    """
    job, last = jobs[numbers[place]], place + 1
    alike, nodes, duration = jobs[job.alike], job.nodes, job.requested_time
    since = alike.none_before if alike.version == state.version else state.now
    start = availability.earliest_start(profile, state, nodes, duration, since, np.inf, np.inf)
    alike.none_before, alike.version = start, state.version
    if last < numbers.size and jobs[numbers[last]].alike == job.alike:
        room = availability.min_free(profile, state, start, start + duration)
        while (
            last < numbers.size
            and jobs[numbers[last]].alike == job.alike
            and room >= (last - place + 1) * nodes
        ):
            last += 1
    availability.add(profile, state, start, start + duration, (place - last) * nodes)
    _expect_start(state, start)
    for neighbor in range(place, last):
        jobs[numbers[neighbor]].reserved = start
        if start <= state.now and nodes <= state.free:
            _begin(jobs, expected, state, ends, numbers[neighbor])
    return last


@kernel
def _next_before(
    jobs: np.recarray,
    profile: np.recarray,
    state: np.record,
    numbers: np.ndarray,
    place: int,
    before: float,
) -> int:
    """The first place, from one on, whose job could begin before a moment."""
    while place < numbers.size:
        job = jobs[numbers[place]]
        alike = jobs[job.alike]
        since = alike.none_before if alike.version == state.version else state.now
        if since < before:
            start = availability.earliest_start(
                profile, state, job.nodes, job.requested_time, since, before, np.inf
            )
            alike.none_before, alike.version = min(start, before), state.version
            if start < before:
                break
        place += 1
    return place


@kernel
def _compress(
    jobs: np.recarray,
    profile: np.recarray,
    expected: np.recarray,
    state: np.record,
    ends: list[tuple[float, int]],
) -> None:
    """Lift every waiting job, in the queue's order, and place it anew at its earliest start.

    Every job had its earliest start before nodes came free. So none of more nodes than are free
    where they did can move, nor one equal to the last that could not, with the same reservation.
    """
    _order_queue(jobs, state)
    before, state.movable_before = state.movable_before, -np.inf
    most, is_stale = availability.max_free(profile, state, before), False
    alike, reserved = -1, 0.0
    for place in range(state.waiting):
        number = jobs[place].waiting
        job = jobs[number]
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
                _begin(jobs, expected, state, ends, number)
