"""Eviction where waits overlap, also with blocked nodes: against arithmetic and all plans."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.eviction import (
    EvictionProblem,
    TimedPlan,
    least_loss,
    solve_blocked,
    solve_dynamic,
    solve_greedy,
    solve_overlapping,
)
from cosimlib.eviction.plan import writing_order
from cosimlib.eviction.scenarios import scaled_problem
from tests.cosimlib.eviction import naive_writing as slow

COLUMNS = ["nodes", "loss", "app_time", "sys_time", "app_wait"]
STEP = 60_000.0
"""Milliseconds of a step in most problems."""


def frame(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


@st.composite
def problems(draw, max_jobs=5, with_app=True):
    """Problems with equal and zero losses, waits and writes of nothing, of horizons, or endless."""
    n = draw(st.integers(1, max_jobs))
    nodes = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    loss = draw(st.lists(st.integers(0, 9).map(lambda k: k * 300 / 3600), min_size=n, max_size=n))
    durations = st.sampled_from([0.0, 20.0, 60.0, 61.0, 120.0, 180.0, 300.0])
    waits = st.sampled_from([0.0, 30.0, 60.0, 90.0, 200.0, 420.0, 3000.0, np.inf])
    wait = draw(st.lists(waits if with_app else st.just(np.inf), min_size=n, max_size=n))
    app = [each + draw(durations) for each in wait]
    sys = draw(st.lists(durations | st.just(np.inf), min_size=n, max_size=n))
    needed = draw(st.integers(0, sum(nodes)))
    horizon, step = draw(st.sampled_from([(480.0, 60.0), (300.0, 25.0), (60.0, 0.5), (0.0, 60.0)]))
    jobs = frame(*zip(nodes, loss, app, sys, wait, strict=True))
    return EvictionProblem(jobs, needed, horizon, step)


def costs(plan):
    """Node-milliseconds lost or blocked, and steps until the burst starts, per deadline."""
    milliseconds = (plan.cost * 3_600_000).round(3).tolist()
    return list(zip(milliseconds, plan.free_time / plan.problem.step, strict=True))


def test_standing_still_may_cost_more_than_a_kill_loses():
    """100 nodes: a kill loses 3 node-hours at once, a checkpoint of two minutes blocks 3.33."""
    jobs = frame((100, 3.0, np.inf, 120.0, np.inf))
    plan = solve_blocked(EvictionProblem(jobs, 100, 240.0))
    assert plan.loss.tolist() == [3.0] * 5 and plan.blocked.tolist() == [0.0] * 5
    dear = solve_blocked(EvictionProblem(jobs.assign(loss=4.0), 100, 240.0))
    assert dear.loss.tolist() == [4.0, 4.0, 0.0, 0.0, 0.0]
    assert dear.cost.tolist() == pytest.approx([4.0, 4.0, *[100 * 120 / 3600] * 3])
    assert solve_dynamic(plan.problem).loss.tolist() == [3.0, 3.0, 0.0, 0.0, 0.0]


def test_waits_overlap_and_writes_are_as_late_as_they_may_be():
    """Job a reaches its checkpoint at 150 s and writes for 90 s; job b writes for 60 s before."""
    jobs = frame((10, 5.0, 240.0, np.inf, 150.0), (20, 5.0, np.inf, 60.0, np.inf))
    plan = solve_blocked(EvictionProblem(jobs, 30, 300.0))
    assert plan.free_time.tolist() == [0, 60, 60, 60, 240, 240]
    last = plan.writes(300.0)
    assert last["job"].tolist() == [1, 0] and last["action"].tolist() == ["sys", "app"]
    assert last[["stop", "begin", "end"]].to_numpy().tolist() == [[60, 60, 120], [150, 120, 240]]
    assert plan.blocked[-1] == pytest.approx((20 * 180 + 10 * 90) / 3600)
    assert plan.checkpoint_time[-1] == 180.0


def test_writes_follow_smiths_rule_without_application_checkpoints():
    """Ascending nodes per second: the last to be written stands still for the shortest time."""
    jobs = frame((60, 9e3, np.inf, 60.0, np.inf), (10, 9e3, np.inf, 120.0, np.inf))
    plan = solve_blocked(EvictionProblem(jobs, 70, 300.0))
    assert plan.writes(300.0)["job"].tolist() == [1, 0]
    assert plan.blocked[-1] == pytest.approx((10 * 180 + 60 * 60) / 3600)


def test_who_reaches_no_checkpoint_in_time_is_written_first():
    """Job a's ends a minute after the horizon; its other write is over when job b reaches its."""
    jobs = frame((10, 5.0, 420.0, 120.0, 300.0), (10, 5.0, 120.0, np.inf, 60.0))
    problem = EvictionProblem(jobs, 20, 360.0)
    assert writing_order(problem).tolist() == [0, 1]
    assert writing_order(replace(problem, horizon=420.0)).tolist() == [1, 0]
    assert solve_blocked(problem).free_time[-1] == 180.0


