"""Full moments of a log, scenarios and figures of Maurya et al.: by hand and against solvers."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.figures import caption
from cosimlib.batch import simulate_fcfs
from cosimlib.eviction import (
    EvictionProblem,
    TimedPlan,
    solve_blocked,
    solve_dynamic,
    solve_greedy,
    solve_overlapping,
)
from cosimlib.eviction.scenarios import scaled_problem
from cosimlib.synthetic import theta
from cosimlib.system import THETA, System
from papers.maurya2020.experiment import (
    SURVEY,
    Setting,
    choose_scenarios,
    commonest_occupancy,
    full_moments,
    middle_problem,
    occupancy_of,
    pose,
    setting_of,
    short_shares,
    survey_moments,
)
from papers.maurya2020.figures import plot_case, plot_moments, plot_plan, plot_scenario
from papers.maurya2020.measures import variants
from papers.maurya2020.tables import (
    KINDS,
    jobs_of,
    kinds_of_evictions,
    mean_node_hours,
    plan_table,
)
from tests.cosimlib.eviction.test_problem import schedule

HOUR = 3600
SETTING = Setting(THETA.with_nodes(180), (20, 80, 10_000), seed=3)


@pytest.fixture(scope="module")
def busy():
    """Sixty jobs that queue for 180 nodes."""
    random = np.random.default_rng(5)
    rows = [
        (0.0, int(run), int(nodes))
        for run, nodes in zip(
            random.integers(2000, 12_000, 60), random.integers(5, 40, 60), strict=True
        )
    ]
    return simulate_fcfs(schedule(*rows).workload, THETA.with_nodes(180))


def test_full_moments_are_the_whole_hours_at_which_nearly_all_nodes_are_held():
    """From 100 s on, every hour: 97 of 100 nodes are full, 96 are not, 101 are too many."""
    example = schedule(
        (100, 2 * HOUR, 60),
        (100, HOUR, 37),
        (100 + HOUR, HOUR, 36),
        (100 + 2 * HOUR, HOUR, 100),
        (100 + 3 * HOUR, HOUR, 100),
        (100 + 3 * HOUR, HOUR, 1),
        (100 + 4 * HOUR, 100, 5),
        system=System.of(100),
    )
    moments = full_moments(example, SETTING, occupied=100)
    assert moments.times.tolist() == [100.0, 100.0 + 2 * HOUR]
    assert moments.jobs.tolist() == [2, 1] and moments.total == 2 and moments.hours == 4
    assert moments.summary == "all 2 full moments, one per hour at most, of 4 hours"
    assert full_moments(example, SETTING, occupied=99).total == 3


def test_of_too_many_moments_each_second_or_third_is_taken(busy):
    every = full_moments(busy, SETTING, occupied=165)
    half = full_moments(busy, SETTING, occupied=165, most=165 * 136 * every.jobs.sum() * 0.6)
    assert every.total > 4 and half.total == every.total
    stride = np.flatnonzero(every.times == half.times[1])[0]
    assert stride > 1 and half.times.tolist() == every.times[::stride].tolist()
    assert half.summary.startswith(f"{len(half.times)} of {every.total} full moments")


def test_the_survey_says_what_the_solvers_find_at_each_moment(busy):
    moments = full_moments(busy, SETTING, occupied=165)
    survey = survey_moments(busy, moments, SETTING)
    assert list(survey) == SURVEY and len(survey) == len(moments.times) * 2 * 16
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
    survey = survey_moments(busy, full_moments(busy, SETTING, occupied=165), SETTING)
    kinds = kinds_of_evictions(survey)
    assert len(kinds) == 2 * 16 * 4 and set(kinds["kind"]) == set(KINDS)
    sums = kinds.groupby(["nodes_needed", "deadline"])["share"].sum()
    assert sums.to_numpy() == pytest.approx(np.ones(32))


def survey_of(greedy, optimum):
    """A survey of two moments at deadlines 0, 60 and 120 s."""
    rows = [
        (moment, 3, 8, deadline, *pair, pair[1], 2 * pair[1], pair[1])
        for moment, pairs in enumerate(zip(greedy, optimum, strict=True))
        for deadline, *pair in zip((0.0, 60.0, 120.0), *pairs, strict=True)
    ]
    return pd.DataFrame(rows, columns=SURVEY)


def test_kinds_by_hand():
    """Greedy's excess goes 0, 4, 2 at one moment and 0, 2, 0 at the other."""
    survey = survey_of([(9, 7, 4), (5, 2, 0)], [(9, 3, 2), (5, 0, 0)])
    kinds = kinds_of_evictions(survey).pivot_table(index="deadline", columns="kind", values="share")
    assert kinds["greedy is enough"].tolist() == [1.0, 0.0, 0.0]
    assert kinds["greedy loses, needlessly"].tolist() == [0.0, 0.5, 0.0]
    assert kinds["greedy loses more"].tolist() == [0.0, 0.5, 0.5]
    assert kinds["nobody loses"].tolist() == [0.0, 0.0, 0.5]


