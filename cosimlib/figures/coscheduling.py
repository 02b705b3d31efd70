"""Gantt charts of coupled machines: nodes that run, and nodes held idle for a mate."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.coscheduling.deadlock import event_times, job_states
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.figures import theme
from cosimlib.figures.footnotes import footnote
from cosimlib.figures.still import CONTROLS
from cosimlib.placement import node_stretches
from cosimlib.units import MINUTE

MOST_NAMED = 5
"""Waiting jobs that are named above their machine; of more only the number is given."""
CONTROLS_HEIGHT = 105
"""Pixels of the slider through the events, and of what is above it."""
PLAY_PACE = 700
"""Milliseconds per event."""

MATES = "A group of mates has one color on all machines; gray jobs have no mates."
GROUP_COLORS = (theme.SKY, theme.ORANGE, theme.GREEN, theme.PURPLE, theme.YELLOW)


def plot_coupled_gantt(
    schedule: CoupledSchedule,
    *,
    title: str,
    names: Sequence[str] | None = None,
    until: float | None = None,
    steps: bool = True,
) -> go.Figure:
    """Gantt chart of coupled machines: nodes over time, mates in one color, held nodes hatched.

    Parameters
    ----------
    schedule : CoupledSchedule
        Of a few jobs on small machines.
    title : str
    names : sequence of str, optional
        The name of each job, by default its row.
    until : float, optional
        Seconds at which the picture ends; by default 5 % after the last event. A hold without an
        end is drawn up to there.
    steps : bool, default True
        Whether a slider steps through the events.
    """
    check.instance("schedule", schedule, CoupledSchedule)
    events = event_times(schedule)
    until = until or 1.05 * max(events[-1], 1.0)
    labels = [str(job) for job in range(len(schedule.workload))] if names is None else list(names)
    picture = _gantt(schedule, until, labels, title)
    picture.update_layout(
        height=190 + 150 * len(schedule.system.partitions) + CONTROLS_HEIGHT * steps,
        margin={"b": 80 + CONTROLS_HEIGHT * steps},
        meta={CONTROLS: CONTROLS_HEIGHT * steps},
    )
    footnote(picture.update_xaxes(range=[0, until / MINUTE]), MATES)
    stops = [*events[events < until].tolist(), until]
    return _stepped(picture, schedule, stops) if steps else picture


def plot_coupled_moment(
    schedule: CoupledSchedule,
    *,
    at: float,
    title: str,
    names: Sequence[str],
    until: float | None = None,
) -> go.Figure:
    """Gantt chart of coupled machines up to an instant, with the queues of that instant.

    A line marks the instant, held nodes are hatched. One trace per machine, and two for the legend.

    Parameters
    ----------
    schedule : CoupledSchedule
        Of a few jobs.
    at : float
        Seconds.
    title : str
    names : sequence of str
        The name of each job.
    until : float, optional
        Seconds at which the axis ends; by default 5 % after the last event.
    """
    check.instance("schedule", schedule, CoupledSchedule)
    first, last = event_times(schedule)[[0, -1]].tolist()
    until = until or last + 0.05 * max(last - first, 1.0)
    machines = list(schedule.system.partitions)
    headings = [f"waiting on {name}: {_queue(schedule, name, at, names)}" for name in machines]
    picture = _gantt(schedule, at, names, title, headings)
    picture.add_vline(at / MINUTE, line={"color": theme.VERMILION, "width": 2})
    picture.update_layout(height=170 + 160 * len(machines), margin={"t": 90, "b": 60})
    return picture.update_xaxes(range=[first / MINUTE, until / MINUTE])


def _gantt(
    schedule: CoupledSchedule,
    at: float,
    names: Sequence[str],
    title: str,
    headings: Sequence[str] = (),
) -> go.Figure:
    """The machines' nodes up to an instant, one trace per machine and two for the legend."""
    machines = schedule.system.partitions
    picture = make_subplots(
        rows=len(machines), shared_xaxes=True, subplot_titles=headings or None,
        vertical_spacing=0.13 if headings else 0.09,
    )  # fmt: skip
    picture.update_annotations(x=0, xanchor="left", font={"size": 12})
    blocks = _blocks(schedule, at, names)
    for row, (trace, (machine, nodes)) in enumerate(zip(blocks, machines.items(), strict=True), 1):
        picture.add_trace(trace, row=row, col=1)
        ticks = {"tick0": 0, "dtick": theme.whole_step(nodes, 5)}
        picture.update_yaxes(title=f"{machine}<br>nodes", range=[0, nodes], row=row, **ticks)
    for name, shape in (("runs", ""), ("holds, nodes idle", "/")):
        picture.add_trace(_legend_entry(name, shape), row=1, col=1)
    theme.style(picture, title=title, barmode="overlay")
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"}
    picture.update_layout(legend=legend)
    return picture.update_xaxes(title="minutes", row=len(machines), title_standoff=6)


