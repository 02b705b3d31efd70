"""Use of filled machines: node-seconds by use, efficiency, and the cost of saving containers.

A container that is killed loses what it computed since it was saved last. Saved often, it pays for
the saves; saved seldom, it loses much. If kills come at random, one per M slots of a container's
time, and a save costs t slots, an interval of k slots costs ``t / k`` for saves and ``k / 2M`` for
lost work, which is least at ``k = √(2tM)`` (J. W. Young, A First Order Approximation to the Optimum
Checkpoint Interval, Communications of the ACM 17(9), 1974).

When containers are saved changes no start of any job: one schedule under policy B that kills has
all that is needed.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.filling.schedule import FilledSchedule, policy_name, split_by_saves, whole_slots
from cosimlib.kernels.steps import step_function
from cosimlib.units import HOUR


def node_seconds(
    schedule: FilledSchedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Node-seconds in a window by use; their sum is what the machine offers.

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
    """Table of node-hours by policy and use, and `utilization`, the share that does work.

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
    """Nodes that `regular` jobs and `containers` hold over time, within a window."""
    table, series = schedule.allocations, []
    for rows in (table["use"] == "run", table["use"] != "run"):
        columns = (table.loc[rows, name].to_numpy() for name in ("start", "end", "nodes"))
        times, nodes = step_function(*columns)
        series.append(pd.Series(nodes, index=times))
    both = pd.concat(series, axis=1, keys=["regular", "containers"]).sort_index()
    both = both.reindex(both.index.union([start, end])).ffill().fillna(0)
    both = both[(both.index >= start) & (both.index <= end)].astype("int64")
    return both.rename_axis("time")


def saved_every(schedule: FilledSchedule, slots: int) -> FilledSchedule:
    """Schedule under policy C, derived from one under policy B that kills.

    Parameters
    ----------
    schedule : FilledSchedule
        Simulated with ``policy="B", reclaim="kill"``.
    slots : int
        After how many a container is saved, `save_every` of `simulate_filling`.

    Raises
    ------
    ValueError
        For a schedule under another policy.
    """
    check.whole("slots", slots, 1)
    fine = (schedule.filling, schedule.reclaim) == ("B", "kill")
    check.that("policy", schedule.policy, fine, "'filling B, kill', whose containers run on")
    return replace(
        schedule,
        policy=policy_name("C", "kill", slots),
        filling="C",
        save_every=int(slots),
        containers=split_by_saves(schedule.containers, slots * schedule.slot),
    )


def slots_between_kills(
    schedule: FilledSchedule, *, start: float | None = None, end: float | None = None
) -> float:
    """Mean slots that containers run per killed container, in a window (s); inf without kills.

    The M of Young's formula. Without a window it is of the whole schedule.
    """
    first = -math.inf if start is None else start
    last = math.inf if end is None else end
    check.window(first, last)
    table = schedule.containers
    inside = table["end_time"].clip(upper=last) - table["start_time"].clip(lower=first)
    slots = float(table["nodes"] @ inside.clip(lower=0.0)) / schedule.slot
    killed = ~table["saved"].astype(bool) & table["end_time"].between(first, last)
    kills = int(table.loc[killed, "nodes"].sum())
    return slots / kills if kills else math.inf


def young_interval(overhead: float, between_kills: float) -> float:
    """Young's interval between saves, ``√(2tM)`` slots, for saves of `overhead` slots.

    Parameters
    ----------
    overhead : float
        The paper's t, slots per start and save.
    between_kills : float
        M, the mean of slots between kills, as of `slots_between_kills`; may be infinite.
    """
    check.number("overhead", overhead, least=0)
    fine = check.is_number(between_kills) and between_kills > 0
    check.that("between_kills", between_kills, fine, "slots above 0, or infinity")
    return math.sqrt(2 * overhead * between_kills) if overhead else 0.0
