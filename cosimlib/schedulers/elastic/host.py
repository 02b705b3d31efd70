"""What the host does: hand out nodes, and take the least valued back.

At an instant, in this order: nodes whose grace period ends are withdrawn (so a job with exactly
that long to go is killed, as in the paper's count), jobs end, jobs are submitted, users give nodes
back. Then partitions start jobs, give back idle nodes and get nodes until nothing changes; and last
a user's preemption is decided on what runs then.
"""

import numpy as np

from cosimlib.kernels import valuing
from cosimlib.kernels.compiling import kernel
from cosimlib.kernels.holding import IDLE
from cosimlib.schedulers.elastic.machine import (
    COMING,
    HOST,
    NOTHING,
    USER,
    WAITING,
    Jobs,
    Nodes,
    Queues,
    count_usable,
    empty_log,
    give,
    leave,
    reclaim,
    stop,
)
from cosimlib.schedulers.elastic.partitions import delete_nodes, schedule, wanted


@kernel
def run(asked, sizes, spare, policies, grace_period, staleness, requests, rng):
    """The log of a simulation; `requests` are time, nodes and seconds of use, one row each.

    `sizes` and `policies` are one a partition; `spare` nodes are the host's at the beginning.
    """
    nodes, jobs, queues, log = _begin(asked, sizes, spare)
    submitted, served = 0, 0
    while True:
        now = _next_instant(asked, nodes, jobs, requests, submitted, served)
        if now == np.inf:
            return log
        _withdraw(asked, nodes, jobs, queues, log, now)
        for node in range(nodes.owner.size):
            job = nodes.job[node]
            if job != IDLE and jobs.end_time[job] <= now:
                stop(asked, nodes, jobs, queues, log, job, 1, now)
        for node in range(nodes.owner.size):
            if nodes.back[node] <= now:
                give(nodes, queues, log, node, HOST, now)
        submitted = _admit(asked, jobs, queues, submitted, now)
        rules = (sizes, policies, grace_period, staleness)
        _settle(asked, nodes, jobs, queues, log, rules, rng, now)
        while served < requests.shape[0] and requests[served, 0] <= now:
            _serve(asked, nodes, queues, log, rules, requests[served], rng, now)
            served += 1
            _settle(asked, nodes, jobs, queues, log, rules, rng, now)


@kernel
def _begin(asked, sizes, spare):
    """Every partition has its nodes, in order, the host the last `spare`; nobody runs."""
    total, n = sizes.sum() + spare, asked.submit_time.size
    nodes = Nodes(
        np.full(total, HOST), np.full(total, IDLE), np.full(total, np.inf), np.zeros(total),
        np.full(total, np.inf), np.full(total, NOTHING), np.full(total, NOTHING),
    )  # fmt: skip
    place = np.empty(n, np.int64)
    for position in range(n):
        place[asked.order[position]] = position
    jobs = Jobs(
        np.full(n, COMING), np.full(n, np.nan), np.full(n, np.nan), np.full(n, NOTHING), place
    )
    count = sizes.size
    queues = Queues(
        asked.first[:-1].copy(), asked.first[:-1].copy(),
        np.zeros(count, np.int64), np.ones(count, np.bool_),
    )  # fmt: skip
    log = empty_log()
    node = 0
    for partition in range(count):
        for _ in range(sizes[partition]):
            nodes.owner[node] = partition
            node += 1
    for node in range(total):
        log.moves.append((0.0, node, nodes.owner[node]))
    return nodes, jobs, queues, log


@kernel
def _next_instant(asked, nodes, jobs, requests, submitted, served):
    """The next submission, end, withdrawal, return or preemption; infinite when all are done."""
    instant = np.inf
    if submitted < asked.submit_time.size:
        instant = asked.submit_time[submitted]
    if served < requests.shape[0]:
        instant = min(instant, requests[served, 0])
    for node in range(nodes.owner.size):
        if nodes.job[node] != IDLE:
            instant = min(instant, jobs.end_time[nodes.job[node]], nodes.deadline[node])
        instant = min(instant, nodes.back[node])
    return instant


@kernel
def _withdraw(asked, nodes, jobs, queues, log, now):
    """Kill what runs on nodes whose grace period is over; the nodes leave with that."""
    for node in range(nodes.owner.size):
        if nodes.deadline[node] <= now:
            stop(asked, nodes, jobs, queues, log, nodes.job[node], 0, now)


