"""Figure of an advice for a live cluster: the least loss for any number of nodes by when."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.figures.footnotes import footnote
from cosimlib.figures.nothing import plot_nothing

LEAST_POWER = -2
"""Power of ten, in node-hours, up to which losses have the lightest color."""
EXPLAINED = "Colors are logarithmic. The circle is what was asked for."
WHITE = "White: so many nodes cannot be had by then."


def plot_advice(
    losses: pd.DataFrame, *, nodes_needed: int, deadline: float, title: str
) -> go.Figure:
    """Heat map of the least loss, with the number of nodes asked for by a deadline marked.

    Parameters
    ----------
    losses : pd.DataFrame
        Node-hours, as of `cosimlib.advise.spectrum_of`: numbers of nodes × deadlines (seconds), NaN
        where so many nodes cannot be had.
    nodes_needed : int
    deadline : float
        Seconds.
    title : str
    """
    check.instance("losses", losses, pd.DataFrame)
    picture = theme.figure(title=title, height=520, showlegend=False)
    if len(losses) < 2:
        return plot_nothing(title, "no node is free, ends by itself or can be freed")
    picture.add_trace(loss_trace(losses))
    picture.add_trace(
        go.Scatter(
            x=[deadline / 60], y=[nodes_needed], mode="markers", hoverinfo="skip",
            cliponaxis=False,
            marker={"symbol": "circle-open", "size": 16, "line": {"width": 4},
                    "color": theme.VERMILION},
        )
    )  # fmt: skip
    minutes = losses.columns.to_numpy(dtype=np.float64) / 60
    half = (minutes[1] - minutes[0]) / 2 if len(minutes) > 1 else 0.5
    most = max(float(losses.index[-1]), nodes_needed)
    picture.update_xaxes(title="deadline (minutes from now)", showgrid=False,
                         range=[minutes[0] - half, minutes[-1] + half])  # fmt: skip
    picture.update_yaxes(title="nodes needed", range=[-0.5, most + 0.5], showgrid=False)
    white = bool(losses.isna().to_numpy().any())
    return footnote(picture, f"{EXPLAINED} {WHITE}" if white else EXPLAINED)


def loss_trace(losses: pd.DataFrame) -> go.Heatmap:
    """Heat map of the losses; no loss is the lightest color, what cannot be had is empty."""
    loss = losses.to_numpy(dtype=np.float64)
    with np.errstate(divide="ignore"):
        powers = np.maximum(np.log10(loss), LEAST_POWER)
    most = max(float(np.nanmax(powers, initial=LEAST_POWER)), LEAST_POWER + 1.0)
    ticks = list(range(LEAST_POWER, int(np.floor(most)) + 1))
    names = [f"{10.0**power:,g}" for power in ticks]
    return go.Heatmap(
        x=losses.columns.to_numpy() / 60, y=losses.index.to_numpy(), z=powers.round(3),
        zmin=LEAST_POWER, zmax=most, colorscale=theme.COLORSCALE, customdata=loss.round(3),
        hoverongaps=False,
        colorbar={"title": {"text": "node-hours<br>lost"}, "tickvals": ticks,
                  "ticktext": [f"≤ {names[0]}", *names[1:]]},
        hovertemplate="%{y} nodes by minute %{x}<br>%{customdata} node-hours lost<extra></extra>",
    )  # fmt: skip
