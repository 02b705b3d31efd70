"""Tables behind figures: waste by policy, vectors, owners, sequences, assumptions."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlab.figures.elastic import period_name
from cosimlib.audit import audit
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    HOST,
    USER,
    ElasticSchedule,
    execution_states,
    least_waste,
    occupants,
    preemption_values,
)
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload
from papers.duplyakin2017.experiment import TABLE_1, describe, fitting
from papers.duplyakin2017.measures import LONG, OTHERS, SHORT, Waste, summarize, waste

POINTS = 400
"""States of a cumulative curve."""
RATIOS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0)
"""Grace periods over the mean time that running jobs have left."""
PRINTED = {"states": 168_000, "same nodes": 0.75, "high": -0.972, "default": 0.071, "total": 0.038}
"""What the paper prints of what `measure_assumption` measures."""
MEASURES = {"relative": "throughput", "wasted": "wasted", "served": "users served"}
"""Columns of a sweep of sequences, and what they are called."""


def table_1(workloads: Mapping[str, Workload]) -> pd.DataFrame:
    """Table 1: the workloads, beside what the paper prints."""
    table = describe(workloads).join(TABLE_1.add_suffix(", paper")).sort_index(axis=1)
    return table.round(2).reset_index(names="seconds, nodes")


def waste_by_state(wasted: Mapping[str, Waste], periods: Sequence[float]) -> pd.DataFrame:
    """What a preemption wastes, a row per state: millions of rows.

    Returns
    -------
    pd.DataFrame
        `workload`, `policy`, `period` (the grace period in words), `node_hours`.
    """
    tables = [
        pd.DataFrame({"node_hours": of_policy[period].to_numpy() / HOUR}).assign(
            workload=workload, policy=policy, period=period_name(period)
        )
        for workload, by_policy in wasted.items()
        for policy, of_policy in by_policy.items()
        for period in periods
    ]
    names = ["workload", "policy", "period"]
    return pd.concat(tables, ignore_index=True).astype(dict.fromkeys(names, "category"))


def waste_statistics(wasted: Mapping[str, Waste], periods: Sequence[float]) -> pd.DataFrame:
    """`summarize` for some grace periods, of several workloads."""
    tables = {
        name: summarize({policy: table[list(periods)] for policy, table in by_policy.items()})
        for name, by_policy in wasted.items()
    }
    return pd.concat(tables).reset_index(0, names="workload").reset_index(drop=True)


class Example(NamedTuple):
    """Figure 5: preemption vectors by policy, and boxes of the jobs of high priority.

    Boxes have `first` and `last` nodes, `start` and `end` (s).
    """

    nodes: int
    vectors: dict[str, pd.DataFrame]
    boxes: pd.DataFrame


def example(preferred: Workload, nodes: int) -> Example:
    """Vectors under PAP and PAP+ over a tenth of a schedule, where most jobs are preferred."""
    schedule = audit(simulate_easy(fitting(preferred, nodes), System.of(nodes)))
    high = schedule.jobs[schedule.jobs["priority"] > 1]
    starts, length = high["start_time"], max(schedule.end_time) / 10
    begin = max(starts, key=lambda at: starts.between(at, at + 0.9 * length).sum())
    moments = np.linspace(max(0, begin - 0.03 * length), begin + 0.97 * length, 480)
    vectors = {
        policy: preemption_values(schedule, moments, policy=policy) for policy in ("PAP", "PAP+")
    }
    held = occupants(schedule, moments).melt(ignore_index=False, value_name="job").reset_index()
    held = held[held["job"].isin(high.index)]
    spans = held.groupby(["job", "node"])["time"].agg(start="min", end="max").reset_index()
    side = (spans["node"] - spans.groupby("job").cumcount()).rename("side by side")
    boxes = spans.groupby(["job", side]).agg(
        first=("node", "min"), last=("node", "max"), start=("start", "min"), end=("end", "max")
    )
    return Example(nodes, vectors, boxes)


def cumulative_table(wasted: pd.DataFrame) -> pd.DataFrame:
    """Sums over the states so far, in node-hours: 400 states of every curve, tidy."""
    rows = np.linspace(0, len(wasted) - 1, min(POINTS, len(wasted))).round().astype(int)
    thinned = (wasted.cumsum().iloc[rows] / HOUR).round(1)
    tidy = thinned.melt(ignore_index=False, value_name="node_hours").reset_index()
    return tidy.assign(days=(tidy["time"] / DAY).round(4))


def waste_beside_optimum(schedule: Schedule, *, preempted: int, seed: int) -> pd.DataFrame:
    """Mean waste of policies beside what the jobs of least cost would waste, at every 40th state.

    Returns
    -------
    pd.DataFrame
        ``grace period (h)``, `choice` (a policy or an optimum), `waste` (node-hours).
    """
    periods, at = [SHORT[0], *LONG], execution_states(schedule)[::40]
    wasted = waste(schedule, periods, moments=at, preempted=preempted, seed=seed)
    for known_ends, name in enumerate(("blind optimum", "foresighted optimum")):
        wasted[name] = least_waste(
            schedule,
            known_ends=bool(known_ends),
            grace_periods=periods,
            moments=at,
            preempted=preempted,
        )
    means = pd.DataFrame({name: each.mean() / HOUR for name, each in wasted.items()})
    hours = "grace period (h)"
    means.index = pd.Index(np.array(periods) / HOUR, name=hours)
    return means.reset_index().melt(hours, var_name="choice", value_name="waste")


def relative_waste(schedule: Schedule, *, preempted: int, seed: int) -> pd.DataFrame:
    """LIFO's mean waste over the less of FIFO's and RANDOM's, by grace period, at every 10th state.

    Grace periods are `RATIOS` of `remaining_time`.
    """
    typical, at = remaining_time(schedule.workload), execution_states(schedule)[::10]
    periods = [ratio * typical for ratio in RATIOS]
    wasted = waste(schedule, periods, moments=at, preempted=preempted, seed=seed)
    means = {policy: wasted[policy].mean().to_numpy() for policy in ("LIFO", "FIFO", "RANDOM")}
    table = pd.DataFrame({"ratio": RATIOS, "grace_period": periods, **means})
    others = table[OTHERS].min(axis=1)
    return table.assign(relative=table["LIFO"] / others.where(others > 0))


def remaining_time(workload: Workload) -> float:
    """Mean time (s) that a node's job has left at a random moment, by renewal theory."""
    nodes, run_time = workload.jobs["nodes"], workload.jobs["run_time"]
    return float((nodes * run_time**2).sum() / (2 * (nodes * run_time).sum()))


