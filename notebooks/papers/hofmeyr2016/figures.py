"""Figures 1 to 10 of Hofmeyr et al. (HPCC 2016), and the tables that stand beside them."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures import captioned, lines, theme
from cosimlab.figures.charts import heatmap
from cosimlab.figures.maps import NO_VALUE as NO_JOBS
from cosimlab.figures.maps import RATIO_COLORS
from cosimlab.twins.edison import EDISON, UTILIZATION
from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.timesharing import RunSummary
from cosimlib.timesharing.schedule import DURATIONS, LEVELS
from cosimlib.units import DAY
from cosimlib.workload import Workload
from papers.hofmeyr2016.experiment import (
    BATCH,
    ON_NOISY_DAYS,
    SHARED,
    UNLIMITED,
    Runs,
    Span,
    jobs_of,
)
from papers.hofmeyr2016.turnaround import turnarounds
from papers.paper import Drawing

LENGTHS = DURATIONS | {7 * DAY: "7 days", 30 * DAY: "30 days"}
"""Ticks of an axis of run times, in seconds."""

FEW_JOBS = 10
"""Bins of fewer jobs are paler."""

VEIL = [[0.0, "rgba(255,255,255,0.75)"], [1.0, "rgba(255,255,255,0)"]]
"""White over a bin, from one job to `FEW_JOBS`."""

LEAST_RANGE = 4.0
"""Percent of the capacity that an axis of utilization shows at least."""


# --- tables -------------------------------------------------------------------------------------


def printed_statistics(workload: Workload) -> pd.DataFrame:
    """Statistics of Edison's jobs as the paper prints them, beside those of a workload.

    Sizes are parts of the machine: Edison's 31, 100 and 1,000 of 5,576 nodes are 4, 13 and 125 of
    697, an eighth of Edison.
    """
    jobs, system = workload.jobs, check.machine(workload.machine, workload.name)
    nodes, work = jobs["nodes"], jobs["nodes"] * jobs["run_time"]
    sizes = [math.ceil(n * system.total_nodes / EDISON.total_nodes) for n in (31, 100, 1_000)]
    light = workload.column("memory") < 0.6 * system.memory_per_node
    large = [work[nodes > size].sum() / work.sum() for size in sizes[1:]]
    span = float(jobs["submit_time"].max() - jobs["submit_time"].min())
    rows = [
        (f"jobs of up to {sizes[0]:,} nodes", 0.90, float((nodes <= sizes[0]).mean())),
        (f"node-hours in jobs above {sizes[1]:,} nodes", 0.50, large[0]),
        (f"node-hours in jobs above {sizes[2]:,} nodes", 0.20, large[1]),
        ("node-hours with less than 60 % of a node's memory", 0.90, work[light].sum() / work.sum()),
        ("offered load", UTILIZATION, work.sum() / (system.total_nodes * span)),
    ]
    return pd.DataFrame(rows, columns=["statistic", "paper", "ours"]).round(3)


def overview(runs: Sequence[RunSummary]) -> pd.DataFrame:
    """A row per run: policy, number of jobs, utilization, CPU load, slowdowns, who waited."""
    rows = [
        (
            r.policy,
            r.jobs,
            r.utilization,
            r.cpu_load,
            r.mean_slowdown,
            r.quantile(0.5),
            r.quantile(0.75),
            r.waited,
        )
        for r in runs
    ]
    measures = ["jobs", "utilization", "CPU load", "mean slowdown", "median", "75 %", "waited"]
    return pd.DataFrame(rows, columns=["policy", *measures]).round(3)


def memory_needs(span: Span, seed: int, load: float, like: str) -> pd.DataFrame:
    """The part of a node's memory that a job needs on average, each as long as it is there.

    By which jobs need much (`memory_spread` of `twins.edison`): that part, and nine times it.
    """
    rows = []
    for spread in ("longest", "tenth", "UniLu-Gaia"):
        workload = jobs_of(span, seed, load, like, spread)
        work = workload.jobs["nodes"] * workload.jobs["run_time"]
        memory = (work * workload.column("memory")).sum() / work.sum()
        part = memory / check.machine(workload.machine, workload.name).memory_per_node
        rows.append((spread, percent(part, 1), percent(9 * part, 0)))
    return pd.DataFrame(rows, columns=["memory spread", "a job needs", "9 jobs need"])


def sharing_factors(jobs: Sequence[float], overheads: Sequence[float]) -> pd.DataFrame:
    """The factor by which an overhead slows jobs down by processor sharing; infinite at saturation.

    Jobs that share a node by processor sharing, whatever their lengths, are on average
    ``L = ρ / (1 - ρ)`` at a load ρ (Kleinrock, Queueing Systems II, 1976, section 4.4). An overhead
    ε makes ρ to ρ / (1 - ε), and slowdowns greater by a factor ``1 / (1 - ε (1 + L))``. A row per
    overhead, a column per L.
    """
    left = 1.0 - np.multiply.outer(np.array(overheads), 1.0 + np.array(jobs))
    factors = np.divide(1.0, left, out=np.full(left.shape, math.inf), where=left > 0)
    index = pd.Index([percent(part) for part in overheads], name="overhead")
    return pd.DataFrame(factors, index, pd.Index(jobs, name="jobs on a node")).round(2)


# --- figures ------------------------------------------------------------------------------------


def figure_1(workload: Workload) -> Drawing:
    """Node-hours by size of job: share of them in jobs of at most so many nodes."""
    work = workload.jobs["nodes"] * workload.jobs["run_time"].astype(float)
    sums = work.groupby(workload.jobs["nodes"]).sum().cumsum()
    table = pd.DataFrame({"nodes": sums.index, "share": (sums / sums.iloc[-1]).to_numpy()})
    labels = ("nodes of a job", "share of all node-hours,<br>jobs of at most this size")
    return Drawing(_lines(table, "Figure 1. Node-hours by size of job", labels, log="x"), table)


def figure_2(runs: Runs) -> Drawing:
    """Mean slowdown by size and length under batch scheduling."""
    batch = runs.first("sharing")
    figure = _map(batch, title=f"Figure 2. Mean slowdown by size and length, {batch.policy}")
    return Drawing(figure, bin_table(batch))


def figure_3(runs: Runs) -> Drawing:
    """Utilization over time, means over the week before."""
    table = week_table({policy: runs.first("sharing", policy) for policy in (BATCH, SHARED)})
    labels = ("day", "utilization, weekly mean")
    shown = table[["policy", "day", "utilization"]]
    return Drawing(_lines(shown, "Figure 3. Utilization over time", labels), table)


def figure_4(runs: Runs) -> Drawing:
    """Distribution of slowdowns: share of jobs with at most that."""
    parts = [runs.first("sharing", policy) for policy in (BATCH, SHARED, UNLIMITED)]
    table = pd.concat(
        [
            pd.DataFrame({"policy": run.policy, "slowdown": run.quantiles, "share": LEVELS})
            for run in parts
        ],
        ignore_index=True,
    )
    labels = ("slowdown", "share of jobs with at most this slowdown")
    return Drawing(_lines(table, "Figure 4. Distribution of slowdowns", labels, log="x"), table)


def figure_5(runs: Runs) -> Drawing:
    """Utilization and mean slowdown against overhead, side by side."""
    rows = [
        (f"memory {memory}", overhead, run.utilization, run.mean_slowdown)
        for memory, policy in (("unlimited", UNLIMITED), ("limited", SHARED))
        for overhead, run in by_overhead(runs, policy).items()
    ]
    table = pd.DataFrame(rows, columns=["memory", "overhead", "utilization", "slowdown"])
    return Drawing(_overheads(table, batch=runs.first("sharing").utilization), table)


def figure_6(runs: Runs) -> Drawing:
    """CPU load over time by overhead, means over the week before."""
    parts = by_overhead(runs, UNLIMITED).items()
    table = week_table({f"{100 * part:.0f} % overhead": run for part, run in parts})
    labels = ("day", "jobs on a node, weekly mean")
    shown = table[["policy", "day", "cpu_load"]]
    return Drawing(_lines(shown, "Figure 6. CPU load by overhead, memory unlimited", labels), table)


def figure_7(runs: Runs, policy: str = SHARED) -> Drawing:
    """Mean slowdown by size and length, batch ÷ time-sharing."""
    memory = "limited" if policy == SHARED else "unlimited"
    title = f"Figure 7. Mean slowdown, batch ÷ time-sharing, memory {memory}"
    return _ratios(runs.first("sharing"), runs.first("sharing", policy), title)


def figure_7_unlimited(runs: Runs) -> Drawing:
    """The same with unlimited memory."""
    return figure_7(runs, UNLIMITED)


def figure_8(runs: Runs) -> Drawing:
    """Turnaround of strong-scaling applications by nodes."""
    table = turnarounds(runs)
    return Drawing(
        _turnarounds(table, title="Figure 8. Turnaround of applications by nodes"), table
    )


def figure_9(runs: Runs) -> Drawing:
    """Mean slowdown by size and length under noise, batch ÷ time-sharing."""
    batch, shared = (runs.first("noise", policy, noise=True) for policy in (BATCH, SHARED))
    drawing = _ratios(batch, shared, "Figure 9. Mean slowdown under noise, batch ÷ time-sharing")
    return drawing._replace(data=_noisy_days(runs))


def figure_10(runs: Runs) -> Drawing:
    """Slowdowns of batch scheduling and time-sharing, with noise or without, SPMD or not."""
    names = ["batch", "sharing", "sharing,<br>not SPMD", "batch,<br>not SPMD"]
    table = box_table(
        {
            f"{name},<br>noise" if noise else name: runs.first("noise", policy, noise=noise)
            for noise in (False, True)
            for name, policy in zip(names, ON_NOISY_DAYS, strict=True)
        }
    )
    return Drawing(
        _boxes(table, title="Figure 10. Slowdown with and without noise"),
        table,
        data=_noisy_days(runs),
    )


FIGURES: dict[str, Callable[..., Drawing]] = {
    figure.__name__.replace("_", "-"): figure
    for figure in (
        figure_1,
        figure_2,
        figure_3,
        figure_4,
        figure_5,
        figure_6,
        figure_7,
        figure_7_unlimited,
        figure_8,
        figure_9,
        figure_10,
    )
}


# --- numbers that are drawn ---------------------------------------------------------------------


def by_overhead(runs: Runs, policy: str) -> dict[float, RunSummary]:
    """The first seed's runs with overheads, in ascending order."""
    rows = runs.table.query("kind == 'overheads' and policy == @policy")
    rows = rows.drop_duplicates("overhead").sort_values("overhead")
    return dict(zip(rows["overhead"], rows["summary"], strict=True))


