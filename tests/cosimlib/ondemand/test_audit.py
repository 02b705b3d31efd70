"""Audit of machines with bursts: every kind of tampering is refused, in words of its own."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.calendar import Calendar
from cosimlib.ondemand import Checkpoints, Evict, simulate_ondemand
from cosimlib.system import System
from tests.cosimlib.ondemand.instances import draw, schedule_of
from tests.cosimlib.ondemand.test_simulation import BATCH, MACHINE, ONE, bursts_of, run, workload_of


def refused(schedule, message: str) -> None:
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(schedule)


def tampered(schedule, table: str, row: int, **changed):
    """The schedule with one row of one of its tables changed."""
    frame = getattr(schedule, table).copy()
    for name, value in changed.items():
        frame.loc[frame.index[row], name] = value
    return replace(schedule, **{table: frame})


def row_of(schedule, kind: str) -> int:
    """The first row of a kind in the schedule's stretches."""
    return int((schedule.stretches["kind"] == kind).to_numpy().argmax())


@cache
def saved():
    return run(policy=Evict("dynamic", step=1.0))


@cache
def killed():
    return run(policy="kill", checkpoints=Checkpoints(3_600.0))


@cache
def gathered():
    two = workload_of((0, 10_000, 10_000, 5), (0, 10_000, 10_000, 2))
    noticed = bursts_of((5_000, 100, 4, 60, 4_000, 5_000))
    return run(two, noticed, policy=Evict("dynamic", step=1.0), notice="prepare")


@pytest.mark.parametrize("place", ["start_time", "end_time"])
@pytest.mark.parametrize("job", [0, 1, 2])
@pytest.mark.parametrize("by", [-1.0, 0.5, np.nan])
def test_starts_and_ends_that_are_moved_are_refused(place, job, by):
    moved = getattr(saved(), place).copy()
    moved[job] += by
    refused(
        replace(saved(), **{place: moved}), "dynamic: made up.*: job \\d (starts|ends|has nodes)"
    )


@pytest.mark.parametrize("name", ["start", "end", "before", "after"])
@pytest.mark.parametrize("by", [-1.0, 1.0, 0.25])
def test_stretches_that_are_moved_are_refused(name, by):
    for schedule in (saved(), killed(), gathered()):
        for row in range(len(schedule.stretches)):
            kind = schedule.stretches["kind"].iloc[row]
            if kind == "hold" or (kind == "burst" and name in ("before", "after")):
                continue
            value = schedule.stretches[name].iloc[row] + by
            refused(tampered(schedule, "stretches", row, **{name: value}), ": job ")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("kept", 4_999.0, "expected what its last checkpoint holds"),
        ("done", 5_001.0, "expected what its last checkpoint holds"),
        ("time", 5_001.0, "is evicted at t=5001|starts attempt"),
        ("action", "keep", "expected kill, app or sys"),
        ("job", 2, "is evicted without a run|bursts are never evicted"),
        ("attempt", 3, "is evicted without a run"),
    ],
)
def test_evictions_that_did_not_happen_so_are_refused(column, value, message):
    refused(tampered(saved(), "evictions", 0, **{column: value}), message)


def test_a_killed_job_keeps_its_last_checkpoint_and_no_more():
    assert killed().evictions["kept"].tolist() == [3_600]
    for kept in (0.0, 5_000.0):
        table = killed().evictions.assign(kept=kept)
        refused(replace(killed(), evictions=table), "expected what its last|expected attempt")


def test_checkpoints_are_written_for_as_long_as_they_take_and_one_at_a_time():
    slow = saved().checkpoints.assign(sys_write=saved().checkpoints["sys_write"] + 1)
    refused(replace(saved(), checkpoints=slow), "it takes")
    for seed in range(80):
        schedule = schedule_of(draw(seed, "greedy"))
        writes = schedule.stretches[schedule.stretches["kind"] == "write"]
        if len(writes) > 1:
            break
    other = writes.iloc[-1]
    both = tampered(
        schedule,
        "stretches",
        schedule.stretches.index.get_loc(writes.index[0]),
        start=other["start"],
        end=other["end"],
    )
    refused(both, ": job |two checkpoints")


def test_too_many_nodes_are_refused():
    refused(replace(saved(), system=System.of(7)), "8 nodes busy at t=0; partition 'main' has 7")
    row = row_of(saved(), "burst")
    refused(tampered(saved(), "stretches", row, nodes=5), "nodes=5; expected what it asks for")


def test_nodes_held_for_a_burst_end_with_its_start():
    row = row_of(gathered(), "hold")
    refused(tampered(gathered(), "stretches", row, nodes=5), "nodes=5; expected")
    refused(
        tampered(gathered(), "stretches", row, end=5_001.0), "has nodes held for it until t=5001"
    )
    row = row_of(gathered(), "burst")
    refused(tampered(gathered(), "stretches", row, kind="compute"), "kind='compute'; expected that")


def test_policies_do_what_their_names_say():
    refused(
        replace(saved(), policy="wait", mechanism="wait"), "wait: .* is evicted; wait evicts nobody"
    )
    refused(
        replace(saved(), policy="kill", mechanism="kill"), "writes a checkpoint; kill writes none"
    )


def test_reserved_nodes_that_are_taken_are_refused():
    schedule = audit(simulate_ondemand(BATCH, MACHINE, ONE, policy="wait"))
    refused(replace(schedule, reserved=2), "leaves 0 nodes free; 2 are reserved and bursts use 0")


@pytest.mark.parametrize("policy", ["kill", "greedy", "dynamic", "dynamic_blocked"])
def test_a_column_of_another_length_is_refused(policy):
    schedule = schedule_of(draw(1, policy))
    for name in ("start_time", "end_time", "on_demand"):
        refused(replace(schedule, **{name: getattr(schedule, name)[:-1]}), f"{name} is ")


def test_jobs_that_start_again_on_closed_nodes_are_refused():
    """The killed job goes on at 5,100 s, when a node has closed."""
    calendar = Calendar({"start": [5_050], "end": [9_000], "nodes": [1]})
    refused(replace(killed(), calendar=calendar), "8 nodes held where a job starts at t=5100")
