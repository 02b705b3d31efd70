"""Jobs as bars over time."""

import pandas as pd
import plotly.graph_objects as go

from cosimlib.figures import theme

HOUR = 3600.0


def plot_gantt(
    table: pd.DataFrame,
    *,
    title: str,
    region: tuple[float, float] | None = None,
    moment: float | None = None,
) -> go.Figure:
    """A bar a job, the earliest at the bottom, with the nodes that it holds.

    Parameters
    ----------
    table : pd.DataFrame
        Indexed by job, in the order of the bars: `start` and `end` in seconds, `nodes`.
    title : str
    region : tuple of float, optional
        Seconds between which all jobs run, shaded and labeled.
    moment : float, optional
        Seconds of the eviction, a line.
    """
    rows = list(range(1, len(table) + 1))
    hours = (table[["start", "end"]] / HOUR).round(5)
    labels = [f"{nodes:,} node{'s' if nodes > 1 else ''}" for nodes in table["nodes"]]
    picture = theme.figure(title=title, height=150 + 22 * max(len(table), 8), showlegend=False)
    picture.add_bar(
        y=rows, x=(hours["end"] - hours["start"]).round(5), base=hours["start"], orientation="h",
        marker={"color": theme.SKY, "line": {"color": theme.BLUE, "width": 1}},
        text=labels, textposition="outside", textangle=0, cliponaxis=False,
        textfont={"size": 11, "color": theme.BLACK}, constraintext="none",
        customdata=table.index, hovertemplate="job %{customdata}, %{text}<extra></extra>",
    )  # fmt: skip
    if region is not None:
        _mark_region(picture, region)
    if moment is not None:
        picture.add_vline(moment / HOUR, line={"width": 2, "color": theme.VERMILION})
        picture.add_annotation(
            x=moment / HOUR, y=0, yref="paper", text="eviction", showarrow=False,
            yanchor="bottom", xanchor="left", xshift=3, font={"color": theme.VERMILION},
            bgcolor="rgba(255,255,255,0.8)",
        )  # fmt: skip
    last = float(hours["end"].max())
    picture.update_xaxes(title="hours since the earliest start", range=[0, 1.14 * last])
    return picture.update_yaxes(
        title="job",
        tickmode="array",
        tickvals=rows,
        ticktext=[str(job) for job in table.index],
        range=[0, rows[-1] + 1],
    )


def _mark_region(picture: go.Figure, region: tuple[float, float]) -> None:
    """Shade the stretch in which all jobs run and write its two moments above it."""
    begin, end = region
    picture.add_vrect(
        begin / HOUR, end / HOUR, fillcolor=theme.YELLOW, opacity=0.3, line_width=0, layer="below"
    )
    picture.add_annotation(
        x=(begin + end) / 2 / HOUR, y=1, yref="paper", showarrow=False, yanchor="bottom",
        text=f"all run from {clock(begin)} to {clock(end)}", font={"size": 12},
    )  # fmt: skip
    for moment in region:
        picture.add_vline(moment / HOUR, line={"dash": "dash", "width": 1, "color": theme.BLACK})


def clock(seconds: float) -> str:
    """Hours and minutes, ``02:41``."""
    minutes = int(seconds // 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
