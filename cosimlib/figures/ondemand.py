"""Bursts on a batch machine: a Gantt chart by node, and a day with its ledger and its delays."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.figures.nothing import plot_nothing
from cosimlib.ondemand import LEDGER, OnDemandSchedule, ledger
from cosimlib.palette import WINE
from cosimlib.placement import lowest_blocks
from cosimlib.units import DAY, HOUR, MINUTE

USE_STYLES = {
    "batch": ("batch jobs", theme.BLUE, ""),
    "bursts": ("bursts", theme.ORANGE, ""),
    "containers": ("filler containers", theme.PURPLE, "-"),
    "lost": ("lost: done again", theme.VERMILION, "x"),
    "writing": ("checkpoints written", theme.SKY, "/"),
    "blocked": ("standing still", theme.YELLOW, "."),
    "rereading": ("checkpoints reread", theme.GREEN, "\\"),
    "idle": ("idle", "#FFFFFF", ""),
}
"""Name, color and pattern of each use of node-hours in a ledger."""
ARRIVAL = {"width": 1.2, "dash": "dot", "color": WINE}
"""The line at which a burst is submitted."""

ACTION_MARKS = {
    "kill": ("killed", "x"),
    "app": ("evicted at its own checkpoint", "circle"),
    "sys": ("evicted by a checkpoint", "diamond"),
}
"""Name and marker of each kind of eviction."""

BARS = ("shown", "all")


def plot_ondemand(
    schedule: OnDemandSchedule, *, start: float, end: float, title: str, bursts: Sequence[int] = ()
) -> go.Figure:
    """Gantt chart by node of a machine with bursts: what its nodes are used for, over time.

    Nodes are numbered as they are taken, lowest first, anew for each stretch of use.

    Parameters
    ----------
    schedule : OnDemandSchedule
    start, end : float
        The window, seconds.
    title : str
    bursts : sequence of int, optional
        Bursts whose submission is marked by a line; by default all in the window.
    """
    check.instance("schedule", schedule, OnDemandSchedule)
    blocks = use_blocks(schedule, start, end)
    if blocks.empty:
        return plot_nothing(title, "no job runs in these hours")
    picture = theme.figure(title=title, height=460, barmode="overlay", margin={"b": 110})
    picture.add_traces(list(use_bars(blocks, start)))
    marked = list(bursts) or list(_bursts_within(schedule, start, end).index)
    for burst in marked:
        moment = float(schedule.workload.jobs["submit_time"][burst])
        picture.add_vline(round((moment - start) / HOUR, 4), line=ARRIVAL)
    if marked:
        picture.add_scatter(x=[None], y=[None], mode="lines", line=ARRIVAL, name="a burst comes")
    picture.update_layout(legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0})
    picture.update_xaxes(title="hours", range=[0, (end - start) / HOUR])
    return picture.update_yaxes(title="nodes", range=[0, schedule.total_nodes])


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
    bursts = _bursts_within(schedule, start, end)
    picture.add_scatter(
        x=_hours(bursts["submit_time"] - start), y=np.full(len(bursts), schedule.total_nodes),
        mode="markers", name="a burst comes", cliponaxis=False, row=1, col=1,
        marker={"symbol": "triangle-down", "size": 11, "color": WINE},
        text=_descriptions(bursts), hovertemplate="%{text}<extra></extra>",
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
            text=_descriptions(part), hovertemplate="%{text}<extra></extra>", cliponaxis=False,
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


def _bursts_within(schedule: OnDemandSchedule, start: float, end: float) -> pd.DataFrame:
    """The bursts that are submitted in a window."""
    return schedule.bursts.query("submit_time >= @start and submit_time < @end")


def _descriptions(bursts: pd.DataFrame) -> list[str]:
    """Nodes and delay of each burst, as a text."""
    return [
        f"burst {job}: {row.nodes:,} nodes, starts {row.delay / MINUTE:,.1f} min late"
        for job, row in zip(bursts.index, bursts.itertuples(), strict=True)
    ]


def _hours(seconds: pd.Series) -> pd.Series:
    return (seconds / HOUR).round(4)


def _days(seconds: pd.Series) -> pd.Series:
    return (seconds / DAY).round(5)


def use_blocks(schedule: OnDemandSchedule, start: float, end: float) -> pd.DataFrame:
    """Blocks of neighboring nodes in a window: of which job and use, by its name in `USE_STYLES`.

    Returns
    -------
    pd.DataFrame
        `job`, `use`, `start`, `end` (s, cut to the window), `node` (the lowest) and `nodes`.
    """
    table = schedule.allocations
    table = table[(table["end"] > start) & (table["start"] < end)].reset_index(drop=True)
    times = table["start"].clip(lower=start), table["end"].clip(upper=end)
    blocks = lowest_blocks(
        times[0].to_numpy(), times[1].to_numpy(), table["nodes"].to_numpy(), schedule.total_nodes
    )
    names = {"run": "batch", "container": "containers", "killed": "lost",
             "checkpoint": "writing", "hold": "blocked", "reread": "rereading"}  # fmt: skip
    of_bursts = schedule.on_demand[table["job"].to_numpy()] & (table["use"] == "run").to_numpy()
    use = table["use"].astype("str").map(names).mask(of_bursts, "bursts")
    row = blocks.pop("row")
    return blocks.assign(job=table["job"].to_numpy()[row], use=use.to_numpy()[row])


def use_bars(blocks: pd.DataFrame, start: float) -> Iterator[go.Bar]:
    """Bars of blocks over hours since `start`, one trace per use but idleness."""
    for name, (label, tint, shape) in USE_STYLES.items():
        if name == "idle":
            continue
        part = blocks[blocks["use"] == name]
        yield go.Bar(
            x=((part["end"] - part["start"]) / HOUR).round(4),
            base=((part["start"] - start) / HOUR).round(4),
            y=part["node"] + part["nodes"] / 2, width=part["nodes"], orientation="h", name=label,
            marker={"color": tint, "line": {"color": "white", "width": 0.4},
                    "pattern": use_pattern(shape)},
            hovertemplate=f"{label}, from hour %{{base:.2f}}<extra></extra>",
        )  # fmt: skip


def use_pattern(shape: str) -> dict[str, Any]:
    """The pattern on a bar of a use."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": theme.BLACK, "fgopacity": 0.5,
            "solidity": 0.15, "size": 7}  # fmt: skip
