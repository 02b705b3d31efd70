"""Comparison of eviction solvers: response times, losses, scaling with the size of a problem."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from cosimlib.eviction.dynamic import solve_as_printed, solve_dynamic, solve_spectrum
from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import EvictionProblem
from cosimlib.eviction.scenarios import scaled_problem
from cosimlib.eviction.search import solve_backtracking, solve_greedy

REPEATED_BELOW = 0.05
"""Seconds up to which a run of backtracking is repeated."""


def compare_solvers(
    problems: Mapping[str, EvictionProblem],
    *,
    nodes_needed: Iterable[int],
    repeat: int = 5,
    time_limit: float = 10.0,
) -> pd.DataFrame:
    """Each solver on each problem for each number of nodes, one row per deadline.

    Parameters
    ----------
    problems : mapping of str to EvictionProblem
        Scenarios by name.
    nodes_needed : iterable of int
        Problems whose jobs hold fewer nodes are left out.
    repeat : int, default 5
        Timed runs, after one that is not counted (it compiles); the response time is their median.
        Backtracking is repeated only where it takes at most 50 ms.
    time_limit : float, default 10.0
        Of backtracking, seconds per deadline.

    Returns
    -------
    pd.DataFrame
        `scenario`, `nodes_needed`, `solver`, `deadline` (s), `response_time` (s), `loss`
        (node-hours), `checkpoint_time` (s), `nodes_freed`, `optimal`, and `bound`: whether the
        response time is a lower bound because the time limit ran out at this deadline or an
        earlier one, since times accumulate.
    """
    tables = []
    for scenario, problem in problems.items():
        for case in _asking(problem, nodes_needed):
            plans = [
                _median_plan(solve_dynamic, case, repeat),
                _median_plan(solve_as_printed, case, repeat),
                _median_plan(solve_greedy, case, repeat),
                _median_backtracking(case, repeat, time_limit),
            ]
            tables += [_plan_rows(plan).assign(scenario=scenario) for plan in plans]
    nothing = _plan_rows(solve_dynamic(EvictionProblem.empty())).assign(scenario="").head(0)
    first = ["scenario", "nodes_needed", "solver"]
    table = pd.concat(tables or [nothing], ignore_index=True)
    return table[first + [column for column in table if column not in first]]


def _median_plan(solve, problem: EvictionProblem, repeat: int) -> EvictionPlan:
    """A plan whose response time is the median of `repeat` runs, element by element."""
    plans = [solve(problem) for _ in range(repeat + 1)][1:]
    response_time = np.median([plan.response_time for plan in plans], axis=0)
    return replace(plans[0], response_time=response_time)


def _median_backtracking(problem: EvictionProblem, repeat: int, time_limit: float) -> EvictionPlan:
    """`_median_plan` for backtracking, of one run where that takes long."""
    solve = partial(solve_backtracking, time_limit=time_limit)
    solve_backtracking(problem, time_limit=1e-3)
    plan = solve(problem)
    if plan.response_time[-1] > REPEATED_BELOW:
        return plan
    return _median_plan(solve, problem, repeat)


def _plan_rows(plan: EvictionPlan) -> pd.DataFrame:
    """A plan's table with its case, solver and response times."""
    stopped = np.maximum.accumulate(~plan.proven) & (plan.solver == "backtracking")
    return plan.table().assign(
        nodes_needed=plan.problem.nodes_needed,
        solver=plan.solver,
        response_time=plan.response_time,
        bound=stopped,
    )


