"""The explorer of on-demand bursts without a browser: the figure shows what the simulator says."""

import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cosimlab.explorers import explore_ondemand
from cosimlab.figures import gantt
from cosimlab.figures.use import ACTION_MARKS
from cosimlib import synthetic
from cosimlib.audit import audit
from cosimlib.metrics import busy_stretch
from cosimlib.ondemand import (
    LEDGER,
    POLICIES,
    Reserve,
    draw_bursts,
    ledger,
    measure,
    simulate_ondemand,
)
from cosimlib.ondemand.policies import NOTICES
from cosimlib.system import THETA, System
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload
from tests.cosimlab.explorers.redraws import redraws

JOBS = 150
USES = [use for use in LEDGER if use != "idle"]
SMALL = System("small", {"main": 32})
SOURCE = synthetic.with_estimates(synthetic.lublin(200, nodes=32, load=0.9, seed=4), seed=7)
SOURCE = Workload(SOURCE.jobs, "a source", SMALL)


def simulated(workload, system, settings):
    """What the controls ask for, without them."""
    nodes, seed = max(1, round(settings["size"] * system.total_nodes)), settings["seed"]
    asked = {name: settings[name] for name in ("rate", "run_time", "longest_delay")}
    bursts = draw_bursts(workload, seed=seed, nodes=nodes, notice=settings["announced"], **asked)
    return audit(
        simulate_ondemand(
            workload,
            replace(system, aggregate_bandwidth=settings["bandwidth"]),
            bursts,
            policy=Reserve(nodes) if settings["policy"] == "reserve" else settings["policy"],
            seed=seed,
            notice="ignore" if settings["announced"] == "none" else settings["notice"],
        )
    )


@cache
def made(seed=0) -> Workload:
    return synthetic.theta(JOBS, seed=seed)


def traces(panel) -> SimpleNamespace:
    """The traces of the figure by what they are."""
    data = list(panel.figure.data)
    n = len(USES)
    return SimpleNamespace(
        bars=dict(zip(USES, data[:n], strict=True)),
        arrivals=data[n],
        evictions=dict(zip(ACTION_MARKS, data[n + 1 : n + 4], strict=True)),
        shares=dict(zip(LEDGER, data[n + 4 : -3], strict=True)),
        in_time=data[-3],
        late=data[-2],
        deadlines=data[-1],
    )


def assert_shows(panel, schedule):
    """Bars, markers, ledger, delays, title and text are this schedule's."""
    shown, total = traces(panel), schedule.total_nodes
    submit = schedule.workload.jobs["submit_time"]
    batch = submit[~schedule.on_demand]
    start = np.floor(batch.min() / HOUR) * HOUR + (panel.settings["day"] - 1) * DAY
    hours = ledger(schedule, start=start, end=start + DAY)
    for use, bar in shown.bars.items():
        held = np.dot(np.asarray(bar.x, float), np.asarray(bar.width, float))
        assert held == pytest.approx(hours[use], rel=1e-3, abs=0.1), use
        assert bar.name == gantt.USES[use][0]
        tops = np.asarray(bar.y, float) + np.asarray(bar.width, float) / 2
        assert tops.max(initial=0) <= total
    everything = ledger(schedule)
    for use, bar in shown.shares.items():
        expected = [100 * hours[use] / hours.sum(), 100 * everything[use] / everything.sum()]
        assert list(bar.y) == pytest.approx(expected, abs=0.001), use
    assert sum(np.asarray(bar.y) for bar in shown.shares.values()) == pytest.approx(
        [100, 100], abs=0.01
    )
    assert_markers(shown, schedule, start)
    bursts, first = schedule.bursts, schedule.span[0]
    for marks, missed in ((shown.in_time, False), (shown.late, True)):
        part = bursts[bursts["missed"] == missed]
        assert list(marks.x) == pytest.approx((part["submit_time"] - first) / DAY, abs=1e-5)
        assert list(marks.y) == pytest.approx(part["delay"] / MINUTE, abs=1e-3)
    assert list(shown.deadlines.y) == pytest.approx(bursts["longest_delay"] / MINUTE)
    title = panel.figure.layout.title.text
    assert title.startswith(f"{schedule.policy}, day {panel.settings['day']}: ")
    here = bursts.query("submit_time >= @start and submit_time < @start + @DAY")["missed"]
    assert f": {here.sum():,} of {len(here):,} late<br>all days: " in title
    assert f"all days: {bursts['missed'].sum():,} of {len(bursts):,} late" in title
    if len(bursts):
        assert f"{measure(schedule)['overhead']:,.1f} node-hours per burst" in title
    slowdown = schedule.bounded_slowdown()[~schedule.on_demand].mean()
    assert f"mean bounded slowdown {slowdown:,.2f}" in panel.text.value
    assert "nan" not in panel.text.value + title
    work = list(shown.shares["batch"].y)[1] + list(shown.shares["bursts"].y)[1]
    said = re.search(r"batch jobs and bursts work on ([\d.]+) % of", panel.text.value)
    assert float(said[1]) == pytest.approx(work, abs=0.06)  # as the bar of all days


