"""The queue of jobs that wait for nodes, what starts and ends, and the passes of three policies.

For each request with waiting jobs the number of nodes on which it fits is kept, and changed with
each node, so that it costs nothing to pass over a job that does not fit.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type
from cosimlib.nodes.placement import (
    GIVE_BACK,
    TAKE,
    Cluster,
    change,
    choose,
    choose_gpus,
    copy_idle,
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
"""A job, where its nodes are in lists of all jobs' nodes, and its neighbors in the queue."""
WAITING = record_type(integers="fitting jobs place refused refused_nodes")
"""A request: nodes on which it fits and jobs that wait with it, its place among those with any; in
which pass a job of so many nodes was refused."""
EVENT = record_type(floats="time", integers="job")
"""A time at which a job ends, or is expected to."""
STATE = record_type(
    floats="shadow_time",
    integers="policy head last running submitted active passes version seen reserved_for spare "
    "reserved",
)
"""`reserved_for` is the head whose shadow time is known, `reserved` the number of nodes on which it
fits then, `spare` how many of them it leaves over; `version` that of the cluster when a pass began,
`seen` the last job that it looked at."""


class Queue(NamedTuple):
    """Jobs, and what becomes of them.

    `waiting` has a record per request, `active` the requests with waiting jobs; `running` the
    running jobs by their expected ends and `ending` by their ends, latest first; `reserved` the
    nodes on which the head fits at its shadow time; `draws`, `node` and `gpu_set` are as
    `placement.choose` takes them; `state` is one record.
    """

    jobs: np.recarray
    waiting: np.recarray
    active: np.ndarray
    running: np.recarray
    ending: np.recarray
    reserved: np.ndarray
    draws: np.ndarray
    node: np.ndarray
    gpu_set: np.ndarray
    state: np.recarray


@kernel
def simulate_passes(cluster: Cluster, shadow: Cluster, queue: Queue) -> None:
    """Simulate FCFS, first fit or EASY; `shadow` is a second cluster for the shadow time."""
    measure(cluster)
    now = next_instant(cluster, shadow, queue)
    while now < np.inf:
        _run_pass(cluster, shadow, queue, now)
        now = next_instant(cluster, shadow, queue)


@kernel
def next_instant(cluster: Cluster, shadow: Cluster, queue: Queue) -> float:
    """The next instant at which jobs end or are submitted, after which they have; inf for none."""
    state, jobs, ending = queue.state[0], queue.jobs, queue.ending
    now = jobs[state.submitted].submit_time if state.submitted < jobs.size else np.inf
    if state.running > 0:
        now = min(now, ending[state.running - 1].time)
    while state.running > 0 and ending[state.running - 1].time <= now:
        _end(cluster, shadow, queue, ending[state.running - 1].job)
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= now:
        _submit(cluster, queue, state.submitted)
        state.submitted += 1
    return now


@kernel
def begin(cluster: Cluster, queue: Queue, job: int, now: float) -> None:
    """Let a job begin that fits."""
    one = queue.jobs[job]
    first, last = one.first, one.first + one.nodes
    choose(
        cluster,
        one.request,
        job,
        queue.draws[first:last],
        queue.node[first:last],
        queue.gpu_set[first:last],
    )
    begin_on(cluster, queue, job, now)


@kernel
def begin_on(cluster: Cluster, queue: Queue, job: int, now: float) -> None:
    """Let a job begin on the nodes that are chosen for it."""
    one, state = queue.jobs[job], queue.state[0]
    _occupy(cluster, queue, job, TAKE)
    one.start_time = now
    _insert(queue.running, state.running, now + one.requested_time, job)
    _insert(queue.ending, state.running, now + one.run_time, job)
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
    if waiting.jobs > 1:
        return
    waiting.place = state.active
    queue.active[state.active] = one.request
    state.active += 1
    waiting.fitting = 0
    for node in range(cluster.nodes.size):
        waiting.fitting += fits(cluster, one.request, node)


