"""Figures of the study: a day, ledgers of node-hours, slowdown, the best policies, bandwidths."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

import cosimlab as lab
from cosimlab.figures import theme
from cosimlab.figures.gantt import USES
from cosimlab.palette import WINE
from cosimlib.display import percent
from cosimlib.ondemand import LEDGER, OVERHEAD, OnDemandSchedule
from cosimlib.units import DAY, HOUR
from papers.bursts.experiment import (
    AHEAD,
    MOST_MISSED,
    MOST_STRETCH,
    Study,
    cost_table,
    ledger_table,
    slowdown_table,
)
from papers.paper import Drawing

ARRIVAL = {"width": 1.2, "dash": "dot", "color": WINE}
"""The line at which a burst is submitted."""
NO_BURST = "no burst came"

MECHANISMS = (
    "dynamic_blocked: evicts for the least loss, nodes that stand still counted. share: bursts run "
    "beside jobs, half of the time. At a notice N does nothing, CUA collects nodes until the burst "
    "comes, CUP until it is expected; then PAA preempts jobs, SPAA shrinks malleable ones first."
)


def draw_day(schedule: OnDemandSchedule) -> Drawing:
    """The day with most evictions, by node."""
    times = pd.concat([schedule.evictions["time"], pd.Series([schedule.span[0]])])
    day = float((times // DAY).mode().iloc[0] * DAY)
    figure = lab.figures.plot_gantt(
        schedule,
        start=day,
        end=day + DAY,
        title=f"Figure 1. A day of batch jobs and bursts, policy {schedule.policy}",
    )
    coming = schedule.bursts["submit_time"]
    for moment in coming[coming.between(day, day + DAY, inclusive="left")]:
        figure.add_vline(round((moment - day) / HOUR, 4), line=ARRIVAL)
    figure.add_scatter(x=[None], y=[None], mode="lines", line=ARRIVAL, name="a burst comes")
    shown = schedule.allocations.query("end > @day and start < @day + @DAY")
    return Drawing(figure, shown.reset_index(drop=True))


def draw_policies(
    study: Study, first: Mapping[str, OnDemandSchedule], runs: pd.DataFrame
) -> Drawing:
    """Node-hours by use under the policies."""
    rate, nodes = study.stream["rate"], study.stream["nodes"]
    title = f"Figure 2. Node-hours by use: {rate:g} bursts a day of {nodes:,} nodes"
    return _draw_ledgers(study, first, runs, title)


def draw_ideas(study: Study, first: Mapping[str, OnDemandSchedule], runs: pd.DataFrame) -> Drawing:
    """Node-hours by use under all ideas."""
    title = "Figure 6. Policies beside filler containers: node-hours by use"
    return _draw_ledgers(study, first, runs, title, MECHANISMS)


def _draw_ledgers(
    study: Study,
    first: Mapping[str, OnDemandSchedule],
    runs: pd.DataFrame,
    title: str,
    more: str = "",
) -> Drawing:
    """The first seed's machine, and what evictions cost per burst on all seeds."""
    hours, costs = ledger_table(study, first), cost_table(runs)
    note = f"95 % intervals over {len(study.seeds)} seeds of bursts, memory and logs drawn anew."
    figure = plot_ledger(hours, costs.loc[hours.index], title=title)
    numbers = hours.join(costs.add_suffix(" per burst")).round(3)
    return Drawing(figure, numbers, f"{note} {more}".strip())


def draw_slowdown(schedules: Mapping[str, OnDemandSchedule], plain: OnDemandSchedule) -> Drawing:
    """Slowdown of batch jobs by size, without bursts and under policies that hold no nodes."""
    shown = {name: one for name, one in schedules.items() if not one.reserved}
    table = slowdown_table(shown | {"no bursts": plain}).round(3)
    figure = lab.figures.lines(
        table,
        x="nodes",
        y="slowdown",
        line="policy",
        title="Figure 3. Slowdown of batch jobs by size",
        labels={"nodes": "nodes of the job", "slowdown": "mean bounded slowdown", "policy": ""},
    )
    return Drawing(figure, table)


def draw_best(best: pd.DataFrame, seeds: Sequence[int]) -> Drawing:
    """The map of the best policies; with notices where the policy that uses them is among these."""
    heeded = any("CUP" in f"{square.policy}, {square.tied}" for square in best.itertuples())
    best = best if heeded else best[~best["stream"].str.endswith(AHEAD)]
    when = "; announced 15 to 30 minutes ahead or not" if heeded else ""
    labels = {"rate": f"bursts per day{when}", "nodes": "nodes of a burst"}
    title = "Figure 4. Policy with the least overhead (node-hours per burst)"
    note = (
        f"{len(seeds)} seeds; at most {percent(MOST_MISSED, 0)} of deadlines missed, bursts at "
        f"most {MOST_STRETCH} times as long. After 'or': what the seeds cannot tell from the best "
        "(paired 95 % intervals)."
    )
    if not heeded:
        note += (
            " Bursts announced 15 to 30 minutes ahead give the same map: of these policies only "
            "CUP & PAA heeds notices, and it is nowhere among the best."
        )
    return Drawing(plot_best(best, title=title, labels=labels), best.round(2), note)


