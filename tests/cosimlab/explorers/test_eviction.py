"""Explorers without a browser: what the controls say is what the figure shows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.callbacks import Points

import cosimlib.eviction
from cosimlab.comparison import drain_or_evict
from cosimlab.explorers import explore_eviction
from cosimlab.explorers.answer import Answer
from cosimlab.explorers.knobs import Knob
from cosimlab.explorers.panel import Panel
from cosimlab.figures.eviction import MEANING
from cosimlib.calendar import Calendar
from cosimlib.display import count
from cosimlib.eviction import (
    EvictionProblem,
    TimedPlan,
    solve_blocked,
    solve_dynamic,
    solve_greedy,
    solve_overlapping,
    solve_spectrum,
)
from cosimlib.schedule import Schedule
from cosimlib.system import THETA
from cosimlib.workload import Workload

AT = 9000.0


def schedule(*rows, system=THETA):
    """Rows of start, run time, nodes."""
    jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"])
    return Schedule.from_starts(Workload(jobs, "made"), system, jobs["submit_time"], "given")


MADE = schedule(
    *((0, 10_000, 128), (100, 20_000, 32), (500, 30_000, 64), (3000, 6500, 256)),
    *((6000, 5000, 75), (7000, 4000, 160), (8000, 9000, 32), (8700, 600, 2)),
)


def asked(panel) -> EvictionProblem:
    """The problem that the controls ask for, posed without them."""
    values = panel.settings
    return EvictionProblem.from_schedule(
        MADE,
        at=AT,
        nodes_needed=values["nodes_needed"],
        system=replace(THETA, aggregate_bandwidth=values["bandwidth"]),
        interval=values["interval"],
    )


def assert_shows(panel, problem):
    """Title, text, point, bars and surface of the panel are what another solver says."""
    plan, deadline = solve_dynamic(problem), panel.settings["deadline"]
    row = plan.row(deadline)
    title = f"{count(problem.nodes_needed, 'node')} within {deadline / 60:g} minutes: "
    assert panel.figure.layout.title.text == f"{title}{plan.loss[row]:,.1f} node-hours lost"
    assert panel.text.value.startswith(
        f"loss {plan.loss[row]:,.2f} node-hours · checkpoints {plan.checkpoint_time[row]:,g} s · "
        f"{plan.nodes_freed[row]:,} nodes freed"
    )
    surface, point, *bars, _ = panel.figure.data
    assert (point.x, point.y) == ((deadline / 60,), (problem.nodes_needed,))
    evicted = plan.actions(deadline).set_index("job")["action"]
    for bar in bars:
        named = [job for job in problem.jobs.index if MEANING[evicted.get(job, "keep")] == bar.name]
        expected = [problem.jobs["nodes"][j] if j in named else 0 for j in problem.jobs.index]
        assert list(bar.x) == expected
        assert list(bar.y) == [str(job) for job in problem.jobs.index]
    losses = [solve_dynamic(problem.asking(int(nodes))).loss for nodes in surface.y[::40]]
    assert np.array_equal(surface.customdata[::40], np.round(losses, 1))


def test_it_opens_with_the_moment_asked_for():
    panel = explore_eviction(MADE, at=AT, nodes_needed=175)
    assert panel.settings == {
        "at": AT,
        "nodes_needed": 175,
        "deadline": 300.0,
        "bandwidth": 250.0,
        "interval": 3600.0,
        "solver": "dynamic",
        "notice": 0,
    }
    assert_shows(panel, asked(panel))
    assert "Click on the surface" in panel.notes.value


@pytest.mark.parametrize(
    ("name", "values", "surface_changes"),
    [
        ("nodes_needed", [0, 1, 375, 749], False),
        ("deadline", [0.0, 60.0, 900.0], False),
        ("bandwidth", [25.0, 125.0, 2500.0], True),
        ("interval", [300.0, 1800.0, 14_400.0], True),
    ],
)
def test_every_slider_shows_what_the_solver_says(name, values, surface_changes):
    panel = explore_eviction(MADE, at=AT, nodes_needed=450)
    seen = [panel.figure.data[0].z]
    for value in values:
        panel.controls[name].value = value
        assert panel.settings[name] == value
        assert_shows(panel, asked(panel))
        seen.append(panel.figure.data[0].z)
    assert all(np.array_equal(seen[0], z) for z in seen) == (not surface_changes)


SOLVE = {
    "greedy": solve_greedy,
    "overlapping": solve_overlapping,
    "blocked": solve_blocked,
}


@pytest.mark.parametrize("name", SOLVE)
def test_the_jobs_are_those_of_the_solver_chosen(name):
    """Title, text and bars; the surface stays the paper's."""
    panel = explore_eviction(MADE, at=AT, nodes_needed=450)
    before = panel.figure.data[0].z
    for nodes, deadline in ((450, 300.0), (450, 840.0), (130, 120.0)):
        panel.choose(nodes_needed=nodes, deadline=deadline, solver=name)
        plan = SOLVE[name](asked(panel))
        row, timed = plan.row(deadline), TimedPlan.of(plan)
        timed = plan if isinstance(plan, TimedPlan) else timed
        assert f"minutes: {plan.loss[row]:,.1f} node" in panel.figure.layout.title.text
        facts = panel.text.value.split(" · ")
        assert facts[0] == f"loss {plan.loss[row]:,.2f} node-hours"
        assert facts[3] == (
            f"standing still {timed.blocked[row]:,.2f} node-hours until the burst starts after "
            f"{timed.free_time[row]:,g} s"
        )
        actions = plan.actions(deadline)
        for bar in panel.figure.data[2:-1]:
            named = next(a for a in MEANING if MEANING[a] == bar.name)
            if named != "keep":
                assert sum(bar.x) == actions.loc[actions["action"] == named, "nodes"].sum()
    assert np.array_equal(before, panel.figure.data[0].z)


