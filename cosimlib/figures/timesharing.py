"""Time-sharing against batch scheduling: distributions, bins of size and length, boxes, weeks."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.figures import theme
from cosimlib.figures.footnotes import footnote
from cosimlib.figures.nothing import plot_nothing
from cosimlib.timesharing import RunSummary
from cosimlib.timesharing.summary import LEVELS
from cosimlib.units import DAY

DURATIONS = {10: "10 s", 60: "1 min", 600: "10 min", 3_600: "1 h", 14_400: "4 h", 57_600: "16 h"}
DURATIONS |= {172_800: "48 h"}

LENGTHS = DURATIONS | {7 * DAY: "7 days", 30 * DAY: "30 days"}
"""Ticks of an axis of run times, in seconds."""

NO_JOBS = "#CFCFCF"
FEW_POINTS = 8
"""Points from which on a line needs no markers."""

FEW_JOBS = 10
"""Bins of fewer jobs are paler."""

VEIL = ((0.0, "rgba(255,255,255,0.75)"), (1.0, "rgba(255,255,255,0)"))
"""White over a bin, from one job to `FEW_JOBS`."""

LEAST_RANGE = 4.0
"""Percent of the capacity that an axis of utilization shows at least."""

ROW, GAP = 290, 85
"""Pixels of a row of panels, and between two."""

NO_GAIN = "#F7F7F7"
RATIO_COLORS = ((0.0, theme.BLUE), (0.5, NO_GAIN), (1.0, theme.VERMILION))
"""Blue, white, vermilion: told apart by color-blind readers too."""


def size_table(nodes: Sequence[int], run_time: Sequence[float]) -> pd.DataFrame:
    """Share of the node-hours in jobs of at most so many nodes: `nodes`, `share`."""
    work = pd.Series(np.asarray(nodes, float) * np.asarray(run_time, float))
    sums = work.groupby(np.asarray(nodes)).sum().cumsum()
    return pd.DataFrame({"nodes": sums.index, "share": (sums / sums.iloc[-1]).to_numpy()})


def slowdown_table(summaries: Sequence[RunSummary]) -> pd.DataFrame:
    """Quantiles of the slowdown: `policy`, `slowdown`, `share` of the jobs with at most that."""
    return pd.concat(
        [
            pd.DataFrame({"policy": each.policy, "slowdown": each.quantiles, "share": LEVELS})
            for each in summaries
        ],
        ignore_index=True,
    )


def week_table(summaries: Sequence[RunSummary], names: Sequence[str] | None = None) -> pd.DataFrame:
    """Means over the week before: `policy` (or its name here), `day`, `utilization`, `cpu_load`."""
    names = [each.policy for each in summaries] if names is None else names
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "policy": name,
                    "day": np.array(each.weeks) / DAY,
                    "utilization": each.weekly_utilization,
                    "cpu_load": each.weekly_load,
                }
            )
            for name, each in zip(names, summaries, strict=True)
        ],
        ignore_index=True,
    )


def plot_lines(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    title: str,
    labels: Mapping[str, str],
    line: str = "",
    log: str = "",
    why: str = "",
) -> go.Figure:
    """Lines, without markers where there are more than a few points.

    Parameters
    ----------
    table : pd.DataFrame
        One point per row.
    x, y, line : str
        Columns of the axes and of what tells lines apart.
    title : str
    labels : mapping of str to str
        What the axes say, by column.
    log : str
        Which axes are logarithmic.
    why : str
        Said in the place of the figure where the table has no row.
    """
    check.instance("table", table, pd.DataFrame)
    if table.empty:
        return plot_nothing(title, why or "nothing was measured")
    picture = theme.figure(title=title, height=450, margin={"b": 130})
    groups = table.groupby(line, sort=False) if line else [("", table)]
    for place, (name, part) in enumerate(groups):
        picture.add_scatter(
            x=part[x].tolist(), y=part[y].tolist(), name=name, showlegend=bool(line),
            mode="lines" if len(part) > FEW_POINTS else "lines+markers",
            line={"color": theme.color(str(name), place), "dash": theme.DASHES[place % 7],
                  "width": 2},
        )  # fmt: skip
    for axis, column in (("x", x), ("y", y)):
        style = {"title": labels[column]} | (_logarithmic(table[column]) if axis in log else {})
        picture.update_layout({f"{axis}axis": style})
    return picture.update_layout(legend={"orientation": "h", "y": -0.24, "yanchor": "top", "x": 0})


def _logarithmic(values: pd.Series) -> dict[str, object]:
    """A logarithmic axis: powers of ten, and 2 and 5 between them where there are few."""
    few = values.max() < 100 * values.min()
    return {"type": "log", "dtick": "D2" if few else 1, "tickformat": ",~g"}


def bin_table(summary: RunSummary, other: RunSummary | None = None) -> pd.DataFrame:
    """Mean slowdown by size and length, or `summary`'s ÷ `other`'s: a row per bin.

    Returns
    -------
    pd.DataFrame
        `nodes` and `run_time` (s) from which a bin goes, `jobs`, `slowdown` or `ratio`; only bins
        with jobs.
    """
    check.instance("summary", summary, RunSummary)
    values = summary.bins if other is None else summary.bins / other.bins
    row, column = np.nonzero(np.isfinite(values))
    return pd.DataFrame(
        {
            "nodes": np.array(summary.nodes_edges)[row],
            "run_time": np.array(summary.length_edges)[column],
            "jobs": np.array(summary.counts)[row, column],
            "slowdown" if other is None else "ratio": values[row, column],
        }
    )


def plot_bins(
    summary: RunSummary, other: RunSummary | None = None, *, title: str, most: float = 1_000.0
) -> go.Figure:
    """A heat map of mean slowdown by size and length, or of the ratio of two.

    Parameters
    ----------
    summary : RunSummary
        Its bins, or those of the ratio's numerator.
    other : RunSummary, optional
        The denominator; bins then are blue below 1 and vermilion above.
    title : str
    most : float
        Slowdowns above this, ratios above it or below its inverse, have the last color.
    """
    check.instance("summary", summary, RunSummary)
    values = summary.bins if other is None else summary.bins / other.bins
    low, high = (0.0 if other is None else -np.log10(most)), np.log10(most)
    ticks = np.arange(np.ceil(low), high + 1e-9)
    picture = theme.figure(title=title, height=520, plot_bgcolor=NO_JOBS)
    picture.add_heatmap(
        x=summary.length_edges, y=summary.nodes_edges, z=np.log10(values),
        customdata=values, zmin=low, zmax=high,
        colorscale=theme.COLORSCALE if other is None else [list(c) for c in RATIO_COLORS],
        text=summary.counts, hovertemplate="from %{x:.3g} s, %{y:.3g} nodes, %{text} jobs: "
        "%{customdata:.3g}<extra></extra>",
        colorbar={"title": {"text": "mean slowdown" if other is None else
                            f"{summary.policy} ÷<br>{other.policy.replace(' (', '<br>(')}<br> "},
                  "tickvals": ticks, "ticktext": [f"{10.0**t:g}" for t in ticks]},
    )  # fmt: skip
    counts = np.array(summary.counts, float)
    picture.add_heatmap(
        x=summary.length_edges, y=summary.nodes_edges, zmin=0, zmax=1,
        z=np.log(np.where(np.isfinite(values), counts, np.nan)) / np.log(FEW_JOBS),
        colorscale=[list(c) for c in VEIL], showscale=False, hoverinfo="skip",
    )  # fmt: skip
    picture.update_xaxes(
        type="log", title="dedicated run time (gray: no jobs)", tickvals=list(LENGTHS),
        ticktext=list(LENGTHS.values()), showgrid=False,
        range=np.log10([summary.length_edges[0], summary.length_edges[-1]]).tolist(),
    )  # fmt: skip
    picture.update_yaxes(type="log", title="nodes", dtick=1, tickformat=",", showgrid=False)
    better = "" if other is None else " Above 1, jobs fare better under the second policy."
    return footnote(
        picture,
        "Slowdown: turnaround ÷ max(dedicated run time, 10 s). Bins of fewer than ten jobs are the "
        f"paler the fewer, gray bins have none.{better}",
    )


def box_table(summaries: Mapping[str, RunSummary]) -> pd.DataFrame:
    """Quartiles, whiskers (1.5 interquartile ranges) and mean of slowdowns, a row per run."""
    check.instance("summaries", summaries, Mapping)
    rows = []
    for name, each in summaries.items():
        low, middle, high = (each.quantile(level) for level in (0.25, 0.5, 0.75))
        inside = np.array(each.quantiles)
        reach = 1.5 * (high - low)
        least = float(inside[inside >= low - reach].min())
        most = float(inside[inside <= high + reach].max())
        rows.append((name, least, low, middle, high, most, each.mean_slowdown))
    columns = ["run", "lower whisker", "25%", "50%", "75%", "upper whisker", "mean"]
    return pd.DataFrame(rows, columns=columns)


def plot_boxes(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Boxes of slowdowns on a logarithmic axis, means as diamonds.

    Parameters
    ----------
    table : pd.DataFrame
        As of `box_table`.
    title : str
    """
    check.instance("table", table, pd.DataFrame)
    picture = theme.figure(title=title, height=500, showlegend=False, margin_b=95)
    for row in table.itertuples(index=False):
        picture.add_box(
            x=[row[0]], lowerfence=[row[1]], q1=[row[2]], median=[row[3]], q3=[row[4]],
            upperfence=[row[5]], name=row[0], width=0.5,
            line={"color": theme.BLUE if "batch" in str(row[0]) else theme.VERMILION},
        )  # fmt: skip
        picture.add_scatter(
            x=[row[0]], y=[max(row[5], row[6]) * 1.1], mode="text", text=[f"{row[6]:.3g}"],
            textposition="top center", hoverinfo="skip",
        )  # fmt: skip
        picture.add_scatter(
            x=[row[0]], y=[row[6]], mode="markers",
            marker={"symbol": "diamond", "size": 10, "color": theme.BLACK},
            hovertemplate="mean %{y:.3g}<extra></extra>",
        )  # fmt: skip
    picture.update_xaxes(title="", tickangle=0)
    picture.update_yaxes(type="log", title="slowdown (◆ mean)", dtick="D2", tickformat=",")
    return footnote(
        picture,
        "Boxes span the quartiles, the line in them is the median; whiskers reach to the last job "
        "within 1.5 times the distance of the quartiles; numbers are the means.",
    )


