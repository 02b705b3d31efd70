"""Drawings: a scenario's jobs, evictions at full moments, and a plan by deadline."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import plot_empty, theme
from cosimlab.figures.eviction import MEANING, NO_JOBS
from cosimlib.eviction import EvictionPlan
from cosimlib.units import HOUR, MINUTE
from papers.maurya2020.experiment import Case
from papers.maurya2020.tables import KINDS, TAKEN, jobs_of, plan_table, times_of


def plot_case(case: Case, *, title: str) -> go.Figure:
    """The jobs of a scenario as `plot_scenario` draws them, or why there is none."""
    if case.scenario is None:
        return plot_empty(title, case.why)
    begin, end, at = times_of(case.scenario)
    return plot_scenario(jobs_of(case), title=title, region=(begin, end), moment=at)


def plot_scenario(
    table: pd.DataFrame,
    *,
    title: str,
    region: tuple[float, float],
    moment: float,
) -> go.Figure:
    """One bar per job, the earliest at the bottom, with the nodes that it holds.

    Parameters
    ----------
    table : pd.DataFrame
        Indexed by job, in the order of the bars: `start` and `end` in seconds, `nodes`.
    title : str
    region : tuple of float
        Seconds between which all jobs run, shaded and labeled.
    moment : float
        Seconds of the eviction, drawn as a line.
    """
    rows = list(range(1, len(table) + 1))
    hours = (table[["start", "end"]] / HOUR).round(5)
    labels = [f"{nodes:,} node{'s' if nodes > 1 else ''}" for nodes in table["nodes"]]
    picture = theme.figure(title=title, height=150 + 22 * max(len(table), 8), showlegend=False)
    picture.add_bar(
        y=rows,
        x=(hours["end"] - hours["start"]).round(5),
        base=hours["start"],
        orientation="h",
        marker={"color": theme.SKY, "line": {"color": theme.BLUE, "width": 1}},
        text=labels,
        textposition="outside",
        textangle=0,
        cliponaxis=False,
        textfont={"size": 11, "color": theme.BLACK},
        constraintext="none",
        customdata=table.index,
        hovertemplate="job %{customdata}, %{text}<extra></extra>",
    )
    _mark_region(picture, region)
    picture.add_vline(moment / HOUR, line={"width": 2, "color": theme.VERMILION})
    picture.add_annotation(
        x=moment / HOUR,
        y=0,
        yref="paper",
        text="eviction",
        showarrow=False,
        yanchor="bottom",
        xanchor="left",
        xshift=3,
        font={"color": theme.VERMILION},
        bgcolor="rgba(255,255,255,0.8)",
    )
    last = float(hours["end"].max())
    picture.update_xaxes(title="hours since the earliest start", range=[0, 1.14 * last])
    return picture.update_yaxes(
        title="job",
        tickmode="array",
        tickvals=rows,
        ticktext=[str(job) for job in table.index],
        range=[0, rows[-1] + 1],
    )


def _mark_region(picture: go.Figure, region: tuple[float, float]) -> None:
    """Shade the stretch in which all jobs run and write its two moments above it."""
    begin, end = region
    picture.add_vrect(
        begin / HOUR, end / HOUR, fillcolor=theme.YELLOW, opacity=0.3, line_width=0, layer="below"
    )
    picture.add_annotation(
        x=(begin + end) / 2 / HOUR,
        y=1,
        yref="paper",
        showarrow=False,
        yanchor="bottom",
        text=f"all run from {clock(begin)} to {clock(end)}",
        font={"size": 12},
    )
    for moment in region:
        picture.add_vline(moment / HOUR, line=theme.DASHED)


def clock(seconds: float) -> str:
    """Hours and minutes, ``02:41``."""
    minutes = int(seconds // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def plot_moments(kinds: pd.DataFrame, jobs: pd.Series, *, title: str) -> go.Figure:
    """A histogram of the jobs at each moment, and bars of `kinds_of_evictions` for each K."""
    if kinds.empty:
        return plot_empty(title, "at no hour is the machine nearly full with few enough jobs")
    sizes = list(kinds["nodes_needed"].drop_duplicates())
    headings = theme.headings(["jobs", *sizes], "K =")[1:]
    figure = make_subplots(
        cols=1 + len(sizes),
        horizontal_spacing=0.05,
        column_widths=[1.1] + [1.0] * len(sizes),
        subplot_titles=[f"(a) jobs, median {jobs.median():g}", *headings],
    )
    counts = 100 * jobs.value_counts(normalize=True).sort_index()
    figure.add_bar(
        x=counts.index.to_numpy(),
        y=counts.round(2).to_numpy(),
        showlegend=False,
        marker=theme.bar(theme.GREY),
        hovertemplate="%{x} jobs at %{y} % of the moments<extra></extra>",
        row=1,
        col=1,
    )
    for column, size in enumerate(sizes, start=2):
        for bar in _kind_bars(kinds[kinds["nodes_needed"] == size], shown=column == 2):
            figure.add_trace(bar, row=1, col=column)
    theme.style(figure, title=title, height=440, barmode="stack", bargap=0.05, margin={"t": 95})
    _label_panels(figure, sizes, float(np.max(jobs)), kinds["deadline"].max() / MINUTE)
    return figure


def _kind_bars(part: pd.DataFrame, *, shown: bool) -> list[go.Bar]:
    """Bars of each kind's share over the deadlines; in the legend where `shown`."""
    bars = []
    for kind, (meaning, color, shape) in KINDS.items():
        share = part[part["kind"] == kind]
        x, y = (share["deadline"] / MINUTE).to_numpy(), (100 * share["share"]).round(2).to_numpy()
        marker = theme.bar(color, shape)
        bars.append(
            go.Bar(x=x, y=y, name=meaning, legendgroup=kind, showlegend=shown, marker=marker)
        )
    return bars


