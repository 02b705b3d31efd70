"""The room that a legend under the axes takes, by Plotly's rules for horizontal legends.

Plotly does not tell how high a legend is, so it is reckoned from the letters of its entries, on a
page of 700 pixels: on a wider one the legend is as high, or less.
"""

import plotly.graph_objects as go

PAGE = 700
SYMBOL, LETTER = 45, 7.0
"""Pixels of an entry's symbol with the gaps beside it, and of a letter, about."""
ROW, GROUP_GAP = 19, 10
"""Pixels of a row of entries, and between rows of groups."""
PLOTLY_MARGIN = 80


def legend_depth(picture: go.Figure) -> float:
    """Pixels from the lower end of the axes to that of a horizontal legend under them; 0 without.

    Entries of one group are above each other. Without groups all entries are as wide as the widest,
    unless they fit in one row.
    """
    layout, template = picture.layout, picture.layout.template.layout
    legend, height = layout.legend, layout.height or template.height
    groups = _groups(picture)
    if layout.showlegend is False or legend.orientation != "h" or not (groups and height):
        return 0.0
    if legend.y is None or legend.y > 0 or legend.yref == "container":
        return 0.0
    margins = [(layout.margin[side], template.margin[side], PLOTLY_MARGIN) for side in "lrtb"]
    left, right, top, bottom = (next(m for m in given if m is not None) for given in margins)
    widths = [SYMBOL + LETTER * max(map(len, names)) for names in groups]
    grouped = any(getattr(trace, "legendgroup", None) for trace in picture.data)
    if not grouped and sum(widths) > PAGE - left - right:
        widths = [max(widths)] * len(widths)
    rows, used = [0], 0.0
    for names, width in zip(groups, widths, strict=True):
        if used and used + width > PAGE - left - right:
            rows.append(0)
            used = 0.0
        used += width
        rows[-1] = max(rows[-1], len(names))
    gaps = GROUP_GAP * (len(rows) - 0.5) if grouped else 0.0
    return float(ROW * sum(rows) + gaps - legend.y * (height - top - bottom))


def _groups(picture: go.Figure) -> list[list[str]]:
    """The names of the legend's entries, by group; an entry without a group is one by itself."""
    groups: dict[str | int, list[str]] = {}
    for number, trace in enumerate(picture.data):
        shown = getattr(trace, "showlegend", False) is not False and trace.visible in (None, True)
        y = getattr(trace, "y", None)
        if shown and trace.name and (y is None or len(y)):
            groups.setdefault(trace.legendgroup or number, []).append(trace.name)
    return list(groups.values())
