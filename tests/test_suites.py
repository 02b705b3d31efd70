"""Notebooks are tested, stored as GitHub can show them, and refreshed safely."""

import base64
import io
import os
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from nbclient.exceptions import CellExecutionError

from tests.refresh_notebooks import COLORS, in_palette, refresh, tidy
from tests.suites import ROOT, SUITES, members

NOTEBOOKS = sorted((ROOT / "notebooks").rglob("[!.]*.ipynb"))


def name(path) -> str:
    return str(path.relative_to(ROOT))


def test_every_notebook_is_in_exactly_one_suite():
    suites = [path for suite in SUITES for path in members(suite)]
    assert sorted(suites) == [p for p in NOTEBOOKS if ".ipynb_checkpoints" not in p.parts]


@pytest.mark.parametrize("path", [p for suite in SUITES for p in members(suite)], ids=name)
def test_notebook_is_stored_executed_and_tidy(path):
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    assert all(cell.execution_count for cell in cells), "run: make notebooks"
    kinds = {output.output_type for cell in cells for output in cell.outputs}
    assert "error" not in kinds, "a stored cell failed; run: make notebooks"
    tidy(notebook)
    assert nbformat.writes(notebook) + "\n" == text, "not as `make notebooks` stores it"


@pytest.fixture
def write(tmp_path):
    """A function that writes a notebook of the given cells and returns its path."""

    def write(*sources: str):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        path = tmp_path / "trial.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return path

    return write


def test_tidying_keeps_which_trace_a_notebook_names():
    notebook = nbformat.v4.new_notebook(metadata={"cosimlib": {"trace": "KTH-SP2"}, "other": 1})
    tidy(notebook)
    assert (
        notebook.metadata["cosimlib"] == {"trace": "KTH-SP2"} and "other" not in notebook.metadata
    )


def test_refreshing_stores_outputs_once(write):
    slider = "import ipywidgets; ipywidgets.IntSlider(3)"
    path = write("import os; 20 + 1", slider, "os.environ['COSIMLIB_RENDERER']")
    assert refresh(path, renderer="plotly_mimetype")
    outputs = [cell.outputs[0].data for cell in nbformat.read(path, as_version=4).cells]
    assert outputs[0] == {"text/plain": "21"}
    assert outputs[1] == {"text/plain": "IntSlider(value=3)"}
    assert outputs[2] == {"text/plain": "'plotly_mimetype'"}
    assert not refresh(path, renderer="plotly_mimetype"), "nothing changed"
    assert [p.name for p in path.parent.iterdir()] == ["trial.ipynb"]


@pytest.mark.parametrize(
    ("source", "error"),
    [("1 / 0", CellExecutionError), ("import os; os.getcwd() + '/'", ValueError)],
)
def test_a_notebook_that_cannot_be_stored_is_left_as_it_was(write, source, error):
    path = write("1", source)
    before = path.read_bytes()
    with pytest.raises(error):
        refresh(path, renderer="plotly_mimetype")
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["trial.ipynb"]


def stored(source: str, printed: str) -> nbformat.NotebookNode:
    """A code cell as if it had been run and had printed that."""
    output = nbformat.v4.new_output("stream", name="stdout", text=printed)
    return nbformat.v4.new_code_cell(source, execution_count=1, outputs=[output])


def test_strict_outputs_are_compared_and_lax_ones_are_not(tmp_path):
    """One run of pytest holds both suites; a cell's tag overrules its notebook's suite."""
    cells = [
        stored("print('new', end='')", "old"),
        stored("# NBVAL_IGNORE_OUTPUT\nprint('new', end='')", "old"),
        stored("print('took 1 s, 2 jobs', end='')", "took 5 min, 2 jobs"),
    ]
    (tmp_path / "notebooks" / "explore").mkdir(parents=True)
    for file_name in ("strict.ipynb", "explore/lax.ipynb"):
        notebook = nbformat.v4.new_notebook(cells=cells)
        nbformat.write(notebook, tmp_path / "notebooks" / file_name)
    (tmp_path / "tests").mkdir()
    for module in ("__init__.py", "suites.py", "nbval.cfg"):
        (tmp_path / "tests" / module).write_bytes((ROOT / "tests" / module).read_bytes())
    flags = ["-p", "tests.suites", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env"]
    flags += ["--nbval-sanitize-with", "tests/nbval.cfg", "-rA", "--color=no"]
    command = [sys.executable, "-m", "pytest", *flags, "notebooks"]
    env = {**os.environ, "COSIMLIB_THOROUGH": "1"}
    report = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True).stdout
    failed = [line.split(" - ")[0] for line in report.splitlines() if line.startswith("FAILED")]
    assert failed == ["FAILED notebooks/strict.ipynb::Cell 0"], report
    assert report.rstrip().splitlines()[-1].strip("= ").startswith("1 failed, 5 passed"), report


def test_pictures_are_stored_in_a_palette_once():
    image = pytest.importorskip("PIL.Image", reason="no Pillow: pip install -e .[images]")
    drawn = np.zeros((40, 60, 3), np.uint8)
    drawn[..., 0], drawn[..., 1] = np.arange(60) * 4, np.arange(40)[:, np.newaxis] * 6
    png = io.BytesIO()
    image.fromarray(drawn).save(png, "PNG")
    stored = in_palette(base64.b64encode(png.getvalue()).decode())
    reduced = image.open(io.BytesIO(base64.b64decode(stored)))
    assert reduced.mode == "P" and reduced.size == (60, 40)
    seen = np.asarray(reduced.convert("RGB")).astype(int)
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) <= COLORS
    assert np.abs(seen - drawn).max() < 32, "each pixel keeps about its color"
    assert in_palette(stored) == stored
