"""The explorer of batch policies without a browser: the figure shows what the simulators say."""

import numpy as np
import pytest

from cosimlab.explorers import batch as explorer
from cosimlab.explorers import explore_batch
from cosimlab.explorers.batch import ESTIMATES, OFFERED
from cosimlab.figures.gantt import plot_batch
from cosimlib import metrics, synthetic
from cosimlib.audit import audit
from cosimlib.batch import (
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.policies import SIMULATORS
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.cosimlab.explorers.redraws import assert_draws

HOUR = 3600.0
SOURCE = synthetic.with_estimates(synthetic.lublin(80, nodes=32, load=0.8, seed=4), seed=7)


def simulated(workload: Workload, system: System, settings):
    """What the controls ask for, without them."""
    if settings["policy"] == "FCFS":
        return audit(simulate_fcfs(workload, system, order=settings["order"]))
    if settings["policy"] == "first fit":
        return audit(simulate_first_fit(workload, system, order=settings["order"]))
    if settings["policy"] == "EASY":
        return audit(simulate_easy(workload, system, order=settings["order"]))
    reading = "replanned" if "replanned" in settings["policy"] else "kept"
    return audit(
        simulate_conservative(workload, system, order=settings["order"], reservations=reading)
    )


def made(settings, jobs=60, seed=0) -> Workload:
    """The jobs that the controls ask for, without them; `jobs` and `seed` are the arguments."""
    workload = synthetic.lublin(jobs, nodes=64, load=0.9, seed=seed)
    own = metrics.offered_load(workload, System.of(64))
    if abs(settings["load"] - own) > 0.005:
        workload = synthetic.with_offered_load(workload, 64, load=settings["load"])
    if settings["estimates"] == "Tsafrir":
        return synthetic.with_estimates(workload, seed=settings["seed"])
    factor = settings["factor"] if settings["estimates"] == "factor" else 1.0
    requested = np.maximum(workload.jobs["run_time"] * factor, 1.0)
    return Workload(workload.jobs.assign(requested_time=requested), workload.name)


def assert_shows(panel, schedule):
    """Figure, title and text are this schedule's."""
    jobs, origin = schedule.jobs, schedule.workload.jobs["submit_time"].min()
    wait, slowdown = jobs["wait_time"].mean() / HOUR, metrics.bounded_slowdown(schedule).mean()
    load = metrics.offered_load(schedule.workload, schedule.system)
    title = f"{schedule.policy}, offered load {load:.2f}: mean wait {wait:,.2f} h"
    assert_draws(panel, plot_batch(schedule, title=title))
    start = jobs["start_time"].to_numpy()
    overtook = sum(any(start[job] < start[:job]) for job in range(len(jobs)))
    assert panel.text.value == (
        f"{schedule.workload.name}: mean wait {wait:,.2f} h · mean bounded slowdown "
        f"{slowdown:,.1f} (τ = 10 s) · utilization "
        f"{100 * metrics.utilization(schedule):.1f} % from first "
        "submission to last end · makespan "
        f"{(jobs['end_time'].max() - origin) / HOUR:,.1f} h · {overtook} of {len(jobs)} jobs "
        "overtook one submitted before them"
    )


def test_it_opens_with_what_is_asked_for():
    panel = explore_batch(jobs=60, policy="FCFS", order="smallest", load=1.1, seed=3)
    assert panel.settings == {
        "policy": "FCFS",
        "order": "smallest",
        "load": 1.1,
        "seed": 3,
        "estimates": "exact",
        "factor": 5.0,
    }
    workload = made(panel.settings)
    assert_shows(panel, simulated(workload, System.of(64), panel.settings))
    assert repr(panel).startswith("FCFS (smallest), offered load 1.10: mean wait ")


@pytest.mark.parametrize(
    ("name", "values", "others"),
    [
        ("policy", [*OFFERED][::-1], {"load": 1.2, "estimates": "Tsafrir"}),
        ("order", ["largest", "wfp"], {"load": 1.2, "policy": "FCFS"}),
        ("load", [0.3, 1.5], {}),
        ("seed", [5, 1], {"estimates": "Tsafrir", "load": 1.2}),
        ("estimates", ["factor", "Tsafrir", "exact"], {"load": 1.2}),
        ("factor", [1.0, 20.0], {"load": 1.5, "estimates": "factor", "policy": "conservative"}),
    ],
)
def test_every_knob_shows_what_the_simulators_say(name, values, others):
    panel = explore_batch(jobs=60, **others)
    seen = {panel.text.value}
    for value in values:
        panel.controls[name].value = value
        assert panel.settings[name] == value
        workload = made(panel.settings)
        assert_shows(panel, simulated(workload, System.of(64), panel.settings))
        seen.add(panel.text.value)
    assert len(seen) > 1


def test_a_workload_is_explored_as_it_is_until_a_knob_says_otherwise():
    system = System.of(32)
    panel = explore_batch(SOURCE, system)
    own = metrics.offered_load(SOURCE, system)
    assert panel.settings["load"] == own and panel.settings["estimates"] == "given"
    assert_shows(panel, simulate_easy(SOURCE, system))
    panel.controls["load"].value = 1.4
    dense = synthetic.with_offered_load(SOURCE, 32, load=1.4)
    assert_shows(panel, simulate_easy(dense, system))
    panel.choose(estimates="exact", policy="conservative")
    exact = Workload(dense.jobs.assign(requested_time=dense.jobs["run_time"]), SOURCE.name)
    assert_shows(panel, simulate_conservative(exact, system))


def test_jobs_without_estimates_get_exact_ones_and_none_are_given():
    unknown = Workload(SOURCE.jobs.drop(columns="requested_time"), "no estimates", System.of(32))
    panel = explore_batch(unknown)
    assert panel.settings["estimates"] == "exact"
    offered = [name for _, name in panel.controls["estimates"].options]
    assert offered == [name for name in ESTIMATES if name != "given"]
    with pytest.raises(ValueError, match="estimates='given'; expected one of 'exact', 'factor'"):
        explore_batch(unknown, estimates="given")


def test_a_load_that_cannot_change_is_switched_off():
    at_once = Workload(SOURCE.jobs.assign(submit_time=0.0), "at once", System.of(32))
    panel = explore_batch(at_once)
    assert panel.controls["load"].disabled
    assert 'No effect of "offered load": the jobs offer no load, or all' in panel.notes.value
    assert panel.text.value.startswith("at once: mean wait ")
    panel.controls["policy"].value = "FCFS"
    start = [block for bar in panel.figure.data[:2] for block in bar.base]
    assert len(start) >= 70 and min(start) == 0


def test_a_change_simulates_and_draws_once_and_keeps_the_workload_where_it_can(monkeypatch):
    calls = dict.fromkeys(("lublin", "EASY", "plot_batch"), 0)

    def counted(name, function):
        def call(*args, **knobs):
            calls[name] += 1
            return function(*args, **knobs)

        return call

    monkeypatch.setattr(synthetic, "lublin", counted("lublin", synthetic.lublin))
    monkeypatch.setitem(SIMULATORS, "EASY", counted("EASY", SIMULATORS["EASY"]))
    monkeypatch.setattr(explorer, "plot_batch", counted("plot_batch", plot_batch))
    panel = explore_batch()
    assert calls == {"lublin": 1, "EASY": 1, "plot_batch": 1}
    panel.controls["order"].value = "shortest"
    panel.controls["policy"].value = "FCFS"
    assert calls == {"lublin": 1, "EASY": 2, "plot_batch": 3}
    panel.choose(policy="EASY", load=1.2, seed=3)
    assert calls == {"lublin": 1, "EASY": 3, "plot_batch": 4}


def test_several_partitions_cannot_be_scheduled():
    with pytest.raises(InvalidWorkloadError, match="has 2 partitions, A, B"):
        explore_batch(SOURCE, System.of(A=32, B=32))
