"""What happened: every job's start and end, and what follows from them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.system import System
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
