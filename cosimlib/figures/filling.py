"""Use of a filled machine: its nodes over time, and node-hours by policy."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib.display import percent
from cosimlib.figures import theme
from cosimlib.filling import FilledSchedule, held_table, use_table
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
