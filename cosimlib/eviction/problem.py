"""The eviction problem of Maurya et al. (CoSim, DS-RT 2020, Sections II to IV).

A *burst* of on-demand work needs `nodes_needed` nodes by a deadline. Each running job is kept,
killed or checkpointed. A kill frees the nodes at once, but the work since the last checkpoint is
lost. A checkpoint by the application (`app`) is small, but must wait until the application reaches
its next one. A checkpoint by the system (`sys`) begins at once, but saves all memory. Checkpoints
are written one after another: durations add up. For each deadline 0, step, …, horizon, a plan

1. frees at least `nodes_needed` nodes by the deadline,
2. loses the fewest node-hours,
3. spends the least checkpoint time,
4. prefers `app` to `sys` for a job whose two checkpoints take equally long, as Algorithm 1 does.

Durations are rounded up to the step: no plan claims a deadline that it misses. Losses are compared
in whole node-milliseconds, so that equal losses are equal in whatever order they are summed.

A checkpoint of a job takes ``max(total size / B_a, largest node's size / B_c)``: B_a is the
aggregate bandwidth of the parallel file system, B_c what one node can write. A system-level
checkpoint holds all allocated memory and begins at once; an application-level one holds the
critical data and waits for the application's next scheduled checkpoint. Application checkpoints
come every `interval` from a job's start; a kill loses the node-hours since the last one.

Traces have no checkpoint sizes. As in the paper, allocated memory is uniform in 40–90 % of a
node's, critical data uniform in 20–60 % of that, drawn once per job; a workload's `memory` column,
where known, replaces the allocated memory drawn.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import Displayed, Facts, count, duration, quantity
from cosimlib.schedule import Schedule, check_rigid, check_schedule
from cosimlib.system import THETAS, System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

KEEP, KILL, APP, SYS = 0, 1, 2, 3
ACTIONS = ("keep", "kill", "app", "sys")
MILLISECONDS_PER_HOUR = 3_600_000.0
LARGEST_EXACT = 2.0**53
"""Below it, float64 counts whole numbers exactly."""
MOST_STEPS = 1_000_000
COLUMNS = ("nodes", "loss", "app_time", "sys_time")
ALLOCATED_SHARE = (0.4, 0.9)
CRITICAL_SHARE = (0.2, 0.6)
"""Of a node's memory, and of the memory allocated."""


class InfeasibleEvictionError(ValueError):
    """More nodes are needed than all running jobs hold together."""


class EvictionArrays(NamedTuple):
    """Eviction problem as arrays for the kernels, one value per job."""

    nodes: np.ndarray
    loss: np.ndarray
    """Whole node-milliseconds, as float64."""
    app_steps: np.ndarray
    sys_steps: np.ndarray


class WriteArrays(NamedTuple):
    """Checkpoints as waits and writes, one value per job (see `EvictionProblem`)."""

    release: np.ndarray
    """First step at which the application-level checkpoint may be written."""
    app_write: np.ndarray
    """Steps of its write; `release` and it make up `app_steps`."""
    sys_write: np.ndarray
    """Steps of the system-level one, which may be written at once."""
    app_wait: np.ndarray
    """Milliseconds until the application's next checkpoint, as float64."""


