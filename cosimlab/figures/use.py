"""Uses of a machine's nodes: a day with on-demand bursts, and a window with filler containers."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import theme
from cosimlab.figures.gantt import USES, use_bars, use_blocks
from cosimlab.palette import WINE
from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.filling import FilledSchedule, held_table, use_table
from cosimlib.ondemand import LEDGER, OnDemandSchedule, ledger
from cosimlib.units import DAY, HOUR, MINUTE

FILLED = {
    "regular": ("regular jobs", theme.BLUE, ""),
    "containers": ("work in containers", theme.GREEN, "/"),
    "slow": ("lost: containers are slower", theme.YELLOW, "."),
    "overhead": ("lost: start and save", theme.ORANGE, "\\"),
    "lost": ("lost: killed", theme.VERMILION, "x"),
    "idle": ("idle", "#FFFFFF", ""),
}
"""Name, color and pattern of each use of node-hours in `filling.use_table`."""

ACTION_MARKS = {
    "kill": ("killed", "x"),
    "app": ("evicted at its own checkpoint", "circle"),
    "sys": ("evicted by a checkpoint", "diamond"),
}
"""Name and marker of each kind of eviction."""


def plot_day(schedule: OnDemandSchedule, *, start: float, end: float, title: str) -> go.Figure:
    """Gantt chart by node with evictions marked, the ledger beside it, delays of bursts below.

    Parameters
    ----------
    schedule : OnDemandSchedule
    start, end : float
        The window of the chart, seconds. The ledger has it beside the whole schedule; delays are
        those of all bursts, the window shaded.
    title : str

    Returns
    -------
    go.Figure
        With as many traces whatever the schedule; the last three are the delays of bursts in time,
        those of bursts that miss their deadline, and the deadlines.
    """
    check.instance("schedule", schedule, OnDemandSchedule)
    picture = make_subplots(
        rows=2,
        cols=2,
        column_widths=[0.78, 0.22],
        row_heights=[0.7, 0.3],
        horizontal_spacing=0.12,
        vertical_spacing=0.2,
        specs=[[{}, {"rowspan": 2}], [{}, None]],
    )
    _add_nodes(picture, schedule, start, end)
    _add_ledger(picture, schedule, start, end)
    _add_delays(picture, schedule, start, end)
    return theme.style(picture, title=title, height=620, barmode="stack", bargap=0.25)


def _add_nodes(picture: go.Figure, schedule: OnDemandSchedule, start: float, end: float) -> None:
    """Nodes over time by use, the arrivals of bursts, and evictions."""
    blocks = use_blocks(schedule, start, end)
    picture.add_traces(list(use_bars(blocks, start, all_uses=True)), rows=1, cols=1)
    bursts = schedule.bursts.query("submit_time >= @start and submit_time < @end")
    picture.add_scatter(
        x=_hours(bursts["submit_time"] - start),
        y=np.full(len(bursts), schedule.total_nodes),
        mode="markers",
        name="a burst comes",
        cliponaxis=False,
        row=1,
        col=1,
        marker={"symbol": "triangle-down", "size": 11, "color": WINE},
        text=_descriptions(bursts),
        hovertemplate="%{text}<extra></extra>",
    )
    evictions = schedule.evictions.query("time > @start and time <= @end")
    widest = blocks.sort_values("nodes", kind="stable").drop_duplicates(["job", "end"], keep="last")
    found = evictions.merge(widest, left_on=["job", "time"], right_on=["job", "end"])
    for action, (label, symbol) in ACTION_MARKS.items():
        part = found[found["action"] == action]
        picture.add_scatter(
            x=_hours(part["time"] - start),
            y=part["node"] + part["nodes"] / 2,
            mode="markers",
            name=label,
            row=1,
            col=1,
            customdata=part["job"],
            marker={
                "symbol": symbol,
                "size": 9,
                "color": "white",
                "line": {"width": 1.5, "color": theme.BLACK},
            },
            hovertemplate=f"job %{{customdata}}: {label} at hour %{{x:.2f}}<extra></extra>",
        )
    hours = theme.hours_since(
        schedule.workload.began, f"hours since second {start:,.0f} of the trace", start=start
    )
    picture.update_xaxes(
        title=hours, title_standoff=2, range=[0, (end - start) / HOUR], row=1, col=1
    )
    picture.update_yaxes(title="nodes", range=[0, schedule.total_nodes], row=1, col=1)


def _add_ledger(picture: go.Figure, schedule: OnDemandSchedule, start: float, end: float) -> None:
    """Node-hours by use in percent of the machine's, in the window and in all."""
    hours = pd.DataFrame(
        {"shown": ledger(schedule, start=start, end=end), "all": ledger(schedule)}
    ).T[list(LEDGER)]
    total = hours.sum(axis=1)
    shares = (100 * hours.div(total.where(total > 0, 1.0), axis=0)).round(3)
    hover = "%{x}: %{y:.2f} %, %{customdata:,.1f} node-hours"
    for use, bar in _stacked(shares, USES, "v", hover).items():
        bar.update(customdata=hours[use].round(1).to_numpy(), showlegend=use == "idle")
        picture.add_trace(bar, row=1, col=2)
    picture.update_yaxes(ticksuffix=" %", range=[0, 100], row=1, col=2)
    picture.update_xaxes(title="node-hours", row=1, col=2)