def plot_overheads(table: pd.DataFrame, *, batch: float, title: str) -> go.Figure:
    """Utilization and mean slowdown against overhead, side by side.

    Parameters
    ----------
    table : pd.DataFrame
        `overhead`, `utilization`, `slowdown`; a row per run, one line for each `memory`.
    batch : float
        Utilization under batch scheduling, dashed.
    title : str
    """
    check.instance("table", table, pd.DataFrame)
    picture = make_subplots(cols=2, horizontal_spacing=0.13)
    for place, (name, part) in enumerate(table.groupby("memory", sort=False)):
        for column, of in enumerate((100 * part["utilization"], part["slowdown"]), start=1):
            picture.add_scatter(
                x=(100 * part["overhead"]).tolist(), y=of.tolist(), mode="lines+markers",
                name=name, legendgroup=name, showlegend=column == 1, row=1, col=column,
                line={"color": theme.CYCLE[place], "dash": theme.DASHES[place]},
                marker={"symbol": theme.MARKERS[place], "size": 8},
            )  # fmt: skip
    picture.add_hline(
        y=100 * batch, line={"dash": "dash", "color": theme.BLACK}, row=1, col=1,
        annotation={"text": f"batch: {percent(batch, 0)}", "yanchor": "bottom", "yshift": 4},
    )  # fmt: skip
    theme.style(picture, title=title, height=430, margin={"b": 110})
    picture.update_xaxes(title="overhead, part of the capacity", ticksuffix=" %")
    low, high = (100 * pick(batch, pick(table["utilization"])) for pick in (min, max))
    beyond = max(0.08 * (high - low), LEAST_RANGE / 2 - (high - low) / 2)
    seen = {"ticksuffix": " %", "range": [low - beyond, high + beyond]}
    picture.update_yaxes(title="utilization", **seen, col=1)
    picture.update_yaxes(title="mean slowdown", tickformat="~g", col=2)
    if table["slowdown"].max() > 4 * table["slowdown"].min():
        picture.update_yaxes(type="log", dtick="D2", title="mean slowdown (log)", col=2)
    return picture.update_layout(legend={"orientation": "h", "y": -0.26, "yanchor": "top", "x": 0})


