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
"""No job: the neighbor of the first and the last in the queue."""

JOB = record_type(
    floats="submit_time run_time requested_time start_time",
    integers="request nodes first previous following",
)
"""A job, where its nodes are in the list of all jobs' places, and its neighbors in the queue."""
WAITING = record_type(integers="fitting jobs place listed refused refused_nodes")
"""A request: nodes on which it fits and jobs that wait with it, its place among those with any; in
which pass a job of so many nodes was refused. `listed` is the request at this place."""
EVENT = record_type(floats="time", integers="job")
"""A time at which a job ends, or is expected to."""
EXPECTED, REAL = whole(0), whole(1)
"""Rows of events."""
STATE = record_type(
    floats="shadow_time",
    integers="policy head last running submitted active passes version seen reserved_for reserved "
    "spare",
)
"""`reserved_for` is the head whose shadow time is known, `reserved` the number of nodes on which it
fits then, `spare` how many of them it leaves over; `version` that of the cluster when a pass began,
`seen` the last job that it looked at."""


class Queue(NamedTuple):
    """Jobs, and what becomes of them.

    `places` a record per node of each job; `waiting` a record per request, of which `active` have
    waiting jobs; `events` the running jobs' expected and real ends, two rows, latest first;
    `shadow` what nodes have idle at the shadow time; `state` is one record.
    """

    jobs: np.recarray
    places: np.recarray
    waiting: np.recarray
    events: np.recarray
    shadow: np.ndarray
    state: np.recarray


@kernel
def simulate_passes(cluster: Cluster, queue: Queue) -> None:
    """Simulate FCFS, first fit or EASY."""
    measure(cluster)
    now = next_instant(cluster, queue)
    while now < np.inf:
        _run_pass(cluster, queue, now)
        now = next_instant(cluster, queue)


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
    one, state = queue.jobs[job], queue.state[0]
    _occupy(cluster, queue, job, TAKE)
    one.start_time = now
    _insert(queue.events, EXPECTED, state.running, now + one.requested_time, job)
    _insert(queue.events, REAL, state.running, now + one.run_time, job)
    state.running += 1
    _leave_queue(queue, job)


@kernel
def _submit(cluster: Cluster, queue: Queue, job: int) -> None:
    """Append a job to the queue; count the nodes for its request if it is the only one with it."""
    one, state, jobs = queue.jobs[job], queue.state[0], queue.jobs
    one.previous, one.following = state.last, NOBODY
    if state.last == NOBODY:
        state.head = job
    else:
        jobs[state.last].following = job
    state.last = job
    waiting = queue.waiting[one.request]
    waiting.jobs += 1
    if waiting.jobs == 1:
        waiting.place = state.active
        queue.waiting[state.active].listed = one.request
        state.active += 1
        waiting.fitting = count_fitting(cluster, one.request)


@kernel
def _leave_queue(queue: Queue, job: int) -> None:
    """Take a job out of the queue."""
    one, state, jobs, waiting = queue.jobs[job], queue.state[0], queue.jobs, queue.waiting
    here = waiting[one.request]
    if one.previous == NOBODY:
        state.head = one.following
    else:
        jobs[one.previous].following = one.following
    if one.following == NOBODY:
        state.last = one.previous
    else:
        jobs[one.following].previous = one.previous
    here.jobs -= 1
    if here.jobs == 0:
        state.active -= 1
        moved = waiting[state.active].listed
        waiting[here.place].listed = moved
        waiting[moved].place = here.place


@kernel
def _end(cluster: Cluster, queue: Queue, job: int) -> None:
    """Let a job end, which is the last in the list of real ends."""
    state, events = queue.state[0], queue.events
    state.running -= 1
    row = state.running
    while events[EXPECTED, row].job != job:
        row -= 1
    if state.reserved_for != NOBODY and events[EXPECTED, row].time > state.shadow_time:
        _change_shadow(cluster, queue, job, GIVE_BACK)
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
    """One pass: heads that fit begin, and then the jobs that may overtake the blocked head."""
    state, jobs = queue.state[0], queue.jobs
    job = _skip_seen(cluster, queue, now)
    if job == state.head:
        while job != NOBODY and fits_now(queue, job):
            _choose_and_begin(cluster, queue, job, now)
            job = state.head
        job = NOBODY if job == NOBODY or state.policy == FCFS else jobs[job].following
    is_reserved, job = False, _next_that_fits(jobs, queue.waiting, state, job, now)
    while job != NOBODY:
        following, may_begin, is_late = jobs[job].following, True, False
        if state.policy == EASY:
            if not is_reserved:
                _reserve_for_head(cluster, queue, now)
                is_reserved = True
            is_late = now + jobs[job].requested_time > state.shadow_time
            may_begin = not is_late or _leaves_enough(cluster, queue, job)
        if may_begin:
            _choose_and_begin(cluster, queue, job, now)
            if is_late:
                _change_shadow(cluster, queue, job, TAKE)
        job = _next_that_fits(jobs, queue.waiting, state, following, now)
    state.seen = state.last


