"""Optimal eviction by dynamic programming, all deadlines in one pass (Maurya et al., Algorithm 1).

``a[t, n]`` is the least loss of freeing exactly `n` nodes with checkpoints that take exactly `t`
steps. Each job in turn either leaves a cell alone or reaches it from ``a[t, n - nodes]`` by a kill
(adding its loss), from ``a[t - app, n - nodes]`` or from ``a[t - sys, n - nodes]`` by a checkpoint
(adding none); `app` is tried before `sys`. The best plan for a deadline is the cell of least loss,
then of least `t`, among all `n >= nodes_needed` and all `t` up to it.

Rows are taken by descending `t`, so that only the current row needs a copy. Choices are kept as two
bits per cell: 1,000 jobs, 10,000 nodes and 61 deadlines take 153 MB. Two solvers read the table:

- `solve_dynamic`: at least `nodes_needed` nodes. A cell that frees enough is final, so no cell
  beyond ``nodes_needed`` is ever a source and the node axis ends one widest job behind it.
- `solve_spectrum`: each number of nodes from 0 to all that are held, for each deadline.
"""

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cosimlib.display import Displayed, Facts, count
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import (
    APP,
    KEEP,
    KILL,
    MILLISECONDS_PER_HOUR,
    SYS,
    EvictionArrays,
    EvictionProblem,
    check_problem,
)
from cosimlib.kernels.jit import allocating_kernel, kernel

MEMORY_LIMIT = 2**30


def solve_dynamic(problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT) -> EvictionPlan:
    """Optimal eviction plan of each deadline, by dynamic programming in one pass.

    Parameters
    ----------
    problem : EvictionProblem
    memory_limit : int, default 2**30
        Bytes that the table and the stored choices may take.

    Raises
    ------
    MemoryError
        If they need more.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=300)
    >>> print(cs.solve_dynamic(problem))
    EvictionPlan dynamic: 64 of 128 nodes of 3 jobs
      at once         9.00 node-hours lost, 64 nodes freed (2 kill, 0 app, 0 sys)
      within 5 min    0.00 node-hours lost, 64 nodes freed (0 kill, 1 app, 0 sys)
      proven optimal  6 deadlines of 6
    """
    check_problem(problem)
    begin = time.perf_counter()
    table, chosen = _fill(problem, problem.nodes_needed, problem.nodes_needed, memory_limit)
    choices = read_plans(table, chosen, problem.arrays, problem.nodes_needed)
    elapsed = time.perf_counter() - begin
    return EvictionPlan.optimum(problem, "dynamic", choices, elapsed)


def solve_spectrum(problem: EvictionProblem) -> "EvictionSpectrum":
    """Least loss for each number of nodes and each deadline: the K × T trade-off.

    `nodes_needed` of the problem is ignored. Raises `MemoryError` as `solve_dynamic` does.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=300)
    >>> print(cs.solve_spectrum(problem))
    EvictionSpectrum 0 to 128 nodes of 3 jobs
      deadlines     6, from 0 to 5 min
      all killed    49.0 node-hours lost
      without loss  up to 96 nodes by the last deadline
    """
    check_problem(problem)
    begin = time.perf_counter()
    table, chosen = _fill(problem, 0, problem.total_nodes + 1, MEMORY_LIMIT)
    by_deadline = np.minimum.accumulate(table)
    at_least = np.minimum.accumulate(by_deadline[:, ::-1], axis=1)[:, ::-1]
    loss = at_least.T / MILLISECONDS_PER_HOUR
    return EvictionSpectrum(problem, loss, time.perf_counter() - begin, table, chosen)


