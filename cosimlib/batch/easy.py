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

After one submission without ends only the new job needs testing, unless it is the new head or ranks
change with time. The free nodes, the shadow time and the remaining extra nodes are unchanged: every
backfilled job either ends by the shadow time or was charged to the extra nodes. A job that was
refused did not fit, or would have ended too late, and would end later still if it started now. A
search of a long queue passes over blocks that hold no job that may start (`kernels.ranked`).
"""

import numpy as np

from cosimlib import checks as check
from cosimlib.batch.orders import Order, Prepared, policy_name, prepare
from cosimlib.kernels import ranked, releases, running
from cosimlib.kernels.jit import allocating_kernel, embedded_kernel, kernel
from cosimlib.kernels.queue import WFP
from cosimlib.kernels.ranked import ADMITTED, WAITING, Ranked
from cosimlib.kernels.running import Running
from cosimlib.kernels.sieve import FOREVER
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
    return _in_order(run.jobs, run.rank, run.kind, decide == "per_event", rule, run.total_nodes)


@kernel
def _in_order(
    jobs: JobArrays, rank: np.ndarray, kind: int, per_event: bool, rule: int, total_nodes: int
) -> np.ndarray:
    """Start times for any order of the queue, with one pass per instant or per event."""
    n = jobs.submit_time.size
    ordered, started = ranked.empty(n), running.empty(n, total_nodes)
    start_time, waiting, counts = started.start_time, ordered.waiting, ordered.counts
    free, head, shadow_time, extra = total_nodes, 0, -np.inf, total_nodes
    while counts[ADMITTED] < n or len(started.ends) > 0:
        now = running.next_instant(jobs.submit_time, counts[ADMITTED], started.ends)
        decided, new = False, counts[ADMITTED]
        place = new
        while not decided and len(started.ends) > 0 and started.ends[0][0] <= now:
            free += jobs.nodes[running.end_next(jobs, started)]
            shadow_time, decided = -np.inf, per_event
        while not decided and counts[ADMITTED] < n and jobs.submit_time[counts[ADMITTED]] <= now:
            place = ranked.submit(ordered, jobs, rank, kind)
            decided = per_event
        if now <= shadow_time and counts[ADMITTED] == new + 1 and rank[head] <= rank[new]:
            if ranked.fits(ordered, jobs, place, free, now, shadow_time, extra):
                free, extra = _overtake(
                    jobs, ordered, started, kind, place, free, now, shadow_time, extra
                )
            continue
        shadow_time = -np.inf
        while free > 0 and counts[WAITING] > 0:
            place = ranked.head(ordered, jobs, rank, start_time, kind, now)
            if waiting.wanted[place] > free:
                break
            free -= waiting.wanted[place]
            running.start(jobs, started, waiting.job[place], now)
            ranked.take(ordered, jobs, kind, place)
        if free > 0 and counts[WAITING] > 1:
            head = waiting.job[place]
            shadow_time, extra = _promise(started, free, jobs.nodes[head], now, rule)
            free, extra = _backfill(jobs, ordered, started, kind, free, now, shadow_time, extra)
            # The score of another job may be the highest by the next instant.
            if kind == WFP:
                shadow_time = -np.inf
    return start_time


@allocating_kernel
def _promise(started: Running, free: int, wanted: int, now: float, rule: int) -> tuple[float, int]:
    """The latest end of a job that overtakes, and the nodes of which it may take some for longer.

    They are the shadow time and the extra nodes of a head that wants `wanted` nodes; without extra
    nodes, the last number before the shadow time and none; without a reservation, the last number.
    """
    if rule == NO_RESERVATION:
        return FOREVER, 0
    shadow_time, extra = releases.shadow(
        started.times, started.nodes, started.size[0], free, wanted, now
    )
    if rule == STRICTLY_BEFORE:
        return np.nextafter(shadow_time, -np.inf), 0
    return shadow_time, extra


@embedded_kernel
def _backfill(
    jobs: JobArrays,
    ordered: Ranked,
    started: Running,
    kind: int,
    free: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> tuple[int, int]:
    """Start all jobs that fit without delaying the head; return the free and the extra nodes."""
    place, at = ranked.next_fitting(ordered, jobs, kind, 0, free, now, shadow_time, extra)
    while place >= 0:
        free, extra = _overtake(jobs, ordered, started, kind, place, free, now, shadow_time, extra)
        place, at = ranked.next_fitting(ordered, jobs, kind, at, free, now, shadow_time, extra)
    return free, extra


@embedded_kernel
def _overtake(
    jobs: JobArrays,
    ordered: Ranked,
    started: Running,
    kind: int,
    place: int,
    free: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> tuple[int, int]:
    """Start the job at `place`; return the free and the extra nodes that are left."""
    job = ordered.waiting.job[place]
    if now + jobs.requested_time[job] > shadow_time:
        extra -= jobs.nodes[job]
    ranked.take(ordered, jobs, kind, place)
    running.start(jobs, started, job, now)
    return free - jobs.nodes[job], extra
