"""Conservative backfilling on nodes: every waiting job has particular nodes and GPUs reserved.

At every instant the reservations are made from nothing, in order of submission: each job gets the
earliest time from which enough nodes each have what it asks for, on the same GPUs, for as long as
it requested, beside the running jobs up to their expected ends and the jobs before it in the queue.
A job whose time is now begins. Instants are those at which jobs end, are submitted, or have a
reservation that begins. A reservation begins without an end or a submission only where a running
job outlives its request. Where none does, the plan ends where no job that is left fits now.

A reservation keeps its nodes while those of later jobs are made, so that a later job may wait for
longer than where nodes are counted, as in ``simulate_conservative(reservations="replanned")``.

A job that begins takes nodes by the placement's rule. A reservation for later takes the nodes on
which the job fits for the shortest time before, and among equal ones those of the lowest numbers:
so the others stay idle for longer. On each of its nodes a job takes the GPUs with the least idle
part that is enough. Jobs that outlive their requests are expected to end right after now: nobody
begins on their nodes now.

What each node has idle is kept in a table of breakpoints: from each to the next it is constant.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.nodes.placement import (
    CORES,
    GIVE_BACK,
    LEAST,
    TAKE,
    Cluster,
    choose,
    fits,
    least_idle,
    measure,
    move,
)
from cosimlib.nodes.queue import (
    NOBODY,
    Queue,
    begin,
    copy_idle,
    expected_end,
    next_event,
    next_instant,
    places_of,
)

MOST_PLANNED, MOST_PLANNED_PER_JOB = 100_000, 200
"""Reservations made at most, in all and per job, at instants at which no job comes or ends: a job
that outlives a request of seconds by weeks would take hours."""


class Plan(NamedTuple):
    """Breakpoints: `times` ascending, and what nodes have idle from each on, as in a `Cluster`.

    `least` is what they have idle all the time from one breakpoint to another.
    """

    times: np.ndarray
    idle: np.ndarray
    least: np.ndarray


@allocating_kernel
def simulate_reservations(cluster: Cluster, queue: Queue) -> None:
    """Simulate conservative backfilling.

    It ends early, with starts still NaN, once plans were made too often for reservations alone.
    """
    state, most = cluster.state[0], MOST_PLANNED + MOST_PLANNED_PER_JOB * queue.jobs.size
    measure(cluster)
    while state.planned <= most:
        event = next_event(cluster, queue)
        now = next_instant(cluster, queue)
        if now == np.inf:
            return
        if now < event:
            state.planned += state.last - state.first
        _plan_pass(cluster, queue, now)


@allocating_kernel
def _plan_pass(cluster: Cluster, queue: Queue, now: float) -> None:
    """Reserve for one waiting job after the other, and begin those whose time is now.

    After the last job that fits now, reservations are made only to know when the next begins.
    """
    state, jobs = cluster.state[0], queue.jobs
    state.next_start = np.inf
    first, last, until = state.first, state.last, state.first
    for place in range(first, last):
        job = jobs[queue.waiting[place]]
        until = place + 1 if cluster.requests[job.request].fitting >= job.nodes else until
    is_late = until < last and _is_an_end_late(cluster, queue)
    if until == first and not is_late:
        return
    most, (n, columns) = state.running + 2 * (last - first) + 2, cluster.idle.shape
    plan = Plan(np.empty(most), np.empty((most, n, columns), np.int64), queue.shadow)
    size = _plan_running(cluster, queue, plan, now)
    state.last = first
    for place in range(first, last):
        number = queue.waiting[place]
        if place == until:
            is_late = _is_an_end_late(cluster, queue)
        if place < until or is_late:
            size = _reserve(cluster, queue, plan, size, number, now)
        if np.isnan(jobs[number].start_time):
            queue.waiting[state.last] = number
            state.last += 1


@kernel
def _is_an_end_late(cluster: Cluster, queue: Queue) -> bool:
    """Whether a running job is expected to end before the next event: it outlives its request."""
    event = next_event(cluster, queue)
    for job in queue.running[: cluster.state[0].running]:
        if expected_end(queue.jobs, job) < event:
            return True
    return False


@allocating_kernel
def _plan_running(cluster: Cluster, queue: Queue, plan: Plan, now: float) -> int:
    """A plan of the running jobs alone; how many breakpoints.

    From the first on nodes are as they are now, also those of jobs that outlive their requests.
    """
    size = 1
    plan.times[0] = now
    copy_idle(cluster.idle, plan.idle[0])
    for row in range(cluster.state[0].running - 1, -1, -1):
        job = queue.running[row]
        if size == 1 or expected_end(queue.jobs, job) > plan.times[size - 1]:
            plan.times[size] = max(now, expected_end(queue.jobs, job))
            copy_idle(plan.idle[size - 1], plan.idle[size])
            size += 1
        request = cluster.requests[queue.jobs[job].request]
        for place in places_of(queue, job):
            move(cluster.nodes, plan.idle[size - 1], place.node, request, place.gpus, GIVE_BACK)
    return size


@allocating_kernel
def _reserve(cluster: Cluster, queue: Queue, plan: Plan, size: int, job: int, now: float) -> int:
    """Reserve for a job at its earliest time, and begin it if that is now; the breakpoints."""
    one, row, until, fitting = queue.jobs[job], -1, 0, -1
    request, end = cluster.requests[one.request], now
    while fitting < one.nodes:
        row += 1
        end = plan.times[row] + one.requested_time
        while until < size and plan.times[until] < end:
            until += 1
        fitting = 0
        for node in range(cluster.nodes.size):
            fitting += _fits_until(cluster.nodes, plan, request, row, until, node)
    if until == size or plan.times[until] > end:
        _split(plan, size, until, end)
        size += 1
    _choose_for_plan(cluster, queue, plan, job, row)
    for place in places_of(queue, job):
        for later in range(row, until):
            move(cluster.nodes, plan.idle[later], place.node, request, place.gpus, TAKE)
    if row == 0:
        begin(cluster, queue, job, now)
    elif plan.times[row] > now:
        state = cluster.state[0]
        state.next_start = min(state.next_start, plan.times[row])
    return size


@kernel
def _fits_until(
    nodes: np.recarray, plan: Plan, request: np.record, row: int, until: int, node: int
) -> bool:
    """Whether a request fits on a node from a breakpoint until another, so that `least` is known.

    If it does not, `least` has −1 cores.
    """
    least, idle = plan.least, plan.idle
    for column in range(least.shape[1]):
        least[node, column] = idle[row, node, column]
    for later in range(row + 1, until):
        if not fits(nodes, least, node, request):
            break
        for column in range(least.shape[1]):
            least[node, column] = min(least[node, column], idle[later, node, column])
    if fits(nodes, least, node, request):
        return True
    least[node, CORES] = -1
    return False


@allocating_kernel
def _choose_for_plan(cluster: Cluster, queue: Queue, plan: Plan, job: int, row: int) -> None:
    """Choose nodes and GPUs of those that are idle for long enough from a breakpoint on."""
    number, places, least = queue.jobs[job].request, places_of(queue, job), plan.least
    request, nodes, found = cluster.requests[number], cluster.nodes, 0
    if row == 0:
        for node in range(nodes.size):
            nodes[node].barred_to = job if least[node, CORES] < 0 else NOBODY
        choose(cluster, number, job, places)
        found = places.size
    while found < places.size:
        row -= 1
        for node in range(nodes.size):
            is_idle_since = least[node, CORES] >= 0 and found < places.size
            if is_idle_since and (row < 0 or not fits(nodes, plan.idle[row], node, request)):
                places[found].node = node
                least[node, CORES] = -1
                found += 1
    for place in places:
        place.gpus = least_idle(least, place.node, request, LEAST)


@kernel
def _split(plan: Plan, size: int, at: int, time: float) -> None:
    """Insert a breakpoint with what is idle before it."""
    for row in range(size, at, -1):
        plan.times[row] = plan.times[row - 1]
        copy_idle(plan.idle[row - 1], plan.idle[row])
    plan.times[at] = time
    copy_idle(plan.idle[at - 1], plan.idle[at])
