"""Bursts on a batch machine: the ledger of node-hours by policy, the best policy, a Gantt chart."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from cosimlib import checks as check
from cosimlib.figures import theme
from cosimlib.figures.gantt import faded
from cosimlib.figures.legends import LETTER
from cosimlib.figures.nothing import plot_nothing
from cosimlib.ondemand import LEDGER, OVERHEAD, OnDemandSchedule
from cosimlib.palette import WINE
from cosimlib.placement import lowest_blocks
from cosimlib.units import HOUR

USE_STYLES = {
    "batch": ("batch jobs", theme.BLUE, ""),
    "bursts": ("bursts", theme.ORANGE, ""),
    "containers": ("filler containers", theme.PURPLE, "-"),
    "lost": ("lost: done again", theme.VERMILION, "x"),
    "writing": ("checkpoints written", theme.SKY, "/"),
    "blocked": ("standing still", theme.YELLOW, "."),
    "rereading": ("checkpoints reread", theme.GREEN, "\\"),
    "idle": ("idle", "#FFFFFF", ""),
}
"""Name, color and pattern of each use of node-hours in a ledger."""
ARRIVAL = {"width": 1.2, "dash": "dot", "color": WINE}
"""The line at which a burst is submitted."""


def plot_ledger(
    hours: pd.DataFrame, costs: pd.DataFrame, *, title: str, why: str = ""
) -> go.Figure:
    """Where a machine's node-hours go by policy, to its capacity, and what evictions cost.

    Parameters
    ----------
    hours : pd.DataFrame
        Node-hours: one row per policy, the columns of `ondemand.LEDGER`.
    costs : pd.DataFrame
        Node-hours per burst: one row per policy, the columns of `ondemand.OVERHEAD`, and `low` and
        `high`, the interval of their sum.
    title : str
    why : str
        Said in the place of the figure where there are no rows.
    """
    check.instance("hours", hours, pd.DataFrame)
    if hours.empty:
        return plot_nothing(title, why or "no burst came")
    picture = make_subplots(
        cols=2, column_widths=[0.5, 0.5], horizontal_spacing=0.05, shared_yaxes=True,
        subplot_titles=("(a) the machine's node-hours", "(b) cost per burst"),
    )  # fmt: skip
    shares = 100 * hours[list(LEDGER)].div(hours[list(LEDGER)].sum(axis=1), axis=0)
    for use in LEDGER:
        bar = _bar(shares[use], use, "%{y}: %{x:.2f} %")
        drawn = hours[use].gt(0).any() or (use in costs and costs[use].gt(0).any())
        picture.add_trace(bar.update(showlegend=bool(drawn)), row=1, col=1)
    for use in OVERHEAD:
        bar = _bar(costs[use], use, "%{y}: %{x:,.1f} node-hours").update(showlegend=False)
        picture.add_trace(bar, row=1, col=2)
    total = costs[list(OVERHEAD)].sum(axis=1)
    picture.add_trace(_whiskers(total, costs["low"], costs["high"]), row=1, col=2)
    tall = 42 * max(len(hours), 4)
    left = max(75.0, 25 + LETTER * max(len(str(name)) for name in hours.index))
    theme.style(picture, title=title, height=tall + 250, barmode="stack",
                bargap=0.35, margin={"l": left, "t": 90, "b": 160})  # fmt: skip
    picture.update_layout(legend={"orientation": "h", "traceorder": "normal", "x": 0,
                                  "y": -55 / tall, "yanchor": "top"})  # fmt: skip
    picture.update_xaxes(title="percent", range=[0, 100], col=1)
    known = costs["high"].where(costs["high"] < float("inf")).fillna(0.0)
    most = max(float(known.max()), float(total.max()), 1.0)
    picture.update_xaxes(title="node-hours", range=[0, 1.05 * most], col=2)
    return picture.update_yaxes(autorange="reversed", col=1)


def _bar(values: pd.Series, use: str, hover: str) -> go.Bar:
    """One use's bars, stacked by policy."""
    name, tint, shape = USE_STYLES[use]
    return go.Bar(
        y=list(values.index), x=values.to_numpy(dtype=float).round(3), name=name, orientation="h",
        legendgroup=use, hovertemplate=hover,
        marker={"color": tint, "line": {"color": theme.BLACK, "width": 0.5},
                "pattern": use_pattern(shape)},
    )  # fmt: skip


def _whiskers(total: pd.Series, low: pd.Series, high: pd.Series) -> go.Scatter:
    """The interval of each sum, where it has ends."""
    known = low.gt(-float("inf")) & high.lt(float("inf"))
    return go.Scatter(
        y=list(total.index), x=total.round(3), mode="markers", showlegend=False,
        hoverinfo="skip", name="95 % interval", cliponaxis=False,
        marker={"size": 4, "color": theme.BLACK},
        error_x={"type": "data", "symmetric": False, "color": theme.BLACK,
                 "array": (high - total).where(known, 0.0).round(3),
                 "arrayminus": (total - low).where(known, 0.0).round(3)},
    )  # fmt: skip


