"""A day of a machine with bursts: nodes over time, the ledger of node-hours, delays of bursts."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.figures.ondemand import USE_STYLES, use_bars, use_blocks, use_pattern
from cosimlib.ondemand import LEDGER, OnDemandSchedule, ledger
from cosimlib.palette import WINE
from cosimlib.units import DAY, HOUR, MINUTE

ACTION_MARKS = {
    "kill": ("killed", "x"),
    "app": ("evicted at its own checkpoint", "circle"),
    "sys": ("evicted by a checkpoint", "diamond"),
}
"""Name and marker of each kind of eviction."""

BARS = ("shown", "all")


def plot_day(
    schedule: OnDemandSchedule, *, start: float, end: float, title: str, bursts_shown: int = 500
) -> go.Figure:
    """Gantt chart by node with evictions marked, the ledger beside it, delays of bursts below.

    Parameters
    ----------
    schedule : OnDemandSchedule
    start, end : float
        The window of the chart, seconds. The ledger has it beside the whole schedule; delays are
        those of all bursts, the window shaded.
    title : str
    bursts_shown : int, default 500
        Most bursts whose delays are drawn: of more, the first in the window and around it.

    Returns
    -------
    go.Figure
        With as many traces whatever the schedule; the last three are the delays of bursts in time,
        those of bursts that miss their deadline, and the deadlines.
    """
    check.instance("schedule", schedule, OnDemandSchedule)
    picture = make_subplots(
        rows=2, cols=2, column_widths=[0.78, 0.22], row_heights=[0.7, 0.3],
        horizontal_spacing=0.09, vertical_spacing=0.16,
        specs=[[{}, {"rowspan": 2}], [{}, None]],
    )  # fmt: skip
    _add_nodes(picture, schedule, start, end)
    _add_ledger(picture, schedule, start, end)
    _add_delays(picture, schedule, start, end, bursts_shown)
    theme.style(
        picture, title=title, height=620, barmode="stack", bargap=0.25, margin={"t": 80, "b": 125},
        legend={"orientation": "h", "x": 0, "y": -0.14, "yanchor": "top", "traceorder": "normal"},
    )  # fmt: skip
    return picture


def _add_nodes(picture: go.Figure, schedule: OnDemandSchedule, start: float, end: float) -> None:
    """Nodes over time by use, the arrivals of bursts, and evictions."""
    blocks = use_blocks(schedule, start, end)
    picture.add_traces(list(use_bars(blocks, start)), rows=1, cols=1)
    bursts = schedule.bursts.query("submit_time >= @start and submit_time < @end")
    picture.add_scatter(
        x=_hours(bursts["submit_time"] - start), y=np.full(len(bursts), schedule.total_nodes),
        mode="markers", name="a burst comes", cliponaxis=False, row=1, col=1,
        marker={"symbol": "triangle-down", "size": 11, "color": WINE},
        text=_told(bursts), hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip
    _add_evictions(picture, schedule, blocks, start, end)
    picture.update_xaxes(
        title=theme.hours_since(
            schedule.workload.began, f"hours since second {start:,.0f} of the trace", start=start
        ),
        range=[0, (end - start) / HOUR],
        row=1,
        col=1,
    )
    picture.update_yaxes(title="nodes", range=[0, schedule.total_nodes], row=1, col=1)


def _add_evictions(
    picture: go.Figure, schedule: OnDemandSchedule, blocks: pd.DataFrame, start: float, end: float
) -> None:
    """A marker in the middle of what each evicted job held last."""
    evictions = schedule.evictions.query("time > @start and time <= @end")
    widest = blocks.sort_values("nodes", kind="stable").drop_duplicates(["job", "end"], keep="last")
    found = evictions.merge(widest, left_on=["job", "time"], right_on=["job", "end"])
    for action, (label, symbol) in ACTION_MARKS.items():
        part = found[found["action"] == action]
        picture.add_scatter(
            x=_hours(part["time"] - start), y=part["node"] + part["nodes"] / 2, mode="markers",
            name=label, row=1, col=1, customdata=part["job"],
            marker={"symbol": symbol, "size": 9, "color": "white",
                    "line": {"width": 1.5, "color": theme.BLACK}},
            hovertemplate=f"job %{{customdata}}: {label} at hour %{{x:.2f}}<extra></extra>",
        )  # fmt: skip


def _add_ledger(picture: go.Figure, schedule: OnDemandSchedule, start: float, end: float) -> None:
    """Node-hours by use in percent of the machine's, in the window and in all."""
    hours = pd.DataFrame(
        {"shown": ledger(schedule, start=start, end=end), "all": ledger(schedule)}
    )[list(BARS)]
    total = hours.sum()
    shares = (100 * hours / total.where(total > 0, 1.0)).round(3)
    for use in LEDGER:
        label, tint, shape = USE_STYLES[use]
        picture.add_bar(
            x=list(BARS), y=shares.loc[use].to_numpy(), name=label, row=1, col=2,
            showlegend=use == "idle", customdata=hours.loc[use].round(1).to_numpy(),
            marker={"color": tint, "line": {"color": theme.BLACK, "width": 0.5},
                    "pattern": use_pattern(shape)},
            hovertemplate=f"%{{x}}, {label}: %{{y:.2f}} %, %{{customdata:,.1f}} node-hours"
            "<extra></extra>",
        )  # fmt: skip
    picture.update_yaxes(ticksuffix=" %", range=[0, 100], row=1, col=2)
    picture.update_xaxes(title="node-hours", row=1, col=2)


