"""What becomes of touched jobs, and the least that a preemption can waste, against slow oracles."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    compare_choices,
    drained,
    execution_states,
    least_waste,
    lifo_against_others,
    remaining_time,
    same_choice,
    wasted_cycles,
)
from cosimlib.system import System
from tests.elastic import naive
from tests.elastic.instances import GOLDEN, scheduled, stretched
from tests.strategies import workloads

NODES = 8
POLICIES = ("FIFO", "LIFO", "PAP", "PAP+")


def test_idle_time_by_hand():
    """LIFO at t = 150 takes nodes 2 (idle), 1 (job 3, 50 s left) and 3 (job 2, 300 s left)."""
    table = drained(
        GOLDEN, policies=["LIFO"], preempted=3, grace_periods=[50, 60, 400], moments=[150.0]
    )
    assert table["touched"].tolist() == [2, 2, 2]
    assert table["killed"].tolist() == [1.0, 0.5, 0.0]
    assert (table["idle"] * 3600).tolist() == pytest.approx([0, 10, 350 + 100])


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=20)
@given(workload=workloads(max_jobs=8), preempted=st.integers(1, NODES))
def test_drained_agrees_with_the_oracle(policy, workload, preempted):
    schedule = simulate_easy(stretched(workload, 25.0, priority=10.0), System.of(NODES))
    states = len(naive.moments(schedule))
    for grace in (0.0, 60.0, 150.0):
        touched, killed, idle = naive.drained(schedule, policy, preempted, grace)
        row = drained(schedule, policies=[policy], preempted=preempted, grace_periods=[grace]).iloc[
            0
        ]
        assert row["touched"] == pytest.approx(touched / max(states, 1))
        assert row["idle"] == pytest.approx(idle / max(states, 1) / 3600)
        assert np.isnan(row["killed"]) if not touched else row["killed"] * touched == killed


@pytest.mark.parametrize("known_ends", [False, True])
@settings(max_examples=40, deadline=None)
@given(workload=workloads(max_jobs=8), preempted=st.integers(1, NODES))
def test_the_least_waste_agrees_with_all_sets_of_jobs(known_ends, workload, preempted):
    schedule = simulate_easy(stretched(workload, 25.0), System.of(NODES))
    for grace in (0.0, 60.0, 150.0):
        mine = least_waste(
            schedule, known_ends=known_ends, preempted=preempted, grace_periods=[grace]
        )[grace]
        expected = naive.least_waste(schedule, preempted, grace, known_ends)
        assert all(low <= mine.iloc[row] <= high for row, (low, high) in enumerate(expected))


@settings(max_examples=40)
@given(workload=workloads(max_jobs=12), preempted=st.integers(1, NODES))
def test_nothing_wastes_less_than_foresight(workload, preempted):
    schedule = simulate_easy(stretched(workload, 25.0, priority=5.0), System.of(NODES))
    knobs = {"preempted": preempted, "grace_periods": [0.0, 60.0, 200.0]}
    least = least_waste(schedule, known_ends=True, **knobs)
    blind = least_waste(schedule, **knobs)
    assert (least <= blind + 1e-9).all(axis=None)
    assert np.allclose(least[0.0], blind[0.0]), "without a grace period all ends are alike"
    for policy in POLICIES:
        assert (least <= wasted_cycles(schedule, policy=policy, **knobs) + 1e-9).all(axis=None)


def test_a_young_wide_job_is_cheaper_than_old_narrow_ones():
    """Two nodes of five: three hold jobs that have run for 130 s, two one that has for 70 s. LIFO
    and the optimum take the wide one (140 node-seconds), PAP two of the others (260)."""
    schedule = scheduled((0, 500, 1), (0, 500, 1), (0, 500, 1), (60, 500, 2), nodes=5)
    knobs = {"preempted": 2, "grace_periods": [0.0], "moments": [130.0]}
    assert least_waste(schedule, **knobs).to_numpy().tolist() == [[140.0]]
    assert wasted_cycles(schedule, policy="LIFO", **knobs).to_numpy().tolist() == [[140.0]]
    assert wasted_cycles(schedule, policy="PAP", **knobs).to_numpy().tolist() == [[260.0]]


def test_nodes_in_common():
    """At t = 150 FIFO takes nodes 2 and 0, LIFO 2 and 1."""
    found = compare_choices(GOLDEN, "FIFO", "LIFO", preempted=2, moments=[150.0])
    assert (found.same, found.common) == (0.0, 0.5)
    alone = compare_choices(GOLDEN, "LIFO", "LIFO", preempted=2, moments=[20.0, 150.0])
    assert (alone.same, alone.common) == (1.0, 1.0)
    most = compare_choices(GOLDEN, "LIFO", "LIFO", preempted=3, moments=[20.0, 150.0])
    assert (most.same, most.common) == (1.0, 1.0)
    assert same_choice(GOLDEN, "FIFO", "LIFO", preempted=2, moments=[150.0]) == 0.0
    assert np.isnan(compare_choices(GOLDEN, "FIFO", "LIFO", preempted=2, moments=[]).common)


def test_the_time_left_by_hand():
    """One node for 10 s, two for 20 s: (100 + 2 · 400) / (2 · (10 + 40)) = 9 s."""
    schedule = scheduled((0, 10, 1), (0, 20, 2))
    assert remaining_time(schedule.workload) == 9.0
    none = schedule.workload.keep(np.zeros(2, bool), "all")
    assert np.isnan(remaining_time(none))


def test_lifo_against_the_others_is_a_ratio_of_means():
    table = lifo_against_others(GOLDEN, ratios=[0.1, 1.0, 9.0], preempted=2)
    means = {
        policy: wasted_cycles(
            GOLDEN, policy=policy, preempted=2, grace_periods=table["grace_period"].tolist()
        ).mean().to_numpy()
        for policy in ("LIFO", "FIFO", "RANDOM")
    }  # fmt: skip
    assert table["grace_period"].tolist() == pytest.approx(
        [ratio * remaining_time(GOLDEN.workload) for ratio in (0.1, 1.0, 9.0)]
    )
    expected = means["LIFO"][:2] / np.minimum(means["FIFO"], means["RANDOM"])[:2]
    assert table["relative"].iloc[:2].tolist() == pytest.approx(expected.tolist())
    assert np.isnan(table["relative"].iloc[2]), "beyond all run times nothing is wasted"
    with pytest.raises(ValueError, match="ratio=0"):
        lifo_against_others(GOLDEN, ratios=[0])


def test_no_jobs_leave_no_numbers():
    schedule = simulate_easy(GOLDEN.workload.keep(np.zeros(4, bool), "all"), System.of(4))
    assert execution_states(schedule).size == 0
    table = drained(schedule, policies=["LIFO"], preempted=2, grace_periods=[60.0])
    assert table["killed"].isna().all() and (table[["touched", "idle"]] == 0).all(axis=None)
    assert least_waste(schedule, preempted=2).empty
    assert isinstance(lifo_against_others(schedule), pd.DataFrame)
    assert lifo_against_others(schedule).empty