@kernel
def _leave_queue(queue: Queue, job: int) -> None:
    """Take a job out of the queue."""
    one, state, jobs = queue.jobs[job], queue.state[0], queue.jobs
    if one.previous == NOBODY:
        state.head = one.following
    else:
        jobs[one.previous].following = one.following
    if one.following == NOBODY:
        state.last = one.previous
    else:
        jobs[one.following].previous = one.previous
    waiting = queue.waiting[one.request]
    waiting.jobs -= 1
    if waiting.jobs == 0:
        state.active -= 1
        moved = queue.active[state.active]
        queue.active[waiting.place] = moved
        queue.waiting[moved].place = waiting.place


@kernel
def _end(cluster: Cluster, shadow: Cluster, queue: Queue, job: int) -> None:
    """Let a job end, which is the last in the list of ends."""
    state, running = queue.state[0], queue.running
    state.running -= 1
    row = state.running
    while running[row].job != job:
        row -= 1
    if state.reserved_for != NOBODY and running[row].time > state.shadow_time:
        _change_shadow(shadow, queue, job, GIVE_BACK)
    for moved in range(row, state.running):
        running[moved].time, running[moved].job = running[moved + 1].time, running[moved + 1].job
    _occupy(cluster, queue, job, GIVE_BACK)


@kernel
def _insert(events: np.recarray, size: int, time: float, job: int) -> None:
    """Insert an event in its place, the latest first."""
    row = size
    while row > 0 and events[row - 1].time < time:
        events[row].time, events[row].job = events[row - 1].time, events[row - 1].job
        row -= 1
    events[row].time, events[row].job = time, job


@kernel
def _occupy(cluster: Cluster, queue: Queue, job: int, sign: int) -> None:
    """Take a job's nodes, or give them back, and keep the numbers of nodes that fit."""
    one, active = queue.jobs[job], queue.active[: queue.state[0].active]
    for place in range(one.first, one.first + one.nodes):
        node = queue.node[place]
        for request in active:
            queue.waiting[request].fitting -= fits(cluster, request, node)
        change(cluster, one.request, node, queue.gpu_set[place], sign)
        for request in active:
            queue.waiting[request].fitting += fits(cluster, request, node)


@kernel
def _run_pass(cluster: Cluster, shadow: Cluster, queue: Queue, now: float) -> None:
    """One pass: heads that fit begin, and then the jobs that may overtake the blocked head."""
    state, jobs = queue.state[0], queue.jobs
    job, blocked = _first_to_consider(cluster, queue, now)
    is_reserved = False
    while job != NOBODY:
        following, may_begin, is_late = jobs[job].following, fits_now(queue, job), False
        if blocked == NOBODY and not may_begin:
            blocked = job
            following = NOBODY if state.policy == FCFS else following
        elif blocked != NOBODY and may_begin and state.policy == EASY:
            if not is_reserved or state.spare < 0:
                _reserve_for_head(cluster, shadow, queue, now)
                is_reserved = True
            is_late = now + jobs[job].requested_time > state.shadow_time
            may_begin = not is_late or _leaves_enough(cluster, shadow, queue, job)
        if may_begin:
            begin(cluster, queue, job, now)
            if is_late:
                _change_shadow(shadow, queue, job, TAKE)
        job = following
    state.seen = state.last


@kernel
def _first_to_consider(cluster: Cluster, queue: Queue, now: float) -> tuple[int, int]:
    """The first job that a pass looks at, and the head if it is known to be blocked.

    If nothing changed since the last pass began, only jobs submitted since are looked at.
    """
    state, version = queue.state[0], cluster.state[0].version
    is_known = state.policy == FIRST_FIT or (
        state.policy == EASY and state.reserved_for == state.head and state.shadow_time >= now
    )
    if is_known and state.seen != NOBODY and state.version == version:
        return queue.jobs[state.seen].following, state.head
    state.passes += 1
    state.version = version
    return state.head, NOBODY


@kernel
def fits_now(queue: Queue, job: int) -> bool:
    """Whether a waiting job fits on enough nodes."""
    return queue.waiting[queue.jobs[job].request].fitting >= queue.jobs[job].nodes


