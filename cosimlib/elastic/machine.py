"""State of the protocol: nodes, jobs and queues, the events that change them, and their log.

A node is the host's (`HOST_OWNER`), an interactive user's (`USER_OWNER`), or a partition's;
only a partition's node runs jobs. A node that the host wants back has a *deadline*, the end of its
grace period, and *drains*: it takes no new job. It leaves as soon as it is idle, or at its
deadline, when the job on it is killed on all of its nodes and goes back to its place in the queue.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.occupancy import IDLE
from cosimlib.workload import JobArrays

HOST_OWNER, USER_OWNER = -1, -2
COMING, WAITING, RUNNING, DONE = range(4)
NOTHING = -1


JOBS = np.dtype(
    [
        ("submit_time", "f8"), ("run_time", "f8"), ("requested_time", "f8"), ("nodes", "i8"),
        ("home", "i8"),  # its partition
        ("order", "i8"),  # jobs by partition and submission: a table of its own, n rows too
        ("place", "i8"),  # where a job stands in that order
        ("state", "i8"), ("start_time", "f8"), ("end_time", "f8"),
        ("attempt", "i8"),  # its latest row in the log of attempts
    ]
)  # fmt: skip
NODES = np.dtype(
    [
        ("owner", "i8"), ("job", "i8"),
        ("deadline", "f8"),  # when it is withdrawn; infinite unless it drains
        ("use", "f8"),  # seconds for which a user wants it once it leaves; 0: the host wants it
        ("back", "f8"),  # when a user gives it back; infinite unless it is a user's
        ("holding", "i8"),  # its latest row in the log of holdings
        ("reclaim", "i8"),  # its open row in the log of reclaims
    ]
)  # fmt: skip
QUEUES = np.dtype(
    [
        ("head", "i8"),  # no job of the partition waits before this place of the order
        ("last", "i8"),  # those before this place are submitted
        ("waiting", "i8"),  # nodes that its waiting jobs want in all
        ("changed", "?"),  # whether something happened that may let a job start
    ]
)  # fmt: skip
"""One record per job, per node, per partition. Records, because a kernel that is handed two dozen
arrays takes a minute to compile."""


class Rules(NamedTuple):
    """Constants of a simulation: sizes and policies per partition, nodes and priority per job."""

    sizes: np.ndarray
    policies: np.ndarray
    grace_period: float
    staleness: float
    nodes: np.ndarray
    priority: np.ndarray


class Log(NamedTuple):
    """The log of a simulation, as growing lists.

    attempts: job, start, end, whether it completed · holdings: attempt, node, the node's former
    row · moves: time, node, owner · reclaims: node, partition, notified, released, the user's
    request or -1, job killed or -1 · granted: nodes of each request so far.
    """

    attempts: list[tuple[int, float, float, int]]
    holdings: list[tuple[int, int, int]]
    moves: list[tuple[float, int, int]]
    reclaims: list[tuple[int, int, float, float, int, int]]
    granted: list[int]


def initial_state(
    arrays: JobArrays, partition: np.ndarray, sizes: np.ndarray, spare: int
) -> tuple[np.recarray, np.recarray, np.recarray]:
    """Jobs, nodes and queues at the beginning: partitions have their nodes, no job is submitted.

    Partitions have the first nodes, in order, the host has the last `spare`.
    """
    jobs = np.recarray(partition.size, JOBS)
    for name, column in arrays._asdict().items():
        jobs[name] = column
    jobs.home, jobs.order = partition, np.argsort(partition, kind="stable")
    jobs.place[jobs.order] = np.arange(partition.size)
    jobs.state, jobs.attempt = COMING, NOTHING
    nodes = np.recarray(int(sizes.sum()) + spare, NODES)
    nodes.owner = np.append(np.repeat(np.arange(sizes.size), sizes), np.full(spare, HOST_OWNER))
    nodes.job, nodes.holding, nodes.reclaim, nodes.use = IDLE, NOTHING, NOTHING, 0.0
    nodes.deadline, nodes.back = np.inf, np.inf
    queues = np.recarray(sizes.size, QUEUES)
    queues.head = np.searchsorted(np.sort(partition), np.arange(sizes.size))
    queues.last, queues.waiting, queues.changed = queues.head, 0, True
    return jobs, nodes, queues


@kernel
def empty() -> Log:
    """An empty log: lists of the right types."""
    return Log(
        [(0, 0.0, 0.0, 0) for _ in range(0)],
        [(0, 0, 0) for _ in range(0)],
        [(0.0, 0, 0) for _ in range(0)],
        [(0, 0, 0.0, 0.0, 0, 0) for _ in range(0)],
        [0 for _ in range(0)],
    )


@allocating_kernel
def tables(log: Log) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The log as arrays of floats, one row per column: lists take long to hand over."""
    attempts, holdings = np.empty((4, len(log.attempts))), np.empty((3, len(log.holdings)))
    moves, reclaims = np.empty((3, len(log.moves))), np.empty((6, len(log.reclaims)))
    for row in range(len(log.attempts)):
        attempts[0, row], attempts[1, row], attempts[2, row], attempts[3, row] = log.attempts[row]
    for row in range(len(log.holdings)):
        holdings[0, row], holdings[1, row], holdings[2, row] = log.holdings[row]
    for row in range(len(log.moves)):
        moves[0, row], moves[1, row], moves[2, row] = log.moves[row]
    for row in range(len(log.reclaims)):
        node, partition, reclaims[2, row], reclaims[3, row], request, killed = log.reclaims[row]
        reclaims[0, row], reclaims[1, row] = node, partition
        reclaims[4, row], reclaims[5, row] = request, killed
    return attempts, holdings, moves, reclaims, np.array(log.granted)


