"""Distributions of a table's values: cumulative curves, violins, boxes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures import theme
from cosimlab.figures.charts import (
    check_table,
    divide,
    empty_panels,
    lines,
    nothing_to_draw,
)
from cosimlab.figures.publishing import captioned
from cosimlib import checks as check

POINTS = 1_000
"""Points of a cumulative curve, at most."""
GRID = 160
"""Values at which a density is given."""
BINS = 2048
"""Bins in which a density counts its values."""
VIOLIN_ROW = 330
"""Pixels of a row of violins."""
BOX = ("lower whisker", "25%", "50%", "75%", "upper whisker", "mean")
"""Columns of a table of boxes."""


def ecdf(
    table: pd.DataFrame,
    *,
    x: str,
    title: str = "",
    line: str | None = None,
    weight: str | None = None,
    labels: Mapping[str, str] | None = None,
    panel: str | None = None,
    log: str = "",
    why: str = "",
) -> go.Figure:
    """The share of rows with at most some value: the empirical distribution.

    Parameters
    ----------
    table : pd.DataFrame
        Tidy, such as one job per row.
    x : str
        Column of the values. Rows without a value do not count. A value that is infinite counts,
        and its line ends below 1.
    title : str
    line : str, optional
        Column of what tells lines apart.
    weight : str, optional
        Column of weights, such as node-hours. By default all rows weigh the same.
    labels : mapping of str to str, optional
        What the axes say, by column; ``"share"`` is the vertical one.
    panel : str, optional
        Column of the panels.
    log : {"", "x", "y", "xy"}
        The logarithmic axes. On a logarithmic x axis values of 0 are not seen, but they count.
    why : str
        Said in the place of the figure where the table has no value to draw.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> log = cs.synthetic.lublin(1_000, load=0.8, seed=1)
    >>> schedules = [cs.simulate_fcfs(log, log.machine), cs.simulate_first_fit(log, log.machine)]
    >>> waits = {one.policy: cs.metrics.wait_time(one) / 3600 for one in schedules}
    >>> table = pd.concat(waits, names=["policy"]).rename("wait").reset_index()
    >>> figure = lab.figures.ecdf(table, x="wait", line="policy", labels={"wait": "wait (h)"})
    >>> [curve.name for curve in figure.data], figure.data[0].y[-1]
    (['FCFS', 'first fit'], 1.0)
    """
    check_table(table, x, line, weight, panel)
    if nothing := nothing_to_draw(table, x, title, why):
        return nothing
    keys = [column for column in (panel, line) if column is not None]
    groups = table.groupby(keys, sort=False, observed=True) if keys else [((), table)]
    curves = [
        _cumulate(part[x], None if weight is None else part[weight]).assign(
            **dict(zip(keys, name, strict=True))
        )
        for name, part in groups
    ]
    names = {"share": "share of node-hours" if weight == "node_hours" else "share"}
    return lines(
        pd.concat(curves, ignore_index=True).rename(columns={"value": x}),
        x=x,
        y="share",
        title=title,
        line=line,
        panel=panel,
        labels=names | dict(labels or {}),
        log=log,
        steps=True,
        why=why,
    )


def _cumulate(values: pd.Series, weights: pd.Series | None) -> pd.DataFrame:
    """`value`, `share` of rows with at most that; at most `POINTS` of them."""
    is_known = values.notna()
    known = values[is_known].to_numpy(dtype=float)
    weight = np.ones(known.size) if weights is None else weights[is_known].to_numpy(dtype=float)
    order = np.argsort(known, kind="stable")
    value, weight = known[order], weight[order]
    share = np.cumsum(weight) / weight.sum()

    # Of equal values the last has the share of rows with at most that.
    is_step = np.append(value[1:] != value[:-1], True)[: value.size] & np.isfinite(value)
    steps = np.flatnonzero(is_step)
    # The first and the last step are among those that are kept.
    kept = steps[np.linspace(0, steps.size - 1, min(POINTS, steps.size)).round().astype(int)]
    return pd.DataFrame({"value": value[kept], "share": share[kept].round(6)})


def violins(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    title: str = "",
    group: str | None = None,
    labels: Mapping[str, str] | None = None,
    panel: str | None = None,
    shown: float = 0.99,
    why: str = "",
) -> go.Figure:
    """Distributions of a column, a violin for each value of another.

    A violin's width is the density relative to its maximum, so widths of two violins do not
    compare. The bar inside spans the quartiles, the white dot is the median. The figure holds
    densities, so that a million rows weigh as much as ten.

    Parameters
    ----------
    table : pd.DataFrame
        Tidy, one value per row.
    x, y : str
        Columns of names along the axis, and of values. Values are 0 or more.
    title : str
    group : str, optional
        Column of what tells violins of one name apart. Without it each name has a color.
    labels : mapping of str to str, optional
        What the axes and the legend say, by column. Panels are headed by ``labels[panel]`` and
        their value.
    panel : str, optional
        Column of the panels, which stand on one another, each with an axis of its own.
    shown : float, default 0.99
        The quantile at which a violin ends.
    why : str
        Said in the place of the figure where the table has no row, or no value to draw.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> lost = {"LIFO": [0, 1, 1, 2], "PAP": [0, 2, 4, 6]}
    >>> table = pd.DataFrame(lost).melt(var_name="policy", value_name="node-hours lost")
    >>> figure = lab.figures.violins(table, x="policy", y="node-hours lost")
    >>> figure.layout.xaxis.ticktext, figure.data[-1].y
    (('LIFO', 'PAP'), (1.0, 3.0))
    """
    check_table(table, x, y, group, panel)
    check.number("shown", shown, above=0.0, most=1.0, kind="a quantile")
    if nothing := nothing_to_draw(table, y, title, why):
        return nothing
    names = table[x].drop_duplicates().tolist()
    groups = table[group].drop_duplicates().tolist() if group else [None]
    values = table[panel].drop_duplicates().tolist() if panel else [None]
    labels = dict(labels or {})
    picture = empty_panels(values, 1, "x", labels, panel, VIOLIN_ROW)
    for part, at in divide(table, panel, values, 1):
        for place, kind in enumerate(groups):
            rows = part if group is None else part[part[group] == kind]
            offset = (place - (len(groups) - 1) / 2) * 0.84 / len(groups)
            samples = {name: rows.loc[rows[x] == name, y].dropna() for name in names}
            drawn = {
                number + offset: samples[name].to_numpy(dtype=float)
                for number, name in enumerate(names)
                if samples[name].size
            }
            for center, sample in drawn.items():
                number = round(center - offset)
                own = (str(names[number]), number) if group is None else (str(kind), place)
                violin = _violin(sample, center, 0.36 / len(groups), shown, theme.color(*own))
                listed = group is not None and at["row"] == 1 and center == min(drawn)
                picture.add_trace(
                    violin.update(name=own[0], legendgroup=own[0], showlegend=listed), **at
                )
            picture.add_traces(_medians(drawn), rows=at["row"], cols=at["col"])
    ends = [-0.5, len(names) - 0.5]
    ticks = {"tickvals": list(range(len(names))), "ticktext": [str(name) for name in names]}
    picture.update_xaxes(**ticks, showgrid=False, range=ends)
    picture.update_xaxes(title=labels.get(x, ""), row=len(values))
    picture.update_yaxes(title=labels.get(y, y), rangemode="tozero")
    legend = {"title": {"text": f"{labels.get(group, group)}  "}} if group else {}
    picture.update_layout(title=title, legend=legend)
    end = "end at their largest value" if shown == 1 else f"end at the {100 * shown:g}th percentile"
    return captioned(
        picture,
        f"White dots are medians, black bars span the quartiles. Violins {end} and are equally "
        "wide at their widest.",
    )


def _violin(sample: np.ndarray, center: float, half: float, shown: float, tint: str) -> go.Scatter:
    """The outline of a violin, filled, two thirds clear."""
    grid = np.linspace(0.0, max(float(np.quantile(sample, shown)), 1e-3), GRID)
    dense = density(sample, grid)
    width = half * dense / max(dense.max(), 1e-12)
    grid = grid.round(3)
    return go.Scatter(
        x=np.concatenate([center - width, (center + width)[::-1]]).round(4),
        y=np.concatenate([grid, grid[::-1]]),
        mode="lines",
        fill="toself",
        hoverinfo="skip",
        line={"color": tint, "width": 1},
        fillcolor=theme.faded(tint, 0.35),
    )


def _medians(samples: Mapping[float, np.ndarray]) -> list[go.Scatter]:
    """Quartiles as thick bars and medians as white dots, at the centers of violins."""
    centers = list(samples)
    quartiles = [np.quantile(sample, [0.25, 0.5, 0.75]).round(3) for sample in samples.values()]
    x = [value for center in centers for value in (center, center, None)]
    y = [value for low, _, high in quartiles for value in (float(low), float(high), None)]
    thick = {"color": theme.BLACK, "width": 4}
    dot = {"color": "white", "size": 6, "line": {"color": theme.BLACK, "width": 1}}
    return [
        go.Scatter(x=x, y=y, mode="lines", line=thick, hoverinfo="skip", showlegend=False),
        go.Scatter(
            x=centers,
            y=[float(median) for _, median, _ in quartiles],
            mode="markers",
            marker=dot,
            showlegend=False,
            hovertemplate="median %{y}<extra></extra>",
        ),
    ]


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Gaussian kernel density estimate of values from 0 up, on an ascending grid from 0.

    Values are counted in bins first, so that millions of them cost no more than thousands. The
    bandwidth is Silverman's, ``0.9 min(deviation, interquartile range / 1.34) n^(-1/5)``, at least
    half a grid step; what it would put below 0 is reflected. Values beyond the grid count for the
    total only, so the integral over the grid is the share of values within it.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    deviation = float(values.std())
    spread = min(deviation, (high - low) / 1.34) if high > low else deviation
    bandwidth = max(0.9 * spread * values.size**-0.2, 0.5 * (grid[1] - grid[0]))
    limit = grid[-1] + 5 * bandwidth
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, limit))
    middles = (edges[:-1] + edges[1:]) / 2
    filled = counts > 0
    counts, middles = counts[filled], middles[filled]
    kernels = np.exp(-0.5 * ((grid[:, None] - middles) / bandwidth) ** 2)
    kernels += np.exp(-0.5 * ((grid[:, None] + middles) / bandwidth) ** 2)
    return kernels @ counts / (values.size * bandwidth * np.sqrt(2 * np.pi))


def boxes(
    table: pd.DataFrame,
    *,
    x: str,
    title: str = "",
    group: str | None = None,
    labels: Mapping[str, str] | None = None,
    log: str = "",
    why: str = "",
) -> go.Figure:
    """Boxes whose quantiles are given, with the mean as a diamond and in figures above it.

    For runs of which only a summary is kept. For samples, Plotly Express has `px.box`.

    Parameters
    ----------
    table : pd.DataFrame
        One row per box: ``lower whisker``, ``25%``, ``50%``, ``75%``, ``upper whisker``, ``mean``.
    x : str
        Column of names along the axis.
    title : str
    group : str, optional
        Column of names by which boxes have their colors; by default `x`.
    labels : mapping of str to str, optional
        What the axes say; ``"value"`` is the vertical one.
    log : {"", "y"}
        Whether the vertical axis is logarithmic.
    why : str
        Said in the place of the figure where the table has no row, or no value to draw.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> row = ["EASY", 1.0, 1.2, 2.0, 7.0, 15.0, 21.5]
    >>> table = pd.DataFrame([row], columns=["policy", *lab.figures.BOX])
    >>> figure = lab.figures.boxes(table, x="policy", labels={"value": "slowdown"})
    >>> figure.data[0].median
    (2.0,)
    """
    check_table(table, x, group, *BOX)
    if nothing := nothing_to_draw(table, "50%", title, why):
        return nothing
    labels = dict(labels or {})
    picture = theme.figure(title=title, height=480, showlegend=False)
    kinds = list(dict.fromkeys(table[group or x]))
    for row in table.to_dict("records"):
        kind = row[group or x]
        tint = theme.color(str(kind), kinds.index(kind))
        for trace in _box(str(row[x]), [float(row[name]) for name in BOX], tint):
            picture.add_trace(trace)
    axis = theme.log_axis(table[list(BOX)].to_numpy()) if log else {"rangemode": "tozero"}
    picture.update_xaxes(title=labels.get(x, ""), tickangle=0)
    picture.update_yaxes(title=f"{labels.get('value', '')} (◆ mean)".strip(), **axis)
    return captioned(
        picture,
        "Boxes span the quartiles, the line in them is the median; whiskers reach to the last "
        "value within 1.5 times the distance of the quartiles; numbers are the means.",
    )


def _box(name: str, box: Sequence[float], tint: str) -> list[Any]:
    """One box, its mean as a number above it, and as a diamond."""
    low, first, median, third, high, mean = box
    diamond = {"symbol": "diamond", "size": 10, "color": theme.BLACK}
    drawn = go.Box(
        x=[name],
        lowerfence=[low],
        q1=[first],
        median=[median],
        q3=[third],
        upperfence=[high],
        name=name,
        width=0.5,
        line={"color": tint},
    )
    above = go.Scatter(
        x=[name],
        y=[max(high, mean) * 1.1],
        mode="text",
        text=[f"{mean:.3g}"],
        textposition="top center",
        hoverinfo="skip",
    )
    dot = go.Scatter(
        x=[name],
        y=[mean],
        mode="markers",
        marker=diamond,
        hovertemplate="mean %{y:.3g}<extra></extra>",
    )
    return [drawn, above, dot]
