"""Preemption vectors over time, and the wasted cycles that add up."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib.figures import theme

DAY, HOUR = 86_400.0, 3600.0
POINTS = 400
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
        picture.add_heatmap(
            x=(table.index.to_numpy() / DAY).round(4), y=table.columns.to_numpy(),
            z=table.to_numpy().T.round(3), zmin=0, zmax=1, colorscale=VECTOR_SCALE,
            showscale=row == 1, colorbar={"title": {"text": "value"}, "thickness": 16},
            hovertemplate="day %{x}, node %{y}: value %{z}<extra></extra>", row=row, col=1,
        )  # fmt: skip
        for box in () if intervals is None else intervals.itertuples():
            picture.add_shape(
                type="rect", x0=box.start / DAY, x1=box.end / DAY, y0=box.first - 0.5,
                y1=box.last + 0.5, line={"color": theme.VERMILION, "width": 2}, row=row, col=1,
            )  # fmt: skip
        picture.update_yaxes(title="node", showgrid=False, dtick=2, row=row)
    theme.style(picture, title=title, height=130 + 220 * len(vectors), margin={"t": 95})
    picture.update_xaxes(showgrid=False)
    return picture.update_xaxes(title="days since the start", row=len(vectors))


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
