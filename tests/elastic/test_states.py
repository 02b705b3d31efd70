"""Execution states, and the schedules that have them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from cosimlib.audit import InfeasibleScheduleError
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    compare_policies,
    execution_states,
    preemption_values,
    same_choice,
    simulate_elastic,
    wasted_cycles,
)
from cosimlib.explorers import explore_elastic
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError
from tests.elastic import naive
from tests.elastic.instances import (
    GOLDEN,
    scheduled,
    stretched,
    three_jobs,
)
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


@pytest.mark.parametrize("every", [np.inf, np.nan, -30.0, 0, "30"])
def test_states_come_at_a_finite_pace(every):
    schedule = simulate_easy(three_jobs(), System.of(2))
    with pytest.raises(ValueError, match=r"every=.*; expected seconds above 0"):
        execution_states(schedule, every=every)


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
    assert compare_policies(empty, preempted=2).summary["states"].eq(0).all()


def test_what_cannot_be_followed_is_refused():
    elastic = simulate_elastic(three_jobs(), System.of(2))
    coupled = replace(simulate_easy(three_jobs(), System.of(2)), system=System.of(a=2, b=1))
    for ask in (
        lambda schedule: wasted_cycles(schedule, preempted=1),
        lambda schedule: preemption_values(schedule, [0.0]),
        lambda schedule: same_choice(schedule, "LIFO", "PAP", preempted=1),
        execution_states,
        explore_elastic,
    ):
        with pytest.raises(
            ValueError, match="elastic PAP, made: a preemption needs jobs that run once"
        ):
            ask(elastic)
        with pytest.raises(ValueError, match="EASY, made: the system has 2 partitions, a, b; a pr"):
            ask(coupled)
