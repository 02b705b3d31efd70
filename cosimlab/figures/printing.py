"""Figures for print: fonts, lines and sizes of a journal's column."""

import plotly.graph_objects as go

from cosimlab.figures.publishing import CaptionedFigure
from cosimlib import checks as check

PIXELS = 96
"""Pixels of an inch: what Plotly calls 336 pixels is 3.5 inches in a PDF."""
WIDTHS = {"column": (3.5, 2.6), "page": (7.16, 3.2)}
"""Inches of a column and of a page with two of them, as IEEE prints them, and heights."""
POINT = PIXELS / 72
TEXT, SMALL = 8 * POINT, 7 * POINT
"""Pixels of letters of eight and of seven points."""


def paper_style(
    figure: go.Figure, width: str = "column", *, height: float | None = None
) -> CaptionedFigure:
    """A copy of a figure in the size and the letters of a printed column.

    The title is left out, because it stands in the caption of the paper. Kaleido writes the copy as
    PDF, SVG or PNG, with `write_image`.

    Parameters
    ----------
    figure : go.Figure
    width : {"column", "page"}
        3.5 inches, or 7.16 inches.
    height : float, optional
        Inches; by default 2.6 in a column and 3.2 across a page.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> table = pd.DataFrame({"load": [0.7, 0.9], "wait": [1.0, 8.0]})
    >>> figure = lab.figures.lines(table, x="load", y="wait", title="Waits")
    >>> figure = lab.figures.paper_style(figure, "column")
    >>> figure.layout.width, figure.layout.title.text, round(figure.layout.font.size, 1)
    (336, None, 10.7)
    >>> figure.write_image("waits.pdf")  # doctest: +SKIP
    """
    check.instance("figure", figure, go.Figure)
    check.choice("width", width, WIDTHS)
    check.number("height", height, above=0, kind="inches", none=True)
    across, up = WIDTHS[width]
    printed = CaptionedFigure(figure)
    headed = len(printed.layout.annotations) > 0
    printed.update_layout(
        title=None,
        width=round(across * PIXELS),
        height=round((height or up) * PIXELS),
        font={"size": TEXT},
        margin={"l": 45, "r": 8, "t": 24 if headed else 8, "b": 40, "autoexpand": True},
        legend={"font": {"size": SMALL}, "title": {"font": {"size": SMALL}}},
    )
    axis = {"tickfont": {"size": SMALL}, "title": {"font": {"size": TEXT}, "standoff": 4}}
    printed.update_xaxes(**axis).update_yaxes(**axis).update_annotations(font={"size": TEXT})
    bar = {"tickfont": {"size": SMALL}, "title": {"font": {"size": SMALL}}, "thickness": 10}
    printed.update_traces(colorbar=bar, selector={"type": "heatmap"})
    printed.update_traces(
        marker={"size": 4}, line={"width": 1.2}, selector={"mode": "lines+markers"}
    )
    return printed
