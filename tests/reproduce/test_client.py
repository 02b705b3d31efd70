"""papermill's client: outputs are cut, parameters are data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_notebook
from papermill.engines import NotebookExecutionManager
from papermill.translators import translate_parameters

from cosimlib.reproduce import client
from cosimlib.reproduce.client import BoundedClient
from cosimlib.reproduce.process import Task, _strip_paths

SCALARS = st.text() | st.integers() | st.floats() | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)
HOSTILE = '"; __import__(\'os\').abort() #\n\\\u2028\'"""'


def injected(value):
    """The parameters of a cell that papermill wrote for a value and a hostile text."""
    source = translate_parameters("python3", "python", {"x": value, "y": HOSTILE}, "Parameters")
    found: dict[str, object] = {}
    exec(source, {"__builtins__": {"float": float, "set": set}}, found)
    assert list(found) == ["x", "y"] and found["y"] == HOSTILE
    return found["x"]


@given(VALUES)
def test_parameters_are_literals(value):
    assert repr(injected(value)) == repr(value)


@given(st.sets(st.integers() | st.text(), max_size=3))
def test_sets_are_sets(value):
    assert injected(value) == value


@pytest.fixture
def outputs(monkeypatch):
    """What a cell keeps of the messages that it is sent."""
    monkeypatch.setattr(client, "MOST_PRINTED", 10)
    monkeypatch.setattr(client, "MOST_SHOWN", 20)
    notebook = new_notebook(cells=[new_code_cell("1"), new_code_cell("2")])
    manager = NotebookExecutionManager(notebook, progress_bar=False)
    bounded = BoundedClient(manager, on_start=lambda group: None)
    bounded.clear_before_next_output = False

    def send(kind, place=0, **content):
        ids = {"msg_type": kind, "header": {"msg_type": kind}, "parent_header": {"msg_id": "1"}}
        bounded.process_message(ids | {"content": content}, notebook.cells[place], place)
        return notebook.cells[place].outputs

    return send


def test_what_a_cell_prints_is_cut(outputs):
    for _ in range(1000):
        kept = outputs("stream", name="stdout", text="sixth.")
    assert [out.text for out in kept] == ["sixth.", "sixt\n[cut: a cell may print 10 letters]\n"]
    (other,) = outputs("stream", 1, name="stdout", text="0123456789")
    assert other.text == "0123456789"


def test_figures_that_are_too_large_are_left_out(outputs):
    shown = {"text/plain": "a", "application/json": {"b": [1, 2]}}
    outputs("display_data", data=dict(shown), metadata={})
    kept = outputs("display_data", data={"text/html": "c" * 99}, metadata={"text/html": {}})
    assert kept[0].data == shown
    line = "[left out: 99 letters; a cell may show 20]"
    assert kept[1].data == {"text/plain": line} and kept[1].metadata == {}


def test_texts_outside_of_the_results_are_not_touched(tmp_path):
    (tmp_path / "out").mkdir()
    mine = tmp_path / "mine.csv"
    mine.write_text(f"{tmp_path / 'out'}\n")
    (tmp_path / "out" / "link.csv").symlink_to(mine)
    (tmp_path / "out" / "own.csv").write_text(mine.read_text())
    _strip_paths(Task(tmp_path / "a.ipynb", tmp_path / "out", {}, {}, tmp_path / "log"))
    assert mine.read_text() == f"{tmp_path / 'out'}\n"
    assert (tmp_path / "out" / "own.csv").read_text() == "output\n"
