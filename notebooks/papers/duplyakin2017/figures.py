"""Figures: the paper's Table 1 and figures 3 to 6, and what goes beyond the paper.

Violins are drawn from densities, so a million values weigh as much as ten.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlab.figures import lines, plot_empty, theme
from cosimlab.figures.elastic import period_name, vector_trace
from cosimlib.audit import audit
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    HOST,
    USER,
    ElasticSchedule,
    execution_states,
    least_waste,
    occupants,
    preemption_values,
)
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload
from papers.duplyakin2017.experiment import TABLE_1, Schedules, describe
from papers.duplyakin2017.measures import LONG, OTHERS, SHORT, Waste, summarize, waste
from papers.paper import Drawing

GRID = 160
"""Values at which a density is given."""
SHOWN = 0.99
"""Share of the states that lie within that grid."""
BINS = 2048
"""Bins in which a density counts its values."""
WIDTH = 0.86
"""Part of the room between two violins that one of them takes."""
POINTS = 400
"""States of a cumulative curve."""
RATIOS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0)
VIOLINS = (
    "White dots are medians, black bars span the quartiles. Violins end at the 99th percentile and "
    "are equally wide at their widest."
)
PRINTED = {"states": 168_000, "same nodes": 0.75, "high": -0.972, "default": 0.071, "total": 0.038}
"""What the paper prints of what `measure_assumption` measures."""
OWNERS = ("", "/", ".", "x")
"""Patterns that tell owners apart, as their colors do."""
PRIORITIES = {"high": "high-priority jobs", "default": "default-priority jobs"}


def table_1(workloads: Mapping[str, Workload]) -> Drawing:
    """Table 1: the workloads, beside what the paper prints."""
    table = describe(workloads).join(TABLE_1.add_suffix(", paper")).sort_index(axis=1)
    table = table.round(2).reset_index(names="seconds, nodes")
    return Drawing(_plot_table(table, title="Table 1. The workloads"), table)


def _plot_table(table: pd.DataFrame, *, title: str) -> go.Figure:
    """A table with its column names above it; numbers are set right, texts left."""
    if table.empty:
        return plot_empty(title, "the table has no rows")
    numeric = [pd.api.types.is_numeric_dtype(table[name]) for name in table]
    align = ["right" if number else "left" for number in numeric]
    cells = [
        [f"{value:,.10g}" for value in table[name]] if number else table[name].tolist()
        for name, number in zip(table, numeric, strict=True)
    ]
    picture = theme.figure(title=title, height=150 + 26 * len(table), margin={"b": 30, "l": 25})
    return picture.add_table(
        header={
            "values": [f"<b>{name}</b>" for name in table],
            "align": align,
            "fill": {"color": "#EEEEEE"},
            "line": {"color": theme.GREY},
        },
        cells={
            "values": cells,
            "align": align,
            "height": 26,
            "fill": {"color": "white"},
            "line": {"color": theme.GREY},
        },
        columnwidth=[
            max([len(str(name)), *map(len, column)]) + 2
            for name, column in zip(table, cells, strict=True)
        ],
    )


def figure_3(wasted: Mapping[str, Waste]) -> Drawing:
    """Figure 3: wasted cycles with short grace periods, one panel per workload."""
    panels = {name: summarize_densities(each, SHORT) for name, each in wasted.items()}
    numbers = pd.concat({name: summary for name, (summary, _) in panels.items()})
    title = "Figure 3. Wasted cycles by policy and grace period"
    numbers = numbers.reset_index(0, names="workload").reset_index(drop=True)
    return Drawing(plot_violins(panels, title=title), numbers, VIOLINS)


def figure_4(wasted: Mapping[str, Waste]) -> Drawing:
    """Figure 4: PEREGRINE's wasted cycles with grace periods from one to six hours."""
    panel = summarize_densities(wasted["PEREGRINE"], LONG)
    title = "Figure 4. Wasted cycles with long grace periods, PEREGRINE"
    return Drawing(plot_violins({"PEREGRINE": panel}, title=title), panel[0], VIOLINS)


