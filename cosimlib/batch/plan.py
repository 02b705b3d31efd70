"""Plan of conservative backfilling: a reservation for every waiting job, at its earliest start.

What the loop needs of a plan: absorb the ends of an instant, start the jobs that are due, move
reservations forward where a job ended early (`compress`), make the plan anew (`renew`), reserve for
a new job.

Running jobs hold their nodes to their expected end. Where a job has outlived its request its nodes
count as free from the present on, so that a reservation may be for *now* and yet cannot begin; such
a plan holds for this instant only, and is renewed at the next.

Where thousands of jobs wait, most are equal to their neighbors in the queue, in nodes and in
requested time: an array of jobs is submitted at once. Equal neighbors are planned together, and
start as if they were planned one by one: each takes its earliest start, which is the same for as
many as have room side by side; the search for the next begins there, for those placed before have
only taken nodes.
"""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import availability, queue, running
from cosimlib.kernels.availability import Profile
from cosimlib.kernels.jit import frugal_kernel, kernel
from cosimlib.kernels.queue import TAKEN, Queue
from cosimlib.kernels.running import Running
from cosimlib.workload import JobArrays


class Plan(NamedTuple):
    """Availability profile; reserved starts, now and at first; heap of the reservations.

    Starts are NaN before a job is submitted. The heap `due` holds (start, job) and may hold
    reservations that have moved since. A new plan does not list its reservations there, for it may
    be renewed soon: `unlisted` has one value, the earliest start of those that are not in the heap.
    """

    profile: Profile
    start: np.ndarray
    first_start: np.ndarray
    due: list[tuple[float, int]]
    unlisted: np.ndarray


@kernel
def empty(jobs: JobArrays, total_nodes: int) -> Plan:
    """No reservations; room for one per job."""
    n = jobs.nodes.size
    profile = availability.empty(2 * n, total_nodes)
    return Plan(
        profile, np.full(n, np.nan), np.full(n, np.nan), running.empty_ends(), np.full(1, np.inf)
    )


@kernel
def next_due(plan: Plan, started: Running) -> float:
    """The next reserved start; infinity where there is none."""
    due = plan.due
    while len(due) > 0:
        moment, job = due[0]
        if moment == plan.start[job] and np.isnan(started.start_time[job]):
            return min(moment, plan.unlisted[0])
        heappop(due)
    return plan.unlisted[0]


@kernel
def absorb_ends(
    jobs: JobArrays, plan: Plan, started: Running, now: float, free: int
) -> tuple[int, float]:
    """End all jobs that end by `now`; return the free nodes, and until when more are free."""
    availability.advance(plan.profile, now)
    until = -np.inf
    while len(started.ends) > 0 and started.ends[0][0] <= now:
        job = running.end_next(jobs, started)
        expected = started.start_time[job] + jobs.requested_time[job]
        free += jobs.nodes[job]
        if expected > now:
            availability.add(plan.profile, now, expected, jobs.nodes[job])
            until = max(until, expected)
    return free, until


@kernel
def start_due(
    jobs: JobArrays, plan: Plan, started: Running, waiting: Queue, last: int, now: float, free: int
) -> int:
    """Start the jobs whose reservations begin now; return the free nodes."""
    if plan.unlisted[0] <= now:
        _list(plan, started, waiting, last)
    while next_due(plan, started) <= now:
        job = heappop(plan.due)[1]
        running.start(jobs, started, job, now)
        free -= jobs.nodes[job]
    return free


@kernel
def _list(plan: Plan, started: Running, waiting: Queue, last: int) -> None:
    """Rebuild the heap from all waiting jobs that have a reservation."""
    plan.due.clear()
    for place in range(last):
        job = waiting.job[place]
        if np.isnan(started.start_time[job]) and not np.isnan(plan.start[job]):
            plan.due.append((plan.start[job], job))
    heapify(plan.due)
    plan.unlisted[0] = np.inf


@kernel
def reserve(jobs: JobArrays, plan: Plan, started: Running, job: int, now: float, free: int) -> int:
    """Reserve the job's earliest start, and start it if that is now; return the free nodes."""
    nodes, request = jobs.nodes[job], jobs.requested_time[job]
    moment, _ = availability.reserve(plan.profile, nodes, request, now, 1)
    plan.start[job] = moment
    if np.isnan(plan.first_start[job]):
        plan.first_start[job] = moment
    if moment > now:
        heappush(plan.due, (moment, job))
    elif nodes <= free:
        running.start(jobs, started, job, now)
        free -= nodes
    return free


