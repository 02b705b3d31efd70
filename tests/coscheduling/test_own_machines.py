"""The section of the coscheduling notebook on two machines of your own, cell by cell."""

import nbformat
import pytest

from tests.test_house import ROOT

SWF = "; MaxNodes: {nodes}\n; MaxProcs: {nodes}\n"


def write_log(path, nodes, jobs):
    """A log of (job, submitted, run time, nodes)."""
    lines = [
        f"{job} {submitted} 0 {run} {wide} -1 -1 {wide} {2 * run} -1 1 1 1 -1 1 -1 -1 -1\n"
        for job, submitted, run, wide in jobs
    ]
    path.write_text(SWF.format(nodes=nodes) + "".join(lines))
    return str(path)


def ran(**settings):
    """What is defined after the notebook's imports, its parameters and its own section."""
    notebook = nbformat.read(ROOT / "notebooks" / "2-coscheduling.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    section = next(at for at, cell in enumerate(cells) if "second_trace)" in cell.source)
    loading = next(at for at, cell in enumerate(cells) if "prepare_workload(" in cell.source)
    space: dict = {}
    for cell in [*cells[: loading + 1], cells[section]]:
        exec(cell.source, space)
        if "parameters" in cell.metadata.get("tags", []):
            space.update(settings)
    return space


@pytest.fixture
def logs(tmp_path):
    big = write_log(tmp_path / "big.swf", 8, [(1, 0, 600, 4), (2, 60, 600, 4), (3, 90, 300, 2)])
    small = write_log(tmp_path / "small.swf", 4, [(7, 30, 600, 3), (9, 45, 600, 2)])
    return {"trace": big, "second_trace": small}


def test_two_logs_and_their_mates_are_compared(logs, tmp_path):
    (tmp_path / "mates.csv").write_text("trace,second\n1,7\n2,9\n")
    own = ran(**logs, mates=str(tmp_path / "mates.csv"))["own"]
    assert own["machine"].unique().tolist() == ["trace", "second"]
    assert own["scheme"].unique().tolist() == ["base", "ideal", "HH", "HY", "YH", "YY"]
    assert own["jobs"].tolist() == [3, 2] * 6
    assert own["paired"].tolist() == [0, 0] + [2, 2] * 5
    assert (own[["stuck", "apart"]] == 0).all(axis=None)
    # Job 1 holds 4 nodes for 30 s, until its mate comes; job 2 for 570 s, until job 7 ends.
    held = own.set_index(["scheme", "machine"])["lost"]
    assert held["HY", "trace"] == round(4 * (30 + 570) / 3600, 2)
    assert held["YY", "trace"] == 0


def test_without_a_file_of_mates_no_job_has_one(logs):
    assert (ran(**logs)["own"]["paired"] == 0).all()


def test_mates_need_a_second_log(logs):
    with pytest.raises(ValueError, match="no second_trace; give the second machine's log, too"):
        ran(trace=logs["trace"], mates="mates.csv")
