"""Days of a log in the explorers: which are odd or busy or shown first, and what is taken."""

import re

import numpy as np
import pandas as pd
import pytest

from cosimlab.explorers import (
    explore_batch,
    explore_elastic,
    explore_eviction,
    explore_ondemand,
    explore_timesharing,
)
from cosimlab.explorers.timeline import Timeline
from cosimlab.palette import BLACK, VERMILION
from cosimlib.batch import simulate_easy
from cosimlib.metrics import offered_load
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

BEGAN = pd.Timestamp("2024-02-26 06:00", tz="Europe/Paris")
USED = (4, 9, 2, 14, 7, 9, 3)
"""Nodes held on each of seven days, of ten: the fourth is odd, the second and sixth are busy."""


def log(days=USED, *, starts=True, began=BEGAN) -> Workload:
    """A job of a node and half a day, twice a day, for each of so many nodes."""
    nodes = np.repeat(np.arange(len(days)), np.array(days))
    submit = np.sort(np.concatenate([DAY * nodes - 6 * HOUR, DAY * nodes + 6 * HOUR])) + 6 * HOUR
    jobs = pd.DataFrame({"submit_time": submit - submit.min(), "run_time": 12 * HOUR, "nodes": 1})
    jobs = jobs.assign(requested_time=12 * HOUR)
    if starts:
        jobs = jobs.assign(recorded_start=jobs["submit_time"])
    if began is not None:
        began = BEGAN - pd.Timedelta(6, "h")
    return Workload(jobs, "seven days", System.of(10), began=began)


def test_the_first_days_are_busy_and_not_beyond_the_machine():
    timeline = Timeline(log(), None, jobs=18)
    assert timeline.days == 7
    assert timeline.settings["period"] == (1, 1)
    (knob,) = timeline.knobs
    assert [knob.named(day) for day in (0, 1)] == ["2024-02-26", "2024-02-27"]
    assert timeline.part(timeline.settings).workload.jobs["submit_time"].between(DAY, 2 * DAY).all()
    drawing = timeline.drawing({"period": (1, 1)})
    assert "<b>2024-02-27</b>: 18 jobs of 96, use of the machine 90 %" in drawing
    assert drawing.count(VERMILION) == 2, "one odd day, and the legend"


def test_days_around_the_busy_one_are_taken_while_their_jobs_are_few_enough():
    assert Timeline(log(), None, jobs=26).settings["period"] == (1, 2)
    assert Timeline(log(), None, jobs=30).settings["period"] == (0, 2)
    assert Timeline(log(), None, jobs=96).settings["period"] == (0, 6)
    assert Timeline(log(), None, jobs=18, at=5.5 * DAY).settings["period"] == (5, 5)


def test_where_starts_are_unknown_days_are_compared_by_the_work_submitted():
    timeline = Timeline(log(starts=False, began=None), None, jobs=28)
    assert timeline.settings["period"] == (3, 3)
    drawing = timeline.drawing({"period": (3, 4)})
    assert "<b>day 3 to day 4</b>: 42 jobs of 96, offered load of these days 1.4" in drawing
    assert VERMILION not in drawing
    now = {"period": (0, 0)}
    assert timeline.schedule(now).policy == "EASY"
    assert "the starts shown are EASY's" in timeline.schedule_notes(now)[-1]


def test_a_schedule_is_shown_whole_and_one_day_needs_no_slider():
    schedule = simulate_easy(log(), System.of(20))
    assert Timeline(schedule, None, jobs=5).settings["period"] == (0, 6)
    one = log((4,))
    assert Timeline(one, None, jobs=5).knobs == [] and "period" not in explore_batch(one).settings


def test_jobs_of_the_days_chosen_are_simulated_and_the_load_is_their_own():
    panel = explore_batch(log(), jobs=18)
    assert panel.settings["period"] == (1, 1) and panel.settings["load"] == pytest.approx(
        offered_load(panel_jobs(1, 1), System.of(10))
    )
    panel.controls["period"].value = (2, 2)
    assert panel.settings["load"] == offered_load(panel_jobs(2, 2), System.of(10))
    assert "<b>2024-02-28</b>: 4 jobs" in panel.curve.value and "0 of 4 jobs" in panel.text.value
    panel.choose(period=(5, 6), load=0.9)
    assert panel.settings["load"] == 0.9 and panel.settings["period"] == (5, 6)


def panel_jobs(first, last) -> Workload:
    workload = log()
    day = workload.jobs["submit_time"] // DAY
    return workload.keep(day.between(first, last), "other days")


def test_days_without_waits_and_days_without_jobs_are_sentences():
    panel = explore_batch(log(), jobs=18)
    assert repr(panel).startswith("EASY, offered load ") and ": no job waits (" in repr(panel)
    gap = log((4, 0, 4))
    panel = explore_batch(gap, jobs=8)
    before = repr(panel)
    panel.controls["period"].value = (1, 1)
    assert panel.text.value == "no job is submitted from 2024-02-27; choose other days"
    assert repr(panel) == before
    panel.controls["period"].value = (2, 2)
    assert "8 jobs" in panel.curve.value and "no job is" not in panel.text.value


@pytest.mark.parametrize("explore", [explore_eviction, explore_elastic])
def test_moments_are_chosen_in_the_days_by_date(explore):
    panel = explore(log(), at=5.25 * DAY)
    panel.choose(period=(1, 2))
    at = panel.controls["at"]
    assert DAY <= at.min <= at.value <= at.max < 3 * DAY
    assert re.fullmatch(r"moment 02-2[78] \d\d:\d\d", at.description)
    assert panel.curve.value.count(BLACK) == 2


def test_time_sharing_and_bursts_follow_the_days():
    panel = explore_timesharing(log(), jobs=30)
    panel.controls["period"].value = (5, 5)
    assert panel.settings["load"] == offered_load(panel_jobs(5, 5), System.of(10))
    assert panel.controls["at"].description.startswith("moment 03-02 ")
    panel = explore_ondemand(log(), jobs=30)
    panel.choose(period=(4, 5))
    assert panel.controls["day"].max == 2 and panel.settings["day"] <= 2
    assert "day shown 03-0" in panel.controls["day"].description


def test_the_first_moment_is_full_and_has_many_jobs():
    """One job holds all 20 nodes on a day; on the next, 19 jobs hold 19 of them, then 4 hold 20."""
    wide = {"submit_time": 0.0, "run_time": DAY, "nodes": 20}
    many = [{"submit_time": DAY + HOUR, "run_time": 2 * HOUR, "nodes": 1} for _ in range(19)]
    few = [{"submit_time": DAY + 6 * HOUR, "run_time": 9 * HOUR, "nodes": 5} for _ in range(4)]
    jobs = pd.DataFrame([wide, *many, *few]).assign(requested_time=DAY)
    panel = explore_eviction(simulate_easy(Workload(jobs, "three kinds"), System.of(20)))
    assert panel.settings["at"] == DAY + 2 * HOUR
    assert "At the moment shown, 19 jobs run on 19 nodes." in panel.notes.value
    fewer = Workload(jobs.drop(index=1), "18 of 20 are not full")
    panel = explore_eviction(simulate_easy(fewer, System.of(20)))
    assert panel.settings["at"] == DAY + 10.5 * HOUR
    assert "At the moment shown, 4 jobs run on 20 nodes." in panel.notes.value
    only = Workload(jobs[:1], "one job")
    panel = explore_eviction(simulate_easy(only, System.of(20)))
    assert panel.settings["at"] == DAY / 2 and "1 job runs on 20 nodes" in panel.notes.value