@dataclass(frozen=True, eq=False, repr=False)
class EvictionProblem(Displayed):
    """Eviction problem: running jobs, number of nodes needed, and deadlines.

    Parameters
    ----------
    jobs : pd.DataFrame
        Indexed by job: `nodes`, `loss` (node-hours lost if killed), `app_time` and `sys_time`
        (seconds that each checkpoint takes; inf if there is none). Solvers with overlapping waits
        also need `app_wait`: the part of `app_time` in which the application runs on to its next
        checkpoint. Other columns are kept.
    nodes_needed : int
        Nodes to free, 0 or more.
    horizon : float
        The latest deadline, seconds from now; the paper's is 900.
    step : float, default 60.0
        Seconds between deadlines (its multiples up to `horizon`); durations are rounded up to it.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=300)
    >>> print(problem)
    EvictionProblem 64 of 128 nodes of 3 jobs
      deadlines   6, from 0 to 5 min
      all killed  49.0 node-hours lost
    >>> cs.solve_dynamic(problem).loss
    array([9., 1., 0., 0., 0., 0.])
    """

    jobs: pd.DataFrame
    nodes_needed: int
    horizon: float
    step: float = 60.0
    deadlines: np.ndarray = field(init=False, repr=False)
    arrays: EvictionArrays = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_jobs(self.jobs)
        object.__setattr__(self, "jobs", self.jobs.copy())
        object.__setattr__(self, "arrays", arrays_of(self.jobs, self.horizon, self.step))
        _check_enough(self, self.nodes_needed)
        steps = _steps_within(self.horizon, self.step)
        object.__setattr__(self, "deadlines", np.arange(steps + 1) * float(self.step))

    @classmethod
    def empty(cls, *, horizon: float = 900.0, step: float = 60.0) -> "EvictionProblem":
        """Problem without running jobs, in which no node is needed."""
        columns = dict.fromkeys(COLUMNS, pd.Series(dtype="float64"))
        return cls(pd.DataFrame(columns).astype({"nodes": "int64"}), 0, horizon, step)

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def total_nodes(self) -> int:
        """Total nodes of all running jobs, the paper's M."""
        return int(self.arrays.nodes.sum())

    @cached_property
    def durations(self) -> pd.DataFrame:
        """Seconds of both checkpoints as plans count them, for your own solver.

        Returns
        -------
        pd.DataFrame
            `app` and `sys`, indexed by job: rounded up to the step, infinite if longer than the
            horizon.
        """
        by_column = {"app": self.arrays.app_steps, "sys": self.arrays.sys_steps}
        last = len(self.deadlines)
        seconds = {
            name: np.where(steps < last, steps * float(self.step), np.inf)
            for name, steps in by_column.items()
        }
        return pd.DataFrame(seconds, index=self.jobs.index)

    @cached_property
    def writes(self) -> WriteArrays:
        """Waits and writes apart, from the column `app_wait`.

        A write is rounded up to steps, as is its end where it follows the wait at once, so that
        wait and write together are as long as `app_time` in steps.

        Raises
        ------
        ValueError
            If the column is missing, or a wait is negative or longer than `app_time`.
        """
        jobs, where = self.jobs, "waits apart from writes"
        check.columns(jobs, ("app_wait",), where=where)
        wait, app_time = (
            jobs[name].to_numpy(dtype=np.float64) for name in ("app_wait", "app_time")
        )
        fine, expected = (wait >= 0) & (wait <= app_time), "seconds from 0 to its app_time"
        check.rows("app_wait", wait, fine, expected, row=lambda row: f"job {jobs.index[row]}")
        most, arrays = self.horizon + self.step, self.arrays
        wait, app_time = np.minimum(wait, most), np.minimum(app_time, 2 * most)
        write = np.ceil((app_time - wait) / self.step * (1 - 1e-12)).astype(np.int64)
        in_time = arrays.app_steps < len(self.deadlines)
        write = np.where(in_time, np.minimum(write, arrays.app_steps), 0)
        release, milliseconds = arrays.app_steps - write, np.round(wait * 1e3)
        return WriteArrays(release, write, np.array(arrays.sys_steps), milliseconds)

    def asking(self, nodes_needed: int) -> Self:
        """The same jobs and deadlines with another number of nodes needed."""
        check.whole("nodes_needed", nodes_needed, 0)
        _check_enough(self, nodes_needed)
        # Nothing else depends on it: the jobs need no second check, nor their arrays a second copy.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, nodes_needed=nodes_needed)
        return other

    @classmethod
    def from_schedule(
        cls,
        schedule: Schedule,
        *,
        at: float,
        nodes_needed: int,
        horizon: float = 900.0,
        step: float = 60.0,
        system: System | None = None,
        interval: float | np.ndarray = 3600.0,
        seed: int = 0,
    ) -> "EvictionProblem":
        """Eviction problem of the jobs that run at the moment `at` of a schedule.

        Parameters
        ----------
        schedule : Schedule
            Recorded by a trace or simulated.
        at : float
            The moment of the eviction, seconds of the schedule's clock.
        system : System, optional
            With memory and bandwidths; the schedule's own by default.
        interval : float or np.ndarray, default 3600.0
            Seconds between application checkpoints of a job, from its start; one for all, or one
            per job of the workload, such as Daly's in `checkpoint_table`.
        seed : int, default 0
            Of the memory drawn per job (see `draw_memory`).
        """
        check_schedule(schedule)
        if system is not None:
            check.instance("system", system, System)
        jobs = running_jobs_at(
            schedule, at, system=system or schedule.system, interval=interval, seed=seed
        )
        return cls(jobs, nodes_needed, horizon, step)

    def _heading(self) -> str:
        return f"{self.nodes_needed:,} of {self.total_nodes:,} nodes of {count(len(self), 'job')}"

    def _facts(self) -> Facts:
        return {
            "deadlines": lambda: f"{len(self.deadlines):,}, from 0 to {duration(self.horizon)}",
            "all killed": lambda: quantity(self.jobs["loss"].sum(), "node-hours lost"),
        }


