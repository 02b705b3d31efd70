"""Schedules of coupled machines, and the costs of coscheduling, as Tang et al. measure them.

There are four measures per machine: the average wait and the average slowdown of all its jobs; the
average *sync-up overhead* of its jobs with mates (from a job's first hold or yield to its start);
and the *loss of capability* (node-hours held idle, also as a share of what the machine offers).
Most mates start at once and a few wait for hours. Averages hide this, so medians, 95th percentiles
and the share of jobs that wait are added.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.coscheduling.mates import mate_groups
from cosimlib.metrics import slowdown
from cosimlib.schedule import Schedule, allocation_table
from cosimlib.units import DAY, HOUR, MINUTE

HOLD, YIELD = "H", "Y"
"""What a job does whose mate cannot start: one letter per machine makes the schemes."""
BASE, IDEAL = "base", "ideal"
"""Policies that are compared with the schemes: no coscheduling, and `ideal_schedule`."""
LATE = 0.95
"""Share of the jobs that wait no longer than the percentile in the tables."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CoupledSchedule(Schedule):
    """Schedule of coupled machines, on which jobs start together with their mates.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`; NaN for a job that never starts.
    schemes : str or None
        H (hold) or Y (yield) for each machine in order; None if mates do not count.
    max_yields : int or None
        Number of yields after which a job may hold on a machine that yields; None: never.
    group : np.ndarray
        Group of mates of each job; −1 without mates, or if mates are ignored.
    holds : pd.DataFrame
        Intervals in which a job held nodes idle before it started: `job`, `start`, `end`. A job has
        several if held nodes were released in between. A hold that ended at the time at which it
        began is not listed.
    first_try : np.ndarray
        Time of each job's first hold or yield; NaN if it never did. Only the job that has the turn
        holds or yields; a mate that is tried in this turn does not.
    yields : np.ndarray
        Number of yields of each job, counted as `first_try` is. A job may yield and still start at
        the same time, in a mate's turn; its sync-up overhead is then 0.
    outages : tuple of (partition, start, end)
        When a machine could not be reached.
    longest_hold : float
        Longest possible hold, s; infinite if held nodes are not released.
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
        """Rows of the jobs that never start because of a deadlock."""
        return np.flatnonzero(np.isnan(self.start_time))

    @cached_property
    def group_start(self) -> np.ndarray:
        """First start of each job's group (s); NaN if none of it starts, or without mates."""
        first = pd.Series(self.start_time).groupby(self.group).transform("min")
        return first.where(self.group >= 0).to_numpy()

    @property
    def apart(self) -> np.ndarray:
        """Rows of the jobs with mates that did not start together with the first of their group.

        Groups of which no job starts are not included.
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


def sync_up_overhead(schedule: CoupledSchedule) -> pd.Series:
    """Sync-up overhead (s) of each job with a mate: from its first hold or yield to its start.

    It is 0 for a job that started with its mates at its first turn, and NaN for a job that never
    starts.
    """
    paired = np.flatnonzero(schedule.group >= 0)
    start_time, first_try = schedule.start_time[paired], schedule.first_try[paired]
    overhead = np.where(np.isnan(first_try), 0.0, start_time - first_try)
    overhead[np.isnan(start_time)] = np.nan
    return pd.Series(overhead, index=paired, name="sync_up_overhead")


def lost_node_hours(schedule: CoupledSchedule) -> pd.Series:
    """Loss of capability: node-hours held idle, per machine; infinite if a hold never ends."""
    held, nodes = schedule.holds, schedule.workload.jobs["nodes"].to_numpy()
    idle = (held["end"] - held["start"]) * nodes[held["job"]]
    lost = idle.groupby(schedule.partition.to_numpy()[held["job"]]).sum() / HOUR
    return lost.reindex(list(schedule.system.partitions), fill_value=0.0).rename("lost")


def ideal_schedule(base: CoupledSchedule) -> CoupledSchedule:
    """Schedule in which each group starts at the latest base start of its jobs; others stay.

    This is the least that coscheduling costs if no job may start earlier than in the base. The
    schedule is not feasible: other jobs may hold the nodes at that time. No job holds or yields in
    it. The `first_try` of a job that waits for its mates is its base start instead, so that its
    sync-up overhead is this wait.

    Parameters
    ----------
    base : CoupledSchedule
        Schedule of the same workload without coscheduling.
    """
    group = mate_groups(base.workload, base.partition)
    start_time = pd.Series(base.start_time)
    latest = start_time.groupby(group).transform("max", skipna=False)
    ideal = latest.where(group >= 0, start_time).to_numpy()
    return replace(
        base,
        policy=IDEAL,
        start_time=ideal,
        end_time=ideal + base.workload.jobs["run_time"].to_numpy(),
        group=group,
        first_try=np.where(ideal > base.start_time, base.start_time, np.nan),
    )


def summarize_machines(schedule: CoupledSchedule) -> pd.DataFrame:
    """Measures of coscheduling, one row per machine.

    Returns
    -------
    pd.DataFrame
        `machine`, `jobs`, `paired` (its jobs with mates, where mates count), mean `wait` (minutes),
        mean `slowdown`, mean `sync_up` of paired jobs that started (minutes; 0 without any), its
        median and 95th percentile `sync_up_median` and `sync_up_late`, the share `waited` of them
        with any, `wait_paired` and `wait_alone` (mean waits of jobs with and without mates in the
        workload, minutes; NaN without such jobs; unlike `paired`, they also tell these jobs apart
        where mates do not count), `lost` (idle node-hours), `lost_share` (of what the machine
        offers from the first submission to the last end) and `drained` (days from its last
        submission to its last start, at least 0; NaN without a start).
    """
    jobs = schedule.workload.jobs
    submit_time, start_time = jobs["submit_time"].to_numpy(), schedule.start_time
    wait = (start_time - submit_time) / MINUTE
    slowed, lost = slowdown(schedule).to_numpy(), lost_node_hours(schedule)
    overhead = np.full(len(jobs), np.nan)
    paired = schedule.group >= 0
    overhead[paired] = sync_up_overhead(schedule).to_numpy() / MINUTE
    mated = mate_groups(schedule.workload, schedule.partition) >= 0
    span = (_largest(schedule.end_time) + _largest(-submit_time)) / HOUR
    rows = []
    for place, (machine, nodes) in enumerate(schedule.system.partitions.items()):
        at = schedule.partition_number == place
        sync_up = overhead[at & ~np.isnan(overhead)]
        sync_up = sync_up if sync_up.size else np.zeros(1)
        drained = (_largest(start_time[at]) - _largest(submit_time[at])) / DAY
        rows.append(
            {
                "machine": machine,
                "jobs": int(at.sum()),
                "paired": int((at & paired).sum()),
                "wait": _mean(wait[at]),
                "slowdown": _mean(slowed[at]),
                "sync_up": sync_up.mean(),
                "sync_up_median": np.median(sync_up),
                "sync_up_late": np.quantile(sync_up, LATE),
                "waited": (sync_up > 0).mean(),
                "wait_paired": _mean(wait[at & mated]),
                "wait_alone": _mean(wait[at & ~mated]),
                "lost": lost[machine],
                "lost_share": lost[machine] / (nodes * span) if span > 0 else np.nan,
                "drained": max(drained, 0.0) if np.isfinite(drained) else np.nan,
            }
        )
    return pd.DataFrame(rows)


def _mean(values: np.ndarray) -> float:
    """Mean of what is known; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan


def _largest(values: np.ndarray) -> float:
    """The largest of what is known; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else np.nan