@allocating_kernel
def usable(nodes: np.recarray, node: int, partition: int) -> bool:
    """Whether a node belongs to the partition and does not drain."""
    return nodes.owner[node] == partition and nodes.deadline[node] == np.inf


@allocating_kernel
def count_usable(nodes: np.recarray, partition: int, only_idle: bool) -> int:
    """Nodes of a partition that do not drain: all of them, or those that are idle."""
    count = 0
    for node in range(nodes.owner.size):
        if usable(nodes, node, partition) and not (only_idle and nodes.job[node] != IDLE):
            count += 1
    return count


@allocating_kernel
def give(
    nodes: np.recarray, queues: np.recarray, log: Log, node: int, owner: int, now: float
) -> None:
    """Give a node to another owner; it drains no longer."""
    if nodes.owner[node] >= 0:
        queues.changed[nodes.owner[node]] = True
    if owner >= 0:
        queues.changed[owner] = True
    nodes.owner[node] = owner
    nodes.deadline[node] = np.inf
    nodes.back[node] = np.inf
    log.moves.append((now, node, owner))


@allocating_kernel
def leave(
    nodes: np.recarray, queues: np.recarray, log: Log, node: int, killed: int, now: float
) -> None:
    """Move a draining node to the user or the host, and close the record of its reclaim."""
    row = nodes.reclaim[node]
    _, partition, notified, _, request, _ = log.reclaims[row]
    log.reclaims[row] = (node, partition, notified, now, request, killed)
    use = nodes.use[node]
    give(nodes, queues, log, node, USER_OWNER if use > 0 else HOST_OWNER, now)
    if use > 0:
        nodes.back[node] = now + use


@allocating_kernel
def reclaim(
    nodes: np.recarray,
    queues: np.recarray,
    log: Log,
    node: int,
    request: int,
    use: float,
    deadline: float,
    now: float,
) -> None:
    """Reclaim a partition's node for the host by a deadline; an idle one leaves at once.

    `request` is the user's preemption that it is for and `use` its duration; -1 and 0 where it is
    for another partition.
    """
    # Jobs that could not backfill may do so now: the head's promise counts on one node less.
    queues.changed[nodes.owner[node]] = True
    nodes.deadline[node], nodes.use[node] = deadline, use
    nodes.reclaim[node] = len(log.reclaims)
    log.reclaims.append((node, nodes.owner[node], now, np.nan, request, NOTHING))
    if nodes.job[node] == IDLE:
        leave(nodes, queues, log, node, NOTHING, now)


@allocating_kernel
def start(
    nodes: np.recarray, jobs: np.recarray, queues: np.recarray, log: Log, job: int, now: float
) -> None:
    """Start a waiting job on its partition's lowest idle nodes."""
    partition, wanted = jobs.home[job], jobs.nodes[job]
    jobs.state[job] = RUNNING
    jobs.start_time[job], jobs.end_time[job] = now, now + jobs.run_time[job]
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


@allocating_kernel
def stop(
    nodes: np.recarray,
    jobs: np.recarray,
    queues: np.recarray,
    log: Log,
    job: int,
    done: int,
    now: float,
) -> None:
    """End a job's run: it is done, or it is killed and waits again in its place."""
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
                leave(nodes, queues, log, node, NOTHING if done else job, now)
