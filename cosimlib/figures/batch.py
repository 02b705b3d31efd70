"""Figure of a batch schedule: Gantt chart by node, utilization and queue on one time axis."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.metrics import occupied_nodes, overtaking, wait_time, waiting_jobs
from cosimlib.placement import node_blocks
from cosimlib.schedule import Schedule
from cosimlib.units import HOUR

TURNS = {
    "in turn": (theme.SKY, theme.BLUE, ""),
    "overtook a job submitted before it": (theme.ORANGE, theme.VERMILION, "/"),
}
"""Color, outline and pattern of jobs that started in order of submission, and of the others."""


def plot_batch(
    schedule: Schedule, *, title: str, start: float | None = None, end: float | None = None
) -> go.Figure:
    """A Gantt chart of one machine, its utilization and the length of its queue, over hours.

    All three have one horizontal axis: a zoom of one is a zoom of all. Always four traces: jobs
    that started in turn, jobs that overtook another one, utilization, jobs waiting.

    Parameters
    ----------
    schedule : Schedule
        Of one partition.
    title : str
    start, end : float, optional
        The window to draw, seconds; by default the whole schedule. It should have some hundreds of
        jobs: a browser is slow with many thousands.
    """
    check.instance("schedule", schedule, Schedule)
    check.window(-np.inf if start is None else start, np.inf if end is None else end)
    picture = make_subplots(
        rows=3, shared_xaxes=True, vertical_spacing=0.05, row_heights=[0.58, 0.21, 0.21]
    )
    origin = float(schedule.workload.jobs["submit_time"].min()) if len(schedule.workload) else 0.0
    table = block_table(schedule)
    left, right = (np.nan if at is None else (at - origin) / HOUR for at in (start, end))
    table = table[~((table["start"] >= right) | (table["start"] + table["length"] <= left))]
    for turn in TURNS:
        picture.add_trace(_bars(table[table["turn"] == turn], turn), row=1, col=1)
    busy = 100 * occupied_nodes(schedule) / schedule.total_nodes
    for row, (steps, tint) in enumerate(
        ((busy, theme.BLUE), (waiting_jobs(schedule), theme.VERMILION)), start=2
    ):
        steps = _within(steps, start, end)
        picture.add_trace(_steps(steps, origin, tint), row=row, col=1)
    theme.style(picture, title=title, height=690, barmode="overlay", margin={"t": 80, "b": 60})
    picture.update_layout(
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.01, "yanchor": "bottom"}
    )
    nodes = schedule.system.total_nodes
    picture.update_yaxes(
        title="node", range=[0, nodes], tick0=0, dtick=theme.whole_step(nodes, 7), row=1
    )
    picture.update_yaxes(title="utilization<br>(%)", range=[0, 103], row=2)
    picture.update_yaxes(title="jobs<br>waiting", rangemode="tozero", row=3)
    if start is not None or end is not None:
        last = float(schedule.end_time.max(initial=origin) - origin) / HOUR
        shown = [0.0 if start is None else left, last if end is None else right]
        picture.update_xaxes(range=shown)
    hours = theme.hours_since(
        schedule.workload.began, "hours since the first submission", start=origin
    )
    return picture.update_xaxes(title=hours, row=3)


def block_table(schedule: Schedule) -> pd.DataFrame:
    """The rectangles of the chart: one row per block of neighboring nodes of a job.

    Returns
    -------
    pd.DataFrame
        `job`, `start` and `length` in hours since the first submission, `node` (the lowest),
        `nodes` of the block, `wide` (nodes of the job), `wait` (hours), `turn` (one of `TURNS`).
    """
    check.instance("schedule", schedule, Schedule)
    blocks, jobs = node_blocks(schedule), schedule.workload.jobs
    job = blocks["job"].to_numpy()
    turns = np.where(overtaking(schedule), *list(TURNS)[::-1])
    return pd.DataFrame(
        {
            "job": job,
            "start": ((blocks["start"] - jobs["submit_time"].min()) / HOUR).round(4),
            "length": ((blocks["end"] - blocks["start"]) / HOUR).round(4),
            "node": blocks["node"],
            "nodes": blocks["nodes"],
            "wide": jobs["nodes"].to_numpy()[job],
            "wait": (wait_time(schedule).to_numpy()[job] / HOUR).round(2),
            "turn": turns[job],
        }
    )


def _within(steps: pd.Series, start: float | None, end: float | None) -> pd.Series:
    """The steps of a window, from the one that holds at its start."""
    times = steps.index.to_numpy()
    first = 0 if start is None else max(0, int(np.searchsorted(times, start, "right")) - 1)
    last = times.size if end is None else int(np.searchsorted(times, end, "right"))
    return steps.iloc[first:last]


def _bars(table: pd.DataFrame, turn: str) -> go.Bar:
    """All blocks of one kind as one trace, which is what makes a redraw quick."""
    tint, outline, shape = TURNS[turn]
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": theme.BLACK, "fgopacity": 0.5,
               "solidity": 0.15, "size": 6}  # fmt: skip
    return go.Bar(
        x=table["length"].to_numpy(), base=table["start"].to_numpy(),
        y=(table["node"] + table["nodes"] / 2).to_numpy(), width=table["nodes"].to_numpy(),
        orientation="h", name=turn, customdata=table[["job", "wide", "wait"]].to_numpy(),
        marker={"color": tint, "line": {"color": outline, "width": 0.5}, "pattern": pattern},
        hovertemplate="job %{customdata[0]}, %{customdata[1]} nodes: waited %{customdata[2]} h, "
        "runs %{x} h",
    )  # fmt: skip


def _steps(steps: pd.Series, origin: float, tint: str) -> go.Scatter:
    """A step function over hours, the area under it shaded."""
    hours = ((steps.index.to_numpy() - origin) / HOUR).round(4)
    return go.Scatter(
        x=hours, y=steps.to_numpy(dtype=float).round(3), mode="lines", fill="tozeroy",
        line={"shape": "hv", "width": 1.2, "color": tint}, name=str(steps.name), showlegend=False,
        hovertemplate="hour %{x}: %{y}<extra></extra>",
    )  # fmt: skip