def _queue(schedule: CoupledSchedule, machine: str, at: float, names: Sequence[str]) -> str:
    """The jobs that wait on a machine at an instant, in order of submission, with their nodes."""
    waiting = (job_states(schedule, at).state == "waiting") & (schedule.partition == machine)
    jobs, nodes = np.flatnonzero(waiting).tolist(), schedule.workload.jobs["nodes"]
    named = [f"{names[job]} ({nodes[job]:,})" for job in jobs[:MOST_NAMED]]
    more = f" and {len(jobs) - MOST_NAMED} more" if len(jobs) > MOST_NAMED else ""
    return ", ".join(named) + more or "none"


def _blocks(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> list[go.Bar]:
    """The blocks of nodes over time, one trace per machine, cut at an instant."""
    table = node_stretches(schedule)
    group = schedule.group[table["job"].to_numpy(np.int64)]
    table = table.assign(end=table["end"].clip(upper=at), group=group)[table["start"] < at]
    return [
        _bars(table[table["machine"] == machine], names) for machine in schedule.system.partitions
    ]


def _bars(table: pd.DataFrame, names: Sequence[str]) -> go.Bar:
    """The blocks of one machine: mates in one color, held nodes hatched."""
    tints = [GROUP_COLORS[g % len(GROUP_COLORS)] if g >= 0 else theme.GREY for g in table["group"]]
    holds = (table["state"] == "holds").tolist()
    labels = [names[job] for job in table["job"]]
    pattern = {"shape": ["/" if held else "" for held in holds], "fillmode": "replace",
               "fgcolor": tints, "bgcolor": ["white" if held else tint for held, tint
                                             in zip(holds, tints, strict=True)],
               "solidity": 0.3, "size": 11, "fgopacity": 0.7}  # fmt: skip
    return go.Bar(
        x=((table["end"] - table["start"]) / MINUTE).round(4).tolist(),
        base=(table["start"] / MINUTE).round(4).tolist(),
        y=(table["node"] + table["nodes"] / 2).tolist(), width=table["nodes"].tolist(),
        orientation="h", showlegend=False, textposition="inside",
        text=[f"<b>{name}</b>" for name in labels],
        insidetextanchor="middle", textangle=0, insidetextfont={"color": theme.BLACK},
        marker={"color": tints, "pattern": pattern, "line": {"color": theme.BLACK, "width": 1}},
        customdata=list(zip(labels, table["state"], table["nodes"], strict=True)),
        hovertemplate="%{customdata[0]} %{customdata[1]}, %{customdata[2]} nodes<extra></extra>",
    )  # fmt: skip


def _legend_entry(name: str, shape: str) -> go.Bar:
    """An entry of the legend for plain or hatched blocks, without a bar."""
    return go.Bar(
        x=[None], y=[None], orientation="h", name=name,
        marker={"color": theme.GREY, "line": {"color": theme.BLACK, "width": 1},
                "pattern": {"shape": shape, "fillmode": "replace", "fgcolor": theme.BLACK,
                            "bgcolor": "white", "size": 8} if shape else {}},
    )  # fmt: skip


def _stepped(picture: go.Figure, schedule: CoupledSchedule, stops: Sequence[float]) -> go.Figure:
    """The chart with a slider: one step per event, the whole chart last."""
    table, machines = node_stretches(schedule), list(schedule.system.partitions)
    table = table[table["start"] < stops[-1]]
    frames, marks = [], []
    for stop in stops:
        name, lengths = f"{stop / MINUTE:g}", table["end"].clip(upper=stop) - table["start"]
        shown = (lengths / MINUTE).round(4).astype(object).where(table["start"] < stop, None)
        bars = [go.Bar(x=shown[table["machine"] == machine].tolist()) for machine in machines]
        frames.append(go.Frame(data=bars, name=name, traces=list(range(len(bars)))))
        marks.append({"label": name, "method": "animate", "args": [[name], _animation(0)]})
    picture.frames = frames
    value = {"prefix": "up to minute ", "xanchor": "left"}
    slider = {"steps": marks, "active": len(stops) - 1, "y": -0.1, "x": 0, "len": 1.0,
              "pad": {"t": 30}, "currentvalue": value}  # fmt: skip
    play = {"label": "Play", "method": "animate", "args": [None, _animation(PLAY_PACE)]}
    buttons = {"type": "buttons", "buttons": [play], "showactive": False, "x": 1,
               "xanchor": "right", "y": -0.1, "yanchor": "top", "pad": {"t": 18}}  # fmt: skip
    return picture.update_layout(sliders=[slider], updatemenus=[buttons])


def _animation(pace: int) -> dict[str, Any]:
    """Plotly's options to show one frame or all, so many milliseconds each.

    Plotly cannot move hatched bars (a pattern throws), so each frame is drawn at once.
    """
    frame = {"duration": pace, "redraw": True}
    return {"mode": "immediate", "frame": frame, "transition": {"duration": 0}}
