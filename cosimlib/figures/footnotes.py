"""Small print under a figure: what its marks mean, the paper it is after, and its data."""

import math
import textwrap

import plotly.graph_objects as go

from cosimlib.figures.legends import PAGE, PLOTLY_MARGIN, legend_depth

LINE, LETTER = 104, 6
"""Letters of a line, at most, and pixels of a letter, about."""

LINE_HEIGHT = 15
FOOTER_HEIGHT = 18
AIR = 8
"""Pixels between a legend that needs more room than it was given and what is below it."""
NOTE, FOOTER = "note", "data"


def footnote(picture: go.Figure, text: str) -> go.Figure:
    """`picture` with a sentence under its axes that defines what it draws, after earlier ones."""
    left = picture.layout.margin.l or 0
    lines = textwrap.wrap(text, min(LINE, int((PAGE - left) / LETTER)))
    yshift = -_deepen(picture, LINE_HEIGHT * len(lines))
    notes = [note for note in picture.layout.annotations if note.name == NOTE]
    if notes:
        notes[0].text = "<br>".join([notes[0].text, *lines])
        notes[0].yshift = yshift
        return picture
    return picture.add_annotation(
        name=NOTE, text="<br>".join(lines), font={"size": 11, "color": "#444444"}, align="left",
        showarrow=False, xref="paper", x=0, xanchor="left", yref="paper", y=0, yanchor="bottom",
        yshift=yshift,
    )  # fmt: skip


def footer(picture: go.Figure, text: str) -> go.Figure:
    """`picture` with one small gray line on its lower edge, in place of an earlier one."""
    footers = [note for note in picture.layout.annotations if note.name == FOOTER]
    if footers:
        footers[0].text = text
        return picture
    return picture.add_annotation(
        name=FOOTER, text=text, font={"size": 10, "color": "gray"}, showarrow=False,
        xref="paper", x=1, xanchor="right", yref="paper", y=0, yanchor="bottom",
        yshift=-_deepen(picture, FOOTER_HEIGHT),
    )  # fmt: skip


def _deepen(picture: go.Figure, pixels: int) -> float:
    """Make the bottom margin and the figure so much higher; the margin then.

    And higher than that where a legend would else lie on what is written there.
    """
    template = picture.layout.template.layout
    margins = (picture.layout.margin.b, template.margin.b, PLOTLY_MARGIN)
    margin = next(margin for margin in margins if margin is not None)
    notes = [note for note in picture.layout.annotations if note.name in (NOTE, FOOTER)]
    depth = legend_depth(picture)
    if not notes and depth > margin:
        pixels += math.ceil(depth - margin) + AIR
    height = picture.layout.height or template.height
    picture.update_layout(margin_b=margin + pixels)
    if height:
        picture.update_layout(height=height + pixels)
    return margin + pixels
