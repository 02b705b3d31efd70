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

from cosimlib.elastic.vectors import evaluate
from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.occupancy import IDLE as NO_JOB
from cosimlib.kernels.records import record_type

HOST_OWNER, USER_OWNER = -1, -2
NONE, IDLE = -1, NO_JOB
WAITING, RUNNING, DONE = 1, 2, 3
START, HOLD, STOP, TRANSFER, RECLAIM, ASK, LEAVE = range(7)
"""Kinds of events: a job starts, holds a node and stops; a node goes to another owner, is reclaimed
from its partition, for a user's request, and leaves it."""

JOB = record_type(
    floats="submit_time run_time requested_time priority start_time end_time withdrawal",
    integers="nodes home place state",
)
"""A job.

- `submit_time`, `run_time`, `requested_time` (s), `nodes`, `priority`
- `home`: its partition; `place`: its place in the order by partition and submission
- `state`: 0 before its submission, then `WAITING`, `RUNNING` or `DONE`
- `start_time`, `end_time` (s): of its latest run, the end as it will be if the job is not killed
- `withdrawal` (s): when the first of its nodes is withdrawn; infinite if none of them drains
"""

NODE = record_type(
    floats="deadline use back since elapsed part value",
    integers="owner job former reported chosen",
)
"""A node.

- `owner`: a partition, or `HOST_OWNER` or `USER_OWNER`; `job`: the job on it, or `IDLE`
- `deadline` (s): when it is withdrawn; infinite unless it drains
- `use` (s): for how long a user has it once it has left; 0 if the host gets it
- `back` (s): when a user gives it back; infinite unless it is a user's
- `former`: the job on it at the moment that partitions report, or `IDLE`; `since` (s): the start of
  that job's run
- `reported`, `elapsed` (s): that job and how long it had run, if it is of the partition whose
  vector is computed; `part`: the node's value in that vector
- `value`: the node's value in the vector of its owner
- `chosen`: 1 while it is among the nodes that a preemption is about to take
"""

PARTITION = record_type(integers="nodes policy head last waiting changed usable idle lends")
"""A partition.

- `nodes`: its size; `policy`: by which it values its nodes
- `head`, `last`: places in the order of jobs; the jobs that wait are from `head` to before `last`
- `waiting`: nodes that its waiting jobs want in all
- `changed`: 1 if something happened that may let a job start
- `usable`: how many of its nodes do not drain; `idle`: how many of these run no job
- `lends`: 1 if nodes may be taken from it in the decision under way
"""

RUN = record_type(
    floats="grace_period staleness",
    integers="submitted served events reported free releases limits",
)
"""A simulation.

- `grace_period`, `staleness` (s): its knobs
- `submitted`: jobs so far; `served`: preemptions so far; `events`: how many were logged, also those
  for which the log has no row; `reported`: how many of them are in the partitions' reports
- `free`, `releases`, `limits`: of the pass under way (see `kernels.backfilling`)
"""

REQUEST = record_type(floats="time duration", integers="nodes granted")
"""A preemption of a user (s), and how many nodes it was granted."""

EVENT = record_type(floats="time", integers="kind subject other")
"""An event: the job or node that it happens to, and another number: the job that holds a node; for
a job that stops, whether it is `DONE` or `WAITING`; the owner, the partition or the request of a
node; for one that leaves, the job that is killed."""


class State(NamedTuple):
    """A host and its partitions at an instant.

    Parameters
    ----------
    jobs, nodes, partitions : records of `JOB`, `NODE` and `PARTITION`
    order : np.ndarray
        Jobs by partition and submission.
    expected, limits : records of `kernels.backfilling.STEP`
        Scratch of a pass: expected releases of nodes, and limits of jobs that overtake.
    run : record of `RUN`
    log : records of `EVENT`
    """

    jobs: np.recarray
    nodes: np.recarray
    partitions: np.recarray
    order: np.ndarray
    expected: np.recarray
    limits: np.recarray
    run: np.record
    log: np.recarray


@kernel
def simulate(state: State, requests: np.recarray, rng: np.random.Generator) -> None:
    """Simulate until no event is left; more events than the log has rows are only counted."""
    jobs, nodes, run = state.jobs, state.nodes, state.run
    for node in range(nodes.size):
        _note(state, TRANSFER, 0.0, node, nodes[node].owner)
    now = _next_instant(state, requests)
    while now < np.inf:
        _withdraw_and_end(state, now)
        while run.submitted < jobs.size and jobs[run.submitted].submit_time <= now:
            _submit_next(state)
        _settle(state, requests, rng, now)
        now = _next_instant(state, requests)


