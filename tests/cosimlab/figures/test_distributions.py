"""Cumulative curves, violins and boxes show the distributions of their rows."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.figures import BOX, boxes, caption, ecdf, theme, violins
from cosimlab.figures.distributions import POINTS, density


def test_a_curve_is_the_share_of_rows_with_at_most_a_value():
    table = pd.DataFrame({"wait": [3.0, 1.0, 1.0, np.nan, 2.0], "policy": "EASY"})
    curve = ecdf(table, x="wait", line="policy").data[0]
    assert list(curve.x) == [1, 2, 3] and list(curve.y) == [0.5, 0.75, 1.0]
    assert curve.line.shape == "hv" and curve.line.color == theme.BLUE


def test_rows_may_have_weights_and_infinite_values_count():
    table = pd.DataFrame({"slowdown": [1.0, 2.0, np.inf], "node_hours": [1.0, 2.0, 5.0]})
    figure = ecdf(table, x="slowdown", weight="node_hours")
    assert list(figure.data[0].y) == [0.125, 0.375]
    assert figure.layout.yaxis.title.text == "share of node-hours"


def test_a_curve_of_many_rows_has_a_thousand_points_with_the_first_and_the_last():
    curve = ecdf(pd.DataFrame({"x": np.arange(100_000.0)}), x="x").data[0]
    assert len(curve.x) == POINTS and (curve.x[0], curve.x[-1]) == (0, 99_999)
    np.testing.assert_allclose(curve.y, (np.array(curve.x) + 1) / 100_000, atol=1e-6)


def test_violins_lie_beside_their_names_with_quartiles_and_medians():
    rows = [
        (panel, policy, period, value)
        for panel in ("HTC", "PEREGRINE")
        for policy in ("LIFO", "PAP")
        for period in ("60 s", "2 min")
        for value in range(5)
    ]
    table = pd.DataFrame(rows, columns=["workload", "policy", "period", "lost"])
    figure = violins(
        table,
        x="policy",
        y="lost",
        group="period",
        panel="workload",
        title="Lost",
        labels={"period": "grace period"},
    )
    filled = [trace for trace in figure.data if trace.fill == "toself"]
    assert [trace.name for trace in filled if trace.showlegend] == ["60 s", "2 min"]
    centers = [(max(trace.x) + min(trace.x)) / 2 for trace in filled[:4]]
    np.testing.assert_allclose(centers, [-0.21, 0.79, 0.21, 1.21], atol=1e-3)
    assert max(filled[0].x) < min(filled[2].x), "they do not touch"
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert all(list(trace.y) == [2, 2] for trace in dots) and len(dots) == 4
    bar = next(trace for trace in figure.data if trace.line.width == 4)
    assert list(bar.y) == [1, 3, None, 1, 3, None]
    assert [note.text for note in figure.layout.annotations] == ["(a) HTC", "(b) PEREGRINE"]
    assert figure.layout.legend.title.text == "grace period  "
    assert "end at the 99th percentile" in caption(figure)[0]


def test_violins_without_groups_have_the_colors_of_their_names():
    table = pd.DataFrame({"policy": ["EASY", "FCFS"] * 3, "wait": range(6)})
    figure = violins(table, x="policy", y="wait", shown=1.0)
    filled = [trace for trace in figure.data if trace.fill == "toself"]
    assert [trace.line.color for trace in filled] == [theme.BLUE, theme.ORANGE]
    assert [max(trace.y) for trace in filled] == [4, 5]
    with pytest.raises(ValueError, match="shown=2"):
        violins(table, x="policy", y="wait", shown=2)


def test_density_is_a_distribution_up_to_the_end_of_its_grid():
    values = np.random.default_rng(0).exponential(3.0, 50_000)
    grid = np.linspace(0, float(np.quantile(values, 0.99)), 160)
    dense = density(values, grid)
    assert np.trapezoid(dense, grid) == pytest.approx(0.99, abs=0.01)
    inside = grid > 0.5
    np.testing.assert_allclose(dense[inside], np.exp(-grid[inside] / 3) / 3, atol=0.02)


def test_density_of_a_uniform_sample_is_flat():
    grid = np.linspace(0.0, 1.0, 101)
    found = density(np.linspace(0.0, 2.0, 20_001), grid)
    np.testing.assert_allclose(found, 0.5, rtol=0.02)


def test_boxes_have_given_quantiles_and_means_above_them():
    rows = [["a", 1.0, 2.0, 3.0, 4.0, 5.0, 9.0], ["b", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
    table = pd.DataFrame(rows, columns=["run", *BOX]).assign(policy=["batch", "time-sharing"])
    figure = boxes(table, x="run", group="policy", log="y", labels={"value": "slowdown"})
    box, above, diamond = figure.data[:3]
    assert (box.lowerfence, box.q1, box.median, box.q3, box.upperfence) == tuple(
        (value,) for value in rows[0][1:6]
    )
    assert above.text == ("9",) and above.y[0] > 9 and diamond.y == (9.0,)
    assert (box.line.color, figure.data[3].line.color) == (theme.BLUE, theme.VERMILION)
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.yaxis.title.text == "slowdown (◆ mean)"
