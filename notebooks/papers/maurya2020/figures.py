"""Figures 1 to 8 of Maurya et al. (DS-RT 2020), and ours beyond them, each with its numbers."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import lines, plot_empty, plot_trade_off, surface_table, theme
from cosimlab.figures.eviction import MEANING, NO_JOBS
from cosimlib.eviction import EvictionPlan, EvictionProblem, EvictionSpectrum, Scenario
from cosimlib.eviction.problem import ACTIONS, KEEP
from cosimlib.units import HOUR, MINUTE
from papers.maurya2020.experiment import SURVEY, Case, FullMoments, Month, Occupancy
from papers.paper import Drawing

LABELS = {"nodes_needed": "K =", "minutes": "deadline (minutes)"}
NEEDED = "K: nodes needed."
ORIGINS = {
    "exact": "in the schedule exactly these jobs run at this moment, on this number of nodes",
    "nearest": "in the schedule exactly these jobs run at this moment; no other set of as many "
    "jobs holds a number of nodes nearer to the one wanted",
    "drawn": "jobs of the schedule, drawn until they fill this number of nodes, each at a random "
    "point of its run",
}
"""What the word in a scenario's name means."""
KINDS = {
    "nobody loses": ("no loss: greedy finds that too", theme.SKY, ""),
    "greedy is enough": ("a loss, and greedy's is the least", theme.GREEN, "."),
    "greedy loses, needlessly": ("no loss is possible, but greedy has one", theme.ORANGE, "/"),
    "greedy loses more": ("a loss, and greedy's is larger", theme.VERMILION, "x"),
}
"""Kinds of evictions by the least loss and greedy's: meaning, color and pattern."""
PLANS = {
    "greedy": ("greedy", "lost"),
    "optimum": ("least loss (paper)", "lost"),
    "overlapping": ("least loss, waits overlap", "lost"),
    "cost_of_optimum": ("least loss (paper)", "lost or blocked"),
    "least_cost": ("least loss and standing still", "lost or blocked"),
}
"""The plan, and the node-hours of it that a column of the survey counts."""
TAKEN = tuple(ACTIONS[KEEP + 1 :])
"""Actions that free nodes."""


def figure_1a(month: Month) -> Drawing:
    """Occupied nodes, hour by hour."""
    reference = (float(month.total_nodes), f"all {month.total_nodes:,} nodes")
    title = "Figure 1a. Occupied nodes, hourly mean"
    return _hourly(month.nodes.rename("nodes"), month, title, reference)


def figure_1b(month: Month) -> Drawing:
    """Running jobs in the same hours."""
    return _hourly(month.jobs.rename("jobs"), month, "Figure 1b. Running jobs, hourly mean")


def _hourly(
    values: pd.Series, month: Month, title: str, reference: tuple[float, str] | None = None
) -> Drawing:
    """Hourly means as steps over dates, or over days."""
    when, axis = theme.over_time(values.index.to_numpy(), month.began)
    unit = str(values.name)
    table = pd.DataFrame({"when": when, unit: values.to_numpy(dtype=float).round(3)})
    figure = lines(
        table,
        x="when",
        y=unit,
        steps=True,
        title=title,
        reference=reference,
        labels={"when": axis["title"]},
    )
    return Drawing(figure, values.to_frame())


def draw_scenario(number: int, case: Case) -> Drawing:
    """Gantt chart of a scenario's jobs: when all of them run, and the moment of the eviction."""
    title = f"Figure {number}. {case.name}"
    if case.scenario is None:
        columns = ["nodes", "run_time", "start", "end"]
        return Drawing(plot_empty(title, case.why), pd.DataFrame(columns=columns))
    begin, end, at, table = jobs_of(case.scenario)
    figure = plot_scenario(table, title=title, region=(begin, end), moment=at)
    return Drawing(figure, table, note=origin_of(case))


def jobs_of(scenario: Scenario) -> tuple[float, float, float, pd.DataFrame]:
    """Begin, end and eviction of a scenario, and its jobs, in seconds after the earliest start."""
    jobs = scenario.schedule.jobs.iloc[scenario.jobs]
    first = float(jobs["start_time"].min())
    columns = {"start": jobs["start_time"] - first, "end": jobs["end_time"] - first}
    table = jobs[["nodes", "run_time"]].assign(**columns).rename_axis("job")
    begin, end, at = (time - first for time in (scenario.begin, scenario.end, scenario.at))
    return begin, end, at, table.sort_values("start", kind="stable")


