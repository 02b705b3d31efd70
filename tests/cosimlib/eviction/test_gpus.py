"""Eviction for GPUs on few nodes, against arithmetic, enumeration and a mixed-integer program."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.eviction import (
    GpuEvictionProblem,
    InfeasibleEvictionError,
    solve_dynamic,
    solve_gpus,
)
from cosimlib.nodes import simulate_nodes
from cosimlib.system import NodeType, System
from cosimlib.workload import Workload
from tests.cosimlib.eviction import naive as slow


def gpu_problem(jobs, held, needed, **options):
    """A problem from rows (loss, app_time, sys_time) and rows (job, node, gpus)."""
    frame = pd.DataFrame(jobs, columns=["loss", "app_time", "sys_time"], dtype="float64")
    rows = pd.DataFrame(held, columns=["job", "node", "gpus"])
    return GpuEvictionProblem(frame, needed, options.pop("horizon", 300), held=rows, **options)


def random_problem(seed, *, nodes=12, jobs=40, needed=8, spanning=False):
    """Nodes of eight GPUs, with jobs of one to four on one node each, or some on two."""
    random = np.random.default_rng(seed)
    left = np.full(nodes, 8)
    held = []
    for job in range(jobs):
        places = random.choice(nodes, 2 if spanning and job % 3 == 0 else 1, replace=False)
        gpus = int(random.integers(1, 5))
        if (left[places] >= gpus).all():
            left[places] -= gpus
            held += [(job, f"n{place}", gpus) for place in places]
    names = sorted({job for job, _, _ in held})
    held = [(names.index(job), node, gpus) for job, node, gpus in held]
    times = random.integers(1, 500, size=(len(names), 2))
    rows = [(int(random.integers(0, 50)), *time) for time in times]
    idle = pd.Series(left, index=[f"n{node}" for node in range(nodes)])
    return gpu_problem(rows, held, needed, idle=idle)


def usable(problem, plan, row):
    """GPUs that the chosen nodes have under one deadline's plan, and how many nodes they are."""
    evicted = problem.jobs.index[plan.choices[row] != 0]
    names = problem.names[plan.chosen[row]]
    freed = problem.held[problem.held["job"].isin(evicted) & problem.held["node"].isin(names)]
    return int(freed["gpus"].sum() + problem.idle[names].sum()), len(names)


def test_eight_gpus_freed_on_eight_nodes_are_not_eight_on_one():
    """Counting alone frees the cheap jobs, one per node; on one node it costs more."""
    cheap = [(0.0, np.inf, np.inf)] * 8
    dear = [(5.0, np.inf, np.inf)] * 8
    held = [(job, f"n{job}", 1) for job in range(8)] + [(8 + job, "n0", 1) for job in range(7)]
    problem = gpu_problem(cheap + dear[:7], held, 8)
    assert solve_dynamic(problem).loss[0] == 0.0
    plan = solve_gpus(problem)
    assert plan.nodes(0) == ["n0"]
    assert plan.loss[0] == 35.0


def test_idle_gpus_count():
    problem = gpu_problem([(3.0, 60, 60)], [(0, "a", 4)], 8, idle=pd.Series({"a": 4, "b": 7}))
    plan = solve_gpus(problem)
    assert plan.nodes(300) == ["a"]
    assert plan.loss.tolist() == [3.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert solve_gpus(problem.asking(7)).nodes(0) == ["b"]
    assert solve_gpus(problem.asking(0)).nodes(0) == []


def test_the_checkpoints_of_several_nodes_come_one_after_another():
    rows = [(1.0, 60, np.inf), (1.0, 60, np.inf)]
    problem = gpu_problem(rows, [(0, "a", 8), (1, "b", 8)], 16, horizon=120)
    assert solve_gpus(problem).loss.tolist() == [2.0, 1.0, 0.0]


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(0, 20), st.booleans())
def test_plans_equal_enumeration(seed, needed, spanning):
    """Exact on one node, and on several where no job runs on two; else feasible and bounded."""
    base = random_problem(seed, nodes=3, jobs=5, spanning=spanning)
    problem = base.asking(needed)
    plan = solve_gpus(problem)
    best = slow.enumerate_gpu_plans(problem)
    for row, (loss, spent) in enumerate(best):
        found = plan.loss[row], plan.checkpoint_time[row]
        gpus, nodes = usable(problem, plan, row)
        assert gpus >= needed
        assert nodes == slow.fewest_nodes(problem)
        assert found[1] <= problem.deadlines[row]
        assert plan.bound[row] <= loss + 1e-9
        if plan.proven[row]:
            assert found == pytest.approx((loss, spent))
            assert plan.bound[row] == pytest.approx(loss)
        else:
            assert found[0] >= loss - 1e-9