@kernel
def compress(
    jobs: JobArrays,
    plan: Plan,
    started: Running,
    waiting: Queue,
    last: int,
    now: float,
    free: int,
    before: float,
) -> tuple[int, float]:
    """Lift every waiting job, in the queue's order, and place it anew at its earliest start.

    Since every job had its earliest start, nodes have come free before the moment `before` only.
    So a job can only move to a moment before it, and only if the maximum of free nodes until then
    is as many as it wants; that maximum is counted anew, after a move, only when a job wants more.
    The search for a job begins where that for the job before it ended, if both are equal and this
    one is not reserved earlier: it needs the same nodes for as long or longer. Equal neighbors with
    the same reservation move together, as many as have room.

    Returns the free nodes, and the moment before which jobs that moved have left nodes to jobs that
    come earlier in the queue.
    """
    if plan.unlisted[0] < np.inf:
        _list(plan, started, waiting, last)
    left_until, place = -np.inf, 0
    max_free, stale = availability.max_free(plan.profile, before), False
    last_start, last_nodes, last_request, not_before = np.inf, 0, 0.0, now
    while place < last:
        first, nodes, job = place, waiting.wanted[place], waiting.job[place]
        place += 1
        if nodes > max_free and stale:
            max_free, stale = availability.max_free(plan.profile, before), False
        if nodes > max_free:
            continue
        if not np.isnan(started.start_time[job]):
            waiting.wanted[first] = TAKEN
            continue
        start, request = plan.start[job], jobs.requested_time[job]
        if start < last_start or nodes != last_nodes or request != last_request:
            not_before = now
        last_start, last_nodes, last_request = start, nodes, request
        if not_before >= min(start, before):
            continue
        moment, room = availability.earlier_start(
            plan.profile, nodes, request, start, before, not_before
        )
        not_before = min(moment, before)
        if moment == start:
            continue
        if room >= 2 * nodes:
            beside = waiting.job[first : min(last, first + room // nodes)]
            equal = queue.next_different(jobs.nodes, jobs.requested_time, beside, 0)
            place = first + _reserved_together(plan.start, beside[:equal])
        availability.add(plan.profile, start, start + request, (place - first) * nodes)
        availability.add(plan.profile, moment, moment + request, (first - place) * nodes)
        for moved in range(first, place):
            job = waiting.job[moved]
            plan.start[job] = moment
            if moment <= now:
                running.start(jobs, started, job, now)
                waiting.wanted[moved] = TAKEN
                free -= nodes
            else:
                heappush(plan.due, (moment, job))
        left_until = max(left_until, start + request)
        before = max(before, start + request)
        stale = True
    return free, left_until


@frugal_kernel
def _reserved_together(start: np.ndarray, order: np.ndarray) -> int:
    """How many jobs, from the first on, have the same reservation as the first."""
    place = 1
    while place < order.size and start[order[place]] == start[order[0]]:
        place += 1
    return place


@kernel
def renew(
    jobs: JobArrays, plan: Plan, started: Running, order: np.ndarray, now: float, free: int
) -> int:
    """Drop all reservations and reserve for the jobs of `order` in turn; return the free nodes.

    Equal neighbors are placed together, as many at the earliest start as have room; the search for
    the next begins there: while nodes are only taken no earlier start appears.
    """
    plan.due.clear()
    plan.unlisted[0] = np.inf
    availability.rebuild(plan.profile, now, free, started.times, started.nodes, started.size[0])
    place = 0
    while place < order.size:
        end = queue.next_different(jobs.nodes, jobs.requested_time, order, place)
        moment = now
        while place < end:
            job = order[place]
            nodes, request = jobs.nodes[job], jobs.requested_time[job]
            moment, placed = availability.reserve(plan.profile, nodes, request, moment, end - place)
            if moment > now:
                plan.unlisted[0] = min(plan.unlisted[0], moment)
            for neighbor in range(place, place + placed):
                job = order[neighbor]
                plan.start[job] = moment
                if np.isnan(plan.first_start[job]):
                    plan.first_start[job] = moment
                if moment <= now and nodes <= free:
                    running.start(jobs, started, job, now)
                    free -= nodes
            place += placed
    return free
