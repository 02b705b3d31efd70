"""Gantt charts by node: any schedule, one machine with its queue, coupled machines.

A bar is a block of neighboring nodes that a job has for some time; each job takes the free nodes
with the lowest numbers.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import theme
from cosimlab.figures.charts import plot_empty
from cosimlab.figures.publishing import CaptionedFigure, captioned
from cosimlib import checks as check
from cosimlib.coscheduling.deadlock import event_times, job_states
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.metrics import occupied_nodes, overtaking, wait_time, waiting_jobs
from cosimlib.nodes import NodeSchedule
from cosimlib.ondemand import OnDemandSchedule
from cosimlib.placement import all_blocks, node_blocks, node_stretches
from cosimlib.schedule import Schedule, SharedNodesError, check_schedule
from cosimlib.units import DAY, HOUR, MINUTE

if TYPE_CHECKING:
    from cosimlab.identify import Witness

USES = {
    "batch": ("batch jobs", theme.BLUE, ""),
    "bursts": ("bursts", theme.ORANGE, ""),
    "containers": ("filler containers", theme.PURPLE, "-"),
    "lost": ("lost: done again", theme.VERMILION, "x"),
    "writing": ("checkpoints written", theme.SKY, "/"),
    "blocked": ("standing still", theme.YELLOW, "."),
    "rereading": ("checkpoints reread", theme.GREEN, "\\"),
    "idle": ("idle", "#FFFFFF", ""),
}
"""Name, color and pattern of each use of nodes, by the names of `ondemand.LEDGER`."""
ALLOCATED = {
    "run": "batch",
    "container": "containers",
    "killed": "lost",
    "checkpoint": "writing",
    "hold": "blocked",
    "reread": "rereading",
}
"""Those of the uses in a schedule's allocations."""
TURNS = {
    "in turn": (theme.SKY, theme.BLUE, ""),
    "overtook a job submitted before it": (theme.ORANGE, theme.VERMILION, "/"),
}
"""Color, outline and pattern of jobs that started in order of submission, and of the others."""
RUN = "job %{customdata[0]}, %{customdata[1]} nodes: waited %{customdata[2]} h, runs %{x} h"
GROUP_COLORS = (theme.SKY, theme.ORANGE, theme.GREEN, theme.PURPLE, theme.YELLOW)
UNITS = ((DAY, "days"), (HOUR, "hours"), (MINUTE, "minutes"), (0.0, "seconds"))
"""Units of time of which a picture shows three or more."""
WITNESSED = (
    ("starts now, in one of the two only", theme.VERMILION, ""),
    ("starts now", theme.BLUE, ""),
    ("runs", theme.SKY, ""),
    ("waits, at its earliest start or as recorded", theme.YELLOW, "/"),
)
"""Name, color and pattern of the jobs of a witness."""
DARK = (theme.VERMILION, theme.BLUE)
"""Colors on which letters are white."""
THIN, NARROW = 0.12, 0.04
"""Shares of the nodes and of the time of a picture below which the name of a job stands outside."""
MATES = "A group of mates has one color on all machines; gray jobs have no mates."
MOST_LABELED = 60
"""Blocks that have room for the number of their job."""
MOST_NAMED = 5
"""Waiting jobs that are named above their machine; of more only the number is given."""


