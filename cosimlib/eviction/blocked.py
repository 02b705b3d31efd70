"""Eviction that loses *and blocks* the fewest node-hours, by dynamic programming.

The paper minimizes the work lost, whatever stands still while checkpoints are written. Here a plan
costs the node-hours lost by kills plus those for which evicted jobs stand still until the burst
starts (see `writing`): for a job of `nodes` nodes and a burst that starts at step `s`

- a kill costs its loss and ``nodes * s``;
- an `app` checkpoint costs ``nodes * (s - wait)``;
- a `sys` checkpoint costs ``nodes`` times the steps from the begin of its write to `s`.

For each start `s` the jobs are taken in the reverse of the writing order and their writes packed
backwards from `s`. ``a[u, n]`` is the least cost of freeing exactly `n` nodes with writes that take
the last `u` steps before it: a job's cost is known from the cell that it reaches, one more term per
cell than in Algorithm 1. An `app` checkpoint must begin its write at its release or later, so it
reaches no row above ``s - release``. The plan of a deadline is the cheapest over all starts up to
it, the earliest of equal ones. It is the optimum over all plans in that writing order; where no job
reaches a checkpoint of its own within the horizon, over all orders. Elsewhere another order may
block less: on random problems of five jobs at 4 % of the deadlines, 0.6 % of the cost on average.
"""

import time

import numpy as np

from cosimlib.eviction.dynamic import MEMORY_LIMIT, _pack
from cosimlib.eviction.problem import APP, KILL, SYS, EvictionProblem, check_problem
from cosimlib.eviction.writing import TimedPlan, writing_order
from cosimlib.kernels.jit import allocating_kernel, kernel