@kernel
def _reserve_for_head(cluster: Cluster, shadow: Cluster, queue: Queue, now: float) -> None:
    """Know the shadow time of the blocked head and its nodes; `shadow` is the cluster then.

    While others begin that leave the head its nodes, its shadow time stays; if others end, it may
    be earlier.
    """
    state = queue.state[0]
    if state.reserved_for == state.head and state.shadow_time >= now and state.spare >= 0:
        _advance_shadow_time(shadow, queue, now)
    else:
        _find_shadow_time(cluster, shadow, queue, now)
    state.reserved = 0
    for node in range(shadow.nodes.size):
        if fits(shadow, queue.jobs[state.head].request, node):
            queue.reserved[state.reserved] = node
            state.reserved += 1


@kernel
def _find_shadow_time(cluster: Cluster, shadow: Cluster, queue: Queue, now: float) -> None:
    """Release running jobs from now on until the head fits."""
    copy_idle(cluster, shadow)
    state = queue.state[0]
    wanted = queue.jobs[state.head]
    state.reserved_for, state.shadow_time = state.head, now
    state.spare = queue.waiting[wanted.request].fitting - wanted.nodes
    for row in range(state.running - 1, -1, -1):
        event = queue.running[row]
        if event.time > state.shadow_time and state.spare >= 0:
            break
        state.shadow_time = max(event.time, now)
        _change_shadow(shadow, queue, event.job, GIVE_BACK)


@kernel
def _advance_shadow_time(shadow: Cluster, queue: Queue, now: float) -> None:
    """Take back the last releases before the shadow time while the head fits without them."""
    state, running = queue.state[0], queue.running
    first = state.running
    while first > 0 and running[first - 1].time <= state.shadow_time:
        first -= 1
    while state.shadow_time > now:
        last = first
        while last < state.running and running[last].time == state.shadow_time:
            _change_shadow(shadow, queue, running[last].job, TAKE)
            last += 1
        if state.spare < 0:
            for row in range(first, last):
                _change_shadow(shadow, queue, running[row].job, GIVE_BACK)
            return
        first = last
        state.shadow_time = max(now, running[first].time) if first < state.running else now


@kernel
def _change_shadow(shadow: Cluster, queue: Queue, job: int, sign: int) -> None:
    """Take a job's nodes at the shadow time, or give them back, and keep the spare nodes."""
    one, state = queue.jobs[job], queue.state[0]
    head = queue.jobs[state.reserved_for].request
    for place in range(one.first, one.first + one.nodes):
        node = queue.node[place]
        state.spare -= fits(shadow, head, node)
        move(shadow, one.request, node, queue.gpu_set[place], sign)
        state.spare += fits(shadow, head, node)


@kernel
def _leaves_enough(cluster: Cluster, shadow: Cluster, queue: Queue, job: int) -> bool:
    """Whether a job that ends late can leave the head its nodes, which are then barred to it."""
    one, state = queue.jobs[job], queue.state[0]
    waiting, spare, reserved = queue.waiting[one.request], state.spare, state.reserved
    if spare >= one.nodes:
        return True
    if waiting.refused == state.passes and one.nodes >= waiting.refused_nodes:
        return False
    fitting = waiting.fitting
    for node in queue.reserved[:reserved]:
        cluster.nodes[node].barred_to = NOBODY
        if fits(cluster, one.request, node) and _takes_from_head(cluster, shadow, queue, job, node):
            if spare > 0:
                spare -= 1
            else:
                cluster.nodes[node].barred_to = job
                fitting -= 1
    if fitting >= one.nodes:
        return True
    waiting.refused, waiting.refused_nodes = state.passes, one.nodes
    for node in queue.reserved[:reserved]:
        cluster.nodes[node].barred_to = NOBODY
    return False


@kernel
def _takes_from_head(cluster: Cluster, shadow: Cluster, queue: Queue, job: int, node: int) -> bool:
    """Whether the head fits on a node at the shadow time, and would not beside a job."""
    one, head = queue.jobs[job], queue.jobs[queue.state[0].head].request
    if not fits(shadow, head, node):
        return False
    gpus = choose_gpus(cluster, one.request, node, queue.draws[one.first, 1])
    move(shadow, one.request, node, gpus, TAKE)
    is_taken = not fits(shadow, head, node)
    move(shadow, one.request, node, gpus, GIVE_BACK)
    return is_taken
