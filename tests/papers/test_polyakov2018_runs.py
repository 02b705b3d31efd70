"""Polyakov and Dubenskaya (2018): runs measure what the simulator says; tables, closed forms."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab import twins
from cosimlib import metrics
from cosimlib.filling import (
    FILLING_POLICIES,
    efficiency,
    full_queue,
    node_seconds,
    simulate_filling,
    slots_between_kills,
)
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload
from papers.polyakov2018 import ended_early, prepare, queue_for, recorded_loads, schedule_seven
from papers.polyakov2018.experiment import (
    INTERVALS,
    VARIANTS,
    container_cost,
    cost_table,
    efficiencies,
    paired_table,
    reached_load,
    recorded_load,
    save_interval,
    save_table,
    scheduler_variant,
)
from tests.cosimlib.filling.naive import Filled
from tests.cosimlib.filling.test_saving import killing
from tests.cosimlib.filling.test_simulation import EARLY, NODES, WAYS, at_least_one_slot
from tests.strategies import workloads

VALUES = {"accuracies": [0.0, 0.25, 0.5, 0.75, 1.0], "accuracy": 0.5, "queue_depths": [10, 30]}
KNOBS = {"load": 0.0, "overhead": 0.1, "speed": 1.0}
DAY_RUN = replace(prepare("quick", seed=1, **VALUES, **KNOBS), days=1.0)
SOURCES = [
    {"days": 1.0, "load": None, "queue_depth": 20},
    {"days": 1.0, "load": 0.8, "queue_depth": None},
]
WINDOW = {"start": 0.0, "end": DAY}


def jobs_of(source, accuracy=0.5, seed=3):
    return twins.lomonosov(source["days"], accuracy=accuracy, load=source["load"], seed=seed)


def test_seven_jobs_and_what_an_early_end_does():
    starts = [start / 60 + 1 for start in schedule_seven(None).start_time]
    assert starts == [1, 1, 1, 3, 2, 3, 6]
    assert node_seconds(schedule_seven("B"))["idle"] == 0
    assert ended_early().to_numpy().tolist() == [[4, 0], [4, 0], [5, 0], [4, 120]]


def test_loads_are_measured_while_the_queue_is_full():
    jobs = jobs_of(SOURCES[0])
    run = simulate_filling(jobs, jobs.machine, policy=None, queue_depth=20, reschedule=False)
    start, end = full_queue(run, 20)
    expected = metrics.utilization(run, start=start, end=min(end, DAY))
    variant = VARIANTS["not rescheduled"]
    assert reached_load(20, 0.5, 3, variant, 1.0) == {"load": expected}


@pytest.mark.parametrize("policy", FILLING_POLICIES)
@pytest.mark.parametrize("source", SOURCES, ids=["backlog", "stream"])
def test_costs_are_those_of_the_schedule(source, policy):
    jobs, depth = jobs_of(source), source["queue_depth"]
    run = simulate_filling(jobs, jobs.machine, queue_depth=depth, **FILLING_POLICIES[policy])
    assert run.policy == policy
    use = node_seconds(run, **WINDOW)
    time = use[["computing", "overhead", "lost"]].sum()
    costs = container_cost(policy, 0.5, 3, **source)
    assert costs["held up"] == run.held_up.mean()
    assert costs["lost"] == pytest.approx(use["lost"] / time if time else np.nan, nan_ok=True)


def test_intervals_are_those_of_the_schedule():
    jobs = jobs_of(SOURCES[1])
    run = simulate_filling(jobs, jobs.machine, policy="B", reclaim="kill")
    expected = save_table(run, INTERVALS, [0.1, 0.3], **WINDOW)
    found = save_interval(0.5, 3, **SOURCES[1], overheads=[0.1, 0.3])
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_are_the_scheduler_s(variant):
    jobs = jobs_of(SOURCES[0])
    run = simulate_filling(jobs, jobs.machine, policy=None, queue_depth=20, **VARIANTS[variant])
    use = node_seconds(run, **WINDOW)
    wait = run.jobs["wait_time"].mean() / HOUR
    expected = {"load": use["regular"] / use.sum(), "mean_wait": wait}
    assert scheduler_variant(VARIANTS[variant], 0.5, 3, **SOURCES[0]) == pytest.approx(expected)


def test_efficiencies_of_all_overheads_and_speeds_are_those_of_runs_with_them():
    three_slots = replace(DAY_RUN, days=180 / DAY)
    names = {"filling A": "A", "not filled": "none"}
    runs = {name: simulate_filling(EARLY, System.of(6), **WAYS[way]) for name, way in names.items()}
    table = efficiencies(three_slots, runs)
    assert list(table.columns) == ["policy", "t", "c", "efficiency"] and len(table) == 60
    for row in table[table["t"].isin([0.0, 0.5])].itertuples():
        way = WAYS[names[row.policy]]
        run = simulate_filling(EARLY, System.of(6), overhead=row.t, speed=row.c, **way)
        assert row.efficiency == efficiency(run, start=0, end=180)


def test_of_known_logs_those_that_are_here_are_read(monkeypatch):
    monkeypatch.setattr("papers.polyakov2018.experiment.find_trace", lambda name: None)
    assert recorded_loads(["KTH-SP2", "HPC2N"]).empty
    with pytest.raises(FileNotFoundError, match="no-such-log"):
        recorded_loads(["no-such-log"])


def test_a_load_that_no_queue_reaches_takes_more():
    rows = [
        ("rescheduled", 5, 0.8),
        ("rescheduled", 10, 0.9),
        ("rescheduled", 20, 0.95),
        ("not rescheduled", 5, 0.7),
    ]
    table = queue_for(pd.DataFrame(rows, columns=["variant", "queue_depth", "mean"]))
    assert table.iloc[:, 0].to_dict() == {"rescheduled": 10, "not rescheduled": "more"}


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
    rows = [
        ("old", 0, 10),
        ("old", 1, 50),
        ("old", 2, 90),
        ("new", 2, 92),
        ("new", 0, 13),
        ("new", 1, 51),
    ]
    table = paired_table(pd.DataFrame(rows, columns=["case", "seed", "x"]), "case", "x")
    assert table.index.tolist() == ["old", "new"]
    assert table.loc["old"].tolist() == [50, 0, 0, 0]
    assert table.loc["new", ["mean", "difference"]].tolist() == [52, 2]
    half = 4.30265 / 3**0.5
    assert table.loc["new", ["low", "high"]].tolist() == pytest.approx([2 - half, 2 + half], 1e-5)


@given(workloads(max_nodes=NODES, overruns=True), st.integers(1, 9))
@settings(max_examples=60)
def test_shares_are_those_of_the_slow_version(workload, every):
    """Half a slot for each save; what is killed is lost."""
    workload = at_least_one_slot(workload)
    table = save_table(killing(workload), [every], [0.5])
    slow = Filled(workload.jobs, NODES, policy="C", save_every=every)
    saved = [end - start for start, end, kept in slow.closed if kept]
    lost = sum(end - start for start, end, kept in slow.closed if not kept)
    total = sum(saved) + lost
    row = table[table["k"] == every].iloc[0]
    if not total:
        assert np.isnan(row["useful"])
        return
    assert row["lost"] == pytest.approx(lost / total)
    assert row["overhead"] == pytest.approx(0.5 * len(saved) / total)
    assert row["useful"] == pytest.approx((sum(saved) - 0.5 * len(saved)) / total)


def test_the_table_has_the_intervals_given_young_s_and_never():
    """M is 5, so that √(2 · 0.5 · 5) is 2.2."""
    schedule = simulate_filling(EARLY, System.of(6), **WAYS["B, kill"])
    table = save_table(schedule, [3, 1, 1], [0.5, 0.0])
    assert table["k"].tolist() == [1, 2, 3, math.inf, 1, 3, math.inf]
    assert table["young"].tolist() == pytest.approx([5**0.5] * 4 + [0] * 3)
    assert table[["useful", "overhead", "lost"]].sum(axis=1).tolist() == pytest.approx([1] * 7)
    # After two slots one is killed just when it was saved: five slots, three runs that are saved.
    assert table["useful"].tolist()[:2] == pytest.approx([0.5, (5 - 1.5) / 5])
    use = node_seconds(simulate_filling(EARLY, System.of(6), overhead=0.5, **WAYS["B, kill"]))
    never = table.iloc[3]
    assert never["lost"] == pytest.approx(
        use["lost"] / use[["computing", "overhead", "lost"]].sum()
    )


def test_without_containers_there_are_no_shares():
    full = EARLY.jobs.assign(nodes=6, requested_time=60, run_time=60)
    schedule = simulate_filling(type(EARLY)(full), System.of(6), **WAYS["B, kill"])
    assert save_table(schedule, [2], [0.1])["useful"].isna().all()
    assert slots_between_kills(schedule) == math.inf
