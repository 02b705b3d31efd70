"""A plan: a reservation for every waiting job, in the holes that running jobs and the others leave.

Jobs are rigid, on one partition. What one simulator's loop needs of a plan: absorb the ends of an
instant, start what is due, move reservations forward where somebody ended early (`compress`), make
the plan anew (`renew`), reserve for a new job.

Running jobs hold their nodes to their promised end. Where a job has outlived its request its nodes
count as free from the present on, so that a reservation may be for *now* and yet cannot begin; such
a plan holds for this instant only, and is renewed at the next.

Where thousands wait, most of them want what their neighbors in the queue want: an array of jobs is
submitted at once. Neighbors who are alike are planned together, and start as if they were planned
one by one: each takes the earliest hole, which is the same one for as many as have room in it side
by side; the next look on from there, for those who went before have only taken nodes.
"""

from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from cosimlib.kernels import availability, queue, running
from cosimlib.kernels.availability import Profile
from cosimlib.kernels.jit import frugal_kernel, kernel
from cosimlib.kernels.queue import TAKEN, Queue
from cosimlib.kernels.running import Running


class Plan(NamedTuple):
    """Availability, the start that each job is promised now and was at first, and what is due next.

    Starts are NaN before a job is submitted. What is due is a heap of (start, job), which may hold
    reservations that have moved since. A new plan does not list its reservations there, for it may
    not live long: `unlisted` has one value, the earliest start of those that are not in the heap.
    """

    profile: Profile
    start: np.ndarray
    first_start: np.ndarray
    due: list[tuple[float, int]]
    unlisted: np.ndarray


@kernel
def empty(jobs: Any, total_nodes: int) -> Plan:
    """No reservations; room for one per job."""
    n = jobs.nodes.size
    profile = availability.empty(2 * n, total_nodes)
    return Plan(
        profile, np.full(n, np.nan), np.full(n, np.nan), running.empty_ends(), np.full(1, np.inf)
    )


@kernel
def next_due(plan: Plan, started: Running) -> float:
    """The next start that is planned; infinite when there is none."""
    due = plan.due
    while len(due) > 0:
        moment, job = due[0]
        if moment == plan.start[job] and np.isnan(started.start_time[job]):
            return min(moment, plan.unlisted[0])
        heappop(due)
    return plan.unlisted[0]


@kernel
def absorb_ends(
    jobs: Any, plan: Plan, started: Running, now: float, free: int
) -> tuple[int, float]:
    """Let all jobs that end by `now` end; return the free nodes, and until when more are free."""
    availability.advance(plan.profile, now)
    until = -np.inf
    while len(started.ends) > 0 and started.ends[0][0] <= now:
        job = running.end_next(jobs, started)
        promised = started.start_time[job] + jobs.requested_time[job]
        free += jobs.nodes[job]
        if promised > now:
            availability.add(plan.profile, now, promised, jobs.nodes[job])
            until = max(until, promised)
    return free, until


@kernel
def start_due(
    jobs: Any, plan: Plan, started: Running, waiting: Queue, last: int, now: float, free: int
) -> int:
    """Start the jobs whose reservations begin now; return the nodes left free."""
    if plan.unlisted[0] <= now:
        _list(plan, started, waiting, last)
    while next_due(plan, started) <= now:
        job = heappop(plan.due)[1]
        running.start(jobs, started, job, now)
        free -= jobs.nodes[job]
    return free


@kernel
def _list(plan: Plan, started: Running, waiting: Queue, last: int) -> None:
    """Make the heap anew, of all who wait with a reservation."""
    plan.due.clear()
    for place in range(last):
        job = waiting.job[place]
        if np.isnan(started.start_time[job]) and not np.isnan(plan.start[job]):
            plan.due.append((plan.start[job], job))
    heapify(plan.due)
    plan.unlisted[0] = np.inf


@kernel
def reserve(jobs: Any, plan: Plan, started: Running, job: int, now: float, free: int) -> int:
    """Reserve the earliest hole, and start the job if that is here; return the nodes left free."""
    wanted, lasting = jobs.nodes[job], jobs.requested_time[job]
    moment, _ = availability.reserve(plan.profile, wanted, lasting, now, 1)
    plan.start[job] = moment
    if np.isnan(plan.first_start[job]):
        plan.first_start[job] = moment
    if moment > now:
        heappush(plan.due, (moment, job))
    elif wanted <= free:
        running.start(jobs, started, job, now)
        free -= wanted
    return free