def nodes_owned(schedule: ElasticSchedule, moments: np.ndarray) -> pd.DataFrame:
    """Number of nodes of each owner over time: one row per moment, one column per owner."""
    owned, counts = schedule.ownership, {}
    for owner in (*schedule.system.partitions, USER, HOST):
        start, end = owned.loc[owned["owner"] == owner, ["start_time", "end_time"]].to_numpy().T
        begun, ended = (np.searchsorted(np.sort(t), moments, "right") for t in (start, end))
        counts[owner] = begun - ended
    return pd.DataFrame(counts, index=pd.Index(moments, name="time"))


def shares(sweep: pd.DataFrame) -> pd.DataFrame:
    """A sweep of sequences, averaged over seeds; its second column is what is varied.

    Returns
    -------
    pd.DataFrame
        `measure` (throughput, wasted or users served), `policy`, what is varied, `share`.
    """
    averaged = sweep.groupby(["policy", sweep.columns[1]], sort=False)[list(MEASURES)].mean()
    parts = {name: averaged[column] for column, name in MEASURES.items()}
    return pd.concat(parts, names=["measure"]).rename("share").round(4).reset_index()


def beside_printed(sweep: pd.DataFrame) -> pd.DataFrame:
    """Means of `measure_assumption` over seeds, a row per assumption, and the paper's numbers."""
    table = sweep.groupby("assumption", sort=False).mean().drop(columns="seed")
    table.loc["the paper", list(PRINTED)] = list(PRINTED.values())
    names = {name: f"gaussian {name}" for name in ("high", "default", "total", "share")}
    return table.rename(columns=names | {"states": "execution states"})


def in_percent(table: pd.DataFrame) -> pd.DataFrame:
    """The numbers of `beside_printed` as texts: shares in percent, changes with their sign."""
    forms = {"execution states": "{:,.0f}", "days": "{:,.1f}"}
    changes = (f"gaussian {name}" for name in ("high", "default", "total"))
    forms |= dict.fromkeys(changes, "{:+.1%}")
    shown = table.astype(object)
    for name in table:
        form = forms.get(name, "{:.0%}")
        shown[name] = [
            form.format(value).replace("%", " %") if value == value else "not printed"
            for value in table[name]
        ]
    return shown.reset_index()
