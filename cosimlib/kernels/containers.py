"""Containers on idle nodes: the youngest are saved or killed first, and all idle nodes have one."""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.compiling import kernel


class Containers(NamedTuple):
    """Batches that run, the youngest last; and stretches (from, to, nodes, saved) of others."""

    since: np.ndarray
    nodes: np.ndarray
    batches: np.ndarray
    stopped: list[tuple[float, float, int, int]]


@kernel
def none(capacity: int) -> Containers:
    """None runs, none has."""
    return Containers(
        np.empty(capacity + 1, np.float64),
        np.empty(capacity + 1, np.int64),
        np.zeros(1, np.int64),
        [(0.0, 0.0, 0, 0) for _ in range(0)],
    )


@kernel
def turn_over(containers: Containers, now: float, saved: int, idle: int) -> None:
    """Save and kill the youngest containers, so that nobody holds more than is idle; fill up."""
    since, nodes, batches = containers.since, containers.nodes, containers.batches
    held = np.sum(nodes[: batches[0]])
    killed = max(0, held - saved - idle)
    for saves, stopping in ((1, saved), (0, killed)):
        held -= stopping
        while stopping > 0:
            batch = batches[0] - 1
            count = min(stopping, nodes[batch])
            containers.stopped.append((since[batch], now, count, saves))
            stopping -= count
            nodes[batch] -= count
            if nodes[batch] == 0:
                batches[0] -= 1
    if idle > held:
        since[batches[0]], nodes[batches[0]] = now, idle - held
        batches[0] += 1


@kernel
def stretches(containers: Containers, now: float) -> np.ndarray:
    """One row for each stretch of containers; those still running are saved now."""
    for batch in range(containers.batches[0]):
        if containers.since[batch] < now:
            containers.stopped.append((containers.since[batch], now, containers.nodes[batch], 1))
    table = np.empty((len(containers.stopped), 4))
    for row in range(table.shape[0]):
        since, end, nodes, saved = containers.stopped[row]
        table[row, 0], table[row, 1], table[row, 2], table[row, 3] = since, end, nodes, saved
    return table
