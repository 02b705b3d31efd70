"""Figures of eviction: the least loss by nodes and deadline, a plan's jobs, an advice."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import theme
from cosimlab.figures.charts import heatmap, job_bars, plot_empty
from cosimlab.figures.publishing import CaptionedFigure, captioned
from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.eviction import EvictionPlan, EvictionSpectrum
from cosimlib.eviction.problem import ACTIONS

LARGEST_HEIGHT = 160
LEAST_POWER = -2
"""Power of ten, in node-hours, up to which an advice's losses have the lightest color."""
CONTOURS = "Colors are logarithmic; black lines are contours of 1, 10, 100, … node-hours."
WHITE = "White: so many nodes cannot be had by then."
MEANING = {
    "kill": "killed",
    "app": "application checkpoint",
    "sys": "system checkpoint",
    "keep": "left running",
}
NO_JOBS = "the problem has no job that could be evicted"
LOST = {
    "colorbar": {"title": {"text": "node-hours<br>lost"}},
    "hovertemplate": "%{y} nodes by minute %{x}<br>%{customdata} node-hours lost<extra></extra>",
}
"""What a heat map of losses says."""


def surface_table(spectrum: EvictionSpectrum) -> pd.DataFrame:
    """Least node-hours lost, at most 160 numbers of nodes × deadlines (minutes)."""
    check.instance("spectrum", spectrum, EvictionSpectrum)
    total = spectrum.problem.total_nodes
    nodes = np.unique(np.linspace(0, total, min(total, LARGEST_HEIGHT) + 1).round().astype(int))
    loss = spectrum.loss[nodes].round(1)
    minutes = (spectrum.deadlines / 60).round(3)
    index = pd.Index(nodes, name="nodes_needed")
    return pd.DataFrame(loss, index=index, columns=pd.Index(minutes, name="deadline_minutes"))


def _surface_traces(spectrum: EvictionSpectrum) -> tuple[go.Heatmap, go.Contour]:
    """The loss, its colors logarithmic from a node-hour on, and lines at the powers of ten."""
    table = surface_table(spectrum)
    last = _last_power(table)
    surface = heatmap(table, powers=(0.0, max(1.0, last)), **LOST)
    lines = {"coloring": "none", "start": 0, "end": max(0, np.floor(last)), "size": 1}
    return surface, go.Contour(
        x=surface.x,
        y=surface.y,
        z=surface.z,
        contours=lines,
        showscale=False,
        showlegend=False,
        line={"color": theme.BLACK, "width": 1},
        hoverinfo="skip",
    )


def _last_power(losses: pd.DataFrame) -> float:
    """The logarithm to base ten of the greatest loss, of at least a hundredth of a node-hour."""
    return float(np.log10(np.nanmax(losses.to_numpy(dtype=np.float64), initial=0.01)))


def point_trace(nodes: int, deadline: float) -> go.Scatter:
    """The chosen number of nodes and deadline (seconds)."""
    return go.Scatter(
        x=[deadline / 60],
        y=[nodes],
        mode="markers",
        name="chosen",
        hoverinfo="skip",
        showlegend=False,
        cliponaxis=False,
        marker={
            "symbol": "circle-open",
            "size": 16,
            "color": theme.VERMILION,
            "line": {"width": 4, "color": theme.VERMILION},
        },
    )


