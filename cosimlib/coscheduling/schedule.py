"""The schedule of coupled machines: starts, ends, and the nodes held idle for a mate."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.schedule import Schedule, allocation_table


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
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

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Runs, then the stretches in which jobs held nodes idle before they started (`hold`)."""
        jobs = self.holds["job"].to_numpy()
        nodes = self.workload.jobs["nodes"].to_numpy()[jobs]
        start, end = (self.holds[name].to_numpy() for name in ("start", "end"))
        held = allocation_table(jobs, start, end, nodes, "hold")
        return pd.concat([super().allocations, held], ignore_index=True)
