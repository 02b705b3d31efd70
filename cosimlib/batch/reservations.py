"""Plan of a queue in which every waiting job has a reservation: how it is made, moved and renewed.

A simulation of conservative backfilling (`batch.conservative`) keeps such a plan, and so does
whoever asks at each instant of a record what conservative backfilling would start. Both decide when
jobs come, begin and end. The plan is an availability profile (`kernels.availability`) of the
running jobs up to their expected ends, and of the waiting jobs in their reservations.

While reservations are only added, the search for a job begins where the search for the last job
with the same nodes and requested time ended.
"""

import numpy as np

from cosimlib.batch import queue
from cosimlib.kernels import availability
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records

JOB_FLOATS, JOB_INTEGERS = f"{queue.FLOATS} reserved", f"{queue.INTEGERS} kind"
"""Fields of a job: its reservation (s), and its kind: jobs of one kind have the same nodes and
requested time."""

STATE_FLOATS = "next_start rises movable_before"
"""Fields of a state: when the next reservation begins, what `availability` needs, and before when
waiting jobs could move (s)."""

STATE_INTEGERS = "waiting breakpoints version overdue"
"""Fields of a state: the jobs waiting, what `availability` needs, how often nodes came free in the
plan, and whether a job has outlived its request."""

KIND = record_type(floats="none_before", integers="version")
"""A kind of jobs: before `none_before` they find no start, as long as nothing has come free since
`version`."""

FIRST = 0


def kinds_of(jobs: np.recarray) -> np.recarray:
    """The kinds of some jobs, whose numbers are written to the jobs."""
    times, by_time = np.unique(jobs.requested_time, return_inverse=True)
    found, kind = np.unique(jobs.nodes * times.size + by_time, return_inverse=True)
    jobs.kind = kind
    return records(found.size, KIND, version=-1)


def empty_plan(state: np.record, jobs: int, windows: int = 0) -> np.recarray:
    """A plan without jobs, with room for so many, and for so many edges of windows."""
    state.next_start, state.movable_before = np.inf, -np.inf
    state.breakpoints, state.rises = 1, -np.inf
    profile = np.recarray(2 * jobs + windows + 4, BREAKPOINT)
    profile[0].time, profile[0].free = -np.inf, state.free
    return profile


@kernel
def leave_early(state: np.record, profile: np.recarray, expected_end: float, nodes: int) -> None:
    """Let the nodes of a job that ends now be free in the plan up to its expected end."""
    if expected_end > state.now:
        availability.add(profile, state, state.now, expected_end, nodes)
        state.movable_before = max(state.movable_before, expected_end)
        state.version += 1


@kernel
def is_any_overdue(expected: np.recarray, state: np.record) -> bool:
    """Whether a running job has outlived its request."""
    return state.releases > 0 and expected[state.releases - 1].time <= state.now


@kernel
def plan_anew(
    jobs: np.recarray,
    expected: np.recarray,
    state: np.record,
    waiting: np.ndarray,
    kinds: np.recarray,
    profile: np.recarray,
    before: float,
) -> None:
    """Make all reservations before a moment anew, in the queue's order.

    A reservation only takes nodes from those planned later. So the plan ends where no job that is
    left could begin before the moment.
    """
    queue.sort(jobs, waiting[: state.waiting], state.kind, state.now)
    _drop(jobs, expected, state, waiting, profile)
    numbers, place, planned = waiting[: state.waiting], FIRST, FIRST
    while place < numbers.size:
        if _earliest_start(jobs, state, kinds, profile, numbers[place], before) < before:
            while planned <= place:
                planned = _reserve(jobs, state, kinds, profile, numbers, planned)
            place = planned
        else:
            place += 1


@kernel
def renew(
    jobs: np.recarray,
    expected: np.recarray,
    state: np.record,
    waiting: np.ndarray,
    kinds: np.recarray,
    profile: np.recarray,
) -> None:
    """Make all reservations anew, in order of the starts reserved so far (ties: the queue's)."""
    numbers = waiting[: state.waiting]
    for number in numbers:
        jobs[number].before_rank = jobs[number].reserved
    queue.sort(jobs, numbers, state.kind, state.now)
    for number in numbers:
        jobs[number].before_rank = 0.0
    _drop(jobs, expected, state, waiting, profile)
    reserve_all(jobs, state, kinds, profile, numbers)
    state.movable_before = -np.inf


