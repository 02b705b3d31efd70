"""The protocol: a host that lends nodes to partitions, each of which runs EASY on what it has.

A node is the host's (`HOST_OWNER`), an interactive user's (`USER_OWNER`), or a partition's; only a
partition's node runs jobs. A node that the host wants back has a *deadline*, the end of its grace
period, and *drains*: it takes no new job. It leaves as soon as it is idle, or at its deadline, when
the job on it is killed on all of its nodes and goes back to its place in the queue.

At an instant, in this order: nodes whose grace period ends are withdrawn (so a job with exactly
that long to go is killed, as the paper counts), jobs end, jobs are submitted, users give nodes
back. Then partitions start jobs, give back idle nodes and get nodes until nothing changes. The
users' preemptions are decided last.

A partition backfills on the nodes that it has and that do not drain. A running job is expected to
end after its requested time, or, where one of its nodes is withdrawn before, then. A head that is
wider than all of these nodes has no reservation: the others go on until more nodes come.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.elastic.vectors import evaluate, least
from cosimlib.kernels import releases
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.occupancy import IDLE

HOST_OWNER, USER_OWNER = -1, -2
COMING, WAITING, RUNNING, DONE = range(4)
NONE = -1


class Rules(NamedTuple):
    """Constants of a simulation: sizes and policies per partition, nodes and priority per job.

    `requests` are the users' preemptions: rows of time, nodes and seconds of use.
    """

    sizes: np.ndarray
    policies: np.ndarray
    grace_period: float
    staleness: float
    nodes: np.ndarray
    priority: np.ndarray
    requests: np.ndarray


class Log(NamedTuple):
    """The log of a simulation, as growing lists.

    attempts: job, start, end, whether it completed · holdings: attempt, node, the node's former
    row · transfers: time, node, owner · reclaims: node, partition, notified, released, the user's
    request or -1, job killed or -1 · granted: nodes of each request so far.
    """

    attempts: list[tuple[int, float, float, int]]
    holdings: list[tuple[int, int, int]]
    transfers: list[tuple[float, int, int]]
    reclaims: list[tuple[int, int, float, float, int, int]]
    granted: list[int]


class State(NamedTuple):
    """Jobs, nodes and queues at an instant, as records of `simulation`, and the log so far."""

    jobs: np.recarray
    nodes: np.recarray
    queues: np.recarray
    log: Log


@kernel
def run(
    records: tuple[np.recarray, np.recarray, np.recarray], rules: Rules, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The log of a simulation, as `_tables`, from jobs, nodes and queues, which are changed."""
    jobs, nodes, queues = records
    state = State(jobs, nodes, queues, _empty_log())
    for node in range(nodes.owner.size):
        state.log.transfers.append((0.0, node, nodes.owner[node]))
    submitted, served = 0, 0
    while True:
        now = _next_instant(state, rules.requests, submitted, served)
        if now == np.inf:
            return _tables(state.log)
        _withdraw(state, now)
        _finish(state, now)
        submitted = _admit(state, submitted, now)
        _settle(state, rules, rng, now)
        while served < rules.requests.shape[0] and rules.requests[served, 0] <= now:
            _serve(state, rules, served, rng, now)
            served += 1
            _settle(state, rules, rng, now)


@kernel
def _empty_log():
    """An empty log: lists of the right types."""
    return Log(
        [(0, 0.0, 0.0, 0) for _ in range(0)],
        [(0, 0, 0) for _ in range(0)],
        [(0.0, 0, 0) for _ in range(0)],
        [(0, 0, 0.0, 0.0, 0, 0) for _ in range(0)],
        [0 for _ in range(0)],
    )


@kernel
def _tables(log):
    """The log as arrays of floats, one row per column: lists take long to hand over."""
    attempts, holdings = np.empty((4, len(log.attempts))), np.empty((3, len(log.holdings)))
    transfers, reclaims = np.empty((3, len(log.transfers))), np.empty((6, len(log.reclaims)))
    for row in range(len(log.attempts)):
        attempts[0, row], attempts[1, row], attempts[2, row], attempts[3, row] = log.attempts[row]
    for row in range(len(log.holdings)):
        holdings[0, row], holdings[1, row], holdings[2, row] = log.holdings[row]
    for row in range(len(log.transfers)):
        transfers[0, row], transfers[1, row], transfers[2, row] = log.transfers[row]
    for row in range(len(log.reclaims)):
        node, partition, reclaims[2, row], reclaims[3, row], request, killed = log.reclaims[row]
        reclaims[0, row], reclaims[1, row] = node, partition
        reclaims[4, row], reclaims[5, row] = request, killed
    return attempts, holdings, transfers, reclaims, np.array(log.granted)


