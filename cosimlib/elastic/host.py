"""The hosting cluster: hands out nodes, and takes the least valued back.

At an instant, in this order: nodes whose grace period ends are withdrawn (so a job with exactly
that long to go is killed, as in the paper's count), jobs end, jobs are submitted, users give nodes
back. Then partitions start jobs, give back idle nodes and get nodes until nothing changes; and last
a user's preemption is decided on what runs then.
"""

import numpy as np

from cosimlib.elastic import policies
from cosimlib.elastic.machine import (
    HOST_OWNER,
    NOTHING,
    USER_OWNER,
    WAITING,
    Rules,
    count_usable,
    empty,
    give,
    reclaim,
    stop,
    tables,
    usable,
)
from cosimlib.elastic.partitions import delete_nodes, schedule, wanted
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.occupancy import IDLE


@kernel
def run(
    jobs: np.recarray,
    nodes: np.recarray,
    queues: np.recarray,
    rules: Rules,
    requests: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The log of a simulation, as `tables`, from an initial state, which is changed.

    `requests` are the users' preemptions: rows of time, nodes and seconds of use.
    """
    log = empty()
    for node in range(nodes.owner.size):
        log.moves.append((0.0, node, nodes.owner[node]))
    submitted, served = 0, 0
    while True:
        now = _next_instant(jobs, nodes, requests, submitted, served)
        if now == np.inf:
            return tables(log)
        _withdraw(nodes, jobs, queues, log, now)
        _finish(nodes, jobs, queues, log, now)
        submitted = _admit(jobs, queues, submitted, now)
        _settle(nodes, jobs, queues, log, rules, rng, now)
        while served < requests.shape[0] and requests[served, 0] <= now:
            _serve(jobs, nodes, queues, log, rules, requests, served, rng, now)
            served += 1
            _settle(nodes, jobs, queues, log, rules, rng, now)


@allocating_kernel
def _next_instant(jobs, nodes, requests, submitted, served):
    """The next submission, end, withdrawal, return or preemption; infinite when all are done."""
    instant = np.inf
    if submitted < jobs.submit_time.size:
        instant = jobs.submit_time[submitted]
    if served < requests.shape[0]:
        instant = min(instant, requests[served, 0])
    for node in range(nodes.owner.size):
        if nodes.job[node] != IDLE:
            instant = min(instant, jobs.end_time[nodes.job[node]], nodes.deadline[node])
        instant = min(instant, nodes.back[node])
    return instant


@allocating_kernel
def _withdraw(nodes, jobs, queues, log, now):
    """Kill the jobs on nodes whose grace period is over; the nodes leave."""
    for node in range(nodes.owner.size):
        if nodes.deadline[node] <= now:
            stop(nodes, jobs, queues, log, nodes.job[node], 0, now)


@allocating_kernel
def _finish(nodes, jobs, queues, log, now):
    """End jobs that are done by now, and return nodes that users had until now."""
    for node in range(nodes.owner.size):
        job = nodes.job[node]
        if job != IDLE and jobs.end_time[job] <= now:
            stop(nodes, jobs, queues, log, job, 1, now)
        if nodes.back[node] <= now:
            give(nodes, queues, log, node, HOST_OWNER, now)


@allocating_kernel
def _admit(jobs, queues, submitted, now):
    """Queue the jobs submitted by now; return the next job."""
    while submitted < jobs.submit_time.size and jobs.submit_time[submitted] <= now:
        partition = jobs.home[submitted]
        jobs.state[submitted] = WAITING
        queues.last[partition] += 1
        queues.waiting[partition] += jobs.nodes[submitted]
        queues.changed[partition] = True
        submitted += 1
    return submitted


@allocating_kernel
def _settle(nodes, jobs, queues, log, rules, rng, now):
    """Let partitions and host act by turns until nothing changes any more at this instant."""
    sizes = rules.sizes
    busy = True
    while busy:
        busy = False
        for partition in range(sizes.size):
            if queues.changed[partition]:
                schedule(nodes, jobs, queues, log, partition, now)
        for partition in range(sizes.size):
            busy |= delete_nodes(nodes, queues, log, partition, now)
        busy |= _hand_out(nodes, queues, log, sizes, now)
        if not busy:
            busy = _rebalance(jobs, nodes, queues, log, rules, rng, now)


@allocating_kernel
def _hand_out(nodes, queues, log, sizes, now):
    """Give the host's nodes one by one to the partition in need with least of its own size."""
    moved = False
    for node in range(nodes.owner.size):
        if nodes.owner[node] != HOST_OWNER:
            continue
        neediest, least = NOTHING, np.inf
        for partition in range(sizes.size):
            ratio = count_usable(nodes, partition, False) / sizes[partition]
            if ratio < least and wanted(nodes, queues, partition) > 0:
                neediest, least = partition, ratio
        if neediest == NOTHING:
            break
        give(nodes, queues, log, node, neediest, now)
        moved = True
    return moved


@allocating_kernel
def _rebalance(jobs, nodes, queues, log, rules, rng, now):
    """Reclaim nodes of partitions above their size for those that wait and are below theirs.

    Returns whether one of them was idle, so that it can be handed out at once.
    """
    missing = _missing(nodes, queues, rules.sizes)
    if missing <= 0:
        return False
    values = _values(jobs, nodes, log, rules, rng, now)
    freed = False
    while missing > 0:
        node = _least_surplus(nodes, rules.sizes, values)
        if node == NOTHING:
            break
        reclaim(nodes, queues, log, node, NOTHING, 0.0, now + rules.grace_period, now)
        freed = freed or nodes.owner[node] == HOST_OWNER
        missing -= 1
    return freed


@allocating_kernel
def _missing(nodes, queues, sizes):
    """How many nodes waiting partitions lack of their sizes, less those that drain for them."""
    missing = 0
    for partition in range(sizes.size):
        short = sizes[partition] - count_usable(nodes, partition, False)
        missing += max(min(short, wanted(nodes, queues, partition)), 0)
    for node in range(nodes.owner.size):
        if nodes.deadline[node] < np.inf and nodes.use[node] == 0:
            missing -= 1
    return missing


@allocating_kernel
def _least_surplus(nodes, sizes, values):
    """The least valued node of partitions that have more than their size; -1 without any."""
    best = NOTHING
    for partition in range(sizes.size):
        if count_usable(nodes, partition, False) <= sizes[partition]:
            continue
        for node in range(values.size):
            if usable(nodes, node, partition) and (
                best == NOTHING
                or values[node] < values[best]
                or (values[node] == values[best] and node < best)
            ):
                best = node
    return best


@allocating_kernel
def _serve(jobs, nodes, queues, log, rules, requests, request, rng, now):
    """A user's preemption: the host's own nodes first, then the least valued of all partitions'.

    The rest lapses: nodes that users have or that drain cannot be taken.
    """
    left, use = int(requests[request, 1]), requests[request, 2]
    for node in range(nodes.owner.size):
        if left > 0 and nodes.owner[node] == HOST_OWNER:
            give(nodes, queues, log, node, USER_OWNER, now)
            nodes.back[node] = now + use
            left -= 1
    values = _values(jobs, nodes, log, rules, rng, now)
    eligible, chosen = np.empty(values.size, np.bool_), np.empty(values.size, np.bool_)
    for node in range(values.size):
        eligible[node] = nodes.owner[node] >= 0 and nodes.deadline[node] == np.inf
    left -= policies.least(values, eligible, left, chosen)
    log.granted.append(int(requests[request, 1]) - left)
    for node in range(values.size):
        if chosen[node]:
            reclaim(nodes, queues, log, node, request, use, now + rules.grace_period, now)


@allocating_kernel
def _values(jobs, nodes, log, rules, rng, now):
    """The vectors that partitions reported last, `staleness` ago, of the nodes they still have.

    A partition divides by the maximum of the nodes that it had when it reported, for it knows no
    others, so a 0.5 of one partition is worth as much as a 0.5 of another, whatever they run.
    Nodes that it has lost since drop out afterwards. One that ran nothing for it then counts as
    idle: 0.
    """
    total = nodes.owner.size
    values, part = np.zeros(total), np.empty(total)
    job, elapsed = np.empty(total, np.int64), np.empty(total)
    for partition in range(rules.sizes.size):
        for node in range(total):
            job[node] = IDLE
            _recall(jobs, nodes, log, node, partition, now - rules.staleness, job, elapsed)
        policy = rules.policies[partition]
        policies.evaluate(policy, job, elapsed, rules.nodes, rules.priority, rng, part)
        for node in range(total):
            if nodes.owner[node] == partition:
                values[node] = part[node]
    return values


@allocating_kernel
def _recall(jobs, nodes, log, node, partition, then, job, elapsed):
    """Write the job that a node ran for a partition at an earlier moment, and for how long.

    Partitions that ran a job on a node owned it then, whichever owns it now.
    """
    row = nodes.holding[node]
    while row != NOTHING and log.attempts[log.holdings[row][0]][1] > then:
        row = log.holdings[row][2]
    if row == NOTHING:
        return
    ran, begin, end, _ = log.attempts[log.holdings[row][0]]
    if end > then and jobs.home[ran] == partition:
        job[node], elapsed[node] = ran, then - begin
