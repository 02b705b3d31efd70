"""What conservative backfilling starts at an instant: the jobs whose reservations begin by now.

Reservations that are made anew follow from the jobs that run and wait. Those that are kept are not
in the record. They are made as the rule makes them, by the kernels of `batch.reservations`.
"""

from typing import NamedTuple

import numpy as np

from cosimlab.identify.recorded import Side, drop_chosen
from cosimlib.batch import reservations
from cosimlib.kernels import availability, backfilling
from cosimlib.kernels.jit import allocating_kernel, kernel


class Plan(NamedTuple):
    """Kinds of jobs and the availability profile, as `batch.reservations` has them."""

    kinds: np.recarray
    profile: np.recarray


@kernel
def choose_anew(jobs: np.recarray, side: Side, plan: Plan) -> None:
    """Choose the jobs that begin now if all reservations are made anew, in the queue's order.

    Only reservations before a job that may begin now matter, so others are not made. A chosen job
    of no length ends at once: then there is another plan.
    """
    state, is_over = side.state, False
    at_once = np.nextafter(state.now, np.inf)
    while not is_over:
        reservations.plan_anew(
            jobs, side.expected, state, side.waiting, plan.kinds, plan.profile, at_once
        )
        is_over = True
        for number in side.waiting[: state.waiting]:
            job = jobs[number]
            if job.reserved > state.now or job.nodes > state.free:
                continue
            job.chosen = 1
            if job.run_time > 0.0:
                state.free -= job.nodes
                end = state.now + job.requested_time
                backfilling.expect(side.expected, state, end, job.nodes)
            else:
                is_over = False
        drop_chosen(jobs, side)


@allocating_kernel
def choose_reserved(jobs: np.recarray, side: Side, plan: Plan, ends: np.ndarray, new: int) -> None:
    """Choose the jobs whose reservations begin by now; these may have moved earlier before.

    The `ends` are jobs that end now. The `new` last of those that wait come now: they are reserved
    after the others have moved.
    """
    state, waiting, profile = side.state, side.waiting, plan.profile
    availability.advance(profile, state, state.now)
    for number in ends:
        job = jobs[number]
        reservations.leave_early(state, profile, job.start_time + job.requested_time, job.nodes)
    was_overdue = state.overdue
    state.overdue = reservations.is_any_overdue(side.expected, state)
    last = state.waiting
    coming = waiting[last - new : last].copy()
    state.waiting -= new
    if state.overdue or was_overdue:
        renew(jobs, side, plan)
        has_room = False
    else:
        has_room = _begin_due(jobs, side, profile) or ends.size > 0
    while has_room and state.movable_before > state.now:
        reservations.compress(jobs, state, waiting, profile)
        has_room = _begin_due(jobs, side, profile)
    _line_up(side, coming)
    reservations.reserve_all(jobs, state, plan.kinds, profile, coming)
    while _begin_due(jobs, side, profile):
        reservations.compress(jobs, state, waiting, profile)


@kernel
def _line_up(side: Side, coming: np.ndarray) -> None:
    """Put jobs at the end of the queue."""
    for number in coming:
        side.waiting[side.state.waiting] = number
        side.state.waiting += 1


@kernel
def renew(jobs: np.recarray, side: Side, plan: Plan) -> None:
    """Make all reservations anew, in their own order."""
    reservations.renew(jobs, side.expected, side.state, side.waiting, plan.kinds, plan.profile)


@kernel
def _begin_due(jobs: np.recarray, side: Side, profile: np.recarray) -> bool:
    """Choose the jobs that are reserved by now; whether one of them, of no length, ends at once."""
    state, ended = side.state, False
    for number in side.waiting[: state.waiting]:
        job = jobs[number]
        if job.reserved > state.now or job.nodes > state.free:
            continue
        job.chosen = 1
        if job.run_time > 0.0:
            state.free -= job.nodes
        else:
            ended = True
            reservations.leave_early(state, profile, state.now + job.requested_time, job.nodes)
    drop_chosen(jobs, side)
    return ended
