"""Max-min fair rates of jobs that run on several nodes at once, and equal parts of nodes.

A job has one rate, the same on all its nodes; the rates on a node add up to at most its capacity.
They are max-min fair if no job can have more without taking from one that has no more than it. Such
rates are the only ones in which every job has a *bottleneck*: a full node on which no job has
more (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).

The *level* of a node is the rate that its bottlenecked jobs have there. With ``limit(job)`` the
lowest level of the job's other nodes, it solves ``Σ min(level, limit(job)) = capacity``, and is
infinite where the node cannot be filled; the rate of a job is the lowest level of its nodes.

`settle` makes levels and rates agree again after changes. Nodes whose level may be wrong are in a
heap. A node taken from it gets its level from the rates as they are; if that moves rates, other
nodes of those jobs join the heap. When it is empty, every node's level agrees with the rates
and every rate with the levels: every job has a bottleneck, so that the rates are the max-min fair
ones, in whatever order nodes were taken. The order decides how much work that is. A change can only
touch levels above the lowest that it moves, hence the lowest go first: what they say is final.

`fill` computes the same from nothing, by progressive filling: all rates rise together, and those
on a node that becomes full stay behind.

*Equal parts.* Jobs whose processes do not wait for one another share nodes by egalitarian
processor sharing: each of `load` jobs on a node has ``capacity / load`` of it, which then is the
level of the node. The rate of a job is the mean over its nodes, so that a change of a node moves
the rates of all jobs on it: `join_equally`, `leave_equally`, `resize_equally`.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import heap
from cosimlib.kernels.heap import Heap
from cosimlib.kernels.jit import kernel

TOLERANCE = 1e-13
"""Relative changes below this are rounding."""

MOST_ROUNDS = 64
"""How often each node may be settled, on average, before `settle` fills from nothing."""


JOB = np.dtype(
    [
        ("rate", "f8"),
        ("before", "f8"),
        ("bottleneck", "i4"),
        ("first", "i8"),
        ("last", "i8"),
        ("is_changed", "?"),
    ],
    align=True,
)
"""A job: its `rate`; `bottleneck`, a node at whose level it runs (−1: none); `members[first:last]`
are its nodes; whether its rate `is_changed`, and what it was `before`."""


class Sharing(NamedTuple):
    """Jobs on their nodes, and their rates.

    `jobs`: a record per job. Per node: `capacity`; `level`; `used`, the sum of its rates, kept
    where the level is infinite; `load`, how many jobs are there, and `on`, a row of them. `pending`
    are nodes to be settled; `changed[:moved[0]]` jobs whose rate moved, once each. `limit`, `other`
    and `own` are scratch for one node's jobs, `free` for all nodes.
    """

    jobs: np.recarray
    members: np.ndarray
    capacity: np.ndarray
    level: np.ndarray
    used: np.ndarray
    load: np.ndarray
    on: np.ndarray
    pending: Heap
    changed: np.ndarray
    moved: np.ndarray
    limit: np.ndarray
    other: np.ndarray
    own: np.ndarray
    free: np.ndarray


def empty(first: np.ndarray, members: np.ndarray, capacity: np.ndarray, slots: int) -> Sharing:
    """No job runs; `slots` for so many jobs on a node."""
    n, nodes = first.size - 1, capacity.size
    jobs = np.zeros(n, JOB).view(np.recarray)
    jobs.first, jobs.last = first[:-1], first[1:]
    jobs.bottleneck = -1
    return Sharing(
        jobs,
        members.view(np.uint32),
        capacity,
        np.full(nodes, np.inf),
        np.zeros(nodes),
        np.zeros(nodes, np.int32),
        np.empty((nodes, slots), np.uint32),
        heap.empty(nodes),
        np.empty(n, np.int64),
        np.zeros(1, np.int64),
        np.empty(slots),
        np.empty(slots, np.int32),
        np.empty(slots, np.uint32),
        np.empty(nodes, np.int32),
    )


@kernel
def join(sharing: Sharing, job: int) -> None:
    """Let `job` run on its nodes; `settle` then says how fast.

    It is first given the least level that one of its nodes would have if the job had no other.
    """
    level, at = np.inf, -1
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = sharing.members[place]
        sharing.on[node, sharing.load[node]] = job
        sharing.load[node] += 1
        mine = _level_as_is(sharing, node)
        if mine < level:
            level, at = mine, node
    record_change(sharing, job)
    sharing.jobs[job].rate, sharing.jobs[job].bottleneck = level, at
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = sharing.members[place]
        sharing.used[node] += level
        if node == at or sharing.level[node] < np.inf or _is_full(sharing, node):
            heap.decrease_key(sharing.pending, node, level)


@kernel
def leave(sharing: Sharing, job: int) -> None:
    """Take `job` off its nodes; `settle` then gives what it had to the others."""
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = sharing.members[place]
        remove_job(sharing, job, node)
        sharing.used[node] -= sharing.jobs[job].rate
        if sharing.load[node] == 0:
            sharing.used[node], sharing.level[node] = 0.0, np.inf
            heap.remove(sharing.pending, node)
        elif sharing.level[node] < np.inf:
            heap.decrease_key(sharing.pending, node, sharing.level[node])
    sharing.jobs[job].rate, sharing.jobs[job].bottleneck = 0.0, -1


@kernel
def resize(sharing: Sharing, node: int, capacity: float) -> None:
    """Change the capacity of `node`."""
    less = sharing.capacity[node] - capacity
    sharing.capacity[node] = capacity
    level = sharing.level[node]
    if level < np.inf:
        heap.decrease_key(sharing.pending, node, max(0.0, level - max(0.0, less)))
    elif sharing.load[node] > 0 and _is_full(sharing, node):
        heap.decrease_key(sharing.pending, node, 0.0)


@kernel
def settle(sharing: Sharing, most_rounds: int) -> int:
    """Make levels and rates agree; return how many nodes were settled.

    If that would be more than `most_rounds` times as many as there are, fill from nothing.
    """
    rounds = 0
    while sharing.pending.size[0] > 0:
        _settle_node(sharing, heap.pop(sharing.pending))
        rounds += 1
        if rounds > most_rounds * sharing.capacity.size:
            fill(sharing)
    return rounds


@kernel
def _settle_node(sharing: Sharing, node: int) -> None:
    """Set the level of `node` and the rates of its jobs; mark the nodes that may now be wrong."""
    load, level = sharing.load[node], sharing.level[node]
    lowest, own = np.inf, 0
    for place in range(load):
        job = sharing.on[node, place]
        rate, mine = sharing.jobs[job].rate, sharing.jobs[job].bottleneck == node
        sharing.limit[place] = np.inf if mine else rate
        lowest = min(lowest, rate if mine else np.inf)
        sharing.own[own] = place
        own += mine
    # Jobs bottlenecked here are limited elsewhere at their rate or above: no need to know where,
    # unless one would rise.
    new = _level(sharing.limit, load, sharing.capacity[node], level)
    if new > lowest and _find_limits(sharing, node, own, new):
        new = _level(sharing.limit, load, sharing.capacity[node], new)
    if new != level and not abs(new - level) <= TOLERANCE * min(new, level):
        sharing.level[node] = new
    else:
        new = level
    for place in range(load):
        job = sharing.on[node, place]
        elsewhere = sharing.jobs[job].bottleneck != node
        if elsewhere and new < sharing.jobs[job].rate * (1.0 - TOLERANCE):
            _move(sharing, job, new, node, node)
    for place in sharing.own[:own]:
        job = sharing.on[node, place]
        if sharing.limit[place] < new:
            _move(sharing, job, sharing.limit[place], sharing.other[place], node)
        elif sharing.jobs[job].rate != new:
            _move(sharing, job, new, node, node)
    if new == np.inf:
        used = 0.0
        for place in range(load):
            used += sharing.jobs[sharing.on[node, place]].rate
        sharing.used[node] = used


@kernel
def _find_limits(sharing: Sharing, node: int, own: int, wanted: float) -> bool:
    """Find what keeps jobs bottlenecked at `node` below `wanted` elsewhere, if anything."""
    found = False
    for place in sharing.own[:own]:
        job = sharing.on[node, place]
        limit, at = wanted, -1
        for other in sharing.members[sharing.jobs[job].first : sharing.jobs[job].last]:
            if sharing.level[other] < limit and other != node:
                limit, at = sharing.level[other], other
        if at >= 0:
            sharing.limit[place], sharing.other[place] = limit, at
            found = True
    return found


@kernel
def _level(limit: np.ndarray, n: int, capacity: float, guess: float) -> float:
    """The level at which `n` jobs with these limits fill a node; infinite where they cannot.

    Newton's method: from any guess the first step leads to the level or below it, the others up.
    """
    left, free, guessed = capacity, n, guess < np.inf
    if guessed:
        left, free = _left_over(limit, n, capacity, guess * (1.0 - TOLERANCE))
        if free == 0:
            left, free = capacity, n
    while free > 0:
        level = left / free
        left, count = _left_over(limit, n, capacity, level * (1.0 - TOLERANCE))
        if count == free or (count > free and not guessed):
            return level
        free, guessed = count, False
    return np.inf


@kernel
def _left_over(limit: np.ndarray, n: int, capacity: float, bound: float) -> tuple[float, int]:
    """What jobs with limits below `bound` leave of a node, and how many other jobs there are."""
    left, count = capacity, n
    for place in range(n):
        below = limit[place] < bound
        left -= limit[place] if below else 0.0
        count -= below
    return left, count


@kernel
def _level_as_is(sharing: Sharing, node: int) -> float:
    """The level of `node` if its last job has no other nodes and the others keep their limits."""
    load = sharing.load[node]
    for place in range(load - 1):
        job = sharing.on[node, place]
        mine = sharing.jobs[job].bottleneck == node
        sharing.limit[place] = np.inf if mine else sharing.jobs[job].rate
    sharing.limit[load - 1] = np.inf
    return _level(sharing.limit, load, sharing.capacity[node], sharing.level[node])


@kernel
def _is_full(sharing: Sharing, node: int) -> bool:
    """Whether the rates on `node` might exceed its capacity, rounding aside."""
    return sharing.used[node] > sharing.capacity[node] * (1.0 + TOLERANCE)


@kernel
def _move(sharing: Sharing, job: int, rate: float, bottleneck: int, here: int) -> None:
    """Set the rate of `job`, and mark the nodes whose level that may move."""
    before = sharing.jobs[job].rate
    sharing.jobs[job].bottleneck = bottleneck
    if rate == before:
        return
    record_change(sharing, job)
    sharing.jobs[job].rate = rate
    more = rate - before
    for node in sharing.members[sharing.jobs[job].first : sharing.jobs[job].last]:
        level = sharing.level[node]
        sharing.used[node] += more
        key = level if more < 0.0 else max(before, level - more)
        absent = sharing.pending.place[node] < 0
        # One test without branches: which nodes have a level is hard to predict.
        if (level < np.inf) & (absent | (key < sharing.pending.key[node])):
            if node != here:
                heap.push(sharing.pending, node, key)
        elif more > 0.0 and (level == np.inf) & _is_full(sharing, node) and node != here:
            heap.decrease_key(sharing.pending, node, before)


@kernel
def fill(sharing: Sharing) -> None:
    """Rates and levels of all jobs from nothing, by progressive filling."""
    nodes = sharing.capacity.size
    left, free, filling = sharing.used, sharing.free, sharing.pending
    while filling.size[0] > 0:
        heap.pop(filling)
    for node in range(nodes):
        left[node], free[node] = sharing.capacity[node], sharing.load[node]
        sharing.level[node] = np.inf
        for place in range(sharing.load[node]):
            job = sharing.on[node, place]
            if sharing.jobs[job].bottleneck >= 0:
                record_change(sharing, job)
                sharing.jobs[job].bottleneck = -1
        if free[node] > 0:
            heap.push(filling, node, left[node] / free[node])
    while filling.size[0] > 0:
        node = heap.pop(filling)
        level = max(0.0, left[node] / free[node])
        sharing.level[node] = level
        for place in range(sharing.load[node]):
            job = sharing.on[node, place]
            if sharing.jobs[job].bottleneck >= 0:
                continue
            sharing.jobs[job].rate, sharing.jobs[job].bottleneck = level, node
            for member in range(sharing.jobs[job].first, sharing.jobs[job].last):
                other = sharing.members[member]
                left[other] -= level
                free[other] -= 1
                if free[other] > 0:
                    heap.push(filling, other, left[other] / free[other])
                else:
                    heap.remove(filling, other)
    for node in range(nodes):
        sharing.used[node] = sharing.capacity[node] - left[node]


@kernel
def remove_job(sharing: Sharing, job: int, node: int) -> None:
    """Remove `job` from those on `node`."""
    position = 0
    while sharing.on[node, position] != job:
        position += 1
    sharing.load[node] -= 1
    sharing.on[node, position] = sharing.on[node, sharing.load[node]]


@kernel
def record_change(sharing: Sharing, job: int) -> None:
    """Record that the rate of `job` changes, and what it was."""
    if not sharing.jobs[job].is_changed:
        sharing.jobs[job].is_changed = True
        sharing.jobs[job].before = sharing.jobs[job].rate
        sharing.changed[sharing.moved[0]] = job
        sharing.moved[0] += 1


@kernel
def clear_changes(sharing: Sharing) -> None:
    """Begin a new list of jobs whose rate changed."""
    for place in range(sharing.moved[0]):
        sharing.jobs[sharing.changed[place]].is_changed = False
    sharing.moved[0] = 0


@kernel
def join_equally(sharing: Sharing, job: int) -> None:
    """Let `job` run on its nodes."""
    record_change(sharing, job)
    size = sharing.jobs[job].last - sharing.jobs[job].first
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = sharing.members[place]
        load = sharing.load[node]
        part = sharing.capacity[node] / (load + 1)
        _give_part(sharing, node, part)
        sharing.on[node, load] = job
        sharing.load[node] = load + 1
        sharing.level[node] = part
        sharing.jobs[job].rate += part / size


@kernel
def leave_equally(sharing: Sharing, job: int) -> None:
    """Take `job` off its nodes."""
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = sharing.members[place]
        remove_job(sharing, job, node)
        load = sharing.load[node]
        if load > 0:
            _give_part(sharing, node, sharing.capacity[node] / load)
    sharing.jobs[job].rate = 0.0


@kernel
def resize_equally(sharing: Sharing, node: int, capacity: float) -> None:
    """Change the capacity of `node`."""
    sharing.capacity[node] = capacity
    if sharing.load[node] > 0:
        _give_part(sharing, node, capacity / sharing.load[node])


@kernel
def _give_part(sharing: Sharing, node: int, part: float) -> None:
    """Move all jobs on `node` from the part that they have of it to another."""
    more = part - sharing.level[node]
    for place in range(sharing.load[node]):
        job = sharing.on[node, place]
        record_change(sharing, job)
        sharing.jobs[job].rate += more / (sharing.jobs[job].last - sharing.jobs[job].first)
    sharing.level[node] = part
