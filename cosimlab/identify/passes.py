"""What FCFS, first fit and EASY start at an instant: a pass over the queue, or one per event."""

import numpy as np

from cosimlab.identify.recorded import Side, drop_chosen
from cosimlib.batch import queue
from cosimlib.batch.easy import NO_BACKFILLING, NO_RESERVATION, STRICTLY_BEFORE
from cosimlib.batch.orders import HEAD_FIRST, STATIC, SUBMITTED
from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import kernel


@kernel
def choose(
    jobs: np.recarray,
    side: Side,
    limits: np.recarray,
    ended: np.ndarray,
    recorded_ends: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Choose jobs: the events of the instant, and a pass after all of them or after each.

    A chosen job of no length ends at once: `ended` takes it behind the others.
    """
    state, ends = side.state, recorded_ends.size
    for place in range(ends):
        ended[place] = recorded_ends[place]
    done, is_asked = 0, False
    while done < ends or first < last or not is_asked:
        if done < ends:
            job = jobs[ended[done]]
            start = job.start_time if done < recorded_ends.size else state.now
            state.free += job.nodes
            backfilling.expect(side.expected, state, start + job.requested_time, -job.nodes)
            done += 1
        elif first < last:
            side.waiting[state.waiting] = first
            state.waiting += 1
            first += 1
        if state.per_event or (done == ends and first == last):
            ends = _pass(jobs, side, limits, ended, ends)
            is_asked = True


@kernel
def _pass(jobs: np.recarray, side: Side, limits: np.recarray, ended: np.ndarray, ends: int) -> int:
    """One pass over the queue; returns how many jobs end now."""
    state = side.state
    sort(jobs, side)
    state.head = _head(jobs, side)
    while state.head >= 0 and jobs[state.head].nodes <= state.free:
        ends = _choose(jobs, side, state.head, ended, ends)
        state.head = _head(jobs, side)
    if state.head >= 0 and state.rule != NO_BACKFILLING:
        state.limits = 0
        if state.rule != NO_RESERVATION:
            _reserve_for_head(jobs, side, limits)
        for number in side.waiting[: state.waiting]:
            job = jobs[number]
            end = state.now + job.requested_time
            if job.chosen == 0 and backfilling.may_start(limits, state, job.nodes, end):
                backfilling.take(limits, state, job.nodes, end)
                ends = _choose(jobs, side, number, ended, ends)
    drop_chosen(jobs, side)
    return ends


@kernel
def sort(jobs: np.recarray, side: Side) -> None:
    """Sort the waiting jobs by rank. They are nearly in order from the time before.

    Behind the job submitted first, the others are by rank; it is found anew at each pass.
    """
    state, waiting = side.state, side.waiting[: side.state.waiting]
    if state.kind == HEAD_FIRST:
        queue.sort(jobs, waiting, STATIC, state.now)
    elif state.kind != SUBMITTED:
        queue.sort(jobs, waiting, state.kind, state.now)


@kernel
def _head(jobs: np.recarray, side: Side) -> int:
    """The head of the queue among the jobs that are not chosen yet; -1 if there is none."""
    head = -1
    for number in side.waiting[: side.state.waiting]:
        if jobs[number].chosen == 0:
            if side.state.kind != HEAD_FIRST:
                return number
            head = number if head < 0 else min(head, number)
    return head


@kernel
def _reserve_for_head(jobs: np.recarray, side: Side, limits: np.recarray) -> None:
    """Limit the jobs that overtake, as `batch.easy` does."""
    state = side.state
    wanted = jobs[state.head].nodes
    shadow_time, extra = backfilling.reservation(side.expected, state, wanted, state.now)
    state.shadow_time, state.extra = shadow_time, extra
    if state.rule == STRICTLY_BEFORE:
        shadow_time, extra = np.nextafter(shadow_time, -np.inf), 0
    backfilling.limit(limits, state, shadow_time, extra)


@kernel
def _choose(jobs: np.recarray, side: Side, number: int, ended: np.ndarray, ends: int) -> int:
    """Let the rule start a job; returns how many jobs end now."""
    job, state = jobs[number], side.state
    state.turns += 1
    job.chosen, job.turn = 1, state.turns
    state.free -= job.nodes
    backfilling.expect(side.expected, state, state.now + job.requested_time, job.nodes)
    if job.run_time == 0.0:
        ended[ends] = number
        return ends + 1
    return ends