def check_problem(problem: object) -> None:
    """Raise a TypeError unless this is an eviction problem."""
    expected = "an EvictionProblem, as EvictionProblem.from_schedule gives"
    check.instance("problem", problem, EvictionProblem, expected=expected)


def checkpoint_time(nodes: np.ndarray, size: np.ndarray, system: System) -> np.ndarray:
    """Checkpoint time in seconds (the paper's Equation 1): `size` GB from each of `nodes` nodes."""
    for bandwidth in ("aggregate_bandwidth", "node_bandwidth"):
        if not getattr(system, bandwidth) > 0:
            raise ValueError(
                f"{system.name}: {bandwidth} is unknown; give a System with it, in GB/s; {THETAS}"
            )
    return np.maximum(nodes * size / system.aggregate_bandwidth, size / system.node_bandwidth)


def draw_memory(workload: Workload, system: System, *, seed: int = 0) -> pd.DataFrame:
    """Random allocated memory and critical data of each job, GB per node.

    Parameters
    ----------
    workload : Workload
        Its `memory` column, where known, is the allocated memory, cut at that of a node.
    system : System
        Its `memory_per_node` must be known.
    seed : int, default 0
    """
    if not system.memory_per_node > 0:
        raise ValueError(
            f"{system.name}: memory_per_node is unknown; give a System with it, in GB; {THETAS}"
        )
    random = np.random.default_rng(seed)
    allocated = system.memory_per_node * random.uniform(*ALLOCATED_SHARE, len(workload))
    share = random.uniform(*CRITICAL_SHARE, len(workload))
    known = workload.column("memory").clip(upper=system.memory_per_node).to_numpy()
    allocated = np.where(np.isnan(known), allocated, known)
    return pd.DataFrame({"allocated": allocated, "critical": allocated * share})


def optimum_interval(checkpoint: np.ndarray, mtbf: np.ndarray) -> np.ndarray:
    """Daly's optimum interval: seconds of work between checkpoints of `checkpoint` seconds each.

    With δ seconds per checkpoint and a mean time M between failures it is
    ``√(2δM) · (1 + √(δ / 2M) / 3 + δ / 18M) − δ``, and M where δ is 2M or more.

    References
    ----------
    J. Daly: A higher order estimate of the optimum checkpoint interval for restart dumps. Future
    Generation Computer Systems 22 (2006), equation 37.
    """
    small = checkpoint / (2 * mtbf)
    estimate = np.sqrt(2 * checkpoint * mtbf) * (1 + np.sqrt(small) / 3 + small / 9) - checkpoint
    return np.where(small < 1, estimate, mtbf)