def week_table(runs: Mapping[str, RunSummary]) -> pd.DataFrame:
    """Means over the week before, by name: `policy`, `day`, `utilization`, `cpu_load`."""
    tables = [
        pd.DataFrame(
            {
                "policy": name,
                "day": run.weeks / DAY,
                "utilization": run.weekly_utilization,
                "cpu_load": run.weekly_load,
            }
        )
        for name, run in runs.items()
    ]
    return pd.concat(tables, ignore_index=True)


def bin_table(run: RunSummary, other: RunSummary | None = None) -> pd.DataFrame:
    """Mean slowdown by size and length, or that of a run ÷ that of another: a row per bin.

    Returns
    -------
    pd.DataFrame
        `nodes` and `run_time` (s) from which a bin goes, `jobs`, `slowdown` or `ratio`; only bins
        with jobs.
    """
    values = run.bins if other is None else run.bins / other.bins
    row, column = np.nonzero(np.isfinite(values))
    return pd.DataFrame(
        {
            "nodes": run.nodes_edges[row],
            "run_time": run.length_edges[column],
            "jobs": run.counts[row, column],
            "slowdown" if other is None else "ratio": values[row, column],
        }
    )


def box_table(runs: Mapping[str, RunSummary]) -> pd.DataFrame:
    """Quartiles, whiskers (1.5 interquartile ranges) and mean of slowdowns, a row per run."""
    rows = []
    for name, run in runs.items():
        low, middle, high = (run.quantile(level) for level in (0.25, 0.5, 0.75))
        reach = 1.5 * (high - low)
        least = float(run.quantiles[run.quantiles >= low - reach].min())
        most = float(run.quantiles[run.quantiles <= high + reach].max())
        rows.append((name, least, low, middle, high, most, run.mean_slowdown))
    columns = ["run", "lower whisker", "25%", "50%", "75%", "upper whisker", "mean"]
    return pd.DataFrame(rows, columns=columns)


