"""Other solvers of the eviction problem, whose model stays in memory from deadline to deadline.

SciPy builds a model for each deadline anew; here only the bound on checkpoint time moves. Each
function returns the least loss per deadline (node-milliseconds). Their packages are no dependencies
of ours: a benchmark has them where they are installed, such as by ``pip install highspy ortools
pyscipopt``.
"""

import time
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context

import numpy as np

from cosimlib.eviction import EvictionProblem, solve_dynamic

INFINITE = float("inf")


def columns(problem: EvictionProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Loss, steps and nodes of each choice (kills, then app, then sys), and the number of jobs."""
    nodes, loss, app, sys = problem.arrays
    nothing = np.zeros(len(problem))
    lost, steps = np.concatenate([loss, nothing, nothing]), np.concatenate([nothing, app, sys])
    return lost, steps, np.tile(nodes, 3), len(problem)


def with_highs(problem: EvictionProblem) -> list[float]:
    """HiGHS, one thread, no gap."""
    import highspy

    lost, steps, nodes, n = columns(problem)
    every = np.arange(3 * n, dtype=np.int32)
    # As for SciPy: losses of at most 1, that tolerances are those of a usual model.
    scale = max(1.0, float(lost.max()))
    model = highspy.Highs()
    for option, value in (("output_flag", False), ("mip_rel_gap", 0.0), ("threads", 1)):
        model.setOptionValue(option, value)
    for choice in range(3 * n):
        model.addVar(0.0, 1.0)
        model.changeColCost(choice, float(lost[choice]) / scale)
        model.changeColIntegrality(choice, highspy.HighsVarType.kInteger)
    model.addRow(float(problem.nodes_needed), INFINITE, 3 * n, every, nodes.astype(float))
    for job in range(n):
        model.addRow(-INFINITE, 1.0, 3, every[[job, n + job, 2 * n + job]], np.ones(3))
    model.addRow(-INFINITE, 0.0, 3 * n, every, steps)
    losses = []
    for deadline in range(len(problem.deadlines)):
        model.changeRowBounds(n + 1, -INFINITE, float(deadline))
        model.run()
        losses.append(float(lost @ np.round(model.getSolution().col_value)))
    return losses


def with_cp_sat(problem: EvictionProblem) -> list[float]:
    """CP-SAT of OR-Tools, one worker."""
    from ortools.sat.python import cp_model

    lost, steps, nodes, n = columns(problem)
    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    solver.parameters.num_workers = 1
    taken = [model.new_bool_var("") for _ in range(3 * n)]
    total = model.new_int_var(0, len(problem.deadlines) - 1, "")
    model.add(cp_model.LinearExpr.weighted_sum(taken, nodes.tolist()) >= problem.nodes_needed)
    for job in range(n):
        model.add_at_most_one(taken[job::n])
    model.add(cp_model.LinearExpr.weighted_sum(taken, steps.astype(int).tolist()) <= total)
    objective = lost.astype(int)
    model.minimize(cp_model.LinearExpr.weighted_sum(taken, objective.tolist()))
    losses = []
    for deadline in range(len(problem.deadlines)):
        total.proto.domain[1] = deadline
        solver.solve(model)
        losses.append(float(objective @ [solver.value(each) for each in taken]))
    return losses


def with_scip(problem: EvictionProblem) -> list[float]:
    """SCIP, no gap."""
    import pyscipopt

    lost, steps, nodes, n = columns(problem)
    scale = max(1.0, float(lost.max()))
    model = pyscipopt.Model()
    model.hideOutput()
    taken = [model.addVar(vtype="B", obj=float(each) / scale) for each in lost]
    freed = (float(each) * one for each, one in zip(nodes, taken, strict=True))
    model.addCons(pyscipopt.quicksum(freed) >= problem.nodes_needed)
    for job in range(n):
        model.addCons(pyscipopt.quicksum(taken[job::n]) <= 1)
    spent = (float(each) * one for each, one in zip(steps, taken, strict=True))
    within = model.addCons(pyscipopt.quicksum(spent) <= 0)
    losses = []
    for deadline in range(len(problem.deadlines)):
        model.freeTransform()
        model.chgRhs(within, float(deadline))
        model.optimize()
        losses.append(float(lost @ np.round([model.getVal(one) for one in taken])))
    return losses


PROGRAMS = {
    "highspy": ("persistent HiGHS", with_highs),
    "ortools": ("persistent CP-SAT", with_cp_sat),
    "pyscipopt": ("persistent SCIP", with_scip),
}
"""By package: the name in the table, and the function."""


def program_rows(problem: EvictionProblem, case: str) -> list[tuple]:
    """The times of those that are installed ÷ those of dynamic programming, equal losses first."""
    rows = []
    for package, (name, _) in PROGRAMS.items():
        if find_spec(package) is not None:
            # OR-Tools has a HiGHS of its own, and does not share a process with highspy.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
                ratio = alone.submit(_ratio, package, problem).result()
            rows.append((f"{case}{name}, loss only / dynamic", ratio, "x", ">= 100"))
    return rows


def _ratio(package: str, problem: EvictionProblem) -> float:
    """Median time of a program ÷ that of dynamic programming, whose losses it must find."""
    solve = PROGRAMS[package][1]
    np.testing.assert_allclose(solve(problem), solve_dynamic(problem).loss * 3_600_000, atol=0.5)
    medians = []
    for each, repeat in ((solve, 3), (solve_dynamic, 51)):
        seconds = []
        for _ in range(repeat):
            begin = time.perf_counter()
            each(problem)
            seconds.append(time.perf_counter() - begin)
        medians.append(float(np.median(seconds)))
    return medians[0] / medians[1]