@pytest.mark.parametrize("needed", [6, 8, 13])
@pytest.mark.parametrize("spanning", [False, True])
def test_loss_equals_an_integer_program(needed, spanning):
    problem = random_problem(needed, needed=needed, spanning=spanning)
    plan = solve_gpus(problem)
    least = slow.gpu_program(problem)
    if plan.optimal:
        assert plan.loss[-1] == pytest.approx(least, abs=1e-6)
    else:
        assert plan.loss[-1] >= least - 1e-6
    assert plan.optimal == (needed <= 8 or not spanning)


def test_rows_of_a_job_and_node_are_added_up():
    rows = [(3.0, np.inf, np.inf), (4.0, np.inf, np.inf)]
    held = [(0, "a", 2), (0, "a", 2), (1, "a", 4)]
    problem = gpu_problem(rows, held, 4)
    plan = solve_gpus(problem)
    assert problem.held["gpus"].tolist() == [4, 4]
    assert plan.optimal
    assert plan.loss.tolist() == [3.0] * 6


def test_the_bound_divides_a_job_over_its_nodes():
    """Jobs 0 and 1 are the best at 10; counted on both nodes, job 0 makes all three seem better."""
    rows = [(6.0, np.inf, np.inf), (4.0, np.inf, np.inf), (5.0, np.inf, np.inf)]
    held = [(0, "a", 2), (0, "b", 2), (1, "a", 2), (2, "b", 2)]
    plan = solve_gpus(gpu_problem(rows, held, 6, horizon=0))
    assert not plan.optimal
    assert plan.bound.tolist() == [10.0]
    assert plan.loss.tolist() == [15.0]


def test_refusals_name_what_is_wrong():
    with pytest.raises(InfeasibleEvictionError, match="ask for 4 or fewer"):
        gpu_problem([(1.0, 60, 60)], [(0, "a", 4)], 5)
    with pytest.raises(ValueError, match="held names job 7"):
        gpu_problem([(1.0, 60, 60)], [(0, "a", 4), (7, "a", 1)], 4)
    with pytest.raises(ValueError, match="gpus"):
        gpu_problem([(1.0, 60, 60)], [(0, "a", 0.5)], 1)
    with pytest.raises(ValueError, match="node a stands twice in the index of idle"):
        gpu_problem([(1.0, 60, 60)], [(0, "a", 4)], 4, idle=pd.Series([1, 2], index=["a", "a"]))
    with pytest.raises(ValueError, match="has no name"):
        gpu_problem([(1.0, 60, 60)], [(0, None, 4)], 4)
    with pytest.raises(TypeError, match="GpuEvictionProblem"):
        solve_gpus("nodes")


def test_a_moment_of_a_schedule_on_nodes_is_a_problem():
    """Two nodes of four GPUs: job 2 holds two nodes, job 3 no GPU; one GPU is idle on node 1."""
    asked = {"nodes": [1, 1, 2, 1], "gpus": [3, 2, 1, 0], "cores": [1.0, 1.0, 1.0, 1.0]}
    jobs = pd.DataFrame(
        asked | {"submit_time": [0.0, 1.0, 2.0, 3.0], "run_time": 7200.0, "requested_time": 7200.0}
    )
    system = System.of_types([NodeType(2, cores=8, gpus=4)])
    schedule = simulate_nodes(Workload(jobs), system, placement="first_fit")
    fast = System("fast", {"main": 2}, memory_per_node=8, aggregate_bandwidth=1, node_bandwidth=1)
    problem = GpuEvictionProblem.from_schedule(schedule, at=1800.0, nodes_needed=4, system=fast)
    assert problem.jobs["nodes"].to_dict() == {0: 3, 1: 2, 2: 2}
    assert problem.idle.to_dict() == {0: 0, 1: 1}
    hours = [3 * 1800 / 3600, 2 * 1799 / 3600, 2 * 1798 / 3600]
    assert problem.jobs["loss"].tolist() == pytest.approx(hours)
    plan = solve_gpus(problem)
    assert plan.nodes(0) == [1]
    assert plan.loss[0] == pytest.approx(hours[1] + hours[2])
    shared = Workload(jobs.assign(gpus=1, nodes=1, gpu_share=0.5))
    schedule = simulate_nodes(shared, system, placement="first_fit")
    with pytest.raises(ValueError, match="jobs share a GPU"):
        GpuEvictionProblem.from_schedule(schedule, at=1800.0, nodes_needed=4, system=fast)
