"""Schedule of a machine with bursts: stretches of every job, evictions, plans, as tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from cosimlib.eviction.problem import ACTIONS
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.steps import step_function
from cosimlib.ondemand.fillers import containers
from cosimlib.ondemand.state import COMPUTE, HOLD, READ, STAND, TURN, WRITE
from cosimlib.schedule import USES, Schedule, allocation_table
from cosimlib.units import HOUR

KINDS = ("read", "compute", "write", "stand", "hold", "burst", "turn")
"""Kinds of stretches by their number."""

RUN_USE, HOLD_USE, KILLED_USE, CHECKPOINT_USE, REREAD_USE, CONTAINER_USE = (
    USES.index(use) for use in ("run", "hold", "killed", "checkpoint", "reread", "container")
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class OnDemandSchedule(Schedule):
    """Batch jobs and bursts of on-demand work; times are first start and last end.

    Parameters
    ----------
    workload : Workload
        Of batch jobs and bursts together.
    on_demand : np.ndarray
        Whether each job is a burst.
    stretches : pd.DataFrame
        What each job did, one row per stretch, in order of its end: `kind`, one of `KINDS`, `job`,
        `attempt` (0, 1, …, of a job), `start`, `end` (s), `nodes`, progress `before` and `after`
        (s of its run time), and `left`, seconds that an application checkpoint in progress at the
        start still takes. Of kind `hold` are nodes held for the burst named; `stand` and `write`
        are jobs that make way, until and while their checkpoint is written; `turn` are nodes that
        stand still because those who share them have their turn. A burst's turns since the sharing
        last changed are shown as one, and before those of its hosts.
    evictions : pd.DataFrame
        One row per eviction: `job`, `attempt`, `burst`, `action` (`kill`, `app` or `sys`),
        `decided`, `since` (when it stopped), `time`, and the progress `done` and `kept` (s).
    plans : pd.DataFrame
        One row per plan: `burst`, `time`, `nodes_needed`, `jobs` to choose from, the `deadline`
        chosen (s from then), its `delay` (s), `loss` and `blocked` (node-hours), as planned.
    checkpoints : pd.DataFrame
        `interval`, `app_write`, `sys_write`, `charge` (s) of each job.
    reserved : int
        Nodes kept for bursts.
    least_nodes : np.ndarray, optional
        Nodes that each job may shrink to.
    start_up : float, optional
        Seconds that a filler container takes to start; with none, nodes that nobody needs idle.
    """

    rigid: ClassVar[bool] = False
    on_demand: np.ndarray
    stretches: pd.DataFrame
    evictions: pd.DataFrame
    plans: pd.DataFrame
    checkpoints: pd.DataFrame
    reserved: int = 0
    least_nodes: np.ndarray | None = None
    start_up: float | None = None

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Nodes held over time: `run`, `killed` (to be done again), `checkpoint`, `reread`, `hold`.

        What a run computes after the checkpoint that it later starts from is `killed`; of `hold`
        are nodes held for a burst, whose job is named, and nodes that stand still, to make way or
        for the turn of others. Of `container`, with job −1, are nodes on which containers work.
        """
        table = self.stretches
        columns = ("job", "start", "end", "nodes", "before", "left")
        job, start, end, nodes, before, left = (table[name].to_numpy() for name in columns)
        interval, charge = (self.checkpoints[name].to_numpy() for name in ("interval", "charge"))
        kind = table["kind"].cat.codes.to_numpy().astype(np.int64)
        wanted = self.workload.jobs["nodes"].to_numpy()
        rows = _uses(
            kind, job, start, end, nodes, before, left, self._kept(), interval, charge, wanted
        )
        if self.start_up is not None:
            rows = np.concatenate([rows, self._containers(rows)])
        use = pd.Categorical.from_codes(rows[:, 4].astype(np.int8), categories=list(USES))
        return allocation_table(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], use)

    def _containers(self, rows: np.ndarray) -> np.ndarray:
        """The rows of containers that work on what these rows leave idle."""
        begin, end = self.span
        if not begin < end:
            return rows[:0]
        idle = step_function(
            np.append(rows[:, 1], begin), np.append(rows[:, 2], end),
            np.append(-rows[:, 3], self.total_nodes),
        )  # fmt: skip
        return containers(*idle, float(self.start_up or 0.0), CONTAINER_USE)

    def _kept(self) -> np.ndarray:
        """Progress of each stretch's attempt that was not lost: infinite where it completed."""
        evicted, kept = attempt_keys(self.evictions), self.evictions["kept"].to_numpy()
        order, attempts = np.argsort(evicted, kind="stable"), attempt_keys(self.stretches)
        evicted, kept = np.append(evicted[order], -1), np.append(kept[order], np.inf)
        place = np.searchsorted(evicted[:-1], attempts)
        return np.where(evicted[place] == attempts, kept[place], np.inf)

    @cached_property
    def bursts(self) -> pd.DataFrame:
        """The bursts, by job: times, nodes, `delay` of the start (s), whether it is `missed`."""
        jobs = self.jobs[self.on_demand]
        if "longest_delay" not in jobs:
            jobs = jobs.assign(longest_delay=np.nan)
        table = jobs[["submit_time", "run_time", "nodes", "longest_delay"]]
        delay = jobs["wait_time"].rename("delay")
        return table.assign(delay=delay, missed=delay > table["longest_delay"])


