"""Measures of coupled machines, as Tang et al. define them, and what waiting for mates must cost.

Four measures per machine: the average wait and the average slowdown of all its jobs, the average
sync-up overhead of its jobs with mates (from the instant at which a job first held or yielded to
its start), and the loss of capability: node-hours held idle, also as a share of what the machine
offers. Averages hide that most mates start at once, and a few wait for hours: medians, 95th
percentiles and the share that waits at all are beside them.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib.coscheduling.mates import mate_groups
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.metrics import slowdown
from cosimlib.units import DAY, HOUR, MINUTE

MEASURES = ("wait", "slowdown", "sync_up", "lost")
IDEAL = "ideal"
LATE = 0.95
"""Share of the jobs that wait no longer than the percentile in the tables."""


def sync_up_overhead(schedule: CoupledSchedule) -> pd.Series:
    """Sync-up overhead per job with a mate: seconds from its first hold or yield to its start.

    0 for a job that started with its mates at its first turn; NaN for one that never starts.
    """
    paired = np.flatnonzero(schedule.group >= 0)
    start_time, first_try = schedule.start_time[paired], schedule.first_try[paired]
    overhead = np.where(np.isnan(first_try), 0.0, start_time - first_try)
    overhead[np.isnan(start_time)] = np.nan
    return pd.Series(overhead, index=paired, name="sync_up_overhead")


def lost_node_hours(schedule: CoupledSchedule) -> pd.Series:
    """Loss of capability: node-hours held idle, per machine; infinite where a hold never ends."""
    held, nodes = schedule.holds, schedule.workload.jobs["nodes"].to_numpy()
    idle = (held["end"] - held["start"]) * nodes[held["job"]]
    lost = idle.groupby(schedule.partition.to_numpy()[held["job"]]).sum() / HOUR
    return lost.reindex(list(schedule.system.partitions), fill_value=0.0).rename("lost")


def ideal_schedule(base: CoupledSchedule) -> CoupledSchedule:
    """Schedule in which each group starts at the latest base start of its jobs; others stay.

    What coscheduling costs at least where nobody may start earlier than in the base: mates wait for
    one another, and no other job is touched. It is no feasible schedule, for a job may find the
    nodes of its base start taken by then.

    Parameters
    ----------
    base : CoupledSchedule
        Of the same workload without coscheduling.
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
        with any, `wait_paired` and `wait_alone` (mean waits of jobs with and without mates,
        minutes; NaN without such jobs), `lost` (idle node-hours), `lost_share` (of what the machine
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