@kernel
def _next_instant(state, requests, submitted, served):
    """The next submission, end, withdrawal, return or preemption; infinite when all are done."""
    jobs, nodes, _, _ = state
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


@kernel
def _withdraw(state, now):
    """Kill the jobs on nodes whose grace period is over; the nodes leave."""
    for node in range(state.nodes.owner.size):
        if state.nodes.deadline[node] <= now:
            _stop(state, state.nodes.job[node], 0, now)


@kernel
def _finish(state, now):
    """End jobs that are done by now, and return nodes that users had until now."""
    jobs, nodes, _, _ = state
    for node in range(nodes.owner.size):
        job = nodes.job[node]
        if job != IDLE and jobs.end_time[job] <= now:
            _stop(state, job, 1, now)
        if nodes.back[node] <= now:
            _give(state, node, HOST_OWNER, now)


@kernel
def _admit(state, submitted, now):
    """Queue the jobs submitted by now; return the next job."""
    jobs, _, queues, _ = state
    while submitted < jobs.submit_time.size and jobs.submit_time[submitted] <= now:
        partition = jobs.home[submitted]
        jobs.state[submitted] = WAITING
        queues.last[partition] += 1
        queues.waiting[partition] += jobs.nodes[submitted]
        queues.changed[partition] = True
        submitted += 1
    return submitted


@kernel
def _settle(state, rules, rng, now):
    """Let partitions and host act by turns until nothing changes any more at this instant."""
    busy = True
    while busy:
        busy = False
        for partition in range(rules.sizes.size):
            if state.queues.changed[partition]:
                _backfill(state, partition, now)
        for partition in range(rules.sizes.size):
            busy |= _delete_nodes(state, partition, now)
        busy |= _hand_out(state, rules.sizes, now)
        if not busy:
            busy = _rebalance(state, rules, rng, now)


@kernel
def _hand_out(state, sizes, now):
    """Give the host's nodes one by one to the partition in need with least of its own size."""
    changed = False
    for node in range(state.nodes.owner.size):
        if state.nodes.owner[node] != HOST_OWNER:
            continue
        neediest, smallest = NONE, np.inf
        for partition in range(sizes.size):
            ratio = _count_usable(state.nodes, partition, False) / sizes[partition]
            if ratio < smallest and _wanted(state, partition) > 0:
                neediest, smallest = partition, ratio
        if neediest == NONE:
            break
        _give(state, node, neediest, now)
        changed = True
    return changed


@kernel
def _rebalance(state, rules, rng, now):
    """Reclaim nodes of partitions above their size for those that wait and are below theirs.

    Returns whether one of them was idle, so that it can be handed out at once.
    """
    missing = _missing(state, rules.sizes)
    if missing <= 0:
        return False
    values = _values(state, rules, rng, now)
    freed = False
    for _ in range(missing):
        node = _least_surplus(state.nodes, rules.sizes, values)
        if node == NONE:
            break
        _reclaim(state, node, NONE, 0.0, now + rules.grace_period, now)
        freed = freed or state.nodes.owner[node] == HOST_OWNER
    return freed


@kernel
def _missing(state, sizes):
    """How many nodes waiting partitions lack of their sizes, less those that drain for them."""
    missing = 0
    for partition in range(sizes.size):
        short = sizes[partition] - _count_usable(state.nodes, partition, False)
        missing += max(min(short, _wanted(state, partition)), 0)
    for node in range(state.nodes.owner.size):
        missing -= state.nodes.deadline[node] < np.inf and state.nodes.use[node] == 0
    return missing


@kernel
def _least_surplus(nodes, sizes, values):
    """The least valued node of partitions that have more than their size; -1 without any."""
    surplus = np.empty(sizes.size, np.bool_)
    for partition in range(sizes.size):
        surplus[partition] = _count_usable(nodes, partition, False) > sizes[partition]
    best = NONE
    for node in range(values.size):
        owner = nodes.owner[node]
        eligible = owner >= 0 and surplus[owner] and _usable(nodes, node, owner)
        if eligible and (best == NONE or values[node] < values[best]):
            best = node
    return best