def attempt_keys(table: pd.DataFrame) -> np.ndarray:
    """One number for the `job` and `attempt` of each row, ascending with both."""
    return (table["job"].to_numpy() << 32) + table["attempt"].to_numpy()


def stretch_table(rows: np.ndarray) -> pd.DataFrame:
    """`OnDemandSchedule.stretches` of the log's rows."""
    names = ["kind", "job", "attempt", "start", "end", "nodes", "before", "after", "left"]
    return _table(rows, names, ("job", "attempt", "nodes"), {"kind": KINDS})


def eviction_table(rows: np.ndarray) -> pd.DataFrame:
    """`OnDemandSchedule.evictions` of the log's rows."""
    names = ["job", "attempt", "burst", "action", "decided", "since", "time", "done", "kept"]
    return _table(rows, names, ("job", "attempt", "burst"), {"action": ACTIONS})


def plan_table(rows: np.ndarray) -> pd.DataFrame:
    """`OnDemandSchedule.plans` of the log's rows, losses in node-hours."""
    names = ["burst", "time", "nodes_needed", "jobs", "deadline", "delay", "loss", "blocked"]
    table = _table(rows, names, ("burst", "nodes_needed", "jobs"), {})
    return table.assign(loss=table["loss"] / HOUR, blocked=table["blocked"] / HOUR)


def _table(
    rows: np.ndarray,
    names: list[str],
    whole: tuple[str, ...],
    kinds: Mapping[str, tuple[str, ...]],
) -> pd.DataFrame:
    """The rows as a table: some columns are whole numbers, some the numbers of categories."""
    columns: dict[str, object] = {}
    for name, values in zip(names, rows.T, strict=True):
        columns[name] = values.astype(np.int64) if name in whole else values
        if name in kinds:
            columns[name] = pd.Categorical.from_codes(
                values.astype(np.int8), categories=list(kinds[name])
            )
    return pd.DataFrame(columns)


@kernel
def _uses(kind, job, start, end, nodes, before, left, kept, interval, charge, wanted):
    """Rows of job, start, end, nodes, use: stretches cut at checkpoints and where loss begins."""
    rows = [(0.0, 0.0, 0.0, 0.0, 0.0) for _ in range(0)]
    for row in range(kind.size):
        if kind[row] == COMPUTE:
            speed = nodes[row] / wanted[job[row]]
            _cut(rows, job[row], start[row], end[row], nodes[row], before[row], left[row],
                 kept[row], interval[job[row]], charge[job[row]], speed)  # fmt: skip
        else:
            use = RUN_USE
            if kind[row] == READ:
                use = REREAD_USE
            elif kind[row] == WRITE:
                use = CHECKPOINT_USE
            elif kind[row] == STAND or kind[row] == HOLD or kind[row] == TURN:
                use = HOLD_USE
            _add(rows, job[row], start[row], end[row], nodes[row], use)
    table = np.empty((len(rows), 5))
    for place in range(len(rows)):
        one, begin, last, held, used = rows[place]
        table[place, 0], table[place, 1], table[place, 2] = one, begin, last
        table[place, 3], table[place, 4] = held, used
    return table


@allocating_kernel
def _cut(rows, job, start, end, nodes, before, left, kept, interval, charge, speed):
    """Cut one stretch of computing: run, then killed, with the application's own checkpoints.

    At part of full speed all of this takes longer.
    """
    now, done = start, before
    if left > 0.0:
        _add(rows, job, now, min(now + left / speed, end), nodes, CHECKPOINT_USE)
        now += left / speed
    while now < end:
        due = np.inf
        if charge > 0.0:
            due = interval * (np.floor(done / interval) + 1.0)
        stop = min(end, now + (due - done) / speed)
        split = min(stop, max(now, now + (kept - done) / speed))
        _add(rows, job, now, split, nodes, RUN_USE)
        _add(rows, job, split, stop, nodes, KILLED_USE)
        _add(rows, job, stop, min(end, stop + charge / speed), nodes, CHECKPOINT_USE)
        now, done = stop + charge / speed, due


@allocating_kernel
def _add(rows, job, start, end, nodes, use):
    """Add a row, unless it has no length or no nodes."""
    if start < end and nodes > 0:
        rows.append((float(job), start, end, float(nodes), float(use)))
