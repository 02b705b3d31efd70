"""Eviction plans: the action for each running job per deadline, its loss, and when it is written.

An `EvictionPlan` counts as the paper does: it adds all durations up, as if the file system were
busy while an application runs on to its next checkpoint. In a `TimedPlan` only *writes* come one
after another; waits go on at the same time. The burst starts at `free_time`, when the last write
ends. Until then

- a killed job is stopped from now on (if it ran on, it would lose as much as it computes);
- a job with a system-level checkpoint runs on until its write begins;
- a job with an application-level checkpoint runs on until the application reaches it, and stops
  there, although its write may begin later.

Writes follow the *writing order* and are as late as `free_time` allows: without a gap they end with
it. By default the jobs that reach no checkpoint of their own within the horizon come first, by
Smith's rule: ascending nodes per second of writing, the order in which they block the fewest
node-hours in all. Then come the others by the step in which they reach theirs, and within a step by
Smith's rule again. The rule takes the times of system-level checkpoints, also for jobs that write
an application-level one.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.audit import audit_rule
from cosimlib.display import Displayed, Facts, count, duration, quantity
from cosimlib.eviction.problem import (
    ACTIONS,
    APP,
    KEEP,
    KILL,
    MILLISECONDS_PER_HOUR,
    SYS,
    EvictionProblem,
    WriteArrays,
)
from cosimlib.eviction.rules import InfeasiblePlanError, check_optimum, check_plan, check_table
from cosimlib.kernels.jit import allocating_kernel


@dataclass(frozen=True, eq=False, repr=False)
class EvictionPlan(Displayed):
    """Eviction plan: the action for each running job, for each deadline of a problem.

    Parameters
    ----------
    problem : EvictionProblem
    solver : str
        `dynamic`, `as printed`, `greedy`, `backtracking`, `overlapping`, `blocked`, or the name of
        your own.
    choices : np.ndarray
        One row per deadline, one column per job: an index into `ACTIONS`.
    proven : np.ndarray
        Whether the plan is known to be optimal, one bool per deadline. Only solvers that prove it
        may say so (`rules.PROVING`).
    response_time : np.ndarray
        Seconds from the call until the plans of all deadlines up to this one were known.

    Raises
    ------
    InfeasiblePlanError
        If a deadline's plan frees too few nodes, is late, or has an unknown action (see `rules`).
        The message names the solver, the deadline and, where there is one, the job.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=300)
    >>> plan = cs.solve_dynamic(problem)
    >>> plan.actions(deadline=120)[["action", "nodes", "loss"]]
      action  nodes  loss
    0    app     64   0.0
    """

    problem: EvictionProblem
    solver: str
    choices: np.ndarray
    proven: np.ndarray
    response_time: np.ndarray

    def __post_init__(self) -> None:
        check_plan(self)

    @classmethod
    def optimum(
        cls, problem: EvictionProblem, solver: str, choices: np.ndarray, seconds: float, **more: Any
    ) -> Self:
        """Plans of all deadlines, proven to be optimal `seconds` after the call.

        `more` are the other fields of the class. Raises `InfeasiblePlanError` for a solver that
        proves nothing.
        """
        deadlines = len(problem.deadlines)
        proven, response_time = np.ones(deadlines, dtype=bool), np.full(deadlines, seconds)
        return cls(problem, solver, choices, proven, response_time, **more)

    @property
    def deadlines(self) -> np.ndarray:
        """Seconds from now, one per plan."""
        return self.problem.deadlines

    @property
    def optimal(self) -> bool:
        """Whether the plan of each deadline is known to be optimal."""
        return bool(self.proven.all())

    @property
    def loss(self) -> np.ndarray:
        """Node-hours lost, one value per deadline."""
        return (self.choices == KILL) @ self.problem.arrays.loss / MILLISECONDS_PER_HOUR

    @property
    def checkpoint_time(self) -> np.ndarray:
        """Seconds of writing checkpoints, each rounded up to the step, one value per deadline."""
        return _steps_of(self) * float(self.problem.step)

    @property
    def nodes_freed(self) -> np.ndarray:
        """Nodes of all jobs killed or checkpointed, one value per deadline."""
        return _sums(self.choices != KEEP, self.problem.arrays.nodes)

    @property
    def _usable(self) -> np.ndarray:
        """Nodes that the burst can use, one value per deadline."""
        return self.nodes_freed

    @property
    def _written(self) -> np.ndarray:
        """The step in which the last checkpoint is written, one value per deadline."""
        return _steps_of(self)

    def _first_late(self, row: int) -> tuple[int, int]:
        """The first job of a deadline whose checkpoint is late, and the step that ends it."""
        choice, arrays = self.choices[row], self.problem.arrays
        steps = np.where(choice == APP, arrays.app_steps, 0)
        ends = np.cumsum(np.where(choice == SYS, arrays.sys_steps, steps))
        late = int((ends > row).argmax())
        return late, int(ends[late])

    def actions(self, deadline: float) -> pd.DataFrame:
        """Jobs evicted by `deadline` (seconds): action, nodes, loss (node-hours), time (seconds).

        A deadline between two steps has the plan of the earlier one. `job_id` is the last column,
        where the problem has it.
        """
        row = self.row(deadline)
        jobs, arrays = self.problem.jobs, self.problem.arrays
        choice = self.choices[row]
        steps = np.where(choice == APP, arrays.app_steps, 0)
        steps = np.where(choice == SYS, arrays.sys_steps, steps)
        loss = np.where(choice == KILL, arrays.loss, 0.0) / MILLISECONDS_PER_HOUR
        table = pd.DataFrame(
            {
                "job": jobs.index,
                "action": np.array(ACTIONS)[choice],
                "nodes": arrays.nodes,
                "loss": loss,
                "time": steps * float(self.problem.step),
            }
        )
        if "job_id" in jobs:
            table["job_id"] = jobs["job_id"].to_numpy()
        return table[choice != KEEP].reset_index(drop=True)

    def row(self, deadline: float) -> int:
        """The row of `choices` for a deadline in seconds."""
        check.seconds("deadline", deadline, most=self.problem.horizon)
        slack = 1e-9 * self.problem.step
        return int(np.searchsorted(self.deadlines, deadline + slack, side="right")) - 1

    def table(self) -> pd.DataFrame:
        """One row per deadline: loss, checkpoint time, nodes freed, whether proven optimal."""
        return pd.DataFrame(
            {
                "deadline": self.deadlines,
                "loss": self.loss,
                "checkpoint_time": self.checkpoint_time,
                "nodes_freed": self.nodes_freed,
                "optimal": self.proven,
            }
        )

    def _heading(self) -> str:
        return f"{self.solver}: {self.problem._heading()}"

    def _facts(self) -> Facts:
        return {
            "at once": lambda: self._summary(0),
            f"within {duration(self.deadlines[-1])}": lambda: self._summary(-1),
            "proven optimal": lambda: (
                f"{count(int(self.proven.sum()), 'deadline')} of {len(self.proven)}"
            ),
        }

    def _summary(self, row: int) -> str:
        """The loss of a deadline, and how many jobs are evicted how."""
        counts = np.bincount(self.choices[row], minlength=len(ACTIONS))
        actions = [f"{counts[action]} {ACTIONS[action]}" for action in (KILL, APP, SYS)]
        lost = quantity(self.loss[row], "node-hours lost", digits=2)
        return f"{lost}, {self.nodes_freed[row]:,} nodes freed ({', '.join(actions)})"


class Timetable(NamedTuple):
    """When writes begin and end (steps), and when jobs stop (ms), deadlines × jobs; -1 for never.

    `free` is the step in which the last write ends, one per deadline.
    """

    begin: np.ndarray
    end: np.ndarray
    stop: np.ndarray
    free: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class TimedPlan(EvictionPlan):
    """Eviction plan with the time at which each checkpoint is written.

    Parameters
    ----------
    order : np.ndarray
        The rows of the jobs in the writing order, one row of it per deadline.
    """

    order: np.ndarray

    def __post_init__(self) -> None:
        _check_order(self)
        super().__post_init__()

    @classmethod
    def of(cls, plan: EvictionPlan, order: np.ndarray | None = None) -> Self:
        """Any plan, its checkpoints written in the default order, or in another.

        In the default order they are written not later than the paper's sum of durations says:
        waits overlap.
        """
        order = writing_order(plan.problem) if order is None else order
        orders = np.broadcast_to(order, plan.choices.shape)
        return cls(plan.problem, plan.solver, plan.choices, plan.proven, plan.response_time, orders)

    @property
    def checkpoint_time(self) -> np.ndarray:
        """Seconds of writing checkpoints, waits left out, one value per deadline."""
        writes = self.problem.writes
        steps = (self.choices == APP) @ writes.app_write + (self.choices == SYS) @ writes.sys_write
        return steps * float(self.problem.step)

    @property
    def free_time(self) -> np.ndarray:
        """Seconds until all nodes are free and the burst starts, one value per deadline."""
        return self._timetable.free * float(self.problem.step)

    @property
    def blocked(self) -> np.ndarray:
        """Node-hours that evicted jobs hold, stopped, before the burst starts, one per deadline."""
        times, nodes = self._timetable, self.problem.arrays.nodes
        free = times.free[:, None] * (self.problem.step * 1e3)
        blocked = np.where(self.choices == KEEP, 0.0, free - times.stop)
        return blocked @ nodes / MILLISECONDS_PER_HOUR

    @property
    def cost(self) -> np.ndarray:
        """Node-hours lost or blocked, one value per deadline."""
        return self.loss + self.blocked

    def writes(self, deadline: float) -> pd.DataFrame:
        """Jobs evicted by `deadline` (seconds) as they stop: when, and when they are written.

        Returns
        -------
        pd.DataFrame
            `job`, `action`, `nodes`, `stop`, `begin` and `end` of its write (seconds from now, NaN
            for a kill), in the order of `stop`.
        """
        row, seconds = self.row(deadline), float(self.problem.step)
        table = self.actions(deadline)[["job", "action", "nodes"]]
        evicted = self.choices[row] != KEEP
        begin, end, stop = (part[row, evicted] for part in self._timetable[:3])
        times = {
            "stop": stop / 1e3,
            "begin": np.where(begin < 0, np.nan, begin * seconds),
            "end": np.where(end < 0, np.nan, end * seconds),
        }
        return table.assign(**times).sort_values(["stop", "begin"], kind="stable")

    def table(self) -> pd.DataFrame:
        """One row per deadline as of any plan, with `free_time` (s) and `blocked` (node-hours)."""
        return super().table().assign(free_time=self.free_time, blocked=self.blocked)

    @property
    def _written(self) -> np.ndarray:
        """The step in which the last write ends: the latest of all stretches without a gap.

        Such a stretch begins now, or when an application reaches its checkpoint. So this is the
        `free` of the timetable, without its kernel, which a plan may never need.
        """
        writes = self.problem.writes
        if not len(self.problem):
            return np.zeros(len(self.deadlines), dtype=np.int64)
        choice = np.take_along_axis(self.choices, self.order, axis=1)
        by_app = choice == APP
        steps = by_app * writes.app_write[self.order]
        steps += (choice == SYS) * writes.sys_write[self.order]
        to_end = np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
        ends = np.where(by_app, writes.release[self.order], 0) + to_end
        return ends.max(axis=1)

    def _first_late(self, row: int) -> tuple[int, int]:
        """The first job in the writing order that is late, and the step in which its write ends."""
        writes, free = self.problem.writes, 0
        for job in self.order[row].tolist():
            action = self.choices[row, job]
            if action == APP:
                free = max(free, int(writes.release[job])) + int(writes.app_write[job])
            elif action == SYS:
                free += int(writes.sys_write[job])
            if action in (APP, SYS) and free > row:
                break
        return job, free

    @cached_property
    def _timetable(self) -> Timetable:
        """When all jobs of all deadlines stop and are written."""
        choices = np.ascontiguousarray(self.choices)
        order = np.ascontiguousarray(self.order, dtype=np.int64)
        return _write_all(choices, order, self.problem.writes, self.problem.step * 1e3)


@audit_rule.register
def _(plan: EvictionPlan) -> None:
    """Raise an error if a plan breaks a rule, or no longer counts what its problem says."""
    # The solvers know the plans of this file.
    from cosimlib.eviction.solving import compared_with_best

    check_plan(plan)
    check_table(plan)
    if plan.proven.any():
        check_optimum(plan, *compared_with_best(plan))


def _steps_of(plan: EvictionPlan) -> np.ndarray:
    """Steps of all checkpoints added up, one value per deadline."""
    arrays = plan.problem.arrays
    by_app = _sums(plan.choices == APP, arrays.app_steps)
    return by_app + _sums(plan.choices == SYS, arrays.sys_steps)


def _sums(chosen: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of the whole numbers of the jobs chosen, one per deadline."""
    # Products of floats are twice as fast, and exact below 2**53.
    return (chosen @ values.astype(np.float64)).astype(np.int64)


