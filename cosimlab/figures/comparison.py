"""Figures of policies and of eviction solvers compared with intervals."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import theme
from cosimlab.figures.charts import lines, plot_empty
from cosimlab.figures.publishing import CaptionedFigure, captioned
from cosimlib import checks as check
from cosimlib.units import HOUR, MINUTE

if TYPE_CHECKING:
    from cosimlab.comparison import Comparison, SolverComparison

TIMES = ("wait_time", "turnaround_time")
ROW, BESIDES, BETWEEN = 26, 24, 75
"""Pixels of height: of a policy's line, of a panel besides, between panels."""

MARGINS = (95, 90)
"""Pixels above and below the panels."""

Ticks = dict[str, dict[tuple[str, str], float]]
"""Heights by group and policy, by the text of their tick."""


def plot_comparison(comparison: "Comparison", *, title: str, statistic: str = "mean") -> go.Figure:
    """Values of each policy and ratios to the first of them, with intervals, one row per measure.

    A symbol is the value on the log itself, the line through it the interval over logs drawn anew.
    Ratios whose log cannot tell which is lower have an open symbol. A single policy has no ratios.
    A log of fewer than six weeks has values without intervals.

    Parameters
    ----------
    comparison : Comparison
        As `cosimlab.compare` returns it; groups of jobs have a line each.
    title : str
    statistic : {"mean", "p50", "p90", "p99"}, default "mean"
        Measures that are one number per schedule are drawn whatever it is.
    """
    if not hasattr(comparison, "policies"):
        kind = type(comparison).__name__
        raise TypeError(f"comparison is of type {kind}; expected a Comparison, as compare returns")
    against, table = comparison.policies[0], comparison.table
    known = sorted(set(table["statistic"]) - {"value"}) or ["mean"]
    check.choice("statistic", statistic, known)
    table = table[table["statistic"].isin([statistic, "value"])]
    if not comparison.has_intervals:
        table = table.assign(low=table["log"], high=table["log"])
    values = table[(table["quantity"] == "value") & table["low"].notna()]
    if values.empty:
        return plot_empty(title, "too few of the logs drawn anew have jobs that count")
    ratios = table[(table["quantity"] == "ratio") & (table["against"] == against)]
    ratios = ratios[ratios[["log", "low", "high"]].notna().all(axis=1)]
    measures = list(dict.fromkeys(values["measure"]))
    ticks = {
        measure: _ticks(values[values["measure"] == measure], comparison.policies)
        for measure in measures
    }
    columns = min(2, len(comparison.policies))
    alone = "" if comparison.has_intervals else ", no interval"
    pixels = [BESIDES + ROW * sum(map(len, ticks[measure].values())) for measure in measures]
    picture = make_subplots(
        rows=len(measures),
        cols=columns,
        shared_yaxes=True,
        horizontal_spacing=0.06,
        row_heights=pixels,
        vertical_spacing=BETWEEN / (sum(pixels) + BETWEEN * len(pixels)),
        subplot_titles=[
            text
            for measure in measures
            for text in (
                _heading(values, measure, statistic) + alone,
                f"÷ that of {against}{alone}",
            )[:columns]
        ],
    )
    for row, measure in enumerate(measures, start=1):
        unit, _ = _unit(values, measure)
        for place, policy in enumerate(comparison.policies):
            for column, rows, scale in ((1, values, unit), (2, ratios, 1.0))[:columns]:
                chosen = rows[(rows["policy"] == policy) & (rows["measure"] == measure)]
                trace = _intervals(chosen, ticks[measure], policy, place, scale)
                trace.showlegend = row == 1 and column == 1
                picture.add_trace(trace, row=row, col=column)
        if columns == 2:
            picture.add_vline(1.0, line=theme.DASHED, row=row, col=2)
        at = [np.mean(list(lines.values())) for lines in ticks[measure].values()]
        last = max(max(lines.values()) for lines in ticks[measure].values())
        picture.update_yaxes(
            tickvals=at,
            ticktext=list(ticks[measure]),
            range=[last + 0.7, -0.7],
            showgrid=False,
            row=row,
        )
        picture.update_xaxes(rangemode="tozero", row=row, col=1)
    if (ratios["verdict"] == "cannot tell").any():
        marker = {"symbol": "circle-open", "color": theme.BLACK, "size": 10, "line": {"width": 2}}
        entry = theme.legend_entry("open: this log cannot tell", mode="markers", marker=marker)
        picture.add_trace(entry, row=1, col=2)
    height = sum(MARGINS) + sum(pixels) + BETWEEN * (len(pixels) - 1)
    return theme.style(picture, title=title, height=height, margin={"t": MARGINS[0]})


