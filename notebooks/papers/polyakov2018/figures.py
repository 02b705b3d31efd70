"""A drawing of Polyakov and Dubenskaya (2018): small schedules, slot by slot and node by node."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures import theme
from cosimlib.filling import FilledSchedule
from cosimlib.placement import lowest_blocks


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