@dataclass(frozen=True, eq=False, repr=False)
class EvictionSpectrum(Displayed):
    """Least loss for each number of nodes and each deadline, and the plans behind it.

    Parameters
    ----------
    problem : EvictionProblem
    loss : np.ndarray
        ``loss[k, i]``: node-hours lost to free at least `k` nodes by the `i`-th deadline, for
        `k` from 0 to all nodes that the jobs hold.
    response_time : float
        Seconds of the solver.
    table, chosen : np.ndarray
        Algorithm 1's table and its choices, from which `plan` reads.
    """

    problem: EvictionProblem
    loss: np.ndarray
    response_time: float
    table: np.ndarray
    chosen: np.ndarray

    @property
    def deadlines(self) -> np.ndarray:
        """Seconds from now, one per column."""
        return self.problem.deadlines

    def plan(self, nodes_needed: int) -> EvictionPlan:
        """Plan for `nodes_needed` nodes, read from the table without solving again."""
        problem = self.problem.asking(nodes_needed)
        choices = read_plans(self.table, self.chosen, problem.arrays, nodes_needed)
        return EvictionPlan.optimum(problem, "dynamic", choices, self.response_time)

    def _heading(self) -> str:
        nodes, jobs = self.problem.total_nodes, len(self.problem)
        return f"0 to {nodes:,} nodes of {count(jobs, 'job')}"

    def _facts(self) -> Facts:
        return {
            **self.problem._facts(),
            "without loss": lambda: (
                f"up to {np.flatnonzero(self.loss[:, -1] == 0).max():,} nodes by the last deadline"
            ),
        }


class Actions(NamedTuple):
    """What each job's kill and checkpoints cost and take, one value per job.

    `kill` and `app` are costs; a system-level checkpoint that leads to row `t` of a table costs the
    job's nodes × ``t * step``. An application-level one leads to no row after `latest`.
    """

    nodes: np.ndarray
    kill: np.ndarray
    app: np.ndarray
    step: float
    app_steps: np.ndarray
    sys_steps: np.ndarray
    latest: np.ndarray


def check_memory(table: str, needed: int, limit: int = MEMORY_LIMIT) -> None:
    """Raise an error if a table, such as "8 jobs × 16 deadlines", needs too much memory."""
    if needed > limit:
        raise MemoryError(
            f"{table} take {needed:,} bytes; the limit is {limit:,}: take a longer step, "
            "or raise memory_limit where it is an argument"
        )


