"""Max-min fair rates of jobs that run on several nodes at once, and equal parts of nodes.

A job has one rate, the same on all its nodes; the rates on a node add up to at most its capacity.
They are max-min fair if no job can have more without taking from one that has no more than it. Such
rates are the only ones in which every job has a *bottleneck*: a full node on which no job has
more (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).

The *level* of a node is the rate that its bottlenecked jobs have there. With ``limit(job)`` the
lowest level of the job's other nodes, it solves ``Σ min(level, limit(job)) = capacity``, and is
infinite if the node cannot be filled; the rate of a job is the lowest level of its nodes.

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
the rates of all jobs on it: `join_equally`, `leave_equally`.
"""

from typing import Any, NamedTuple

import numpy as np

from cosimlib.kernels import heap
from cosimlib.kernels.heap import Heap
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records

TOLERANCE = 1e-13
"""Relative changes below this are rounding."""

NONE = -1

signed: Any = np.int64
"""Converts the number of a job or node, kept in 32 bits without a sign, to the usual type: Numba
would compile every kernel for both types."""

MOST_ROUNDS = 64
"""How often each node may be settled, on average, before `settle` fills from nothing."""

BLOCK = 64
"""Neighboring nodes that make a block. Lower bounds of a block let a search pass over all of it."""

JOB = record_type(
    floats="rate before key work_left updated submit_time run_time memory freed_needed start_time "
    "end_time",
    integers="bottleneck first last is_changed place",
)
"""A job.

- `members[first:last]` are its nodes
- `rate`; `bottleneck`: a node at whose level it runs, `NONE` if there is none
- `is_changed`: whether it is in the list of `changed` jobs; `before`: its rate when it was listed
- `key`, `place`: in the heap of running jobs by their expected ends (`kernels.heap`)
- the others are the event loop's (see `kernel`): `submit_time`, `run_time`, `start_time`,
  `end_time` (s); `memory` that it needs on each node (GB); `work_left` at the time `updated`, in
  seconds at full speed; `freed_needed`: what the loop's `freed` must reach before it can fit
"""

NODE = record_type(
    floats="level used capacity left key memory",
    integers="load without_rate place",
)
"""A node.

- `capacity`; `level`; `load`: how many jobs are there
- `used`: the sum of their rates, which is kept only while the level is infinite
- `left`, `without_rate`: in progressive filling, the capacity that is left, and the jobs that have
  no rate yet
- `key`, `place`: in the heap of nodes to be settled or filled (`kernels.heap`)
- `memory` that is free (GB), which is the event loop's
"""

BOUNDS = record_type(floats="least_free", integers="least_load")
"""Lower bounds of a block of nodes: of the free memory (GB) and of the number of jobs of each."""

LOAD = record_type(integers="nodes tally")
"""A number of jobs: how many `nodes` have so many, and a scratch `tally` of some of these nodes."""

SLOT = record_type(floats="limit", integers="is_local at")
"""Scratch for a job on the node that is looked at: whether this node is its bottleneck, `is_local`;
what limits its rate on its other nodes, and `at` which of them."""

COUNTS = record_type(integers="changed")
"""How many jobs are in the list `changed`."""


class Sharing(NamedTuple):
    """Jobs on their nodes, and their rates.

    Parameters
    ----------
    jobs, nodes, blocks : records of `JOB`, `NODE` and `BOUNDS`
    members : np.ndarray
        The nodes of all jobs, one job after the other.
    on : np.ndarray
        A row per node: the jobs there, of which `load` says how many.
    loads : records of `LOAD`
        One for each number of jobs that a row of `on` has room for, from 0.
    slots : records of `SLOT`
        One for each place in a row of `on`.
    changed : np.ndarray
        Jobs whose rate changed at this instant; `counts` has their number.
    pending, finish : Heap
        The heaps of nodes to be settled and of running jobs.
    counts : record of `COUNTS`
    """

    jobs: np.recarray
    nodes: np.recarray
    blocks: np.recarray
    members: np.ndarray
    on: np.ndarray
    loads: np.recarray
    slots: np.recarray
    changed: np.ndarray
    pending: Heap
    finish: Heap
    counts: np.record


