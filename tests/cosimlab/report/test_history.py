"""Months, outcomes, requests, before and after: closed forms, sections that stay away."""

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
from cosimlab.report import (
    change_section,
    example_log,
    months_section,
    open_log,
    outcomes_section,
    requests_section,
)
from cosimlab.report.history import weeks_around
from cosimlab.report.page import MOST_WORDS
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload
from tests.cosimlab.report.test_report import outside_of_their_interval


def weekly(weeks: int, wait: list[float], load: float = 0.5, **columns) -> Workload:
    """Ten jobs a week on ten nodes from 2024-01-01 on, that wait for so many hours each."""
    day = np.arange(weeks * 10) * WEEK / 10
    table = {
        "submit_time": day,
        "recorded_start": day + np.repeat(wait, 10) * HOUR,
        "run_time": load * WEEK / 10,
        "requested_time": 2 * load * WEEK / 10,
        "nodes": 10,
    }
    began = pd.Timestamp("2024-01-01")
    return Workload(pd.DataFrame(table | columns), "weekly", System.of(20), began=began)


def test_months_have_their_use_and_waits():
    """Jobs hold half of the machine for half of the time; those of February wait for two hours."""
    day = np.arange(200) * WEEK / 10
    in_february = (day >= 31 * DAY) & (day < 60 * DAY)
    wait = np.where(in_february, 2.0, 1.0) * HOUR
    log = open_log(weekly(20, [0] * 20, recorded_start=day + wait), budget=1)
    section = months_section(log)
    table = section.tables["Use and waits by month"]
    assert table.index.tolist() == ["2024-01", "2024-02", "2024-03", "2024-04", "2024-05"]
    assert table["mean wait (h)"].tolist() == [1, 2, 1, 1, 1]
    assert table["utilization"].iloc[1:4].to_numpy() == pytest.approx(0.25, abs=0.01)
    assert table["jobs"].sum() == 199, "the first job is submitted before the first start"
    assert table["days"].sum() == pytest.approx(139.8, abs=0.5)
    assert "the mean wait from 1 h (2024-01) to 2 h (2024-02)" in section.findings[0]


def test_months_begin_on_the_clock_of_the_site():
    """A log from summer to winter: a job of January 31, 23:30, is one of January."""
    began = pd.Timestamp("2023-09-01", tz="Europe/Stockholm")
    made = weekly(30, [0] * 30)
    last = (pd.Timestamp("2024-01-31 23:30", tz="Europe/Stockholm") - began).total_seconds()
    jobs = made.jobs.copy()
    jobs.loc[jobs.index[-1], ["submit_time", "recorded_start"]] = last
    jobs = jobs.sort_values("submit_time", ignore_index=True)
    log = open_log(Workload(jobs, "log", made.machine, began=began), budget=1)
    table = months_section(log).tables["Use and waits by month"]
    local = (began + pd.to_timedelta(jobs["submit_time"], unit="s")).dt.strftime("%Y-%m")
    assert table["jobs"].to_dict() == local.value_counts().sort_index().to_dict()


def test_outcomes_are_node_hours_by_status():
    """Of ten jobs of a week: one was cancelled, two failed, of which one at its limit."""
    status = np.tile([5, 0, 0, *[1] * 7], 10)
    hours = np.tile([WEEK / 20, WEEK / 20, WEEK / 10, *[WEEK / 20] * 7], 10)
    log = open_log(weekly(10, [0] * 10, status=status, run_time=hours), budget=1)
    section = outcomes_section(log)
    shares = section.tables["Jobs by their outcome"]["share"]
    assert shares["timed out"] == pytest.approx(2 / 11)
    assert shares["failed"] == shares["cancelled"] == pytest.approx(1 / 11)
    said = section.findings[0]
    assert said.startswith("Incomplete jobs hold 36.4 % of the node-hours")
    assert "18.2 % timed out" in said and "9.09 % cancelled" in said


def test_requests_are_used_in_part():
    log = open_log(weekly(10, [0] * 10), budget=1)
    section = requests_section(log)
    assert section.findings[0].startswith("Jobs use 50 % of their requested node-hours")
    assert "half use 50 %" in section.findings[0]
    (table,) = section.tables.values()
    assert table["share used"].tolist() == [0.5] and table.index.tolist() == ["5–10 nodes"]


def test_exact_requests_are_told_where_a_policy_describes_the_site():
    told = requests_section(open_log(example_log(), budget=1)).findings
    assert told[1].startswith("Under EASY, with exact requests the mean wait would be ")
    unlike = requests_section(open_log(weekly(10, [9] * 10), budget=1)).findings
    assert unlike[1].endswith("is open: no policy is known to describe this site.")


def test_before_and_after_are_compared_also_at_equal_load():
    """Waits halve after twelve of 24 weeks; the load is the same, or halves with them."""
    random = np.random.default_rng(0)
    noise = np.exp(random.normal(0, 0.1, 24))
    wait = np.where(np.arange(24) < 12, 4.0, 2.0) * noise
    section = change_section(open_log(weekly(24, wait.tolist()), budget=1), since="2024-03-25")
    assert section.findings[0].startswith("Since 2024-03-25, jobs wait 0.")
    assert section.findings[1].endswith("waits fell.")
    load = wait / 4 * 0.5 * np.exp(random.normal(0, 0.05, 24))
    run_time = np.repeat(load, 10) * WEEK / 10
    log = weekly(24, wait.tolist(), run_time=run_time, requested_time=2 * run_time)
    lighter = change_section(open_log(log, budget=1), since=12 * WEEK)
    assert lighter.findings[0].startswith("Since day 84.0, jobs wait 0.4")
    assert lighter.findings[1].endswith("whether waits changed is open.")
    for each in (*section.findings, *lighter.findings):
        assert len(each.split()) <= MOST_WORDS and outside_of_their_interval(each) == []


def test_weeks_around_a_date_are_whole():
    schedule = open_log(weekly(10, [1] * 10), budget=1).schedule
    table = weeks_around(schedule, 4.5 * WEEK)
    assert table["after"].sum() == 5 and len(table) == 9
    assert (table["jobs"] == 10).all() and table["wait"].to_numpy() == pytest.approx(1)
    assert table["load"].to_numpy() == pytest.approx(0.25)


def test_sections_stay_away_where_the_log_cannot_tell():
    plain = weekly(10, [0] * 10)
    log = open_log(Workload(plain.jobs.drop(columns="requested_time"), "log", plain.machine))
    for make in (months_section, outcomes_section, requests_section):
        assert make(log) is None
    codes = open_log(weekly(10, [0] * 10, status=np.tile([0, 1, 127, 1, 1], 20)))
    assert outcomes_section(codes) is None, "exit codes are no statuses"
    names = [section.name for section in lab.report(log, budget=1).sections]
    assert not {"months", "outcomes", "requests", "change"} & set(names)
    short = change_section(log, since=WEEK)
    assert "is open: 1 week before" in short.findings[0]


def test_a_date_that_is_none_is_refused():
    log = open_log(weekly(10, [0] * 10))
    for since in ("1890-01-01", "2024-08-01"):
        with pytest.raises(ValueError, match=f"since='{since}'; expected a date of the log: 2024"):
            lab.report(log, since=since)
    with pytest.raises(ValueError, match=r"since=1000000000\.0; expected seconds of the log"):
        change_section(log, since=1e9)
    with pytest.raises(ValueError, match="since='soon'; expected a date such as 2024-03-01"):
        change_section(log, since="soon")
    undated = open_log(example_log(jobs=300))
    with pytest.raises(ValueError, match="expected seconds, as synthetic log"):
        change_section(undated, since="2024-03-01")
