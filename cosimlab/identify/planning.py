"""What conservative backfilling starts at an instant: the jobs whose reservations begin by now.

Reservations that are made anew follow from the jobs that run and wait. Those that are kept are not
in the record. They are made as the rule makes them, by the kernels of `batch.reservations`.
"""

import numpy as np

from cosimlab.identify import recorded
from cosimlib.batch import reservations
from cosimlib.kernels import availability, backfilling
from cosimlib.kernels.jit import kernel


@kernel
def choose_anew(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    kinds: np.recarray,
    profile: np.recarray,
) -> None:
    """Choose the jobs that begin now if all reservations are made anew, in the queue's order.

    Only reservations before a job that may begin now matter, so others are not made. A chosen job
    of no length ends at once: then there is another plan.
    """
    is_over, at_once = False, np.nextafter(state.now, np.inf)
    while not is_over:
        reservations.plan_anew(jobs, expected, state, waiting, kinds, profile, at_once)
        is_over = True
        for number in waiting[: state.waiting]:
            job = jobs[number]
            if job.reserved > state.now or job.nodes > state.free:
                continue
            job.chosen = 1
            if job.run_time > 0.0:
                state.free -= job.nodes
                backfilling.expect(expected, state, state.now + job.requested_time, job.nodes)
            else:
                is_over = False
        recorded.drop_chosen(jobs, state, waiting)


@kernel
def choose_reserved(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    kinds: np.recarray,
    profile: np.recarray,
    ends: np.ndarray,
    new: int,
) -> None:
    """Choose the jobs whose reservations begin by now; these may have moved earlier before.

    The `ends` are jobs that end now. The `new` last of those that wait come now: they are reserved
    after the others have moved.
    """
    availability.advance(profile, state, state.now)
    for number in ends:
        job = jobs[number]
        reservations.leave_early(state, profile, job.start_time + job.requested_time, job.nodes)
    was_overdue = state.overdue
    state.overdue = reservations.is_any_overdue(expected, state)
    last = state.waiting
    coming = waiting[last - new : last].copy()
    state.waiting -= new
    if state.overdue or was_overdue:
        reservations.renew(jobs, expected, state, waiting, kinds, profile)
        has_room = False
    else:
        has_room = _begin_due(jobs, state, waiting, profile) or ends.size > 0
    while has_room and state.movable_before > state.now:
        reservations.compress(jobs, state, waiting, profile)
        has_room = _begin_due(jobs, state, waiting, profile)
    _line_up(state, waiting, coming)
    reservations.reserve_all(jobs, state, kinds, profile, coming)
    while _begin_due(jobs, state, waiting, profile):
        reservations.compress(jobs, state, waiting, profile)


@kernel
def _line_up(state: np.record, waiting: np.ndarray, coming: np.ndarray) -> None:
    """Put jobs at the end of the queue."""
    for number in coming:
        waiting[state.waiting] = number
        state.waiting += 1


@kernel
def _begin_due(
    jobs: np.recarray, state: np.record, waiting: np.ndarray, profile: np.recarray
) -> bool:
    """Choose the jobs that are reserved by now; whether one of them, of no length, ends at once."""
    ended = False
    for number in waiting[: state.waiting]:
        job = jobs[number]
        if job.reserved > state.now or job.nodes > state.free:
            continue
        job.chosen = 1
        if job.run_time > 0.0:
            state.free -= job.nodes
        else:
            ended = True
            reservations.leave_early(state, profile, state.now + job.requested_time, job.nodes)
    recorded.drop_chosen(jobs, state, waiting)
    return ended
