"""The height of horizontal legends by the rules of Plotly, on a page of 700 pixels."""

import plotly.graph_objects as go
import pytest

from cosimlib.figures import theme
from cosimlib.figures.legends import GROUP_GAP, ROW, legend_depth

UNDER = {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0}
AXES = {"height": 300, "margin": {"l": 75, "r": 25, "t": 50, "b": 50}}


def named(*names: str, **layout) -> go.Figure:
    lines = [go.Scatter(y=[1, 2], name=name) for name in names]
    return theme.style(go.Figure(lines), **{"legend": UNDER, **AXES, **layout})


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["HH", "HY"], 1),
        (["a" * 60, "b" * 60], 2),
        (["wait"] * 8, 1),
        (["wait"] * 8 + ["x" * 20], 3),
    ],
)
def test_entries_that_do_not_fit_in_a_row_stand_in_columns(names, rows):
    assert legend_depth(named(*names)) == 0.2 * 200 + ROW * rows


def test_entries_of_a_group_are_above_each_other():
    picture = named("one", "two", "three")
    for trace, group in zip(picture.data, "aab", strict=True):
        trace.legendgroup = group
    assert legend_depth(picture) == 0.2 * 200 + 2 * ROW + GROUP_GAP / 2


def test_what_is_not_in_the_legend_takes_no_room():
    picture = named("seen", "x" * 90, "y" * 90)
    picture.data[1].showlegend = False
    picture.data[2].y = []
    assert legend_depth(picture) == 0.2 * 200 + ROW


@pytest.mark.parametrize(
    "layout",
    [{"showlegend": False}, {"legend": {"orientation": "v"}}, {"legend": {**UNDER, "y": 1.02}},
     {"height": None}],
)  # fmt: skip
def test_no_legend_under_the_axes_takes_no_room(layout):
    assert legend_depth(named("a", "b", **layout)) == 0
    assert legend_depth(go.Figure(layout=AXES)) == 0
