"""Tables of Duplyakin et al. 2017 are those of the runs, and violins of them stay light."""

import numba
import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
from cosimlab import twins
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    prioritize,
    simulate_elastic,
    wasted_cycles,
)
from cosimlib.system import System
from papers.duplyakin2017 import (
    Setting,
    beside_printed,
    cumulative_table,
    example,
    in_percent,
    nodes_owned,
    relative_waste,
    shares,
    tables,
    waste,
    waste_by_priority,
    waste_by_state,
    waste_statistics,
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
    wasted, periods = waste(schedule), [60.0, 120.0, 1200.0, 1800.0]
    wasted = {"A": wasted, "B": wasted}
    rows = waste_by_state(wasted, periods)
    figure = lab.figures.violins(rows, x="policy", y="node_hours", group="period", panel="workload")
    numbers = waste_statistics(wasted, periods)
    assert len(figure.to_json()) < 500_000 and numbers["states"].min() > STATES
    assert len(rows) == numbers["states"].sum()
    medians = [trace for trace in figure.data if trace.mode == "markers"]
    assert len(medians) == 8
    expected = numbers.query("workload == 'A'").set_index(["grace_period", "policy"])["50%"]
    assert list(medians[0].y) == expected[60.0].round(3).tolist()
    legend = [t.name for t in figure.data if t.showlegend and t.name]
    assert legend == ["60 s", "120 s", "20 min", "30 min"]
    assert [note.text for note in figure.layout.annotations][:2] == ["(a) A", "(b) B"]


@pytest.mark.compiled("millions of states need compiled kernels")
def test_a_published_figure_of_violins_is_light(schedule, tmp_path):
    wasted, periods = {"PEREGRINE": waste(schedule)}, [3600.0 * hours for hours in range(1, 7)]
    numbers = waste_statistics(wasted, periods)
    assert numbers["states"].min() > 160_000 and len(numbers) == 24
    rows = waste_by_state(wasted, periods)
    figure = lab.figures.violins(rows, x="policy", y="node_hours", group="period")
    lab.figures.Publisher(tmp_path, "twins").publish(figure, "violins", numbers)
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("violins.*")}
    assert set(sizes) == {f"violins.{kind}" for kind in ("html", "json", "csv", "txt")}
    assert max(sizes.values()) <= 3_000_000


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
    assert len(drawn) == 4 * tables.POINTS
    last = drawn[(drawn["policy"] == "PAP") & (drawn["priority"] == "high")].iloc[-1]
    assert last["node_hours"] == pytest.approx(table["PAP", "high"].sum() / 3600, abs=0.06)


def test_the_time_left_by_hand():
    """One node for 10 s, two for 20 s: (100 + 2 · 400) / (2 · (10 + 40)) = 9 s."""
    assert tables.remaining_time(scheduled((0, 10, 1), (0, 20, 2)).workload) == 9.0


def test_lifo_against_the_others_is_a_ratio_of_means(monkeypatch):
    monkeypatch.setattr(tables, "RATIOS", (0.1, 1.0, 9.0))
    table = relative_waste(GOLDEN, preempted=2, seed=0)
    typical = tables.remaining_time(GOLDEN.workload)
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
    return tables.execution_states(GOLDEN)[::10]


def test_sequences_are_averaged_over_seeds():
    rows = [("PAP", 3600.0, seed, 0.8 + seed / 10, 0.1, 1.0) for seed in (0, 1)]
    columns = ["policy", "staleness", "seed", "relative", "wasted", "served"]
    table = pd.DataFrame(rows, columns=columns)
    numbers = shares(table)
    assert numbers["measure"].tolist() == ["throughput", "wasted", "users served"]
    assert numbers["share"].tolist() == [0.85, 0.1, 1.0] and set(numbers["staleness"]) == {3600.0}


def test_assumptions_stand_beside_what_is_printed():
    row = {"states": 165_000, "days": 56.25, "same nodes": 0.26, "high": -0.942, "share": 0.07}
    table = pd.DataFrame([{"assumption": "EASY", "seed": 0, **row}])
    numbers = beside_printed(table.assign(default=0.08, total=0.01))
    cells = in_percent(numbers)
    assert cells["same nodes"].tolist() == ["26 %", "75 %"]
    assert cells["gaussian high"].tolist() == ["-94.2 %", "-97.2 %"]
    assert cells["days"].tolist() == ["56.2", "not printed"]
    assert numbers.loc["the paper", "execution states"] == 168_000


def test_owners_fill_the_machine():
    lent = simulate_elastic(htc(copies=1), System.of(8), spare=2)
    owned = nodes_owned(lent, np.linspace(0, lent.end_time.max() + 60, 100))
    assert (owned.sum(axis=1) == 10).all() and owned.iloc[-1]["host"] == 10
