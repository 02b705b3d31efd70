"""Queues on nodes: laws, plain rules, the audit, and what is left of each resource."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import cosimlab as lab
import cosimlib as cs
from cosimlib.audit import InfeasibleScheduleError
from cosimlib.nodes import POLICIES, idle_gpus, place_jobs, resource_utilization, stranded_gpu_hours
from cosimlib.schedule import SharedNodesError
from cosimlib.workload import InvalidWorkloadError
from tests.cosimlib.nodes import naive
from tests.cosimlib.nodes.cases import (
    fitting,
    naive_jobs,
    naive_nodes,
    random_system,
    random_workload,
)
from tests.strategies import workloads

COUNTED = {
    "fcfs": cs.simulate_fcfs,
    "first_fit": cs.simulate_first_fit,
    "easy": cs.simulate_easy,
}


def jobs_of(**columns):
    times = {"submit_time": 0, "run_time": 10, "requested_time": 10, "nodes": 1}
    return cs.Workload(pd.DataFrame(times | columns), "W")


SHARED = cs.System.of_types([cs.NodeType(2, cores=8, memory=16, gpus=2, model="A")], "two nodes")


@settings(max_examples=30)
@given(workloads(overruns=True))
def test_whole_nodes_are_counted(workload):
    """One core per node, and jobs that take whole nodes: starts are those of `cosimlib.batch`."""
    system = cs.System.of(8)
    for policy, simulate in COUNTED.items():
        schedule = cs.audit(cs.simulate_nodes(workload, system, policy=policy))
        assert schedule.start_time.tolist() == simulate(workload, system).start_time.tolist()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("placement", ["first_fit", "best_fit", "worst_fit", "fgd"])
def test_starts_and_nodes_are_those_of_the_plain_rule(policy, placement):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        system = random_system(rng, 3)
        workload = fitting(random_workload(rng, 12), system)
        if not len(workload):
            continue
        jobs = naive_jobs(workload)
        typical = naive.typical_requests([job[0] for job in jobs for _ in range(job[1])])
        expected = naive.starts(naive_nodes(system), jobs, policy, placement, typical)
        schedule = cs.simulate_nodes(workload, system, policy=policy, placement=placement)
        assert cs.audit(schedule).start_time.tolist() == expected, (seed, workload.jobs)


@pytest.mark.parametrize("placement", ["random", "dot_product", "gpu_clustering", "gpu_packing"])
def test_every_placement_makes_schedules_that_could_happen(placement):
    rng = np.random.default_rng(2)
    system = random_system(rng, 5)
    workload = fitting(random_workload(rng, 40), system)
    for policy in POLICIES:
        schedule = cs.simulate_nodes(workload, system, policy=policy, placement=placement)
        assert np.isfinite(cs.audit(schedule).start_time).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_late_job_takes_no_gpu_that_the_head_waits_for(seed):
    """Shares of GPUs on random ones: job 3 may not take the second GPU that job 2 needs."""
    workload = jobs_of(
        submit_time=[0, 0, 1, 2], run_time=[100, 10, 5, 50], requested_time=[100, 10, 5, 50],
        nodes=2, cores=1, gpus=1, gpu_share=[0.5, 0.5, 1, 0.5],
    )  # fmt: skip
    system = cs.System.of_types([cs.NodeType(2, cores=8, gpus=2)])
    starts = [
        cs.simulate_nodes(jobs, system, policy="easy", placement="random", seed=seed).start_time[2]
        for jobs in (cs.Workload(workload.jobs.head(3), "W"), workload)
    ]
    assert starts[1] == starts[0]


def test_nobody_delays_a_reserved_node():
    """Job 1 has node 0 reserved from 10 on: job 2 ends by then, job 3 goes beside it on node 1."""
    workload = jobs_of(
        nodes=[1, 2, 1, 1], run_time=[10, 5, 9, 9], requested_time=[10, 5, 9, 12], cores=4,
        gpus=[2, 2, 0, 0],
    )  # fmt: skip
    schedule = cs.audit(cs.simulate_nodes(workload, SHARED, policy="conservative"))
    assert schedule.start_time.tolist() == [0, 10, 0, 0]
    counted = jobs_of(nodes=[1, 2, 1], requested_time=[10, 5, 11], run_time=[10, 5, 11])
    planned = cs.simulate_conservative(counted, cs.System.of(2), reservations="replanned")
    schedule = cs.simulate_nodes(counted, cs.System.of(2), policy="conservative")
    assert schedule.start_time.tolist() == planned.start_time.tolist() == [0, 10, 15]


def test_conservative_acts_when_a_reservation_begins():
    """At 15 nobody ends or comes: job 0 was expected to end at 6 and job 1 at 15, and both run on.

    So both free their nodes right after 15. Job 2 takes those two, and job 3 begins on the third.
    """
    workload = jobs_of(
        submit_time=[0, 2, 5, 5, 5],
        run_time=[18, 14, 6, 7, 16],
        requested_time=[6, 13, 13, 3, 1],
        nodes=[1, 1, 2, 1, 3],
        cores=[4, 3, 3, 4, 1],
    )
    system = cs.System.of_types([cs.NodeType(3, cores=4)])
    schedule = cs.audit(cs.simulate_nodes(workload, system, policy="conservative"))
    assert schedule.start_time.tolist() == [0, 2, 18, 15, 22]
    asked = workload.jobs.assign(memory=0, gpus=0, gpu_share=1.0, gpu_models="")
    jobs = naive_jobs(cs.Workload(asked, "W"))
    nodes = [naive.Node(4_000, 64, [], "") for _ in range(3)]
    assert naive.starts(nodes, jobs, "conservative") == [0, 2, 18, 15, 22]


@pytest.mark.parametrize("policy", POLICIES)
def test_nobody_comes(policy):
    nobody = jobs_of(nodes=[1]).keep(np.array([False]), "nobody")
    assert cs.audit(cs.simulate_nodes(nobody, SHARED, policy=policy)).start_time.tolist() == []
    assert place_jobs(nobody, SHARED).places.empty


@pytest.mark.compiled("a hundred thousand plans")
def test_plans_without_end_are_refused():
    """Job 0 outlives its request by days; job 2 is reserved one second ahead, again and again."""
    workload = jobs_of(run_time=[1e6, 1, 1], requested_time=1)
    with pytest.raises(InvalidWorkloadError, match="job 0 outlives its request by 999999 s"):
        cs.simulate_nodes(workload, cs.System.of(1), policy="conservative")


def test_the_head_waits_for_nodes_and_not_for_counts():
    """GPUs are idle enough for the head, but on two nodes; a short job overtakes, a long one not.

    The head wants two GPUs of one node. Jobs 0 and 1 hold one GPU of each node until 10 and 20.
    """
    workload = jobs_of(
        run_time=[10, 20, 5, 10, 11],
        requested_time=[10, 20, 5, 10, 11],
        gpus=[1, 1, 2, 1, 2],
        cores=1,
        submit_time=[0, 0, 1, 1, 1],
    )
    schedule = cs.simulate_nodes(workload, SHARED, placement="worst_fit")
    # Job 3 ends at 11, after the shadow time 10, and is kept from node 0; job 4 waits for nodes.
    assert schedule.start_time.tolist() == [0, 0, 10, 1, 15]
    assert schedule.places["node"].tolist() == [0, 1, 0, 1, 0]


def test_whole_nodes_have_allocations_and_shared_ones_have_not():
    whole = cs.simulate_nodes(jobs_of(nodes=[2, 1]), SHARED)
    assert whole.allocations[["job", "node", "nodes", "start"]].to_numpy().tolist() == [
        [0, 0, 1, 0],
        [0, 1, 1, 0],
        [1, 0, 1, 10],
    ]
    assert whole.utilization(0, 20) == 0.75
    shared = cs.simulate_nodes(jobs_of(cores=[2, 2]), SHARED)
    assert shared.utilization(0, 10) == 0.5
    with pytest.raises(SharedNodesError, match="jobs share nodes"):
        _ = shared.allocations
    blocks = shared.blocks(0, 5)
    assert blocks[["job", "node", "nodes", "end"]].to_numpy().tolist() == [
        [0, 0, 0.5, 5],
        [1, 0.5, 0.5, 5],
    ]
    assert list(lab.figures.plot_gantt(shared).data[0].y) == [0.25, 0.75]


def test_jobs_that_never_fit_are_refused():
    workload = jobs_of(nodes=[1, 2], cores=4, gpus=[1, 4], gpu_models="A")
    message = (
        r"^W: job 1 asks for nodes=2, cores=4.0, gpus=4, gpu_models=A; 0 of two nodes have that "
        r"\(at most 8 cores, 16 GB, 2 GPUs per node\); drop it with Workload.keep"
    )
    with pytest.raises(InvalidWorkloadError, match=message):
        cs.simulate_nodes(workload, SHARED)
    with pytest.raises(ValueError, match=r"policy='sjf'; expected one of 'fcfs'"):
        cs.simulate_nodes(workload, SHARED, policy="sjf")
    with pytest.raises(ValueError, match=r"placement='luck'; expected one of 'random'"):
        cs.simulate_nodes(workload, SHARED, placement="luck")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"node": [0, 0, 0, 1]}, "job 0 is twice on a node: node 0, GPUs "),
        ({"node": [0, 1, 0, np.nan]}, "node has 4 values of float64; expected 4 whole numbers"),
        ({"node": [0, 1, 0, 2]}, "job 2 is on a node that does not exist: node 2, GPUs "),
        ({"gpu_set": [0, 0, 0, 1]}, "job 1 has not as many GPUs as it asks for: node 0, GPUs "),
        ({"gpu_set": [0, 0, 4, 1]}, r"job 1 is on a GPU that does not exist: node 0, GPUs \(2,\)"),
        ({"node": [0, 1, 1, 1]}, "jobs take 1.2 of a GPU of node 1 at t=10; it has 1"),
        ({"start_time": [0, 5, 10]}, "jobs take 12 cores of node 0 at t=5; it has 8"),
        ({"start_time": [0, -1, 10]}, "job 1 starts at t=-1; it was submitted at t=0"),
    ],
)
def test_the_audit_names_what_is_wrong(changes, message):
    workload = jobs_of(
        nodes=[2, 1, 1], cores=[np.nan, 4, 4], gpus=[0, 1, 1], gpu_share=[1, 0.6, 0.6]
    )
    schedule = cs.audit(cs.simulate_nodes(workload, SHARED, placement="worst_fit"))
    assert schedule.node.tolist() == [0, 1, 0, 1]
    assert schedule.start_time.tolist() == [0, 10, 10]
    start_time = np.array(changes.pop("start_time", schedule.start_time), dtype=float)
    arrays = {name: np.array(values) for name, values in changes.items()}
    broken = replace(schedule, start_time=start_time, end_time=start_time + 10, **arrays)
    with pytest.raises(InfeasibleScheduleError, match=message):
        cs.audit(broken)


def test_a_job_of_no_length_also_needs_its_node():
    jobs = jobs_of(run_time=[0], cores=[9], requested_time=1)
    system = cs.System.of_types([cs.NodeType(1, cores=9), cs.NodeType(1, cores=8)])
    schedule = cs.audit(cs.simulate_nodes(jobs, system))
    with pytest.raises(InfeasibleScheduleError, match="more cores or memory than its node has"):
        cs.audit(replace(schedule, node=np.array([1])))


def test_resources_are_used_in_part():
    workload = jobs_of(cores=[4, 8], memory=[4, 8], gpus=[1, 1], gpu_share=[0.5, 1.0])
    used = resource_utilization(cs.simulate_nodes(workload, SHARED), 0, 20)
    assert used.tolist() == [0.5, 12 / 32, 12 / 64, 1.5 / 8]
    whole = resource_utilization(cs.simulate_nodes(jobs_of(nodes=[1]), cs.System.of(2)))
    assert whole["cores"] == 0.5
    assert np.isnan(whole["gpus"])


def test_idle_gpus_are_stranded_while_no_waiting_job_can_use_them():
    """Job 0 takes all cores of a node and no GPU; job 1 half a GPU; jobs 2 and 3 wait for GPUs."""
    system = cs.System.of_types([cs.NodeType(1, cores=8, gpus=2)])
    workload = jobs_of(
        cores=[8, 1, 1], gpus=[0, 1, 2], gpu_share=[1, 0.5, 1], submit_time=[0, 1, 2]
    )
    schedule = cs.simulate_nodes(workload, system, policy="fcfs")
    assert schedule.start_time.tolist() == [0, 10, 20]
    table = idle_gpus(schedule)
    assert table["idle"].tolist() == [2, 2, 2, 1.5, 0, 2]
    assert table["stranded"].tolist() == [0, 2, 2, 1.5, 0, 0]
    assert stranded_gpu_hours(schedule) == pytest.approx((9 * 2 + 10 * 1.5) / 3600)
    # Typical requests: a third each; one for no GPU, for a half, and for two whole GPUs.
    assert table["fragmented"].iloc[0] == pytest.approx(2)
    assert table["fragmented"].iloc[3] == pytest.approx((1.5 + 0 + 1.5) / 3)
