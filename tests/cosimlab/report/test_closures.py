"""Closures of a log in its report: said, shaded, named as a cause of waits, and replayed."""

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlab.report import (
    lending_section,
    log_section,
    open_log,
    policies_section,
    waits_section,
)
from cosimlab.report.nodes import lendable_nodes
from cosimlab.report.policies import replay
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload

MONDAYS = np.arange(5) * WEEK + DAY
CAPTION = "Windows in which the machine seems to have been closed"


@pytest.fixture(scope="module")
def mondays():
    """Five weeks under EASY on 16 nodes, closed on Monday mornings, which is known a day ahead."""
    random, n = np.random.default_rng(0), 500
    submit_time = np.sort(random.integers(0, 5 * WEEK, n)).astype(float)
    run_time = random.integers(HOUR, 8 * HOUR, n).astype(float)
    table = {"submit_time": submit_time, "run_time": run_time, "requested_time": 2 * run_time}
    jobs = pd.DataFrame(table | {"nodes": random.integers(1, 8, n)})
    plain = Workload(jobs, "Mondays", System.of(16), began=pd.Timestamp("2023-01-01"))
    windows = {"start": MONDAYS, "end": MONDAYS + 12 * HOUR, "known_from": MONDAYS - DAY}
    made = cs.simulate_easy(plain, System.of(16), calendar=cs.Calendar(windows))
    recorded = jobs.assign(recorded_start=made.start_time)
    return open_log(Workload(recorded, "Mondays", System.of(16), began=plain.began), budget=1)


def test_closed_mondays_are_said_listed_and_shaded(mondays):
    """A drain may already empty the machine: six windows, of which one ends before its Monday."""
    assert len(set(mondays.windows["end"]) & set(MONDAYS + 12 * HOUR)) == 5
    section = log_section(mondays)
    hours = section.tables[CAPTION]["hours"]
    assert len(hours) == 6 and hours.sum() >= 5 * 12
    (said,) = (each for each in section.findings if "closed in" in each)
    assert "closed in 6 windows" in said and f", {hours.sum():,.0f} h in all" in said
    assert "at most 2 % of the nodes" in section.computed[said]
    assert section.pictures[0].count('fill="#bbb"') == 6


def test_closures_are_a_cause_of_waits_while_nodes_were_idle(mondays):
    section = waits_section(mondays)
    causes = section.tables["node-hours waited while enough nodes were idle"]
    assert causes.index[0] == "a closed or closing machine"
    assert section.findings[3].startswith("Likely causes: 97.9 % a closed or closing machine; ")


def test_policies_keep_the_closures_of_the_log(mondays):
    section = policies_section(mondays)
    assert "in the 6 windows of the record" in section.how_to_read
    runs, _ = replay(mondays.workload, calendar=cs.Calendar(mondays.windows))
    assert [run.policy for run in runs] == ["FCFS", "EASY", "conservative", "EASY (sjbf)"]
    for start, end in mondays.windows[["start", "end"]].to_numpy():
        assert not any(((run.start_time >= start) & (run.start_time < end)).any() for run in runs)
    table = section.tables["All jobs of the log"]
    always_open = cs.simulate_easy(mondays.workload, mondays.machine).jobs["wait_time"].mean()
    assert table.loc["EASY", "mean wait (h)"] > always_open / HOUR
    assert table.loc["EASY", "rank correlation"] > 0.85


def test_without_requested_times_closures_are_said_and_not_replayed(mondays):
    jobs = mondays.workload.jobs.drop(columns="requested_time")
    log = open_log(Workload(jobs, "Mondays", mondays.machine), budget=1)
    said = " ".join(log_section(log).findings)
    assert "6 windows" in said and "ahead" not in said
    assert "closed" not in str(policies_section(log))


def test_a_closed_machine_lends_nothing(mondays):
    first, last = mondays.schedule.span
    table = lendable_nodes(mondays.schedule, first, last, windows=mondays.windows)
    every = lendable_nodes(mondays.schedule, first, last)
    closed = sum(end - start for start, end in mondays.windows[["start", "end"]].to_numpy())
    ratio = (every["mean"] - table["mean"])[0] / (16 * closed / (last - first))
    assert 0.95 < ratio < 1.2, "16 nodes of each closed hour, and of those that a window touches"
    section = lending_section(mondays)
    assert (
        "In the 6 windows of a closed machine nothing is lent"
        in section.computed[section.findings[0]]
    )


def test_a_machine_on_which_jobs_start_is_open():
    """Nodes of the last days idle while jobs wait, but for small ones that start and end."""
    small = [(40.0 + k, 40.0 + k, 0.1, 1) for k in range(12)]
    jobs = [(0, 0, 30, 16), (31, 60, 1, 16), *small, (61, 61, 1, 1)]
    columns = ["submit_time", "recorded_start", "run_time", "nodes"]
    table = pd.DataFrame(jobs, columns=columns)
    table[columns[:3]] *= HOUR
    table = table.sort_values("submit_time", ignore_index=True)
    quiet = table[table["run_time"] >= HOUR].reset_index(drop=True)
    assert len(open_log(Workload(quiet, "closed", System.of(64)), budget=1).windows) == 1
    assert not len(open_log(Workload(table, "open", System.of(64)), budget=1).windows)
