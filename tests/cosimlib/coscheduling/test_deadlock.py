"""Deadlock: the smallest one step by step, the plain definition, laws, and the sentences on it."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlib.audit import audit
from cosimlib.coscheduling import (
    MACHINES,
    circular_wait,
    deadlock_example,
    describe,
    event_times,
    job_names,
    simulate_coscheduling,
)
from cosimlib.coscheduling.deadlock import find_deadlock, free_nodes, job_states
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.coscheduling.instances import instances, simulated
from tests.suites import THOROUGH

MINUTE = 60.0
A1, B1, B2, A2 = 0, 1, 2, 3
"""Rows of the first four jobs, in order of submission."""


@pytest.fixture(scope="module")
def locked():
    return simulate_coscheduling(deadlock_example(), MACHINES, schemes="HH", release_interval=None)


@pytest.fixture(scope="module")
def released():
    return audit(simulate_coscheduling(deadlock_example(), MACHINES, schemes="HH"))


def test_the_first_two_pairs_of_the_example_deadlock(locked):
    """a1 waits for b2, behind b1; b1 waits for a2, behind a1."""
    jobs = locked.workload.jobs
    assert jobs["partition"][:4].tolist() == list("ABBA")
    assert jobs["mate"][:4].tolist() == [B2, A2, A1, B1]
    assert {A1, B1, B2, A2} <= set(locked.stuck.tolist())
    assert find_deadlock(locked, 8 * MINUTE).empty
    table = find_deadlock(locked, 12 * MINUTE)
    assert table.to_numpy().tolist() == [[B2, A1, B1], [A2, B1, A1]]
    assert circular_wait(locked, 12 * MINUTE) == [A1, B2, B1, A2, A1]
    assert circular_wait(locked, 1e9) == [A1, B2, B1, A2, A1]


def test_a_release_ends_the_circular_wait(released):
    assert circular_wait(released, 19 * MINUTE) == [A1, B2, B1, A2, A1]
    assert circular_wait(released, 20 * MINUTE) == []
    assert not len(released.stuck)
    assert job_states(released, 20 * MINUTE).state[:4].tolist() == [
        "waiting",
        "running",
        "waiting",
        "running",
    ]


@pytest.mark.parametrize("pairs", range(7))
@pytest.mark.parametrize("schemes", ["HH", "HY", "YH", "YY", None])
def test_the_example_deadlocks_only_with_two_pairs_where_both_machines_hold(pairs, schemes):
    workload = deadlock_example(pairs)
    assert workload.column("mate").notna().sum() == 2 * pairs
    schedule = simulate_coscheduling(workload, MACHINES, schemes=schemes, release_interval=None)
    assert bool(circular_wait(schedule, 1e9)) == (schemes == "HH" and pairs >= 2)
    assert bool(len(schedule.stuck)) == (schemes == "HH" and pairs >= 2)
    audit(simulate_coscheduling(workload, MACHINES, schemes=schemes))


@pytest.mark.parametrize("pairs", [-1, 7, 1.5, True])
def test_other_numbers_of_pairs_are_refused(pairs):
    with pytest.raises(ValueError, match=f"pairs={pairs}; expected a whole number from 0 to 6"):
        deadlock_example(pairs)


def test_events_are_submissions_starts_and_ends(locked):
    """Twelve submissions, five starts at once, and the ends of these."""
    jobs = locked.workload.jobs
    finite = locked.end_time[~np.isnan(locked.end_time)]
    assert event_times(locked).tolist() == sorted({*jobs["submit_time"], *finite})


@given(instances())
@settings(max_examples=40)
def test_states_and_free_nodes_are_what_the_schedule_says(instance):
    schedule = simulated(instance)
    jobs, partition = schedule.workload.jobs, schedule.partition
    for at in event_times(schedule):
        now = job_states(schedule, at)
        free = dict(schedule.system.partitions)
        for job, state in enumerate(now.state):
            holds = [
                h for h in schedule.holds.itertuples() if h.job == job and h.start <= at < h.end
            ]
            if schedule.end_time[job] <= at:
                expected = "ended"
            elif schedule.start_time[job] <= at:
                expected = "running"
            elif holds:
                expected = "holding"
            else:
                expected = "waiting" if jobs["submit_time"][job] <= at else "unsubmitted"
            assert state == expected
            assert np.isnan(now.held_since[job]) == (not holds)
            if state in ("running", "holding"):
                free[partition[job]] -= jobs["nodes"][job]
        assert free_nodes(schedule, at).to_dict() == free
        assert min(free.values()) >= 0


def stuck_groups(schedule, at) -> set[int]:
    """By the definition: the largest set of groups that cannot start beside the others' holds."""
    now, jobs = job_states(schedule, at), schedule.workload.jobs
    holding = [
        int(group)
        for group in set(schedule.group[now.state == "holding"])
        if "unsubmitted" not in now.state[schedule.group == group]
    ]

    def closed(chosen) -> bool:
        for group in chosen:
            blocked = False
            for job in np.flatnonzero((schedule.group == group) & (now.state == "waiting")):
                others = [
                    jobs["nodes"][other]
                    for other in np.flatnonzero(now.state == "holding")
                    if schedule.group[other] in chosen
                    and schedule.group[other] != group
                    and schedule.partition[other] == schedule.partition[job]
                ]
                room = schedule.system.partitions[schedule.partition[job]] - sum(others)
                blocked = blocked or jobs["nodes"][job] > room
            if not blocked:
                return False
        return True

    for size in range(len(holding), 0, -1):
        for chosen in combinations(holding, size):
            if closed(chosen):
                return set(chosen)
    return set()


