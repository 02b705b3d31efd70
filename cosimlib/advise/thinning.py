"""Groups that no least-loss plan needs, left out before a solver runs.

Of groups with checkpoints of equal length, one that frees as many nodes and loses no more can take
the place of another. So a group is of no use where so many others can take its place that they
would free what is needed without it: at least one plan of least loss does without all such groups.
With few nodes needed, few of ten thousand groups are left.
"""

from bisect import bisect_left, insort

import numpy as np

from cosimlib.eviction import EvictionProblem


def useful_groups(problem: EvictionProblem, nodes_needed: int) -> np.ndarray:
    """Rows of the groups that a plan of least loss may need for `nodes_needed` nodes."""
    if nodes_needed == 0:
        return np.zeros(0, dtype=np.int64)
    release, app_write, sys_write, _ = problem.writes
    beyond = len(problem.deadlines)
    reached = release + app_write < beyond
    kind = np.stack([
        np.where(reached, release, -1), np.where(reached, app_write, -1),
        np.minimum(sys_write, beyond),
    ])  # fmt: skip
    nodes = np.minimum(problem.arrays.nodes, nodes_needed)
    loss = problem.arrays.loss
    order = np.lexsort((-nodes, loss, *kind))
    change = np.any(np.diff(kind[:, order], axis=1) != 0, axis=0)
    starts = np.concatenate([[True], change]) if order.size else np.zeros(0, dtype=bool)
    kept: list[int] = []
    cheaper: list[int] = []
    listed = zip(order.tolist(), nodes[order].tolist(), starts.tolist(), strict=True)
    for row, size, begins in listed:
        if begins:
            cheaper = []
        place = bisect_left(cheaper, size)
        if len(cheaper) - place < -(-nodes_needed // size):
            kept.append(row)
            insort(cheaper, size)
    return np.sort(np.array(kept, dtype=np.int64))
