"""The recorded machine that a replay follows: what runs and waits at each instant of the record."""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import reservations
from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records

JOB = record_type(
    floats=f"{reservations.JOB_FLOATS} end_time",
    integers=f"{reservations.JOB_INTEGERS} chosen begun",
)
"""A job with its recorded start and end; `chosen` if the rule starts it at this instant."""

STATE = record_type(
    floats=f"now shadow_time {reservations.STATE_FLOATS}",
    integers=f"kind rule per_event free releases limits head extra {reservations.STATE_INTEGERS}",
)
"""A moment of the machine, and of the plan of reservations; `head`, `shadow_time` and `extra` of
the last reservation of a head, or -1."""


INSTANT = record_type(floats="time", integers="submitted begun ended")
"""An instant of the record (s), and how many jobs have been submitted, begun and ended by then."""


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


@kernel
def absorb(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    ends: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Let jobs end, and others come."""
    for number in ends:
        job = jobs[number]
        state.free += job.nodes
        backfilling.expect(expected, state, job.start_time + job.requested_time, -job.nodes)
    for number in range(first, last):
        waiting[state.waiting] = number
        state.waiting += 1


@kernel
def may_any_start(
    jobs: np.recarray,
    state: np.record,
    waiting: np.ndarray,
    ends: np.ndarray,
    first: int,
    last: int,
) -> bool:
    """Whether a job that waits, or comes now, fits once these jobs have ended."""
    free = state.free
    for number in ends:
        free += jobs[number].nodes
    least = np.inf
    for number in range(first, last):
        least = min(least, jobs[number].nodes)
    for number in waiting[: state.waiting]:
        least = min(least, jobs[number].nodes)
    return least <= free


@kernel
def fits_any(jobs: np.recarray, state: np.record, waiting: np.ndarray) -> bool:
    """Whether enough nodes are free for a waiting job."""
    least = np.inf
    for number in waiting[: state.waiting]:
        least = min(least, jobs[number].nodes)
    return least <= state.free


@kernel
def copy(
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    trial: np.record,
    trial_expected: np.recarray,
    trial_waiting: np.ndarray,
) -> None:
    """Let the rule go on from the recorded moment."""
    trial.now, trial.free, trial.head = state.now, state.free, -1
    trial.releases, trial.waiting = state.releases, state.waiting
    for row in range(state.releases):
        trial_expected[row].time = expected[row].time
        trial_expected[row].nodes = expected[row].nodes
    trial_waiting[: state.waiting] = waiting[: state.waiting]


@kernel
def is_equal(jobs: np.recarray, state: np.record, waiting: np.ndarray, starts: np.ndarray) -> bool:
    """Whether the chosen jobs are those that the record starts."""
    chosen = 0
    for number in waiting[: state.waiting]:
        chosen += jobs[number].chosen
    for number in starts:
        if jobs[number].chosen == 0:
            return False
    return chosen == starts.size


@kernel
def go_on(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    starts: np.ndarray,
) -> None:
    """Start what the record starts, and forget what the rule has chosen."""
    for number in starts:
        job = jobs[number]
        job.begun = 1
        if job.end_time > job.start_time:
            state.free -= job.nodes
            backfilling.expect(expected, state, state.now + job.requested_time, job.nodes)
    kept = 0
    for number in waiting[: state.waiting]:
        jobs[number].chosen = 0
        if jobs[number].begun == 0:
            waiting[kept] = number
            kept += 1
    state.waiting = kept


@kernel
def drop_chosen(jobs: np.recarray, state: np.record, waiting: np.ndarray) -> None:
    """Drop chosen jobs from those that wait."""
    kept = 0
    for number in waiting[: state.waiting]:
        if jobs[number].chosen == 0:
            waiting[kept] = number
            kept += 1
    state.waiting = kept
