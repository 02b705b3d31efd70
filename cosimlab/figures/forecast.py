"""Figures of forecasts: when each waiting job starts, and how often intervals held."""

import pandas as pd
import plotly.graph_objects as go

from cosimlab.figures import theme
from cosimlab.figures.charts import add_reference, plot_empty
from cosimlib import checks as check
from cosimlib.display import count, duration
from cosimlib.units import HOUR

ROW, AROUND = 24, 130
"""Pixels of height: of a job, and around all of them."""

BANDS = {"80": 0.3, "50": 0.7}
"""Opacity of each interval's bar, by its percentage."""


def plot_forecast(table: pd.DataFrame, *, title: str, most: int = 40) -> go.Figure:
    """A fan per job: the median start, and the intervals that hold 50 and 80 % of the futures.

    Parameters
    ----------
    table : pd.DataFrame
        `Forecast.table` or `Forecast.asked`: times in seconds from the instant.
    title : str
    most : int, default 40
        Jobs drawn, the first of the table.
    """
    check.instance("table", table, pd.DataFrame)
    wanted = [f"{side}_{percentage}" for percentage in BANDS for side in ("low", "high")]
    check.columns(table, ["nodes", "requested_time", "median", *wanted], where="table")
    check.whole("most", most, 1)
    if table.empty:
        return plot_empty(title, "no job waits")
    rows = table.head(most)
    names = [_name(row, job) for row, job in rows.iterrows()]
    picture = theme.figure(title=title, height=AROUND + ROW * len(rows), barmode="overlay")
    tint = theme.color("EASY", 0)
    for percentage, opacity in BANDS.items():
        low, high = rows[f"low_{percentage}"] / HOUR, rows[f"high_{percentage}"] / HOUR
        picture.add_bar(
            y=names,
            x=(high - low).round(4),
            base=low.round(4),
            orientation="h",
            width=0.7,
            name=f"{percentage} % of the futures",
            marker={"color": theme.faded(tint, opacity)},
            customdata=pd.concat([low, high], axis=1).round(3).to_numpy().tolist(),
            hovertemplate="%{customdata[0]} to %{customdata[1]} h",
        )
    picture.add_scatter(
        y=names,
        x=(rows["median"] / HOUR).round(4),
        mode="markers",
        name="median",
        marker={"symbol": "line-ns", "size": 14, "line": {"width": 2, "color": theme.BLACK}},
    )
    picture.update_yaxes(autorange="reversed", type="category", showgrid=False)
    return picture.update_xaxes(title="start, hours from now", rangemode="tozero")


def plot_pit(pit: pd.DataFrame, *, title: str) -> go.Figure:
    """How often the wait was in each tenth of its forecast: all bars are equal if it holds.

    High bars at both ends show intervals that are too narrow, high bars in the middle ones that are
    too wide.

    Parameters
    ----------
    pit : pd.DataFrame
        `Backtest.pit`: a share of the cases per tenth, a column per method.
    title : str
    """
    check.instance("pit", pit, pd.DataFrame)
    picture = theme.figure(title=title, barmode="group")
    for place, method in enumerate(pit):
        marker = theme.bar(theme.color(str(method), place), "/" * (place % 2))
        shares = (100 * pit[method]).round(2)
        picture.add_bar(x=pit.index, y=shares, name=str(method), marker=marker)
    add_reference(picture, 100 / max(len(pit), 1), "if intervals hold")
    picture.update_xaxes(title="Probability of a shorter wait, by the forecast", type="category")
    return picture.update_yaxes(title="Waits (%)", rangemode="tozero")


def _name(row: object, job: pd.Series) -> str:
    """A job, and what it asks for: "4711: 16 nodes, 10 h"."""
    shape = f"{count(int(job['nodes']), 'node')}, {duration(job['requested_time'])}"
    return f"{job.get('job_id', row)}: {shape}" if "waited" in job else shape
