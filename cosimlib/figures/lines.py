"""Line charts: curves over a variable in one or more panels, and steps over time."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.figures.gantt import faded
from cosimlib.figures.nothing import plot_nothing


def plot_curves(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    line: str,
    title: str,
    labels: dict[str, str],
    panel: str | None = None,
    bound: str | None = None,
    band: tuple[str, str] | None = None,
    log: str = "",
    own_x: bool = False,
    why: str = "",
) -> go.Figure:
    """A line for each value of a column, panels side by side for each value of another.

    Parameters
    ----------
    table : pd.DataFrame
        Tidy, one point per row.
    x, y, line : str
        Columns of the axes and of what tells lines apart.
    title : str
    labels : dict of str to str
        What the axes say, by column; panels are headed by ``labels[panel]`` and their value.
    panel : str, optional
        Column of the panels.
    bound : str, optional
        Column of bools: points that are only a lower bound get an open marker.
    band : tuple of str, optional
        Columns of the least and the most: a line's shaded band.
    log : str, default ""
        The logarithmic axes: ``"y"``, ``"xy"``.
    own_x : bool, default False
        Whether every panel has horizontal values of its own, named by ``labels[value]``.
    why : str
        Said in the place of the figure where the table has no row, or no value to draw.
    """
    check.instance("table", table, pd.DataFrame)
    if table.empty:
        return plot_nothing(title, why or "none of these cases was measured")
    if table[y].isna().all():
        return plot_nothing(title, why or "none of these cases has a value")
    values = [None] if panel is None else list(dict.fromkeys(table[panel]))
    picture = make_subplots(
        cols=len(values), shared_yaxes=True, horizontal_spacing=0.04,
        subplot_titles=_headings(values, labels.get(panel or "", "")),
    )  # fmt: skip
    names = list(dict.fromkeys(table[line]))
    for column, value in enumerate(values, start=1):
        part = table if value is None else table[table[panel] == value]
        for place, name in enumerate(names):
            trace = _trace(part[part[line] == name], str(name), place, x, y, bound)
            picture.add_trace(trace.update(showlegend=column == 1), row=1, col=column)
            if band is not None:
                shade = _band(part[part[line] == name], trace, x, *band)
                picture.add_trace(shade, row=1, col=column)
    if bound is not None and table[bound].any():
        picture.add_scatter(
            x=[None], y=[None], mode="markers", name="lower bound (time limit)",
            marker={"symbol": "circle-open", "color": theme.BLACK, "size": 8},
        )  # fmt: skip
    theme.style(picture, title=title, height=430, margin={"t": 95, "b": 130})
    picture.update_layout(legend={"orientation": "h", "y": -0.27, "yanchor": "top", "x": 0})
    picture.update_yaxes(title=labels.get(y, y), title_standoff=12, col=1)
    picture.update_xaxes(title=labels.get(x, x), title_standoff=8, matches=None if own_x else "x")
    for column, value in enumerate(values if own_x else [], start=1):
        picture.update_xaxes(title=labels.get(str(value), labels.get(x, x)), col=column)
    if "x" in log:
        picture.update_xaxes(type="log", tickformat=",", dtick="D2")
    if "y" in log:
        picture.update_yaxes(type="log", tickformat="~g", dtick=1, minor={"ticks": "outside"})
    return picture


def _headings(values: list, label: str) -> tuple[str, ...]:
    if values == [None]:
        return ()
    return tuple(
        f"({letter}) {label} {f'{value:,}' if type(value) is int else value}".replace("  ", " ")
        for letter, value in zip("abcdefghij", values, strict=False)
    )


def _trace(
    part: pd.DataFrame, name: str, place: int, x: str, y: str, bound: str | None
) -> go.Scatter:
    """One line; its color follows the name, its marker and dash the place."""
    symbol = theme.MARKERS[place % len(theme.MARKERS)]
    symbols = [symbol] * len(part)
    if bound is not None:
        symbols = [f"{symbol}-open" if low else symbol for low in part[bound]]
    tint = theme.color(name, place)
    return go.Scatter(
        x=part[x].tolist(), y=part[y].tolist(), mode="lines+markers", name=name, legendgroup=name,
        line={"color": tint, "dash": theme.DASHES[place % len(theme.DASHES)], "width": 1.8},
        marker={"symbol": symbols, "color": tint, "size": 7},
    )  # fmt: skip


def _band(part: pd.DataFrame, line: go.Scatter, x: str, least: str, most: str) -> go.Scatter:
    """The area between two columns where both are numbers, in the color of its line."""
    part = part[np.isfinite(part[least]) & np.isfinite(part[most])]
    return go.Scatter(
        x=[*part[x], *part[x][::-1]], y=[*part[most], *part[least][::-1]], mode="lines",
        line={"width": 0}, fill="toself", fillcolor=faded(line.line.color, 0.15),
        hoverinfo="skip", showlegend=False, legendgroup=line.name,
    )  # fmt: skip


def plot_series(
    series: pd.Series,
    *,
    title: str,
    unit: str,
    reference: tuple[float, str] | None = None,
    began: pd.Timestamp | None = None,
) -> go.Figure:
    """One value per window, indexed by the window's start in seconds; drawn over dates or days.

    Parameters
    ----------
    series : pd.Series
    title, unit : str
        Above the figure, beside the vertical axis.
    reference : tuple of float and str, optional
        A dashed horizontal line and its name.
    began : pd.Timestamp, optional
        The calendar time of second 0, such as `Workload.began`; without it the axis counts days.
    """
    check.instance("series", series, pd.Series)
    times, axis = theme.over_time(series.index.to_numpy(), began)
    values = series.to_numpy(dtype=float).round(3)
    picture = theme.figure(title=title, height=360, showlegend=False)
    picture.add_scatter(
        x=times, y=values, mode="lines", line={"shape": "hv", "width": 1.2, "color": theme.BLUE}
    )
    if reference is not None:
        value, name = reference
        picture.add_hline(
            value, line={"dash": "dash", "width": 1, "color": theme.BLACK},
            annotation={"text": name, "font": {"size": 11}}, annotation_position="top left",
        )  # fmt: skip
    picture.update_xaxes(**axis)
    return picture.update_yaxes(title=unit, rangemode="tozero")
