"""Plan of conservative backfilling: a reservation for each waiting job on a profile of free nodes.

`Plan` is the state of the simulation in `batch.conservative`, and the kernels here are its steps:
go to the next instant, let jobs end and come, reserve the earliest start, begin what is due.
"""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from cosimlib.batch import capacity, queue
from cosimlib.kernels import availability, backfilling
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, whole

JOB = record_type(
    floats=f"{queue.FLOATS} reserved promised none_before",
    integers=f"{queue.INTEGERS} alike version",
)
"""A job; its start, its reservation and the first that it had, NaN before.

`alike` is one of the jobs of the same nodes and requested time. In the record of that one,
`none_before` is a moment before which such jobs find no start, as long as nothing has come free
since `version`.
"""

STATE = record_type(
    floats=f"now next_start rises movable_before {capacity.FLOATS}",
    integers="kind submitted waiting free releases breakpoints version overdue changed begun "
    f"promises idle {capacity.INTEGERS}",
)
"""State of a simulation: the instant, and when the next reservation begins; the `kind` of order.

Then the jobs submitted and waiting, free nodes; what `backfilling` and `availability` need; how
often nodes came free in the plan; before when waiting jobs could move; whether a job has outlived
its request, and whether one came, began or ended at this instant; whether first reservations are
asked for; how many jobs were planned at instants at which nothing changed; the fields of
`batch.capacity`.
"""

FIRST = whole(0)

MOST_IDLE, MOST_IDLE_PER_JOB = 1_000_000, 2_000
"""Jobs planned at most, in all and per job, at instants at which none comes, begins or ends."""


class Plan(NamedTuple):
    """Everything that a kernel needs.

    `waiting` are numbers of jobs, of which ``state.waiting`` count; the rows of `profile`, of
    `expected` and of `edges` are breakpoints, releases and edges of windows; `ends` is a heap of
    the true ends of running jobs.
    """

    jobs: np.recarray
    waiting: np.ndarray
    profile: np.recarray
    expected: np.recarray
    edges: np.recarray
    state: np.record
    ends: list[tuple[float, int]]


@kernel
def next_event(plan: Plan) -> float:
    """The next end, edge of a window, or submission; infinity once no job is left."""
    jobs, state, ends = plan.jobs, plan.state, plan.ends
    is_left = state.waiting > 0 or state.submitted < jobs.size or len(ends) > 0
    event = plan.edges[state.edges].time if is_left else np.inf
    if state.submitted < jobs.size:
        event = min(event, jobs[state.submitted].submit_time)
    return min(event, ends[0][0]) if len(ends) > 0 else event


@kernel
def next_instant(plan: Plan) -> bool:
    """Go on to the next event or reserved start; False if there is none, or too many idle."""
    state, now = plan.state, min(next_event(plan), plan.state.next_start)
    if not state.changed:
        state.idle += state.waiting
    state.now, state.changed = now, False
    return now < np.inf and state.idle <= MOST_IDLE + MOST_IDLE_PER_JOB * plan.jobs.size


@kernel
def absorb_ends(plan: Plan) -> bool:
    """End jobs, and let what they leave early be free in the plan; whether any ends by now."""
    state, ended = plan.state, False
    while len(plan.ends) > 0 and plan.ends[0][0] <= state.now:
        _end(plan, heappop(plan.ends)[1])
        ended = True
    return ended


@kernel
def _end(plan: Plan, number: int) -> None:
    """End a job, and let what it leaves early be free in the plan."""
    job, state = plan.jobs[number], plan.state
    expected_end = job.start_time + job.requested_time
    backfilling.expect(plan.expected, state, expected_end, -job.nodes)
    state.free += job.nodes
    if expected_end > state.now:
        availability.add(plan.profile, state, state.now, expected_end, job.nodes)
        state.movable_before = max(state.movable_before, expected_end)
        state.version += 1
    state.changed = True


@kernel
def absorb_edges(plan: Plan) -> bool:
    """Pass the edges of windows up to now, and kill; whether this breaks promises.

    A window that becomes known takes its nodes in the plan, where they may not all be free.
    """
    state, edges, is_broken = plan.state, plan.edges, False
    for row in range(state.edges, edges.size):
        edge = edges[row]
        if edge.time > state.now:
            break
        if edge.edge == capacity.KNOWN:
            least = availability.min_free(plan.profile, state, edge.start, edge.end)
            is_broken = is_broken or least < edge.nodes
            availability.add(plan.profile, state, edge.start, edge.end, -edge.nodes)
    if edges[state.edges].time <= state.now:
        capacity.pass_edges(edges, plan.expected, state, state.now)
        state.changed = True
        while len(plan.ends) > 0 and capacity.are_too_many(state):
            running = np.empty(len(plan.ends), np.int64)
            for place in range(running.size):
                running[place] = plan.ends[place][1]
            _end(plan, plan.ends.pop(capacity.cut_one(plan.jobs, running, state.now))[1])
            heapify(plan.ends)
            is_broken = True
    return is_broken


@kernel
def is_overdue(plan: Plan) -> bool:
    """Whether a job has outlived its request."""
    state = plan.state
    return state.releases > 0 and plan.expected[state.releases - 1].time <= state.now


