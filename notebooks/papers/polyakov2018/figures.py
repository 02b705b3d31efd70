"""Figures 1 to 3 of the paper, and four of our own: queue length, efficiency, costs, intervals."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures import lines, theme
from cosimlab.figures.charts import add_reference
from cosimlib.filling import FilledSchedule
from cosimlib.placement import lowest_blocks
from papers.paper import Drawing
from papers.polyakov2018.experiment import LITERATURE, Experiment, spread_table

MADE_UP = "seven jobs, made up"
ACCURACY = "accuracy of estimates, p"
OVERHEAD = "t: what it takes to start and save a container"
BAND = "lowest", "highest"
COSTS = {"held up": "regular jobs held up", "lost": "container time lost"}


def backfilled(schedule: FilledSchedule) -> Drawing:
    """Figure 1: an example of a schedule."""
    return _gantt(schedule, "Figure 1. Seven jobs, backfilled")


def with_containers(schedule: FilledSchedule) -> Drawing:
    """Figure 3: the same with containers."""
    return _gantt(schedule, "Figure 3. The same with containers a1 and a2")


def load_by_accuracy(runs: pd.DataFrame) -> Drawing:
    """Figure 2: the average load against the accuracy of estimates, by queue depth and variant."""
    table = load_table(runs)
    seeds = runs["seed"].nunique()
    figure = plot_load(table, title=f"Figure 2. Average load, {seeds} seeds")
    note = (
        "Load: part of the node-seconds that regular jobs hold. p: probability that an estimate is "
        "exact. Lines are means over seeds, bands one standard deviation to either side."
    )
    return Drawing(figure, table.round(5), note)


def load_by_length(by_length: pd.DataFrame, run: Experiment) -> Drawing:
    """The load by the number of jobs that wait."""
    labels = {"queue_depth": "jobs that wait with a reservation", "mean": "average load"}
    figure = lines(
        by_length,
        x="queue_depth",
        y="mean",
        line="variant",
        labels=labels,
        log="x",
        title="Average load by the length of the queue",
        band=BAND,
    )
    spread = f"Lines: means over {len(run.seeds)} seeds; bands: the lowest and the highest."
    return Drawing(figure, by_length.round(5), f"p = {run.accuracy:g}. {spread}")


def efficiency_by_overhead(table: pd.DataFrame) -> Drawing:
    """Utilization efficiency against t, by policy and c."""
    table = table.round(5)
    labels = {"t": "t, part of a slot", "efficiency": "efficiency", "c": "c ="}
    figure = lines(
        table,
        x="t",
        y="efficiency",
        line="policy",
        panel="c",
        labels=labels,
        title="Utilization efficiency with containers",
    )
    return Drawing(figure, table, f"{OVERHEAD}; c: speed of work in one, 1 is full speed.")


def cost_by_accuracy(costs: pd.DataFrame, run: Experiment) -> Drawing:
    """What containers cost jobs and themselves, against the accuracy of estimates."""
    table = cost_table(costs).round(4).replace({"measure": COSTS})
    labels = {"accuracy": ACCURACY, "mean": "percent", "measure": ""}
    figure = lines(
        table,
        x="accuracy",
        y="mean",
        line="policy",
        panel="measure",
        labels=labels,
        title="Cost of containers by accuracy of estimates (percent)",
        band=BAND,
    )
    of = f"{len(run.seeds)} seeds of jobs and estimates"
    return Drawing(
        figure, table, f"Lines are means, bands from the lowest to the highest, of {of}."
    )


def use_by_interval(kept: pd.DataFrame, run: Experiment) -> Drawing:
    """The useful part of the containers' time by the interval between saves."""
    percent = kept.assign(useful=100 * kept["useful"])
    bands = spread_table(percent, ["jobs", "t", "k"], "useful")
    bands = bands[bands["seeds"] == len(run.seeds)].assign(line="t = " + bands["t"].astype(str))
    at_young = kept[kept["k"] == kept["young"].round().clip(lower=1)]
    at_young = at_young.groupby(["jobs", "t"], sort=False)[["young", "useful"]].mean().reset_index()
    at_young["mean"], at_young["k"] = 100 * at_young["useful"], at_young["young"].clip(lower=1)
    parts = [bands[bands["k"] < np.inf], at_young.assign(line="√(2tM)")]
    table = pd.concat(parts).dropna(subset="mean").round(4)
    labels = {
        "k": "slots between saves, k",
        "mean": "useful time of containers (percent)",
        "jobs": "",
    }
    figure = lines(
        table,
        x="k",
        y="mean",
        line="line",
        panel="jobs",
        labels=labels,
        log="x",
        title="Useful time of containers saved every k slots",
        band=BAND,
    )
    note = f"{OVERHEAD}, part of a slot. Lines are means, bands from the lowest to the highest, of "
    return Drawing(figure, table, f"{note}{len(run.seeds)} seeds. M: mean slots between kills.")


FIGURES: dict[str, Callable[..., Drawing]] = {
    "figure-1": backfilled,
    "figure-3": with_containers,
    "figure-2": load_by_accuracy,
    "queue-length": load_by_length,
    "efficiency": efficiency_by_overhead,
    "cost": cost_by_accuracy,
    "save-interval": use_by_interval,
}


def _gantt(schedule: FilledSchedule, title: str) -> Drawing:
    """Gantt chart of a small schedule, slot by slot and node by node; containers are hatched."""
    table = node_table(schedule)
    return Drawing(plot_slots(table, schedule.slot, title=title), table, data=MADE_UP)