class Example(NamedTuple):
    """Figure 5: preemption vectors by policy, and boxes of the jobs of high priority.

    Boxes have `first` and `last` nodes, `start` and `end` (s).
    """

    nodes: int
    vectors: dict[str, pd.DataFrame]
    boxes: pd.DataFrame


def example(preferred: Workload, nodes: int) -> Example:
    """Vectors under PAP and PAP+ over a tenth of a schedule, where most jobs are preferred."""
    narrow = preferred.keep(preferred.jobs["nodes"] <= nodes, "wider than the partition")
    schedule = audit(simulate_easy(narrow, System.of(nodes)))
    high = schedule.jobs[schedule.jobs["priority"] > 1]
    starts, length = high["start_time"], max(schedule.end_time) / 10
    begin = max(starts, key=lambda at: starts.between(at, at + 0.9 * length).sum())
    moments = np.linspace(max(0, begin - 0.03 * length), begin + 0.97 * length, 480)
    vectors = {
        policy: preemption_values(schedule, moments, policy=policy) for policy in ("PAP", "PAP+")
    }
    held = occupants(schedule, moments).melt(ignore_index=False, value_name="job").reset_index()
    held = held[held["job"].isin(high.index)]
    spans = held.groupby(["job", "node"])["time"].agg(start="min", end="max").reset_index()
    side = (spans["node"] - spans.groupby("job").cumcount()).rename("side by side")
    boxes = spans.groupby(["job", side]).agg(
        first=("node", "min"), last=("node", "max"), start=("start", "min"), end=("end", "max")
    )
    return Example(nodes, vectors, boxes)


def figure_5(example: Example) -> Drawing:
    """Figure 5: heat maps of preemption vectors, nodes over days; dark is valuable."""
    vectors, boxes = example.vectors, example.boxes
    picture = make_subplots(
        rows=len(vectors),
        shared_xaxes=True,
        vertical_spacing=0.09,
        subplot_titles=theme.headings(vectors),
    )
    for row, table in enumerate(vectors.values(), start=1):
        picture.add_trace(vector_trace(table).update(showscale=row == 1), row=row, col=1)
        for box in boxes.itertuples():
            picture.add_shape(
                type="rect",
                x0=round(box.start / DAY, 6),
                x1=round(box.end / DAY, 6),
                y0=box.first - 0.5,
                y1=box.last + 0.5,
                line={"color": theme.VERMILION, "width": 2},
                row=row,
                col=1,
            )
        picture.update_yaxes(title="node", showgrid=False, dtick=2, row=row)
    title = f"Figure 5. Preemption vectors, {example.nodes} nodes, queue bigmem preferred"
    theme.style(picture, title=title, height=130 + 220 * len(vectors), margin={"t": 95})
    picture.update_xaxes(showgrid=False)
    picture.update_xaxes(title="days since the start", row=len(vectors))
    note = "The host takes the nodes of the least value first. Orange: jobs of high priority."
    numbers = pd.concat(vectors, names=["policy"]).round(3).reset_index()
    return Drawing(picture, numbers, note)


def figure_6(wasted: pd.DataFrame) -> Drawing:
    """Figure 6: cumulative wasted cycles of `waste_by_priority`: a panel and axis per priority."""
    table, mean = cumulative_table(wasted), wasted.mean() / HOUR
    picture = lines(
        table.replace({"priority": PRIORITIES}),
        x="days",
        y="node_hours",
        line="policy",
        panel="priority",
        own="y",
        title="Figure 6. Cumulative waste, queue bigmem preferred",
        labels={
            "days": "days since the start",
            "priority": "",
            "node_hours": "node-hours, summed<br>over preemptions",
        },
    ).update_yaxes(rangemode="tozero")
    means = ", ".join(f"{policy} {mean[policy].sum():,.1f}" for policy in ("PAP", "PAP+"))
    note = (
        f"At each of {len(wasted):,} moments one preemption is imagined and what it would waste is "
        "added; none takes place, so that sums exceed what the nodes offer. The mean waste of one, "
        f"both priorities together: {means} node-hours."
    )
    return Drawing(picture, table, note)


