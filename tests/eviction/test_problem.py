"""From a schedule to an eviction problem: checkpoint times, losses, scenarios."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlib.eviction import EvictionProblem, scenarios
from cosimlib.eviction.problem import (
    checkpoint_time,
    daly_interval,
    draw_memory,
    running_jobs_at,
)
from cosimlib.eviction.scenarios import choose_scenario, draw_scenario, find_scenario
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


def test_unknown_bandwidths_and_memory_are_refused():
    with pytest.raises(ValueError, match="8 nodes: aggregate_bandwidth is unknown"):
        checkpoint_time(np.array([1]), np.array([1.0]), System.of(8))
    with pytest.raises(ValueError, match="8 nodes: memory_per_node is unknown"):
        draw_memory(Workload(pd.DataFrame({"submit_time": [0], "run_time": [1], "nodes": [1]})),
                    System.of(8))  # fmt: skip


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
    system = replace(THETA, aggregate_bandwidth=1.0, node_bandwidth=1.0, memory_per_node=150.0)
    one = schedule((0, 10, 1)).workload
    delta = float(draw_memory(one, system)["critical"].iloc[0])
    mtbf = 7200**2 / (2 * delta)
    daly = daly_interval(one, system, node_mtbf=mtbf)
    assert daly.tolist() == pytest.approx([7200 * (1 + delta / 7200 / 3 + (delta / 7200) ** 2 / 9)
                                           - delta])  # fmt: skip
    short = daly_interval(one, system, node_mtbf=delta / 3)
    assert short.tolist() == pytest.approx([delta / 3])
    # Where the file system does not bind, a job of four times the nodes fails as much more often.
    wide = schedule((0, 10, 1), (0, 10, 4), memory=[50.0, 50.0]).workload
    bound = replace(system, aggregate_bandwidth=1e9)
    narrow, four = daly_interval(wide, bound, node_mtbf=1e12) / 1e6
    assert 0 < four < narrow
    with pytest.raises(ValueError, match="node_mtbf=0; expected seconds above 0"):
        daly_interval(wide, system, node_mtbf=0)


def test_the_longest_interval_with_the_exact_number_of_nodes_is_found():
    example = schedule((0, 9000, 60), (1000, 3000, 40), (5000, 3900, 40), (5100, 1000, 8))
    found = find_scenario(example, jobs=2, occupied=100)
    assert (found.begin, found.end, found.at) == (1000.0, 4000.0, 2500.0)
    assert found.jobs.tolist() == [0, 1] and found.nodes == 100 and found.origin == "exact"
    assert found.name == "2 jobs on 100 nodes (exact)"
    assert found.table()["start"].tolist() == [0.0, 1000.0]
    longer = schedule((0, 9000, 60), (1000, 3000, 40), (5000, 3900, 40))
    assert find_scenario(longer, jobs=2, occupied=100).begin == 5000.0


def test_moments_with_more_nodes_than_the_system_has_are_ignored():
    """A log may record more nodes than its machine has, for a while."""
    example = schedule((0, 9000, 60), (1000, 3000, 45), (5000, 3900, 38), system=System.of(100))
    found = find_scenario(example, jobs=2, occupied=100, tolerance=5)
    assert found.nodes == 98 and found.origin == "nearest"
    with pytest.raises(LookupError):
        find_scenario(example, jobs=2, occupied=105)


def test_the_default_tolerance_is_in_proportion():
    example = schedule((0, 9000, 1), (0, 9000, 1), (9000, 9000, 50), (9000, 9000, 46))
    assert choose_scenario(example, jobs=2, occupied=100).origin == "drawn"
    assert choose_scenario(example, jobs=2, occupied=99).nodes == 96


def test_a_drawn_scenario_has_each_job_once_and_at_a_point_of_its_own(monkeypatch):
    rows = [(0, 4000, 25)] * 3 + [(10_000, 4000, 30), (20_000, 4000, 20)]
    drawn = draw_scenario(schedule(*rows), jobs=4, occupied=100, seed=2)
    assert drawn.nodes == 100 and len(drawn.schedule.workload) == 4
    alone = schedule((0, 4000, 50), (5000, 4000, 20))
    assert draw_scenario(alone, jobs=2, occupied=100).nodes == 70
    monkeypatch.setattr(scenarios, "DRAWS", 100)
    pair = schedule((0, 4000, 5), (0, 90_000, 5))
    seeds = range(200)
    phases = [at_phase(draw_scenario(pair, jobs=2, occupied=10, seed=seed)) for seed in seeds]
    assert np.mean(phases) == pytest.approx(0.5, abs=0.07)
    assert np.std(phases) == pytest.approx(12**-0.5, abs=0.04)


def at_phase(scenario):
    """The share of its run that the shortest job has done at the eviction."""
    jobs = scenario.schedule.jobs
    job = int(jobs["run_time"].idxmin())
    return (scenario.at - jobs["start_time"][job]) / jobs["run_time"][job]


def test_a_moment_with_an_expendable_job_is_not_a_scenario():
    example = schedule((0, 9000, 60), (1000, 1799, 40))
    with pytest.raises(LookupError, match="no moment with 2 jobs of at least 1800 s on 100 ± 0"):
        find_scenario(example, jobs=2, occupied=100)
    assert find_scenario(example, jobs=2, occupied=100, expendable=1700).end == 2799.0


def test_without_an_exact_scenario_the_nearest_and_then_a_drawn_one_is_taken():
    example = schedule((0, 9000, 60), (0, 3000, 38), (10_000, 2000, 50), (20_000, 2000, 12))
    near = choose_scenario(example, jobs=2, occupied=100, tolerance=5)
    assert near.origin == "nearest" and near.nodes == 98
    drawn = choose_scenario(example, jobs=3, occupied=148, tolerance=5, seed=1)
    assert drawn.origin == "drawn" and drawn.nodes == 148 and len(drawn.jobs) == 3
    assert drawn.begin <= drawn.at < drawn.end
    again = draw_scenario(example, jobs=3, occupied=148, seed=1)
    assert again.schedule.start_time.tolist() == drawn.schedule.start_time.tolist()
    problem = EvictionProblem.from_schedule(drawn.schedule, at=drawn.at, nodes_needed=50)
    assert problem.total_nodes == 148
    with pytest.raises(LookupError, match="4 jobs last 1800 s; expected 9"):
        draw_scenario(example, jobs=9, occupied=100)
    with pytest.raises(LookupError, match="gave none within 20 nodes"):
        draw_scenario(example, jobs=3, occupied=20)


def test_scenarios_outlast_the_evictions_asked_of_them():
    """The exact stretch of two jobs is from 1000 to 2800, a near one from 3000 to 8000."""
    example = schedule((0, 9000, 60), (1000, 1800, 40), (3000, 5000, 38))
    short = {"jobs": 2, "occupied": 100, "tolerance": 5}
    moments = [find_scenario(example, **short, lasts=lasts) for lasts in (0, 1500, 1800, 1801)]
    assert [found.at for found in moments] == [1900.0, 1300.0, 1000.0, 5500.0]
    assert [found.origin for found in moments] == ["exact"] * 3 + ["nearest"]
    with pytest.raises(LookupError, match="on 100 ± 0 nodes for 1801 s"):
        find_scenario(example, jobs=2, occupied=100, lasts=1801)
    for seed in range(20):
        drawn = draw_scenario(example, jobs=2, occupied=100, lasts=1700, seed=seed)
        assert drawn.end - drawn.at >= 1700 and drawn.begin <= drawn.at
    none = scenarios.choose_scenarios(example, jobs=[9], occupied=100, lasts=3600.0)[0]
    assert none.why.startswith("no 9 jobs of at least 60 minutes run together")


def test_scenarios_that_a_schedule_does_not_have_are_empty_and_say_why():
    example = schedule((0, 7200, 60), (1000, 7200, 40))
    both, none = scenarios.choose_scenarios(example, jobs=[2, 9], occupied=100)
    assert both.origin == "exact" and not both.why
    assert none.name == "no scenario" and none.table().empty
    assert none.why.startswith("no 9 jobs of at least 30 minutes run together on about 100 nodes")


def test_the_commonest_occupancy_is_within_the_machine_and_not_idle():
    durations = pd.Series({0: 9.0, 4: 1.0, 8: 5.0, 16: 7.0})
    assert scenarios.commonest_occupancy(durations, 8) == 8
    assert scenarios.commonest_occupancy(durations, 16) == 16
    assert scenarios.commonest_occupancy(durations.head(1), 8) == 0


def test_no_problem_frees_no_node():
    nothing = EvictionProblem.empty(horizon=120.0)
    assert nothing.total_nodes == 0 and nothing.deadlines.tolist() == [0.0, 60.0, 120.0]
