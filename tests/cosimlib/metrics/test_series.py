"""Time series: by hand, and against counting second by second."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlab import twins
from cosimlib import metrics
from cosimlib.batch import simulate_easy
from cosimlib.coscheduling import MACHINES, deadlock_example, simulate_coscheduling
from cosimlib.elastic import draw_preemptions, simulate_elastic
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from tests.cosimlib.metrics.conftest import no_jobs
from tests.strategies import workloads


def test_step_functions(schedule):
    assert metrics.occupied_nodes(schedule).to_dict() == {10: 3, 20: 2, 30: 3, 32: 2, 60: 0}
    assert metrics.running_jobs(schedule).to_dict() == {10: 1, 20: 1, 30: 2, 32: 1, 60: 0}
    assert metrics.occupied_nodes(schedule).index.name == "time"
    assert metrics.occupied_nodes(schedule).name == "occupied_nodes"


@settings(max_examples=40)
@given(workloads(overruns=True), st.integers(1, 9))
def test_step_functions_agree_with_counting_second_by_second(workload, every):
    schedule = simulate_easy(workload, System.of(8))
    first, last = int(schedule.start_time.min()), int(schedule.end_time.max())
    spans = list(zip(schedule.start_time, schedule.end_time, workload.jobs["nodes"], strict=True))
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


def test_windowed_means(schedule):
    means = metrics.hourly(metrics.occupied_nodes(schedule), every=20.0)
    assert means.to_dict() == {10: (30 + 20) / 20, 30: (6 + 36) / 20, 50: 2.0}
    around = metrics.hourly(metrics.occupied_nodes(schedule), 50.0, start=0.0, end=150.0)
    assert around.to_dict() == {0: (30 + 60 + 2) / 50, 50: 20 / 50, 100: 0.0}


def test_a_step_function_keeps_its_last_value():
    steps = pd.Series([1.0, 5.0], index=[0.0, 10.0])
    assert metrics.hourly(steps, 10.0, end=30.0).tolist() == [1.0, 5.0, 5.0]


def test_windows_must_make_sense(schedule):
    steps = metrics.occupied_nodes(schedule)
    with pytest.raises(ValueError, match=r"every=0.0; expected seconds above 0"):
        metrics.hourly(steps, 0.0)
    with pytest.raises(ValueError, match="windows from 10 to 5 s"):
        metrics.hourly(steps, end=5.0)


def test_no_jobs():
    assert metrics.occupied_nodes(no_jobs()).empty
    assert metrics.held_durations(metrics.occupied_nodes(no_jobs())).empty
    assert metrics.hourly(metrics.occupied_nodes(no_jobs())).empty
    assert math.isnan(metrics.makespan(no_jobs()))
    assert math.isnan(metrics.utilization(no_jobs()))
    assert math.isnan(metrics.offered_load(no_jobs().workload, System.of(4)))


def test_queue_length_and_waiting_nodes(schedule):
    assert metrics.waiting_jobs(schedule).to_dict() == {10: 0, 12: 1, 20: 0, 30: 0}
    assert metrics.waiting_nodes(schedule).to_dict() == {10: 0, 12: 2, 20: 0, 30: 0}
    assert metrics.waiting_jobs(schedule).name == "waiting_jobs"
    assert metrics.waiting_jobs(no_jobs()).empty


@settings(max_examples=40)
@given(workloads(overruns=True))
def test_the_area_under_the_queue_is_all_waiting(workload):
    schedule = simulate_easy(workload, System.of(8))
    wait = metrics.wait_time(schedule)
    for steps, expected in (
        (metrics.waiting_jobs(schedule), wait.sum()),
        (metrics.waiting_nodes(schedule), wait @ workload.jobs["nodes"]),
    ):
        assert (steps.to_numpy()[:-1] * np.diff(steps.index)).sum() == expected
        assert steps.iloc[-1] == 0
        assert (steps >= 0).all()


def test_utilization_by_window(schedule):
    series = metrics.utilization_series(schedule, 20.0)
    assert series.to_dict() == {10: (30 + 20) / 80, 30: (6 + 36) / 80, 50: 20 / 40}
    assert metrics.utilization_series(schedule, 10.0, 0, 20).to_dict() == {0: 0, 10: 0.75}
    assert series.name == "utilization"
    assert metrics.utilization_series(no_jobs()).empty
    with pytest.raises(ValueError, match="every=0; expected seconds above 0"):
        metrics.utilization_series(schedule, 0)
    with pytest.raises(ValueError, match="window from 70 to 60 s"):
        metrics.utilization_series(schedule, start=70)


def test_hours_days_and_weeks():
    steps = pd.Series([4, 2, 0], index=[0.0, 1.5 * DAY, 15 * DAY])
    assert metrics.hourly(steps).size == 15 * 24
    assert metrics.hourly(steps, DAY).tolist() == [4, 3] + [2] * 13
    assert metrics.hourly(steps, WEEK).tolist() == [2 + 2 * 1.5 / 7, 2, 2]
    assert metrics.hourly(steps, WEEK, end=3 * WEEK).iloc[2] == pytest.approx(2 / 7)
    assert metrics.hourly(steps, DAY, DAY, 3 * DAY).to_dict() == {DAY: 3, 2 * DAY: 2}
    assert (HOUR, DAY, WEEK) == (3_600, 86_400, 604_800)


@settings(max_examples=30)
@given(workloads(), st.integers(1, 9))
def test_the_mean_of_the_series_is_the_utilization(workload, every):
    schedule = simulate_easy(workload, System.of(8))
    if metrics.makespan(schedule) > 0:
        series = metrics.utilization_series(schedule, every)
        first, last = workload.jobs["submit_time"].min(), schedule.end_time.max()
        length = np.diff(np.append(series.index, last))
        assert series.index[0] == first
        assert series @ length / length.sum() == pytest.approx(metrics.utilization(schedule))


def test_killed_jobs_run_and_wait_by_turns():
    """Running and waiting job-seconds of an elastic schedule are those of its attempts."""
    workload = twins.peregrine(seed=0).keep(np.arange(7_275) < 300, "after the first 300")
    requests = draw_preemptions(rate=10, size=10, duration=3_600, horizon=3 * DAY, seed=0)
    schedule = simulate_elastic(workload, System.of(20), policy="PAP", preemptions=requests)
    attempts, jobs = schedule.attempts, schedule.workload.jobs
    assert schedule.kills > 0

    def integral(steps):
        times = steps.index.to_numpy()
        return steps.to_numpy()[:-1] @ np.diff(times)

    running = (attempts["end_time"] - attempts["start_time"]).sum()
    assert integral(metrics.running_jobs(schedule)) == pytest.approx(running)
    present = (schedule.end_time - jobs["submit_time"]).sum()
    assert integral(metrics.waiting_jobs(schedule)) == pytest.approx(present - running)


def test_jobs_in_a_deadlock_wait_for_ever():
    schedule = simulate_coscheduling(deadlock_example(), MACHINES, release_interval=None)
    waiting, stuck = metrics.waiting_jobs(schedule), len(schedule.stuck)
    assert stuck > 0
    assert waiting.index.notna().all()
    assert waiting[waiting.index < np.inf].iloc[-1] == stuck
    for steps in (waiting, metrics.waiting_nodes(schedule), metrics.occupied_nodes(schedule)):
        assert np.isfinite(metrics.hourly(steps)).all()
        assert np.isfinite(metrics.held_durations(steps)).all()
