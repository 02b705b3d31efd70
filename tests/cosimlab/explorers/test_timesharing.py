"""The explorer of time-sharing without a browser: the figure shows what the simulators say."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from cosimlab import timesharing as batches
from cosimlab import twins
from cosimlab.explorers import explore_timesharing
from cosimlab.explorers.timesharing import _around
from cosimlab.figures.timesharing_moment import BANDS, plot_sharing
from cosimlab.timesharing import simulate_batch, with_node_memory
from cosimlib import synthetic, timesharing
from cosimlib.audit import audit
from cosimlib.metrics import busy_stretch, offered_load
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing

DAY, HOUR = 86_400.0, 3_600.0
SMALL = twins.edison(2, nodes=20, load=0.89)
SOURCE = synthetic.lublin(80, nodes=32, load=0.9, seed=3)


def simulated(settings, made=SMALL, **more):
    """Both schedules that the controls ask for, made without them."""
    machine = made.machine
    workload = with_node_memory(made, memory_per_node=machine.memory_per_node)
    if abs(settings["load"] - offered_load(workload, machine)) > 0.005:
        workload = synthetic.with_offered_load(workload, machine.total_nodes, load=settings["load"])
    knobs = {name: settings[name] for name in ("noise", "spmd", "seed")}
    shared = simulate_timesharing(workload, machine, overhead=settings["overhead"], **knobs, **more)
    return audit(shared), simulate_batch(workload, machine, **knobs)


def slowdown(schedule):
    """Turnaround over run time, none below 10 s: no ratio below 1."""
    jobs = schedule.jobs
    assert jobs["run_time"].min() >= 10
    return (jobs["turnaround_time"] / jobs["run_time"]).clip(lower=1).to_numpy()


def assert_shows(panel, made=SMALL):
    """Figure, title and text are those of both schedules that the controls ask for."""
    at = panel.settings["at"]
    shared, batch = simulated(panel.settings, made, sample=_around(at))
    means, medians = ([f(slowdown(s)) for s in (shared, batch)] for f in (np.mean, np.median))
    title = f"{shared.policy}: mean slowdown {means[0]:,.2f}; {batch.policy}: {means[1]:,.2f}"
    assert_alike(panel, plot_sharing(shared, batch, at=at, title=title))
    assert panel.figure.layout.title.text == title
    text = panel.text.value
    named = html.escape(shared.workload.name, quote=False)
    assert text.startswith(f"{named}, {len(shared.workload):,} jobs · time-sharing:")
    found = re.findall(r"slowdown ([\d,.]+) \(median\), ([\d,.]+) \(mean\), utilization", text)
    assert found == [(f"{b:,.2f}", f"{a:,.2f}") for a, b in zip(means, medians, strict=True)]
    late = [(s.jobs["wait_time"] > 0).sum() for s in (shared, batch)]
    assert f", {late[0]:,} jobs had to wait for memory · batch: " in text
    assert f", {late[1]:,} jobs had to wait for nodes · utilization is of the hours" in text


def assert_alike(panel, picture):
    """The panel's curves, areas and ratios are those of a figure."""
    for live, wanted in zip(panel.figure.data, picture.data, strict=True):
        if live.type == "heatmap":  # JSON knows no NaN, and it is sent to a widget as JSON
            assert np.array_equal(live.text, wanted.text) and np.array_equal(live.z, wanted.z)
            json.dumps(live.customdata.tolist(), allow_nan=False)
            continue
        assert live.name == wanted.name
        for one, other in ((live.x, wanted.x), (live.y, wanted.y)):
            np.testing.assert_allclose(np.array(one), np.array(other), atol=1.1e-4)


def test_it_opens_with_what_is_asked_for():
    asked = {"load": 0.8, "overhead": 0.05, "noise": 0.01, "spmd": False, "seed": 3}
    made = twins.edison(2, nodes=20, load=0.8, memory_spread="tenth", seed=3)
    panel = explore_timesharing(made, at=100_000.0, **asked)
    days = {"period": panel.settings["period"]}
    assert panel.settings == {**asked, **days, "at": 100_000.0}
    assert_shows(panel, made)
    assert repr(panel).startswith("time-sharing (overhead 5.0 %, not SPMD, noise): mean slowdown")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("load", [0.5, 1.2]),
        ("overhead", [0.1, 0.3]),
        ("noise", [0.005, 0.01]),
        ("spmd", [False, True]),
        ("seed", [1, 7]),
        ("at", [0.0, 144_000.0]),
    ],
)
def test_every_knob_shows_what_the_simulators_say(name, values):
    made = twins.edison(2, nodes=20, load=1.5 if name == "spmd" else 0.95)
    panel = explore_timesharing(made, jobs=2000, noise=0.008 * (name in ("noise", "seed")))
    seen = {tuple(panel.figure.data[0].y), panel.text.value}
    for value in values:
        panel.controls[name].value = value
        assert panel.settings[name] == value
        assert_shows(panel, made)
        seen |= {tuple(panel.figure.data[0].y), panel.text.value}
    assert len(seen) > 2


