"""Weeks, waits by group, and waits while nodes are idle, in closed form."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.report import open_log, waits_section
from cosimlab.report.log import interval_around, interval_of, interval_of_median, window_name
from cosimlab.report.waits import (
    CAUSES,
    idle_waits,
    wait_interval,
    waits_by,
    waits_by_hour,
    weekly_use,
)
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload


def recorded(jobs: list[tuple], nodes: int = 10, began: pd.Timestamp | None = None) -> Schedule:
    """A recorded schedule of jobs given as submission, start, run time (h), nodes and user."""
    columns = ["submit_time", "recorded_start", "run_time", "nodes", "user"]
    table = pd.DataFrame(jobs, columns=columns)
    table[columns[:3]] *= HOUR
    return Schedule.recorded(Workload(table, "log", System.of(nodes), began=began))


def test_weeks_hold_what_was_submitted_used_and_waiting():
    """84 h on all nodes fill half of week 0; the second job waits a day of week 1."""
    table = weekly_use(recorded([(0, 0, 84, 10, "a"), (168, 192, 144, 5, "a")]))
    assert table["begin"].tolist() == [0, WEEK] and table["days"].tolist() == [7, 7]
    assert table["jobs"].tolist() == [1, 1]
    np.testing.assert_allclose(table["offered_load"], [0.5, 144 * 5 / 1680])
    np.testing.assert_allclose(table["utilization"], [0.5, 144 * 5 / 1680])
    np.testing.assert_allclose(table["waiting_jobs"], [0, 24 / 168])
    assert table["median_wait"].tolist() == [0, 24]


def test_weeks_are_counted_from_the_first_start():
    hours = [(0, 0, 84, 10, "a"), (168, 192, 144, 5, "a")]
    later = weekly_use(recorded([(at + 300, start + 300, *job) for at, start, *job in hours]))
    table = weekly_use(recorded(hours))
    assert (later["begin"] - table["begin"]).tolist() == [300 * HOUR] * 2
    pd.testing.assert_frame_equal(later.drop(columns="begin"), table.drop(columns="begin"))


def test_what_is_before_the_first_start_does_not_count():
    """A job of the first submission starts after ten days, when the log's period begins."""
    schedule = recorded([(0, 240, 12, 5, "a"), (241, 242, 167, 5, "b")])
    table = weekly_use(schedule)
    assert table["begin"].tolist() == [240 * HOUR, 240 * HOUR + WEEK]
    assert table["jobs"].tolist() == [1, 0] and table["utilization"][0] > 0.5
    assert idle_waits(schedule).sum()[["other", "waited"]].tolist() == [5, 5]


def test_the_user_that_waits_longest_may_be_a_small_one():
    """Ten users have more node-hours than the one whose twenty short jobs wait for a day."""
    jobs = [(hour, hour, 9, 1, str(hour % 10)) for hour in range(300)]
    jobs += [(hour, hour + 24, 0.1, 1, "small") for hour in range(100, 120)]
    jobs += [(hour, hour + 90, 0.1, 1, "few") for hour in range(100, 119)]
    section = waits_section(open_log(recorded(sorted(jobs), nodes=100).workload, budget=1))
    longest = next(t for caption, t in section.tables.items() if "waits longest" in caption)
    assert longest.loc[("user", "user small"), ["jobs", "mean"]].tolist() == [20, 24]
    assert "user few" not in str(longest)


def test_a_table_without_rows_is_left_out():
    section = waits_section(open_log(recorded([(0, 1, 1, 1, "a")]).workload, budget=1))
    assert section.findings[0] == "The job waits 1 h."
    assert not any("waits longest" in caption for caption in section.tables)


def test_sizes_of_few_jobs_are_named_where_the_picture_has_them():
    jobs = [(hour, hour + 1, 1, 1 + 4 * (hour > 28), "a") for hour in range(31)]
    section = waits_section(open_log(recorded(jobs, nodes=100).workload, budget=1))
    assert section.how_to_read.count("fewer than 20 jobs: 5 nodes (2 jobs).") == 1


def test_a_week_without_jobs_has_no_median_wait():
    table = weekly_use(recorded([(0, 0, 1, 1, "a"), (400, 400, 1, 1, "a")]))
    assert table["jobs"].tolist() == [1, 0, 1] and np.isnan(table["median_wait"][1])


