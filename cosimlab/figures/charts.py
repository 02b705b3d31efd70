"""Charts of tables: lines and bars in panels, tables, a sentence where nothing can be drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import theme
from cosimlab.figures.publishing import CaptionedFigure, captioned
from cosimlib import checks as check
from cosimlib.display import UNKNOWN

EMPTY = "Nothing to draw"
MARKED = 40
"""Points up to which each point of a line has a marker."""
AROUND, ROW, LOW, GAP = 170, 260, 140, 75
"""Pixels around panels, of a row of them, of a low row, and between two rows."""


def plot_empty(title: str, why: str) -> CaptionedFigure:
    """A title, and a caption that says in a sentence why there is nothing to draw.

    Parameters
    ----------
    title : str
        That of the figure in whose place it stands.
    why : str
        What the data lack: "no job of this log waits".
    """
    check.instance("why", why, str)
    picture = theme.figure(title=title, height=120, margin={"b": 10}, showlegend=False)
    picture.add_annotation(
        text=EMPTY,
        font={"color": "#555555"},
        showarrow=False,
        xref="paper",
        x=0,
        xanchor="left",
        yref="paper",
        y=0.5,
        yanchor="middle",
    )
    picture.update_xaxes(visible=False).update_yaxes(visible=False)
    return captioned(picture, f"{EMPTY}: {why.strip().rstrip('.')}.")


def lines(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    title: str = "",
    line: str | None = None,
    labels: Mapping[str, str] | None = None,
    panel: str | None = None,
    columns: int = 0,
    own: str = "",
    log: str = "",
    steps: bool = False,
    bound: str | None = None,
    band: tuple[str, str] | None = None,
    reference: tuple[float, str] | None = None,
    behind: pd.DataFrame | None = None,
    why: str = "",
) -> go.Figure:
    """A line for each value of a column, in a panel for each value of another.

    Parameters
    ----------
    table : pd.DataFrame
        Tidy, one point per row.
    x, y : str
        Columns of the axes.
    title : str
    line : str, optional
        Column of what tells lines apart. Without it there is one line.
    labels : mapping of str to str, optional
        What the axes say, by column; panels are headed by ``labels[panel]`` and their value.
    panel : str, optional
        Column of the panels.
    columns : int, default 0
        Panels in a row, at most; 0: all.
    own : {"", "x", "y"}
        The axes that each panel has for itself; ``labels[value]`` names them.
    log : {"", "x", "y", "xy"}
        The logarithmic axes.
    steps : bool, default False
        Whether a value holds until the next.
    bound : str, optional
        Column of bools: points that are only a lower bound get an open marker.
    band : tuple of str, optional
        Columns of the least and the most: a line's shaded band.
    reference : tuple of float and str, optional
        A dashed horizontal line and its name.
    behind : pd.DataFrame, optional
        A table with the same columns, such as that of a larger run: pale wide lines behind.
    why : str
        Said in the place of the figure where the table has no row, or no value to draw.

    Examples
    --------
    Response times of solvers, of which one was stopped at its time limit. The axis is logarithmic.

    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> table = pd.DataFrame({"deadline": [5, 10, 5, 10], "ms": [2.0, 2.1, 0.1, 60_000.0]})
    >>> table["solver"] = ["dynamic", "dynamic", "greedy", "greedy"]
    >>> table["stopped"] = [False, False, False, True]
    >>> figure = lab.figures.lines(
    ...     table, x="deadline", y="ms", line="solver", bound="stopped", log="y",
    ...     labels={"deadline": "deadline (min)", "ms": "response time (ms)"},
    ... )
    >>> [trace.name for trace in figure.data]
    ['dynamic', 'greedy', 'lower bound (time limit)']
    """
    check_table(table, x, y, line, panel, bound, *(band or ()))
    if nothing := nothing_to_draw(table, y, title, why):
        return nothing
    values = list(dict.fromkeys(table[panel])) if panel else [None]
    labels, across = dict(labels or {}), min(columns or len(values), len(values))
    names = list(dict.fromkeys(table[line])) if line else [""]
    picture, listed = empty_panels(values, across, own, labels, panel), set()
    panels = divide(table, panel, values, across)
    for number, (part, at) in enumerate(panels):
        for place, name in enumerate(names):
            points = part if line is None else part[part[line] == name]
            trace = _line(points, str(name), place, (x, y), bound, steps=steps)
            if behind is not None:
                larger = _same_rows(behind, {panel: values[number], line: name})
                picture.add_trace(_line_behind(larger, trace, (x, y)), **at)
            shown = line is not None and len(points) > 0 and name not in listed
            picture.add_trace(trace.update(showlegend=shown, legendrank=place + 1), **at)
            listed |= {name} if shown else set()
            if band is not None:
                picture.add_trace(_band(points, trace, x, *band), **at)
    if bound is not None and table[bound].any():
        marker = {"symbol": "circle-open", "color": theme.BLACK, "size": 8}
        entry = theme.legend_entry("lower bound (time limit)", mode="markers", marker=marker)
        picture.add_trace(entry)
    if reference is not None:
        add_reference(picture, *reference)
    name_axes(picture, values, across, own, labels, (x, y))
    for part, at in panels:
        if "x" in log:
            picture.update_xaxes(theme.log_axis((part if "x" in own else table)[x]), **at)
        if "y" in log:
            picture.update_yaxes(theme.log_axis((part if "y" in own else table)[y]), **at)
    return picture.update_layout(title=title).update_yaxes(rangemode="tozero" if steps else None)


def bars(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    title: str = "",
    group: str | None = None,
    labels: Mapping[str, str] | None = None,
    panel: str | None = None,
    columns: int = 0,
    own: str = "",
    interval: tuple[str, str] | None = None,
    stacked: bool = False,
    marks: Mapping[str, tuple[str, str]] | None = None,
    behind: pd.DataFrame | None = None,
    why: str = "",
) -> go.Figure:
    """A bar for each value of a column, beside one another or stacked by the value of another.

    Parameters
    ----------
    table : pd.DataFrame
        Tidy, one bar per row.
    x, y : str
        Columns of names along the axis, and of heights.
    title : str
    group : str, optional
        Column of what tells bars of one name apart. Each has its color and pattern.
    labels : mapping of str to str, optional
        What the axes say, by column. Panels are headed by ``labels[panel]`` and their value.
    panel : str, optional
        Column of the panels.
    columns : int, default 0
        Panels in a row, at most; 0: all.
    own : {"", "x", "y"}
        The axes that each panel has for itself; ``labels[value]`` names them.
    interval : tuple of str, optional
        Columns of the least and the most: whiskers.
    stacked : bool, default False
        Whether bars of one name stand on one another.
    marks : mapping of str to tuple of str, optional
        Color and pattern of a group, in the place of those of its name.
    behind : pd.DataFrame, optional
        A table with the same columns, such as that of a larger run: black outlines of its bars.
    why : str
        Said in the place of the figure where the table has no row, or no value to draw.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> table = pd.DataFrame({"log": "KTH", "policy": ["FCFS", "EASY"], "wait": [9.0, 2.0]})
    >>> table = table.assign(low=[7.0, 1.5], high=[12.0, 2.5])
    >>> figure = lab.figures.bars(
    ...     table, x="log", y="wait", group="policy", interval=("low", "high"),
    ...     labels={"wait": "mean wait (h)"},
    ... )
    >>> [(bar.name, bar.y, bar.error_y.array) for bar in figure.data]
    [('FCFS', (9.0,), (3.0,)), ('EASY', (2.0,), (0.5,))]
    """
    check_table(table, x, y, group, panel, *(interval or ()))
    if nothing := nothing_to_draw(table, y, title, why):
        return nothing
    values = list(dict.fromkeys(table[panel])) if panel else [None]
    labels, across = dict(labels or {}), min(columns or len(values), len(values))
    names = list(dict.fromkeys(table[group])) if group else [""]
    picture, listed = empty_panels(values, across, own, labels, panel), set()
    for number, (part, at) in enumerate(divide(table, panel, values, across)):
        for place, name in enumerate(names):
            rows = part if group is None else part[part[group] == name]
            if behind is not None:
                larger = _same_rows(behind, {panel: values[number], group: name})
                picture.add_trace(_bar_behind(larger, str(name), (x, y), interval), **at)
            tint, shape = (marks or {}).get(str(name), theme.mark(str(name), place))
            bar = _bar(rows, str(name), (x, y), interval).update(marker=theme.bar(tint, shape))
            shown = group is not None and len(rows) > 0 and name not in listed
            if behind is not None:
                bar.update(offsetgroup=str(name))
            picture.add_trace(bar.update(showlegend=shown, legendrank=place + 1), **at)
            listed |= {name} if shown else set()
    name_axes(picture, values, across, own, labels, (x, y))
    picture.update_layout(title=title, barmode="stack" if stacked else "group", bargap=0.22)
    return picture.update_xaxes(type="category").update_yaxes(rangemode="tozero")


def _same_rows(table: pd.DataFrame, chosen: Mapping[str | None, Any]) -> pd.DataFrame:
    """The rows of a table that have these values in these columns; None names no column."""
    for column, value in chosen.items():
        if column is not None:
            table = table[table[column] == value]
    return table


def _line_behind(part: pd.DataFrame, front: go.Scatter, axes: tuple[str, str]) -> go.Scatter:
    """A pale, wide line of a larger run behind that of this one."""
    return go.Scatter(
        x=part[axes[0]].tolist(),
        y=part[axes[1]].tolist(),
        mode="lines",
        line={"color": theme.faded(front.line.color, 0.3), "width": 7},
        name=f"{front.name}, stored",
        legendgroup=front.name,
        showlegend=False,
    )


def _bar_behind(
    rows: pd.DataFrame, name: str, axes: tuple[str, str], interval: tuple[str, str] | None
) -> go.Bar:
    """The outline of a larger run's bar, at the place of this run's."""
    bar = _bar(rows, name, axes, interval)
    if interval is not None:
        bar.update(error_y={"color": theme.GREY, "thickness": 5, "width": 0})
    outline = {"color": "rgba(0, 0, 0, 0)", "line": {"color": theme.BLACK, "width": 1.5}}
    return bar.update(name=f"{name}, stored", offsetgroup=name, marker=outline, showlegend=False)


def _bar(
    rows: pd.DataFrame, name: str, axes: tuple[str, str], interval: tuple[str, str] | None
) -> go.Bar:
    """Bars of one group, with whiskers where both ends of an interval are numbers."""
    heights = rows[axes[1]]
    bar = go.Bar(x=rows[axes[0]].astype(str).tolist(), y=heights.tolist(), name=name)
    if interval is None:
        return bar.update(legendgroup=name)
    low, high = (rows[column] for column in interval)
    known = np.isfinite(low) & np.isfinite(high)
    above, below = (
        side.round(6).astype(object).where(known, None).tolist()
        for side in (high - heights, heights - low)
    )
    whiskers = {"array": above, "arrayminus": below, "symmetric": False, "type": "data"}
    return bar.update(
        legendgroup=name, error_y={**whiskers, "thickness": 1, "width": 2, "color": theme.BLACK}
    )


def areas(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    group: str,
    title: str = "",
    labels: Mapping[str, str] | None = None,
    why: str = "",
) -> go.Figure:
    """Areas on one another, such as the nodes of several owners over time.

    A value holds until the next. Each area has the color and the pattern of its place.

    Parameters
    ----------
    table : pd.DataFrame
        Tidy, one point per row.
    x, y : str
        Columns of the axes.
    group : str
        Column of what tells areas apart.
    title : str
    labels : mapping of str to str, optional
        What the axes say, by column.
    why : str
        Said in the place of the figure where the table has no row, or no value to draw.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> table = pd.DataFrame({"day": [0, 1, 2, 3] * 2, "nodes": [4, 1, 2, 4, 0, 3, 1, 0]})
    >>> table["owner"] = ["host"] * 4 + ["user"] * 4
    >>> figure = lab.figures.areas(table, x="day", y="nodes", group="owner")
    >>> [(area.name, area.y) for area in figure.data]
    [('host', (4, 1, 2, 4)), ('user', (0, 3, 1, 0))]
    """
    check_table(table, x, y, group)
    if nothing := nothing_to_draw(table, y, title, why):
        return nothing
    named = {column: column for column in (x, y)} | dict(labels or {})
    picture = theme.figure(title=title, height=400)
    for place, name in enumerate(dict.fromkeys(table[group])):
        rows = table[table[group] == name]
        tint = theme.faded(theme.CYCLE[place % len(theme.CYCLE)], 0.5)
        shape = theme.HATCHES[place % len(theme.HATCHES)]
        look = {"name": str(name), "stackgroup": y}
        picture.add_trace(theme.steps(rows[x].tolist(), rows[y].tolist(), tint, shape, **look))
    picture.update_xaxes(title=named[x], title_standoff=8)
    return picture.update_yaxes(title=named[y], rangemode="tozero")


def plot_table(table: pd.DataFrame, *, title: str = "", why: str = "") -> go.Figure:
    """A table under the names of its columns: numbers are set right, texts left.

    Parameters
    ----------
    table : pd.DataFrame
        Its index is not shown.
    title : str
    why : str
        Said in the place of the figure where the table has no row.
    """
    check_table(table)
    if table.empty:
        return plot_empty(title, why or "the table has no rows")
    numeric = [pd.api.types.is_numeric_dtype(table[name]) for name in table]
    align = ["right" if number else "left" for number in numeric]
    cells = [
        [f"{value:,.10g}" for value in table[name]] if number else table[name].tolist()
        for name, number in zip(table, numeric, strict=True)
    ]
    widths = [
        max([len(str(name)), *(len(str(cell)) for cell in column)]) + 2
        for name, column in zip(table, cells, strict=True)
    ]
    line = {"color": theme.GREY}
    heading = {"values": [f"<b>{name}</b>" for name in table], "fill": {"color": "#EEEEEE"}}
    body = {"values": cells, "height": 26, "fill": {"color": "white"}}
    picture = theme.figure(title=title, height=150 + 26 * len(table), margin={"b": 30, "l": 25})
    return picture.add_table(
        header={**heading, "align": align, "line": line},
        cells={**body, "align": align, "line": line},
        columnwidth=widths,
    )


def add_reference(picture: go.Figure, value: float, name: str) -> go.Figure:
    """Add a dashed horizontal line to all panels, and its name to the legend."""
    picture.add_hline(value, line=theme.DASHED)
    return picture.add_trace(theme.legend_entry(name, mode="lines", line=theme.DASHED))


def check_table(table: pd.DataFrame, *columns: str | None) -> None:
    """Check that there is a table with the columns that are named."""
    check.instance("table", table, pd.DataFrame)
    check.columns(table, [column for column in columns if column is not None], where="table")


def nothing_to_draw(table: pd.DataFrame, y: str, title: str, why: str) -> CaptionedFigure | None:
    """The sentence in the place of a figure where a table has no row, or no value; else None."""
    if table.empty:
        return plot_empty(title, why or "none of these cases was measured")
    if table[y].isna().all():
        return plot_empty(title, why or "none of these cases has a value")
    return None


def divide(
    table: pd.DataFrame, panel: str | None, values: list[Any], across: int
) -> list[tuple[pd.DataFrame, dict[str, int]]]:
    """The rows of each panel, and the panel's place in the figure."""
    parts = [table if panel is None else table[table[panel] == value] for value in values]
    return [
        (part, {"row": number // across + 1, "col": number % across + 1})
        for number, part in enumerate(parts)
    ]


def empty_panels(
    values: list[Any],
    across: int,
    own: str,
    labels: Mapping[str, str],
    panel: str | None,
    row: int = ROW,
) -> go.Figure:
    """Empty panels under their headings; without these where axes of their own name them."""
    rows = -(-len(values) // across)
    headed = panel is not None and not ("y" in own and all(str(each) in labels for each in values))
    drawn = row * rows + GAP * (rows - 1) if headed else LOW * (rows - 1) + row
    picture = make_subplots(
        rows=rows,
        cols=across,
        shared_yaxes="y" not in own,
        shared_xaxes=across == 1 and "x" not in own,
        horizontal_spacing=0.15 if "y" in own else 0.04,
        vertical_spacing=(GAP if headed else GAP / 3) / drawn,
        subplot_titles=theme.headings(values, labels.get(panel or "", "")) if headed else None,
    )
    return theme.style(picture, height=AROUND + drawn, margin={"t": 95 if headed else 70})


def name_axes(
    picture: go.Figure,
    values: list[Any],
    across: int,
    own: str,
    labels: Mapping[str, str],
    axes: tuple[str, str],
) -> None:
    """Titles of the axes: of the left ones and the lowest, or of each where it is its own."""
    x, y = (labels.get(axis, axis) for axis in axes)
    for number, value in enumerate(values):
        row, column = number // across + 1, number % across + 1
        if column == 1 or "y" in own:
            named = labels.get(str(value), y if column == 1 else "") if "y" in own else y
            picture.update_yaxes(title=named, title_standoff=12, row=row, col=column)
        if number + across >= len(values) or "x" in own:
            named = labels.get(str(value), x) if "x" in own else x
            picture.update_xaxes(
                title=named, title_standoff=8, showticklabels=True, row=row, col=column
            )
    picture.update_xaxes(matches=None if "x" in own else "x")


def _line(
    part: pd.DataFrame,
    name: str,
    place: int,
    axes: tuple[str, str],
    bound: str | None,
    *,
    steps: bool,
) -> go.Scatter:
    """One line; its color follows the name, its marker and dash the place."""
    symbol = theme.MARKERS[place % len(theme.MARKERS)]
    symbols: str | list[str] = symbol
    if bound is not None:
        symbols = [f"{symbol}-open" if low else symbol for low in part[bound]]
    tint = theme.color(name, place)
    return go.Scatter(
        x=part[axes[0]].tolist(),
        y=part[axes[1]].tolist(),
        name=name,
        legendgroup=name,
        mode="lines" if steps or len(part) > MARKED else "lines+markers",
        line={
            "color": tint,
            "dash": theme.DASHES[place % len(theme.DASHES)],
            "width": 1.8,
            "shape": "hv" if steps else "linear",
        },
        marker={"symbol": symbols, "color": tint, "size": 7},
    )


def _band(part: pd.DataFrame, line: go.Scatter, x: str, least: str, most: str) -> go.Scatter:
    """The area between two columns where both are numbers, in the color of its line."""
    part = part[np.isfinite(part[least]) & np.isfinite(part[most])]
    return go.Scatter(
        x=[*part[x], *part[x][::-1]],
        y=[*part[most], *part[least][::-1]],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=theme.faded(line.line.color, 0.15),
        hoverinfo="skip",
        showlegend=False,
        legendgroup=line.name,
    )


def heatmap(
    table: pd.DataFrame, *, powers: tuple[float, float] | None = None, **options: Any
) -> go.Heatmap:
    """A heat map of a table: its columns across, its index up, empty if it has no number.

    Parameters
    ----------
    table : pd.DataFrame
    powers : tuple of float, optional
        Colors are logarithmic between these powers of ten, and what is below has the first color.
    **options
        Of Plotly's heat map; `colorbar` may name the unit.
    """
    values = table.to_numpy(dtype=np.float64)
    shown = values
    if powers is not None:
        shown = np.log10(np.maximum(values, 10.0 ** (powers[0] - 1))).round(6)
        ticks = np.arange(powers[0], np.floor(powers[1]) + 1)
        names = [f"{10.0**tick:,g}" for tick in ticks]
        bar = {"tickvals": ticks.tolist(), "ticktext": [f"≤ {names[0]}", *names[1:]]}
        options["colorbar"] = bar | options.get("colorbar", {})
        options |= {"zmin": powers[0], "zmax": powers[1]}
    if np.isnan(shown).any():  # browsers know no NaN
        shown = np.where(np.isnan(shown), None, shown.astype(object))
    given = {"customdata": values, "colorscale": theme.COLORSCALE, "hoverongaps": False}
    return go.Heatmap(
        x=table.columns.to_numpy(), y=table.index.to_numpy(), z=shown, **(given | options)
    )


def job_bars(
    jobs: Sequence[str],
    nodes: np.ndarray,
    fate: np.ndarray,
    names: Mapping[str, str],
    details: np.ndarray,
    hover: str,
) -> list[go.Bar]:
    """Jobs as bars of their nodes, one trace for each thing that may become of them.

    `names` are those of fates, which have colors and patterns of their own; `details` are for the
    text `hover`.
    """
    return [
        # Names, not numbers: a live figure forgets that an axis has categories and draws nothing.
        go.Bar(
            y=list(jobs),
            x=np.where(fate == each, nodes, 0),
            orientation="h",
            name=name,
            customdata=details,
            marker=theme.patterned(each),
            hovertemplate=hover,
        )
        for each, name in names.items()
    ]


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """A table as a notebook shows it: "unknown" in the place of a number that is none."""
    check.instance("table", table, pd.DataFrame)
    return table.apply(
        lambda column: (
            column.astype(object).where(column.notna(), UNKNOWN) if column.isna().any() else column
        )
    )
