"""Placement of jobs on the least loaded nodes that have enough free memory."""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import frugal_kernel, kernel
from cosimlib.timesharing.maxmin import Sharing

SPARE = 1e-9
"""Gigabytes that count as nothing."""

SHELVES = 256
"""Bins of the histogram of free memory."""


class Memory(NamedTuple):
    """Free memory per node, `free` (GB), and its histogram `shelves`, of `SHELVES` equal bins.

    `size[0]` is the memory of an empty node.
    """

    free: np.ndarray
    shelves: np.ndarray
    size: np.ndarray


@kernel
def empty(total_nodes: int, memory_per_node: float) -> Memory:
    """No memory is used."""
    shelves = np.zeros(SHELVES + 1, np.int64)
    shelves[SHELVES] = total_nodes
    return Memory(np.full(total_nodes, memory_per_node), shelves, np.full(1, memory_per_node))


@frugal_kernel
def use(memory: Memory, node: int, amount: float) -> None:
    """Take `amount` of what `node` has free; a negative amount gives back."""
    memory.shelves[_shelf(memory, memory.free[node])] -= 1
    memory.free[node] -= amount
    memory.shelves[_shelf(memory, memory.free[node])] += 1


@frugal_kernel
def missing_nodes(memory: Memory, sharing: Sharing, job: int, amount: float, placed: bool) -> int:
    """Lower bound on how many more nodes need `amount` GB free for `job`; 0 if it can start now."""
    first, last = sharing.first[job], sharing.first[job + 1]
    least = amount - SPARE
    missing = last - first
    if amount <= 0.0:
        return 0
    if placed:
        for place in range(first, last):
            missing -= memory.free[sharing.members[place]] >= least
        return missing
    # A bound that needs no look at the nodes: all on the shelf of `least` might have enough.
    bound = missing - memory.shelves[_shelf(memory, least) :].sum()
    if bound > 0:
        return bound
    for node in range(memory.free.size):
        missing -= memory.free[node] >= least
    return max(0, missing)


@frugal_kernel
def _shelf(memory: Memory, amount: float) -> int:
    """The bin of nodes that have `amount` free."""
    return min(SHELVES, max(0, int(amount / memory.size[0] * SHELVES)))


@frugal_kernel
def place(memory: Memory, sharing: Sharing, tally: np.ndarray, job: int, amount: float) -> None:
    """Place `job` on the nodes with the fewest jobs, ties by node number."""
    free, least, load = memory.free, amount - SPARE, sharing.load
    highest = 0
    for node in range(load.size):
        if free[node] >= least:
            tally[load[node]] += 1
            highest = max(highest, load[node])
    wanted, bound = sharing.first[job + 1] - sharing.first[job], 0
    while tally[bound] < wanted:
        wanted -= tally[bound]
        bound += 1
    tally[: highest + 1] = 0
    next_place = sharing.first[job]
    for node in range(load.size):
        if free[node] < least or load[node] > bound:
            continue
        if load[node] == bound:
            if wanted == 0:
                continue
            wanted -= 1
        sharing.members[next_place] = node
        next_place += 1
        if next_place == sharing.first[job + 1]:
            break
