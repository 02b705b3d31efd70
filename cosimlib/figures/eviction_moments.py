"""Figure of evictions at every full moment: how many jobs run, and which kinds occur."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.eviction.moments import KINDS
from cosimlib.figures import theme
from cosimlib.figures.footnotes import footnote
from cosimlib.figures.nothing import plot_nothing

NEVER_FULL = "at no hour is the machine nearly full with few enough jobs"
LOOKS = {
    "nobody loses": (theme.SKY, ""),
    "greedy is enough": (theme.GREEN, "."),
    "greedy loses, needlessly": (theme.ORANGE, "/"),
    "greedy loses more": (theme.VERMILION, "x"),
}
"""Color and pattern of each kind."""


def plot_moments(kinds: pd.DataFrame, jobs: pd.Series, *, title: str) -> go.Figure:
    """How many jobs run at full moments, and by deadline the share of each kind of eviction.

    Parameters
    ----------
    kinds : pd.DataFrame
        Of `eviction.kinds_of_evictions`.
    jobs : pd.Series
        Running jobs, one value per moment.
    title : str
    """
    check.instance("kinds", kinds, pd.DataFrame)
    if kinds.empty:
        return plot_nothing(title, NEVER_FULL)
    sizes = list(kinds["nodes_needed"].drop_duplicates())
    headings = [
        f"({letter}) K = {size:,}" for letter, size in zip("bcdefghij", sizes, strict=False)
    ]
    picture = make_subplots(
        cols=1 + len(sizes), horizontal_spacing=0.05,
        column_widths=[1.1] + [1.0] * len(sizes),
        subplot_titles=[f"(a) jobs, median {jobs.median():g}", *headings],
    )  # fmt: skip
    counts = jobs.value_counts(normalize=True).sort_index()
    picture.add_bar(
        x=counts.index.to_numpy(), y=(100 * counts).round(2).to_numpy(), showlegend=False,
        marker={"color": theme.GREY, "line": {"color": theme.BLACK, "width": 0.5}},
        hovertemplate="%{x} jobs at %{y} % of the moments<extra></extra>", row=1, col=1,
    )  # fmt: skip
    for column, size in enumerate(sizes, start=2):
        part = kinds[kinds["nodes_needed"] == size]
        for kind, (color, pattern) in LOOKS.items():
            share = part[part["kind"] == kind]
            picture.add_bar(
                x=(share["deadline"] / 60).to_numpy(), y=(100 * share["share"]).round(2).to_numpy(),
                name=KINDS[kind], legendgroup=kind, showlegend=column == 2, row=1, col=column,
                marker={"color": color, "line": {"color": theme.BLACK, "width": 0.5},
                        "pattern": {"shape": pattern, "fillmode": "overlay", "solidity": 0.15,
                                    "fgcolor": theme.BLACK, "fgopacity": 0.6, "size": 6}},
            )  # fmt: skip
    theme.style(picture, title=title, height=440, barmode="stack", bargap=0.05)
    picture.update_layout(
        margin={"t": 95, "b": 125},
        legend={"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "traceorder": "normal"},
    )
    for column in range(2, 2 + len(sizes)):
        picture.update_yaxes(range=[0, 100], showticklabels=column == 2, col=column)
    picture.update_yaxes(title="share of the full moments (%)", title_standoff=4, col=1)
    ticks = theme.whole_step(float(np.max(jobs)))
    picture.update_xaxes(title="running jobs", dtick=ticks, tick0=0, col=1)
    minutes = kinds["deadline"].max() / 60
    for column in range(2, 2 + len(sizes)):
        picture.update_xaxes(
            title="deadline (min)", dtick=theme.whole_step(minutes, 5), tick0=0, col=column
        )
    return footnote(picture, "K: nodes needed. Losses are of node-hours, by killed jobs.")
