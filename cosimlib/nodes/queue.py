"""The queue of jobs that wait for nodes, what starts and ends, and the passes of three policies.

For each request with waiting jobs the number of nodes on which it fits is kept, and changed with
each node, so that it costs little to pass over a job that does not fit.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.records import record_type
from cosimlib.nodes.placement import (
    GIVE_BACK,
    TAKE,
    Cluster,
    change,
    choose,
    choose_gpus,
    count_fitting,
    fits,
    measure,
    move,
)

POLICIES = ("fcfs", "first_fit", "easy", "conservative")
FCFS, FIRST_FIT, EASY, CONSERVATIVE = range(4)

NOBODY = -1
"""No job."""
NOT_YET = -1
"""In the place of a number of nodes that is not known yet."""

JOB = record_type(
    floats="submit_time run_time requested_time start_time",
    integers="request nodes first",
)
"""A job, and where its nodes are in the list of all jobs' places."""


class Queue(NamedTuple):
    """Jobs, and what becomes of them.

    `places` is a record per node of each job. `waiting` and `running` list numbers of jobs: those
    of the queue, in order; those that run, the latest expected end first. `asked` lists the
    requests with waiting jobs. `reserved` lists the nodes on which the blocked head fits at the
    shadow time, and `shadow` is what nodes have idle then. A cluster's state says how long the
    lists are.
    """

    jobs: np.recarray
    places: np.recarray
    waiting: np.ndarray
    running: np.ndarray
    asked: np.ndarray
    reserved: np.ndarray
    shadow: np.ndarray


def queue_of(jobs: np.recarray, places: np.recarray, cluster: Cluster) -> Queue:
    """A queue to which all jobs are still to come."""
    return Queue(
        jobs,
        places,
        waiting=np.empty(jobs.size, np.int64),
        running=np.empty(jobs.size, np.int64),
        asked=np.empty(cluster.requests.size, np.int64),
        reserved=np.empty(cluster.nodes.size, np.int64),
        shadow=np.zeros_like(cluster.idle),
    )


@allocating_kernel
def simulate_passes(cluster: Cluster, queue: Queue) -> None:
    """Simulate FCFS, first fit or EASY."""
    measure(cluster)
    while True:
        now = next_instant(cluster, queue)
        if now == np.inf:
            return
        _run_pass(cluster, queue, now)


@allocating_kernel
def next_instant(cluster: Cluster, queue: Queue) -> float:
    """The next instant at which jobs end or are submitted, after which they have; inf for none.

    Under conservative backfilling it is also one at which a reservation begins.
    """
    state, jobs = cluster.state[0], queue.jobs
    now = min(next_event(cluster, queue), state.next_start)
    running, state.running = state.running, 0
    for place in range(running):
        job = queue.running[place]
        if jobs[job].start_time + jobs[job].run_time <= now:
            _occupy(cluster, queue, job, GIVE_BACK)
        else:
            queue.running[state.running] = job
            state.running += 1
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= now:
        _submit(cluster, queue, state.submitted)
        state.submitted += 1
    return now


@kernel
def next_event(cluster: Cluster, queue: Queue) -> float:
    """When the next job ends or is submitted; infinity for never."""
    state, jobs = cluster.state[0], queue.jobs
    event = jobs[state.submitted].submit_time if state.submitted < jobs.size else np.inf
    for job in queue.running[: state.running]:
        event = min(event, jobs[job].start_time + jobs[job].run_time)
    return event


@allocating_kernel
def places_of(queue: Queue, job: int) -> np.ndarray:
    """The places of a job."""
    first = queue.jobs[job].first
    return queue.places[first : first + queue.jobs[job].nodes]


@kernel
def expected_end(jobs: np.recarray, job: int) -> float:
    """When a running job ends if it takes its requested time."""
    return jobs[job].start_time + jobs[job].requested_time


@allocating_kernel
def begin(cluster: Cluster, queue: Queue, job: int, now: float) -> None:
    """Let a job begin on the nodes that are chosen for it."""
    jobs, state, requests = queue.jobs, cluster.state[0], cluster.requests
    _occupy(cluster, queue, job, TAKE)
    jobs[job].start_time = now
    place = state.running
    while place > 0 and expected_end(jobs, queue.running[place - 1]) < expected_end(jobs, job):
        queue.running[place] = queue.running[place - 1]
        place -= 1
    queue.running[place] = job
    state.running += 1
    request = requests[jobs[job].request]
    request.jobs -= 1
    if request.jobs == 0:
        # The last of the list takes its place.
        state.active -= 1
        last = queue.asked[state.active]
        queue.asked[request.place] = last
        requests[last].place = request.place


@kernel
def _submit(cluster: Cluster, queue: Queue, job: int) -> None:
    """Append a job to the queue; count the nodes for its request if it is the only one with it."""
    state, number, requests = cluster.state[0], queue.jobs[job].request, cluster.requests
    queue.waiting[state.last] = job
    state.last += 1
    requests[number].jobs += 1
    if requests[number].jobs == 1:
        requests[number].place = state.active
        queue.asked[state.active] = number
        state.active += 1
        requests[number].fitting = count_fitting(cluster, number)


@allocating_kernel
def _occupy(cluster: Cluster, queue: Queue, job: int, sign: int) -> None:
    """Take a job's nodes, or give them back, and keep the numbers of nodes that fit."""
    number = queue.jobs[job].request
    for place in places_of(queue, job):
        _count_node(cluster, queue, place.node, GIVE_BACK)
        change(cluster, number, place.node, place.gpus, sign)
        _count_node(cluster, queue, place.node, TAKE)