def plot_slots(table: pd.DataFrame, slot: float, *, title: str) -> go.Figure:
    """Blocks of CPU slots by number over time slots of so many seconds, each with its label.

    `table` is as of `node_table`; regular jobs are colored, others hatched in gray.
    """
    rows = int((table["first"] + table["nodes"]).max())
    picture = theme.figure(title=title, height=170 + 46 * max(rows, 4), showlegend=False)
    jobs = dict.fromkeys(table["label"][table["kind"] == "regular"])
    tints = itertools.cycle((*theme.CYCLE[:-1], theme.YELLOW))
    colors = dict(zip(jobs, tints, strict=False))
    for block in table.itertuples():
        picture.add_trace(_block(block, slot, colors.get(block.label)))
        picture.add_annotation(
            x=round((block.start + block.end) / 2 / slot, 5),
            y=block.first + block.nodes / 2,
            text=f"<b>{block.label}</b>",
            showarrow=False,
            font={"size": 15},
        )
    last = float(table["end"].max()) / slot
    slots = range(math.ceil(last))
    picture.update_xaxes(
        title="time slot",
        range=[0, last],
        layer="below traces",
        tickmode="array",
        showgrid=False,
        tickvals=[number + 0.5 for number in slots],
        ticks="",
        ticktext=[str(number + 1) for number in slots],
    )
    return picture.update_yaxes(
        title="CPU slot",
        range=[0, rows],
        tickmode="array",
        showgrid=False,
        tickvals=[row + 0.5 for row in range(rows)],
        ticktext=[str(row + 1) for row in range(rows)],
    )


def _block(block: Any, slot: float, color: str | None) -> go.Scatter:
    """A labeled rectangle; hatched where no color is given."""
    left, right = round(block.start / slot, 5), round(block.end / slot, 5)
    low, high = block.first, block.first + block.nodes
    nodes = f"node {low + 1}" if block.nodes == 1 else f"nodes {low + 1} to {high}"
    look: dict[str, Any] = {"fillcolor": theme.faded(color or theme.GREY)}
    if color is None:
        look = {
            "fillpattern": {
                "shape": "/",
                "bgcolor": "white",
                "fgcolor": theme.BLACK,
                "fgopacity": 0.5,
                "solidity": 0.1,
                "size": 9,
            }
        }
    return go.Scatter(
        x=[left, right, right, left, left],
        y=[low, low, high, high, low],
        mode="lines",
        fill="toself",
        line={"color": theme.BLACK, "width": 1},
        hoveron="fills",
        hoverinfo="text",
        hovertext=f"{block.label}: {nodes}",
        **look,
    )


def node_table(schedule: FilledSchedule) -> pd.DataFrame:
    """Blocks of neighboring nodes held by each job (1, 2, …) and container (a1, a2, …).

    Returns
    -------
    pd.DataFrame
        `label`, `kind` (`regular` or `container`), `start`, `end` (s), `first` (node, from 0) and
        `nodes`. Lowest free numbers first; containers choose after regular jobs.
    """
    jobs, runs = schedule.jobs, _single_runs(schedule)
    columns = ["start_time", "end_time", "nodes"]
    rows = pd.concat([jobs[columns], runs[columns]], ignore_index=True)
    rows["label"] = [f"{job + 1}" for job in jobs.index] + [f"a{run + 1}" for run in runs.index]
    rows["kind"] = np.where(rows.index < len(jobs), "regular", "container")
    start, end, nodes = (rows[name].to_numpy() for name in columns)
    blocks = lowest_blocks(start, end, nodes, schedule.total_nodes)
    table = rows.loc[blocks["row"], ["label", "kind"]].reset_index(drop=True)
    return table.join(blocks[["start", "end", "node", "nodes"]]).rename(columns={"node": "first"})


def _single_runs(schedule: FilledSchedule) -> pd.DataFrame:
    """One row per container and run, from its start until it is saved, in order of starts."""
    table = schedule.containers
    runs = table.loc[table.index.repeat(table["nodes"] * table["starts"])]
    number = runs.groupby(level=0).cumcount() % runs["starts"]
    length = (runs["end_time"] - runs["start_time"]) / runs["starts"]
    begin = runs["start_time"] + number * length
    runs = pd.DataFrame({"start_time": begin, "end_time": begin + length, "nodes": 1})
    return runs.sort_values("start_time", kind="stable", ignore_index=True)


def load_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Load by variant, queue depth and accuracy: mean, standard deviation and range over seeds."""
    grouped = runs.groupby(["variant", "queue_depth", "accuracy"], sort=False)["load"]
    table = grouped.agg(["mean", "std", "min", "max", "count"])
    table.columns = pd.Index(["load", "spread", "lowest", "highest", "seeds"])
    return table.fillna({"spread": 0.0}).reset_index()


def plot_load(table: pd.DataFrame, *, title: str) -> go.Figure:
    """The load of `load_table`, one line per queue depth, beside that of real machines."""
    spread = table.assign(low=table["load"] - table["spread"], high=table["load"] + table["spread"])
    spread["line"] = spread["queue_depth"].astype(str) + " jobs wait"
    figure = lines(
        spread.round(5),
        x="accuracy",
        y="load",
        line="line",
        panel="variant",
        band=("low", "high"),
        title=title,
        labels={"accuracy": ACCURACY, "load": "average load", "variant": ""},
    )
    name = f"{LITERATURE:g}: real machines in the literature, not this queue"
    add_reference(figure, LITERATURE, name)
    return figure.update_yaxes(tickformat=".2f", col=1)


def cost_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean, lowest and highest cost of containers over seeds, in percent, one row per measure."""
    measures = runs.columns.drop(["policy", "accuracy", "seed"])
    tables = [spread_table(runs, ["policy", "accuracy"], measure) for measure in measures]
    table = pd.concat(tables, keys=measures, names=["measure"]).reset_index("measure")
    percent = ["mean", "lowest", "highest"]
    return table.assign(**{name: 100 * table[name] for name in percent}).reset_index(drop=True)
