"""Node numbers of allocations: each has its nodes, no node is held twice, and holds keep theirs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlib.batch import simulate_fcfs
from cosimlib.coscheduling import MACHINES, deadlock_example, simulate_coscheduling
from cosimlib.placement import lowest_blocks, node_blocks, node_stretches
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlab.figures.naive import node_numbers
from tests.cosimlib.coscheduling.instances import instances, simulated


@settings(max_examples=60)
@given(instances())
def test_each_allocation_has_its_nodes_and_no_node_is_held_twice(instance):
    schedule = simulated(instance)
    table, capacity = node_stretches(schedule), schedule.system.partitions
    nodes = table.groupby(["job", "start"])["nodes"].sum()
    held = schedule.allocations.query("end > start").set_index(["job", "start"])["nodes"]
    assert nodes.to_dict() == held.to_dict()
    for at in table["start"].unique():
        now = table[(table["start"] <= at) & (at < table["end"])]
        for machine, rows in now.groupby("machine"):
            numbers = [np.arange(row.node, row.node + row.nodes) for row in rows.itertuples()]
            busy = np.concatenate(numbers)
            assert len(np.unique(busy)) == len(busy) and busy.max() < capacity[machine]


@settings(max_examples=60)
@given(instances())
def test_a_job_keeps_the_nodes_that_it_holds_when_it_starts(instance):
    table = node_stretches(simulated(instance))
    held = table[table["state"] == "holds"].set_index(["job", "end"])
    for run in table[table["state"] == "runs"].itertuples():
        if (run.job, run.start) in held.index:
            rows = held.loc[[(run.job, run.start)]]
            assert (run.node, run.nodes) in zip(rows["node"], rows["nodes"], strict=True)


def test_a_hold_that_is_released_and_taken_again_keeps_its_nodes():
    schedule = simulate_coscheduling(
        deadlock_example(), MACHINES, schemes="HH", release_interval=300.0, release_after=0.0
    )
    table = node_stretches(schedule).query("job == 0")
    assert table["state"].tolist() == ["holds"] * (len(table) - 1) + ["runs"] and len(table) > 2
    assert (table["node"] == 0).all() and (table["nodes"] == 3).all()


def test_blocks_of_one_machine_count_holds_too():
    schedule = simulate_coscheduling(deadlock_example(), MACHINES, schemes="HH")
    blocks, held = node_blocks(schedule), schedule.allocations
    area, expected = ((t["nodes"] * (t["end"] - t["start"])).sum() for t in (blocks, held))
    assert area == expected and len(blocks) >= len(held)


def test_on_one_machine_jobs_have_nodes_whatever_partition_a_trace_names():
    jobs = pd.DataFrame({"submit_time": [0.0, 0.0], "run_time": 5.0, "nodes": 1})
    named = Workload(jobs.assign(partition=["cpu", "gpu"]), "two jobs")
    blocks = node_stretches(simulate_fcfs(named, System.of(2)))
    assert sorted(blocks["job"]) == [0, 1] and sorted(blocks["node"]) == [0, 1]


@pytest.mark.parametrize("nodes", [10**9, 4 * 10**8])
def test_numbers_of_more_nodes_than_memory_has_room_for_are_refused(nodes):
    """Of the machine's, or of those that its jobs hold one after another."""
    jobs = {"submit_time": [0, 1], "run_time": 5, "requested_time": 5, "nodes": nodes}
    schedule = simulate_fcfs(Workload(pd.DataFrame(jobs), "huge"), System.of(nodes))
    with pytest.raises(ValueError, match=r"00 .*nodes.*; expected 536,870,912 at most: take fewer"):
        node_blocks(schedule)


def test_more_nodes_than_a_machine_has_are_refused():
    schedule = simulate_coscheduling(deadlock_example(), MACHINES, schemes="YY")
    small = replace(schedule, system=System.of(A=5, B=3))
    with pytest.raises(ValueError, match=r"YY, .*: more nodes are held than the 3 of B: audit the"):
        node_stretches(small)


def test_lowest_free_numbers_first_and_ends_before_starts():
    start, end, nodes = np.array([0, 0, 5, 5]), np.array([5, 9, 6, 9]), np.array([1, 2, 2, 1])
    numbers = node_numbers(start, end, nodes, 5)
    assert [held.tolist() for held in numbers] == [[0], [1, 2], [0, 3], [4]]
    blocks = lowest_blocks(start, end, nodes, 5)[["row", "node", "nodes"]].to_numpy().tolist()
    assert blocks == [[0, 0, 1], [1, 1, 2], [2, 0, 1], [2, 3, 1], [3, 4, 1]]
