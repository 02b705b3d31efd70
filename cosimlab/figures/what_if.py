"""The figure of a what-if: mean waits of groups of jobs, as recorded and as expected."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import theme
from cosimlab.figures.charts import bars, plot_empty
from cosimlab.figures.publishing import CaptionedFigure, captioned
from cosimlab.palette import BLUE, GREY, VERMILION
from cosimlib.units import HOUR

if TYPE_CHECKING:
    from cosimlab.whatif import WhatIf

PANELS = ("size", "queue", "group", "user")
RECORDED, EXPECTED = "recorded", "expected"
SHOWN = 10
"""Groups whose ratio is drawn, those with most waiting."""


def plot_what_if(answer: "WhatIf", *, title: str) -> CaptionedFigure:
    """Mean wait of groups of jobs, as recorded and after the change: a panel per kind of group.

    Whiskers are 90 % intervals of what is expected. Without a number, a sentence says why.

    Parameters
    ----------
    answer : WhatIf
        As `cosimlab.what_if` returns it.
    title : str
    """
    _check_answer(answer)
    if answer.reason:
        return plot_empty(title, answer.reason)
    means = answer.table[answer.table["statistic"] == "mean"]
    kinds = [kind for kind in PANELS if (means["by"] == kind).sum() > 1][:2]
    means = means[means["by"].isin(kinds or ["all"])]
    scale = means["recorded"] / HOUR
    after = {"wait": means["expected"] / HOUR, "low": scale * means["low"]}
    parts = [
        means.assign(which=RECORDED, wait=scale, low=float("nan"), high=float("nan")),
        means.assign(which=EXPECTED, **after, high=scale * means["high"]),
    ]
    picture = bars(
        pd.concat(parts),
        x="group",
        y="wait",
        group="which",
        panel="by",
        own="x",
        interval=("low", "high"),
        title=title,
        labels={"wait": "mean wait (hours)", "by": "by", "size": "nodes of a job"},
    )
    whiskers = (
        "Whiskers: 90 % intervals; small groups have none, as the error was not measured there."
    )
    return captioned(picture, f"{whiskers} {_held(answer)} {answer.note}")


def plot_winners(answer: "WhatIf", *, title: str) -> CaptionedFigure:
    """Mean wait by size as recorded and expected; below, the ratio of each group that has one.

    It has the same three traces for every answer. Without a number, only what is recorded is drawn,
    and a sentence says why.

    Parameters
    ----------
    answer : WhatIf
        As `cosimlab.what_if` returns it.
    title : str
    """
    _check_answer(answer)
    means = answer.table[answer.table["statistic"] == "mean"]
    sizes = means[means["by"] == "size"]
    names = [_size(group) for group in sizes["group"]]
    picture = make_subplots(
        rows=2,
        cols=1,
        vertical_spacing=0.2,
        row_heights=[0.38, 0.62],
        subplot_titles=["by size", "winners (below 1) and losers"],
    )
    scale = sizes["recorded"] / HOUR
    for name, values, tint in (
        (RECORDED, scale, GREY),
        (EXPECTED, sizes["expected"].astype(float) / HOUR, BLUE),
    ):
        picture.add_bar(x=names, y=values, name=name, marker_color=tint, row=1, col=1)
    picture.add_trace(_ratios(means), row=2, col=1)
    picture.update_yaxes(title="mean wait (hours)", rangemode="tozero", row=1, col=1)
    picture.update_yaxes(autorange="reversed", dtick=1, row=2, col=1)
    picture.update_xaxes(title="expected wait ÷ recorded", row=2, col=1)
    picture.add_vline(x=1.0, line={"color": VERMILION, "dash": "dot"}, row=2, col=1)
    theme.style(picture, title=title, height=620, barmode="group")
    why = f"No number: {answer.reason}." if answer.reason else ""
    whiskers = "Lines: 90 % intervals; of hollow points the error was not measured."
    return captioned(picture, why or f"{whiskers} {_held(answer)}")


def _check_answer(answer: object) -> None:
    """Raise an error for what is no what-if. Figures do not know the room that makes them."""
    if not hasattr(answer, "waiting"):
        kind = type(answer).__name__
        raise TypeError(f"answer is of type {kind}; expected a WhatIf, as what_if returns")


def _ratios(means: pd.DataFrame) -> go.Scatter:
    """The ratio of each group, and its interval; those with most waiting."""
    shown = means[means["by"] != "all"].dropna(subset=["ratio"])
    waited = (shown["recorded"] * shown["jobs"]).sort_values(ascending=False)
    shown = shown.loc[waited.index[:SHOWN]].sort_values("ratio")
    group = shown["group"].where(shown["by"] != "size", shown["group"].map(_size))
    ratio = shown["ratio"].to_numpy(np.float64)
    low, high = (shown[name].to_numpy(np.float64) for name in ("low", "high"))
    symbol = np.where(np.isnan(low), "circle-open", "circle")
    return go.Scatter(
        x=ratio,
        y=group,
        mode="markers",
        marker={"size": 9, "color": BLUE, "symbol": symbol},
        error_x={"type": "data", "array": high - ratio, "arrayminus": ratio - low},
        showlegend=False,
        name="ratio",
    )


def _size(group: str) -> str:
    """A class of sizes in words."""
    return "1 node" if group == "1" else f"{group} nodes"


def _held(answer: "WhatIf") -> str:
    """How often such intervals held the truth, in a sentence; empty where nothing changes."""
    if not answer.held_truth:
        return ""
    return f"Where the truth is known, such intervals held it in {answer.held_truth}."
