"""Metrics per job and per user: by hand, and within their bounds."""

import math

import numpy as np
import pandas as pd
import pytest

from cosimlib import metrics
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.metrics.conftest import no_jobs


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


def test_fairness_is_jains_index_of_the_users_slowdowns(schedule):
    assert metrics.fairness(schedule) == pytest.approx(2.2**2 / (2 * (1 + 1.44)))
    assert metrics.fairness(schedule, end=12) == metrics.fairness(schedule, tau=100.0) == 1
    assert math.isnan(metrics.fairness(no_jobs()))


def test_jobs_without_a_user_are_left_out_and_no_user_at_all_is_an_error(schedule):
    workload = schedule.workload
    some = Workload(workload.jobs.assign(user=["ann", None, "ann"]), "half")
    partly = Schedule.from_starts(some, schedule.system, schedule.start_time, "GREEDY")
    assert metrics.fairness(partly) == 1
    none = Workload(workload.jobs.drop(columns="user"), "no names")
    with pytest.raises(ValueError, match=r"no names: no job has a user; fairness needs"):
        metrics.fairness(Schedule.from_starts(none, schedule.system, schedule.start_time, "X"))
