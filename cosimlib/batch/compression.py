"""Compression of a conservative plan: reservations move forward where jobs end early.

At an instant with ends every waiting job, in the queue's order, is lifted and placed anew at its
earliest start. Most stay where they are, and only those are looked at that need not: a job that had
its earliest start can only move to or up to a hole that opened since (see `kernels.holes`), when a
job ended early or when one that comes later in the queue moved away. It moves to where its nodes
are free without interruption up to its reservation, or to a hole that holds it as long as it lasts.
"""

import numpy as np

from cosimlib.batch.plan import Plan, list_all
from cosimlib.kernels import availability, heap, holes, running
from cosimlib.kernels.jit import allocating_kernel, inlined_kernel
from cosimlib.kernels.queue import Queue
from cosimlib.kernels.running import Running
from cosimlib.workload import JobArrays


@allocating_kernel
def compress(
    jobs: JobArrays, plan: Plan, started: Running, waiting: Queue, last: int, now: float, free: int
) -> tuple[int, float]:
    """Lift every waiting job, in the queue's order, and place it anew at its earliest start.

    Equal neighbors with the same reservation move together, as many as have room, or stay together.
    Returns the free nodes, and the moment before which jobs that moved have left nodes to jobs that
    come earlier in the queue.
    """
    if plan.unlisted[0] < np.inf:
        list_all(plan, started, waiting, last)
    left_until, place, kept_kind, kept_start = -np.inf, 0, 0, -np.inf
    holes.begin_pass(plan.holes)
    while place < last:
        first, job = place, waiting.job[place]
        place += 1
        kind, start = plan.kind[job], plan.start[job]
        if start == kept_start and kind == kept_kind:
            continue
        if start <= holes.any_since(plan.holes, kind):
            continue
        nodes, request = jobs.nodes[job], jobs.requested_time[job]
        moment, at, room = _earlier_start(plan, job, nodes, request, start)
        if moment == start:
            kept_kind, kept_start = kind, start
            continue
        kept_start = -np.inf
        while place < last and room >= 2 * nodes and _alike(plan, waiting, first, place):
            place, room = place + 1, room - nodes
        _move(jobs, plan, waiting, first, place, moment, at)
        left_until = max(left_until, start + request)
        if moment <= now:
            for moved in range(first, place):
                heap.remove(plan.due, waiting.job[moved])
                running.start(jobs, started, waiting.job[moved], now)
                free -= nodes
    holes.end_pass(plan.holes)
    return free, left_until


@inlined_kernel
def _earlier_start(
    plan: Plan, job: int, nodes: int, request: float, start: float
) -> tuple[float, int, int]:
    """Earliest moment to which a reservation at `start` can move, or `start`; its place; its nodes.

    These are free there; the job's own, which count as taken, come free from `start` on.
    """
    profile, kind = plan.profile, plan.kind[job]
    place = availability.place_near(profile, start, plan.near[job])
    plan.near[job] = place
    left, room = availability.free_since(profile, nodes, place)
    before = profile.times[left] if left < place else start
    not_before = holes.first_since(plan.holes, kind, request, before)
    if not_before < before:
        moment, inside = availability.earlier_start_near(
            profile, nodes, request, start, before, not_before, left
        )
        not_before = min(moment, before)
        if moment < before:
            before, left, room = moment, availability.place_at(profile, moment), inside
        holes.learn(plan.holes, kind, not_before)
    return before, left, room


@inlined_kernel
def _alike(plan: Plan, waiting: Queue, first: int, place: int) -> bool:
    """Whether the jobs at two places of the queue are equal and have the same reservation."""
    job, other = waiting.job[first], waiting.job[place]
    return plan.kind[job] == plan.kind[other] and plan.start[job] == plan.start[other]


@inlined_kernel
def _move(
    jobs: JobArrays, plan: Plan, waiting: Queue, first: int, last: int, moment: float, at: int
) -> None:
    """Move the reservations of equal neighbors to an earlier moment, the breakpoint `at`."""
    job = waiting.job[first]
    profile, start, request = plan.profile, plan.start[job], jobs.requested_time[job]
    nodes = (last - first) * jobs.nodes[job]
    until, left, end = min(start, moment + request), max(start, moment + request), start + request
    right = plan.near[job] if until == start else availability.place_at(profile, until)
    availability.add_between(profile, at, moment, right, until, -nodes)
    # Where the move is shorter than the grain of the times at the end, nothing comes free.
    if left < end:
        opened = availability.place_at(profile, left)
        closed = availability.place_near(profile, end, opened)
        opened, closed = availability.add_between(profile, opened, left, closed, end, nodes)
        holes.note(plan.holes, profile, opened, left, closed, end)
    for place in range(first, last):
        job = waiting.job[place]
        plan.start[job], plan.near[job] = moment, at
        heap.push(plan.due, job, moment)
