"""Drawings of the study: a ledger of node-hours by policy, and a map of the best policies."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

import cosimlab as lab
from cosimlab.figures import theme
from cosimlab.figures.gantt import USES
from cosimlib.ondemand import LEDGER, OVERHEAD

NO_BURST = "no burst came"


def plot_ledger(hours: pd.DataFrame, costs: pd.DataFrame, *, title: str) -> go.Figure:
    """Where a machine's node-hours go by policy, to its capacity, and what evictions cost.

    Parameters
    ----------
    hours : pd.DataFrame
        Node-hours: one row per policy, the columns of `ondemand.LEDGER`.
    costs : pd.DataFrame
        Node-hours per burst: one row per policy, the columns of `ondemand.OVERHEAD`, and `low` and
        `high`, the interval of their sum.
    title : str
    """
    if hours.empty:
        return lab.figures.plot_empty(title, NO_BURST)
    picture = make_subplots(
        cols=2,
        column_widths=[0.5, 0.5],
        horizontal_spacing=0.05,
        shared_yaxes=True,
        subplot_titles=("(a) the machine's node-hours", "(b) cost per burst"),
    )
    shares = 100 * hours[list(LEDGER)].div(hours[list(LEDGER)].sum(axis=1), axis=0)
    for use in LEDGER:
        bar = _bar(shares[use], use, "%{y}: %{x:.2f} %")
        drawn = hours[use].gt(0).any() or (use in costs and costs[use].gt(0).any())
        picture.add_trace(bar.update(showlegend=bool(drawn)), row=1, col=1)
    for use in OVERHEAD:
        bar = _bar(costs[use], use, "%{y}: %{x:,.1f} node-hours").update(showlegend=False)
        picture.add_trace(bar, row=1, col=2)
    total = costs[list(OVERHEAD)].sum(axis=1)
    picture.add_trace(_whiskers(total, costs["low"], costs["high"]), row=1, col=2)
    theme.style(
        picture,
        title=title,
        height=42 * max(len(hours), 4) + 210,
        barmode="stack",
        bargap=0.35,
        margin={"t": 90},
    )
    picture.update_xaxes(title="percent of node-hours", range=[0, 100], col=1)
    known = costs["high"].where(costs["high"] < float("inf")).fillna(0.0)
    most = max(float(known.max()), float(total.max()), 1.0)
    picture.update_xaxes(title="node-hours", range=[0, 1.05 * most], col=2)
    return picture.update_yaxes(autorange="reversed", col=1)


def _bar(values: pd.Series, use: str, hover: str) -> go.Bar:
    """One use's bars, stacked by policy."""
    name, tint, shape = USES[use]
    return go.Bar(
        y=list(values.index),
        x=values.to_numpy(dtype=float).round(3),
        name=name,
        orientation="h",
        legendgroup=use,
        hovertemplate=hover,
        marker=theme.bar(tint, shape),
    )


def _whiskers(total: pd.Series, low: pd.Series, high: pd.Series) -> go.Scatter:
    """The interval of each sum, where it has ends."""
    known = low.gt(-float("inf")) & high.lt(float("inf"))
    return go.Scatter(
        y=list(total.index),
        x=total.round(3),
        mode="markers",
        showlegend=False,
        hoverinfo="skip",
        name="95 % interval",
        cliponaxis=False,
        marker={"size": 4, "color": theme.BLACK},
        error_x={
            "type": "data",
            "symmetric": False,
            "color": theme.BLACK,
            "array": (high - total).where(known, 0.0).round(3),
            "arrayminus": (total - low).where(known, 0.0).round(3),
        },
    )


def plot_best(table: pd.DataFrame, *, title: str, labels: Mapping[str, str]) -> go.Figure:
    """A map of the best policy: one square per combination of two parameters.

    Parameters
    ----------
    table : pd.DataFrame
        One row per square: `rate`, `nodes`, `policy`, `mean`, and `tied`, the policies that the
        seeds do not tell from it.
    title : str
    labels : dict of str to str
        What the axes say, by column.
    """
    if table.empty:
        return lab.figures.plot_empty(title, NO_BURST)
    height = 170 + 95 * table["nodes"].nunique()
    picture = theme.figure(title=title, height=height, barmode="overlay")
    across, up = (list(dict.fromkeys(table[name])) for name in ("rate", "nodes"))
    for place, (policy, part) in enumerate(table.groupby("policy", sort=False)):
        texts = [_square(str(policy), *row) for row in part[["mean", "tied"]].to_numpy()]
        tint = theme.GREY if policy == "none" else theme.color(str(policy), place)
        places = [across.index(value) for value in part["rate"]]
        rows = [up.index(value) for value in part["nodes"]]
        picture.add_bar(
            x=places,
            y=[0.92] * len(part),
            base=[row - 0.46 for row in rows],
            name=str(policy),
            width=0.92,
            text=texts,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"size": 12 if len(across) < 4 else 9, "color": theme.BLACK},
            marker={"color": theme.faded(tint, 0.4), "line": {"color": theme.BLACK, "width": 1}},
            hovertemplate="%{text}<extra></extra>",
        )
    for axis, values, name in (("xaxis", across, "rate"), ("yaxis", up, "nodes")):
        ticks = [value if isinstance(value, str) else f"{value:,}" for value in values]
        picture.update_layout(
            {
                axis: {
                    "title": labels.get(name, name),
                    "tickmode": "array",
                    "showgrid": False,
                    "tickvals": list(range(len(values))),
                    "ticktext": ticks,
                    "range": [-0.6, len(values) - 0.4],
                }
            }
        )
    return picture.update_layout(showlegend=False)


def _square(policy: str, mean: float, tied: str) -> str:
    """What stands in a square of the map."""
    if pd.isna(mean):
        return policy
    others = f"<br>or {tied.replace(', ', ',<br>')}" if tied else ""
    return f"<b>{policy}</b><br>{mean:,.1f}{others}"
