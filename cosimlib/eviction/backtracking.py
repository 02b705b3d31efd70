"""Optimal eviction by backtracking, a depth-first search (Maurya et al., DS-RT 2020, IV-C2).

Each job in turn is kept, killed, checkpointed at application level or at system level. A branch is
abandoned when it misses the deadline or cannot beat the best plan found so far (in loss, then in
checkpoint time); on request (`look_ahead`, which the paper does not mention) also when the
remaining jobs cannot free the missing nodes. Exact, but exponential in the number of jobs: each
deadline is a search of its own with its own `time_limit`.
"""

import time
from typing import NamedTuple

import numpy as np

from cosimlib import checks as check
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import APP, KILL, SYS, EvictionProblem, check_problem
from cosimlib.kernels.jit import kernel

VISITS = 200_000
"""Choices tried between two readings of the clock, about a millisecond."""


class Search(NamedTuple):
    """State of a depth-first search, kept while the clock is read.

    Its arrays cross to the kernel one by one: a tuple of arrays takes longer to cross than a search
    for few nodes takes in all.
    """

    remaining: np.ndarray
    """Nodes that each job and those after it can free; 0 behind the last."""
    tried: np.ndarray
    """The current choice per job, -1 before the first."""
    spent: np.ndarray
    """Loss, steps and nodes freed before each job."""
    best: np.ndarray
    """Loss and steps of the best plan so far."""


def solve_backtracking(
    problem: EvictionProblem, *, time_limit: float = 10.0, look_ahead: bool = False
) -> EvictionPlan:
    """The optimal plan of each deadline by depth-first search, or the best one in the time given.

    Parameters
    ----------
    problem : EvictionProblem
    time_limit : float, default 10.0
        Seconds per deadline. A search that is stopped returns its best plan so far (all jobs killed
        where it found none); then `proven` is False, and the response time is a lower bound on that
        of the whole search.
    look_ahead : bool, default False
        Whether to abandon branches that can no longer free enough nodes; hundreds of times faster
        where many nodes are needed.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=300)
    >>> print(cs.solve_backtracking(problem))
    EvictionPlan backtracking: 64 of 128 nodes of 3 jobs
      at once         9.00 node-hours lost, 64 nodes freed (2 kill, 0 app, 0 sys)
      within 5 min    0.00 node-hours lost, 64 nodes freed (0 kill, 1 app, 0 sys)
      proven optimal  6 deadlines of 6
    """
    check_problem(problem)
    check.seconds("time_limit", time_limit, above=0)
    begin = time.perf_counter()
    deadlines, n = len(problem.deadlines), len(problem)
    choices = np.zeros((deadlines, n), dtype=np.uint8)
    proven = np.ones(deadlines, dtype=bool)
    response_time = np.empty(deadlines)
    remaining = np.append(problem.arrays.nodes[::-1].cumsum()[::-1], 0)
    if not look_ahead:
        remaining[:-1] = problem.nodes_needed
    search = Search(remaining, np.empty(n, dtype=np.int64), np.zeros((n + 1, 3)), np.empty(2))
    for row in range(deadlines):
        if problem.nodes_needed:
            proven[row] = _solve_one(problem, row, time_limit, search, choices[row])
        response_time[row] = time.perf_counter() - begin
    return EvictionPlan(problem, "backtracking", choices, proven, response_time)


def _solve_one(
    problem: EvictionProblem, deadline: int, limit: float, search: Search, choice: np.ndarray
) -> bool:
    """Write one deadline's best choices; return whether the search came to its end."""
    search.tried[:] = -1
    search.best[:] = np.inf
    choice[:] = KILL
    until = time.perf_counter() + limit
    depth = 0
    while depth >= 0:
        depth = _search(
            *problem.arrays, *search, choice, problem.nodes_needed, deadline, depth
        )  # fmt: skip
        if depth >= 0 and time.perf_counter() > until:
            return False
    return True


@kernel
def _search(
    nodes, loss, app_steps, sys_steps, remaining, tried, spent, best, choice,
    nodes_needed, deadline, depth,
):  # fmt: skip
    """Go on from `depth` for up to `VISITS` choices; return the depth reached, -1 at the end.

    For the arrays see `EvictionArrays` and `Search`; `choice` holds the choices of the best plan.
    """
    visits = VISITS
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