def _fill(
    problem: EvictionProblem, least: int, limit: int, memory: int
) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 1's table (steps × nodes) and packed choices (jobs × steps × nodes / 4).

    Only cells that can still reach `least` nodes matter, and only those below `limit` are sources.
    """
    jobs, rows = len(problem), len(problem.deadlines)
    width = table_width(problem.arrays.nodes, limit)
    shape = (jobs, rows, packed_width(width))
    needed = shape[0] * shape[1] * shape[2] + 8 * rows * width
    check_memory(f"{jobs} jobs × {rows} deadlines × {width - 1} nodes", needed, memory)
    table = np.full((rows, width), np.inf)
    table[0, 0] = 0.0
    chosen = np.zeros(shape, dtype=np.uint8)
    relax_all(problem.arrays, least, limit, table, chosen)
    return table, chosen


@kernel
def table_width(nodes: np.ndarray, nodes_needed: int) -> int:
    """Numbers of nodes, from 0, that a plan may free without a job that it could do without."""
    widest = 0
    for held in nodes:
        widest = max(widest, held)
    return min(nodes.sum(), max(nodes_needed - 1, 0) + widest) + 1


@kernel
def packed_width(width: int) -> int:
    """Bytes that the choices of so many cells take."""
    return (width + 3) // 4


@allocating_kernel
def relax_all(
    jobs: EvictionArrays, least: int, limit: int, table: np.ndarray, chosen: np.ndarray
) -> None:
    """Improve the table by each job in turn, from sources that matter (see `_fill`).

    `chosen` has a row of packed choices for each job and step.
    """
    n, rows = jobs.nodes.size, table.shape[0]
    free, latest = np.zeros(n), np.full(n, rows)
    actions = Actions(jobs.nodes, jobs.loss, free, 0.0, jobs.app_steps, jobs.sys_steps, latest)
    relax_actions(actions, rows, (least, limit), table, chosen)


@allocating_kernel
def relax_actions(
    actions: Actions, rows: int, span: tuple[int, int], table: np.ndarray, chosen: np.ndarray
) -> None:
    """Improve the first rows of a table by each job in turn, as `relax_all` does."""
    least, limit = span
    unreachable = np.full(table.shape[1], np.inf)
    before = np.empty(table.shape[1])
    choice = np.zeros(4 * chosen.shape[2], dtype=np.uint8)
    remaining = actions.nodes.sum()
    reached = 0
    for job in range(actions.nodes.size):
        low = max(0, least - remaining)
        high = max(low, min(reached + 1, limit))
        held, kill, app = actions.nodes[job], actions.kill[job], actions.app[job]
        for t in range(rows - 1, -1, -1):
            for cell in range(low, high):
                before[cell] = table[t, cell]
            app_row = t - actions.app_steps[job] if t <= actions.latest[job] else -1
            from_app = _source_row(table, app_row, t, before, unreachable)
            from_sys = _source_row(table, t - actions.sys_steps[job], t, before, unreachable)
            sources = before[low:high], from_app[low:high], from_sys[low:high]
            costs = kill, app, held * (t * actions.step)
            cells, taken = table[t, low + held : high + held], choice[low + held : high + held]
            relax(sources, costs, cells, taken)
            pack(choice, chosen[job, t])
        for cell in range(low + held, high + held):
            choice[cell] = 0
        remaining -= held
        reached += held


@allocating_kernel
def _source_row(
    table: np.ndarray, row: int, current: int, before: np.ndarray, unreachable: np.ndarray
) -> np.ndarray:
    """A row of the table that a checkpoint leads from; of the current one, what was `before`."""
    if row == current:
        return before
    return table[row] if row >= 0 else unreachable


@kernel
def relax(
    sources: tuple[np.ndarray, np.ndarray, np.ndarray],
    costs: tuple[float, float, float],
    cells: np.ndarray,
    choice: np.ndarray,
) -> None:
    """Improve contiguous cells by one job's kill, app or sys; `choice` tells which.

    Each of the three adds its cost to the cells that it comes from.
    """
    from_kill, from_app, from_sys = sources
    kill, app, sys = costs
    for cell in range(cells.size):
        best = cells[cell]
        action = 0
        if from_kill[cell] + kill < best:
            best = from_kill[cell] + kill
            action = KILL
        if from_app[cell] + app < best:
            best = from_app[cell] + app
            action = APP
        if from_sys[cell] + sys < best:
            best = from_sys[cell] + sys
            action = SYS
        cells[cell] = best
        choice[cell] = action


@kernel
def pack(choice: np.ndarray, packed: np.ndarray) -> None:
    """Four cells per byte: cell n stands in byte ``n % quarter`` at bits ``2 * (n // quarter)``."""
    quarter = packed.size
    for byte in range(quarter):
        packed[byte] = (
            choice[byte]
            | (choice[byte + quarter] << 2)
            | (choice[byte + 2 * quarter] << 4)
            | (choice[byte + 3 * quarter] << 6)
        )


@kernel
def unpack(packed: np.ndarray, n: int) -> int:
    """The choice that `pack` keeps for cell `n`."""
    quarter = packed.size
    return (packed[n % quarter] >> (2 * (n // quarter))) & 3


@allocating_kernel
def read_plans(
    table: np.ndarray, chosen: np.ndarray, jobs: EvictionArrays, nodes_needed: int
) -> np.ndarray:
    """Choices (deadlines × jobs), traced back from each deadline's best cell."""
    rows, width = table.shape
    choices = np.zeros((rows, jobs.nodes.size), dtype=np.uint8)
    best, best_t, best_n = np.inf, 0, 0
    for deadline in range(rows):
        for n in range(nodes_needed, width):
            if table[deadline, n] < best:
                best, best_t, best_n = table[deadline, n], deadline, n
        steps = jobs.app_steps, jobs.sys_steps
        trace_back(chosen, (best_t, best_n), jobs.nodes, steps, choices[deadline])
    return choices


@kernel
def trace_back(
    chosen: np.ndarray,
    cell: tuple[int, int],
    nodes: np.ndarray,
    steps: tuple[np.ndarray, np.ndarray],
    choice: np.ndarray,
) -> None:
    """Write the choices that led to a cell, from the last job on.

    `steps` are those of application-level and of system-level checkpoints.
    """
    t, n = cell
    app_steps, sys_steps = steps
    for job in range(nodes.size - 1, -1, -1):
        action = unpack(chosen[job, t], n)
        choice[job] = action
        if action != KEEP:
            n -= nodes[job]
        if action == APP:
            t -= app_steps[job]
        elif action == SYS:
            t -= sys_steps[job]