def plot_best(
    table: pd.DataFrame, *, x: str, y: str, title: str, labels: dict[str, str], why: str = ""
) -> go.Figure:
    """A map of the best policy: one square per combination of two parameters.

    Parameters
    ----------
    table : pd.DataFrame
        One row per square: columns `x` and `y`, `policy`, `mean`, and `tied`, the policies that are
        as good as far as can be told.
    x, y : str
    title : str
    labels : dict of str to str
        What the axes say, by column.
    why : str
        Said in the place of the figure where there are no rows.
    """
    check.instance("table", table, pd.DataFrame)
    if table.empty:
        return plot_nothing(title, why or "no burst came")
    picture = theme.figure(title=title, height=170 + 95 * table[y].nunique(), margin={"b": 110},
                           barmode="overlay")  # fmt: skip
    across, up = (list(dict.fromkeys(table[name])) for name in (x, y))
    for place, (policy, part) in enumerate(table.groupby("policy", sort=False)):
        texts = [_square(str(policy), *row) for row in part[["mean", "tied"]].to_numpy()]
        tint = theme.GREY if policy == "none" else theme.color(str(policy), place)
        places = [across.index(value) for value in part[x]]
        rows = [up.index(value) for value in part[y]]
        picture.add_bar(
            x=places, y=[0.92] * len(part), base=[row - 0.46 for row in rows], name=str(policy),
            width=0.92, text=texts, textposition="inside", insidetextanchor="middle",
            textangle=0, constraintext="none",
            textfont={"size": 12 if len(across) < 4 else 9, "color": theme.BLACK},
            marker={"color": faded(tint, 0.4), "line": {"color": theme.BLACK, "width": 1}},
            hovertemplate="%{text}<extra></extra>",
        )  # fmt: skip
    for axis, values, name in (("xaxis", across, x), ("yaxis", up, y)):
        ticks = [value if isinstance(value, str) else f"{value:,}" for value in values]
        picture.update_layout({axis: {
            "title": labels.get(name, name), "tickmode": "array", "showgrid": False,
            "tickvals": list(range(len(values))), "ticktext": ticks,
            "range": [-0.6, len(values) - 0.4],
        }})  # fmt: skip
    return picture.update_layout(showlegend=False)


def _square(policy: str, mean: float, tied: str) -> str:
    """What stands in a square of the map."""
    if pd.isna(mean):
        return policy
    others = f"<br>or {tied.replace(', ', ',<br>')}" if tied else ""
    return f"<b>{policy}</b><br>{mean:,.1f}{others}"


def plot_ondemand(
    schedule: OnDemandSchedule, *, start: float, end: float, title: str, bursts: Sequence[int] = ()
) -> go.Figure:
    """Gantt chart by node of a machine with bursts: what its nodes are used for, over time.

    Nodes are numbered as they are taken, lowest first, anew for each stretch of use.

    Parameters
    ----------
    schedule : OnDemandSchedule
    start, end : float
        The window, seconds.
    title : str
    bursts : sequence of int, optional
        Bursts whose submission is marked by a line; by default all in the window.
    """
    check.instance("schedule", schedule, OnDemandSchedule)
    blocks = use_blocks(schedule, start, end)
    if blocks.empty:
        return plot_nothing(title, "no job runs in these hours")
    picture = theme.figure(title=title, height=460, barmode="overlay", margin={"b": 110})
    picture.add_traces(list(use_bars(blocks, start)))
    told = (
        list(bursts) or schedule.bursts.query("submit_time >= @start and submit_time < @end").index
    )
    for burst in told:
        moment = float(schedule.workload.jobs["submit_time"][burst])
        picture.add_vline(round((moment - start) / HOUR, 4), line=ARRIVAL)
    if len(told):
        picture.add_scatter(x=[None], y=[None], mode="lines", line=ARRIVAL, name="a burst comes")
    picture.update_layout(legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0})
    picture.update_xaxes(title="hours", range=[0, (end - start) / HOUR])
    return picture.update_yaxes(title="nodes", range=[0, schedule.total_nodes])


def use_blocks(schedule: OnDemandSchedule, start: float, end: float) -> pd.DataFrame:
    """Blocks of neighboring nodes in a window: of which job and use, by its name in `USE_STYLES`.

    Returns
    -------
    pd.DataFrame
        `job`, `use`, `start`, `end` (s, cut to the window), `node` (the lowest) and `nodes`.
    """
    table = schedule.allocations
    table = table[(table["end"] > start) & (table["start"] < end)].reset_index(drop=True)
    times = table["start"].clip(lower=start), table["end"].clip(upper=end)
    blocks = lowest_blocks(
        times[0].to_numpy(), times[1].to_numpy(), table["nodes"].to_numpy(), schedule.total_nodes
    )
    names = {"run": "batch", "container": "containers", "killed": "lost",
             "checkpoint": "writing", "hold": "blocked", "reread": "rereading"}  # fmt: skip
    of_bursts = schedule.on_demand[table["job"].to_numpy()] & (table["use"] == "run").to_numpy()
    use = table["use"].astype("str").map(names).mask(of_bursts, "bursts")
    row = blocks.pop("row")
    return blocks.assign(job=table["job"].to_numpy()[row], use=use.to_numpy()[row])


def use_bars(blocks: pd.DataFrame, start: float) -> Iterator[go.Bar]:
    """Bars of blocks over hours since `start`, one trace per use but idleness."""
    for name, (label, tint, shape) in USE_STYLES.items():
        if name == "idle":
            continue
        part = blocks[blocks["use"] == name]
        yield go.Bar(
            x=((part["end"] - part["start"]) / HOUR).round(4),
            base=((part["start"] - start) / HOUR).round(4),
            y=part["node"] + part["nodes"] / 2, width=part["nodes"], orientation="h", name=label,
            marker={"color": tint, "line": {"color": "white", "width": 0.4},
                    "pattern": use_pattern(shape)},
            hovertemplate=f"{label}, from hour %{{base:.2f}}<extra></extra>",
        )  # fmt: skip


def use_pattern(shape: str) -> dict[str, Any]:
    """The pattern on a bar of a use."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": theme.BLACK, "fgopacity": 0.5,
            "solidity": 0.15, "size": 7}  # fmt: skip