def test_mean_node_hours_are_over_the_moments():
    means = mean_node_hours(survey_of([(9, 7, 4), (5, 2, 0)], [(9, 3, 2), (5, 0, 0)]))
    assert len(means) == 3 * 5
    by_plan = means.groupby(["counted", "plan"])["node_hours"].apply(list)
    assert by_plan["lost", "greedy"] == [7.0, 4.5, 2.0]
    assert by_plan["lost", "least loss (paper)"] == [7.0, 1.5, 1.0]
    assert by_plan["lost or blocked", "least loss (paper)"] == [14.0, 3.0, 2.0]
    assert by_plan["lost or blocked", "least loss and standing still"] == [7.0, 1.5, 1.0]


@pytest.mark.parametrize("rows", [[(0, 0, 4)], [(0, 7200, 4)], []])
def test_schedules_without_a_full_moment_have_empty_tables(rows):
    example = schedule(*rows, system=System.of(8))
    moments = full_moments(example, SETTING, occupied=8 if rows else 0)
    assert moments.total == 0 and moments.summary.startswith("no moment of ")
    survey = survey_moments(example, moments, SETTING)
    assert survey.empty and list(survey) == SURVEY
    assert kinds_of_evictions(survey).empty


def test_scenarios_that_a_schedule_does_not_have_are_empty_and_say_why():
    example = schedule((0, 7200, 60), (1000, 7200, 40))
    both, none = choose_scenarios(example, jobs=[2, 9], occupied=100)
    assert both.scenario.origin == "exact" and not both.why
    assert none.name == "no scenario" and none.scenario is None
    assert "no moment has 9 jobs of at least 1800 s on about 100 nodes" in none.why
    (none,) = choose_scenarios(example, jobs=[9], occupied=100, lasts=3600.0)
    assert "no moment has 9 jobs of at least 3600 s" in none.why
    assert "no moment has 9 jobs" in caption(plot_case(none, title="Jobs"))[0]
    assert jobs_of(none).empty and jobs_of(both)["start"].tolist() == [0, 1000]


def test_the_commonest_occupancy_is_within_the_machine_and_not_idle():
    durations = pd.Series({0: 9.0, 4: 1.0, 8: 5.0, 16: 7.0})
    assert commonest_occupancy(durations, 8) == 8
    assert commonest_occupancy(durations, 16) == 16
    assert commonest_occupancy(durations.head(1), 8) == 0


def test_short_jobs_are_counted_by_size():
    workload = schedule(
        (0, 60, 4), (0, 1799, 8), (0, 1800, 8), (0, 9, 200), (0, 9999, 200)
    ).workload
    assert short_shares(workload).round(3).to_dict() == {
        "all": 0.6,
        "≤ 8 nodes": 0.667,
        "≥ 128 nodes": 0.5,
    }
    few = short_shares(schedule((0, 60, 4)).workload)
    assert few["all"] == 1.0 and np.isnan(few["≥ 128 nodes"])
    assert short_shares(theta(seed=0)).between(0, 1).all()