def _stacked(
    table: pd.DataFrame, uses: Mapping[str, tuple[str, str, str]], orientation: str, hover: str
) -> dict[str, go.Bar]:
    """One trace of bars per use, which is a column, each bar a row of the table."""
    names, values = ("x", "y") if orientation == "v" else ("y", "x")
    return {
        use: go.Bar(
            {names: list(table.index), values: table[use].to_numpy(dtype=float)},
            orientation=orientation,
            name=uses[use][0],
            marker=theme.bar(*uses[use][1:]),
            hovertemplate=hover,
        )
        for use in uses
        if use in table
    }


def _add_delays(picture: go.Figure, schedule: OnDemandSchedule, start: float, end: float) -> None:
    """Delays of bursts over the whole schedule, in time or not, and their deadlines."""
    bursts, (first, last) = schedule.bursts, schedule.span
    days = ((bursts["submit_time"] - first) / DAY).round(5)
    for missed, tint, name, symbol in (
        (False, theme.BLUE, "delay of a burst in time", "circle"),
        (True, theme.VERMILION, "delay beyond the deadline", "x"),
    ):
        part = bursts[bursts["missed"] == missed]
        picture.add_scatter(
            x=days[part.index],
            y=(part["delay"] / MINUTE).round(3),
            name=name,
            mode="markers",
            marker={"color": tint, "symbol": symbol, "size": 8},
            row=2,
            col=1,
            text=_descriptions(part),
            hovertemplate="%{text}<extra></extra>",
            cliponaxis=False,
        )
    picture.add_scatter(
        x=days,
        y=(bursts["longest_delay"] / MINUTE).round(3),
        name="deadline",
        mode="lines",
        line=theme.DASHED,
        row=2,
        col=1,
        hoverinfo="skip",
    )
    picture.add_vrect(
        (start - first) / DAY,
        (end - first) / DAY,
        fillcolor=theme.YELLOW,
        opacity=0.3,
        line_width=0,
        layer="below",
        row=2,
        col=1,
    )
    longest = max([*(bursts["delay"] / MINUTE), *(bursts["longest_delay"] / MINUTE), 1.0])
    span = max((last - first) / DAY, (end - first) / DAY, 1e-6)
    picture.update_xaxes(title="days since the first submission", range=[0, span], row=2, col=1)
    picture.update_yaxes(title="delay (min)", range=[0, 1.1 * longest], row=2, col=1)


def _descriptions(bursts: pd.DataFrame) -> list[str]:
    """Nodes and delay of each burst, as a text."""
    return [
        f"burst {job}: {row.nodes:,} nodes, starts {row.delay / MINUTE:,.1f} min late"
        for job, row in zip(bursts.index, bursts.itertuples(), strict=True)
    ]


def _hours(seconds: pd.Series) -> pd.Series:
    return (seconds / HOUR).round(4)


# --- filler containers ----------------------------------------------------------------------------


def plot_use(
    runs: Sequence[FilledSchedule], *, chosen: str, start: float, end: float, title: str
) -> go.Figure:
    """Nodes held over time under one policy, and node-hours by use under all.

    Always nine traces: two areas, one bar per use, and the utilization of each policy.

    Parameters
    ----------
    runs : sequence of FilledSchedule
        The same jobs under several policies.
    chosen : str
        The policy whose nodes are shown over time.
    start, end : float
        The window, seconds.
    title : str

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> log = cs.synthetic.with_estimates(cs.synthetic.lublin(100, load=0.7, seed=1), seed=1)
    >>> policies = [None, "A", "B"]
    >>> runs = [cs.simulate_filling(log, log.machine, policy=policy) for policy in policies]
    >>> figure = lab.figures.plot_use(
    ...     runs, chosen=runs[1].policy, start=0, end=86_400, title="Fillers for a day"
    ... )
    >>> len(figure.data)
    9
    """
    # The names of policies stand between the panels.
    picture = make_subplots(cols=2, horizontal_spacing=0.23)
    shown = next(run for run in runs if run.policy == chosen)
    picture.add_traces(_areas(held_table(shown, start, end), start), rows=1, cols=1)
    table = use_table(runs, start=start, end=end)
    hours = table[list(FILLED)].round(2)
    bars = _stacked(hours, FILLED, "h", "%{y}: %{x:,.1f} node-hours")
    picture.add_traces(list(bars.values()), rows=1, cols=2)
    picture.add_scatter(
        y=list(table.index),
        x=hours.sum(axis=1).round(2),
        mode="text",
        name="utilization",
        text=[f" {percent(share, 1)}" for share in table["utilization"]],
        showlegend=False,
        textposition="middle right",
        hoverinfo="skip",
        cliponaxis=False,
        row=1,
        col=2,
    )
    theme.style(picture, title=title, height=500, barmode="stack", bargap=0.35)
    since = theme.hours_since(shown.workload.began, "hours", start=start)
    picture.update_xaxes(title=since, range=[0, (end - start) / HOUR], col=1)
    picture.update_yaxes(title="nodes", range=[0, shown.system.total_nodes], col=1)
    widest = 1.2 * float(hours.iloc[0].sum())
    picture.update_xaxes(title="node-hours", range=[0, widest], nticks=6, col=2)
    return picture.update_yaxes(autorange="reversed", col=2)


def _areas(held: pd.DataFrame, start: float) -> list[go.Scatter]:
    """Nodes of regular jobs, and of containers on top of them."""
    hours = ((held.index.to_numpy() - start) / HOUR).round(3)
    return [
        theme.steps(
            hours,
            held[column].to_numpy(),
            *FILLED[column][1:],
            name=name,
            stackgroup="nodes",
            showlegend=False,
            hovertemplate="hour %{x}: %{y} nodes",
        )
        for column, name in (("regular", "regular jobs"), ("containers", "nodes of containers"))
    ]
