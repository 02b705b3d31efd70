"""Panels set by their controls' names: all that is asked for, or nothing and an error."""

import math
import re

import numpy as np
import plotly
import plotly.graph_objects as go
import pytest
from numba.core import event

from cosimlab.explorers import explore_filling
from cosimlab.explorers.answer import Answer
from cosimlab.explorers.knobs import Knob, settle
from cosimlab.explorers.panel import COMPILING, Panel, tells_compiling
from cosimlab.figures.publishing import CaptionedFigure, caption, captioned

POLICIES = {"FCFS": "first come", "EASY": "backfilling"}


@pytest.fixture
def panel():
    """One of each kind of control; the end of `part` is the number of `nodes`."""
    drawn = []

    def draw(settings):
        drawn.append(settings)
        return Answer(go.Figure(go.Scatter(y=[1]), layout={"height": 400}), str(settings))

    knobs = [
        Knob("policy", "FCFS", "policy", options=POLICIES, named=POLICIES.__getitem__),
        Knob("spmd", True, "jobs", options=[True, False]),
        Knob("depth", 10, "depth", options=["all", 10, 50], kind="slider"),
        Knob("deadline", 0.0, "deadline", options=[60.0 * n for n in range(100)], kind="slider"),
        Knob("load", 0.5, "load", low=0.1, high=1.2),
        Knob("part", 4, "part", low=1, high=lambda now: now["nodes"], whole=True),
        Knob("nodes", 8, "nodes", low=1, high=64, whole=True),
    ]
    made = Panel(knobs, draw)
    made.drawn = drawn
    return made


RIGHT = [
    {"policy": "EASY"},
    {"spmd": False, "depth": "all"},
    {"depth": 50, "deadline": 5_940.0},
    {"load": 1.2},
    {"load": np.float32(1), "part": np.int64(8)},
    {"part": 8, "load": 1},
    {"load": 0.123456789},
]


@pytest.mark.parametrize("values", RIGHT, ids=str)
def test_what_is_chosen_is_set_and_drawn_once(panel, values):
    before = panel.settings
    panel.choose(**values)
    assert panel.settings == before | values
    assert len(panel.drawn) == 2 and panel.drawn[-1] == panel.settings
    assert panel.text.value == str(panel.settings)


@pytest.mark.parametrize("name", ["policy", "spmd", "load", "part"])
def test_none_leaves_a_control_as_it_is(panel, name):
    panel.choose(load=0.7, policy="EASY")
    before = panel.settings
    panel.choose(**{name: None})
    assert panel.settings == before and len(panel.drawn) == 2
    panel.choose(**{"nodes": 16, name: None})
    assert panel.settings == before | {"nodes": 16} and len(panel.drawn) == 3


@pytest.mark.parametrize("given", [3, (1,), (), (0, 1, 2), "01", np.array([0, 1])])
def test_a_range_is_two_of_its_options(given):
    knob = Knob("period", (0, 1), "days", options=range(4), kind="range")
    message = f"period={given!r}; expected two of 0, 1, 2, 3"
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        settle([knob], {"period": given})


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_names_does_not_matter(panel, order):
    """A part of 40 needs 64 nodes, a part of 2 is left when there are 2."""
    for values in ({"nodes": 64, "part": 40}, {"nodes": 2, "part": 2}):
        panel.choose(**dict(list(values.items())[::order]))
        assert {name: panel.settings[name] for name in values} == values
    assert len(panel.drawn) == 3


