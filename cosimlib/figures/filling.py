"""Gantt chart of a filled machine, use of its nodes by policy, and load by accuracy."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.figures import theme
from cosimlib.figures.footnotes import footnote
from cosimlib.figures.gantt import faded, plot_nodes
from cosimlib.figures.nothing import plot_nothing
from cosimlib.filling import FilledSchedule, held_table, use_table
from cosimlib.placement import lowest_blocks
from cosimlib.units import HOUR

USE_STYLES = {
    "regular": ("regular jobs", theme.BLUE, ""),
    "containers": ("work in containers", theme.GREEN, "/"),
    "slow": ("lost: containers are slower", theme.YELLOW, "."),
    "overhead": ("lost: start and save", theme.ORANGE, "\\"),
    "lost": ("lost: killed", theme.VERMILION, "x"),
    "idle": ("idle", "#FFFFFF", ""),
}
"""Name, color and pattern of each use of node-hours in `use_table`."""


def plot_filling(schedule: FilledSchedule, *, title: str) -> go.Figure:
    """Gantt chart of a small schedule, slot by slot and node by node; containers are hatched.

    Parameters
    ----------
    schedule : FilledSchedule
        Of few jobs. Jobs are labeled 1, 2, …, containers a1, a2, ….
    title : str
    """
    check.instance("schedule", schedule, FilledSchedule)
    return plot_nodes(
        node_table(schedule), title=title, unit=schedule.slot, unit_name="time slot",
        node_name="CPU slot",
    )  # fmt: skip


def node_table(schedule: FilledSchedule) -> pd.DataFrame:
    """Blocks of neighboring nodes held by each job and container.

    Returns
    -------
    pd.DataFrame
        `label`, `kind` (`regular` or `container`), `start`, `end` (s), `first` (node, from 0) and
        `nodes`. Lowest free numbers first; containers choose after regular jobs.
    """
    check.instance("schedule", schedule, FilledSchedule)
    jobs, runs = schedule.jobs, _single_runs(schedule)
    columns = ["start_time", "end_time", "nodes"]
    rows = pd.concat([jobs[columns], runs[columns]], ignore_index=True)
    rows["label"] = [f"{job + 1}" for job in jobs.index] + [f"a{run + 1}" for run in runs.index]
    rows["kind"] = np.where(rows.index < len(jobs), "regular", "container")
    start, end, nodes = (rows[name].to_numpy() for name in columns)
    blocks = lowest_blocks(start, end, nodes, schedule.total_nodes)
    table = rows.loc[blocks["row"], ["label", "kind"]].reset_index(drop=True)
    return table.join(blocks[["start", "end", "node", "nodes"]]).rename(columns={"node": "first"})


def _single_runs(schedule: FilledSchedule) -> pd.DataFrame:
    """One row per container and run, from its start until it is saved, in order of starts."""
    table = schedule.containers
    runs = table.loc[table.index.repeat(table["nodes"] * table["starts"])]
    number = runs.groupby(level=0).cumcount() % runs["starts"]
    length = (runs["end_time"] - runs["start_time"]) / runs["starts"]
    begin = runs["start_time"] + number * length
    runs = pd.DataFrame({"start_time": begin, "end_time": begin + length, "nodes": 1})
    return runs.sort_values("start_time", kind="stable", ignore_index=True)


def plot_use(
    runs: Sequence[FilledSchedule], *, chosen: str, start: float, end: float, title: str
) -> go.Figure:
    """Nodes held over time under one policy, and node-hours by use under all.

    Always nine traces: two areas, one bar per use, and the utilization of each policy.

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
    longest = max(len(run.policy) for run in runs)
    # The names of policies stand between the panels.
    spacing = 0.19 + 0.008 * max(0, longest - len("filling B, save"))
    picture = make_subplots(cols=2, column_widths=[0.5, 0.5], horizontal_spacing=spacing)
    shown = next(run for run in runs if run.policy == chosen)
    for trace in _areas(held_table(shown, start, end), start):
        picture.add_trace(trace, row=1, col=1)
    table = use_table(runs, start=start, end=end)
    for trace in _use_bars(table):
        picture.add_trace(trace, row=1, col=2)
    total = float(table[list(USE_STYLES)].iloc[0].sum())
    theme.style(picture, title=title, height=500, barmode="stack", bargap=0.35)
    picture.update_layout(
        margin={"t": 60, "b": 125},
        legend={"orientation": "h", "traceorder": "normal", "x": 0, "y": -0.2, "yanchor": "top"},
    )
    hours = theme.hours_since(shown.workload.began, "hours", start=start)
    picture.update_xaxes(title=hours, range=[0, (end - start) / HOUR], col=1)
    picture.update_yaxes(title="nodes", range=[0, shown.system.total_nodes], col=1)
    picture.update_xaxes(title="node-hours", range=[0, 1.2 * total], nticks=6, col=2)
    return picture.update_yaxes(autorange="reversed", col=2)