def draw_bandwidths(cost: pd.DataFrame, seeds: Sequence[int]) -> Drawing:
    """Overhead against the bandwidth of the file system."""
    labels = {"bandwidth": "bandwidth of the file system, GB/s", "mean": "node-hours per burst"}
    figure = lab.figures.lines(
        cost.round(3),
        x="bandwidth",
        y="mean",
        line="policy",
        band=("low", "high"),
        log="xy",
        title="Figure 5. Overhead by bandwidth of the file system",
        labels=labels,
        why=NO_BURST,
    )
    return Drawing(figure, cost.round(3), f"Bands are 95 % intervals over {len(seeds)} seeds.")


FIGURES: dict[str, Callable[..., Drawing]] = {
    "figure-1": draw_day,
    "figure-2": draw_policies,
    "figure-3": draw_slowdown,
    "figure-4": draw_best,
    "figure-5": draw_bandwidths,
    "figure-6": draw_ideas,
}


def plot_ledger(hours: pd.DataFrame, costs: pd.DataFrame, *, title: str) -> go.Figure:
    """Where a machine's node-hours go by policy, to its capacity, and what evictions cost.

    Parameters
    ----------
    hours : pd.DataFrame
        Node-hours: one row per policy, the columns of `ondemand.LEDGER`.
    costs : pd.DataFrame
        Node-hours per burst: one row per policy, the columns of `ondemand.OVERHEAD`, and `low` and
        `high`, the interval of their sum.
    title : str
    """
    if hours.empty:
        return lab.figures.plot_empty(title, NO_BURST)
    picture = make_subplots(
        cols=2,
        column_widths=[0.5, 0.5],
        horizontal_spacing=0.05,
        shared_yaxes=True,
        subplot_titles=("(a) the machine's node-hours", "(b) cost per burst"),
    )
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
    theme.style(
        picture,
        title=title,
        height=42 * max(len(hours), 4) + 210,
        barmode="stack",
        bargap=0.35,
        margin={"t": 90},
    )
    picture.update_xaxes(title="percent of node-hours", range=[0, 100], col=1)
    known = costs["high"].where(costs["high"] < float("inf")).fillna(0.0)
    most = max(float(known.max()), float(total.max()), 1.0)
    picture.update_xaxes(title="node-hours", range=[0, 1.05 * most], col=2)
    return picture.update_yaxes(autorange="reversed", col=1)


def _bar(values: pd.Series, use: str, hover: str) -> go.Bar:
    """One use's bars, stacked by policy."""
    name, tint, shape = USES[use]
    return go.Bar(
        y=list(values.index),
        x=values.to_numpy(dtype=float).round(3),
        name=name,
        orientation="h",
        legendgroup=use,
        hovertemplate=hover,
        marker=theme.bar(tint, shape),
    )


def _whiskers(total: pd.Series, low: pd.Series, high: pd.Series) -> go.Scatter:
    """The interval of each sum, where it has ends."""
    known = low.gt(-float("inf")) & high.lt(float("inf"))
    return go.Scatter(
        y=list(total.index),
        x=total.round(3),
        mode="markers",
        showlegend=False,
        hoverinfo="skip",
        name="95 % interval",
        cliponaxis=False,
        marker={"size": 4, "color": theme.BLACK},
        error_x={
            "type": "data",
            "symmetric": False,
            "color": theme.BLACK,
            "array": (high - total).where(known, 0.0).round(3),
            "arrayminus": (total - low).where(known, 0.0).round(3),
        },
    )


def plot_best(table: pd.DataFrame, *, title: str, labels: Mapping[str, str]) -> go.Figure:
    """A map of the best policy: one square per combination of two parameters.

    Parameters
    ----------
    table : pd.DataFrame
        One row per square: `rate`, `nodes`, `policy`, `mean`, and `tied`, the policies that the
        seeds do not tell from it.
    title : str
    labels : dict of str to str
        What the axes say, by column.
    """
    if table.empty:
        return lab.figures.plot_empty(title, NO_BURST)
    height = 170 + 95 * table["nodes"].nunique()
    picture = theme.figure(title=title, height=height, barmode="overlay")
    across, up = (list(dict.fromkeys(table[name])) for name in ("rate", "nodes"))
    for place, (policy, part) in enumerate(table.groupby("policy", sort=False)):
        texts = [_square(str(policy), *row) for row in part[["mean", "tied"]].to_numpy()]
        tint = theme.GREY if policy == "none" else theme.color(str(policy), place)
        places = [across.index(value) for value in part["rate"]]
        rows = [up.index(value) for value in part["nodes"]]
        picture.add_bar(
            x=places,
            y=[0.92] * len(part),
            base=[row - 0.46 for row in rows],
            name=str(policy),
            width=0.92,
            text=texts,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"size": 12 if len(across) < 4 else 9, "color": theme.BLACK},
            marker={"color": theme.faded(tint, 0.4), "line": {"color": theme.BLACK, "width": 1}},
            hovertemplate="%{text}<extra></extra>",
        )
    for axis, values, name in (("xaxis", across, "rate"), ("yaxis", up, "nodes")):
        ticks = [value if isinstance(value, str) else f"{value:,}" for value in values]
        picture.update_layout(
            {
                axis: {
                    "title": labels.get(name, name),
                    "tickmode": "array",
                    "showgrid": False,
                    "tickvals": list(range(len(values))),
                    "ticktext": ticks,
                    "range": [-0.6, len(values) - 0.4],
                }
            }
        )
    return picture.update_layout(showlegend=False)


def _square(policy: str, mean: float, tied: str) -> str:
    """What stands in a square of the map."""
    if pd.isna(mean):
        return policy
    others = f"<br>or {tied.replace(', ', ',<br>')}" if tied else ""
    return f"<b>{policy}</b><br>{mean:,.1f}{others}"
