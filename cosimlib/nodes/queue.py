"""The queue of jobs that wait for nodes, what starts and ends, and the passes of three policies.

For each request with waiting jobs the number of nodes on which it fits is kept, and changed with
each node, so that it costs little to pass over a job that does not fit.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, whole
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
    floats="submit_time run_time requested_time start_time", integers="request nodes first"
)
"""A job, and where its nodes are in the list of all jobs' places."""
WAITING = record_type(integers="fitting jobs place listed refused refused_nodes")
"""A request: nodes on which it fits and jobs that wait with it, its place among those with any; in
which pass a job of so many nodes was refused. `listed` is the request at this place."""
EVENT = record_type(floats="time", integers="job")
"""A time at which a job ends, or is expected to."""
EXPECTED, REAL = whole(0), whole(1)
"""Rows of events."""
STATE = record_type(
    floats="shadow_time",
    integers="policy first last running submitted active passes reserved spare",
)
"""The queue is from `first` to `last`; `reserved` is the number of nodes on which its blocked head
fits at the shadow time, `spare` how many of them it leaves over."""


class Queue(NamedTuple):
    """Jobs, and what becomes of them.

    `order` the waiting jobs in their order; `places` a record per node of each job; `waiting` a
    record per request, of which `active` have waiting jobs; `events` the running jobs' expected and
    real ends, two rows, latest first; `shadow` what nodes have idle at the shadow time; `state` is
    one record.
    """

    jobs: np.recarray
    order: np.ndarray
    places: np.recarray
    waiting: np.recarray
    events: np.recarray
    shadow: np.ndarray
    state: np.recarray


@kernel
def simulate_passes(cluster: Cluster, queue: Queue) -> None:
    """Simulate FCFS, first fit or EASY."""
    measure(cluster)
    while True:
        now = next_instant(cluster, queue)
        if now == np.inf:
            return
        _run_pass(cluster, queue, now)


@kernel
def next_instant(cluster: Cluster, queue: Queue) -> float:
    """The next instant at which jobs end or are submitted, after which they have; inf for none."""
    state, jobs, events = queue.state[0], queue.jobs, queue.events
    now = jobs[state.submitted].submit_time if state.submitted < jobs.size else np.inf
    if state.running > 0:
        now = min(now, events[REAL, state.running - 1].time)
    while state.running > 0 and events[REAL, state.running - 1].time <= now:
        _end(cluster, queue, events[REAL, state.running - 1].job)
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= now:
        _submit(cluster, queue, state.submitted)
        state.submitted += 1
    return now


@kernel
def places_of(queue: Queue, job: int) -> np.ndarray:
    """The places of a job."""
    first = queue.jobs[job].first
    return queue.places[first : first + queue.jobs[job].nodes]


@kernel
def begin(cluster: Cluster, queue: Queue, job: int, now: float) -> None:
    """Let a job begin on the nodes that are chosen for it."""
    one, state, waiting = queue.jobs[job], queue.state[0], queue.waiting
    _occupy(cluster, queue, job, TAKE)
    one.start_time = now
    _insert(queue.events, EXPECTED, state.running, now + one.requested_time, job)
    _insert(queue.events, REAL, state.running, now + one.run_time, job)
    state.running += 1
    here = waiting[one.request]
    here.jobs -= 1
    if here.jobs == 0:
        state.active -= 1
        moved = waiting[state.active].listed
        waiting[here.place].listed = moved
        waiting[moved].place = here.place


@kernel
def _submit(cluster: Cluster, queue: Queue, job: int) -> None:
    """Append a job to the queue; count the nodes for its request if it is the only one with it."""
    state, number = queue.state[0], queue.jobs[job].request
    queue.order[state.last] = job
    state.last += 1
    waiting = queue.waiting[number]
    waiting.jobs += 1
    if waiting.jobs == 1:
        waiting.place = state.active
        queue.waiting[state.active].listed = number
        state.active += 1
        waiting.fitting = count_fitting(cluster, number)


@kernel
def _end(cluster: Cluster, queue: Queue, job: int) -> None:
    """Let a job end, which is the last in the list of real ends."""
    state, events = queue.state[0], queue.events
    state.running -= 1
    row = state.running
    while events[EXPECTED, row].job != job:
        row -= 1
    for moved in range(row, state.running):
        later = events[EXPECTED, moved + 1]
        events[EXPECTED, moved].time, events[EXPECTED, moved].job = later.time, later.job
    _occupy(cluster, queue, job, GIVE_BACK)


@kernel
def _insert(events: np.recarray, kind: int, size: int, time: float, job: int) -> None:
    """Insert an event in its place, the latest first."""
    row = size
    while row > 0 and events[kind, row - 1].time < time:
        before = events[kind, row - 1]
        events[kind, row].time, events[kind, row].job = before.time, before.job
        row -= 1
    events[kind, row].time, events[kind, row].job = time, job


@kernel
def _occupy(cluster: Cluster, queue: Queue, job: int, sign: int) -> None:
    """Take a job's nodes, or give them back, and keep the numbers of nodes that fit."""
    number = queue.jobs[job].request
    for place in places_of(queue, job):
        _count_node(cluster, queue, place.node, -1)
        change(cluster, number, place.node, place.gpus, sign)
        _count_node(cluster, queue, place.node, 1)


@kernel
def _count_node(cluster: Cluster, queue: Queue, node: int, sign: int) -> None:
    """Count a node for the waiting requests that fit on it, or no longer."""
    nodes, idle, requests, waiting = cluster.nodes, cluster.idle, cluster.requests, queue.waiting
    for place in range(queue.state[0].active):
        number = waiting[place].listed
        waiting[number].fitting += sign * fits(nodes, idle, node, requests[number])


