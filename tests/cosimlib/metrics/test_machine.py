"""Metrics per machine: by hand, against counting second by second, and laws."""

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
from cosimlib.traces.swf import read_swf
from cosimlib.units import WEEK
from cosimlib.workload import Workload
from tests.strategies import workloads


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


def test_offered_load(schedule):
    assert metrics.offered_load(schedule.workload, System.of(8)) == 112 / (8 * 20)
    at_once = Workload(schedule.workload.jobs.assign(submit_time=0))
    assert metrics.offered_load(at_once, System.of(8)) == math.inf


def test_summary_has_one_row_per_policy(schedule):
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


def test_summary_of_a_window(schedule):
    fcfs = simulate_fcfs(schedule.workload, schedule.system)
    table = metrics.summarize([schedule, fcfs], start=12, end=52)
    assert table["jobs"].tolist() == [2, 2]
    assert table.loc["GREEDY", "wait_time"] == 4
    assert table.loc["GREEDY", "utilization"] == (8 * 3 + 32 * 2 + 2) / (4 * 40)
    assert table.loc["GREEDY", "makespan"] == 48


def schedule_of(submit, run, nodes, start, system=None, **columns) -> Schedule:
    jobs = {"submit_time": submit, "run_time": run, "nodes": nodes, **columns}
    workload = Workload(pd.DataFrame(jobs), "made up")
    return Schedule.from_starts(workload, system or System.of(10), np.array(start, float), "HAND")


@pytest.fixture
def blocked() -> Schedule:
    """Of ten nodes 6 are held from 0 to 100; 5 nodes wait from 20 on, and 3 from 50 to 100."""
    return schedule_of([0, 20, 50], [100, 50, 100], [6, 5, 3], [0, 100, 100])


def test_loss_of_capacity_counts_what_is_idle_while_a_job_fits(blocked):
    """Four nodes are idle until 100; the first to wait does not fit, the second would."""
    assert metrics.loss_of_capacity(blocked) == 4 * 50 / (10 * 200)
    narrow = schedule_of([0, 0], [10, 10], [6, 3], [0, 10])
    assert metrics.loss_of_capacity(narrow) == 4 * 10 / 200


def test_a_job_of_exactly_the_idle_nodes_fits():
    exact = schedule_of([0, 0], [10, 10], [6, 4], [0, 10])
    assert metrics.loss_of_capacity(exact) == 4 * 10 / 200


def test_loss_of_capacity_in_windows(blocked):
    assert metrics.loss_of_capacity(blocked, start=50, end=100) == 4 / 10
    assert metrics.loss_of_capacity(blocked, start=0, end=50) == 0
    assert metrics.loss_of_capacity(blocked, start=90, end=110) == 4 * 10 / 200
    assert metrics.loss_of_capacity(blocked, start=-50, end=20) == 0
    assert metrics.loss_of_capacity(blocked, start=500, end=600) == 0


def test_jobs_wait_for_nodes_of_their_own_partition():
    """One node of `small` is idle while a job waits for it; no job waits for `big`."""
    system = System.of(big=6, small=2)
    schedule = schedule_of(
        [0, 0, 0], [10, 10, 10], [3, 1, 1], [0, 0, 10], system, partition=["big", "small", "small"]
    )
    assert metrics.loss_of_capacity(schedule) == 1 * 10 / (8 * 20)


def test_on_one_machine_jobs_wait_whatever_partition_a_trace_names():
    """Ten nodes, as many as `schedule_of` has by default; a trace's own names do not count."""
    given = [0, 0, 0], [10, 10, 10], [6, 3, 2], [0, 10, 10]
    plain, named = schedule_of(*given), schedule_of(*given, partition=["cpu", "gpu", pd.NA])
    assert metrics.loss_of_capacity(named) == metrics.loss_of_capacity(plain) > 0


def test_a_recorded_schedule_may_overrun_its_machine():
    over = schedule_of([0, 0, 0], [10, 10, 10], [8, 8, 1], [0, 0, 10])
    assert metrics.loss_of_capacity(over) == 0
    assert metrics.utilization(over, end=10) == 1.6


def test_loss_of_capacity_refuses_what_it_cannot_tell(blocked):
    with pytest.raises(ValueError, match="window from 9 to 9 s"):
        metrics.loss_of_capacity(blocked, start=9, end=9)
    never = schedule_of([0, 0], [10, 10], [6, 4], [0, math.nan])
    with pytest.raises(ValueError, match="HAND: made up: job 1 starts at nan; expected a sched"):
        metrics.loss_of_capacity(never)