WRONG = [
    ({"load": 1.3}, "load=1.3; expected a number from 0.1 to 1.2"),
    ({"load": math.nan}, "load=nan; expected a number from"),
    ({"load": "much"}, "load='much'; expected a number from"),
    ({"load": True}, "load=True; expected a number from"),
    ({"nodes": 1.5}, "nodes=1.5; expected a whole number from 1 to 64"),
    ({"part": 9}, "part=9; expected a whole number from 1 to 8"),
    ({"part": 20, "nodes": 16}, "part=20; expected a whole number from 1 to 16"),
    ({"nodes": 2, "part": 3}, "part=3; expected a whole number from 1 to 2"),
    ({"policy": np.array(["FCFS", "EASY"])}, "policy=array(['FCFS', 'EASY'], dtype='<U4'); exp"),
    ({"spmd": 1}, "spmd=1; expected one of True, False"),
    ({"deadline": 61.0}, "deadline=61.0; expected one of 0.0, 60.0, 120.0, "),
    ({"laod": 1.0}, "setting='laod'; expected one of 'policy', 'spmd', 'depth',"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=str)
def test_what_a_control_does_not_offer_changes_nothing(panel, wrong, message):
    before = panel.settings
    ends = [panel.controls[name].max for name in ("part", "nodes")]
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        panel.choose(**{"policy": "EASY", "depth": 50, **wrong})
    assert panel.settings == before and len(panel.drawn) == 1
    assert [panel.controls[name].max for name in ("part", "nodes")] == ends
    panel.controls["load"].value = 0.7
    assert len(panel.drawn) == 2, "sliders no longer draw"


@pytest.mark.parametrize(
    ("given", "knob", "message"),
    [
        ({"x": math.nan}, {}, "x=nan; expected a number"),
        ({"x": "1"}, {}, "x='1'; expected a number"),
        ({"x": 1.5}, {"whole": True}, "x=1.5; expected a whole number from 0"),
        ({"x": "c"}, {"options": ("a", "b")}, "x='c'; expected one of 'a', 'b'"),
        ({"x": 1}, {"options": (True, False)}, "x=1; expected one of True, False"),
        ({"x": 0.2}, {"low": 0.3}, "x=0.2; expected a number from 0.3"),
        ({"x": 0.9}, {"high": 0.8}, "x=0.9; expected a number from 0 to 0.8"),
        ({"x": 0.9}, {"high": lambda now: now["y"]}, "x=0.9; expected a number from 0 to 0.5"),
        ({"z": 7}, {}, "setting='z'; expected one of 'x', 'y'"),
    ],
)
def test_arguments_that_are_out_of_range_are_refused(given, knob, message):
    knobs = [Knob("x", 0, "x", **knob), Knob("y", 0.5, "y")]
    with pytest.raises(ValueError, match=re.escape(message)):
        settle(knobs, given)


def test_a_value_follows_from_others_unless_it_is_given_or_kept():
    knobs = [Knob("last", lambda now: now["x"] + 1, "last", high=4), Knob("x", 3, "x", high=9)]
    assert settle(knobs, {}) == {"last": 4, "x": 3}
    assert settle(knobs, {"x": 2, "last": None}) == {"last": 3, "x": 2}
    assert settle(knobs, {"x": 2}, {"last": 7, "x": 8}) == {"last": 4, "x": 2}


def test_a_figure_is_as_wide_as_the_page_and_stays_so():
    panel = explore_filling(jobs=20)
    assert panel.figure.layout.width == panel.picture.layout.width == 960
    for page, figure in ((700, 700), (200, 520), (1500, 1500)):
        panel.figure.page_width = page
        assert panel.figure.layout.width == panel.picture.layout.width == figure
    panel.controls["speed"].value = 0.5
    assert panel.figure.layout.width == panel.picture.layout.width == 1500


def test_a_control_that_is_off_says_why_until_it_is_on():
    def draw(now):
        return Answer(go.Figure(layout={"height": 400}), "")

    why = {True: "<b>no</b>", False: ""}
    knobs = [
        Knob("speed", 0.5, "speed (c)", off_when=lambda now: why[now["high"] > 1]),
        Knob("high", 1.0, "high", high=2.0),
    ]
    panel = Panel(knobs, draw)
    assert panel.notes.value == "" and not panel.controls["speed"].disabled
    panel.controls["high"].value = 2.0
    assert panel.notes.value == '<small>No effect of "speed (c)": &lt;b&gt;no&lt;/b&gt;.</small>'
    panel.choose(high=1.0)
    assert panel.notes.value == "" and not panel.controls["speed"].disabled


def test_the_code_of_a_live_figure_is_ready_at_once_and_brings_plotly():
    """What anywidget waits for is short; Plotly comes with the widget, and is not stored twice."""
    figure = explore_filling(jobs=20).figure
    assert len(figure._esm) < 4_000 and "_plotly_code" in figure.keys
    assert len(figure._plotly_code) > 1_000_000
    assert figure._plotly_version == plotly.__version__


def test_compiling_is_told_once_and_no_longer_than_it_lasts():
    said = []
    with tells_compiling(said.append):
        assert not said
        with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
            assert said == [COMPILING]
    assert said == [COMPILING, ""]
    with tells_compiling(said.append):
        pass
    assert said == [COMPILING, ""]


def test_a_figure_is_no_higher_than_the_window_allows_and_has_smaller_letters_there():
    panel = Panel([], lambda now: Answer(go.Figure(layout={"height": 700}), "text"))
    assert (panel.figure.layout.height, panel.figure.layout.font.size) == (700, None)
    for window, height, letters in ((768, 498, 11), (500, 380, 11), (1080, 700, None)):
        panel.figure.page_height = window
        layout = panel.figure.layout
        assert (layout.height, layout.font.size) == (height, letters)
        assert panel.picture.layout.height == height


def test_the_picture_of_a_panel_has_its_caption():
    panel = Panel(
        [], lambda now: Answer(captioned(go.Figure(layout={"height": 400}), "a note"), "")
    )
    assert caption(panel.picture) == ["a note"] and isinstance(panel.picture, CaptionedFigure)
