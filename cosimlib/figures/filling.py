"""Regular jobs and the containers between them, what nodes are used for, and the load reached."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib.figures import theme
from cosimlib.figures.gantt import faded, plot_nodes
from cosimlib.filling import FilledSchedule, efficiency, node_seconds
from cosimlib.kernels.occupancy import node_numbers
from cosimlib.kernels.steps import step_function
from cosimlib.units import HOUR

USES = {
    "regular": ("regular jobs", theme.BLUE, ""),
    "containers": ("work in containers", theme.GREEN, "/"),
    "slow": ("lost: containers are slower", theme.YELLOW, "."),
    "overhead": ("lost: start and save", theme.ORANGE, "\\"),
    "lost": ("lost: killed", theme.VERMILION, "x"),
    "idle": ("idle", "#FFFFFF", ""),
}
"""Name, color and pattern of what a node-hour can be used for."""


def plot_filling(schedule: FilledSchedule, *, title: str) -> go.Figure:
    """A small schedule, slot by slot and node by node; containers are hatched.

    Parameters
    ----------
    schedule : FilledSchedule
        Of few jobs. They are called 1, 2, … and containers a1, a2, …, whatever their nodes.
    title : str
    """
    return plot_nodes(
        node_table(schedule), title=title, unit=schedule.slot, unit_name="time slot",
        node_name="CPU slot",
    )  # fmt: skip


def node_table(schedule: FilledSchedule) -> pd.DataFrame:
    """Which nodes everybody held: a row for each block of neighboring nodes.

    Returns
    -------
    pd.DataFrame
        `label`, `kind` (`regular` or `container`), `start`, `end` (s), `first` (node, from 0) and
        `nodes`. Lowest free numbers first; containers choose after regular jobs.
    """
    jobs, runs = schedule.jobs, _single_runs(schedule)
    columns = ["start_time", "end_time", "nodes"]
    everybody = pd.concat([jobs[columns], runs[columns]], ignore_index=True)
    labels = [str(job + 1) for job in jobs.index] + [f"a{run + 1}" for run in runs.index]
    start, end, nodes = (everybody[column].to_numpy() for column in columns)
    total = next(iter(schedule.system.partitions.values()))
    rows = []
    for place, numbers in enumerate(node_numbers(start, end, nodes, total)):
        kind = "regular" if place < len(jobs) else "container"
        for block in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
            rows.append((labels[place], kind, start[place], end[place], block[0], len(block)))
    return pd.DataFrame(rows, columns=["label", "kind", "start", "end", "first", "nodes"])


def _single_runs(schedule: FilledSchedule) -> pd.DataFrame:
    """A row a container and run, from its start until it is saved, in order of starts."""
    table = schedule.containers
    table = table.loc[table.index.repeat(table["nodes"])].assign(nodes=1)
    length = (table["end_time"] - table["start_time"]) / table["starts"]
    runs = table.loc[:, ["start_time", "end_time", "nodes"]].reset_index(drop=True)
    starts, length = table["starts"].to_numpy(), length.to_numpy()
    number = np.concatenate([np.arange(count) for count in starts]) if len(starts) else starts
    runs = runs.loc[runs.index.repeat(starts)]
    begin = runs["start_time"].to_numpy() + number * np.repeat(length, starts)
    runs = runs.assign(start_time=begin, end_time=begin + np.repeat(length, starts))
    return runs.sort_values("start_time", kind="stable", ignore_index=True)


def plot_use(
    runs: Sequence[FilledSchedule], *, chosen: str, start: float, end: float, title: str
) -> go.Figure:
    """Who holds the nodes over time under one policy; beside it what all policies use them for.

    Always nine traces: two areas, a bar a use, and the utilization of each policy.

    Parameters
    ----------
    runs : sequence of FilledSchedule
        The same jobs under several policies.
    chosen : str
        The policy whose nodes are shown over time.
    start, end : float
        The window, seconds.
    title : str
    """
    picture = make_subplots(cols=2, column_widths=[0.5, 0.5], horizontal_spacing=0.19)
    shown = next(run for run in runs if run.policy == chosen)
    for trace in _areas(held_table(shown, start, end), start):
        picture.add_trace(trace, row=1, col=1)
    table = use_table(runs, start=start, end=end)
    for trace in _use_bars(table):
        picture.add_trace(trace, row=1, col=2)
    total = float(table[list(USES)].iloc[0].sum())
    theme.style(picture, title=title, height=500, barmode="stack", bargap=0.35)
    picture.update_layout(
        margin={"t": 60, "b": 125},
        legend={"orientation": "h", "traceorder": "normal", "x": 0, "y": -0.2, "yanchor": "top"},
    )
    picture.update_xaxes(title="hours", range=[0, (end - start) / HOUR], col=1)
    picture.update_yaxes(title="nodes", range=[0, shown.system.total_nodes], col=1)
    picture.update_xaxes(title="node-hours", range=[0, 1.2 * total], nticks=6, col=2)
    return picture.update_yaxes(autorange="reversed", col=2)


def held_table(schedule: FilledSchedule, start: float, end: float) -> pd.DataFrame:
    """Nodes that `regular` jobs and `containers` hold from each instant on, within a window."""
    jobs, table = schedule.jobs, schedule.containers
    series = []
    for held in (jobs, table):
        columns = (held[column].to_numpy() for column in ("start_time", "end_time", "nodes"))
        times, nodes = step_function(*columns)
        series.append(pd.Series(nodes, index=times))
    both = pd.concat(series, axis=1, keys=["regular", "containers"]).sort_index()
    both = both.reindex(both.index.union([start, end])).ffill().fillna(0)
    both = both[(both.index >= start) & (both.index <= end)].astype("int64")
    return both.rename_axis("time")


def use_table(
    runs: Sequence[FilledSchedule], *, start: float | None = None, end: float | None = None
) -> pd.DataFrame:
    """Node-hours by policy and use, and `utilization`, the part of them that does work.

    Returns
    -------
    pd.DataFrame
        A column each of `USES`, which add up to what the machine offers in the window:
        `containers` is what a container computes at its speed, `slow` what a regular job would
        have computed more in that time.
    """
    rows = {}
    for run in runs:
        use = node_seconds(run, start=start, end=end) / HOUR
        use["containers"] = run.speed * use["computing"]
        use["slow"] = use["computing"] - use["containers"]
        rows[run.policy] = use[list(USES)]
        rows[run.policy]["utilization"] = efficiency(run, start=start, end=end)
    return pd.DataFrame(rows).T.rename_axis("policy")


def _areas(held: pd.DataFrame, start: float) -> list[go.Scatter]:
    """Regular jobs, and containers upon them."""
    hours = ((held.index.to_numpy() - start) / HOUR).round(3)
    areas = []
    for column, name in (("regular", "regular jobs"), ("containers", "nodes of containers")):
        _, tint, shape = USES[column]
        areas.append(
            go.Scatter(
                x=hours, y=held[column].to_numpy(), name=name, mode="lines", stackgroup="nodes",
                line={"shape": "hv", "width": 0.5, "color": tint}, showlegend=False, fillcolor=tint,
                fillpattern={"shape": shape, "fillmode": "replace", "fgcolor": theme.BLACK,
                             "bgcolor": tint, "fgopacity": 0.4, "solidity": 0.15, "size": 7}
                if shape else {},
                hovertemplate="hour %{x}: %{y} nodes",
            )
        )  # fmt: skip
    return areas


def _use_bars(table: pd.DataFrame) -> list[go.Bar | go.Scatter]:
    """A bar a use, stacked policy by policy, and the utilization behind them."""
    bars: list[go.Bar | go.Scatter] = []
    for use, (name, tint, shape) in USES.items():
        pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": theme.BLACK,
                   "fgopacity": 0.5, "solidity": 0.15, "size": 7}  # fmt: skip
        bars.append(
            go.Bar(
                y=list(table.index), x=table[use].to_numpy(dtype=float).round(2), name=name,
                orientation="h", hovertemplate="%{y}: %{x:,.1f} node-hours",
                marker={"color": tint, "line": {"color": theme.BLACK, "width": 0.5},
                        "pattern": pattern},
            )
        )  # fmt: skip
    total = table[list(USES)].sum(axis=1).to_numpy()
    told = [f" {share:.1%}" for share in table["utilization"]]
    bars.append(
        go.Scatter(
            y=list(table.index), x=total.round(2), mode="text", text=told, showlegend=False,
            textposition="middle right", hoverinfo="skip", cliponaxis=False, name="utilization",
        )
    )  # fmt: skip
    return bars


def plot_load(
    table: pd.DataFrame, *, title: str, reference: tuple[float, str] | None = None
) -> go.Figure:
    """Mean load against the accuracy of estimates, its spread shaded, a line a queue depth.

    Parameters
    ----------
    table : pd.DataFrame
        As `load_table` gives it.
    title : str
    reference : tuple of float and str, optional
        A dashed horizontal line and its name.
    """
    picture = theme.figure(title=title, height=470)
    for place, (depth, part) in enumerate(table.groupby("queue_depth", sort=False)):
        tint = theme.CYCLE[place % len(theme.CYCLE)]
        picture.add_trace(_band(part, tint))
        picture.add_scatter(
            x=part["accuracy"], y=part["load"].round(5), mode="lines+markers",
            name=f"{depth} jobs wait", legendgroup=str(depth),
            line={"color": tint, "dash": theme.DASHES[place % len(theme.DASHES)], "width": 1.8},
            marker={"symbol": theme.MARKERS[place % len(theme.MARKERS)], "size": 7, "color": tint},
        )  # fmt: skip
    if reference is not None:
        value, name = reference
        picture.add_hline(
            value, line={"dash": "dash", "width": 1, "color": theme.BLACK},
            annotation={"text": name, "font": {"size": 11}}, annotation_position="bottom right",
        )  # fmt: skip
    picture.update_layout(
        margin_b=115, legend={"orientation": "h", "y": -0.24, "yanchor": "top", "x": 0}
    )
    picture.update_xaxes(title="accuracy of estimates, p", range=[-0.02, 1.02])
    return picture.update_yaxes(title="average load", tickformat=".2f", title_standoff=12)


def _band(part: pd.DataFrame, tint: str) -> go.Scatter:
    """Mean less and plus the spread, shaded."""
    low, high = part["load"] - part["spread"], part["load"] + part["spread"]
    return go.Scatter(
        x=[*part["accuracy"], *part["accuracy"][::-1]],
        y=[*high.round(5), *low[::-1].round(5)],
        mode="lines", line={"width": 0}, fill="toself", fillcolor=faded(tint, 0.15),
        hoverinfo="skip", showlegend=False, legendgroup=str(part["queue_depth"].iloc[0]),
    )  # fmt: skip


def load_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread over seeds.

    Parameters
    ----------
    runs : pd.DataFrame
        One run a row: `queue_depth`, `accuracy`, `seed`, `load`.

    Returns
    -------
    pd.DataFrame
        One row a queue depth and accuracy: `load`, its mean; `spread`, its standard deviation;
        `lowest`, `highest`, and the number of `seeds`.
    """
    grouped = runs.groupby(["queue_depth", "accuracy"], sort=False)["load"]
    table = grouped.agg(["mean", "std", "min", "max", "count"])
    table.columns = pd.Index(["load", "spread", "lowest", "highest", "seeds"])
    return table.fillna({"spread": 0.0}).reset_index()
