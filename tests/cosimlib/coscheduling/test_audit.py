"""Coupled schedules hold to the laws of allocations, and the audit refuses each tampering."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings

from cosimlib import metrics
from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.coscheduling import (
    MACHINES,
    audit_coupled,
    deadlock_example,
    lost_node_hours,
    simulate_coscheduling,
)
from cosimlib.system import System
from tests.cosimlib.coscheduling.instances import held_for_a_mate, instances, simulated

TEN = System.of(A=10, B=10)


@pytest.fixture
def schedule():
    return held_for_a_mate()


@settings(max_examples=60)
@given(instances(releases=(5, 20, 1200)))
def test_node_hours_by_use_sum_to_what_is_occupied(instance):
    schedule = simulated(instance)
    assume(schedule.end_time.max() > schedule.workload.jobs["submit_time"].min())
    hours = metrics.node_hours_by_use(schedule)
    occupied = metrics.occupied_nodes(schedule)
    seconds = (occupied.to_numpy()[:-1] * np.diff(occupied.index)).sum()
    assert hours.drop("idle").sum() * 3600 == pytest.approx(seconds)
    assert hours.get("hold", 0.0) == pytest.approx(lost_node_hours(schedule).sum())
    nodes, holds = schedule.workload.jobs["nodes"].to_numpy(), schedule.holds
    idle = nodes[holds["job"]] @ (holds["end"] - holds["start"])
    assert hours.get("hold", 0.0) * 3600 == pytest.approx(idle)
    run = schedule.workload.jobs["nodes"] @ schedule.workload.jobs["run_time"]
    assert hours.get("run", 0.0) * 3600 == pytest.approx(run)


@settings(max_examples=60)
@given(instances())
def test_each_job_holds_its_own_nodes_until_it_starts(instance):
    schedule = simulated(instance)
    table, nodes = schedule.allocations, schedule.workload.jobs["nodes"].to_numpy()
    assert (table["nodes"] == nodes[table["job"]]).all()
    started = np.flatnonzero(~np.isnan(schedule.start_time))
    assert table["job"][table["use"] == "run"].tolist() == started.tolist()
    holds = table[table["use"] == "hold"]
    start_time = schedule.start_time[holds["job"]]
    assert ((holds["end"] <= start_time) | np.isnan(start_time)).all()


@settings(max_examples=60)
@given(instances())
def test_the_audit_accepts_each_schedule_in_which_all_jobs_start(instance):
    for schemes in (instance[2], None):
        schedule = simulated(instance, schemes=schemes)
        if len(schedule.stuck):
            with pytest.raises(InfeasibleScheduleError, match="starts at t=nan; it was submitted"):
                audit(schedule)
        else:
            assert audit(schedule) is schedule
        audit_coupled(schedule, all_start=False)


def holds(*rows) -> dict[str, pd.DataFrame]:
    return {"holds": pd.DataFrame(rows, columns=["job", "start", "end"])}


FIRST, SECOND = (0, 0.0, 1200.0), (0, 1200.0, 1800.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (holds((0, -60.0, 1200.0), SECOND), "job 0 holds from t=-60 .*it was submitted at t=0"),
        (holds(FIRST, (0, 1200.0, 1860.0)), "job 0 holds from t=1200 to t=1860; .* starts at t=18"),
        (holds(FIRST, (0, 1800.0, 1800.0)), "job 0 holds from t=1800 to t=1800"),
        (holds(FIRST, (0, 1200.0, np.inf)), "job 0 holds from t=1200 to t=inf"),
        (holds((0, 0.0, 1801.0)), "job 0 holds from t=0 to t=1801; .* may hold for 1800 s"),
        ({"longest_hold": 1000.0}, "job 0 holds from t=0 to t=1200; .* may hold for 1000 s"),
        (holds(FIRST, (0, 1100.0, 1800.0)), "job 0 holds from t=1100 .*; it holds already then"),
        (holds(FIRST, FIRST, SECOND), "job 0 holds from t=0 to t=1200; it holds already then"),
        (holds(FIRST, (2, 0.0, 1800.0)), "job 2 holds from t=0 .*it was submitted at t=1800"),
        (holds((1, 600.0, 700.0)), "job 1 holds from t=600 to t=700; it has no mates"),
        ({"system": System.of(A=6, B=10)}, "7 nodes busy at t=600; partition 'A' has 6"),
        ({"system": System.of(A=4, B=10)}, "job 0 holds 5 nodes; partition 'A' has 4"),
        ({"system": System.of(A=10, C=10)}, "job 2 is on partition 'B'; the system has A, C"),
    ],
)
def test_tampered_holds_are_refused(schedule, changes, message):
    with pytest.raises(InfeasibleScheduleError, match=f"^HH: (small: )?{message}"):
        audit(replace(schedule, **changes))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("end_time", "number"), ("first_try", "number")]
    + [(name, "whole number") for name in ("group", "yields")],
)
def test_columns_that_are_not_one_number_per_job_are_refused(schedule, name, kind):
    values = getattr(schedule, name)
    with pytest.raises(
        InfeasibleScheduleError, match=f"HH: {name} is 2 {kind}s for the 3 jobs of small; expected"
    ):
        audit(replace(schedule, **{name: values[:-1]}))
    with pytest.raises(
        InfeasibleScheduleError, match=f"HH: {name} is an array of <U.*; expected .* one {kind} per"
    ):
        audit(replace(schedule, **{name: values.astype(str)}))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(99, 0.0, 1200.0)], "job 99 holds; small has 3 jobs, numbered from 0"),
        ([(-1, 0.0, 1200.0)], "job -1 holds; small has 3 jobs, numbered from 0"),
        ([(0.5, 0.0, 1200.0)], "holds have job of float64; expected jobs' rows and seconds"),
        ([(0, "now", 1200.0)], "holds have start of "),
    ],
)
def test_holds_of_no_job_or_no_time_are_refused(schedule, rows, message):
    with pytest.raises(InfeasibleScheduleError, match=f"^HH: {message}"):
        audit(replace(schedule, **holds(*rows)))


def started(schedule, *start_time):
    """The schedule with other starts, and the ends that follow."""
    start = np.array(start_time, dtype=np.float64)
    return replace(schedule, start_time=start, end_time=start + 3600)


@pytest.mark.parametrize(
    ("start_time", "message"),
    [
        ((1800, 500, 1800), "job 1 starts at t=500; it was submitted at t=600"),
        (
            (1800, np.nan, 1800),
            r"job 1 has no start \(NaN\); expected a start at its submission, t=600",
        ),
        ((1800, 600, 1805), "job 2 starts at t=1805, a mate of it at t=1800; mates start at one"),
        ((1830, 600, 1800), "job 0 starts at t=1830, a mate of it at t=1800; mates start at one"),
        ((1700, 600, 1800), "job 0 holds from t=1200 to t=1800; .* starts at t=1700"),
    ],
)
def test_tampered_starts_are_refused(schedule, start_time, message):
    with pytest.raises(InfeasibleScheduleError, match=f"^HH: (small: )?{message}"):
        audit(started(schedule, *start_time))


def test_a_tampered_end_is_refused(schedule):
    longer = replace(schedule, end_time=schedule.end_time + np.array([0, 1, 0]))
    with pytest.raises(InfeasibleScheduleError, match="ends at t=4201; it runs 3600 s"):
        audit(longer)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ([0, 0, 0], "job 1 is in group 0; expected -1"),
        ([0, -1, 1], "job 2 is in group 1; expected 0"),
        ([0, -1, -1], "job 2 is in group -1; expected 0"),
        ([-1, -1, 0], "job 0 is in group -1; expected 0"),
        ([-1, -1, -1], "job 0 is in group -1; expected 0, by its mates"),
    ],
)
def test_tampered_groups_are_refused(schedule, group, message):
    with pytest.raises(InfeasibleScheduleError, match=f"^HH: small: {message}"):
        audit(replace(schedule, group=np.array(group)))


@pytest.mark.parametrize(
    ("first_try", "message"),
    [
        (
            [-60, np.nan, np.nan],
            "job 0 first tries at t=-60; it was submitted at t=0 and starts at",
        ),
        ([1860, np.nan, np.nan], "job 0 first tries at t=1860; .* at t=0 and starts at t=1800"),
        ([1, np.nan, np.nan], "job 0 holds from t=0 to t=1200; it first tries at t=1"),
        ([np.nan] * 3, "job 0 holds from t=0 to t=1200; it first tries at t=nan"),
        ([0, 600, np.nan], "job 1 first tries at t=600; it has no mates"),
    ],
)
def test_tampered_first_tries_are_refused(schedule, first_try, message):
    with pytest.raises(InfeasibleScheduleError, match=f"^HH: small: {message}"):
        audit(replace(schedule, first_try=np.array(first_try, dtype=np.float64)))


@pytest.mark.parametrize(
    ("yields", "message"),
    [
        ([-1, 0, 0], "job 0 yields -1 times; expected 0 or more"),
        ([0, 1, 0], "job 1 yields 1 times; expected 0, for it has no mates"),
        ([0, -1, 0], "job 1 yields -1 times; expected 0, for it has no mates"),
        ([0, 0, 2], "job 2 yields 2 times, but never tries"),
    ],
)
def test_tampered_yields_are_refused(schedule, yields, message):
    with pytest.raises(InfeasibleScheduleError, match=f"^HH: small: {message}"):
        audit(replace(schedule, yields=np.array(yields)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schemes": "YY"}, "HH: schemes are 'YY'; expected 'HH'"),
        ({"schemes": None}, "HH: schemes are None; expected 'HH'"),
        ({"policy": "YH"}, "YH: schemes are 'HH'; expected 'YH'"),
        ({"policy": "H"}, "H: schemes are 'HH'; expected 'H'"),
        ({"schemes": "H"}, "HH: schemes are 'H'; expected H .* for each of A, B"),
        ({"schemes": "HX"}, "HH: schemes are 'HX'; expected H .* for each of A, B"),
        (
            {"schemes": "YH", "policy": "YH"},
            "YH: small: job 0 holds .*; it yields on machine 'A', and yielded 0 times",
        ),
        (
            {"schemes": "YH", "policy": "YH", "max_yields": 1},
            "YH: small: job 0 holds .*; it yields on machine 'A', and yielded 0 times",
        ),
        ({"schemes": None, "policy": "base"}, "job 0 is in group 0; expected -1, without schemes"),
    ],
)
def test_other_schemes_than_those_that_were_followed_are_refused(schedule, changes, message):
    with pytest.raises(InfeasibleScheduleError, match=message):
        audit(replace(schedule, **changes))


def test_a_base_that_is_called_coscheduled_is_refused(schedule):
    base = simulate_coscheduling(schedule.workload, TEN, schemes=None)
    for schemes in ("YY", "HH"):
        with pytest.raises(InfeasibleScheduleError, match="job 0 is in group -1; expected 0"):
            audit(replace(base, policy=schemes, schemes=schemes))
    with pytest.raises(InfeasibleScheduleError, match="YY: schemes are None; expected 'YY'"):
        audit(replace(base, policy="YY"))


def test_a_job_that_yielded_often_enough_may_hold(schedule):
    often = {"yields": np.array([3, 0, 0]), "max_yields": 3, "schemes": "YY", "policy": "YY"}
    assert audit(replace(schedule, **often))
    with pytest.raises(InfeasibleScheduleError, match=r"job 0 holds .*, and yielded 3 times"):
        audit(replace(schedule, **(often | {"max_yields": 4})))


def test_jobs_may_be_left_over_but_not_without_their_mates(schedule):
    circle = simulate_coscheduling(deadlock_example(), MACHINES, release_interval=None)
    audit_coupled(circle, all_start=False)
    with pytest.raises(InfeasibleScheduleError, match="job 0 has no start"):
        audit_coupled(circle)
    left = started(schedule, 1800, 600, np.nan)
    with pytest.raises(InfeasibleScheduleError, match="job 2 starts at t=nan, a mate of it at t="):
        audit_coupled(left, all_start=False)
    held = replace(started(schedule, np.nan, 600, np.nan), **holds((0, 0.0, np.inf)))
    audit_coupled(held, all_start=False)
    with pytest.raises(InfeasibleScheduleError, match="job 0 holds from t=0 to t=1900"):
        audit_coupled(replace(held, **holds((0, 0.0, 1900.0))), all_start=False)


def test_mates_may_start_apart_only_while_the_later_one_s_machine_is_down(schedule):
    apart = started(schedule, 1800, 600, 1805)
    assert apart.apart.tolist() == [2] and not len(schedule.apart)
    assert audit(replace(apart, outages=(("B", 1700.0, 1805.0),)))
    for outage in (("A", 1700.0, 1805.0), ("B", 1801.0, 1805.0), ("B", 1700.0, 1800.0)):
        with pytest.raises(InfeasibleScheduleError, match="mates start at one instant"):
            audit(replace(apart, outages=(outage,)))
