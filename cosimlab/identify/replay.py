"""Whom a rule would start at each instant of a recorded schedule: a kernel that replays the record.

The record goes on as it was: jobs start and end when it says. At each instant the rule is asked
what it would start, from the jobs that then run and wait. So a wrong decision does not make later
decisions wrong. An instant is a *decision* if a job waits for which enough nodes are free.

FCFS, first fit and EASY decide from this state alone; their rules are those of `cosimlib.batch`.
So does conservative backfilling that plans anew. Reservations that are kept are not in the record:
they are made as the rule makes them, and renewed, in their own order, after each wrong decision.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import queue
from cosimlib.batch.easy import NO_BACKFILLING, NO_RESERVATION, STRICTLY_BEFORE
from cosimlib.batch.orders import HEAD_FIRST, STATIC, SUBMITTED, Prepared
from cosimlib.kernels import availability, backfilling
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records

KEPT, REPLANNED = 4, 5
"""Kinds of rules beside those of `batch.easy`: every job has a reservation."""

MOST_WRONG = 1_000
"""Wrong decisions after which a rule is not asked again. Where thousands of jobs wait, a rule that
would start many of them takes long at each instant, and it did not make the schedule."""

NOTHING, WRONG, RIGHT = 0, 1, 2
"""What is noted of an instant: nothing to decide; the rule decides otherwise, or the same."""

JOB = record_type(
    floats=f"{queue.FLOATS} end_time reserved", integers=f"{queue.INTEGERS} chosen begun"
)
"""A job with its recorded start and end; `chosen` if the rule starts it at this instant."""

STATE = record_type(
    floats="now shadow_time rises movable",
    integers="kind rule per_event free waiting releases limits head extra breakpoints overdue",
)
"""A moment of the machine; `head`, `shadow_time` and `extra` of the last reservation, or -1."""


class Record(NamedTuple):
    """A recorded schedule: jobs in order of start and of end, and the instants of events (s)."""

    by_start: np.ndarray
    by_end: np.ndarray
    instants: np.ndarray


class Side(NamedTuple):
    """The machine as recorded, or as the rule would go on within an instant."""

    state: np.record
    expected: np.recarray
    waiting: np.ndarray


class Replay(NamedTuple):
    """Jobs, what is noted of each instant, and the state of the last instant after the rule."""

    jobs: np.recarray
    noted: np.ndarray
    state: np.record


def record_of(submit_time: np.ndarray, start_time: np.ndarray, run_time: np.ndarray) -> Record:
    """A record from arrays, one value per job; jobs of no length end where they start."""
    end_time, numbers = start_time + run_time, np.arange(start_time.size)
    by_start = np.lexsort((numbers, start_time))
    place = np.empty_like(numbers)
    place[by_start] = numbers
    by_end = np.lexsort((place, end_time))
    instants = np.unique(np.concatenate([submit_time, start_time, end_time]))
    return Record(by_start, by_end[end_time[by_end] > start_time[by_end]], instants)


def replay(
    run: Prepared,
    start_time: np.ndarray,
    rule: int,
    *,
    per_event: bool = False,
    record: Record | None = None,
    until: float = np.inf,
) -> Replay:
    """Ask a rule at all instants of a record, or up to one, whose chosen jobs stay marked.

    The run has the times by which the rule plans as requested times.
    """
    record = record or record_of(run.jobs.submit_time, start_time, run.jobs.run_time)
    jobs = records(run.rank.size, JOB, rank=run.rank, **run.jobs._asdict())
    jobs.start_time, jobs.end_time = start_time, start_time + run.jobs.run_time
    jobs.reserved = np.inf
    jobs.requested_time[np.isnan(jobs.requested_time)] = np.inf
    sides = [_side(run, rule, per_event) for _ in range(2)]
    noted = np.zeros(record.instants.size, np.int64)
    n = jobs.size
    _replay(
        jobs,
        *record,
        *sides[0],
        *sides[1],
        np.empty(n + 1, np.int64),
        np.recarray(3, STEP),
        np.recarray(2 * n + 4, BREAKPOINT),
        noted,
        until,
    )
    return Replay(jobs, noted, sides[1].state)


def _side(run: Prepared, rule: int, per_event: bool) -> Side:
    """An empty machine."""
    fields = {"kind": run.kind, "rule": rule, "per_event": per_event, "free": run.total_nodes}
    n = run.rank.size
    state = records(1, STATE, head=-1, now=-np.inf, movable=-np.inf, **fields)[0]
    return Side(state, np.recarray(n + 1, STEP), np.empty(n, np.int64))


@kernel
def _replay(
    jobs: np.recarray,
    by_start: np.ndarray,
    by_end: np.ndarray,
    instants: np.ndarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    trial: np.record,
    trial_expected: np.recarray,
    trial_waiting: np.ndarray,
    ended: np.ndarray,
    limits: np.recarray,
    profile: np.recarray,
    noted: np.ndarray,
    until: float,
) -> None:
    """Note of each instant whether the rule starts the jobs that the record starts."""
    begun, gone, submitted, wrong = 0, 0, 0, 0
    availability.clear(profile, state, -np.inf, state.free)
    for index in range(instants.size):
        now = instants[index]
        state.now = now
        first_end, first_job, first_start = gone, submitted, begun
        while gone < by_end.size and jobs[by_end[gone]].end_time <= now:
            gone += 1
        while submitted < jobs.size and jobs[submitted].submit_time <= now:
            submitted += 1
        while begun < jobs.size and jobs[by_start[begun]].start_time <= now:
            begun += 1
        ends, starts = by_end[first_end:gone], by_start[first_start:begun]
        if state.rule < KEPT and _may_any_start(jobs, state, waiting, ends, first_job, submitted):
            _copy(state, expected, waiting, trial, trial_expected, trial_waiting)
            ended[: ends.size] = ends
            _decide(
                jobs, trial, trial_expected, trial_waiting, limits, ended, ends.size,
                first_job, submitted,
            )  # fmt: skip
        _absorb(jobs, state, expected, waiting, ends, first_job, submitted)
        if state.rule < KEPT:
            _sort(jobs, state, waiting)
        elif state.rule == REPLANNED:
            queue.sort(jobs, waiting[: state.waiting], state.kind, now)
        if state.rule == REPLANNED and _fits_any(jobs, state, waiting):
            _copy(state, expected, waiting, trial, trial_expected, trial_waiting)
            _plan_anew(jobs, trial, trial_expected, trial_waiting, profile)
        elif state.rule == KEPT:
            _copy(state, expected, waiting, trial, trial_expected, trial_waiting)
            new = submitted - first_job
            _keep(jobs, state, expected, waiting, trial, profile, ends, new)
        if starts.size > 0 or _fits_any(jobs, state, waiting):
            noted[index] = RIGHT if _is_equal(jobs, state, waiting, starts) else WRONG
        wrong += noted[index] == WRONG
        if now >= until or (wrong == MOST_WRONG and until == np.inf):
            return
        _go_on(jobs, state, expected, waiting, starts)
        if state.rule == KEPT and noted[index] == WRONG:
            _renew(jobs, state, expected, waiting, profile)


@kernel
def _copy(
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
def _may_any_start(
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
def _fits_any(jobs: np.recarray, state: np.record, waiting: np.ndarray) -> bool:
    """Whether enough nodes are free for a waiting job."""
    least = np.inf
    for number in waiting[: state.waiting]:
        least = min(least, jobs[number].nodes)
    return least <= state.free


@kernel
def _absorb(
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
def _is_equal(jobs: np.recarray, state: np.record, waiting: np.ndarray, starts: np.ndarray) -> bool:
    """Whether the chosen jobs are those that the record starts."""
    chosen = 0
    for number in waiting[: state.waiting]:
        chosen += jobs[number].chosen
    for number in starts:
        if jobs[number].chosen == 0:
            return False
    return chosen == starts.size


@kernel
def _go_on(
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


# --- FCFS, first fit, EASY ------------------------------------------------------------------------


@kernel
def _decide(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    limits: np.recarray,
    ended: np.ndarray,
    ends: int,
    first: int,
    last: int,
) -> None:
    """Choose jobs: the events of the instant, and a pass after all of them or after each.

    A chosen job of no length ends at once: `ended` takes it behind the others.
    """
    done, recorded, is_asked = 0, ends, False
    while done < ends or first < last or not is_asked:
        if done < ends:
            job = jobs[ended[done]]
            start = job.start_time if done < recorded else state.now
            state.free += job.nodes
            backfilling.expect(expected, state, start + job.requested_time, -job.nodes)
            done += 1
        elif first < last:
            waiting[state.waiting] = first
            state.waiting += 1
            first += 1
        if state.per_event or (done == ends and first == last):
            ends = _pass(jobs, state, expected, waiting, limits, ended, ends)
            is_asked = True


@kernel
def _pass(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    limits: np.recarray,
    ended: np.ndarray,
    ends: int,
) -> int:
    """One pass over the queue; returns how many jobs end now."""
    _sort(jobs, state, waiting)
    state.head = _head(jobs, state, waiting)
    while state.head >= 0 and jobs[state.head].nodes <= state.free:
        ends = _choose(jobs, state, expected, state.head, ended, ends)
        state.head = _head(jobs, state, waiting)
    if state.head >= 0 and state.rule != NO_BACKFILLING:
        state.limits = 0
        if state.rule != NO_RESERVATION:
            _reserve_for_head(jobs, state, expected, limits)
        for number in waiting[: state.waiting]:
            job = jobs[number]
            end = state.now + job.requested_time
            if job.chosen == 0 and backfilling.may_start(limits, state, job.nodes, end):
                backfilling.take(limits, state, job.nodes, end)
                ends = _choose(jobs, state, expected, number, ended, ends)
    _drop_chosen(jobs, state, waiting)
    return ends


@kernel
def _sort(jobs: np.recarray, state: np.record, waiting: np.ndarray) -> None:
    """Sort the waiting jobs by rank. They are nearly in order from the time before.

    Behind the job submitted first, the others are by rank; it is found anew at each pass.
    """
    if state.kind == HEAD_FIRST:
        queue.sort(jobs, waiting[: state.waiting], STATIC, state.now)
    elif state.kind != SUBMITTED:
        queue.sort(jobs, waiting[: state.waiting], state.kind, state.now)


@kernel
def _head(jobs: np.recarray, state: np.record, waiting: np.ndarray) -> int:
    """The head of the queue among the jobs that are not chosen yet; -1 if there is none."""
    head = -1
    for number in waiting[: state.waiting]:
        if jobs[number].chosen == 0:
            if state.kind != HEAD_FIRST:
                return number
            head = number if head < 0 else min(head, number)
    return head


@kernel
def _reserve_for_head(
    jobs: np.recarray, state: np.record, expected: np.recarray, limits: np.recarray
) -> None:
    """Limit the jobs that overtake, as `batch.easy` does."""
    wanted = jobs[state.head].nodes
    shadow_time, extra = backfilling.reservation(expected, state, wanted, state.now)
    state.shadow_time, state.extra = shadow_time, extra
    if state.rule == STRICTLY_BEFORE:
        shadow_time, extra = np.nextafter(shadow_time, -np.inf), 0
    backfilling.limit(limits, state, shadow_time, extra)


@kernel
def _choose(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    number: int,
    ended: np.ndarray,
    ends: int,
) -> int:
    """Let the rule start a job; returns how many jobs end now."""
    job = jobs[number]
    job.chosen = 1
    state.free -= job.nodes
    backfilling.expect(expected, state, state.now + job.requested_time, job.nodes)
    if job.run_time == 0.0:
        ended[ends] = number
        return ends + 1
    return ends


@kernel
def _drop_chosen(jobs: np.recarray, state: np.record, waiting: np.ndarray) -> None:
    """Drop chosen jobs from those that wait."""
    kept = 0
    for number in waiting[: state.waiting]:
        if jobs[number].chosen == 0:
            waiting[kept] = number
            kept += 1
    state.waiting = kept


# --- conservative backfilling ---------------------------------------------------------------------


@kernel
def _plan_of_running(state: np.record, expected: np.recarray, profile: np.recarray) -> None:
    """A plan of the running jobs alone; jobs that have outlived their request are free now."""
    free = state.free
    availability.clear(profile, state, state.now, free)
    for row in range(state.releases - 1, -1, -1):
        free += expected[row].nodes
        if expected[row].time > state.now:
            profile[state.breakpoints].time = expected[row].time
            state.breakpoints += 1
        profile[state.breakpoints - 1].free = free


@kernel
def _reserve(jobs: np.recarray, state: np.record, profile: np.recarray, number: int) -> None:
    """Reserve the earliest start for a job."""
    job = jobs[number]
    job.reserved = availability.earliest_start(
        profile, state, job.nodes, job.requested_time, state.now, np.inf, np.inf
    )
    end = job.reserved + job.requested_time
    availability.add(profile, state, job.reserved, end, -job.nodes)


@kernel
def _plan_anew(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    profile: np.recarray,
) -> None:
    """Choose the jobs that begin now if all reservations are made anew, in the queue's order.

    Only reservations before a job that may begin now matter, so others are not made. A chosen job
    of no length ends at once: then there is another plan.
    """
    is_over = False
    while not is_over:
        queue.sort(jobs, waiting[: state.waiting], state.kind, state.now)
        _plan_of_running(state, expected, profile)
        is_over, planned, at_once = True, 0, np.nextafter(state.now, np.inf)
        for place in range(state.waiting):
            job = jobs[waiting[place]]
            start = availability.earliest_start(
                profile, state, job.nodes, job.requested_time, state.now, at_once, np.inf
            )
            if start > state.now:
                continue
            for earlier in range(planned, place + 1):
                _reserve(jobs, state, profile, waiting[earlier])
            planned = place + 1
            if job.reserved <= state.now and job.nodes <= state.free:
                job.chosen, is_over = 1, is_over and job.run_time > 0.0
                if job.run_time > 0.0:
                    state.free -= job.nodes
                    end = state.now + job.requested_time
                    backfilling.expect(expected, state, end, job.nodes)
        _drop_chosen(jobs, state, waiting)


@kernel
def _keep(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    trial: np.record,
    profile: np.recarray,
    ends: np.ndarray,
    new: int,
) -> None:
    """Choose the jobs whose reservations begin by now; these may have moved earlier before."""
    availability.advance(profile, state, state.now)
    for number in ends:
        job = jobs[number]
        expected_end = job.start_time + job.requested_time
        if expected_end > state.now:
            availability.add(profile, state, state.now, expected_end, job.nodes)
            state.movable = max(state.movable, expected_end)
    was_overdue = state.overdue
    state.overdue = state.releases > 0 and expected[state.releases - 1].time <= state.now
    old = state.waiting - new
    state.waiting = old
    if state.overdue or was_overdue:
        _renew(jobs, state, expected, waiting, profile)
        has_room = False
    else:
        has_room = _begin_due(jobs, state, waiting, trial, profile) or ends.size > 0
    while has_room and state.movable > state.now:
        _compress(jobs, state, waiting, profile)
        has_room = _begin_due(jobs, state, waiting, trial, profile)
    state.waiting = old + new
    for number in waiting[old : old + new]:
        _reserve(jobs, state, profile, number)
    while _begin_due(jobs, state, waiting, trial, profile):
        _compress(jobs, state, waiting, profile)


@kernel
def _begin_due(
    jobs: np.recarray,
    state: np.record,
    waiting: np.ndarray,
    trial: np.record,
    profile: np.recarray,
) -> bool:
    """Choose the jobs that are reserved by now; whether one of them, of no length, ends at once."""
    ended = False
    for number in waiting[: state.waiting]:
        job = jobs[number]
        if job.chosen == 0 and job.reserved <= state.now and job.nodes <= trial.free:
            job.chosen = 1
            if job.run_time > 0.0:
                trial.free -= job.nodes
            else:
                ended = True
                end = state.now + job.requested_time
                availability.add(profile, state, state.now, end, job.nodes)
                state.movable = max(state.movable, end)
    return ended


@kernel
def _compress(
    jobs: np.recarray,
    state: np.record,
    waiting: np.ndarray,
    profile: np.recarray,
) -> None:
    """Lift every job that still waits, in the queue's order, and place it at its earliest start.

    Nodes came free before `movable` only: no job of more nodes than are free before that can move.
    """
    queue.sort(jobs, waiting[: state.waiting], state.kind, state.now)
    before, state.movable = state.movable, -np.inf
    most, is_stale = availability.max_free(profile, state, before), False
    for number in waiting[: state.waiting]:
        job = jobs[number]
        if is_stale and job.nodes > most:
            most, is_stale = availability.max_free(profile, state, before), False
        if job.chosen == 1 or job.nodes > most:
            continue
        start = availability.earliest_start(
            profile, state, job.nodes, job.requested_time, state.now, before, job.reserved
        )
        if start < job.reserved:
            end = job.reserved + job.requested_time
            availability.add(profile, state, job.reserved, end, job.nodes)
            availability.add(profile, state, start, start + job.requested_time, -job.nodes)
            job.reserved, is_stale = start, True
            state.movable, before = max(state.movable, end), max(before, end)


@kernel
def _renew(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    profile: np.recarray,
) -> None:
    """Make all reservations anew, in order of the starts reserved so far (ties: the queue's)."""
    for number in waiting[: state.waiting]:
        jobs[number].before_rank = jobs[number].reserved
    queue.sort(jobs, waiting[: state.waiting], state.kind, state.now)
    _plan_of_running(state, expected, profile)
    for number in waiting[: state.waiting]:
        jobs[number].before_rank = 0.0
        _reserve(jobs, state, profile, number)
    state.movable = -np.inf
