"""Figures of a report on a log: weeks, waits, a window node by node, nodes for others.

Times are seconds of the log; where it tells when it began, axes show dates, and days since its
start otherwise.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.figures.gantt import faded
from cosimlib.units import DAY, HOUR, MINUTE

QUANTILES = {
    "median": ("half of the jobs wait no longer", "circle", theme.BLUE),
    "p90": ("90 % of them", "diamond", theme.ORANGE),
    "p99": ("99 % of them", "triangle-right", theme.VERMILION),
}
"""Columns of waits, with name, marker and color."""


MILLISECOND = 1e-3
"""The unit of bars' lengths on an axis of dates, seconds."""

USERS = (*theme.CYCLE[:-1], theme.YELLOW, "#8C6D31")


AREAS = ((theme.ORANGE, "\\"), (theme.SKY, "/"), (theme.BLUE, ""), (theme.YELLOW, "."))
"""Color and pattern of nested areas, the largest first."""


def plot_weeks(table: pd.DataFrame, *, title: str, began: pd.Timestamp | None = None) -> go.Figure:
    """Offered load and utilization, the queue, and jobs submitted, week by week.

    Parameters
    ----------
    table : pd.DataFrame
        As `report.weekly_use` returns it.
    title : str
    began : pd.Timestamp, optional
        When second 0 of the log was.
    """
    check.instance("table", table, pd.DataFrame)
    picture = make_subplots(rows=3, shared_xaxes=True, vertical_spacing=0.05)
    edges = np.append(table["begin"], table["begin"].iloc[-1] + table["days"].iloc[-1] * DAY)
    when, axis = theme.over_time(edges, began)
    panels = (
        ("offered_load", 100, "offered load", theme.ORANGE, "dot", 1),
        ("utilization", 100, "utilization", theme.BLUE, "solid", 1),
        ("waiting_jobs", 1, "jobs waiting (mean)", theme.VERMILION, "solid", 2),
        ("jobs", 1, "jobs submitted", theme.GREEN, "solid", 3),
    )
    for column, factor, name, tint, dash, row in panels:
        values = (factor * table[column]).round(3).tolist()
        trace = go.Scatter(
            x=when, y=[*values, values[-1]], name=name, mode="lines", showlegend=row == 1,
            line={"shape": "hv", "width": 1.8, "color": tint, "dash": dash},
        )  # fmt: skip
        picture.add_trace(trace, row=row, col=1)
    theme.style(picture, title=title, height=560, margin={"t": 90})
    legend = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.01, "yanchor": "bottom"}
    picture.update_layout(legend=legend)
    for row, name in enumerate(("percent of<br>the machine", "jobs waiting<br>(mean)",
                                "jobs<br>submitted"), start=1):  # fmt: skip
        picture.update_yaxes(title=name, rangemode="tozero", row=row)
    return picture.update_xaxes(**axis, row=3).update_xaxes(title_standoff=8)