def lost_each_second(schedule: Schedule, second: int) -> int:
    """Node-seconds lost in one second, from the definition."""
    jobs = schedule.jobs
    held = jobs[(jobs["start_time"] <= second) & (jobs["end_time"] > second)]["nodes"].sum()
    waiting = jobs[(jobs["submit_time"] <= second) & (jobs["start_time"] > second)]["nodes"]
    idle = schedule.system.total_nodes - held
    return idle if (waiting <= idle).any() else 0


@settings(max_examples=40)
@given(workloads(overruns=True), st.integers(0, 20), st.integers(1, 40))
def test_loss_of_capacity_agrees_with_counting_second_by_second(workload, start, length):
    schedule = simulate_easy(workload, System.of(8))
    counted = sum(lost_each_second(schedule, second) for second in range(start, start + length))
    share = metrics.loss_of_capacity(schedule, start=start, end=start + length)
    assert share == pytest.approx(counted / (8 * length))


@settings(max_examples=40)
@given(workloads())
def test_laws_of_loss_of_capacity(workload):
    """Used and lost node-seconds are a part of all; on a machine for all jobs none are lost."""
    schedule = simulate_fcfs(workload, System.of(8))
    loss = metrics.loss_of_capacity(schedule)
    assert 0 <= loss <= 1 - metrics.utilization(schedule) + 1e-12
    wide = simulate_fcfs(workload, System.of(8 * len(workload)))
    if metrics.makespan(wide) > 0:
        assert metrics.loss_of_capacity(wide) == 0


def test_node_hours_are_useful_lost_or_idle():
    schedule = schedule_of([0, 0], [3_600, 7_200], [4, 2], [0, 0])
    assert metrics.node_hours(schedule).to_dict() == {"useful": 8, "lost": 0, "idle": 12}
    parts = metrics.node_hours(schedule, start=0, end=1_800)
    assert parts.to_dict() == {"useful": 3, "lost": 0, "idle": 2}
    assert metrics.node_hours(schedule, end=14_400)["idle"] == 32


def test_nodes_held_beyond_the_run_are_lost():
    """Two hours of run in three hours of four nodes; a window keeps the proportion."""
    workload = schedule_of([0], [7_200], [4], [0]).workload
    held = Schedule(workload, System.of(10), "HOLD", np.array([0.0]), np.array([10_800.0]))
    assert metrics.node_hours(held).to_dict() == {"useful": 8, "lost": 4, "idle": 18}
    half = metrics.node_hours(held, start=0, end=5_400)
    assert half.to_dict() == pytest.approx({"useful": 4, "lost": 2, "idle": 9})


@settings(max_examples=40)
@given(workloads(), st.integers(0, 20), st.integers(1, 40))
def test_node_hours_add_up(workload, start, length):
    schedule = simulate_easy(workload, System.of(8))
    window = {"start": start, "end": start + length}
    parts = metrics.node_hours(schedule, **window)
    assert parts.sum() == pytest.approx(8 * length / 3_600)
    assert (parts >= -1e-12).all()
    held = metrics.utilization(schedule, **window) * 8 * length / 3_600
    assert parts["useful"] + parts["lost"] == pytest.approx(held)


@pytest.mark.traces
def test_what_the_recorded_kth_sp2_adds_up_to(trace_path):
    """The archive's utilization, and the identities between metrics, on 28,000 real jobs."""
    trace = read_swf(trace_path("KTH-SP2-1996-2.1-cln.swf.gz"), verbose=False)
    schedule = simulate_easy(trace, trace.machine)
    weeks = metrics.hourly(metrics.occupied_nodes(schedule), WEEK)
    assert len(weeks) in (48, 49)
    assert (weeks <= 100).all()
    assert 0 < metrics.loss_of_capacity(schedule) < 1 - metrics.utilization(schedule)
    hours = metrics.node_hours(schedule)
    useful = (trace.jobs["nodes"] @ trace.jobs["run_time"]) / 3_600
    assert hours["useful"] == pytest.approx(useful)
    assert hours.sum() == pytest.approx(100 * metrics.makespan(schedule) / 3_600)
    queue = metrics.waiting_jobs(schedule)
    area = (queue.to_numpy()[:-1] * np.diff(queue.index)).sum()
    assert area == pytest.approx(metrics.wait_time(schedule).sum())
