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

from tests.refresh_notebooks import refresh, tidy
from tests.stored import COLORS, MOST_BYTES, PLOTLY, compact, in_palette
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
    assert len(text.encode()) <= 800_000, "every copy of the repository has all that were stored"


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


def shown(source: str, figure: dict) -> nbformat.NotebookNode:
    """A code cell as if it had been run and had shown that figure."""
    data = {PLOTLY: figure, "text/plain": ""}
    output = nbformat.v4.new_output("display_data", data=data)
    return nbformat.v4.new_code_cell(source, execution_count=1, outputs=[output])


def test_strict_outputs_are_compared_and_lax_ones_are_not(tmp_path):
    """One run of pytest holds both suites; a cell's tag overrules its notebook's suite."""
    figure = {"data": [{"x": [1 / 3] * 9, "width": 2 / 3}], "layout": {}}
    source = f"display({{{PLOTLY!r}: {figure}, 'text/plain': ''}}, raw=True)"
    cells = [
        stored("print('new', end='')", "old"),
        stored("# NBVAL_IGNORE_OUTPUT\nprint('new', end='')", "old"),
        stored("print('took 1 s, 2 jobs', end='')", "took 5 min, 2 jobs"),
        shown(source, compact(figure)),
        shown(source.replace("0.666", "0.667"), compact(figure)),
    ]
    (tmp_path / "notebooks" / "explore").mkdir(parents=True)
    for file_name in ("strict.ipynb", "explore/lax.ipynb"):
        notebook = nbformat.v4.new_notebook(cells=cells)
        nbformat.write(notebook, tmp_path / "notebooks" / file_name)
    (tmp_path / "tests").mkdir()
    for module in ("__init__.py", "suites.py", "stored.py", "nbval.cfg"):
        (tmp_path / "tests" / module).write_bytes((ROOT / "tests" / module).read_bytes())
    flags = ["-p", "tests.suites", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env"]
    flags += ["--nbval-sanitize-with", "tests/nbval.cfg", "-rA", "--color=no"]
    command = [sys.executable, "-m", "pytest", *flags, "notebooks"]
    env = {**os.environ, "COSIMLIB_THOROUGH": "1"}
    report = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True).stdout
    failed = [line.split(" - ")[0] for line in report.splitlines() if line.startswith("FAILED")]
    assert failed == [f"FAILED notebooks/strict.ipynb::Cell {k}" for k in (0, 4)], report
    assert report.rstrip().splitlines()[-1].strip("= ").startswith("2 failed, 8 passed"), report


def picture(pixels: np.ndarray) -> str:
    """A picture in base64, as a browser draws it."""
    image = pytest.importorskip("PIL.Image", reason="no Pillow: pip install -e .[images]")
    png = io.BytesIO()
    image.fromarray(pixels.astype(np.uint8)).save(png, "PNG")
    return base64.b64encode(png.getvalue()).decode()


def pixels_of(stored: str) -> np.ndarray:
    """The colors of all pixels of a picture that has a palette."""
    image = pytest.importorskip("PIL.Image", reason="no Pillow: pip install -e .[images]")
    read = image.open(io.BytesIO(base64.b64decode(stored)))
    assert read.mode == "P"
    return np.asarray(read.convert("RGB")).astype(int)


def test_pictures_are_stored_in_a_palette_once():
    drawn = np.zeros((40, 60, 3), np.uint8)
    drawn[..., 0], drawn[..., 1] = np.arange(60) * 4, np.arange(40)[:, np.newaxis] * 6
    stored = in_palette(picture(drawn))
    seen = pixels_of(stored)
    assert seen.shape == drawn.shape
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) <= COLORS[0]
    assert np.abs(seen - drawn).max() < 32, "each pixel keeps about its color"
    assert in_palette(stored) == stored


def test_a_large_picture_keeps_what_fills_it_what_legends_explain_and_the_hue_of_a_thin_line():
    random = np.random.default_rng(0)
    drawn = np.full((400, 500, 3), 255)
    drawn[:, :40] += random.integers(-15, 1, (400, 40, 3))
    drawn[100:120] = 0, 114, 178
    drawn[200, 250:300] = 204, 121, 100
    drawn[210:215, 250:255] = 0, 158, 115  # a mark of a legend
    stored = in_palette(picture(drawn))
    assert len(base64.b64decode(stored)) <= MOST_BYTES
    seen = pixels_of(stored)
    assert (seen[110] == (0, 114, 178)).all() and (seen[300, 400] == 255).all()
    assert (np.abs(seen[200, 250:300] - (204, 121, 100)) < 16).all()
    assert (seen[212, 252] == (0, 158, 115)).all()
    assert np.abs(seen - drawn).max() < 16


def test_a_picture_that_cannot_be_small_has_the_fewest_colors_and_is_reduced_once():
    random = np.random.default_rng(0)
    stored = in_palette(picture(random.integers(0, 256, (300, 300, 3))))
    assert len(base64.b64decode(stored)) > MOST_BYTES
    assert len(np.unique(pixels_of(stored).reshape(-1, 3), axis=0)) == COLORS[-1]
    assert in_palette(stored) == stored


def test_figures_are_stored_with_fewer_digits_once():
    numbers = np.array([0.0, 1 / 3, -1e9 / 7, np.nan, 1e-12])
    typed = {"dtype": "f8", "bdata": base64.b64encode(numbers.tobytes()).decode()}
    trace = {"x": typed, "y": [1, 300, *range(8)], "z": [[2 / 3, None]], "name": "a"}
    trace |= {"base": [1 / 3] * 3, "ids": [0.123456789, 123456789.0, 4]}
    stored = compact({"data": [trace], "layout": {"title": {"text": "t"}, "x": 1 / 3}})
    assert compact(stored) == stored
    [kept] = stored["data"]
    x = np.frombuffer(base64.b64decode(kept["x"]["bdata"]), kept["x"]["dtype"])
    np.testing.assert_allclose(x, numbers, rtol=1e-7)
    y = np.frombuffer(base64.b64decode(kept["y"]["bdata"]), kept["y"]["dtype"])
    assert kept["y"]["dtype"] == "i2" and y.tolist() == trace["y"]
    assert kept["z"] == [[0.66667, None]] and kept["name"] == "a"
    assert kept["base"] == [0.33333] * 3 and kept["ids"] == [0.12346, 123456789.0, 4]
    assert stored["layout"] == {"title": {"text": "t"}, "x": 0.33333}
