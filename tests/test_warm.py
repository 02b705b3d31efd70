"""Kernels compiled ahead: every registered solver and simulator, and only where needed."""

import pytest

from cosimlib import compiled, warm
from cosimlib.eviction import SOLVERS
from cosimlib.policies import BUILT_IN


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def called(monkeypatch, folder):
    """The names of solvers and simulators as they are called."""
    names = []

    def noted(register):
        return {
            name: lambda *given, name=name, run=run, **knobs: (
                names.append(name) or run(*given, **knobs)
            )
            for name, run in register.items()
        }

    monkeypatch.setattr(warm, "SOLVERS", noted(SOLVERS))
    monkeypatch.setattr(warm, "BUILT_IN", noted(BUILT_IN))
    return names


def test_every_registered_solver_and_simulator_runs_where_it_is_not_compiled(called, folder):
    assert not warm.is_warm()
    warm.warm(jobs=1)
    assert set(called) == {*SOLVERS, *BUILT_IN}
    assert warm.is_warm()
    called.clear()
    warm.warm(jobs=1)
    assert not called
    for note in folder.glob(".*"):
        note.write_text("of files that were touched since")
    warm.warm(jobs=1)
    assert set(called) == {*SOLVERS, *BUILT_IN}


def test_parts_are_compiled_alone(called):
    assert warm.main(["--jobs", "1", "eviction"]) == 0
    assert sorted(called) == sorted(SOLVERS)
    assert [part for part in warm.PARTS if compiled.is_compiled(part)] == ["eviction"]


def test_a_part_that_another_process_has_compiled_meanwhile_is_left(called):
    with compiled.compiling("eviction") as needed:
        assert needed
    warm.compile_part("eviction")
    assert not called


def test_a_part_that_there_is_not_is_refused(capsys):
    with pytest.raises(SystemExit):
        warm.main(["evictions"])
    assert "'evictions': expected parts of batch" in capsys.readouterr().err


def test_a_part_that_fails_is_not_taken_for_compiled(monkeypatch, folder):
    monkeypatch.setitem(warm.PARTS, "eviction", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        warm.compile_part("eviction")
    assert not compiled.is_compiled("eviction")