@kernel
def compress(
    jobs: np.recarray, state: np.record, waiting: np.ndarray, profile: np.recarray
) -> None:
    """Lift every waiting job, in the queue's order, and place it anew at its earliest start.

    Every job had its earliest start before nodes came free. So none of more nodes than are free
    where they did can move, nor one equal to the last that could not, with the same reservation.
    """
    queue.sort(jobs, waiting[: state.waiting], state.kind, state.now)
    before, state.movable_before = state.movable_before, -np.inf
    most, is_stale = availability.max_free(profile, state, before), False
    kind, reserved = -1, 0.0
    for number in waiting[: state.waiting]:
        job = jobs[number]
        if is_stale and job.nodes > most:
            most, is_stale = availability.max_free(profile, state, before), False
        if job.nodes > most or (job.kind == kind and job.reserved == reserved):
            continue
        kind, reserved = job.kind, job.reserved
        start = availability.earliest_start(
            profile, state, job.nodes, job.requested_time, state.now, before, reserved
        )
        if start < reserved:
            end = reserved + job.requested_time
            availability.add(profile, state, reserved, end, job.nodes)
            availability.add(profile, state, start, start + job.requested_time, -job.nodes)
            job.reserved, kind, is_stale = start, -1, True
            state.version += 1
            state.movable_before = max(state.movable_before, end)
            before = max(before, end)
            state.next_start = min(state.next_start, start)


@kernel
def _drop(
    jobs: np.recarray,
    expected: np.recarray,
    state: np.record,
    waiting: np.ndarray,
    profile: np.recarray,
) -> None:
    """Drop all reservations: a plan of the running jobs alone.

    If a job has outlived its request, its nodes count as free from now on.
    """
    for number in waiting[: state.waiting]:
        jobs[number].reserved = np.inf
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
def _earliest_start(
    jobs: np.recarray,
    state: np.record,
    kinds: np.recarray,
    profile: np.recarray,
    number: int,
    before: float,
) -> float:
    """The earliest start of a job, if that is before a moment; else the moment, or a later one."""
    job = jobs[number]
    kind = kinds[job.kind]
    since = kind.none_before if kind.version == state.version else state.now
    if since >= before:
        return since
    start = availability.earliest_start(
        profile, state, job.nodes, job.requested_time, since, before, np.inf
    )
    kind.none_before, kind.version = min(start, before), state.version
    return kind.none_before


@kernel
def reserve_all(
    jobs: np.recarray,
    state: np.record,
    kinds: np.recarray,
    profile: np.recarray,
    numbers: np.ndarray,
) -> None:
    """Reserve the earliest start for each of these jobs in turn."""
    place = FIRST
    while place < numbers.size:
        place = _reserve(jobs, state, kinds, profile, numbers, place)


@kernel
def _reserve(
    jobs: np.recarray,
    state: np.record,
    kinds: np.recarray,
    profile: np.recarray,
    numbers: np.ndarray,
    place: int,
) -> int:
    """Reserve the earliest start for the job at a place; return the next place.

    So for the equal jobs that come next, as far as they fit beside it.
    """
    job, last = jobs[numbers[place]], place + 1
    start = _earliest_start(jobs, state, kinds, profile, numbers[place], np.inf)
    end = start + job.requested_time
    if last < numbers.size and jobs[numbers[last]].kind == job.kind:
        stop = place + availability.min_free(profile, state, start, end) // job.nodes
        while last < min(stop, numbers.size) and jobs[numbers[last]].kind == job.kind:
            last += 1
    availability.add(profile, state, start, end, (place - last) * job.nodes)
    state.next_start = min(state.next_start, start)
    for number in numbers[place:last]:
        jobs[number].reserved = start
    return last