def plot_gantt(
    schedule: Schedule,
    *,
    title: str = "",
    start: float | None = None,
    end: float | None = None,
    names: Sequence[str] | None = None,
) -> go.Figure:
    """Gantt chart of any schedule: nodes over time by their use, a panel for each coupled machine.

    Jobs that share nodes have a row each, in order of their starts; if the schedule says on which
    nodes they run (`simulate_nodes`), they divide the row of each node among them.

    Parameters
    ----------
    schedule : Schedule
    title : str, optional
        By default the schedule's policy and data.
    start, end : float, optional
        The window to draw, seconds; by default the whole schedule, or 5 % more where a hold of
        nodes has no end.
    names : sequence of str, optional
        The name of each job, by default its row. Many blocks are not labeled.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2, 3], "run_time": [3600, 7200, 1800, 3600]}
    >>> jobs = pd.DataFrame(times | {"nodes": [3, 4, 1, 2]}).eval("requested_time = run_time")
    >>> schedule = cs.simulate_easy(cs.Workload(jobs, "four jobs"), cs.System.of(4))
    >>> figure = lab.figures.plot_gantt(schedule, names=["a", "b", "c", "d"])
    >>> figure.layout.title.text
    'EASY, four jobs'
    """
    check_schedule(schedule)
    check.window(-np.inf if start is None else start, np.inf if end is None else end)
    title = title or schedule.name
    if isinstance(schedule, CoupledSchedule):
        first, last = _ends(schedule)
        picture = _coupled(schedule, last if end is None else end, names, title)
        window = [first if start is None else start, last if end is None else end]
        picture.update_xaxes(range=[moment / MINUTE for moment in window])
        return captioned(picture, MATES)
    begin, last = schedule.span
    begin, last = begin if start is None else start, last if end is None else end
    table = use_blocks(schedule, begin, last)
    if table.empty:
        return plot_empty(title, "no job runs in these hours")
    picture = theme.figure(title=title, height=480, barmode="overlay")
    picture.add_traces(list(use_bars(table, begin, names)))
    _shade_windows(picture, schedule, begin, (begin, last))
    shared = "shared" in table
    top = int((table["node"] + table["nodes"]).max()) if shared else schedule.total_nodes
    hours = theme.hours_since(schedule.workload.began, "hours", start=begin)
    picture.update_xaxes(title=hours, range=[0, (last - begin) / HOUR])
    return picture.update_yaxes(
        title="jobs, in order of their starts" if shared else "nodes",
        range=[0, top],
        tick0=0,
        dtick=theme.whole_step(top),
    )


def use_blocks(schedule: Schedule, start: float, end: float) -> pd.DataFrame:
    """Blocks of neighboring nodes in a window: of which job and use, by its name in `USES`.

    Returns
    -------
    pd.DataFrame
        `job` (-1: none), `use`, `start`, `end` (s, cut to the window), `node` (the lowest) and
        `nodes`. Of jobs that share nodes a row each, as if of one node, and the column `shared`.
    """
    if isinstance(schedule, NodeSchedule):
        return schedule.blocks(start, end).assign(use="batch")
    try:
        table = schedule.allocations
    except SharedNodesError:
        runs = schedule.runs.sort_values(["start", "job"], ignore_index=True)
        runs = runs[(runs["end"] > start) & (runs["start"] < end)].reset_index(drop=True)
        cut = {"start": runs["start"].clip(lower=start), "end": runs["end"].clip(upper=end)}
        return runs.assign(**cut, use="batch", node=runs.index, nodes=1, shared=True)
    table = table[(table["end"] > start) & (table["start"] < end)].reset_index(drop=True)
    use = table["use"].astype("str").map(ALLOCATED)
    if isinstance(schedule, OnDemandSchedule):
        bursts = schedule.on_demand[table["job"].to_numpy()] & (table["use"] == "run").to_numpy()
        use = use.mask(bursts, "bursts")
    cut = {"start": table["start"].clip(lower=start), "end": table["end"].clip(upper=end)}
    blocks = all_blocks(table.assign(**cut), schedule.total_nodes)
    return blocks.assign(use=use.to_numpy()[blocks.pop("row")])


def use_bars(
    blocks: pd.DataFrame,
    start: float,
    names: Sequence[str] | None = None,
    *,
    all_uses: bool = False,
) -> Iterator[go.Bar]:
    """Bars of blocks over hours since `start`, one trace per use that there is, or of all uses."""
    few = len(blocks) <= MOST_LABELED and not all_uses
    for use, (label, tint, shape) in USES.items():
        part = blocks[blocks["use"] == use]
        if use == "idle" or not (len(part) or all_uses):
            continue
        yield bars(
            part,
            HOUR,
            start,
            name=label,
            text=_labels(part["job"], names) if few else None,
            marker=theme.bar(tint, shape) | {"line": {"color": "white", "width": 0.4}},
            customdata=part["job"].to_numpy(),
            hovertemplate=f"{label}, job %{{customdata}}, from hour %{{base:.2f}}<extra></extra>",
        )


def bars(blocks: pd.DataFrame, unit: float, origin: float = 0.0, **options: Any) -> go.Bar:
    """Blocks of nodes as one trace, over units of time (s) since an origin (s)."""
    if options.get("text") is not None:
        options |= {
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "insidetextfont": {"color": theme.BLACK},
        }
    return go.Bar(
        x=((blocks["end"] - blocks["start"]) / unit).round(4).to_numpy(),
        base=((blocks["start"] - origin) / unit).round(4).tolist(),
        y=(blocks["node"] + blocks["nodes"] / 2).to_numpy(),
        width=blocks["nodes"].to_numpy(),
        orientation="h",
        **options,
    )


