"""The figure of a what-if: mean waits of groups of jobs, as recorded and as expected."""

from typing import TYPE_CHECKING

import pandas as pd

from cosimlab.figures.charts import bars, plot_empty
from cosimlab.figures.publishing import CaptionedFigure, captioned
from cosimlib.units import HOUR

if TYPE_CHECKING:
    from cosimlab.whatif import WhatIf

PANELS = ("size", "queue", "group", "user")
RECORDED, EXPECTED = "recorded", "expected"


def plot_what_if(answer: "WhatIf", *, title: str) -> CaptionedFigure:
    """Mean wait of groups of jobs, as recorded and after the change: a panel per kind of group.

    Whiskers are 90 % intervals of what is expected. Without a number, a sentence says why.

    Parameters
    ----------
    answer : WhatIf
        As `cosimlab.what_if` returns it.
    title : str
    """
    if not hasattr(answer, "waiting"):
        kind = type(answer).__name__
        raise TypeError(f"answer is of type {kind}; expected a WhatIf, as what_if returns")
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
    return captioned(picture, f"{whiskers} {answer.note}")
