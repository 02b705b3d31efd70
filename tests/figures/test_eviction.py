"""Figures show the numbers that they are given, under titles, units and names."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from cosimlib.eviction import solve_dynamic, solve_spectrum
from cosimlib.eviction.scenarios import scaled_problem
from cosimlib.figures import theme
from cosimlib.figures.eviction import (
    LARGEST_HEIGHT,
    plan_table,
    plot_jobs,
    plot_loss_surface,
    plot_plan,
    surface_table,
)
from cosimlib.figures.gantt import clock, plot_gantt
from cosimlib.figures.lines import plot_curves, plot_series
from cosimlib.policies import SIMULATORS


@pytest.fixture(scope="module")
def problem():
    return scaled_problem(8, 1000, needed=0.5, seed=4)


def test_series_are_steps_over_days():
    series = pd.Series([1.0, 3.0], index=[0.0, 43_200.0])
    figure = plot_series(series, title="Load", unit="nodes", reference=(4.0, "all"))
    (line,) = figure.data
    assert list(line.x) == [0.0, 0.5] and list(line.y) == [1.0, 3.0] and line.line.shape == "hv"
    assert figure.layout.title.text == "Load" and figure.layout.yaxis.title.text == "nodes"
    assert figure.layout.annotations[0].text == "all"


@pytest.mark.parametrize(
    ("began", "first", "title"),
    [
        (pd.Timestamp("2011-03-27 00:30", tz="Europe/Paris"), "2011-03-27 00:30:00",
         "date (Europe/Paris)"),
        (pd.Timestamp("2011-03-27 00:30"), "2011-03-27 00:30:00", "date (local time)"),
        (pd.Timestamp("2011-03-27 00:30", tz="UTC"), "2011-03-27 00:30:00", "date (UTC)"),
    ],
)  # fmt: skip
def test_series_of_known_beginning_are_over_dates(began, first, title):
    series = pd.Series([1.0, 3.0], index=[0.0, 7_200.0])
    figure = plot_series(series, title="Load", unit="nodes", began=began)
    (line,) = figure.data
    # In the small hours of that Sunday, clocks in Paris went forward.
    later = "03:30:00" if "Paris" in title else "02:30:00"
    assert list(line.x) == [first, f"2011-03-27 {later}"]
    assert (figure.layout.xaxis.type, figure.layout.xaxis.title.text) == ("date", title)


def test_gantt_bars_run_from_start_to_end():
    table = pd.DataFrame(
        {"start": [0, 3600], "end": [7200, 5400], "nodes": [1024, 8]}, index=[7, 9]
    )
    figure = plot_gantt(table, title="Jobs", region=(3600, 5400), moment=4000)
    (bars,) = figure.data
    assert list(bars.base) == [0, 1] and list(bars.x) == [2, 0.5]
    assert list(bars.text) == ["1,024 nodes", "8 nodes"] and list(bars.customdata) == [7, 9]
    texts = [note.text for note in figure.layout.annotations]
    assert "all run from 01:00 to 01:30" in texts and "eviction" in texts
    assert clock(9660) == "02:41"


def test_curves_have_a_panel_a_value_and_open_markers_for_bounds():
    table = pd.DataFrame(
        {"x": [0, 1] * 4, "y": [1.0, 2, 3, 4, 5, 6, 7, 8], "k": [1] * 4 + [2048] * 4,
         "who": ["dynamic", "dynamic", "b", "b"] * 2, "low": [False] * 7 + [True]}
    )  # fmt: skip
    figure = plot_curves(table, x="x", y="y", line="who", panel="k", bound="low", log="y",
                         title="T", labels={"x": "minutes", "y": "ms", "k": "K ="})  # fmt: skip
    assert [note.text for note in figure.layout.annotations] == ["(a) K = 1", "(b) K = 2,048"]
    assert [list(trace.y) for trace in figure.data[:4]] == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert [trace.showlegend for trace in figure.data[:4]] == [True, True, False, False]
    assert list(figure.data[3].marker.symbol) == ["square", "square-open"]
    assert figure.data[4].name == "lower bound (time limit)"
    assert figure.layout.yaxis.type == "log" and figure.layout.xaxis2.title.text == "minutes"
    assert figure.data[0].line.color == figure.data[2].line.color == theme.BLUE


def test_curves_without_a_value_say_so():
    table = pd.DataFrame({"x": [1, 2], "y": [np.nan, np.nan], "who": ["a", "b"]})
    shared = {"x": "x", "y": "y", "line": "who", "title": "t", "labels": {}}
    for why, said in (("", "none of these cases has a value"), ("no job", "no job")):
        drawn = plot_curves(table, why=why, **shared)
        assert not drawn.data and drawn.layout.annotations[0].text == f"Nothing to draw: {said}."
    assert len(plot_curves(table.fillna({"y": 1.0}), **shared).data) == 2


def test_bands_lie_under_their_lines_and_panels_name_their_own_axes():
    table = pd.DataFrame({"x": [0, 1], "y": [2.0, 3], "low": [1.0, 2], "high": [4.0, 5],
                          "line": "a", "panel": ["jobs", "nodes"]})  # fmt: skip
    shared = {"x": "x", "y": "y", "line": "line", "title": "T"}
    line, band = plot_curves(table, **shared, labels={}, band=("low", "high")).data
    assert list(band.x) == [0, 1, 1, 0] and list(band.y) == [4, 5, 2, 1]
    assert band.legendgroup == line.name and not band.showlegend
    own = {"panel": "panel", "own_x": True, "labels": {"jobs": "number of jobs", "x": "any"}}
    layout = plot_curves(table, **shared, **own).layout
    assert (layout.xaxis.title.text, layout.xaxis2.title.text) == ("number of jobs", "any")


def test_the_surface_is_the_spectrum(problem):
    spectrum = solve_spectrum(problem)
    table = surface_table(spectrum)
    assert len(table) == LARGEST_HEIGHT + 1 and table.index[-1] == problem.total_nodes
    np.testing.assert_allclose(table, spectrum.loss[table.index], atol=0.051)
    figure = plot_loss_surface(spectrum, title="S", point=(300, 120.0))
    heat, point, contours = figure.data
    np.testing.assert_array_equal(heat.customdata, table)
    lost = table.to_numpy() >= 1
    np.testing.assert_allclose(heat.z[lost], np.log10(table.to_numpy()[lost]), atol=1e-4)
    assert (heat.z[~lost] < 0).all() and heat.zmin == 0 and heat.colorbar.ticktext[0] == "≤ 1"
    np.testing.assert_array_equal(contours.z, heat.z)
    assert (contours.contours.start, contours.contours.size) == (0, 1)
    assert (point.x[0], point.y[0]) == (2, 300)


def test_the_stack_of_a_plan_is_the_nodes_that_it_frees(problem):
    plan = solve_dynamic(problem)
    table = plan_table(plan)
    np.testing.assert_array_equal(table[["kill", "app", "sys"]].sum(axis=1), plan.nodes_freed)
    figure = plot_plan(plan, title="P")
    bars = [trace for trace in figure.data if isinstance(trace, go.Bar)]
    assert [bar.name for bar in bars] == ["killed", "application checkpoint", "system checkpoint"]
    np.testing.assert_array_equal(np.sum([bar.y for bar in bars], axis=0), plan.nodes_freed)


def test_every_job_has_one_color(problem):
    plan = solve_dynamic(problem)
    figure = plot_jobs(plan, 600.0, title="J")
    held = np.array([trace.x for trace in figure.data])
    np.testing.assert_array_equal(held.sum(axis=0), problem.jobs["nodes"])
    assert ((held > 0).sum(axis=0) == 1).all()
    evicted = sum(trace.x.sum() for trace in figure.data if trace.name != "left running")
    assert evicted == plan.nodes_freed[plan.row(600.0)]


@pytest.mark.parametrize(
    ("last", "most", "step"),
    [
        (5, 5, 1),
        (6, 5, 2),
        (64, 7, 10),
        (100, 7, 20),
        (512, 6, 100),
        (40_960, 5, 10_000),
        (1, 6, 1),
    ],
)
def test_whole_steps_are_round_and_few(last, most, step):
    assert theme.whole_step(last, most) == step and last / step <= most


def test_named_things_keep_their_colors():
    assert theme.color("greedy") == theme.GREEN and theme.color("other", 1) == theme.CYCLE[1]
    filling = [name for name in SIMULATORS if "fill" in name]
    assert len(filling) == len({theme.NAMED[name] for name in filling}) == 5
    assert len(set(theme.CYCLE)) == len(theme.MARKERS) == len(theme.DASHES)
