"""Metrics of jobs that share nodes: what the series says, and never a wrong number."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cosimlab import twins
from cosimlib import metrics
from cosimlib.batch import simulate_easy
from cosimlib.elastic import execution_states, preemption_values
from cosimlib.eviction import EvictionProblem
from cosimlib.placement import node_blocks
from cosimlib.schedule import SharedNodesError
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.workload import Workload

HOUR = 3_600.0


def made(**columns) -> Workload:
    return Workload(pd.DataFrame(columns), "made up")


@pytest.fixture
def shared():
    """Two jobs share node 0 of two for two hours, from the second hour on; one more has node 1."""
    jobs = made(submit_time=[HOUR, HOUR, HOUR], run_time=[HOUR, HOUR, HOUR / 2], nodes=[1, 1, 1])
    placement = [np.array([node]) for node in (0, 0, 1)]
    return simulate_timesharing(jobs, System.of(2), placement=placement, step=None)


def test_utilization_is_of_useful_work(shared):
    """Nodes held: 2.5 node-hours; held by each job, summed: 4.5; useful: 2.5."""
    assert shared.end_time.tolist() == [3 * HOUR, 3 * HOUR, 1.5 * HOUR]
    assert metrics.utilization(shared) == pytest.approx(2.5 / 4)
    assert metrics.utilization(shared, start=0) == pytest.approx(2.5 / 6)
    assert metrics.utilization(shared, start=-HOUR / 3, end=5.2 * HOUR) == pytest.approx(
        2.5 / (2 * (5.2 + 1 / 3))
    )
    assert metrics.utilization(shared, start=HOUR, end=2 * HOUR) == pytest.approx(1.5 / 2)
    assert metrics.utilization(shared, start=2 * HOUR) == pytest.approx(1 / 2)
    assert metrics.utilization(shared, start=2 * HOUR, end=10 * HOUR) == pytest.approx(1 / 16)
    assert metrics.utilization(shared, start=0, end=HOUR / 2) == 0
    assert metrics.summarize([shared]).loc["time-sharing", "utilization"] == pytest.approx(2.5 / 4)


@pytest.mark.parametrize("window", [{"start": 1.5 * HOUR}, {"end": 2 * HOUR + 1}])
def test_a_window_that_cuts_one_of_the_series_is_refused(shared, window):
    message = r"made up: t=(5400|7201) is inside a window of the series; expected multiples of 3600"
    with pytest.raises(ValueError, match=message):
        metrics.utilization(shared, **window)
    with pytest.raises(ValueError, match=message):
        metrics.utilization_series(shared, start=window.get("start"), end=window.get("end"))


def test_series_are_those_of_useful_work(shared):
    series = metrics.utilization_series(shared, start=0)
    assert series.to_dict() == pytest.approx({0: 0, HOUR: 0.75, 2 * HOUR: 0.5})
    assert metrics.utilization_series(shared, 2 * HOUR, start=0).to_dict() == pytest.approx(
        {0: 0.375, 2 * HOUR: 0.5}
    )
    assert metrics.utilization_series(shared, 7 * HOUR).to_dict() == pytest.approx({HOUR: 2.5 / 4})
    with pytest.raises(ValueError, match="t=5400 is inside a window of the series"):
        metrics.utilization_series(shared, HOUR / 2, start=0)
    with pytest.raises(ValueError, match="every=0; expected seconds above 0"):
        metrics.utilization_series(shared, 0, start=0)


def test_utilization_of_real_runs_is_the_mean_of_their_series():
    workload = twins.edison(4, nodes=32, seed=2)
    for knobs in ({}, {"overhead": 0.1}):
        schedule = simulate_timesharing(workload, workload.machine, **knobs)
        window = {"start": 24 * HOUR, "end": 72 * HOUR}
        mean = schedule.series["utilization"].loc[24 * HOUR : 72 * HOUR - 1].mean()
        assert metrics.utilization(schedule, **window) == pytest.approx(mean)
        daily = metrics.utilization_series(schedule, 24 * HOUR, **window)
        assert daily.mean() == pytest.approx(mean) and daily.index.tolist() == [
            24 * HOUR,
            48 * HOUR,
        ]
        jobs = schedule.jobs
        work = jobs["nodes"] @ jobs["run_time"]
        length = jobs["end_time"].max() - jobs["submit_time"].min()
        assert metrics.utilization(schedule) == pytest.approx(work / (32 * length), rel=0.01)


def test_jobs_alone_are_utilized_as_in_batch():
    jobs = made(
        submit_time=[0, 8_000], run_time=[5_000, 3_000], requested_time=[5_000] * 2, nodes=[3, 2]
    )
    shared = simulate_timesharing(jobs, System.of(4), step=None)
    alone = simulate_easy(jobs, System.of(4))
    assert metrics.utilization(shared) == pytest.approx(metrics.utilization(alone))
    for window in ({"end": HOUR}, {"start": HOUR}, {"start": 2 * HOUR, "end": 3 * HOUR}):
        expected = metrics.utilization(alone, **window)
        assert metrics.utilization(shared, **window) == pytest.approx(expected)
    series = metrics.utilization_series(shared)
    pd.testing.assert_series_equal(series, metrics.utilization_series(alone))


def test_numbers_a_job_are_of_dedicated_run_times(shared):
    assert metrics.slowdown(shared).tolist() == pytest.approx([2, 2, 1])
    assert metrics.bounded_slowdown(shared, tau=2 * HOUR).tolist() == pytest.approx([1, 1, 1])
    assert metrics.turnaround_time(shared).tolist() == [2 * HOUR, 2 * HOUR, HOUR / 2]
    assert metrics.wait_time(shared).tolist() == [0, 0, 0]
    assert metrics.makespan(shared) == 2 * HOUR


def test_jobs_are_counted_whether_they_share_nodes_or_not(shared):
    running = metrics.running_jobs(shared)
    assert running.to_dict() == {HOUR: 3, 1.5 * HOUR: 2, 3 * HOUR: 0}
    assert metrics.waiting_jobs(shared).max() == metrics.waiting_nodes(shared).max() == 0
    queued = simulate_timesharing(
        made(submit_time=[0, 10], run_time=[100, 100], nodes=[2, 2], memory=[3.0, 2.0]),
        replace(System.of(2), memory_per_node=4.0),
    )
    assert metrics.waiting_jobs(queued).to_dict() == {0: 0, 10: 1, 100: 0}
    assert metrics.waiting_nodes(queued).to_dict() == {0: 0, 10: 2, 100: 0}


@pytest.mark.parametrize(
    "metric",
    [
        metrics.occupied_nodes,
        metrics.node_hours,
        metrics.node_hours_by_use,
        metrics.loss_of_capacity,
        node_blocks,
        execution_states,
        lambda schedule: preemption_values(schedule, [5_000.0]),
        lambda schedule: EvictionProblem.from_schedule(schedule, at=5_000.0, nodes_needed=1),
    ],
)
def test_what_counts_held_nodes_says_that_they_are_shared(shared, metric):
    with pytest.raises(SharedNodesError, match=r"^time-sharing, made up: jobs share nodes, so"):
        metric(shared)


def test_a_schedule_without_jobs_has_no_utilization():
    empty = simulate_timesharing(made(submit_time=[], run_time=[], nodes=[]), System.of(2))
    assert math.isnan(metrics.utilization(empty))
    assert metrics.utilization(empty, start=0, end=100) == 0
    assert metrics.utilization_series(empty).empty