# --- drawing ------------------------------------------------------------------------------------


def _lines(table: pd.DataFrame, title: str, labels: tuple[str, str], *, log: str = "") -> go.Figure:
    """The last column over the one before it, a line per policy."""
    axes = dict(zip("xy", table.columns[-2:], strict=True))
    return lines(
        table,
        **axes,
        line="policy" if "policy" in table else None,
        title=title,
        log=log,
        labels=dict(zip(axes.values(), labels, strict=True)),
        why="no day ends between the jobs that do not count and the last submission",
    )


def _noisy_days(runs: Runs) -> str:
    """The first seed's jobs under noise, and the noise."""
    return f"{runs.first('noise').data}, noise {runs.noise:g}"


def _ratios(batch: RunSummary, shared: RunSummary, title: str) -> Drawing:
    """A map of batch ÷ time-sharing."""
    return Drawing(_map(batch, shared, title=title), bin_table(batch, shared))


def _map(run: RunSummary, other: RunSummary | None = None, *, title: str) -> go.Figure:
    """A heat map of mean slowdown by size and length, or of the ratio of two up to 1,000.

    Ratios are blue below 1 and vermilion above.
    """
    values = run.bins if other is None else run.bins / other.bins
    scale = "mean slowdown"
    if other is not None:
        scale = f"{run.policy} ÷<br>{other.policy.replace(' (', '<br>(')}<br> "
    picture = theme.figure(title=title, height=500, plot_bgcolor=NO_JOBS)
    surface = heatmap(
        pd.DataFrame(values),
        powers=(0.0 if other is None else -3.0, 3.0),
        text=run.counts,
        colorscale=theme.COLORSCALE if other is None else [list(c) for c in RATIO_COLORS],
        hovertemplate="from %{x:.3g} s, %{y:.3g} nodes, %{text} jobs: %{customdata:.3g}"
        "<extra></extra>",
        colorbar={"title": {"text": scale}},
    )
    # Bins have their edges on the axes, one more than there are bins.
    picture.add_trace(surface.update(x=run.length_edges, y=run.nodes_edges))
    picture.add_heatmap(
        x=run.length_edges,
        y=run.nodes_edges,
        zmin=0,
        zmax=1,
        z=np.log(np.where(np.isfinite(values), run.counts, np.nan)) / np.log(FEW_JOBS),
        colorscale=VEIL,
        showscale=False,
        hoverinfo="skip",
    )
    picture.update_xaxes(
        type="log",
        title="dedicated run time (gray: no jobs)",
        tickvals=list(LENGTHS),
        ticktext=list(LENGTHS.values()),
        showgrid=False,
        range=np.log10(run.length_edges[[0, -1]]).tolist(),
    )
    picture.update_yaxes(type="log", title="nodes", dtick=1, tickformat=",", showgrid=False)
    better = "" if other is None else " Above 1, jobs fare better under the second policy."
    return captioned(
        picture,
        "Slowdown: turnaround ÷ max(dedicated run time, 10 s). Bins of fewer than ten jobs are the "
        f"paler the fewer, gray bins have none.{better}",
    )