def _labels(jobs: pd.Series, names: Sequence[str] | None) -> list[str]:
    """The names of jobs, or their rows, in bold letters; nothing for what is of no job."""
    return [f"<b>{names[job] if names else job}</b>" if job >= 0 else "" for job in jobs]


# --- one machine ----------------------------------------------------------------------------------


def plot_batch(schedule: Schedule, *, title: str) -> go.Figure:
    """A Gantt chart of one machine, its utilization and the length of its queue, over hours.

    All three have one horizontal axis: a zoom of one is a zoom of all. Always four traces: jobs
    that started in turn, jobs that overtook another one, utilization, jobs waiting.

    Parameters
    ----------
    schedule : Schedule
        Of one partition, and some hundreds of jobs: a browser is slow with many thousands.
    title : str

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> log = cs.synthetic.with_estimates(cs.synthetic.lublin(200, load=0.9, seed=1), seed=1)
    >>> schedule = cs.simulate_easy(log, log.machine)
    >>> figure = lab.figures.plot_batch(schedule, title="Nodes, use and queue under EASY")
    >>> [trace.name for trace in figure.data]
    ['in turn', 'overtook a job submitted before it', 'in use', 'waiting']
    """
    check.instance("schedule", schedule, Schedule)
    picture = make_subplots(
        rows=3, shared_xaxes=True, vertical_spacing=0.05, row_heights=[0.58, 0.21, 0.21]
    )
    origin = float(schedule.workload.jobs["submit_time"].min()) if len(schedule.workload) else 0.0
    table = turn_blocks(schedule)
    for turn, (tint, outline, shape) in TURNS.items():
        part = table[table["turn"] == turn]
        marker = theme.bar(tint, shape) | {"line": {"color": outline, "width": 0.5}}
        trace = bars(
            part,
            HOUR,
            origin,
            name=turn,
            marker=marker,
            hovertemplate=RUN,
            customdata=part[["job", "wide", "wait"]].to_numpy(),
        )
        picture.add_trace(trace, row=1, col=1)
    nodes = schedule.total_nodes
    use = (100 * occupied_nodes(schedule) / nodes).rename("in use")
    curves = (use, theme.BLUE), (waiting_jobs(schedule).rename("waiting"), theme.VERMILION)
    for row, (values, tint) in enumerate(curves, start=2):
        hours = ((values.index.to_numpy() - origin) / HOUR).round(4)
        trace = theme.steps(
            hours,
            values.to_numpy(dtype=float).round(3),
            tint,
            fill="tozeroy",
            showlegend=False,
            name=str(values.name),
            hovertemplate="hour %{x}: %{y}<extra></extra>",
        )
        picture.add_trace(trace, row=row, col=1)
        picture.update_yaxes(
            title=values.name, title_standoff=8, rangemode="tozero", nticks=4, row=row
        )
    theme.style(
        picture, title=title, height=690, barmode="overlay", margin={"t": 80}, legend=theme.ABOVE
    )
    ticks = {"tick0": 0, "dtick": theme.whole_step(nodes, 7)}
    picture.update_yaxes(title="node", range=[0, nodes], **ticks, row=1)
    picture.update_yaxes(ticksuffix=" %", range=[0, 103], row=2)
    last = float(np.nanmax(schedule.end_time, initial=origin))
    _shade_windows(picture, schedule, origin, (-np.inf, last))
    began, otherwise = schedule.workload.began, "hours since the first submission"
    hours = theme.hours_since(began, otherwise, start=origin)
    return picture.update_xaxes(rangemode="tozero").update_xaxes(title=hours, row=3)


def _shade_windows(
    picture: go.Figure, schedule: Schedule, origin: float, shown: tuple[float, float]
) -> None:
    """Shade the windows of the schedule's calendar, the darker the more nodes they close."""
    total_nodes = schedule.total_nodes
    windows = schedule.calendar.on_machine(total_nodes)
    windows = windows[(windows["end"] > shown[0]) & (windows["start"] < shown[1])]
    for start, end, nodes in windows[["start", "end", "nodes"]].itertuples(index=False):
        picture.add_vrect(
            (start - origin) / HOUR,
            (end - origin) / HOUR,
            fillcolor=theme.GREY,
            layer="below",
            opacity=0.4 * nodes / total_nodes,
            line_width=0,
        )


