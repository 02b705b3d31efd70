"""Preemption vectors over time, and the wasted cycles that add up."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib.figures import theme
from cosimlib.units import DAY, HOUR

POINTS = 400
LABELS = 30
"""Nodes or jobs that have room for their numbers along an axis."""
FEW = 8
"""An axis of fewer jobs leaves room for so many; one of up to so many nodes names each number."""
FATES = {"kill": "killed", "spare": "ends within the grace period", "keep": "not touched"}
VECTOR_SCALE = [[0.0, "#FFFFFF"], [0.5, "#7BA7C7"], [1.0, "#08306B"]]


def plot_vectors(
    vectors: dict[str, pd.DataFrame],
    *,
    title: str,
    intervals: pd.DataFrame | None = None,
) -> go.Figure:
    """Preemption vectors as heat maps, nodes over days: one panel a policy, dark is valuable.

    Parameters
    ----------
    vectors : dict of str to pd.DataFrame
        By policy, as `preemption_values` gives them, at evenly spaced moments.
    title : str
    intervals : pd.DataFrame, optional
        Boxes to mark: `start`, `end` (s), `first`, `last` (nodes).
    """
    picture = make_subplots(
        rows=len(vectors), shared_xaxes=True, vertical_spacing=0.09,
        subplot_titles=[f"({'abcde'[place]}) {name}" for place, name in enumerate(vectors)],
    )  # fmt: skip
    for row, table in enumerate(vectors.values(), start=1):
        trace = vector_trace(table)
        picture.add_trace(trace.update(showscale=row == 1), row=row, col=1)
        for box in () if intervals is None else intervals.itertuples():
            picture.add_shape(
                type="rect", x0=box.start / DAY, x1=box.end / DAY, y0=box.first - 0.5,
                y1=box.last + 0.5, line={"color": theme.VERMILION, "width": 2}, row=row, col=1,
            )  # fmt: skip
        picture.update_yaxes(title="node", showgrid=False, dtick=2, row=row)
    theme.style(picture, title=title, height=130 + 220 * len(vectors), margin={"t": 95})
    picture.update_xaxes(showgrid=False)
    return picture.update_xaxes(title="days since the start", row=len(vectors))


def vector_trace(values: pd.DataFrame) -> go.Heatmap:
    """The heat map of one policy's vectors, nodes over days."""
    return go.Heatmap(
        x=(values.index.to_numpy() / DAY).round(4), y=values.columns.to_numpy(),
        z=values.to_numpy().T.round(3), zmin=0, zmax=1, colorscale=VECTOR_SCALE,
        colorbar={"title": {"text": "value"}, "thickness": 16},
        hovertemplate="day %{x}, node %{y}: value %{z}<extra></extra>",
    )  # fmt: skip


def plot_preemption(
    values: pd.DataFrame, jobs: pd.DataFrame, *, at: float, taken: Sequence[int], title: str
) -> go.Figure:
    """Vectors around a moment with the nodes taken then; beside them what becomes of which job.

    Parameters
    ----------
    values : pd.DataFrame
        As `preemption_values` gives it, at evenly spaced moments.
    jobs : pd.DataFrame
        The jobs that run at the moment, by the names to show: `nodes`, `nodes_taken`, `elapsed`,
        `remaining` (s), `wasted_cycles` (node-seconds), `fate` (one of `FATES`).
    at : float
        The moment, seconds.
    taken : sequence of int
        The nodes preempted.
    title : str
    """
    picture = make_subplots(rows=1, cols=2, horizontal_spacing=0.27, column_widths=[0.58, 0.42])
    colorbar = {"x": 0.43, "thickness": 14, "title": {"text": "value", "side": "right"}}
    picture.add_trace(vector_trace(values).update(colorbar=colorbar), row=1, col=1)
    picture.add_trace(_taken_trace(at, taken), row=1, col=1)
    for trace in _fate_traces(jobs):
        picture.add_trace(trace, row=1, col=2)
    picture.add_vline(at / DAY, line={"color": theme.VERMILION, "width": 1.5}, row=1, col=1)
    theme.style(picture, title=title, height=540, barmode="stack", bargap=0.15)
    picture.update_layout(
        margin={"t": 60, "b": 105},
        legend={"orientation": "h", "traceorder": "normal", "x": 1, "xanchor": "right",
                "y": -0.18, "yanchor": "top"},
    )  # fmt: skip
    # Fixed ranges, so that the axes stand still while knobs of the preemption move.
    days, nodes = values.index.to_numpy() / DAY, values.shape[1]
    margin = {"showgrid": False, "col": 1}
    picture.update_xaxes(title="days since the start", range=[days[0], days[-1]], **margin)
    picture.update_yaxes(title="node", range=[-0.5, nodes - 0.5], dtick=_every(nodes), **margin)
    whole = 1 if jobs["nodes"].max() <= FEW else None
    picture.update_xaxes(title="nodes that the job holds", rangemode="tozero", dtick=whole, col=2)
    return picture.update_yaxes(
        range=[max(len(jobs), FEW) - 0.5, -0.5],
        type="category", dtick=_every(len(jobs)), tickfont_size=11, col=2,
    )  # fmt: skip