def cumulative_table(wasted: pd.DataFrame) -> pd.DataFrame:
    """Sums over the states so far, in node-hours: 400 states of every curve, tidy."""
    rows = np.linspace(0, len(wasted) - 1, min(POINTS, len(wasted))).round().astype(int)
    thinned = (wasted.cumsum().iloc[rows] / HOUR).round(1)
    tidy = thinned.melt(ignore_index=False, value_name="node_hours").reset_index()
    return tidy.assign(days=(tidy["time"] / DAY).round(4))


def optimum(schedule: Schedule, *, preempted: int, seed: int) -> Drawing:
    """Waste of policies beside what the jobs of least cost would waste, at every 40th state."""
    periods, at = [SHORT[0], *LONG], execution_states(schedule)[::40]
    wasted = waste(schedule, periods, moments=at, preempted=preempted, seed=seed)
    for known_ends, name in enumerate(("blind optimum", "foresighted optimum")):
        wasted[name] = least_waste(
            schedule,
            known_ends=bool(known_ends),
            grace_periods=periods,
            moments=at,
            preempted=preempted,
        )
    means = pd.DataFrame({name: each.mean() / HOUR for name, each in wasted.items()})
    hours = "grace period (h)"
    means.index = pd.Index(np.array(periods) / HOUR, name=hours)
    table = means.reset_index().melt(hours, var_name="choice", value_name="waste")
    picture = lines(
        table,
        x=hours,
        y="waste",
        line="choice",
        title="Node-hours wasted, by policy and by the best choice, PEREGRINE",
        labels={hours: hours, "waste": "node-hours wasted (mean)"},
    )
    return Drawing(picture, table, "Means over every 40th state; the optima are exact.")


def lifo_loses(schedules: Schedules, *, preempted: int, seed: int) -> Drawing:
    """LIFO's waste over that of the better of FIFO and RANDOM, by grace period."""
    named = {"HTC": schedules.htc, "PEREGRINE": schedules.peregrine}
    tables = {
        name: relative_waste(each, preempted=preempted, seed=seed) for name, each in named.items()
    }
    table = pd.concat(tables).reset_index(0, names="workload")
    labels = {
        "ratio": "grace period ÷ mean time left of a running job",
        "relative": "waste: LIFO ÷ the smaller",
    }
    title = "LIFO's waste ÷ the smaller waste of FIFO and RANDOM"
    picture = lines(table, x="ratio", y="relative", line="workload", title=title, labels=labels)
    return Drawing(picture, table, "Means over every 10th state; above 1, LIFO wastes more.")


def relative_waste(schedule: Schedule, *, preempted: int, seed: int) -> pd.DataFrame:
    """LIFO's mean waste over the less of FIFO's and RANDOM's, by grace period, at every 10th state.

    Grace periods are `RATIOS` of `remaining_time`.
    """
    typical, at = remaining_time(schedule.workload), execution_states(schedule)[::10]
    periods = [ratio * typical for ratio in RATIOS]
    wasted = waste(schedule, periods, moments=at, preempted=preempted, seed=seed)
    means = {policy: wasted[policy].mean().to_numpy() for policy in ("LIFO", "FIFO", "RANDOM")}
    table = pd.DataFrame({"ratio": RATIOS, "grace_period": periods, **means})
    others = table[OTHERS].min(axis=1)
    return table.assign(relative=table["LIFO"] / others.where(others > 0))


