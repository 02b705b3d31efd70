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
waits. Where several wait, and nodes come free for some of them, they begin in the order of the
promises that they had before this instant (ties: the queue's order).

The windows of a calendar (`cosimlib.calendar`) take nodes in the plan from the moment at which they
become known. A window that becomes known after reservations on its nodes breaks promises, too, and
so does a window that kills jobs. Reservations are then all made again, in the same order.

The plan is kept by `batch.reservations`. Of plans that are made again, only the starts before the
next event matter; each plan ends where no remaining job could begin before that event.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import capacity, reservations
from cosimlib.batch import machine as machines
from cosimlib.batch.machine import STATE_FLOATS, STATE_INTEGERS, machine_of
from cosimlib.batch.orders import ASKED, Asking, Order, Prepared, prepare, schedule_of
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.kernels import availability
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

RESERVATIONS = ("kept", "replanned")

JOB = record_type(floats=f"{reservations.JOB_FLOATS} promised", integers=reservations.JOB_INTEGERS)
"""A job; its start, its reservation and the first that it had, NaN before."""

STATE = record_type(
    floats=f"{STATE_FLOATS} {reservations.STATE_FLOATS}",
    integers=f"{STATE_INTEGERS} {reservations.STATE_INTEGERS} promises is_asked events idle",
)
"""State of a simulation and of its plan.

Then whether first reservations are asked for; whether ranks have been asked for at this instant;
how often a job or a window has come, begun or ended; how many jobs were planned at instants at
which none did.
"""

MOST_IDLE, MOST_IDLE_PER_JOB = 1_000_000, 2_000
"""Jobs planned at most, in all and per job, at instants at which none comes, begins or ends."""


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
    order : str, pd.Series, np.ndarray or function, default "submit"
        One of `ORDERS`, a column, one number per job, lowest first, or a function of the jobs'
        table (and of the moment), see `cosimlib.batch`: in which order reservations are planned
        again. Kept reservations are first given in order of submission, whatever the order.
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


def _simulate(run: Prepared, rule: str, promises: bool = False) -> np.recarray:
    """Records of jobs that have ended; their first reservations only if `promises` says so."""
    check.choice("reservations", rule, RESERVATIONS)
    machine = machine_of(run, JOB, STATE, promises=promises, events=-1)
    jobs, state = machine.jobs, machine.state
    jobs.reserved = jobs.promised = np.nan
    kinds = reservations.kinds_of(jobs)
    windows = 0 if machine.edges is None else machine.edges.size
    profile = reservations.empty_plan(state, jobs.size, windows)
    waiting = np.empty(jobs.size, np.int64)
    simulate = _keep_reservations if rule == "kept" else _plan_anew
    ask = Asking(run, jobs)
    while simulate(*machine, waiting, kinds, profile):
        ask(state.now)
    if state.now < np.inf:
        _refuse(run.workload, jobs, state.now)
    return jobs


def _refuse(workload: Workload, jobs: np.recarray, now: float) -> None:
    """Raise: plans were made without end for now and, a short request later, again."""
    is_running = jobs.start_time + jobs.run_time > now
    over = np.where(is_running, jobs.run_time - jobs.requested_time, -np.inf)
    is_waiting = np.isnan(jobs.start_time) & np.isfinite(jobs.reserved)
    request = np.where(is_waiting, jobs.requested_time, np.inf)
    longest, shortest = int(over.argmax()), int(request.argmin())
    raise check.ArgumentError(
        f"{workload.label(longest)} outlives its request by {over[longest]:.15g} s: "
        f"{over[longest] / request[shortest]:,.0f} plans, as {workload.label(shortest)} asks for "
        f"{request[shortest]:.15g} s; take kill_at_request=True, or drop one of the two"
    )


@kernel
def _keep_reservations(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray | None,
    state: np.record,
    waiting: np.ndarray,
    kinds: np.recarray,
    profile: np.recarray,
) -> bool:
    """Simulate reservations that move earlier only, as long as no job outlives its request.

    Where ranks must first be asked for, it returns True at each instant, and goes on when called
    again.
    """
    while state.is_asked or _next_instant(jobs, ends, state):
        state.is_asked = state.kind == ASKED and not state.is_asked
        if state.is_asked:
            return True
        availability.advance(profile, state, state.now)
        was_overdue = state.overdue
        ended = _absorb_ends(jobs, ends, expected, state, profile)
        is_broken = False
        if edges is not None:
            is_broken = _absorb_edges(jobs, ends, expected, edges, state, profile)
        state.overdue = reservations.is_any_overdue(expected, state)
        if state.overdue or was_overdue or is_broken:
            reservations.renew(jobs, expected, state, waiting, kinds, profile)
        else:
            _begin_reserved(jobs, ends, expected, state, waiting)
            if ended and state.movable_before > state.now:
                reservations.compress(jobs, state, waiting, profile)
        first, last = _submit(jobs, state, waiting), state.waiting
        new = waiting[last - (state.submitted - first) : last]
        reservations.reserve_all(jobs, state, kinds, profile, new)
        _promise(jobs, first, state.submitted)
        _begin_reserved(jobs, ends, expected, state, waiting)
    return False


@kernel
def _plan_anew(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray | None,
    state: np.record,
    waiting: np.ndarray,
    kinds: np.recarray,
    profile: np.recarray,
) -> bool:
    """Simulate plans that are made from nothing at every instant, up to the next event.

    A plan is whole where first reservations are asked for. As `_keep_reservations`, it returns True
    where ranks must first be asked for.
    """
    while state.is_asked or _next_instant(jobs, ends, state):
        state.is_asked = state.kind == ASKED and not state.is_asked
        if state.is_asked:
            return True
        _absorb_ends(jobs, ends, expected, state, profile)
        if edges is not None:
            _absorb_edges(jobs, ends, expected, edges, state, profile)
        first = _submit(jobs, state, waiting)
        is_whole = state.promises and first < state.submitted
        before = np.inf if is_whole else machines.next_event(jobs, ends, state)
        reservations.plan_anew(jobs, expected, state, waiting, kinds, profile, before)
        if is_whole:
            _promise(jobs, first, state.submitted)
        _begin_reserved(jobs, ends, expected, state, waiting)
    return False


@kernel
def _next_instant(jobs: np.recarray, ends: np.recarray, state: np.record) -> bool:
    """Go on to the next event or reserved start; False if there is none, or too many idle."""
    events = state.submitted + state.edges + 2 * state.begun - state.running
    if events == state.events:
        state.idle += state.waiting
    state.events = events
    now: float = min(machines.next_event(jobs, ends, state), state.next_start)
    state.now = now
    return now < np.inf and state.idle <= MOST_IDLE + MOST_IDLE_PER_JOB * jobs.size


@kernel
def _absorb_ends(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    state: np.record,
    profile: np.recarray,
) -> bool:
    """End jobs, and let what they leave early be free in the plan; whether any ends by now."""
    ended = False
    while machines.ends_by_now(ends, state):
        job, ended = jobs[machines.end(jobs, ends, expected, state, state.running)], True
        reservations.leave_early(state, profile, job.start_time + job.requested_time, job.nodes)
    return ended


@kernel
def _absorb_edges(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray,
    state: np.record,
    profile: np.recarray,
) -> bool:
    """Pass the edges of windows up to now, and kill; whether this breaks promises.

    A window that becomes known takes its nodes in the plan, where they may not all be free.
    """
    if state.next_edge > state.now:
        return False
    is_broken, first, running = False, state.edges, state.running
    machines.pass_edges(jobs, ends, expected, edges, state)
    for row in range(first, state.edges):
        edge = edges[row]
        if edge.edge == capacity.KNOWN:
            least = availability.min_free(profile, state, edge.start, edge.end)
            is_broken = is_broken or least < edge.nodes
            availability.add(profile, state, edge.start, edge.end, -edge.nodes)
    return is_broken or state.running < running


@kernel
def _submit(jobs: np.recarray, state: np.record, waiting: np.ndarray) -> int:
    """Put the jobs that come by now at the end of the queue; return the first of them."""
    first = state.submitted
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        waiting[state.waiting] = state.submitted
        state.submitted += 1
        state.waiting += 1
    return first


@kernel
def _promise(jobs: np.recarray, first: int, last: int) -> None:
    """Note the reservations of some jobs as their first ones."""
    for number in range(first, last):
        jobs[number].promised = jobs[number].reserved


@kernel
def _begin_reserved(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    state: np.record,
    waiting: np.ndarray,
) -> None:
    """Begin the jobs that are reserved by now, and find out which reservation is the next."""
    if state.next_start > state.now:
        return
    kept, state.next_start = 0, np.inf
    for number in waiting[: state.waiting]:
        job = jobs[number]
        if job.reserved <= state.now and job.nodes <= state.free:
            machines.begin(jobs, ends, expected, state, number)
            continue
        if job.reserved > state.now:
            state.next_start = min(state.next_start, job.reserved)
        waiting[kept] = number
        kept += 1
    state.waiting = kept