@kernel
def compress(
    jobs: Any,
    plan: Plan,
    started: Running,
    waiting: Queue,
    last: int,
    now: float,
    free: int,
    before: float,
) -> tuple[int, float]:
    """Lift every waiting job, in the queue's order, and place it anew in the earliest hole.

    Nodes have come free before the moment `before` and nowhere else since everybody was in the
    earliest hole, so a job can only move to a moment before it, and only if at some moment before
    it as many nodes are free as it wants. Those many are counted anew, after a move, only when
    somebody wants more. What a job has looked at in vain, the next one need not look at if it is
    alike and not reserved earlier: it needs the same nodes for as long or longer. Neighbors who are
    alike and have the same reservation move together, as many as have room.

    Returns the nodes left free, and the moment before which those who moved have left holes to jobs
    that came earlier in the queue.
    """
    if plan.unlisted[0] < np.inf:
        _list(plan, started, waiting, last)
    left_holes, place, stale = -np.inf, 0, False
    most = availability.max_free(plan.profile, before)
    latest, wide, long, since = np.inf, 0, 0.0, now
    while place < last:
        first, wanted, job = place, waiting.wanted[place], waiting.job[place]
        place += 1
        if wanted > most and stale:
            most, stale = availability.max_free(plan.profile, before), False
        if wanted > most:
            continue
        if not np.isnan(started.start_time[job]):
            waiting.wanted[first] = TAKEN
            continue
        start, lasting = plan.start[job], jobs.requested_time[job]
        if start < latest or wanted != wide or lasting != long:
            since = now
        latest, wide, long = start, wanted, lasting
        if since >= min(start, before):
            continue
        moment, room = availability.earlier_start(
            plan.profile, wanted, lasting, start, before, since
        )
        since = min(moment, before)
        if moment == start:
            continue
        if room >= 2 * wanted:
            beside = waiting.job[first : min(last, first + room // wanted)]
            alike = queue.next_different(jobs.nodes, jobs.requested_time, beside, 0)
            place = first + _last_together(plan.start, beside[:alike])
        availability.add(plan.profile, start, start + lasting, (place - first) * wanted)
        availability.add(plan.profile, moment, moment + lasting, (first - place) * wanted)
        for neighbor in range(first, place):
            job = waiting.job[neighbor]
            plan.start[job] = moment
            if moment <= now:
                running.start(jobs, started, job, now)
                waiting.wanted[neighbor] = TAKEN
                free -= wanted
            else:
                heappush(plan.due, (moment, job))
        left_holes = max(left_holes, start + lasting)
        before = max(before, start + lasting)
        stale = True
    return free, left_holes


@frugal_kernel
def _last_together(start: np.ndarray, waiting: np.ndarray) -> int:
    """Where those end who have the same reservation as the first."""
    place = 1
    while place < waiting.size and start[waiting[place]] == start[waiting[0]]:
        place += 1
    return place


@kernel
def renew(jobs: Any, plan: Plan, started: Running, order: np.ndarray, now: float, free: int) -> int:
    """Forget all reservations and reserve for the jobs of `order` in turn; return the free nodes.

    Neighbors who are alike are placed together, as many at the earliest hole as have room in it;
    the next ones then look no earlier, for while nodes are only taken no earlier hole appears.
    """
    plan.due.clear()
    plan.unlisted[0] = np.inf
    availability.rebuild(plan.profile, now, free, started.times, started.nodes, started.size[0])
    place, last, since = 0, order.size, now
    while place < last:
        end = queue.next_different(jobs.nodes, jobs.requested_time, order, place)
        since = now
        while place < end:
            job = order[place]
            wanted = jobs.nodes[job]
            since, placed = availability.reserve(
                plan.profile, wanted, jobs.requested_time[job], since, end - place
            )
            if since > now:
                plan.unlisted[0] = min(plan.unlisted[0], since)
            for neighbor in range(place, place + placed):
                job = order[neighbor]
                plan.start[job] = since
                if np.isnan(plan.first_start[job]):
                    plan.first_start[job] = since
                if since <= now and wanted <= free:
                    running.start(jobs, started, job, now)
                    free -= wanted
            place += placed
    return free