@kernel
def _serve(state, rules, request, rng, now):
    """Preempt for a user: the host's own nodes, then the least valued that do not drain."""
    nodes = state.nodes
    left, use = int(rules.requests[request, 1]), rules.requests[request, 2]
    for node in range(nodes.owner.size):
        if left > 0 and nodes.owner[node] == HOST_OWNER:
            _give(state, node, USER_OWNER, now)
            nodes.back[node] = now + use
            left -= 1
    values = _values(state, rules, rng, now)
    eligible, chosen = np.empty(values.size, np.bool_), np.empty(values.size, np.bool_)
    for node in range(values.size):
        eligible[node] = nodes.owner[node] >= 0 and nodes.deadline[node] == np.inf
    left -= least(values, eligible, left, chosen)
    state.log.granted.append(int(rules.requests[request, 1]) - left)
    for node in range(values.size):
        if chosen[node]:
            _reclaim(state, node, request, use, now + rules.grace_period, now)


@kernel
def _values(state, rules, rng, now):
    """The vectors that partitions reported last, `staleness` ago, of the nodes they still have.

    A partition divides by the maximum of the nodes that it had when it reported, for it knows no
    others, so a 0.5 of one partition is worth as much as a 0.5 of another, whatever they run.
    Nodes that it has lost since drop out afterwards. One that ran nothing for it then counts as
    idle: 0.
    """
    total = state.nodes.owner.size
    values, part = np.zeros(total), np.empty(total)
    job, elapsed = np.empty(total, np.int64), np.empty(total)
    then = now - rules.staleness
    for partition in range(rules.sizes.size):
        for node in range(total):
            job[node], elapsed[node] = _recall(state, node, partition, then)
        policy = rules.policies[partition]
        evaluate(policy, job, elapsed, rules.nodes, rules.priority, rng, part)
        for node in range(total):
            if state.nodes.owner[node] == partition:
                values[node] = part[node]
    return values


@kernel
def _recall(state, node, partition, then):
    """The job that a node ran for a partition at an earlier moment, and for how long; else IDLE.

    Partitions that ran a job on a node owned it then, whichever owns it now.
    """
    jobs, _, _, log = state
    row = state.nodes.holding[node]
    while row != NONE and log.attempts[log.holdings[row][0]][1] > then:
        row = log.holdings[row][2]
    if row == NONE:
        return IDLE, 0.0
    job, begin, end, _ = log.attempts[log.holdings[row][0]]
    if end > then and jobs.home[job] == partition:
        return job, then - begin
    return IDLE, 0.0


@kernel
def _backfill(state, partition, now):
    """EASY over a partition's queue: heads that fit, then jobs that do not delay the head."""
    jobs, nodes, queues, _ = state
    queues.changed[partition] = False
    free = _count_usable(nodes, partition, True)
    place, last = queues.head[partition], queues.last[partition]
    while place < last:
        job = jobs.order[place]
        if jobs.state[job] == WAITING:
            if jobs.nodes[job] > free:
                break
            _start(state, job, now)
            free -= jobs.nodes[job]
        place += 1
    queues.head[partition] = place
    if place == last or free == 0:
        return
    shadow_time, extra = _promise(state, jobs.order[place], free, now)
    for later in range(place + 1, last):
        job = jobs.order[later]
        if jobs.state[job] != WAITING or jobs.nodes[job] > free:
            continue
        if now + jobs.requested_time[job] > shadow_time:
            if jobs.nodes[job] > extra:
                continue
            extra -= jobs.nodes[job]
        _start(state, job, now)
        free -= jobs.nodes[job]
        if free == 0:
            break


@kernel
def _promise(state, head, free, now):
    """The head's shadow time and the extra nodes; infinite and none where it never fits."""
    jobs, nodes, _, _ = state
    times, counts, size = np.empty(nodes.owner.size), np.empty(nodes.owner.size, np.int64), 0
    for node in range(nodes.owner.size):
        job = nodes.job[node]
        if job != IDLE and _usable(nodes, node, jobs.home[head]):
            expected = max(jobs.start_time[job] + jobs.requested_time[job], now)
            expected = min(expected, _withdrawal(nodes, job))
            size = releases.add(times, counts, size, expected, 1)
    shadow_time, extra = releases.shadow(times, counts, size, free, jobs.nodes[head], now)
    if extra < 0:
        return np.inf, 0
    return shadow_time, extra


@kernel
def _withdrawal(nodes, job):
    """When the first of a job's nodes is withdrawn; infinite where none drains."""
    earliest = np.inf
    for node in range(nodes.owner.size):
        if nodes.job[node] == job:
            earliest = min(earliest, nodes.deadline[node])
    return earliest


