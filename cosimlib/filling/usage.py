"""Use of filled machines: node-seconds by use, efficiency, nodes held over time."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.filling.schedule import FilledSchedule, whole_slots
from cosimlib.kernels.steps import step_function
from cosimlib.units import HOUR


def node_seconds(
    schedule: FilledSchedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Node-seconds in a window by what they are used for; the sum is what the machine offers.

    Parameters
    ----------
    schedule : FilledSchedule
    start, end : float, optional
        The window, seconds; by default from the first whole slot after the first submission to the
        end of the last job's last slot.

    Returns
    -------
    pd.Series
        `regular` jobs; `computing`, `overhead` (started or saved) and `lost` (killed) of
        containers; `idle`. A container's overhead is spread evenly over its time.
    """
    if start is None:
        submit_time = schedule.workload.jobs["submit_time"].min()
        start = float(schedule.slot * whole_slots(submit_time, schedule.slot))
    if end is None:
        end = float(schedule.slot_ends.max(initial=start))
    check.window(start, end)
    table, containers = schedule.allocations, schedule.containers
    inside = table["end"].clip(upper=end) - table["start"].clip(lower=start)
    held = (table["nodes"] * inside.clip(lower=0.0)).to_numpy()
    run, saved, killed = (held[table["use"] == use] for use in ("run", "container", "killed"))
    containers = containers[containers["saved"].astype(bool)]
    length = containers["end_time"] - containers["start_time"]
    overhead = saved * (containers["starts"] * schedule.overhead * schedule.slot / length)
    use = {
        "regular": run.sum(),
        "computing": saved.sum() - overhead.sum(),
        "overhead": overhead.sum(),
        "lost": killed.sum(),
        "idle": schedule.total_nodes * (end - start) - held.sum(),
    }
    return pd.Series(use, name="node_seconds", dtype=np.float64)


def efficiency(
    schedule: FilledSchedule, *, start: float | None = None, end: float | None = None
) -> float:
    """Utilization efficiency: work done ÷ work that the machine could do in the window.

    ``(regular + speed · computing) / capacity``, see `node_seconds`.
    """
    use = node_seconds(schedule, start=start, end=end)
    return float((use["regular"] + schedule.speed * use["computing"]) / use.sum())


def full_queue(schedule: FilledSchedule, queue_depth: int) -> tuple[float, float]:
    """Window in which the queue is full: from the first submission until it becomes shorter.

    With `queue_depth` 0, all jobs wait with a reservation, and it ends with the last start. It
    lasts for one slot or more.
    """
    submit_time = schedule.workload.jobs["submit_time"].min()
    start = float(schedule.slot * whole_slots(submit_time, schedule.slot))
    waiting = min(queue_depth, len(schedule.workload) - 1)
    return start, max(float(np.sort(schedule.start_time)[-waiting - 1]), start + schedule.slot)


def use_table(
    runs: Iterable[FilledSchedule], *, start: float | None = None, end: float | None = None
) -> pd.DataFrame:
    """Node-hours by policy and use, and `utilization`, the part of them that does work.

    Returns
    -------
    pd.DataFrame
        One row per policy: `regular`, `containers` (what they compute at their speed), `slow` (what
        regular jobs would have computed besides in that time), `overhead`, `lost`, `idle`; the sum
        is what the machine offers.
    """
    rows = {}
    for run in runs:
        use = node_seconds(run, start=start, end=end) / HOUR
        use["containers"] = run.speed * use["computing"]
        use["slow"] = use["computing"] - use["containers"]
        rows[run.policy] = use[["regular", "containers", "slow", "overhead", "lost", "idle"]]
        rows[run.policy]["utilization"] = efficiency(run, start=start, end=end)
    return pd.DataFrame(rows).T.rename_axis("policy")


def held_table(schedule: FilledSchedule, start: float, end: float) -> pd.DataFrame:
    """Nodes that `regular` jobs and `containers` hold from each instant on, within a window."""
    table, series = schedule.allocations, []
    for rows in (table["use"] == "run", table["use"] != "run"):
        columns = (table.loc[rows, name].to_numpy() for name in ("start", "end", "nodes"))
        times, nodes = step_function(*columns)
        series.append(pd.Series(nodes, index=times))
    both = pd.concat(series, axis=1, keys=["regular", "containers"]).sort_index()
    both = both.reindex(both.index.union([start, end])).ffill().fillna(0)
    both = both[(both.index >= start) & (both.index <= end)].astype("int64")
    return both.rename_axis("time")
