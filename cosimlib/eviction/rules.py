"""Rules that every eviction plan keeps, and the error that names the one that is broken.

A plan is checked where it is made, whoever made it. At each deadline

- *actions*: there is one action per job, and it is keep, kill, app or sys;
- *nodes*: the jobs that are killed or checkpointed hold at least as many nodes as are needed. A
  problem never needs more nodes than its jobs hold, so such a plan exists for every deadline;
- *time*: the last checkpoint is written by the deadline. Durations are rounded up to the step. In
  an `EvictionPlan` they add up, in a `TimedPlan` only writes do.

For the plan as a whole

- *proof*: only solvers that prove a plan may say that it is optimal (`PROVING`). `audit` solves the
  problem anew and compares what the plan loses, or costs if the solver is `blocked`;
- *table*: the plan counts the losses, nodes and times that stand in the table of jobs. Only `audit`
  checks this: it finds tables and plans that were changed after they were made.

The loss is no field of a plan: it is always computed from the actions.
"""

from typing import TYPE_CHECKING

import numpy as np

from cosimlib import checks as check
from cosimlib.eviction.problem import ACTIONS, APP, KEEP, SYS, arrays_of, check_problem

if TYPE_CHECKING:
    from cosimlib.eviction.plan import EvictionPlan

RULES = ("actions", "nodes", "time", "proof", "table")
NAMED = ("dynamic", "backtracking", "overlapping", "blocked")
"""Solvers that prove the optimum, and that `solve` knows by name."""
PROVING = (*NAMED, "as printed", "gpus")
"""All solvers that prove the optimum. `as printed` is Algorithm 1 to the letter, of notebook 1, and
`gpus` is `gpus.solve_gpus`."""
ROUNDING = 1e-9
COLUMNS = {"nodes": "nodes", "loss": "loss", "app_steps": "app_time", "sys_steps": "sys_time"}
"""The column of a problem's table that each of its arrays comes from."""


class InfeasiblePlanError(AssertionError, ValueError):
    """An eviction plan that breaks a rule.

    It is an `AssertionError`, as in every audit, and a `ValueError`, because its maker is at fault.

    Parameters
    ----------
    message : str
    rule : str
        One of `RULES`.
    deadline : float, optional
        Seconds; None if the rule is not about one deadline.
    job : object, optional
        The job's name in the problem's table; None if the rule is not about one job.
    """

    def __init__(
        self, message: str, rule: str, deadline: float | None = None, job: object = None
    ) -> None:
        super().__init__(message)
        self.rule, self.deadline, self.job = rule, deadline, job


def check_plan(plan: "EvictionPlan") -> None:
    """Raise an error for the first rule that a plan breaks, all but `table`."""
    check_problem(plan.problem)
    check.that("solver", plan.solver, isinstance(plan.solver, str), "the name of the solver")
    _check_arrays(plan)
    _check_actions(plan)
    _check_nodes(plan)
    _check_time(plan)
    _check_proof(plan)


def check_table(plan: "EvictionPlan") -> None:
    """Raise an error if a plan counts other numbers than its problem's table of jobs has."""
    problem = plan.problem
    expected = arrays_of(problem.jobs, problem.horizon, problem.step)
    for name, column in COLUMNS.items():
        counted, given = getattr(problem.arrays, name), getattr(expected, name)
        if not np.array_equal(counted, given):
            differ = counted != given if counted.shape == given.shape else np.ones(1, dtype=bool)
            job = problem.jobs.index[int(differ.argmax())]
            raise InfeasiblePlanError(
                f"{plan.solver}: {column} of job {job} is not what it was when the problem was "
                "made; expected a table of jobs that nobody changes: change a copy of it",
                "table",
                job=job,
            )