@kernel
def _count_node(cluster: Cluster, queue: Queue, node: int, sign: int) -> None:
    """Count a node for the waiting requests that fit on it, or no longer."""
    for number in queue.asked[: cluster.state[0].active]:
        request = cluster.requests[number]
        request.fitting += sign * fits(cluster.nodes, cluster.idle, node, request)


@allocating_kernel
def _run_pass(cluster: Cluster, queue: Queue, now: float) -> None:
    """One pass: jobs begin that fit and, after the first that does not, delay no reservation."""
    state, jobs = cluster.state[0], queue.jobs
    first, last, state.last = state.first, state.last, state.first
    state.passes += 1
    state.reserved = NOT_YET
    for place in range(first, last):
        job, is_blocked = queue.waiting[place], state.last > state.first
        one = jobs[job]
        may_begin = cluster.requests[one.request].fitting >= one.nodes
        if state.policy == FCFS and not may_begin:
            state.last = last
            return
        is_limited = may_begin and is_blocked and state.policy == EASY
        if is_limited:
            if state.reserved == NOT_YET:
                _reserve_for_head(cluster, queue, now)
            is_late = now + one.requested_time > state.shadow_time
            may_begin = not is_late or _leaves_enough(cluster, queue, job)
        if not may_begin:
            queue.waiting[state.last] = job
            state.last += 1
            continue
        choose(cluster, one.request, job, places_of(queue, job))
        begin(cluster, queue, job, now)
        if is_limited and is_late:
            _change_shadow(cluster, queue, job, TAKE)
        if not is_blocked:
            state.first, state.last = place + 1, place + 1


@allocating_kernel
def _reserve_for_head(cluster: Cluster, queue: Queue, now: float) -> None:
    """Release running jobs from now on until the blocked head fits; list the nodes that it fits."""
    copy_idle(cluster.idle, queue.shadow)
    state, nodes = cluster.state[0], cluster.nodes
    head = queue.jobs[queue.waiting[state.first]]
    state.shadow_time, state.spare = now, cluster.requests[head.request].fitting - head.nodes
    for place in range(state.running - 1, -1, -1):
        job = queue.running[place]
        if expected_end(queue.jobs, job) > state.shadow_time and state.spare >= 0:
            break
        state.shadow_time = max(expected_end(queue.jobs, job), now)
        _change_shadow(cluster, queue, job, GIVE_BACK)
    state.reserved = 0
    for node in range(nodes.size):
        if fits(nodes, queue.shadow, node, cluster.requests[head.request]):
            queue.reserved[state.reserved] = node
            state.reserved += 1


@kernel
def copy_idle(idle: np.ndarray, other: np.ndarray) -> None:
    """Copy what nodes have idle."""
    for node in range(idle.shape[0]):
        for column in range(idle.shape[1]):
            other[node, column] = idle[node, column]


@allocating_kernel
def _change_shadow(cluster: Cluster, queue: Queue, job: int, sign: int) -> None:
    """Take a job's nodes at the shadow time, or give them back, and keep the spare nodes."""
    nodes, shadow, state = cluster.nodes, queue.shadow, cluster.state[0]
    request = cluster.requests[queue.jobs[job].request]
    head = cluster.requests[queue.jobs[queue.waiting[state.first]].request]
    for place in places_of(queue, job):
        state.spare -= fits(nodes, shadow, place.node, head)
        move(nodes, shadow, place.node, request, place.gpus, sign)
        state.spare += fits(nodes, shadow, place.node, head)


@kernel
def _leaves_enough(cluster: Cluster, queue: Queue, job: int) -> bool:
    """Whether a job that ends late can leave the head its nodes, which are then barred to it."""
    one, nodes, spare = queue.jobs[job], cluster.nodes, cluster.state[0].spare
    if spare >= one.nodes:
        return True
    request = cluster.requests[one.request]
    if request.refused == cluster.state[0].passes and one.nodes >= request.most:
        return False
    fitting = request.fitting
    for node in queue.reserved[: cluster.state[0].reserved]:
        nodes[node].barred_to = NOBODY
        if _takes_from_head(cluster, queue, job, node):
            if spare > 0:
                spare -= 1
            else:
                nodes[node].barred_to = job
                fitting -= 1
    if fitting >= one.nodes:
        return True
    request.refused, request.most = cluster.state[0].passes, one.nodes
    for node in queue.reserved[: cluster.state[0].reserved]:
        nodes[node].barred_to = NOBODY
    return False


@kernel
def _takes_from_head(cluster: Cluster, queue: Queue, job: int, node: int) -> bool:
    """Whether a job fits on a node where the head fits at the shadow time, but not beside it."""
    nodes, shadow, one = cluster.nodes, queue.shadow, queue.jobs[job]
    request = cluster.requests[one.request]
    head = cluster.requests[queue.jobs[queue.waiting[cluster.state[0].first]].request]
    if not fits(nodes, cluster.idle, node, request) or not fits(nodes, shadow, node, head):
        return False
    gpus = choose_gpus(cluster, one.request, node, queue.places[one.first].gpu_draw)
    move(nodes, shadow, node, request, gpus, TAKE)
    is_taken = not fits(nodes, shadow, node, head)
    move(nodes, shadow, node, request, gpus, GIVE_BACK)
    return is_taken