def test_a_solver_that_needs_too_much_memory_says_so(monkeypatch):
    def refuse(problem):
        if problem.horizon:
            raise MemoryError("8 jobs take <much>")
        return solve_overlapping(problem)

    monkeypatch.setattr(cosimlib.eviction, "solve_overlapping", refuse)
    panel = explore_eviction(MADE, at=AT, nodes_needed=450)
    panel.controls["solver"].value = "overlapping"
    assert panel.text.value == "8 jobs take &lt;much&gt;"
    panel.controls["solver"].value = "dynamic"
    assert panel.text.value.startswith("loss ")


def test_only_what_changes_the_problem_solves_it_again(monkeypatch):
    solved = []

    def solve(problem):
        if problem.horizon > 0:  # others only compile
            solved.append(problem)
        return solve_spectrum(problem)

    monkeypatch.setattr(cosimlib.eviction, "solve_spectrum", solve)
    panel = explore_eviction(MADE, at=AT)
    opened = len(solved)
    panel.choose(nodes_needed=40, deadline=120.0)
    panel.controls["nodes_needed"].value = 500
    assert len(solved) == opened
    panel.controls["bandwidth"].value = 125.0
    panel.controls["interval"].value = 1800.0
    assert len(solved) == opened + 2
    panel.controls["deadline"].value = 0.0
    assert len(solved) == opened + 2


def test_a_page_that_is_loaded_again_gets_what_the_figure_shows():
    panel = explore_eviction(MADE, at=AT)
    panel.choose(nodes_needed=700, bandwidth=50.0)
    stored = go.Figure({"data": panel.figure._widget_data, "layout": panel.figure._widget_layout})
    picture = panel.picture
    for live, loaded, drawn in zip(panel.figure.data, stored.data, picture.data, strict=True):
        assert same(live, drawn) and same(loaded, drawn)
    assert stored.layout.title.text == panel.figure.layout.title.text == picture.layout.title.text
    assert repr(panel).startswith("700 nodes within 5 minutes")


def same(one, other) -> bool:
    """Whether two traces have the same properties; a live one has an id besides."""
    given, wanted = one.to_plotly_json(), other.to_plotly_json()
    given.pop("uid")
    return str(given) == str(wanted)


def test_a_readers_zoom_stays_when_a_slider_moves():
    panel = explore_eviction(MADE, at=AT)
    panel.figure.plotly_relayout({"xaxis.range[0]": 2, "xaxis.range[1]": 6})
    panel.controls["nodes_needed"].value = 3
    assert panel.figure.layout.xaxis.range == (2, 6)