def plot_solvers(comparison: "SolverComparison", *, title: str) -> CaptionedFigure:
    """Mean node-hours lost above the optimum by deadline: a line per solver, a panel per nodes.

    Each line has the interval of its difference to the optimum, which is paired.

    Parameters
    ----------
    comparison : SolverComparison
        As `cosimlab.compare_solvers` returns it.
    title : str
    """
    if not hasattr(comparison, "solvers"):
        kind = type(comparison).__name__
        expected = "a SolverComparison, as compare_solvers returns"
        raise TypeError(f"comparison is of type {kind}; expected {expected}")
    table = comparison.table
    above = (table["quantity"] == "difference") & (table["against"] == "optimum")
    table = table[above & table["deadline"].notna()]
    table = table.assign(minutes=table["deadline"] / MINUTE)
    picture = lines(
        table,
        x="minutes",
        y="mean",
        line="solver",
        panel="nodes_needed",
        band=("low", "high") if table["low"].notna().all() else None,
        title=title,
        labels={
            "minutes": "deadline (minutes)",
            "mean": "node-hours lost above the optimum",
            "nodes_needed": "nodes needed:",
        },
    )
    return captioned(picture, comparison.note)


def _ticks(rows: pd.DataFrame, policies: tuple[str, ...]) -> Ticks:
    """Heights of policies by the text of their tick: one per group, or without groups one each."""
    groups = list(dict.fromkeys(rows["group"]))
    if len(groups) == 1:
        return {policy: {(groups[0], policy): place} for place, policy in enumerate(policies)}
    apart = len(policies) + 0.7
    return {
        group: {(group, policy): number * apart + place for place, policy in enumerate(policies)}
        for number, group in enumerate(groups)
    }


def _heading(values: pd.DataFrame, measure: str, statistic: str) -> str:
    """A measure, its statistic and its unit, as the heading of a panel."""
    one_number = (values.loc[values["measure"] == measure, "statistic"] == "value").all()
    _, unit = _unit(values, measure)
    return f"{'' if one_number else statistic + ' '}{measure.replace('_', ' ')}{unit}"


def _unit(values: pd.DataFrame, measure: str) -> tuple[float, str]:
    """The unit of an axis, in that of the table: the largest of which there is one, of times."""
    if measure not in TIMES:
        return 1.0, ""
    most = float(values.loc[values["measure"] == measure, "high"].max())
    units = {" (hours)": HOUR, " (minutes)": MINUTE, " (seconds)": 1.0}
    return next((size, name) for name, size in units.items() if most >= size or size == 1.0)


def _intervals(
    rows: pd.DataFrame, ticks: Ticks, policy: str, place: int, unit: float
) -> go.Scatter:
    """Symbols with lines from low to high; open ones where the log cannot tell."""
    heights = {key: height for lines in ticks.values() for key, height in lines.items()}
    at = np.array([heights[group, policy] for group in rows["group"]])
    log, low, high = (rows[name].to_numpy(dtype=float) / unit for name in ("log", "low", "high"))
    tint, symbol = theme.color(policy, place), theme.MARKERS[place % len(theme.MARKERS)]
    symbols = [f"{symbol}-open" if each == "cannot tell" else symbol for each in rows["verdict"]]
    return go.Scatter(
        x=log.round(5).tolist(),
        y=at.round(3).tolist(),
        name=policy,
        mode="markers",
        legendgroup=policy,
        marker={"symbol": symbols or symbol, "color": tint, "size": 10, "line": {"width": 2}},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": (high - log).round(5).tolist(),
            "arrayminus": (log - low).round(5).tolist(),
            "color": tint,
            "thickness": 2,
            "width": 5,
        },
        customdata=np.column_stack([low, high]).round(4).tolist(),
        text=rows["group"].tolist(),
        hovertemplate="%{text}: %{x}, interval %{customdata[0]} to %{customdata[1]}",
    )
