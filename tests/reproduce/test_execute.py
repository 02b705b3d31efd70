"""Notebooks run when something changed, wholly or not at all, and say in one line what failed."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from cosimlib.reproduce import plan
from cosimlib.reproduce.command import main
from cosimlib.reproduce.execute import execute_all, first_ready
from cosimlib.reproduce.process import Compilation, Task
from tests.suites import ROOT

PARAMETERS = """\
scale: str = "quick"  # quick or paper
trace: str = "synthetic"  # a trace file
output: str = ""  # where figures go
n: int = 3  # points to draw
divisor = 2.0
title: str = "none"
fast: bool = False
sizes: list[int] = [1, 2]
"""

MEET = """\
import os, sys, time
from pathlib import Path
meeting = Path(os.environ["MEETING"])
(meeting / name).touch()
last = time.monotonic() + 60
while len(list(meeting.iterdir())) < 2 and time.monotonic() < last:
    time.sleep(0.01)
assert len(list(meeting.iterdir())) == 2, "the other notebook did not run at the same time"
assert os.environ["COSIMLIB_WORKERS"] == "2", "two notebooks share five cores"
"""

DRAW = """\
import warnings
import pandas as pd, plotly.graph_objects as go
from cosimlib.figures.publishing import Publisher
warnings.warn(f"reading {trace} from {os.getcwd()}")
print(output, trace, title, Path.home())
publisher = Publisher(output, f"{trace} of file://{trace}")
figure = publisher.publish(go.Figure(go.Scatter(y=[0] * n)), "line", pd.DataFrame({"y": [0] * n}))
"""

CLAIM = """\
from cosimlib.claims import Claims
claims = Claims("1-eviction", data=scale)
claims.row("same-optimum", ours="equal", holds=True)
claims.row("jobs-near-full", ours="31", holds=False, why="another year")
claims.write(output)
"""


def write_notebook(path: Path, *cells: str, parameters: str = PARAMETERS, **metadata) -> Path:
    """A notebook with a parameters cell and code cells."""
    first = new_code_cell(parameters, metadata={"tags": ["parameters"]})
    rest = [new_code_cell(cell) for cell in cells]
    notebook = new_notebook(cells=[new_markdown_cell("# why"), first, *rest], metadata=metadata)
    nbformat.write(notebook, path)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as patched:
        yield patched


@pytest.fixture(scope="module")
def place_of_work(tmp_path_factory, patch):
    """Two notebooks and a trace; no browser, and a package that nobody edits meanwhile."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "meeting").mkdir()
    patch.setenv("MEETING", str(folder / "meeting"))
    patch.setenv("BROWSER_PATH", str(folder / "nowhere"))
    patch.setenv("COSIMLIB_WORKERS", "5")
    patch.setattr(plan, "source_hash", lambda: "constant")
    (folder / "trace.swf").write_text("; a trace\n")
    write_notebook(folder / "good.ipynb", 'name = "good"', MEET, DRAW, CLAIM)
    share = '(Path(output) / "share.csv").write_text(f"{1 / divisor}\\n")'
    write_notebook(folder / "flaky.ipynb", 'name = "flaky"', MEET, f"\n{share}")
    write_notebook(folder / "dying.ipynb", "import os", "os._exit(3)")
    return folder


WRITTEN = ["claims.csv", "claims.md", "flaky", "good", "index.html", "plotly.min.js"]


@pytest.fixture(scope="module")
def arguments(place_of_work):
    """The command line of the first run."""
    notebooks = [str(place_of_work / name) for name in ("good.ipynb", "flaky.ipynb")]
    options = ["--out", str(place_of_work / "figures"), "--jobs", "2"]
    values = ["-p", "n", "4", "-p", "title", str(place_of_work / "title.md")]
    return [*notebooks, *options, "--trace", str(place_of_work / "trace.swf"), *values]


@pytest.fixture(scope="module")
def first_run(arguments, place_of_work):
    """The figures of both notebooks, each of which waited for the other to start."""
    assert main(arguments) == 0
    return place_of_work / "figures"


