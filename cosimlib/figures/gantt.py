"""Gantt charts: jobs as bars over time, one row per job or per node."""

import itertools
import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.units import HOUR

MOST_COUNTED = 12


def plot_gantt(
    table: pd.DataFrame,
    *,
    title: str,
    region: tuple[float, float] | None = None,
    moment: float | None = None,
) -> go.Figure:
    """One bar per job, the earliest at the bottom, with the nodes that it holds.

    Parameters
    ----------
    table : pd.DataFrame
        Indexed by job, in the order of the bars: `start` and `end` in seconds, `nodes`.
    title : str
    region : tuple of float, optional
        Seconds between which all jobs run, shaded and labeled.
    moment : float, optional
        Seconds of the eviction, drawn as a line.
    """
    check.instance("table", table, pd.DataFrame)
    rows = list(range(1, len(table) + 1))
    hours = (table[["start", "end"]] / HOUR).round(5)
    labels = [f"{nodes:,} node{'s' if nodes > 1 else ''}" for nodes in table["nodes"]]
    picture = theme.figure(title=title, height=150 + 22 * max(len(table), 8), showlegend=False)
    picture.add_bar(
        y=rows, x=(hours["end"] - hours["start"]).round(5), base=hours["start"], orientation="h",
        marker={"color": theme.SKY, "line": {"color": theme.BLUE, "width": 1}},
        text=labels, textposition="outside", textangle=0, cliponaxis=False,
        textfont={"size": 11, "color": theme.BLACK}, constraintext="none",
        customdata=table.index, hovertemplate="job %{customdata}, %{text}<extra></extra>",
    )  # fmt: skip
    if region is not None:
        _mark_region(picture, region)
    if moment is not None:
        picture.add_vline(moment / HOUR, line={"width": 2, "color": theme.VERMILION})
        picture.add_annotation(
            x=moment / HOUR, y=0, yref="paper", text="eviction", showarrow=False,
            yanchor="bottom", xanchor="left", xshift=3, font={"color": theme.VERMILION},
            bgcolor="rgba(255,255,255,0.8)",
        )  # fmt: skip
    last = float(hours["end"].max())
    picture.update_xaxes(title="hours since the earliest start", range=[0, 1.14 * last])
    return picture.update_yaxes(
        title="job",
        tickmode="array",
        tickvals=rows,
        ticktext=[str(job) for job in table.index],
        range=[0, rows[-1] + 1],
    )


def _mark_region(picture: go.Figure, region: tuple[float, float]) -> None:
    """Shade the stretch in which all jobs run and write its two moments above it."""
    begin, end = region
    picture.add_vrect(
        begin / HOUR, end / HOUR, fillcolor=theme.YELLOW, opacity=0.3, line_width=0, layer="below"
    )
    picture.add_annotation(
        x=(begin + end) / 2 / HOUR, y=1, yref="paper", showarrow=False, yanchor="bottom",
        text=f"all run from {clock(begin)} to {clock(end)}", font={"size": 12},
    )  # fmt: skip
    for moment in region:
        picture.add_vline(moment / HOUR, line={"dash": "dash", "width": 1, "color": theme.BLACK})


def clock(seconds: float) -> str:
    """Hours and minutes, ``02:41``."""
    minutes = int(seconds // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def plot_nodes(
    table: pd.DataFrame,
    *,
    title: str,
    unit: float = HOUR,
    unit_name: str = "hours",
    node_name: str = "node",
) -> go.Figure:
    """Blocks of nodes by number over time, each with its label.

    Parameters
    ----------
    table : pd.DataFrame
        One block per row: `label`; `first`, its lowest node, counted from 0, and `nodes`, how many
        neighbors it has from there; `start` and `end` in seconds; `kind`, of which ``"regular"``
        jobs are colored and others hatched in gray.
    title : str
    unit : float, default 3600.0
        Seconds to one unit of the horizontal axis, `unit_name` its name. Up to 12 units are
        counted 1, 2, … in their middle.
    node_name : str
        What the vertical axis counts.
    """
    check.instance("table", table, pd.DataFrame)
    rows = int((table["first"] + table["nodes"]).max())
    picture = theme.figure(title=title, height=170 + 46 * max(rows, 4), showlegend=False)
    jobs = dict.fromkeys(table["label"][table["kind"] == "regular"])
    tints = itertools.cycle((*theme.CYCLE[:-1], theme.YELLOW))
    colors = dict(zip(jobs, tints, strict=False))
    for block in table.itertuples():
        picture.add_trace(_block(block, unit, colors.get(block.label)))
        picture.add_annotation(
            x=round((block.start + block.end) / 2 / unit, 5), y=block.first + block.nodes / 2,
            text=f"<b>{block.label}</b>", showarrow=False, font={"size": 15},
        )  # fmt: skip
    last = float(table["end"].max()) / unit
    picture.update_xaxes(title=unit_name, range=[0, last], layer="below traces")
    if last <= MOST_COUNTED:
        units = range(math.ceil(last))
        picture.update_xaxes(
            tickmode="array", tickvals=[number + 0.5 for number in units],
            ticktext=[str(number + 1) for number in units], showgrid=False, ticks="",
        )  # fmt: skip
    return picture.update_yaxes(
        title=node_name, range=[0, rows], tickmode="array", showgrid=False,
        tickvals=[row + 0.5 for row in range(rows)], ticktext=[str(row + 1) for row in range(rows)],
    )  # fmt: skip


def _block(block: Any, unit: float, color: str | None) -> go.Scatter:
    """A labeled rectangle; hatched where no color is given."""
    left, right = round(block.start / unit, 5), round(block.end / unit, 5)
    low, high = block.first, block.first + block.nodes
    nodes = f"node {low + 1}" if block.nodes == 1 else f"nodes {low + 1} to {high}"
    look: dict[str, Any] = {"fillcolor": faded(color or theme.GREY)}
    if color is None:
        look = {"fillpattern": {"shape": "/", "bgcolor": "white", "fgcolor": theme.BLACK,
                                "fgopacity": 0.5, "solidity": 0.1, "size": 9}}  # fmt: skip
    return go.Scatter(
        x=[left, right, right, left, left], y=[low, low, high, high, low],
        mode="lines", fill="toself", line={"color": theme.BLACK, "width": 1},
        hoveron="fills", hoverinfo="text", hovertext=f"{block.label}: {nodes}", **look,
    )  # fmt: skip


def faded(color: str, opacity: float = 0.3) -> str:
    """A hexadecimal color, mostly transparent, so that what is on it or under it is legible."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