@kernel
def _next_instant(state: State, requests: np.recarray) -> float:
    """The next submission, end, withdrawal, return or preemption; infinite when all are done."""
    jobs, run, instant = state.jobs, state.run, np.inf
    if run.submitted < jobs.size:
        instant = jobs[run.submitted].submit_time
    if run.served < requests.size:
        instant = min(instant, requests[run.served].time)
    for number in range(state.nodes.size):
        node = state.nodes[number]
        if node.job != IDLE:
            instant = min(instant, jobs[node.job].end_time, node.deadline)
        instant = min(instant, node.back)
    return instant


@kernel
def _withdraw_and_end(state: State, now: float) -> None:
    """Kill the jobs on nodes whose grace period is over by now; then end jobs that are done, and
    return nodes that users had until now."""
    jobs, nodes = state.jobs, state.nodes
    for node in range(nodes.size):
        if nodes[node].deadline <= now:
            _stop(state, nodes[node].job, WAITING, now)
    for node in range(nodes.size):
        job = nodes[node].job
        if job != IDLE and jobs[job].end_time <= now:
            _stop(state, job, DONE, now)
        if nodes[node].back <= now:
            _give(state, node, HOST_OWNER, now)


@kernel
def _submit_next(state: State) -> None:
    """Queue the next job."""
    job = state.jobs[state.run.submitted]
    partition = state.partitions[job.home]
    job.state = WAITING
    partition.last += 1
    partition.waiting += job.nodes
    partition.changed = 1
    state.run.submitted += 1


@kernel
def _settle(state: State, requests: np.recarray, rng: np.random.Generator, now: float) -> None:
    """Let partitions and host act by turns until nothing changes any more at this instant.

    The next preemption of a user is served when nothing else changes.
    """
    run, busy = state.run, True
    while busy:
        busy = False
        for partition in range(state.partitions.size):
            if state.partitions[partition].changed:
                _backfill(state, partition, now)
        for partition in range(state.partitions.size):
            if state.partitions[partition].waiting == 0:
                busy |= _delete_nodes(state, partition, now)
        busy |= _hand_out(state, now)
        if not busy:
            busy = _rebalance(state, rng, now)
        if not busy and run.served < requests.size and requests[run.served].time <= now:
            _serve(state, requests[run.served], rng, now)
            run.served += 1
            busy = True


@kernel
def _delete_nodes(state: State, partition: int, now: float) -> bool:
    """DeleteNodes: give idle nodes to the host where no job waits; whether there were any."""
    deleted = False
    for node in range(state.nodes.size):
        if _is_usable(state.nodes[node], partition) and state.nodes[node].job == IDLE:
            _give(state, node, HOST_OWNER, now)
            deleted = True
    if deleted:
        state.partitions[partition].changed = 0
    return deleted


@kernel
def _hand_out(state: State, now: float) -> bool:
    """AddNodes: give the host's nodes one by one to the partition in need with least of its own
    size. A partition is in need of what its waiting jobs want beyond its idle nodes."""
    partitions, changed = state.partitions, False
    _count_usable(state)
    for node in range(state.nodes.size):
        if state.nodes[node].owner != HOST_OWNER:
            continue
        neediest, smallest = NONE, np.inf
        for number in range(partitions.size):
            partition = partitions[number]
            share = partition.usable / partition.nodes
            if share < smallest and partition.waiting > partition.idle:
                neediest, smallest = number, share
        if neediest == NONE:
            break
        _give(state, node, neediest, now)
        partitions[neediest].usable += 1
        partitions[neediest].idle += 1
        changed = True
    return changed


@kernel
def _rebalance(state: State, rng: np.random.Generator, now: float) -> bool:
    """Reclaim nodes of partitions above their size for those that wait and are below theirs.

    Returns whether one of them was idle, so that it can be handed out at once.
    """
    _count_usable(state)
    missing, freed = 0, False
    for number in range(state.partitions.size):
        partition = state.partitions[number]
        below_size = partition.nodes - partition.usable
        missing += max(min(below_size, partition.waiting - partition.idle), 0)
    for node in range(state.nodes.size):
        missing -= state.nodes[node].deadline < np.inf and state.nodes[node].use == 0
    if missing <= 0:
        return False
    _evaluate_nodes(state, rng, now)
    for _ in range(missing):
        _count_usable(state)
        node = _least_valued(state)
        if node == NONE:
            break
        _reclaim(state, node, NONE, 0.0, now)
        freed |= state.nodes[node].owner == HOST_OWNER
    return freed


