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
    table = node_stretches(schedule)
    events = event_times(schedule)
    until = until or 1.05 * max(events[-1], 1.0)
    machines = list(schedule.system.partitions)
    picture = make_subplots(rows=len(machines), shared_xaxes=True, vertical_spacing=0.09)
    labels = [str(job) for job in range(len(schedule.workload))] if names is None else list(names)
    for row in table.itertuples():
        trace = _block(row, labels[row.job], int(schedule.group[row.job]), until)
        picture.add_trace(trace, row=machines.index(row.machine) + 1, col=1)
    for name, shape in (("runs", ""), ("holds, nodes idle", "/")):
        picture.add_trace(_legend_entry(name, shape), row=1, col=1)
    theme.style(picture, title=title, barmode="overlay", margin_b=80 + CONTROLS_HEIGHT * steps)
    picture.update_layout(
        height=190 + 150 * len(machines) + CONTROLS_HEIGHT * steps,
        meta={CONTROLS: CONTROLS_HEIGHT * steps},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
    )
    for row, (machine, nodes) in enumerate(schedule.system.partitions.items(), start=1):
        picture.update_yaxes(title=f"{machine}<br>nodes", range=[0, nodes], row=row, col=1)
    picture.update_xaxes(range=[0, until / MINUTE])
    picture.update_xaxes(title="minutes", row=len(machines), title_standoff=6)
    footnote(picture, MATES)
    return _stepped(picture, table, events, until) if steps else picture


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
    table = node_stretches(schedule)
    first, last = event_times(schedule)[[0, -1]].tolist()
    until = until or last + 0.05 * max(last - first, 1.0)
    machines = list(schedule.system.partitions)
    headings = [f"waiting on {name}: {_queue(schedule, name, at, names)}" for name in machines]
    picture = make_subplots(
        rows=len(machines), shared_xaxes=True, vertical_spacing=0.13, subplot_titles=headings
    )
    picture.update_annotations(x=0, xanchor="left", font={"size": 12})
    for row, (machine, nodes) in enumerate(schedule.system.partitions.items(), start=1):
        here = table[(table["machine"] == machine) & (table["start"] < at)]
        picture.add_trace(_blocks(here, at, names, schedule.group), row=row, col=1)
        ticks = {"tick0": 0, "dtick": theme.whole_step(nodes, 5)}
        picture.update_yaxes(title=f"{machine}<br>nodes", range=[0, nodes], row=row, **ticks)
    for name, shape in (("runs", ""), ("holds, nodes idle", "/")):
        picture.add_trace(_legend_entry(name, shape), row=1, col=1)
    picture.add_vline(at / MINUTE, line={"color": theme.VERMILION, "width": 2})
    theme.style(picture, title=title, barmode="overlay", margin={"t": 90, "b": 60})
    picture.update_layout(
        height=170 + 160 * len(machines),
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
    )
    picture.update_xaxes(range=[first / MINUTE, until / MINUTE])
    return picture.update_xaxes(title="minutes", row=len(machines), title_standoff=6)


def _queue(schedule: CoupledSchedule, machine: str, at: float, names: Sequence[str]) -> str:
    """The jobs that wait on a machine at an instant, in order of submission, with their nodes."""
    waiting = (job_states(schedule, at).state == "waiting") & (schedule.partition == machine)
    jobs, nodes = np.flatnonzero(waiting).tolist(), schedule.workload.jobs["nodes"]
    named = [f"{names[job]} ({nodes[job]:,})" for job in jobs[:MOST_NAMED]]
    more = f" and {len(jobs) - MOST_NAMED} more" if len(jobs) > MOST_NAMED else ""
    return ", ".join(named) + more or "none"


