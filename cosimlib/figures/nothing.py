"""A sentence in the place of a figure: a question that the data cannot answer."""

import textwrap

import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib.figures import theme

LINE = 90
"""Letters of a line, about."""


def plot_nothing(title: str, why: str) -> go.Figure:
    """A figure without axes that says in a sentence why there is nothing to draw.

    Parameters
    ----------
    title : str
        That of the figure in whose place it stands.
    why : str
        What the data lack: "no job of this log waits".
    """
    check.instance("why", why, str)
    sentence = f"Nothing to draw: {why.strip().rstrip('.')}."
    picture = theme.figure(title=title, height=200, showlegend=False)
    picture.add_annotation(
        text="<br>".join(textwrap.wrap(sentence, LINE)), showarrow=False, align="left",
        xref="paper", x=0, xanchor="left", yref="paper", y=0.5, yanchor="middle",
    )  # fmt: skip
    picture.update_xaxes(visible=False, range=[0, 1])
    return picture.update_yaxes(visible=False, range=[0, 1])