@kernel
def _count_usable(state: State) -> None:
    """Count the nodes of each partition that do not drain, and the idle ones of them.

    Partitions lend what they have beyond their sizes.
    """
    for partition in range(state.partitions.size):
        state.partitions[partition].usable = state.partitions[partition].idle = 0
    for number in range(state.nodes.size):
        node = state.nodes[number]
        if node.owner >= 0 and node.deadline == np.inf:
            state.partitions[node.owner].usable += 1
            state.partitions[node.owner].idle += node.job == IDLE
    for number in range(state.partitions.size):
        partition = state.partitions[number]
        partition.lends = partition.usable > partition.nodes


@kernel
def _least_valued(state: State) -> int:
    """The least valued node, not chosen yet, of partitions that lend; -1 without any."""
    nodes, best = state.nodes, NONE
    for number in range(nodes.size):
        node = nodes[number]
        if node.owner < 0 or node.deadline < np.inf or node.chosen:
            continue
        if state.partitions[node.owner].lends and (best == NONE or node.value < nodes[best].value):
            best = number
    return best


@kernel
def _serve(state: State, request: np.record, rng: np.random.Generator, now: float) -> None:
    """Preempt for a user: the host's own nodes, then the least valued that do not drain."""
    nodes, left = state.nodes, request.nodes
    for node in range(nodes.size):
        if left > 0 and nodes[node].owner == HOST_OWNER:
            _give(state, node, USER_OWNER, now)
            nodes[node].back = now + request.duration
            left -= 1
    _evaluate_nodes(state, rng, now)
    for partition in range(state.partitions.size):
        state.partitions[partition].lends = 1
    while left > 0:
        best = _least_valued(state)
        if best == NONE:
            break
        nodes[best].chosen = 1
        left -= 1
    request.granted = request.nodes - left
    for node in range(nodes.size):
        if nodes[node].chosen:
            nodes[node].chosen = 0
            _reclaim(state, node, state.run.served, request.duration, now)


@kernel
def _evaluate_nodes(state: State, rng: np.random.Generator, now: float) -> None:
    """Give nodes the values that partitions reported last, `staleness` ago.

    A partition divides by the maximum of the nodes that it had when it reported, for it knows no
    others, so a 0.5 of one partition is worth as much as a 0.5 of another, whatever they run.
    Nodes that it has lost since drop out afterwards. One that ran nothing for it then counts as
    idle: 0.
    """
    jobs, nodes, then = state.jobs, state.nodes, now - state.run.staleness
    _report(state, then)
    for partition in range(state.partitions.size):
        for number in range(nodes.size):
            node = nodes[number]
            node.reported, node.elapsed = IDLE, 0.0
            if node.former != IDLE and jobs[node.former].home == partition:
                node.reported, node.elapsed = node.former, then - node.since
        policy = state.partitions[partition].policy
        evaluate(policy, nodes.reported, nodes.elapsed, jobs.nodes, jobs.priority, rng, nodes.part)
        for number in range(nodes.size):
            if nodes[number].owner == partition:
                nodes[number].value = nodes[number].part


@kernel
def _report(state: State, then: float) -> None:
    """Find what ran on each node at an earlier moment, from the events up to it.

    Partitions that ran a job on a node owned it then, whichever owns it now.
    """
    nodes, run = state.nodes, state.run
    while run.reported < min(run.events, state.log.size):
        event = state.log[run.reported]
        if event.time > then:
            break
        if event.kind == HOLD:
            nodes[event.subject].former, nodes[event.subject].since = event.other, event.time
        elif event.kind == STOP:
            for node in range(nodes.size):
                if nodes[node].former == event.subject:
                    nodes[node].former = IDLE
        run.reported += 1


