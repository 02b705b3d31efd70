"""The explorer of time-sharing without a browser: the figure shows what the simulators say."""

import html
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from cosimlib import synthetic, timesharing
from cosimlib.audit import audit
from cosimlib.explorers import explore_timesharing
from cosimlib.explorers.timesharing import _around
from cosimlib.figures.timesharing_moment import BANDS, plot_sharing
from cosimlib.metrics import busy_stretch, offered_load
from cosimlib.synthetic import EDISON
from cosimlib.system import System
from cosimlib.timesharing import simulate_batch, simulate_timesharing, with_node_memory

DAY, HOUR = 86_400.0, 3_600.0
SMALL = {"days": 2, "nodes": 20}
SOURCE = synthetic.lublin(80, nodes=32, load=0.9, seed=3)
LENGTHS = (10, 60, 600, 3_600, 14_400, 57_600, math.inf)


def simulated(settings, *, days=2, nodes=20, load=0.89, memory_spread="longest", seed=0, **more):
    """Both schedules that the controls ask for, made without them."""
    made = synthetic.edison(days, nodes=nodes, load=load, memory_spread=memory_spread, seed=seed)
    machine = EDISON.with_nodes(nodes)
    workload = with_node_memory(made, memory_per_node=machine.memory_per_node)
    if abs(settings["load"] - offered_load(workload, machine)) > 0.005:
        workload = synthetic.with_offered_load(workload, nodes, load=settings["load"])
    knobs = {name: settings[name] for name in ("noise", "spmd", "seed")}
    shared = simulate_timesharing(workload, machine, overhead=settings["overhead"], **knobs, **more)
    return audit(shared), simulate_batch(workload, machine, **knobs)


def slowdown(schedule):
    """Turnaround over run time, none below 10 s: no ratio below 1."""
    jobs = schedule.jobs
    assert jobs["run_time"].min() >= 10
    return (jobs["turnaround_time"] / jobs["run_time"]).clip(lower=1).to_numpy()


def assert_shows(panel, **machine):
    settings = panel.settings
    shared, batch = simulated(settings, **machine)
    *bands, loaded, held, waiting, queued, ratios = panel.figure.data
    assert_shares(panel, bands, shared, settings, machine)
    for line, schedule in ((loaded, shared), (held, batch), (waiting, shared), (queued, batch)):
        assert line.name == ("batch" if schedule is batch else "time-sharing")
    assert_crowds(shared, loaded, waiting)
    assert_crowds(batch, held, queued)
    assert_ratios(ratios, shared, batch)
    means, medians = ([f(slowdown(s)) for s in (shared, batch)] for f in (np.mean, np.median))
    assert panel.figure.layout.title.text == (
        f"{shared.policy}: mean slowdown {means[0]:,.2f}; {batch.policy}: {means[1]:,.2f}"
    )
    text = panel.text.value
    named = html.escape(shared.workload.name, quote=False)
    assert text.startswith(f"{named}, {len(shared.workload):,} jobs · time-sharing:")
    found = re.findall(r"slowdown ([\d,.]+) \(median\), ([\d,.]+) \(mean\), utilization", text)
    assert found == [(f"{b:,.2f}", f"{a:,.2f}") for a, b in zip(means, medians, strict=True)]
    late = [(s.jobs["wait_time"] > 0).sum() for s in (shared, batch)]
    assert f", {late[0]:,} jobs wait for memory · batch: " in text
    assert f", {late[1]:,} jobs wait for nodes · utilization is of the hours" in text


def assert_shares(panel, bands, shared, settings, machine):
    """Between its steps every area is as high as the share sampled there; no node has more jobs."""
    at = settings["at"]
    there = np.flatnonzero((shared.start_time <= at) & (at < shared.end_time))
    title = panel.figure.layout.annotations[0].text
    node = int(re.match(r"Shares on node (\d+), the most crowded<br>at hour", title)[1])
    meeting = [job for job in there if node in shared.nodes_of(job)]
    crowds = [sum(n in shared.nodes_of(job) for job in there)
              for n in range(shared.system.total_nodes)]  # fmt: skip
    assert len(meeting) == max(crowds) and node in np.flatnonzero(np.array(crowds) == max(crowds))
    drawn = [int(re.match(r"job (\d+), ", band.name)[1]) for band in bands[:BANDS] if band.name]
    assert set(drawn) <= set(meeting) and len(drawn) == min(BANDS, len(meeting))
    hours = np.array(bands[-1].x, float)
    assert hours[-1] - hours[0] == pytest.approx(6, abs=0.01)
    assert hours[0] == pytest.approx(max(0, at / HOUR - 3), abs=0.01)
    # A step's hour is rounded to 0.36 s: look at the second before the next one.
    moments = np.append(hours[1:] * HOUR - 1, at)
    sampled = simulated(settings, **machine, sample=moments)[0].shares
    others = [job for job in sampled if node in shared.nodes_of(job) and job not in drawn]
    for moment, place in zip(moments, [*range(len(moments) - 1), None], strict=True):
        place = np.searchsorted(hours * HOUR - 0.4, moment, "right") - 1 if place is None else place
        row = sampled.loc[moment]
        for job, band in zip(drawn, bands, strict=False):
            assert band.y[place] == pytest.approx(row.get(job, 0.0), abs=1e-4)
        assert bands[-1].y[place] == pytest.approx(row[others].sum(), abs=1e-4)
    (limit,) = [s.y0 for s in panel.figure.layout.shapes if s.y0 == s.y1] or [None]
    assert limit == (1 - settings["overhead"] if settings["spmd"] else None)
    height = np.sum([band.y for band in bands if len(band.y)], axis=0).max()
    assert panel.figure.layout.yaxis.range[1] > height
    assert not settings["spmd"] or height <= limit + 1e-3
    for job, band in zip(drawn, bands, strict=False):
        waited = shared.jobs["wait_time"][job] / 60
        size, share = shared.jobs["nodes"][job], sampled.loc[at, job]
        assert band.name == (
            f"job {job}, {size} node{'s' if size > 1 else ''}: {share:.2f}"
            + (f", waited {waited:,.0f} min" if waited else "")
        )


