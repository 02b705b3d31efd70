"""Figures of Tang et al. (2011): the 16 panels, a deadlock and its release, and other knobs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import captioned, lines, plot_gantt, theme
from cosimlib.coscheduling import BASE, IDEAL, CoupledSchedule, event_times
from cosimlib.display import count
from cosimlib.placement import node_stretches
from cosimlib.units import MINUTE
from papers.images import CONTROLS
from papers.paper import Drawing
from papers.tang2011.experiment import INTERVALS, NAMES
from papers.tang2011.measures import MADE_UP, UNSCHEDULED, over_ideal, yield_minus_hold

HATCHES = {"HH": "", "HY": "/", "YH": "\\", "YY": ".", BASE: "", IDEAL: "x"}
LEGEND = {BASE: "base (no coscheduling)", IDEAL: "ideal (mates wait for one another, nobody else)"}
PANELS = {
    "wait": ("Average wait", "minutes", UNSCHEDULED),
    "slowdown": ("Average slowdown", "slowdown", UNSCHEDULED),
    "sync_up": ("Sync-up overhead", "minutes", (IDEAL,)),
    "lost": ("Loss of capability", "node-hours held idle", ()),
}
"""Title, unit, and what is drawn beside the schemes, of each measure."""
AXES = {"load": "Eureka's utilization", "share": "proportion of paired jobs"}
CONTROLS_HEIGHT = 105
"""Pixels of the slider through the events, and of what is above it."""
FRAME_DURATION = 700
"""Milliseconds per event."""
RATIO = "average wait ÷ average ideal wait"
SHARE = {"percent": "paired jobs, %"}
ALIKE = (
    "A third of the jobs is paired. Mates are submitted together here, and start together: they "
    "wait alike, so that the line of jobs with mates is the same on both machines."
)


def panels(means: pd.DataFrame, *, measure: str, by: str) -> Drawing:
    """One measure by Eureka's utilization or by the proportion of paired jobs, of `averages`."""
    title, unit, beside = PANELS[measure]
    words = f"{title} by {AXES[by]}"
    figure = plot_schemes(
        means, by=by, measure=measure, title=words, unit=unit, label=AXES[by], beside=beside
    )
    return Drawing(figure, means[means["measure"] == measure])


def deadlock(locked: CoupledSchedule) -> Drawing:
    """The circle of jobs that is never released."""
    stretches = node_stretches(locked).replace({"end": {np.inf: "never"}})
    return _circle(locked, "Deadlock: both machines hold, neither releases", stretches)


def release(released: CoupledSchedule) -> Drawing:
    """The circle of jobs that a release breaks."""
    title = "No deadlock: the same jobs, with a release of held nodes at minute 20"
    return _circle(released, title, node_stretches(released))


def over_the_ideal(comparison: pd.DataFrame) -> Drawing:
    """Average wait over the ideal's, by the proportion of paired jobs."""
    table, title = _in_percent(over_ideal(comparison, "share")), f"{RATIO}, by {AXES['share']}"
    note = in_letters(table["machine"].unique())
    return _curves(comparison, table, "scheme", _upper(title), SHARE, note=note)


def yielding(comparison: pd.DataFrame) -> Drawing:
    """Sync-up overhead where a machine yields minus that where it holds."""
    table = _in_percent(yield_minus_hold(comparison, "share"))
    title = "Sync-up overhead: yield minus hold, by proportion of paired jobs"
    return _curves(comparison, table, "scheme", title, SHARE, unit="minutes, yield − hold")


def intervals(comparison: pd.DataFrame) -> Drawing:
    """Average wait over the ideal's, by the time between releases."""
    table = over_ideal(comparison, "minutes")
    title, label = f"{RATIO}, by the time between releases", {"minutes": "minutes between releases"}
    axis, note = {"type": "log", "tickvals": INTERVALS}, in_letters(table["machine"].unique())
    return _curves(comparison, table, "scheme", _upper(title), label, axis=axis, note=note)


def rules(comparison: pd.DataFrame, *, by: str, title: str, label: str) -> Drawing:
    """Waits over the ideal's of jobs with and without mates, by a rule for holding."""
    kinds = {"jobs with mates": "wait_paired", "jobs without mates": "wait_alone"}
    parts = [over_ideal(comparison, by, of).assign(jobs=kind) for kind, of in kinds.items()]
    table, axis = pd.concat(parts, ignore_index=True), {"type": "category"}
    return _curves(comparison, table, "jobs", title, {by: label}, axis=axis, note=ALIKE)


FIGURES: dict[str, Callable[..., Drawing]] = {
    "deadlock": deadlock,
    "release": release,
    **{
        f"{name}-by-{by}": partial(panels, measure=measure, by=by)
        for by in AXES
        for name, measure in zip(("wait", "slowdown", "sync-up", "loss"), PANELS, strict=True)
    },
    "over-ideal": over_the_ideal,
    "yield-minus-hold": yielding,
    "release-interval": intervals,
    "limited-holds": partial(
        rules,
        by="limit",
        title="Wait ÷ ideal wait, by the largest expected cost of a hold",
        label="largest cost (node-hours)",
    ),
    "yield-threshold": partial(
        rules,
        by="yields",
        title="Wait ÷ ideal wait, by the number of yields before a hold",
        label="yields before a hold",
    ),
}


