"""Eviction by a search per deadline: greedy, and depth first with backtracking.

*Greedy* (Maurya et al., DS-RT 2020, Section IV-C1) is fast and never proven optimal. Sort the jobs
by loss, largest first. Checkpoint each by its faster method (`app` where equal) while the summed
time stays within the deadline and the nodes do not suffice. At the first that does not fit, go to
the other end and kill jobs by ascending loss until the nodes suffice. Each deadline is a run of its
own, sorting included. Equal losses are sorted by job, the lower first. All runs are one compiled
loop: called one by one, three quarters of their time were the calls. So the clock is read once, and
each run is given the same part of that time.

*Backtracking* (Section IV-C2) is exact, and exponential in the number of jobs. Each job in turn is
kept, killed, checkpointed at application level or at system level. A branch is abandoned when it
misses the deadline or cannot beat the best plan found so far (in loss, then in checkpoint time).
Each deadline is a search of its own with its own `time_limit`.
"""

import time

import numpy as np

from cosimlib import checks as check
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import APP, KEEP, KILL, SYS, EvictionProblem, check_problem
from cosimlib.kernels.jit import allocating_kernel, kernel

VISITS = 200_000
"""Choices tried between two readings of the clock, about a millisecond."""
LEVEL = np.dtype(
    [
        ("nodes", np.int64),
        ("loss", np.float64),
        ("app_steps", np.int64),
        ("sys_steps", np.int64),
        ("tried", np.int64),
        ("lost", np.float64),
        ("spent", np.int64),
        ("freed", np.int64),
    ]
)
"""A level of the depth-first search: a job, its current choice (-1 before the first), and the loss,
steps and nodes of the choices before it."""


def solve_greedy(problem: EvictionProblem) -> EvictionPlan:
    """Greedy eviction plan of each deadline: checkpoint by descending loss, kill by ascending.

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


def solve_backtracking(problem: EvictionProblem, *, time_limit: float = 10.0) -> EvictionPlan:
    """Optimal eviction plan of each deadline by depth-first search, or the best in the time given.

    Parameters
    ----------
    problem : EvictionProblem
    time_limit : float, default 10.0
        Seconds per deadline. A search that is stopped returns its best plan so far (all jobs killed
        where it found none); then `proven` is False, and the response time is a lower bound on that
        of the whole search.

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
    levels = np.zeros(n, dtype=LEVEL)
    for name, values in problem.arrays._asdict().items():
        levels[name] = values
    for row in range(deadlines):
        if problem.nodes_needed:
            proven[row] = _solve_one(problem, row, time_limit, levels, choices[row])
        response_time[row] = time.perf_counter() - begin
    return EvictionPlan(problem, "backtracking", choices, proven, response_time)


def _solve_one(
    problem: EvictionProblem, deadline: int, limit: float, levels: np.ndarray, choice: np.ndarray
) -> bool:
    """Write one deadline's best choices; return whether the search came to its end."""
    levels["tried"] = -1
    best = np.full(2, np.inf)
    choice[:] = KILL
    until = time.perf_counter() + limit
    depth = 0
    while depth >= 0:
        depth = _search(levels, best, choice, problem.nodes_needed, deadline, depth)
        if depth >= 0 and time.perf_counter() > until:
            return False
    return True


@allocating_kernel
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


@allocating_kernel
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


@kernel
def _search(
    levels: np.ndarray,
    best: np.ndarray,
    choice: np.ndarray,
    nodes_needed: int,
    deadline: int,
    depth: int,
) -> int:
    """Go on from `depth` for up to `VISITS` choices; return the depth reached, -1 at the end.

    For `levels` see `LEVEL`; `best` holds the loss and the steps of the best plan, and `choice`
    its choices.
    """
    tried = levels["tried"]
    visits = VISITS
    while depth >= 0 and visits > 0:
        visits -= 1
        tried[depth] += 1
        action = tried[depth]
        if action > SYS:
            tried[depth] = -1
            depth -= 1
            continue
        lost, spent, freed = _after(levels, depth, action)
        if spent > deadline or lost > best[0] or (lost == best[0] and spent >= best[1]):
            continue
        if freed >= nodes_needed:
            best[0], best[1] = lost, spent
            for job in range(choice.size):
                choice[job] = tried[job] if job <= depth else 0
            continue
        if depth + 1 < levels.size:
            depth += 1
            levels["lost"][depth], levels["spent"][depth] = lost, spent
            levels["freed"][depth] = freed
    return depth


@kernel
def _after(levels: np.ndarray, depth: int, action: int) -> tuple[float, int, int]:
    """Loss, steps and nodes freed once the job of a level has this choice."""
    lost, spent = levels["lost"][depth], levels["spent"][depth]
    freed = levels["freed"][depth]
    if action != KEEP:
        freed += levels["nodes"][depth]
    if action == KILL:
        lost += levels["loss"][depth]
    elif action == APP:
        spent += levels["app_steps"][depth]
    elif action == SYS:
        spent += levels["sys_steps"][depth]
    return lost, spent, freed
