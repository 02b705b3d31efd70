"""EASY: backfilling around one reservation, that of the queue's head.

EASY (Lifka 1995) starts the head of the queue as long as it fits, and then promises the blocked
head the earliest time at which it fits if every running job ends when its user said: the *shadow
time*. The nodes that the head leaves over then are the *extra nodes*. Each later job, in order,
starts now if it fits now and either ends by the shadow time, ``now + requested_time <=
shadow_time``, or takes no more than the extra nodes, of which it then uses up its own. So the head
is never delayed beyond its promise, the others may be (Mu'alem and Feitelson, IEEE TPDS 12(6),
2001). Shadow time and extra nodes are found anew at every pass: a job that ends early moves the
promise forward.

There is one pass an instant (``decide="per_instant"``), or one after every event
(``"per_event"``): at equal times all ends, one by one, then all submissions, one by one. A job may
then start before another of the same instant is known, or before all nodes of the instant are free.

Why, in order of submission, a pass after submissions alone may test the new jobs only: free nodes
are as they were. A job that overtook took back its nodes by the shadow time or paid with extra
nodes, so shadow time and what is left of the extra nodes stand, as long as the shadow time has not
passed. A job that was refused did not fit, or would have ended too late, and ends later still if it
starts later.
"""

import numpy as np

from cosimlib.batch.orders import check, policy_name, prepare, rank
from cosimlib.kernels import queue, releases, running
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.queue import TAKEN, Queue
from cosimlib.kernels.running import Running
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import JobArrays, Workload

DECIDE = ("per_instant", "per_event")


def simulate_easy(
    workload: Workload,
    system: System,
    *,
    order: str = "submit",
    decide: str = "per_instant",
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
    order : str, default "submit"
        One of `ORDERS`: who is the head, and who may overtake first.
    decide : {"per_instant", "per_event"}, default "per_instant"
        Whether the policy looks once all that happens at an instant is known, or after each event.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    Schedule
        Of policy ``"EASY"``, or ``"EASY (per event, shortest)"`` and so on.

    Raises
    ------
    InvalidWorkloadError
        Where a job is wider than the system or has no requested time, or the system has several
        partitions.
    ValueError
        For an unknown order or way to decide.
    """
    check("decide", decide, DECIDE)
    asked, jobs, total_nodes = prepare(
        workload, system, order, kill_at_request, requested_time=True
    )
    per_event = decide == "per_event"
    if order == "submit" and not per_event:
        start_time = _in_order_of_submission(jobs, total_nodes)
    else:
        aging, eldest = order == "wfp", order == "sjbf"
        start_time = _in_order(jobs, rank(jobs, order), aging, eldest, per_event, total_nodes)
    name = policy_name("EASY", order, *(["per event"] if per_event else []))
    return Schedule.from_starts(asked, system, start_time, name)


@kernel
def _in_order_of_submission(jobs: JobArrays, total_nodes: int) -> np.ndarray:
    """Start times: one pass an instant, `shadow_time` minus infinity while there is none."""
    n = jobs.submit_time.size
    waiting, started = queue.empty(n), running.empty(n, total_nodes)
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
        place = last
        if submitted < n and submit_time[submitted] <= now:
            submitted, last = queue.admit(waiting, submit_time, jobs.nodes, submitted, last, now)
        while first < last and (wanted[first] <= free or wanted[first] == TAKEN):
            if wanted[first] != TAKEN:
                free -= wanted[first]
                running.start(jobs, started, waiting.job[first], now)
            first += 1
        if free == 0 or first + 1 >= last:
            continue
        if now > shadow_time:
            place = first + 1
            shadow_time, extra = releases.shadow(
                started.times, started.nodes, started.size[0], free, wanted[first], now
            )
        place = _next(waiting, jobs.requested_time, place, last, free, now, shadow_time, extra)
        if place < last:
            free, extra = _overtake(
                jobs, waiting, started, place, last, free, now, shadow_time, extra
            )
    return started.start_time


@kernel
def _in_order(
    jobs: JobArrays,
    rank: np.ndarray,
    aging: bool,
    eldest: bool,
    per_event: bool,
    total_nodes: int,
) -> np.ndarray:
    """Start times for any order of the queue, with a pass an instant or one an event."""
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
            last = queue.insert(waiting, rank, 0, last, submitted, jobs.nodes[submitted])
            submitted += 1
            decided = per_event
        last = queue.put_in_turn(jobs, waiting, rank, start_time, aging, eldest, last, now)
        first = 0
        while first < last and waiting.wanted[first] <= free:
            free -= waiting.wanted[first]
            running.start(jobs, started, waiting.job[first], now)
            first += 1
            if eldest:
                last = queue.put_in_turn(jobs, waiting, rank, start_time, aging, eldest, last, now)
                first = 0
        if free > 0 and first + 1 < last:
            shadow_time, extra = releases.shadow(
                started.times, started.nodes, started.size[0], free, waiting.wanted[first], now
            )
            free, _ = _overtake(
                jobs, waiting, started, first + 1, last, free, now, shadow_time, extra
            )
    return start_time


@kernel
def _overtake(
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
    """Start what fits without delaying the head; return the nodes left free and left extra."""
    place = _next(waiting, jobs.requested_time, first, last, free, now, shadow_time, extra)
    while place < last:
        job, wanted = waiting.job[place], waiting.wanted[place]
        if now + jobs.requested_time[job] > shadow_time:
            extra -= wanted
        free -= wanted
        waiting.wanted[place] = TAKEN
        running.start(jobs, started, job, now)
        place = _next(waiting, jobs.requested_time, place + 1, last, free, now, shadow_time, extra)
    return free, extra


@kernel
def _next(
    waiting: Queue,
    requested_time: np.ndarray,
    first: int,
    last: int,
    free: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> int:
    """The first place from `first` on whose job may overtake now, or `last`."""
    for place in range(first, last if free > 0 else first):
        wanted = waiting.wanted[place]
        if wanted <= free and (
            wanted <= extra or now + requested_time[waiting.job[place]] <= shadow_time
        ):
            return place
    return last