def origin_of(case: Case) -> str:
    """The origin of a scenario's jobs, in a sentence."""
    return f"{case.scenario.origin}: {ORIGINS[case.scenario.origin]}." if case.scenario else ""


def draw_response_times(number: int, comparison: pd.DataFrame, case: Case) -> Drawing:
    """Response times accumulated over deadlines, a panel per number of nodes needed."""
    part = comparison[comparison["scenario"] == case.name]
    part = part.assign(milliseconds=part["response_time"] * 1e3, minutes=part["deadline"] / MINUTE)
    figure = lines(
        part,
        x="minutes",
        y="milliseconds",
        line="solver",
        panel="nodes_needed",
        title=f"Figure {number}. Response time, {case.name}",
        bound="bound",
        log="y",
        labels=LABELS | {"milliseconds": "response time (ms)"},
        why=case.why,
    )
    note = f"{NEEDED} as printed: Algorithm 1, line by line. {origin_of(case)}"
    return Drawing(figure, part, note=note.strip())


def figure_8(excess: pd.DataFrame, cases: Iterable[Case], draws: int) -> Drawing:
    """Greedy's loss beyond the optimum: the mean and the range of draws of the jobs' memory."""
    excess = excess.assign(minutes=excess["deadline"] / MINUTE)
    figure = lines(
        excess.round(3),
        x="minutes",
        y="excess",
        line="scenario",
        panel="nodes_needed",
        title="Figure 8. Greedy: loss above the optimum by K, the nodes needed",
        band=("least", "most"),
        labels=LABELS | {"excess": "node-hours lost above the optimum"},
    )
    first = f"{NEEDED} Means and ranges of {draws} draws of memory."
    return Drawing(figure, excess, note=" ".join(dict.fromkeys([first, *map(origin_of, cases)])))


def draw_moments(survey: pd.DataFrame, moments: FullMoments, occupancy: Occupancy) -> Drawing:
    """How many jobs run at full moments, and by deadline the share of each kind of eviction."""
    kinds, jobs = kinds_of_evictions(survey), survey.groupby("moment")["jobs"].first()
    full, total = "the machine is nearly full", occupancy.total_nodes
    if occupancy.most_frequent < 0.9 * total:
        full = f"{occupancy.most_frequent:,} nodes are in use, as most often"
    title = f"Evictions by kind, when {full}"
    summary = moments.summary[0].upper() + moments.summary[1:]
    note = f"{NEEDED} Losses are of node-hours, by killed jobs. {summary}."
    return Drawing(plot_moments(kinds, jobs, title=title), kinds, note=note)


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


def draw_mean_loss(survey: pd.DataFrame, moments: FullMoments) -> Drawing:
    """Mean node-hours lost over the full moments, by plan."""
    means = mean_node_hours(survey)
    title = "Node-hours lost, mean of the full moments"
    return _means(means[means["counted"] == "lost"], moments, title, "mean node-hours lost")


def draw_mean_cost(survey: pd.DataFrame, moments: FullMoments) -> Drawing:
    """The same counted with the nodes that plans block, and the plans that cost the least."""
    means = mean_node_hours(survey)
    cost = means[(means["counted"] != "lost") | (means["plan"] == "least loss (paper)")]
    cost = cost.assign(plan=cost["plan"] + ": " + cost["counted"])
    title = "Node-hours lost or blocked by K, the nodes needed"
    return _means(cost, moments, title, "mean node-hours")


def _means(means: pd.DataFrame, moments: FullMoments, title: str, label: str) -> Drawing:
    """Means over the deadlines, a line per plan and a panel per number of nodes needed."""
    figure = lines(
        means,
        x="minutes",
        y="node_hours",
        line="plan",
        panel="nodes_needed",
        title=title,
        labels=LABELS | {"node_hours": label},
        why=moments.summary,
    )
    return Drawing(figure, means, note=NEEDED)


def draw_surface(name: str, spectrum: EvictionSpectrum, plan: EvictionPlan) -> Drawing:
    """The least loss for every K and deadline of a scenario, and a plan for ten minutes."""
    title, deadline = f"Least node-hours lost, {name}", plan.deadlines[-1]
    figure = plot_trade_off(spectrum, plan, min(600.0, deadline), title=title)
    return Drawing(figure, surface_table(spectrum))


def draw_plan(name: str, plan: EvictionPlan) -> Drawing:
    """What each deadline loses, and how the nodes are freed."""
    title = f"Optimal plans for {plan.problem.nodes_needed:,} nodes, {name}"
    return Drawing(plot_plan(plan, title=title), plan_table(plan))