@pytest.fixture
def figures(first_run):
    """The figures, which a test must leave as they are, with nothing beside them."""
    before = contents(first_run)
    yield first_run
    assert contents(first_run) == before


def test_figures_claims_notebook_and_record_are_written(figures):
    assert names(figures) == [
        "claims.csv",
        "claims.md",
        "flaky",
        "good",
        "index.html",
        "plotly.min.js",
    ]
    record = json.loads((figures / "good" / "run.json").read_text())
    drawn = ["line.csv", "line.html", "line.json"]
    assert record["files"] == ["claims.csv", "good.ipynb", *drawn]
    assert sorted([*record["files"], "run.json"]) == names(figures / "good")
    shown = {"n": 4, "title": "title.md", "scale": "quick", "trace": "trace.swf"}
    assert record["parameters"] == shown
    assert record["seconds"] > 0 and record["versions"]["python"]
    assert (figures / "good" / "line.csv").read_text() == "y\n0\n0\n0\n0\n"
    assert (figures / "flaky" / "share.csv").read_text() == "0.5\n"


def test_published_files_name_no_folder_of_this_machine(figures, place_of_work):
    folders = {str(place_of_work), str(ROOT), str(Path.home()) + "/", "ipykernel_"}
    folders |= {folder.replace("/", "\\u002f") for folder in folders}
    for name, content in contents(figures).items():
        if not name.endswith("plotly.min.js"):
            found = [folder for folder in folders if folder.encode() in content]
            assert not found, name
    notebook = nbformat.read(figures / "good" / "good.ipynb", as_version=4)
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    streams = "".join(out["text"] for out in outputs if out["output_type"] == "stream")
    assert "output trace.swf title.md ~" in streams and "reading trace.swf from ." in streams
    drawn = json.loads((figures / "good" / "line.json").read_text())
    assert drawn["layout"]["annotations"][0]["text"] == "data: trace.swf of file://trace.swf"


def test_published_notebook_keeps_neither_times_nor_the_output_parameter(figures):
    notebook = nbformat.read(figures / "good" / "good.ipynb", as_version=4)
    nbformat.validate(notebook)
    injected = [c for c in notebook.cells if "injected-parameters" in c.metadata.get("tags", [])]
    lines = ["# Parameters", "n = 4", 'title = "title.md"', 'scale = "quick"']
    assert [cell.source.splitlines() for cell in injected] == [[*lines, 'trace = "trace.swf"']]
    kept = [notebook.metadata, *(cell.metadata for cell in notebook.cells)]
    assert not any({"papermill", "execution", "widgets"} & set(metadata) for metadata in kept)


def test_scorecard_joins_what_the_notebooks_claim(figures):
    table = pd.read_csv(figures / "claims.csv", keep_default_na=False).set_index("claim")
    assert table["verdict"].value_counts().to_dict() == {"unknown": 14, "holds": 1, "fails": 1}
    assert table.loc["jobs-near-full", "ours"] == "31"
    assert "16 claims: 1 holds, 1 fails, 14 unknown" in (figures / "claims.md").read_text()


def test_up_to_date_is_skipped(figures, arguments, capsys):
    assert main(arguments) == 0
    printed, complaints = capsys.readouterr()
    said = [line for line in printed.splitlines() if line.endswith(": up to date")]
    assert said == ["good: up to date", "flaky: up to date"] and " cells in " not in printed
    assert complaints == ""


