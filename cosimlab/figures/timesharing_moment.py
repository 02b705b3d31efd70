"""A time-shared machine at a moment: shares of a crowded node, queues, and gain over batch."""

from itertools import pairwise

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import theme
from cosimlab.figures.charts import heatmap
from cosimlab.figures.maps import NO_VALUE, RATIO_COLORS
from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.schedule import Schedule
from cosimlib.timesharing.schedule import (
    BANDS,
    DURATIONS,
    OTHERS,
    TimesharedSchedule,
    crowd_table,
    crowded_node,
    ratio_table,
    share_table,
)
from cosimlib.units import HOUR

PATTERNS = ("", "/", "\\", "x", "-", "|")
HIGHEST_POWER = 3.0
"""Power of ten: ratios above it, and below its inverse, have the last color."""


def plot_sharing(
    shared: TimesharedSchedule, batch: Schedule, *, at: float, title: str
) -> go.Figure:
    """Shares on a crowded node, jobs on nodes and jobs waiting, and the gain by time-sharing.

    Always `BANDS` + 6 traces: shares of jobs and of the others; jobs on a node and jobs that wait,
    time-shared and in batch each; ratios of slowdowns.

    Parameters
    ----------
    shared : TimesharedSchedule
        With shares before and after the moment.
    batch : Schedule
        Of the same workload.
    at : float
        The moment in seconds, a line.
    title : str
    """
    check.instance("shared", shared, TimesharedSchedule)
    node, jobs = crowded_node(shared, at)
    table = share_table(shared, at)
    picture = make_subplots(
        rows=3,
        cols=2,
        specs=[[{}, {"rowspan": 2}], [{}, None], [{}, None]],
        column_widths=[0.54, 0.46],
        horizontal_spacing=0.11,
        subplot_titles=(
            f"Shares on node {node}, the most crowded<br>{_when(shared, at)}",
            "Mean slowdown, batch ÷ time-sharing<br>(gray: no jobs)",
        ),
    )
    for band in _bands(shared, table, at):
        picture.add_trace(band, row=1, col=1)
    crowds = {"time-sharing": crowd_table(shared), "batch": crowd_table(batch)}
    for row, measure in ((2, "cpu_load"), (3, "waiting")):
        for kind, crowd in crowds.items():
            picture.add_trace(_steps(crowd[measure], kind, shown=row == 2), row=row, col=1)
    picture.add_trace(_ratios(ratio_table(batch, shared)), row=1, col=2)
    area = {f"{axis}{end}": end for axis in "xy" for end in (0, 1)}
    picture.add_shape(
        area,
        type="rect",
        xref="x domain",
        yref="y domain",
        row=1,
        col=2,
        layer="below",
        fillcolor=NO_VALUE,
        line_width=0,
    )
    _mark(picture, shared, at)
    hours = theme.hours_since(shared.workload.began, "hours")
    _style_shares(picture, table, len(jobs), spmd=shared.spmd)
    return _styled(picture, title=title, hours=hours)


def _when(schedule: Schedule, at: float) -> str:
    """The moment: a date where the log tells when it began."""
    began = schedule.workload.began
    if began is None:
        return f"at hour {at / HOUR:.2f}"
    return f"at {began + pd.Timedelta(round(at), 's'):%Y-%m-%d %H:%M}"


def _bands(schedule: TimesharedSchedule, table: pd.DataFrame, at: float) -> list[go.Scatter]:
    """An area per job, empty ones for those that are missing, and the others' on top."""
    names = [_named(schedule, table, job, at) for job in table.columns.drop(OTHERS)]
    missing = BANDS - len(names)
    areas = [
        *zip(names, table.columns, theme.CYCLE, PATTERNS, strict=False),
        *[("", None, theme.GREY, "")] * missing,
        ("all other jobs", OTHERS, theme.GREY, ""),
    ]
    return [
        go.Scatter(
            x=table.index.to_numpy().round(4) if column is not None else [],
            y=table[column].to_numpy().round(4) if column is not None else [],
            name=name,
            mode="lines",
            stackgroup="shares",
            showlegend=column is not None,
            line={"shape": "hv", "width": 0.8, "color": tint},
            **theme.area(theme.faded(tint, 0.75), shape),
            hovertemplate="hour %{x:.2f}: %{y:.3f}",
        )
        for name, column, tint, shape in areas
    ]


def _named(schedule: TimesharedSchedule, table: pd.DataFrame, job: int, at: float) -> str:
    """Label of a job: size, share at the instant, and wait if it had to."""
    jobs = schedule.jobs
    nodes, waited = int(jobs["nodes"][job]), float(jobs["wait_time"][job])
    share = float(table[job].to_numpy()[table.index <= at / HOUR + 1e-9][-1:].sum())
    queued = f", waited {waited / 60:,.0f} min" if waited else ""
    return f"job {job}, {nodes} node{'s' if nodes > 1 else ''}: {share:.2f}{queued}"


