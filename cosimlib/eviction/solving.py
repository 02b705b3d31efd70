"""Solvers by name, and your own: a function of a problem and a deadline that returns actions.

`solve` asks such a function for each deadline of a problem, and checks what it answers by the rules
of every plan (`rules`). The function sees the `EvictionProblem`:

- `problem.jobs`: `nodes`, `loss` (node-hours), `app_time`, `sys_time` (seconds), and other columns
- `problem.durations`: seconds of both checkpoints, rounded up as plans count them
- `problem.nodes_needed`, `problem.step`

It returns one action per job: ``"keep"``, ``"kill"``, ``"app"`` or ``"sys"``, or their numbers 0 to
3, in the order of `problem.jobs`. A Series is read by its index, so that its order does not matter.
"""

import inspect
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch.simulation import function_name
from cosimlib.eviction.dynamic import solve_dynamic
from cosimlib.eviction.gpus import GpuEvictionProblem, solve_gpus
from cosimlib.eviction.overlapping import solve_blocked, solve_overlapping
from cosimlib.eviction.plan import EvictionPlan, TimedPlan
from cosimlib.eviction.problem import ACTIONS, KEEP, EvictionProblem, check_problem
from cosimlib.eviction.rules import InfeasiblePlanError, check_table
from cosimlib.eviction.search import solve_backtracking, solve_greedy

Solver = Callable[[EvictionProblem], EvictionPlan]

SOLVERS: dict[str, Callable[..., EvictionPlan]] = {
    "dynamic": solve_dynamic,
    "greedy": solve_greedy,
    "backtracking": solve_backtracking,
    "overlapping": solve_overlapping,
    "blocked": solve_blocked,
}
"""Solvers of this package by name."""

A_SOLVER = (
    "the name of a solver, such as 'greedy', a function of a problem and a deadline that returns "
    "actions, or a function of a problem that returns an EvictionPlan"
)
NUMBERS = {name: number for number, name in enumerate(ACTIONS)}
KNOWN = ", ".join(ACTIONS)


def solve(
    problem: EvictionProblem, solver: str | Callable = "dynamic", *, name: str = "", **knobs: Any
) -> EvictionPlan:
    """Eviction plan of your own solver, or of one by its name, for each deadline of a problem.

    Parameters
    ----------
    problem : EvictionProblem
    solver : str or function, default "dynamic"
        ``"dynamic"``, ``"greedy"``, ``"backtracking"``, ``"overlapping"`` or ``"blocked"``; or a
        function ``f(problem, deadline) -> actions``, with the deadline in seconds and one action
        per job; or a function ``f(problem) -> EvictionPlan``. An object of your own class is called
        like a function.
    name : str, optional
        Name of the plan's solver, for a function of a deadline; by default the function's. A plan
        that a solver makes as a whole keeps the name that it has.
    **knobs
        Keyword arguments of the function.

    Returns
    -------
    EvictionPlan
        Of a function of a deadline it is never `proven`, whatever it loses.

    Raises
    ------
    InfeasiblePlanError
        If the actions break a rule. The message names solver, deadline, job and remedy.
    ArgumentError
        If the solver's name is unknown, or the function takes other arguments.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=300)
    >>> def cheapest(problem, deadline):
    ...     by_loss = problem.jobs.sort_values("loss")
    ...     enough = by_loss["nodes"].cumsum() - by_loss["nodes"] >= problem.nodes_needed
    ...     return enough.map({True: "keep", False: "kill"})
    >>> print(cs.solve(problem, cheapest))
    EvictionPlan cheapest: 64 of 128 nodes of 3 jobs
      at once         9.00 node-hours lost, 64 nodes freed (2 kill, 0 app, 0 sys)
      within 5 min    9.00 node-hours lost, 64 nodes freed (2 kill, 0 app, 0 sys)
      proven optimal  0 deadlines of 6
    """
    check_problem(problem)
    _, run = solver_of(solver, name=name, **knobs)
    return run(problem)


def solver_of(solver: Any, /, *, name: str = "", **knobs: Any) -> tuple[str, Solver]:
    """Name of a solver, and a function from a problem to its plan.

    The parameters are those of `solve`.
    """
    if isinstance(solver, str):
        check.choice("solver", solver, SOLVERS)
        _check_knobs(solver, SOLVERS[solver], knobs)
        return name or solver, partial(_planned, partial(SOLVERS[solver], **knobs), solver)
    if inspect.isclass(solver):
        expected = f"an object of the class, such as {solver.__name__}()"
        check.that("solver", solver, False, expected)
    check.that("solver", solver, callable(solver), A_SOLVER)
    name = name or function_name(solver)
    _check_knobs(name, solver, knobs)
    function = partial(solver, **knobs) if knobs else solver
    needed = _needed_arguments(function)
    check.that("solver", solver, needed in (1, 2), A_SOLVER)
    if needed == 2:
        own = "a name that no solver of this package has, such as name='mine'"
        check.that("name", name, name not in SOLVERS, own)
    return name, partial(_asked if needed == 2 else _planned, function, name)


