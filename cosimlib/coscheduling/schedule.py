"""The schedule of coupled machines: starts, ends, and the nodes held idle for a mate."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.schedule import Schedule, allocation_table

HOLD, YIELD = "H", "Y"
"""What a job does whose mate cannot start: one letter per machine makes the schemes."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CoupledSchedule(Schedule):
    """The schedule of coupled machines, where jobs with mates start together.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`; NaN for a job that never starts.
    schemes : str or None
        H (hold) or Y (yield) for each machine in order; None where mates do not count.
    max_yields : int or None
        Yields after which a job may hold on a machine that yields; None: never.
    group : np.ndarray
        The group of mates of each job, −1 without mates and where mates do not count.
    holds : pd.DataFrame
        Intervals in which a job kept nodes idle before it started: `job`, `start`, `end`; several
        per job where held nodes were released in between.
    first_try : np.ndarray
        When each job first held or yielded, NaN where it never did.
    yields : np.ndarray
        How often each job yielded.
    outages : tuple of (partition, start, end)
        When a machine could not be reached.
    longest_hold : float
        Upper bound of an interval of holding, s; infinite where held nodes are not released.
    """

    schemes: str | None
    max_yields: int | None = None
    group: np.ndarray
    holds: pd.DataFrame
    first_try: np.ndarray
    yields: np.ndarray
    outages: tuple[tuple[str, float, float], ...] = ()
    longest_hold: float = np.inf

    @property
    def stuck(self) -> np.ndarray:
        """Rows of the jobs that never start, which a deadlock leaves."""
        return np.flatnonzero(np.isnan(self.start_time))

    @cached_property
    def group_start(self) -> np.ndarray:
        """First start of each job's group (s); NaN where none of it starts, or without mates."""
        first = pd.Series(self.start_time).groupby(self.group).transform("min")
        return first.where(self.group >= 0).to_numpy()

    @property
    def apart(self) -> np.ndarray:
        """Rows of the jobs with mates that did not start when the first job of their group did.

        A group of which no job starts is not apart.
        """
        first = self.group_start
        return np.flatnonzero(~np.isnan(first) & (self.start_time != first))

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Runs, then the intervals in which jobs held nodes idle before they started (`hold`)."""
        jobs = self.holds["job"].to_numpy()
        nodes = self.workload.jobs["nodes"].to_numpy()[jobs]
        start, end = (self.holds[name].to_numpy() for name in ("start", "end"))
        held = allocation_table(jobs, start, end, nodes, "hold")
        return pd.concat([super().allocations, held], ignore_index=True)
