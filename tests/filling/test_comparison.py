"""Use of nodes and efficiency of filled machines: closed forms, windows, tables."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.filling import (
    cost_table,
    efficiency,
    efficiency_table,
    full_queue,
    held_table,
    node_seconds,
    paired_table,
    recorded_load,
    simulate_filling,
    spread_table,
    use_table,
)
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.filling.test_simulation import EARLY, NODES, WAYS, container_runs, jobs_of
from tests.strategies import workloads


def test_what_containers_do_where_a_job_ends_early():
    """Two idle nodes for 2 slots, then one for 1. A: 5 runs of a slot, half of each overhead."""
    a, save, kill = (
        simulate_filling(EARLY, System.of(6), overhead=0.5, speed=0.8, **WAYS[way])
        for way in ("A", "B, save", "B, kill")
    )
    assert container_runs(a) == {(0, 60, True): 2, (60, 120, True): 2, (120, 180, True): 1}
    assert node_seconds(a).to_dict() == {
        "regular": 780, "computing": 150, "overhead": 150, "lost": 0, "idle": 0,
    }  # fmt: skip
    assert efficiency(a) == pytest.approx((780 + 0.8 * 150) / 1080)
    # B, kill: one container is killed after 2 slots; the other goes on to the end, one overhead.
    assert container_runs(kill) == {(0, 120, False): 1, (0, 180, True): 1}
    assert node_seconds(kill)[["computing", "overhead", "lost"]].tolist() == [150, 30, 120]
    # B, save: job 1 waits a slot; one container is saved in it; four new ones last just this slot.
    assert container_runs(save) == {(0, 240, True): 1, (0, 180, True): 1, (120, 180, True): 4}
    assert node_seconds(save)[["computing", "overhead", "lost"]].tolist() == [480, 180, 0]


def test_the_window_cuts_jobs_and_containers():
    schedule = simulate_filling(EARLY, System.of(6), overhead=0.5)
    use = node_seconds(schedule, start=60, end=150)
    assert use.to_dict() == {
        "regular": 4 * 60 + 5 * 30, "computing": 75, "overhead": 75, "lost": 0, "idle": 0,
    }  # fmt: skip


@given(workloads(max_nodes=NODES), st.floats(0, 0.99), st.floats(0.01, 1))
@settings(max_examples=40)
def test_what_policy_a_gains_is_the_papers_formula_and_b_that_saves_no_less(workload, t, c):
    """Whole slots, so that nothing is idle but for containers: (1 - load)(1 - t) c."""
    system = System.of(NODES)
    window = {"start": 0.0, "end": 20.0}
    run = {"slot": 1, "overhead": t, "speed": c}
    none, a, b = (
        simulate_filling(workload, system, **run, **WAYS[way]) for way in ("none", "A", "B, kill")
    )
    window["start"] = float(workload.jobs["submit_time"].min())
    window["end"] = float(none.end_time.max())
    load = efficiency(none, **window)
    assert efficiency(a, **window) == pytest.approx(load + (1 - load) * (1 - t) * c)
    if b.containers["saved"].all():
        assert efficiency(b, **window) >= efficiency(a, **window) - 1e-12


def test_efficiencies_of_all_overheads_and_speeds_are_those_of_runs_with_them():
    runs = [simulate_filling(EARLY, System.of(6), **WAYS[way]) for way in ("A", "none")]
    table = efficiency_table(runs, [0.0, 0.5], [0.8, 1.0], start=0, end=180)
    assert list(table.columns) == ["policy", "t", "c", "efficiency"] and len(table) == 8
    for row in table.itertuples():
        way = {"filling A": "A", "not filled": "none"}[row.policy]
        run = simulate_filling(EARLY, System.of(6), overhead=row.t, speed=row.c, **WAYS[way])
        assert row.efficiency == efficiency(run, start=0, end=180)


def test_uses_add_up_to_what_the_machine_offers():
    """Six nodes for 180 s; policy A's containers compute for half of 300 s, at a speed of 0.8."""
    run = simulate_filling(EARLY, System.of(6), overhead=0.5, speed=0.8)
    table = 3600 * use_table([run], start=0, end=180)
    expected = {
        "regular": 780,
        "containers": 120,
        "slow": 30,
        "overhead": 150,
        "lost": 0,
        "idle": 0,
    }
    assert table.drop(columns="utilization").loc["filling A"].to_dict() == pytest.approx(expected)
    assert table["utilization"].tolist() == pytest.approx([3600 * 900 / 1080])


