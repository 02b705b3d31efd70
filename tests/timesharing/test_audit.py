"""Audit of time-shared schedules: every kind of tampering is caught, and named."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.workload import Workload

FOUR = replace(System.of(4), memory_per_node=8.0)
JOBS = Workload(
    pd.DataFrame(
        {
            "submit_time": [0, 0, 100, 3_000, 9_000],
            "run_time": [4_000, 500, 3_000, 0, 60],
            "nodes": [2, 3, 4, 1, 2],
            "memory": [5.0, 2.0, 6.0, 1.0, 8.0],
        }
    ),
    "made up",
)


@pytest.fixture
def schedule():
    """Job 0 is on nodes 0 and 1, job 1 on 0, 2 and 3, job 2 on all once job 0 is done."""
    schedule = audit(simulate_timesharing(JOBS, FOUR))
    assert schedule.start_time.tolist() == [0, 0, 4_500, 3_000, 9_000]
    assert schedule.end_time.tolist() == [4_500, 1_000, 7_500, 3_000, 9_060]
    return schedule


def changed(schedule, name, job, value):
    """The schedule with one value of an array changed."""
    array = getattr(schedule, name).copy()
    array[job] = value
    return replace(schedule, **{name: array})


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("start_time", 4, 8_999, "job 4 starts before its submission: submitted at t=9000"),
        ("start_time", 2, np.nan, "job 2 starts before its submission"),
        ("end_time", 1, np.inf, "job 1 never ends"),
        ("end_time", 1, np.nan, "job 1 never ends"),
        ("end_time", 0, 3_999, r"job 0 is done sooner than alone: .* to t=3999, 4000 s alone, 2"),
        ("end_time", 3, 2_990, "job 3 is done sooner than alone"),
        ("first", 1, 1, r"job 0 is not on as many nodes as it asks for: .* placed on \[0\]"),
        ("first", 5, 11, "a placement of 5 jobs on 12 nodes; made up has 5 jobs that ask for 12"),
        ("first", 0, 1, "a placement of 5 jobs"),
        ("first", 1, 6, "a placement of 5 jobs"),
        ("members", 1, 0, r"job 0 is on a node twice, or on none .* placed on \[0, 0\]"),
        ("members", 1, 4, r"job 0 is on a node twice, or on none .* placed on \[0, 4\]"),
        ("members", 1, -1, r"job 0 is on a node twice, or on none .* placed on \[0, -1\]"),
        ("start_time", 2, 4_000, r"node 0 holds more than its 8 GB at t=4000, when .* job 2"),
        ("end_time", 0, 4_600, r"node 0 holds more than its 8 GB at t=4500, when .* job 2 starts"),
        ("end_time", 4, 9_300, r"make 24600 jobs × nodes × seconds; the series adds up to 24120"),
        ("start_time", 1, 100, "make 23820 jobs × nodes × seconds; the series adds up to 24120"),
    ],
)  # fmt: skip
def test_a_value_changed_is_noticed(schedule, name, place, value, message):
    with pytest.raises(InfeasibleScheduleError, match=f"^time-sharing: .*{message}"):
        audit(changed(schedule, name, place, value))


def test_a_job_that_is_moved_to_a_full_node_is_noticed(schedule):
    """Job 1 needs 2 GB beside the 5 of job 0: fine; were it 4, it would have been on node 0."""
    jobs = JOBS.jobs.assign(memory=[5.0, 4.0, 6.0, 1.0, 8.0])
    heavier = replace(schedule, workload=Workload(jobs, "made up"))
    with pytest.raises(InfeasibleScheduleError, match=r"node 0 holds more .* t=0, when .* job 1"):
        audit(heavier)
    assert audit(replace(heavier, system=System.of(4))).system.total_nodes == 4


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("utilization", "make 21620 node-seconds of work; the series adds up to "),
        ("cpu_load", "make 24120 jobs × nodes × seconds; the series adds up to"),
        ("waiting", "make 4400 seconds of waiting; the series adds up to"),
    ],
)
def test_a_series_that_does_not_add_up_is_noticed(schedule, column, message):
    series = schedule.series.copy()
    series.loc[0.0, column] *= 0.9
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(replace(schedule, series=series))


def test_more_work_than_nodes_can_do_is_noticed():
    workload = synthetic.edison(1, nodes=16)
    schedule = audit(simulate_timesharing(workload, workload.machine, overhead=0.2))
    series = schedule.series.copy()
    series.iloc[3, 0] = 0.81
    with pytest.raises(InfeasibleScheduleError, match=r"utilization 0\.81 at t=10800; .* of 0\.8$"):
        audit(replace(schedule, series=series))


@pytest.mark.parametrize(
    ("name", "what"), [(name, f"{name} is 4 numbers") for name in ("start_time", "end_time")]
)
def test_a_value_too_few_is_noticed(schedule, name, what):
    fewer = replace(schedule, **{name: getattr(schedule, name)[:-1]})
    with pytest.raises(InfeasibleScheduleError, match=f"time-sharing: {what} for the 5 jobs of"):
        audit(fewer)


@pytest.mark.parametrize("knobs", [{}, {"noise": 0.3}, {"spmd": False}, {"step": None},
                                   {"overhead": 0.1, "queue": "fcfs"}, {"step": 600}])  # fmt: skip
def test_what_the_simulator_makes_could_have_happened(knobs):
    workload = synthetic.edison(2, nodes=24, load=1.1, seed=1)
    schedule = simulate_timesharing(workload, workload.machine, **knobs)
    assert audit(schedule) is schedule


def test_a_schedule_of_less_than_an_hour_is_audited_too():
    jobs = Workload(pd.DataFrame({"submit_time": [0], "run_time": [60], "nodes": [1]}), "short")
    schedule = audit(simulate_timesharing(jobs, System.of(1)))
    assert len(schedule.series) == 1 and schedule.resolution == 3_600
    with pytest.raises(InfeasibleScheduleError, match="make 60 node-seconds of work"):
        audit(replace(schedule, series=schedule.series * 0.5))
    empty = Workload(pd.DataFrame({"submit_time": [], "run_time": [], "nodes": []}), "none")
    assert audit(simulate_timesharing(empty, System.of(1))).resolution == 3_600
