"""The explorer of coscheduling without a browser: figure and words are the schedule's."""

import re

import numpy as np
import pytest
from ipywidgets import Play

from cosimlab.coscheduling import describe, job_names
from cosimlab.explorers import explore_coscheduling
from cosimlab.figures import plot_coupled_moment
from cosimlib import synthetic
from cosimlib.audit import audit
from cosimlib.coscheduling import (
    MACHINES,
    couple,
    deadlock_example,
    event_times,
    lost_node_hours,
    mates_by_proportion,
    simulate_coscheduling,
    sync_up_overhead,
)
from cosimlib.display import count
from cosimlib.metrics import busy_stretch
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlab.explorers.redraws import assert_draws

MINUTE = 60.0
LETTERS = ("HH", "HY", "YH", "YY", "base")


def twins() -> dict[str, Workload]:
    """Two machines' workloads of twenty jobs each."""
    return {
        "big": Workload(synthetic.lublin(20, nodes=64, seed=3).jobs, "big", System.of(64)),
        "small": Workload(synthetic.lublin(20, nodes=32, seed=8).jobs, "small", System.of(32)),
    }


TWINS = {name: synthetic.with_scaled_estimates(each, 2.0) for name, each in twins().items()}


def from_zero(workloads, jobs=20) -> dict[str, Workload]:
    """Busy jobs of each machine, on a clock that begins with them."""
    tables = {name: busy_stretch(each, jobs).jobs for name, each in workloads.items()}
    starts = {name: table["submit_time"].iloc[0] for name, table in tables.items()}
    assert min(starts.values()) > 0
    return {
        name: Workload(table.assign(submit_time=table["submit_time"] - starts[name]), name)
        for name, table in tables.items()
    }


def simulated(workload, system, settings):
    """The schedule of the settings, without the explorer."""
    schemes = None if settings["schemes"] == "base" else settings["schemes"]
    interval = settings["release_interval"] or None
    return simulate_coscheduling(workload, system, schemes=schemes, release_interval=interval)


def example(settings) -> Workload:
    return deadlock_example(round(6 * settings["share"]))


def assert_shows(panel, schedule):
    """Figure, title and text are this schedule's, up to the event chosen."""
    events, names = event_times(schedule), job_names(schedule)
    event = panel.settings["event"]
    at = events[event - 1]
    assert (panel.controls["event"].min, panel.controls["event"].max) == (1, len(events))
    interval = panel.settings["release_interval"]
    how = f"released every {interval / MINUTE:g} min" if interval else "never released"
    when = f"minute {round(at / MINUTE, 2):g}, event {event} of {len(events)}"
    title = f"{schedule.policy}, held nodes {how}: {when}"
    assert_draws(panel, plot_coupled_moment(schedule, at=at, title=title, names=names))
    *sentences, outcome = panel.text.value.split("<br>")
    plain = [re.sub("</?b>", "", sentence) for sentence in sentences]
    assert plain == describe(schedule, at, names)
    hours = lost_node_hours(schedule).map("{:,.2f}".format).replace("inf", "no end")
    assert outcome.endswith(", ".join(f"{machine} {each}" for machine, each in hours.items()))
    overhead = sync_up_overhead(schedule).mean() / MINUTE
    told = f"{overhead:,.1f} min" if overhead == overhead else "unknown"
    assert f"mean sync-up overhead {told} · " in outcome
    assert f"In the end: {count(len(schedule.stuck), 'job')} never start · " in outcome


def test_it_opens_with_the_settings_given():
    panel = explore_coscheduling(schemes="HY", share=0.5, release_interval=1800.0, event=4)
    assert panel.settings == {"schemes": "HY", "share": 0.5, "release_interval": 1800.0, "event": 4}
    assert_shows(panel, simulated(example(panel.settings), MACHINES, panel.settings))
    assert repr(panel).startswith("HY, held nodes released every 30 min: minute ")


def test_a_deadlock_step_by_step_and_its_release():
    panel = explore_coscheduling()
    locked = simulated(deadlock_example(), MACHINES, panel.settings)
    for event, at in enumerate(event_times(locked), start=1):
        panel.controls["event"].value = event
        assert_shows(panel, locked)
        assert ("<b>Deadlock</b>: a1 → b2" in panel.text.value) == (at >= 12 * MINUTE)
    panel.choose(event=int(np.searchsorted(event_times(locked), 16 * MINUTE)) + 1)
    assert "none of them will ever start" in panel.text.value
    panel.controls["release_interval"].value = 1200.0
    freed = audit(simulated(deadlock_example(), MACHINES, panel.settings))
    for at, words in ((16, "held nodes are given back at minute 20"), (20, "a1 gives its nodes")):
        panel.choose(event=int(np.searchsorted(event_times(freed), at * MINUTE)) + 1)
        assert words in panel.text.value
    assert_shows(panel, freed)
    assert "<b>That breaks the circle</b>." in panel.text.value


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("schemes", [*LETTERS[::-1]]),
        ("share", [0.0, 1 / 6, 1.0]),
        ("release_interval", [300.0, 3600.0, 0.0]),
        ("event", [17, 1, 3]),
    ],
)
def test_every_knob_shows_what_the_simulator_says(name, values):
    panel = explore_coscheduling(event=9)
    seen = {panel.figure.layout.title.text + panel.text.value}
    for value in values:
        panel.controls[name].value = value
        assert panel.settings[name] == value
        assert_shows(panel, simulated(example(panel.settings), MACHINES, panel.settings))
        seen.add(panel.figure.layout.title.text + panel.text.value)
    assert len(seen) > 1


def test_a_player_moves_the_event_and_the_other_way_round():
    panel = explore_coscheduling(event=2)
    (player,) = [each for each in panel.grid.children if isinstance(each, Play)]
    assert (player.value, player.max) == (2, panel.controls["event"].max)
    player.value = 5
    assert panel.settings["event"] == 5
    assert_shows(panel, simulated(deadlock_example(), MACHINES, panel.settings))
    panel.controls["event"].value = 7
    assert player.value == 7
    panel.controls["release_interval"].value = 1200.0
    assert player.max == panel.controls["event"].max
    assert player not in panel.controls.values()


def test_two_workloads_are_coupled_by_proportion():
    panel = explore_coscheduling(TWINS, jobs=20, share=0.5, schemes="HY", event=15)
    system, machines = System.of(big=64, small=32), from_zero(TWINS)
    for share in (0.5, 0.0, 1.0):
        panel.controls["share"].value = share
        together = couple(machines, mates_by_proportion(machines, share=share))
        assert_shows(panel, simulated(together, system, panel.settings))


def test_events_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="event=99; expected a whole number from 1 to 17"):
        explore_coscheduling(event=99)


def test_sources_that_cannot_be_coupled_are_refused():
    nothing = Workload(TWINS["big"].jobs[:0], "gone", System.of(4))
    with pytest.raises(TypeError, match="source is of type list; expected a mapping of mach"):
        explore_coscheduling([TWINS["big"]])
    with pytest.raises(ValueError, match=r"source=\['big'\]; expected two machines or more"):
        explore_coscheduling({"big": TWINS["big"]})
    with pytest.raises(ValueError, match="gone: no jobs; expected at least one"):
        explore_coscheduling(TWINS | {"small": nothing})
