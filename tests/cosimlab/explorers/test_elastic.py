"""The explorer of preemptions without a browser: what the knobs say is what the figure shows."""

import numpy as np
import pandas as pd
import pytest

from cosimlab import twins
from cosimlab.explorers import explore_elastic
from cosimlab.figures.elastic import FATES, period_name
from cosimlib.batch import simulate_easy
from cosimlib.display import count
from cosimlib.elastic import (
    POLICIES,
    occupants,
    preempted_jobs,
    preemption_values,
    prioritize,
)
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

ROWS = (
    *((0, 9000, 4), (0, 300, 2), (10, 20_000, 1), (10, 4000, 3), (20, 400, 2), (40, 7000, 5)),
    *((50, 100, 1), (60, 12_000, 2), (90, 3000, 6), (90, 700, 1), (100, 30_000, 1)),
)
AT = 3900.0


def made(*rows) -> Workload:
    """Rows of submission, run time, nodes; requested times are exact, every third job is dear."""
    jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"])
    dear = np.where(np.arange(len(jobs)) % 3 == 0, 50.0, 1.0)
    jobs = jobs.assign(requested_time=jobs["run_time"], priority=dear)
    return Workload(jobs, "made")


@pytest.fixture(scope="module")
def schedule():
    return simulate_easy(made(*ROWS), System.of(10))


@pytest.fixture(scope="module")
def peregrine():
    return simulate_easy(prioritize(twins.peregrine(), {"bigmem": 10.0}), System.of(20))


def assert_shows(panel, schedule, *, seed=0):
    """Title, text, heat map, marked nodes and bars are what the library says of `schedule`."""
    asked = {name: value for name, value in panel.settings.items() if name != "period"}
    nodes, at = schedule.system.total_nodes, asked.pop("at")
    jobs = preempted_jobs(schedule, at, seed=seed, **asked)
    held = occupants(schedule, [at]).to_numpy()[0]
    vector = preemption_values(schedule, [at], policy=asked["policy"], seed=seed).to_numpy()[0]
    heat, taken, *bars = panel.figure.data

    assert heat.z.shape == (nodes, len(heat.x)) and list(heat.y) == list(range(nodes))
    middle = len(heat.x) // 2
    assert heat.x[middle] == round(at / DAY, 5)
    np.testing.assert_array_equal(heat.z[:, middle], vector.round(3))
    (line,) = panel.figure.layout.shapes
    assert line.x0 == line.x1 == round(at / DAY, 5) and set(taken.x) == {line.x0}

    chosen = np.array(taken.y)
    assert len(set(chosen)) == asked["preempted"]
    assert vector[chosen].max() <= np.delete(vector, chosen).min(initial=np.inf)
    on_them, counts = np.unique(held[chosen][held[chosen] >= 0], return_counts=True)
    assert dict(zip(on_them, counts, strict=True)) == jobs["nodes_taken"].to_dict()

    fates = {job: "kill" if jobs["killed"][job] else "spare" for job in jobs.index}
    running = set(held[held >= 0].tolist())
    size = schedule.workload.jobs["nodes"]
    for fate, bar in zip(FATES, bars, strict=True):
        wanted = {f"job {j}": size[j] if fates.get(j, "keep") == fate else 0 for j in running}
        assert dict(zip(bar.y, bar.x, strict=True)) == wanted and bar.name == FATES[fate]
    wasted, killed = jobs["wasted_cycles"].sum(), int(jobs["killed"].sum())
    assert panel.figure.layout.title.text == (
        f"{asked['policy']} preempts {asked['preempted']} of {nodes} nodes on day {at / DAY:.2f}: "
        f"{wasted / HOUR:,.1f} node-hours wasted"
    )
    assert panel.text.value == (
        f"wasted cycles {wasted:,.0f} node-seconds · {count(killed, 'job')} killed, "
        f"{len(jobs) - killed} ending within {period_name(asked['grace_period'])}, "
        f"{len(running) - len(jobs)} not touched · "
        f"{count(int((held[chosen] < 0).sum()), 'idle node')} taken"
    )


def test_it_opens_with_what_is_asked_for(schedule):
    panel = explore_elastic(schedule, at=AT, preempted=4, policy="PAP+", grace_period=60.0, seed=5)
    assert panel.settings == {"policy": "PAP+", "grace_period": 60.0, "preempted": 4, "at": AT}
    assert_shows(panel, schedule)
    assert repr(panel).startswith("PAP+ preempts 4 of 10 nodes on day 0.05")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("policy", [*POLICIES[::-1]]),
        ("grace_period", [0.0, 1200.0, 21_600.0]),
        ("preempted", [1, 7, 10]),
        ("at", [0.0, 777.5, 4000.0, 9000.0, 30_000.0]),
    ],
)
def test_every_knob_shows_what_the_library_says(schedule, name, values, seed=3):
    start = {"policy": "RANDOM" if name != "policy" else "PAP", "preempted": 5}
    panel = explore_elastic(schedule, at=AT, seed=seed, grace_period=120.0, **start)
    seen = {panel.text.value}
    for value in values:
        panel.controls[name].value = value
        assert panel.settings[name] == value
        assert_shows(panel, schedule, seed=seed)
        seen.add(panel.text.value)
    assert len(seen) > 2


def test_a_moment_at_which_nothing_runs_wastes_nothing():
    idle = simulate_easy(made((0, 100, 2), (5000, 100, 3)), System.of(4))
    panel = explore_elastic(idle, at=600.0, preempted=4)
    assert_shows(panel, idle)
    assert (
        panel.text.value.startswith("wasted cycles 0 ") and "4 idle nodes taken" in panel.text.value
    )


def test_without_a_source_or_a_moment_it_takes_peregrine_s_at_one_of_most_nodes(peregrine):
    panel = explore_elastic()
    at = panel.settings["at"]
    runs = (peregrine.start_time <= at) & (at < peregrine.end_time)
    assert peregrine.workload.jobs["nodes"][runs].sum() == peregrine.total_nodes
    assert_shows(panel, peregrine)


@pytest.mark.compiled("a month needs compiled kernels")
def test_a_month_of_jobs_stays_light(peregrine):
    panel = explore_elastic(peregrine, at=123_456.0)
    assert len(panel.picture.to_json()) < 150_000
    panel.choose(policy="PAP+", at=5e5)
    assert_shows(panel, peregrine)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seed": 0.5}, r"seed=0\.5; expected a whole number from 0"),
        ({"at": 1e9}, "at=1000000000.0; expected a number from 0 to [0-9,]+"),
        ({"at": np.nan}, "at=nan; expected a moment in seconds, or None for the fullest"),
    ],
)
def test_settings_out_of_range_are_refused(schedule, wrong, message):
    with pytest.raises(ValueError, match=message):
        explore_elastic(schedule, **{"at": AT, **wrong})


def test_what_is_no_schedule_or_never_runs_is_named(schedule):
    with pytest.raises(TypeError, match="is of type DataFrame; expected a Workload or a Schedule"):
        explore_elastic(schedule.jobs)
    nothing = Schedule.from_starts(made(), System.of(4), np.empty(0), "EASY")
    with pytest.raises(ValueError, match="made: no job ever runs"):
        explore_elastic(nothing)
