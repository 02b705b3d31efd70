"""Kernels compiled ahead: every registered solver and simulator, once, and only where needed."""

import json

import pytest

from cosimlib import warm
from cosimlib.eviction import SOLVERS
from cosimlib.policies import SIMULATORS
from tests.suites import ROOT


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(warm, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_every_registered_solver_and_simulator_runs_once(monkeypatch, folder):
    called = []

    def noted(register):
        return {
            name: lambda *given, name=name, run=run: called.append(name) or run(*given)
            for name, run in register.items()
        }

    monkeypatch.setattr(warm, "SOLVERS", noted(SOLVERS))
    monkeypatch.setattr(warm, "SIMULATORS", noted(SIMULATORS))
    warm.warm(jobs=1)
    assert sorted(called) == sorted([*SOLVERS, *SIMULATORS])
    warm.warm(jobs=1)
    assert len(called) == len(SOLVERS) + len(SIMULATORS)
    (folder / warm.DONE).write_text("of files that were touched since")
    warm.warm(jobs=1)
    assert len(called) == 2 * (len(SOLVERS) + len(SIMULATORS))


def test_a_part_that_fails_is_not_taken_for_compiled(monkeypatch, folder):
    monkeypatch.setitem(warm.PARTS, "eviction", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        warm.warm(jobs=1)
    assert not any(folder.iterdir())


def test_notebooks_wait_for_parts_that_there_are():
    for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        told = json.loads(path.read_text(encoding="utf-8"))["metadata"]["cosimlib"]
        assert set(told["kernels"]) <= set(warm.PARTS), path.name
        assert told["seconds"] > 0
