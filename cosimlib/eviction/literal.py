"""Optimal eviction by Algorithm 1 exactly as it is printed (Maurya et al., DS-RT 2020).

`solve_dynamic` fills the same table in place, up to the nodes that are needed. The paper's listing
fills it for all nodes that are held, copies both matrices for each job, compares losses alone, and
looks for each deadline's plan among all of its cells. Its response time is what the paper's
statements are about, so this form is measured beside ours. A set of job strategies, the paper's
``u[n, t]``, is kept as two bits per job.
"""

import time

import numpy as np

from cosimlib.eviction.dynamic import MEMORY_LIMIT
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import APP, KILL, SYS, EvictionProblem, check_problem
from cosimlib.kernels.jit import allocating_kernel, kernel

JOBS_PER_WORD = 32


def solve_literal(problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT) -> EvictionPlan:
    """The optimal plan of each deadline, by Algorithm 1 as printed.

    Parameters
    ----------
    problem : EvictionProblem
    memory_limit : int, default 2**30
        Bytes that the four matrices may take.

    Raises
    ------
    MemoryError
        Where they would take more.
    """
    check_problem(problem)
    begin = time.perf_counter()
    deadlines, n = len(problem.deadlines), len(problem)
    words = max(1, -(-n // JOBS_PER_WORD))
    needed = 2 * 8 * (problem.total_nodes + 1) * deadlines * (1 + words)
    if needed > memory_limit:
        raise MemoryError(
            f"{n} jobs × {deadlines} deadlines × {problem.total_nodes} nodes take {needed:,} "
            f"bytes; memory_limit is {memory_limit:,}: solve_dynamic takes less"
        )
    choices = _algorithm_1(*problem.arrays, problem.nodes_needed, deadlines, words)
    elapsed = np.full(deadlines, time.perf_counter() - begin)
    proven = np.ones(deadlines, dtype=bool)
    return EvictionPlan(problem, "literal", choices, proven, elapsed)


@kernel
def _algorithm_1(jn, loss, ta, ts, K, T, words):  # noqa: N803
    """Choices (deadlines × jobs) by the listing's own lines and names; `T` deadlines from 0."""
    M = jn.sum()  # noqa: N806
    a = np.full((M + 1, T), np.inf)
    a[0, 0] = 0.0
    u = np.zeros((M + 1, T, words), dtype=np.uint64)
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


@allocating_kernel
def _argmin(a, least, last):
    """Nodes from `least` and time up to `last` of the least loss, then of the least time."""
    best, x, y = np.inf, 0, 0
    for n in range(least, a.shape[0]):
        for t in range(last + 1):
            if a[n, t] < best or (a[n, t] == best and t < y):
                best, x, y = a[n, t], n, t
    return x, y
