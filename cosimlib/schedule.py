"""Schedules: the start and end of each job of a workload, and the nodes held over time.

Everything that counts nodes (metrics, audits, charts) reads only `Schedule.allocations`. A rigid
schedule computes them from starts and ends. Systems in which nodes are held in other ways override
them.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.display import UNKNOWN, Displayed, Facts, count, duration, percent, quantity
from cosimlib.kernels.steps import step_function, steps_at
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload, check_run, check_workload

RECORDED = "recorded"
"""The policy of a schedule of starts that a log tells."""

USES = ("run", "hold", "killed", "container", "checkpoint", "reread")
"""Uses of held nodes: a run that is kept; held idle for a job that has not started; a run that is
killed and leaves nothing; a filler container that is saved; a checkpoint is written; one is read
to go on from."""


class SharedNodesError(ValueError):
    """Jobs share nodes, so adding up the nodes of all jobs would count nodes several times."""


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Displayed):
    """A workload scheduled on a system: one start and one end per job.

    Parameters
    ----------
    workload : Workload
    system : System
    policy : str
        Name of the policy in tables and figures.
    start_time, end_time : np.ndarray
        First start and last end of each job, in seconds from the start of the trace.
    calendar : Calendar, optional
        When nodes were closed.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> schedule = cs.Schedule.from_starts(workload, cs.System.of(4), [0, 10, 2], "by hand")
    >>> schedule.jobs[["start_time", "end_time", "wait_time"]]
       start_time  end_time  wait_time
    0         0.0      10.0        0.0
    1        10.0      20.0        9.0
    2         2.0       7.0        0.0
    >>> schedule.allocations
       job  start   end  nodes  use
    0    0    0.0  10.0      3  run
    1    1   10.0  20.0      3  run
    2    2    2.0   7.0      1  run
    """

    rigid: ClassVar[bool] = True
    """Whether each job holds its nodes exactly from its start to its end."""
    resolution: ClassVar[float] = 0.0
    """Seconds to whose multiples `node_seconds` is known; 0 where it is known to any instant."""

    workload: Workload
    system: System
    policy: str
    start_time: np.ndarray
    end_time: np.ndarray
    calendar: Calendar = field(default=ALWAYS_OPEN, kw_only=True)

    @classmethod
    def from_starts(
        cls,
        workload: Workload,
        system: System,
        start_time: np.ndarray,
        policy: str,
        *,
        calendar: Calendar = ALWAYS_OPEN,
    ) -> "Schedule":
        """Schedule of rigid jobs: each runs from its start for its run time, without a break.

        Starts are not checked, so that any schedule can be looked at; `audit` checks them.

        Raises
        ------
        ValueError
            If there is not one start per job.
        """
        check_run(workload, system)
        start_time = np.asarray(start_time, dtype=np.float64)
        if start_time.shape != (len(workload),):
            shape = "" if start_time.ndim == 1 else f" in {start_time.ndim} dimensions"
            raise ValueError(
                f"{workload.name}: start_time has {count(start_time.size, 'value')}{shape}; "
                f"expected one start per job, of {count(len(workload), 'job')}"
            )
        end_time = start_time + workload.jobs["run_time"].to_numpy()
        return cls(workload, system, policy, start_time, end_time, calendar=calendar)

    @classmethod
    def recorded(cls, workload: Workload, system: System | None = None) -> "Schedule":
        """Schedule with the starts that the trace recorded.

        Raises
        ------
        InvalidWorkloadError
            If the start of a job, or the system, is not recorded.
        """
        check_workload(workload)
        start_time = workload.column("recorded_start")
        if start_time.isna().any():
            job = int(start_time.isna().idxmax())
            raise InvalidWorkloadError(
                f"{workload.label(job)} has no recorded start"
                f"{check.nor_others(int(start_time.isna().sum()) - 1)}; drop such jobs with "
                "Workload.keep or simulate a policy instead"
            )
        system = check.machine(
            system or workload.machine, workload.name, error=InvalidWorkloadError
        )
        return cls.from_starts(workload, system, start_time.to_numpy(), RECORDED)

    @property
    def total_nodes(self) -> int:
        """Number of nodes that allocations may hold together."""
        return self.system.total_nodes

    @property
    def name(self) -> str:
        """Policy and workload in one line, as figures print it."""
        return f"{self.policy}, {self.workload.name}"

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """The workload's jobs with `start_time`, `end_time`, `wait_time`, `turnaround_time` (s)."""
        jobs = self.workload.jobs
        return jobs.assign(
            start_time=self.start_time,
            end_time=self.end_time,
            wait_time=self.start_time - jobs["submit_time"],
            turnaround_time=self.end_time - jobs["submit_time"],
        )

    @cached_property
    def partition(self) -> pd.Series:
        """Name of each job's partition; the first partition if the job has none.

        If the system has only one partition, all jobs are on it, whatever partition the trace
        names.
        """
        first = next(iter(self.system.partitions))
        named = self.workload.column("partition").fillna(first)
        return named.where(named == first, first) if len(self.system.partitions) == 1 else named

    @cached_property
    def partition_number(self) -> np.ndarray:
        """Number of each job's `partition` among the system's, from 0; −1 if unknown."""
        if len(self.system.partitions) == 1:
            return np.zeros(len(self.workload), dtype=np.int64)
        return partition_numbers(self.workload, self.system)

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Table of nodes held over time, one row per job and interval.

        Returns
        -------
        pd.DataFrame
            `job` (its row, or -1 for nodes that no job holds), `start` and `end` (s; infinite if it
            never ends), `nodes`, and `use`, one of `USES`. Jobs that never start have no row.

        Raises
        ------
        SharedNodesError
            If jobs share nodes.
        """
        started = np.flatnonzero(~np.isnan(self.start_time))
        start, end, nodes = self.start_time, self.end_time, self.workload.jobs["nodes"].to_numpy()
        if started.size < start.size:
            start, end, nodes = start[started], end[started], nodes[started]
        return allocation_table(started, start, end, nodes)

    @cached_property
    def span(self) -> tuple[float, float]:
        """First submission and last end (s); NaN without jobs."""
        last = float(pd.Series(self.end_time).max())
        return float(self.workload.jobs["submit_time"].min()), last

    def utilization(self, first: float, last: float) -> float:
        """Utilization between two instants (s): node-seconds held ÷ offered; NaN for no time."""
        held = float(self.node_seconds(np.array([first, last])).sum())
        offered = float(self.offered_node_seconds(np.array([first, last])).sum())
        return held / offered if offered > 0 else np.nan

    def bounded_slowdown(self, tau: float = 10.0) -> pd.Series:
        """Bounded slowdown ``max(1, turnaround_time / max(run_time, tau))`` per job; `tau` in s."""
        bounded = self.jobs["turnaround_time"] / self.jobs["run_time"].clip(lower=tau)
        return bounded.clip(lower=1.0).rename("bounded_slowdown")

    def held(self, first: float, last: float) -> np.ndarray:
        """Node-seconds of each row of `allocations` between two instants (s)."""
        table = self.allocations
        start, end, nodes = (table[name].to_numpy() for name in ("start", "end", "nodes"))
        inside = np.minimum(end, last) - np.maximum(start, first)
        return nodes * np.maximum(inside, 0.0)

    def node_hours_by_use(self, first: float, last: float) -> pd.Series:
        """Node-hours of each use between two instants (s), in the order of `USES`."""
        held, code = self.held(first, last) / HOUR, self.allocations["use"].cat.codes.to_numpy()
        hours = {
            use: float(held[code == place].sum())
            for place, use in enumerate(USES)
            if (code == place).any()
        }
        index = pd.Index(list(hours), dtype="str", name="use")
        return pd.Series(list(hours.values()), index, dtype=np.float64, name="node_hours")

    @property
    def runs(self) -> pd.DataFrame:
        """Table of all runs of jobs, including killed runs: `job`, `start`, `end` (s)."""
        table = self.allocations
        runs = (table["job"] >= 0) & table["use"].isin(["run", "killed"])
        return table.loc[runs, ["job", "start", "end"]]

    def node_seconds(self, edges: np.ndarray) -> np.ndarray:
        """Node-seconds held from each instant in `edges` (s, ascending) to the next."""
        table = self.allocations
        start, end, nodes = (table[name].to_numpy() for name in ("start", "end", "nodes"))
        if edges.size == 2:
            inside = np.minimum(end, edges[1]) - np.maximum(start, edges[0])
            return np.array([np.sum(nodes * np.maximum(inside, 0.0))])
        times, held = step_function(start, end, nodes)
        if not times.size:
            return np.zeros(edges.size - 1)
        area = np.append(0.0, np.cumsum(held[:-1] * np.diff(times)))
        after = np.maximum(edges - times[-1], 0.0)
        return np.diff(np.interp(edges, times, area) + held[-1] * after)

    def offered_node_seconds(self, edges: np.ndarray) -> np.ndarray:
        """Node-seconds offered from each instant in `edges` (s, ascending) to the next.

        Closed nodes are not offered, except those that a job holds while they are closed.
        """
        if not len(self.calendar):
            return self.total_nodes * np.diff(edges)
        opened, table = self.calendar.capacity(self.total_nodes), self.allocations
        times, held = step_function(*(table[name].to_numpy() for name in ("start", "end", "nodes")))
        moments = np.unique(np.concatenate([times, opened.index, edges]))
        moments = moments[(moments >= edges[0]) & (moments <= edges[-1])]
        offered = np.maximum(
            steps_at(opened.index.to_numpy(), opened.to_numpy(), moments),
            steps_at(times, held, moments),
        )
        area = np.append(0.0, np.cumsum(offered[:-1] * np.diff(moments)))
        return np.diff(area[np.searchsorted(moments, edges)])

    def use_by_hour(self) -> pd.DataFrame:
        """Hourly means from time 0 (s): `utilization`, and `cpu_load` in jobs per node."""
        last = float(np.nanmax(self.end_time, initial=0.0))
        check.windows(0.0, last, HOUR)
        hours = math.ceil(last / HOUR)
        edges = HOUR * np.arange(hours + 1)
        busy = self.node_seconds(edges) / HOUR / self.total_nodes
        return pd.DataFrame({"utilization": busy, "cpu_load": busy}, index=edges[:-1])

    def _heading(self) -> str:
        return f"{self.name}: {count(len(self.workload), 'job')} on {self.system._heading()}"

    def _facts(self) -> Facts:
        return {
            "utilization": lambda: _share_of_span(self),
            "mean wait": lambda: duration(self.jobs["wait_time"].mean()),
            "mean slowdown": lambda: quantity(self.bounded_slowdown().mean(), "(bounded, 10 s)"),
            "never started": lambda: _number_of(np.isnan(self.start_time)),
            "also held": lambda: _other_uses(self),
        }


def check_schedule(schedule: object) -> None:
    """Raise a TypeError unless this is a schedule."""
    check.instance("schedule", schedule, Schedule, expected="a Schedule, as simulators return")


def _share_of_span(schedule: Schedule) -> str:
    """The utilization, and the time from the first submission to the last end."""
    first, last = schedule.span
    used = percent(schedule.utilization(first, last), 1)
    closed = ", closed nodes not counted" if len(schedule.calendar) else ""
    return used if used == UNKNOWN else f"{used} of {duration(last - first)}{closed}"


def _number_of(jobs: np.ndarray) -> str:
    return count(int(jobs.sum()), "job") if jobs.any() else ""


def _other_uses(schedule: Schedule) -> str:
    """Node-hours of all uses but runs; "" if there are none or nodes are shared."""
    try:
        held = schedule.node_hours_by_use(*schedule.span).drop("run", errors="ignore")
    except SharedNodesError:
        return ""
    return ", ".join(f"{use} {quantity(hours, 'node-hours')}" for use, hours in held.items())


def partition_numbers(workload: Workload, system: System) -> np.ndarray:
    """Number of each job's partition among the system's partitions, from 0.

    It is 0 if the job has no partition, and −1 if the system lacks that partition.
    """
    if "partition" not in workload.jobs:
        return np.zeros(len(workload), dtype=np.int64)
    names = list(system.partitions)
    named = workload.jobs["partition"].fillna(names[0])
    return pd.Index(names).get_indexer(pd.Index(named)).astype(np.int64)


def allocation_table(
    job: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    nodes: np.ndarray,
    use: "str | np.ndarray" = "run",
) -> pd.DataFrame:
    """Table for `Schedule.allocations`; `use` is one value for all rows, or one per row.

    Raises
    ------
    ValueError
        If a number of nodes is not whole, or a use is not one of `USES`.
    """
    nodes = np.asarray(nodes)
    if nodes.dtype.kind != "i" and (part := nodes % 1 != 0).any():
        raise ValueError(f"{nodes[part][0]} nodes held; expected whole nodes")
    columns = {"job": np.int64, "start": np.float64, "end": np.float64, "nodes": np.int64}
    values = zip(columns.items(), (job, start, end, nodes), strict=True)
    arrays = {name: np.array(each, dtype) for (name, dtype), each in values}
    table = pd.DataFrame(arrays, copy=False)
    return table.assign(use=_uses(use, len(table)))


def _uses(use: "str | np.ndarray", rows: int) -> pd.Categorical:
    """One of `USES` for each row."""
    named = [use] if isinstance(use, str) else use
    codes, found = pd.factorize(np.asarray(named, dtype=object), use_na_sentinel=False)
    strange = set(found) - set(USES)
    if strange:
        raise ValueError(f"nodes held for {min(strange)!r}; expected one of {', '.join(USES)}")
    places = np.array([USES.index(each) for each in found], dtype=np.int8)[codes]
    return pd.Categorical.from_codes(
        np.broadcast_to(places, rows) if isinstance(use, str) else places, categories=list(USES)
    )


def check_rigid(schedule: Schedule, what: str) -> None:
    """Raise an error unless each job holds its nodes from start to end, as `what` needs.

    Raises
    ------
    SharedNodesError
        If jobs share nodes.
    ValueError
        If jobs are killed and run again.
    """
    if not schedule.rigid:
        _ = schedule.allocations  # raises where nodes are shared, and says so
        raise ValueError(
            f"{schedule.name}: {what} needs jobs that run once, from start to end, and here some "
            "are killed and run again; read the schedule's allocations"
        )
