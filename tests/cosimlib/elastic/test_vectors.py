"""Preemption vectors, the states at which they are asked for, and the nodes that they choose."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from cosimlab import twins
from cosimlab.explorers import explore_elastic
from cosimlib.audit import InfeasibleScheduleError
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    execution_states,
    occupants,
    preemption_values,
    prioritize,
    simulate_elastic,
    wasted_cycles,
)
from cosimlib.elastic.vectors import LIFO, evaluate, follow
from cosimlib.kernels import occupancy
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError
from tests.cosimlib.elastic import naive
from tests.cosimlib.elastic.instances import GOLDEN, scheduled, stretched, three_jobs
from tests.strategies import workloads

NODES = 8


def test_states_are_every_30_s_from_the_last_end_on():
    schedule = scheduled((0, 50, 1), (0, 125, 1))
    assert execution_states(schedule).tolist() == [0, 30, 50, 80, 110]
    assert execution_states(schedule, restart=False).tolist() == [0, 30, 50, 60, 90, 120]
    assert execution_states(schedule, every=1000).tolist() == [0, 50]


@settings(max_examples=40)
@given(workloads())
def test_states_agree_with_the_oracle(workload):
    schedule = simulate_easy(stretched(workload, 25.0), System.of(NODES))
    assert execution_states(schedule).tolist() == naive.moments(schedule)


def test_schedules_that_cannot_be_followed_are_refused():
    wide = scheduled((0, 10, 1), (0, 10, 5))
    with pytest.raises(InvalidWorkloadError, match=r"made: job 1 asks for 5 nodes; .*'main' has 4"):
        wasted_cycles(wide, preempted=1)
    with pytest.raises(InfeasibleScheduleError, match="job 1 starts at t=5 where fewer than its 3"):
        wasted_cycles(scheduled((0, 10, 2), (5, 10, 3)), preempted=1)
    with pytest.raises(ValueError, match="every=0; expected seconds above 0"):
        execution_states(GOLDEN, every=0)


def test_no_jobs_have_no_states():
    empty = scheduled()
    assert execution_states(empty).size == 0
    assert wasted_cycles(empty, preempted=2).empty


def test_what_cannot_be_followed_is_refused():
    elastic = simulate_elastic(three_jobs(), System.of(2))
    coupled = replace(simulate_easy(three_jobs(), System.of(2)), system=System.of(a=2, b=1))
    for ask in (
        lambda schedule: wasted_cycles(schedule, preempted=1),
        lambda schedule: preemption_values(schedule, [0.0]),
        execution_states,
        explore_elastic,
    ):
        with pytest.raises(
            ValueError, match="elastic PAP, made: a preemption needs jobs that run once"
        ):
            ask(elastic)
        with pytest.raises(ValueError, match="EASY, made: the system has 2 partitions, a, b; a pr"):
            ask(coupled)


def test_nodes_are_the_lowest_free():
    assert occupants(GOLDEN, [0.0, 50.0, 100.0, 200.0, 300.0]).to_numpy().tolist() == [
        [0, 1, 1, -1],
        [0, 1, 1, 2],
        [0, 3, -1, 2],
        [0, -1, -1, 2],
        [-1, -1, -1, 2],
    ]


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
        running = [
            n for j, n in expected.items() if schedule.start_time[j] <= now < schedule.end_time[j]
        ]
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


def test_values_of_jobs_that_ran_less_than_a_second_are_parts_of_the_largest_too():
    values, elapsed = np.empty(3), np.array([0.25, 0.0, 0.125])
    job, held, priority = np.array([0, occupancy.IDLE, 1]), np.ones(2, np.int64), np.ones(2)
    evaluate(LIFO, job, elapsed, held, priority, np.random.default_rng(0), values)
    assert values.tolist() == [1.0, 0.0, 0.5]


def test_priorities_are_given_by_queue_or_any_column():
    workload = twins.peregrine()
    high = prioritize(workload, {"bigmem": 10.0})
    assert high.jobs["priority"].value_counts().to_dict() == {1.0: 7199, 10.0: 76}
    code = prioritize(workload, {"gaussian": 10.0}, by="application")
    assert (code.jobs["priority"] == 10).sum() == 341
    assert "priority" not in workload.jobs
    assert (prioritize(workload, {}).jobs["priority"] == 1).all()


@pytest.mark.parametrize(
    ("priorities", "by", "message"),
    [
        ({"bigmen": 10.0}, "queue", r"no job with queue='bigmen' .* known are 'batch', 'bigmem'"),
        ({"bigmem": 10.0}, "user", "no job with user='bigmem' .* known are none"),
        ({"bigmem": 0.0}, "queue", r"priority 0.0 for queue='bigmem'; expected a number above 0"),
    ],
)
def test_wrong_priorities_are_refused(priorities, by, message):
    with pytest.raises(InvalidWorkloadError, match=f"PEREGRINE .seed 0.: {message}"):
        prioritize(twins.peregrine(), priorities, by=by)


def test_priorities_are_a_mapping():
    with pytest.raises(TypeError, match=r"priorities is .*; expected a mapping of values of"):
        prioritize(three_jobs(queue="bigmem"), ["bigmem"])
