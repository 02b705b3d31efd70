"""Answers that are kept: pinned beside others, made anew by a cell of Python, saved as a table."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import cosimlab as lab
from cosimlab.explorers import cell
from cosimlab.explorers.answer import Answer, Pin, changes, comparison
from cosimlab.explorers.app import PAGES
from cosimlab.explorers.cell import Call
from cosimlab.explorers.knobs import Knob, same
from cosimlab.explorers.live import LiveFigure, PinnedFigure
from cosimlab.explorers.panel import MOST_CELLS, Panel
from cosimlib import synthetic
from cosimlib.system import System
from tests.zoo import ZOO

SMALL = {
    "explore_advise": lambda: PAGES["advise"].open([]),
    "explore_batch": lambda: lab.explore_batch(jobs=60),
    "explore_coscheduling": lambda: lab.explore_coscheduling(schemes="HH", event=4),
    "explore_elastic": lambda: lab.explore_elastic(seed=1),
    "explore_eviction": lambda: lab.explore_eviction(horizon=600.0),
    "explore_filling": lambda: lab.explore_filling(jobs=60),
    "explore_ondemand": lambda: lab.explore_ondemand(jobs=60),
    "explore_timesharing": lambda: lab.explore_timesharing(),
    "explore_what_if": lambda: lab.explore_what_if(jobs=1500),
}
CHANGES = {
    "explore_advise": {"nodes_needed": 13, "bandwidth": 0.5},
    "explore_batch": {"policy": "FCFS", "load": 1.1},
    "explore_coscheduling": {"schemes": "HY", "event": 7},
    "explore_elastic": {"policy": "LIFO", "preempted": 4},
    "explore_eviction": {"nodes_needed": 700, "deadline": 240.0, "solver": "greedy"},
    "explore_filling": {"policy": "filling C", "save_every": 7, "speed": 0.8},
    "explore_ondemand": {"policy": "kill", "rate": 8.0, "size": 0.5},
    "explore_timesharing": {"overhead": 0.1, "noise": 0.005},
    "explore_what_if": {"nodes": 25.0, "limit": 24.0},
}


def run(code: str) -> Panel:
    """The panel that a cell makes."""
    names: dict = {}
    exec(code, names)
    return names["panel"]


def assert_same_answer(one: Panel, other: Panel) -> None:
    """Settings, figure, text, notes, numbers and table are the same."""
    assert same(one.settings, other.settings)
    assert one.text.value == other.text.value and one.notes.value == other.notes.value
    assert same(one._shown.to_plotly_json(), other._shown.to_plotly_json())
    assert same(
        {name: str(value) for name, value in one.answer.numbers.items()},
        {name: str(value) for name, value in other.answer.numbers.items()},
    )
    pd.testing.assert_frame_equal(one.answer.table(), other.answer.table())


@pytest.mark.parametrize("name", SMALL)
def test_the_cell_makes_the_answer_anew_and_the_numbers_are_named(name):
    panel = SMALL[name]()
    panel.choose(**CHANGES[name])
    assert set(CHANGES[name]) <= set(panel.asked()), "a setting that was changed is missing"
    assert panel.call.name == name
    assert_same_answer(panel, run(panel.cell()))
    numbers, table = panel.answer.numbers, panel.answer.table()
    assert len(numbers) >= 4 and all(isinstance(float(each), float) for each in numbers.values())
    assert len(table) and table.columns.is_unique
    assert table.to_csv(index=False).count("\n") == len(table) + 1


def test_a_cell_has_only_what_differs():
    panel = lab.explore_batch(jobs=60)
    assert panel.cell() == ("import cosimlab as lab\n\npanel = lab.explore_batch(jobs=60)\npanel")
    panel.choose(policy="FCFS", load=1.1)
    assert 'panel = lab.explore_batch(jobs=60, policy="FCFS", load=1.1)' in panel.cell()
    panel.choose(load=panel._timeline.load(panel.settings) + 0.004)
    assert 'lab.explore_batch(jobs=60, policy="FCFS")' in panel.cell(), "a browser's rounding"


def test_a_moment_of_other_days_keeps_the_days():
    """The days chosen at first follow from the moment that is asked for."""
    log = synthetic.lublin(1500, nodes=32, load=0.5, seed=2)
    panel = lab.explore_elastic(log, System.of(32), jobs=80)
    panel.controls["period"].value = (0, 0)
    panel.controls["at"].value = panel.controls["at"].max
    code = panel.cell()
    assert "period=(0, 0)" in code and "system=cs.System.of(32)" in code
    names = {"source": panel.call.arguments["source"]}
    exec("\n".join(line for line in code.splitlines() if " = ..." not in line), names)
    assert_same_answer(panel, names["panel"])


def test_large_arguments_have_the_names_of_their_variables(monkeypatch):
    log = synthetic.lublin(20, nodes=32, seed=1)
    call = lab.explore_batch(log, System("own", {"main": 32}, 4)).call
    code = call.cell({})
    assert "source = ...  # in place of the points: <Workload Lublin" in code
    assert "system = ...  # in place of the points: <System " in code
    shell = type("Shell", (), {"user_ns": {"_": log, "mine": log}})()
    monkeypatch.setattr(cell, "get_ipython", lambda: shell)
    assert "panel = lab.explore_batch(mine, system=system)" in call.cell({})


def test_known_traces_and_plain_values_are_written():
    log = synthetic.lublin(20, nodes=32, seed=1)
    named = type(log)(log.jobs, "KTH-SP2", log.machine)
    code = Call("explore_batch", {"source": named}).cell({"load": np.float64(0.5)})
    assert 'workload = cs.load_trace("KTH-SP2")' in code and code.startswith("import cosimlab")
    assert "lab.explore_batch(workload, load=0.5)" in code and "import cosimlib as cs" in code
    written = Call("f", {"a": [Path("b c")], "d": (1,), "e": None, "g": "é"}).cell({})
    assert 'lab.f(a=["b c"], d=(1,), e=None, g="é")' in written
    long = Call("f", {"a": "x" * 90}).cell({})
    assert f'panel = lab.f(\n    a="{"x" * 90}",\n)' in long


@pytest.mark.parametrize("name", ["batch", "coscheduling"])
def test_a_reader_s_log_is_loaded_by_its_file_s_name(name, monkeypatch):
    panel = PAGES[name].open([ZOO / "two-sizes.swf.gz"])
    code = panel.cell()
    assert 'cs.load_trace("two-sizes.swf.gz")' in code and str(ZOO) not in code
    monkeypatch.chdir(ZOO)
    assert_same_answer(panel, run(code))


@pytest.fixture
def panel():
    """A panel of one slider, whose table has as many cells as it says."""

    def draw(now):
        nodes = now["nodes"]
        return Answer(
            go.Figure(go.Scatter(y=[nodes]), layout={"height": 400, "title": f"{nodes} nodes"}),
            f"{nodes} nodes",
            numbers={"loss (node-hours)": 2.5 * nodes, "never": math.nan},
            table=lambda: pd.DataFrame({"node": np.arange(nodes)}),
        )

    return Panel([Knob("nodes", 4, "nodes", high=10_000_000, whole=True)], draw)


def pressed(panel, number):
    """Press one of the three buttons."""
    panel.buttons[number].click()
    return panel.buttons[number].description


def test_an_answer_is_pinned_beside_the_next_until_it_is_unpinned(panel):
    assert pressed(panel, 0) == "unpin"
    panel.choose(nodes=6)
    html = panel._comparison.value
    assert panel._comparison in panel._left.children and "nodes 4 → 6" in html
    assert "<tr><td>loss (node-hours)</td><td>10</td><td>15</td><td>+5</td></tr>" in html
    assert "<tr><td>never</td><td>–</td><td>–</td><td>–</td></tr>" in html
    [row] = panel._below.children
    assert "4 nodes" in row.children[0].value
    [figure] = row.children[1].children
    figure.page_width = 700
    assert figure.layout.width == 700
    assert figure.data[0].y == (4,) and panel.figure.data[0].y == (6,)
    assert pressed(panel, 0) == "pin"
    assert panel._below.children == () and panel._comparison not in panel._left.children
    assert figure.comm is None, "the browser keeps a figure that nobody shows"


def test_a_pinned_figure_brings_no_second_plotly(panel):
    figure = PinnedFigure(go.Figure())
    assert figure._plotly_code == "" and isinstance(figure, LiveFigure)
    assert figure._esm == panel.figure._esm


def test_the_cell_is_shown_and_copied_and_hidden_with_the_next_answer(panel, monkeypatch):
    copied = []
    monkeypatch.setattr(panel.figure, "send", copied.append)
    assert pressed(panel, 1) == "hide Python"
    assert panel._cell.children == (panel._code,) and panel._code.value == panel.cell()
    assert copied == [{"copy": panel.cell(), "shown": panel._code_class}]
    panel.choose(nodes=7)
    assert panel._cell.children == () and panel.buttons[1].description == "copy as Python"


def test_a_table_is_saved_under_the_settings_names_unless_it_is_too_large(panel, monkeypatch):
    sent = []
    monkeypatch.setattr(panel.figure, "send", sent.append)
    panel.choose(nodes=2)
    pressed(panel, 2)
    assert sent == [{"download": "node\n0\n1\n", "name": "explore-nodes=2.csv"}]
    assert panel._said.value == "explore-nodes=2.csv: 2 rows"
    panel.choose(nodes=MOST_CELLS + 1)
    pressed(panel, 2)
    assert len(sent) == 1 and "5,000,001 rows, too many for a download" in panel._said.value


def test_another_panel_shows_a_pin_with_other_data():
    one, other = lab.explore_batch(jobs=20), lab.explore_filling(jobs=20)
    pressed(one, 0)
    other.pin(one.pinned)
    assert "policy EASY → filling A" in other._comparison.value
    assert "data Lublin-Feitelson (seed 0) → synthetic Lomonosov" in other._comparison.value
    assert "<td>mean wait (h)</td>" in other._comparison.value


def test_numbers_in_a_comparison_are_short():
    pin = Pin(go.Figure(), "", {"a": 12_345.678, "b": 0.123456, "c": 1.0}, {"days": "1"})
    html = comparison(pin, {"a": 12_000.0, "b": 0.1, "c": math.inf}, {"days": "1"})
    assert "the same settings" in html
    assert "<td>12,346</td><td>12,000</td><td>−345.7</td>" in html
    assert "<td>0.1235</td><td>0.1</td><td>−0.02346</td>" in html
    assert "<td>1</td><td>∞</td><td>+∞</td>" in html
    assert changes({"a": "1", "b": "2"}, {"b": "2", "c": "<3"}) == ["a 1 → –", "c – → <3"]
