"""Plan of conservative backfilling: a reservation for each waiting job on a profile of free nodes.

`Plan` is the state of the simulation in `batch.conservative`, and the kernels here are its steps:
go to the next instant, let jobs end and come, reserve the earliest start, begin what is due.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import capacity, queue
from cosimlib.batch import machine as machines
from cosimlib.batch.machine import NO_JOB, STATE_FLOATS, STATE_INTEGERS, Machine
from cosimlib.kernels import availability
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
    floats=f"{STATE_FLOATS} next_start rises movable_before",
    integers=f"{STATE_INTEGERS} waiting breakpoints version overdue promises events idle",
)
"""State of a simulation: when the next reservation begins; before when waiting jobs could move.

Then the jobs waiting; what `availability` needs; how often nodes came free in the plan; whether a
job has outlived its request; whether first reservations are asked for; how often a job or a window
has come, begun or ended; how many jobs were planned at instants at which none did.
"""

FIRST = whole(0)

MOST_IDLE, MOST_IDLE_PER_JOB = 1_000_000, 2_000
"""Jobs planned at most, in all and per job, at instants at which none comes, begins or ends."""


class Plan(NamedTuple):
    """The machine; numbers of jobs, of which ``state.waiting`` wait; breakpoints of free nodes."""

    machine: Machine
    waiting: np.ndarray
    profile: np.recarray


@kernel
def next_instant(plan: Plan) -> bool:
    """Go on to the next event or reserved start; False if there is none, or too many idle."""
    state = plan.machine.state
    events = state.submitted + state.edges + 2 * state.begun - state.running
    if events == state.events:
        state.idle += state.waiting
    state.events = events
    now: float = min(machines.next_event(plan.machine), state.next_start)
    state.now = now
    return now < np.inf and state.idle <= MOST_IDLE + MOST_IDLE_PER_JOB * plan.waiting.size


@kernel
def absorb_ends(plan: Plan) -> bool:
    """End jobs, and let what they leave early be free in the plan; whether any ends by now."""
    state, ended = plan.machine.state, False
    number = machines.end_next(plan.machine)
    while number != NO_JOB:
        job, ended = plan.machine.jobs[number], True
        expected_end = job.start_time + job.requested_time
        if expected_end > state.now:
            availability.add(plan.profile, state, state.now, expected_end, job.nodes)
            state.movable_before = max(state.movable_before, expected_end)
            state.version += 1
        number = machines.end_next(plan.machine)
    return ended


@kernel
def absorb_edges(plan: Plan) -> bool:
    """Pass the edges of windows up to now, and kill; whether this breaks promises.

    A window that becomes known takes its nodes in the plan, where they may not all be free.
    """
    state, edges, is_broken = plan.machine.state, plan.machine.edges, False
    row = state.edges
    while edges[row].time <= state.now:
        edge = edges[row]
        if edge.edge == capacity.KNOWN:
            least = availability.min_free(plan.profile, state, edge.start, edge.end)
            is_broken = is_broken or least < edge.nodes
            availability.add(plan.profile, state, edge.start, edge.end, -edge.nodes)
        row += 1
    running = state.running
    machines.pass_edges(plan.machine)
    return is_broken or state.running < running


@kernel
def is_overdue(expected: np.recarray, state: np.record) -> bool:
    """Whether a job has outlived its request."""
    return state.releases > 0 and expected[state.releases - 1].time <= state.now


@kernel
def submit(plan: Plan) -> int:
    """Put the jobs that come by now at the end of the queue; return the first of them."""
    jobs, state = plan.machine.jobs, plan.machine.state
    first = state.submitted
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        plan.waiting[state.waiting] = state.submitted
        state.submitted += 1
        state.waiting += 1
    return first


@kernel
def promise(jobs: np.recarray, first: int, last: int) -> None:
    """Note the reservations of some jobs as their first ones."""
    for number in range(first, last):
        jobs[number].promised = jobs[number].reserved


@kernel
def drop_begun(plan: Plan) -> None:
    """Drop jobs that have begun from the queue, and find out which reservation is the next."""
    jobs, state, kept = plan.machine.jobs, plan.machine.state, 0
    state.next_start = np.inf
    for number in plan.waiting[: state.waiting]:
        if np.isnan(jobs[number].start_time):
            expect_start(state, jobs[number].reserved)
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
    jobs, state = plan.machine.jobs, plan.machine.state
    queue.sort(jobs, plan.waiting[: state.waiting], state.kind, state.now)


@kernel
def order_by_reservation(plan: Plan) -> None:
    """Drop jobs that have begun; order the others by reservation (ties: the queue's order)."""
    jobs = plan.machine.jobs
    for number in plan.waiting[: plan.machine.state.waiting]:
        jobs[number].before_rank = jobs[number].reserved
    order_queue(plan)
    for number in plan.waiting[: plan.machine.state.waiting]:
        jobs[number].before_rank = 0.0


@kernel
def begin_reserved(plan: Plan) -> None:
    """Begin the jobs whose reservations begin now."""
    jobs, state = plan.machine.jobs, plan.machine.state
    if state.next_start <= state.now:
        for number in plan.waiting[: state.waiting]:
            if jobs[number].reserved <= state.now:
                machines.begin(plan.machine, number)


@kernel
def lay_out(plan: Plan) -> None:
    """Drop all reservations: a plan of the running jobs alone.

    If a job has outlived its request, its nodes count as free from now on.
    """
    profile, expected, state = plan.profile, plan.machine.expected, plan.machine.state
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
    jobs, state = plan.machine.jobs, plan.machine.state
    job = jobs[number]
    alike = jobs[job.alike]
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
    jobs, profile, state = plan.machine.jobs, plan.profile, plan.machine.state
    job, last = jobs[numbers[place]], place + 1
    start = earliest_start(plan, numbers[place], np.inf)
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
            machines.begin(plan.machine, number)
    return last
