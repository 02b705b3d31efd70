"""Figures of preemptions: vectors over time, and what becomes of the jobs."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import theme
from cosimlab.figures.charts import heatmap, job_bars
from cosimlib import checks as check
from cosimlib.units import DAY, HOUR, MINUTE

FEW = 8
"""An axis of fewer jobs leaves room for so many; one of up to so many nodes labels each number."""
ROWS = 300
"""Most rows of a heat map of nodes."""
FATES = {"kill": "killed", "spare": "ends within the grace period", "keep": "not touched"}
HOURS = ("elapsed", "remaining", "wasted_cycles")
HOVER = (
    "%{y}: %{x} nodes, %{customdata[0]} of them preempted<br>ran %{customdata[1]} h, "
    "%{customdata[2]} h to go<br>%{customdata[3]} node-hours wasted"
)
"""What is said of a job, and its columns that are in hours there."""
VECTOR_SCALE = [[0.0, "#FFFFFF"], [0.5, "#7BA7C7"], [1.0, "#08306B"]]


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
    day = "day " if began is None else ""
    return heatmap(
        pd.DataFrame(z.round(3), nodes, theme.over_time(values.index, began)[0]),
        zmin=0,
        zmax=1,
        colorscale=VECTOR_SCALE,
        customdata=None,
        colorbar={"title": {"text": "value"}, "thickness": 16},
        hovertemplate=f"{day}%{{x}}, node %{{y}}: value %{{z}}<extra></extra>",
    )


def plot_vectors(
    vectors: Mapping[str, pd.DataFrame],
    boxes: pd.DataFrame | None = None,
    *,
    title: str = "",
) -> go.Figure:
    """Preemption vectors over time, nodes over days, one panel per policy; dark is valuable.

    Parameters
    ----------
    vectors : mapping of str to pd.DataFrame
        By policy, as of `elastic.preemption_values`: a row per moment (s), a column per node.
    boxes : pd.DataFrame, optional
        Outlined jobs: `first` and `last` nodes, `start` and `end` (s).
    title : str
    """
    picture = make_subplots(
        rows=len(vectors),
        shared_xaxes=True,
        vertical_spacing=0.09,
        subplot_titles=theme.headings(vectors),
    )
    for row, table in enumerate(vectors.values(), start=1):
        picture.add_trace(vector_trace(table).update(showscale=row == 1), row=row, col=1)
        for box in () if boxes is None else boxes.itertuples():
            picture.add_shape(
                type="rect",
                x0=round(box.start / DAY, 6),
                x1=round(box.end / DAY, 6),
                y0=box.first - 0.5,
                y1=box.last + 0.5,
                line={"color": theme.VERMILION, "width": 2},
                row=row,
                col=1,
            )
        picture.update_yaxes(title="node", showgrid=False, dtick=2, row=row)
    theme.style(picture, title=title, height=130 + 220 * len(vectors), margin={"t": 95})
    picture.update_xaxes(showgrid=False)
    return picture.update_xaxes(title="days since the start", row=len(vectors))


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
    [moment] = theme.over_time([at], began)[0].tolist()
    colorbar = {"x": 0.43, "thickness": 14}
    picture.add_trace(vector_trace(values, began).update(colorbar=colorbar), row=1, col=1)
    picture.add_trace(_taken_trace(moment, taken), row=1, col=1)
    details = [jobs["nodes_taken"], *(jobs[name].div(HOUR).round(2) for name in HOURS)]
    named, fate = [f"job {job}" for job in jobs.index], jobs["fate"].to_numpy()
    bars = job_bars(named, jobs["nodes"].to_numpy(), fate, FATES, np.column_stack(details), HOVER)
    picture.add_traces(bars, rows=1, cols=2)
    picture.add_vline(moment, line={"color": theme.VERMILION, "width": 1.5}, row=1, col=1)
    theme.style(picture, title=title, height=520, barmode="stack", bargap=0.15, margin={"t": 60})
    # Fixed ranges, so that the axes stand still while knobs of the preemption move.
    times, axis = theme.over_time(values.index, began)
    nodes, margin = values.shape[1], {"showgrid": False, "col": 1}
    picture.update_xaxes(**axis, range=[times[0], times[-1]], **margin)
    every = theme.whole_step(nodes, 10)
    picture.update_yaxes(title="node", range=[-0.5, nodes - 0.5], tick0=0, dtick=every, **margin)
    tick = 1 if jobs["nodes"].max() <= FEW else None
    picture.update_xaxes(title="nodes that the job holds", rangemode="tozero", dtick=tick, col=2)
    lowest = max(len(jobs), FEW) - 0.5
    names = theme.names_axis(len(jobs)) | {"autorange": None, "range": [lowest, -0.5]}
    return picture.update_yaxes(**names, col=2)


def _taken_trace(moment: float | str, taken: Sequence[int]) -> go.Scatter:
    """A square on every node that is preempted."""
    return go.Scatter(
        x=[moment] * len(taken),
        y=list(taken),
        mode="markers",
        name="preempted node",
        hovertemplate="node %{y} is preempted<extra></extra>",
        marker={
            "symbol": "square-open",
            "size": 9,
            "color": theme.VERMILION,
            "line": {"width": 2, "color": theme.VERMILION},
        },
    )


def period_name(seconds: float) -> str:
    """A grace period in words: 120 s, 20 min, 6 h."""
    if seconds % HOUR == 0 and seconds:
        return f"{seconds / HOUR:g} h"
    if seconds >= 10 * MINUTE and seconds % MINUTE == 0:
        return f"{seconds / MINUTE:g} min"
    return f"{seconds:g} s"