def _check_arrays(plan: "EvictionPlan") -> None:
    """Raise an error unless a plan's arrays have a value per deadline, or per deadline and job."""
    deadlines, jobs = len(plan.problem.deadlines), len(plan.problem)
    for name, shape, kinds, expected in (
        ("choices", (deadlines, jobs), "iu", f"whole numbers, {deadlines} deadlines × {jobs} jobs"),
        ("proven", (deadlines,), "b", f"{deadlines} truth values, one per deadline"),
        ("response_time", (deadlines,), "fiu", f"{deadlines} seconds, one per deadline"),
    ):
        values = getattr(plan, name)
        if not isinstance(values, np.ndarray):
            found = f"of type {type(values).__name__}"
        elif values.shape != shape or values.dtype.kind not in kinds:
            found = f"an array of {values.dtype} of shape {values.shape}"
        else:
            continue
        rule = "proof" if name == "proven" else "actions"
        raise InfeasiblePlanError(
            f"{plan.solver}: {name} is {found}; expected an array of {expected}", rule
        )


def _check_actions(plan: "EvictionPlan") -> None:
    """Raise an error for the first action that there is not."""
    choices = plan.choices
    if choices.size and (choices.max() > SYS or choices.min() < KEEP):
        row, job = np.argwhere((choices > SYS) | (choices < KEEP))[0].tolist()
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(ACTIONS))
        _refuse(plan, row, f"job {{}} has action {choices[row, job]}; expected {known}", job)


def _check_nodes(plan: "EvictionPlan") -> None:
    """Raise an error for the first deadline by which too few nodes are free."""
    freed, needed = plan._usable, plan.problem.nodes_needed
    if not (freed < needed).any():
        return
    row = int((freed < needed).argmax())
    message = f"{freed[row]:,} nodes are freed; expected at least the {needed:,} needed"
    kept = plan.choices[row] == KEEP
    job = int(np.where(kept, plan.problem.arrays.nodes, 0).argmax()) if kept.any() else None
    if job is not None:
        message += ": kill or checkpoint more jobs, such as job {}"
    _refuse(plan, row, message, job, rule="nodes")


def _check_time(plan: "EvictionPlan") -> None:
    """Raise an error for the first deadline that the checkpoints miss."""
    late = plan._written > np.arange(len(plan.problem.deadlines))
    if not late.any():
        return
    row = int(late.argmax())
    job, ends = plan._first_late(row)
    action = int(plan.choices[row, job])
    name, column = ACTIONS[action], "app_time" if action == APP else "sys_time"
    if plan.problem.jobs[column].iloc[job] == np.inf:
        message = f"job {{}} has no {name} checkpoint ({column}=inf); kill or keep it"
    else:
        message = (
            f"the {name} checkpoint of job {{}} is written at {ends * plan.problem.step:.15g} s, "
            f"as checkpoints are written one after another in steps of {plan.problem.step:g} s; "
            f"expected {plan.deadlines[row]:.15g} s at the latest: kill or keep the job, or take "
            "shorter checkpoints"
        )
    _refuse(plan, row, message, job, rule="time")


def _check_proof(plan: "EvictionPlan") -> None:
    """Raise an error if a solver that proves nothing says that its plan is optimal."""
    if plan.proven.any() and plan.solver not in PROVING:
        row = int(plan.proven.argmax())
        message = (
            f"the plan is said to be proven optimal; expected proven=False, as only "
            f"the solvers {', '.join(NAMED)} prove it"
        )
        _refuse(plan, row, message, None, rule="proof")


def check_optimum(plan: "EvictionPlan", own: np.ndarray, best: np.ndarray) -> None:
    """Raise an error if a plan that is said to be proven optimal loses more than the best one.

    `own` and `best` are node-hours per deadline.
    """
    worse = plan.proven & (own > best * (1 + ROUNDING) + ROUNDING)
    if worse.any():
        row = int(worse.argmax())
        message = (
            f"the plan is said to be proven optimal and loses {own[row]:,.10g} node-hours; "
            f"the optimum is {best[row]:,.10g}: expected proven=False"
        )
        _refuse(plan, row, message, None, rule="proof")


def _refuse(
    plan: "EvictionPlan", row: int, message: str, job: int | None, *, rule: str = "actions"
) -> None:
    """Raise the error of a deadline; the braces in the message stand for the job in a row."""
    deadline = float(plan.problem.deadlines[row])
    named = None if job is None else plan.problem.jobs.index[job]
    raise InfeasiblePlanError(
        f"{plan.solver} by {deadline:.15g} s: {message.format(named)}", rule, deadline, named
    )
