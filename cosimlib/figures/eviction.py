"""Figures of eviction: the least loss by nodes and deadline, a plan, its jobs."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.eviction import EvictionPlan, EvictionSpectrum
from cosimlib.eviction.problem import ACTIONS, KEEP
from cosimlib.figures import theme
from cosimlib.figures.footnotes import footnote
from cosimlib.figures.nothing import plot_nothing

LARGEST_HEIGHT = 160
LEAST_CONTOUR = 1.0
"""Node-hours from which on the surface is colored; the first of its contours."""
LABELS = 30
"""Jobs that have room for their numbers along an axis."""
CONTOURS = "Colors are logarithmic; black lines are contours of 1, 10, 100, … node-hours."
TAKEN = tuple(ACTIONS[KEEP + 1 :])
MEANING = {
    "kill": "killed",
    "app": "application checkpoint",
    "sys": "system checkpoint",
    "keep": "left running",
}


NO_JOBS = "the problem has no job that could be evicted"


def plot_loss_surface(
    spectrum: EvictionSpectrum, *, title: str, point: tuple[int, float] | None = None
) -> go.Figure:
    """The least loss for every number of nodes and every deadline, as a heat map.

    Parameters
    ----------
    spectrum : EvictionSpectrum
    title : str
    point : tuple of int and float, optional
        Nodes needed and deadline (seconds) to mark.
    """
    check.instance("spectrum", spectrum, EvictionSpectrum)
    picture = theme.figure(title=title, height=480, showlegend=False)
    picture.add_trace(surface_trace(spectrum))
    if point is not None:
        nodes, deadline = point
        picture.add_trace(point_trace(nodes, deadline))
    picture.add_trace(contour_trace(spectrum))
    picture.update_xaxes(title="deadline (minutes)", constrain="domain")
    picture.update_yaxes(title="nodes needed")
    return footnote(picture, CONTOURS)


def surface_table(spectrum: EvictionSpectrum) -> pd.DataFrame:
    """Least node-hours lost, at most 160 numbers of nodes × deadlines (minutes)."""
    check.instance("spectrum", spectrum, EvictionSpectrum)
    total = spectrum.problem.total_nodes
    nodes = np.unique(np.linspace(0, total, min(total, LARGEST_HEIGHT) + 1).round().astype(int))
    loss = spectrum.loss[nodes].round(1)
    minutes = (spectrum.deadlines / 60).round(3)
    index = pd.Index(nodes, name="nodes_needed")
    return pd.DataFrame(loss, index=index, columns=pd.Index(minutes, name="deadline_minutes"))


def surface_trace(spectrum: EvictionSpectrum) -> go.Heatmap:
    """Heat map of the loss, its colors logarithmic; up to a node-hour is the lightest color."""
    table = surface_table(spectrum)
    powers = range(max(2, int(np.ceil(np.log10(max(float(table.to_numpy().max()), 1.0)))) + 1))
    ticks = [f"{10**power:,}" for power in powers]
    colorbar = {"title": {"text": "node-hours<br>lost"}, "tickvals": list(powers),
                "ticktext": [f"≤ {ticks[0]}", *ticks[1:]]}  # fmt: skip
    return go.Heatmap(
        x=table.columns.to_numpy(), y=table.index.to_numpy(), z=_powers(table), zmin=0,
        zmax=max(1.0, float(_powers(table).max())), customdata=table.to_numpy(),
        colorscale=theme.COLORSCALE, colorbar=colorbar,
        hovertemplate="%{y} nodes by minute %{x}<br>%{customdata} node-hours lost<extra></extra>",
    )  # fmt: skip


def contour_trace(spectrum: EvictionSpectrum) -> go.Contour:
    """Lines of equal loss at the powers of ten from a node-hour."""
    table = surface_table(spectrum)
    most = float(_powers(table).max())
    return go.Contour(
        x=table.columns.to_numpy(), y=table.index.to_numpy(), z=_powers(table), showscale=False,
        contours={"coloring": "none", "start": 0, "end": max(0, np.floor(most)), "size": 1},
        line={"color": theme.BLACK, "width": 1}, showlegend=False, hoverinfo="skip",
    )  # fmt: skip


def _powers(table: pd.DataFrame) -> np.ndarray:
    """Logarithms of the losses, to base ten; those far below the first contour are equal."""
    return np.log10(np.maximum(table.to_numpy(), LEAST_CONTOUR / 10)).round(4)


def point_trace(nodes: int, deadline: float) -> go.Scatter:
    """The chosen number of nodes and deadline (seconds)."""
    return go.Scatter(
        x=[deadline / 60], y=[nodes], mode="markers", name="chosen", hoverinfo="skip",
        marker={"symbol": "circle-open", "size": 16, "color": theme.VERMILION,
                "line": {"width": 4, "color": theme.VERMILION}},
    )  # fmt: skip


def plot_trade_off(
    spectrum: EvictionSpectrum, plan: EvictionPlan, deadline: float, *, title: str
) -> go.Figure:
    """The loss surface with the plan's nodes and deadline (seconds) marked; beside it the jobs."""
    check.instance("spectrum", spectrum, EvictionSpectrum)
    if not len(plan.problem):
        return plot_nothing(title, NO_JOBS)
    asked = f"{count(plan.problem.nodes_needed, 'node')} in {deadline / 60:g} min"
    picture = make_subplots(
        cols=2, horizontal_spacing=0.26,
        subplot_titles=("(a) least loss of all plans", f"(b) jobs, for<br>{asked}"),
    )  # fmt: skip
    colorbar = {"x": 0.375, "thickness": 16, "title": {"text": "node-hours lost", "side": "right"}}
    picture.add_trace(surface_trace(spectrum).update(colorbar=colorbar), row=1, col=1)
    point = point_trace(plan.problem.nodes_needed, deadline)
    picture.add_trace(point.update(showlegend=False, cliponaxis=False), row=1, col=1)
    for trace in job_traces(plan, deadline):
        picture.add_trace(trace, row=1, col=2)
    picture.add_trace(contour_trace(spectrum), row=1, col=1)
    theme.style(picture, title=title, height=605, barmode="stack", bargap=0.15)
    picture.update_layout(
        margin={"t": 105, "b": 105},
        legend={"orientation": "h", "traceorder": "normal", "x": 1, "xanchor": "right",
                "y": -0.18, "yanchor": "top"},
    )  # fmt: skip
    # Fixed ranges, so that the surface stands still while the point moves to its edge.
    half, total = spectrum.problem.step / 120, spectrum.problem.total_nodes
    minutes = [-half, spectrum.deadlines[-1] / 60 + half]
    picture.update_xaxes(title="deadline (minutes)", range=minutes, col=1)
    picture.update_yaxes(title="nodes needed", range=[0, total], col=1)
    picture.update_xaxes(title="nodes that the job holds", col=2)
    every = -(-len(plan.problem) // LABELS)
    footnote(picture, f"{CONTOURS} The circle is the plan whose jobs are shown beside.")
    return picture.update_yaxes(
        title={"text": "job", "standoff": 14},
        autorange="reversed",
        type="category",
        dtick=every,
        tickfont_size=11,
        col=2,
    )


def plot_plan(plan: EvictionPlan, *, title: str) -> go.Figure:
    """Loss against deadline, and under it the nodes that each action frees, stacked."""
    check.instance("plan", plan, EvictionPlan)
    if not len(plan.problem):
        return plot_nothing(title, NO_JOBS)
    minutes = plan.deadlines / 60
    picture = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.08)
    picture.add_scatter(
        x=minutes, y=plan.loss.round(2), mode="lines+markers", name="loss", showlegend=False,
        line={"color": theme.color(plan.solver), "shape": "hv"}, row=1, col=1,
    )  # fmt: skip
    freed = plan_table(plan)
    for action in TAKEN:
        picture.add_bar(
            x=minutes, y=freed[action], name=MEANING[action], row=2, col=1,
            marker=theme.patterned(action),
        )  # fmt: skip
    picture.add_hline(
        plan.problem.nodes_needed, row=2, col=1,
        line={"dash": "dash", "width": 1.5, "color": theme.BLACK},
    )  # fmt: skip
    theme.style(picture, title=title, height=560, barmode="stack", bargap=0.15)
    picture.update_layout(
        margin={"b": 120}, legend={"orientation": "h", "y": -0.16, "yanchor": "top", "x": 0}
    )
    picture.update_yaxes(title="node-hours lost", rangemode="tozero", row=1)
    picture.update_yaxes(title="nodes freed<br>(dashed: needed)", row=2)
    return picture.update_xaxes(title="deadline (minutes)", row=2)