@kernel
def submit(plan: Plan) -> int:
    """Put the jobs that come by now at the end of the queue; return how many."""
    jobs, state, first = plan.jobs, plan.state, plan.state.submitted
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        plan.waiting[state.waiting] = state.submitted
        state.submitted += 1
        state.waiting += 1
        state.changed = True
    return state.submitted - first


@kernel
def promise(plan: Plan, new: int) -> None:
    """Note the reservations of the jobs that were submitted last as their first ones."""
    for number in range(plan.state.submitted - new, plan.state.submitted):
        plan.jobs[number].promised = plan.jobs[number].reserved


@kernel
def drop_begun(plan: Plan) -> None:
    """Drop jobs that have begun from the queue, and find out which reservation is the next."""
    state, kept = plan.state, 0
    state.next_start, state.begun = np.inf, False
    for number in plan.waiting[: state.waiting]:
        if np.isnan(plan.jobs[number].start_time):
            expect_start(state, plan.jobs[number].reserved)
            plan.waiting[kept] = number
            kept += 1
    state.waiting = kept


@kernel
def expect_start(state: np.record, reserved: float) -> None:
    """A reservation begins then, which is an instant unless it is now."""
    if reserved > state.now:
        state.next_start = min(state.next_start, reserved)


@kernel
def order_queue(plan: Plan) -> None:
    """Drop jobs that have begun, and put the others in the queue's order."""
    drop_begun(plan)
    state = plan.state
    queue.sort(plan.jobs, plan.waiting[: state.waiting], state.kind, state.now)


@kernel
def order_by_reservation(plan: Plan) -> None:
    """Drop jobs that have begun; put the others in order of reservations (ties: the queue's order).

    They are sorted by insertion, for they are nearly in this order where they were in it before.
    """
    drop_begun(plan)
    state, jobs, waiting = plan.state, plan.jobs, plan.waiting
    queue.rank(jobs, waiting[: state.waiting], state.kind, state.now)
    for last in range(1, state.waiting):
        number, place = waiting[last], last
        while place > 0 and _is_reserved_before(jobs, number, waiting[place - 1]):
            waiting[place] = waiting[place - 1]
            place -= 1
        waiting[place] = number


@kernel
def _is_reserved_before(jobs: np.recarray, number: int, other: int) -> bool:
    """Whether a job's reservation begins before another's."""
    reserved, other_reserved = jobs[number].reserved, jobs[other].reserved
    if reserved != other_reserved:
        return reserved < other_reserved
    return queue.precedes(jobs, number, other)


@kernel
def begin_reserved(plan: Plan) -> None:
    """Begin the jobs whose reservations begin now."""
    state = plan.state
    if state.next_start <= state.now:
        for number in plan.waiting[: state.waiting]:
            if plan.jobs[number].reserved <= state.now:
                begin(plan, number)


@kernel
def begin(plan: Plan, number: int) -> None:
    """Begin a job."""
    job, state = plan.jobs[number], plan.state
    job.start_time = state.now
    state.changed = state.begun = True
    state.free -= job.nodes
    backfilling.expect(plan.expected, state, state.now + job.requested_time, job.nodes)
    heappush(plan.ends, (state.now + job.run_time, number))


@kernel
def lay_out(plan: Plan) -> None:
    """Drop all reservations: a plan of the running jobs alone.

    If a job has outlived its request, its nodes count as free from now on.
    """
    profile, expected, state = plan.profile, plan.expected, plan.state
    free = state.free
    availability.clear(profile, state, state.now, free)
    for row in range(state.releases - 1, -1, -1):
        free += expected[row].nodes
        if expected[row].time > state.now:
            profile[state.breakpoints].time = expected[row].time
            state.breakpoints += 1
            if expected[row].nodes < 0:
                state.rises = expected[row].time
        profile[state.breakpoints - 1].free = free
    state.version += 1
    state.next_start = np.inf


@kernel
def earliest_start(plan: Plan, number: int, before: float) -> float:
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
def reserve_all(plan: Plan, numbers: np.ndarray) -> None:
    """Reserve the earliest start for each of these jobs in turn."""
    place = FIRST
    while place < numbers.size:
        place = reserve(plan, numbers, place)


@kernel
def reserve(plan: Plan, numbers: np.ndarray, place: int) -> int:
    """Reserve the earliest start for the job at a place, and begin it if it can begin now.

    So for the equal jobs that come next, as far as they fit beside it. Returns the next place.
    """
    jobs, profile, state = plan.jobs, plan.profile, plan.state
    job, start, last = (
        jobs[numbers[place]],
        earliest_start(plan, numbers[place], np.inf),
        place + 1,
    )
    end = start + job.requested_time
    if last < numbers.size and jobs[numbers[last]].alike == job.alike:
        stop = place + availability.min_free(profile, state, start, end) // job.nodes
        while last < min(stop, numbers.size) and jobs[numbers[last]].alike == job.alike:
            last += 1
    availability.add(profile, state, start, end, (place - last) * job.nodes)
    expect_start(state, start)
    for number in numbers[place:last]:
        jobs[number].reserved = start
        if start <= state.now and job.nodes <= state.free:
            begin(plan, number)
    return last