def solve_blocked(problem: EvictionProblem, *, memory_limit: int = MEMORY_LIMIT) -> TimedPlan:
    """The plan of each deadline that loses and blocks the fewest node-hours, waits overlapping.

    Parameters
    ----------
    problem : EvictionProblem
        Its jobs need the column `app_wait`, as `EvictionProblem.from_schedule` gives it.
    memory_limit : int, default 2**30
        Bytes that the table and the stored choices may take.

    Returns
    -------
    TimedPlan
        `cost`, `loss` and `blocked` per deadline (node-hours), `free_time` (s), and by `writes` the
        moments at which jobs stop and are written.

    Raises
    ------
    MemoryError
        Where the table and the choices would take more.
    """
    check_problem(problem)
    begin = time.perf_counter()
    order = writing_order(problem)
    nodes, loss = problem.arrays.nodes[order], problem.arrays.loss[order]
    release, app_write, sys_write, app_wait = (array[order] for array in problem.writes)
    deadlines, n = len(problem.deadlines), len(problem)
    width = table_width(problem.arrays.nodes, problem.nodes_needed)
    needed = (n * -(-width // 4) + 8 * width) * deadlines
    if needed > memory_limit:
        raise MemoryError(
            f"{n} jobs × {deadlines} deadlines × {width - 1} nodes take {needed:,} bytes of "
            f"choices; memory_limit is {memory_limit:,}: take a longer step or raise the limit"
        )
    choices = np.zeros((deadlines, n), dtype=np.uint8)
    choices[:, order] = plan_blocked(
        nodes, loss, release, app_write, sys_write, app_wait,
        problem.nodes_needed, deadlines, problem.step * 1e3,
    )  # fmt: skip
    proven = np.ones(deadlines, dtype=bool)
    elapsed = np.full(deadlines, time.perf_counter() - begin)
    orders = np.tile(order, (deadlines, 1))
    return TimedPlan(problem, "blocked", choices, proven, elapsed, orders)


@kernel
def table_width(nodes: np.ndarray, nodes_needed: int) -> int:
    """Numbers of nodes, from 0, that a plan may free without a job that it could do without."""
    widest = 0
    for held in nodes:
        widest = max(widest, held)
    return min(nodes.sum(), max(nodes_needed - 1, 0) + widest) + 1


@kernel
def plan_blocked(
    nodes: np.ndarray,
    loss: np.ndarray,
    release: np.ndarray,
    app_write: np.ndarray,
    sys_write: np.ndarray,
    app_wait: np.ndarray,
    nodes_needed: int,
    rows: int,
    step: float,
) -> np.ndarray:
    """Choices (deadlines × jobs) of the plans that lose and block least, jobs in writing order.

    `loss` is in node-milliseconds, `app_wait` in milliseconds, and a step takes `step` of them; for
    `release`, `app_write` and `sys_write` (steps) see `WriteArrays`; `rows` is the number of
    deadlines, 0 included.
    """
    width = table_width(nodes, nodes_needed)
    table = np.empty((rows, width))
    chosen = np.zeros((nodes.size, rows, -(-width // 4)), dtype=np.uint8)
    choices = np.zeros((rows, nodes.size), dtype=np.uint8)
    least = np.inf
    for start in range(rows):
        _fill_backwards(
            nodes, loss, release, app_write, sys_write, app_wait, nodes_needed, start, step,
            table, chosen,
        )  # fmt: skip
        best, best_u, best_n = least, -1, 0
        for u in range(start + 1):
            for n in range(nodes_needed, width):
                if table[u, n] < best:
                    best, best_u, best_n = table[u, n], u, n
        if best_u >= 0:
            least = best
            _trace_forwards(
                chosen, best_u, best_n, nodes, app_write, sys_write, choices[start]
            )  # fmt: skip
        elif start:
            for job in range(nodes.size):
                choices[start, job] = choices[start - 1, job]
    return choices


@allocating_kernel
def _fill_backwards(
    nodes, loss, release, app_write, sys_write, app_wait, nodes_needed, start, step, table, chosen
):  # fmt: skip
    """Fill the table for a burst that starts at step `start`, and the choices of each job."""
    width = table.shape[1]
    table[: start + 1] = np.inf
    table[0, 0] = 0.0
    unreachable = np.full(width, np.inf)
    before = np.empty(width)
    choice = np.zeros(4 * chosen.shape[2], dtype=np.uint8)
    remaining = nodes.sum()
    reached = 0
    for job in range(nodes.size - 1, -1, -1):
        low = max(0, nodes_needed - remaining)
        high = max(low, min(reached + 1, nodes_needed))
        held = nodes[job]
        kill = loss[job] + held * (start * step)
        app_cost = held * (start * step - app_wait[job])
        for u in range(start, -1, -1):
            for n in range(low, high):
                before[n] = table[u, n]
            app, sys = u - app_write[job], u - sys_write[job]
            if u > start - release[job]:
                app = -1
            from_app = before if app == u else (table[app] if app >= 0 else unreachable)
            from_sys = before if sys == u else (table[sys] if sys >= 0 else unreachable)
            _relax_costs(
                before[low:high], from_app[low:high], from_sys[low:high],
                kill, app_cost, held * (u * step),
                table[u, low + held : high + held], choice[low + held : high + held],
            )  # fmt: skip
            _pack(choice, chosen[job, u])
        choice[low + held : high + held] = 0
        remaining -= held
        reached += held


@allocating_kernel
def _relax_costs(from_kill, from_app, from_sys, kill, app, sys, cells, choice):
    """Improve contiguous cells by one job's kill, app or sys at its cost; `choice` tells which."""
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


@allocating_kernel
def _trace_forwards(chosen, u, n, nodes, app_write, sys_write, choice):
    """Write the choices that led to a cell, from the job packed last, which is written first."""
    quarter = chosen.shape[2]
    for job in range(nodes.size):
        action = (chosen[job, u, n % quarter] >> (2 * (n // quarter))) & 3
        choice[job] = action
        if action != 0:
            n -= nodes[job]
        if action == APP:
            u -= app_write[job]
        elif action == SYS:
            u -= sys_write[job]
