"""Conservative backfilling: every waiting job has a reservation, which no other job may delay.

On submission a job is reserved its earliest start: from then on it fits beside the running jobs, to
their expected ends, and the waiting jobs, in their reservations. When jobs end early the plan has
more room than it needs, and the literature uses it in two ways:

``reservations="kept"``: a reservation is a promise, and may only move earlier. At an instant with
ends every waiting job, in the queue's order, is lifted and placed anew at its earliest start
(*compression*; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001); then new jobs are placed.

``reservations="replanned"``: at every instant the plan is made from nothing in the queue's order.
The reservation of a job may then be later than it was, because another job that comes before it in
the queue took the nodes that came free.

The default is kept: the word *conservative* stands for the promise made on submission, which tells
users when their job starts at the latest, and only kept reservations keep it.

A job that outlives its request breaks promises. As long as one runs, and at the instant at which
the last of them ends, kept reservations too are made from nothing, in order of the starts promised
so far (ties: the queue's order), so that no job is delayed without need. Under both, the nodes of
such a job count as free right after now; a reservation for now that therefore cannot begin waits.

The plan is often left alone. Where all ends came when expected and no job moved at the last
compression, nothing has come free: every job has its earliest start already. A plan made from
nothing is then the same plan, as long as the queue's order is that of submission. And where only
the starts are asked for, a plan that is made anew at every instant need not be whole: it ends where
no job that is left could begin before the next event.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import compression, plan
from cosimlib.batch.orders import Order, Prepared, policy_name, prepare
from cosimlib.kernels import queue, running
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.queue import SUBMITTED
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import JobArrays, Workload

RESERVATIONS = ("kept", "replanned")

MOST_PLANS = 100_000_000
"""Plans made anew at most while one job outlives its request."""


def simulate_conservative(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    reservations: str = "kept",
    kill_at_request: bool = False,
) -> Schedule:
    """Backfill around a reservation for every job.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
        Of one partition.
    order : str, pd.Series or np.ndarray, default "submit"
        One of `ORDERS`, a column, or one number per job, lowest first (see `cosimlib.batch`): in
        which order reservations are lifted and placed anew. Kept reservations are first given in
        order of submission, whatever it is.
    reservations : {"kept", "replanned"}, default "kept"
        Whether a reservation may only move earlier, or the plan is made from nothing at every
        instant; see the module's text for both and for why the first is the default.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    Schedule
        Of policy ``"conservative"``, or ``"conservative (replanned)"`` and so on.

    Raises
    ------
    InvalidWorkloadError
        Where a job is wider than the system or has no requested time, or the system has several
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
    run = prepare(workload, system, order, kill_at_request, requested_time=True)
    start_time, _ = _simulate(run, reservations, promises=False)
    details = [] if reservations == "kept" else [reservations]
    name = policy_name("conservative", order, *details)
    return Schedule.from_starts(run.workload, system, start_time, name)


def promised_starts(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    reservations: str = "kept",
    kill_at_request: bool = False,
) -> pd.Series:
    """Start of the first reservation of each job, made at its submission, in seconds.

    The knobs are those of `simulate_conservative`. Where no job outlives its request, kept
    reservations start no job later than this.
    """
    run = prepare(workload, system, order, kill_at_request, requested_time=True)
    _, promised = _simulate(run, reservations, promises=True)
    return pd.Series(promised, index=workload.jobs.index, name="promised_start")


def _simulate(run: Prepared, reservations: str, promises: bool) -> tuple[np.ndarray, np.ndarray]:
    """Starts and first reservations, in order of jobs; the latter only where `promises` says so."""
    check.choice("reservations", reservations, RESERVATIONS)
    _check_overruns(run)
    arguments = (run.jobs, plan.kinds_of(run.jobs), run.rank, run.kind, run.total_nodes)
    return _kept(*arguments) if reservations == "kept" else _replanned(*arguments, promises)


