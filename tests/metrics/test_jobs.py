"""Metrics against arithmetic done by hand, and against sums over single seconds."""

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
from cosimlib.workload import Workload
from tests.strategies import workloads


@pytest.fixture
def schedule() -> Schedule:
    """Of four nodes, 3 are held from 10 to 20, 2 from 20 to 60, and 1 more from 30 to 32."""
    jobs = {"submit_time": [10, 12, 30], "run_time": [10, 40, 2], "nodes": [3, 2, 1]}
    asked = Workload(pd.DataFrame(jobs), "made up")
    return Schedule.from_starts(asked, System.of(4), np.array([10.0, 20.0, 30.0]), "GREEDY")


def nobody() -> Schedule:
    jobs = {"submit_time": [], "run_time": [], "nodes": []}
    return Schedule.from_starts(Workload(pd.DataFrame(jobs)), System.of(4), np.array([]), "NONE")


def test_slowdown(schedule):
    assert metrics.slowdown(schedule).tolist() == [1.0, 48 / 40, 1.0]


def test_slowdown_of_zero_run_times():
    jobs = {"submit_time": [0, 0], "run_time": [0, 0], "nodes": [1, 1]}
    asked = Workload(pd.DataFrame(jobs))
    idle = Schedule.from_starts(asked, System.of(4), np.array([0.0, 25.0]), "GREEDY")
    assert math.isnan(metrics.slowdown(idle)[0])
    assert metrics.slowdown(idle)[1] == math.inf
    assert metrics.bounded_slowdown(idle).tolist() == [1.0, 2.5]


def test_bounded_slowdown():
    jobs = {"submit_time": [0, 0, 0], "run_time": [2, 20, 2], "nodes": [1, 1, 1]}
    asked = Workload(pd.DataFrame(jobs))
    waited = Schedule.from_starts(asked, System.of(4), np.array([28.0, 20.0, 3.0]), "GREEDY")
    assert metrics.bounded_slowdown(waited).tolist() == [3.0, 2.0, 1.0]
    assert metrics.bounded_slowdown(waited, tau=1.0).tolist() == [15.0, 2.0, 2.5]
    with pytest.raises(ValueError, match="tau=0; expected seconds above 0"):
        metrics.bounded_slowdown(waited, tau=0)


def test_utilization_over_the_whole_schedule_and_over_windows(schedule):
    assert metrics.utilization(schedule) == (30 + 80 + 2) / (4 * 50)
    assert metrics.utilization(schedule, start=15, end=31) == (15 + 22 + 1) / (4 * 16)
    assert metrics.utilization(schedule, end=20) == 30 / 40
    assert metrics.utilization(schedule, start=100, end=200) == 0
    assert metrics.utilization(schedule, start=0, end=100) == 112 / 400


def test_utilization_refuses_an_empty_window(schedule):
    with pytest.raises(ValueError, match="window from 70 to 60 s; expected start before end"):
        metrics.utilization(schedule, start=70)
    with pytest.raises(ValueError, match="window from 5 to 5 s"):
        metrics.utilization(schedule, start=5, end=5)


def test_makespan(schedule):
    assert metrics.makespan(schedule) == 50


def test_offered_load(schedule):
    assert metrics.offered_load(schedule.workload, System.of(8)) == 112 / (8 * 20)
    at_once = Workload(schedule.workload.jobs.assign(submit_time=0))
    assert metrics.offered_load(at_once, System.of(8)) == math.inf


def test_step_functions(schedule):
    assert metrics.occupied_nodes(schedule).to_dict() == {10: 3, 20: 2, 30: 3, 32: 2, 60: 0}
    assert metrics.running_jobs(schedule).to_dict() == {10: 1, 20: 1, 30: 2, 32: 1, 60: 0}
    assert metrics.occupied_nodes(schedule).index.name == "time"
    assert metrics.occupied_nodes(schedule).name == "occupied_nodes"


def test_windowed_means(schedule):
    means = metrics.hourly(metrics.occupied_nodes(schedule), every=20.0)
    assert means.to_dict() == {10: (30 + 20) / 20, 30: (6 + 36) / 20, 50: 2.0}
    around = metrics.hourly(metrics.occupied_nodes(schedule), 50.0, start=0.0, end=150.0)
    assert around.to_dict() == {0: (30 + 60 + 2) / 50, 50: 20 / 50, 100: 0.0}


def test_windowed_means_default_to_hours():
    steps = pd.Series([4, 2, 0], index=[0.0, 1800.0, 5400.0])
    assert metrics.hourly(steps).to_dict() == {0: 3.0, 3600: 2.0}


def test_a_step_function_keeps_its_last_value():
    steps = pd.Series([1.0, 5.0], index=[0.0, 10.0])
    assert metrics.hourly(steps, 10.0, end=30.0).tolist() == [1.0, 5.0, 5.0]


def test_windows_must_make_sense(schedule):
    steps = metrics.occupied_nodes(schedule)
    with pytest.raises(ValueError, match=r"every=0.0; expected seconds above 0"):
        metrics.hourly(steps, 0.0)
    with pytest.raises(ValueError, match="windows from 10 to 5 s"):
        metrics.hourly(steps, end=5.0)


def test_held_durations(schedule):
    held = metrics.held_durations(metrics.occupied_nodes(schedule))
    assert held.to_dict() == {2: 10 + 28, 3: 10 + 2}
    assert held.idxmax() == 2
    assert held.index.name == "occupied_nodes"


def test_summary_has_one_row_a_policy(schedule):
    fcfs = simulate_fcfs(schedule.workload, schedule.system)
    table = metrics.summarize([schedule, fcfs])
    assert table.index.tolist() == ["GREEDY", "FCFS"]
    assert table.loc["GREEDY"].to_dict() == {
        "jobs": 3,
        "wait_time": 8 / 3,
        "bounded_slowdown": (1 + 1.2 + 1) / 3,
        "utilization": 0.56,
        "makespan": 50,
    }
    assert list(metrics.summarize([])) == list(table)


def test_no_jobs():
    assert metrics.occupied_nodes(nobody()).empty
    assert metrics.held_durations(metrics.occupied_nodes(nobody())).empty
    assert metrics.hourly(metrics.occupied_nodes(nobody())).empty
    assert math.isnan(metrics.makespan(nobody()))
    assert math.isnan(metrics.utilization(nobody()))
    assert math.isnan(metrics.offered_load(nobody().workload, System.of(4)))


@settings(max_examples=40)
@given(workloads(overruns=True), st.integers(1, 9))
def test_step_functions_agree_with_counting_second_by_second(asked, every):
    schedule = simulate_easy(asked, System.of(8))
    first, last = int(schedule.start_time.min()), int(schedule.end_time.max())
    spans = list(zip(schedule.start_time, schedule.end_time, asked.jobs["nodes"], strict=True))
    busy = [sum(n for start, end, n in spans if start <= s < end) for s in range(first, last)]
    steps = metrics.occupied_nodes(schedule)
    assert [steps[steps.index <= second].iloc[-1] for second in range(first, last)] == busy
    held = metrics.held_durations(steps)
    assert held.to_dict() == {value: busy.count(value) for value in set(busy)}
    chunks = [busy[at : at + every] for at in range(0, len(busy), every)]
    means = metrics.hourly(steps, float(every))
    assert means.tolist() == pytest.approx([sum(chunk) / len(chunk) for chunk in chunks])
    if first < last:
        share = metrics.utilization(schedule, start=first, end=last)
        assert share == pytest.approx(sum(busy) / (8 * len(busy)))
