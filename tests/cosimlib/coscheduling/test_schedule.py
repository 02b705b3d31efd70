"""Measures of coupled schedules in closed form, the ideal, and two logs coupled by their mates."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from cosimlib import coscheduling
from cosimlib.audit import InfeasibleScheduleError, audit, check_capacity
from cosimlib.coscheduling import MACHINES, deadlock_example, simulate_coscheduling
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.coscheduling.instances import held_for_a_mate, instances, simulated

TEN = System.of(A=10, B=10)


@pytest.fixture
def schedule():
    return held_for_a_mate()


def test_measures_in_closed_form(schedule):
    assert schedule.start_time.tolist() == [1800, 600, 1800]
    table = coscheduling.summarize_machines(audit(schedule)).set_index("machine")
    assert coscheduling.sync_up_overhead(schedule).to_dict() == {0: 1800, 2: 0}
    assert table.loc["A", ["jobs", "paired"]].tolist() == [2, 1]
    assert table["lost"].tolist() == [5 * 1800 / 3600, 0]
    assert table["lost_share"].tolist() == [5 * 1800 / (10 * 5400), 0]
    assert table["wait"].tolist() == [15, 0]
    assert table["slowdown"].tolist() == [(1.5 + 1) / 2, 1]
    assert table["sync_up"].tolist() == [30, 0]
    assert table["drained"].tolist() == [1200 / 86_400, 0]
    assert not len(schedule.apart)


def test_mates_that_never_start_are_paired_all_the_same():
    schedule = simulate_coscheduling(deadlock_example(), MACHINES, release_interval=None)
    table = coscheduling.summarize_machines(schedule)
    assert np.isnan(schedule.start_time[schedule.group >= 0]).any()
    assert table["paired"].tolist() == [2, 2]


def test_the_ideal_is_the_later_of_two_base_starts_and_nobody_else_moves():
    """a1 waits from 0 to 300 s for b1, which waits for b0; a2 and b0 are as in the base."""
    jobs = {"submit_time": [0, 0, 0, 0], "run_time": [300, 60, 300, 60], "nodes": [4, 2, 4, 4]}
    table = pd.DataFrame(jobs).assign(requested_time=300.0, partition=list("AABB"))
    table = table.assign(mate=pd.array([3, None, None, 0], dtype="Int64"))
    workload = Workload(table, "four", System.of(4))
    machines = System.of(A=4, B=4)
    base = simulate_coscheduling(workload, machines, schemes=None, order="submit")
    assert base.start_time.tolist() == [0, 300, 0, 300]
    ideal = coscheduling.ideal_schedule(base)
    assert ideal.start_time.tolist() == [300, 300, 0, 300] and not len(ideal.apart)
    assert coscheduling.sync_up_overhead(ideal).tolist() == [300, 0]
    measured = coscheduling.summarize_machines(ideal).set_index("machine")
    assert measured["wait"].tolist() == [5, 2.5] and measured["sync_up"].tolist() == [5, 0]
    assert measured["waited"].tolist() == [1, 0] and measured["paired"].tolist() == [1, 1]
    assert measured["wait_paired"].tolist() == [5, 5] and measured["wait_alone"].tolist() == [5, 0]
    # The two jobs of A overlap: nobody makes room for the other.
    with pytest.raises(InfeasibleScheduleError, match="6 nodes busy"):
        check_capacity(ideal)


@settings(max_examples=30)
@given(instances(outages=False))
def test_the_ideal_starts_no_job_before_the_base_and_all_mates_at_once(instance):
    base = simulated(instance, schemes=None)
    ideal = coscheduling.ideal_schedule(base)
    assert (ideal.start_time >= base.start_time).all() and not len(ideal.apart)
    alone = ideal.group < 0
    assert (ideal.start_time[alone] == base.start_time[alone]).all()
    waits = coscheduling.sync_up_overhead(ideal)
    paired = np.flatnonzero(~alone)
    assert waits.tolist() == (ideal.start_time - base.start_time)[paired].tolist()


def test_two_logs_and_a_csv_of_mates_make_one_workload(tmp_path):
    """A job wider than its machine is left out, numbers are the logs' own, a lack is drawn."""
    jobs = {"submit_time": [0, 5, 9], "run_time": 60.0, "nodes": [2, 9, 4], "job_id": [7, 8, 9]}
    big = Workload(pd.DataFrame(jobs), "big log", System.of(4))
    small = Workload(pd.DataFrame(jobs).assign(requested_time=90.0, nodes=1), "small log")
    (tmp_path / "mates.csv").write_text("small,big\n9,7\n")
    logs = {"big": big, "small": small}
    together, system = coscheduling.couple_logs(logs, tmp_path / "mates.csv")
    assert dict(system.partitions) == {"big": 4, "small": 1}
    rows = together.jobs[["partition", "job_id", "mate"]].astype(object).fillna("-")
    assert rows.to_numpy().tolist() == [
        ["big", 7, 4],
        ["small", 7, "-"],
        ["small", 8, "-"],
        ["big", 9, "-"],
        ["small", 9, 0],
    ]
    requested = together.jobs["requested_time"]
    assert (requested[together.jobs["partition"] == "small"] == 90).all()
    assert (requested >= 60).all()
    table = coscheduling.compare_on(together, system)
    assert table.groupby("scheme")["paired"].sum().to_dict() == {
        "base": 0,
        "ideal": 2,
        "HH": 2,
        "HY": 2,
        "YH": 2,
        "YY": 2,
    }
    assert (table["apart"] == 0).all() and (table["stuck"] == 0).all()
    alone, _ = coscheduling.couple_logs(logs)
    assert alone.column("mate").isna().all()
