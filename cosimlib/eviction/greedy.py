"""Greedy eviction: fast, never proven optimal (Maurya et al., DS-RT 2020, Section IV-C1).

Sort the jobs by loss, largest first. Checkpoint each by its faster method (`app` where equal) while
the summed time stays within the deadline and the nodes do not suffice. At the first that does not
fit, go to the other end and kill jobs by ascending loss until the nodes suffice. Each deadline is a
run of its own, sorting included. Equal losses are sorted by job, the lower first.
"""

import time

import numpy as np

from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import APP, KEEP, KILL, SYS, EvictionProblem
from cosimlib.kernels.jit import kernel


def solve_greedy(problem: EvictionProblem) -> EvictionPlan:
    """The greedy plan of each deadline: checkpoint by descending loss, kill by ascending loss."""
    begin = time.perf_counter()
    deadlines = len(problem.deadlines)
    choices = np.zeros((deadlines, len(problem)), dtype=np.uint8)
    response_time = np.empty(deadlines)
    for row in range(deadlines):
        _evict(*problem.arrays, problem.nodes_needed, row, choices[row])
        response_time[row] = time.perf_counter() - begin
    return EvictionPlan(problem, "greedy", choices, np.zeros(deadlines, bool), response_time)


@kernel
def _evict(nodes, loss, app_steps, sys_steps, nodes_needed, deadline, choice):
    """Write one deadline's choices; the arrays hold one value per job."""
    order = np.argsort(-loss, kind="mergesort")
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