def test_waits_by_size_length_and_user():
    jobs = [(0, wait, 2, 1 + 4 * (wait > 5), "ab"[wait % 2]) for wait in range(11)]
    schedule = recorded(jobs, nodes=100)
    sizes = waits_by(schedule, "size")
    assert sizes.index.tolist() == ["1", "5"] and sizes["jobs"].tolist() == [6, 5]
    assert sizes["median"].tolist() == [2.5, 8] and sizes.loc["5", "p90"] == pytest.approx(9.6)
    assert sizes["share"].sum() == pytest.approx(1) and sizes.loc["1", "share"] == 6 / 31
    assert waits_by(schedule, "length").index.tolist() == ["1–4 h"]
    users = waits_by(schedule, "user")
    assert users.index.tolist() == ["user a", "user b"] and users["median"].tolist() == [5, 5]


def test_users_with_few_node_hours_are_one_group_and_a_log_may_name_none():
    jobs = [(0, 0, 1 + user, 1, str(user)) for user in range(10)]
    users = waits_by(recorded(jobs, nodes=100), "user")
    assert users.index.tolist() == [f"user {user}" for user in range(9, 1, -1)] + ["all others"]
    assert users.loc["all others", "jobs"] == 2
    assert waits_by(recorded([(0, 0, 1, 1, None)]), "user").empty


def test_windows_are_named_by_dates_where_the_log_has_them():
    jobs = [(0, 0, 1, 1, "a")]
    assert window_name(recorded(jobs), 0, DAY) == "days 0.0 to 1.0"
    dated = recorded(jobs, began=pd.Timestamp("2024-02-28 12:00"))
    assert window_name(dated, 0, DAY) == "2024-02-28 12:00 to 2024-02-29 12:00"


def test_a_job_that_fits_and_waits_is_held_back_by_something_else():
    """Ten nodes: b's two nodes are free for the five hours that it waits, and a runs meanwhile."""
    schedule = recorded([(0, 0, 10, 6, "a"), (1, 6, 1, 2, "b"), (2, 10, 1, 8, "c")])
    waits = idle_waits(schedule, length=DAY)
    assert CAUSES["other"] == "no cause is visible"
    assert waits.loc[0, list(CAUSES)].sum() == 2 * 5, "c never fits"
    assert waits.loc[0, ["other", "waited"]].tolist() == [10, 10 + 64]


def test_nobody_is_held_back_by_a_job_that_waits_for_nodes():
    """The head asks for all nodes: what is behind it waits as first come, first served has it."""
    schedule = recorded([(0, 0, 10, 6, "a"), (1, 10, 1, 10, "b"), (2, 11, 1, 1, "c")])
    waits = idle_waits(schedule)
    assert waits["waited"].sum() == 9 * 10 + 9 == waits.to_numpy().sum()


def test_the_first_sign_that_holds_is_the_likely_cause():
    """A full partition, a user with other jobs, a standstill of hours."""
    jobs = [(0, 0, 10, 4, "a"), (1, 10, 1, 4, "b"), (2, 2, 9, 1, "c"), (3, 5, 1, 1, "c")]
    schedule = recorded(jobs)
    table = schedule.workload.jobs.assign(partition=["one", "one", "two", "two"])
    waits = idle_waits(Schedule.recorded(Workload(table, "log", System.of(10))))
    assert waits["partition"].sum() == 9 * 4 and waits["user"].sum() == 2
    many = [(0, hour / 10, 1, 1, "a") for hour in range(100)] + [(10, 90, 1, 1, "b")]
    still = idle_waits(recorded(many, nodes=50))
    assert still["standstill"].sum() == pytest.approx(80, abs=0.2)


def test_a_closure_explains_waits_within_it_and_those_of_jobs_that_would_cross_its_begin():
    """Closed from hour 10 to 20, known from 2: the request of b would cross hour 10."""
    jobs = [(0, 0, 10, 6, "a"), (4, 20, 1, 2, "b"), (12, 20, 1, 1, "c"), (20, 21, 1, 1, "d")]
    table = recorded(jobs).workload.jobs.assign(requested_time=7 * HOUR)
    schedule = Schedule.recorded(Workload(table, "log", System.of(10)))
    windows = pd.DataFrame({"start": [10 * HOUR], "end": [20 * HOUR], "known_from": [2 * HOUR]})
    waits = idle_waits(schedule, windows=windows).sum()
    assert waits["closure"] == 2 * 16 + 8 and waits[list(CAUSES)].sum() == 2 * 16 + 8 + 1
    unannounced = idle_waits(schedule, windows=windows.assign(known_from=10 * HOUR)).sum()
    assert unannounced["closure"] == 2 * 10 + 8
    assert unannounced[list(CAUSES)].sum() == 2 * 16 + 8 + 1
    assert idle_waits(schedule)["closure"].sum() == 0


