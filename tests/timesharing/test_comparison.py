"""What claims say of two runs: printed statistics, ratios by length, crossovers, speedups."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.metrics import bounded_slowdown
from cosimlib.system import System
from cosimlib.timesharing import (
    RunSummary,
    crossover_hours,
    gain_at_largest,
    kept_speedups,
    overview,
    printed_statistics,
    ratio_by_length,
    simulate_batch,
    simulate_timesharing,
    summarize_run,
    undecided,
    with_node_memory,
    won_bins,
)
from cosimlib.timesharing.summary import LEVELS
from cosimlib.workload import Workload


def summary(sums, counts, **changed) -> RunSummary:
    """Bins of 1 and of 2 to 9 nodes, of 1, 10 and 100 hours."""
    fields = {
        "policy": "batch", "data": "made", "jobs": int(np.sum(counts)), "utilization": 0.5,
        "cpu_load": 1.0, "mean_slowdown": 2.0, "waited": 0.1, "quantiles": (1.0,) * 241,
        "nodes_edges": (1.0, 2.0, 10.0), "length_edges": (3600.0, 36_000.0, 360_000.0, 3.6e6),
        "slowdown_sums": sums, "counts": counts, "weeks": (), "weekly_utilization": (),
        "weekly_load": (),
    }  # fmt: skip
    return RunSummary(**(fields | changed))


COUNTS = ((10, 20, 0), (5, 0, 2))
BATCH = summary(((100.0, 40.0, 0.0), (20.0, 0.0, 2.0)), COUNTS)
SHARED = summary(((20.0, 80.0, 0.0), (10.0, 0.0, 8.0)), COUNTS, policy="time-sharing")


def test_ratios_are_of_all_jobs_of_a_length_or_of_the_large_ones():
    np.testing.assert_allclose(ratio_by_length(BATCH, SHARED), [4.0, 0.5, 0.25])
    large = ratio_by_length(BATCH, SHARED, least_nodes=1.5)
    np.testing.assert_allclose(large, [2.0, np.nan, 0.25])


def test_a_crossover_is_between_the_bins_on_a_logarithmic_scale():
    """Ratios of 4 and 1/2 in the middle of 1 to 10 h and of 10 to 100 h: two thirds of the way."""
    assert crossover_hours(BATCH, SHARED) == pytest.approx(10 ** (0.5 + 2 / 3))
    equal = summary(((80.0, 160.0, 0.0), (10.0, 0.0, 8.0)), COUNTS)
    assert crossover_hours(equal, summary(((20.0, 160.0, 0.0), (10.0, 0.0, 9.0)), COUNTS)) == (
        pytest.approx(10**1.5)
    )
    # Large jobs have none of 10 to 100 h: from 2 to 1/4, a third of two decades.
    large = crossover_hours(BATCH, SHARED, least_nodes=1.5)
    assert large == pytest.approx(10 ** (0.5 + 2 / 3))
    assert crossover_hours(SHARED, BATCH) == math.inf
    assert crossover_hours(BATCH, BATCH) == 0.0
    empty = summary(((0.0,) * 3,) * 2, ((0,) * 3,) * 2)
    assert math.isnan(crossover_hours(empty, empty))


def test_bins_with_few_jobs_are_not_counted_as_won():
    assert won_bins(BATCH, SHARED) == pytest.approx((1 / 2, 10 / 30))
    assert won_bins(BATCH, SHARED, at_least=1) == pytest.approx((2 / 4, 15 / 37))
    assert all(map(math.isnan, won_bins(BATCH, SHARED, at_least=100)))


def test_few_jobs_or_no_waits_decide_nothing():
    assert undecided(BATCH) == "jobs that are counted: 37, too few"
    assert undecided(replace(BATCH, jobs=2000)) == ""
    assert "no job waits" in undecided(replace(BATCH, jobs=2000, waited=0.0))


def test_speedups_are_between_the_sizes_that_both_policies_know():
    rows = [
        ("a", 1, 100.0, 200.0, 300.0), ("a", 4, 25.0, 200.0, 75.0), ("a", 8, 10.0, math.nan, 10.0),
        ("b", 2, 50.0, 50.0, 50.0),
    ]  # fmt: skip
    table = pd.concat(
        pd.DataFrame(
            [(p, r[0], r[1], r[2], r[place]) for r in rows],
            columns=["policy", "application", "nodes", "run_time", "turnaround_time"],
        )
        for p, place in (("batch", 3), ("time-sharing", 4))
    )
    kept = kept_speedups(table)
    assert kept.index.tolist() == ["a"]
    assert kept.loc["a"].to_dict() == pytest.approx({"batch": 0.25, "time-sharing": 1.0})
    assert gain_at_largest(table, "batch", "time-sharing") == pytest.approx((200 / 75 + 1) / 2)
    none = table.assign(turnaround_time=math.nan)
    assert kept_speedups(none).empty
    assert math.isnan(gain_at_largest(none, "batch", "time-sharing"))


def turnarounds(*applications) -> pd.DataFrame:
    """Rows of nodes, run time, turnaround in batch and time-shared, application by application."""
    columns = ["policy", "application", "nodes", "run_time", "turnaround_time"]
    rows = [
        (policy, f"application {place}", nodes, run_time, both[policy == "time-sharing"])
        for policy in ("batch", "time-sharing")
        for place, lines in enumerate(applications)
        for nodes, run_time, *both in lines
    ]
    return pd.DataFrame(rows, columns=columns)


def test_speedups_are_from_the_first_size_to_the_last():
    """Neither the longest turnaround nor the shortest: on most nodes it may take longer again."""
    table = turnarounds([(1, 100, 300, 240), (4, 20, 50, 400), (8, 25, 150, 120)])
    kept = kept_speedups(table).loc["application 0"]
    assert kept.to_dict() == pytest.approx({"batch": 2 / 4, "time-sharing": 2 / 4})


def test_a_gain_is_the_median_over_applications():
    """10, 1.5 and 1 at the greatest sizes, of which the mean is more than 4."""
    first = [(1, 100, 100, 900), (8, 10, 100, 10)]
    table = turnarounds(first, [(2, 9, 15, 10)], [(4, 9, 7, 7)])
    assert gain_at_largest(table, "batch", "time-sharing") == 1.5
    assert gain_at_largest(table, "time-sharing", "batch") == pytest.approx(1 / 1.5)


def test_a_gain_over_an_unknown_policy_is_refused():
    wrong = "no policy 'EASY' among the turnarounds; known are 'batch', 'time-sharing'"
    with pytest.raises(ValueError, match=wrong):
        gain_at_largest(turnarounds([(1, 100, 300, 240)]), "EASY", "time-sharing")


def test_a_thousand_jobs_are_enough():
    assert undecided(replace(BATCH, jobs=999)) == "jobs that are counted: 999, too few"
    assert undecided(replace(BATCH, jobs=1_000)) == ""


def test_the_overview_has_the_quartiles_of_slowdowns():
    """As many jobs at any slowdown from 1 to 101."""
    run = summary(((100.0,),), ((1,),), quantiles=tuple(1 + 100 * LEVELS), waited=0.25)
    (row,) = overview([run]).to_dict("records")
    assert row["median"] == pytest.approx(51) and row["75 %"] == pytest.approx(76)
    assert (row["policy"], row["utilization"], row["CPU load"]) == ("batch", 0.5, 1.0)
    assert (row["mean slowdown"], row["waited"]) == (2.0, 0.25)


def test_the_overview_has_a_row_a_run():
    workload = synthetic.edison(6, nodes=64, seed=2)
    schedules = [simulate_batch(workload, workload.machine),
                 simulate_timesharing(workload, workload.machine)]  # fmt: skip
    table = overview([summarize_run(each, warm_up=0.0) for each in schedules])
    assert table["policy"].tolist() == ["batch", "time-sharing"]
    for row, schedule in enumerate(schedules):
        assert table["mean slowdown"][row] == pytest.approx(bounded_slowdown(schedule).mean())
        assert table["median"][row] == pytest.approx(np.quantile(bounded_slowdown(schedule), 0.5))


@pytest.mark.filterwarnings("error")
def test_jobs_that_last_no_time_have_no_shares_of_work():
    workload = synthetic.edison(60, nodes=64, seed=4)
    lasting_none = replace(workload, jobs=workload.jobs.assign(run_time=0.0))
    table = printed_statistics(lasting_none).set_index("statistic")["ours"]
    assert table.isna().sum() == 3 and table["offered load"] == 0


@pytest.mark.parametrize("nodes", [697, 5576])
def test_long_workloads_have_the_printed_statistics(nodes):
    table = printed_statistics(synthetic.edison(60, nodes=nodes, seed=4))
    assert table["statistic"].is_unique
    np.testing.assert_allclose(table["ours"], table["paper"], atol=0.12)
    np.testing.assert_allclose(table["ours"][[0, 3]], table["paper"][[0, 3]], atol=0.03)


def test_node_hours_of_unknown_memory_are_left_out():
    jobs = pd.DataFrame({"submit_time": [0, 10, 10], "run_time": 10, "nodes": 1})
    jobs["memory"] = [1.0, 8.0, np.nan]
    table = printed_statistics(Workload(jobs, "log", System("s", {"main": 9}, memory_per_node=10)))
    assert table["ours"][3] == 0.5
    assert printed_statistics(Workload(jobs, "log", System.of(9)))["ours"].isna()[3]


@pytest.mark.parametrize(
    ("total_nodes", "sizes"),
    [(5_576, (31, 32, 95, 100, 101, 950, 1_000, 1_001)), (697, (4, 5, 12, 13, 14, 120, 125, 126))],
)
def test_statistics_count_from_the_sizes_that_the_paper_prints(total_nodes, sizes):
    """Node-hours of 1, 2, 4, ..., 128: their sums tell which jobs are in them. 255 in all."""
    hours = 2.0 ** np.arange(8)
    memory = np.array([1, 37, 38, 39, 41, 44, 60, 64])
    columns = {"submit_time": 3_600.0 * np.arange(8), "run_time": 3_600 * hours / sizes}
    jobs = pd.DataFrame(columns | {"nodes": sizes, "memory": memory})
    machine = replace(System.of(total_nodes), memory_per_node=64.0)
    ours = printed_statistics(Workload(jobs, "made", machine))["ours"]
    light = 1 + 2 + 4  # below 38.4 GB
    offered = 255 / 7 / total_nodes
    expected = [1 / 8, (16 + 32 + 64 + 128) / 255, 128 / 255, light / 255, offered]
    np.testing.assert_allclose(ours, expected)


def test_statistics_that_a_log_does_not_have_are_unknown():
    jobs = pd.DataFrame({"submit_time": [0, 0], "run_time": [10, 10], "nodes": [1, 16]})
    table = printed_statistics(Workload(jobs, "log", System.of(16)))
    assert table["ours"].isna().tolist() == [False, False, False, True, True]
    assert table["ours"][:3].tolist() == [0.5, 16 / 17, 16 / 17]
    with pytest.raises(ValueError, match="log: its machine is unknown"):
        printed_statistics(Workload(jobs, "log"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"jobs": 0}, "jobs=0; expected a whole number from 1, or None"),
        ({"jobs": -5}, "jobs=-5"),
        ({"jobs": 1.5}, "jobs=1.5"),
        ({"jobs": True}, "jobs=True"),
        ({"memory_per_node": 0.0}, "memory_per_node=0.0; expected GB above 0, or None"),
        ({"memory_per_node": math.nan}, "memory_per_node=nan"),
        ({"memory_per_node": "64"}, "memory_per_node='64'"),
    ],
    ids=str,
)
def test_a_log_s_nodes_have_memory_and_it_has_jobs(wrong, message):
    jobs = pd.DataFrame({"submit_time": [0], "run_time": [10], "nodes": [1]})
    with pytest.raises(ValueError, match=f"^{message}"):
        with_node_memory(Workload(jobs, "log", System.of(4)), **wrong)
