"""The lowest free nodes of each job, slow and obvious."""

import heapq

import numpy as np


def node_numbers(
    start: np.ndarray, end: np.ndarray, nodes: np.ndarray, total: int
) -> list[np.ndarray]:
    """For each interval [start, end) the numbers, from 0, of the nodes that it holds, ascending.

    At equal times ends come before starts; among starts, the earlier in the arrays chooses first.

    Raises
    ------
    ValueError
        Where more nodes are held than there are.
    """
    free = list(range(total))
    ends: list[tuple[float, int]] = []
    held = [np.empty(0, np.int64) for _ in range(len(start))]
    for place in np.argsort(start, kind="stable"):
        while ends and ends[0][0] <= start[place]:
            for number in held[heapq.heappop(ends)[1]]:
                heapq.heappush(free, int(number))
        if nodes[place] > len(free):
            raise ValueError(
                f"{nodes[place]} nodes asked for at t={start[place]:.15g}; {len(free)} of {total} "
                "are free: audit the schedule"
            )
        held[place] = np.array([heapq.heappop(free) for _ in range(nodes[place])], np.int64)
        heapq.heappush(ends, (float(end[place]), int(place)))
    return held
