"""Sentences about instants of coscheduled schedules."""

import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlab.coscheduling import describe, job_names
from cosimlib.coscheduling import (
    MACHINES,
    deadlock_example,
    event_times,
    simulate_coscheduling,
)
from cosimlib.coscheduling.deadlock import job_states
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.coscheduling.instances import instances, simulated

MINUTE = 60.0

LOCKED = {
    0: [
        "Minute 0: a1 is submitted, a1 begins to hold.",
        "a1 holds 3 nodes of A and waits for b2, not submitted yet.",
    ],
    8: [
        "Minute 8: b2 is submitted.",
        "a1 holds 3 nodes of A and waits for b2; b1 holds 3 nodes of B and waits for a2, not "
        "submitted yet.",
        "b2 wants 3 of the 5 nodes of B, of which b1 holds 3.",
    ],
    12: [
        "Minute 12: a2 is submitted.",
        "a1 holds 3 nodes of A and waits for b2; b1 holds 3 nodes of B and waits for a2.",
        "b2 wants 3 of the 5 nodes of B, of which b1 holds 3; a2 wants 3 of the 5 nodes of A, of "
        "which a1 holds 3.",
        "Deadlock: a1 → b2 → b1 → a2 → a1, each waits for the next; held nodes are "
        "never released, so none of them will ever start.",
    ],
}
RELEASED = {
    20: [
        "Minute 20: a1 gives its nodes back, b1 and a2 start together.",
        "a1 wants 3 of the 5 nodes of A, of which 0 are free; b2 wants 3 of the 5 nodes of B, of "
        "which 0 are free.",
        "That breaks the circle.",
    ],
    40: [
        "Minute 40: b1 and a2 end, a1 and b2 start together.",
        "b4 wants 3 of the 5 nodes of B, of which 2 are free.",
    ],
}


def described(schedule, minute) -> list[str]:
    return describe(schedule, minute * MINUTE, job_names(schedule))


@pytest.mark.parametrize("minute", LOCKED)
def test_a_deadlock_is_described_step_by_step(minute):
    schedule = simulate_coscheduling(deadlock_example(), MACHINES, release_interval=None)
    assert described(schedule, minute) == LOCKED[minute]


@pytest.mark.parametrize("minute", RELEASED)
def test_a_release_is_described_with_the_circle_it_breaks(minute):
    schedule = simulate_coscheduling(deadlock_example(), MACHINES)
    assert described(schedule, minute) == RELEASED[minute]
    assert described(schedule, 12)[-1].endswith("next; held nodes are given back at minute 20.")


def test_the_end_of_a_deadlock_names_the_jobs_that_never_start():
    schedule = simulate_coscheduling(deadlock_example(), MACHINES, release_interval=None)
    last = describe(schedule, float(event_times(schedule)[-1]), job_names(schedule))[-1]
    assert last == "Nothing more happens: a1, b1, b2, a2, b4, a5 and b6 never start."


def test_yielding_waits_for_mates_without_nodes():
    schedule = simulate_coscheduling(deadlock_example(), MACHINES, schemes="YY")
    assert described(schedule, 0) == [
        "Minute 0: a1 is submitted, a1 yields for the first time.",
        "a1 waits for b2, not submitted yet.",
    ]
    assert described(schedule, 8)[0] == "Minute 8: b2 is submitted, a1 and b2 start together."


def test_an_outage_is_described_with_the_nodes_given_back():
    outage = ("A", 6 * MINUTE, 9 * MINUTE)
    schedule = simulate_coscheduling(
        deadlock_example(), MACHINES, release_interval=None, outages=[outage]
    )
    first = described(schedule, 6)[0]
    assert first.startswith("Minute 6: A goes down, a1 gives its nodes back, b1 starts")
    assert described(schedule, 9)[0].startswith("Minute 9: A is back")


def test_of_many_waiting_jobs_the_number_is_given():
    """One job has all nodes, nine wait."""
    jobs = {"submit_time": range(10), "run_time": 100.0, "requested_time": 100.0, "nodes": 5}
    crowd = Workload(pd.DataFrame(jobs).assign(partition="A"), "crowd")
    schedule = simulate_coscheduling(crowd, System.of(A=5, B=5))
    line = describe(schedule, 9.0, job_names(schedule))[1]
    assert line.startswith("a2 wants 5 of the 5 nodes of A, of which 0 are free; a3 wants")
    assert line.endswith("; 3 more wait.")


@given(instances())
@settings(max_examples=40)
def test_every_event_of_any_schedule_is_described(instance):
    schedule = simulated(instance)
    names = job_names(schedule)
    assert len(set(names)) == len(names)
    for at in event_times(schedule):
        first, *others = describe(schedule, at, names)
        assert "nothing happens" not in first
        text = " ".join(others)
        for job, state in enumerate(job_states(schedule, at).state):
            if state == "holding":
                assert f"{names[job]} holds " in text
                assert "waits for ;" not in text and "waits for ." not in text


@given(instances(releases=(None,)))
@settings(max_examples=60)
def test_jobs_that_never_start_are_named_at_the_last_event(instance):
    schedule = simulated(instance)
    names = job_names(schedule)
    last = describe(schedule, float(event_times(schedule)[-1]), names)[-1]
    never = [names[job] for job in schedule.stuck]
    assert last.startswith("Nothing more happens: ") == bool(never)
    assert all(name in last for name in never)
