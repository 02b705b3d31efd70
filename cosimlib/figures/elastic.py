"""Figures of preemptions: vectors over time, jobs touched, wasted cycles, owners of nodes.

Violins are drawn from densities, so a million values weigh as much as ten.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.figures.footnotes import footnote
from cosimlib.figures.nothing import plot_nothing
from cosimlib.units import DAY, HOUR, MINUTE

POINTS = 400
LABELS = 30
"""Nodes or jobs that have room for their numbers along an axis."""
FEW = 8
"""An axis of fewer jobs leaves room for so many; one of up to so many nodes labels each number."""
ROWS = 300
"""Most rows of a heat map of nodes."""
FATES = {"kill": "killed", "spare": "ends within the grace period", "keep": "not touched"}
VECTOR_SCALE = [[0.0, "#FFFFFF"], [0.5, "#7BA7C7"], [1.0, "#08306B"]]
NO_JOBS = "the workload has no jobs, so there is nothing to preempt"
OWNERS = ("", "/", ".", "x")
"""Patterns that tell owners apart, as their colors do."""

WIDTH = 0.86
"""Part of the room between two violins that one of them takes."""


def plot_vectors(
    vectors: dict[str, pd.DataFrame],
    *,
    title: str,
    intervals: pd.DataFrame | None = None,
) -> go.Figure:
    """Heat maps of preemption vectors, nodes over days: one panel per policy, dark is valuable.

    Parameters
    ----------
    vectors : dict of str to pd.DataFrame
        By policy, as `preemption_values` gives them, at evenly spaced moments.
    title : str
    intervals : pd.DataFrame, optional
        Jobs of high priority, drawn as boxes: `start`, `end` (s), `first`, `last` (nodes).
    """
    check.instance("vectors", vectors, Mapping)
    if all(table.empty for table in vectors.values()):
        return plot_nothing(title, NO_JOBS)
    picture = make_subplots(
        rows=len(vectors), shared_xaxes=True, vertical_spacing=0.09,
        subplot_titles=[f"({'abcde'[place]}) {name}" for place, name in enumerate(vectors)],
    )  # fmt: skip
    for row, table in enumerate(vectors.values(), start=1):
        trace = vector_trace(table)
        picture.add_trace(trace.update(showscale=row == 1), row=row, col=1)
        for box in () if intervals is None else intervals.itertuples():
            picture.add_shape(
                type="rect", x0=round(box.start / DAY, 6), x1=round(box.end / DAY, 6),
                y0=box.first - 0.5, y1=box.last + 0.5,
                line={"color": theme.VERMILION, "width": 2}, row=row, col=1,
            )  # fmt: skip
        picture.update_yaxes(title="node", showgrid=False, dtick=2, row=row)
    theme.style(picture, title=title, height=130 + 220 * len(vectors), margin={"t": 95})
    picture.update_xaxes(showgrid=False)
    picture.update_xaxes(title="days since the start", row=len(vectors))
    boxes = "" if intervals is None or intervals.empty else " Orange: jobs of high priority."
    return footnote(picture, f"The host takes the nodes of the least value first.{boxes}")


def vector_trace(values: pd.DataFrame, began: pd.Timestamp | None = None) -> go.Heatmap:
    """The heat map of one policy's vectors, nodes over days or dates.

    Of more than `ROWS` nodes neighbors share a row, which has their mean.
    """
    z, nodes = values.to_numpy().T, values.columns.to_numpy()
    if nodes.size > ROWS:
        first = np.arange(0, nodes.size, -(-nodes.size // ROWS))
        sizes = np.diff(first, append=nodes.size)
        z = np.add.reduceat(z, first) / sizes[:, None]
        nodes = nodes[first] + (sizes - 1) / 2
    times, day = _times(values.index.to_numpy(), began), "day " if began is None else ""
    return go.Heatmap(
        x=times.round(4) if began is None else times, y=nodes, z=z.round(3), zmin=0, zmax=1,
        colorscale=VECTOR_SCALE, colorbar={"title": {"text": "value"}, "thickness": 16},
        hovertemplate=f"{day}%{{x}}, node %{{y}}: value %{{z}}<extra></extra>",
    )  # fmt: skip


def _times(seconds: np.ndarray, began: pd.Timestamp | None) -> np.ndarray:
    """Days since the start, or dates where second 0 has one."""
    return seconds / DAY if began is None else theme.over_time(seconds, began)[0]


def plot_preemption(
    values: pd.DataFrame,
    jobs: pd.DataFrame,
    *,
    at: float,
    taken: Sequence[int],
    title: str,
    began: pd.Timestamp | None = None,
) -> go.Figure:
    """One preemption: vectors around it with the nodes taken, and what becomes of which job.

    Parameters
    ----------
    values : pd.DataFrame
        As `preemption_values` gives it, at evenly spaced moments.
    jobs : pd.DataFrame
        The jobs that run at the moment, by the names to show: `nodes`, `nodes_taken`, `elapsed`,
        `remaining` (s), `wasted_cycles` (node-seconds), `fate` (one of `FATES`).
    at : float
        The moment, seconds.
    taken : sequence of int
        The nodes preempted.
    title : str
    began : pd.Timestamp, optional
        The calendar time of second 0: then the axis has dates.
    """
    check.instance("values", values, pd.DataFrame)
    picture = make_subplots(rows=1, cols=2, horizontal_spacing=0.27, column_widths=[0.58, 0.42])
    moment = _times(np.array([at]), began)[0]
    colorbar = {"x": 0.43, "thickness": 14, "title": {"text": "value", "side": "right"}}
    picture.add_trace(vector_trace(values, began).update(colorbar=colorbar), row=1, col=1)
    picture.add_trace(_taken_trace(moment, taken), row=1, col=1)
    for trace in _fate_traces(jobs):
        picture.add_trace(trace, row=1, col=2)
    picture.add_vline(moment, line={"color": theme.VERMILION, "width": 1.5}, row=1, col=1)
    theme.style(picture, title=title, height=540, barmode="stack", bargap=0.15)
    picture.update_layout(
        margin={"t": 60, "b": 105},
        legend={"orientation": "h", "traceorder": "normal", "x": 1, "xanchor": "right",
                "y": -0.18, "yanchor": "top"},
    )  # fmt: skip
    # Fixed ranges, so that the axes stand still while knobs of the preemption move.
    times, nodes = _times(values.index.to_numpy(), began), values.shape[1]
    margin = {"showgrid": False, "col": 1}
    axis = {"title": "days since the start"}
    if began is not None:
        axis = theme.over_time(np.empty(0), began)[1]
    picture.update_xaxes(**axis, range=[times[0], times[-1]], **margin)
    picture.update_yaxes(title="node", range=[-0.5, nodes - 0.5], dtick=_every(nodes), **margin)
    tick = 1 if jobs["nodes"].max() <= FEW else None
    picture.update_xaxes(title="nodes that the job holds", rangemode="tozero", dtick=tick, col=2)
    return picture.update_yaxes(
        range=[max(len(jobs), FEW) - 0.5, -0.5],
        type="category", dtick=_every(len(jobs)), tickfont_size=11, col=2,
    )  # fmt: skip


def _every(shown: int) -> int:
    """How many categories apart labels have room."""
    return max(1, -(-shown // LABELS))


def _taken_trace(moment: float | str, taken: Sequence[int]) -> go.Scatter:
    """A square on every node that is preempted."""
    return go.Scatter(
        x=[moment] * len(taken), y=list(taken), mode="markers", name="preempted node",
        hovertemplate="node %{y} is preempted<extra></extra>",
        marker={"symbol": "square-open", "size": 9, "color": theme.VERMILION,
                "line": {"width": 2, "color": theme.VERMILION}},
    )  # fmt: skip


def _fate_traces(jobs: pd.DataFrame) -> list[go.Bar]:
    """One bar trace per fate, in the order of `FATES`."""
    details = np.column_stack(
        [jobs["nodes_taken"], (jobs["elapsed"] / HOUR).round(2),
         (jobs["remaining"] / HOUR).round(2), (jobs["wasted_cycles"] / HOUR).round(2)]
    )  # fmt: skip
    return [
        # Names, not numbers: a live figure forgets that an axis has categories and draws nothing.
        go.Bar(
            y=[f"job {job}" for job in jobs.index],
            x=np.where(jobs["fate"] == fate, jobs["nodes"], 0),
            orientation="h", name=name, customdata=details, marker=theme.patterned(fate),
            hovertemplate="%{y}: %{x} nodes, %{customdata[0]} of them preempted<br>ran "
            "%{customdata[1]} h, %{customdata[2]} h to go<br>%{customdata[3]} node-hours wasted",
        )
        for fate, name in FATES.items()
    ]  # fmt: skip


def cumulative_table(cumulative: pd.DataFrame) -> pd.DataFrame:
    """The table behind `plot_cumulative`: at most 400 states of every curve, tidy, in node-hours.

    Parameters
    ----------
    cumulative : pd.DataFrame
        As `cumulative_waste` gives it.
    """
    check.instance("cumulative", cumulative, pd.DataFrame)
    rows = np.linspace(0, len(cumulative) - 1, min(POINTS, len(cumulative))).round().astype(int)
    thinned = (cumulative.iloc[rows] / HOUR).round(1)
    tidy = thinned.melt(ignore_index=False, value_name="node_hours").reset_index()
    return tidy.assign(days=(tidy["time"] / DAY).round(4))


def plot_cumulative(cumulative: pd.DataFrame, *, title: str) -> go.Figure:
    """Cumulative wasted cycles over time, by policy: one panel and axis per priority."""
    check.instance("cumulative", cumulative, pd.DataFrame)
    if cumulative.empty:
        return plot_nothing(title, NO_JOBS)
    table = cumulative_table(cumulative)
    names = {"high": "high-priority jobs", "default": "default-priority jobs"}
    picture = make_subplots(
        cols=2, horizontal_spacing=0.19,
        subplot_titles=[f"({'ab'[place]}) {name}" for place, name in enumerate(names.values())],
    )  # fmt: skip
    for column, priority in enumerate(names, start=1):
        for place, policy in enumerate(dict.fromkeys(table["policy"])):
            part = table[(table["policy"] == policy) & (table["priority"] == priority)]
            picture.add_scatter(
                x=part["days"].tolist(), y=part["node_hours"].tolist(), mode="lines", name=policy,
                line={"color": theme.CYCLE[place], "dash": theme.DASHES[place], "width": 2},
                legendgroup=policy, showlegend=column == 1, row=1, col=column,
            )  # fmt: skip
    theme.style(picture, title=title, height=430, margin={"t": 95, "b": 120})
    picture.update_layout(legend={"orientation": "h", "y": -0.3, "yanchor": "top", "x": 0})
    picture.update_xaxes(title="days since the start", title_standoff=8)
    picture.update_yaxes(rangemode="tozero")
    picture.update_yaxes(title="node-hours, summed<br>over preemptions", col=1)
    last, moments = cumulative.iloc[-1:].sum() / HOUR, len(cumulative)
    means = ", ".join(
        f"{policy} {last[policy].sum() / max(1, moments):,.1f}"
        for policy in dict.fromkeys(table["policy"])
    )
    return footnote(
        picture,
        f"At each of {moments:,} moments one preemption is imagined and what it would waste is "
        "added; none takes place, so that sums exceed what the nodes offer. The mean waste of one, "
        f"both priorities together: {means} node-hours.",
    )


def plot_owners(owned: pd.DataFrame, *, title: str) -> go.Figure:
    """Nodes per owner over time, stacked.

    Parameters
    ----------
    owned : pd.DataFrame
        As `nodes_owned` gives it.
    """
    check.instance("owned", owned, pd.DataFrame)
    if owned.empty:
        return plot_nothing(title, NO_JOBS)
    picture = theme.figure(title=title, height=420, margin={"b": 120})
    days = (owned.index.to_numpy() / DAY).round(4).tolist()
    for place, owner in enumerate(owned):
        picture.add_scatter(
            x=days, y=owned[owner].tolist(), mode="lines", name=str(owner), stackgroup="nodes",
            line={"shape": "hv", "width": 0.5, "color": theme.CYCLE[place % len(theme.CYCLE)]},
            fillpattern={"shape": OWNERS[place % len(OWNERS)], "fillmode": "overlay", "size": 9,
                         "fgcolor": theme.BLACK, "fgopacity": 0.3, "solidity": 0.12},
        )  # fmt: skip
    picture.update_layout(legend={"orientation": "h", "y": -0.3, "yanchor": "top", "x": 0})
    picture.update_xaxes(title="days since the start", title_standoff=8)
    return picture.update_yaxes(title="nodes")


def plot_violins(
    panels: dict[str, tuple[pd.DataFrame, pd.DataFrame]],
    *,
    title: str,
    unit: str = "node-hours wasted",
) -> go.Figure:
    """Violin plots of wasted cycles, by policy and grace period: one panel per workload.

    A violin's width is the density relative to its maximum; the bar inside spans the quartiles, the
    white dot is the median. Violins end at their 99th percentile.

    Parameters
    ----------
    panels : dict of str to (summary, densities)
        By panel title, as `compare_policies` gives them; those without states are left out.
    title, unit : str
    """
    check.instance("panels", panels, Mapping)
    panels = {name: panel for name, panel in panels.items() if panel[0]["states"].any()}
    if not panels:
        return plot_nothing(title, NO_JOBS)
    picture = make_subplots(
        rows=len(panels), vertical_spacing=0.16 if len(panels) > 1 else 0,
        subplot_titles=[f"({'abcd'[place]}) {name}" for place, name in enumerate(panels)]
        if len(panels) > 1 else None,
    )  # fmt: skip
    for row, (summary, densities) in enumerate(panels.values(), start=1):
        policies = list(dict.fromkeys(summary["policy"]))
        periods = sorted(set(summary["grace_period"]))
        for place, period in enumerate(periods):
            for number, policy in enumerate(policies):
                here = _of(densities, policy, period)
                center = number + (place - (len(periods) - 1) / 2) * 0.84 / len(periods)
                half = 0.84 * WIDTH / len(periods) / 2
                shown = row == 1 and number == 0
                _add_violin(picture, here, center, half, period, place, shown, row)
            _add_boxes(picture, summary, policies, period, place, len(periods), row)
        picture.update_xaxes(
            tickvals=list(range(len(policies))), ticktext=policies, showgrid=False,
            range=[-0.5, len(policies) - 0.5], row=row,
        )  # fmt: skip
        picture.update_yaxes(title=unit, rangemode="tozero", row=row)
    theme.style(picture, title=title, height=110 + 340 * len(panels), margin={"t": 95, "b": 100})
    picture.update_layout(
        legend={"orientation": "h", "y": -0.22 / len(panels), "yanchor": "top", "x": 0,
                "title": {"text": "grace period  "}}
    )  # fmt: skip
    return footnote(
        picture,
        "White dots are medians, black bars span the quartiles. Violins end at the 99th "
        "percentile and are equally wide at their widest.",
    )


def period_name(seconds: float) -> str:
    """A grace period in words: 120 s, 20 min, 6 h."""
    if seconds % HOUR == 0 and seconds:
        return f"{seconds / HOUR:g} h"
    if seconds >= 10 * MINUTE and seconds % MINUTE == 0:
        return f"{seconds / MINUTE:g} min"
    return f"{seconds:g} s"


def _of(table: pd.DataFrame, policy: str, period: float) -> pd.DataFrame:
    return table[(table["policy"] == policy) & (table["grace_period"] == period)]


def _add_violin(
    picture: go.Figure, here: pd.DataFrame, center: float, half: float, period: float, place: int,
    shown: bool, row: int,
) -> None:  # fmt: skip
    """One filled outline; the first of a grace period stands for it in the legend."""
    density = here["density"].to_numpy()
    width = half * density / max(density.max(), 1e-12)
    grid = here["node_hours"].to_numpy().round(3)
    tint = theme.CYCLE[place % len(theme.CYCLE)]
    picture.add_scatter(
        x=np.concatenate([center - width, (center + width)[::-1]]).round(4),
        y=np.concatenate([grid, grid[::-1]]), mode="lines", fill="toself", hoverinfo="skip",
        name=period_name(period), legendgroup=str(period), showlegend=shown,
        line={"color": tint, "width": 1}, fillcolor=_lighter(tint), row=row, col=1,
    )  # fmt: skip


def _add_boxes(
    picture: go.Figure, summary: pd.DataFrame, policies: list[str], period: float, place: int,
    periods: int, row: int,
) -> None:  # fmt: skip
    """Quartiles as thick bars and medians as white dots, for one grace period of all policies."""
    of_period = summary[summary["grace_period"] == period].set_index("policy").loc[policies]
    centers = [
        number + (place - (periods - 1) / 2) * 0.84 / periods for number in range(len(policies))
    ]
    x = [value for center in centers for value in (center, center, None)]
    y = [value for low, high in of_period[["25%", "75%"]].round(3).to_numpy().tolist()
         for value in (low, high, None)]  # fmt: skip
    picture.add_scatter(
        x=x, y=y, mode="lines", line={"color": theme.BLACK, "width": 4}, hoverinfo="skip",
        legendgroup=str(period), showlegend=False, row=row, col=1,
    )  # fmt: skip
    picture.add_scatter(
        x=centers, y=of_period["50%"].round(3).tolist(), mode="markers",
        marker={"color": "white", "size": 6, "line": {"color": theme.BLACK, "width": 1}},
        legendgroup=str(period), showlegend=False, row=row, col=1,
        hovertemplate=f"{period_name(period)}: median %{{y}}<extra></extra>",
    )  # fmt: skip


def _lighter(color: str) -> str:
    """The color, two thirds transparent."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.35)"
