"""Plans: which notebooks run with which parameters and data, and which are due."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_notebook

from cosimlib.reproduce import plan as plans
from cosimlib.reproduce.parameters import (
    BadArgumentError,
    checked_values,
    read_notebook,
    read_parameters,
)
from cosimlib.reproduce.plan import is_up_to_date, plan_runs, write_record
from tests.reproduce.test_execute import PARAMETERS, write_notebook
from tests.suites import ROOT


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ('scale = "quick"\ntrace = "synthetic"', "has no parameter 'output'"),
        (PARAMETERS + "k: int = 1  # so that k=1\n", "papermill cannot read parameter 'k'"),
        (PARAMETERS + "k: int | None = None\n", "papermill cannot read parameter 'k'"),
        (PARAMETERS + "k =\n", "its parameters cell is no Python"),
    ],
)
def test_notebooks_with_a_faulty_parameters_cell_are_refused(tmp_path, parameters, message):
    path = write_notebook(tmp_path / "one.ipynb", parameters=parameters)
    with pytest.raises(BadArgumentError, match=message):
        plan_runs([path], scale="quick", trace=None, values={})


def test_files_that_are_no_notebooks_are_refused(tmp_path):
    (tmp_path / "torn.ipynb").write_text('{"cells": [')
    nbformat.write(new_notebook(), tmp_path / "bare.ipynb")
    (tmp_path / "deep").mkdir()
    for message, names in {
        "torn.ipynb cannot be read as a notebook": ["torn.ipynb"],
        "bare.ipynb has no cell tagged 'parameters'": ["bare.ipynb"],
        "absent.ipynb is not there": ["absent.ipynb"],
        "would both write 'one'": ["one.ipynb", "deep/one.ipynb"],
    }.items():
        write_notebook(tmp_path / "one.ipynb")
        write_notebook(tmp_path / "deep" / "one.ipynb")
        with pytest.raises(BadArgumentError, match=message):
            plan_runs([tmp_path / name for name in names], scale="quick", trace=None, values={})


@pytest.mark.parametrize("name", ["...ipynb", ".a.ipynb", "Claims.md.ipynb", "a\nb.ipynb", "a.py"])
def test_names_that_would_not_have_a_folder_of_their_own_are_refused(tmp_path, name):
    path = write_notebook(tmp_path / name)
    with pytest.raises(BadArgumentError, match=r"rename the notebook|ends in \.ipynb"):
        plan_runs([path], scale="quick", trace=None, values={})


def test_values_take_the_declared_types(tmp_path):
    notebook = read_notebook(write_notebook(tmp_path / "one.ipynb"))
    declared = read_parameters(notebook, "one")
    texts = {"n": "7", "divisor": "3", "title": "5", "fast": "TRUE", "sizes": "[3, 4]"}
    values = checked_values(declared, texts, "one")
    assert values == {"n": 7, "divisor": 3.0, "title": "5", "fast": True, "sizes": [3, 4]}
    assert isinstance(values["divisor"], float)


def test_a_file_is_found_from_where_the_command_is_given(tmp_path, monkeypatch):
    path = write_notebook(tmp_path / "one.ipynb")
    (tmp_path / "elsewhere").mkdir()
    mine = tmp_path / "elsewhere" / "mine.csv"
    mine.write_text("a\n1\n")
    monkeypatch.chdir(mine.parent)

    def planned(title):
        return plan_runs([path], scale="quick", trace=None, values={"title": title})[0]

    before = planned("mine.csv")
    assert before.values["title"] == str(mine) and before.parameters["title"] == "mine.csv"
    assert planned("mine.csv").fingerprint == before.fingerprint
    mine.write_text("a\n2\n")
    assert planned("mine.csv").fingerprint != before.fingerprint
    assert planned("no file").values["title"] == "no file"
    for absent in ("his.csv", "folder/his.gz", "log.swf"):
        with pytest.raises(BadArgumentError, match=f"'title' got '{absent}', which is no file"):
            planned(absent)


def test_real_trace_is_used_where_it_is_and_synthetic_data_beside_it(tmp_path, monkeypatch):
    path = write_notebook(tmp_path / "one.ipynb", cosimlib={"trace": "theta-2023-prod"})
    trace = tmp_path / "theta.swf.gz"
    trace.touch()

    def planned(found: Path | None, given: str | None = None) -> dict[str, object]:
        monkeypatch.setattr(plans, "find_trace", lambda name: found)
        plan = plan_runs([path], scale="quick", trace=given, values={})
        assert all((run.trace is None) == (run.parameters["trace"] == "synthetic") for run in plan)
        return {run.name: run.parameters["trace"] for run in plan}

    assert planned(trace) == {"one": "theta.swf.gz", "one-synthetic": "synthetic"}
    assert planned(None) == {"one": "synthetic"}
    assert planned(trace, "synthetic") == {"one": "synthetic"}
    assert planned(None, str(trace)) == {"one": "theta.swf.gz"}


def test_all_notebooks_take_the_size_of_a_log_s_machine():
    paths = {path.stem: path for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert len(paths) == 7
    for name, path in paths.items():
        declared = read_parameters(read_notebook(path), path.name)
        assert "cores_per_node" in declared, name
        assert "machine_nodes" in declared or name == "5-elastic", name


@pytest.mark.parametrize(
    ("name", "option"), [("cores_per_node", "--cores"), ("machine_nodes", "--nodes")]
)
def test_sizes_of_the_machine_reach_the_notebooks_that_declare_them(tmp_path, name, option):
    log = tmp_path / "log.swf"
    log.write_text("; a log\n")
    declared = PARAMETERS + f"{name}: int = 0  # of the log's machine; 0: as it says\n"
    paths = [write_notebook(tmp_path / "plain.ipynb")]
    paths.append(write_notebook(tmp_path / "own.ipynb", parameters=declared))

    def planned(**options):
        options = {"scale": "quick", "trace": str(log), "values": {}} | options
        return {run.name: run for run in plan_runs(paths, **options)}

    runs, by_default = planned(size={name: 8}), planned()
    assert runs["own"].values == {name: 8} and runs["plain"].values == {}
    assert by_default["own"].values == {}
    assert runs["own"].fingerprint != by_default["own"].fingerprint
    assert runs["plain"].fingerprint == by_default["plain"].fingerprint
    for trace in (None, "synthetic"):
        with pytest.raises(BadArgumentError, match=f"^{option} is .* name the log with --trace"):
            planned(size={name: 8}, trace=trace)


def test_a_folder_in_the_place_of_a_trace_is_refused_and_a_log_in_it_is_named(tmp_path):
    path = write_notebook(tmp_path / "one.ipynb")
    logs = tmp_path / "logs"
    logs.mkdir()
    with pytest.raises(BadArgumentError, match=r"logs is a folder; give the path of a log$"):
        plan_runs([path], scale="quick", trace=str(logs), values={})
    (logs / "b.swf.gz").touch()
    with pytest.raises(BadArgumentError, match=r"the path of a log, such as .*logs/b\.swf\.gz$"):
        plan_runs([path], scale="quick", trace=str(logs), values={})


def test_unknown_trace_in_the_metadata_is_refused(tmp_path):
    path = write_notebook(tmp_path / "one.ipynb", cosimlib={"trace": "no-such-trace"})
    with pytest.raises(BadArgumentError, match="its metadata name trace 'no-such-trace'"):
        plan_runs([path], scale="quick", trace=None, values={})


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("HPC2N", "say cosimlib: 'HPC2N'; expected names with values"),
        ({"kernels": 3}, "say kernels: 3; expected a list of names"),
        ({"kernels": "batch"}, "say kernels: 'batch'; expected a list"),
        ({"kernels": [["batch"]]}, "expected a list of names of parts"),
        ({"seconds": "85"}, "say seconds: '85'; expected a number"),
    ],
)
def test_metadata_that_tell_nothing_are_refused(tmp_path, told, words):
    path = write_notebook(tmp_path / "one.ipynb", cosimlib=told)
    with pytest.raises(BadArgumentError, match=re.escape(words)):
        plan_runs([path], scale="quick", trace=None, values={})


def test_fingerprint_changes_with_whatever_results_depend_on(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "source_hash", lambda: "constant")
    statements, trace = tmp_path / "claims.csv", tmp_path / "t.swf"
    statements.write_text("a")
    trace.write_text("a")
    monkeypatch.setattr(plans, "statements_path", lambda: statements)
    path = write_notebook(tmp_path / "one.ipynb", "1 + 1")

    def fingerprint(scale="quick", data=None, values=None) -> str:
        (run,) = plan_runs([path], scale=scale, trace=data, values=values or {})
        return run.fingerprint

    original = nbformat.read(path, as_version=4)
    seen = [fingerprint()]
    original.cells[2].outputs = [nbformat.v4.new_output("stream", text="2")]
    nbformat.write(original, path)
    assert fingerprint() == seen[0], "outputs are not an input"
    seen += [fingerprint("paper"), fingerprint(values={"n": "4"}), fingerprint(data=str(trace))]
    trace.write_text("b")
    seen.append(fingerprint(data=str(trace)))
    statements.write_text("b")
    seen.append(fingerprint())
    write_notebook(path, "1 + 2")
    seen.append(fingerprint())
    monkeypatch.setattr(plans, "source_hash", lambda: "edited")
    seen.append(fingerprint())
    assert len(set(seen)) == len(seen)


def test_up_to_date_needs_a_sound_record_and_every_file(tmp_path):
    path = write_notebook(tmp_path / "one.ipynb")
    (run,) = plan_runs([path], scale="quick", trace="synthetic", values={})
    folder = tmp_path / "one"
    assert not is_up_to_date(run, folder)
    folder.mkdir()
    (folder / "line.csv").touch()
    write_record(run, 1.0, folder)
    assert is_up_to_date(run, folder)
    (folder / "line.csv").unlink()
    assert not is_up_to_date(run, folder)
    (folder / "run.json").write_text("[]")
    assert not is_up_to_date(run, folder)