@given(problems(max_jobs=4))
@settings(max_examples=200)
def test_it_is_the_optimum_of_all_plans(problem):
    plan = solve_blocked(problem)
    assert costs(plan) == [(float(cost), free) for cost, free in slow.blocked_plans(problem)]
    assert (plan.nodes_freed >= problem.nodes_needed).all()
    assert (plan.free_time <= plan.deadlines).all()


@given(problems(max_jobs=4, with_app=False))
@settings(max_examples=60)
def test_without_application_checkpoints_no_other_order_is_better(problem):
    expected = [float(cost) for cost, _ in slow.blocked_plans(problem, any_order=True)]
    assert [cost for cost, _ in costs(solve_blocked(problem))] == expected


@given(problems(max_jobs=8))
@settings(max_examples=100)
def test_no_plan_of_another_solver_costs_less(problem):
    best = solve_blocked(problem)
    assert (np.diff(best.cost) <= 1e-9).all()
    for plan in (TimedPlan.of(solve_dynamic(problem)), TimedPlan.of(solve_greedy(problem))):
        assert (plan.free_time <= plan.deadlines).all()
        assert (plan.free_time <= solve_time(plan)).all()
        assert (best.cost <= plan.cost + 1e-9).all()


def solve_time(plan):
    """The paper's sum of durations."""
    arrays = plan.problem.arrays
    steps = (plan.choices == 2) @ arrays.app_steps + (plan.choices == 3) @ arrays.sys_steps
    return steps * plan.problem.step


@given(problems(max_jobs=6))
@settings(max_examples=60)
def test_moments_of_a_plan_add_up(problem):
    plan = solve_blocked(problem)
    for row, deadline in enumerate(plan.deadlines[[0, -1]]):
        writes = plan.writes(deadline)
        written = writes.dropna(subset="begin").sort_values(["begin", "end"])
        assert (written["begin"].to_numpy()[1:] >= written["end"].to_numpy()[:-1]).all()
        free = plan.free_time[[0, -1][row]]
        blocked = (writes["nodes"] * (free - writes["stop"])).sum() / 3600
        assert blocked == pytest.approx(plan.blocked[[0, -1][row]])
        assert written["end"].max() == free or written.empty
    assert sorted(plan.table()) == sorted(
        ["deadline", "loss", "checkpoint_time", "nodes_freed", "optimal", "free_time", "blocked"]
    )


def test_waits_must_be_known_and_not_longer_than_the_checkpoint():
    jobs = frame((5, 1.0, 90.0, 60.0, 30.0))
    with pytest.raises(ValueError, match="waits apart from writes: no column 'app_wait'"):
        solve_blocked(EvictionProblem(jobs.drop(columns="app_wait"), 3, 300.0))
    for wait in (-1.0, 91.0, np.nan):
        with pytest.raises(ValueError, match=f"job 0 has app_wait={wait:g}; expected seconds"):
            solve_blocked(EvictionProblem(jobs.assign(app_wait=wait), 3, 300.0))
    empty = EvictionProblem(frame().astype(float), 0, 60.0)
    assert solve_blocked(empty).cost.tolist() == [0.0, 0.0]


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
    with pytest.raises(MemoryError, match="16 deadlines and 400 nodes take 872,576 bytes"):
        least_loss(scaled_problem(20, 400), memory_limit=10**5)
    empty = EvictionProblem(frame().astype(float), 0, 60.0)
    assert solve_overlapping(empty).loss.tolist() == [0.0, 0.0]


@settings(deadline=None)
@given(problems())
def test_the_least_loss_is_that_of_a_plan_for_each_number_of_nodes(problem):
    loss = least_loss(problem)
    assert loss.shape == (problem.total_nodes + 1, len(problem.deadlines))
    for needed in range(problem.total_nodes + 1):
        plan = solve_overlapping(problem.asking(needed))
        assert np.allclose(loss[needed], plan.loss, atol=1e-9)