def _areas(held: pd.DataFrame, start: float) -> list[go.Scatter]:
    """Nodes of regular jobs, and of containers on top of them."""
    hours = ((held.index.to_numpy() - start) / HOUR).round(3)
    areas = []
    for column, name in (("regular", "regular jobs"), ("containers", "nodes of containers")):
        _, tint, shape = USE_STYLES[column]
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
    """One bar per use, stacked by policy, and the utilization at their end."""
    bars: list[go.Bar | go.Scatter] = []
    for use, (name, tint, shape) in USE_STYLES.items():
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
    total = table[list(USE_STYLES)].sum(axis=1).to_numpy()
    labels = [f" {percent(share, 1)}" for share in table["utilization"]]
    bars.append(
        go.Scatter(
            y=list(table.index), x=total.round(2), mode="text", text=labels, showlegend=False,
            textposition="middle right", hoverinfo="skip", cliponaxis=False, name="utilization",
        )
    )  # fmt: skip
    return bars


def plot_load(
    table: pd.DataFrame, *, title: str, reference: tuple[float, str] | None = None, why: str = ""
) -> go.Figure:
    """Mean load against the accuracy of estimates, its spread shaded, one line per queue depth.

    Parameters
    ----------
    table : pd.DataFrame
        As `filling.load_table` returns it; a panel for each `variant`.
    title : str
    reference : tuple of float and str, optional
        A dashed horizontal line and its name in the legend.
    why : str
        Said in the place of the figure where the table has no rows.
    """
    check.instance("table", table, pd.DataFrame)
    if table.empty:
        return plot_nothing(title, why or "no load was measured")
    variants = list(dict.fromkeys(table["variant"]))
    headings = [f"({'abcdef'[place]}) {name}" for place, name in enumerate(variants)]
    picture = make_subplots(
        cols=len(variants), shared_yaxes=True, horizontal_spacing=0.04,
        subplot_titles=headings if len(variants) > 1 else None,
    )  # fmt: skip
    for column, variant in enumerate(variants, start=1):
        part = table[table["variant"] == variant]
        for trace in _load_lines(part):
            trace.showlegend = trace.showlegend and column == 1
            picture.add_trace(trace, row=1, col=column)
    theme.style(picture, title=title, height=520, margin={"t": 95, "b": 145})
    if reference is not None:
        value, name = reference
        line = {"dash": "dash", "width": 1, "color": theme.BLACK}
        picture.add_hline(value, line=line)
        picture.add_scatter(x=[None], y=[None], mode="lines", name=name, line=line)
    picture.update_layout(legend={"orientation": "h", "y": -0.25, "yanchor": "top", "x": 0})
    picture.update_xaxes(title="accuracy of estimates, p", range=[-0.02, 1.02])
    picture.update_yaxes(title="average load", tickformat=".2f", title_standoff=12, col=1)
    load = "Load: part of the node-seconds that regular jobs hold."
    footnote(picture, f"{load} p: probability that an estimate is exact.")
    bands = "Lines are means over seeds, bands one standard deviation to either side."
    return footnote(picture, bands)


def _load_lines(table: pd.DataFrame) -> list[go.Scatter]:
    """A band and a line per queue depth."""
    traces = []
    for place, (depth, part) in enumerate(table.groupby("queue_depth", sort=False)):
        tint = theme.CYCLE[place % len(theme.CYCLE)]
        line = go.Scatter(
            x=part["accuracy"], y=part["load"].round(5), mode="lines+markers",
            name=f"{depth} jobs wait", legendgroup=str(depth), showlegend=True,
            line={"color": tint, "dash": theme.DASHES[place % len(theme.DASHES)], "width": 1.8},
            marker={"symbol": theme.MARKERS[place % len(theme.MARKERS)], "size": 7, "color": tint},
        )  # fmt: skip
        traces += [_band(part, tint), line]
    return traces


def _band(part: pd.DataFrame, tint: str) -> go.Scatter:
    """The band from the mean less the spread to the mean plus the spread."""
    low, high = part["load"] - part["spread"], part["load"] + part["spread"]
    return go.Scatter(
        x=[*part["accuracy"], *part["accuracy"][::-1]],
        y=[*high.round(5), *low[::-1].round(5)],
        mode="lines", line={"width": 0}, fill="toself", fillcolor=faded(tint, 0.15),
        hoverinfo="skip", showlegend=False, legendgroup=str(part["queue_depth"].iloc[0]),
    )  # fmt: skip
