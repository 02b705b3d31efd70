"""Eviction solvers compared at full moments: means by hand, intervals, sentences, errors."""

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
from cosimlab.comparison import SolverComparison, compare_solvers
from cosimlib.batch import simulate_easy
from cosimlib.checks import ArgumentError
from cosimlib.eviction import EvictionProblem, InfeasiblePlanError, solve_dynamic, solve_greedy
from cosimlib.schedule import Schedule
from cosimlib.synthetic import lublin, with_estimates
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

SYSTEM = System("ten", {"main": 10}, 1, 64.0, 5.0, 1.0)


def kill_all(problem, deadline):
    return ["kill"] * len(problem)


def keep_all(problem, deadline):
    return ["keep"] * len(problem)


@pytest.fixture(scope="module")
def schedule():
    log = with_estimates(lublin(3000, load=1.2, seed=2))
    return simulate_easy(log, System("a cluster", {"main": 128}, 1, 64.0, 20.0, 2.0))


@pytest.fixture(scope="module")
def comparison(schedule):
    return compare_solvers(
        ["greedy", kill_all], schedule, nodes=[96, 32], deadlines=[0, 90, 300], moments=30, seed=1
    )


def two_jobs_for_days(days):
    """A job of 6 and one of 4 nodes, both from the beginning to the end."""
    times = {"submit_time": 0.0, "run_time": days * DAY, "requested_time": days * DAY}
    jobs = pd.DataFrame({"nodes": [6, 4], **times, "memory": [30.0, 30.0]})
    return Schedule.from_starts(Workload(jobs, "two"), SYSTEM, [0.0, 0.0], "recorded")


def test_means_of_two_jobs_by_hand():
    """Hourly checkpoints, at whole hours: a kill at a checkpoint loses nothing but since the last.

    With checkpoints every ten hours, the loss of the job with 4 nodes at hour h is 4 · (h mod 10).
    Killing both loses 10 · (h mod 10).
    """
    schedule = two_jobs_for_days(3)
    found = compare_solvers([kill_all], schedule, nodes=4, deadlines=0.0, interval=10 * HOUR)
    elapsed = found.evictions["moment"] / HOUR % 10
    assert len(found.evictions) == 72
    assert found.evictions["loss"].tolist() == pytest.approx((10 * elapsed).tolist())
    assert found.evictions["optimum"].tolist() == pytest.approx((4 * elapsed).tolist())
    rows = found.table[found.table["deadline"].isna()].set_index("quantity")
    assert rows["mean"]["ratio"] == pytest.approx(2.5) and rows["verdict"]["ratio"] == "higher"
    assert rows.loc["ratio", ["low", "high"]].tolist() == pytest.approx([2.5, 2.5])
    assert rows["mean"]["optimal"] == pytest.approx((elapsed == 0).mean())
    assert rows.loc["difference", "mean"] == pytest.approx(6 * elapsed.mean())
    assert "over 1,000 draws of 3 days, all moments of a day together; of so few" in found.note


def test_evictions_are_those_of_the_schedule(schedule, comparison):
    row = comparison.evictions.query("deadline == 300 and nodes_needed == 96").iloc[0]
    problem = EvictionProblem.from_schedule(
        schedule, at=row["moment"], nodes_needed=96, horizon=300, seed=1
    )
    assert row["optimum"] == solve_dynamic(problem).loss[-1] and row["jobs"] == len(problem)
    assert row["loss"] == solve_greedy(problem).loss[-1]
    held = [schedule.jobs["nodes"][(schedule.start_time <= at) & (at < schedule.end_time)].sum()
            for at in comparison.evictions["moment"].unique()]  # fmt: skip
    assert len(held) == 30 and min(held) >= 0.9 * 128


def test_the_table_has_values_and_paired_differences(comparison):
    assert isinstance(comparison, SolverComparison) and comparison.solvers == ("greedy", "kill_all")
    table = comparison.table
    # Seven cells: 2 numbers of nodes × 3 deadlines, and all; each 3 losses, 2 shares, 3 pairs.
    assert len(table) == 7 * (3 + 2 + 3 * 2)
    whole = table[table["deadline"].isna()].set_index(["solver", "against", "quantity"])
    greedy, killing = whole.loc[("greedy", "", "loss")], whole.loc[("kill_all", "", "loss")]
    mean = comparison.evictions.groupby("solver")["loss"].mean()
    assert greedy["mean"] == pytest.approx(mean["greedy"])
    pair = whole.loc[("kill_all", "greedy", "difference")]
    assert pair["mean"] == pytest.approx(killing["mean"] - greedy["mean"])
    assert pair["verdict"] == "higher" and 0 < pair["low"] <= pair["mean"] <= pair["high"]
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).mean() > 0.9
    apart = greedy["high"] - greedy["low"] + killing["high"] - killing["low"]
    assert pair["high"] - pair["low"] < apart


