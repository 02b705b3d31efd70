"""Audit of time-shared schedules: every kind of tampering is caught, and named."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosimlab import twins
from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.timesharing.audit import _by_window
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
        ("end_time", 4, 9_300, "make 1800 jobs × nodes × seconds in .* t=7200; .* has 1320"),
        ("start_time", 1, 100, "make 9900 jobs × nodes × seconds in .* t=0; the series has 10200"),
    ],
)
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
    ("column", "factor", "message"),
    [
        ("utilization", 0.9, "make 21620 node-seconds of work; the series adds up to "),
        (
            "utilization",
            -1.0,
            r"utilization -0\.\d+ at t=0; expected 0 to 0\.7\d+, of nodes with a",
        ),
        ("utilization", np.nan, "utilization nan at t=0; expected 0 to "),
        ("cpu_load", 1.1, "make 10200 jobs × nodes × seconds in the window at t=0; .* has 11220"),
        ("waiting", 0.9, "make 3500 seconds of waiting in the window at t=0; the series has 3150"),
        ("waiting", np.nan, "make 3500 seconds of waiting in .* t=0; the series has nan"),
    ],
)
def test_a_window_changed_is_noticed(schedule, column, factor, message):
    series = schedule.series.copy()
    series.loc[0.0, column] *= factor
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(replace(schedule, series=series))


@pytest.mark.parametrize("column", ["cpu_load", "waiting"])
def test_windows_that_change_places_are_noticed(schedule, column):
    """Their sum stays."""
    series = schedule.series.copy()
    series[column] = series[column].to_numpy()[[1, 0, 2]]
    with pytest.raises(InfeasibleScheduleError, match=r"in the window at t=0; |expected 0 to"):
        audit(replace(schedule, series=series))


@pytest.mark.parametrize("load", [0.8, 0.2])
def test_more_work_than_the_jobs_present_can_do_is_noticed(load):
    """Two of four nodes are busy for half an hour: a utilization of at most 1/4, here of 0.2."""
    jobs = Workload(pd.DataFrame({"submit_time": [0], "run_time": [1_440], "nodes": [2]}), "one")
    schedule = audit(simulate_timesharing(jobs, System.of(4), overhead=0.2))
    assert schedule.series["utilization"].tolist() == pytest.approx([0.2])
    more = schedule.series.assign(utilization=load * 1.01)
    with pytest.raises(InfeasibleScheduleError, match=r"expected 0 to 0\.2, of nodes with a speed"):
        audit(replace(schedule, series=more))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda series: series.iloc[:-1], "make 1320 jobs × nodes × .* at t=7200; .* has 0"),
        (lambda series: series.iloc[[0, 2, 1]], "begin at 0.0, 7200.0, 3600.0; expected 0, 7200,"),
        (
            lambda series: series.set_index(series.index + 60),
            "begin at 60.0, .*; expected 0, 3600,",
        ),
        (lambda series: series.set_index(series.index.to_numpy() / 2), "in the window at t=0; "),
    ],
)
def test_windows_that_do_not_follow_each_other_from_zero_are_noticed(schedule, change, message):
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(replace(schedule, series=change(schedule.series)))


@given(
    st.lists(st.tuples(*[st.integers(0, 40)] * 2, st.integers(1, 5)), max_size=6),
    st.integers(1, 9),
    st.integers(0, 7),
)
def test_weighted_seconds_by_window_are_those_counted_one_by_one(intervals, width, windows):
    start, length, weight = np.array(intervals, np.float64).reshape(-1, 3).T
    found = _by_window(start, start + length, weight, float(width), windows)
    expected = np.zeros(found.size)
    for begin, lasts, heavy in intervals:
        for second in range(begin, begin + lasts):
            expected[second // width] += heavy
    assert found.tolist() == expected.tolist() and found.size >= windows


MOMENTS = [0.0, 100.0, 999.0, 1_000.0, 5_000.0, 8_000.0]


@pytest.mark.parametrize("knobs", [{}, {"spmd": False}, {"noise": 0.3}, {"overhead": 0.2}])
def test_sampled_shares_are_audited(knobs):
    """Of the sample of a busy machine each share changed is noticed, and each left out."""
    schedule = audit(simulate_timesharing(JOBS, FOUR, sample=MOMENTS, **knobs))
    assert (schedule.shares.to_numpy() > 0).any(axis=1)[:5].all()
    for moment in MOMENTS:
        for job in schedule.shares.columns:
            runs = schedule.start_time[job] <= moment < schedule.end_time[job]
            for wrong in (0.0 if runs else 0.1, -0.1, 1.1, np.nan):
                shares = schedule.shares.copy()
                shares.loc[moment, job] = wrong
                message = f"job {job} has a share of {wrong:.15g} at t={moment:.15g}; it runs from"
                with pytest.raises(InfeasibleScheduleError, match=message):
                    audit(replace(schedule, shares=shares))


def test_more_shares_than_a_node_has_are_noticed(schedule):
    sampled = audit(simulate_timesharing(JOBS, FOUR, sample=[100]))
    assert sampled.shares.loc[100.0].to_dict() == {0: 0.5, 1: 0.5}
    shares = sampled.shares * 1.2
    with pytest.raises(InfeasibleScheduleError, match=r"on node 0 add up to 1\.2 at t=100; nodes"):
        audit(replace(sampled, shares=shares))


@pytest.mark.parametrize("jobs", [[0, 5], [0, -1], [0, 0], ["a", "b"]])
def test_shares_of_no_job_are_noticed(jobs):
    sampled = simulate_timesharing(JOBS, FOUR, sample=[100])
    with pytest.raises(InfeasibleScheduleError, match=r"shares of the jobs .*; expected rows of"):
        audit(replace(sampled, shares=sampled.shares.set_axis(jobs, axis=1)))


@pytest.mark.parametrize("name", ["first", "members"])
@pytest.mark.parametrize("change", [list, lambda nodes: nodes * 1.0, lambda nodes: nodes[:, None]])
def test_placements_that_are_no_numbers_are_noticed(schedule, name, change):
    with pytest.raises(InfeasibleScheduleError, match=f"{name} is not an array of whole numbers"):
        audit(replace(schedule, **{name: change(getattr(schedule, name))}))


@pytest.mark.parametrize(
    ("name", "what"), [(name, f"{name} is 4 numbers") for name in ("start_time", "end_time")]
)
def test_a_value_too_few_is_noticed(schedule, name, what):
    fewer = replace(schedule, **{name: getattr(schedule, name)[:-1]})
    with pytest.raises(InfeasibleScheduleError, match=f"time-sharing: {what} for the 5 jobs of"):
        audit(fewer)


noisy = pytest.mark.compiled("twenty thousand changes of speed need compiled kernels")


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        pytest.param({"noise": 0.05}, marks=noisy),
        {"spmd": False},
        {"step": None},
        {"overhead": 0.1, "queue": "fcfs"},
        {"step": 600},
    ],
)
def test_what_the_simulator_makes_could_have_happened(knobs):
    workload = twins.edison(2, nodes=24, load=1.1, seed=1)
    schedule = simulate_timesharing(workload, workload.machine, **knobs)
    assert audit(schedule) is schedule


def test_a_schedule_of_less_than_an_hour_is_audited_too():
    jobs = Workload(pd.DataFrame({"submit_time": [0], "run_time": [60], "nodes": [1]}), "short")
    schedule = audit(simulate_timesharing(jobs, System.of(1)))
    assert len(schedule.series) == 1 and schedule.resolution == 3_600
    with pytest.raises(InfeasibleScheduleError, match="make 60 jobs × nodes × seconds in"):
        audit(replace(schedule, series=schedule.series * 0.5))
    empty = Workload(pd.DataFrame({"submit_time": [], "run_time": [], "nodes": []}), "none")
    assert audit(simulate_timesharing(empty, System.of(1))).resolution == 3_600


@pytest.mark.parametrize("begin", [0.0, 7_000.0])
def test_more_work_on_a_node_than_its_speed_allows_is_noticed(begin):
    """Two jobs of 800 s share a node on which 0.8 s of work are done per second."""
    jobs = Workload(
        pd.DataFrame({"submit_time": [begin] * 2, "run_time": [800.0] * 2, "nodes": [1] * 2}), "two"
    )
    schedule = audit(simulate_timesharing(jobs, System.of(1), overhead=0.2, step=None))
    assert schedule.end_time.tolist() == pytest.approx([begin + 2_000.0] * 2)
    sooner = replace(schedule, end_time=np.full(2, begin + 1_999.0))
    with pytest.raises(InfeasibleScheduleError, match=r"does more work than its speed of 0\.8"):
        audit(sooner)
