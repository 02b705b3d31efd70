"""Optimal eviction where waits for checkpoints overlap, by dynamic programming with release times.

The paper adds an application's *wait* for its next checkpoint to the sum of durations, as if the
file system were busy meanwhile. Here waits go on at the same time and only writes come one after
another. A set of checkpoints can be written by a deadline exactly if it can with the system-level
ones first, in any order, and then those of the applications as they are reached: with writes of
`u` steps in all, each of them ends by `d` where ``u <= d`` and the applications' alone do.

``b[d, u, n]`` is the least loss of freeing exactly `n` nodes with writes of exactly `u` steps that
end by `d`. Jobs that reach no checkpoint of their own within the horizon come first; for them `d`
makes no difference, which leaves Algorithm 1's table. The others follow in the order in which they
reach theirs. Each leaves a cell alone or reaches it from ``b[d, u, n - nodes]`` by a kill (adding
its loss), from ``b[d, u - sys, n - nodes]``, or, where ``d - app >= release``, from
``b[d - app, u - app, n - nodes]``. The plan of a deadline has the least loss, then the earliest
start of the burst, then the least time of writing.
"""

import time

import numpy as np

from cosimlib.eviction.blocked import table_width
from cosimlib.eviction.dynamic import MEMORY_LIMIT, _pack, _relax
from cosimlib.eviction.problem import (
    APP,
    MILLISECONDS_PER_HOUR,
    SYS,
    EvictionProblem,
    check_problem,
)
from cosimlib.eviction.writing import TimedPlan, writing_order
from cosimlib.kernels.copying import copy
from cosimlib.kernels.jit import allocating_kernel, inner_kernel, kernel