def empty(first: np.ndarray, members: np.ndarray, capacity: np.ndarray, slots: int) -> Sharing:
    """No job runs; `slots` for so many jobs on a node."""
    n, nodes = first.size - 1, capacity.size
    jobs = records(n, JOB, first=first[:-1], last=first[1:], bottleneck=NONE, place=-1)
    jobs.start_time = jobs.end_time = np.nan
    loads = records(slots + 1, LOAD)
    loads[0].nodes = nodes
    return Sharing(
        jobs,
        records(nodes, NODE, capacity=capacity, level=np.inf, place=-1),
        records(-(-nodes // BLOCK), BOUNDS),
        members.view(np.uint32),
        on=np.empty((nodes, slots), np.uint32),
        loads=loads,
        slots=records(slots, SLOT),
        changed=np.empty(n, np.int64),
        pending=heap.empty(nodes),
        finish=heap.empty(n),
        counts=records(1, COUNTS)[0],
    )


def with_more_slots(sharing: Sharing) -> Sharing:
    """The same state with room for twice as many jobs on a node."""
    nodes, slots = sharing.on.shape
    on = np.empty((nodes, 2 * slots), np.uint32)
    on[:, :slots] = sharing.on
    loads = records(2 * slots + 1, LOAD)
    loads[: slots + 1] = sharing.loads
    return sharing._replace(on=on, loads=loads, slots=records(2 * slots, SLOT))


@kernel
def join(sharing: Sharing, job: int) -> None:
    """Let `job` run on its nodes; `settle` then says how fast.

    It is first given the least level that one of its nodes would have if the job had no other.
    """
    level, at = np.inf, NONE
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = signed(sharing.members[place])
        add_job(sharing, job, node)
        level_here = _level_as_is(sharing, node)
        if level_here < level:
            level, at = level_here, node
    record_change(sharing, job)
    sharing.jobs[job].rate, sharing.jobs[job].bottleneck = level, at
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = signed(sharing.members[place])
        sharing.nodes[node].used += level
        if node == at or sharing.nodes[node].level < np.inf or _is_full(sharing.nodes[node]):
            heap.decrease_key(sharing.nodes, sharing.pending, node, level)


@kernel
def leave(sharing: Sharing, job: int) -> None:
    """Take `job` off its nodes; `settle` then gives what it had to the others."""
    nodes, pending = sharing.nodes, sharing.pending
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = signed(sharing.members[place])
        remove_job(sharing, job, node)
        sharing.nodes[node].used -= sharing.jobs[job].rate
        if sharing.nodes[node].load == 0:
            sharing.nodes[node].used, sharing.nodes[node].level = 0.0, np.inf
            heap.remove(nodes, pending, node)
        elif sharing.nodes[node].level < np.inf:
            heap.decrease_key(nodes, pending, node, sharing.nodes[node].level)
    sharing.jobs[job].rate, sharing.jobs[job].bottleneck = 0.0, -1


@kernel
def resize(sharing: Sharing, node: int, capacity: float, spmd: int) -> None:
    """Change the capacity of `node`, on which jobs are SPMD or have equal parts."""
    nodes, pending = sharing.nodes, sharing.pending
    less = sharing.nodes[node].capacity - capacity
    sharing.nodes[node].capacity = capacity
    level = sharing.nodes[node].level
    if not spmd:
        _give_part(sharing, node, sharing.nodes[node].load)
    elif level < np.inf:
        heap.decrease_key(nodes, pending, node, max(0.0, level - max(0.0, less)))
    elif sharing.nodes[node].load > 0 and _is_full(sharing.nodes[node]):
        heap.decrease_key(nodes, pending, node, 0.0)


@kernel
def settle(sharing: Sharing, most_rounds: int) -> int:
    """Make levels and rates agree; return how many nodes were settled.

    If that would be more than `most_rounds` times as many as there are, fill from nothing.
    """
    rounds = 0
    while sharing.pending.state.length > 0:
        _settle_node(sharing, heap.pop(sharing.nodes, sharing.pending))
        rounds += 1
        if rounds > most_rounds * sharing.nodes.size:
            fill(sharing)
    return rounds


@kernel
def _settle_node(sharing: Sharing, node: int) -> None:
    """Set the level of `node` and the rates of its jobs; mark the nodes that may now be wrong."""
    jobs, slots = sharing.jobs, sharing.slots
    load, level = sharing.nodes[node].load, sharing.nodes[node].level
    capacity, lowest_local = sharing.nodes[node].capacity, np.inf
    for place in range(load):
        job = signed(sharing.on[node, place])
        slots[place].is_local = jobs[job].bottleneck == node
        slots[place].limit = np.inf if slots[place].is_local else jobs[job].rate
        if slots[place].is_local:
            lowest_local = min(lowest_local, jobs[job].rate)
    # Jobs bottlenecked here are limited elsewhere at their rate or above: no need to know where,
    # unless one would rise.
    new = _level(slots, load, capacity, level)
    if new > lowest_local and _find_limits(sharing, node, new):
        new = _level(slots, load, capacity, new)
    if new != level and not abs(new - level) <= TOLERANCE * min(new, level):
        sharing.nodes[node].level = new
    else:
        new = level
    for place in range(load):
        job = signed(sharing.on[node, place])
        if not slots[place].is_local and new < jobs[job].rate * (1.0 - TOLERANCE):
            _move(sharing, job, new, node, node)
    for place in range(load):
        job = signed(sharing.on[node, place])
        if slots[place].is_local and slots[place].limit < new:
            _move(sharing, job, slots[place].limit, slots[place].at, node)
        elif slots[place].is_local and jobs[job].rate != new:
            _move(sharing, job, new, node, node)
    if new == np.inf:
        used = 0.0
        for place in range(load):
            used += jobs[signed(sharing.on[node, place])].rate
        sharing.nodes[node].used = used


@kernel
def _find_limits(sharing: Sharing, node: int, wanted: float) -> bool:
    """Find what keeps jobs bottlenecked at `node` below `wanted` elsewhere, if anything."""
    some_limit = False
    for place in range(sharing.nodes[node].load):
        if not sharing.slots[place].is_local:
            continue
        job = signed(sharing.on[node, place])
        limit, at = wanted, NONE
        for member in range(sharing.jobs[job].first, sharing.jobs[job].last):
            other = signed(sharing.members[member])
            if sharing.nodes[other].level < limit and other != node:
                limit, at = sharing.nodes[other].level, other
        if at >= 0:
            sharing.slots[place].limit, sharing.slots[place].at = limit, at
            some_limit = True
    return some_limit


@kernel
def _level(slots: np.recarray, n: int, capacity: float, guess: float) -> float:
    """The level at which `n` jobs with these limits fill a node; infinite if they cannot.

    Newton's method: from any guess the first step leads to the level or below it, the others up.
    """
    left, free, guessed = capacity, n, guess < np.inf
    if guessed:
        left, free = _left_over(slots, n, capacity, guess * (1.0 - TOLERANCE))
        if free == 0:
            left, free = capacity, n
    while free > 0:
        level = left / free
        left, count = _left_over(slots, n, capacity, level * (1.0 - TOLERANCE))
        if count == free or (count > free and not guessed):
            return level
        free, guessed = count, False
    return np.inf


@kernel
def _left_over(slots: np.recarray, n: int, capacity: float, bound: float) -> tuple[float, int]:
    """What jobs with limits below `bound` leave of a node, and how many other jobs there are."""
    left, count = capacity, n
    for place in range(n):
        below = slots[place].limit < bound
        left -= slots[place].limit if below else 0.0
        count -= below
    return left, count


@kernel
def _level_as_is(sharing: Sharing, node: int) -> float:
    """The level of `node` if its last job has no other nodes and the others keep their limits."""
    load = sharing.nodes[node].load
    for place in range(load - 1):
        job = signed(sharing.on[node, place])
        is_bottleneck = sharing.jobs[job].bottleneck == node
        sharing.slots[place].limit = np.inf if is_bottleneck else sharing.jobs[job].rate
    sharing.slots[load - 1].limit = np.inf
    return _level(sharing.slots, load, sharing.nodes[node].capacity, sharing.nodes[node].level)


@kernel
def _is_full(node: np.record) -> bool:
    """Whether the rates on a node might exceed its capacity, rounding aside."""
    return node.used > node.capacity * (1.0 + TOLERANCE)


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
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = signed(sharing.members[place])
        level = sharing.nodes[node].level
        sharing.nodes[node].used += more
        key = level if more < 0.0 else max(before, level - more)
        absent = sharing.nodes[node].place < 0
        # One test without branches: which nodes have a level is hard to predict.
        if (level < np.inf) & (absent | (key < sharing.nodes[node].key)):
            if node != here:
                heap.push(sharing.nodes, sharing.pending, node, key)
        elif more > 0.0 and (level == np.inf) & _is_full(sharing.nodes[node]) and node != here:
            heap.decrease_key(sharing.nodes, sharing.pending, node, before)


@kernel
def fill(sharing: Sharing) -> None:
    """Rates and levels of all jobs from nothing, by progressive filling."""
    jobs, nodes, filling = sharing.jobs, sharing.nodes, sharing.pending
    while filling.state.length > 0:
        heap.pop(nodes, filling)
    for node in range(nodes.size):
        nodes[node].left, nodes[node].without_rate = nodes[node].capacity, nodes[node].load
        nodes[node].level = np.inf
        for place in range(nodes[node].load):
            job = signed(sharing.on[node, place])
            if jobs[job].bottleneck >= 0:
                record_change(sharing, job)
                jobs[job].bottleneck = NONE
        if nodes[node].without_rate > 0:
            heap.push(nodes, filling, node, nodes[node].left / nodes[node].without_rate)
    while filling.state.length > 0:
        node = heap.pop(nodes, filling)
        level = max(0.0, nodes[node].left / nodes[node].without_rate)
        nodes[node].level = level
        for place in range(nodes[node].load):
            job = signed(sharing.on[node, place])
            if jobs[job].bottleneck >= 0:
                continue
            jobs[job].rate, jobs[job].bottleneck = level, node
            for member in range(jobs[job].first, jobs[job].last):
                other = signed(sharing.members[member])
                nodes[other].left -= level
                nodes[other].without_rate -= 1
                if nodes[other].without_rate > 0:
                    heap.push(nodes, filling, other, nodes[other].left / nodes[other].without_rate)
                else:
                    heap.remove(nodes, filling, other)
    for node in range(nodes.size):
        nodes[node].used = nodes[node].capacity - nodes[node].left


@kernel
def add_job(sharing: Sharing, job: int, node: int) -> None:
    """Add `job` to those on `node`."""
    load = sharing.nodes[node].load
    sharing.on[node, load] = job
    sharing.nodes[node].load = load + 1
    sharing.loads[load].nodes -= 1
    sharing.loads[load + 1].nodes += 1


@kernel
def remove_job(sharing: Sharing, job: int, node: int) -> None:
    """Remove `job` from those on `node`."""
    position, load = 0, sharing.nodes[node].load - 1
    while sharing.on[node, position] != job:
        position += 1
    sharing.nodes[node].load = load
    sharing.on[node, position] = sharing.on[node, load]
    sharing.loads[load + 1].nodes -= 1
    sharing.loads[load].nodes += 1
    block = sharing.blocks[node // BLOCK]
    block.least_load = min(block.least_load, load)


@kernel
def record_change(sharing: Sharing, job: int) -> None:
    """Record that the rate of `job` changes, and what it was."""
    if not sharing.jobs[job].is_changed:
        sharing.jobs[job].is_changed = True
        sharing.jobs[job].before = sharing.jobs[job].rate
        sharing.changed[sharing.counts.changed] = job
        sharing.counts.changed += 1


@kernel
def join_equally(sharing: Sharing, job: int) -> None:
    """Let `job` run on its nodes."""
    record_change(sharing, job)
    size = sharing.jobs[job].last - sharing.jobs[job].first
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = signed(sharing.members[place])
        _give_part(sharing, node, sharing.nodes[node].load + 1)
        add_job(sharing, job, node)
        sharing.jobs[job].rate += sharing.nodes[node].level / size


@kernel
def leave_equally(sharing: Sharing, job: int) -> None:
    """Take `job` off its nodes."""
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        node = signed(sharing.members[place])
        remove_job(sharing, job, node)
        _give_part(sharing, node, sharing.nodes[node].load)
    sharing.jobs[job].rate = 0.0


@kernel
def _give_part(sharing: Sharing, node: int, count: int) -> None:
    """Move the jobs on `node`, if there are any, to one of `count` equal parts of it."""
    part = sharing.nodes[node].capacity / max(1, count)
    more = part - sharing.nodes[node].level
    for place in range(sharing.nodes[node].load):
        job = signed(sharing.on[node, place])
        record_change(sharing, job)
        sharing.jobs[job].rate += more / (sharing.jobs[job].last - sharing.jobs[job].first)
    sharing.nodes[node].level = part
