"""Windows of time: warm-up and cool-down, the busiest one; shares of a log."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosimlib import metrics, traces
from cosimlib.batch import simulate_fcfs
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload
from tests import zoo
from tests.cosimlib.metrics.conftest import no_jobs
from tests.strategies import workloads


def test_warm_up_and_cool_down_make_a_window(schedule):
    assert metrics.window(schedule) == {"start": 10}
    assert metrics.window(schedule, warm_up=5) == {"start": 15}
    assert metrics.window(schedule, warm_up=5, cool_down=0) == {"start": 15, "end": 30}
    assert metrics.window(schedule, cool_down=8) == {"start": 10, "end": 22}
    inside = metrics.window(schedule, warm_up=5, cool_down=3)
    assert metrics.utilization(schedule, **inside) == (5 * 3 + 7 * 2) / (4 * 12)
    assert metrics.wait_time(schedule, **metrics.window(schedule, warm_up=2)).tolist() == [8, 0]


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({"warm_up": -1}, "warm_up=-1; expected seconds from 0"),
        ({"cool_down": math.inf}, "cool_down=inf; expected seconds from 0, or None"),
        ({"warm_up": 12, "cool_down": 8}, "leave nothing of the 20 s of submissions"),
        ({"warm_up": 50}, "leave nothing of the 20 s of submissions"),
    ],
)
def test_windows_that_leave_nothing_are_refused(schedule, lengths, message):
    with pytest.raises(ValueError, match=message):
        metrics.window(schedule, **lengths)
    with pytest.raises(ValueError, match="leave nothing"):
        metrics.window(no_jobs())


# The busiest window


def submitted(*rows) -> Workload:
    """Rows of submission in hours, run time in hours, nodes."""
    table = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"])
    return Workload(table.assign(**{n: HOUR * table[n] for n in ("submit_time", "run_time")}))


def hours(window):
    return tuple(edge / HOUR for edge in window)


LOG = submitted((0.5, 1, 1), (5, 2, 3), (6.9, 1, 2), (9, 9, 1), (20, 1, 1))


@pytest.mark.parametrize(
    ("length", "window"),
    [
        (1, (9, 10)),
        (2, (8, 10)),
        (3, (7, 10)),
        (4, (6, 10)),
        (5, (5, 10)),
        (1.5, (8, 9.5)),
        (15, (0, 15)),
        (21, (0, 21)),
        (100, (0, 21)),
    ],
)
def test_the_busiest_window_of_a_workload_has_the_most_work_submitted(length, window):
    assert hours(metrics.busiest(LOG, length * HOUR)) == window


def test_the_busiest_window_of_a_schedule_has_the_most_node_seconds_held():
    schedule = Schedule.from_starts(LOG, System.of(8), LOG.jobs["submit_time"], "AT ONCE")
    assert hours(metrics.busiest(schedule, HOUR)) == (6, 7)
    assert hours(metrics.busiest(schedule, 3 * HOUR)) == (5, 8)
    assert hours(metrics.busiest(schedule, DAY)) == (0, 21)


@given(workloads(max_jobs=12, max_nodes=4), st.integers(1, 8))
def test_no_window_on_whole_hours_is_busier_and_no_earlier_one_is_as_busy(workload, length):
    jobs = workload.jobs.assign(submit_time=workload.jobs["submit_time"] * 600)
    workload = Workload(jobs.assign(run_time=jobs["run_time"] * 700))
    schedule = simulate_fcfs(workload, System.of(4))
    first = int(jobs["submit_time"].min() // HOUR)
    last = max(jobs["submit_time"].max() // HOUR + 1, math.ceil(schedule.end_time.max() / HOUR))

    def held(hour):
        inside = np.minimum(schedule.end_time, (hour + length) * HOUR)
        return (inside - np.maximum(schedule.start_time, hour * HOUR)).clip(0) @ jobs["nodes"]

    starts = range(first, max(first, int(last) - length) + 1)
    best = max(starts, key=held)
    assert hours(metrics.busiest(schedule, length * HOUR)) == (best, min(best + length, last))


def test_an_empty_start_is_not_busy():
    log = traces.load(zoo.ZOO / "first-weeks-almost-empty.swf.gz", verbose=False)
    start, end = metrics.busiest(log, WEEK)
    assert start > 2.9 * WEEK and end == start + WEEK


def test_of_equal_windows_the_first_is_taken():
    log = submitted((3, 1, 1), (30, 1, 1))
    assert hours(metrics.busiest(log, 2 * HOUR)) == (3, 5)
    idle = submitted((3, 0, 1), (30, 0, 1))
    assert hours(metrics.busiest(idle, 2 * HOUR)) == (3, 5)


def test_without_jobs_the_window_begins_at_0():
    assert metrics.busiest(submitted(), DAY) == (0, DAY)
    assert metrics.busiest(no_jobs(), DAY) == (0, DAY)


@pytest.mark.parametrize("length", [0, -1, math.inf, math.nan])
def test_a_window_has_a_length(length):
    with pytest.raises(ValueError, match=r"length=.*; expected seconds above 0"):
        metrics.busiest(LOG, length)


# Shares of a log


def test_the_share_used_is_that_of_node_hours():
    assert metrics.share_used(LOG, LOG) == 1
    assert metrics.share_used(LOG.keep(LOG.jobs["nodes"] == 1, "wide"), LOG) == 11 / 19
    assert metrics.share_used(LOG.keep(LOG.jobs["nodes"] > 5, "narrow"), LOG) == 0
    whole = Schedule.from_starts(LOG, System.of(8), LOG.jobs["submit_time"], "AT ONCE")
    assert metrics.share_used(LOG, whole) == metrics.share_used(whole, LOG) == 1
    assert metrics.share_used(submitted(), submitted()) == 1


def a_log(work):
    """A job per hour, with so much work each."""
    jobs = {"submit_time": [3600.0 * k for k in range(len(work))], "run_time": work, "nodes": 1}
    return Workload(pd.DataFrame(jobs), "log")


def test_a_busy_stretch_is_the_log_s_beginning_where_work_begins_at_once():
    taken = metrics.busy_stretch(a_log([10, 10, 12, 12]), 2)
    assert taken.jobs["run_time"].tolist() == [10, 10]
    assert taken.account["reason"].tolist() == ["submitted after the 2 jobs taken"]
    assert len(metrics.busy_stretch(a_log([10, 10]), 2)) == 2


def test_a_quiet_beginning_is_passed_over_and_counted():
    taken = metrics.busy_stretch(a_log([1, 1, 1, 9, 9, 1]), 2)
    assert taken.jobs["run_time"].tolist() == [9, 9]
    assert taken.account[["reason", "records"]].to_numpy().tolist() == [
        ["submitted before the busiest stretch", 3],
        ["submitted after the 2 jobs taken", 1],
    ]


def test_jobs_submitted_at_once_are_taken_from_the_first_on():
    burst = a_log([1, 2, 9])
    burst = Workload(burst.jobs.assign(submit_time=0.0), "burst")
    assert metrics.busy_stretch(burst, 2).jobs["run_time"].tolist() == [1, 2]


def test_a_window_stays_where_it_was_wanted_unless_that_is_a_quiet_time():
    log = a_log([1, 1, 1, 9, 9, 8])
    assert metrics.busy_window(log, 2 * HOUR, start=3.5 * HOUR) == (3.5 * HOUR, 5.5 * HOUR)
    assert metrics.busy_window(log, 2 * HOUR, start=0.0) == (3 * HOUR, 5 * HOUR)
    assert metrics.busy_window(a_log([0, 0]), HOUR, start=0.0) == (0.0, HOUR)