def crowded(seed):
    """Mates of about half a machine each, on two or three machines that all hold."""
    rng = np.random.default_rng(seed)
    machines = [f"m{number}" for number in range(rng.integers(2, 4))]
    system = System("crowded", {machine: int(rng.integers(4, 9)) for machine in machines})
    rows = []
    for group in range(6):
        members = rng.permutation(machines)[: rng.integers(1, len(machines) + 1)].tolist()
        rows += [(rng.integers(0, 30), machine, group) for machine in members]
    jobs = pd.DataFrame(rows, columns=["submit_time", "partition", "group"])
    jobs = jobs.sort_values("submit_time", kind="stable", ignore_index=True)
    wide = [int(rng.integers(1, system.partitions[machine] + 1)) for machine in jobs["partition"]]
    places = jobs.groupby("group").indices
    ring = {
        place: int(np.roll(of, -1)[at]) for of in places.values() for at, place in enumerate(of)
    }
    mate = [ring[job] if ring[job] != job else None for job in range(len(jobs))]
    jobs = jobs.assign(nodes=wide, run_time=rng.integers(1, 40, len(jobs)), mate=mate)
    jobs = jobs.assign(requested_time=jobs["run_time"]).astype({"mate": "Int64"})
    return simulate_coscheduling(
        Workload(jobs.drop(columns="group"), f"crowded {seed}"),
        system,
        schemes="H",
        release_interval=None,
        held_share=1.0,
        order="submit",
    )


def test_a_deadlock_is_the_largest_set_that_blocks_itself_and_never_starts():
    seeds, found, larger = 100 if THOROUGH else 25, 0, 0
    for seed in range(seeds):
        schedule = crowded(seed)
        for at in event_times(schedule):
            table = find_deadlock(schedule, at)
            groups = set(schedule.group[table["job"]].tolist())
            assert groups == stuck_groups(schedule, at), (seed, at)
            assert np.isnan(schedule.start_time[np.isin(schedule.group, list(groups))]).all()
            chain = circular_wait(schedule, at)
            assert bool(chain) == bool(groups)
            if chain:
                now = job_states(schedule, at)
                assert chain[0] == chain[-1] and len(set(chain)) == len(chain) - 1
                assert (now.state[chain[::2]] == "holding").all()
                assert (now.state[chain[1::2]] == "waiting").all()
                for holder, mate, behind in zip(chain[::2], chain[1::2], chain[2::2], strict=False):
                    assert schedule.group[holder] == schedule.group[mate] != schedule.group[behind]
                    assert schedule.partition[mate] == schedule.partition[behind]
        found += bool(chain)
        larger += len(groups) > 2
    assert found >= 0.2 * seeds and larger >= 0.03 * seeds


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
