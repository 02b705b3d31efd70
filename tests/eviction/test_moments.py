"""Evictions at every full moment: which moments, what each loses, and the summary of all."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.batch import simulate_fcfs
from cosimlib.eviction import (
    EvictionProblem,
    TimedPlan,
    full_moments,
    kinds_of_evictions,
    mean_losses,
    short_shares,
    solve_blocked,
    solve_dynamic,
    solve_greedy,
    solve_overlapping,
    summarize_moments,
    survey_moments,
)
from cosimlib.eviction.moments import COLUMNS, KINDS
from cosimlib.synthetic import theta
from cosimlib.system import THETA, System
from tests.eviction.test_problem import schedule

HOUR = 3600


@pytest.fixture(scope="module")
def busy():
    """Sixty jobs that queue for 180 nodes."""
    random = np.random.default_rng(5)
    rows = [(0.0, int(run), int(nodes)) for run, nodes in zip(
        random.integers(2000, 12_000, 60), random.integers(5, 40, 60), strict=True)]  # fmt: skip
    return simulate_fcfs(schedule(*rows).workload, THETA.with_nodes(180))


def test_full_moments_are_the_whole_hours_at_which_nearly_all_nodes_are_held():
    """From 100 s on, every hour: 97 of 100 nodes are full, 96 are not, 101 are too many."""
    example = schedule(
        (100, 2 * HOUR, 60), (100, HOUR, 37), (100 + HOUR, HOUR, 36), (100 + 2 * HOUR, HOUR, 100),
        (100 + 3 * HOUR, HOUR, 100), (100 + 3 * HOUR, HOUR, 1), (100 + 4 * HOUR, 100, 5),
        system=System.of(100),
    )  # fmt: skip
    moments = full_moments(example, occupied=100)
    assert moments.times.tolist() == [100.0, 100.0 + 2 * HOUR]
    assert moments.jobs.tolist() == [2, 1] and moments.total == 2 and moments.hours == 4
    assert moments.told == "all 2 full moments, one per hour at most, of 4 hours"
    assert full_moments(example, occupied=99).total == 3


def test_of_too_many_moments_each_second_or_third_is_taken(busy):
    every = full_moments(busy, occupied=165)
    half = full_moments(busy, occupied=165, most=165 * 136 * every.jobs.sum() * 0.6)
    assert every.total > 4 and half.total == every.total
    stride = np.flatnonzero(every.times == half.times[1])[0]
    assert stride > 1 and half.times.tolist() == every.times[::stride].tolist()
    assert half.told.startswith(f"{len(half.times)} of {every.total} full moments")


def test_the_survey_says_what_the_solvers_find_at_each_moment(busy):
    moments = full_moments(busy, occupied=165)
    survey = survey_moments(busy, moments, nodes_needed=[20, 80, 10_000], seed=3)
    assert list(survey) == COLUMNS and len(survey) == len(moments.times) * 2 * 16
    for needed, moment in ((20, moments.times[0]), (80, moments.times[-1])):
        problem = EvictionProblem.from_schedule(busy, at=moment, nodes_needed=needed, seed=3)
        part = survey[(survey["moment"] == moment) & (survey["nodes_needed"] == needed)]
        best, blocked = solve_dynamic(problem), solve_blocked(problem)
        assert part["deadline"].tolist() == problem.deadlines.tolist()
        assert (part["jobs"] == len(problem)).all()
        assert part["optimum"].tolist() == best.loss.tolist()
        assert part["greedy"].tolist() == solve_greedy(problem).loss.tolist()
        assert part["overlapping"].tolist() == solve_overlapping(problem).loss.tolist()
        assert part["cost_of_optimum"].tolist() == TimedPlan.of(best).cost.tolist()
        assert part["least_cost"].tolist() == blocked.cost.tolist()
    assert (survey["overlapping"] <= survey["optimum"] + 1e-9).all()
    assert (survey["optimum"] <= survey["greedy"] + 1e-9).all()
    assert (survey["least_cost"] <= survey["cost_of_optimum"] + 1e-9).all()


def test_kinds_of_evictions_add_up(busy):
    survey = survey_moments(busy, full_moments(busy, occupied=165), nodes_needed=[20, 80])
    kinds = kinds_of_evictions(survey)
    assert len(kinds) == 2 * 16 * 4 and set(kinds["kind"]) == set(KINDS)
    sums = kinds.groupby(["nodes_needed", "deadline"])["share"].sum()
    assert sums.to_numpy() == pytest.approx(np.ones(32))


def losses(greedy, optimum):
    """A survey of two moments at deadlines 0, 60 and 120 s."""
    rows = [
        (moment, 3, 8, deadline, *pair, pair[1], 2 * pair[1], pair[1])
        for moment, pairs in enumerate(zip(greedy, optimum, strict=True))
        for deadline, *pair in zip((0.0, 60.0, 120.0), *pairs, strict=True)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_a_summary_by_hand():
    """Greedy's excess goes 0, 4, 2 at one moment and 0, 2, 0 at the other."""
    survey = losses([(9, 7, 4), (5, 2, 0)], [(9, 3, 2), (5, 0, 0)])
    (row,) = summarize_moments(survey).reset_index().to_dict("records")
    assert row == {
        "nodes_needed": 8, "moments": 2, "above": 0.5, "none": 0.5, "free": 0.5,
        "free_overlapping": 0.5, "first": 0.0, "largest": 3.0, "last": 1.0,
        "saved_overlapping": 0.0, "saved_blocked": 0.5,
    }  # fmt: skip
    kinds = kinds_of_evictions(survey).pivot_table(index="deadline", columns="kind", values="share")
    assert kinds["greedy is enough"].tolist() == [1.0, 0.0, 0.0]
    assert kinds["greedy loses, needlessly"].tolist() == [0.0, 0.5, 0.0]
    assert kinds["greedy loses more"].tolist() == [0.0, 0.5, 0.5]
    assert kinds["nobody loses"].tolist() == [0.0, 0.0, 0.5]