def losses_over_seeds(
    pose: Callable[[int], Mapping[str, EvictionProblem]],
    seeds: Iterable[int],
    *,
    nodes_needed: Iterable[int],
) -> pd.DataFrame:
    """Greedy's loss beyond the optimum over the seeds of what logs do not tell, such as memory.

    Parameters
    ----------
    pose : callable
        Scenarios by name, for a seed.
    seeds : iterable of int
    nodes_needed : iterable of int
        Left out where the jobs hold fewer.

    Returns
    -------
    pd.DataFrame
        `scenario`, `nodes_needed`, `deadline` (s), means `optimum` and `excess`, and the `least`
        and `most` excess of the seeds (node-hours).
    """
    tables = [
        pd.DataFrame({
            "scenario": scenario,
            "nodes_needed": case.nodes_needed,
            "deadline": case.deadlines,
            "optimum": best,
            "excess": (solve_greedy(case).loss - best).round(6),
        })
        for seed in seeds
        for scenario, problem in pose(seed).items()
        for case in _asking(problem, nodes_needed)
        for best in [solve_dynamic(case).loss]
    ]  # fmt: skip
    keys, columns = ["scenario", "nodes_needed", "deadline"], ["optimum", "excess"]
    if not tables:
        return pd.DataFrame(columns=[*keys, *columns, "least", "most"], dtype="float64")
    cases = pd.concat(tables, ignore_index=True).groupby(keys, sort=False)
    spread = cases["excess"].agg(least="min", most="max")
    return pd.concat([cases[columns].mean(), spread], axis=1).reset_index()


def _asking(problem: EvictionProblem, nodes_needed: Iterable[int]) -> list[EvictionProblem]:
    """A problem for each number of nodes needed that its jobs hold."""
    return [problem.asking(needed) for needed in nodes_needed if needed <= problem.total_nodes]


def scale_solvers(
    sizes: Iterable[tuple[int, int]], *, repeat: int = 3, seed: int = 0
) -> pd.DataFrame:
    """Response time of the polynomial solvers per size of the problem (see `scaled_problem`).

    Parameters
    ----------
    sizes : iterable of (jobs, nodes)
    repeat : int, default 3
        Timed runs; the response time is their median.
    seed : int, default 0

    Returns
    -------
    pd.DataFrame
        `jobs`, `nodes`, `solver` (`dynamic`, `greedy`, `spectrum`), `response_time` (s).
    """
    solve_spectrum(scaled_problem(2, 4))
    rows = []
    for jobs, nodes in sizes:
        problem = scaled_problem(jobs, nodes, seed=seed)
        dynamic = _median_plan(solve_dynamic, problem, repeat).response_time[-1]
        greedy = _median_plan(solve_greedy, problem, repeat).response_time[-1]
        spectrum = np.median([solve_spectrum(problem).response_time for _ in range(repeat)])
        times = {"dynamic": dynamic, "greedy": greedy, "spectrum": float(spectrum)}
        rows += [(jobs, nodes, solver, seconds) for solver, seconds in times.items()]
    return pd.DataFrame(rows, columns=["jobs", "nodes", "solver", "response_time"])


def seconds_by_horizon(
    problem: EvictionProblem,
    horizons: Iterable[float],
    *,
    solve: Callable[[EvictionProblem], EvictionPlan] = solve_dynamic,
    repeat: int = 9,
) -> dict[float, float]:
    """Median seconds of a solver per horizon (s), of `repeat` runs each."""
    problems = {horizon: replace(problem, horizon=horizon) for horizon in horizons}
    solve(problem)
    return {
        horizon: float(np.median([solve(case).response_time[-1] for _ in range(repeat)]))
        for horizon, case in problems.items()
    }


def equal_to_separate_runs(problem: EvictionProblem) -> tuple[int, int]:
    """Deadlines at which one pass finds what a run for that one alone does, and all of them."""
    together = solve_dynamic(problem)
    alone = [solve_dynamic(replace(problem, horizon=each)) for each in problem.deadlines.tolist()]
    equal = [
        plan.loss[-1] == loss and plan.checkpoint_time[-1] == spent
        for plan, loss, spent in zip(alone, together.loss, together.checkpoint_time, strict=True)
    ]
    return sum(equal), len(equal)


def relative_loss(comparison: pd.DataFrame) -> pd.DataFrame:
    """Greedy's loss minus the optimum, one row per case and deadline of `compare_solvers`.

    Returns
    -------
    pd.DataFrame
        `scenario`, `nodes_needed`, `deadline` (s), `optimum` and `excess` (node-hours).
    """
    keys = ["scenario", "nodes_needed", "deadline"]
    by_solver = {
        solver: comparison[comparison["solver"] == solver].set_index(keys)["loss"]
        for solver in ("greedy", "dynamic")
    }
    excess = (by_solver["greedy"] - by_solver["dynamic"]).round(6)
    return pd.DataFrame({"optimum": by_solver["dynamic"], "excess": excess}).reset_index()
