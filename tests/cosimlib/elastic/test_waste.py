"""Wasted and idle cycles against closed forms and slow oracles, and the least waste there is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    POLICIES,
    execution_states,
    least_waste,
    occupants,
    preempted_jobs,
    preemption_values,
    taken_jobs,
    taken_nodes,
    wasted_cycles,
)
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.elastic import naive
from tests.cosimlib.elastic.instances import GOLDEN, scheduled, stretched
from tests.strategies import workloads

NODES = 8
SURE = ("FIFO", "LIFO", "PAP", "PAP+")
"""Policies that draw nothing."""


def test_wasted_cycles_by_hand():
    """LIFO at t = 150 takes nodes 2 (idle), 1 (job 3, 50 s left) and 3 (job 2, 300 s left)."""
    waste = wasted_cycles(
        GOLDEN, policy="LIFO", preempted=3, grace_periods=[0, 50, 51, 300, 301], moments=[150.0]
    )
    assert waste.to_numpy().tolist() == [[50 + 100, 100 + 150, 151, 400, 0]]
    touched = preempted_jobs(GOLDEN, 150.0, policy="LIFO", preempted=3, grace_period=51)
    assert touched.index.tolist() == [2, 3]
    assert touched["killed"].tolist() == [True, False]
    assert touched["wasted_cycles"].tolist() == [151, 0]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(workload=workloads(max_jobs=8), preempted=st.integers(1, NODES), seed=st.integers(0, 9))
def test_wasted_cycles_agree_with_the_oracle(policy, workload, preempted, seed):
    schedule = simulate_easy(stretched(workload, 25.0, priority=10.0), System.of(NODES))
    periods = [0.0, 60.0, 150.0, 300.0]
    mine = wasted_cycles(
        schedule, policy=policy, preempted=preempted, grace_periods=periods, seed=seed
    )
    assert mine.index.tolist() == naive.moments(schedule)
    expected = naive.wasted_cycles(schedule, policy, preempted, periods, seed)
    np.testing.assert_allclose(mine.to_numpy(), expected)
    one_by_one = [
        preempted_jobs(schedule, now, policy=policy, preempted=preempted, grace_period=60.0)
        for now in mine.index
        if policy != "RANDOM"
    ]
    sums = [table["wasted_cycles"].sum() for table in one_by_one]
    assert policy == "RANDOM" or np.allclose(mine[60.0], sums)


@settings(max_examples=25)
@given(workload=workloads(max_jobs=8))
def test_laws_of_wasted_cycles(workload):
    schedule = simulate_easy(stretched(workload, 25.0, priority=10.0), System.of(NODES))
    high = schedule.workload.column("priority").to_numpy() > 1
    whole, some, others = (
        wasted_cycles(schedule, policy="PAP+", preempted=4, counted=mask)
        for mask in (None, high, ~high)
    )
    np.testing.assert_allclose(whole, some + others)
    everyone = [
        wasted_cycles(schedule, policy=policy, preempted=NODES).to_numpy() for policy in POLICIES
    ]
    for other in everyone[1:]:
        np.testing.assert_allclose(other, everyone[0], err_msg="all nodes taken: policies agree")
    flat = Schedule(
        Workload(schedule.workload.jobs.drop(columns="priority"), "flat"),
        schedule.system,
        "EASY",
        schedule.start_time,
        schedule.end_time,
    )
    same = (wasted_cycles(flat, policy=policy, preempted=3) for policy in ("PAP", "PAP+"))
    np.testing.assert_array_equal(*same, err_msg="without priorities PAP+ is PAP")


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(workload=workloads(max_jobs=8), preempted=st.integers(1, NODES), seed=st.integers(0, 9))
def test_the_nodes_taken_are_those_of_least_value(policy, workload, preempted, seed):
    """The lowest of equal ones; what they waste is the same where they are given."""
    schedule = simulate_easy(stretched(workload, 25.0, priority=10.0), System.of(NODES))
    at = execution_states(schedule)
    knobs = {"policy": policy, "preempted": preempted, "moments": at, "seed": seed}
    values = preemption_values(schedule, at, policy=policy, seed=seed).to_numpy()
    nodes = np.sort(np.argsort(values, axis=1, kind="stable")[:, :preempted], axis=1)
    np.testing.assert_array_equal(taken_nodes(schedule, **knobs), nodes)
    jobs = np.take_along_axis(occupants(schedule, at).to_numpy(), nodes, axis=1)
    np.testing.assert_array_equal(taken_jobs(schedule, **knobs), jobs)
    given = wasted_cycles(schedule, moments=at, taken=taken_jobs(schedule, **knobs))
    np.testing.assert_array_equal(given, wasted_cycles(schedule, **knobs))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"preempted": 5}, "preempted=5; .*from 1 to the partition's 4 nodes"),
        ({"preempted": 2.5}, "preempted=2.5;"),
        ({"preempted": 1, "grace_periods": [60, -1]}, "grace_period=-1; expected seconds from 0"),
        ({"preempted": 1, "policy": "PAP++"}, r"policy='PAP\+\+'; expected one of 'RANDOM'"),
        ({"preempted": 1, "moments": [5.0, 4.0]}, "ascending order"),
        ({"preempted": 1, "counted": [True]}, "one bool for each of 4"),
        ({"moments": [5.0], "taken": np.zeros((2, 1), int)}, "taken has shape .*each of 1 moments"),
        ({"preempted": 1, "grace_periods": [60, 120.0, 60]}, "expected .* numbers, each once"),
        ({"preempted": 1, "grace_periods": 60.0}, "grace_periods=60.0; expected a list of one or"),
    ],
)
def test_wrong_knobs_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        wasted_cycles(GOLDEN, **knobs)


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
    for policy in SURE:
        assert (least <= wasted_cycles(schedule, policy=policy, **knobs) + 1e-9).all(axis=None)


def test_a_young_wide_job_is_cheaper_than_old_narrow_ones():
    """Two nodes of five: three hold jobs that have run for 130 s, two one that has for 70 s. LIFO
    and the optimum take the wide one (140 node-seconds), PAP two of the others (260)."""
    schedule = scheduled((0, 500, 1), (0, 500, 1), (0, 500, 1), (60, 500, 2), nodes=5)
    knobs = {"preempted": 2, "grace_periods": [0.0], "moments": [130.0]}
    assert least_waste(schedule, **knobs).to_numpy().tolist() == [[140.0]]
    assert wasted_cycles(schedule, policy="LIFO", **knobs).to_numpy().tolist() == [[140.0]]
    assert wasted_cycles(schedule, policy="PAP", **knobs).to_numpy().tolist() == [[260.0]]


def test_no_jobs_leave_no_numbers():
    schedule = simulate_easy(GOLDEN.workload.keep(np.zeros(4, bool), "all"), System.of(4))
    assert execution_states(schedule).size == 0
    assert least_waste(schedule, preempted=2).empty