def remaining_time(workload: Workload) -> float:
    """Mean time (s) that a node's job has left at a random moment, by renewal theory."""
    nodes, run_time = workload.jobs["nodes"], workload.jobs["run_time"]
    return float((nodes * run_time**2).sum() / (2 * (nodes * run_time).sum()))


def owners(schedule: ElasticSchedule) -> Drawing:
    """Nodes per owner over the first eight days."""
    last = min(8 * DAY, max(schedule.end_time))
    owned = nodes_owned(schedule, np.linspace(0, last, 600))
    title = "Nodes of the partitions, the host and its users"
    return Drawing(plot_owners(owned, title=title), owned.reset_index())


def nodes_owned(schedule: ElasticSchedule, moments: np.ndarray) -> pd.DataFrame:
    """Number of nodes of each owner over time: one row per moment, one column per owner."""
    owned, counts = schedule.ownership, {}
    for owner in (*schedule.system.partitions, USER, HOST):
        start, end = owned.loc[owned["owner"] == owner, ["start_time", "end_time"]].to_numpy().T
        begun, ended = (np.searchsorted(np.sort(t), moments, "right") for t in (start, end))
        counts[owner] = begun - ended
    return pd.DataFrame(counts, index=pd.Index(moments, name="time"))


def plot_owners(owned: pd.DataFrame, *, title: str) -> go.Figure:
    """Nodes per owner over time, stacked.

    Parameters
    ----------
    owned : pd.DataFrame
        As `nodes_owned` gives it.
    """
    if owned.empty:
        return plot_empty(title, "the workload has no jobs, so there is nothing to preempt")
    picture = theme.figure(title=title, height=400)
    days = (owned.index.to_numpy() / DAY).round(4).tolist()
    for place, owner in enumerate(owned):
        tint = theme.faded(theme.CYCLE[place % len(theme.CYCLE)], 0.5)
        shape = OWNERS[place % len(OWNERS)]
        values = owned[owner].tolist()
        picture.add_trace(
            theme.steps(days, values, tint, shape, name=str(owner), stackgroup="nodes")
        )
    picture.update_xaxes(title="days since the start", title_standoff=8)
    return picture.update_yaxes(title="nodes")


def sequence_rate(sweep: pd.DataFrame, preempted: int) -> Drawing:
    """Throughput, waste and users served by the rate of preemptions."""
    title = f"Sequences of preemptions of {preempted} nodes, by their rate"
    return _sequences(sweep.rename(columns={"rate": "preemptions a day"}), title)


def sequence_size(sweep: pd.DataFrame) -> Drawing:
    """Throughput, waste and users served by the size of preemptions."""
    title = "Sequences of four preemptions a day, by their size"
    return _sequences(sweep.rename(columns={"size": "nodes"}), title)


def sequence_staleness(sweep: pd.DataFrame) -> Drawing:
    """Throughput, waste and users served by the age of preemption vectors."""
    hours = sweep.rename(columns={"staleness": "age (h)"})
    hours["age (h)"] /= HOUR
    return _sequences(hours, "Sequences of preemptions, by the age of preemption vectors")


def _sequences(sweep: pd.DataFrame, title: str) -> Drawing:
    """A sweep averaged over seeds, one panel per measure; its second column is what is varied."""
    varied = sweep.columns[1]
    measures = {"relative": "throughput", "wasted": "wasted", "served": "users served"}
    averaged = sweep.groupby(["policy", varied], sort=False)[list(measures)].mean()
    parts = {name: averaged[column] for column, name in measures.items()}
    table = pd.concat(parts, names=["measure"]).rename("share").round(4).reset_index()
    picture = lines(
        table,
        x=varied,
        y="share",
        line="policy",
        panel="measure",
        title=title,
        labels={"measure": "", "share": "share (see the note)"},
    )
    note = (
        "Throughput: node-hours of jobs that end, of those without preemptions. Wasted: node-hours "
        "of killed runs, of all used. Users served: nodes that users got, of those they asked for. "
        f"Seeds: {sweep['seed'].nunique()}."
    )
    return Drawing(picture, table, note)