@kernel
def _skip_seen(cluster: Cluster, queue: Queue, now: float) -> int:
    """The first job that a pass looks at.

    If nothing changed since the last pass began, only jobs submitted since are looked at.
    """
    state, version = queue.state[0], cluster.state[0].version
    is_known = state.policy == FIRST_FIT or (
        state.policy == EASY and state.reserved_for == state.head and state.shadow_time >= now
    )
    if is_known and state.seen != NOBODY and state.version == version:
        return queue.jobs[state.seen].following
    state.passes += 1
    state.version = version
    return state.head


@kernel
def _next_that_fits(
    jobs: np.recarray, waiting: np.recarray, state: np.record, job: int, now: float
) -> int:
    """The first job from one on that fits, and was not refused in this pass for ending late."""
    while job != NOBODY:
        one, here = jobs[job], waiting[jobs[job].request]
        is_refused = here.refused == state.passes and one.nodes >= here.refused_nodes
        is_refused = is_refused and now + one.requested_time > state.shadow_time
        if here.fitting >= one.nodes and not is_refused:
            return job
        job = one.following
    return NOBODY


@kernel
def fits_now(queue: Queue, job: int) -> bool:
    """Whether a waiting job fits on enough nodes."""
    return queue.waiting[queue.jobs[job].request].fitting >= queue.jobs[job].nodes


@kernel
def _choose_and_begin(cluster: Cluster, queue: Queue, job: int, now: float) -> None:
    """Let a job begin that fits."""
    choose(cluster, queue.jobs[job].request, job, places_of(queue, job))
    begin(cluster, queue, job, now)


@kernel
def _reserve_for_head(cluster: Cluster, queue: Queue, now: float) -> None:
    """Know the shadow time of the blocked head, what is idle then, and the nodes on which it fits.

    While others begin that leave the head its nodes, its shadow time stays; if others end, it may
    be earlier.
    """
    state = queue.state[0]
    if state.reserved_for == state.head and state.shadow_time >= now:
        _advance_shadow_time(cluster, queue, now)
    else:
        _find_shadow_time(cluster, queue, now)
    state.reserved, request = 0, cluster.requests[queue.jobs[state.head].request]
    for node in range(cluster.nodes.size):
        if fits(cluster.nodes, queue.shadow, node, request):
            cluster.nodes[state.reserved].reserved = node
            state.reserved += 1


@kernel
def _find_shadow_time(cluster: Cluster, queue: Queue, now: float) -> None:
    """Release running jobs from now on until the head fits."""
    copy_idle(cluster.idle, queue.shadow)
    state = queue.state[0]
    wanted = queue.jobs[state.head]
    state.reserved_for, state.shadow_time = state.head, now
    state.spare = queue.waiting[wanted.request].fitting - wanted.nodes
    for row in range(state.running - 1, -1, -1):
        event = queue.events[EXPECTED, row]
        if event.time > state.shadow_time and state.spare >= 0:
            break
        state.shadow_time = max(event.time, now)
        _change_shadow(cluster, queue, event.job, GIVE_BACK)


@kernel
def copy_idle(idle: np.ndarray, other: np.ndarray) -> None:
    """Copy what nodes have idle."""
    for node in range(idle.shape[0]):
        for column in range(idle.shape[1]):
            other[node, column] = idle[node, column]


@kernel
def _advance_shadow_time(cluster: Cluster, queue: Queue, now: float) -> None:
    """Take back the last releases before the shadow time while the head fits without them."""
    state, running = queue.state[0], queue.events[EXPECTED]
    first = state.running
    while first > 0 and running[first - 1].time <= state.shadow_time:
        first -= 1
    while state.shadow_time > now:
        last = first
        while last < state.running and running[last].time == state.shadow_time:
            _change_shadow(cluster, queue, running[last].job, TAKE)
            last += 1
        if state.spare < 0:
            for row in range(first, last):
                _change_shadow(cluster, queue, running[row].job, GIVE_BACK)
            return
        first = last
        state.shadow_time = max(now, running[first].time) if first < state.running else now


@kernel
def _change_shadow(cluster: Cluster, queue: Queue, job: int, sign: int) -> None:
    """Take a job's nodes at the shadow time, or give them back, and keep the spare nodes."""
    nodes, shadow, state = cluster.nodes, queue.shadow, queue.state[0]
    request = cluster.requests[queue.jobs[job].request]
    head = cluster.requests[queue.jobs[state.reserved_for].request]
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
    head = cluster.requests[queue.jobs[queue.state[0].head].request]
    if not fits(nodes, cluster.idle, node, request) or not fits(nodes, shadow, node, head):
        return False
    gpus = choose_gpus(cluster, one.request, node, queue.places[one.first].gpu_draw)
    move(nodes, shadow, node, request, gpus, TAKE)
    is_taken = not fits(nodes, shadow, node, head)
    move(nodes, shadow, node, request, gpus, GIVE_BACK)
    return is_taken
