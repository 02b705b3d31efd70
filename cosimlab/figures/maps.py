"""Heat maps of tables: a cell for each pair of values, its color a third value."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures import theme
from cosimlab.figures.charts import check_table, heatmap, nothing_to_draw
from cosimlab.figures.publishing import captioned
from cosimlib import checks as check
from cosimlib.display import duration

NO_VALUE = "#CFCFCF"
NO_GAIN = "#F7F7F7"
RATIO_COLORS = ((0.0, theme.BLUE), (0.5, NO_GAIN), (1.0, theme.VERMILION))
"""Blue, white, vermilion: distinct for color-blind readers too."""

DURATIONS = (1, 10, 60, 600, 3_600, 14_400, 57_600, 172_800, 604_800, 2_592_000)
"""Ticks of a logarithmic axis of seconds."""

VEIL = [[0.0, "rgba(255,255,255,0.75)"], [1.0, "rgba(255,255,255,0)"]]
"""White over a cell, from one job to `few`."""


def heat_map(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    title: str = "",
    labels: Mapping[str, str] | None = None,
    log: str = "",
    seconds: str = "",
    diverging_at: float | None = None,
    limits: tuple[float, float] | None = None,
    count: str | None = None,
    few: int = 10,
    why: str = "",
) -> go.Figure:
    """A cell for each pair of values of two columns, its color the value of a third.

    Parameters
    ----------
    table : pd.DataFrame
        Tidy, one cell per row.
    x, y : str
        Columns of the axes: names, or numbers at which cells begin.
    value : str
        Column of the colors. A cell without a number is gray.
    title : str
    labels : mapping of str to str, optional
        What the axes and the colors say, by column.
    log : {"", "x", "y", "xy", "z", …}
        The logarithmic axes; ``z`` is the colors'. On a logarithmic axis a cell ends where the next
        begins, and the last one is as wide as the one before it. On any other axis all cells are
        equally wide and are named by their value.
    seconds : {"", "x", "y", "xy"}
        The axes whose numbers are seconds. Their ticks are durations such as "10 min".
    diverging_at : float, optional
        The value without color, such as 1 for ratios: below it cells are blue, above it vermilion.
        Above 0 the colors are logarithmic: twice as much and half as much are equally strong.
    limits : tuple of float, optional
        Values of the first and the last color. Cells beyond them have these colors, too.
    count : str, optional
        Column of the number of jobs in a cell. Cells of few jobs are paler.
    few : int, default 10
        Jobs from which a cell has its full color.
    why : str
        Said in the place of the figure where the table has no row, or no value to draw.

    Examples
    --------
    Which jobs gain, by size and length:

    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> log = cs.synthetic.lublin(1_000, load=0.8, seed=1)
    >>> fcfs, fit = cs.simulate_fcfs(log, log.machine), cs.simulate_first_fit(log, log.machine)
    >>> table = cs.metrics.ratio_by_size_and_length(fcfs, fit, "bounded_slowdown")
    >>> figure = lab.figures.heat_map(
    ...     table, x="run_time", y="nodes", value="ratio", count="jobs", log="xy", seconds="x",
    ...     diverging_at=1, labels={"run_time": "run time", "ratio": "FCFS ÷ first fit"},
    ... )
    >>> figure.layout.xaxis.title.text, figure.layout.yaxis.type
    ('run time', 'log')
    """
    check_table(table, x, y, value, count)
    if nothing := nothing_to_draw(table, value, title, why):
        return nothing
    if table.duplicated([x, y]).any():
        twice = table[table.duplicated([x, y])].iloc[0]
        raise check.ArgumentError(
            f"table: two rows have {x}={twice[x]} and {y}={twice[y]}; expected one row per cell"
        )
    names = {column: column for column in (x, y, value)} | dict(labels or {})
    across, up = (
        _cells(table[column], axis in log, axis in seconds) for column, axis in ((x, "x"), (y, "y"))
    )
    values = _grid(table, x, y, value, across, up)
    jobs = None if count is None else _grid(table, x, y, count, across, up)
    colors = _colors(values, "z" in log, diverging_at, limits)
    picture = theme.figure(title=title, height=500, plot_bgcolor=NO_VALUE)
    shown = heatmap(
        pd.DataFrame(colors.values),
        zmin=colors.low,
        zmax=colors.high,
        colorscale=theme.COLORSCALE if diverging_at is None else [list(c) for c in RATIO_COLORS],
        colorbar={"title": {"text": names[value] + "<br> "}, **colors.ticks},
        **_hover((x, y), across, up, values, jobs),
    )
    picture.add_trace(shown.update(x=across.places, y=up.places))
    if jobs is not None:
        pale = np.log(np.where(np.isfinite(values) & (jobs > 0), jobs, np.nan)) / np.log(few)
        veil = heatmap(pd.DataFrame(pale), zmin=0, zmax=1, colorscale=VEIL, hoverinfo="skip")
        picture.add_trace(veil.update(x=across.places, y=up.places, showscale=False))
    picture.update_xaxes(title=names[x], showgrid=False, **across.options)
    picture.update_yaxes(title=names[y], showgrid=False, **up.options)
    pale_cells = f"Cells of fewer than {few} jobs are the paler the fewer. " if count else ""
    gray = "Gray cells have no jobs." if count else "Gray cells have no value."
    empty = np.isnan(values).any()
    note = f"{pale_cells}{gray if empty else ''}".strip()
    return captioned(picture, note)


class Cells(NamedTuple):
    """Cells along an axis: their values, their places or edges, their names, and the axis."""

    values: list[Any]
    places: list[float]
    names: list[str]
    options: dict[str, Any]


def _cells(column: pd.Series, log: bool, seconds: bool) -> Cells:
    """The cells along one axis, equally wide or from value to value."""
    numeric = pd.api.types.is_numeric_dtype(column)
    ordered = numeric or isinstance(column.dtype, pd.CategoricalDtype)
    found = column.dropna().drop_duplicates()
    values = (found.sort_values() if ordered else found).tolist()
    if not numeric:
        names = [str(each) for each in values]
    elif seconds:
        names = [duration(each) for each in values]
    else:
        names = [f"{each:,.10g}" for each in values]
    if log:
        edges, axis = _edges(str(column.name), values, seconds)
        return Cells(values, edges, names, axis)
    places = [float(place) for place in range(len(values))]
    every = max(1, -(-len(values) // theme.LABELS))
    ticks = {"tickmode": "array", "tickvals": places[::every], "ticktext": names[::every]}
    return Cells(values, places, names, {**ticks, "ticks": ""})


def _edges(column: str, values: list[Any], seconds: bool) -> tuple[list[float], dict[str, Any]]:
    """Edges of cells on a logarithmic axis, one more than there are cells, and that axis."""
    positive = check.is_number(values[0]) and values[0] > 0
    check.that(column, values[0], positive, "above 0 on a logarithmic axis")
    last = values[-1] * (values[-1] / values[-2] if len(values) > 1 else 2.0)
    edges = [float(edge) for edge in (*values, last)]
    options: dict[str, Any] = {"type": "log", "range": np.log10([edges[0], edges[-1]]).tolist()}
    if seconds:
        ticks = [tick for tick in DURATIONS if edges[0] <= tick <= edges[-1]]
        options |= {"tickvals": ticks, "ticktext": [duration(tick) for tick in ticks]}
    else:
        options |= theme.log_axis(edges) | {"range": options["range"]}
    return edges, options


def _grid(table: pd.DataFrame, x: str, y: str, value: str, across: Cells, up: Cells) -> np.ndarray:
    """Values by rows and columns of cells; NaN where the table has none."""
    by_cell = table.set_index([y, x])[value].unstack(x)  # noqa: PD010
    return by_cell.reindex(index=up.values, columns=across.values).to_numpy(dtype=np.float64)


class Colors(NamedTuple):
    """What colors a heat map's values have, between two ends, and the color bar's ticks."""

    values: np.ndarray
    low: float
    high: float
    ticks: dict[str, Any]


def _colors(
    values: np.ndarray,
    log: bool,
    diverging_at: float | None,
    limits: tuple[float, float] | None,
) -> Colors:
    """Values as colors, by themselves or by their logarithms."""
    known = values[np.isfinite(values)]
    log = log or (diverging_at is not None and diverging_at > 0)
    if log:
        known = known[known > 0]
    low, high = limits or (known.min(initial=np.inf), known.max(initial=-np.inf))
    if not low < high:  # a single value, or none
        low, high = (low / 2, low * 2) if log and np.isfinite(low) else (low - 1, low + 1)
    if not np.isfinite([low, high]).all():
        low, high = (0.1, 10.0) if log else (-1.0, 1.0)
    if limits is None and diverging_at is not None:
        low, high = _around(diverging_at, low, high, log)
    if not log:
        return Colors(values, low, high, {})
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.where(np.isnan(values), np.nan, np.log10(np.clip(values, low / 10, high * 10)))
    ticks = _log_ticks(low, high)
    names = [f"{tick:,.6g}" for tick in ticks]
    if known.size and (np.nanmin(values) < low) and ticks[0] == low:
        names[0] = f"≤ {names[0]}"
    if known.size and (np.nanmax(values) > high) and ticks[-1] == high:
        names[-1] = f"≥ {names[-1]}"
    bar = {"tickvals": np.log10(ticks).tolist(), "ticktext": names}
    return Colors(shown.round(6), float(np.log10(low)), float(np.log10(high)), bar)


def _around(middle: float, low: float, high: float, log: bool) -> tuple[float, float]:
    """Ends that are equally far from the middle: by a round factor where colors are logarithmic."""
    if not log:
        reach = max(high - middle, middle - low)
        return middle - reach, middle + reach
    factor = max(high / middle, middle / low)
    steps = np.multiply.outer(10.0 ** np.arange(0, 16), (1.0, 2.0, 5.0)).ravel()[1:]
    factor = float(steps[steps >= min(factor, steps[-1]) * (1 - 1e-9)][0])
    return middle / factor, middle * factor


def _log_ticks(low: float, high: float) -> np.ndarray:
    """Ticks of logarithmic colors: powers of ten, also 2 and 5 times these within two of them."""
    digits = (1, 2, 5) if high < 100.001 * low else (1,)
    ticks = np.multiply.outer(10.0 ** np.arange(-15, 16), digits).ravel()
    inside = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
    return inside if inside.size > 1 else np.array([low, high])


def _hover(
    axes: tuple[str, str], across: Cells, up: Cells, values: np.ndarray, jobs: np.ndarray | None
) -> dict[str, Any]:
    """What a cell says when one points at it."""
    x, y = axes
    counted = "" if jobs is None else ", %{customdata[3]:,.0f} jobs"
    wide, high = np.meshgrid(np.array(across.names, object), np.array(up.names, object))
    numbers = values.astype(object)
    numbers[np.isnan(values)] = None
    parts = [wide, high, numbers]
    if jobs is not None:
        parts.append(np.nan_to_num(jobs))
    text = f"{x} %{{customdata[0]}}, {y} %{{customdata[1]}}{counted}: %{{customdata[2]:.4g}}"
    return {"customdata": np.dstack(parts), "hovertemplate": f"{text}<extra></extra>"}
