"""Wasted cycles against closed forms and a slow oracle, and policies compared by them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    POLICIES,
    compare_policies,
    cumulative_waste,
    medians,
    preempted_jobs,
    same_choice,
    wasted_cycles,
)
from cosimlib.elastic.waste import density
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.elastic import naive
from tests.elastic.instances import (
    GOLDEN,
    stretched,
    three_jobs,
)
from tests.strategies import workloads

NODES = 8


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
    flat = Schedule(Workload(schedule.workload.jobs.drop(columns="priority"), "flat"),
                    schedule.system, "EASY", schedule.start_time, schedule.end_time)  # fmt: skip
    assert same_choice(flat, "PAP", "PAP+", preempted=3) == 1
    narrow = flat.workload.jobs["nodes"].max() == 1
    assert not narrow or same_choice(flat, "LIFO", "PAP", preempted=3) == 1


def test_comparison_is_the_quartiles_of_all_states():
    schedule = simulate_easy(synthetic.htc(copies=1), System.of(20))
    summary, densities = compare_policies(schedule, policies=["LIFO"], grace_periods=[60.0, 120.0])
    waste = wasted_cycles(schedule, policy="LIFO", grace_periods=[60.0, 120.0]) / 3600
    np.testing.assert_allclose(summary["50%"], waste.median())
    np.testing.assert_allclose(summary["mean"], waste.mean())
    np.testing.assert_allclose(summary["75%"], waste.quantile(0.75))
    for period, part in densities.groupby("grace_period"):
        within = (waste[period] <= part["node_hours"].max()).mean()
        area = np.trapezoid(part["density"], part["node_hours"])
        assert area == pytest.approx(within, abs=0.03)


def test_density_of_a_uniform_sample_is_flat():
    grid = np.linspace(0.0, 1.0, 101)
    found = density(np.linspace(0.0, 2.0, 20_001), grid)
    np.testing.assert_allclose(found, 0.5, rtol=0.02)
    assert density(np.empty(0), grid).tolist() == [0.0] * 101


def test_cumulative_waste_parts_high_and_default():
    table = cumulative_waste(GOLDEN, preempted=2, grace_period=0.0)
    total = wasted_cycles(GOLDEN, policy="PAP+", preempted=2, grace_periods=[0.0])[0.0].cumsum()
    np.testing.assert_allclose(table["PAP+"].sum(axis=1), total)
    assert (table.diff().dropna() >= 0).all().all()
    assert table["PAP+", "high"].iloc[-1] < table["PAP", "high"].iloc[-1]


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"preempted": 5}, "preempted=5; .*from 1 to the partition's 4 nodes"),
        ({"preempted": 0}, "preempted=0;"),
        ({"preempted": 2.5}, "preempted=2.5;"),
        ({"preempted": 1, "grace_periods": [60, -1]}, "grace_period=-1; expected seconds from 0"),
        ({"preempted": 1, "grace_periods": [np.inf]}, "grace_period=inf;"),
        ({"preempted": 1, "grace_periods": []}, "expected a list of one or more"),
        ({"preempted": 1, "policy": "PAP++"}, r"policy='PAP\+\+'; expected one of 'RANDOM'"),
        ({"preempted": 1, "moments": [5.0, 4.0]}, "ascending order"),
        ({"preempted": 1, "counted": [True]}, "one bool for each of 4"),
    ],
)
def test_wrong_knobs_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        wasted_cycles(GOLDEN, **knobs)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        (
            {"grace_periods": [60, 120.0, 60]},
            r"grace_periods=\[60, 120.0, 60\]; expected .*, each once",
        ),
        ({"grace_periods": ["a"]}, "grace_period='a'; expected seconds from 0"),
        ({"grace_periods": [None]}, "grace_period=None; expected seconds"),
        ({"grace_periods": [True]}, "grace_period=True; expected seconds"),
        ({"grace_periods": [np.nan]}, "grace_period=nan; expected seconds"),
        ({"grace_periods": 60.0}, "grace_periods=60.0; expected a list of one or more numbers"),
        ({"grace_periods": []}, r"grace_periods=\[\]; expected a list of one or more numbers"),
        ({"policies": []}, r"policies=\[\]; expected a list of one or more of RANDOM, FIFO"),
        ({"policies": "PAP"}, "policies='PAP'; expected a list of one or more of"),
        ({"policies": ["PAP", "PAP"]}, r"policies=\['PAP', 'PAP'\]; .*, each once"),
        ({"policies": [None]}, "policy=None; expected one of 'RANDOM'"),
    ],
)
def test_policies_and_grace_periods_are_compared_once_each(knobs, message):
    with pytest.raises(ValueError, match=message):
        compare_policies(simulate_easy(three_jobs(), System.of(2)), preempted=1, **knobs)


def test_medians_are_those_of_the_comparison():
    schedule = simulate_easy(synthetic.htc(copies=1), System.of(20))
    comparison = compare_policies(schedule, policies=["FIFO", "LIFO"], grace_periods=[120.0, 60.0])
    table = medians(comparison)
    assert table.index.tolist() == [60.0, 120.0] and list(table) == ["FIFO", "LIFO"]
    row = comparison.summary.query("policy == 'LIFO' and grace_period == 60")
    assert table.loc[60.0, "LIFO"] == row["50%"].item()
    empty = simulate_easy(synthetic.htc(copies=1).keep(np.zeros(1120, bool), "all"), System.of(20))
    assert medians(compare_policies(empty)).isna().all(axis=None)
