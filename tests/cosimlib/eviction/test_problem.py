"""From a schedule to an eviction problem: checkpoint times and losses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlib.eviction import EvictionProblem
from cosimlib.eviction.problem import (
    checkpoint_time,
    draw_memory,
    optimum_interval,
    running_jobs_at,
)
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.workload import Workload


def schedule(*rows, system=THETA, **columns):
    """Rows of start, run time, nodes."""
    jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"]).assign(**columns)
    jobs = jobs.sort_values("submit_time", kind="stable")
    return Schedule.from_starts(Workload(jobs, "example"), system, jobs["submit_time"], "given")


def test_a_checkpoint_is_as_slow_as_the_file_system_or_the_node():
    system = replace(THETA, aggregate_bandwidth=250.0, node_bandwidth=2.0)
    assert checkpoint_time(np.array([1, 125, 1250]), np.array([100.0] * 3), system).tolist() == [
        50.0,  # one node: 100 GB at 2 GB/s
        50.0,  # 12,500 GB at 250 GB/s, the same
        500.0,
    ]


def test_a_million_steps_are_the_most():
    jobs = pd.DataFrame({"nodes": [1], "loss": [1.0], "app_time": [np.inf], "sys_time": [np.inf]})
    assert EvictionProblem(jobs, 1, horizon=1e6, step=1.0).horizon == 1e6
    with pytest.raises(ValueError, match=r"horizon=1000001.0 has more than 1,000,000 steps of 1.0"):
        EvictionProblem(jobs, 1, horizon=1e6 + 1, step=1.0)


def test_unknown_bandwidths_and_memory_are_refused():
    with pytest.raises(ValueError, match="8 nodes: aggregate_bandwidth is unknown"):
        checkpoint_time(np.array([1]), np.array([1.0]), System.of(8))
    with pytest.raises(ValueError, match="8 nodes: memory_per_node is unknown"):
        draw_memory(
            Workload(pd.DataFrame({"submit_time": [0], "run_time": [1], "nodes": [1]})),
            System.of(8),
        )


def test_memory_is_drawn_per_job_within_the_papers_shares():
    many = schedule(*[(0, 10, 1)] * 20_000).workload
    memory = draw_memory(many, THETA, seed=3)
    share = memory["allocated"] / THETA.memory_per_node
    critical = memory["critical"] / memory["allocated"]
    assert (
        share.min() >= 0.4 and share.max() <= 0.9 and share.mean() == pytest.approx(0.65, abs=4e-3)
    )
    assert critical.min() >= 0.2 and critical.max() <= 0.6
    assert critical.mean() == pytest.approx(0.4, abs=4e-3)
    pd.testing.assert_frame_equal(memory, draw_memory(many, THETA, seed=3))
    assert not memory.equals(draw_memory(many, THETA, seed=4))


def test_known_memory_replaces_drawn_memory():
    known = schedule((0, 10, 1), (0, 10, 1), (0, 10, 1), memory=[50.0, np.nan, 1e6]).workload
    allocated = draw_memory(known, THETA)["allocated"]
    assert allocated[0] == 50.0 and allocated[2] == 192.0
    assert 0.4 * 192 <= allocated[1] <= 0.9 * 192


def test_loss_and_times_of_running_jobs():
    """At t = 9000 job 0 has run 9000 s: 1800 s since its checkpoint at 7200, 1800 s to the next."""
    example = schedule(
        (0, 10_000, 250), (100, 100, 4), (8000, 5000, 500), (9000, 1, 1), (9001, 5, 1)
    )
    jobs = running_jobs_at(example, 9000.0, system=THETA, interval=3600.0, seed=0)
    assert jobs.index.tolist() == [0, 2, 3]
    assert jobs["loss"].tolist() == [250 * 0.5, 500 * 1000 / 3600, 0.0]
    memory = draw_memory(example.workload, THETA)
    assert jobs["sys_time"][0] == pytest.approx(memory["allocated"][0] * 250 / 250)
    assert jobs["app_time"][0] == pytest.approx(1800 + memory["critical"][0])
    problem = EvictionProblem.from_schedule(example, at=9000.0, nodes_needed=100)
    assert problem.total_nodes == 751 and len(problem.deadlines) == 16
    with pytest.raises(ValueError, match="interval=0; expected seconds above 0"):
        EvictionProblem.from_schedule(example, at=9000.0, nodes_needed=1, interval=0)


def test_checkpoint_intervals_may_differ_by_job():
    example = schedule((0, 10_000, 250), (100, 9900, 4))
    jobs = running_jobs_at(example, 9000.0, system=THETA, interval=np.array([3600.0, 1000.0]))
    assert jobs["since_checkpoint"].tolist() == [1800.0, 900.0]
    assert jobs["app_wait"].tolist() == [1800.0, 100.0]
    memory = draw_memory(example.workload, THETA, seed=3)
    same = running_jobs_at(example, 9000.0, system=THETA, interval=3600.0, memory=memory)
    pd.testing.assert_frame_equal(
        same, running_jobs_at(example, 9000.0, system=THETA, interval=3600.0, seed=3)
    )
    with pytest.raises(ValueError, match=r"shape \(1,\); expected .* one for each of 2 jobs"):
        running_jobs_at(example, 9000.0, system=THETA, interval=np.array([1.0]))
    with pytest.raises(ValueError, match="example: job 1 has interval=0; expected seconds above 0"):
        running_jobs_at(example, 9000.0, system=THETA, interval=np.array([1.0, 0.0]))


def test_dalys_interval_is_near_youngs_and_never_above_the_time_between_failures():
    """Young's is sqrt(2 delta m): with delta = 72 s and m = 100 h it is 7200 s."""
    daly = optimum_interval(np.array([72.0]), np.array([360_000.0]))
    assert daly.tolist() == pytest.approx([7200 * (1 + 0.01 / 3 + 0.01**2 / 9) - 72])
    assert optimum_interval(np.array([72.0]), np.array([24.0])).tolist() == [24.0]


def test_no_problem_frees_no_node():
    empty = EvictionProblem.empty(horizon=120.0)
    assert empty.total_nodes == 0 and empty.deadlines.tolist() == [0.0, 60.0, 120.0]
