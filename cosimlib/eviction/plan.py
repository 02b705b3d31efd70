"""Eviction plans: the action for each running job per deadline, and its loss."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import Displayed, Facts, count, duration, quantity
from cosimlib.eviction.problem import (
    ACTIONS,
    APP,
    KEEP,
    KILL,
    MILLISECONDS_PER_HOUR,
    SYS,
    EvictionProblem,
)


@dataclass(frozen=True, eq=False, repr=False)
class EvictionPlan(Displayed):
    """The action for each job per deadline of a problem.

    Parameters
    ----------
    problem : EvictionProblem
    solver : str
        `dynamic`, `greedy` or `backtracking`.
    choices : np.ndarray
        One row per deadline, one column per job: an index into `ACTIONS`.
    proven : np.ndarray
        Whether the plan is known to be optimal, one bool per deadline.
    response_time : np.ndarray
        Seconds from the call until the plans of all deadlines up to this one were known.

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
        arrays = self.problem.arrays
        steps = (self.choices == APP) @ arrays.app_steps + (self.choices == SYS) @ arrays.sys_steps
        return steps * float(self.problem.step)

    @property
    def nodes_freed(self) -> np.ndarray:
        """Nodes of all jobs killed or checkpointed, one value per deadline."""
        return (self.choices != KEEP) @ self.problem.arrays.nodes

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
            "at once": lambda: self._told(0),
            f"within {duration(self.deadlines[-1])}": lambda: self._told(-1),
            "proven optimal": lambda: (
                f"{count(int(self.proven.sum()), 'deadline')} of {len(self.proven)}"
            ),
        }

    def _told(self, row: int) -> str:
        """The loss of a deadline, and how many jobs are evicted how."""
        counts = np.bincount(self.choices[row], minlength=len(ACTIONS))
        actions = [f"{counts[action]} {ACTIONS[action]}" for action in (KILL, APP, SYS)]
        lost = quantity(self.loss[row], "node-hours lost", digits=2)
        return f"{lost}, {self.nodes_freed[row]:,} nodes freed ({', '.join(actions)})"