@kernel
def _run_pass(cluster: Cluster, queue: Queue, now: float) -> None:
    """One pass: jobs begin that fit and, after the first that does not, delay no reservation."""
    state, order = queue.state[0], queue.order
    first, last, state.last = state.first, state.last, state.first
    state.passes += 1
    state.reserved = NOT_YET
    for place in range(first, last):
        job, is_blocked = order[place], state.last > state.first
        one = queue.jobs[job]
        may_begin = _may_fit(one, queue.waiting[one.request], state, now)
        if state.policy == FCFS and not may_begin:
            state.last = last
            return
        is_limited = may_begin and is_blocked and state.policy == EASY
        if (is_limited and _delays_head(cluster, queue, job, now)) or not may_begin:
            order[state.last] = job
            state.last += 1
            continue
        choose(cluster, one.request, job, places_of(queue, job))
        begin(cluster, queue, job, now)
        if is_limited and now + one.requested_time > state.shadow_time:
            _change_shadow(cluster, queue, job, TAKE)
        if not is_blocked:
            state.first, state.last = place + 1, place + 1


@kernel
def _may_fit(one: np.record, here: np.record, state: np.record, now: float) -> bool:
    """Whether a waiting job fits, and none with its request was refused in this pass."""
    is_refused = here.refused == state.passes and one.nodes >= here.refused_nodes
    is_late = now + one.requested_time > state.shadow_time
    return here.fitting >= one.nodes and not (is_refused and is_late)


@kernel
def _delays_head(cluster: Cluster, queue: Queue, job: int, now: float) -> bool:
    """Whether a job that fits would delay the blocked head, whose shadow time is found first."""
    state = queue.state[0]
    if state.reserved == NOT_YET:
        _reserve_for_head(cluster, queue, now)
    is_late = now + queue.jobs[job].requested_time > state.shadow_time
    return is_late and not _leaves_enough(cluster, queue, job)


@kernel
def _reserve_for_head(cluster: Cluster, queue: Queue, now: float) -> None:
    """Release running jobs from now on until the blocked head fits; list the nodes that it fits."""
    copy_idle(cluster.idle, queue.shadow)
    state, nodes = queue.state[0], cluster.nodes
    head = queue.jobs[queue.order[state.first]]
    state.shadow_time, state.spare = now, queue.waiting[head.request].fitting - head.nodes
    for row in range(state.running - 1, -1, -1):
        event = queue.events[EXPECTED, row]
        if event.time > state.shadow_time and state.spare >= 0:
            break
        state.shadow_time = max(event.time, now)
        _change_shadow(cluster, queue, event.job, GIVE_BACK)
    state.reserved = 0
    for node in range(nodes.size):
        if fits(nodes, queue.shadow, node, cluster.requests[head.request]):
            nodes[state.reserved].reserved = node
            state.reserved += 1


@kernel
def copy_idle(idle: np.ndarray, other: np.ndarray) -> None:
    """Copy what nodes have idle."""
    for node in range(idle.shape[0]):
        for column in range(idle.shape[1]):
            other[node, column] = idle[node, column]


@kernel
def _change_shadow(cluster: Cluster, queue: Queue, job: int, sign: int) -> None:
    """Take a job's nodes at the shadow time, or give them back, and keep the spare nodes."""
    nodes, shadow, state = cluster.nodes, queue.shadow, queue.state[0]
    request = cluster.requests[queue.jobs[job].request]
    head = cluster.requests[queue.jobs[queue.order[state.first]].request]
    for place in places_of(queue, job):
        state.spare -= fits(nodes, shadow, place.node, head)
        move(nodes, shadow, place.node, request, place.gpus, sign)
        state.spare += fits(nodes, shadow, place.node, head)


@kernel
def _leaves_enough(cluster: Cluster, queue: Queue, job: int) -> bool:
    """Whether a job that ends late can leave the head its nodes, which are then barred to it."""
    one, nodes, spare = queue.jobs[job], cluster.nodes, queue.state[0].spare
    if spare >= one.nodes:
        return True
    waiting = queue.waiting[one.request]
    fitting = waiting.fitting
    reserved = nodes[: queue.state[0].reserved]
    for one_of_them in reserved:
        node = one_of_them.reserved
        nodes[node].barred_to = NOBODY
        if _takes_from_head(cluster, queue, job, node):
            if spare > 0:
                spare -= 1
            else:
                nodes[node].barred_to = job
                fitting -= 1
    if fitting >= one.nodes:
        return True
    waiting.refused, waiting.refused_nodes = queue.state[0].passes, one.nodes
    for one_of_them in reserved:
        nodes[one_of_them.reserved].barred_to = NOBODY
    return False


@kernel
def _takes_from_head(cluster: Cluster, queue: Queue, job: int, node: int) -> bool:
    """Whether a job fits on a node where the head fits at the shadow time, but not beside it."""
    nodes, shadow, one = cluster.nodes, queue.shadow, queue.jobs[job]
    request = cluster.requests[one.request]
    head = cluster.requests[queue.jobs[queue.order[queue.state[0].first]].request]
    if not fits(nodes, cluster.idle, node, request) or not fits(nodes, shadow, node, head):
        return False
    gpus = choose_gpus(cluster, one.request, node, queue.places[one.first].gpu_draw)
    move(nodes, shadow, node, request, gpus, TAKE)
    is_taken = not fits(nodes, shadow, node, head)
    move(nodes, shadow, node, request, gpus, GIVE_BACK)
    return is_taken
