"""Backtests: closed forms of the scores, censored waits, and nothing of the future."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cosimlab as lab
import cosimlib as cs
from cosimlab.forecasting.backtest import (
    COLUMNS,
    CORRECTED,
    FEWEST,
    LEVELS,
    Backtest,
    _correct,
    _corrections,
    _kaplan_meier,
    _usual,
    cases_at,
)
from cosimlab.forecasting.forecast import Forecast, start_table
from cosimlab.forecasting.futures import Setting
from cosimlab.forecasting.history import History
from cosimlib.kernels.jit import is_interpreted
from cosimlib.schedule import Schedule
from cosimlib.units import DAY, HOUR
from cosimlib.workload import InvalidWorkloadError, Workload

INSTANTS, FUTURES = 60, 20
COMPILED = pytest.mark.skipif(is_interpreted(), reason="thousands of futures")


@pytest.fixture(scope="module")
def schedule():
    log = cs.synthetic.lublin(2000, nodes=64, load=0.8, seed=2)
    users = np.random.default_rng(0).integers(0, 20, len(log)).astype(str)
    busy = cs.synthetic.with_estimates(Workload(log.jobs.assign(user=users), "busy"))
    return cs.simulate_easy(busy, cs.System.of(64))


@pytest.fixture(scope="module")
def tested(schedule):
    return lab.backtest(schedule, instants=INSTANTS, futures=FUTURES)


def made_cases(wait, *, at=None, quantiles=None):
    """Cases of given waits, each forecast as from one to nineteen hours."""
    n = len(wait)
    levels = np.tile(np.arange(1, 20) * HOUR, (n, 1)) if quantiles is None else quantiles
    cases = pd.DataFrame(levels, columns=COLUMNS)
    other = pd.DataFrame(levels, columns=CORRECTED)
    return pd.concat([cases, other], axis=1).assign(
        at=np.arange(n) * DAY if at is None else at,
        job=range(n),
        waited=0.0,
        wait=wait,
        static=10 * HOUR,
        user=0.0,
        queue=0.0,
        held=True,
    )


def test_scores_in_closed_form():
    wait = np.array([10.0, 3.0, 1.0, 25.0]) * HOUR
    test = Backtest("four", made_cases(wait))
    scores = test.scores
    # The 10 and 90 % quantiles are 2 and 18 h, the 25 and 75 % ones 5 and 15 h.
    assert scores["coverage_80"].iloc[0] == 0.5
    assert scores["coverage_50"].iloc[0] == 0.25
    flat = np.mean(
        [
            level * max(0, w - 10) + (1 - level) * max(0, 10 - w)
            for level in (0.1, 0.25, 0.5, 0.75, 0.9)
            for w in (10, 3, 1, 25)
        ]
    )
    assert scores["pinball"]["static plan"] == pytest.approx(flat)
    assert np.isnan(scores["coverage_80"]["static plan"])
    assert scores["loss_ratio"].iloc[0] == 1.0
    assert test.pit["corrected forecast"].sum() == pytest.approx(1.0)
    assert not test.calibrated
    assert "not judged: too few instants (4)" in str(test)
    assert "held" not in str(test).replace("held back", "")
    more = Backtest("many", pd.concat([made_cases(wait, at=np.arange(4) + n) for n in range(20)]))
    assert "not calibrated for this log" in str(more)


def test_waits_that_the_log_does_not_tell_are_not_judged():
    test = Backtest("two", made_cases(np.array([HOUR, np.inf])))
    assert len(test.judged) == 1
    assert np.isfinite(test.scores["pinball"]).all()


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=12))
def test_kaplan_meier_agrees_with_the_product_of_those_at_risk(drawn):
    values = np.array([float(value) for value, _ in drawn])
    known = np.array([know for _, know in drawn])
    survival, steps = 1.0, []
    for value in sorted(set(values)):
        events = int((known & (values == value)).sum())
        survival *= 1 - events / int((values >= value).sum())
        steps.append((value, 1 - survival))
    for level in (0.1, 0.5, 0.9):
        expected = next((value for value, share in steps if share >= level - 1e-9), values.max())
        assert _kaplan_meier(values, known, np.array([level])).tolist() == [expected]


def test_jobs_that_still_wait_count_as_waits_of_at_least_so_long():
    """At the instant half of the earlier jobs had not started, after ten hours."""
    wait = np.where(np.arange(400) % 2 == 0, HOUR, 100 * HOUR)
    past = made_cases(wait, at=np.full(400, 90 * HOUR), quantiles=np.full((400, 19), HOUR))
    corrected = _correct(past, 100 * HOUR, np.array([HOUR]), np.array([0.0]), LEVELS)[0]
    assert corrected[1] == pytest.approx(HOUR)
    assert corrected[17] == pytest.approx(10 * HOUR)


def test_the_nearest_cases_correct():
    """Short forecasts were right, long ones too short; of equal ones, those that waited longer."""
    long = np.arange(400) % 2 == 1
    short, far = np.full(19, HOUR), np.full(19, 100 * HOUR)
    wait, by_median = np.where(long, 300 * HOUR, HOUR), np.where(long[:, np.newaxis], far, short)
    past = made_cases(wait, quantiles=by_median)
    corrected = _correct(past, 500 * DAY, np.array([HOUR, 100 * HOUR]), np.zeros(2), LEVELS)
    assert corrected[0] == pytest.approx(np.full(19, HOUR))
    assert corrected[1] == pytest.approx(np.full(19, 300 * HOUR), rel=0.01)
    past = made_cases(wait, quantiles=np.tile(short, (400, 1)))
    past["waited"] = np.where(long, DAY, 0.0)
    waited = np.array([0.0, DAY])
    corrected = _correct(past, 500 * DAY, np.full(2, HOUR), waited, LEVELS)
    assert corrected[:, 9] == pytest.approx([HOUR, 300 * HOUR])


def test_later_cases_change_nothing_in_earlier_corrections():
    rng = np.random.default_rng(0)
    wait = rng.uniform(1, 30, 300) * HOUR
    cases = made_cases(wait, at=np.arange(300) * HOUR)
    last = 200 * HOUR
    other = cases.copy()
    other.loc[cases["at"] > last, [*COLUMNS, "wait", "waited"]] = 1000 * HOUR
    other.loc[(cases["at"] <= last) & (cases["at"] + wait > last), "wait"] = 1000 * HOUR
    first, second = (_corrections(each)[:201] for each in (cases, other))
    assert np.isfinite(first[200]).all()
    assert np.array_equal(first, second, equal_nan=True)
    forecast, made = waiting_forecast(last), []
    for each in (cases, other):
        later = each[each["at"] > last].assign(held=False)
        made.append(Backtest("two", pd.concat([calibrated_cases(), later])).corrected(forecast))
    assert (made[0].starts == made[1].starts).all()
    assert (made[0].starts != forecast.starts).any()


def calibrated_cases():
    """Four hundred seconds; four of five waits are within 2 and 18 h, two of them 10 h."""
    return made_cases(np.tile([3.0, 10.0, 17.0, 10.0, 19.0], 80) * HOUR, at=np.arange(400.0))


def waiting_forecast(at):
    """Two waiting jobs that start after two and five hours in all futures, and one asked for."""
    jobs = pd.DataFrame({"submit_time": at, "nodes": 1, "requested_time": HOUR}, index=[3, 4])
    starts = at + np.repeat([[2 * HOUR], [5 * HOUR]], 20, axis=1)
    asked = start_table(jobs.iloc[:1], starts[:1], at)
    return Forecast("two", at, jobs, starts, 0, asked)


def test_a_forecast_is_corrected_by_cases_that_waited_longer_and_shorter():
    """Waits were 3 to 19 h where the median forecast was 10 h."""
    sure, made = Backtest("two", calibrated_cases()), waiting_forecast(10 * DAY)
    corrected = sure.corrected(made)
    ahead = corrected.starts - made.at
    for row, median in enumerate([2 * HOUR, 5 * HOUR]):
        expected = [
            (median + 600) * (hours * HOUR + 600) / (10 * HOUR + 600) - 600 for hours in (3, 10, 19)
        ]
        assert ahead[row, [0, 9, 19]] == pytest.approx(expected)
    assert corrected.calibrated.startswith("80 % intervals held 80 %")
    assert "the job asked for is not corrected, and not tested" in corrected.calibrated
    pd.testing.assert_frame_equal(corrected.asked, made.asked)
    alone = sure.corrected(replace(made, asked=None))
    assert alone.calibrated == sure.sentence
    early = sure.corrected(waiting_forecast(50.0))
    assert early.calibrated == "not judged: too few earlier cases"
    with pytest.raises(ValueError, match="forecast='other'; expected one of 'two'"):
        sure.corrected(replace(made, name="other"))


def test_the_histogram_of_transforms_has_a_bar_per_tenth_and_method():
    test = Backtest("two", calibrated_cases())
    figure = lab.figures.plot_pit(test.pit, title="two")
    assert [trace.name for trace in figure.data[:2]] == list(test.pit)
    assert sum(figure.data[0].y) == pytest.approx(100, abs=0.1)


def test_usual_waits_are_those_of_wider_groups_where_none_is_known():
    """User a waited for 10 s, b for 40 and 60 s; jobs of b, a, b and a newcomer wait."""
    jobs = {
        "submit_time": [0, 0, 0, 1, 80, 85, 95],
        "run_time": 5,
        "requested_time": 5,
        "nodes": 1,
        "user": list("abbbabc"),
        "recorded_start": [10, 40, 60, *[np.nan] * 4],
    }
    history = History.of(Workload(pd.DataFrame(jobs), "waits"))
    usual = _usual(history, 100.0, np.array([3, 4, 5, 6]), "user")
    # Nobody had waited for 99 s; two for more than 20 s; two of b for more than 15 s; all for 5 s.
    assert usual.tolist() == [60.0, 50.0 - 20.0, 50.0 - 15.0, 40.0 - 5.0]


@COMPILED
def test_jobs_that_never_start_stay_in_the_queue_and_are_not_judged(schedule):
    """A wide job waits from the middle on; the log of the others is the same."""
    jobs = schedule.workload.jobs.assign(recorded_start=schedule.start_time)
    middle = float(jobs["submit_time"].iloc[1000])
    wide = jobs.iloc[[1000]].assign(nodes=64, recorded_start=np.nan, status=pd.NA)
    jobs = jobs.assign(status=1)
    for status, waits in ((pd.NA, True), (5, False)):
        table = pd.concat([jobs, wide.assign(status=status)]).astype({"status": "Int64"})
        log = Workload(table.sort_values("submit_time", kind="stable"), "one more", schedule.system)
        never = log.column("recorded_start").isna().to_numpy()
        tested = lab.backtest(log, instants=8, futures=2, jobs=1000)
        mine = tested.cases[never[tested.cases["job"]]]
        assert (len(mine) > 0) == waits
        assert np.isinf(mine["wait"]).all()
        assert (mine["at"] >= middle).all()
        assert not never[tested.judged["job"]].any()


@COMPILED
def test_cases_see_nothing_of_the_future(schedule):
    """Ends and starts after the instant are moved, later jobs are left out: the same forecasts."""
    jobs = schedule.workload.jobs
    at = float(jobs["submit_time"].iloc[1000])
    later = schedule.start_time > at
    start_time = np.where(later, schedule.start_time + DAY, schedule.start_time)
    run_time = np.where(schedule.end_time > at, jobs["run_time"] + DAY, jobs["run_time"])
    known = (jobs["submit_time"] <= at).to_numpy()
    other = Workload(jobs.assign(run_time=run_time)[known], "other")
    moved = Schedule.from_starts(other, schedule.system, start_time[known], "moved")
    setting = Setting("EASY", 64, FUTURES)
    first, second = (
        pd.DataFrame(cases_at(at, History.of(each), setting, 50, 0)) for each in (schedule, moved)
    )
    assert len(first) > 3
    assert (second["wait"] - first["wait"] == DAY).all()
    pd.testing.assert_frame_equal(first.drop(columns="wait"), second.drop(columns="wait"))


@COMPILED
def test_a_backtest_judges_by_the_past(schedule, tested):
    cases = tested.cases
    assert cases["at"].nunique() == INSTANTS
    assert (cases["wait"] > 0).all()
    started = schedule.start_time[cases["job"]]
    assert (cases["at"] + cases["wait"] - started).abs().max() < 1e-6
    assert (np.diff(cases[COLUMNS].to_numpy(), axis=1) >= 0).all()
    assert cases.loc[~cases["held"], "at"].min() <= cases.loc[cases["held"], "at"].min()
    late = float(schedule.jobs["submit_time"].iloc[-1])
    made = lab.forecast(schedule, late, futures=FUTURES)
    poor = Backtest(made.name, made_cases(np.full(200, 30.0 * HOUR)))
    assert poor.corrected(made).calibrated == "not calibrated for this log"
    assert (poor.corrected(made).starts == made.starts).all()


@COMPILED
def test_forecasts_beat_the_static_plan_where_the_policy_is_the_sites(tested):
    assert len(tested.judged) > FEWEST
    assert tested.scores["loss_ratio"]["static plan"] < 0.8


@COMPILED
def test_workers_do_not_change_a_backtest(schedule):
    one, two = (
        lab.backtest(schedule, instants=6, futures=2, executor=executor) for executor in (None, 2)
    )
    pd.testing.assert_frame_equal(one.cases, two.cases)


def test_what_cannot_be_tested_is_refused():
    jobs = {"submit_time": [0, 10], "run_time": 5, "requested_time": 5, "nodes": 1}
    alone = cs.simulate_easy(Workload(pd.DataFrame(jobs), "alone"), cs.System.of(4))
    with pytest.raises(ValueError, match="jobs that wait"):
        lab.backtest(alone)
    with pytest.raises(InvalidWorkloadError, match="no job has a recorded start"):
        lab.backtest(Workload(pd.DataFrame(jobs), "none", cs.System.of(4)))
