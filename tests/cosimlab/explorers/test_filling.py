"""The explorer of filling without a browser: the figure shows what simulator and measures say."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from cosimlab import twins
from cosimlab.explorers import explore_filling
from cosimlab.explorers.filling import FILLINGS, SIMULATED
from cosimlab.figures.use import FILLED, plot_use
from cosimlab.twins.lomonosov import LOMONOSOV
from cosimlib import metrics, synthetic
from cosimlib.audit import audit
from cosimlib.filling import efficiency, node_seconds, simulate_filling
from cosimlib.policies import SIMULATORS
from cosimlib.synthetic.estimates import with_round_estimates
from cosimlib.system import System
from cosimlib.workload import Workload

HOUR = 3600.0
WAYS = {
    "not filled": {"policy": None},
    "filling A": {"policy": "A"},
    "filling B, save": {"policy": "B", "reclaim": "save"},
    "filling B, kill": {"policy": "B", "reclaim": "kill"},
    "filling C": {"policy": "C"},
}
SOURCE = synthetic.with_estimates(synthetic.lublin(120, nodes=32, load=0.9, seed=4), seed=7)
SOURCE = Workload(SOURCE.jobs, "a source", System.of(32))


def synthetic_jobs(settings, jobs=200, seed=0) -> Workload:
    """The first jobs of Lomonosov's, their estimates of the controls' accuracy and seed."""
    workload = twins.lomonosov(1.0, seed=seed)
    few = Workload(workload.jobs[:jobs], workload.name, LOMONOSOV)
    return with_round_estimates(few, settings["accuracy"], seed=settings["seed"])


def simulated(workload, settings) -> dict:
    """Schedule by policy, with the overhead and speed of the controls."""
    costs = {"overhead": settings["overhead"], "speed": settings["speed"]}
    depth = settings["queue_depth"] or None
    costs["save_every"] = settings["save_every"]
    return {
        name: audit(simulate_filling(workload, workload.machine, queue_depth=depth, **costs, **way))
        for name, way in WAYS.items()
    }


def measured(runs, settings) -> dict[str, float]:
    """The window: until fewer wait than may, or until the last job starts."""
    started = np.sort(runs["not filled"].start_time)
    return {
        "start": float(np.ceil(runs["not filled"].workload.jobs["submit_time"][0] / 60) * 60),
        "end": float(started[len(started) - settings["queue_depth"] - 1]),
    }


def assert_shows(panel, workload):
    """Bars, areas, title and text are what `simulate_filling` and `node_seconds` say."""
    settings = panel.settings
    runs = simulated(workload, settings)
    window = measured(runs, settings)
    regular, containers, *bars, labels = panel.figure.data
    assert [bar.name for bar in bars] == [name for name, *_ in FILLED.values()]
    drawn = pd.DataFrame({use: bar.x for use, bar in zip(FILLED, bars, strict=True)}, index=WAYS)
    assert all(list(bar.y) == [run.policy for run in runs.values()] for bar in bars)
    for name, run in runs.items():
        use, speed = node_seconds(run, **window) / HOUR, settings["speed"]
        expected = [
            use["regular"],
            speed * use["computing"],
            (1 - speed) * use["computing"],
            use["overhead"],
            use["lost"],
            use["idle"],
        ]
        np.testing.assert_allclose(drawn.loc[name], expected, atol=0.0051)
    shares = {name: efficiency(run, **window) for name, run in runs.items()}
    assert [text.strip() for text in labels.text] == [
        f"{100 * share:.1f} %" for share in shares.values()
    ]
    assert_areas(regular, containers, runs[settings["policy"]], window)

    chosen, policy = runs[settings["policy"]], settings["policy"]
    gain = f"{100 * shares['not filled']:.1f} % to {100 * shares[policy]:.1f} %"
    assert panel.figure.layout.title.text == f"{chosen.policy}: utilization {gain}"
    some = "" if len(workload) == 1 else "s"
    assert panel.text.value.startswith(f"{workload.name}, {len(workload):,} job{some}, node-hours")
    idle = node_seconds(runs["not filled"], **window)["idle"] / HOUR
    assert f"(without containers {idle:,.1f})" in panel.text.value
    later = (chosen.start_time - runs["not filled"].start_time).mean() / 60
    assert f"start {later:+,.2f} min later" in panel.text.value
    assert f"{int(chosen.held_up.sum()):,} job" in panel.text.value


def assert_areas(regular, containers, run, window):
    """The areas' integrals are what node_seconds counts, and they begin where the window does."""
    lasts = np.diff(np.asarray(regular.x, float))
    use = node_seconds(run, **window) / HOUR
    for area, expected in (
        (regular, metrics.node_hours_by_use(run, **window)["run"]),
        (containers, use["computing"] + use["overhead"] + use["lost"]),
    ):
        assert lasts @ np.asarray(area.y, float)[:-1] == pytest.approx(expected, rel=0.01, abs=2)
    assert regular.x[0] == 0
    assert regular.x[-1] == pytest.approx((window["end"] - window["start"]) / HOUR, abs=1e-3)
    assert (np.add(regular.y, containers.y) <= run.system.total_nodes).all()