def draw_scaling(by_jobs: pd.DataFrame, by_nodes: pd.DataFrame) -> Drawing:
    """Response time on ever larger problems: by jobs, and by nodes."""
    panels = {"jobs on 4,352 nodes": "jobs", "nodes held by 24 jobs": "nodes"}
    tables = [
        table.assign(size=table[column], panel=panel)
        for table, (panel, column) in zip((by_jobs, by_nodes), panels.items(), strict=True)
    ]
    growing = pd.concat(tables, ignore_index=True)
    growing["milliseconds"] = growing["response_time"] * 1e3
    figure = lines(
        growing,
        x="size",
        y="milliseconds",
        line="solver",
        panel="panel",
        log="xy",
        own="x",
        title="Response time by size of the problem",
        labels=panels | {"milliseconds": "response time (ms)"},
    )
    note = "spectrum: plans for all K and deadlines at once."
    return Drawing(figure, growing, note=note, data="random problems, seed 0")


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


def plan_table(plan: EvictionPlan) -> pd.DataFrame:
    """Nodes freed by each action, one row per deadline (minutes), beside the loss (node-hours)."""
    nodes = plan.problem.arrays.nodes
    freed = {action: (plan.choices == ACTIONS.index(action)) @ nodes for action in TAKEN}
    index = pd.Index(plan.deadlines / 60, name="deadline_minutes")
    return pd.DataFrame(freed, index=index).assign(loss=plan.loss.round(6))


def scenario_table(cases: Iterable[Case]) -> pd.DataFrame:
    """Where each scenario comes from, and how long it lasts."""
    rows = [
        (each.name, each.origin, each.nodes, each.end - each.begin, each.end - each.at)
        for each, _ in cases
        if each is not None
    ]
    columns = ["scenario", "origin", "nodes", "lasts (s)", "after the eviction (s)"]
    return pd.DataFrame(rows, columns=columns)


def first_jobs(problems: Mapping[str, EvictionProblem]) -> pd.DataFrame:
    """The jobs of the first problem, rounded."""
    return next(iter(problems.values()), EvictionProblem.empty()).jobs.round(1)


def kinds_of_evictions(survey: pd.DataFrame) -> pd.DataFrame:
    """The share of moments of each of `KINDS`, by nodes needed and deadline of `survey_moments`.

    Returns
    -------
    pd.DataFrame
        `nodes_needed`, `deadline` (s), `kind`, `share`.
    """
    lossless = survey["optimum"] <= 1e-9
    worse = survey["greedy"] > survey["optimum"] + 1e-9
    conditions = [lossless & ~worse, ~lossless & ~worse, lossless & worse, ~lossless & worse]
    kinds = dict(zip(KINDS, conditions, strict=True))
    keys = [survey["nodes_needed"], survey["deadline"]]
    share = pd.DataFrame(kinds, index=survey.index).groupby(keys).mean()
    return share.rename_axis(columns="kind").stack().rename("share").reset_index()  # noqa: PD013


def mean_node_hours(survey: pd.DataFrame) -> pd.DataFrame:
    """Mean node-hours over the moments of `survey_moments`, by nodes needed, deadline and plan.

    Returns
    -------
    pd.DataFrame
        `nodes_needed`, `deadline` (s), `plan`, `counted` (`lost`, or `lost or blocked`),
        `node_hours`, `minutes`.
    """
    mean = survey.groupby(["nodes_needed", "deadline"], as_index=False)[SURVEY[4:]].mean()
    parts = [
        mean[["nodes_needed", "deadline"]].assign(
            plan=plan, counted=counted, node_hours=mean[column], minutes=mean["deadline"] / MINUTE
        )
        for column, (plan, counted) in PLANS.items()
    ]
    return pd.concat(parts, ignore_index=True)


FIGURES: dict[str, Callable[..., Drawing]] = {
    "figure-1a": figure_1a,
    "figure-1b": figure_1b,
    **{f"figure-{number}": partial(draw_scenario, number) for number in (2, 3, 4)},
    **{f"figure-{number}": partial(draw_response_times, number) for number in (5, 6, 7)},
    "figure-8": figure_8,
    "full-moments": draw_moments,
    "losses-at-full-moments": draw_mean_loss,
    "costs-at-full-moments": draw_mean_cost,
    "loss-surface": draw_surface,
    "plan": draw_plan,
    "scaling": draw_scaling,
}
