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

`solve_as_printed` is the paper's listing to the letter. It fills the table for all nodes that are
held, copies both matrices for each job, compares losses alone, and looks for each deadline's plan
among all cells. The paper's statements about response times are about this form. A set of job
strategies, the paper's ``u[n, t]``, is kept as two bits per job.
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
    EvictionArrays,
    EvictionProblem,
    check_problem,
)
from cosimlib.kernels.jit import kernel

MEMORY_LIMIT = 2**30
JOBS_PER_WORD = 32


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


def solve_spectrum(
    problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT
) -> "EvictionSpectrum":
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
    table, chosen = _fill(problem, 0, problem.total_nodes + 1, memory_limit)
    loss, steps = _at_least(table)
    response_time = time.perf_counter() - begin
    loss, time_spent = loss.T / MILLISECONDS_PER_HOUR, steps.T * float(problem.step)
    return EvictionSpectrum(problem, loss, time_spent, response_time, table, chosen)


@dataclass(frozen=True, eq=False, repr=False)
class EvictionSpectrum(Displayed):
    """Least loss for each number of nodes and each deadline, and the plans behind it.

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


def solve_as_printed(problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT) -> EvictionPlan:
    """Optimal eviction plan of each deadline, by Algorithm 1 exactly as printed.

    Parameters
    ----------
    problem : EvictionProblem
    memory_limit : int, default 2**30
        Bytes that the four matrices may take.

    Raises
    ------
    MemoryError
        If they need more.
    """
    check_problem(problem)
    begin = time.perf_counter()
    deadlines, n = len(problem.deadlines), len(problem)
    per_cell = max(1, -(-n // JOBS_PER_WORD))
    needed = 2 * 8 * (problem.total_nodes + 1) * deadlines * (1 + per_cell)
    if needed > memory_limit:
        raise MemoryError(
            f"{n} jobs × {deadlines} deadlines × {problem.total_nodes} nodes take {needed:,} "
            f"bytes; memory_limit is {memory_limit:,}: solve_dynamic takes less"
        )
    choices = _algorithm_1(*problem.arrays, problem.nodes_needed, deadlines, per_cell)
    return EvictionPlan.optimum(problem, "as printed", choices, time.perf_counter() - begin)


def check_memory(table: str, needed: int, limit: int) -> None:
    """Raise an error if a table, such as "8 jobs × 16 deadlines", needs too much memory."""
    if needed > limit:
        raise MemoryError(
            f"{table} take {needed:,} bytes; memory_limit is {limit:,}: take a longer step or "
            "raise the limit"
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


@kernel
def relax_all(
    jobs: EvictionArrays, least: int, limit: int, table: np.ndarray, chosen: np.ndarray
) -> None:
    """Improve the table by each job in turn, from sources that matter (see `_fill`).

    `chosen` has a row of packed choices for each job and step.
    """
    rows, width = table.shape
    unreachable = np.full(width, np.inf)
    before = np.empty(width)
    choice = np.zeros(4 * chosen.shape[2], dtype=np.uint8)
    remaining = jobs.nodes.sum()
    reached = 0
    for job in range(jobs.nodes.size):
        low = max(0, least - remaining)
        high = max(low, min(reached + 1, limit))
        held, costs = jobs.nodes[job], (jobs.loss[job], 0.0, 0.0)
        for t in range(rows - 1, -1, -1):
            for cell in range(low, high):
                before[cell] = table[t, cell]
            app, sys = t - jobs.app_steps[job], t - jobs.sys_steps[job]
            from_app = source_row(table, app, t, before, unreachable)
            from_sys = source_row(table, sys, t, before, unreachable)
            sources = before[low:high], from_app[low:high], from_sys[low:high]
            cells, taken = table[t, low + held : high + held], choice[low + held : high + held]
            relax(sources, costs, cells, taken)
            pack(choice, chosen[job, t])
        choice[low + held : high + held] = 0
        remaining -= held
        reached += held


@kernel
def source_row(
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


@kernel
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
        t, n = best_t, best_n
        for job in range(jobs.nodes.size - 1, -1, -1):
            action = unpack(chosen[job, t], n)
            choices[deadline, job] = action
            if action != 0:
                n -= jobs.nodes[job]
            if action == APP:
                t -= jobs.app_steps[job]
            elif action == SYS:
                t -= jobs.sys_steps[job]
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


@kernel
def _algorithm_1(jn, loss, ta, ts, K, T, per_cell):  # noqa: N803
    """Choices (deadlines × jobs) by the listing's own lines and names; `T` deadlines from 0."""
    M = jn.sum()  # noqa: N806
    a = np.full((M + 1, T), np.inf)
    a[0, 0] = 0.0
    u = np.zeros((M + 1, T, per_cell), dtype=np.uint64)
    for job in range(jn.size):
        b, v = a.copy(), u.copy()
        word, bit = job // JOBS_PER_WORD, np.uint64(2 * (job % JOBS_PER_WORD))
        for n in range(M + 1 - jn[job]):
            to = n + jn[job]
            for t in range(T):
                if a[n, t] == np.inf:
                    continue
                if b[to, t] > a[n, t] + loss[job]:
                    b[to, t] = a[n, t] + loss[job]
                    v[to, t] = u[n, t]
                    v[to, t, word] |= np.uint64(KILL) << bit
                if t + ta[job] < T and b[to, t + ta[job]] > a[n, t]:
                    b[to, t + ta[job]] = a[n, t]
                    v[to, t + ta[job]] = u[n, t]
                    v[to, t + ta[job], word] |= np.uint64(APP) << bit
                if t + ts[job] < T and b[to, t + ts[job]] > a[n, t]:
                    b[to, t + ts[job]] = a[n, t]
                    v[to, t + ts[job]] = u[n, t]
                    v[to, t + ts[job], word] |= np.uint64(SYS) << bit
        a, u = b, v
    choices = np.zeros((T, jn.size), dtype=np.uint8)
    for i in range(T):
        x, y = _argmin(a, K, i)
        for job in range(jn.size):
            word, bit = job // JOBS_PER_WORD, np.uint64(2 * (job % JOBS_PER_WORD))
            choices[i, job] = (u[x, y, word] >> bit) & np.uint64(3)
    return choices


@kernel
def _argmin(a, least, last):
    """Nodes from `least` and time up to `last` of the least loss, then of the least time."""
    best, x, y = np.inf, 0, 0
    for n in range(least, a.shape[0]):
        for t in range(last + 1):
            if a[n, t] < best or (a[n, t] == best and t < y):
                best, x, y = a[n, t], n, t
    return x, y