def assert_markers(shown, schedule, start):
    """Every burst and eviction of the window has a marker, the latter where the job was."""
    jobs = schedule.bursts
    come = jobs[(jobs["submit_time"] >= start) & (jobs["submit_time"] < start + DAY)]
    assert list(shown.arrivals.x) == pytest.approx((come["submit_time"] - start) / HOUR, abs=1e-4)
    told = schedule.evictions
    told = told[(told["time"] > start) & (told["time"] <= start + DAY)]
    bars = pd.concat(
        pd.DataFrame(
            {
                "end": np.add(bar.base, bar.x),
                "low": np.subtract(bar.y, bar.width) / 1,
                "middle": np.asarray(bar.y, float),
            }
        )
        for bar in shown.bars.values()
        if len(bar.x)
    )
    for action, marks in shown.evictions.items():
        part = told[told["action"] == action]
        assert sorted(marks.x) == pytest.approx(sorted((part["time"] - start) / HOUR), abs=1e-4)
        for x, y in zip(marks.x, marks.y, strict=True):
            near = bars[(bars["end"] - x).abs() < 2e-4]
            assert (near["middle"] - y).abs().min() < 1e-6


def test_it_opens_with_the_settings_given():
    panel = explore_ondemand(
        jobs=JOBS,
        policy="reserve",
        rate=5,
        size=0.1,
        run_time=1800.0,
        longest_delay=60.0,
        announced="late",
        notice="collect",
        bandwidth=125.0,
        day=2,
        seed=3,
    )
    assert panel.settings == {
        "period": (0, 2),
        "policy": "reserve",
        "rate": 5.0,
        "size": 0.1,
        "run_time": 1800.0,
        "longest_delay": 60.0,
        "announced": "late",
        "notice": "collect",
        "bandwidth": 125.0,
        "day": 2,
        "seed": 3,
    }
    assert_shows(panel, simulated(made(0), made(0).machine, panel.settings))
    assert repr(panel).startswith("reserve (436, collect), day 2: ")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("policy", list(POLICIES)),
        ("rate", [0.5, 12.0]),
        ("size", [0.05, 0.6]),
        ("run_time", [600.0, 14_400.0]),
        ("longest_delay", [0.0, 3600.0]),
        ("bandwidth", [25.0, 1_250.0]),
        ("seed", [1, 7]),
        ("day", [1, 2]),
    ],
)
def test_every_control_shows_what_the_simulator_says(name, values):
    panel = explore_ondemand(jobs=JOBS, rate=8.0)
    seen = {panel.figure.layout.title.text + panel.text.value}
    for value in values:
        panel.controls[name].value = value
        assert_shows(panel, simulated(made(), made().machine, panel.settings))
        seen.add(panel.figure.layout.title.text + panel.text.value)
    assert len(seen) > 1


def test_notices_show_what_the_simulator_says():
    panel = explore_ondemand(jobs=JOBS, announced="late", rate=8.0)
    for notice in NOTICES:
        panel.controls["notice"].value = notice
        assert_shows(panel, simulated(made(), made().machine, panel.settings))


def test_a_day_is_drawn_once_and_simulates_nothing(monkeypatch):
    panel = explore_ondemand(jobs=JOBS)
    monkeypatch.delattr("cosimlab.explorers.ondemand.simulate_ondemand")
    assert redraws(panel, "day", [1, 2]) == [1, 1]
    with pytest.raises(NameError):
        panel.controls["seed"].value = 9


def test_controls_without_effect_are_off_and_say_why():
    panel = explore_ondemand(jobs=JOBS, policy="kill")
    off = {name: control.tooltip for name, control in panel.controls.items() if control.disabled}
    assert off == {"notice": "bursts give no notice"}
    panel.choose(policy="reserve", announced="early")
    off = {name for name, control in panel.controls.items() if control.disabled}
    assert off == {"bandwidth"}
    assert (
        'No effect of "file system (GB/s)": the policy reserve evicts no job.' in panel.notes.value
    )
    before = panel.figure.layout.title.text, panel.text.value
    panel.controls["bandwidth"].value = 25.0
    assert (panel.figure.layout.title.text, panel.text.value) == before


def test_a_workload_of_one_s_own():
    """Unknown memory and bandwidths are Theta's; the busy part of the log is taken."""
    panel = explore_ondemand(SOURCE, jobs=1000)
    known = replace(
        SMALL, memory_per_node=THETA.memory_per_node, node_bandwidth=THETA.node_bandwidth
    )
    assert_shows(panel, simulated(SOURCE, known, panel.settings))
    assert "Unknown, and assumed as on Theta: memory (192 GB), " in panel.notes.value
    busy = busy_stretch(SOURCE, 20)
    few = explore_ondemand(SOURCE, jobs=20)
    assert_shows(few, simulated(busy, known, few.settings))


def test_logs_without_requests_or_with_a_single_job_are_shown():
    bare = Workload(SOURCE.jobs.drop(columns="requested_time"), "bare", SMALL)
    panel = explore_ondemand(bare, jobs=50)
    assert "Requested times are unknown; run times are taken instead." in panel.notes.value
    alone = explore_ondemand(SOURCE, jobs=1)
    assert "0 of 0 late" in repr(alone) and "nan" not in alone.text.value


def test_moments_are_dates_where_a_log_has_them():
    panel = explore_ondemand(jobs=JOBS)
    assert panel.picture.layout.xaxis.title.text.startswith("hours since second ")
    began = pd.Timestamp("2023-05-01 06:30", tz="UTC")
    dated = explore_ondemand(replace(SOURCE, began=began), jobs=100, day=1)
    assert dated.picture.layout.xaxis.title.text.startswith("hours since 2023-05-0")
    day = dated.controls["day"]
    assert day.description.removeprefix("day shown ") in dated.picture.layout.xaxis.title.text