def assumptions(sweep: pd.DataFrame) -> Drawing:
    """Printed results under one assumption at a time, beside the paper's."""
    table = sweep.groupby("assumption", sort=False).mean().drop(columns="seed")
    table.loc["the paper", list(PRINTED)] = list(PRINTED.values())
    forms = {"states": "{:,.0f}", "days": "{:,.1f}"}
    forms |= dict.fromkeys(("high", "default", "total"), "{:+.1%}")
    shown = table.astype(object)
    for name in table:
        form = forms.get(name, "{:.0%}")
        shown[name] = [
            form.format(value).replace("%", " %") if value == value else "not printed"
            for value in table[name]
        ]
    names = {name: f"gaussian {name}" for name in ("high", "default", "total", "share")}
    shown = shown.rename(columns=names | {"states": "execution states"}).reset_index()
    title = f"Inverse analysis: one assumption at a time (seeds: {sweep['seed'].nunique()})"
    picture = _plot_table(shown, title=title)
    picture.update_layout(width=1300, height=500)
    note = (
        "Same nodes, common nodes, same waste: states in which LIFO and PAP take the same nodes, "
        "nodes that both take, states in which they waste as much. Apart: how far the medians of "
        "their waste are from each other, of RANDOM's. Gaussian high, default, total: change of "
        "what jobs of high priority (those of the application gaussian), the others and all waste "
        "where PAP+ takes the place of PAP. Gaussian share: what gaussian's jobs waste of all "
        "under PAP."
    )
    return Drawing(picture, table.rename(columns=names), note)


FIGURES: Mapping[str, Callable[..., Drawing]] = {
    "table-1": table_1,
    "figure-3": figure_3,
    "figure-4": figure_4,
    "figure-5": figure_5,
    "figure-6": figure_6,
    "owners": owners,
    "sequence-rate": sequence_rate,
    "sequence-size": sequence_size,
    "sequence-staleness": sequence_staleness,
    "assumptions": assumptions,
    "optimum": optimum,
    "lifo-loses": lifo_loses,
}


def plot_violins(
    panels: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]], *, title: str
) -> go.Figure:
    """Violin plots of wasted cycles, by policy and grace period: one panel per workload.

    A violin's width is the density relative to its maximum; the bar inside spans the quartiles, the
    white dot is the median. Violins end at their 99th percentile. Panels are as of
    `summarize_densities`, by their titles.
    """
    picture = make_subplots(
        rows=len(panels),
        vertical_spacing=0.16 if len(panels) > 1 else 0,
        subplot_titles=theme.headings(panels) if len(panels) > 1 else None,
    )
    for row, (summary, densities) in enumerate(panels.values(), start=1):
        policies = list(dict.fromkeys(summary["policy"]))
        periods = sorted(set(summary["grace_period"]))
        for place, period in enumerate(periods):
            offset = (place - (len(periods) - 1) / 2) * 0.84 / len(periods)
            for number, policy in enumerate(policies):
                here = densities[
                    (densities["policy"] == policy) & (densities["grace_period"] == period)
                ]
                outline = _outline(here, number + offset, 0.84 * WIDTH / len(periods) / 2)
                picture.add_scatter(
                    **outline,
                    **_colors(place),
                    name=period_name(period),
                    legendgroup=str(period),
                    showlegend=row == 1 and number == 0,
                    row=row,
                    col=1,
                )
            of_period = summary[summary["grace_period"] == period].set_index("policy")
            _add_boxes(picture, of_period.loc[policies], offset, period, row)
        picture.update_xaxes(
            tickvals=list(range(len(policies))),
            ticktext=policies,
            showgrid=False,
            range=[-0.5, len(policies) - 0.5],
            row=row,
        )
        picture.update_yaxes(title="node-hours wasted", rangemode="tozero", row=row)
    theme.style(picture, title=title, height=130 + 330 * len(panels), margin={"t": 95})
    return picture.update_layout(legend={"title": {"text": "grace period  "}})