def plot_schemes(
    table: pd.DataFrame,
    *,
    by: str,
    measure: str,
    title: str,
    unit: str,
    label: str,
    beside: tuple[str, ...] = UNSCHEDULED,
) -> go.Figure:
    """Bar chart of one measure: a panel per machine, a bar per scheme and value of a column.

    Whiskers are the 95 % confidence intervals of the means, where they are not all numbers.

    Parameters
    ----------
    table : pd.DataFrame
        `machine`, `by`, `scheme`, `measure`, `mean`, `low`, `high`, `seeds`, as of `averages`.
    by : str
        The column along the horizontal axis, parts of one, shown in percent.
    measure : str
    title, unit, label : str
        Above the figure, beside the vertical axis, under the horizontal one.
    beside : tuple of str, default ("base", "ideal")
        What is drawn beside the schemes: the base, without coscheduling, and the ideal.
    """
    left_out = [name for name in UNSCHEDULED if name not in beside]
    table = table[(table["measure"] == measure) & ~table["scheme"].isin(left_out)]
    machines = list(dict.fromkeys(table["machine"]))
    picture = make_subplots(
        cols=len(machines),
        subplot_titles=theme.headings(map(_upper, machines)),
        horizontal_spacing=0.11,
    )
    for column, machine in enumerate(machines, start=1):
        here = table[table["machine"] == machine]
        for scheme in dict.fromkeys(here["scheme"]):
            part = here[here["scheme"] == scheme]
            picture.add_trace(_bars(part, scheme, by, column == 1), row=1, col=column)
    theme.style(
        picture,
        title=title,
        height=430,
        barmode="group",
        bargap=0.22,
        bargroupgap=0.06,
        margin={"t": 95},
    )
    picture.update_xaxes(title=label, type="category", title_standoff=8)
    picture.update_yaxes(rangemode="nonnegative")
    picture.update_yaxes(title=unit, col=1)
    seeds = int(table["seeds"].max()) if len(table) else 0
    return captioned(
        picture,
        f"Bars are means over {count(seeds, 'seed')}, whiskers their 95 % confidence intervals. "
        + in_letters(machines),
    )


def in_letters(machines: Any) -> str:
    """What the letters of a scheme say, in words for the small print of a figure."""
    return (
        f"A scheme's letters stand for {' and '.join(map(_upper, machines))}, in this order: H, a "
        "job holds its nodes idle until its mate starts; Y, it yields its turn."
    )


def _upper(name: str) -> str:
    return name[:1].upper() + name[1:]


def _bars(part: pd.DataFrame, scheme: str, by: str, legend: bool) -> go.Bar:
    """The bars of one scheme on one machine."""
    half = (part["high"] - part["mean"]).where(np.isfinite(part["high"])).round(4)
    return go.Bar(
        x=[f"{100 * value:g} %" for value in part[by]],
        y=part["mean"].round(4).tolist(),
        name=LEGEND.get(scheme, scheme),
        legendgroup=scheme,
        showlegend=legend,
        marker=theme.bar("white" if scheme == IDEAL else theme.color(scheme), HATCHES[scheme]),
        error_y={
            "type": "data",
            "array": half.astype(object).where(half.notna(), None).tolist(),
            "thickness": 1,
            "width": 2,
            "color": theme.BLACK,
        },
    )


def _circle(schedule: CoupledSchedule, title: str, stretches: pd.DataFrame) -> Drawing:
    """The schedule of the made-up jobs, event by event."""
    return Drawing(plot_steps(schedule, NAMES, 4200.0, title=title), stretches, data=MADE_UP)


def _in_percent(table: pd.DataFrame) -> pd.DataFrame:
    """The proportion of paired jobs in percent, too."""
    return table.assign(percent=100 * table["share"])


def _curves(
    comparison: pd.DataFrame,
    table: pd.DataFrame,
    line: str,
    title: str,
    label: dict[str, str],
    *,
    unit: str = RATIO,
    axis: dict[str, Any] | None = None,
    note: str = "",
) -> Drawing:
    """Means over a comparison's seeds with their intervals, a panel per machine."""
    table = table.assign(machine=table["machine"].map(_upper))[table["mean"] < np.inf]
    (x,) = label
    figure = lines(
        table,
        x=x,
        y="mean",
        line=line,
        panel="machine",
        band=("low", "high"),
        title=title,
        labels=label | {"mean": unit},
        why="no job waits in the ideal",
    )
    seeds = count(comparison["seed"].nunique(), "seed")
    bands = f"Lines are means over {seeds}, bands their 95 % intervals. "
    return Drawing(figure.update_xaxes(axis), table, bands + note)


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
