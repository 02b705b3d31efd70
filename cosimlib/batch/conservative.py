"""Conservative backfilling: every waiting job has a reservation, and nobody may delay another's.

A job is reserved, when it is submitted, the earliest hole in which it fits beside all who run, to
their promised ends, and all who wait, in their reservations. When jobs end early the plan has more
room than it needs, and the literature uses it in two ways:

``reservations="kept"``: a reservation is a promise, and may only move earlier. At an instant with
ends every waiting job, in the queue's order, is lifted and placed anew in the earliest hole
(*compression*; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001); then new jobs are placed.

``reservations="replanned"``: at every instant the plan is made from nothing in the queue's order.
A job may then find its reservation later than it was, because another that comes before it in
the queue took a hole that opened.

The default is kept: the word *conservative* stands for the promise made on arrival, which is what
tells users when their job starts at the latest, and only kept reservations keep it.

A job that outlives its request breaks promises. As long as one runs, and at the instant at which
the last of them ends, kept reservations too are made from nothing, in order of the starts promised
so far (ties: the queue's order): so nobody is pushed back who need not be. Under both, the nodes of
such a job count as free right after now; a reservation for now that therefore cannot begin waits.

Why the plan is often left alone. Where all ends came when promised and nobody moved at the last
compression, nothing has come free: everybody is in the earliest hole already. A plan made from
nothing is then the same plan, as long as the queue's order is that of submission.
"""

import numpy as np
import pandas as pd

from cosimlib.batch import plan
from cosimlib.batch.orders import Prepared, check, policy_name, prepare, rank
from cosimlib.kernels import queue, running
from cosimlib.kernels.jit import kernel
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import JobArrays, Workload

RESERVATIONS = ("kept", "replanned")


def simulate_conservative(
    workload: Workload,
    system: System,
    *,
    order: str = "submit",
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
    order : str, default "submit"
        One of `ORDERS`: in which order reservations are lifted and placed anew. Kept reservations
        are first given in order of submission, whatever it is.
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
    ValueError
        For an unknown order or reading.
    """
    asked = prepare(workload, system, order, kill_at_request, requested_time=True)
    start_time, _ = _simulate(asked, order, reservations)
    details = [] if reservations == "kept" else [reservations]
    name = policy_name("conservative", order, *details)
    return Schedule.from_starts(asked.workload, system, start_time, name)


def promised_starts(
    workload: Workload,
    system: System,
    *,
    order: str = "submit",
    reservations: str = "kept",
    kill_at_request: bool = False,
) -> pd.Series:
    """The start that each job was first promised, at its submission, in seconds.

    The knobs are those of `simulate_conservative`. Where nobody outlives the request, kept
    reservations start no job later than this.
    """
    asked = prepare(workload, system, order, kill_at_request, requested_time=True)
    _, promised = _simulate(asked, order, reservations)
    return pd.Series(promised, index=workload.jobs.index, name="promised_start")


def _simulate(asked: Prepared, order: str, reservations: str) -> tuple[np.ndarray, np.ndarray]:
    """Starts and first promises, in order of jobs."""
    check("reservations", reservations, RESERVATIONS)
    ranks, aging, eldest = rank(asked.jobs, order), order == "wfp", order == "sjbf"
    if reservations == "kept":
        return _kept(asked.jobs, ranks, aging, eldest, asked.total_nodes)
    in_order = order == "submit"
    return _replanned(asked.jobs, ranks, in_order, aging, eldest, asked.total_nodes)


@kernel
def _kept(
    jobs: JobArrays, rank: np.ndarray, aging: bool, eldest: bool, total_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Starts and first promises; `unsettled` is the moment before which somebody may move to."""
    n = jobs.submit_time.size
    waiting, reserved = queue.empty(n), plan.empty(jobs, total_nodes)
    started = running.empty(n, total_nodes)
    free, submitted, last = total_nodes, 0, 0
    unsettled, broken = -np.inf, False
    while True:
        now = running.next_instant(jobs.submit_time, submitted, started.ends)
        now = min(now, plan.next_due(reserved, started))
        if now == np.inf:
            return started.start_time, reserved.first_start
        free_before = free
        free, until = plan.absorb_ends(jobs, reserved, started, now, free)
        unsettled, some_ended = max(unsettled, until), free > free_before
        was_broken, broken = broken, running.overrun(started, now)
        if broken or was_broken:
            last = queue.put_in_turn(
                jobs, waiting, rank, started.start_time, aging, eldest, last, now
            )
            by_promise = queue.by_start(waiting.job[:last], reserved.start)
            free = plan.renew(jobs, reserved, started, by_promise, now, free)
            unsettled = -np.inf
        else:
            free = plan.start_due(jobs, reserved, started, waiting, last, now, free)
            if some_ended and unsettled > now:
                last = queue.put_in_turn(
                    jobs, waiting, rank, started.start_time, aging, eldest, last, now
                )
                free, unsettled = plan.compress(
                    jobs, reserved, started, waiting, last, now, free, unsettled
                )
        while submitted < n and jobs.submit_time[submitted] <= now:
            free = plan.reserve(jobs, reserved, started, submitted, now, free)
            if np.isnan(started.start_time[submitted]):
                last = queue.insert(waiting, rank, 0, last, submitted, jobs.nodes[submitted])
            submitted += 1


@kernel
def _replanned(
    jobs: JobArrays, rank: np.ndarray, in_order: bool, aging: bool, eldest: bool, total_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Starts and first promises; plans that would come out the same are not made."""
    n = jobs.submit_time.size
    waiting, reserved = queue.empty(n), plan.empty(jobs, total_nodes)
    started = running.empty(n, total_nodes)
    free, submitted, last, broken = total_nodes, 0, 0, False
    while True:
        now = running.next_instant(jobs.submit_time, submitted, started.ends)
        now = min(now, plan.next_due(reserved, started))
        if now == np.inf:
            return started.start_time, reserved.first_start
        free, until = plan.absorb_ends(jobs, reserved, started, now, free)
        was_broken, broken = broken, running.overrun(started, now)
        new = submitted
        while submitted < n and jobs.submit_time[submitted] <= now:
            last = queue.insert(waiting, rank, 0, last, submitted, jobs.nodes[submitted])
            submitted += 1
        if broken or was_broken or until > now or not in_order:
            last = queue.put_in_turn(
                jobs, waiting, rank, started.start_time, aging, eldest, last, now
            )
            free = plan.renew(jobs, reserved, started, waiting.job[:last], now, free)
        else:
            free = plan.start_due(jobs, reserved, started, waiting, last, now, free)
            for job in range(new, submitted):
                free = plan.reserve(jobs, reserved, started, job, now, free)