def test_mean_losses_are_over_the_moments():
    means = mean_losses(losses([(9, 7, 4), (5, 2, 0)], [(9, 3, 2), (5, 0, 0)]))
    assert len(means) == 3 * 5
    by_plan = means.groupby(["counted", "plan"])["node_hours"].apply(list)
    assert by_plan["lost", "greedy"] == [7.0, 4.5, 2.0]
    assert by_plan["lost", "least loss (paper)"] == [7.0, 1.5, 1.0]
    assert by_plan["lost or blocked", "least loss (paper)"] == [14.0, 3.0, 2.0]
    assert by_plan["lost or blocked", "least loss and standing still"] == [7.0, 1.5, 1.0]


@pytest.mark.parametrize("rows", [[(0, 0, 4)], [(0, 7200, 4)], []])
def test_schedules_without_a_full_moment_have_empty_tables(rows):
    example = schedule(*rows, system=System.of(8))
    moments = full_moments(example, occupied=8 if rows else 0)
    assert moments.total == 0 and moments.told.startswith("no moment of ")
    survey = survey_moments(example, moments, nodes_needed=[2])
    assert survey.empty and list(survey) == COLUMNS
    assert kinds_of_evictions(survey).empty and summarize_moments(survey).empty


def test_moments_must_be_asked_for_with_a_limit_above_nothing(busy):
    with pytest.raises(ValueError, match="most=0; expected a number above 0"):
        full_moments(busy, occupied=165, most=0)


def test_short_jobs_are_counted_by_size():
    workload = schedule(
        (0, 60, 4), (0, 1799, 8), (0, 1800, 8), (0, 9, 200), (0, 9999, 200)
    ).workload
    assert short_shares(workload).round(3).to_dict() == {
        "all": 0.6, "≤ 8 nodes": 0.667, "≥ 128 nodes": 0.5
    }  # fmt: skip
    few = short_shares(schedule((0, 60, 4)).workload)
    assert few["all"] == 1.0 and np.isnan(few["≥ 128 nodes"])
    assert short_shares(theta(seed=0)).between(0, 1).all()