def test_failures_are_named_and_leave_old_results_while_others_finish(
    first_run, arguments, place_of_work, capsys
):
    before = {name: contents(first_run / name) for name in ("good", "flaky")}
    changed = [*arguments, "-p", "divisor", "0"]
    assert main([str(place_of_work / "dying.ipynb"), *changed]) == 1
    printed, complaints = capsys.readouterr()
    assert "good: 5 cells in " in printed and "flaky: " not in printed
    lines = sorted(complaints.splitlines())
    assert lines[0].startswith(
        "reproduce: dying.ipynb (quick, trace.swf): cell 3 (os._exit(3)): DeadKernelError"
    )
    assert lines[1].startswith("reproduce: flaky.ipynb (quick, trace.swf): cell 4 ((Path(output)")
    assert lines[1].endswith("): ZeroDivisionError: float division by zero") and len(lines) == 2
    assert names(first_run) == [
        "claims.csv",
        "claims.md",
        "flaky",
        "good",
        "index.html",
        "plotly.min.js",
    ]
    assert contents(first_run / "flaky") == before["flaky"]
    # The good one ran again, because a parameter changed.
    new = json.loads((first_run / "good" / "run.json").read_text())
    assert new["fingerprint"] != json.loads(before["good"]["run.json"])["fingerprint"]
    assert new["parameters"]["divisor"] == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-p", "m", "1"], "has no parameter 'm'; known are:\n  n: int = 3  # points to draw\n"),
        (["-p", "n", "1.5"], "parameter 'n' got '1.5'; expected int, such as 3"),
        (["-p", "divisor", "two"], "parameter 'divisor' got 'two'; expected float, such as 2.0"),
        (["-p", "fast", "1"], "parameter 'fast' got '1'; expected bool, such as False"),
        (["-p", "sizes", "[1, 'a']"], "expected list[int], such as [1, 2]"),
        (["-p", "sizes", "5"], "expected list[int]"),
        (["-p", "output", "x"], "'output' is not for -p: the runner sets it"),
        (["-p", "scale", "paper"], "'scale' is not for -p: use --scale"),
        (["-p", "n", "1", "-p", "n", "2"], "parameter 'n' is given twice"),
        (
            ["--trace", "absent.swf"],
            "trace absent.swf is neither a file nor a known",
        ),
        (["--cores", "8"], "--cores is of a log's machine; name the log with --trace"),
        (["--nodes", "8"], "--nodes is of a log's machine; name the log with --trace"),
        (["--trace", "/"], "trace / is a folder; give the path of a log"),
    ],
)
def test_bad_arguments_change_nothing(tmp_path, capsys, options, message):
    notebook = write_notebook(tmp_path / "one.ipynb")
    assert main([str(notebook), "--out", str(tmp_path / "figures"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()


def test_a_file_in_the_place_of_the_folder_for_results_is_refused(tmp_path, capsys):
    notebook = write_notebook(tmp_path / "one.ipynb")
    assert main([str(notebook), "--out", str(notebook)]) == 1
    assert "--out='" in (said := capsys.readouterr().err) and "is a file; expected a fo" in said


@pytest.mark.parametrize(
    "options",
    [["--scale", "huge"], ["--jobs", "0"], ["-p", "n"], ["--cores", "0"], ["--nodes", "-1"]],
)
def test_arguments_that_argparse_refuses_end_with_2(options, capsys):
    with pytest.raises(SystemExit) as stop:
        main(options)
    assert stop.value.code == 2 and options[0] in capsys.readouterr().err


def test_command_starts_from_another_folder(tmp_path):
    command = [sys.executable, "-m", "cosimlib.reproduce", "absent.ipynb"]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": paths}
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "reproduce: notebook absent.ipynb is not there\n"


def test_a_notebook_waits_for_its_kernels_and_others_go_before_it(tmp_path):
    first, second = (Compilation(part, tmp_path / "log") for part in ("eviction", "bursts"))
    notebook = Task(tmp_path, tmp_path, {}, {}, tmp_path / "log", frozenset({"b"}))
    tasks = {
        "a": first,
        "b": second,
        "late": notebook,
        "soon": replace(notebook, after=frozenset()),
    }
    assert first_ready(tasks, ["a", "b", "late", "soon"], set()) == "a"
    assert first_ready(tasks, ["late", "soon"], {"b"}) == "soon"
    assert first_ready(tasks, ["late"], {"b"}) is None
    assert first_ready(tasks, ["late"], set()) == "late"


def test_kernels_are_compiled_in_a_process_and_a_failure_is_told(tmp_path):
    tasks = {
        part: Compilation(part, tmp_path / f"{part}.log") for part in ("eviction", "no such part")
    }
    outcomes = dict(execute_all(tasks, 2))
    assert not outcomes["eviction"].error
    assert "KeyError: 'no such part'" in outcomes["no such part"].error
