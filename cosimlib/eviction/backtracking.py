"""Exhaustive eviction by depth-first search (Maurya et al., DS-RT 2020, Section IV-C2).

Every job in turn is kept, killed, checkpointed at application level or at system level. A branch is
abandoned when it misses the deadline or cannot beat the best plan found so far (in loss, then in
checkpoint time); on request (`look_ahead`, which the paper does not mention) also when the jobs
that remain cannot free the nodes that are missing. Exact, but exponential in the number of jobs:
every deadline is a run of its own with its own `time_limit`.
"""

import time

import numpy as np

from cosimlib import checks as check
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import APP, KILL, SYS, EvictionProblem
from cosimlib.kernels.jit import kernel

VISITS_BETWEEN_LOOKS = 200_000
"""Choices tried between two looks at the clock, about a millisecond."""


def solve_backtracking(
    problem: EvictionProblem, *, time_limit: float = 10.0, look_ahead: bool = False
) -> EvictionPlan:
    """Try all choices, abandoning what cannot win.

    Parameters
    ----------
    problem : EvictionProblem
    time_limit : float, default 10.0
        Seconds for each deadline. Where it runs out, the best plan found so far stands (all jobs
        killed where none was), `proven` is False, and the response time is a lower bound on what
        the search takes.
    look_ahead : bool, default False
        Whether to abandon branches that can no longer free enough nodes; hundreds of times faster
        where many nodes are needed.
    """
    check.seconds("time_limit", time_limit, above=0)
    begin = time.perf_counter()
    deadlines, n = len(problem.deadlines), len(problem)
    choices = np.zeros((deadlines, n), dtype=np.uint8)
    proven = np.ones(deadlines, dtype=bool)
    response_time = np.empty(deadlines)
    remaining = np.append(problem.arrays.nodes[::-1].cumsum()[::-1], 0)
    if not look_ahead:
        remaining[:-1] = problem.nodes_needed
    memory = (remaining, np.empty(n, dtype=np.int64), np.zeros((n + 1, 3)), np.empty(2))
    for row in range(deadlines):
        if problem.nodes_needed:
            proven[row] = _solve_one(problem, row, time_limit, memory, choices[row])
        response_time[row] = time.perf_counter() - begin
    return EvictionPlan(problem, "backtracking", choices, proven, response_time)


def _solve_one(
    problem: EvictionProblem, deadline: int, limit: float, memory: tuple, choice: np.ndarray
) -> bool:
    """Write one deadline's best choices; whether the search came to its end."""
    remaining, tried, spent, best = memory
    tried[:] = -1
    best[:] = np.inf
    choice[:] = KILL
    until = time.perf_counter() + limit
    depth = 0
    while depth >= 0:
        depth = _search(
            *problem.arrays, remaining, problem.nodes_needed, deadline,
            depth, tried, spent, best, choice, VISITS_BETWEEN_LOOKS,
        )  # fmt: skip
        if depth >= 0 and time.perf_counter() > until:
            return False
    return True


@kernel
def _search(
    nodes, loss, app_steps, sys_steps, remaining, nodes_needed, deadline,
    depth, tried, spent, best, choice, visits,
):  # fmt: skip
    """Go on from `depth` for `visits` choices; the depth reached, -1 at the end.

    `remaining` holds the nodes that each job and those after it may free, 0 behind the last;
    `tried` each job's current choice; `spent` loss, steps and nodes freed before each job;
    `best` the loss and steps of the best plan so far, whose choices are in `choice`.
    """
    while depth >= 0 and visits > 0:
        visits -= 1
        tried[depth] += 1
        action = tried[depth]
        if action > SYS:
            tried[depth] = -1
            depth -= 1
            continue
        lost, steps, freed = spent[depth, 0], spent[depth, 1], spent[depth, 2]
        if action > 0:
            freed += nodes[depth]
        if action == KILL:
            lost += loss[depth]
        elif action == APP:
            steps += app_steps[depth]
        elif action == SYS:
            steps += sys_steps[depth]
        if steps > deadline or lost > best[0] or (lost == best[0] and steps >= best[1]):
            continue
        if freed + remaining[depth + 1] < nodes_needed:
            continue
        if freed >= nodes_needed:
            best[0], best[1] = lost, steps
            for job in range(choice.size):
                choice[job] = tried[job] if job <= depth else 0
            continue
        depth += 1
        spent[depth, 0], spent[depth, 1], spent[depth, 2] = lost, steps, freed
    return depth