def test_without_a_moment_it_opens_in_the_most_crowded_hour():
    panel = explore_timesharing(SMALL)
    shared, _ = simulated(panel.settings)
    hour = int(panel.settings["at"] / HOUR)
    assert panel.settings["at"] == (hour + 0.5) * HOUR
    crowd = shared.series["cpu_load"]
    assert crowd.loc[hour * HOUR] == crowd.loc[: panel.controls["at"].max].max()


def test_a_draw_simulates_what_can_differ_once(monkeypatch):
    """Batch knows no overhead."""
    ran = []

    def counted(simulate):
        def run(*args, **knobs):
            ran.append(simulate.__name__)
            return simulate(*args, **knobs)

        return run

    both = ["simulate_timesharing", "simulate_batch"]
    for module, name in zip((timesharing, batches), both, strict=True):
        monkeypatch.setattr(module, name, counted(getattr(module, name)))
    panel = explore_timesharing(SMALL)
    for name, value, expected in (
        ("at", 72_000.0, both[:1]),
        ("overhead", 0.1, both[:1]),
        ("noise", 0.01, both),
        ("noise", 0.0, []),
        ("at", 75_600.0, both[:1]),
        ("seed", 1, both),
        ("spmd", False, both),
        ("load", 0.5, both),
    ):
        ran.clear()
        panel.controls[name].value = value
        assert ran == expected, name
    assert_shows(panel)


def test_jobs_that_wait_for_memory_are_told():
    made = twins.edison(3, nodes=16, load=1.5, memory_spread="UniLu-Gaia")
    panel = explore_timesharing(made, jobs=len(made))
    shared, _ = simulated(panel.settings, made)
    told = []
    for job in np.flatnonzero(shared.jobs["wait_time"] > 600):
        moment = (shared.start_time[job] + shared.end_time[job]) / 2
        if moment <= 3 * DAY:
            panel.controls["at"].value = moment
            names = [band.name for band in panel.figure.data[:BANDS]]
            told += [name for name in names if name.startswith(f"job {job}, ")]
            if told:
                break
    assert re.search(r", waited [1-9]\d+ min$", told[0])
    assert_shows(panel, made)


def test_a_log_is_simulated_on_its_machine_or_another():
    """The shares are those sampled in every step; load stretches the log and its span."""
    log = replace(SOURCE, jobs=SOURCE.jobs.assign(memory=4.0))
    panel = explore_timesharing(log, jobs=50, overhead=0.1)
    assert panel.settings["load"] == offered_load(busy_stretch(log, 50), log.machine)
    assert panel.controls["seed"].disabled
    assert "A node's memory is assumed to be 8 GB, twice what 99 %" in panel.notes.value
    workload = with_node_memory(busy_stretch(log, 50))
    at = panel.settings["at"]
    shared = simulate_timesharing(workload, workload.machine, overhead=0.1, sample=_around(at))
    batch = simulate_batch(workload, workload.machine)
    assert_alike(panel, plot_sharing(shared, batch, at=at, title=""))
    longest = panel.controls["at"].max
    panel.controls["load"].value = panel.settings["load"] / 2
    assert panel.controls["at"].max == pytest.approx(2 * longest, rel=0.2)
    panel.controls["noise"].value = panel.controls["noise"].max
    assert not panel.controls["seed"].disabled
    panel.controls["seed"].value = 3
    assert "noise" in repr(panel)


def test_a_machine_for_a_log_is_given_derived_or_resized():
    bare = replace(SOURCE, machine=None)
    given = explore_timesharing(bare, System.of(40))
    assert given.settings["load"] == pytest.approx(offered_load(SOURCE, System.of(40)))
    assert "counts as nothing" in given.notes.value
    assert "11 nodes are assumed" in explore_timesharing(bare).notes.value
    some = explore_timesharing(SOURCE, System.of(2))
    assert "wider than its machine are left out" in some.notes.value


@pytest.mark.compiled("a week needs compiled kernels")
def test_the_picture_of_a_week_on_64_nodes_stays_light():
    panel = explore_timesharing()
    assert len(panel.picture.to_json()) < 100_000
    panel.controls["noise"].value = 0.01
    assert len(panel.picture.to_json()) < 400_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"noise": 1.1}, r"noise=1\.1; expected a number from 0 to 0\.01"),
        ({"at": -1}, r"at=-1; expected a number from 0 to [\d,]+"),
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        explore_timesharing(SMALL, **wrong)
