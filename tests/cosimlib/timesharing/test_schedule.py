"""Summaries of runs, as text too, and what two of them say beside one another."""

import math

import numpy as np
import pandas as pd
import pytest

from cosimlab import twins
from cosimlab.timesharing import simulate_batch
from cosimlib import metrics
from cosimlib.system import System
from cosimlib.timesharing import RunSummary, simulate_timesharing, summarize_run
from cosimlib.timesharing.simulation import _frame
from cosimlib.workload import Workload

DAY, HOUR = 86_400.0, 3_600.0


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


@pytest.fixture(scope="module", params=["batch", "time-sharing"])
def run(request):
    """Three weeks of Edison on 48 nodes, and its summary after four days of warm-up."""
    workload = twins.edison(21, nodes=48, load=0.8, seed=3)
    simulate = {"batch": simulate_batch, "time-sharing": simulate_timesharing}[request.param]
    schedule = simulate(workload, workload.machine)
    return schedule, summarize_run(schedule, warm_up=4 * DAY)


def test_bins_add_up_and_hold_their_jobs(run):
    schedule, summary = run
    jobs = schedule.jobs[schedule.jobs["submit_time"] >= 4 * DAY]
    counts, sums = summary.counts, summary.slowdown_sums
    nodes, lengths = summary.nodes_edges, summary.length_edges
    assert counts.shape == sums.shape == (len(nodes) - 1, 26)
    assert counts.sum() == summary.jobs == len(jobs)
    assert sums.sum() / len(jobs) == pytest.approx(summary.mean_slowdown)
    slowdown = jobs["turnaround_time"] / jobs["run_time"].clip(lower=10)
    assert slowdown.clip(lower=1).mean() == pytest.approx(summary.mean_slowdown)
    assert len(lengths) == 27 and list(nodes) == sorted({float(round(n)) for n in nodes})
    assert (nodes[0], lengths[0]) == (1, 10) and nodes[-1] == 49 and lengths[-1] >= 48 * HOUR
    for row, column in ((0, 0), (0, 10), (10, 14), (15, 20), (18, 13)):
        inside = (
            (jobs["nodes"] >= nodes[row])
            & (jobs["nodes"] < nodes[row + 1])
            & (jobs["run_time"] >= lengths[column])
            & (jobs["run_time"] < lengths[column + 1])
        )
        assert counts[row, column] == inside.sum()
        assert sums[row, column] == pytest.approx(slowdown.clip(lower=1)[inside].sum())
        mean = summary.bins[row, column]
        assert mean == pytest.approx(slowdown.clip(lower=1)[inside].mean(), nan_ok=True)
    assert np.isnan(summary.bins[counts == 0]).all() and (summary.bins[counts > 0] >= 1).all()


def test_quantiles_and_means_are_those_of_the_jobs_after_the_warm_up(run):
    schedule, summary = run
    late = (schedule.jobs["submit_time"] >= 4 * DAY).to_numpy()
    slowdown = metrics.bounded_slowdown(schedule)[late]
    for level in (0.0, 0.25, 0.5, 0.755, 1.0):
        assert summary.quantile(level) == pytest.approx(np.quantile(slowdown, level))
    assert (np.diff(summary.quantiles) >= 0).all()
    assert summary.waited == (schedule.jobs["wait_time"][late] > 0).mean()


def test_utilization_is_that_from_the_warm_up_to_the_last_submission(run):
    """Whole hours of them; batch: node-seconds held."""
    schedule, summary = run
    last = math.ceil(schedule.jobs["submit_time"].max() / HOUR) * HOUR
    if summary.policy == "batch":
        window = {"start": 4 * DAY, "end": last}
        assert summary.utilization == pytest.approx(metrics.utilization(schedule, **window))
        assert summary.cpu_load == summary.utilization
    else:
        series = schedule.series.loc[4 * DAY : last - 1]
        assert summary.utilization == pytest.approx(series["utilization"].mean())
        assert summary.cpu_load == pytest.approx(series["cpu_load"].mean())
        assert summary.cpu_load > summary.utilization
    assert 0.7 < summary.utilization < 0.9
    assert (np.diff(summary.weeks) == DAY).all() and summary.weeks[0] == 5 * DAY
    assert len(summary.weeks) == len(summary.weekly_utilization) == len(summary.weekly_load) == 16
    assert (summary.policy, summary.data) == (schedule.policy, schedule.workload.name)
    assert summary.most_in_a_week == max(summary.weekly_load)