def test_moments_have_a_panel_of_jobs_and_one_per_number_of_nodes():
    shares = [0.5, 0.0, 0.3, 0.2]
    kinds = pd.DataFrame(
        [
            (needed, deadline, kind, share)
            for needed in (8, 16)
            for deadline in (0.0, 60.0)
            for kind, share in zip(KINDS, shares, strict=True)
        ],
        columns=["nodes_needed", "deadline", "kind", "share"],
    )
    figure = plot_moments(kinds, pd.Series([4, 4, 6, 12]), title="Moments")
    jobs, *bars = figure.data
    assert list(jobs.x) == [4, 6, 12] and list(jobs.y) == [50.0, 25.0, 25.0]
    assert [bar.name for bar in bars] == [meaning for meaning, *_ in KINDS.values()] * 2
    assert [list(bar.y) for bar in bars[:4]] == [[50.0] * 2, [0.0] * 2, [30.0] * 2, [20.0] * 2]
    assert all(list(bar.x) == [0.0, 1.0] for bar in bars)
    assert sum(bar.showlegend for bar in bars) == 4
    titles = [note.text for note in figure.layout.annotations[:3]]
    assert titles == ["(a) jobs, median 5", "(b) K = 8", "(c) K = 16"]
    empty = plot_moments(kinds.head(0), pd.Series(dtype=float), title="Moments")
    assert "at no hour is the machine nearly full" in caption(empty)[0]


def test_scenarios_are_posed_with_the_settings_memory_and_intervals():
    example = schedule((0, 7200, 60), (1000, 7200, 40), system=System.of(100))
    occupancy = occupancy_of(example)
    assert (occupancy.most_frequent, occupancy.total_nodes, occupancy.jobs) == (100, 100, 2)
    setting = setting_of(occupancy, seed=2)
    assert setting.nodes_needed == (11, 23, 47) and setting.system.total_nodes == 100
    cases = choose_scenarios(example, jobs=[2, 9], occupied=100)
    (name, problem), *others = pose(cases, setting).items()
    assert name == "2 jobs on 100 nodes (exact)" and not others
    assert middle_problem({name: problem}, setting) == (name, problem)
    assert middle_problem({}, setting)[1].total_nodes == 0
    daly = setting._replace(interval=0.0)
    assert daly.interval_of(example).shape == (2,)
    table = variants(cases, setting)
    assert table.shape == (1, 4) and table["as above"].equals(table["every hour"])
    assert variants(cases[1:], setting).empty


def test_bars_of_a_scenario_run_from_start_to_end():
    table = pd.DataFrame(
        {"start": [0, 3600], "end": [7200, 5400], "nodes": [1024, 8]}, index=[7, 9]
    )
    figure = plot_scenario(table, title="Jobs", region=(3600, 5400), moment=4000)
    (bars,) = figure.data
    assert list(bars.base) == [0, 1] and list(bars.x) == [2, 0.5]
    assert list(bars.text) == ["1,024 nodes", "8 nodes"] and list(bars.customdata) == [7, 9]
    texts = [note.text for note in figure.layout.annotations]
    assert "all run from 01:00 to 01:30" in texts and "eviction" in texts


def test_the_stack_of_a_plan_is_the_nodes_that_it_frees():
    plan = solve_dynamic(scaled_problem(8, 1000, needed=0.5, seed=4))
    table = plan_table(plan)
    np.testing.assert_array_equal(table[["kill", "app", "sys"]].sum(axis=1), plan.nodes_freed)
    bars = [trace for trace in plot_plan(plan, title="P").data if trace.type == "bar"]
    assert [bar.name for bar in bars] == ["killed", "application checkpoint", "system checkpoint"]
    np.testing.assert_array_equal(np.sum([bar.y for bar in bars], axis=0), plan.nodes_freed)