def test_the_day_is_what_is_drawn():
    """Moments of one day are drawn together, so those of one day alone give no interval."""
    found = compare_solvers(["greedy", "dynamic"], two_jobs_for_days(1), nodes=4)
    assert set(found.table["verdict"]) == {"", "unknown"} and found.table["low"].isna().all()
    assert found.sentences()[-1].endswith("no interval: unknown, as all moments are of one day")
    bands = [trace for trace in lab.figures.plot_solvers(found, title="").data if trace.fill]
    assert not bands


def test_sentences_name_the_optimum_and_each_pair(comparison):
    first, second, pair = comparison.sentences()
    assert first.startswith("greedy loses ")
    assert (
        "(greedy ÷ optimum: " in first
        and first.endswith("of 180 evictions")
        and second.startswith("kill_all loses")
    )
    assert pair.startswith("mean loss, kill_all ÷ greedy") and pair.endswith("kill_all loses more")
    assert "note" in str(comparison) and "30 of" in comparison.note


def test_equal_solvers_lose_the_same(schedule):
    solvers = {"one": "dynamic", "other": solve_dynamic}
    found = compare_solvers(solvers, schedule, nodes=32, moments=10)
    assert found.sentences()[-1].endswith("they lose the same")
    assert found.table.query("quantity == 'optimal'")["mean"].eq(1.0).all()


def test_without_a_loss_the_difference_is_told():
    """10 · (0 + … + 47) ÷ 48 = 235 node-hours against none: a ratio to nothing is none."""
    schedule = two_jobs_for_days(2)
    found = compare_solvers([kill_all], schedule, nodes=4, deadlines=0, interval=HOUR)
    assert "kill_all ÷ optimum: 1, 95 % interval 1 to 1" in found.sentences()[0]
    found = compare_solvers([kill_all], schedule, nodes=4, deadlines=3600, interval=50 * HOUR)
    assert "kill_all − optimum: 235 node-hours" in found.sentences()[0]


def test_the_figure_shows_the_loss_above_the_optimum(comparison):
    figure = lab.figures.plot_solvers(comparison, title="Solvers")
    assert {trace.name for trace in figure.data if trace.name} >= {"greedy", "kill_all"}
    assert "30 of" in " ".join(lab.figures.caption(figure))
    with pytest.raises(TypeError, match="is of type int; expected a SolverComparison"):
        lab.figures.plot_solvers(3, title="")


def test_a_workload_has_its_recorded_starts_or_those_of_easy():
    log = with_estimates(lublin(300, load=1.0, seed=2))
    simulated = compare_solvers(["greedy"], log, nodes=64, moments=5, system=System.of(128))
    assert "EASY" in simulated.name and "assumed as on Theta: memory (192 GB)" in simulated.note
    starts = log.jobs["submit_time"] + 1.0
    recorded = Workload(log.jobs.assign(recorded_start=starts), "r", System.of(512))
    with pytest.raises(ValueError, match=r"jobs hold at most .* % of 512 nodes at any whole hour"):
        compare_solvers(["greedy"], recorded, nodes=64)


def test_a_logs_name_is_refused_with_what_reads_it():
    with pytest.raises(TypeError, match=r"log is 'KTH-SP2'; .*cs\.prepare_schedule gives"):
        compare_solvers(["greedy"], "KTH-SP2", nodes=4)


@pytest.mark.parametrize(
    ("solvers", "options", "error", "message"),
    [
        (
            ["greedy", "greedy"],
            {},
            ArgumentError,
            "name of a solver='greedy'; expected names that differ, .*: give a dict of solvers",
        ),
        ({"optimum": "greedy"}, {}, ArgumentError, "none of them 'optimum'"),
        ([], {}, ArgumentError, "expected at least one"),
        ("greedy", {}, ArgumentError, "a list or dict of solvers"),
        (["greedy"], {"nodes": 10}, ArgumentError, "ten: nodes=10; expected a whole number from 1"),
        (["greedy"], {"deadlines": [-1]}, ArgumentError, "deadlines=-1; expected seconds from 0"),
        (["greedy"], {"deadlines": []}, ArgumentError, "expected at least one"),
        (["greedy"], {"moments": 0}, ArgumentError, "moments=0"),
        ([keep_all], {}, InfeasiblePlanError, "keep_all by 0 s: 0 nodes are freed"),
    ],
)
def test_what_cannot_be_compared_is_refused(solvers, options, error, message):
    with pytest.raises(error, match=message):
        compare_solvers(solvers, two_jobs_for_days(1), **{"nodes": 4, **options})


def test_pairs_of_a_solver_and_its_arguments_have_names_of_their_own(schedule):
    pairs = [("backtracking", {"time_limit": 1.0}), ("backtracking", {"time_limit": 2.0})]
    found = compare_solvers(pairs, schedule, nodes=32, moments=2)
    assert found.solvers == ("backtracking (time_limit=1.0)", "backtracking (time_limit=2.0)")
    assert np.isfinite(found.evictions["loss"]).all()
