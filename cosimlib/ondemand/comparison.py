"""Policies side by side: the ledger of node-hours, delays, slowdown, over seeds and streams."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.metrics import job_groups, mean_interval, node_hours_by_use
from cosimlib.ondemand.schedule import OnDemandSchedule
from cosimlib.ondemand.simulation import simulate_ondemand
from cosimlib.ondemand.workloads import draw_bursts
from cosimlib.sweep import sweep
from cosimlib.system import System
from cosimlib.workload import Workload

LEDGER = ("batch", "bursts", "lost", "writing", "blocked", "rereading", "idle")
"""Uses of node-hours: work of batch jobs that is kept, of bursts; work to be done again;
checkpoints written; nodes that stand still for a burst; checkpoints read; idle nodes."""

OVERHEAD = ("lost", "writing", "blocked", "rereading")
"""What evictions cost."""

MOST_MISSED = 0.05
"""Share of deadlines that a policy may miss and still serve bursts."""


def ledger(
    schedule: OnDemandSchedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """Node-hours by use in a window, of `LEDGER`; together, what the machine offers in it.

    Parameters
    ----------
    schedule : OnDemandSchedule
    start, end : float, optional
        Seconds; by default from the first submission to the last end.
    """
    first, last = schedule.span
    start, end = first if start is None else start, last if end is None else end
    if not start < end:
        return pd.Series(0.0, index=pd.Index(LEDGER, name="use"), name="node_hours")
    by_use = node_hours_by_use(schedule, start=start, end=end)
    table = schedule.allocations
    of_bursts = schedule.on_demand[table["job"].to_numpy()] & (table["use"] == "run").to_numpy()
    bursts = float(schedule.held(start, end)[of_bursts].sum()) / 3600.0
    names = {"lost": "killed", "writing": "checkpoint", "blocked": "hold", "rereading": "reread",
             "idle": "idle"}  # fmt: skip
    hours = {name: float(by_use.get(use, 0.0)) for name, use in names.items()}
    hours |= {"batch": float(by_use.get("run", 0.0)) - bursts, "bursts": bursts}
    return pd.Series(hours, name="node_hours").reindex(list(LEDGER)).rename_axis("use")


def measure(schedule: OnDemandSchedule) -> dict[str, float]:
    """What a schedule is compared by, in one row.

    Returns
    -------
    dict
        `bursts`; of them the share `missed` and the mean `delay` (s); `evictions` per burst; node-
        hours per burst of each of `OVERHEAD` and their sum `overhead`; mean bounded `slowdown` and
        mean `wait` (s) of batch jobs; `kept`, the share of the machine's node-hours, from the first
        submission to the last, that are work of batch jobs or bursts. NaN where there is nothing to
        take a mean of.
    """
    bursts, batch = schedule.bursts, ~schedule.on_demand
    row = {
        "bursts": float(len(bursts)),
        "missed": float(bursts["missed"].mean()),
        "delay": float(bursts["delay"].mean()),
        "evictions": _per(len(schedule.evictions), len(bursts)),
    }
    hours = ledger(schedule)
    row |= {name: _per(float(hours[name]), len(bursts)) for name in OVERHEAD}
    row["overhead"] = sum(row[name] for name in OVERHEAD)
    row["slowdown"] = float(schedule.bounded_slowdown()[batch].mean())
    row["wait"] = float(schedule.jobs["wait_time"][batch].mean())
    submit = schedule.workload.jobs["submit_time"]
    window = ledger(schedule, start=float(submit.min()), end=float(submit.max()))
    row["kept"] = _per(float(window["batch"] + window["bursts"]), float(window.sum()))
    return row


def _per(amount: float, number: float) -> float:
    return amount / number if number else np.nan


def compare_ondemand(
    workload: Workload,
    system: System,
    policies: Mapping[str, Mapping[str, Any]],
    streams: Mapping[str, Mapping[str, Any]],
    seeds: Iterable[int],
    *,
    executor: "int | Executor | Literal['cores'] | None" = None,
) -> pd.DataFrame:
    """Policies on streams of bursts over seeds: one row per policy, stream and seed.

    Every policy sees the same bursts and the same memory of jobs on a seed; schedules are audited.

    Parameters
    ----------
    workload : Workload
    system : System
    policies : dict of str to dict
        Arguments of `simulate_ondemand` by the names that tables show.
    streams : dict of str to dict
        Arguments of `draw_bursts` by name.
    seeds : iterable of int
        Of the bursts, and of the memory drawn per job.
    executor
        As of `sweep`.

    Returns
    -------
    pd.DataFrame
        `policy`, `stream`, `seed`, and what `measure` returns.
    """
    shared = {"workload": workload, "system": system, "policies": dict(policies),
              "streams": dict(streams)}  # fmt: skip
    grid = {"policy": list(policies), "stream": list(streams)}
    return sweep(_run, grid, seeds, shared=shared, executor=executor, errors="raise")


def _run(
    policy: str,
    stream: str,
    seed: int,
    workload: Workload,
    system: System,
    policies: Mapping[str, Mapping[str, Any]],
    streams: Mapping[str, Mapping[str, Any]],
) -> dict[str, float]:
    """One cell of `compare_ondemand`."""
    bursts = draw_bursts(workload, seed=seed, **streams[stream])
    return measure(
        audit(simulate_ondemand(workload, system, bursts, seed=seed, **policies[policy]))
    )


def interval_table(runs: pd.DataFrame, measures: Iterable[str]) -> pd.DataFrame:
    """Means over seeds and their 95 % intervals, one row per policy, stream and measure.

    Returns
    -------
    pd.DataFrame
        `policy`, `stream`, `measure`, `mean`, `low`, `high`.
    """
    rows = []
    for (policy, stream), part in runs.groupby(["policy", "stream"], sort=False):
        for name in measures:
            rows.append((policy, stream, name, *mean_interval(part[name].dropna())))
    return pd.DataFrame(rows, columns=["policy", "stream", "measure", "mean", "low", "high"])


def paired_table(runs: pd.DataFrame, measure: str, *, against: str) -> pd.DataFrame:
    """Differences to one policy on the same seeds, with 95 % intervals, per policy and stream.

    Returns
    -------
    pd.DataFrame
        `policy`, `stream`, `difference`, `low`, `high`, and `tells`: whether the interval leaves
        out 0.
    """
    check.choice("against", against, list(dict.fromkeys(runs["policy"])))
    wide = runs.pivot_table(measure, ["stream", "seed"], "policy", sort=False, dropna=False)
    rows = []
    for policy in wide.columns.drop(against):
        apart = (wide[policy] - wide[against]).groupby("stream", sort=False)
        for stream, values in apart:
            mean, low, high = mean_interval(values.dropna())
            rows.append((policy, stream, mean, low, high, bool(low > 0 or high < 0)))
    return pd.DataFrame(rows, columns=["policy", "stream", "difference", "low", "high", "tells"])


def best_table(
    runs: pd.DataFrame, *, measure: str = "overhead", most_missed: float = MOST_MISSED
) -> pd.DataFrame:
    """The policy of least `measure` per stream, of those that miss few enough deadlines.

    Returns
    -------
    pd.DataFrame
        One row per stream that has bursts: `stream`, `policy` (``"none"`` where all miss more),
        `mean` of the measure, and `tied`, the others of which the seeds cannot tell it, by paired
        95 % intervals, as a text.
    """
    rows = []
    for stream, part in runs.groupby("stream", sort=False):
        means = part.groupby("policy", sort=False)[["missed", measure]].mean()
        served = means[(means["missed"] <= most_missed) & means[measure].notna()]
        if served.empty:
            if means["missed"].notna().any():
                rows.append((stream, "none", np.nan, ""))
            continue
        best = str(served[measure].idxmin())
        others = paired_table(part[part["policy"].isin(served.index)], measure, against=best)
        tied = others.loc[~others["tells"], "policy"]
        rows.append((stream, best, float(served[measure].min()), ", ".join(tied)))
    return pd.DataFrame(rows, columns=["stream", "policy", "mean", "tied"])


def slowdown_table(schedules: Mapping[str, OnDemandSchedule]) -> pd.DataFrame:
    """Mean bounded slowdown of batch jobs by class of size, one row per policy and class.

    Returns
    -------
    pd.DataFrame
        `policy`, `nodes` (the class), `jobs`, `slowdown`; classes without jobs are left out.
    """
    rows = []
    for name, schedule in schedules.items():
        group = job_groups(schedule.workload, "size")[~schedule.on_demand]
        slowdown = schedule.bounded_slowdown()[~schedule.on_demand]
        for label, values in slowdown.groupby(group, observed=True):
            rows.append((name, str(label), len(values), float(values.mean())))
    return pd.DataFrame(rows, columns=["policy", "nodes", "jobs", "slowdown"])