def _outline(here: pd.DataFrame, center: float, half: float) -> dict[str, np.ndarray]:
    """The outline of a violin."""
    density = here["density"].to_numpy()
    width = half * density / max(density.max(), 1e-12)
    grid = here["node_hours"].to_numpy().round(3)
    x = np.concatenate([center - width, (center + width)[::-1]]).round(4)
    return {"x": x, "y": np.concatenate([grid, grid[::-1]])}


def _colors(place: int) -> dict[str, object]:
    """How a grace period's violins are drawn: filled with the line's color, two thirds clear."""
    tint = theme.CYCLE[place % len(theme.CYCLE)]
    return {
        "mode": "lines",
        "fill": "toself",
        "hoverinfo": "skip",
        "line": {"color": tint, "width": 1},
        "fillcolor": theme.faded(tint, 0.35),
    }


def _add_boxes(
    picture: go.Figure, of_period: pd.DataFrame, offset: float, period: float, row: int
) -> None:
    """Quartiles as thick bars and medians as white dots, for one grace period of all policies."""
    centers = [number + offset for number in range(len(of_period))]
    x = [value for center in centers for value in (center, center, None)]
    y = [
        value
        for low, high in of_period[["25%", "75%"]].round(3).to_numpy().tolist()
        for value in (low, high, None)
    ]
    picture.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": theme.BLACK, "width": 4},
        hoverinfo="skip",
        legendgroup=str(period),
        showlegend=False,
        row=row,
        col=1,
    )
    picture.add_scatter(
        x=centers,
        y=of_period["50%"].round(3).tolist(),
        mode="markers",
        marker={"color": "white", "size": 6, "line": {"color": theme.BLACK, "width": 1}},
        legendgroup=str(period),
        showlegend=False,
        row=row,
        col=1,
        hovertemplate=f"{period_name(period)}: median %{{y}}<extra></extra>",
    )


def summarize_densities(
    wasted: Waste, periods: Sequence[float]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Statistics of waste at some grace periods, and densities for violins, both tidy.

    Densities are given per node-hour, on a grid of `node_hours` up to the 99th percentile.
    """
    wasted = {policy: table[list(periods)] for policy, table in wasted.items()}
    tables = []
    for policy, table in wasted.items():
        for period in table:
            hours = table[period].to_numpy() / HOUR
            grid = np.linspace(0.0, max(float(np.quantile(hours, SHOWN)), 1e-3), GRID)
            columns = {"node_hours": grid, "density": density(hours, grid)}
            tables.append(pd.DataFrame({"policy": policy, "grace_period": period, **columns}))
    return summarize(wasted), pd.concat(tables, ignore_index=True)


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Gaussian kernel density estimate of values from 0 up, on an ascending grid from 0.

    Values are counted in bins first, so that millions of them cost no more than thousands. The
    bandwidth is Silverman's, ``0.9 min(deviation, interquartile range / 1.34) n^(-1/5)``, at least
    half a grid step; what it would put below 0 is reflected. Values beyond the grid count for the
    total only, so the integral over the grid is the share of values within it.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    deviation = float(values.std())
    spread = min(deviation, (high - low) / 1.34) if high > low else deviation
    bandwidth = max(0.9 * spread * values.size**-0.2, 0.5 * (grid[1] - grid[0]))
    limit = grid[-1] + 5 * bandwidth
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, limit))
    middles = (edges[:-1] + edges[1:]) / 2
    filled = counts > 0
    counts, middles = counts[filled], middles[filled]
    kernels = np.exp(-0.5 * ((grid[:, None] - middles) / bandwidth) ** 2)
    kernels += np.exp(-0.5 * ((grid[:, None] + middles) / bandwidth) ** 2)
    return kernels @ counts / (values.size * bandwidth * np.sqrt(2 * np.pi))