def _label_panels(figure: go.Figure, sizes: list[int], jobs: float, minutes: float) -> None:
    """Titles and ticks of the axes, up to so many jobs and minutes."""
    figure.update_yaxes(title="share of the full moments (%)", title_standoff=4, col=1)
    figure.update_xaxes(title="running jobs", dtick=theme.whole_step(jobs), tick0=0, col=1)
    for column in range(2, 2 + len(sizes)):
        figure.update_yaxes(range=[0, 100], showticklabels=column == 2, col=column)
        step = theme.whole_step(minutes, 5)
        figure.update_xaxes(title="deadline (min)", dtick=step, tick0=0, col=column)


def plot_plan(plan: EvictionPlan, *, title: str) -> go.Figure:
    """Loss against deadline, and under it the nodes that each action frees, stacked."""
    if not len(plan.problem):
        return plot_empty(title, NO_JOBS)
    minutes = plan.deadlines / 60
    picture = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.08)
    picture.add_scatter(
        x=minutes,
        y=plan.loss.round(2),
        mode="lines+markers",
        name="loss",
        showlegend=False,
        line={"color": theme.color(plan.solver), "shape": "hv"},
        row=1,
        col=1,
    )
    freed = plan_table(plan)
    for action in TAKEN:
        picture.add_bar(
            x=minutes,
            y=freed[action],
            name=MEANING[action],
            row=2,
            col=1,
            marker=theme.patterned(action),
        )
    picture.add_hline(
        plan.problem.nodes_needed,
        row=2,
        col=1,
        line={"dash": "dash", "width": 1.5, "color": theme.BLACK},
    )
    theme.style(picture, title=title, height=540, barmode="stack", bargap=0.15)
    picture.update_yaxes(title="node-hours lost", rangemode="tozero", row=1)
    picture.update_yaxes(title="nodes freed<br>(dashed: needed)", row=2)
    return picture.update_xaxes(title="deadline (minutes)", row=2)