def _blocks(table: pd.DataFrame, at: float, names: Sequence[str], groups: np.ndarray) -> go.Bar:
    """The blocks of one machine as one trace, cut at an instant."""
    group = groups[table["job"].to_numpy(dtype=np.int64)]
    tints = [GROUP_COLORS[g % len(GROUP_COLORS)] if g >= 0 else theme.GREY for g in group]
    holds = (table["state"] == "holds").tolist()
    labels = [names[job] for job in table["job"]]
    pattern = {"shape": ["/" if held else "" for held in holds], "fillmode": "replace",
               "fgcolor": tints, "bgcolor": ["white" if held else tint for held, tint
                                             in zip(holds, tints, strict=True)],
               "solidity": 0.3, "size": 11, "fgopacity": 0.7}  # fmt: skip
    ends = table["end"].clip(upper=at)
    return go.Bar(
        x=((ends - table["start"]) / MINUTE).round(4).tolist(),
        base=(table["start"] / MINUTE).round(4).tolist(),
        y=(table["node"] + table["nodes"] / 2).tolist(), width=table["nodes"].tolist(),
        orientation="h", showlegend=False, textposition="inside",
        text=[f"<b>{name}</b>" for name in labels],
        insidetextanchor="middle", textangle=0, insidetextfont={"color": theme.BLACK},
        marker={"color": tints, "pattern": pattern, "line": {"color": theme.BLACK, "width": 1}},
        customdata=list(zip(labels, table["state"], table["nodes"], strict=True)),
        hovertemplate="%{customdata[0]} %{customdata[1]}, %{customdata[2]} nodes<extra></extra>",
    )  # fmt: skip


def _extent(row, until: float) -> tuple[float, float]:
    """Beginning and length of a block in minutes, cut at `until`."""
    begin, end = min(row.start, until), min(row.end, until)
    return round(begin / MINUTE, 4), round((end - begin) / MINUTE, 4)


def _block(row, label: str, group: int, until: float) -> go.Bar:
    """One block of nodes over time."""
    begin, length = _extent(row, until)
    color = GROUP_COLORS[group % len(GROUP_COLORS)] if group >= 0 else theme.GREY
    holds = row.state == "holds"
    pattern = {"shape": "/" if holds else "", "fillmode": "replace", "fgcolor": color,
               "bgcolor": "white", "solidity": 0.3, "size": 11, "fgopacity": 0.7}  # fmt: skip
    return go.Bar(
        x=[length], base=[begin], y=[row.node + row.nodes / 2], width=[row.nodes],
        orientation="h", showlegend=False, name=label,
        marker={"color": color, "pattern": pattern if holds else {},
                "line": {"color": theme.BLACK, "width": 1}},
        text=[f"<b>{label}</b>" + (" holds" if holds else "")], textposition="inside",
        insidetextanchor="middle", textangle=0, insidetextfont={"color": theme.BLACK},
        hovertemplate=f"{label} {row.state}, {row.nodes} nodes<extra></extra>",
    )  # fmt: skip


def _legend_entry(name: str, shape: str) -> go.Bar:
    """An entry of the legend for plain or hatched blocks, without a bar."""
    return go.Bar(
        x=[None], y=[None], orientation="h", name=name,
        marker={"color": theme.GREY, "line": {"color": theme.BLACK, "width": 1},
                "pattern": {"shape": shape, "fillmode": "replace", "fgcolor": theme.BLACK,
                            "bgcolor": "white", "size": 8} if shape else {}},
    )  # fmt: skip


def _stepped(
    picture: go.Figure, table: pd.DataFrame, events: np.ndarray, until: float
) -> go.Figure:
    """The chart with a slider: one step per event, the whole chart last."""
    stops = [*events[events < until].tolist(), until]
    frames, marks = [], []
    for stop in stops:
        name = f"{stop / MINUTE:g}"
        bars = []
        for row in table.itertuples():
            begin, length = _extent(row, stop)
            bars.append(go.Bar(base=[begin], x=[length if row.start < stop else None]))
        frames.append(go.Frame(data=bars, name=name, traces=list(range(len(table)))))
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
