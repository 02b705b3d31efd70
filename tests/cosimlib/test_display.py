"""Objects show themselves: a few lines as text and as HTML, one line in a list, never an error."""

import functools
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlab.sweep import bar_options
from cosimlib.coscheduling import MACHINES, deadlock_example
from cosimlib.display import count, duration, durations, percent, quantity
from cosimlib.eviction import EvictionSpectrum


def workload(n: int = 3, **columns) -> cs.Workload:
    """`n` jobs of two nodes, an hour each, submitted at once."""
    jobs = {"submit_time": 0.0, "run_time": 3600.0, "requested_time": 7200.0, "nodes": 2, **columns}
    return cs.Workload(pd.DataFrame(jobs, index=range(n)), "three jobs")


def problem(**changes) -> cs.EvictionProblem:
    table = pd.DataFrame(
        {"nodes": [4, 2], "loss": [8.0, 1.0], "app_time": [120.0, 60.0], "sys_time": [300.0, 300.0]}
    )
    return cs.EvictionProblem(**{"jobs": table, "nodes_needed": 5, "horizon": 600.0, **changes})


PREEMPTIONS = pd.DataFrame({"time": [600.0], "nodes": [3], "duration": [60.0]})
SHOWN = {
    "workload": workload,
    "no jobs": lambda: workload(0),
    "no requests": lambda: workload(requested_time=np.nan),
    "system": lambda: cs.System.of(512),
    "coupled systems": lambda: cs.System.of(big=512, small=16),
    "schedule": lambda: cs.simulate_fcfs(workload(), cs.System.of(4)),
    "schedule of no jobs": lambda: cs.simulate_fcfs(workload(0), cs.System.of(4)),
    "schedule of no start": lambda: replace(
        shown("schedule"), start_time=shown("schedule").start_time * np.nan
    ),
    "schedule with a start too few": lambda: replace(shown("schedule"), start_time=np.zeros(2)),
    "shared nodes": lambda: cs.simulate_timesharing(
        workload(memory=1.0), cs.System("shared", {"main": 4})
    ),
    "filled": lambda: cs.simulate_filling(workload(), cs.System.of(4)),
    "elastic": lambda: cs.simulate_elastic(workload(), cs.System.of(4), preemptions=PREEMPTIONS),
    "problem": problem,
    "plan": lambda: cs.solve_dynamic(problem()),
    "plan at once": lambda: cs.solve_greedy(problem(horizon=0.0)),
    "spectrum": lambda: cs.solve_spectrum(problem()),
}


@functools.cache
def shown(name: str):
    """One of the things that show themselves."""
    return SHOWN[name]()


