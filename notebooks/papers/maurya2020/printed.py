"""Algorithm 1 of Maurya et al. (DS-RT 2020) to the letter.

It fills the table for all nodes that are held, copies both matrices for each job, compares losses
alone, and looks for each deadline's plan among all cells. The paper's statements about response
times are about this form; `cosimlib.eviction.solve_dynamic` finds the same plans. A set of job
strategies, the paper's ``u[n, t]``, is kept as two bits per job.
"""

import time

import numpy as np

from cosimlib.eviction import EvictionPlan, EvictionProblem
from cosimlib.eviction.dynamic import check_memory
from cosimlib.eviction.problem import APP, KILL, SYS
from cosimlib.kernels.jit import allocating_kernel, kernel

JOBS_PER_WORD = 32


def solve_as_printed(problem: EvictionProblem) -> EvictionPlan:
    """Optimal eviction plan of each deadline, by Algorithm 1 exactly as printed.

    Raises
    ------
    MemoryError
        If the four matrices take more than 1 GiB.
    """
    begin = time.perf_counter()
    deadlines, n = len(problem.deadlines), len(problem)
    per_cell = max(1, -(-n // JOBS_PER_WORD))
    needed = 2 * 8 * (problem.total_nodes + 1) * deadlines * (1 + per_cell)
    check_memory(f"{n} jobs × {deadlines} deadlines × {problem.total_nodes} nodes", needed)
    choices = _algorithm_1(*problem.arrays, problem.nodes_needed, deadlines, per_cell)
    return EvictionPlan.optimum(problem, "as printed", choices, time.perf_counter() - begin)


@allocating_kernel
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
def _argmin(a: np.ndarray, least: int, last: int) -> tuple[int, int]:
    """Nodes from `least` and time up to `last` of the least loss, then of the least time."""
    best, x, y = np.inf, 0, 0
    for n in range(least, a.shape[0]):
        for t in range(last + 1):
            if a[n, t] < best or (a[n, t] == best and t < y):
                best, x, y = a[n, t], n, t
    return x, y
