"""Figures of Duplyakin et al. 2017 show the numbers that they are given, and stay light."""

import numba
import numpy as np
import pandas as pd
import pytest

from cosimlab import twins
from cosimlab.figures import caption, theme
from cosimlab.figures.publishing import Publisher
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    preemption_values,
    prioritize,
    simulate_elastic,
    wasted_cycles,
)
from cosimlib.system import System
from papers.duplyakin2017 import Setting, example, figures, lend, waste, waste_by_priority
from papers.duplyakin2017.figures import (
    POINTS,
    Example,
    cumulative_table,
    density,
    nodes_owned,
    plot_owners,
)
from papers.duplyakin2017.htc import htc
from tests.cosimlib.elastic.instances import GOLDEN, scheduled

JOBS, STATES = (200, 2_000) if numba.config.DISABLE_JIT else (7_275, 100_000)
"""The twin's jobs, of which there are few where kernels are not compiled, and their states."""


@pytest.fixture(scope="module")
def schedule():
    workload = prioritize(twins.peregrine(), {"bigmem": 10.0})
    return simulate_easy(workload.keep(workload.jobs.index < JOBS, "many"), System.of(20))


def test_violins_are_densities_and_light_whatever_the_number_of_states(schedule):
    wasted = waste(schedule)
    figure, numbers, *_ = figures.figure_3({"A": wasted, "B": wasted})
    assert len(figure.to_json()) < 500_000 and numbers["states"].min() > STATES
    medians = [trace for trace in figure.data if trace.mode == "markers"]
    assert len(medians) == 8
    expected = numbers.query("workload == 'A'").set_index(["grace_period", "policy"])["50%"]
    assert list(medians[0].y) == expected[60.0].round(3).tolist()
    legend = [t.name for t in figure.data if t.showlegend and t.name]
    assert legend == ["60 s", "120 s", "20 min", "30 min"]
    assert [note.text for note in figure.layout.annotations][:2] == ["(a) A", "(b) B"]


@pytest.mark.compiled("millions of states need compiled kernels")
def test_a_published_figure_of_violins_is_light(schedule, tmp_path):
    figure, numbers, *_ = figures.figure_4({"PEREGRINE": waste(schedule)})
    assert numbers["states"].min() > 160_000 and len(numbers) == 24
    Publisher(tmp_path, "twins").publish(figure, "violins", numbers)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("violins.*")}
    assert set(sizes) == {f"violins.{kind}" for kind in ("html", "json", "csv", "txt")}
    assert max(sizes.values()) <= 3_000_000


def test_densities_cover_the_states_on_the_grid():
    schedule = simulate_easy(htc(copies=1), System.of(20))
    wasted = waste(schedule, [60.0, 120.0])
    _, densities = figures.summarize_densities(wasted, [60.0, 120.0])
    hours = wasted["LIFO"] / 3600
    for period, part in densities.query("policy == 'LIFO'").groupby("grace_period"):
        within = (hours[period] <= part["node_hours"].max()).mean()
        area = np.trapezoid(part["density"], part["node_hours"])
        assert area == pytest.approx(within, abs=0.03)


def test_density_of_a_uniform_sample_is_flat():
    grid = np.linspace(0.0, 1.0, 101)
    found = density(np.linspace(0.0, 2.0, 20_001), grid)
    np.testing.assert_allclose(found, 0.5, rtol=0.02)


def test_vectors_are_the_values_given_with_boxes(schedule):
    values = preemption_values(schedule, np.linspace(0, 1e5, 50))
    boxes = pd.DataFrame({"start": [0.0], "end": [86_400.0], "first": [2], "last": [4]})
    figure, numbers, *_ = figures.figure_5(Example(20, {"PAP": values, "PAP+": values}, boxes))
    np.testing.assert_array_equal(figure.data[0].z, values.to_numpy().T.round(3))
    assert len(numbers) == 100 and len(figure.layout.shapes) == 2
    box = figure.layout.shapes[0]
    assert (box.x0, box.x1, box.y0, box.y1) == (0, 1, 1.5, 4.5)
    assert box.line.color == theme.VERMILION


def test_the_example_is_where_most_jobs_are_preferred():
    jobs = prioritize(twins.peregrine(), {"bigmem": 10.0})
    jobs = jobs.keep(jobs.jobs.index < 400, "many")
    found = example(jobs, 10)
    assert list(found.vectors) == ["PAP", "PAP+"] and found.nodes == 10
    assert all(table.shape == (480, 10) for table in found.vectors.values())
    assert len(found.boxes) and (found.boxes["last"] >= found.boxes["first"]).all()


