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

import numpy as np

from cosimlib.display import Displayed, Facts, count
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import (
    APP,
    KILL,
    MILLISECONDS_PER_HOUR,
    SYS,
    EvictionProblem,
    check_problem,
)
from cosimlib.kernels.copying import copy
from cosimlib.kernels.jit import allocating_kernel, kernel

MEMORY_LIMIT = 2**30


def solve_dynamic(problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT) -> EvictionPlan:
    """The optimal plan of each deadline, by dynamic programming in one pass.

    Parameters
    ----------
    problem : EvictionProblem
    memory_limit : int, default 2**30
        Bytes that the table and the stored choices may take.

    Raises
    ------
    MemoryError
        Where they would take more.

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
    choices = _plans(table, chosen, problem.nodes_needed, *problem.arrays)
    elapsed = time.perf_counter() - begin
    deadlines = len(problem.deadlines)
    proven, response_time = np.ones(deadlines, dtype=bool), np.full(deadlines, elapsed)
    return EvictionPlan(problem, "dynamic", choices, proven, response_time)


def solve_spectrum(
    problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT
) -> "EvictionSpectrum":
    """The least loss for each number of nodes and each deadline: the K × T trade-off.

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
    table, chosen = _fill(problem, 0, problem.total_nodes + 1, memory_limit)
    loss, steps = _at_least(table)
    response_time = time.perf_counter() - begin
    loss, time_spent = loss.T / MILLISECONDS_PER_HOUR, steps.T * float(problem.step)
    return EvictionSpectrum(problem, loss, time_spent, response_time, table, chosen)


@dataclass(frozen=True, eq=False, repr=False)
class EvictionSpectrum(Displayed):
    """Least loss for each number of nodes and each deadline.

    Parameters
    ----------
    problem : EvictionProblem
    loss : np.ndarray
        ``loss[k, i]``: node-hours lost to free at least `k` nodes by the `i`-th deadline, for
        `k` from 0 to all nodes that the jobs hold.
    checkpoint_time : np.ndarray
        Seconds that the same plans spend on checkpoints, same shape.
    response_time : float
        Seconds of the solver.
    table, chosen : np.ndarray
        Algorithm 1's table and its choices, from which `plan` reads.
    """

    problem: EvictionProblem
    loss: np.ndarray
    checkpoint_time: np.ndarray
    response_time: float
    table: np.ndarray
    chosen: np.ndarray

    @property
    def deadlines(self) -> np.ndarray:
        """Seconds from now, one per column."""
        return self.problem.deadlines

    def plan(self, nodes_needed: int) -> EvictionPlan:
        """The plan for `nodes_needed` nodes, read from the table without solving again."""
        problem = self.problem.asking(nodes_needed)
        choices = _plans(self.table, self.chosen, nodes_needed, *problem.arrays)
        deadlines = len(problem.deadlines)
        response_time = np.full(deadlines, self.response_time)
        return EvictionPlan(
            problem, "dynamic", choices, np.ones(deadlines, dtype=bool), response_time
        )

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


def _fill(
    problem: EvictionProblem, least: int, limit: int, memory: int
) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 1's table (steps × nodes) and packed choices (jobs × steps × nodes / 4).

    Only cells that can still reach `least` nodes matter, and only those below `limit` are sources.
    """
    arrays = problem.arrays
    widest = int(arrays.nodes.max(initial=0))
    width = min(problem.total_nodes, max(limit - 1, 0) + widest) + 1
    rows = len(problem.deadlines)
    shape = (len(problem), rows, -(-width // 4))
    needed = shape[0] * shape[1] * shape[2] + 8 * rows * width
    if needed > memory:
        raise MemoryError(
            f"{len(problem)} jobs × {rows} deadlines × {width - 1} nodes take {needed:,} bytes of "
            f"choices; memory_limit is {memory:,}: take a longer step or raise the limit"
        )
    table = np.full((rows, width), np.inf)
    table[0, 0] = 0.0
    chosen = np.zeros(shape, dtype=np.uint8)
    _relax_all(*arrays, least, limit, table, chosen)
    return table, chosen


@kernel
def _relax_all(nodes, loss, app_steps, sys_steps, least, limit, table, chosen):
    """Improve the table by each job in turn, from sources that matter (see `_fill`)."""
    rows, width = table.shape
    unreachable = np.full(width, np.inf)
    before = np.empty(width)
    choice = np.zeros(4 * chosen.shape[2], dtype=np.uint8)
    remaining = nodes.sum()
    reached = 0
    for job in range(nodes.size):
        low = max(0, least - remaining)
        high = max(low, min(reached + 1, limit))
        shift = nodes[job]
        for t in range(rows - 1, -1, -1):
            copy(table[t, low:high], before[low:high])
            app, sys = t - app_steps[job], t - sys_steps[job]
            from_app = before if app == t else (table[app] if app >= 0 else unreachable)
            from_sys = before if sys == t else (table[sys] if sys >= 0 else unreachable)
            _relax(
                before[low:high], loss[job], from_app[low:high], from_sys[low:high],
                table[t, low + shift : high + shift], choice[low + shift : high + shift],
            )  # fmt: skip
            _pack(choice, chosen[job, t])
        choice[low + shift : high + shift] = 0
        remaining -= nodes[job]
        reached += nodes[job]


@allocating_kernel
def _relax(from_kill, loss, from_app, from_sys, cells, choice):
    """Improve contiguous cells by one job's kill, app or sys; `choice` tells which."""
    for cell in range(cells.size):
        best = cells[cell]
        action = 0
        kill = from_kill[cell] + loss
        if kill < best:
            best = kill
            action = KILL
        if from_app[cell] < best:
            best = from_app[cell]
            action = APP
        if from_sys[cell] < best:
            best = from_sys[cell]
            action = SYS
        cells[cell] = best
        choice[cell] = action


@allocating_kernel
def _pack(choice, packed):
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
def _plans(table, chosen, nodes_needed, nodes, loss, app_steps, sys_steps):
    """Choices (deadlines × jobs), traced back from each deadline's best cell."""
    rows, width = table.shape
    choices = np.zeros((rows, nodes.size), dtype=np.uint8)
    quarter = chosen.shape[2]
    best, best_t, best_n = np.inf, 0, 0
    for deadline in range(rows):
        for n in range(nodes_needed, width):
            if table[deadline, n] < best:
                best, best_t, best_n = table[deadline, n], deadline, n
        t, n = best_t, best_n
        for job in range(nodes.size - 1, -1, -1):
            action = (chosen[job, t, n % quarter] >> (2 * (n // quarter))) & 3
            choices[deadline, job] = action
            if action != 0:
                n -= nodes[job]
            if action == APP:
                t -= app_steps[job]
            elif action == SYS:
                t -= sys_steps[job]
    return choices


@kernel
def _at_least(table):
    """Least loss and its steps for at least n nodes by each deadline (deadlines × nodes)."""
    rows, width = table.shape
    loss = table.copy()
    steps = np.zeros((rows, width), dtype=np.int32)
    for t in range(1, rows):
        for n in range(width):
            better = loss[t, n] < loss[t - 1, n]
            loss[t, n] = loss[t, n] if better else loss[t - 1, n]
            steps[t, n] = t if better else steps[t - 1, n]
    for t in range(rows):
        least, least_steps = np.inf, 0
        for n in range(width - 1, -1, -1):
            if loss[t, n] < least or (loss[t, n] == least and steps[t, n] < least_steps):
                least, least_steps = loss[t, n], steps[t, n]
            loss[t, n], steps[t, n] = least, least_steps
    return loss, steps
