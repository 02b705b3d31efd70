"""Figure of a forecast: when each waiting job starts, with intervals."""

import pandas as pd
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib.display import count, duration
from cosimlib.figures import theme
from cosimlib.figures.charts import plot_empty
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
            y=names, x=(high - low).round(4), base=low.round(4), orientation="h", width=0.7,
            name=f"{percentage} % of the futures", marker={"color": theme.faded(tint, opacity)},
            customdata=pd.concat([low, high], axis=1).round(3).to_numpy().tolist(),
            hovertemplate="%{customdata[0]} to %{customdata[1]} h",
        )  # fmt: skip
    picture.add_scatter(
        y=names, x=(rows["median"] / HOUR).round(4), mode="markers", name="median",
        marker={"symbol": "line-ns", "size": 14, "line": {"width": 2, "color": theme.BLACK}},
    )  # fmt: skip
    picture.update_yaxes(autorange="reversed", type="category", showgrid=False)
    return picture.update_xaxes(title="start, hours from now", rangemode="tozero")


def _name(row: object, job: pd.Series) -> str:
    """A job, and what it asks for: "4711: 16 nodes, 10 h"."""
    shape = f"{count(int(job['nodes']), 'node')}, {duration(job['requested_time'])}"
    return f"{job.get('job_id', row)}: {shape}" if "waited" in job else shape
