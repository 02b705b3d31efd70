"""Eviction where waits overlap: against arithmetic, all plans in all orders, and the paper's."""

import numpy as np
import pytest
from hypothesis import given, settings

from cosimlib.eviction import EvictionProblem, least_loss, solve_dynamic, solve_overlapping
from cosimlib.eviction.scenarios import scaled_problem
from tests.eviction import naive_writing as slow
from tests.eviction.test_blocked import frame, problems


def outcomes(plan):
    """Node-milliseconds lost, and steps until the burst starts, per deadline."""
    milliseconds = (plan.loss * 3_600_000).round().astype(int).tolist()
    return list(zip(milliseconds, plan.free_time / plan.problem.step, strict=True))


def test_two_applications_wait_at_the_same_time():
    """Both reach a checkpoint after 4 minutes and write for one: 6 minutes, not 5 + 5."""
    jobs = frame((5, 2.0, 300.0, np.inf, 240.0), (5, 3.0, 300.0, np.inf, 240.0))
    problem = EvictionProblem(jobs, 10, 600.0)
    plan = solve_overlapping(problem)
    assert plan.loss.tolist() == [5.0] * 5 + [2.0] + [0.0] * 5
    assert plan.free_time.tolist() == [0.0] * 5 + [300.0] + [360.0] * 5
    assert solve_dynamic(problem).loss.tolist() == [5.0] * 5 + [2.0] * 5 + [0.0]
    assert plan.writes(600.0)[["stop", "begin", "end"]].to_numpy().tolist() == [
        [240, 240, 300],
        [240, 300, 360],
    ]


def test_a_system_checkpoint_fills_the_wait_of_an_application():
    """Its order among the jobs makes no difference: job 1 could reach its own only later."""
    jobs = frame((5, 2.0, 300.0, np.inf, 240.0), (5, 3.0, 480.0, 240.0, 420.0))
    plan = solve_overlapping(EvictionProblem(jobs, 10, 600.0))
    assert plan.loss.tolist() == [5.0] * 4 + [2.0] + [0.0] * 6
    assert plan.actions(300.0)["action"].tolist() == ["app", "sys"]
    assert plan.checkpoint_time[5] == 300.0 and plan.free_time[5] == 300.0


@given(problems(max_jobs=4))
@settings(max_examples=250)
def test_it_is_the_optimum_of_all_plans_in_all_orders(problem):
    plan = solve_overlapping(problem)
    assert outcomes(plan) == slow.overlapping_plans(problem)
    assert (plan.nodes_freed >= problem.nodes_needed).all() and plan.optimal


@given(problems(max_jobs=8))
@settings(max_examples=100)
def test_it_never_loses_more_than_the_papers_optimum(problem):
    plan, paper = solve_overlapping(problem), solve_dynamic(problem)
    assert (plan.loss <= paper.loss + 1e-9).all() and (np.diff(plan.loss) <= 0).all()
    assert (plan.free_time <= plan.deadlines).all()
    for deadline in plan.deadlines[[0, -1]]:
        writes = plan.writes(deadline).dropna(subset="begin").sort_values(["begin", "end"])
        assert (writes["begin"].to_numpy()[1:] >= writes["end"].to_numpy()[:-1]).all()
        app = writes[writes["action"] == "app"]
        assert (app["begin"] > app["stop"] - problem.step).all()


@given(problems(max_jobs=8, with_app=False))
@settings(max_examples=50)
def test_without_application_checkpoints_it_is_the_papers_optimum(problem):
    plan, paper = solve_overlapping(problem), solve_dynamic(problem)
    assert plan.loss.tolist() == paper.loss.tolist()
    assert plan.free_time.tolist() == paper.checkpoint_time.tolist()


def test_tables_that_are_too_large_are_refused():
    with pytest.raises(MemoryError, match=r"pairs of deadlines .* take a longer step"):
        solve_overlapping(scaled_problem(20, 400), memory_limit=10**5)
    empty = EvictionProblem(frame().astype(float), 0, 60.0)
    assert solve_overlapping(empty).loss.tolist() == [0.0, 0.0]


@settings(deadline=None)
@given(problems())
def test_the_least_loss_are_those_of_a_plan_for_each_number_of_nodes(problem):
    losses = least_loss(problem)
    assert losses.shape == (problem.total_nodes + 1, len(problem.deadlines))
    for needed in range(problem.total_nodes + 1):
        plan = solve_overlapping(problem.asking(needed))
        assert np.allclose(losses[needed], plan.loss, atol=1e-9)


def test_too_many_losses_are_refused():
    problem = EvictionProblem(frame((5, 2.0, 300.0, np.inf, 240.0)), 0, 600.0)
    with pytest.raises(MemoryError, match="11 deadlines and 5 nodes take 6,336 bytes"):
        least_loss(problem, memory_limit=6000)