def turn_blocks(schedule: Schedule) -> pd.DataFrame:
    """The rectangles of the chart: one row per block of neighboring nodes of a job.

    Returns
    -------
    pd.DataFrame
        `job`, `start` and `end` (s), `node` (the lowest), `nodes` of the block, `wide` (nodes of
        the job), `wait` (hours), `turn` (one of `TURNS`).
    """
    check.instance("schedule", schedule, Schedule)
    blocks = node_blocks(schedule)
    job = blocks["job"].to_numpy()
    turns = np.where(overtaking(schedule), *list(TURNS)[::-1])
    return blocks.assign(
        wide=schedule.workload.jobs["nodes"].to_numpy()[job],
        wait=(wait_time(schedule).to_numpy()[job] / HOUR).round(2),
        turn=turns[job],
    )


def plot_witness(witness: "Witness", *, title: str = "") -> CaptionedFigure:
    """Two Gantt charts of a decision: what the record starts at a moment, and what a rule would.

    Time counts from the decision. Runs are as long as the rule plans them. Jobs that wait are in
    the order of the queue, each at its earliest start, or at the recorded one where it could start
    at once and did not. Jobs that begin in only one of the two are in another color.

    Parameters
    ----------
    witness : Witness
        As `cosimlab.identify` finds it.
    title : str, optional
        By default the jobs that begin in only one of the two, and the rule.
    """
    if not hasattr(witness, "expected"):
        kind = type(witness).__name__
        raise TypeError(f"witness is of type {kind}; expected a Witness, as identify finds it")
    now, plans = witness.moment, (witness.recorded, witness.expected)
    starts = [plan.start_time == now for plan in plans]
    only = starts[0] != starts[1]
    deciding = ", ".join(name for name, is_one in zip(witness.names, only, strict=True) if is_one)
    first = min(float(plan.start_time.min()) for plan in plans)
    last = max(float(plan.end_time.max()) for plan in plans)
    unit, name = next((max(u, 1.0), n) for u, n in UNITS if last - first >= 3 * u)
    shown: set[str] = set()
    picture = make_subplots(
        rows=2,
        shared_xaxes=True,
        vertical_spacing=0.13,
        subplot_titles=("as recorded", f"under {witness.rule}"),
    )
    for row, (plan, begins) in enumerate(zip(plans, starts, strict=True), start=1):
        table = use_blocks(plan, first, last)
        job = table["job"].to_numpy()
        states = np.where(
            only & begins, 0, np.where(begins, 1, np.where(plan.start_time < now, 2, 3))
        )
        for state, (label, tint, shape) in enumerate(WITNESSED):
            part = table[states[job] == state]
            names = [f"<b>{witness.names[each]}</b>" for each in part["job"]]
            thin = part["nodes"] < THIN * plan.total_nodes
            thin |= part["end"] - part["start"] < NARROW * (last - first)
            trace = bars(
                part,
                unit,
                now,
                name=label,
                text=["" if outside else name for name, outside in zip(names, thin, strict=True)],
                marker=theme.bar(tint, shape) | {"line": {"color": "white", "width": 1}},
                legendgroup=label,
                showlegend=bool(len(part)) and label not in shown,
                hovertemplate=f"{label}<extra></extra>",
            )
            letters = {"color": "white" if tint in DARK else theme.BLACK, "size": 13}
            trace.update(insidetextfont=letters, constraintext="none")
            picture.add_trace(trace, row=row, col=1)
            shown |= {label} if len(part) else set()
            for block, text in zip(part[thin].itertuples(), np.array(names)[thin], strict=True):
                picture.add_annotation(
                    x=((block.start + block.end) / 2 - now) / unit,
                    y=block.node + block.nodes / 2,
                    text=str(text),
                    ax=16,
                    ay=-16,
                    arrowwidth=1,
                    arrowhead=0,
                    row=row,
                    col=1,
                )
        top = plan.total_nodes
        picture.update_yaxes(
            title="nodes", range=[0, top], tick0=0, dtick=theme.whole_step(top), row=row
        )
    picture.add_vline(0.0, line={"color": theme.BLACK, "width": 2})
    jobs = "Jobs" if "," in deciding else "Job"
    title = title or f"{jobs} {deciding}: a decision that {witness.rule} would not make"
    theme.style(picture, title=title, height=480, barmode="overlay", margin={"t": 90})
    picture.update_xaxes(range=[(first - now) / unit, (last - now) / unit])
    picture.update_xaxes(title=f"{name} from the decision at {round(now, 3):,.15g} s", row=2)
    return captioned(picture, f"{witness.sentence[0].upper()}{witness.sentence[1:]}.")


# --- coupled machines -----------------------------------------------------------------------------