def test_cumulative_curves_are_thinned_to_their_ends(schedule):
    table = waste_by_priority(schedule, Setting())
    drawn = cumulative_table(table)
    assert len(drawn) == 4 * POINTS
    last = drawn[(drawn["policy"] == "PAP") & (drawn["priority"] == "high")].iloc[-1]
    assert last["node_hours"] == pytest.approx(table["PAP", "high"].sum() / 3600, abs=0.06)
    figure, numbers, *_ = figures.figure_6(table)
    assert [trace.name for trace in figure.data] == ["PAP", "PAP+"] * 2
    assert numbers.equals(drawn)


def test_the_time_left_by_hand():
    """One node for 10 s, two for 20 s: (100 + 2 · 400) / (2 · (10 + 40)) = 9 s."""
    assert figures.remaining_time(scheduled((0, 10, 1), (0, 20, 2)).workload) == 9.0


def test_lifo_against_the_others_is_a_ratio_of_means(monkeypatch):
    monkeypatch.setattr(figures, "RATIOS", (0.1, 1.0, 9.0))
    table = figures.relative_waste(GOLDEN, preempted=2, seed=0)
    typical = figures.remaining_time(GOLDEN.workload)
    assert table["grace_period"].tolist() == pytest.approx([r * typical for r in (0.1, 1.0, 9.0)])
    means = {
        policy: wasted_cycles(
            GOLDEN,
            policy=policy,
            preempted=2,
            grace_periods=table["grace_period"].tolist(),
            moments=table_states(),
        )
        .mean()
        .to_numpy()
        for policy in ("LIFO", "FIFO", "RANDOM")
    }
    expected = means["LIFO"][:2] / np.minimum(means["FIFO"], means["RANDOM"])[:2]
    assert table["relative"].iloc[:2].tolist() == pytest.approx(expected.tolist())
    assert np.isnan(table["relative"].iloc[2]), "beyond all run times nothing is wasted"


def table_states():
    """Every tenth state of GOLDEN."""
    return figures.execution_states(GOLDEN)[::10]


@pytest.mark.compiled("a long simulation needs compiled kernels")
def test_owners_are_partitions_users_and_host():
    workloads = {"HTC": htc(copies=1), "more": htc(copies=1, seed=2)}
    figure, numbers, *_ = figures.owners(lend(workloads, Setting()))
    assert [trace.name for trace in figure.data] == ["HTC", "more", "user", "host"]
    assert (numbers.drop(columns="time").sum(axis=1) == 45).all()


def test_sequences_are_averaged_over_seeds():
    rows = [("PAP", 3600.0, seed, 0.8 + seed / 10, 0.1, 1.0) for seed in (0, 1)]
    columns = ["policy", "staleness", "seed", "relative", "wasted", "served"]
    table = pd.DataFrame(rows, columns=columns)
    _, numbers, note, _ = figures.sequence_staleness(table)
    assert numbers["measure"].tolist() == ["throughput", "wasted", "users served"]
    assert numbers["share"].tolist() == [0.85, 0.1, 1.0] and set(numbers["age (h)"]) == {1.0}
    assert note.endswith("Seeds: 2.")


def test_assumptions_stand_beside_what_is_printed():
    row = {"states": 165_000, "days": 56.25, "same nodes": 0.26, "high": -0.942, "share": 0.07}
    table = pd.DataFrame([{"assumption": "EASY", "seed": 0, **row}])
    figure, numbers, *_ = figures.assumptions(table.assign(default=0.08, total=0.01))
    cells = dict(zip(figure.data[0].header["values"], figure.data[0].cells["values"], strict=True))
    assert list(cells["<b>same nodes</b>"]) == ["26 %", "75 %"]
    assert list(cells["<b>gaussian high</b>"]) == ["-94.2 %", "-97.2 %"]
    assert list(cells["<b>days</b>"]) == ["56.2", "not printed"]
    assert numbers.loc["the paper", "states"] == 168_000


def test_owners_fill_the_machine():
    lent = simulate_elastic(htc(copies=1), System.of(8), spare=2)
    owned = nodes_owned(lent, np.linspace(0, lent.end_time.max() + 60, 100))
    assert (owned.sum(axis=1) == 10).all() and owned.iloc[-1]["host"] == 10
    figure = plot_owners(owned, title="O")
    assert [trace.name for trace in figure.data] == ["main", "user", "host"]
    assert list(figure.data[0].y) == owned["main"].tolist()


def test_owners_of_no_jobs_are_a_sentence():
    jobs = htc(copies=1)
    nothing = jobs.keep(np.zeros(len(jobs), bool), "all")
    figure = plot_owners(
        nodes_owned(simulate_elastic(nothing, System.of(20)), np.empty(0)), title="O"
    )
    assert "the workload has no jobs, so there is nothing to preempt" in caption(figure)[0]
