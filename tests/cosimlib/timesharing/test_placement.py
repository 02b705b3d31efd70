"""Memory of nodes: of a log's machine, and placement where it suffices."""

import math

import numpy as np
import pandas as pd
import pytest

from cosimlab import twins
from cosimlab.timesharing import simulate_batch, with_node_memory
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.timesharing.kernel import SPARE
from cosimlib.workload import InvalidWorkloadError, Workload


def log(total_nodes=4, **columns) -> Workload:
    """Jobs of a minute on one node, but for what is given."""
    n = max((len(values) for values in columns.values()), default=3)
    table = {"submit_time": 10.0 * np.arange(n), "run_time": [60.0] * n, "nodes": [1] * n}
    return Workload(pd.DataFrame(table | columns), "log", System.of(total_nodes))


def left_out(workload: Workload) -> dict[str, int]:
    """How many jobs the account says are gone, by reason."""
    dropped = workload.account.query("action == 'dropped'")
    return dict(zip(dropped["reason"], dropped["records"], strict=True))


def test_a_node_has_twice_what_99_percent_of_the_jobs_need_at_most():
    """Of 0, 1, ..., 199 and 10,000 GB that is twice 198; the largest job does not fit."""
    memory = [*map(float, range(200)), 10_000.0]
    found = with_node_memory(log(memory=memory))
    assert found.machine.memory_per_node == pytest.approx(2 * 198.0)
    assert found.jobs["memory"].tolist() == memory[:-1]
    assert left_out(found)["more memory than the 396 GB of a node"] == 1


@pytest.mark.parametrize("columns", [{}, {"memory": [math.nan] * 3}], ids=str)
def test_memory_that_no_job_says_is_unlimited(columns):
    found = with_node_memory(log(**columns))
    assert math.isnan(found.machine.memory_per_node) and len(found) == 3
    assert simulate_timesharing(found, found.machine).jobs["wait_time"].tolist() == [0, 0, 0]


def test_jobs_that_do_not_say_what_memory_they_need_are_told():
    noted = with_node_memory(log(memory=[math.nan, 8.0, math.nan])).account.query(
        "action == 'noted'"
    )
    assert noted[["reason", "records"]].to_numpy().tolist() == [
        ["memory unknown, counted as none", 2]
    ]
    assert with_node_memory(log(memory=[8.0] * 3)).account.empty


def test_times_are_from_the_first_submission():
    """So that days before it are no part of a warm-up, nor of the utilization."""
    late = log(submit_time=[500.0, 510.0, 700.0], recorded_start=[500.0, math.nan, 800.0])
    found = with_node_memory(late).jobs
    assert found["submit_time"].tolist() == [0.0, 10.0, 200.0]
    assert found["recorded_start"].fillna(-1.0).tolist() == [0.0, -1.0, 300.0]
    assert late.jobs["submit_time"].tolist() == [500.0, 510.0, 700.0], "the workload was changed"


def test_given_memory_is_what_nodes_have():
    workload = log(memory=[10.0, 64.0, 64.1])
    found = with_node_memory(workload, memory_per_node=64)
    assert found.machine.memory_per_node == 64
    assert found.jobs["memory"].tolist() == [10.0, 64.0]
    assert left_out(found)["more memory than the 64 GB of a node"] == 1
    assert math.isnan(workload.machine.memory_per_node), "the workload was changed"


def test_nodes_that_no_job_fits_are_refused():
    wrong = "log: no job fits a node of 1e-09 GB; expected more"
    with pytest.raises(InvalidWorkloadError, match=wrong):
        with_node_memory(log(memory=[10.0, 64.0]), memory_per_node=1e-9)


def test_wider_jobs_are_left_out_and_one_as_wide_as_the_machine_stays():
    found = with_node_memory(log(nodes=[4, 5, 1, 6]))
    assert found.jobs["nodes"].tolist() == [4, 1]
    assert left_out(found)["wider than the machine"] == 2
    assert found.machine.total_nodes == 4


def test_requested_times_are_filled_where_there_are_none():
    """With the run time, at least a second; others are as they were, also below the run time."""
    found = with_node_memory(
        log(run_time=[60.0, 60.0, 0.5, 60.0], requested_time=[90.0, math.nan, math.nan, 30.0])
    )
    assert found.jobs["requested_time"].tolist() == [90.0, 60.0, 1.0, 30.0]
    assert found.jobs["run_time"].tolist() == [60.0, 60.0, 0.5, 60.0]
    assert with_node_memory(log()).jobs["requested_time"].tolist() == [60.0] * 3
    assert len(simulate_batch(found, found.machine).jobs) == 4