def test_it_opens_with_the_settings_given():
    panel = explore_filling(
        jobs=200,
        policy="filling B, kill",
        accuracy=0.3,
        overhead=0.2,
        speed=0.9,
        save_every=7,
        queue_depth=30,
        seed=2,
    )
    assert panel.settings == {
        "policy": "filling B, kill",
        "accuracy": 0.3,
        "overhead": 0.2,
        "speed": 0.9,
        "save_every": 7,
        "queue_depth": 30,
        "seed": 2,
    }
    assert_shows(panel, synthetic_jobs(panel.settings))
    assert repr(panel).startswith("filling B, kill: utilization ")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("policy", [*FILLINGS]),
        ("accuracy", [0.0, 1.0]),
        ("overhead", [0.0, 0.9]),
        ("speed", [0.5, 1.0]),
        ("save_every", [1, 3]),
        ("queue_depth", [30, 100]),
        ("seed", [1, 7]),
    ],
)
def test_every_control_shows_what_the_simulator_says(name, values):
    policy = "filling C" if name == "save_every" else "filling B, kill"
    panel = explore_filling(jobs=200, policy=policy, speed=0.8)
    seen = {panel.text.value}
    for value in values:
        panel.controls[name].value = value
        assert panel.settings[name] == value
        assert_shows(panel, synthetic_jobs(panel.settings))
        seen.add(panel.text.value)
    assert len(seen) > 2


def test_a_workload_brings_its_estimates_and_its_machine():
    panel = explore_filling(SOURCE, policy="filling B, save")
    assert panel.settings["accuracy"] == "given" and panel.settings["queue_depth"] == 0
    assert_shows(panel, SOURCE)
    panel.controls["accuracy"].value = 0.7
    assert_shows(panel, with_round_estimates(SOURCE, 0.7))
    panel.choose(accuracy="given", queue_depth=10)
    assert_shows(panel, SOURCE)


def test_jobs_in_a_row_are_taken_where_a_log_is_busy():
    few = explore_filling(SOURCE, jobs=40, policy="filling B, save")
    assert_shows(few, metrics.busy_stretch(SOURCE, 40))
    assert few.controls["seed"].disabled and "nothing is random" in few.notes.value
    few.controls["accuracy"].value = 0.5
    assert not few.controls["seed"].disabled
    alone = explore_filling(SOURCE, jobs=1)
    assert alone.text.value.startswith("a source, 1 job, node-hours: ")


def test_a_change_draws_once_and_simulates_only_what_it_changes(monkeypatch):
    """Each policy once per accuracy, queue depth and seed; never for costs, nor going back."""
    counts: Counter = Counter()

    def counted(name, function):
        def call(*arguments, **knobs):
            counts[name] += 1
            return function(*arguments, **knobs)

        return call

    for name in SIMULATED:
        monkeypatch.setitem(SIMULATORS, name, counted("runs", SIMULATORS[name]))
    monkeypatch.setattr("cosimlab.explorers.filling.plot_use", counted("draws", plot_use))
    panel = explore_filling(jobs=200)
    for name, value, runs in (
        (None, None, 4),
        ("policy", "filling B, kill", 0),
        ("overhead", 0.5, 0),
        ("speed", 0.6, 0),
        ("save_every", 5, 0),
        ("accuracy", 0.1, 4),
        ("seed", 2, 4),
        ("queue_depth", 30, 4),
        ("queue_depth", 10, 0),
    ):
        if name:
            counts.clear()
            panel.controls[name].value = value
        assert counts == Counter(runs=runs, draws=1), name
    counts.clear()
    panel.choose(accuracy=0.9, seed=3, policy="filling A")
    assert counts == Counter(runs=4, draws=1)


def test_a_log_without_estimates_has_none_to_give():
    unknown = Workload(SOURCE.jobs.drop(columns="requested_time"), "unknown", System.of(32))
    with pytest.raises(ValueError, match=r"accuracy='given'; expected one of 0.0"):
        explore_filling(unknown, accuracy="given")
    assert explore_filling(unknown).settings["accuracy"] == 0.5