class Text(HTMLParser):
    """The text of a page, and whether every element ends."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize("name", SHOWN)
def test_a_summary_has_a_few_lines_without_nan_html_says_the_same_and_a_list_is_short(name):
    thing = shown(name)
    text = str(thing)
    assert text.startswith(type(thing).__name__ + " ")
    assert 3 <= len(text.splitlines()) <= 6
    assert max(map(len, text.splitlines())) <= 120
    assert not re.search(r"\b(nan|NaN|inf|None)\b", text)
    page = Text()
    page.feed(thing._repr_html_())
    assert not page.open
    assert re.sub(r"\s", "", "".join(page.words)) == re.sub(r"\s", "", text)
    listed = repr([thing])
    assert len(listed) < 120 and "\n" not in listed


def test_a_schedule_tells_policy_data_jobs_system_and_what_papers_compare():
    """Two jobs fit at once, the third waits an hour: (0 + 0 + 1 h) / 3, slowdowns 1, 1 and 2."""
    assert str(shown("schedule")).splitlines() == [
        "Schedule FCFS, three jobs: 3 jobs on 4 nodes",
        "  utilization    75.0 % of 2 h",
        "  mean wait      20 min",
        "  mean slowdown  1.3 (bounded, 10 s)",
    ]


def test_a_deadlock_is_told():
    example = deadlock_example()
    schedule = cs.simulate_coscheduling(example, MACHINES, release_interval=None)
    assert re.search(rf"never started +{len(schedule.stuck)} jobs", str(schedule))
    assert re.search(r"also held +hold [\d.]+ node-hours", str(schedule))


def test_nodes_held_idle_and_containers_are_told():
    """One job of 2 of 4 nodes runs an hour: containers fill the rest."""
    filled = cs.simulate_filling(workload(1), cs.System.of(4))
    assert re.search(r"also held +container [\d.]+ node-hours", str(filled))


def test_what_killed_runs_held_is_told():
    """Two jobs of two nodes lose them after ten minutes and a grace period of two."""
    assert shown("elastic").kills == 2
    assert re.search(r"also held +killed 0\.8 node-hours", str(shown("elastic")))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (percent(0.83412), "83.4 %"),
        (percent(1), "100 %"),
        (percent(0.5, 0), "50 %"),
        (percent(0.07512, 1, signed=True), "+7.5 %"),
        (percent(-0.829, 1, signed=True), "−82.9 %"),
        (percent(12.345), "1,230 %"),
        (percent(-1e-5, 1), "0.0 %"),
        (percent(1e-7), "0.00001 %"),
        (percent(-0.25), "−25 %"),
        (percent(float("nan"), 1), "unknown"),
    ],
)
def test_shares_are_told_in_per_cent(text, told):
    assert text == told


def test_unknown_is_the_word_for_what_is_not_there():
    assert re.search(r"utilization +unknown$", str(shown("schedule of no jobs")), re.M)
    assert re.search(r"requested +unknown$", str(shown("no requests")), re.M)
    assert re.search(r"per node +1 core, memory unknown$", str(cs.System.of(4)), re.M)


def test_an_account_is_told_drops_first():
    told = workload(5).noted("noted", "run time 0", 900).keep(np.arange(5) > 1, "too wide")
    assert "account    dropped 2 (too wide); noted 900 (run time 0)" in str(told)
    more = told.noted("mended", "a", 1).noted("mended", "b", 2)
    assert "dropped 2 (too wide); mended 2 (b); and 2 more" in str(more)
    assert "account" not in str(workload())


def test_html_is_escaped():
    shown = cs.Workload(workload().jobs, "<script>alert(1)</script> & co")._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "&amp; co" in shown


def test_a_plan_tells_the_loss_at_once_and_at_the_last_deadline():
    text = str(shown("plan"))
    assert "at once         9.00 node-hours lost, 6 nodes freed (2 kill, 0 app, 0 sys)" in text
    assert "within 10 min   0.00 node-hours lost, 6 nodes freed (0 kill, 2 app, 0 sys)" in text
    assert isinstance(shown("spectrum"), EvictionSpectrum)
    assert "up to 6 nodes" in str(shown("spectrum"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.2 s"),
        (59, "59 s"),
        (90, "1.5 min"),
        (3600, "1 h"),
        (86_400, "24 h"),
        (2 * 86_400, "2 days"),
        (1e9, "11,574.1 days"),
        (np.nan, "unknown"),
        (np.inf, "unknown"),
    ],
)
def test_durations_are_told_in_the_unit_that_suits_them(seconds, text):
    assert duration(seconds) == text


def test_quantities_and_counts():
    assert quantity(1234.56, "GB") == "1,234.6 GB"
    assert quantity(np.nan, "GB") == "unknown"
    assert (count(1, "job"), count(28_475, "job")) == ("1 job", "28,475 jobs")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        ((159_120.0, 12_960.0, 345_600.0), ["44.2 h", "3.6 h", "96 h"]),
        ((7_200.0, 30.0, -90_000.0), ["2 h", "0.0083 h", "−25 h"]),
        ((0.0, -60.0, 90.0), ["0 min", "−1 min", "1.5 min"]),
        ((np.nan, 0.5, np.inf), ["unknown", "0.5 s", "unknown"]),
        ((86_400.0 * 30, 86_400.0 * 2_000), ["30 days", "2,000 days"]),
    ],
)
def test_durations_that_belong_together_have_one_unit(seconds, told):
    assert durations(*seconds) == told


def stream(terminal: bool, module: str = "io") -> object:
    """An error stream of a terminal or not, whose class is of a module."""
    return type("Stream", (), {"isatty": lambda _: terminal, "__module__": module})()


@pytest.mark.parametrize(
    ("errors", "options"),
    [
        (stream(terminal=True), {}),
        (stream(terminal=False, module="ipykernel.iostream"), {}),
        (stream(terminal=False), {"disable": True}),
        (None, {"disable": True}),
    ],
    ids=["terminal", "notebook", "pipe", "none"],
)
def test_bars_of_progress_are_for_terminals_and_notebooks(errors, options, monkeypatch):
    monkeypatch.setattr("sys.stderr", errors)
    assert bar_options() == options
