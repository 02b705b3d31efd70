"""Filler containers on the nodes that batch jobs and bursts leave idle: the cheapest victims.

A container takes one node as soon as it idles, and leaves it at once when a job or burst is to
start there, or nodes are to be held for one. It loses nothing, as it is saved while it runs on; it
is useful from `start_up` seconds after it took the node on (see `cosimlib.filling` for what saving
costs: 2 to 4 % of the time). No job or burst ever waits for it: their schedule is the same with
containers as without. Nodes are given back by the containers that came last. So that bursts find
nodes, keep some for them (policy `reserve`): on these, containers work while no burst does.
"""

import numpy as np

from cosimlib.kernels.jit import kernel


@kernel
def containers(times: np.ndarray, idle: np.ndarray, start_up: float, use: int) -> np.ndarray:
    """Rows of job (−1), start, end, nodes, use: the useful time of containers.

    `idle` nodes from each of `times` to the next.
    """
    begins, counts, size = np.empty(times.size), np.empty(times.size, np.int64), 0
    rows, n = np.empty((2 * times.size, 5)), 0
    held = 0
    for place in range(times.size):
        now, wanted = times[place], max(int(idle[place]), 0)
        if wanted > held:
            begins[size], counts[size] = now, wanted - held
            size += 1
        while wanted < held:
            leave = min(held - wanted, counts[size - 1])
            if begins[size - 1] + start_up < now:
                rows[n, 0], rows[n, 1], rows[n, 2] = -1.0, begins[size - 1] + start_up, now
                rows[n, 3], rows[n, 4] = leave, use
                n += 1
            counts[size - 1] -= leave
            held -= leave
            if counts[size - 1] == 0:
                size -= 1
        held = wanted
    return rows[:n]
