"""Runs of one notebook: parameters are checked, results are whole, nothing tells of the machine."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from papers import run
from tests.suites import ROOT

PARAMETERS = """\
scale: str = "quick"  # quick or paper
trace: str = "synthetic"  # a log
output: str = ""  # where figures go
cores_per_node: int = 0
n: int = 3
divisor: float = (
    2.0
)
title: str = "none"
fast: bool = False
sizes: list = [1, 2]
anything = None
"""
DRAW = """\
import os, pandas as pd, plotly.graph_objects as go
from pathlib import Path
from cosimlab.figures import Publisher
import papers.claims
assert Path(trace).is_file() and Path.cwd().name == "notebooks"
print(output, trace, papers.claims.__file__, Path.home() / "x", title)
drawn = Publisher(output, Path(trace).stem).publish(go.Figure(), "line", pd.DataFrame({"y": [n]}))
"""
HOSTILE = '"; __import__("os").abort() #\n\\\u2028\'"""'


def write(path: Path, *cells: str, parameters: str = PARAMETERS, **metadata) -> Path:
    """A notebook with a cell of parameters and other code cells."""
    path.parent.mkdir(exist_ok=True)
    first = new_code_cell(parameters, metadata={"tags": ["parameters"]})
    metadata |= {"kernelspec": {"name": "python3", "display_name": "", "language": "python"}}
    notebook = new_notebook(cells=[first, *map(new_code_cell, cells)], metadata=metadata)
    nbformat.write(notebook, path)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(autouse=True)
