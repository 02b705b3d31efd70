"""What the protocol's kernels share: the state of nodes and jobs, and its log.

A node is the host's (`HOST`), an interactive user's (`USER`), or a partition's; only a partition's
node runs jobs. A node that the host wants back has a *deadline*, the end of its grace period, and
*drains*: it takes no new job. It leaves as soon as it is idle, or at its deadline, when the job on
it is killed on all of its nodes and goes back to its place in the queue.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.compiling import kernel
from cosimlib.kernels.holding import IDLE

HOST, USER = -1, -2
COMING, WAITING, RUNNING, DONE = range(4)
NOTHING = -1


class Asked(NamedTuple):
    """The workload: one value a job, and the jobs of each partition in order.

    `order[first[p] : first[p + 1]]` are partition p's jobs by submission.
    """

    submit_time: np.ndarray
    run_time: np.ndarray
    requested_time: np.ndarray
    nodes: np.ndarray
    priority: np.ndarray
    partition: np.ndarray
    order: np.ndarray
    first: np.ndarray


class Nodes(NamedTuple):
    """One value a node."""

    owner: np.ndarray
    job: np.ndarray
    deadline: np.ndarray
    """When it is withdrawn; infinite unless it drains."""
    use: np.ndarray
    """Seconds for which a user wants it once it leaves; 0 where the host wants it."""
    back: np.ndarray
    """When a user gives it back; infinite unless it is a user's."""
    holding: np.ndarray
    """Its latest row in the log of holdings."""
    reclaim: np.ndarray
    """Its open row in the log of reclaims."""


class Jobs(NamedTuple):
    """One value a job."""

    state: np.ndarray
    start_time: np.ndarray
    end_time: np.ndarray
    attempt: np.ndarray
    place: np.ndarray


class Queues(NamedTuple):
    """One value a partition: no job waits before `head`, those before `last` are submitted."""

    head: np.ndarray
    last: np.ndarray
    waiting: np.ndarray
    """Nodes that its waiting jobs want in all."""
    changed: np.ndarray
    """Whether something happened that may let a job start."""


class Log(NamedTuple):
    """What happened, as growing lists.

    attempts: job, start, end, whether it completed · holdings: attempt, node, the node's former
    row · moves: time, node, owner · reclaims: node, partition, notified, released, whether for a
    user, job killed or -1.
    """

    attempts: list[tuple[int, float, float, int]]
    holdings: list[tuple[int, int, int]]
    moves: list[tuple[float, int, int]]
    reclaims: list[tuple[int, int, float, float, int, int]]


@kernel
def empty_log() -> Log:
    """Lists of the right types with nothing in them."""
    return Log(
        [(0, 0.0, 0.0, 0) for _ in range(0)],
        [(0, 0, 0) for _ in range(0)],
        [(0.0, 0, 0) for _ in range(0)],
        [(0, 0, 0.0, 0.0, 0, 0) for _ in range(0)],
    )


@kernel
def usable(nodes: Nodes, node: int, partition: int) -> bool:
    """Whether a node is the partition's and does not drain."""
    return nodes.owner[node] == partition and nodes.deadline[node] == np.inf


@kernel
def count_usable(nodes: Nodes, partition: int, only_idle: bool) -> int:
    """Nodes of a partition that do not drain: all of them, or those that are idle."""
    count = 0
    for node in range(nodes.owner.size):
        if usable(nodes, node, partition) and not (only_idle and nodes.job[node] != IDLE):
            count += 1
    return count


@kernel
def give(nodes: Nodes, queues: Queues, log: Log, node: int, owner: int, now: float) -> None:
    """Let a node have another owner from now on; it drains no longer."""
    if nodes.owner[node] >= 0:
        queues.changed[nodes.owner[node]] = True
    if owner >= 0:
        queues.changed[owner] = True
    nodes.owner[node] = owner
    nodes.deadline[node] = np.inf
    nodes.back[node] = np.inf
    log.moves.append((now, node, owner))


@kernel
def leave(nodes: Nodes, queues: Queues, log: Log, node: int, killed: int, now: float) -> None:
    """Let a draining node go to whom it is for, and close the record of its reclaim."""
    row = nodes.reclaim[node]
    _, partition, notified, _, for_user, _ = log.reclaims[row]
    log.reclaims[row] = (node, partition, notified, now, for_user, killed)
    use = nodes.use[node]
    give(nodes, queues, log, node, USER if use > 0 else HOST, now)
    if use > 0:
        nodes.back[node] = now + use


@kernel
def reclaim(
    nodes: Nodes, queues: Queues, log: Log, node: int, use: float, deadline: float, now: float
) -> None:
    """Let the host want a partition's node back by a deadline; idle, it leaves at once."""
    nodes.deadline[node], nodes.use[node] = deadline, use
    nodes.reclaim[node] = len(log.reclaims)
    log.reclaims.append((node, nodes.owner[node], now, np.nan, int(use > 0), NOTHING))
    if nodes.job[node] == IDLE:
        leave(nodes, queues, log, node, NOTHING, now)


@kernel
def start(
    asked: Asked, nodes: Nodes, jobs: Jobs, queues: Queues, log: Log, job: int, now: float
) -> None:
    """Let a waiting job run on its partition's lowest idle nodes."""
    partition, wanted = asked.partition[job], asked.nodes[job]
    jobs.state[job] = RUNNING
    jobs.start_time[job], jobs.end_time[job] = now, now + asked.run_time[job]
    jobs.attempt[job] = len(log.attempts)
    queues.waiting[partition] -= wanted
    log.attempts.append((job, now, np.inf, 0))
    for node in range(nodes.owner.size):
        if wanted == 0:
            break
        if usable(nodes, node, partition) and nodes.job[node] == IDLE:
            nodes.job[node] = job
            log.holdings.append((jobs.attempt[job], node, nodes.holding[node]))
            nodes.holding[node] = len(log.holdings) - 1
            wanted -= 1


@kernel
def stop(
    asked: Asked, nodes: Nodes, jobs: Jobs, queues: Queues, log: Log, job: int, done: int, now: float
) -> None:
    """End a job's run: it is done, or it was killed and waits again in its place."""
    partition = asked.partition[job]
    log.attempts[jobs.attempt[job]] = (job, jobs.start_time[job], now, done)
    jobs.state[job] = DONE if done else WAITING
    if not done:
        queues.waiting[partition] += asked.nodes[job]
        queues.head[partition] = min(queues.head[partition], jobs.place[job])
    queues.changed[partition] = True
    for node in range(nodes.owner.size):
        if nodes.job[node] == job:
            nodes.job[node] = IDLE
            if nodes.deadline[node] < np.inf:
                leave(nodes, queues, log, node, NOTHING if done else job, now)