def plot_trade_off(
    spectrum: EvictionSpectrum, plan: EvictionPlan, deadline: float, *, title: str
) -> CaptionedFigure:
    """The loss surface with the plan's nodes and deadline (seconds) marked; beside it the jobs.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> held = {"nodes": [64, 32, 32], "loss": [40.0, 8.0, 1.0]}
    >>> times = {"app_time": [120.0, 60.0, 300.0], "sys_time": [300.0, 200.0, 240.0]}
    >>> problem = cs.EvictionProblem(pd.DataFrame(held | times), nodes_needed=64, horizon=600)
    >>> spectrum, plan = cs.solve_spectrum(problem), cs.solve_dynamic(problem)
    >>> figure = lab.figures.plot_trade_off(spectrum, plan, 60.0, title="Three jobs on 128 nodes")
    >>> figure.layout.title.text
    'Three jobs on 128 nodes'
    """
    check.instance("spectrum", spectrum, EvictionSpectrum)
    if not len(plan.problem):
        return plot_empty(title, NO_JOBS)
    asked = f"{count(plan.problem.nodes_needed, 'node')} in {deadline / 60:g} min"
    picture = make_subplots(
        cols=2,
        horizontal_spacing=0.26,
        subplot_titles=("(a) least loss of all plans", f"(b) jobs, for<br>{asked}"),
    )
    colorbar = {"x": 0.375, "thickness": 16, "title": {"text": "node-hours lost", "side": "right"}}
    surface, contours = _surface_traces(spectrum)
    picture.add_trace(surface.update(colorbar=colorbar), row=1, col=1)
    picture.add_trace(point_trace(plan.problem.nodes_needed, deadline), row=1, col=1)
    jobs, action = plan.problem.jobs, np.array(ACTIONS)[plan.choices[plan.row(deadline)]]
    hover = "job %{y}: %{x} nodes, %{customdata} node-hours at stake"
    names = {each: MEANING[each] for each in ACTIONS}
    losses = jobs["loss"].to_numpy().round(1)
    numbers, nodes = jobs.index.astype(str), plan.problem.arrays.nodes
    bars = job_bars(numbers, nodes, action, names, losses, hover)
    picture.add_traces(bars, rows=1, cols=2)
    picture.add_trace(contours, row=1, col=1)
    theme.style(picture, title=title, height=570, barmode="stack", bargap=0.15, margin={"t": 105})
    # Fixed ranges, so that the surface stands still while the point moves to its edge.
    half, total = spectrum.problem.step / 120, spectrum.problem.total_nodes
    minutes = [-half, spectrum.deadlines[-1] / 60 + half]
    picture.update_xaxes(title="deadline (minutes)", range=minutes, col=1)
    picture.update_yaxes(title="nodes needed", range=[0, total], col=1)
    picture.update_xaxes(title="nodes that the job holds", col=2)
    names = theme.names_axis(len(plan.problem))
    picture.update_yaxes(title={"text": "job", "standoff": 14}, **names, col=2)
    return captioned(picture, f"{CONTOURS} The circle is the plan whose jobs are shown beside.")


def plot_advice(
    losses: pd.DataFrame, *, nodes_needed: int, deadline: float, title: str
) -> CaptionedFigure:
    """Heat map of the least loss, with the number of nodes asked for by a deadline marked.

    Parameters
    ----------
    losses : pd.DataFrame
        Node-hours, as of `cosimlab.advise.spectrum_of`: numbers of nodes × deadlines (seconds), NaN
        where so many nodes cannot be had.
    nodes_needed : int
    deadline : float
        Seconds.
    title : str
    """
    check.instance("losses", losses, pd.DataFrame)
    if len(losses) < 2:
        return plot_empty(title, "no node is free, ends by itself or can be freed")
    picture = theme.figure(title=title, height=480, showlegend=False)
    minutes = losses.columns.to_numpy(dtype=np.float64) / 60
    powers = (LEAST_POWER, max(_last_power(losses), LEAST_POWER + 1.0))
    picture.add_trace(heatmap(losses.round(3).set_axis(minutes, axis=1), powers=powers, **LOST))
    picture.add_trace(point_trace(nodes_needed, deadline))
    half = (minutes[1] - minutes[0]) / 2 if len(minutes) > 1 else 0.5
    most = max(float(losses.index[-1]), nodes_needed)
    picture.update_xaxes(
        title="deadline (minutes from now)",
        showgrid=False,
        range=[minutes[0] - half, minutes[-1] + half],
    )
    picture.update_yaxes(title="nodes needed", range=[-0.5, most + 0.5], showgrid=False)
    white = WHITE if losses.isna().to_numpy().any() else ""
    return captioned(picture, f"Colors are logarithmic. The circle is what was asked for. {white}")
