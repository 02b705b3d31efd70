"""Folders of sweeps: what is done is not computed again, and nothing is lost or half written."""

import errno
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from cosimlib.sweep import SweepWarning, sweep
from cosimlib.sweep import folder as folders
from tests.sweep.functions import multiples, product, table


class Notes:
    """A list that does not count as an argument: its digest is always the same."""

    def __init__(self):
        self.taken = []

    def __reduce__(self):
        return Notes, ()


def counted(calls):
    """A function that notes the cells that it computes."""

    def function(x, seed):
        calls.taken.append((x, seed))
        return {"tenth": x / 10 + seed}

    return function


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_second_call_computes_what_is_missing_only(tmp_path):
    calls = Notes()
    first = sweep(counted(calls), {"x": [1, 2]}, range(2), folder=tmp_path / "new" / "sweep")
    assert len(calls.taken) == 4
    again = sweep(counted(calls), {"x": [1, 2]}, range(2), folder=tmp_path / "new" / "sweep")
    assert len(calls.taken) == 4
    pd.testing.assert_frame_equal(first, again)
    more = sweep(counted(calls), {"x": [3, 2]}, range(3), folder=tmp_path / "new" / "sweep")
    assert sorted(calls.taken[4:]) == [(2, 2), (3, 0), (3, 1), (3, 2)]
    pd.testing.assert_frame_equal(more, sweep(counted(Notes()), {"x": [3, 2]}, range(3)))


def test_an_interrupted_sweep_goes_on_where_it_stopped(tmp_path):
    calls = Notes()

    def function(x):
        calls.taken.append(x)
        if len(calls.taken) == 3:
            raise KeyboardInterrupt
        return {"square": x * x}

    with pytest.raises(KeyboardInterrupt):
        sweep(function, {"x": range(5)}, folder=tmp_path)
    found = sweep(function, {"x": range(5)}, folder=tmp_path)
    assert found["square"].tolist() == [0, 1, 4, 9, 16]
    assert calls.taken == [0, 1, 2, 2, 3, 4]


def test_other_functions_defaults_and_values_are_other_cells(tmp_path):
    calls = Notes()

    def make(factor, code):
        exec(code, scope := {"calls": calls, "factor": factor, "__name__": "__main__"})
        return scope["function"]

    code = "def function(x, by=1):\n    calls.taken.append(x)\n    return {'y': x * factor * by}"
    assert sweep(make(2, code), {"x": [1]}, folder=tmp_path)["y"].tolist() == [2]
    calls.taken.clear()
    assert sweep(make(2, "\n\n" + code + "\n"), {"x": [1]}, folder=tmp_path)["y"].tolist() == [2]
    assert calls.taken == [], "where it is written does not matter"
    for factor, changed, y in [
        (3, code, 3),
        (2, code.replace("by=1", "by=5"), 10),
        (2, code.replace("x * factor", "x + factor"), 3),
    ]:
        calls.taken.clear()
        assert sweep(make(factor, changed), {"x": [1]}, folder=tmp_path)["y"].tolist() == [y]
        assert calls.taken == [1]


def test_cells_are_the_same_bytes_wherever_they_are_computed(tmp_path):
    sweep(multiples, {"x": [1, 2.5]}, range(4), folder=tmp_path / "here")
    sweep(multiples, {"x": [2.5, 1]}, [3, 1, 2, 0], folder=tmp_path / "there", executor=2)
    with ThreadPoolExecutor(2) as threads:
        sweep(multiples, {"x": [1, 2.5]}, range(4), folder=tmp_path / "threads", executor=threads)
    assert len(files(tmp_path / "here")) == 9
    assert files(tmp_path / "here") == files(tmp_path / "there") == files(tmp_path / "threads")


def test_cells_that_failed_are_tried_again(tmp_path):
    wrong = Notes()

    def function(x):
        if not wrong.taken:
            raise OSError("no network today")
        return {"y": x}

    with pytest.warns(SweepWarning, match="no network today"):
        sweep(function, {"x": [1]}, folder=tmp_path)
    wrong.taken.append(False)
    assert sweep(function, {"x": [1]}, folder=tmp_path)["y"].tolist() == [1]


def test_half_a_cell_counts_as_none(tmp_path):
    expected = sweep(table, {"x": [1]}, folder=tmp_path)
    (cell,) = tmp_path.glob("cells/*.jsonl")
    whole = cell.read_bytes()
    for half in (b"", whole[:-30], whole[: whole.index(b"\n") + 1]):
        cell.write_bytes(half)
        pd.testing.assert_frame_equal(sweep(table, {"x": [1]}, folder=tmp_path), expected)
        assert cell.read_bytes() == whole


def test_a_sweep_that_was_killed_at_once_leaves_no_folder_of_something_else(tmp_path):
    (tmp_path / ".sweep.json.123").write_text("{")
    assert len(sweep(product, {"x": [1]}, folder=tmp_path)) == 1


def test_a_full_disk_ends_the_sweep_and_keeps_what_is_done(tmp_path, monkeypatch):
    written, write = [], folders.write_whole

    def write_two_cells(path, content):
        if path.suffix == ".jsonl" and len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, content)
        written.extend([path] * (path.suffix == ".jsonl"))

    monkeypatch.setattr(folders, "write_whole", write_two_cells)
    for executor in (None, 2):
        with pytest.raises(OSError, match="No space left on device"):
            sweep(product, {"x": range(9)}, folder=tmp_path, executor=executor)
    monkeypatch.undo()
    assert len(list(tmp_path.glob("cells/*"))) == 2
    found = sweep(product, {"x": range(9)}, folder=tmp_path)
    assert len(found) == 9


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path):
    sweep(product, {"x": [1]}, folder=tmp_path / "sweep")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    (tmp_path / "file").touch()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "sweep.json").write_text("[]")
    before = files(tmp_path)
    for name, expected in {
        "sweep": "holds the sweep of tests.sweep.functions.product, this one is of .*table; give",
        "other": "holds other files and no sweep.json; expected a new or empty folder",
        "file": "is a file; expected a folder",
        "odd": "sweep.json is not what a sweep writes; give a new folder",
    }.items():
        with pytest.raises(ValueError, match=expected):
            sweep(table, {"x": [1]}, folder=tmp_path / name)
    assert files(tmp_path) == before
