"""Use of filled machines: node-seconds by use, efficiency, tables by policy."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.filling.schedule import FilledSchedule, whole_slots
from cosimlib.kernels.steps import step_function
from cosimlib.metrics import mean_interval
from cosimlib.schedule import Schedule
from cosimlib.units import HOUR
from cosimlib.workload import Workload


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


def efficiency_table(
    runs: Iterable[FilledSchedule],
    overheads: Iterable[float],
    speeds: Iterable[float],
    *,
    start: float | None = None,
    end: float | None = None,
) -> pd.DataFrame:
    """Efficiency by `policy`, overhead `t` and speed `c`, which change no start, in a window."""
    rows = [
        (run.policy, t, c, efficiency(replace(run, overhead=t, speed=c), start=start, end=end))
        for run in runs
        for t in overheads
        for c in speeds
    ]
    return pd.DataFrame(rows, columns=["policy", "t", "c", "efficiency"])


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


def load_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread of the load over seeds.

    Parameters
    ----------
    runs : pd.DataFrame
        One row per run: `variant`, `queue_depth`, `accuracy`, `seed`, `load`.

    Returns
    -------
    pd.DataFrame
        One row per variant of the scheduler, queue depth and accuracy: `load`, its mean; `spread`,
        its standard deviation; `lowest`, `highest`, and the number of `seeds`.
    """
    grouped = runs.groupby(["variant", "queue_depth", "accuracy"], sort=False)["load"]
    table = grouped.agg(["mean", "std", "min", "max", "count"])
    table.columns = pd.Index(["load", "spread", "lowest", "highest", "seeds"])
    return table.fillna({"spread": 0.0}).reset_index()


def spread_table(runs: pd.DataFrame, by: list[str], value: str) -> pd.DataFrame:
    """Mean, lowest and highest value over seeds, one row per case.

    Parameters
    ----------
    runs : pd.DataFrame
        One row per case and `seed`.
    by : list of str
        Columns that tell cases apart.
    value : str
        Column of the measure.

    Returns
    -------
    pd.DataFrame
        The columns of `by`, then `mean`, `lowest`, `highest`, and the number of `seeds`.
    """
    cells = runs.groupby(by, sort=False)[value].agg(["mean", "min", "max", "count"])
    cells.columns = pd.Index(["mean", "lowest", "highest", "seeds"])
    return cells.reset_index()


def cost_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean, lowest and highest cost of containers over seeds, in percent, one row per measure.

    Parameters
    ----------
    runs : pd.DataFrame
        One row per run: `policy`, `accuracy`, `seed`, and a column for each measure, parts of one.

    Returns
    -------
    pd.DataFrame
        As `spread_table` of each measure, which is named in `measure`.
    """
    measures = runs.columns.drop(["policy", "accuracy", "seed"])
    tables = [spread_table(runs, ["policy", "accuracy"], measure) for measure in measures]
    table = pd.concat(tables, keys=measures, names=["measure"]).reset_index("measure")
    percent = ["mean", "lowest", "highest"]
    return table.assign(**{name: 100 * table[name] for name in percent}).reset_index(drop=True)


def recorded_load(log: Workload) -> float:
    """Part of a machine's node-seconds that its log has recorded as held, NaN where it did not.

    From the first submission to the last, of the jobs whose start is known: NaN where that is less
    than half of them, the machine is unknown, or all were submitted at once.
    """
    if log.machine is None or not len(log):
        return np.nan
    started = log.column("recorded_start").notna()
    first, last = log.jobs["submit_time"].min(), log.jobs["submit_time"].max()
    if started.mean() < 0.5 or not last > first:
        return np.nan
    recorded = Schedule.recorded(log.keep(started, "start unknown"))
    return recorded.utilization(float(first), float(last))


def paired_table(runs: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    """Mean of a measure per case, and its difference to the first case, paired over seeds.

    Parameters
    ----------
    runs : pd.DataFrame
        One row per case and `seed`.
    by : str
        Column that tells cases apart.
    value : str
        Column of the measure.

    Returns
    -------
    pd.DataFrame
        Indexed by case: `mean`; `difference`, its mean over seeds, and `low` to `high`, the 95 %
        confidence interval of that, as of `mean_interval`.
    """
    cases = list(dict.fromkeys(runs[by]))
    by_seed = runs.pivot_table(value, "seed", by)[cases]
    paired = by_seed.sub(by_seed.iloc[:, 0], axis=0)
    rows = {case: mean_interval(paired[case]) for case in by_seed}
    table = pd.DataFrame(rows, index=["difference", "low", "high"]).T
    table.insert(0, "mean", by_seed.mean())
    return table.rename_axis(by)
