"""Section on forecasts of starts: what it finds, and what it leaves open."""

import re

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
from cosimlab.forecasting import Backtest
from cosimlab.forecasting.backtest import COLUMNS, CORRECTED, METHODS
from cosimlab.report import example_log, open_log, starts_section
from cosimlab.report.log import Interval
from cosimlab.report.waits import _backtested, _judged_width, _starts_findings
from cosimlib.units import DAY, HOUR, MINUTE
from tests.zoo import ZOO


def test_forecasts_of_an_example_are_judged_against_simple_ones():
    section = starts_section(open_log(example_log(jobs=600)))
    assert "of its loss" in section.findings[0] and "80 % intervals hold" in section.findings[1]
    (table,) = section.tables.values()
    assert table.index[0] == "corrected forecast"
    assert table["80 % intervals hold (%)"].iloc[0] > 50


def test_what_a_log_does_not_show_is_open():
    few = starts_section(open_log(example_log(jobs=600), budget=1.0))
    assert "open: too few instants" in few.findings[0]
    for name in ("three-jobs", "submissions-are-starts", "no-requested-times"):
        section = starts_section(open_log(ZOO / f"{name}.swf.gz"))
        assert "is open: " in section.findings[0]
        assert not section.tables


def forecasts(factor: float, spread: float) -> Backtest:
    """Waits of an hour or two; forecasts are off by a factor, their intervals by a spread."""
    random, cases = np.random.default_rng(0), 600
    wait = random.uniform(HOUR, 2 * HOUR, cases)
    levels = np.outer(np.ones(cases), 1 + spread * np.linspace(-1, 1, len(CORRECTED)))
    table = pd.DataFrame(factor * wait[:, np.newaxis] * levels, columns=CORRECTED)
    plain = table.set_axis(COLUMNS, axis=1)
    at = np.repeat(np.arange(60.0), 10)
    simple = {"static": 1.5 * wait, "user": 3 * wait, "queue": 3 * wait}
    others = pd.DataFrame({"at": at, "wait": wait, "held": True, **simple})
    return Backtest("log", pd.concat([others, table, plain], axis=1))


def test_forecasts_are_judged_by_their_loss_first():
    good, held = _starts_findings(forecasts(1.0, 0.5), list(METHODS), seed=0)
    assert good.startswith("Starts can be forecast better than by a plan from requested times")
    assert held.endswith("they are too cautious.") and "100 %" in held
    bad, narrow = _starts_findings(forecasts(2.5, 0.1), list(METHODS), seed=0)
    assert bad.startswith("Starts cannot be forecast better than by a plan from requested times")
    assert narrow.endswith("they are too narrow.")


def test_losses_of_cases_have_the_mean_that_scores_tell():
    found = forecasts(1.1, 0.3)
    for method in METHODS:
        assert found.losses(method).mean() == pytest.approx(found.scores.loc[method, "pinball"])
    assert found.holds(0.8).mean() == found.scores["coverage_80"].iloc[0]


def test_rules_of_users_and_queues_need_them():
    log = example_log(jobs=600)
    table = starts_section(open_log(log)).tables
    assert "queue's median wait" not in next(iter(table.values())).index
    assert "user's median wait" in next(iter(table.values())).index


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (Interval(0.804, 0.895, ""), "whether they are too cautious is not decided"),
        (Interval(0.7, 0.8, ""), "whether they are too narrow is not decided"),
        (Interval(0.7, 0.9, ""), "whether they hold as they should is not decided"),
        (Interval(np.nan, np.nan, ""), "whether they hold as they should is not decided"),
        (Interval(0.76, 0.84, ""), "they hold as they should"),
        (Interval(0.86, 0.9, ""), "they are too cautious"),
        (Interval(0.6, 0.74, ""), "they are too narrow"),
    ],
)
def test_the_width_of_intervals_is_decided_by_the_interval_of_their_share(share, words):
    assert _judged_width(share) == words


LENGTHS = {"s": 1.0, "min": MINUTE, "h": HOUR, "days": DAY}
MEAN = re.compile(r"([\d,.]+) (s|min|h|days) on average|mean wait (?:be )?([\d,.]+) (s|min|h|days)")


def mean_waits(text: str) -> list[float]:
    """Seconds of the mean waits that a page tells."""
    found = MEAN.findall(text)
    return [
        float((one or other).replace(",", "")) * LENGTHS[unit or other_unit]
        for one, unit, other, other_unit in found
    ]


def test_the_mean_of_the_waits_that_are_forecast_is_in_its_unit():
    log = open_log(example_log(jobs=600))
    section = starts_section(log)
    tested, _ = _backtested(log)
    (mean,) = mean_waits(section.how_to_read)
    assert mean == pytest.approx(tested.judged["wait"].mean(), rel=0.05)


def test_no_mean_wait_is_longer_than_the_log():
    log = open_log(example_log(jobs=600), budget=2)
    first, last = log.schedule.span
    found = mean_waits(re.sub("<[^>]*>", " ", lab.report(log)._repr_html_()))
    assert len(found) >= 2 and max(found) < last - first


@pytest.mark.traces
def test_no_mean_wait_of_a_real_log_is_longer_than_the_log(trace_path):
    log = open_log(trace_path("KTH-SP2-1996-2.1-cln.swf.gz"), budget=15)
    first, last = log.schedule.span
    found = mean_waits(re.sub("<[^>]*>", " ", lab.report(log)._repr_html_()))
    assert len(found) >= 2 and max(found) < last - first
