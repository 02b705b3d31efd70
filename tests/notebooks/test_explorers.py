"""Explorers' notebooks, their cells run in this process: panels, and numbers that are numbers."""

import pytest

from cosimlib.policies import SIMULATORS
from tests.notebooks.cells import run_cells, strange
from tests.suites import members

EXPLORERS = [path for path in members("lax") if path.parent.name == "explore"]


@pytest.mark.compiled("explorers simulate thousands of jobs")
@pytest.mark.parametrize("path", EXPLORERS, ids=lambda path: path.stem)
def test_all_cells_run_and_show_a_panel(path):
    known = set(SIMULATORS)
    shown = run_cells(path)
    assert not strange(shown)
    assert any("a live panel" in text for text in shown.texts)
    assert SIMULATORS.keys() == known, "policies of a notebook are forgotten after it"