def _check_order(plan: TimedPlan) -> None:
    """Raise an error unless each row of the writing order has every job once."""
    shape, order = (len(plan.deadlines), len(plan.problem)), plan.order
    fine = isinstance(order, np.ndarray) and order.shape == shape and order.dtype.kind in "iu"
    if fine and order.size:
        fine = bool(order.min() >= 0 and order.max() < shape[1])
        if fine:
            first = np.arange(shape[0])[:, None] * shape[1]
            fine = bool((np.bincount((order + first).ravel()) == 1).all())
    if not fine:
        raise InfeasiblePlanError(
            f"{plan.solver}: the writing order is wrong; expected the numbers 0 to {shape[1] - 1} "
            f"of all jobs, once in each of {shape[0]} rows",
            "time",
        )


def writing_order(problem: EvictionProblem) -> np.ndarray:
    """Rows of a problem's jobs in the default order of writing (see the module's first lines)."""
    return order_of_writes(problem.arrays.nodes, problem.writes, len(problem.deadlines))


def order_of_writes(nodes: np.ndarray, writes: WriteArrays, rows: int) -> np.ndarray:
    """The default order of writing, for a horizon of ``rows - 1`` steps; one value per job."""
    smith = np.argsort(nodes / np.maximum(writes.sys_write, 1e-9), kind="stable")
    in_time = writes.release + writes.app_write < rows
    reached = np.where(in_time, writes.release, -1)
    return smith[np.argsort(reached[smith], kind="stable")]


@allocating_kernel
def _write_all(
    choices: np.ndarray, order: np.ndarray, writes: WriteArrays, step: float
) -> Timetable:
    """The times of all deadlines' plans; a step takes `step` milliseconds."""
    begin = np.full(choices.shape, -1, dtype=np.int64)
    end = np.full(choices.shape, -1, dtype=np.int64)
    stop = np.full(choices.shape, -1.0)
    free = np.zeros(choices.shape[0], dtype=np.int64)
    for row in range(choices.shape[0]):
        for job in order[row]:
            if choices[row, job] == APP:
                free[row] = max(free[row], writes.release[job]) + writes.app_write[job]
            elif choices[row, job] == SYS:
                free[row] += writes.sys_write[job]
        left = free[row]
        for job in order[row, ::-1]:
            action = choices[row, job]
            if action in (APP, SYS):
                end[row, job] = left
                left -= writes.app_write[job] if action == APP else writes.sys_write[job]
                begin[row, job] = left
                stop[row, job] = writes.app_wait[job] if action == APP else left * step
            elif action != KEEP:
                stop[row, job] = 0.0
    return Timetable(begin, end, stop, free)
