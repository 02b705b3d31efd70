"""Distributions as violins, drawn from densities: a million values weigh as much as ten."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib.figures import theme
from cosimlib.units import HOUR, MINUTE

WIDTH = 0.86


def plot_violins(
    panels: dict[str, tuple[pd.DataFrame, pd.DataFrame]],
    *,
    title: str,
    unit: str = "node-hours wasted",
) -> go.Figure:
    """Wasted cycles of policies by grace period: one panel a workload, one violin a pair.

    A violin's width is the density, each to its own maximum; the bar inside spans the quartiles,
    the white dot is the median. Violins end at their 99th percentile.

    Parameters
    ----------
    panels : dict of str to (summary, densities)
        By panel title, as `compare_policies` gives them.
    title, unit : str
    """
    picture = make_subplots(
        rows=len(panels), vertical_spacing=0.16 if len(panels) > 1 else 0,
        subplot_titles=[f"({'abcd'[place]}) {name}" for place, name in enumerate(panels)]
        if len(panels) > 1 else None,
    )  # fmt: skip
    for row, (summary, densities) in enumerate(panels.values(), start=1):
        policies = list(dict.fromkeys(summary["policy"]))
        periods = sorted(set(summary["grace_period"]))
        for place, period in enumerate(periods):
            for number, policy in enumerate(policies):
                here = _of(densities, policy, period)
                center = number + (place - (len(periods) - 1) / 2) * 0.84 / len(periods)
                half = 0.84 * WIDTH / len(periods) / 2
                shown = row == 1 and number == 0
                _add_violin(picture, here, center, half, period, place, shown, row)
            _add_boxes(picture, summary, policies, period, place, len(periods), row)
        picture.update_xaxes(
            tickvals=list(range(len(policies))), ticktext=policies, showgrid=False,
            range=[-0.5, len(policies) - 0.5], row=row,
        )  # fmt: skip
        picture.update_yaxes(title=unit, rangemode="tozero", row=row)
    theme.style(picture, title=title, height=110 + 340 * len(panels), margin={"t": 95, "b": 100})
    return picture.update_layout(
        legend={"orientation": "h", "y": -0.22 / len(panels), "yanchor": "top", "x": 0,
                "title": {"text": "grace period  "}}
    )  # fmt: skip


def period_name(seconds: float) -> str:
    """A grace period as people write it: 120 s, 20 min, 6 h."""
    if seconds % HOUR == 0 and seconds:
        return f"{seconds / HOUR:g} h"
    if seconds >= 10 * MINUTE and seconds % MINUTE == 0:
        return f"{seconds / MINUTE:g} min"
    return f"{seconds:g} s"


def _of(table: pd.DataFrame, policy: str, period: float) -> pd.DataFrame:
    return table[(table["policy"] == policy) & (table["grace_period"] == period)]


def _add_violin(
    picture: go.Figure, here: pd.DataFrame, center: float, half: float, period: float, place: int,
    shown: bool, row: int,
) -> None:  # fmt: skip
    """One filled outline; the first of its grace period stands for it in the legend."""
    density = here["density"].to_numpy()
    width = half * density / max(density.max(), 1e-12)
    grid = here["node_hours"].to_numpy().round(3)
    tint = theme.CYCLE[place % len(theme.CYCLE)]
    picture.add_scatter(
        x=np.concatenate([center - width, (center + width)[::-1]]).round(4),
        y=np.concatenate([grid, grid[::-1]]), mode="lines", fill="toself", hoverinfo="skip",
        name=period_name(period), legendgroup=str(period), showlegend=shown,
        line={"color": tint, "width": 1}, fillcolor=_lighter(tint), row=row, col=1,
    )  # fmt: skip


def _add_boxes(
    picture: go.Figure, summary: pd.DataFrame, policies: list[str], period: float, place: int,
    periods: int, row: int,
) -> None:  # fmt: skip
    """Quartiles as thick bars and medians as white dots, for one grace period of all policies."""
    of_period = summary[summary["grace_period"] == period].set_index("policy").loc[policies]
    centers = [
        number + (place - (periods - 1) / 2) * 0.84 / periods for number in range(len(policies))
    ]
    x = [value for center in centers for value in (center, center, None)]
    y = [value for low, high in of_period[["25%", "75%"]].round(3).to_numpy().tolist()
         for value in (low, high, None)]  # fmt: skip
    picture.add_scatter(
        x=x, y=y, mode="lines", line={"color": theme.BLACK, "width": 4}, hoverinfo="skip",
        legendgroup=str(period), showlegend=False, row=row, col=1,
    )  # fmt: skip
    picture.add_scatter(
        x=centers, y=of_period["50%"].round(3).tolist(), mode="markers",
        marker={"color": "white", "size": 6, "line": {"color": theme.BLACK, "width": 1}},
        legendgroup=str(period), showlegend=False, row=row, col=1,
        hovertemplate=f"{period_name(period)}: median %{{y}}<extra></extra>",
    )  # fmt: skip


def _lighter(color: str) -> str:
    """The color, two thirds transparent."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.35)"
