"""Values over time as steps."""

import pandas as pd
import plotly.graph_objects as go

from cosimlib.figures import theme
from cosimlib.units import DAY


def plot_series(
    series: pd.Series, *, title: str, unit: str, reference: tuple[float, str] | None = None
) -> go.Figure:
    """One value a window, indexed by the window's start in seconds; drawn over days.

    Parameters
    ----------
    series : pd.Series
    title, unit : str
        Above the figure, beside the vertical axis.
    reference : tuple of float and str, optional
        A dashed horizontal line and its name.
    """
    days = (series.index.to_numpy(dtype=float) / DAY).round(5)
    values = series.to_numpy(dtype=float).round(3)
    picture = theme.figure(title=title, height=360, showlegend=False)
    picture.add_scatter(
        x=days, y=values, mode="lines", line={"shape": "hv", "width": 1.2, "color": theme.BLUE}
    )
    if reference is not None:
        value, name = reference
        picture.add_hline(
            value, line={"dash": "dash", "width": 1, "color": theme.BLACK},
            annotation={"text": name, "font": {"size": 11}}, annotation_position="top left",
        )  # fmt: skip
    picture.update_xaxes(title="days since the start of the trace")
    return picture.update_yaxes(title=unit, rangemode="tozero")