def _check_overruns(run: Prepared) -> None:
    """Raise where a job outlives its request by far too many of the shortest requests.

    The plan is made anew at each start that it reserves beside such a job, for at worst as many as
    there are of the shortest request one after another.
    """
    jobs = run.jobs
    over = jobs.run_time - jobs.requested_time
    if over.size and over.max() > 0:
        longest, shortest = int(over.argmax()), int(jobs.requested_time.argmin())
        where = f"{run.workload.label(longest)} outlives its request by {over[longest]:.15g} s"
        plans = f"new plans meanwhile, as {run.workload.label(shortest)} asks for so little"
        check.room(plans, over[longest] / jobs.requested_time[shortest],
                   "take kill_at_request=True, or drop one of the two", most=MOST_PLANS,
                   where=where)  # fmt: skip


@kernel
def _kept(
    jobs: JobArrays, kinds: np.ndarray, rank: np.ndarray, kind: int, total_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Starts and first reservations; jobs can move to moments before `holes_until` only."""
    n = jobs.submit_time.size
    waiting, reserved = queue.empty(n), plan.empty(jobs, kinds, total_nodes)
    started = running.empty(n, total_nodes)
    free, submitted, last = total_nodes, 0, 0
    holes_until, overdue = -np.inf, False
    while True:
        now = running.next_instant(jobs.submit_time, submitted, started.ends)
        now = min(now, plan.next_due(reserved))
        if now == np.inf:
            return started.start_time, reserved.first_start
        free_before = free
        free, until = plan.absorb_ends(jobs, reserved, started, now, free)
        holes_until, some_ended = max(holes_until, until), free > free_before
        was_overdue, overdue = overdue, running.overrun(started, now)
        if overdue or was_overdue:
            last = queue.reorder(jobs, waiting, rank, started.start_time, kind, last, now)
            by_start = queue.by_start(waiting.job[:last], reserved.start)
            free = plan.renew(jobs, reserved, started, by_start, now, free)
            holes_until = -np.inf
        else:
            free = plan.start_due(jobs, reserved, started, waiting, last, now, free)
            if some_ended and holes_until > now:
                last = queue.reorder(jobs, waiting, rank, started.start_time, kind, last, now)
                free, holes_until = compression.compress(
                    jobs, reserved, started, waiting, last, now, free
                )
        new = submitted
        while submitted < n and jobs.submit_time[submitted] <= now:
            submitted += 1
        _, free = plan.extend(
            jobs, reserved, started, np.arange(new, submitted), 0, now, free, np.inf, True
        )
        for job in range(new, submitted):
            if np.isnan(started.start_time[job]):
                last = queue.insert(waiting, rank, last, job, jobs.nodes[job])


@kernel
def _replanned(
    jobs: JobArrays,
    kinds: np.ndarray,
    rank: np.ndarray,
    kind: int,
    total_nodes: int,
    promises: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Starts and first reservations; plans that would come out the same are not made.

    Without `promises` plans end where no job that is left could begin before the next event; first
    reservations are then not told of all jobs.
    """
    n = jobs.submit_time.size
    waiting, reserved = queue.empty(n), plan.empty(jobs, kinds, total_nodes)
    started = running.empty(n, total_nodes)
    free, submitted, planned, last, overdue = total_nodes, 0, 0, 0, False
    while True:
        now = running.next_instant(jobs.submit_time, submitted, started.ends)
        now = min(now, plan.next_due(reserved))
        if now == np.inf:
            return started.start_time, reserved.first_start
        free, until = plan.absorb_ends(jobs, reserved, started, now, free)
        was_overdue, overdue = overdue, running.overrun(started, now)
        while submitted < n and jobs.submit_time[submitted] <= now:
            last = queue.insert(waiting, rank, last, submitted, jobs.nodes[submitted])
            submitted += 1
        if overdue or was_overdue or until > now or kind != SUBMITTED:
            last = queue.reorder(jobs, waiting, rank, started.start_time, kind, last, now)
            plan.drop(reserved, started, now, free)
            planned = 0
        else:
            free = plan.start_due(jobs, reserved, started, waiting, planned, now, free)
        before = running.next_instant(jobs.submit_time, submitted, started.ends)
        planned, free = plan.extend(
            jobs,
            reserved,
            started,
            waiting.job[:last],
            planned,
            now,
            free,
            np.inf if promises else before,
            planned > 0,
        )
