"""Schedules of time-shared machines, and of batch machines in steps under the same noise."""

from dataclasses import dataclass
from typing import ClassVar, NoReturn

import numpy as np
import pandas as pd

from cosimlib.schedule import Schedule, SharedNodesError
from cosimlib.units import HOUR


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SteppedSchedule(Schedule):
    """A batch schedule in steps: a job ends with the step in which it is done.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`; the run times are dedicated ones, which noise makes longer.
    step : float
        Seconds.
    slowest : float
        The least speed of a node under noise; 1 without.
    """

    step: float
    slowest: float


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TimesharedSchedule(Schedule):
    """The schedule of jobs that share nodes: each takes longer than its dedicated run time.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`.
    speed : float
        Capacity of a node, relative to one that is not shared; the rest is overhead.
    spmd : bool
        Whether each job runs everywhere at the speed of its slowest node.
    first, members : np.ndarray
        ``members[first[job]:first[job + 1]]`` are the nodes of a job.
    series : pd.DataFrame
        Means over windows (hours), indexed by their begin in seconds: `utilization`, useful
        node-seconds over those offered; `cpu_load`, jobs per node; `waiting`, queued jobs.
    shares : pd.DataFrame, optional
        Share of each job that runs at one of the moments sampled, a column per job, indexed by
        `time` (s): from each moment on, after all that happens at it; 0 while it does not run.
    """

    rigid: ClassVar[bool] = False
    speed: float
    spmd: bool
    first: np.ndarray
    members: np.ndarray
    series: pd.DataFrame
    shares: pd.DataFrame | None = None

    def nodes_of(self, job: int) -> np.ndarray:
        """The node numbers of a job, ascending where the simulator chose them."""
        return self.members[self.first[job] : self.first[job + 1]]

    @property
    def resolution(self) -> float:  # type: ignore[override]
        """Seconds of a window of the series: an hour, or more where that would be too many."""
        times = self.series.index
        return float(times[1] - times[0]) if len(times) > 1 else HOUR

    def use_by_hour(self) -> pd.DataFrame:
        """The schedule's series: `utilization`, `cpu_load`, `waiting`."""
        return self.series

    @property
    def allocations(self) -> NoReturn:
        """Not defined: no job has nodes for itself.

        Raises
        ------
        SharedNodesError
        """
        raise SharedNodesError(
            f"{self.name}: jobs share nodes, so that counting the nodes of each would count them "
            "several times; take utilization, or the schedule's series"
        )

    @property
    def runs(self) -> pd.DataFrame:
        """Every job's run: `job`, `start`, `end` (s)."""
        jobs = np.arange(len(self.workload))
        return pd.DataFrame({"job": jobs, "start": self.start_time, "end": self.end_time})

    def node_seconds(self, edges: np.ndarray) -> np.ndarray:
        """Node-seconds of useful work from each instant in `edges` (s, ascending) to the next.

        Raises
        ------
        ValueError
            For an edge that cuts a window of the series in which a job runs.
        """
        if not len(self.workload):
            return np.zeros(edges.size - 1)
        width, begin, end = self.resolution, self.start_time.min(), self.end_time.max()
        outside = (edges <= begin) | (edges >= end)
        cuts = ~outside & (edges % width != 0)
        if cuts.any():
            raise ValueError(
                f"{self.name}: t={edges[cuts.argmax()]:.15g} is inside a window of the series; "
                f"expected multiples of {width:.15g} s, or all from the first start to the last end"
            )
        done = self.series["utilization"].to_numpy() * width * self.system.total_nodes
        total = np.append(0.0, np.cumsum(done))
        place = np.clip(edges // width, 0, done.size).astype(np.int64)
        place = np.where(edges <= begin, 0, np.where(edges >= end, done.size, place))
        return np.diff(total[place])