def checkpoint_table(
    workload: Workload,
    system: System,
    *,
    interval: float | str | None = 3600.0,
    node_mtbf: float = 157_680_000.0,
    seed: int = 0,
) -> pd.DataFrame:
    """Interval and writing times of each job's checkpoints, seconds.

    Times are rounded up to whole seconds, so that those of schedules stay exact. Reading takes as
    long as writing.

    Parameters
    ----------
    workload : Workload
    system : System
        With memory and bandwidths.
    interval : float, "daly" or None, default 3600.0
        Seconds of progress from one application checkpoint to the next; None: there are none.
    node_mtbf : float, default 5 years
        Mean time between failures of a node, for Daly's interval, seconds; that of a job is this ÷
        its nodes.
    seed : int, default 0
        Of the memory drawn per job, see `eviction.draw_memory`.

    Returns
    -------
    pd.DataFrame
        `interval` (infinite if there is none), `app_write`, `sys_write`; one row per job.
    """
    memory = draw_memory(workload, system, seed=seed)
    nodes = workload.jobs["nodes"].to_numpy()
    app, sys = (
        np.ceil(checkpoint_time(nodes, memory[size].to_numpy(), system))
        for size in ("critical", "allocated")
    )
    if interval is None:
        seconds = np.full(len(workload), np.inf)
    elif isinstance(interval, str):
        seconds = np.maximum(1.0, np.round(optimum_interval(app, node_mtbf / nodes)))
    else:
        seconds = np.full(len(workload), float(interval))
    return pd.DataFrame({"interval": seconds, "app_write": app, "sys_write": sys})