def test_nodes_held_from_each_instant_on():
    table = held_table(simulate_filling(EARLY, System.of(6)), 60, 150)
    assert table.to_dict("index") == {
        60: {"regular": 4, "containers": 2},
        120: {"regular": 5, "containers": 1},
        150: {"regular": 5, "containers": 1},
    }


def test_the_queue_is_full_until_no_job_is_left_to_join_it():
    """Five jobs of one slot, one after another."""
    columns = dict.fromkeys(("run_time", "requested_time"), [60] * 5)
    jobs = jobs_of(submit_time=[30] * 5, nodes=[6] * 5, **columns)
    schedule = simulate_filling(jobs, System.of(6), policy=None)
    assert schedule.start_time.tolist() == [60, 120, 180, 240, 300]
    windows = [full_queue(schedule, depth) for depth in (0, 1, 2, 4, 9)]
    assert windows == [(60, 300), (60, 240), (60, 180), (60, 120), (60, 120)]


def test_values_are_means_over_seeds_between_the_lowest_and_the_highest():
    rows = [("A", 0.0, 0, 10.0), ("A", 0.0, 1, 30.0), ("B", 0.0, 0, 50.0)]
    runs = pd.DataFrame(rows, columns=["policy", "p", "seed", "cost"])
    table = spread_table(runs, ["policy", "p"], "cost")
    assert list(table.columns) == ["policy", "p", "mean", "lowest", "highest", "seeds"]
    assert table.to_numpy().tolist() == [["A", 0, 20, 10, 30, 2], ["B", 0, 50, 50, 50, 1]]


def test_costs_are_in_percent_and_one_measure_below_the_other():
    rows = [("A", 0.0, 0, 0.1, 0.0), ("A", 0.0, 1, 0.3, 0.0), ("B", 0.0, 0, 0.5, 1.0)]
    runs = pd.DataFrame(rows, columns=["policy", "accuracy", "seed", "held up", "lost"])
    table = cost_table(runs)
    assert table["measure"].tolist() == ["held up"] * 2 + ["lost"] * 2
    numbers = table.set_index(["measure", "policy"])[["mean", "lowest", "highest", "seeds"]]
    assert numbers.loc[("held up", "A")].tolist() == pytest.approx([20, 10, 30, 2])
    assert numbers.loc[("lost", "B")].tolist() == pytest.approx([100, 100, 100, 1])


def test_recorded_load_is_of_the_time_in_which_jobs_were_submitted():
    """Two of four nodes from 0 to 50 s, all from 50 to 200 s; the last job comes at 100 s."""
    columns = {"submit_time": [0, 50, 100], "run_time": [50, 150, 1], "nodes": [2, 4, 4]}
    table = pd.DataFrame(columns)
    log = Workload(table.assign(recorded_start=[0.0, 50.0, np.nan]), "log", System.of(4))
    assert recorded_load(log) == 0.75
    unknown = Workload(table.assign(recorded_start=[0.0, np.nan, np.nan]), "log", System.of(4))
    at_once = Workload(log.jobs.assign(submit_time=0.0), "log", System.of(4))
    nobody_knows = Workload(log.jobs, "log")
    for odd in (unknown, at_once, nobody_knows, Workload(log.jobs[:0], "log", System.of(4))):
        assert np.isnan(recorded_load(odd))


def test_differences_are_paired_over_seeds():
    """Loads scatter by seed, and the second case is 1 to 3 above the first in each."""
    rows = [("old", 0, 10), ("old", 1, 50), ("old", 2, 90), ("new", 2, 92), ("new", 0, 13),
            ("new", 1, 51)]  # fmt: skip
    table = paired_table(pd.DataFrame(rows, columns=["case", "seed", "x"]), "case", "x")
    assert table.index.tolist() == ["old", "new"]
    assert table.loc["old"].tolist() == [50, 0, 0, 0]
    assert table.loc["new", ["mean", "difference"]].tolist() == [52, 2]
    half = 4.30265 / 3**0.5
    assert table.loc["new", ["low", "high"]].tolist() == pytest.approx([2 - half, 2 + half], 1e-5)
