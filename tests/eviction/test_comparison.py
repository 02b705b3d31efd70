"""Comparison of solvers: tables of response times and losses."""

from dataclasses import replace

import numpy as np
import pytest

from cosimlib.eviction import solve_as_printed, solve_backtracking, solve_dynamic, solve_greedy
from cosimlib.eviction.comparison import (
    _plan_rows,
    compare_solvers,
    equal_to_separate_runs,
    losses_over_seeds,
    relative_loss,
    scale_solvers,
    scaled_problem,
    seconds_by_horizon,
)


@pytest.fixture(scope="module")
def comparison():
    problems = {"small": scaled_problem(5, 100), "large": scaled_problem(30, 400, seed=1)}
    return compare_solvers(problems, nodes_needed=(20, 60), repeat=2, time_limit=0.01)


def test_each_solver_has_a_row_per_case_and_deadline(comparison):
    assert len(comparison) == 2 * 2 * 4 * 16
    sizes = comparison.groupby(["scenario", "nodes_needed", "solver"]).size()
    assert len(sizes) == 16 and (sizes == 16).all()
    assert (comparison["nodes_freed"] >= comparison["nodes_needed"]).all()
    assert (comparison["response_time"] > 0).all()


def test_response_times_accumulate_but_for_dynamic_programming(comparison):
    for (_, _, solver), part in comparison.groupby(["scenario", "nodes_needed", "solver"]):
        steps = np.diff(part["response_time"])
        at_once = solver in ("dynamic", "as printed")
        assert (steps == 0).all() if at_once else (steps >= 0).all()


def test_only_stopped_searches_are_lower_bounds(comparison):
    bound = comparison[comparison["bound"]]
    assert set(bound["solver"]) <= {"backtracking"}
    stopped = comparison[(comparison["solver"] == "backtracking") & ~comparison["optimal"]]
    assert stopped["bound"].all()
    greedy = comparison[comparison["solver"] == "greedy"]
    assert not greedy["optimal"].any() and not greedy["bound"].any()


def test_times_after_a_stopped_search_are_lower_bounds_too():
    """Times accumulate: a search that came to its end after one that did not tells no more."""
    proven = np.array([True, False, True, True])
    problem = replace(scaled_problem(5, 100), horizon=180.0)
    plan = replace(solve_backtracking(problem), proven=proven)
    assert _plan_rows(plan)["bound"].tolist() == [False, True, True, True]
    assert not _plan_rows(replace(plan, solver="greedy"))["bound"].any()


def test_relative_loss_is_greedy_minus_the_optimum(comparison):
    table = relative_loss(comparison)
    assert len(table) == 2 * 2 * 16 and (table["excess"] >= 0).all()
    problem = scaled_problem(5, 100).asking(60)
    case = table[(table["scenario"] == "small") & (table["nodes_needed"] == 60)]
    expected = solve_greedy(problem).loss - solve_dynamic(problem).loss
    np.testing.assert_allclose(case["excess"], expected, atol=1e-6)


def test_scaled_problems_hold_the_given_number_of_nodes():
    problem = scaled_problem(50, 4352, needed=0.5)
    assert len(problem) == 50 and problem.total_nodes == 4352 and problem.nodes_needed == 2176
    assert scaled_problem(50, 4352).jobs.equals(scaled_problem(50, 4352).jobs)
    with pytest.raises(ValueError, match="jobs=5; expected a whole number from 1 to 4"):
        scaled_problem(5, 4)


def test_scaling_has_a_row_per_size_and_solver():
    table = scale_solvers([(3, 30), (6, 60)], repeat=1)
    assert table["solver"].tolist() == ["dynamic", "greedy", "spectrum"] * 2
    assert (table["response_time"] > 0).all()


def test_cases_that_ask_for_more_nodes_than_are_held_are_left_out(comparison):
    small = {"small": scaled_problem(5, 100)}
    assert set(compare_solvers(small, nodes_needed=(20, 101))["nodes_needed"]) == {20}
    nothing = compare_solvers({}, nodes_needed=(20,))
    assert nothing.empty and sorted(nothing) == sorted(comparison)
    assert relative_loss(nothing).empty


def test_one_pass_finds_what_runs_for_each_deadline_alone_do():
    problem = scaled_problem(6, 200, needed=0.5)
    assert equal_to_separate_runs(problem) == (16, 16)


def test_seconds_by_horizon_are_of_the_solver_given():
    calls = []

    def solve(problem):
        calls.append(problem.horizon)
        return solve_as_printed(problem)

    seconds = seconds_by_horizon(scaled_problem(4, 50), [60.0, 120.0], solve=solve, repeat=2)
    assert list(seconds) == [60.0, 120.0] and min(seconds.values()) > 0
    assert calls == [900.0, 60.0, 60.0, 120.0, 120.0]


def test_losses_over_seeds_are_means_with_their_range():
    problems = {seed: {"one": scaled_problem(6, 100, seed=seed)} for seed in (1, 2, 3)}
    table = losses_over_seeds(problems.get, problems, nodes_needed=[30, 101])
    assert len(table) == 16 and set(table["nodes_needed"]) == {30}
    for row in (0, 7, 15):
        cases = [problem["one"].asking(30) for problem in problems.values()]
        best = [solve_dynamic(case).loss[row] for case in cases]
        greedy = [solve_greedy(case).loss[row] for case in cases]
        excess = np.subtract(greedy, best)
        expected = [np.mean(best), np.mean(excess), min(excess), max(excess)]
        found = table[["optimum", "excess", "least", "most"]].iloc[row]
        assert found.tolist() == pytest.approx(expected, abs=1e-5)
    none = losses_over_seeds(problems.get, problems, nodes_needed=[])
    assert none.empty and list(none) == list(table)