def test_waits_by_weekday_and_hour_need_a_calendar():
    jobs = [(0, 3, 1, 1, "a"), (0, 1, 1, 1, "a"), (25, 25, 1, 1, "a")]
    assert waits_by_hour(recorded(jobs)).empty
    monday = pd.Timestamp("2024-01-01 09:00")
    table = waits_by_hour(recorded(sorted(jobs), began=monday))
    assert table.loc["Mon", 9] == 2 and table.loc["Tue", 10] == 0
    assert table.notna().to_numpy().sum() == 2


def test_an_interval_of_equal_weeks_has_no_width():
    at = np.arange(10) * WEEK
    equal = interval_of(at, np.full(10, 3.0), np.ones(10))
    assert equal.text(str) == " (3.0)"
    assert equal.basis == "The interval holds 95 % of 1,000 redraws of all 10 weeks."
    low, high, _ = interval_of(at, np.arange(10.0), np.ones(10))
    assert low < 4.5 < high
    none = interval_of([0.0, HOUR], [1, 1], [1, 1])
    assert none.text(str) == "" and none.basis == "No interval: the log has under 8 days."


def test_the_interval_of_the_mean_wait_does_not_depend_on_when_the_log_begins():
    """Twelve weeks, each with waits an hour longer than the one before."""
    jobs = [(hour, hour + hour // 168, 1, 1, "a") for hour in range(0, 12 * 168, 6)]
    later = [(at + 300, start + 300, *job) for at, start, *job in jobs]
    first, second = (
        wait_interval(open_log(recorded(each).workload, budget=1)) for each in (jobs, later)
    )
    assert first == second and 0 < first.low < first.high


def test_an_interval_of_a_median_is_that_of_logs_drawn_anew_one_by_one():
    random = np.random.default_rng(0)
    at, values = np.sort(random.uniform(0, 12 * WEEK, 300)), random.exponential(1, 300)
    found = interval_of_median(at, values, seed=3)
    blocks = [values[at // WEEK == week] for week in range(12)]
    drawn = np.random.default_rng(3).integers(0, 12, (1000, 12))
    medians = [np.quantile(np.concatenate([blocks[b] for b in row]), 0.5) for row in drawn]
    assert found[:2] == pytest.approx(np.quantile(medians, [0.025, 0.975]), rel=0.03)
    assert found.low <= np.median(values) <= found.high


def test_an_interval_contains_the_value_of_the_log_itself():
    """One week of 100 has all: it is drawn less than once in a third of the logs drawn anew."""
    own, redrawn = 5.0, np.linspace(0, 1, 50)
    low, high, _ = interval_around(own, redrawn, 50, "week")
    assert low < 1 and high == own


def test_waits_under_two_minutes_are_no_waiting():
    """One scheduler cycle for all jobs; the last waits for an hour on an idle machine."""
    jobs = [(hour, hour + 1 / 60, 0.1, 1, "a") for hour in range(20)] + [(20, 21, 1, 1, "b")]
    waits = idle_waits(recorded(jobs))
    assert waits["waited"].sum() == waits[list(CAUSES)].to_numpy().sum() == pytest.approx(1)
    section = waits_section(open_log(recorded(jobs[:-1]).workload, budget=1))
    assert section.findings[-1] == "No job waits 2 min or longer."


def test_what_the_record_does_not_explain_is_no_hold_and_no_reservation():
    jobs = [(0, 0, 10, 6, "a"), (1, 6, 1, 2, "b"), (2, 10, 1, 8, "c")]
    section = waits_section(open_log(recorded(jobs).workload, budget=1))
    assert section.findings[-1] == "For 100 % of such waiting the record shows no cause."
    assert "reservation, or" not in str(section)
