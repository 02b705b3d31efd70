"""Conservative backfilling: every waiting job has a reservation, which no other job may delay.

When a job is submitted, it gets a reservation at its earliest start: from then on it fits beside
the running jobs, up to their expected ends, and beside the waiting jobs, in their reservations.
When jobs end early, the plan has free nodes that it did not expect. The literature uses them in two
ways:

``reservations="kept"``: a reservation is a promise and may only move earlier. At an instant with
ends, every waiting job, in the queue's order, is removed from the plan and put back at its earliest
start (*compression*; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001). Then new jobs get reservations.

``reservations="replanned"``: at every instant the whole plan is made again in the queue's order.
The reservation of a job may then become later, because a job before it in the queue took the nodes
that became free.

The default is kept, because *conservative* means that the promise at submission is the latest
start.

A job that exceeds its request breaks promises. While such a job runs, and at the instant at which
the last of them ends, kept reservations are also all made again, in order of the starts promised so
far (ties: the queue's order), so that no job is delayed without need. Under both rules, the nodes
of such a job count as free right after now. A reservation for now that cannot begin because of that
waits.

The windows of a calendar (`cosimlib.calendar`) take nodes in the plan from the moment at which they
become known. A window that becomes known after reservations on its nodes breaks promises, too, and
so does a window that kills jobs. Reservations are then all made again, in the same order.

The free nodes over time are one sorted array of breakpoints (`kernels.availability`). While
reservations are only added, the search for a job begins where the search for the last job with the
same nodes and requested time ended. Of plans that are made again, only the starts before the next
event matter; each plan ends where no remaining job could begin before that event.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import machine as machines
from cosimlib.batch import plan as planning
from cosimlib.batch.machine import machine_of
from cosimlib.batch.orders import Order, Prepared, prepare, schedule_of
from cosimlib.batch.plan import JOB, STATE, Plan
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.kernels import availability
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.jit import kernel
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

RESERVATIONS = ("kept", "replanned")


def simulate_conservative(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    reservations: str = "kept",
    kill_at_request: bool = False,
    calendar: Calendar = ALWAYS_OPEN,
) -> Schedule:
    """Conservative backfilling: every waiting job has a reservation, which no other job delays.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
        One partition.
    order : str, pd.Series or np.ndarray, default "submit"
        One of `ORDERS`, a column, or one number per job, lowest first (see `cosimlib.batch`): in
        which order reservations are planned again. Kept reservations are first given in order of
        submission, whatever the order.
    reservations : {"kept", "replanned"}, default "kept"
        Whether a reservation may only move earlier, or the whole plan is made again at every
        instant; the module's text explains both.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.
    calendar : Calendar, optional
        When nodes are closed. Runs that a window cuts are cut in the schedule's workload.

    Returns
    -------
    Schedule
        Its policy is ``"conservative"``, or ``"conservative (replanned)"`` and so on.

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the system or has no requested time, or the system has several
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
    run = prepare(workload, system, order, kill_at_request, calendar, requested_time=True)
    jobs = _simulate(run, reservations)
    details = [] if reservations == "kept" else [reservations]
    return schedule_of(run, jobs.start_time, jobs.run_time, "conservative", order, *details)


def promised_starts(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    reservations: str = "kept",
    kill_at_request: bool = False,
    calendar: Calendar = ALWAYS_OPEN,
) -> pd.Series:
    """First promised start of each job (s): its reservation at submission.

    The arguments are those of `simulate_conservative`. Kept reservations start no job later than
    this if no job exceeds its request and every window of the calendar is known from the beginning.
    """
    run = prepare(workload, system, order, kill_at_request, calendar, requested_time=True)
    promised = _simulate(run, reservations, promises=True).promised.copy()
    return pd.Series(promised, index=workload.jobs.index, name="promised_start")


def _simulate(run: Prepared, reservations: str, promises: bool = False) -> np.recarray:
    """Records of jobs that have ended; their first reservations only if `promises` says so."""
    check.choice("reservations", reservations, RESERVATIONS)
    machine = machine_of(run, JOB, STATE, promises=promises, events=-1)
    jobs, state = machine.jobs, machine.state
    jobs.reserved = jobs.promised = np.nan
    jobs.version = -1
    by_request = pd.DataFrame({"nodes": jobs.nodes, "time": jobs.requested_time})
    jobs.alike = by_request.groupby(["nodes", "time"]).ngroup().to_numpy()
    state.next_start, state.movable_before = np.inf, -np.inf
    profile = np.recarray(2 * jobs.size + machine.edges.size + 4, BREAKPOINT)
    simulate = _keep_reservations if reservations == "kept" else _plan_anew
    simulate(Plan(machine, np.empty(jobs.size, np.int64), profile))
    if state.now < np.inf:
        _refuse(run.workload, jobs, state.now)
    return jobs