def plot_turnarounds(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Turnaround against nodes: a panel per application, a line per policy.

    Sizes above the largest at which any policy has a turnaround are left out.

    Parameters
    ----------
    table : pd.DataFrame
        As of `turnaround_times`.
    title : str
    """
    check.instance("table", table, pd.DataFrame)
    names = list(dict.fromkeys(table["application"]))
    rows = -(-len(names) // 3)
    picture = make_subplots(
        rows=rows, cols=min(3, len(names)), subplot_titles=names, shared_yaxes=True,
        horizontal_spacing=0.04, vertical_spacing=GAP / (ROW * rows - 50),
    )  # fmt: skip
    policies = list(dict.fromkeys(table["policy"]))
    table = table[table["nodes"] <= table.loc[table["turnaround_time"].notna(), "nodes"].max()]
    listed: set[str] = set()
    for place, name in enumerate(names):
        where = {"row": place // 3 + 1, "col": place % 3 + 1}
        part = table[table["application"] == name]
        for number, policy in enumerate(policies):
            here = part[part["policy"] == policy]
            first = policy not in listed and here["turnaround_time"].notna().any()
            listed |= {policy} if first else set()
            picture.add_scatter(
                x=here["nodes"].tolist(), y=(here["turnaround_time"] / 60).tolist(), name=policy,
                mode="lines+markers", legendgroup=policy, showlegend=bool(first), connectgaps=True,
                line={"color": theme.color(policy, number), "dash": theme.DASHES[number]},
                marker={"symbol": theme.MARKERS[number], "size": 6}, **where,
            )  # fmt: skip
    theme.style(picture, title=title, height=170 + ROW * rows, margin={"t": 100, "b": 120})
    picture.update_xaxes(**_logarithmic(table["nodes"]), matches="x")
    picture.update_xaxes(title="nodes", row=rows)
    picture.update_yaxes(**_logarithmic(table["turnaround_time"]))
    picture.update_yaxes(title="turnaround, min", title_standoff=12, col=1)
    picture.update_layout(legend={"orientation": "h", "y": -0.28 / rows, "yanchor": "top", "x": 0})
    return footnote(
        picture,
        "Turnaround: dedicated run time × mean slowdown of ten jobs or more of about that size and "
        "length. Sizes without so many have no marker; lines pass over them.",
    )