def solve_overlapping(problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT) -> TimedPlan:
    """The plan of each deadline that loses the least where waits for checkpoints overlap.

    Parameters
    ----------
    problem : EvictionProblem
        Its jobs need the column `app_wait`, as `EvictionProblem.from_schedule` gives it.
    memory_limit : int, default 2**30
        Bytes that the tables and the stored choices may take.

    Raises
    ------
    MemoryError
        Where they would take more.
    """
    check_problem(problem)
    begin = time.perf_counter()
    order = writing_order(problem)
    nodes, loss = problem.arrays.nodes[order], problem.arrays.loss[order]
    release, app_write, sys_write, _ = (array[order] for array in problem.writes)
    deadlines, n = len(problem.deadlines), len(problem)
    first = n - int((release + app_write < deadlines).sum())
    width, pairs = table_width(nodes, problem.nodes_needed), deadlines * (deadlines + 1) // 2
    needed = (first * deadlines + (n - first) * pairs) * -(-width // 4) + 8 * pairs * width
    if needed > memory_limit:
        raise MemoryError(
            f"{n} jobs × {pairs} pairs of deadlines × {width - 1} nodes take {needed:,} bytes of "
            f"choices; memory_limit is {memory_limit:,}: take a longer step or raise the limit"
        )
    choices = np.zeros((deadlines, n), dtype=np.uint8)
    choices[:, order] = plan_overlapping(
        nodes, loss, release, app_write, sys_write, first, problem.nodes_needed, deadlines
    )
    elapsed = np.full(deadlines, time.perf_counter() - begin)
    proven = np.ones(deadlines, dtype=bool)
    orders = _systems_first(problem, choices)
    return TimedPlan(problem, "overlapping", choices, proven, elapsed, orders)


def least_losses(problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT) -> np.ndarray:
    """The least loss for each number of nodes and each deadline where waits overlap.

    Parameters
    ----------
    problem : EvictionProblem
        As for `solve_overlapping`; its `nodes_needed` is ignored.
    memory_limit : int, default 2**30
        Bytes that the table may take.

    Returns
    -------
    np.ndarray
        ``loss[k, i]``: node-hours lost to free at least `k` nodes by the `i`-th deadline, for `k`
        from 0 to all nodes that the jobs hold.

    Raises
    ------
    MemoryError
        Where the table would take more.
    """
    order = writing_order(problem)
    nodes, loss = problem.arrays.nodes[order], problem.arrays.loss[order]
    release, app_write, sys_write, _ = (array[order] for array in problem.writes)
    deadlines = len(problem.deadlines)
    needed = 16 * (deadlines * (deadlines + 1) // 2) * (problem.total_nodes + 1)
    if needed > memory_limit:
        raise MemoryError(
            f"{deadlines} deadlines and {problem.total_nodes} nodes take {needed:,} bytes; "
            f"memory_limit is {memory_limit:,}: take a longer step or raise the limit"
        )
    first = len(problem) - int((release + app_write < deadlines).sum())
    table = _all_losses(nodes, loss, release, app_write, sys_write, first, deadlines)
    return table.T / MILLISECONDS_PER_HOUR


def _systems_first(problem: EvictionProblem, choices: np.ndarray) -> np.ndarray:
    """Per deadline: system-level writes by Smith's rule, then applications' as they are reached."""
    release, _, sys_write, _ = problem.writes
    smith = np.argsort(problem.arrays.nodes / np.maximum(sys_write, 1e-9), kind="stable")
    moment = np.where(choices == APP, release, -1)[:, smith]
    return smith[np.argsort(moment, axis=1, kind="stable")]


@kernel
def plan_overlapping(
    nodes: np.ndarray,
    loss: np.ndarray,
    release: np.ndarray,
    app_write: np.ndarray,
    sys_write: np.ndarray,
    first: int,
    nodes_needed: int,
    rows: int,
) -> np.ndarray:
    """Choices (`rows` deadlines × jobs) of the plans that lose the least, jobs in writing order.

    The jobs from `first` on reach a checkpoint of their own; for the arrays see `WriteArrays`.
    """
    width = table_width(nodes, nodes_needed)
    quarter = -(-width // 4)
    sums = np.full((rows, width), np.inf)
    sums[0, 0] = 0.0
    early = np.zeros((first, rows, quarter), dtype=np.uint8)
    _fill_sums(nodes, loss, sys_write, nodes_needed, sums, early)
    table = np.full((rows * (rows + 1) // 2, width), np.inf)
    for d in range(rows):
        for u in range(d + 1):
            copy(sums[u], table[_pair(d, u)])
    late = np.zeros((nodes.size - first, table.shape[0], quarter), dtype=np.uint8)
    for job in range(first, nodes.size):
        low = max(0, nodes_needed - nodes[job:].sum())
        high = max(low, min(nodes[:job].sum() + 1, nodes_needed))
        _relax_pairs(
            nodes[job], loss[job], release[job], app_write[job], sys_write[job], rows, low, high,
            table, late[job - first],
        )  # fmt: skip
    choices = np.zeros((rows, nodes.size), dtype=np.uint8)
    best, best_d, best_u, best_n = np.inf, 0, 0, 0
    for d in range(rows):
        for u in range(d + 1):
            for n in range(nodes_needed, width):
                if table[_pair(d, u), n] < best:
                    best, best_d, best_u, best_n = table[_pair(d, u), n], d, u, n
        _trace_back(
            early, late, best_d, best_u, best_n, nodes, app_write, sys_write, choices[d]
        )  # fmt: skip
    return choices


@kernel
def _all_losses(nodes, loss, release, app_write, sys_write, first, rows):
    """Least loss (deadlines × nodes) of freeing at least so many nodes by each deadline."""
    width = nodes.sum() + 1
    quarter = -(-width // 4)
    pairs = rows * (rows + 1) // 2
    unused = np.zeros((pairs, quarter), dtype=np.uint8)
    table = np.full((pairs, width), np.inf)
    for d in range(rows):
        table[_pair(d, 0), 0] = 0.0
    high = 1
    for job in range(nodes.size):
        # A job of the first kind reaches no checkpoint of its own within the horizon.
        reached = release[job] if job >= first else rows
        _relax_pairs(
            nodes[job], loss[job], reached, app_write[job], sys_write[job], rows, 0, high, table,
            unused,
        )  # fmt: skip
        high += nodes[job]
    least = np.full((rows, width), np.inf)
    for d in range(rows):
        for u in range(d + 1):
            _lower(least[d], table[_pair(d, u)])
        if d > 0:
            _lower(least[d], least[d - 1])
        for n in range(width - 2, -1, -1):
            least[d, n] = min(least[d, n], least[d, n + 1])
    return least


@inner_kernel
def _lower(values, others):
    """Lower values to others where those are less."""
    for place in range(values.size):
        values[place] = min(values[place], others[place])


@inner_kernel
def _pair(d, u):
    """The row of a table for writes of `u` steps by `d`, with `u` up to `d`."""
    return d * (d + 1) // 2 + u


@allocating_kernel
def _fill_sums(nodes, loss, sys_write, nodes_needed, table, chosen):
    """Algorithm 1's table of the jobs that have system-level checkpoints only, and its choices."""
    rows, width = table.shape
    unreachable = np.full(width, np.inf)
    before = np.empty(width)
    for job in range(chosen.shape[0]):
        choice = np.zeros(4 * chosen.shape[2], dtype=np.uint8)
        low = max(0, nodes_needed - nodes[job:].sum())
        high = max(low, min(nodes[:job].sum() + 1, nodes_needed))
        shift = nodes[job]
        for u in range(rows - 1, -1, -1):
            copy(table[u, low:high], before[low:high])
            sys = u - sys_write[job]
            from_sys = before if sys == u else (table[sys] if sys >= 0 else unreachable)
            _relax(
                before[low:high], loss[job], unreachable[low:high], from_sys[low:high],
                table[u, low + shift : high + shift], choice[low + shift : high + shift],
            )  # fmt: skip
            _pack(choice, chosen[job, u])


@allocating_kernel
def _relax_pairs(shift, loss, release, app_write, sys_write, rows, low, high, table, chosen):
    """Improve the table of pairs by one job, by descending `u`, so that sources are not yet."""
    width = table.shape[1]
    unreachable = np.full(width, np.inf)
    before = np.empty(width)
    choice = np.zeros(4 * chosen.shape[1], dtype=np.uint8)
    for u in range(rows - 1, -1, -1):
        for d in range(u, rows):
            row = _pair(d, u)
            copy(table[row, low:high], before[low:high])
            from_app, from_sys = unreachable, unreachable
            if d - app_write >= release and u >= app_write:
                from_app = table[_pair(d - app_write, u - app_write)] if app_write else before
            if u >= sys_write:
                from_sys = table[_pair(d, u - sys_write)] if sys_write else before
            _relax(
                before[low:high], loss, from_app[low:high], from_sys[low:high],
                table[row, low + shift : high + shift], choice[low + shift : high + shift],
            )  # fmt: skip
            _pack(choice, chosen[row])


@allocating_kernel
def _trace_back(early, late, d, u, n, nodes, app_write, sys_write, choice):
    """Write the choices that led to a cell, from the last job on."""
    quarter, first = late.shape[2], early.shape[0]
    for job in range(nodes.size - 1, -1, -1):
        packed = early[job, u] if job < first else late[job - first, _pair(d, u)]
        action = (packed[n % quarter] >> (2 * (n // quarter))) & 3
        choice[job] = action
        if action != 0:
            n -= nodes[job]
        if action == APP:
            d -= app_write[job]
            u -= app_write[job]
        elif action == SYS:
            u -= sys_write[job]