def _every(shown: int) -> int:
    """How many categories apart labels have room."""
    return max(1, -(-shown // LABELS))


def _taken_trace(at: float, taken: Sequence[int]) -> go.Scatter:
    """A square on every node that is preempted."""
    return go.Scatter(
        x=[at / DAY] * len(taken), y=list(taken), mode="markers", name="preempted node",
        hovertemplate="node %{y} is preempted<extra></extra>",
        marker={"symbol": "square-open", "size": 9, "color": theme.VERMILION,
                "line": {"width": 2, "color": theme.VERMILION}},
    )  # fmt: skip


def _fate_traces(jobs: pd.DataFrame) -> list[go.Bar]:
    """One bar trace a fate, in the order of `FATES`."""
    told = np.column_stack(
        [jobs["nodes_taken"], (jobs["elapsed"] / HOUR).round(2),
         (jobs["remaining"] / HOUR).round(2), (jobs["wasted_cycles"] / HOUR).round(2)]
    )  # fmt: skip
    return [
        # Names, not numbers: a live figure forgets that an axis has categories and draws nothing.
        go.Bar(
            y=[f"job {job}" for job in jobs.index],
            x=np.where(jobs["fate"] == fate, jobs["nodes"], 0),
            orientation="h", name=name, customdata=told, marker=theme.patterned(fate),
            hovertemplate="%{y}: %{x} nodes, %{customdata[0]} of them preempted<br>ran "
            "%{customdata[1]} h, %{customdata[2]} h to go<br>%{customdata[3]} node-hours wasted",
        )
        for fate, name in FATES.items()
    ]  # fmt: skip


def cumulative_table(cumulative: pd.DataFrame) -> pd.DataFrame:
    """What `plot_cumulative` draws: at most 400 states of every curve, tidy, in node-hours.

    Parameters
    ----------
    cumulative : pd.DataFrame
        As `cumulative_waste` gives it.
    """
    rows = np.unique(np.linspace(0, len(cumulative) - 1, POINTS).round().astype(int))
    thinned = (cumulative.iloc[rows] / HOUR).round(1)
    tidy = thinned.melt(ignore_index=False, value_name="node_hours").reset_index()
    return tidy.assign(days=(tidy["time"] / DAY).round(4))


def plot_cumulative(cumulative: pd.DataFrame, *, title: str) -> go.Figure:
    """Cumulative wasted cycles over time, by policy: one panel and axis a priority."""
    table = cumulative_table(cumulative)
    names = {"high": "high-priority jobs", "default": "default-priority jobs"}
    picture = make_subplots(
        cols=2, horizontal_spacing=0.12,
        subplot_titles=[f"({'ab'[place]}) {name}" for place, name in enumerate(names.values())],
    )  # fmt: skip
    for column, priority in enumerate(names, start=1):
        for place, policy in enumerate(dict.fromkeys(table["policy"])):
            part = table[(table["policy"] == policy) & (table["priority"] == priority)]
            picture.add_scatter(
                x=part["days"].tolist(), y=part["node_hours"].tolist(), mode="lines", name=policy,
                line={"color": theme.CYCLE[place], "dash": theme.DASHES[place], "width": 2},
                legendgroup=policy, showlegend=column == 1, row=1, col=column,
            )  # fmt: skip
    theme.style(picture, title=title, height=430, margin={"t": 95, "b": 120})
    picture.update_layout(legend={"orientation": "h", "y": -0.3, "yanchor": "top", "x": 0})
    picture.update_xaxes(title="days since the start", title_standoff=8)
    picture.update_yaxes(rangemode="tozero")
    return picture.update_yaxes(title="node-hours, summed", col=1)


def plot_owners(owned: pd.DataFrame, *, title: str) -> go.Figure:
    """Who has how many nodes over time, stacked.

    Parameters
    ----------
    owned : pd.DataFrame
        As `nodes_owned` gives it.
    """
    picture = theme.figure(title=title, height=420, margin={"b": 120})
    days = (owned.index.to_numpy() / DAY).round(4).tolist()
    for place, owner in enumerate(owned):
        picture.add_scatter(
            x=days, y=owned[owner].tolist(), mode="lines", name=str(owner), stackgroup="nodes",
            line={"shape": "hv", "width": 0.5, "color": theme.CYCLE[place % len(theme.CYCLE)]},
        )  # fmt: skip
    picture.update_layout(legend={"orientation": "h", "y": -0.3, "yanchor": "top", "x": 0})
    picture.update_xaxes(title="days since the start", title_standoff=8)
    return picture.update_yaxes(title="nodes")