def test_a_click_on_the_surface_chooses_both_and_draws_once(monkeypatch):
    panel = explore_eviction(MADE, at=AT)
    texts = []
    panel.text.observe(lambda change: texts.append(change["new"]), names="value")
    surface = panel.figure.data[0]
    surface._dispatch_on_click(Points([[80, 12]], [12.0], [surface.y[80]], "", 0), None)
    assert panel.settings["deadline"] == 720.0
    assert panel.settings["nodes_needed"] == surface.y[80]
    assert_shows(panel, asked(panel))
    assert len(texts) == 1


def test_to_drain_is_compared_with_to_evict():
    """Costs are those of `drain_or_evict` on the log, for as many nodes at the same moment."""
    small = THETA.with_nodes(800)
    panel = explore_eviction(replace(MADE, system=small), at=AT, nodes_needed=700)
    plain = panel.text.value
    panel.choose(notice=2, deadline=600.0)
    values = panel.settings
    window = Calendar({"start": [AT], "end": [AT + 3600], "nodes": [700]})
    workload = replace(
        MADE.workload, jobs=MADE.workload.jobs.assign(requested_time=MADE.workload.jobs["run_time"])
    )
    costs = drain_or_evict(workload, window, notices=[0, 2], system=small, horizon=600, seeds=[0])
    late, early = costs["cost"]
    assert late != early
    assert f"drained for 2 h: {early:,.1f} node-hours (idle {costs['idle'][1]:,.1f}, lost" in (
        panel.text.value
    )
    assert panel.text.value.endswith(f"not drained: {late:,.1f}")
    panel.choose(notice=0, deadline=300.0)
    assert panel.text.value == plain and values["notice"] == 2
    panel.choose(nodes_needed=0)
    assert 'No effect of "draining": no node is needed.' in panel.notes.value
    panel.choose(at=0.0, nodes_needed=100, notice=2)
    assert "draining cannot be simulated: windows=0.0; expected a window before" in panel.text.value


def test_without_a_moment_it_takes_the_middle_of_the_longest_fullest_stretch():
    """10 nodes from 0 to 4 and from 20 to 40, 6 in between, 4 afterwards."""
    made = schedule((0, 4, 4), (0, 100, 4), (0, 100, 2), (20, 20, 4))
    made = replace(made, end_time=np.array([4.0, 100, 40, 40]))
    panel = explore_eviction(made, seed=3)
    problem = EvictionProblem.from_schedule(made, at=30.0, nodes_needed=10 // 4, seed=3)
    assert panel.controls["nodes_needed"].max == 10
    assert_shows(panel, problem)


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="is of type DataFrame; expected a Workload or a Sch"):
        explore_eviction(MADE.workload.jobs)
    with pytest.raises(ValueError, match="a schedule has its system; leave system out"):
        explore_eviction(MADE, THETA)
    with pytest.raises(ValueError, match=r"at=1000000\.0; expected a number from 0 to 30,440"):
        explore_eviction(MADE, at=1e6)
    with pytest.raises(ValueError, match="nodes_needed=750; expected a whole number from 0 to 749"):
        explore_eviction(MADE, at=AT, nodes_needed=750)


@pytest.mark.parametrize("rows", [(), ((5, 0, 3),)])
def test_a_schedule_in_which_nothing_runs_is_named(rows):
    with pytest.raises(ValueError, match="made: no job ever runs"):
        explore_eviction(schedule(*rows))


def test_a_panel_takes_away_what_the_next_picture_has_not():
    def draw(now):
        n = now["n"]
        picture = go.Figure(go.Scatter(x=np.arange(n), y=np.arange(n)), {"height": 400})
        if n > 2:
            picture.add_hline(1.0)
            picture.data[0].text = "many"
        return Answer(picture, f"{n} points")

    panel = Panel([Knob("n", 3, "points", high=9, whole=True)], draw)
    assert len(panel.figure.layout.shapes) == 1
    panel.controls["n"].value = 2
    assert panel.figure.layout.shapes == () and panel.figure.data[0].text is None
    assert list(panel.figure.data[0].x) == [0, 1]
    assert panel.text.value == "2 points"
    assert panel.picture.layout.width == panel.figure.layout.width == 960