def assert_crowds(schedule, loaded, waiting):
    """Means over some hours: who held nodes, and who waited, in them."""
    jobs = schedule.jobs
    for line, begin, end, weight, scale in (
        (loaded, "start_time", "end_time", jobs["nodes"], schedule.system.total_nodes),
        (waiting, "submit_time", "start_time", 1, 1),
    ):
        assert len(line.x) > 30 and line.x[0] == 0 and line.x[1] == 1
        for place in range(3, len(line.x) - 1, 7):
            first, last = line.x[place] * HOUR, line.x[place + 1] * HOUR
            inside = jobs[end].clip(upper=last) - jobs[begin].clip(lower=first)
            mean = (inside.clip(lower=0) * weight).sum() / HOUR / scale
            assert line.y[place] == pytest.approx(mean, abs=6e-4)


def assert_ratios(heat, shared, batch):
    """Every cell's ratio is that of the two means over its jobs."""
    jobs = shared.workload.jobs
    pair = slowdown(batch), slowdown(shared)
    counted = 0
    for row, label in enumerate(heat.y):
        low = int(label.split("–")[0])
        for column in range(6):
            inside = (
                (jobs["nodes"] >= low) & (jobs["nodes"] < 2 * low)
                & (jobs["run_time"] >= LENGTHS[column])
                & (jobs["run_time"] < LENGTHS[column + 1])
            ).to_numpy()  # fmt: skip
            counted += inside.sum()
            if not inside.any():
                assert heat.z[row][column] is None and heat.text[row][column] == ""
                continue
            means = [values[inside].mean() for values in pair]
            assert heat.z[row][column] == pytest.approx(np.log10(means[0] / means[1]), abs=6e-4)
            assert heat.customdata[row][column][0] == inside.sum()
            told = float(heat.text[row][column].replace(",", ""))
            assert told == pytest.approx(means[0] / means[1], rel=0.06)
    assert counted == len(jobs)
    assert_a_browser_can_read(heat)


def assert_a_browser_can_read(heat):
    """JSON knows no NaN, and what has two dimensions is sent to a widget as JSON."""
    for name in ("z", "customdata"):
        json.dumps(np.asarray(heat[name]).tolist(), allow_nan=False)


def test_it_opens_with_what_is_asked_for():
    asked = {"load": 0.8, "overhead": 0.05, "noise": 0.01, "spmd": False, "seed": 3}
    panel = explore_timesharing(days=2, nodes=20, at=100_000.0, memory_spread="tenth", **asked)
    days = {"period": panel.settings["period"]}
    assert panel.settings == {**asked, **days, "at": 100_000.0}
    assert_shows(panel, load=0.8, memory_spread="tenth", seed=3)
    assert repr(panel).startswith("time-sharing (overhead 5.0 %, not SPMD, noise): mean slowdown")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("load", [0.5, 1.2]),
        ("overhead", [0.1, 0.3]),
        ("noise", [0.02, 0.05]),
        ("spmd", [False, True]),
        ("seed", [1, 7]),
        ("at", [0.0, 144_000.0]),
    ],
)
def test_every_knob_shows_what_the_simulators_say(name, values):
    load = 1.5 if name == "spmd" else 0.95
    panel = explore_timesharing(load=load, noise=0.05 * (name in ("noise", "seed")), **SMALL)
    seen = {tuple(panel.figure.data[0].y), panel.text.value}
    for value in values:
        panel.controls[name].value = value
        assert panel.settings[name] == value
        assert_shows(panel, load=load)
        seen |= {tuple(panel.figure.data[0].y), panel.text.value}
    assert len(seen) > 2


