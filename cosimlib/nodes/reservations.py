"""Conservative backfilling on nodes: every waiting job has particular nodes and GPUs reserved.

At every instant the reservations are made from nothing, in order of submission: each job gets the
earliest time from which enough nodes each have what it asks for, on the same GPUs, for as long as
it requested, beside the running jobs up to their expected ends and the jobs before it in the queue.
A job whose time is now begins. The plan ends where no job that is left fits now.

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

from cosimlib.kernels.jit import kernel
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
    next_instant,
    places_of,
)


class Plan(NamedTuple):
    """Breakpoints: `times` ascending, and what nodes have idle from each on, as in a `Cluster`.

    `least` is what they have idle all the time from one breakpoint to another.
    """

    times: np.ndarray
    idle: np.ndarray
    least: np.ndarray


@kernel
def simulate_reservations(cluster: Cluster, queue: Queue) -> None:
    """Simulate conservative backfilling."""
    measure(cluster)
    while True:
        now = next_instant(cluster, queue)
        if now == np.inf:
            return
        _plan_pass(cluster, queue, now)


@kernel
def _plan_pass(cluster: Cluster, queue: Queue, now: float) -> None:
    """Reserve for one waiting job after the other, and begin those whose time is now."""
    state, jobs = cluster.state[0], queue.jobs
    first, last, until = state.first, state.last, state.first
    for place in range(first, last):
        one = jobs[jobs[place].waiting]
        until = place + 1 if cluster.requests[one.request].fitting >= one.nodes else until
    if until == first:
        return
    most, (n, columns) = state.running + 2 * (last - first) + 2, cluster.idle.shape
    plan = Plan(np.empty(most), np.empty((most, n, columns), np.int64), queue.shadow)
    size = _plan_running(cluster, queue, plan, now)
    state.last = first
    for place in range(first, last):
        job = jobs[place].waiting
        if place < until:
            size = _reserve(cluster, queue, plan, size, job, now)
        if np.isnan(jobs[job].start_time):
            jobs[state.last].waiting = job
            state.last += 1


@kernel
def _plan_running(cluster: Cluster, queue: Queue, plan: Plan, now: float) -> int:
    """A plan of the running jobs alone; how many breakpoints.

    From the first on nodes are as they are now, also those of jobs that outlive their requests.
    """
    size = 1
    plan.times[0] = now
    copy_idle(cluster.idle, plan.idle[0])
    for row in range(cluster.state[0].running - 1, -1, -1):
        job = queue.jobs[row].running
        if size == 1 or expected_end(queue.jobs, job) > plan.times[size - 1]:
            plan.times[size] = max(now, expected_end(queue.jobs, job))
            copy_idle(plan.idle[size - 1], plan.idle[size])
            size += 1
        request = cluster.requests[queue.jobs[job].request]
        for place in places_of(queue, job):
            move(cluster.nodes, plan.idle[size - 1], place.node, request, place.gpus, GIVE_BACK)
    return size


@kernel
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


@kernel
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
