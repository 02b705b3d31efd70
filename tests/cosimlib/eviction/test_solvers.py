"""The three solvers, against arithmetic, enumeration, a mixed-integer program and each other."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.eviction import (
    EvictionProblem,
    InfeasibleEvictionError,
    solve_backtracking,
    solve_dynamic,
    solve_greedy,
    solve_spectrum,
)
from cosimlib.eviction.dynamic import _fill
from tests.cosimlib.eviction import naive as slow

COLUMNS = ["nodes", "loss", "app_time", "sys_time"]


def frame(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def outcomes(plan):
    return list(zip(plan.loss, plan.checkpoint_time, strict=True))


@st.composite
def problems(draw, max_jobs=6):
    """Problems with equal and zero losses, zero durations, some beyond the horizon or infinite."""
    n = draw(st.integers(1, max_jobs))
    nodes = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    loss = draw(st.lists(st.integers(0, 4).map(lambda k: k * 300 / 3600), min_size=n, max_size=n))
    times = st.sampled_from([0.0, 20.0, 60.0, 61.0, 120.0, 180.0, 300.0, 1e4, np.inf])
    app = draw(st.lists(times, min_size=n, max_size=n))
    sys = draw(st.lists(times, min_size=n, max_size=n))
    needed = draw(st.sampled_from([0, sum(nodes)]) | st.integers(0, sum(nodes)))
    horizon = draw(st.sampled_from([0.0, 60.0, 200.0, 480.0]))
    step = draw(st.sampled_from([60.0, 60.0, 7.0, 25.0, 0.5] if horizon < 100 else [60.0, 25.0]))
    jobs = frame(*zip(nodes, loss, app, sys, strict=True))
    return EvictionProblem(jobs, needed, horizon, step)


def random_problem(n, seed, horizon=900.0, step=60.0, total=4352):
    random = np.random.default_rng(seed)
    weight = random.random(n) + 0.05
    nodes = np.maximum(1, (weight / weight.sum() * total).astype(int))
    loss = np.round(nodes * random.random(n) * 3600) / 3600
    app, sys = random.uniform(20, 3000, n), random.uniform(20, 300, n)
    jobs = frame(*zip(nodes, loss, app, sys, strict=True))
    return EvictionProblem(jobs, int(nodes.sum() * 0.4), horizon, step)


def test_a_small_problem_by_hand():
    """Job a: 100 nodes, 10 node-hours, 2 minutes of sys; job b: 50 nodes, 3 node-hours, no time."""
    jobs = frame((100, 10.0, 600.0, 120.0), (50, 3.0, np.inf, np.inf))
    plan = solve_dynamic(EvictionProblem(jobs, 100, 240.0))
    assert plan.deadlines.tolist() == [0, 60, 120, 180, 240]
    assert plan.loss.tolist() == [10, 10, 0, 0, 0]
    assert plan.checkpoint_time.tolist() == [0, 0, 120, 120, 120]
    assert plan.nodes_freed.tolist() == [100] * 5
    assert plan.optimal and plan.solver == "dynamic"
    assert plan.actions(120.0).to_dict("list") == {
        "job": [0],
        "action": ["sys"],
        "nodes": [100],
        "loss": [0.0],
        "time": [120.0],
    }
    both = solve_dynamic(EvictionProblem(jobs, 150, 240.0))
    assert both.loss.tolist() == [13, 13, 3, 3, 3]
    assert both.actions(200.0)["action"].tolist() == ["sys", "kill"]


def test_application_level_is_preferred_where_loss_and_time_are_equal():
    jobs = frame((4, 1.0, 90.0, 120.0))
    for solve in (solve_dynamic, solve_backtracking, solve_greedy):
        plan = solve(EvictionProblem(jobs, 4, 120.0))
        assert plan.actions(120.0)["action"].tolist() == ["app"], solve.__name__


def test_durations_are_rounded_up_so_that_no_deadline_is_missed():
    jobs = frame((4, 1.0, np.inf, 60.001))
    plan = solve_dynamic(EvictionProblem(jobs, 4, 120.0))
    assert plan.loss.tolist() == [1, 1, 0]
    second = solve_dynamic(EvictionProblem(jobs, 4, 120.0, step=1.0))
    assert second.loss[60:62].tolist() == [1, 0] and len(second.deadlines) == 121


def test_a_step_that_is_not_a_binary_fraction_divides_the_horizon():
    jobs = frame((4, 1.0, np.inf, 0.25))
    plan = solve_dynamic(EvictionProblem(jobs, 4, 0.3, step=0.1))
    assert plan.loss.tolist() == [1, 1, 1, 0]
    assert plan.actions(0.3)["action"].tolist() == ["sys"]


def test_a_problem_copies_its_jobs():
    jobs = frame((4, 1.0, np.inf, 60.0))
    problem = EvictionProblem(jobs, 4, 120.0)
    jobs.loc[0, "loss"] = 5.0
    assert problem.jobs["loss"].tolist() == [1.0]
    huge = frame((2**62, 1.0, 0.0, 0.0), (2**62, 1.0, 0.0, 0.0))
    with pytest.raises(ValueError, match=r"the jobs hold 9.22337e\+18 nodes in all"):
        EvictionProblem(huge, 1, 60.0)


def test_greedy_checkpoints_by_descending_loss_then_kills_by_ascending():
    jobs = frame(
        (10, 9.0, 300.0, 60.0), (10, 5.0, 300.0, 120.0), (10, 1.0, 0.0, 0.0), (10, 2.0, 0.0, 0.0)
    )
    plan = solve_greedy(EvictionProblem(jobs, 30, 120.0))
    last = plan.actions(120.0)
    assert last["action"].tolist() == ["sys", "kill", "kill"]
    assert last["job"].tolist() == [0, 2, 3]
    assert plan.loss.tolist() == [8.0, 3.0, 3.0]  # at 0 it kills jobs 2, 3 and 1
    assert not plan.optimal


@given(problems(max_jobs=5))
@settings(max_examples=150)
def test_exact_solvers_agree_with_enumeration(problem):
    expected = slow.enumerate_plans(problem)
    assert outcomes(solve_dynamic(problem)) == expected
    assert outcomes(solve_backtracking(problem)) == expected
    spectrum = solve_spectrum(problem)
    assert outcomes(spectrum.plan(problem.nodes_needed)) == expected


@given(problems(max_jobs=4))
@settings(max_examples=30)
def test_the_spectrum_agrees_with_enumeration_for_each_number_of_nodes(problem):
    spectrum = solve_spectrum(problem)
    for nodes in range(problem.total_nodes + 1):
        expected = slow.enumerate_plans(problem.asking(nodes))
        assert outcomes(spectrum.plan(nodes)) == expected
        assert spectrum.loss[nodes].tolist() == [loss for loss, _ in expected]


@pytest.mark.parametrize("n", [3, 12, 24, 40])
def test_dynamic_agrees_with_a_mixed_integer_program(n):
    problem = random_problem(n, seed=100 * n)
    expected = slow.integer_program(problem)
    plan = solve_dynamic(problem)
    np.testing.assert_allclose(plan.loss, [loss for loss, _ in expected], atol=1e-6)
    assert plan.checkpoint_time.tolist() == [time for _, time in expected]


@given(problems(max_jobs=12))
@settings(max_examples=100)
def test_plans_free_enough_nodes_in_time_and_add_up(problem):
    spectrum = solve_spectrum(problem)
    best = solve_dynamic(problem)
    others = [solve(problem) for solve in (solve_greedy, solve_backtracking)]
    for plan in (best, *others):
        assert (plan.nodes_freed >= problem.nodes_needed).all()
        assert (plan.checkpoint_time <= plan.deadlines).all()
        assert (plan.loss >= best.loss - 1e-9).all()
        for deadline in plan.deadlines[[0, -1]]:
            actions = plan.actions(deadline)
            row = plan.row(deadline)
            assert actions["nodes"].sum() == plan.nodes_freed[row]
            assert actions["loss"].sum() == pytest.approx(plan.loss[row])
            assert actions["time"].sum() == plan.checkpoint_time[row]
    assert (np.diff(best.loss) <= 0).all()
    assert (np.diff(spectrum.loss, axis=0) >= 0).all()
    assert (np.diff(spectrum.loss, axis=1) <= 0).all()
    assert spectrum.loss[problem.nodes_needed].tolist() == best.loss.tolist()


@pytest.mark.parametrize("step", [1e-3, 60.0, 3600.0])
def test_a_deadline_that_rounding_made_smaller_is_the_step_s(step):
    """Up to a billionth of a step; by more, it is the step before."""
    problem = EvictionProblem(frame((1, 1.0, step, step)), 1, horizon=4 * step, step=step)
    plan = solve_dynamic(problem)
    at = [3 * step * (1 - tiny) for tiny in (0, 1e-10, 1e-8)]
    assert [plan.row(deadline) for deadline in at] == [3, 3, 2]


def test_greedys_response_times_are_equal_parts_of_one_loop():
    spent = solve_greedy(random_problem(24, seed=8)).response_time
    assert (np.diff(spent) > 0).all() and spent[-1] == pytest.approx(16 * spent[0])


@given(problems(max_jobs=8))
@settings(max_examples=50)
def test_the_optimum_does_not_depend_on_the_order_of_jobs(problem):
    turned = replace(problem, jobs=problem.jobs.iloc[::-1])
    assert outcomes(solve_dynamic(problem)) == outcomes(solve_dynamic(turned))


def test_equal_losses_compare_equal_in_any_order_of_summation():
    """0.1 + 0.2 and 0.3 node-hours are the same loss, so the shorter checkpoint decides."""
    jobs = frame((1, 0.1, np.inf, 120.0), (1, 0.2, np.inf, 120.0), (2, 0.3, np.inf, 60.0))
    plan = solve_dynamic(EvictionProblem(jobs, 2, 60.0))
    assert plan.loss[0] == pytest.approx(0.3) and plan.loss[1] == 0
    naive = slow.enumerate_plans(plan.problem)
    assert outcomes(plan) == naive


@pytest.mark.compiled("the clock is read too rarely without compiled kernels")
def test_a_search_that_is_stopped_is_not_proven():
    problem = random_problem(60, seed=5)
    plan = solve_backtracking(problem, time_limit=0.01)
    assert not plan.optimal and not plan.proven.all()
    assert (plan.nodes_freed >= problem.nodes_needed).all()
    assert (plan.checkpoint_time <= plan.deadlines).all()
    assert not plan.table()["optimal"].all()
    assert plan.response_time[-1] >= 0.01
    with pytest.raises(ValueError, match="time_limit=0"):
        solve_backtracking(problem, time_limit=0)


@pytest.mark.compiled("600 million cells need compiled kernels")
def test_choices_of_a_large_problem_fit_in_one_gibibyte():
    problem = random_problem(1000, seed=7, horizon=3600.0, total=11000)
    problem = problem.asking(10_000)
    table, chosen = _fill(problem, 10_000, 10_000, 2**30)
    assert chosen.shape[:2] == (1000, 61) and table.shape[1] > 10_000
    assert table.nbytes + chosen.nbytes < 2**30 / 4
    with pytest.raises(MemoryError, match="take a longer step, or raise memory_limit where"):
        solve_dynamic(problem, memory_limit=10**6)


def test_no_nodes_needed_evicts_no_job():
    problem = random_problem(5, seed=1).asking(0)
    for solve in (solve_dynamic, solve_greedy, solve_backtracking):
        assert not solve(problem).choices.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes_needed": -1}, "nodes_needed=-1; expected a whole number from 0"),
        ({"nodes_needed": 1.5}, "nodes_needed=1.5; expected a whole number"),
        ({"nodes_needed": 11}, "nodes_needed=11, but the 2 running jobs hold 10 nodes in all"),
        ({"step": 0}, "step=0; expected seconds above 0"),
        ({"step": float("nan")}, "step=nan; expected seconds above 0"),
        ({"step": True}, "step=True; expected seconds above 0"),
        ({"step": "60"}, "step='60'; expected seconds above 0"),
        ({"step": 1e-9}, "more than 1,000,000 steps of 1e-09 s; take a longer step"),
        ({"horizon": -60.0}, "horizon=-60.0; expected seconds from 0"),
        ({"horizon": float("inf")}, "horizon=inf; expected seconds from 0"),
    ],
)
def test_numbers_out_of_range_are_refused(change, message):
    values = {"nodes_needed": 3, "horizon": 900.0, "step": 60.0} | change
    with pytest.raises(ValueError, match=message):
        EvictionProblem(frame((5, 1.0, 1.0, 1.0), (5, 1.0, 1.0, 1.0)), **values)
    assert issubclass(InfeasibleEvictionError, ValueError)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("nodes", 0, "job b has nodes=0.*a whole number from 1"),
        ("loss", -1.0, "job b has loss=-1;"),
        ("loss", np.inf, "job b has loss=inf"),
        ("app_time", np.nan, "job b has app_time=nan"),
        ("sys_time", -5.0, "job b has sys_time=-5;"),
        ("loss", 1e12, "no longer compare exactly"),
    ],
)
def test_the_error_for_an_invalid_job_names_it(column, value, message):
    jobs = frame((5, 1.0, 1.0, 1.0), (5, 1.0, 1.0, 1.0)).set_index(pd.Index(["a", "b"]))
    jobs.loc["b", column] = value
    with pytest.raises(ValueError, match=message):
        EvictionProblem(jobs, 3, 900.0)


def test_missing_columns_and_duplicate_jobs_are_refused():
    jobs = frame((5, 1.0, 1.0, 1.0), (5, 1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="no column 'loss'"):
        EvictionProblem(jobs.drop(columns="loss"), 3, 900.0)
    with pytest.raises(ValueError, match="job 7 stands twice"):
        EvictionProblem(jobs.set_index(pd.Index([7, 7])), 3, 900.0)


def test_a_deadline_outside_the_horizon_is_refused():
    plan = solve_greedy(random_problem(3, seed=2))
    with pytest.raises(ValueError, match=r"deadline=901\.0; expected seconds from 0 to 900"):
        plan.actions(901.0)


def test_a_problem_without_jobs():
    empty = frame().astype(float)
    for solve in (solve_dynamic, solve_greedy, solve_backtracking):
        assert solve(EvictionProblem(empty, 0, 60.0)).loss.tolist() == [0, 0]
    with pytest.raises(InfeasibleEvictionError):
        EvictionProblem(empty, 1, 60.0)
