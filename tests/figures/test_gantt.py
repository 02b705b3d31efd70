"""Gantt charts by node: axes of long schedules."""

import pandas as pd

from cosimlib.figures.gantt import plot_nodes


def test_long_schedules_have_hours_on_the_axis():
    table = pd.DataFrame(
        {"label": ["1"], "kind": "regular", "start": 0.0, "end": 90_000.0, "first": 0, "nodes": 3}
    )
    figure = plot_nodes(table, title="A day")
    assert figure.layout.xaxis.ticktext is None and list(figure.layout.xaxis.range) == [0, 25]
    assert figure.data[0].hovertext == "1: nodes 1 to 3"