def compared_with_best(plan: EvictionPlan) -> tuple[np.ndarray, np.ndarray]:
    """What a plan loses, and what the best plan does by the rules of its solver, per deadline.

    Node-hours; of ``"blocked"`` what both cost.
    """
    problem = plan.problem
    if isinstance(plan, TimedPlan) and plan.solver == "blocked":
        return plan.cost, solve_blocked(problem).cost
    if isinstance(plan, TimedPlan) and plan.solver == "overlapping":
        return plan.loss, solve_overlapping(problem).loss
    if plan.solver == "gpus" and isinstance(problem, GpuEvictionProblem):
        return plan.loss, solve_gpus(problem).bound
    return plan.loss, solve_dynamic(problem).loss


def _check_knobs(name: str, function: Callable, knobs: dict[str, Any]) -> None:
    """Raise an error for a keyword argument that a function does not take."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [each.name for each in parameters[1:] if each.kind in by_name]
    known = [each for each in known if each != "deadline"]
    takes_any = any(each.kind == each.VAR_KEYWORD for each in parameters)
    expected = f"one of {', '.join(map(repr, known))}" if known else "none, as it takes none"
    for knob in knobs:
        check.that("argument", knob, takes_any or knob in known, expected, where=name)


def _needed_arguments(function: Callable) -> int:
    """Arguments by place that a function needs, or a second one that is called `deadline`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return 2
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_place = [each for each in parameters if each.kind in kinds]
    needed = sum(each.default is each.empty for each in by_place)
    if needed < 2 and any(each.name == "deadline" for each in by_place[1:2]):
        return 2
    return needed


def _planned(function: Callable, name: str, problem: EvictionProblem) -> EvictionPlan:
    """What a function of a problem returns, which must be a plan of it."""
    plan: EvictionPlan = function(problem)
    expected = "an EvictionPlan, or a function that takes a deadline as well"
    check.instance(f"the result of {name!r}", plan, EvictionPlan, expected=expected)
    same = plan.problem is problem
    check.that(f"the problem of {name}'s plan", plan.problem, same, "the problem it was given")
    check_table(plan)
    return plan


def _asked(function: Callable, name: str, problem: EvictionProblem) -> EvictionPlan:
    """The plan of a function of a problem and a deadline, asked for each deadline in turn."""
    deadlines = len(problem.deadlines)
    choices = np.zeros((deadlines, len(problem)), dtype=np.uint8)
    response_time = np.empty(deadlines)
    spent = 0.0
    for row, deadline in enumerate(problem.deadlines.tolist()):
        begin = time.perf_counter()
        try:
            actions = function(problem, deadline)
        except Exception as error:
            error.add_note(f"raised by the solver {name!r} at deadline {deadline:.15g} s")
            raise
        spent += time.perf_counter() - begin
        response_time[row] = spent
        choices[row] = _numbers(actions, problem, name, deadline)
    plan = EvictionPlan(problem, name, choices, np.zeros(deadlines, dtype=bool), response_time)
    check_table(plan)
    return plan


def _numbers(actions: Any, problem: EvictionProblem, name: str, deadline: float) -> list[int]:
    """The numbers of one deadline's actions, in the order of the problem's jobs."""
    jobs = problem.jobs.index
    where = f"{name} by {deadline:.15g} s"
    if isinstance(actions, pd.Series):
        repeated = actions.index[actions.index.duplicated()]
        if len(repeated):
            _refuse(f"{where}: job {repeated[0]} is in the index more than once", deadline)
        if len(actions) != len(jobs):
            _refuse(f"{where}: {len(actions)} actions for {len(jobs)} jobs", deadline)
        missing = jobs.difference(actions.index)
        if len(missing):
            _refuse(f"{where}: job {missing[0]} is not in the index", deadline, missing[0])
        actions = actions.loc[jobs]
    if isinstance(actions, dict | set | frozenset):
        _refuse(f"{where}: it returns a {type(actions).__name__}", deadline)
    if isinstance(actions, str) or not hasattr(actions, "__len__"):
        _refuse(f"{where}: it returns {actions!r}", deadline)
    if len(actions) != len(jobs):
        _refuse(f"{where}: {len(actions)} actions for {len(jobs)} jobs", deadline)
    numbers = []
    for job, action in zip(jobs, actions, strict=True):
        if isinstance(action, str) and action in NUMBERS:
            numbers.append(NUMBERS[action])
        elif check.is_whole(action, KEEP) and action < len(ACTIONS):
            numbers.append(int(action))
        else:
            shown = str(action) if isinstance(action, str) else action
            _refuse(f"{where}: job {job} has action {shown!r}", deadline, job)
    return numbers


def _refuse(message: str, deadline: float, job: object = None) -> None:
    """Raise the error for what is no list of actions."""
    expected = f"expected one action per job: {KNOWN}, or their numbers 0 to {len(ACTIONS) - 1}"
    raise InfeasiblePlanError(f"{message}; {expected}", "actions", deadline, job)