def test_the_first_jobs_are_kept():
    """So many of those that are left when others have been left out."""
    found = with_node_memory(log(nodes=[1, 5, 2, 3, 4]), jobs=np.int64(3))
    assert found.jobs["nodes"].tolist() == [1, 2, 3]
    assert found.jobs["submit_time"].tolist() == [0.0, 20.0, 30.0]
    assert left_out(found) == {"wider than the machine": 1, "submitted after the 3 jobs taken": 1}
    assert len(with_node_memory(log(), jobs=3)) == 3
    assert left_out(with_node_memory(log(), jobs=3)) == {}


def test_fewer_jobs_are_kept_where_they_start_on_many_nodes():
    """Of 30 jobs of 1, 2 and 3 nodes in turn the first ones that have 30 or 32 of 60 nodes."""
    wide = log(nodes=[1, 2, 3] * 10)
    assert len(with_node_memory(wide, node_starts=60)) == 30
    assert with_node_memory(wide, node_starts=30).jobs["nodes"].sum() == 30
    assert len(with_node_memory(wide, node_starts=32)) == 16
    assert len(with_node_memory(wide, jobs=4, node_starts=32)) == 4
    assert len(with_node_memory(log(nodes=[4, 4, 4]), node_starts=3)) == 1


def test_partitions_become_one():
    """A log's machine of two partitions runs as one of all their nodes."""
    machine = System("two", {"big": 3, "small": 2})
    table = log().jobs.assign(partition=["big", "small", "big"], nodes=[1, 2, 3])
    found = with_node_memory(Workload(table, "log", machine))
    assert found.machine.total_nodes == 5 and len(found.machine.partitions) == 1
    assert "partition" not in found.jobs
    assert len(simulate_timesharing(found, found.machine).jobs) == 3


def test_a_log_without_a_machine_is_refused():
    with pytest.raises(
        InvalidWorkloadError, match="log: its machine is unknown; name its nodes in"
    ):
        with_node_memory(Workload(log().jobs, "log"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"jobs": 0}, "jobs=0; expected a whole number from 1, or None"),
        ({"memory_per_node": 0.0}, "memory_per_node=0.0; expected GB above 0, or None"),
    ],
    ids=str,
)
def test_a_log_s_nodes_have_memory_and_it_has_jobs(wrong, message):
    jobs = pd.DataFrame({"submit_time": [0], "run_time": [10], "nodes": [1]})
    with pytest.raises(ValueError, match=f"^{message}"):
        with_node_memory(Workload(jobs, "log", System.of(4)), **wrong)


# --- placement ----------------------------------------------------------------------------------

NODES = 199


def expected_nodes(schedule, memory_per_node):
    """The nodes of each job, found by sorting all of them at its start, and how many had room."""
    jobs = schedule.workload.jobs
    size, needed = jobs["nodes"].to_numpy(), jobs["memory"].to_numpy()
    load, free = np.zeros(NODES, int), np.full(NODES, memory_per_node)
    running, nodes, fitting = set(), {}, []
    # Jobs that wait are older than those submitted at the moment, so that they are in order.
    for job in np.lexsort((np.arange(len(jobs)), schedule.start_time)):
        for other in sorted(running, key=lambda other: schedule.end_time[other]):
            if schedule.end_time[other] <= schedule.start_time[job]:
                running.remove(other)
                load[nodes[other]] -= 1
                free[nodes[other]] += needed[other]
        fit = np.flatnonzero(free >= needed[job] - SPARE)
        fitting.append(fit.size)
        nodes[job] = np.sort(fit[np.argsort(load[fit], kind="stable")[: size[job]]])
        running.add(job)
        load[nodes[job]] += 1
        free[nodes[job]] -= needed[job]
    return nodes, fitting


@pytest.mark.parametrize("spread", ["tenth", "UniLu-Gaia"])
@pytest.mark.parametrize("spmd", [True, False])
def test_jobs_start_on_the_least_loaded_nodes_that_have_the_memory(spread, spmd):
    workload = twins.edison(2, nodes=NODES, load=1.3, memory_spread=spread, seed=2)
    schedule = simulate_timesharing(workload, workload.machine, spmd=spmd)
    nodes, fitting = expected_nodes(schedule, workload.machine.memory_per_node)
    for job, expected in nodes.items():
        chosen = schedule.members[schedule.first[job] : schedule.first[job + 1]]
        assert chosen.tolist() == expected.tolist(), job
    assert min(fitting) < NODES == max(fitting)
