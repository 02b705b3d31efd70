"""Greedy eviction: fast, never proven optimal (Maurya et al., DS-RT 2020, Section IV-C1).

Sort the jobs by loss, largest first. Checkpoint each by its faster method (`app` where equal) while
the summed time stays within the deadline and the nodes do not suffice. At the first that does not
fit, go to the other end and kill jobs by ascending loss until the nodes suffice. Each deadline is a
run of its own, sorting included. Equal losses are sorted by job, the lower first.

All runs are one compiled loop: called one by one, three quarters of their time were the calls. So
the clock is read once, and each run is given the same part of that time.
"""

import time

import numpy as np

from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import APP, KEEP, KILL, SYS, EvictionProblem, check_problem
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.sorting import ascending


def solve_greedy(problem: EvictionProblem) -> EvictionPlan:
    """The greedy plan of each deadline: checkpoint by descending loss, kill by ascending loss.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=300)
    >>> print(cs.solve_greedy(problem))
    EvictionPlan greedy: 64 of 128 nodes of 3 jobs
      at once         9.00 node-hours lost, 64 nodes freed (2 kill, 0 app, 0 sys)
      within 5 min    0.00 node-hours lost, 64 nodes freed (0 kill, 1 app, 0 sys)
      proven optimal  0 deadlines of 6
    """
    check_problem(problem)
    begin = time.perf_counter()
    deadlines = len(problem.deadlines)
    choices = evict_greedily(*problem.arrays, problem.nodes_needed, deadlines)
    elapsed = time.perf_counter() - begin
    response_time = elapsed * np.arange(1, deadlines + 1) / deadlines
    return EvictionPlan(problem, "greedy", choices, np.zeros(deadlines, bool), response_time)


@kernel
def evict_greedily(
    nodes: np.ndarray,
    loss: np.ndarray,
    app_steps: np.ndarray,
    sys_steps: np.ndarray,
    nodes_needed: int,
    rows: int,
) -> np.ndarray:
    """Choices (`rows` deadlines × jobs); for the other arrays see `EvictionArrays`."""
    choices = np.zeros((rows, nodes.size), dtype=np.uint8)
    for row in range(rows):
        _evict(nodes, loss, app_steps, sys_steps, nodes_needed, row, choices[row])
    return choices


@kernel
def _evict(nodes, loss, app_steps, sys_steps, nodes_needed, deadline, choice):
    """Write one deadline's choices; the arrays hold one value per job."""
    order = ascending(-loss)
    freed = 0
    used = 0
    for job in order:
        if freed >= nodes_needed:
            return
        fastest = min(app_steps[job], sys_steps[job])
        if used + fastest > deadline:
            break
        used += fastest
        freed += nodes[job]
        choice[job] = APP if app_steps[job] <= sys_steps[job] else SYS
    for job in order[::-1]:
        if freed >= nodes_needed:
            return
        if choice[job] == KEEP:
            freed += nodes[job]
            choice[job] = KILL
