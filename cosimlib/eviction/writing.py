"""The moments at which checkpoints are written, and the time for which evicted jobs stand still.

The paper adds all durations up, as if the file system were busy while an application runs on to its
next checkpoint. Here only *writes* come one after another; waits go on at the same time. The burst
starts at `free_time`, when the last write ends. Until then

- a killed job stands still from now on (if it ran on, it would lose as much as it computes);
- a job with a system-level checkpoint runs on until its write begins;
- a job with an application-level checkpoint runs on until the application reaches it, and stops
  there, although its write may begin later.

Writes follow the *writing order* and are as late as `free_time` allows: without a gap they end with
it. By default the jobs that reach no checkpoint of their own within the horizon come first, by
Smith's rule: ascending nodes per second of writing, the order in which they stand still for the
fewest node-hours in all. Then come the others in the order in which they reach theirs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.eviction.plan import EvictionPlan
from cosimlib.eviction.problem import APP, KEEP, MILLISECONDS_PER_HOUR, SYS, EvictionProblem
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.sorting import ascending


class Moments(NamedTuple):
    """When writes begin and end (steps), and when jobs stop (ms), deadlines × jobs; -1 for never.

    `free` is the step in which the last write ends, one per deadline.
    """

    begin: np.ndarray
    end: np.ndarray
    stop: np.ndarray
    free: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class TimedPlan(EvictionPlan):
    """An eviction plan that says when each checkpoint is written.

    Parameters
    ----------
    order : np.ndarray
        The rows of the jobs in the writing order, one row of it per deadline.
    """

    order: np.ndarray

    @classmethod
    def of(cls, plan: EvictionPlan) -> "TimedPlan":
        """Any plan, its checkpoints written in the default order.

        They are written not later than the paper's sum of durations says: waits overlap.
        """
        order = np.tile(writing_order(plan.problem), (len(plan.deadlines), 1))
        return cls(
            plan.problem, plan.solver, plan.choices, plan.proven, plan.response_time, order
        )  # fmt: skip

    @property
    def checkpoint_time(self) -> np.ndarray:
        """Seconds of writing checkpoints, waits left out, one value per deadline."""
        writes = self.problem.writes
        steps = (self.choices == APP) @ writes.app_write + (self.choices == SYS) @ writes.sys_write
        return steps * float(self.problem.step)

    @property
    def free_time(self) -> np.ndarray:
        """Seconds until all nodes are free and the burst starts, one value per deadline."""
        return self._moments.free * float(self.problem.step)

    @property
    def blocked(self) -> np.ndarray:
        """Node-hours for which evicted jobs stand still before the burst, one per deadline."""
        moments, nodes = self._moments, self.problem.arrays.nodes
        free = moments.free[:, None] * (self.problem.step * 1e3)
        still = np.where(self.choices == KEEP, 0.0, free - moments.stop)
        return still @ nodes / MILLISECONDS_PER_HOUR

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
        begin, end, stop = (part[row, evicted] for part in self._moments[:3])
        times = {
            "stop": stop / 1e3,
            "begin": np.where(begin < 0, np.nan, begin * seconds),
            "end": np.where(end < 0, np.nan, end * seconds),
        }
        return table.assign(**times).sort_values(["stop", "begin"], kind="stable")

    def table(self) -> pd.DataFrame:
        """One row per deadline as of any plan, with `free_time` (s) and `blocked` (node-hours)."""
        return super().table().assign(free_time=self.free_time, blocked=self.blocked)

    @cached_property
    def _moments(self) -> Moments:
        """All moments of all deadlines."""
        writes, choices = self.problem.writes, np.ascontiguousarray(self.choices)
        order = np.ascontiguousarray(self.order, dtype=np.int64)
        return Moments(*_write_all(choices, order, *writes, self.problem.step * 1e3))


def writing_order(problem: EvictionProblem) -> np.ndarray:
    """Rows of a problem's jobs in the default order of writing (see the module's first lines)."""
    release, app_write, sys_write, _ = problem.writes
    rows = len(problem.deadlines)
    return order_of_writes(problem.arrays.nodes, release, app_write, sys_write, rows)


@kernel
def order_of_writes(
    nodes: np.ndarray,
    release: np.ndarray,
    app_write: np.ndarray,
    sys_write: np.ndarray,
    rows: int,
) -> np.ndarray:
    """The default order of writing, for a horizon of ``rows - 1`` steps; one value per job."""
    smith = np.empty(nodes.size)
    for job in range(nodes.size):
        smith[job] = nodes[job] / max(sys_write[job], 1e-9)
    order = ascending(smith)
    reached = np.empty(nodes.size)
    for place, job in enumerate(order):
        reached[place] = release[job] if release[job] + app_write[job] < rows else -1
    return order[ascending(reached)]


@kernel
def _write_all(choices, order, release, app_write, sys_write, app_wait, step):
    """`Moments` of all deadlines; a step takes `step` milliseconds."""
    begin = np.full(choices.shape, -1, dtype=np.int64)
    end = np.full(choices.shape, -1, dtype=np.int64)
    stop = np.full(choices.shape, -1.0)
    free = np.zeros(choices.shape[0], dtype=np.int64)
    for row in range(choices.shape[0]):
        for job in order[row]:
            if choices[row, job] == APP:
                free[row] = max(free[row], release[job]) + app_write[job]
            elif choices[row, job] == SYS:
                free[row] += sys_write[job]
        left = free[row]
        for job in order[row, ::-1]:
            action = choices[row, job]
            if action in (APP, SYS):
                end[row, job] = left
                left -= app_write[job] if action == APP else sys_write[job]
                begin[row, job] = left
                stop[row, job] = app_wait[job] if action == APP else left * step
            elif action != KEEP:
                stop[row, job] = 0.0
    return begin, end, stop, free
