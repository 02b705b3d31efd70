"""Audit of filled machines: every kind of tampering is refused, in words of its own."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import metrics
from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.display import count
from cosimlib.filling import node_seconds, simulate_filling
from cosimlib.kernels.steps import step_function
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload
from tests.cosimlib.filling.test_simulation import DEPTHS, EARLY, NODES, WAY_NAMES, WAYS
from tests.strategies import workloads

LAW = settings(max_examples=60)


def filled(way: str, jobs: Workload = EARLY):
    """Six nodes; job 0 ends after two of its four slots, and job 1 wants five nodes."""
    return audit(simulate_filling(jobs, System.of(6), **WAYS[way]))


def tampered(schedule, row: int = 0, **changed):
    """The schedule with one row of its containers changed."""
    table = schedule.containers.copy()
    for name, value in changed.items():
        table[name] = table[name].astype(object if isinstance(value, bool) else type(value))
        table.loc[row, name] = value
    return replace(schedule, containers=table)


def refused(schedule, message: str) -> None:
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(schedule)


@pytest.mark.parametrize("way", ["A", "B, save", "B, kill"])
def test_more_containers_than_nodes_are_idle_are_refused(way):
    schedule = filled(way)
    for nodes in (50, 2):
        more = schedule.containers.assign(nodes=nodes * schedule.containers["nodes"])
        refused(replace(schedule, containers=more), r"\d+ nodes busy at t=0; partition .* has 6")


def test_what_containers_do_is_refused_where_it_is_not_what_policy_a_does():
    """Its containers: two from 0 to 120 s, one from 120 to 180 s."""
    schedule = filled("A")
    assert schedule.containers["end_time"].tolist() == [120, 180]
    row = "filling A: row 0 of the containers has "
    for wrong, message in (
        ({"nodes": 0}, row + "nodes=0; expected one or more"),
        ({"nodes": -2}, row + "nodes=-2; expected one or more"),
        ({"start_time": 1.0}, row + "start_time=1; expected a multiple of the slot, 60 s"),
        ({"end_time": 90.5}, row + "end_time=90.5; expected a multiple of the slot, 60 s"),
        ({"start_time": -60.0}, row + "start_time=-60; expected t=0, the first submission, or"),
        ({"end_time": 0.0}, row + "end_time=0; expected an end after its start"),
        ({"end_time": np.nan}, row + "end_time=nan; expected a multiple of the slot"),
        ({"starts": 1}, row + "starts=1; expected one per slot, or one and a shorter run"),
        (
            {"saved": False},
            row + "saved=False; expected True: only policy C and policy B with recl",
        ),
    ):
        refused(tampered(schedule, **wrong), message)
    late = "row 1 of the containers has end_time=240; expected t=180, the end of the last job"
    refused(tampered(schedule, 1, end_time=240.0, starts=2), late)


def test_shifted_containers_are_refused_by_a_second_and_by_a_slot():
    schedule = filled("A")
    for shift, message in ((1.0, "a multiple of the slot"), (60.0, "the end of the last job")):
        table = schedule.containers.copy()
        table[["start_time", "end_time"]] += shift
        refused(replace(schedule, containers=table), message)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "number") for name in ("start_time", "end_time", "promised_time")]
    + [("held_up", "truth value")],
)
def test_columns_that_are_not_one_value_per_job_are_refused(name, kind):
    schedule = filled("A")
    values, n = getattr(schedule, name), len(schedule.workload)
    expected = f"; expected an array of one {kind} per job"
    few = f"filling A: {name} is {count(n - 1, kind)} for the {count(n, 'job')} of .*{expected}"
    refused(replace(schedule, **{name: values[:-1]}), few)
    refused(
        replace(schedule, **{name: values.astype(str)}), f"{name} is an array of <U.*{expected}"
    )


def test_containers_without_a_policy_are_refused():
    containers = filled("A").containers
    refused(replace(filled("none"), containers=containers), "not filled: row 0 .* and a policy")


def test_kills_and_starts_are_those_of_policy_b():
    killed, saved = filled("B, kill"), filled("B, save")
    assert (~killed.containers["saved"]).any()
    refused(replace(saved, containers=killed.containers), "filling B, save: row 0 .* saved=False;")
    refused(tampered(killed, starts=2), "filling B, kill: row 0 .* starts=2; .* one per container")


def test_kills_and_starts_are_those_of_policy_c():
    """Job 0 ends after 7 of 20 slots, so that of two containers one is killed."""
    jobs = EARLY.jobs.assign(run_time=[420, 60], requested_time=[1200, 60])
    schedule = filled("C, 3", Workload(jobs, "made up"))
    assert schedule.policy == "filling C, 3 slots"
    table = schedule.containers.drop(columns="nodes")
    assert table[~table["saved"]].to_numpy().tolist() == [[360, 420, 1, False]]
    assert [0, 360, 2, True] in table.to_numpy().tolist()
    row = "filling C, 3 slots: row 0 of the containers has "
    assert schedule.containers["end_time"][0] == 360
    refused(tampered(schedule, starts=1), row + "starts=1; expected one per 3 slots, or one and")
    refused(tampered(schedule, end_time=420.0), row + "starts=2; expected one per 3 slots")
    refused(tampered(schedule, saved=False), row + "saved=False; .*: after 3 slots a container is")
    killed = int((~table["saved"]).argmax())
    refused(tampered(schedule, killed, end_time=480.0, starts=1), "7 nodes busy at t=420")


def test_regular_jobs_are_refused_inside_slots_and_after_their_promises():
    """Job 1 was promised 240 s; no job outlives a request."""
    schedule = filled("none")
    assert schedule.promised_time.tolist() == [0, 240]
    for start, message in (
        (121.0, "made up: job 1 has start_time=121; expected a multiple of the slot, 60 s"),
        (300.0, "job 1 has start_time=300; expected its promised time or earlier: no job outlived"),
    ):
        moved = np.array([0.0, start])
        refused(
            replace(schedule, start_time=moved, end_time=moved + EARLY.jobs["run_time"].to_numpy()),
            message,
        )


def test_a_job_is_later_than_promised_only_where_another_outlived_its_request_meanwhile():
    """Job 0 asks for a slot and takes three, while job 1 waits and before job 2 is submitted."""
    times = {"submit_time": [0, 0, 180], "run_time": [180, 60, 60]}
    table = pd.DataFrame(times | {"requested_time": 60, "nodes": 6})
    schedule = filled("A", Workload(table, "late"))
    assert schedule.start_time.tolist() == [0, 180, 240]
    assert schedule.promised_time.tolist() == [0, 60, 240]
    start = np.array([0.0, 180.0, 300.0])
    later = replace(schedule, start_time=start, end_time=start + table["run_time"].to_numpy())
    refused(replace(later, containers=later.containers[:0]), "late: job 2 has start_time=300;")


@pytest.mark.parametrize("way", ["none", "A", "B, kill"])
def test_jobs_held_up_where_containers_give_way_are_refused(way):
    schedule = replace(filled(way), held_up=np.array([False, True]))
    refused(
        schedule, "made up: job 1 has held_up=True; expected False: no job waits for containers"
    )
    assert filled("B, save").held_up.tolist() == [False, True]


@given(workloads(max_nodes=NODES, overruns=True), WAY_NAMES, DEPTHS, st.sampled_from([1, 3]))
@LAW
def test_no_more_nodes_are_held_than_there_are_and_the_audit_agrees(workload, way, depth, slot):
    knobs = WAYS[way] | {"slot": slot, "queue_depth": depth}
    schedule = audit(simulate_filling(workload, System.of(NODES), **knobs))
    table = schedule.allocations
    for moment in np.unique(table[["start", "end"]]):
        now = (table["start"] <= moment) & (moment < table["end"])
        assert table.loc[now, "nodes"].sum() <= NODES


@given(workloads(max_nodes=NODES, overruns=True), WAY_NAMES, st.sampled_from([1, 3]))
@LAW
def test_node_hours_by_use_are_what_is_occupied_and_what_the_rooms_own_account_says(
    workload, way, slot
):
    schedule = simulate_filling(workload, System.of(NODES), slot=slot, **WAYS[way])
    window = {"start": 2.0, "end": float(schedule.slot_ends.max()) + 2.0}
    account = node_seconds(schedule, **window) / HOUR
    by_use = metrics.node_hours_by_use(schedule, **window)
    for use, parts in (
        ("run", ["regular"]),
        ("container", ["computing", "overhead"]),
        ("killed", ["lost"]),
        ("idle", ["idle"]),
    ):
        assert by_use.get(use, 0.0) == pytest.approx(account[parts].sum(), abs=1e-12)
    table = schedule.allocations
    start, end = (table[name].clip(window["start"], window["end"]) for name in ("start", "end"))
    times, held = step_function(start.to_numpy(), end.to_numpy(), table["nodes"].to_numpy())
    assert by_use.drop("idle").sum() == pytest.approx(held[:-1] @ np.diff(times) / HOUR)
    assert by_use.sum() == pytest.approx(account.sum())


def test_a_container_on_a_node_of_a_job_that_ended_in_the_slot_is_refused():
    """A job of no length has its node for a slot: 7 of 8 nodes are idle."""
    jobs = {"submit_time": [0], "run_time": [0], "requested_time": [1], "nodes": [1]}
    workload = Workload(pd.DataFrame(jobs), "short")
    schedule = audit(simulate_filling(workload, System.of(8), slot=1, **WAYS["A"]))
    assert schedule.containers["nodes"].tolist() == [7]
    refused(tampered(schedule, nodes=8), "9 nodes busy at t=0, jobs to the end of their last slots")


@given(workloads(max_nodes=NODES, overruns=True), WAY_NAMES, st.data())
@LAW
def test_one_container_more_is_refused_at_any_time(workload, way, data):
    """All nodes are taken while there are jobs, so that there is room for no other."""
    schedule = simulate_filling(workload, System.of(NODES), slot=1, **WAYS[way])
    if schedule.containers.empty:
        return
    row = data.draw(st.integers(0, len(schedule.containers) - 1))
    nodes = int(schedule.containers["nodes"][row]) + 1
    refused(tampered(schedule, row, nodes=nodes), f"{NODES + 1} nodes busy at t=")
