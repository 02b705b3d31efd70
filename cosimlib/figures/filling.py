"""Regular jobs and the containers between them, and the load that a scheduler reaches."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from cosimlib.figures import theme
from cosimlib.figures.gantt import faded, plot_nodes
from cosimlib.kernels.numbering import node_numbers
from cosimlib.schedulers.filling import FilledSchedule


def plot_filling(schedule: FilledSchedule, *, title: str) -> go.Figure:
    """A small schedule, slot by slot and node by node; containers are hatched.

    Parameters
    ----------
    schedule : FilledSchedule
        Of few jobs. They are called 1, 2, … and containers a1, a2, …, whatever their nodes.
    title : str
    """
    return plot_nodes(
        node_table(schedule), title=title, unit=schedule.slot, unit_name="time slot",
        node_name="CPU slot",
    )  # fmt: skip


def node_table(schedule: FilledSchedule) -> pd.DataFrame:
    """Which nodes everybody held: a row for each block of neighboring nodes.

    Returns
    -------
    pd.DataFrame
        `label`, `kind` (`regular` or `container`), `start`, `end` (s), `first` (node, from 0) and
        `nodes`. Lowest free numbers first; containers choose after regular jobs.
    """
    jobs, runs = schedule.jobs, _single_runs(schedule)
    columns = ["start_time", "end_time", "nodes"]
    everybody = pd.concat([jobs[columns], runs[columns]], ignore_index=True)
    labels = [str(job + 1) for job in jobs.index] + [f"a{run + 1}" for run in runs.index]
    start, end, nodes = (everybody[column].to_numpy() for column in columns)
    total = next(iter(schedule.system.partitions.values()))
    rows = []
    for place, numbers in enumerate(node_numbers(start, end, nodes, total)):
        kind = "regular" if place < len(jobs) else "container"
        for block in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
            rows.append((labels[place], kind, start[place], end[place], block[0], len(block)))
    return pd.DataFrame(rows, columns=["label", "kind", "start", "end", "first", "nodes"])


def _single_runs(schedule: FilledSchedule) -> pd.DataFrame:
    """A row a container and run, from its start until it is saved, in order of starts."""
    table = schedule.containers
    table = table.loc[table.index.repeat(table["nodes"])].assign(nodes=1)
    length = (table["end_time"] - table["start_time"]) / table["starts"]
    runs = table.loc[:, ["start_time", "end_time", "nodes"]].reset_index(drop=True)
    starts, length = table["starts"].to_numpy(), length.to_numpy()
    number = np.concatenate([np.arange(count) for count in starts]) if len(starts) else starts
    runs = runs.loc[runs.index.repeat(starts)]
    begin = runs["start_time"].to_numpy() + number * np.repeat(length, starts)
    runs = runs.assign(start_time=begin, end_time=begin + np.repeat(length, starts))
    return runs.sort_values("start_time", kind="stable", ignore_index=True)


def plot_load(
    table: pd.DataFrame, *, title: str, reference: tuple[float, str] | None = None
) -> go.Figure:
    """Mean load against the accuracy of estimates, its spread shaded, a line a queue depth.

    Parameters
    ----------
    table : pd.DataFrame
        As `load_table` gives it.
    title : str
    reference : tuple of float and str, optional
        A dashed horizontal line and its name.
    """
    picture = theme.figure(title=title, height=470)
    for place, (depth, part) in enumerate(table.groupby("queue_depth", sort=False)):
        tint = theme.CYCLE[place % len(theme.CYCLE)]
        picture.add_trace(_band(part, tint))
        picture.add_scatter(
            x=part["accuracy"], y=part["load"].round(5), mode="lines+markers",
            name=f"{depth} jobs wait", legendgroup=str(depth),
            line={"color": tint, "dash": theme.DASHES[place % len(theme.DASHES)], "width": 1.8},
            marker={"symbol": theme.MARKERS[place % len(theme.MARKERS)], "size": 7, "color": tint},
        )  # fmt: skip
    if reference is not None:
        value, name = reference
        picture.add_hline(
            value, line={"dash": "dash", "width": 1, "color": theme.BLACK},
            annotation={"text": name, "font": {"size": 11}}, annotation_position="bottom right",
        )  # fmt: skip
    picture.update_layout(
        margin_b=115, legend={"orientation": "h", "y": -0.24, "yanchor": "top", "x": 0}
    )
    picture.update_xaxes(title="accuracy of estimates, p", range=[-0.02, 1.02])
    return picture.update_yaxes(title="average load", tickformat=".2f", title_standoff=12)


def _band(part: pd.DataFrame, tint: str) -> go.Scatter:
    """Mean less and plus the spread, shaded."""
    low, high = part["load"] - part["spread"], part["load"] + part["spread"]
    return go.Scatter(
        x=[*part["accuracy"], *part["accuracy"][::-1]],
        y=[*high.round(5), *low[::-1].round(5)],
        mode="lines", line={"width": 0}, fill="toself", fillcolor=faded(tint, 0.15),
        hoverinfo="skip", showlegend=False, legendgroup=str(part["queue_depth"].iloc[0]),
    )  # fmt: skip


def load_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread over seeds.

    Parameters
    ----------
    runs : pd.DataFrame
        One run a row: `queue_depth`, `accuracy`, `seed`, `load`.

    Returns
    -------
    pd.DataFrame
        One row a queue depth and accuracy: `load`, its mean; `spread`, its standard deviation;
        `lowest`, `highest`, and the number of `seeds`.
    """
    grouped = runs.groupby(["queue_depth", "accuracy"], sort=False)["load"]
    table = grouped.agg(["mean", "std", "min", "max", "count"])
    table.columns = pd.Index(["load", "spread", "lowest", "highest", "seeds"])
    return table.fillna({"spread": 0.0}).reset_index()
