"""Folders are put in their place whole, and what killed processes leave is cleared up."""

import errno
import os
import re
from pathlib import Path
from threading import Thread

import pytest

from cosimlab import folders
from cosimlab.folders import whole_folder

fcntl = pytest.importorskip("fcntl", reason="no locks of POSIX")


def contents(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def write(target, text):
    with whole_folder(target) as folder:
        (folder / "line.csv").write_text(text)


def killed(target, monkeypatch):
    """The temporary folder of a process that was killed when it had moved `target` into it."""
    with monkeypatch.context() as patched:
        patched.setattr(folders, "_clear", lambda *_: None)
        with pytest.raises(SystemExit), whole_folder(target) as folder:
            target.rename(folder.with_name(folders.OLD))
            raise SystemExit
    return folder.parent


def test_a_folder_takes_the_place_of_an_older_one_with_the_end_of_its_block(tmp_path):
    target = tmp_path / "deep" / "results"
    write(target, "old")
    with whole_folder(target) as first, whole_folder(target) as second:
        (first / "line.csv").write_text("first")
        (second / "line.csv").write_text("second")
        assert contents(target) == {"line.csv": "old"}
    assert contents(tmp_path) == {"deep/results/line.csv": "first"}


def test_two_that_end_at_one_moment_take_the_place_one_after_the_other(tmp_path, monkeypatch):
    """The second would find no older folder, and put its own where the first is about to be."""
    target, rename, seconds = tmp_path / "results", Path.rename, []
    write(target, "old")

    def slow(path, place):
        rename(path, place)
        if path == target and not seconds:  # the older folder was just moved away
            seconds.append(Thread(target=write, args=(target, "second")))
            seconds[0].start()
            seconds[0].join(0.3)

    monkeypatch.setattr(Path, "rename", slow)
    write(target, "first")
    seconds[0].join()
    assert contents(tmp_path) == {"results/line.csv": "second"}


def test_a_place_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(folders.tempfile, "mkdtemp", refuse)
    said = f"{tmp_path / 'results'}: cannot be written, {os.strerror(errno.EROFS)}; take a folder"
    with pytest.raises(OSError, match=re.escape(said)), whole_folder(tmp_path / "results"):
        pass


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_older_folder_stays_where_the_block_fails(tmp_path, error):
    write(tmp_path / "results", "old")
    with pytest.raises(error), whole_folder(tmp_path / "results") as folder:
        (folder / "line.csv").write_text("new")
        raise error
    assert contents(tmp_path) == {"results/line.csv": "old"}


def test_what_a_killed_process_had_moved_aside_comes_back(tmp_path, monkeypatch):
    write(tmp_path / "results", "old")
    killed(tmp_path / "results", monkeypatch)
    with pytest.raises(SystemExit), whole_folder(tmp_path / "results"):
        assert contents(tmp_path / "results") == {"line.csv": "old"}
        raise SystemExit
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_without_locks_nothing_of_others_is_cleared(tmp_path, monkeypatch):
    write(tmp_path / "results", "old")
    left = killed(tmp_path / "results", monkeypatch)

    def refuse(*_):
        raise OSError("no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    write(tmp_path / "results", "new")
    assert contents(tmp_path / "results") == {"line.csv": "new"} and left.is_dir()
