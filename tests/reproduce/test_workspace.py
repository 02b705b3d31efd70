"""Workspaces: two at once, what killed runs leave, file systems without locks."""

import os

import pytest

from cosimlib.files import TEMPORARY, write_whole
from cosimlib.reproduce import workspace as workspaces
from cosimlib.reproduce.workspace import locked, workspace
from tests.reproduce.test_execute import contents, names

fcntl = pytest.importorskip("fcntl", reason="no locks of POSIX")


def abandon(results, monkeypatch) -> str:
    """A workspace as a killed run leaves it; its name."""
    with monkeypatch.context() as patched:
        patched.setattr(workspaces.shutil, "rmtree", lambda *_, **__: None)
        with workspace(results) as folder:
            (folder / "one").mkdir()
            (folder / "one.previous").mkdir()
            (folder / "one.previous" / "line.csv").write_text("old")
    return folder.name


def test_a_workspace_goes_with_its_run(tmp_path):
    with workspace(tmp_path) as folder:
        (folder / "one").mkdir()
        assert names(tmp_path) == [folder.name]
    assert names(tmp_path) == []


def test_two_at_once_have_workspaces_of_their_own(tmp_path):
    with workspace(tmp_path) as first:
        (first / "line.csv").write_text("1")
        with workspace(tmp_path) as second:
            assert contents(tmp_path) == {f"{first.name}/line.csv": b"1"} and second != first
        assert contents(tmp_path) == {f"{first.name}/line.csv": b"1"}


def test_what_a_killed_run_moved_aside_comes_back_and_the_rest_goes(tmp_path, monkeypatch):
    abandon(tmp_path, monkeypatch)
    write_whole(tmp_path / "two.csv", b"whole")
    (tmp_path / f"{TEMPORARY}1f").write_text("torn")
    with workspace(tmp_path):
        pass
    assert contents(tmp_path) == {"one/line.csv": b"old", "two.csv": b"whole"}


def test_newer_results_stay_where_they_are(tmp_path, monkeypatch):
    abandon(tmp_path, monkeypatch)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "line.csv").write_text("new")
    with workspace(tmp_path):
        pass
    assert contents(tmp_path) == {"one/line.csv": b"new"}


def test_workspaces_of_other_machines_are_left_alone(tmp_path, monkeypatch):
    name = abandon(tmp_path, monkeypatch)
    monkeypatch.setattr(workspaces.platform, "node", lambda: "another")
    with workspace(tmp_path):
        pass
    assert names(tmp_path) == [name]


def test_without_locks_runs_go_on_and_nothing_is_cleared(tmp_path, monkeypatch):
    name = abandon(tmp_path, monkeypatch)

    def refuse(*_):
        raise OSError("no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with workspace(tmp_path) as folder, locked(tmp_path):
        assert names(tmp_path) == sorted([name, folder.name])
    assert names(tmp_path) == [name]


def test_one_writes_at_a_time(tmp_path):
    mark = os.open(tmp_path, os.O_RDONLY)
    with locked(tmp_path), pytest.raises(BlockingIOError):
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(mark)
