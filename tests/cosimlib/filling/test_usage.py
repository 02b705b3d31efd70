"""Use of nodes and efficiency of filled machines: closed forms, windows, tables."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.filling import (
    efficiency,
    full_queue,
    held_table,
    node_seconds,
    simulate_filling,
    use_table,
)
from cosimlib.metrics import node_hours
from cosimlib.system import System
from cosimlib.units import HOUR
from tests.cosimlib.filling.test_simulation import EARLY, NODES, WAYS, container_runs, jobs_of
from tests.strategies import workloads


def test_what_containers_do_where_a_job_ends_early():
    """Two idle nodes for 2 slots, then one for 1. A: 5 runs of a slot, half of each overhead."""
    a, save, kill = (
        simulate_filling(EARLY, System.of(6), overhead=0.5, speed=0.8, **WAYS[way])
        for way in ("A", "B, save", "B, kill")
    )
    assert container_runs(a) == {(0, 60, True): 2, (60, 120, True): 2, (120, 180, True): 1}
    assert node_seconds(a).to_dict() == {
        "regular": 780,
        "computing": 150,
        "overhead": 150,
        "lost": 0,
        "idle": 0,
    }
    assert efficiency(a) == pytest.approx((780 + 0.8 * 150) / 1080)
    # B, kill: one container is killed after 2 slots; the other goes on to the end, one overhead.
    assert container_runs(kill) == {(0, 120, False): 1, (0, 180, True): 1}
    assert node_seconds(kill)[["computing", "overhead", "lost"]].tolist() == [150, 30, 120]
    # B, save: job 1 waits a slot; one container is saved in it; four new ones last just this slot.
    assert container_runs(save) == {(0, 240, True): 1, (0, 180, True): 1, (120, 180, True): 4}
    assert node_seconds(save)[["computing", "overhead", "lost"]].tolist() == [480, 180, 0]


def test_the_queue_is_full_until_fewer_jobs_wait_than_it_holds():
    """Jobs of the whole machine start every two slots; of three, two at most wait."""
    jobs = jobs_of(submit_time=[0, 0, 0], run_time=120, requested_time=120, nodes=NODES)
    schedule = simulate_filling(jobs, System.of(NODES))
    assert schedule.start_time.tolist() == [0, 120, 240]
    ends = {depth: full_queue(schedule, depth) for depth in (0, 1, 2, 3, 100)}
    assert ends == {0: (0, 240), 1: (0, 120), 2: (0, 60), 3: (0, 60), 100: (0, 60)}


def test_saved_containers_are_useful_and_killed_ones_are_lost():
    """As above: 5 containers of a slot are saved; of two that may be killed one is, after 2."""
    a, kill = (
        simulate_filling(EARLY, System.of(6), overhead=0.5, speed=0.8, **WAYS[way])
        for way in ("A", "B, kill")
    )
    of_a, of_kill = (node_hours(schedule) * HOUR for schedule in (a, kill))
    assert of_a[["useful", "lost"]].tolist() == pytest.approx([780 + 300, 0])
    assert of_kill[["useful", "lost"]].tolist() == pytest.approx([780 + 180, 120])


def test_the_window_cuts_jobs_and_containers():
    schedule = simulate_filling(EARLY, System.of(6), overhead=0.5)
    use = node_seconds(schedule, start=60, end=150)
    assert use.to_dict() == {
        "regular": 4 * 60 + 5 * 30,
        "computing": 75,
        "overhead": 75,
        "lost": 0,
        "idle": 0,
    }


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
