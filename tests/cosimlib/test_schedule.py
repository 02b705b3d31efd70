"""Schedules: the arithmetic of starts and ends, and what a trace recorded."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.strategies import workloads

JOBS = pd.DataFrame(
    {
        "submit_time": [0, 10],
        "run_time": [5, 7],
        "nodes": [1, 2],
        "recorded_start": [3, 10],
        "job_id": [41, 42],
    }
)


def test_end_wait_and_turnaround_follow_from_the_start():
    schedule = Schedule.from_starts(Workload(JOBS, "W"), System.of(2), [2, 14], "FCFS")
    assert schedule.jobs["start_time"].tolist() == [2, 14]
    assert schedule.jobs["end_time"].tolist() == [7, 21]
    assert schedule.jobs["wait_time"].tolist() == [2, 4]
    assert schedule.jobs["turnaround_time"].tolist() == [7, 11]
    assert schedule.name == "FCFS, W"
    assert schedule.start_time.dtype == np.float64


@given(workloads())
def test_turnaround_is_wait_plus_run(workload):
    starts = workload.jobs["submit_time"].to_numpy() + np.arange(len(workload))
    jobs = Schedule.from_starts(workload, System.of(8), starts, "later and later").jobs
    assert jobs["wait_time"].tolist() == list(range(len(workload)))
    assert (jobs["turnaround_time"] == jobs["wait_time"] + jobs["run_time"]).all()
    assert list(jobs)[: workload.jobs.shape[1]] == list(workload.jobs)
    assert "start_time" not in workload.jobs


def test_what_the_trace_recorded():
    machine, other = System.of(2), System.of(3)
    schedule = Schedule.recorded(Workload(JOBS, "W", machine))
    assert schedule.start_time.tolist() == [3, 10]
    assert schedule.end_time.tolist() == [8, 17]
    assert (schedule.policy, schedule.system) == ("recorded", machine)
    assert Schedule.recorded(Workload(JOBS, "W", machine), other).system is other


def test_a_start_that_is_not_recorded_is_named():
    message = (
        r"^W: job 42 has no recorded start; drop such jobs with "
        "Workload.keep or simulate a policy instead"
    )
    with pytest.raises(InvalidWorkloadError, match=message):
        Schedule.recorded(Workload(JOBS.assign(recorded_start=[3, None]), "W", System.of(2)))
    with pytest.raises(InvalidWorkloadError, match=r"job 41 .*\(nor has 1 other\)"):
        Schedule.recorded(Workload(JOBS.drop(columns="recorded_start"), "W", System.of(2)))


def test_a_machine_that_is_not_known_is_asked_for():
    with pytest.raises(InvalidWorkloadError, match=r"^W: its machine is unknown; give a system"):
        Schedule.recorded(Workload(JOBS, "W"))
