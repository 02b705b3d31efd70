"""What happened: every job's start and end, and what follows from them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload


@dataclass(frozen=True, eq=False)
class Schedule:
    """A workload that met a system: starts and ends, one a job.

    Parameters
    ----------
    workload : Workload
    system : System
    policy : str
        The name by which tables and figures call the rule that made it.
    start_time, end_time : np.ndarray
        Seconds from the start of the trace, first start and last end, one a job.
    """

    workload: Workload
    system: System
    policy: str
    start_time: np.ndarray
    end_time: np.ndarray

    @classmethod
    def from_starts(
        cls, workload: Workload, system: System, start_time: np.ndarray, policy: str
    ) -> "Schedule":
        """Rigid jobs that run from their start for their run time without a break."""
        start_time = np.asarray(start_time, dtype=np.float64)
        end_time = start_time + workload.jobs["run_time"].to_numpy()
        return cls(workload, system, policy, start_time, end_time)

    @classmethod
    def recorded(cls, workload: Workload, system: System | None = None) -> "Schedule":
        """What the trace itself says happened.

        Raises
        ------
        InvalidWorkloadError
            Where the start of a job, or the system, is not recorded.
        """
        start_time = workload.column("recorded_start")
        if start_time.isna().any():
            job = int(start_time.isna().idxmax())
            raise InvalidWorkloadError(
                f"{workload.label(job)} has no recorded start (nor have "
                f"{int(start_time.isna().sum()) - 1} others); drop such jobs with Workload.keep "
                "or simulate a policy instead"
            )
        system = system or workload.machine
        if system is None:
            raise InvalidWorkloadError(f"{workload.name}: its machine is unknown; give a system")
        return cls.from_starts(workload, system, start_time.to_numpy(), "recorded")

    @property
    def name(self) -> str:
        """Policy and data in one line, as figures print it."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class CoupledSchedule(Schedule):
    """What happened on coupled machines, where jobs with mates start together.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`; a job that was never started has NaN.
    group : np.ndarray
        The group of mates of every job, −1 for none and where mates were strangers.
    holds : pd.DataFrame
        Stretches in which a job kept nodes idle before it started: `job`, `start`, `end`; several a
        job where held nodes were released in between.
    first_try : np.ndarray
        When a job first held or yielded, NaN where it never did.
    yields : np.ndarray
        How often a job yielded.
    outages : tuple of (partition, start, end)
        When a machine could not be heard of.
    longest_hold : float
        Seconds that no stretch of holding may exceed; infinite where held nodes are not released.
    """

    group: np.ndarray
    holds: pd.DataFrame
    first_try: np.ndarray
    yields: np.ndarray
    outages: tuple[tuple[str, float, float], ...] = ()
    longest_hold: float = np.inf

    @cached_property
    def partition(self) -> pd.Series:
        """The machine of every job."""
        return self.workload.column("partition").fillna(next(iter(self.system.partitions)))

    @property
    def stuck(self) -> np.ndarray:
        """Rows of the jobs that were never started, which a deadlock leaves."""
        return np.flatnonzero(np.isnan(self.start_time))


@dataclass(frozen=True, eq=False, kw_only=True)
class TimesharedSchedule(Schedule):
    """What happened where jobs share nodes: a job takes longer than its dedicated run time.

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
        node-seconds over those offered; `cpu_load`, jobs on a node; `waiting`, queued jobs.
    shares : pd.DataFrame, optional
        Share of each job that runs at one of the moments sampled, a column a job, indexed by `time`
        (s): from each moment on, after all that happens at it; 0 while the job does not run.
    """

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
    def width(self) -> float:
        """Seconds of a window of the series: an hour, or more where that would be too many."""
        times = self.series.index
        return float(times[1] - times[0]) if len(times) > 1 else HOUR


def check_rigid(schedule: Schedule, what: str) -> None:
    """Raise where jobs share nodes, so that `what` would count nodes several times.

    Raises
    ------
    ValueError
        For a `TimesharedSchedule`.
    """
    if isinstance(schedule, TimesharedSchedule):
        raise ValueError(
            f"{schedule.name}: {what} needs jobs that have nodes for themselves, and here they "
            "share them; take utilization, or the schedule's series"
        )
