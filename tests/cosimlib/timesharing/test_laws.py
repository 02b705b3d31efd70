"""Laws of time-shared schedules: nodes are shared, useful work adds up, tampering is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib import metrics
from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.batch import simulate_easy
from cosimlib.schedule import SharedNodesError
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.units import HOUR
from tests.cosimlib.timesharing.test_simulation import NODES, QUEUE, SYSTEM, placed_jobs
from tests.strategies import workloads

KNOBS = st.fixed_dictionaries(
    {
        "overhead": st.sampled_from([0.0, 0.25]),
        "spmd": st.booleans(),
        "noise": st.sampled_from([None, 0.1]),
        "step": st.sampled_from([10.0, 7.5]),
        "queue": QUEUE,
        "seed": st.integers(0, 3),
    }
)


@given(placed_jobs(), KNOBS)
@settings(max_examples=40)
def test_no_job_holds_nodes_for_itself(jobs, knobs):
    schedule = audit(simulate_timesharing(jobs[0], SYSTEM, **knobs))
    with pytest.raises(SharedNodesError, match=r"made up: jobs share nodes, so that counting"):
        _ = schedule.allocations


@given(placed_jobs(), KNOBS)
@settings(max_examples=60)
def test_utilization_is_useful_node_seconds_over_those_offered(jobs, knobs):
    """What the jobs would have held alone, and in steps up to one last step of each job more."""
    schedule = audit(simulate_timesharing(jobs[0], SYSTEM, **knobs))
    table = schedule.jobs
    work = float(table["nodes"] @ table["run_time"])
    length = metrics.makespan(schedule)
    useful = metrics.utilization(schedule) * NODES * length if length else 0.0
    assert work - 1e-6 <= useful <= work + knobs["step"] * float(table["nodes"].sum()) + 1e-6
    hours = HOUR * np.arange(len(schedule.series) + 1)
    np.testing.assert_allclose(schedule.node_seconds(hours).sum(), useful, rtol=1e-9, atol=1e-6)


@given(placed_jobs(), st.booleans(), QUEUE)
@settings(max_examples=40)
def test_in_exact_times_useful_work_is_the_jobs(jobs, spmd, queue):
    schedule = audit(simulate_timesharing(jobs[0], SYSTEM, step=None, spmd=spmd, queue=queue))
    table = schedule.jobs
    edges = HOUR * np.arange(len(schedule.series) + 1)
    done = schedule.node_seconds(edges)
    np.testing.assert_allclose(done.sum(), table["nodes"] @ table["run_time"], rtol=1e-9, atol=1e-6)
    assert (done <= NODES * HOUR * (1 + 1e-9)).all()


@given(workloads())
@settings(max_examples=40)
def test_use_by_hour_is_what_is_held_in_batch_and_the_series_where_time_shared(workload):
    batch = simulate_easy(workload, System.of(8))
    use = batch.use_by_hour()
    held = metrics.hourly(metrics.occupied_nodes(batch), HOUR, 0.0, HOUR * len(use)) / 8
    assert use["utilization"].tolist() == use["cpu_load"].tolist() == pytest.approx(held.tolist())
    shared = simulate_timesharing(workload, System.of(8))
    assert shared.use_by_hour() is shared.series


def start_early(schedule, job):
    start_time = schedule.start_time.copy()
    start_time[job] = schedule.jobs["submit_time"][job] - 1
    return replace(schedule, start_time=start_time)


def end_early(schedule, job):
    end_time = schedule.end_time.copy()
    end_time[job] = schedule.start_time[job] + schedule.jobs["run_time"][job] - 1
    return replace(schedule, end_time=end_time)


def end_late(schedule, job):
    end_time = schedule.end_time.copy()
    end_time[job] += 100
    return replace(schedule, end_time=end_time)


def beyond_the_machine(schedule, job):
    members = schedule.members.copy()
    members[schedule.first[job]] = NODES
    return replace(schedule, members=members)


def work_undone(schedule, job):
    series = schedule.series.assign(utilization=0.0)
    work = schedule.jobs["nodes"] @ schedule.jobs["run_time"]
    return replace(schedule, series=series) if work else start_early(schedule, job)


TAMPERINGS = [start_early, end_early, end_late, beyond_the_machine, work_undone]


@pytest.mark.parametrize("tamper", TAMPERINGS)
@given(placed_jobs(), KNOBS, st.data())
@settings(max_examples=25)
def test_audit_accepts_what_is_simulated_and_refuses_each_tampering(tamper, jobs, knobs, data):
    schedule = simulate_timesharing(jobs[0], SYSTEM, **knobs)
    assert audit(schedule) is schedule
    job = data.draw(st.integers(0, len(schedule.workload) - 1))
    with pytest.raises(InfeasibleScheduleError, match=r"^time-sharing"):
        audit(tamper(schedule, job))
