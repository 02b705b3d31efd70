"""A single preemption: nodes, vectors, wasted cycles, against closed forms and a slow oracle."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import synthetic
from cosimlib.audit import InfeasibleScheduleError
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    POLICIES,
    compare_policies,
    cumulative_waste,
    execution_states,
    occupants,
    preempted_jobs,
    preemption_values,
    prioritize,
    same_choice,
    wasted_cycles,
)
from cosimlib.elastic.states import follow
from cosimlib.elastic.waste import density
from cosimlib.kernels import occupancy
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.elastic import naive
from tests.elastic.instances import stretched
from tests.strategies import workloads

NODES = 8


def made(*rows, nodes=4, **columns):
    """A schedule of rows of start, run time, nodes."""
    jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"]).assign(**columns)
    return Schedule.from_starts(
        Workload(jobs, "made"), System.of(nodes), jobs["submit_time"].to_numpy(), "given"
    )


GOLDEN = made((0, 300, 1), (0, 100, 2), (50, 400, 1), (100, 100, 1), priority=[1.0, 1.0, 1.0, 10.0])
"""Nodes: job 0 on 0; job 1 on 1 and 2; job 2 on 3; job 3, from t = 100, on 1; node 2 is idle."""


def test_nodes_are_the_lowest_free():
    assert occupants(GOLDEN, [0.0, 50.0, 100.0, 200.0, 300.0]).to_numpy().tolist() == [
        [0, 1, 1, -1], [0, 1, 1, 2], [0, 3, -1, 2], [0, -1, -1, 2], [-1, -1, -1, 2]
    ]  # fmt: skip


@settings(max_examples=60)
@given(workloads(overruns=True))
def test_nodes_agree_with_the_oracle(workload):
    schedule = simulate_easy(workload, System.of(NODES))
    line = follow(schedule).line
    mine = [
        set(line.held[line.first[j] : line.first[j + 1]].tolist()) for j in range(len(workload))
    ]
    expected = naive.nodes_held(schedule)
    assert mine == [expected[job] for job in range(len(workload))]
    moments = np.arange(0.0, schedule.end_time.max() + 7, 7.0)
    for now, row in occupants(schedule, moments).iterrows():
        running = [n for j, n in expected.items()
                   if schedule.start_time[j] <= now < schedule.end_time[j]]  # fmt: skip
        assert (row != occupancy.IDLE).sum() == sum(map(len, running))


def test_values_of_every_policy_at_one_moment():
    """At t = 150 job 0 has run 150 s, job 2 100 s, job 3 (priority 10) 50 s; node 2 is idle."""
    expected = {
        "FIFO": [1 / 101, 1.0, 0.0, 51 / 101],
        "LIFO": [1.0, 1 / 3, 0.0, 2 / 3],
        "PAP": [1.0, 1 / 3, 0.0, 2 / 3],
        "PAP+": [0.3, 1.0, 0.0, 0.2],
    }
    for policy, values in expected.items():
        row = preemption_values(GOLDEN, [150.0], policy=policy).to_numpy()[0]
        np.testing.assert_allclose(row, values)
    random = preemption_values(GOLDEN, [150.0], policy="RANDOM", seed=3).to_numpy()[0]
    assert random[2] == 0 and (random[[0, 1, 3]] > 0).all() and random.max() <= 1
    two_nodes = preemption_values(GOLDEN, [75.0], policy="PAP").to_numpy()[0]
    np.testing.assert_allclose(two_nodes, [0.5, 1.0, 1.0, 25 / 150])


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


def test_states_are_every_30_s_from_the_last_end_on():
    schedule = made((0, 50, 1), (0, 125, 1))
    assert execution_states(schedule).tolist() == [0, 30, 50, 80, 110]
    assert execution_states(schedule, restart=False).tolist() == [0, 30, 50, 60, 90, 120]
    assert execution_states(schedule, every=1000).tolist() == [0, 50]


@settings(max_examples=40)
@given(workloads())
def test_states_agree_with_the_oracle(workload):
    schedule = simulate_easy(stretched(workload, 25.0), System.of(NODES))
    assert execution_states(schedule).tolist() == naive.moments(schedule)


def test_same_choice_counts_states():
    moments = [20.0, 75.0, 150.0]
    chosen = {
        policy: [
            set(np.argsort(row, kind="stable")[:2])
            for row in preemption_values(GOLDEN, moments, policy=policy).to_numpy()
        ]
        for policy in ("FIFO", "PAP")
    }
    agreed = np.mean([a == b for a, b in zip(*chosen.values(), strict=True)])
    assert 0 < agreed < 1
    assert same_choice(GOLDEN, "FIFO", "PAP", preempted=2, moments=moments) == agreed


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


def test_priorities_are_given_by_queue_or_any_column():
    workload = synthetic.peregrine()
    high = prioritize(workload, {"bigmem": 10.0})
    assert high.jobs["priority"].value_counts().to_dict() == {1.0: 7199, 10.0: 76}
    code = prioritize(workload, {"gaussian": 10.0}, by="application")
    assert (code.jobs["priority"] == 10).sum() == 341
    assert "priority" not in workload.jobs
    assert (prioritize(workload, {}).jobs["priority"] == 1).all()


@pytest.mark.parametrize(
    ("priorities", "by", "message"),
    [
        ({"bigmen": 10.0}, "queue", r"no job with queue='bigmen' .* known are 'batch', 'batch-2'"),
        ({"bigmem": 10.0}, "user", "no job with user='bigmem' .* known are none"),
        ({"bigmem": 0.0}, "queue", r"priority 0.0 for queue='bigmem'; expected a number above 0"),
        ({"bigmem": float("nan")}, "queue", "priority nan for queue='bigmem'"),
    ],
)
def test_wrong_priorities_are_refused(priorities, by, message):
    with pytest.raises(InvalidWorkloadError, match=f"PEREGRINE .seed 0.: {message}"):
        prioritize(synthetic.peregrine(), priorities, by=by)


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


def test_schedules_that_cannot_be_followed_are_refused():
    wide = made((0, 10, 1), (0, 10, 5))
    with pytest.raises(InvalidWorkloadError, match=r"made: job 1 asks for 5 nodes; .*'main' has 4"):
        wasted_cycles(wide, preempted=1)
    with pytest.raises(InfeasibleScheduleError, match="job 1 starts at t=5 where fewer than its 3"):
        wasted_cycles(made((0, 10, 2), (5, 10, 3)), preempted=1)
    with pytest.raises(ValueError, match="every=0; expected seconds above 0"):
        execution_states(GOLDEN, every=0)


def test_no_jobs_have_no_states():
    nobody = made()
    assert execution_states(nobody).size == 0
    assert compare_policies(nobody, preempted=2).summary["states"].eq(0).all()
