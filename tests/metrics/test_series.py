"""Queues, windows, warm-up, series and users: by hand and against counting."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import metrics
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload
from tests.strategies import workloads


@pytest.fixture
def schedule() -> Schedule:
    """Of four nodes, 3 are held from 10 to 20, 2 from 20 to 60, and 1 more from 30 to 32."""
    jobs = {
        "submit_time": [10, 12, 30], "run_time": [10, 40, 2], "nodes": [3, 2, 1],
        "user": ["ann", "bob", "ann"],
    }  # fmt: skip
    asked = Workload(pd.DataFrame(jobs), "made up")
    return Schedule.from_starts(asked, System.of(4), np.array([10.0, 20.0, 30.0]), "GREEDY")


def nobody() -> Schedule:
    jobs = {"submit_time": [], "run_time": [], "nodes": []}
    return Schedule.from_starts(Workload(pd.DataFrame(jobs)), System.of(4), np.array([]), "NONE")


# --- jobs in windows --------------------------------------------------------------------------


def test_wait_and_turnaround(schedule):
    assert metrics.wait_time(schedule).tolist() == [0, 8, 0]
    assert metrics.turnaround_time(schedule).tolist() == [10, 48, 2]
    assert metrics.wait_time(schedule).name == "wait_time"


@pytest.mark.parametrize(
    "metric",
    [metrics.wait_time, metrics.turnaround_time, metrics.slowdown, metrics.bounded_slowdown],
)
def test_numbers_a_job_are_of_the_jobs_submitted_in_the_window(schedule, metric):
    everybody = metric(schedule)
    assert metric(schedule, start=12).tolist() == everybody[1:].tolist()
    assert metric(schedule, start=12).index.tolist() == [1, 2]
    assert metric(schedule, end=12).tolist() == everybody[:1].tolist()
    assert metric(schedule, start=11, end=31).tolist() == everybody[1:].tolist()
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


def test_summary_of_a_window(schedule):
    fcfs = simulate_fcfs(schedule.workload, schedule.system)
    table = metrics.summarize([schedule, fcfs], start=12, end=52)
    assert table["jobs"].tolist() == [2, 2]
    assert table.loc["GREEDY", "wait_time"] == 4
    assert table.loc["GREEDY", "utilization"] == (8 * 3 + 32 * 2 + 2) / (4 * 40)
    assert table.loc["GREEDY", "makespan"] == 48


def test_warm_up_and_cool_down_make_a_window(schedule):
    assert metrics.window(schedule) == {"start": 10}
    assert metrics.window(schedule, warm_up=5) == {"start": 15}
    assert metrics.window(schedule, warm_up=5, cool_down=0) == {"start": 15, "end": 30}
    assert metrics.window(schedule, cool_down=8) == {"start": 10, "end": 22}
    inside = metrics.window(schedule, warm_up=5, cool_down=3)
    assert metrics.utilization(schedule, **inside) == (5 * 3 + 7 * 2) / (4 * 12)
    assert metrics.wait_time(schedule, **metrics.window(schedule, warm_up=2)).tolist() == [8, 0]


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({"warm_up": -1}, "warm_up=-1; expected seconds from 0"),
        ({"cool_down": math.inf}, "cool_down=inf; expected seconds from 0, or None"),
        ({"warm_up": math.nan}, "warm_up=nan; expected seconds"),
        ({"warm_up": 12, "cool_down": 8}, "leave nothing of the 20 s of submissions"),
        ({"warm_up": 50}, "leave nothing of the 20 s of submissions"),
    ],
)
def test_windows_that_leave_nothing_are_refused(schedule, lengths, message):
    with pytest.raises(ValueError, match=message):
        metrics.window(schedule, **lengths)
    with pytest.raises(ValueError, match="leave nothing"):
        metrics.window(nobody())


# --- series -----------------------------------------------------------------------------------


def test_queue_length_and_waiting_nodes(schedule):
    assert metrics.waiting_jobs(schedule).to_dict() == {10: 0, 12: 1, 20: 0, 30: 0}
    assert metrics.waiting_nodes(schedule).to_dict() == {10: 0, 12: 2, 20: 0, 30: 0}
    assert metrics.waiting_jobs(schedule).name == "waiting_jobs"
    assert metrics.waiting_jobs(nobody()).empty


@settings(max_examples=40)
@given(workloads(overruns=True))
def test_the_area_under_the_queue_is_all_waiting(asked):
    schedule = simulate_easy(asked, System.of(8))
    wait = metrics.wait_time(schedule)
    for steps, expected in (
        (metrics.waiting_jobs(schedule), wait.sum()),
        (metrics.waiting_nodes(schedule), wait @ asked.jobs["nodes"]),
    ):
        assert (steps.to_numpy()[:-1] * np.diff(steps.index)).sum() == expected
        assert steps.iloc[-1] == 0
        assert (steps >= 0).all()


def test_utilization_by_window(schedule):
    series = metrics.utilization_series(schedule, 20.0)
    assert series.to_dict() == {10: (30 + 20) / 80, 30: (6 + 36) / 80, 50: 20 / 40}
    assert metrics.utilization_series(schedule, 10.0, 0, 20).to_dict() == {0: 0, 10: 0.75}
    assert series.name == "utilization"
    assert metrics.utilization_series(nobody()).empty
    with pytest.raises(ValueError, match="every=0; expected seconds above 0"):
        metrics.utilization_series(schedule, 0)
    with pytest.raises(ValueError, match="window from 70 to 60 s"):
        metrics.utilization_series(schedule, start=70)


def test_hours_days_and_weeks():
    steps = pd.Series([4, 2, 0], index=[0.0, 1.5 * DAY, 15 * DAY])
    assert metrics.hourly(steps).size == 15 * 24
    assert metrics.daily(steps).tolist() == [4, 3] + [2] * 13
    assert metrics.weekly(steps).tolist() == [2 + 2 * 1.5 / 7, 2, 2]
    assert metrics.weekly(steps, end=3 * WEEK).iloc[2] == pytest.approx(2 / 7)
    assert metrics.daily(steps, DAY, 3 * DAY).to_dict() == {DAY: 3, 2 * DAY: 2}
    assert (HOUR, DAY, WEEK) == (3_600, 86_400, 604_800)


@settings(max_examples=30)
@given(workloads(), st.integers(1, 9))
def test_the_mean_of_the_series_is_the_utilization(asked, every):
    schedule = simulate_easy(asked, System.of(8))
    if metrics.makespan(schedule) > 0:
        series = metrics.utilization_series(schedule, every)
        first, last = asked.jobs["submit_time"].min(), schedule.end_time.max()
        length = np.diff(np.append(series.index, last))
        assert series.index[0] == first
        assert series @ length / length.sum() == pytest.approx(metrics.utilization(schedule))


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
    assert metrics.by_submission(nobody(), metrics.wait_time(nobody())).empty
    unnamed = metrics.by_submission(schedule, wait.rename(None), WEEK)
    assert list(unnamed) == ["jobs", "mean"]


def test_means_by_submission_refuse_what_is_not_of_jobs(schedule):
    with pytest.raises(ValueError, match=r"not indexed by job; expected some such as wait_time"):
        metrics.by_submission(schedule, metrics.occupied_nodes(schedule))
    with pytest.raises(ValueError, match="every=-1; expected seconds above 0"):
        metrics.by_submission(schedule, metrics.wait_time(schedule), -1)
    with pytest.raises(ValueError, match="window from 50 to 20 s"):
        metrics.by_submission(schedule, metrics.wait_time(schedule), start=50, end=20)


@settings(max_examples=30)
@given(workloads(), st.integers(1, 9))
def test_means_by_submission_lose_no_job(asked, every):
    schedule = simulate_easy(asked, System.of(8))
    table = metrics.by_submission(schedule, metrics.wait_time(schedule), every)
    assert table["jobs"].sum() == len(asked)
    total = (table["jobs"] * table["wait_time"].fillna(0)).sum()
    assert total == pytest.approx(metrics.wait_time(schedule).sum())


# --- users ------------------------------------------------------------------------------------


def test_one_row_a_user(schedule):
    table = metrics.by_user(schedule)
    assert table.index.tolist() == ["ann", "bob"]
    assert table["jobs"].tolist() == [2, 1]
    assert table["node_hours"].tolist() == pytest.approx([32 / 3_600, 80 / 3_600])
    assert table["wait_time"].tolist() == [0, 8]
    assert table["bounded_slowdown"].tolist() == [1, 1.2]
    assert metrics.by_user(schedule, start=12)["jobs"].tolist() == [1, 1]
    assert metrics.by_user(schedule, tau=100.0)["bounded_slowdown"].tolist() == [1, 1]
    assert metrics.by_user(nobody()).empty


def test_fairness_is_jains_index_of_the_users_slowdowns(schedule):
    assert metrics.fairness(schedule) == pytest.approx(2.2**2 / (2 * (1 + 1.44)))
    assert metrics.fairness(schedule, end=12) == 1
    assert math.isnan(metrics.fairness(nobody()))


def test_jobs_without_a_user_are_left_out_and_no_user_at_all_is_an_error(schedule):
    asked = schedule.workload
    some = Workload(asked.jobs.assign(user=["ann", None, "ann"]), "half")
    partly = Schedule.from_starts(some, schedule.system, schedule.start_time, "GREEDY")
    assert metrics.by_user(partly).index.tolist() == ["ann"]
    none = Workload(asked.jobs.drop(columns="user"), "no names")
    with pytest.raises(ValueError, match=r"no names: no job names its user; fairness by user"):
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
