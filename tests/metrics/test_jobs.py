"""Metrics per job and per user: by hand, and within their bounds."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import metrics
from cosimlib.batch import simulate_easy
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import WEEK
from cosimlib.workload import Workload
from tests.metrics.conftest import no_jobs
from tests.strategies import workloads


def test_wait_and_turnaround(schedule):
    assert metrics.wait_time(schedule).tolist() == [0, 8, 0]
    assert metrics.turnaround_time(schedule).tolist() == [10, 48, 2]
    assert metrics.wait_time(schedule).name == "wait_time"


def test_slowdown(schedule):
    assert metrics.slowdown(schedule).tolist() == [1.0, 48 / 40, 1.0]


def test_slowdown_of_zero_run_times():
    jobs = {"submit_time": [0, 0], "run_time": [0, 0], "nodes": [1, 1]}
    workload = Workload(pd.DataFrame(jobs))
    idle = Schedule.from_starts(workload, System.of(4), np.array([0.0, 25.0]), "GREEDY")
    assert math.isnan(metrics.slowdown(idle)[0])
    assert metrics.slowdown(idle)[1] == math.inf
    assert metrics.bounded_slowdown(idle).tolist() == [1.0, 2.5]


def test_bounded_slowdown():
    jobs = {"submit_time": [0, 0, 0], "run_time": [2, 20, 2], "nodes": [1, 1, 1]}
    workload = Workload(pd.DataFrame(jobs))
    waited = Schedule.from_starts(workload, System.of(4), np.array([28.0, 20.0, 3.0]), "GREEDY")
    assert metrics.bounded_slowdown(waited).tolist() == [3.0, 2.0, 1.0]
    assert metrics.bounded_slowdown(waited, tau=1.0).tolist() == [15.0, 2.0, 2.5]
    with pytest.raises(ValueError, match="tau=0; expected seconds above 0"):
        metrics.bounded_slowdown(waited, tau=0)


def test_makespan(schedule):
    assert metrics.makespan(schedule) == 50


@pytest.mark.parametrize(
    "metric",
    [metrics.wait_time, metrics.turnaround_time, metrics.slowdown, metrics.bounded_slowdown],
)
def test_metrics_per_job_are_of_the_jobs_submitted_in_the_window(schedule, metric):
    of_all = metric(schedule)
    assert metric(schedule, start=12).tolist() == of_all[1:].tolist()
    assert metric(schedule, start=12).index.tolist() == [1, 2]
    assert metric(schedule, end=12).tolist() == of_all[:1].tolist()
    assert metric(schedule, start=11, end=31).tolist() == of_all[1:].tolist()
    assert metric(schedule, start=31).empty
    with pytest.raises(ValueError, match="window from 12 to 12 s; expected start before end"):
        metric(schedule, start=12, end=12)
    with pytest.raises(ValueError, match="window from nan to inf s"):
        metric(schedule, start=math.nan)


def test_adjoining_windows_part_the_jobs(schedule):
    first, second = (metrics.wait_time(schedule, start=s, end=s + 15) for s in (0, 15))
    assert pd.concat([first, second]).tolist() == metrics.wait_time(schedule)[:2].tolist()
    assert metrics.makespan(schedule, start=12) == 48
    assert math.isnan(metrics.makespan(schedule, start=100))


def test_means_by_submission(schedule):
    wait = metrics.wait_time(schedule)
    table = metrics.by_submission(schedule, wait, 10.0)
    assert table.index.tolist() == [10, 20, 30]
    assert table["jobs"].tolist() == [2, 0, 1]
    assert table["wait_time"].fillna(-1).tolist() == [4, -1, 0]
    longer = metrics.by_submission(schedule, wait, 20.0, start=0, end=50)
    assert longer["jobs"].to_dict() == {0: 2, 20: 1, 40: 0}
    later = metrics.by_submission(schedule, metrics.wait_time(schedule, start=12), 10.0)
    assert later["jobs"].to_dict() == {12: 1, 22: 1}
    assert metrics.by_submission(no_jobs(), metrics.wait_time(no_jobs())).empty
    unnamed = metrics.by_submission(schedule, wait.rename(None), WEEK)
    assert list(unnamed) == ["jobs", "mean"]


def test_means_by_submission_refuse_what_is_not_of_jobs(schedule):
    with pytest.raises(ValueError, match=r"not indexed by job; expected such as wait_time"):
        metrics.by_submission(schedule, metrics.occupied_nodes(schedule))
    with pytest.raises(ValueError, match="every=-1; expected seconds above 0"):
        metrics.by_submission(schedule, metrics.wait_time(schedule), -1)
    with pytest.raises(ValueError, match="window from 50 to 20 s"):
        metrics.by_submission(schedule, metrics.wait_time(schedule), start=50, end=20)


@settings(max_examples=30)
@given(workloads(), st.integers(1, 9))
def test_means_by_submission_lose_no_job(workload, every):
    schedule = simulate_easy(workload, System.of(8))
    table = metrics.by_submission(schedule, metrics.wait_time(schedule), every)
    assert table["jobs"].sum() == len(workload)
    total = (table["jobs"] * table["wait_time"].fillna(0)).sum()
    assert total == pytest.approx(metrics.wait_time(schedule).sum())


def test_one_row_per_user(schedule):
    table = metrics.by_user(schedule)
    assert table.index.tolist() == ["ann", "bob"]
    assert table["jobs"].tolist() == [2, 1]
    assert table["node_hours"].tolist() == pytest.approx([32 / 3_600, 80 / 3_600])
    assert table["wait_time"].tolist() == [0, 8]
    assert table["bounded_slowdown"].tolist() == [1, 1.2]
    assert metrics.by_user(schedule, start=12)["jobs"].tolist() == [1, 1]
    assert metrics.by_user(schedule, tau=100.0)["bounded_slowdown"].tolist() == [1, 1]
    assert metrics.by_user(no_jobs()).empty


def test_fairness_is_jains_index_of_the_users_slowdowns(schedule):
    assert metrics.fairness(schedule) == pytest.approx(2.2**2 / (2 * (1 + 1.44)))
    assert metrics.fairness(schedule, end=12) == 1
    assert math.isnan(metrics.fairness(no_jobs()))


def test_jobs_without_a_user_are_left_out_and_no_user_at_all_is_an_error(schedule):
    workload = schedule.workload
    some = Workload(workload.jobs.assign(user=["ann", None, "ann"]), "half")
    partly = Schedule.from_starts(some, schedule.system, schedule.start_time, "GREEDY")
    assert metrics.by_user(partly).index.tolist() == ["ann"]
    none = Workload(workload.jobs.drop(columns="user"), "no names")
    with pytest.raises(ValueError, match=r"no names: no job has a user; fairness needs"):
        metrics.fairness(Schedule.from_starts(none, schedule.system, schedule.start_time, "X"))


def test_jain_index_by_hand():
    assert metrics.jain_index([3, 3, 3, 3]) == 1
    assert metrics.jain_index([5, 0, 0, 0]) == 0.25
    assert metrics.jain_index([1, 2, 3]) == pytest.approx(36 / (3 * 14))
    assert metrics.jain_index([0, 0]) == 1
    assert metrics.jain_index([1e200, 1e200]) == 1
    assert math.isnan(metrics.jain_index([]))
    for bad in (-1, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"Jain's index of .*; expected numbers of 0 or more"):
            metrics.jain_index([1, bad])


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.floats(0.01, 100))
def test_jain_index_keeps_within_its_bounds_at_any_scale(values, scale):
    index = metrics.jain_index(values)
    assert 1 / len(values) - 1e-9 <= index <= 1 + 1e-9
    assert metrics.jain_index([scale * value for value in values]) == pytest.approx(index)
