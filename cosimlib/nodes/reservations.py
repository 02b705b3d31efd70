"""Conservative backfilling on nodes: every waiting job has particular nodes and GPUs reserved.

At every instant the reservations are made from nothing, in order of submission: each job gets the
earliest time from which enough nodes each have what it asks for, on the same GPUs, for as long as
it requested, beside the running jobs up to their expected ends and the jobs before it in the queue.
A job whose time is now begins. The plan ends where no job that is left fits now.

A reservation does not change its nodes while others are made. So a later job may be kept waiting by
the choice of nodes where counts would let it start: starts may differ from those of
``simulate_conservative(reservations="replanned")``, whose nodes have no names. The nodes of a job
that outlives its request count as free right after now; a job that is to begin on them waits.

Placements choose nodes for jobs that begin. Reservations for later take the nodes of the lowest
numbers, and GPUs are chosen without regard to fragmentation, also with ``fgd``.

What each node has idle is kept in a table of breakpoints: from each to the next it is constant.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.nodes.placement import (
    GIVE_BACK,
    Cluster,
    choose,
    choose_gpus,
    copy_idle,
    cores_of,
    fits,
    measure,
    move,
)
from cosimlib.nodes.queue import NOBODY, Queue, begin_on, fits_now, next_instant


class Plan(NamedTuple):
    """Breakpoints: `times` ascending, and what nodes have idle from each on.

    `cores` and `memory` per breakpoint and node, `gpus` per breakpoint, node and GPU.
    """

    times: np.ndarray
    cores: np.ndarray
    memory: np.ndarray
    gpus: np.ndarray


@kernel
def simulate_reservations(cluster: Cluster, trial: Cluster, queue: Queue) -> None:
    """Simulate conservative backfilling; `trial` is a second cluster, for nodes over a time."""
    measure(cluster)
    now = next_instant(cluster, trial, queue)
    while now < np.inf:
        _plan_pass(cluster, trial, queue, now)
        now = next_instant(cluster, trial, queue)


@kernel
def _plan_pass(cluster: Cluster, trial: Cluster, queue: Queue, now: float) -> None:
    """Reserve for one waiting job after the other, and begin those whose time is now."""
    state, waiting, last = queue.state[0], 0, NOBODY
    job = state.head
    while job != NOBODY:
        waiting += 1
        last = job if fits_now(queue, job) else last
        job = queue.jobs[job].following
    if last == NOBODY:
        return
    n, most = cluster.nodes.size, state.running + 2 * waiting + 1
    plan = Plan(
        np.empty(most),
        np.empty((most, n), np.int64),
        np.empty((most, n), np.int64),
        np.empty((most, n, cluster.gpus.shape[1]), np.int64),
    )
    size, job, is_last = _running_jobs(cluster, trial, queue, plan, now), state.head, False
    while job != NOBODY and not is_last:
        following, is_last = queue.jobs[job].following, job == last
        size = _reserve(cluster, trial, queue, plan, size, job, now)
        job = following


@kernel
def _running_jobs(cluster: Cluster, trial: Cluster, queue: Queue, plan: Plan, now: float) -> int:
    """A plan of the running jobs alone; how many breakpoints."""
    copy_idle(cluster, trial)
    size, time = 0, now
    for row in range(queue.state[0].running - 1, -1, -1):
        event = queue.running[row]
        if event.time > time:
            size = _append(trial, plan, size, time)
            time = event.time
        one = queue.jobs[event.job]
        for place in range(one.first, one.first + one.nodes):
            move(trial, one.request, queue.node[place], queue.gpu_set[place], GIVE_BACK)
    return _append(trial, plan, size, time)


@kernel
def _append(trial: Cluster, plan: Plan, size: int, time: float) -> int:
    """Append a breakpoint with what the nodes have idle; how many there are."""
    plan.times[size] = time
    for node in range(trial.nodes.size):
        plan.cores[size, node] = trial.nodes[node].cores
        plan.memory[size, node] = trial.nodes[node].memory
        plan.gpus[size, node] = trial.gpus[node]
    return size + 1


@kernel
def _reserve(
    cluster: Cluster, trial: Cluster, queue: Queue, plan: Plan, size: int, job: int, now: float
) -> int:
    """Reserve for a job at its earliest time, and begin it if that is now; the breakpoints."""
    one, row, until = queue.jobs[job], 0, 0
    while True:
        until = row
        while until < size and plan.times[until] < plan.times[row] + one.requested_time:
            until += 1
        if _fitting(trial, plan, one.request, row, until) >= one.nodes:
            break
        row += 1
    end = plan.times[row] + one.requested_time
    if until == size or plan.times[until] > end:
        size = _split(plan, size, until, end)
    is_now = row == 0 and _may_begin(cluster, trial, queue, job)
    if not is_now:
        _fitting(trial, plan, one.request, row, until)
        _choose_lowest(trial, queue, job)
    for place in range(one.first, one.first + one.nodes):
        _take(cluster, plan, row, until, one.request, queue.node[place], queue.gpu_set[place])
    if is_now:
        begin_on(cluster, queue, job, now)
    return size


@kernel
def _choose_lowest(trial: Cluster, queue: Queue, job: int) -> None:
    """Choose the nodes of the lowest numbers on which a job fits in the trial."""
    one, found = queue.jobs[job], 0
    for node in range(trial.nodes.size):
        if found < one.nodes and fits(trial, one.request, node):
            queue.node[one.first + found] = node
            queue.gpu_set[one.first + found] = choose_gpus(trial, one.request, node, 0.0)
            found += 1


@kernel
def _fitting(trial: Cluster, plan: Plan, number: int, row: int, until: int) -> int:
    """Nodes that fit from a breakpoint until another; `trial` gets what is idle all the time."""
    found = 0
    for node in range(trial.nodes.size):
        here, gpus = trial.nodes[node], trial.gpus
        here.cores, here.memory = plan.cores[row, node], plan.memory[row, node]
        for gpu in range(here.gpus):
            gpus[node, gpu] = plan.gpus[row, node, gpu]
        for later in range(row + 1, until):
            here.cores = min(here.cores, plan.cores[later, node])
            here.memory = min(here.memory, plan.memory[later, node])
            for gpu in range(here.gpus):
                gpus[node, gpu] = min(gpus[node, gpu], plan.gpus[later, node, gpu])
        found += _fits_trial(trial, number, node)
    return found


@kernel
def _fits_trial(trial: Cluster, number: int, node: int) -> bool:
    """Whether a request fits on a node of the trial, whose idle GPUs are summed first."""
    here = trial.nodes[node]
    here.idle_gpu = 0
    for gpu in range(here.gpus):
        here.idle_gpu += trial.gpus[node, gpu]
    return fits(trial, number, node)


@kernel
def _may_begin(cluster: Cluster, trial: Cluster, queue: Queue, job: int) -> bool:
    """Choose nodes on which a job fits now and until its end; False if they are too few."""
    one = queue.jobs[job]
    for node in range(cluster.nodes.size):
        here, there = cluster.nodes[node], trial.nodes[node]
        there.cores, there.memory = min(here.cores, there.cores), min(here.memory, there.memory)
        for gpu in range(here.gpus):
            trial.gpus[node, gpu] = min(trial.gpus[node, gpu], cluster.gpus[node, gpu])
        here.barred_to = NOBODY if _fits_trial(trial, one.request, node) else job
    first, last = one.first, one.first + one.nodes
    nodes, sets = queue.node[first:last], queue.gpu_set[first:last]
    draws = queue.draws[first:last]
    may_begin = choose(cluster, one.request, job, draws, nodes, sets)
    for place in range(nodes.size):
        if may_begin:
            sets[place] = choose_gpus(trial, one.request, nodes[place], draws[0, 1])
    for node in range(cluster.nodes.size):
        cluster.nodes[node].barred_to = NOBODY
    return may_begin


@kernel
def _split(plan: Plan, size: int, at: int, time: float) -> int:
    """Insert a breakpoint with what is idle before it; how many there are."""
    for row in range(size, at - 1, -1):
        plan.cores[row] = plan.cores[row - 1]
        plan.memory[row] = plan.memory[row - 1]
        plan.gpus[row] = plan.gpus[row - 1]
    for row in range(size, at, -1):
        plan.times[row] = plan.times[row - 1]
    plan.times[at] = time
    return size + 1


@kernel
def _take(
    cluster: Cluster, plan: Plan, row: int, until: int, number: int, node: int, gpus: int
) -> None:
    """Take what a request asks for from a breakpoint until another."""
    here, request = cluster.nodes[node], cluster.requests[number]
    cores = cores_of(here, request.cores)
    for later in range(row, until):
        plan.cores[later, node] -= cores
        plan.memory[later, node] -= request.memory
        for gpu in range(here.gpus):
            plan.gpus[later, node, gpu] -= request.share * ((gpus >> gpu) & 1)
