"""Figures as pictures: without the sliders and buttons that only a live figure answers to."""

from typing import Any

import plotly.graph_objects as go
from plotly.io import base_renderers

CONTROLS = "controls"
"""Under this name a figure's `layout.meta` says how many pixels at its bottom are controls."""


class StillRenderer(base_renderers.PngRenderer):
    """Notebooks' PNG, without controls."""

    def to_mimebundle(self, fig_dict: dict[str, Any]) -> dict[str, str]:
        """The picture, by its MIME type."""
        picture = go.Figure(fig_dict, skip_invalid=True)
        bundle: dict[str, str] = super().to_mimebundle(still(picture).to_dict())
        return bundle


def still(figure: go.Figure) -> go.Figure:
    """The figure, or a copy without its controls and without the room that they take."""
    layout = figure.layout
    if not (layout.sliders or layout.updatemenus):
        return figure
    picture = go.Figure(figure.data, layout)
    picture.layout.sliders = picture.layout.updatemenus = ()
    room = (layout.meta or {}).get(CONTROLS, 0)
    if room:
        picture.update_layout(height=layout.height - room, margin_b=layout.margin.b - room)
        for note in picture.layout.annotations:
            if note.yref == "paper" and note.y == 0 and note.yshift is not None:
                note.yshift += room
    return picture
