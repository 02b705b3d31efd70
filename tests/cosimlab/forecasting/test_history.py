"""Run times of similar jobs that had ended: slow versions, and nothing of the future."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cosimlib as cs
from cosimlab.forecasting.history import LEAST, LEVELS, MOST, History, predict
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.strategies import workloads


@st.composite
def schedules(draw, max_jobs=40):
    """Schedules of jobs of three users, by EASY on eight nodes."""
    workload = draw(workloads(max_jobs=max_jobs))
    users = draw(st.lists(st.sampled_from("abc"), min_size=len(workload), max_size=len(workload)))
    jobs = workload.jobs.assign(user=users)
    return cs.simulate_easy(Workload(jobs, "random"), cs.System.of(8))


def ended(schedule, at):
    """Jobs that have ended by then, in order of end."""
    jobs = schedule.jobs
    return jobs[jobs["end_time"] <= at].sort_values("end_time", kind="stable")


@settings(deadline=None, max_examples=60)
@given(schedule=schedules())
def test_last_two_are_those_that_had_ended_at_the_submission(schedule):
    predicted = predict(schedule, "last two")
    for row, job in schedule.jobs.iterrows():
        past = ended(schedule, job["submit_time"])
        mine = past[past["user"] == job["user"]]
        two = [mine["run_time"].iloc[-2:].mean()] if len(mine) > 1 else [job["requested_time"]]
        if len(mine) > 2 and mine["end_time"].iloc[-3] == mine["end_time"].iloc[-2]:
            continue  # which of those that end together count is not said
        assert predicted[row] == min(job["requested_time"], *two)


def naive_group(schedule, row, at, elapsed):
    """Run times from which the job's is drawn, in order; none where no group has enough."""
    jobs = schedule.jobs
    past, job = ended(schedule, at), jobs.loc[row]
    for columns in LEVELS:
        alike = past
        for column in columns:
            alike = alike[alike[column] == job[column]]
        share = (alike["end_time"] - alike["start_time"]) / alike["requested_time"]
        seconds = (share * job["requested_time"])[::-1]
        seconds = seconds[seconds > elapsed].iloc[:MOST]
        if len(seconds) >= LEAST:
            return sorted(seconds)
    return []


@settings(deadline=None, max_examples=60)
@given(schedule=schedules(), at=st.integers(1, 40))
def test_run_times_are_drawn_from_the_narrowest_group_that_is_large_enough(schedule, at):
    history = History.of(schedule)
    rows = np.flatnonzero(schedule.jobs["submit_time"] <= at)
    rows = rows[schedule.end_time[rows] > at]
    levels = (np.arange(100) + 0.5) / 100
    drawn = history.run_times(rows, np.full(rows.size, float(at)), np.tile(levels, (rows.size, 1)))
    for row, values in zip(rows, drawn, strict=True):
        elapsed = max(0.0, at - schedule.start_time[row])
        group = naive_group(schedule, row, at, elapsed)
        assert (values > elapsed).all()
        if group:
            expected = [group[int(level * len(group))] for level in levels]
            assert values.tolist() == pytest.approx(expected)
        else:
            assert (values <= max(schedule.jobs["requested_time"][row], 1.1 * elapsed + 60)).all()


@settings(deadline=None, max_examples=40)
@given(schedule=schedules(), at=st.integers(1, 40))
def test_what_is_known_at_an_instant_is_all_that_is_looked_at(schedule, at):
    """The history cut at the instant draws as the whole one does."""
    whole = History.of(schedule)
    cut = whole.until(float(at))
    rows = np.flatnonzero(cut.end_time > at)
    same = np.random.default_rng(0).random((rows.size, 9))
    moments = np.full(rows.size, float(at))
    assert (cut.run_times(rows, moments, same) == whole.run_times(rows, moments, same)).all()


def test_no_prediction_is_over_the_request_and_history_beats_it():
    log = cs.synthetic.with_estimates(cs.synthetic.lublin(800, seed=1))
    schedule = cs.simulate_easy(log, log.machine)
    errors = {}
    for method in ("request", "last two", "history"):
        seconds = predict(schedule, method)
        assert (seconds <= log.jobs["requested_time"]).all()
        assert seconds.index.equals(log.jobs.index)
        errors[method] = (seconds - log.jobs["run_time"]).abs().mean()
    assert errors["history"] < errors["request"]
    assert (predict(schedule, "request") == log.jobs["requested_time"]).all()


def test_a_log_without_starts_or_requests_is_refused():
    jobs = {"submit_time": [0, 1], "run_time": [5, 5], "nodes": [1, 1]}
    with pytest.raises(InvalidWorkloadError, match="no job has a recorded start"):
        predict(Workload(pd.DataFrame(jobs), "two"))
    recorded = Workload(pd.DataFrame(jobs | {"recorded_start": [0.0, 1.0]}), "two")
    with pytest.raises(InvalidWorkloadError, match="jobs without requested_time"):
        predict(recorded)
    with pytest.raises(ValueError, match="method='best'"):
        predict(recorded, "best")
