"""EASY: backfilling around one reservation, that of the queue's head.

EASY (Lifka 1995) starts the head of the queue as long as it fits, and then reserves for the blocked
head the earliest time at which it fits if all running jobs end at their requested times: the
*shadow time*. The nodes that the head leaves over then are the *extra nodes*. Each later job, in
order, starts now if it fits now and either ends by the shadow time, ``now + requested_time <=
shadow_time``, or takes no more than the extra nodes, of which it then uses up its own. So no job
delays the head beyond its reservation, while other jobs may be delayed (Mu'alem and Feitelson, IEEE
TPDS 12(6), 2001). Shadow time and extra nodes are found anew at every pass: a job that ends early
moves the reservation forward.

There is one pass per instant (``decide="per_instant"``), or one after every event
(``"per_event"``): at equal times all ends, one by one, then all submissions, one by one. A job may
then start before another of the same instant is known, or before all nodes of the instant are free.

Two relatives differ in what a later job must meet, and share the rest. Without extra nodes
(``extra_nodes=False``) it may start only if its requested time is less than the time that the head
must wait: it ends strictly before the shadow time, however few nodes it takes. Without a
reservation (`first_fit`) it starts if it fits.

In order of submission, after an instant with submissions but no ends, only the new jobs need
testing. The free nodes, the shadow time and the remaining extra nodes are unchanged: every
backfilled job either ends by the shadow time or was charged to the extra nodes. A job that was
refused did not fit, or would have ended too late, and would end later still if it started now. A
search of a long queue passes over blocks in which nothing can do (`kernels.sieve`).
"""

import numpy as np

from cosimlib import checks as check
from cosimlib.batch.orders import Order, Prepared, policy_name, prepare
from cosimlib.kernels import queue, releases, running, sieve
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.queue import HEAD_FIRST, SUBMITTED, TAKEN, Queue
from cosimlib.kernels.running import Running
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import JobArrays, Workload

DECIDE = ("per_instant", "per_event")

EXTRA_NODES, STRICTLY_BEFORE, NO_RESERVATION = 0, 1, 2
"""What a job that overtakes must meet: end by the shadow time or take extra nodes; end strictly
before the shadow time; nothing."""


def simulate_easy(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    decide: str = "per_instant",
    extra_nodes: bool = True,
    kill_at_request: bool = False,
) -> Schedule:
    """Backfill around one reservation, the queue head's.

    A running job that has outlived its requested time is expected to end now, at
    ``max(start_time + requested_time, now)``.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
        Of one partition.
    order : str, pd.Series or np.ndarray, default "submit"
        One of `ORDERS`, a column, or one number per job, lowest first (see `cosimlib.batch`): which
        job is the head, and in which order the others are tested.
    decide : {"per_instant", "per_event"}, default "per_instant"
        One pass after all events of an instant, or one after each event.
    extra_nodes : bool, default True
        Whether a job that ends too late may take nodes that the head leaves over. If not, a job may
        overtake only if its requested time is less than the time that the head must wait.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    Schedule
        Of policy ``"EASY"``, or ``"EASY (per event, no extra nodes, shortest)"`` and so on.

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
    >>> cs.simulate_easy(workload, cs.System.of(4)).start_time
    array([ 0., 10.,  2.])
    """
    check.choice("decide", decide, DECIDE)
    check.flag("extra_nodes", extra_nodes)
    run = prepare(workload, system, order, kill_at_request, requested_time=True)
    start_time = backfill(run, decide, EXTRA_NODES if extra_nodes else STRICTLY_BEFORE)
    knobs = {"per event": decide == "per_event", "no extra nodes": not extra_nodes}
    name = policy_name("EASY", order, *(knob for knob, chosen in knobs.items() if chosen))
    return Schedule.from_starts(run.workload, system, start_time, name)


def backfill(run: Prepared, decide: str, rule: int) -> np.ndarray:
    """Start times where jobs may overtake a blocked head by `rule`, such as `EXTRA_NODES`."""
    per_event = decide == "per_event"
    if run.kind == SUBMITTED and not per_event:
        return _in_order_of_submission(run.jobs, rule, run.total_nodes)
    return _in_order(run.jobs, run.rank, run.kind, per_event, rule, run.total_nodes)