def _refuse(workload: Workload, jobs: np.recarray, now: float) -> None:
    """Raise: plans were made without end for now and, a short request later, again."""
    is_running = jobs.start_time + jobs.run_time > now
    over = np.where(is_running, jobs.run_time - jobs.requested_time, -np.inf)
    is_waiting = np.isnan(jobs.start_time) & ~np.isnan(jobs.reserved)
    request = np.where(is_waiting, jobs.requested_time, np.inf)
    longest, shortest = int(over.argmax()), int(request.argmin())
    raise check.ArgumentError(
        f"{workload.label(longest)} outlives its request by {over[longest]:.15g} s: "
        f"{over[longest] / request[shortest]:,.0f} plans, as {workload.label(shortest)} asks for "
        f"{request[shortest]:.15g} s; take kill_at_request=True, or drop one of the two"
    )


@kernel
def _keep_reservations(plan: Plan) -> None:
    """Simulate reservations that move earlier only, as long as no job outlives its request."""
    state, waiting, profile = plan.machine.state, plan.waiting, plan.profile
    availability.clear(profile, state, -np.inf, state.free)
    while planning.next_instant(plan):
        availability.advance(profile, state, state.now)
        begun, was_overdue = state.begun, state.overdue
        ended = planning.absorb_ends(plan)
        is_broken = planning.absorb_edges(plan)
        state.overdue = planning.is_overdue(plan.machine.expected, state)
        if state.overdue or was_overdue or is_broken:
            _renew(plan)
        else:
            planning.begin_reserved(plan)
            if ended and state.movable_before > state.now:
                _compress(plan)
        first, queued = planning.submit(plan), waiting[: state.waiting]
        planning.reserve_all(plan, queued[queued.size - (state.submitted - first) :])
        planning.promise(plan.machine.jobs, first, state.submitted)
        if state.begun > begun:
            planning.drop_begun(plan)


@kernel
def _plan_anew(plan: Plan) -> None:
    """Simulate plans that are made from nothing at every instant.

    A plan ends where no job that is left could begin before the next event, for a reservation only
    takes nodes from those planned later. It is whole where first reservations are asked for.
    """
    state = plan.machine.state
    availability.clear(plan.profile, state, -np.inf, state.free)
    while planning.next_instant(plan):
        planning.absorb_ends(plan)
        planning.absorb_edges(plan)
        first = planning.submit(plan)
        is_whole = state.promises and first < state.submitted
        before = np.inf if is_whole else machines.next_event(plan.machine)
        planning.order_queue(plan)
        planning.lay_out(plan)
        numbers, place, planned = plan.waiting[: state.waiting], planning.FIRST, planning.FIRST
        while place < numbers.size:
            if planning.earliest_start(plan, numbers[place], before) < before:
                while planned <= place:
                    planned = planning.reserve(plan, numbers, planned)
                place = planned
            else:
                place += 1
        if is_whole:
            planning.promise(plan.machine.jobs, first, state.submitted)


@kernel
def _renew(plan: Plan) -> None:
    """Make all reservations anew, in order of the starts reserved so far."""
    planning.order_by_reservation(plan)
    planning.lay_out(plan)
    planning.reserve_all(plan, plan.waiting[: plan.machine.state.waiting])
    plan.machine.state.movable_before = -np.inf


@kernel
def _compress(plan: Plan) -> None:
    """Lift every waiting job, in the queue's order, and place it anew at its earliest start.

    Every job had its earliest start before nodes came free. So none of more nodes than are free
    where they did can move, nor one equal to the last that could not, with the same reservation.
    """
    planning.order_queue(plan)
    jobs, profile, state = plan.machine.jobs, plan.profile, plan.machine.state
    before, state.movable_before = state.movable_before, -np.inf
    most, is_stale = availability.max_free(profile, state, before), False
    alike, reserved = -1, 0.0
    for number in plan.waiting[: state.waiting]:
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
            planning.expect_start(state, start)
            if start <= state.now:
                machines.begin(plan.machine, number)
