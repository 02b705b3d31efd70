"""A drawing of Tang et al. (2011): a deadlock and its release, event by event."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from cosimlab.figures import plot_gantt
from cosimlib.coscheduling import CoupledSchedule, event_times
from cosimlib.placement import node_stretches
from cosimlib.units import MINUTE
from papers.images import CONTROLS

CONTROLS_HEIGHT = 105
"""Pixels of the slider through the events, and of what is above it."""
FRAME_DURATION = 700
"""Milliseconds per event."""


def plot_steps(
    schedule: CoupledSchedule, names: Sequence[str], until: float, *, title: str
) -> go.Figure:
    """Gantt chart of coupled machines up to some seconds, with a slider through its events.

    One step per event, the whole chart last.
    """
    picture = plot_gantt(schedule, start=0.0, end=until, title=title, names=names)
    picture.update_layout(
        height=picture.layout.height + CONTROLS_HEIGHT,
        margin={"b": 60 + CONTROLS_HEIGHT},
        meta=dict(picture.layout.meta) | {CONTROLS: CONTROLS_HEIGHT},
    )
    events = event_times(schedule)
    stops = [*events[events < until].tolist(), until]
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
    slider = {
        "steps": marks,
        "active": len(stops) - 1,
        "y": -0.1,
        "x": 0,
        "len": 1.0,
        "pad": {"t": 30},
        "currentvalue": value,
    }
    play = {"label": "Play", "method": "animate", "args": [None, _animation(FRAME_DURATION)]}
    buttons = {
        "type": "buttons",
        "buttons": [play],
        "showactive": False,
        "x": 1,
        "xanchor": "right",
        "y": -0.1,
        "yanchor": "top",
        "pad": {"t": 18},
    }
    return picture.update_layout(sliders=[slider], updatemenus=[buttons])


def _animation(duration: int) -> dict[str, Any]:
    """Plotly's options to show one frame or all, so many milliseconds each.

    Plotly cannot move hatched bars (a pattern throws), so each frame is drawn at once.
    """
    frame = {"duration": duration, "redraw": True}
    return {"mode": "immediate", "frame": frame, "transition": {"duration": 0}}
