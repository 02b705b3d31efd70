"""Deadlock: the smallest one step by step, the plain definition, and laws."""

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
    event_times,
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