def _importing_this(monkeypatch):
    """Kernels import what is tested."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "notebooks")]))


@pytest.fixture
def figures(tmp_path):
    """A folder for results, in which a notebook has older ones."""
    older = tmp_path / "figures" / "one"
    older.mkdir(parents=True)
    (older / "line.csv").write_text("old")
    return tmp_path / "figures"


def test_results_take_their_place_and_tell_nothing_of_the_machine(tmp_path, figures, capsys):
    notebook = write(tmp_path / "notebooks" / "one.ipynb", DRAW)
    log = tmp_path / "a\\1log.swf"
    log.touch()
    own = ["-p", "n", "4", "-p", "title", HOSTILE, "--scale", "paper"]
    assert run.main([str(notebook), str(figures / "one"), "--trace", str(log), *own]) == 0
    said = capsys.readouterr().out
    assert said.startswith("one: 2 cells in ") and "; processor: import " in said
    drawn = ["line.csv", "line.html", "line.json", "line.txt", "one.ipynb", "run.json"]
    assert names(figures / "one") == drawn and names(figures) == ["one", "plotly.min.js"]
    record = json.loads((figures / "one" / "run.json").read_text())
    shown = {"scale": "paper", "trace": "a\\1log.swf", "n": 4, "title": HOSTILE}
    assert record["parameters"] == shown
    assert record["seconds"] > 0 and record["versions"]["numpy"]
    spent = record["processor_seconds"]
    assert [*spent] == ["import", "compile", "simulate", "draw", "workers"] and spent["import"] > 0
    executed = nbformat.read(figures / "one" / "one.ipynb", as_version=4)
    nbformat.validate(executed)
    assert "output" not in executed.cells[1].source and "n = 4" in executed.cells[1].source
    assert executed.cells[2].outputs[0].text.startswith("output")
    for path in (figures / "one").iterdir():
        text = path.read_text()
        for folder in (tmp_path, ROOT, Path.home()):
            assert f"{folder}/" not in text, path.name
    assert not {"papermill", "widgets"} & {*executed.metadata, *executed.cells[0].metadata}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "7", 7),
        ("divisor", "3", 3.0),
        ("title", "5", "5"),
        ("fast", "True", True),
        ("sizes", "[3, 'a']", [3, "a"]),
        ("anything", "(1,)", (1,)),
    ],
)
def test_values_have_their_parameter_s_type(tmp_path, name, text, value):
    [found] = [v for k, v in parameters(tmp_path, own=[(name, text)]).items() if k == name]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"own": [("m", "1")]}, "no parameter 'm'; there are scale, trace, output, cores_per_node"),
        ({"own": [("n", "1.5")]}, "parameter 'n' got '1.5'; expected int, such as 3"),
        ({"own": [("divisor", "two")]}, "parameter 'divisor' got 'two'; expected float"),
        ({"own": [("fast", "1")]}, "expected bool, such as False"),
        ({"own": [("sizes", "5")]}, "expected list"),
        ({"cores": "many", "trace": "x"}, "parameter 'cores_per_node' got 'many'; expected int"),
        ({"cores": "8"}, "name the log with --trace"),
        ({"nodes": "8"}, "name the log with --trace"),
    ],
)
def test_parameters_that_cannot_be_are_refused_in_words(tmp_path, given, said):
    with pytest.raises(ValueError, match=said):
        parameters(tmp_path, **given)


def parameters(tmp_path, *, declared=PARAMETERS, named=None, **given):
    """The values that a notebook gets."""
    notebook = write(tmp_path / "one.ipynb", parameters=declared)
    read = nbformat.read(notebook, as_version=4)
    read.metadata["cosimlib"] = {"trace": named} if named else {}
    common = {"scale": "quick", "trace": "", "cores": "", "nodes": "", "own": []}
    return run.parameters(read, argparse.Namespace(**common | given))


def test_a_notebook_gets_what_it_has_parameters_for(tmp_path, monkeypatch):
    assert parameters(tmp_path) == {"scale": "quick", "trace": "synthetic"}
    assert parameters(tmp_path, declared="n: int = 1") == {}
    assert parameters(tmp_path, trace="KTH-SP2", cores="8", nodes="9") == {
        "scale": "quick",
        "trace": "KTH-SP2",
        "cores_per_node": 8,
    }
    for here, trace in {tmp_path: "KTH-SP2", None: "synthetic"}.items():
        monkeypatch.setattr(run, "find_trace", lambda name, here=here: here)
        assert parameters(tmp_path, named="KTH-SP2")["trace"] == trace
        assert parameters(tmp_path, named="KTH-SP2", trace="synthetic")["trace"] == "synthetic"


@pytest.mark.parametrize(
    ("cell", "options", "said"),
    [
        ("1 / 0", [], "one: cell '1 / 0': ZeroDivisionError: division by zero\n"),
        ("import os; os._exit(3)", [], "one: Kernel died\n"),
        ("import time; time.sleep(3600)", ["--limit", "0.02"], "one: A cell timed out"),
    ],
)
def test_older_results_stay_where_a_notebook_fails(tmp_path, figures, capsys, cell, options, said):
    notebook = write(tmp_path / "one.ipynb", cell)
    assert run.main([str(notebook), str(figures / "one"), *options]) == 1
    assert capsys.readouterr().err.startswith(said)
    assert names(figures) == ["one"] and (figures / "one" / "line.csv").read_text() == "old"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_killed_run_leaves_older_results_and_its_kernel_ends(tmp_path, figures):
    note = "import os, pathlib, time; pathlib.Path(title).write_text(str(os.getpid()))"
    notebook, pid = write(tmp_path / "one.ipynb", note, "time.sleep(600)"), tmp_path / "pid"
    command = [sys.executable, "-m", "papers.run", notebook, figures / "one", "-p", "title", pid]
    with subprocess.Popen(command) as runner:
        kernel = wait_for(lambda: runner.poll() or (pid.is_file() and pid.read_text()))
        runner.send_signal(signal.SIGKILL)
    assert (figures / "one" / "line.csv").read_text() == "old"
    assert wait_for(lambda: not Path(f"/proc/{kernel}").exists())
    write(notebook, "1 + 1")
    assert run.main([str(notebook), str(figures / "one")]) == 0
    assert names(figures) == ["one"] and names(figures / "one") == ["one.ipynb", "run.json"]


def wait_for(value, seconds=120):
    """The first value that is true; the limit only keeps a failure from lasting for ever."""
    last = time.monotonic() + seconds
    while not (found := value()) and time.monotonic() < last:
        time.sleep(0.05)
    return found