def test_without_a_moment_it_opens_in_the_most_crowded_hour():
    panel = explore_timesharing(**SMALL)
    shared, _ = simulated(panel.settings)
    hour = int(panel.settings["at"] / HOUR)
    assert panel.settings["at"] == (hour + 0.5) * HOUR
    crowd = shared.series["cpu_load"]
    assert crowd.loc[hour * HOUR] == crowd.loc[: panel.controls["at"].max].max()


def test_a_draw_simulates_what_can_differ_once(monkeypatch):
    """Without noise a second run writes the shares down; batch knows no overhead."""
    ran = []

    def counted(simulate):
        def run(*args, **knobs):
            ran.append(simulate.__name__)
            return simulate(*args, **knobs)

        return run

    both = ["simulate_timesharing", "simulate_batch"]
    twice = 2 * both[:1]
    for name in both:
        monkeypatch.setattr(timesharing, name, counted(getattr(timesharing, name)))
    panel = explore_timesharing(**SMALL)
    for name, value, expected in (
        ("at", 72_000.0, both[:1]), ("overhead", 0.1, twice), ("noise", 0.01, both),
        ("noise", 0.0, []), ("at", 75_600.0, both[:1]), ("seed", 1, [*twice, both[1]]),
        ("spmd", False, [*twice, both[1]]), ("load", 0.5, [*twice, both[1]]),
    ):  # fmt: skip
        ran.clear()
        panel.controls[name].value = value
        assert ran == expected, name
    assert_shows(panel)


def test_jobs_that_wait_for_memory_are_told():
    machine = {"days": 3, "nodes": 16, "load": 1.5, "memory_spread": "UniLu-Gaia"}
    panel = explore_timesharing(**machine)
    shared, _ = simulated(panel.settings, **machine)
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
    assert_shows(panel, **machine)


def test_a_log_is_simulated_on_its_machine_or_another():
    """The shares are those sampled in every step; load stretches the log and its span."""
    log = replace(SOURCE, jobs=SOURCE.jobs.assign(memory=4.0))
    panel = explore_timesharing(log, jobs=50, overhead=0.1)
    assert panel.settings["load"] == offered_load(busy_stretch(log, 50), log.machine)
    assert panel.controls["seed"].disabled
    assert "A node's memory is supposed to be 8 GB, twice what 99 %" in panel.notes.value
    workload = with_node_memory(busy_stretch(log, 50))
    at = panel.settings["at"]
    shared = simulate_timesharing(workload, workload.machine, overhead=0.1, sample=_around(at))
    batch = simulate_batch(workload, workload.machine)
    drawn = plot_sharing(shared, batch, at=at, title="")
    for live, wanted in zip(panel.figure.data, drawn.data, strict=True):
        names = ("z", "text") if live.type == "heatmap" else ("x", "y", "name")
        assert all(np.array_equal(live[name], wanted[name]) for name in names)
    longest = panel.controls["at"].max
    panel.controls["load"].value = panel.settings["load"] / 2
    assert panel.controls["at"].max == pytest.approx(2 * longest, rel=0.2)
    panel.controls["noise"].value = panel.controls["noise"].max
    assert not panel.controls["seed"].disabled
    panel.controls["seed"].value = 3
    assert "noise" in repr(panel)


def test_a_machine_for_a_log_is_given_derived_or_resized():
    bare = replace(SOURCE, machine=None)
    given = explore_timesharing(bare, System.of(40), memory_per_node=2.0)
    assert given.settings["load"] == pytest.approx(offered_load(SOURCE, System.of(40)))
    assert "counts as nothing" in given.notes.value
    assert "supposed are 11 nodes" in explore_timesharing(bare).notes.value
    some = explore_timesharing(SOURCE, System.of(2))
    assert "wider than its machine are left out" in some.notes.value
    for wrong in ({"memory_spread": "tenth"}, {"nodes": 48}):
        with pytest.raises(ValueError, match="expected None: a log has its nodes and memory"):
            explore_timesharing(SOURCE, **wrong)


@pytest.mark.compiled("a week needs compiled kernels")
def test_the_picture_of_a_week_on_64_nodes_stays_light():
    panel = explore_timesharing()
    assert len(panel.picture.to_json()) < 100_000
    panel.controls["noise"].value = 0.02
    assert len(panel.picture.to_json()) < 400_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"days": 0}, "synthetic Edison: days=0; expected a number above 0"),
        ({"nodes": 8}, "synthetic Edison: nodes=8; expected a whole number from 16"),
        ({"memory_per_node": -1}, "memory_per_node=-1; expected GB above 0"),
        ({"overhead": 1}, "overhead=1; expected a number from 0 to 0.99"),
        ({"noise": 1.1}, r"noise=1\.1; expected a probability from 0 to 1"),
        ({"spmd": "no"}, "spmd='no'"),
        ({"at": -1}, r"at=-1; expected a number from 0 to [\d,]+"),
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        explore_timesharing(**{**SMALL, **wrong})
