"""Weeks, waits by group, windows and their blocks, in closed form."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.report import waits_by, weekly_use, window_blocks, window_name
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


def test_blocks_are_cut_at_the_window_and_go_on_above_a_machine_that_is_overrun():
    schedule = recorded([(0, 0, 48, 2, "a"), (1, 24, 2, 2, "b"), (2, 30, 1, 1, "c")], nodes=2)
    blocks = window_blocks(schedule, DAY, 2 * DAY)
    assert blocks["start"].tolist() == [DAY, DAY, 30 * HOUR]
    assert blocks["end"].tolist() == [2 * DAY, 26 * HOUR, 31 * HOUR]
    assert blocks["node"].tolist() == [0, 2, 2] and blocks["user"].tolist()[1] == "user b"
    assert window_blocks(schedule, DAY, 2 * DAY, most=1)["job"].tolist() == [0]