def plot_coupled_moment(
    schedule: CoupledSchedule,
    *,
    at: float,
    title: str,
    names: Sequence[str],
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
    """
    check.instance("schedule", schedule, CoupledSchedule)
    first, last = _ends(schedule)
    machines = list(schedule.system.partitions)
    headings = [f"waiting on {name}: {_queue(schedule, name, at, names)}" for name in machines]
    picture = _coupled(schedule, at, names, title, headings)
    picture.add_vline(at / MINUTE, line={"color": theme.VERMILION, "width": 2})
    return picture.update_xaxes(range=[first / MINUTE, last / MINUTE])


def _ends(schedule: CoupledSchedule) -> tuple[float, float]:
    """The first event, and 5 % after the last (s): a hold without an end is drawn up to there."""
    first, last = event_times(schedule)[[0, -1]].tolist()
    return first, last + 0.05 * max(last - first, 1.0)


def _coupled(
    schedule: CoupledSchedule,
    at: float,
    names: Sequence[str] | None,
    title: str,
    headings: Sequence[str] = (),
) -> go.Figure:
    """The machines' nodes up to an instant, one trace per machine and two for the legend."""
    machines = schedule.system.partitions
    picture = make_subplots(
        rows=len(machines),
        shared_xaxes=True,
        subplot_titles=headings or None,
        vertical_spacing=0.13 if headings else 0.09,
    )
    picture.update_annotations(x=0, xanchor="left", font={"size": 12})
    table = node_stretches(schedule)
    group = schedule.group[table["job"].to_numpy(np.int64)]
    table = table.assign(end=table["end"].clip(upper=at), group=group)[table["start"] < at]
    for row, (machine, nodes) in enumerate(machines.items(), start=1):
        here = table[table["machine"] == machine]
        picture.add_trace(_mate_bars(here, names), row=row, col=1)
        ticks = {"tick0": 0, "dtick": theme.whole_step(nodes, 5)}
        picture.update_yaxes(title=f"{machine}<br>nodes", range=[0, nodes], row=row, **ticks)
    for name, shape in (("runs", ""), ("holds, nodes idle", "/")):
        marker = theme.bar(theme.GREY, shape)
        marker["pattern"] |= {"fillmode": "replace" if shape else "overlay", "bgcolor": "white"}
        entry = go.Bar(x=[None], y=[None], orientation="h", name=name, marker=marker)
        picture.add_trace(entry, row=1, col=1)
    theme.style(
        picture,
        title=title,
        barmode="overlay",
        legend=theme.ABOVE | {"y": 1.02},
        height=150 + 160 * len(machines),
        margin={"t": 90 if headings else 70},
    )
    return picture.update_xaxes(title="minutes", row=len(machines), title_standoff=6)


def _queue(schedule: CoupledSchedule, machine: str, at: float, names: Sequence[str]) -> str:
    """The jobs that wait on a machine at an instant, in order of submission, with their nodes."""
    waiting = (job_states(schedule, at).state == "waiting") & (schedule.partition == machine)
    jobs, nodes = np.flatnonzero(waiting).tolist(), schedule.workload.jobs["nodes"]
    named = [f"{names[job]} ({nodes[job]:,})" for job in jobs[:MOST_NAMED]]
    more = f" and {len(jobs) - MOST_NAMED} more" if len(jobs) > MOST_NAMED else ""
    return ", ".join(named) + more or "none"


def _mate_bars(table: pd.DataFrame, names: Sequence[str] | None) -> go.Bar:
    """The blocks of one machine: mates in one color, held nodes hatched."""
    tints = [GROUP_COLORS[g % len(GROUP_COLORS)] if g >= 0 else theme.GREY for g in table["group"]]
    holds = table["state"] == "holds"
    labels = [names[job] if names else str(job) for job in table["job"]]
    pattern = {
        "shape": np.where(holds, "/", ""),
        "fillmode": "replace",
        "fgcolor": tints,
        "bgcolor": np.where(holds, "white", tints),
        "solidity": 0.3,
        "size": 11,
        "fgopacity": 0.7,
    }
    return bars(
        table,
        MINUTE,
        showlegend=False,
        text=_labels(table["job"], names),
        marker={"color": tints, "pattern": pattern, "line": {"color": theme.BLACK, "width": 1}},
        customdata=list(zip(labels, table["state"], table["nodes"], strict=True)),
        hovertemplate="%{customdata[0]} %{customdata[1]}, %{customdata[2]} nodes<extra></extra>",
    )
