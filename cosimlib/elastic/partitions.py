"""An elastic partition by itself: EASY backfilling, AddNodes and DeleteNodes.

Each partition runs EASY on the nodes that it has and that do not drain. A running job is expected
to end after its requested time, or, where one of its nodes is withdrawn before, then. A head that
is wider than all of these nodes has no reservation: the others go on until more nodes come.
"""

import numpy as np

from cosimlib.elastic.machine import HOST_OWNER, WAITING, Log, count_usable, give, start, usable
from cosimlib.kernels import releases
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.kernels.occupancy import IDLE


@allocating_kernel
def schedule(
    nodes: np.recarray, jobs: np.recarray, queues: np.recarray, log: Log, partition: int, now: float
) -> None:
    """One pass over a partition's queue: heads that fit, then jobs that do not delay the head."""
    queues.changed[partition] = False
    free = count_usable(nodes, partition, True)
    place, last = queues.head[partition], queues.last[partition]
    while place < last:
        job = jobs.order[place]
        if jobs.state[job] == WAITING:
            if jobs.nodes[job] > free:
                break
            start(nodes, jobs, queues, log, job, now)
            free -= jobs.nodes[job]
        place += 1
    queues.head[partition] = place
    if place == last or free == 0:
        return
    shadow_time, extra = _promise(nodes, jobs, jobs.order[place], partition, free, now)
    for later in range(place + 1, last):
        job = jobs.order[later]
        if jobs.state[job] != WAITING or jobs.nodes[job] > free:
            continue
        if now + jobs.requested_time[job] > shadow_time:
            if jobs.nodes[job] > extra:
                continue
            extra -= jobs.nodes[job]
        start(nodes, jobs, queues, log, job, now)
        free -= jobs.nodes[job]
        if free == 0:
            break


@allocating_kernel
def _promise(nodes, jobs, head, partition, free, now):
    """The head's shadow time and the extra nodes; infinite and none where it never fits."""
    times, counts, size = np.empty(nodes.owner.size), np.empty(nodes.owner.size, np.int64), 0
    for node in range(nodes.owner.size):
        job = nodes.job[node]
        if job != IDLE and usable(nodes, node, partition):
            expected = max(jobs.start_time[job] + jobs.requested_time[job], now)
            expected = min(expected, _withdrawal(nodes, job))
            size = releases.add(times, counts, size, expected, 1)
    shadow_time, extra = releases.shadow(times, counts, size, free, jobs.nodes[head], now)
    if extra < 0:
        return np.inf, 0
    return shadow_time, extra


@allocating_kernel
def _withdrawal(nodes, job):
    """When the first of a job's nodes is withdrawn; infinite where none drains."""
    earliest = np.inf
    for node in range(nodes.owner.size):
        if nodes.job[node] == job:
            earliest = min(earliest, nodes.deadline[node])
    return earliest


@allocating_kernel
def wanted(nodes: np.recarray, queues: np.recarray, partition: int) -> int:
    """AddNodes: nodes that the waiting jobs need beyond the idle ones; 0 or less: none."""
    if queues.waiting[partition] == 0:
        return 0
    return queues.waiting[partition] - count_usable(nodes, partition, True)


@allocating_kernel
def delete_nodes(
    nodes: np.recarray, queues: np.recarray, log: Log, partition: int, now: float
) -> bool:
    """DeleteNodes: give idle nodes to the host where no job waits; whether there were any."""
    if queues.waiting[partition] > 0:
        return False
    deleted = False
    for node in range(nodes.owner.size):
        if usable(nodes, node, partition) and nodes.job[node] == IDLE:
            give(nodes, queues, log, node, HOST_OWNER, now)
            deleted = True
    if deleted:
        queues.changed[partition] = False
    return deleted
