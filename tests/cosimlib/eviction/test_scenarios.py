"""Scenarios: moments at which given jobs fill given nodes, and problems of any size."""

import numpy as np
import pytest

from cosimlib.eviction import EvictionProblem, choose_scenario, scaled_problem, scenarios
from cosimlib.system import System
from tests.cosimlib.eviction.test_problem import schedule


def test_the_longest_interval_with_the_exact_number_of_nodes_is_found():
    example = schedule((0, 9000, 60), (1000, 3000, 40), (5000, 3900, 40), (5100, 1000, 8))
    found = choose_scenario(example, jobs=2, occupied=100)
    assert (found.begin, found.end, found.at) == (1000.0, 4000.0, 2500.0)
    assert found.jobs.tolist() == [0, 1] and found.nodes == 100 and found.origin == "exact"
    assert found.name == "2 jobs on 100 nodes (exact)"
    longer = schedule((0, 9000, 60), (1000, 3000, 40), (5000, 3900, 40))
    assert choose_scenario(longer, jobs=2, occupied=100).begin == 5000.0


def test_moments_with_more_nodes_than_the_system_has_are_ignored():
    """A log may record more nodes than its machine has, for a while."""
    example = schedule((0, 9000, 60), (1000, 3000, 42), (5000, 3900, 38), system=System.of(100))
    found = choose_scenario(example, jobs=2, occupied=100)
    assert found.nodes == 98 and found.origin == "nearest"


def test_without_an_exact_scenario_the_nearest_and_then_a_drawn_one_is_taken():
    """The nearest may differ by 3 nodes of 100; one with an expendable job is none."""
    near = schedule((0, 9000, 60), (0, 3000, 37), (5000, 3000, 36))
    assert choose_scenario(near, jobs=2, occupied=100).nodes == 97
    assert choose_scenario(near, jobs=2, occupied=101).origin == "drawn"
    expendable = schedule((0, 9000, 60), (1000, 1799, 40), (9000, 1800, 40))
    assert choose_scenario(expendable, jobs=2, occupied=100).origin == "drawn"
    example = schedule((0, 9000, 60), (0, 3000, 38), (10_000, 2000, 50), (20_000, 2000, 12))
    drawn, again = (choose_scenario(example, jobs=3, occupied=148, seed=1) for _ in range(2))
    assert drawn.origin == "drawn" and drawn.nodes == 148 and len(drawn.jobs) == 3
    assert drawn.begin <= drawn.at < drawn.end
    assert again.schedule.start_time.tolist() == drawn.schedule.start_time.tolist()
    problem = EvictionProblem.from_schedule(drawn.schedule, at=drawn.at, nodes_needed=50)
    assert problem.total_nodes == 148
    with pytest.raises(LookupError, match="on about 100 nodes, and only 4 last so long"):
        choose_scenario(example, jobs=9, occupied=100)
    with pytest.raises(LookupError, match="gave none within 20 nodes"):
        choose_scenario(example, jobs=3, occupied=20)


def test_a_drawn_scenario_has_each_job_once_and_at_a_point_of_its_own(monkeypatch):
    rows = [(0, 4000, 25), (5000, 4000, 25), (10_000, 4000, 30), (20_000, 4000, 20)]
    drawn = choose_scenario(schedule(*rows), jobs=4, occupied=100, seed=2)
    assert drawn.nodes == 100 and len(drawn.schedule.workload) == 4
    alone = schedule((0, 4000, 50), (5000, 4000, 20))
    assert choose_scenario(alone, jobs=2, occupied=100).nodes == 70
    monkeypatch.setattr(scenarios, "DRAWS", 100)
    pair = schedule((0, 4000, 5), (4000, 90_000, 5))
    seeds = range(200)
    phases = [at_phase(choose_scenario(pair, jobs=2, occupied=10, seed=seed)) for seed in seeds]
    assert np.mean(phases) == pytest.approx(0.5, abs=0.07)
    assert np.std(phases) == pytest.approx(12**-0.5, abs=0.04)


def at_phase(scenario):
    """The share of its run that the shortest job has done at the eviction."""
    jobs = scenario.schedule.jobs
    job = int(jobs["run_time"].idxmin())
    return (scenario.at - jobs["start_time"][job]) / jobs["run_time"][job]


def test_scenarios_outlast_the_evictions_asked_of_them():
    """The exact stretch of two jobs is from 1000 to 2800, a near one from 3000 to 8000."""
    example = schedule((0, 9000, 60), (1000, 1800, 40), (3000, 5000, 38))
    moments = [
        choose_scenario(example, jobs=2, occupied=100, lasts=lasts)
        for lasts in (0, 1500, 1800, 1801)
    ]
    assert [found.at for found in moments] == [1900.0, 1300.0, 1000.0, 5500.0]
    assert [found.origin for found in moments] == ["exact"] * 3 + ["nearest"]
    apart = schedule((0, 9000, 60), (9000, 1800, 40))
    for seed in range(20):
        drawn = choose_scenario(apart, jobs=2, occupied=100, lasts=1700, seed=seed)
        assert drawn.end - drawn.at >= 1700 and drawn.begin <= drawn.at


def test_scaled_problems_hold_the_given_number_of_nodes():
    problem = scaled_problem(50, 4352, needed=0.5)
    assert len(problem) == 50 and problem.total_nodes == 4352 and problem.nodes_needed == 2176
    assert scaled_problem(50, 4352).jobs.equals(scaled_problem(50, 4352).jobs)
    with pytest.raises(ValueError, match="jobs=5; expected a whole number from 1 to 4"):
        scaled_problem(5, 4)