def test_weeks_are_means_of_the_week_that_ends_there():
    """A node that is busy for the first half of every day, from day 2 on."""
    days = np.arange(2, 20)
    jobs = made(
        submit_time=days * DAY, run_time=[DAY / 2] * 18, requested_time=[DAY] * 18, nodes=[1] * 18
    )
    for simulate in (simulate_batch, simulate_timesharing):
        summary = summarize_run(simulate(jobs, System.of(2)), warm_up=0.0)
        weekly = dict(zip(summary.weeks, summary.weekly_utilization, strict=True))
        assert weekly[18 * DAY] == pytest.approx(12 * 7 / 168 / 2)
        assert weekly[2 * DAY] == 0


def test_utilization_of_less_than_an_hour_is_of_the_time_that_there_is():
    """Work 3·1000 + 2·500 + 1·600; batch takes 1,600 s, time-sharing with its steps 1,650."""
    jobs = made(
        submit_time=[0, 100, 200],
        run_time=[1000, 500, 600],
        requested_time=[1000, 1000, 1000],
        nodes=[3, 2, 1],
    )
    for simulate, span in ((simulate_batch, 1_600), (simulate_timesharing, 1_650)):
        schedule = simulate(jobs, System.of(4))
        found = summarize_run(schedule, warm_up=0.0)
        assert schedule.end_time.max() == span
        assert found.utilization == pytest.approx(4_600 / (4 * span))


def test_a_warm_up_longer_than_the_workload_is_named():
    workload = twins.edison(2, nodes=16)
    schedule = simulate_timesharing(workload, workload.machine)
    message = r"no job is submitted after a warm-up of 100 days; the last comes at .* days: give"
    with pytest.raises(ValueError, match=message):
        summarize_run(schedule)


@pytest.mark.parametrize("warm_up", [-1, None], ids=str)
def test_a_warm_up_is_a_number_of_seconds(run, warm_up):
    with pytest.raises(ValueError, match=r"^warm_up=.*; expected seconds from 0"):
        summarize_run(run[0], warm_up=warm_up)


def test_slowdown_counts_short_runs_as_ten_seconds_and_is_at_least_one():
    jobs = made(submit_time=[0, 0], run_time=[2, 100], requested_time=[5, 100], nodes=[1, 1])
    assert metrics.bounded_slowdown(simulate_batch(jobs, System.of(2))).tolist() == [1, 1]
    assert metrics.bounded_slowdown(simulate_batch(jobs, System.of(1))).tolist() == [1, 1.1]
    assert metrics.bounded_slowdown(
        simulate_timesharing(jobs, System.of(1), step=None)
    ).tolist() == [1, 1.02]


def test_a_summary_comes_back_from_its_text_as_it_was(run):
    schedule, summary = run
    again = RunSummary.from_json(summary.to_json())
    for one, other in zip(summary, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.counts.dtype.kind == "i"
    held = schedule.jobs["nodes"] @ (schedule.end_time - schedule.start_time)
    assert summary.node_seconds == pytest.approx(held)


@pytest.mark.compiled("ten thousand jobs that crowd need compiled kernels")
def test_which_jobs_need_memory_decides_which_wait():
    """A machine on which more is submitted than it can do, so that jobs crowd."""
    found = {}
    for spread in ("longest", "tenth", "UniLu-Gaia"):
        workload = twins.edison(3, nodes=24, load=2.5, memory_spread=spread)
        schedule = simulate_timesharing(workload, workload.machine)
        found[spread] = summarize_run(schedule, warm_up=DAY)
    longest, tenth, even = found.values()
    assert longest.waited < 0.1 * tenth.waited and 2 * tenth.waited < even.waited
    assert longest.cpu_load > 0.95 * tenth.cpu_load and tenth.cpu_load > 1.1 * even.cpu_load


def test_the_series_ends_with_the_last_window_in_which_anything_runs_or_waits():
    sums = np.array([[60.0, 120, 0], [0, 0, 0], [0, 0, 30], [0, 0, 0]])
    series = _frame(60.0, sums, 2)
    assert series.index.tolist() == [0, 60, 120]
    assert series["utilization"].tolist() == [0.5, 0, 0]
    assert series["cpu_load"].tolist() == [1, 0, 0] and series["waiting"].tolist() == [0, 0, 0.5]
    assert _frame(60.0, sums[3:], 2).empty
