"""Folders of sweeps: what is done is not computed again, and nothing is lost or half written."""

import errno
import json
import subprocess
import sys
from functools import lru_cache, partial
from importlib import import_module
from types import SimpleNamespace

import joblib
import pandas as pd
import pytest
from numba import njit

import cosimlib as cs
from cosimlab.sweep import PACKAGES, SweepWarning, digest, package_digest, sweep
from tests.cosimlab.sweep.functions import multiples, product, table
from tests.suites import ROOT


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


def compiled(code):
    exec(code, scope := {"__name__": "__main__"})
    return scope["f"]


CODES = [
    "def f(x): return x + 1",
    "def f(x): return x + 2",
    "def f(x, y=1): return x + 1",
    "def f(x, y=2): return x + 1",
    "k = 1\ndef f(x): return x + k",
    "k = 2\ndef f(x): return x + k",
    "def g(x): return x + 1\ndef f(x): return g(x)",
    "def g(x): return x + 2\ndef f(x): return g(x)",
    "def f(x): return [y + 1 for y in x]",
    "def f(x): return [y + 2 for y in x]",
    "import math\ndef f(x): return math.sin(x)",
    "import cmath as math\ndef f(x): return math.sin(x)",
    "def f(n): return n and f(n - 1)",
]


@pytest.mark.parametrize("decorate", [lambda f: f, njit, lru_cache, lambda f: partial(f, 1)])
def test_functions_count_by_what_they_do(decorate):
    digests = [digest("f", decorate(compiled(code))) for code in CODES]
    assert len(set(digests)) == len(CODES)
    moved = [compiled(f"# a remark\nunused = 1\n{code}") for code in CODES]
    assert [digest("f", decorate(function)) for function in moved] == digests


def test_arguments_count_by_content():
    first, again, other = (cs.synthetic.theta(50, seed=seed) for seed in (0, 0, 1))
    assert digest("log", first) == digest("log", again) != digest("log", other)
    assert digest("log", first) != digest("log", first.noted("noted", "a remark", 1))
    five, six = cs.System.of(5), cs.System.of(6)
    assert digest("system", five) == digest("system", cs.System.of(5)) != digest("system", six)
    assert len({digest("x", x) for x in (1, 1.0, True, "1", b"1", None, [1], (1,), {1})}) == 9
    simulate = cs.simulate_easy, cs.simulate_fcfs, partial(cs.simulate_easy, order="wfp")
    assert len({digest("policy", each) for each in simulate}) == 3


PROGRAM = """
import cosimlib as cs
from cosimlab.sweep import digest
log = cs.synthetic.theta(50)
def f(x, s={"a", "b", "c"}): return log, s, lambda y: y in {"u", "v", "w"}, cs
print(digest("value", [log, log.machine, {"one", "two", "three"}, f, cs.simulate_easy]))
"""


def test_digests_are_the_same_in_every_process():
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1 and len(printed.pop()) == 33


def test_cells_are_the_same_bytes_wherever_they_are_computed(tmp_path):
    sweep(multiples, {"x": [1, 2.5]}, range(4), folder=tmp_path / "here")
    sweep(multiples, {"x": [2.5, 1]}, [3, 1, 2, 0], folder=tmp_path / "there", executor=2)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        sweep(multiples, {"x": [1, 2.5]}, range(4), folder=tmp_path / "threads")
    assert len(files(tmp_path / "here")) == 8
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
    (cell,) = tmp_path.iterdir()
    whole = cell.read_bytes()
    for half in (b"", whole[:-30]):
        cell.write_bytes(half)
        pd.testing.assert_frame_equal(sweep(table, {"x": [1]}, folder=tmp_path), expected)
        assert cell.read_bytes() == whole


@pytest.mark.parametrize("content", ["null", "[]", "{}", '{"key": 1, "rows": []}', "wrong rows"])
def test_a_file_that_is_no_cell_counts_as_none(tmp_path, content):
    expected = sweep(table, {"x": [1]}, folder=tmp_path)
    (cell,) = tmp_path.iterdir()
    whole = cell.read_text()
    stored = json.loads(whole)
    cell.write_text(content if content != "wrong rows" else json.dumps(stored | {"rows": [1]}))
    pd.testing.assert_frame_equal(sweep(table, {"x": [1]}, folder=tmp_path), expected)
    assert cell.read_text() == whole


def test_the_copy_of_another_cell_is_not_believed(tmp_path):
    expected = sweep(product, {"x": [1, 2]}, folder=tmp_path)
    one, other = tmp_path.iterdir()
    one.write_bytes(other.read_bytes())
    pd.testing.assert_frame_equal(sweep(product, {"x": [1, 2]}, folder=tmp_path), expected)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # loky's
def test_a_full_disk_ends_the_sweep_names_the_folder_and_keeps_what_is_done(tmp_path, monkeypatch):
    sweeps, written = import_module("cosimlab.sweep"), []
    write = sweeps.write_whole

    def write_two_cells(path, content):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)
        written.append(path)

    monkeypatch.setattr(sweeps, "write_whole", write_two_cells)
    for executor in (None, 2):
        with pytest.raises(OSError, match="No space left on device; cells written") as caught:
            sweep(product, {"x": range(9)}, folder=tmp_path, executor=executor)
        assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(tmp_path)
    monkeypatch.undo()
    assert len(list(tmp_path.iterdir())) == 2
    assert len(sweep(product, {"x": range(9)}, folder=tmp_path)) == 9


@pytest.mark.parametrize("edited", ["cosimlib", "cosimlab", "papers"])
def test_an_edit_of_any_package_makes_cells_stale(tmp_path, monkeypatch, edited):
    """Functions may use any file of the two packages; those of papers, any file of papers."""
    for name in ("cosimlib", "cosimlab", "papers"):
        (tmp_path / name / "room").mkdir(parents=True)
        (tmp_path / name / "room" / "code.py").write_text("before = 1\n")
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name: SimpleNamespace(submodule_search_locations=[str(tmp_path / name)]),
    )

    def of_papers(x):
        return {"y": x}

    of_papers.__module__ = "papers.claims"

    def key():
        package_digest.cache_clear()
        return package_digest(PACKAGES), digest("function", of_papers)

    try:
        before = key()
        assert key() == before
        (tmp_path / edited / "room" / "code.py").write_text("before = 2\n")
        after = key()
    finally:
        package_digest.cache_clear()
    assert [new != old for new, old in zip(after, before, strict=True)] == [
        edited != "papers",
        edited == "papers",
    ]