def plan_table(plan: EvictionPlan) -> pd.DataFrame:
    """Nodes freed by each action, one row per deadline (minutes), beside the loss (node-hours)."""
    check.instance("plan", plan, EvictionPlan)
    nodes = plan.problem.arrays.nodes
    freed = {action: (plan.choices == ACTIONS.index(action)) @ nodes for action in TAKEN}
    index = pd.Index(plan.deadlines / 60, name="deadline_minutes")
    return pd.DataFrame(freed, index=index).assign(loss=plan.loss.round(6))


def plot_jobs(plan: EvictionPlan, deadline: float, *, title: str) -> go.Figure:
    """Every job as a bar of its nodes, colored by what happens to it by `deadline` (seconds)."""
    check.instance("plan", plan, EvictionPlan)
    picture = theme.figure(title=title, height=480, barmode="stack")
    for trace in job_traces(plan, deadline):
        picture.add_trace(trace)
    picture.update_xaxes(title="nodes")
    return picture.update_yaxes(
        title={"text": "job", "standoff": 14}, autorange="reversed", type="category"
    )


def job_traces(plan: EvictionPlan, deadline: float) -> list[go.Bar]:
    """One bar trace per action, kept jobs included, in the order of `ACTIONS`."""
    choice = plan.choices[plan.row(deadline)]
    nodes = plan.problem.arrays.nodes
    jobs = [str(job) for job in plan.problem.jobs.index]
    loss = plan.problem.jobs["loss"].to_numpy().round(1)
    return [
        go.Bar(
            y=jobs,
            x=np.where(choice == number, nodes, 0),
            orientation="h",
            name=MEANING[action],
            customdata=loss,
            marker=theme.patterned(action),
            hovertemplate="job %{y}: %{x} nodes, %{customdata} node-hours at stake",
        )
        for number, action in enumerate(ACTIONS)
    ]
