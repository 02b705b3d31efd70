"""The recorded machine that a replay follows: what runs and waits at each instant of the record."""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import reservations
from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.records import record_type, records

JOB = record_type(
    floats=f"{reservations.JOB_FLOATS} end_time",
    integers=f"{reservations.JOB_INTEGERS} chosen begun turn",
)
"""A job with its recorded start and end; `chosen` if the rule starts it at this instant, and `turn`
grows with each job that a pass chooses."""

STATE = record_type(
    floats=f"now shadow_time {reservations.STATE_FLOATS}",
    integers="kind rule per_event free releases limits head extra turns "
    f"{reservations.STATE_INTEGERS}",
)
"""A moment of the machine, and of the plan of reservations; `head`, `shadow_time` and `extra` of
the last reservation of a head, or -1."""


INSTANT = record_type(floats="time", integers="submitted begun ended")
"""An instant of the record (s), and how many jobs have been submitted, begun and ended by then."""


class Side(NamedTuple):
    """The machine as recorded, or as the rule would go on within an instant.

    `expected` has the ends of running jobs by plan, and `waiting` the jobs of the queue in its
    order. The state counts both.
    """

    state: np.record
    expected: np.recarray
    waiting: np.ndarray


class Record(NamedTuple):
    """A recorded schedule: jobs in order of start and of end, and the instants of events."""

    by_start: np.ndarray
    by_end: np.ndarray
    instants: np.recarray


def record_of(submit_time: np.ndarray, start_time: np.ndarray, run_time: np.ndarray) -> Record:
    """A record from arrays, one value per job; jobs of no length end where they start."""
    end_time, numbers = start_time + run_time, np.arange(start_time.size)
    by_start = np.lexsort((numbers, start_time))
    place = np.empty_like(numbers)
    place[by_start] = numbers
    by_end = np.lexsort((place, end_time))
    by_end = by_end[end_time[by_end] > start_time[by_end]]
    time = np.unique(np.concatenate([submit_time, start_time, end_time]))
    instants = records(
        time.size,
        INSTANT,
        time=time,
        submitted=np.searchsorted(submit_time, time, side="right"),
        begun=np.searchsorted(start_time[by_start], time, side="right"),
        ended=np.searchsorted(end_time[by_end], time, side="right"),
    )
    return Record(by_start, by_end, instants)


@allocating_kernel
def in_turn(jobs: np.recarray, ends: np.ndarray) -> np.ndarray:
    """Jobs that end at one instant, those that began first first.

    Of jobs that began at one instant, the record does not tell which was first: it is the one that
    the rule chose first.
    """
    ends = ends.copy()
    for place in range(1, ends.size):
        number = ends[place]
        job = jobs[number]
        while place > 0 and _began_before(job, jobs[ends[place - 1]]):
            ends[place] = ends[place - 1]
            place -= 1
        ends[place] = number
    return ends


@kernel
def _began_before(job: np.record, other: np.record) -> bool:
    """Whether a job began before another one."""
    if job.start_time != other.start_time:
        return job.start_time < other.start_time
    return job.turn < other.turn


@kernel
def absorb(jobs: np.recarray, side: Side, ends: np.ndarray, first: int, last: int) -> None:
    """Let jobs end, and others come."""
    state = side.state
    for number in ends:
        job = jobs[number]
        state.free += job.nodes
        backfilling.expect(side.expected, state, job.start_time + job.requested_time, -job.nodes)
    for number in range(first, last):
        side.waiting[state.waiting] = number
        state.waiting += 1


@kernel
def may_any_start(jobs: np.recarray, side: Side, ends: np.ndarray, first: int, last: int) -> bool:
    """Whether a job that waits, or comes now, fits once these jobs have ended."""
    free = side.state.free
    for number in ends:
        free += jobs[number].nodes
    for number in range(first, last):
        if jobs[number].nodes <= free:
            return True
    return _fits_any(jobs, side, free)


@kernel
def may_start_now(jobs: np.recarray, side: Side) -> bool:
    """Whether enough nodes are free for a waiting job."""
    return _fits_any(jobs, side, side.state.free)


@kernel
def _fits_any(jobs: np.recarray, side: Side, free: int) -> bool:
    """Whether a waiting job needs no more nodes than these."""
    for number in side.waiting[: side.state.waiting]:  # noqa: SIM110 (kernels know no generators)
        if jobs[number].nodes <= free:
            return True
    return False


@kernel
def copy(side: Side, trial: Side) -> None:
    """Let the rule go on, in the trial, from the recorded moment."""
    state, other = side.state, trial.state
    other.now, other.free, other.head = state.now, state.free, -1
    other.releases, other.waiting = state.releases, state.waiting
    for row in range(state.releases):
        trial.expected[row].time = side.expected[row].time
        trial.expected[row].nodes = side.expected[row].nodes
    for place in range(state.waiting):
        trial.waiting[place] = side.waiting[place]


@kernel
def is_equal(jobs: np.recarray, side: Side, starts: np.ndarray) -> bool:
    """Whether the chosen jobs are those that the record starts."""
    chosen = 0
    for number in side.waiting[: side.state.waiting]:
        chosen += jobs[number].chosen
    for number in starts:
        if jobs[number].chosen == 0:
            return False
    return chosen == starts.size


@kernel
def is_overfull(jobs: np.recarray, side: Side, starts: np.ndarray) -> bool:
    """Whether jobs hold more nodes than there are, once the record has started these."""
    free = side.state.free
    for number in starts:
        if jobs[number].end_time > jobs[number].start_time:
            free -= jobs[number].nodes
    return free < 0


@kernel
def go_on(jobs: np.recarray, side: Side, starts: np.ndarray) -> None:
    """Start what the record starts, and forget what the rule has chosen."""
    state, waiting = side.state, side.waiting
    for number in starts:
        job = jobs[number]
        job.begun = 1
        if job.end_time > job.start_time:
            state.free -= job.nodes
            backfilling.expect(side.expected, state, state.now + job.requested_time, job.nodes)
    kept = 0
    for number in waiting[: state.waiting]:
        jobs[number].chosen = 0
        if jobs[number].begun == 0:
            waiting[kept] = number
            kept += 1
    state.waiting = kept


@kernel
def drop_chosen(jobs: np.recarray, side: Side) -> None:
    """Drop chosen jobs from those that wait."""
    kept = 0
    for number in side.waiting[: side.state.waiting]:
        if jobs[number].chosen == 0:
            side.waiting[kept] = number
            kept += 1
    side.state.waiting = kept