def _steps(steps: pd.Series, kind: str, *, shown: bool) -> go.Scatter:
    """Step line of hourly means."""
    return theme.steps(
        steps.index.to_numpy().round(4),
        steps.to_numpy(float).round(3),
        theme.color(kind),
        line={"width": 1.5, "dash": "dot" if kind == "batch" else "solid"},
        name=kind,
        legend="legend2",
        legendgroup=kind,
        showlegend=shown,
        hovertemplate="hour %{x}: %{y:,.2f}",
    )


def _ratios(table: pd.DataFrame) -> go.Heatmap:
    """The map of ratios, the slowdowns and the number of jobs in its hover."""
    lengths, labels = list(DURATIONS)[:-1], list(DURATIONS.values())
    wide = {
        name: table.pivot_table(name, "nodes", "run_time").reindex(columns=lengths)
        for name in ("ratio", "jobs", "batch", "shared")
    }
    ratio = wide.pop("ratio")
    ratio.columns = [f"{low}<br>–{high}" for low, high in pairwise(labels)]
    ratio.index = [f"{n}–{2 * n - 1}" if n > 1 else "1" for n in ratio.index]
    details = np.dstack([table.fillna(0).to_numpy().round(2) for table in wide.values()])
    return heatmap(
        ratio,
        powers=(-HIGHEST_POWER, HIGHEST_POWER),
        text=ratio.map(_short).to_numpy(),
        texttemplate="%{text}",
        colorscale=[list(color) for color in RATIO_COLORS],
        customdata=details,
        hovertemplate="%{y} nodes, %{customdata[0]:,} jobs: mean slowdown %{customdata[1]:,.2f} in "
        "batch, %{customdata[2]:,.2f} time-shared<extra></extra>",
        colorbar={"thickness": 12, "len": 0.6, "y": 1.02, "yanchor": "top"},
    )


def _short(ratio: float) -> str:
    """Two digits, or all before the point; nothing if there is no job."""
    return "" if np.isnan(ratio) else f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _mark(picture: go.Figure, schedule: TimesharedSchedule, at: float) -> None:
    """The moment in all rows, and what a node can give, which shares of SPMD jobs add up to."""
    for row in (1, 2, 3):
        picture.add_vline(x=at / HOUR, line=theme.DASHED, row=row, col=1)
    if schedule.spmd:
        picture.add_hline(y=schedule.speed, line={"color": theme.BLACK, "width": 1}, row=1, col=1)


def _style_shares(picture: go.Figure, table: pd.DataFrame, there: int, *, spmd: bool) -> None:
    """Axes and legend of the shares, which for jobs that are not SPMD are not of this node.

    Hours have the title of the lowest panel: below this one is a legend.
    """
    heading = f"Shares at the dashed line, {count(there, 'job') if there else 'no job'} there"
    picture.update_layout(
        legend={
            "x": 0.555,
            "xanchor": "left",
            "y": 0.25,
            "yanchor": "top",
            "yref": "paper",
            "orientation": "v",
            "font": {"size": 12},
            "title": {"text": heading, "font": {"size": 12}},
        }
    )
    shown, most = table.index, max(1.0, float(table.sum(axis=1).max()))
    picture.update_xaxes(range=[shown[0], shown[-1]], ticksuffix=" h", row=1, col=1)
    title = "share of full speed" if spmd else "share, mean of a job's nodes"
    picture.update_yaxes(title=title, range=[0, 1.04 * most], domain=[0.53, 1], row=1, col=1)


def _styled(picture: go.Figure, *, title: str, hours: str) -> go.Figure:
    """All other axes, the other legend, and margins."""
    theme.style(picture, title=title, height=750, margin={"t": 90, "b": 50, "r": 10})
    picture.update_annotations(font={"size": 13})
    picture.update_layout(
        legend2={
            "x": 0.0,
            "xanchor": "left",
            "y": 0.375,
            "yanchor": "bottom",
            "orientation": "h",
            "yref": "paper",
            "font": {"size": 12},
            "bgcolor": "rgba(0, 0, 0, 0)",
        }
    )
    low = {"title_standoff": 8, "rangemode": "tozero", "nticks": 4, "col": 1}
    picture.update_yaxes(title="jobs/node", domain=[0.2, 0.37], row=2, **low)
    picture.update_yaxes(title="waiting", domain=[0, 0.16], row=3, **low)
    picture.update_xaxes(matches="x4", showticklabels=False, row=2, col=1)
    picture.update_xaxes(title=hours, title_standoff=2, row=3, col=1)
    categories = {"type": "category", "showgrid": False, "row": 1, "col": 2}
    picture.update_yaxes(title="nodes", domain=[0.47, 1], **categories)
    return picture.update_xaxes(title="dedicated run time", title_standoff=2, **categories)