def plot_waits(tables: Mapping[str, pd.DataFrame], *, title: str) -> go.Figure:
    """Median, 90th and 99th percentile of the wait by groups of jobs, one panel per grouping.

    Parameters
    ----------
    tables : mapping of str to pd.DataFrame
        By the panel's heading, as `report.waits_by` returns them. Waits below a minute are drawn at
        a minute.
    title : str
    """
    check.instance("tables", tables, Mapping)
    headings = [f"({'abcde'[place]}) {name}" for place, name in enumerate(tables)]
    picture = make_subplots(cols=len(tables), horizontal_spacing=0.13, subplot_titles=headings)
    for column, table in enumerate(tables.values(), start=1):
        groups = [str(group) for group in table.index]
        for quantile, (name, symbol, tint) in QUANTILES.items():
            picture.add_trace(
                go.Scatter(
                    x=table[quantile].clip(lower=MINUTE / HOUR).round(4).tolist(), y=groups,
                    name=name, mode="markers", marker={"symbol": symbol, "color": tint, "size": 9},
                    showlegend=column == 1, customdata=table["jobs"].tolist(),
                    hovertemplate=f"%{{y}}, %{{customdata}} jobs: {name}: %{{x}} h<extra></extra>",
                ), row=1, col=column,
            )  # fmt: skip
        # Of sizes such as "1" Plotly would make numbers.
        picture.update_yaxes(
            type="category", categoryorder="array", categoryarray=groups[::-1], col=column
        )
    theme.style(picture, title=title, height=460, margin={"t": 95, "b": 115})
    legend = {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top"}
    picture.update_layout(legend=legend)
    return picture.update_xaxes(
        title="wait (hours)", type="log", range=[-2, _last_power(tables.values())],
        tickvals=[1 / 60, 1, 10, 100, 1000], ticktext=["≤ 1 min", "1", "10", "100", "1,000"],
        tickangle=0, title_standoff=8,
    )  # fmt: skip


def plot_wait_classes(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Percent of the jobs by recorded wait and by wait under a policy; on the diagonal both agree.

    Parameters
    ----------
    table : pd.DataFrame
        As `report.wait_classes` returns it.
    title : str
    """
    check.instance("table", table, pd.DataFrame)
    values = table.to_numpy(dtype=float).round(1)
    texts = [[f"{value:.1f}" if value >= 0.05 else "" for value in row] for row in values]
    names = [str(name) for name in table.columns]
    picture = theme.figure(title=title, height=500)
    picture.add_heatmap(
        z=values.tolist(), x=names, y=names, text=texts, texttemplate="%{text}",
        colorscale=[[0.0, "#FFFFFF"], [1.0, theme.SKY]], colorbar={"title": {"text": "% of jobs"}},
        hovertemplate="recorded %{y}, replayed %{x}: %{z} %<extra></extra>",
    )  # fmt: skip
    picture.update_xaxes(title=f"wait under {table.columns.name}", showgrid=False)
    return picture.update_yaxes(title="recorded wait", showgrid=False, title_standoff=14)


def plot_window(
    blocks: pd.DataFrame, *, total_nodes: int, title: str, began: pd.Timestamp | None = None
) -> go.Figure:
    """A Gantt chart of a window, node by node, jobs colored by user.

    Parameters
    ----------
    blocks : pd.DataFrame
        As `report.window_blocks` returns it.
    total_nodes : int
        Of the machine: a line above which a record holds more nodes than there are.
    title : str
    began : pd.Timestamp, optional
        When second 0 of the log was.
    """
    check.instance("blocks", blocks, pd.DataFrame)
    picture = theme.figure(title=title, height=580, barmode="overlay", margin={"b": 165})
    start, axis, unit = _window_axis(blocks["start"].to_numpy(), blocks["end"].max(), began)
    length = ((blocks["end"] - blocks["start"]) / unit).round(4)
    for place, (user, rows) in enumerate(blocks.groupby("user", observed=True)):
        tint = theme.GREY if user == "all others" else USERS[place % len(USERS)]
        picture.add_bar(
            base=start[rows.index].tolist(), x=length[rows.index].tolist(),
            y=(rows["node"] + rows["nodes"] / 2).tolist(), width=rows["nodes"].tolist(),
            orientation="h", name=str(user), customdata=rows[["job", "nodes"]].to_numpy().tolist(),
            marker={"color": faded(tint, 0.75), "line": {"color": theme.BLACK, "width": 0.3}},
            hovertemplate="job %{customdata[0]}, %{customdata[1]} nodes",
        )  # fmt: skip
    top = max(total_nodes, int((blocks["node"] + blocks["nodes"]).max()))
    if top > total_nodes:
        picture.add_hline(total_nodes, line={"dash": "dash", "width": 1.5, "color": theme.BLACK},
                          annotation={"text": "all nodes of the machine",
                                      "bgcolor": "rgba(255,255,255,0.8)"})  # fmt: skip
    picture.update_layout(legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"})
    picture.update_yaxes(
        title="node", range=[0, top], tick0=0, dtick=theme.whole_step(top, 7), showgrid=False
    )
    return picture.update_xaxes(**axis, title_standoff=8)


def plot_freeable(
    table: pd.DataFrame, *, total_nodes: int, title: str, began: pd.Timestamp | None = None
) -> go.Figure:
    """Nodes that can be freed without loss within some minutes, over time.

    Parameters
    ----------
    table : pd.DataFrame
        `Freeable.nodes` of `report.freeable_nodes`.
    total_nodes : int
    title : str
    began : pd.Timestamp, optional
        When second 0 of the log was.
    """
    check.instance("table", table, pd.DataFrame)
    picture = theme.figure(title=title, height=440, margin={"b": 130})
    by_deadline = sorted(table.groupby("deadline"), reverse=True)
    for place, (deadline, rows) in enumerate(by_deadline):
        nodes = (rows["idle"] + rows["ending"] + rows["saved"]).clip(upper=total_nodes)
        times, axis = theme.over_time(rows["time"].to_numpy(), began)
        tint, shape = AREAS[place % len(AREAS)]
        pattern = {"shape": shape, "bgcolor": tint, "fgcolor": theme.BLACK, "fgopacity": 0.35,
                   "solidity": 0.12, "size": 8}  # fmt: skip
        picture.add_scatter(
            x=times, y=nodes.tolist(), mode="lines",
            name=f"within {deadline} min" if deadline else "at once (idle)", fill="tozeroy",
            fillcolor=tint, fillpattern=pattern if shape else {},
            line={"shape": "hv", "width": 0.4, "color": theme.BLACK},
        )  # fmt: skip
    picture.add_hline(
        total_nodes, line={"dash": "dash", "width": 1, "color": theme.BLACK},
        annotation={"text": f"all {total_nodes:,} nodes", "font": {"size": 11}},
        annotation_position="top left",
    )  # fmt: skip
    picture.update_layout(legend={"orientation": "h", "x": 0, "y": -0.29, "yanchor": "top"})
    picture.update_xaxes(**axis, title_standoff=8)
    return picture.update_yaxes(title="nodes", range=[0, 1.1 * total_nodes])


def plot_idle(idle: pd.DataFrame, lent: pd.DataFrame, *, total_nodes: int, title: str) -> go.Figure:
    """Idle node-hours by length of the stretch, and nodes that could be lent for hours.

    Parameters
    ----------
    idle, lent : pd.DataFrame
        As `report.idle_by_length` and `report.lendable_nodes` return them.
    total_nodes : int
    title : str
    """
    check.instance("idle", idle, pd.DataFrame)
    picture = make_subplots(
        cols=2, horizontal_spacing=0.16, subplot_titles=["(a) idle nodes", "(b) nodes to lend"]
    )
    share = (100 * idle["share"]).round(3)
    bars = go.Bar(
        y=[str(name) for name in idle.index], x=share.tolist(), orientation="h", showlegend=False,
        text=[f"{value:.1f} %" for value in share], textposition="outside", cliponaxis=False,
        marker={"color": theme.SKY, "line": {"color": theme.BLUE, "width": 1}},
    )  # fmt: skip
    picture.add_trace(bars, row=1, col=1)
    lines = {"mean": "mean", "median": "at half of the hours", "p10": "at 9 hours of 10"}
    lent = lent.astype("float64").round(2).astype({"hours": "int64"})
    for place, (column, name) in enumerate(lines.items()):
        line = go.Scatter(
            x=[str(hours) for hours in lent["hours"]], y=lent[column].tolist(), name=name,
            mode="lines+markers", line={"color": theme.CYCLE[place], "dash": theme.DASHES[place]},
            marker={"symbol": theme.MARKERS[place], "size": 8},
        )  # fmt: skip
        picture.add_trace(line, row=1, col=2)
    theme.style(picture, title=title, height=430, margin={"t": 95, "b": 125})
    picture.update_layout(
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": -0.27, "yanchor": "top"}
    )
    picture.update_yaxes(autorange="reversed", title="idle for", title_standoff=14, col=1)
    most = max(1.0, float(share.max()))
    picture.update_xaxes(title="percent of the machine's node-hours", range=[0, 1.25 * most], col=1)
    picture.update_yaxes(title=f"nodes of {total_nodes:,}", rangemode="tozero", col=2)
    picture.update_xaxes(title="hours lent for", type="category", col=2)
    return picture.update_xaxes(title_standoff=8)


def _window_axis(
    start: np.ndarray, end: float, began: pd.Timestamp | None
) -> tuple[np.ndarray, dict[str, Any], float]:
    """Starts (s) and options of an axis from the first of them to `end`, and a bar's unit (s)."""
    if began is None:
        first = start.min()
        hours = {"title": "hours since the start of the window", "range": [0, (end - first) / HOUR]}
        return ((start - first) / HOUR).round(5), hours, HOUR
    dates, axis = theme.over_time(start, began)
    edges = theme.over_time(np.array([start.min(), end]), began)[0].tolist()
    return dates, {**axis, "range": edges}, MILLISECOND


def _last_power(tables: Any) -> float:
    """The power of ten at which an axis of waits in hours ends."""
    longest = max([float(table["p99"].max()) for table in tables if len(table)], default=1.0)
    return float(np.log10(max(longest, 1.0)) + 0.15)