def running_jobs_at(
    schedule: Schedule,
    at: float,
    *,
    system: System,
    interval: float | np.ndarray,
    seed: int = 0,
    memory: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Table of the jobs that run at `at`, for an eviction problem.

    Parameters
    ----------
    schedule : Schedule
    at : float
        Seconds of the schedule's clock.
    system : System
        With memory and bandwidths.
    interval : float or np.ndarray
        Seconds between application checkpoints, of all jobs or one per job of the workload.
    seed : int, default 0
    memory : pd.DataFrame, optional
        What `draw_memory` gives for the system and the seed, to draw it once for many moments.

    Returns
    -------
    pd.DataFrame
        Indexed by job: `nodes`, `loss` (node-hours), `app_time`, `sys_time`, `app_wait` (seconds),
        and for information `elapsed`, `since_checkpoint` (seconds) and, where known, `job_id`.
    """
    check_schedule(schedule)
    check.number("at", at, kind="seconds of the schedule's clock")
    check_rigid(schedule, "an eviction")
    intervals = _intervals(schedule.workload, interval)
    job = np.flatnonzero((schedule.start_time <= at) & (at < schedule.end_time))
    if not job.size:
        raise ValueError(
            f"{schedule.name}: no job runs at={at:g}; the schedule runs from "
            f"{schedule.start_time.min():g} to {schedule.end_time.max():g} s"
        )
    jobs = schedule.workload.jobs
    nodes = jobs["nodes"].to_numpy()[job]
    if memory is None:
        memory = draw_memory(schedule.workload, system, seed=seed)
    allocated, critical = (memory[name].to_numpy()[job] for name in ("allocated", "critical"))
    elapsed = at - schedule.start_time[job]
    since_checkpoint = elapsed % intervals[job]
    to_checkpoint = intervals[job] - since_checkpoint
    columns = {
        "nodes": nodes,
        "loss": nodes * since_checkpoint / HOUR,
        "app_time": to_checkpoint + checkpoint_time(nodes, critical, system),
        "sys_time": checkpoint_time(nodes, allocated, system),
        "app_wait": to_checkpoint,
        "elapsed": elapsed,
        "since_checkpoint": since_checkpoint,
    }
    if "job_id" in jobs:
        columns["job_id"] = jobs["job_id"].array[job]
    return pd.DataFrame(columns, index=pd.Index(job, name="job"))


def _check_numbers(problem: EvictionProblem) -> None:
    """Raise for a number of the problem itself that is out of range."""
    needed, horizon, step = problem.nodes_needed, problem.horizon, problem.step
    check.whole("nodes_needed", needed, 0)
    check.seconds("step", step, above=0)
    check.seconds("horizon", horizon)
    if horizon / step > MOST_STEPS:
        raise ValueError(
            f"horizon={horizon!r} has more than {MOST_STEPS:,} steps of {step!r} s; "
            "take a longer step"
        )


def _check_enough(problem: EvictionProblem, nodes_needed: int) -> None:
    """Raise an error if all jobs together hold too few nodes."""
    jobs, total = len(problem), problem.total_nodes
    if nodes_needed > total:
        raise InfeasibleEvictionError(
            f"nodes_needed={nodes_needed}, but the {count(jobs, 'running job')} "
            f"{'holds' if jobs == 1 else 'hold'} {count(total, 'node')} in all; "
            f"ask for {total} or fewer"
        )


def _steps_within(horizon: float, step: float) -> int:
    """Number of whole steps in a horizon; 0.3 has three of 0.1 in spite of rounding."""
    return math.floor(horizon / step * (1 + 1e-12))


def _check_jobs(jobs: pd.DataFrame) -> None:
    """Raise an error for the first job that breaks a rule."""
    check.columns(jobs, COLUMNS)
    if not jobs.index.is_unique:
        twice = jobs.index[jobs.index.duplicated()][0]
        raise ValueError(f"job {twice} stands twice in the index; expected every job once")
    for column in COLUMNS:
        values = pd.to_numeric(jobs[column], errors="coerce").to_numpy(dtype=np.float64)
        fine, expected = values >= 0, "0 or more"
        if column == "nodes":
            fine, expected = (values >= 1) & (values % 1 == 0), "a whole number from 1"
        if column == "loss":
            fine, expected = fine & np.isfinite(values), "finite node-hours of 0 or more"
        check.rows(column, jobs[column], fine, expected, row=lambda row: f"job {jobs.index[row]}")


def arrays_of(jobs: pd.DataFrame, horizon: float, step: float) -> EvictionArrays:
    """New contiguous arrays; durations beyond the horizon become one step more than it has."""
    loss = np.round(jobs["loss"].to_numpy(dtype=np.float64) * MILLISECONDS_PER_HOUR)
    if loss.sum() >= LARGEST_EXACT:
        limit = LARGEST_EXACT / MILLISECONDS_PER_HOUR
        raise ValueError(
            f"the losses add up to {loss.sum() / MILLISECONDS_PER_HOUR:g} node-hours; "
            f"expected less than {limit:.3g}, beyond which they no longer compare exactly"
        )
    if (held := jobs["nodes"].astype("float64").sum()) >= LARGEST_EXACT:
        raise ValueError(f"the jobs hold {held:g} nodes in all")
    beyond = _steps_within(horizon, step) + 1

    def steps(column: str) -> np.ndarray:
        seconds = jobs[column].to_numpy(dtype=np.float64)
        # As in `_steps_within`: 1.1 s are 11 steps of 0.1 in spite of rounding.
        return np.minimum(np.ceil(seconds / step * (1 - 1e-12)), beyond).astype(np.int64)

    nodes = np.array(jobs["nodes"], dtype=np.int64)
    return EvictionArrays(nodes, loss, steps("app_time"), steps("sys_time"))


def _intervals(workload: Workload, interval: float | np.ndarray) -> np.ndarray:
    """Seconds between application checkpoints per job, checked."""
    if np.ndim(interval) == 0:
        check.seconds("interval", interval, above=0)
        return np.full(len(workload), float(interval))
    given = np.asarray(interval, dtype=np.float64)
    if given.shape != (len(workload),):
        raise ValueError(
            f"{workload.name}: interval has shape {given.shape}; expected a number of seconds or "
            f"one for each of {len(workload)} jobs"
        )
    fine = (given > 0) & np.isfinite(given)
    check.rows("interval", given, fine, "seconds above 0", row=workload.label)
    return given
