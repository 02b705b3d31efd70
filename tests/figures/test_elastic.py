"""Figures of preemptions show the numbers that they are given, and stay light."""

import numba
import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    compare_policies,
    cumulative_waste,
    final_waste,
    nodes_owned,
    preemption_values,
    prioritize,
    simulate_elastic,
)
from cosimlib.figures import theme
from cosimlib.figures.elastic import (
    NO_JOBS,
    POINTS,
    cumulative_table,
    period_name,
    plot_cumulative,
    plot_owners,
    plot_vectors,
    plot_violins,
)
from cosimlib.figures.publishing import Publisher
from cosimlib.figures.tables import plot_table
from cosimlib.system import System

JOBS, STATES = (200, 2_000) if numba.config.DISABLE_JIT else (7_275, 100_000)
"""The twin's jobs, of which there are few where kernels are not compiled, and their states."""


@pytest.fixture(scope="module")
def schedule():
    workload = prioritize(synthetic.peregrine(), {"bigmem": 10.0})
    return simulate_easy(workload.keep(workload.jobs.index < JOBS, "many"), System.of(20))


def test_violins_are_densities_and_light_whatever_the_number_of_states(schedule):
    comparison = compare_policies(schedule, policies=["FIFO", "PAP"], grace_periods=[60.0, 3600.0])
    figure = plot_violins({"A": comparison, "B": comparison}, title="V")
    assert len(figure.to_json()) < 500_000 and comparison.summary["states"].min() > STATES
    medians = [trace for trace in figure.data if trace.mode == "markers"]
    assert len(medians) == 4
    expected = comparison.summary.set_index(["grace_period", "policy"])["50%"].round(3)
    assert list(medians[0].y) == expected[60.0].tolist()
    assert [t.name for t in figure.data if t.showlegend and t.name] == ["60 s", "1 h"]
    assert [note.text for note in figure.layout.annotations][:2] == ["(a) A", "(b) B"]
    assert [period_name(s) for s in (0, 120, 1200, 7200)] == ["0 s", "120 s", "20 min", "2 h"]


@pytest.mark.compiled("millions of states need compiled kernels")
def test_a_published_figure_of_violins_is_light(schedule, tmp_path):
    """All that the paper's figures 3 and 4 show together, in one figure's files."""
    comparison = compare_policies(schedule)
    assert comparison.summary["states"].min() > 160_000 and len(comparison.summary) == 50
    figure = plot_violins({"HTC": comparison, "PEREGRINE": comparison}, title="V")
    Publisher(tmp_path, "twins").publish(figure, "violins", comparison.summary)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("violins.*")}
    assert set(sizes) == {"violins.html", "violins.json", "violins.csv"}
    assert max(sizes.values()) <= 3_000_000


def test_vectors_are_the_values_given_with_boxes(schedule):
    values = preemption_values(schedule, np.linspace(0, 1e5, 50))
    boxes = pd.DataFrame({"start": [0.0], "end": [86_400.0], "first": [2], "last": [4]})
    figure = plot_vectors({"PAP": values, "PAP+": values}, title="H", intervals=boxes)
    np.testing.assert_array_equal(figure.data[0].z, values.to_numpy().T.round(3))
    assert len(figure.layout.shapes) == 2
    box = figure.layout.shapes[0]
    assert (box.x0, box.x1, box.y0, box.y1) == (0, 1, 1.5, 4.5)
    assert box.line.color == theme.VERMILION
    notes = [figure, plot_vectors({"PAP": values}, title="H", intervals=boxes[:0])]
    told = [each.layout.annotations[-1].text.replace("<br>", " ") for each in notes]
    assert ["Orange: jobs" in text for text in told] == [True, False]


def test_cumulative_curves_are_thinned_to_their_ends(schedule):
    table = cumulative_waste(schedule)
    drawn = cumulative_table(table)
    assert len(drawn) == 4 * POINTS
    last = drawn[(drawn["policy"] == "PAP") & (drawn["priority"] == "high")].iloc[-1]
    assert last["node_hours"] == pytest.approx(table["PAP", "high"].iloc[-1] / 3600, abs=0.06)
    figure = plot_cumulative(table, title="C")
    assert [trace.name for trace in figure.data] == ["PAP", "PAP+"] * 2


def test_figures_of_no_jobs_are_a_sentence(schedule):
    nothing = schedule.workload.keep(schedule.workload.jobs.index < 0, "all")
    empty = simulate_easy(nothing, System.of(20))
    cumulative = cumulative_waste(empty)
    figures = [
        plot_cumulative(cumulative, title="C"),
        plot_violins({"none": tuple(compare_policies(empty, policies=["PAP"]))}, title="V"),
        plot_vectors({"PAP": preemption_values(empty, [])}, title="N"),
        plot_owners(nodes_owned(simulate_elastic(nothing, System.of(20)), []), title="O"),
    ]
    said = {figure.layout.annotations[0].text for figure in figures}
    assert said == {f"Nothing to draw: {NO_JOBS}."}
    assert cumulative_table(cumulative).empty
    assert not final_waste(cumulative).any(axis=None)


def test_owners_fill_the_machine():
    lent = simulate_elastic(synthetic.htc(copies=1), System.of(8), spare=2)
    owned = nodes_owned(lent, np.linspace(0, lent.end_time.max() + 60, 100))
    assert (owned.sum(axis=1) == 10).all() and owned.iloc[-1]["host"] == 10
    figure = plot_owners(owned, title="O")
    assert [trace.name for trace in figure.data] == ["main", "user", "host"]
    assert list(figure.data[0].y) == owned["main"].tolist()


def test_tables_show_their_cells():
    (table,) = plot_table(pd.DataFrame({"a": ["x"], "b": [1234.5]}), title="T").data
    assert list(table.header["values"]) == ["<b>a</b>", "<b>b</b>"]
    assert [list(column) for column in table.cells["values"]] == [["x"], ["1,234.5"]]