def _add_delays(
    picture: go.Figure, schedule: OnDemandSchedule, start: float, end: float, most: int
) -> None:
    """Delays of bursts over the whole schedule, in time or not, and their deadlines."""
    bursts = schedule.bursts
    middle = (start + end) / 2
    near = (bursts["submit_time"] - middle).abs().sort_values(kind="stable").index[:most]
    bursts = bursts.loc[near].sort_values("submit_time", kind="stable")
    first, last = schedule.span
    for missed, tint, name, symbol in (
        (False, theme.BLUE, "delay of a burst in time", "circle"),
        (True, theme.VERMILION, "delay beyond the deadline", "x"),
    ):
        part = bursts[bursts["missed"] == missed]
        picture.add_scatter(
            x=_days(part["submit_time"] - first), y=(part["delay"] / MINUTE).round(3), name=name,
            mode="markers", marker={"color": tint, "symbol": symbol, "size": 8}, row=2, col=1,
            text=_told(part), hovertemplate="%{text}<extra></extra>", cliponaxis=False,
        )  # fmt: skip
    picture.add_scatter(
        x=_days(bursts["submit_time"] - first), y=(bursts["longest_delay"] / MINUTE).round(3),
        name="deadline", mode="lines", line={"color": theme.BLACK, "dash": "dash", "width": 1},
        row=2, col=1, hoverinfo="skip",
    )  # fmt: skip
    picture.add_vrect(
        (start - first) / DAY, (end - first) / DAY, fillcolor=theme.YELLOW, opacity=0.3,
        line_width=0, layer="below", row=2, col=1,
    )  # fmt: skip
    longest = max([*(bursts["delay"] / MINUTE), *(bursts["longest_delay"] / MINUTE), 1.0])
    span = max((last - first) / DAY, (end - first) / DAY, 1e-6)
    picture.update_xaxes(title="days since the first submission", range=[0, span], row=2, col=1)
    picture.update_yaxes(title="delay (min)", range=[0, 1.1 * longest], row=2, col=1)


def _told(bursts: pd.DataFrame) -> list[str]:
    """What each burst is, in words."""
    return [
        f"burst {job}: {row.nodes:,} nodes, starts {row.delay / MINUTE:,.1f} min late"
        for job, row in zip(bursts.index, bursts.itertuples(), strict=True)
    ]


def _hours(seconds: pd.Series) -> pd.Series:
    return (seconds / HOUR).round(4)


def _days(seconds: pd.Series) -> pd.Series:
    return (seconds / DAY).round(5)
