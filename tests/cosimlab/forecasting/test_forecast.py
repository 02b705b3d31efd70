"""Forecasts: exact futures are simulations, nothing of the future is seen, errors narrow."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosimlab as lab
import cosimlib as cs
from cosimlab.forecasting.forecast import start_text
from cosimlab.forecasting.futures import FEWEST, REFUSED, _arrivals
from cosimlab.forecasting.history import History
from cosimlib.kernels.jit import is_interpreted
from cosimlib.policies import BUILT_IN, SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.strategies import workloads

FEW = 2 if is_interpreted() else 20
POLICIES = [name for name in BUILT_IN if name not in REFUSED]


@pytest.fixture(scope="module")
def schedule():
    """Six weeks of a busy machine, so that weeks can be drawn, of few and long jobs."""
    log = cs.synthetic.lublin(1500, nodes=64, load=0.85, seed=2)
    jobs, stretch = log.jobs, 6 * WEEK / np.ptp(log.jobs["submit_time"])
    times = {name: np.rint(jobs[name] * stretch) for name in ("submit_time", "run_time")}
    users = np.random.default_rng(0).integers(0, 20, len(jobs)).astype(str)
    busy = cs.synthetic.with_scaled_estimates(Workload(jobs.assign(**times, user=users), "busy"))
    return cs.simulate_easy(busy, cs.System.of(64))


def instant(schedule):
    """An instant late in the log at which jobs wait."""
    jobs = schedule.jobs
    late = jobs[jobs["submit_time"] > 0.7 * jobs["submit_time"].max()]
    return float(late["submit_time"][late["wait_time"].idxmax()]) + 1


@pytest.mark.parametrize("policy", POLICIES)
@settings(deadline=None, max_examples=30)
@given(jobs=workloads(max_jobs=20, overruns=False), at=st.integers(0, 40))
def test_exact_run_times_without_arrivals_are_the_simulation(policy, jobs, at):
    known = jobs.keep(jobs.jobs["submit_time"] <= at, "later")
    if not len(known):
        return
    schedule = SIMULATORS[policy](known, cs.System.of(8))
    made = lab.forecast(schedule, at, policy=policy, futures=3, run_times="exact", arrivals=False)
    assert made.jobs.index.tolist() == np.flatnonzero(schedule.start_time > at).tolist()
    expected = schedule.start_time[made.jobs.index]
    assert (made.starts == expected[:, np.newaxis]).all()
    assert (made.table["high_80"] == made.table["low_80"]).all()


def test_a_shuffled_future_gives_the_same_forecast(schedule):
    """Ends of running jobs, starts of waiting ones and all later submissions are replaced."""
    at, jobs = instant(schedule), schedule.workload.jobs
    rng = np.random.default_rng(1)
    open_end = schedule.end_time > at
    later = (jobs["submit_time"] > at).to_numpy()
    run_time = jobs["run_time"].to_numpy().copy()
    run_time[open_end] = rng.permutation(run_time[open_end]) + 7 * DAY
    start_time = schedule.start_time.copy()
    start_time[start_time > at] = rng.uniform(at + 1, at + WEEK, (start_time > at).sum())
    nodes = jobs["nodes"].to_numpy().copy()
    nodes[later] = rng.permutation(nodes[later])
    request = jobs["requested_time"].to_numpy().copy()
    request[later] = rng.permutation(request[later])
    other = Workload(jobs.assign(run_time=run_time, nodes=nodes, requested_time=request), "other")
    shuffled = Schedule.from_starts(other, schedule.system, start_time, "shuffled")
    first, second = (
        lab.forecast(each, at, futures=FEW, nodes=4, hours=1) for each in (schedule, shuffled)
    )
    assert len(first.jobs) > 5
    assert (first.starts == second.starts).all()
    pd.testing.assert_frame_equal(first.asked, second.asked)


def test_a_job_that_fits_now_starts_now_in_every_future():
    jobs = {
        "submit_time": [0, 5, 9],
        "run_time": [100, 100, 100],
        "nodes": [4, 3, 1],
        "requested_time": 200,
        "user": "a",
    }
    workload = Workload(pd.DataFrame(jobs), "three")
    never = np.array([0.0, 10.0, 100.0])
    made = lab.forecast(Schedule.from_starts(workload, cs.System.of(8), never, "given"), 9.0)
    assert (made.starts == 9.0).all()
    assert (made.table["within_hour"] == 1.0).all()
    assert "now" in str(made)


def test_now_is_said_only_if_every_future_starts_the_job_at_once():
    job = {"high_80": 0.0, "latest": 7200.0, "low_80": 0.0, "median": 0.0, "within_hour": 0.9}
    assert start_text(job) == "now or in at most 2 h"
    assert start_text(job | {"latest": 0.0}) == "now"
    assert start_text(job | {"high_80": 60.0}).startswith("in 0 s (80 %: 0 s to 1 min)")


def test_a_machine_that_is_held_more_than_once_is_not_larger_afterwards():
    """Three running jobs hold 18 of eight nodes, one none; a job of eight and one of four wait."""
    jobs = {
        "submit_time": [0, 0, 0, 5, 6],
        "run_time": [100, 50, 30, 10, 10],
        "nodes": [6, 6, 6, 8, 4],
        "requested_time": [100, 50, 30, 10, 10],
    }
    workload = Workload(pd.DataFrame(jobs), "thrice")
    starts = np.array([0.0, 0, 0, 200, 200])
    recorded = Schedule.from_starts(workload, cs.System.of(8), starts, "held")
    made = lab.forecast(recorded, 6.0, futures=2, run_times="exact", arrivals=False)
    assert made.starts.tolist() == [[100.0, 100.0], [110.0, 110.0]]


def test_a_job_that_has_ended_without_a_recorded_start_never_waits():
    jobs = {
        "submit_time": [0, 1, 2],
        "run_time": [50, 50, 50],
        "nodes": [8, 8, 8],
        "requested_time": 50,
        "recorded_start": [0, np.nan, np.nan],
    }
    table = pd.DataFrame(jobs)
    waiting = Workload(table, "waiting", cs.System.of(8))
    ended = Workload(table.assign(status=[1, 1, None]), "ended", cs.System.of(8))
    assert lab.forecast(waiting, 10, futures=2).jobs.index.tolist() == [1, 2]
    made = lab.forecast(ended, 10, futures=2, nodes=8, hours=1)
    assert made.jobs.index.tolist() == [2]
    first = lab.forecast(ended, 10, futures=2, run_times="requested", arrivals=False)
    assert (first.starts == 50.0).all()


@pytest.mark.skipif(is_interpreted(), reason="thousands of futures")
def test_the_standard_error_narrows_as_the_square_root_of_the_futures(schedule):
    at = instant(schedule)
    errors = {}
    for futures in (25, 100):
        means = [
            lab.forecast(schedule, at, futures=futures, seed=seed).starts.mean(axis=1)
            for seed in range(20)
        ]
        errors[futures] = np.std(means, axis=0).sum()
    assert errors[25] / errors[100] == pytest.approx(2.0, rel=0.3)


def test_arrivals_are_jobs_of_the_same_weekday_and_hour(schedule):
    at = instant(schedule)
    history = History.of(schedule).until(at)
    assert at > FEWEST * WEEK
    futures = _arrivals(history, at, 3.5 * DAY, 10, np.random.default_rng(0))
    counts = set()
    for rows, submit_time in futures:
        moved = submit_time - history.submit_time[rows]
        assert (np.abs(moved / WEEK - np.rint(moved / WEEK)) < 1e-9).all()
        assert (moved >= WEEK - 1).all()
        assert (submit_time >= at).all()
        assert (submit_time <= at + 3.5 * DAY).all()
        assert (np.diff(submit_time) >= 0).all()
        counts.add(rows.size)
    assert len(counts) > 1


def test_waits_of_smaller_jobs_are_told_beside_that_asked_for(schedule):
    at = instant(schedule)
    made = lab.forecast(schedule, at, nodes=16, hours=4, user="3", futures=FEW)
    assert made.asked["nodes"].tolist() == [16, 8, 4, 16, 16]
    assert (made.asked["requested_time"] / HOUR).tolist() == [4, 4, 4, 2, 1]
    text = str(made)
    assert "asked: 16 nodes for 4 h" in text
    assert "16 nodes for 1 h" in text
    assert "calibration" in text
    figure = lab.figures.plot_forecast(made.table, title="Starts")
    assert len(figure.data[0].y) == min(40, len(made.jobs))
    assert lab.figures.plot_forecast(made.table.iloc[:0], title="Starts").layout.annotations
    with pytest.raises(ValueError, match="table: no column 'requested_time'; expected nodes, req"):
        lab.figures.plot_forecast(made.jobs[["nodes"]], title="Starts")


def test_a_user_without_jobs_is_named(schedule):
    made = lab.forecast(schedule, instant(schedule), nodes=1, hours=1, user="me", futures=2)
    assert "no earlier job of user 'me': run times of all users" in str(made)


def test_a_policy_that_returns_no_schedule_is_refused(schedule):
    def decide(workload, system):
        return [0]

    with pytest.raises(TypeError, match="policy is of type list; expected a Schedule"):
        lab.forecast(schedule, instant(schedule), policy=decide, futures=2)


def test_jobs_that_have_not_started_have_no_recorded_start(schedule):
    """A log up to now: missing starts are waiting jobs, and runs so far are no run times."""
    at = instant(schedule)
    jobs = schedule.jobs
    now = jobs[jobs["submit_time"] <= at]
    recorded = now["start_time"].where(now["start_time"] <= at)
    until = np.minimum(now["run_time"], np.maximum(at - now["start_time"], 0) + 1)
    columns = ["submit_time", "requested_time", "nodes", "user"]
    table = now[columns].assign(run_time=until, recorded_start=recorded)
    live = Workload(table, "busy", schedule.system)
    whole = lab.forecast(schedule, at, futures=FEW)
    assert (lab.forecast(live, at, futures=FEW).starts == whole.starts).all()


def test_another_policy_is_a_function(schedule):
    at = instant(schedule)
    named = lab.forecast(schedule, at, policy="EASY (no extra nodes)", futures=FEW)
    own = lab.forecast(
        schedule,
        at,
        futures=FEW,
        policy=lambda workload, system: cs.simulate_easy(workload, system, extra_nodes=False),
    )
    assert (named.starts == own.starts).all()


def test_what_cannot_be_forecast_is_refused(schedule):
    with pytest.raises(ValueError, match="policy='best'"):
        lab.forecast(schedule, policy="best")
    assert {"not filled", "filling A", "conservative"} <= set(REFUSED) < set(SIMULATORS)
    for name, why in REFUSED.items():
        with pytest.raises(ValueError, match=f"policy='{name}'.*this one {re.escape(why)}"):
            lab.forecast(schedule, policy=name)
    with pytest.raises(ValueError, match="nodes=65"):
        lab.forecast(schedule, nodes=65, hours=1)
    with pytest.raises(ValueError, match="hours=None"):
        lab.forecast(schedule, nodes=6)
    workload = replace(schedule.workload, machine=None)
    with pytest.raises(InvalidWorkloadError, match="no job has a recorded start"):
        lab.forecast(workload, system=cs.System.of(64))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": 1e9}, "at=1000000000.0; expected seconds up to the end of the log"),
        ({"system": 128}, "expected a System"),
        ({"futures": 10**9}, "futures=1000000000; expected"),
        ({"nodes": 1, "hours": 1e9}, "hours=1000000000.0; expected"),
    ],
)
def test_what_no_log_tells_is_refused(schedule, change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        lab.forecast(schedule, **{"at": instant(schedule)} | change)


def test_a_schedule_with_a_calendar_is_refused(schedule):
    closed = replace(schedule, calendar=cs.Calendar([(0, 1)]))
    with pytest.raises(InvalidWorkloadError, match="expected one without"):
        lab.forecast(closed, instant(schedule))


def test_a_log_without_requested_times_is_refused_for_every_policy(schedule):
    jobs = schedule.workload.jobs.assign(requested_time=np.nan)
    log = replace(schedule, workload=Workload(jobs, "a log"))
    with pytest.raises(InvalidWorkloadError, match="requested_time"):
        lab.forecast(log, instant(schedule), policy="FCFS")
