"""Errors that several entry points have in common."""

import numpy as np
import pytest

from cosimlab.explorers import explore_elastic
from cosimlib.batch import simulate_easy
from cosimlib.elastic import (
    preempted_jobs,
    preemption_values,
    simulate_elastic,
    wasted_cycles,
)
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlib.elastic.instances import (
    three_jobs,
)


@pytest.mark.parametrize("priority", [np.nan, 0.0])
def test_every_entry_point_of_pap_plus_rejects_invalid_priorities(priority):
    odd = three_jobs(priority=[1.0, priority, 2.0])
    schedule = simulate_easy(odd, System.of(2))
    message = f"made: job 1 has priority={priority:g}; expected a number above 0 .1 is the default"
    for ask in (
        lambda: simulate_elastic(odd, System.of(2), policy="PAP+"),
        lambda: wasted_cycles(schedule, policy="PAP+", preempted=1),
        lambda: preemption_values(schedule, [0.0], policy="PAP+"),
        lambda: preempted_jobs(schedule, 0.0, policy="PAP+", preempted=1),
    ):
        with pytest.raises(InvalidWorkloadError, match=message):
            ask()
    assert simulate_elastic(odd, System.of(2), policy="PAP").kills == 0
    assert wasted_cycles(schedule, policy="LIFO", preempted=1).notna().all(axis=None)


@pytest.mark.parametrize("seed", [-1, True])
def test_every_entry_point_rejects_an_invalid_seed(seed):
    schedule = simulate_easy(three_jobs(), System.of(2))
    for ask in (
        lambda: simulate_elastic(three_jobs(), System.of(2), seed=seed),
        lambda: wasted_cycles(schedule, preempted=1, seed=seed),
        lambda: preemption_values(schedule, [0.0], seed=seed),
        lambda: preempted_jobs(schedule, 0.0, preempted=1, seed=seed),
    ):
        with pytest.raises(ValueError, match=f"^seed={seed!r}; expected a whole number from 0$"):
            ask()


def test_one_partition_of_two_is_enough_to_need_priorities():
    both = Workload.join({"a": three_jobs(), "b": three_jobs(priority=[1.0, np.nan, 1.0])})
    with pytest.raises(InvalidWorkloadError, match="job 4 has priority=nan"):
        simulate_elastic(both, System.of(a=1, b=1), policy={"a": "PAP+", "b": "PAP"})


def test_errors_of_the_analysis_and_of_the_protocol_name_what_is_wrong():
    schedule = simulate_easy(three_jobs(), System.of(2))
    with pytest.raises(ValueError, match=r"grace_period=-1.0; expected seconds from 0"):
        wasted_cycles(schedule, preempted=1, grace_periods=[-1.0])
    wide = three_jobs(nodes=[1, 3, 1])
    for simulate in (simulate_easy, simulate_elastic):
        with pytest.raises(InvalidWorkloadError, match="made: job 1 asks for 3 nodes; partition"):
            simulate(wide, System.of(2))


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"at": "10"}, "at='10'; expected a moment in seconds"),
        ({"grace_period": "120"}, "grace_period='120'; expected one of 0.0"),
    ],
)
def test_strings_are_no_seconds_to_the_explorer(knobs, message):
    with pytest.raises(ValueError, match=message):
        explore_elastic(simulate_easy(three_jobs(), System.of(2)), preempted=1, **knobs)