@kernel
def _wanted(state, partition):
    """AddNodes: nodes that the waiting jobs need beyond the idle ones; 0 or less: none."""
    if state.queues.waiting[partition] == 0:
        return 0
    return state.queues.waiting[partition] - _count_usable(state.nodes, partition, True)


@kernel
def _delete_nodes(state, partition, now):
    """DeleteNodes: give idle nodes to the host where no job waits; whether there were any."""
    if state.queues.waiting[partition] > 0:
        return False
    deleted = False
    for node in range(state.nodes.owner.size):
        if _usable(state.nodes, node, partition) and state.nodes.job[node] == IDLE:
            _give(state, node, HOST_OWNER, now)
            deleted = True
    if deleted:
        state.queues.changed[partition] = False
    return deleted


@kernel
def _usable(nodes, node, partition):
    """Whether a node belongs to the partition and does not drain."""
    return nodes.owner[node] == partition and nodes.deadline[node] == np.inf


@kernel
def _count_usable(nodes, partition, only_idle):
    """Nodes of a partition that do not drain: all of them, or those that are idle."""
    count = 0
    for node in range(nodes.owner.size):
        if not only_idle or nodes.job[node] == IDLE:
            count += _usable(nodes, node, partition)
    return count


@kernel
def _give(state, node, owner, now):
    """Give a node to another owner; it drains no longer."""
    _, nodes, queues, log = state
    if nodes.owner[node] >= 0:
        queues.changed[nodes.owner[node]] = True
    if owner >= 0:
        queues.changed[owner] = True
    nodes.owner[node] = owner
    nodes.deadline[node] = np.inf
    nodes.back[node] = np.inf
    log.transfers.append((now, node, owner))


@kernel
def _leave(state, node, killed, now):
    """Move a draining node to the user or the host, and close the record of its reclaim."""
    _, nodes, _, log = state
    row = nodes.reclaim[node]
    _, partition, notified, _, request, _ = log.reclaims[row]
    log.reclaims[row] = (node, partition, notified, now, request, killed)
    use = nodes.use[node]
    _give(state, node, USER_OWNER if use > 0 else HOST_OWNER, now)
    if use > 0:
        nodes.back[node] = now + use


@kernel
def _reclaim(state, node, request, use, deadline, now):
    """Reclaim a partition's node for the host by a deadline; an idle one leaves at once.

    `request` is the user's preemption that it is for and `use` its duration; -1 and 0 where it is
    for another partition.
    """
    _, nodes, queues, log = state
    # Jobs that could not backfill may do so now: the head's promise counts on one node less.
    queues.changed[nodes.owner[node]] = True
    nodes.deadline[node], nodes.use[node] = deadline, use
    nodes.reclaim[node] = len(log.reclaims)
    log.reclaims.append((node, nodes.owner[node], now, np.nan, request, NONE))
    if nodes.job[node] == IDLE:
        _leave(state, node, NONE, now)


@kernel
def _start(state, job, now):
    """Start a waiting job on its partition's lowest idle nodes."""
    jobs, nodes, queues, log = state
    partition, wanted = jobs.home[job], jobs.nodes[job]
    jobs.state[job] = RUNNING
    jobs.start_time[job], jobs.end_time[job] = now, now + jobs.run_time[job]
    jobs.attempt[job] = len(log.attempts)
    queues.waiting[partition] -= wanted
    log.attempts.append((job, now, np.inf, 0))
    for node in range(nodes.owner.size):
        if wanted == 0:
            break
        if _usable(nodes, node, partition) and nodes.job[node] == IDLE:
            nodes.job[node] = job
            log.holdings.append((jobs.attempt[job], node, nodes.holding[node]))
            nodes.holding[node] = len(log.holdings) - 1
            wanted -= 1


@kernel
def _stop(state, job, done, now):
    """End a job's run: it is done, or it is killed and waits again in its place."""
    jobs, nodes, queues, log = state
    partition = jobs.home[job]
    log.attempts[jobs.attempt[job]] = (job, jobs.start_time[job], now, done)
    jobs.state[job] = DONE if done else WAITING
    if not done:
        queues.waiting[partition] += jobs.nodes[job]
        queues.head[partition] = min(queues.head[partition], jobs.place[job])
    queues.changed[partition] = True
    for node in range(nodes.owner.size):
        if nodes.job[node] == job:
            nodes.job[node] = IDLE
            if nodes.deadline[node] < np.inf:
                _leave(state, node, NONE if done else job, now)