@kernel
def _in_order_of_submission(jobs: JobArrays, rule: int, total_nodes: int) -> np.ndarray:
    """Start times: one pass per instant; `shadow_time` is minus infinity while there is none."""
    n = jobs.submit_time.size
    waiting, started, bounds = queue.empty(n), running.empty(n, total_nodes), sieve.empty(n)
    submit_time, ends, wanted = jobs.submit_time, started.ends, waiting.wanted
    free, submitted, ended, first, last = total_nodes, 0, 0, 0, 0
    shadow_time, extra = -np.inf, 0
    while submitted < n or len(ends) > 0:
        now = running.next_instant(submit_time, submitted, ends)
        # Calls stand behind conditions because handing arrays over costs more than most passes.
        if len(ends) > 0 and ends[0][0] <= now:
            retired, freed = running.retire(jobs, started, now)
            ended += retired
            free += freed
            shadow_time = -np.inf
            if last - first > 2 * (submitted - ended - len(ends)) + 16:
                first, last = 0, queue.compact(waiting, first, last)
                sieve.add(bounds, waiting, jobs.requested_time, 0, last)
        place = last
        if submitted < n and submit_time[submitted] <= now:
            submitted, last = queue.admit(waiting, submit_time, jobs.nodes, submitted, last, now)
            sieve.add(bounds, waiting, jobs.requested_time, place, last)
        while first < last and (wanted[first] <= free or wanted[first] == TAKEN):
            if wanted[first] != TAKEN:
                free -= wanted[first]
                running.start(jobs, started, waiting.job[first], now)
            first += 1
        if free == 0 or first + 1 >= last:
            continue
        if now > shadow_time:
            place = first + 1
            shadow_time, extra = _promise(started, free, wanted[first], now, rule)
        while place < last:
            place = sieve.next_fitting(
                bounds, waiting, jobs.requested_time, place, last, free, now, shadow_time, extra
            )
            if place < last:
                free, extra = _overtake(
                    jobs, waiting, started, place, free, now, shadow_time, extra
                )
    return started.start_time


@kernel
def _in_order(
    jobs: JobArrays, rank: np.ndarray, kind: int, per_event: bool, rule: int, total_nodes: int
) -> np.ndarray:
    """Start times for any order of the queue, with one pass per instant or per event."""
    n = jobs.submit_time.size
    waiting, started = queue.empty(n), running.empty(n, total_nodes)
    start_time, free, submitted, last = started.start_time, total_nodes, 0, 0
    while submitted < n or len(started.ends) > 0:
        now = running.next_instant(jobs.submit_time, submitted, started.ends)
        decided = False
        while not decided and len(started.ends) > 0 and started.ends[0][0] <= now:
            free += jobs.nodes[running.end_next(jobs, started)]
            decided = per_event
        while not decided and submitted < n and jobs.submit_time[submitted] <= now:
            last = queue.insert(waiting, rank, last, submitted, jobs.nodes[submitted])
            submitted += 1
            decided = per_event
        last = queue.reorder(jobs, waiting, rank, start_time, kind, last, now)
        first = 0
        while first < last and waiting.wanted[first] <= free:
            free -= waiting.wanted[first]
            running.start(jobs, started, waiting.job[first], now)
            first += 1
            if kind == HEAD_FIRST:
                last = queue.reorder(jobs, waiting, rank, start_time, kind, last, now)
                first = 0
        if free > 0 and first + 1 < last:
            shadow_time, extra = _promise(started, free, waiting.wanted[first], now, rule)
            free, _ = _backfill(
                jobs, waiting, started, first + 1, last, free, now, shadow_time, extra
            )
    return start_time


@allocating_kernel
def _promise(started: Running, free: int, wanted: int, now: float, rule: int) -> tuple[float, int]:
    """The latest end of a job that overtakes, and the nodes of which it may take some for longer.

    They are the shadow time and the extra nodes of a head that wants `wanted` nodes; without extra
    nodes, the last number before the shadow time and none; without a reservation, infinity.
    """
    if rule == NO_RESERVATION:
        return np.inf, 0
    shadow_time, extra = releases.shadow(
        started.times, started.nodes, started.size[0], free, wanted, now
    )
    if rule == STRICTLY_BEFORE:
        return np.nextafter(shadow_time, -np.inf), 0
    return shadow_time, extra


@allocating_kernel
def _backfill(
    jobs: JobArrays,
    waiting: Queue,
    started: Running,
    first: int,
    last: int,
    free: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> tuple[int, int]:
    """Start all jobs that fit without delaying the head; return the free and the extra nodes."""
    requested, place = jobs.requested_time, first
    while place < last:
        place = sieve.search(waiting, requested, place, last, free, now, shadow_time, extra)
        if place < last:
            free, extra = _overtake(jobs, waiting, started, place, free, now, shadow_time, extra)
    return free, extra


@allocating_kernel
def _overtake(
    jobs: JobArrays,
    waiting: Queue,
    started: Running,
    place: int,
    free: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> tuple[int, int]:
    """Start the job at `place`; return the free and the extra nodes that are left."""
    job, wanted = waiting.job[place], waiting.wanted[place]
    if now + jobs.requested_time[job] > shadow_time:
        extra -= wanted
    waiting.wanted[place] = TAKEN
    running.start(jobs, started, job, now)
    return free - wanted, extra