@kernel
def _backfill(state: State, partition: int, now: float) -> None:
    """EASY over a partition's queue: the first job that may not start has a reservation."""
    jobs, queue, run = state.jobs, state.partitions[partition], state.run
    queue.changed = 0
    _count_usable(state)
    run.free, run.limits, first_blocked = queue.idle, 0, queue.last
    for place in range(queue.head, queue.last):
        job = jobs[state.order[place]]
        end = now + job.requested_time
        if run.free == 0 and first_blocked < queue.last:
            break
        if job.state != WAITING:
            continue
        if backfilling.may_start(state.limits, run, job.nodes, end):
            run.free -= job.nodes
            backfilling.take(state.limits, run, job.nodes, end)
            _start(state, state.order[place], now)
        elif first_blocked == queue.last:
            first_blocked = place
            _expect_ends(state, partition, now)
            backfilling.reserve(state.expected, state.limits, run, job.nodes, now)
    queue.head = first_blocked


@kernel
def _expect_ends(state: State, partition: int, now: float) -> None:
    """Expect the ends of the jobs on a partition's nodes, or that these are withdrawn before."""
    state.run.releases = 0
    for number in range(state.nodes.size):
        node = state.nodes[number]
        if node.job != IDLE and _is_usable(node, partition):
            job = state.jobs[node.job]
            expected_end = min(max(job.start_time + job.requested_time, now), job.withdrawal)
            backfilling.expect(state.expected, state.run, expected_end, 1)


@kernel
def _is_usable(node: np.record, partition: int) -> bool:
    """Whether a node belongs to the partition and does not drain."""
    return node.owner == partition and node.deadline == np.inf


@kernel
def _give(state: State, number: int, owner: int, now: float) -> None:
    """Give a node to another owner; it drains no longer."""
    node = state.nodes[number]
    if node.owner >= 0:
        state.partitions[node.owner].changed = 1
    if owner >= 0:
        state.partitions[owner].changed = 1
    node.owner = owner
    node.deadline = node.back = np.inf
    _note(state, TRANSFER, now, number, owner)


@kernel
def _leave(state: State, number: int, killed: int, now: float) -> None:
    """Move a draining node to the user or the host."""
    use = state.nodes[number].use
    _note(state, LEAVE, now, number, killed)
    _give(state, number, USER_OWNER if use > 0 else HOST_OWNER, now)
    if use > 0:
        state.nodes[number].back = now + use


@kernel
def _reclaim(state: State, number: int, request: int, use: float, now: float) -> None:
    """Reclaim a partition's node for the host, by the end of the grace period; an idle one leaves
    at once.

    `request` is the user's preemption that it is for and `use` its duration; -1 and 0 if it is
    for another partition.
    """
    node = state.nodes[number]
    # Jobs that could not backfill may do so now: the head's promise counts on one node less.
    state.partitions[node.owner].changed = 1
    node.deadline, node.use = now + state.run.grace_period, use
    _note(state, RECLAIM, now, number, node.owner)
    _note(state, ASK, now, number, request)
    if node.job == IDLE:
        _leave(state, number, NONE, now)
    else:
        job = state.jobs[node.job]
        job.withdrawal = min(job.withdrawal, node.deadline)


@kernel
def _start(state: State, number: int, now: float) -> None:
    """Start a waiting job on its partition's lowest idle nodes."""
    job = state.jobs[number]
    wanted = job.nodes
    job.state = RUNNING
    job.start_time, job.end_time, job.withdrawal = now, now + job.run_time, np.inf
    state.partitions[job.home].waiting -= wanted
    _note(state, START, now, number, NONE)
    for place in range(state.nodes.size):
        node = state.nodes[place]
        if wanted > 0 and node.job == IDLE and _is_usable(node, job.home):
            node.job = number
            _note(state, HOLD, now, place, number)
            wanted -= 1


@kernel
def _stop(state: State, number: int, became: int, now: float) -> None:
    """End a job's run: it is done, or it is killed and waits again in its place."""
    job = state.jobs[number]
    partition = state.partitions[job.home]
    job.state = became
    _note(state, STOP, now, number, became)
    if became == WAITING:
        partition.waiting += job.nodes
        partition.head = min(partition.head, job.place)
    partition.changed = 1
    for node in range(state.nodes.size):
        if state.nodes[node].job == number:
            state.nodes[node].job = IDLE
            if state.nodes[node].deadline < np.inf:
                _leave(state, node, NONE if became == DONE else number, now)


@kernel
def _note(state: State, kind: int, now: float, subject: int, other: int) -> None:
    """Log an event, if the log has a row for it."""
    if state.run.events < state.log.size:
        event = state.log[state.run.events]
        event.kind, event.time, event.subject, event.other = kind, now, subject, other
    state.run.events += 1
