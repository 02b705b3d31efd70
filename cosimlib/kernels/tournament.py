"""Tournament tree of minima: finds, of many jobs in order, the next one that may start.

A complete binary tree in an array: nodes 2i and 2i + 1 lie below node i, and node 1 is the root.
Its leaves, from left to right, are places for jobs. Every node holds the fewest nodes and the
shortest time that a job below it asks for. Where these minima break a limit, every job below does,
and a search passes over the whole subtree.
"""

import numpy as np

from cosimlib.kernels.backfilling import keeps
from cosimlib.kernels.jit import kernel

NODE = np.dtype([("nodes", "i8"), ("time", "f8"), ("job", "i8")])
"""Fewest nodes, shortest time in seconds; the job of a leaf, or `INNER`."""

ROOT, INNER = 1, -1
NOBODY = 1 << 62
"""Nodes that a place without a job asks for: more than are ever free."""


def empty(leaves: int) -> np.recarray:
    """A tree with room for so many leaves, in which nobody waits."""
    tree = np.recarray(4 * max(leaves, 1), NODE)
    tree[ROOT] = NOBODY, np.inf, INNER
    return tree


@kernel
def build(tree: np.recarray, width: int) -> None:
    """Compute the minima above the leaves, which are the nodes from `width` to ``2 · width``."""
    for node in range(width - 1, 0, -1):
        left, right = tree[2 * node], tree[2 * node + 1]
        tree[node].nodes = min(left.nodes, right.nodes)
        tree[node].time = min(left.time, right.time)
        tree[node].job = INNER


@kernel
def put(tree: np.recarray, leaf: int, nodes: int, time: float) -> None:
    """Let a leaf ask for nodes and time, and correct the minima above as far as they change."""
    node = leaf
    while node > 0 and (tree[node].nodes != nodes or tree[node].time != time):
        tree[node].nodes, tree[node].time = nodes, time
        nodes, time = min(nodes, tree[node ^ 1].nodes), min(time, tree[node ^ 1].time)
        node //= 2


@kernel
def next_waiting(tree: np.recarray, node: int) -> int:
    """The first leaf below a node, or to the right of it, at which a job waits; 0 for none."""
    while node > 0:
        if tree[node].nodes == NOBODY:
            node = right_of(node)
        elif tree[node].job == INNER:
            node *= 2
        else:
            return node
    return 0


@kernel
def next_fitting(
    tree: np.recarray, node: int, free: int, limits: np.recarray, rows: int, now: float
) -> int:
    """The first leaf below a node, or to the right of it, whose job may start now; 0 if none may.

    It takes at most the free nodes and keeps the first `rows` limits (see `kernels.backfilling`).
    """
    while node > 0:
        least = tree[node]
        if least.nodes <= free and keeps(limits, rows, least.nodes, now + least.time):
            if least.job != INNER:
                return node
            node *= 2
        else:
            node = right_of(node)
    return 0


@kernel
def right_of(node: int) -> int:
    """The root of the next subtree to the right of that of a node; 0 if there is none."""
    while node & 1:
        node //= 2
    return node + 1 if node > 0 else 0