@kernel
def _admit(asked, jobs, queues, submitted, now):
    """Queue what is submitted by now; return the next job."""
    while submitted < asked.submit_time.size and asked.submit_time[submitted] <= now:
        partition = asked.partition[submitted]
        jobs.state[submitted] = WAITING
        queues.last[partition] += 1
        queues.waiting[partition] += asked.nodes[submitted]
        queues.changed[partition] = True
        submitted += 1
    return submitted


@kernel
def _settle(asked, nodes, jobs, queues, log, rules, rng, now):
    """Let partitions and host act by turns until nobody has anything left to do now."""
    sizes = rules[0]
    busy = True
    while busy:
        busy = False
        for partition in range(sizes.size):
            if queues.changed[partition]:
                schedule(asked, nodes, jobs, queues, log, partition, now)
        for partition in range(sizes.size):
            busy |= delete_nodes(nodes, queues, log, partition, now)
        busy |= _hand_out(nodes, queues, log, sizes, now)
        if not busy:
            busy = _rebalance(asked, nodes, queues, log, rules, rng, now)


@kernel
def _hand_out(nodes, queues, log, sizes, now):
    """Give the host's nodes one by one to whoever wants some and has least of its own size."""
    given = False
    for node in range(nodes.owner.size):
        if nodes.owner[node] != HOST:
            continue
        neediest, least = NOTHING, np.inf
        for partition in range(sizes.size):
            ratio = count_usable(nodes, partition, False) / sizes[partition]
            if ratio < least and wanted(nodes, queues, partition) > 0:
                neediest, least = partition, ratio
        if neediest == NOTHING:
            break
        give(nodes, queues, log, node, neediest, now)
        given = True
    return given


@kernel
def _rebalance(asked, nodes, queues, log, rules, rng, now):
    """Want nodes back from who has more than its size where others wait and have less."""
    sizes, _, grace_period, _ = rules
    missing = 0
    surplus = np.zeros(sizes.size, np.int64)
    for partition in range(sizes.size):
        surplus[partition] = count_usable(nodes, partition, False) - sizes[partition]
        short = min(-surplus[partition], wanted(nodes, queues, partition))
        missing += max(short, 0)
    for node in range(nodes.owner.size):
        if nodes.deadline[node] < np.inf and nodes.use[node] == 0:
            missing -= 1
    if missing <= 0 or surplus.max() <= 0:
        return False
    values = _values(asked, nodes, log, rules, rng, now)
    changed = False
    for node in np.argsort(values, kind="mergesort"):
        owner = nodes.owner[node]
        if missing > 0 and owner >= 0 and nodes.deadline[node] == np.inf and surplus[owner] > 0:
            reclaim(nodes, queues, log, node, 0.0, now + grace_period, now)
            surplus[owner] -= 1
            missing -= 1
            changed |= nodes.owner[node] == HOST
    return changed


@kernel
def _serve(asked, nodes, queues, log, rules, request, rng, now):
    """A user's preemption: the host's own nodes first, then the least valued of all partitions'."""
    left, use = int(request[1]), request[2]
    for node in range(nodes.owner.size):
        if left > 0 and nodes.owner[node] == HOST:
            give(nodes, queues, log, node, USER, now)
            nodes.back[node] = now + use
            left -= 1
    values = _values(asked, nodes, log, rules, rng, now)
    eligible = (nodes.owner >= 0) & (nodes.deadline == np.inf)
    chosen = np.empty(eligible.size, np.bool_)
    valuing.least(values, eligible, left, chosen)
    for node in range(nodes.owner.size):
        if chosen[node]:
            reclaim(nodes, queues, log, node, use, now + rules[2], now)


@kernel
def _values(asked, nodes, log, rules, rng, now):
    """The vectors that partitions reported last, `staleness` ago, of the nodes they have now."""
    sizes, policies, _, staleness = rules
    total = nodes.owner.size
    job, elapsed = np.full(total, IDLE), np.zeros(total)
    then = now - staleness
    for node in range(total):
        row = nodes.holding[node]
        while row != NOTHING and log.attempts[log.holdings[row][0]][1] > then:
            row = log.holdings[row][2]
        if row != NOTHING:
            ran, begin, end, _ = log.attempts[log.holdings[row][0]]
            if end > then and asked.partition[ran] == nodes.owner[node]:
                job[node], elapsed[node] = ran, then - begin
    values = np.zeros(total)
    for partition in range(sizes.size):
        own = np.flatnonzero(nodes.owner == partition)
        part = np.empty(own.size)
        valuing.evaluate(
            policies[partition], job[own], elapsed[own], asked.nodes, asked.priority, rng, part
        )
        values[own] = part
    return values