def _boxes(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Boxes of slowdowns on a logarithmic axis, means as diamonds."""
    picture = theme.figure(title=title, height=480, showlegend=False)
    for row in table.itertuples(index=False):
        picture.add_box(
            x=[row[0]],
            lowerfence=[row[1]],
            q1=[row[2]],
            median=[row[3]],
            q3=[row[4]],
            upperfence=[row[5]],
            name=row[0],
            width=0.5,
            line={"color": theme.BLUE if "batch" in str(row[0]) else theme.VERMILION},
        )
        picture.add_scatter(
            x=[row[0]],
            y=[max(row[5], row[6]) * 1.1],
            mode="text",
            text=[f"{row[6]:.3g}"],
            textposition="top center",
            hoverinfo="skip",
        )
        picture.add_scatter(
            x=[row[0]],
            y=[row[6]],
            mode="markers",
            marker={"symbol": "diamond", "size": 10, "color": theme.BLACK},
            hovertemplate="mean %{y:.3g}<extra></extra>",
        )
    picture.update_xaxes(title="", tickangle=0)
    whiskers = table.drop(columns="run").to_numpy()
    picture.update_yaxes(title="slowdown (◆ mean)", **theme.log_axis(whiskers))
    return captioned(
        picture,
        "Boxes span the quartiles, the line in them is the median; whiskers reach to the last job "
        "within 1.5 times the distance of the quartiles; numbers are the means.",
    )


def _overheads(table: pd.DataFrame, *, batch: float) -> go.Figure:
    """Utilization and mean slowdown against overhead; that of batch scheduling is dashed."""
    percents = table.assign(overhead=100 * table["overhead"])
    values = {"utilization": 100 * table["utilization"], "mean slowdown": table["slowdown"]}
    panels = pd.concat([percents.assign(measure=name, value=of) for name, of in values.items()])
    picture = lines(
        panels,
        x="overhead",
        y="value",
        line="memory",
        panel="measure",
        own="y",
        title="Figure 5. Time-sharing with overhead",
        labels={name: name for name in values} | {"overhead": "overhead, part of the capacity"},
    )
    picture.add_hline(
        y=100 * batch,
        line=theme.DASHED,
        row=1,
        col=1,
        annotation={"text": f"batch: {percent(batch, 0)}", "yanchor": "bottom", "yshift": 4},
    )
    picture.update_xaxes(ticksuffix=" %")
    low, high = (100 * pick(batch, pick(table["utilization"])) for pick in (min, max))
    beyond = max(0.08 * (high - low), LEAST_RANGE / 2 - (high - low) / 2)
    seen = {"ticksuffix": " %", "range": [low - beyond, high + beyond]}
    picture.update_yaxes(**seen, col=1)
    if table["slowdown"].max() > 4 * table["slowdown"].min():
        axis = theme.log_axis(table["slowdown"])
        picture.update_yaxes(title="mean slowdown (log)", **axis, col=2)
    return picture


def _turnarounds(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Turnaround against nodes: a panel per application, a line per policy.

    Sizes above the largest at which any policy has a turnaround are left out.
    """
    largest = table.loc[table["turnaround_time"].notna(), "nodes"].max()
    # Policies have their color and their place in the legend in all panels.
    measured = table[(table["nodes"] <= largest) & table["turnaround_time"].notna()]
    picture = lines(
        measured.assign(minutes=measured["turnaround_time"] / 60),
        x="nodes",
        y="minutes",
        line="policy",
        panel="application",
        columns=min(3, table["application"].nunique()),
        log="xy",
        title=title,
        labels={"minutes": "turnaround, min", "application": ""},
    )
    return captioned(
        picture,
        "Turnaround: dedicated run time × mean slowdown of ten jobs or more of about that size and "
        "length. Sizes without so many have no marker; lines pass over them.",
    )
