"""Recipes are short, have one picture, use the front doors alone, and run on a log of yours."""

import ast
import json

import nbformat
import pytest

import cosimlib as cs
from tests.cosimlab.browser.conftest import browser_path
from tests.notebooks.cells import run_cells, strange
from tests.suites import ROOT

__all__ = ["browser_path"]

RECIPES = sorted((ROOT / "notebooks" / "recipes").glob("*.ipynb"))
LINES = 30
OURS = {"cosimlib": "cs", "cosimlab": "lab"}


def code(path) -> str:
    """All code of a recipe."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_is_short_and_is_stored_with_one_picture(path):
    lines = [line for line in code(path).splitlines() if line.strip()]
    assert len(lines) <= LINES
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 1
    assert cells[0]["source"][0].startswith("# ")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_imports_the_front_doors_alone_of_ours(path):
    for node in ast.walk(ast.parse(code(path))):
        if isinstance(node, ast.ImportFrom):
            assert node.module.split(".")[0] not in {*OURS, "papers"}
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] in OURS:
                    assert (name.name, name.asname) in OURS.items()


@pytest.mark.compiled("a dozen schedules of 2,000 jobs")
@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("my-policy", {"replicates": 5}),
        ("slowdown-map", {}),
        ("maintenance", {}),
        ("baselines", {"backfilling": True}),
        ("more-nodes", {}),
        ("my-job", {"day": 3.5}),
    ],
)
def test_recipes_take_a_log(name, knobs, tmp_path):
    jobs = cs.synthetic.with_estimates(cs.synthetic.lublin(2_000, load=0.7, seed=3))
    log = tmp_path / "mine.swf"
    cs.write_swf(jobs, log)
    shown = run_cells(ROOT / f"notebooks/recipes/{name}.ipynb", log=str(log), **knobs)
    assert not strange(shown)


@pytest.mark.compiled("two schedules of 157 jobs")
def test_the_recipe_of_slurm_takes_another_change(monkeypatch):
    monkeypatch.chdir(ROOT / "notebooks" / "recipes")
    shown = run_cells(ROOT / "notebooks/recipes/my-slurm.ipynb", change="PreemptMode=OFF")
    assert not strange(shown)


@pytest.mark.browser
def test_the_printed_figure_is_a_pdf_as_wide_as_a_column(browser_path, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", browser_path)
    pdf = tmp_path / "figure.pdf"
    run_cells(ROOT / "notebooks/recipes/printed-figure.ipynb", pdf=str(pdf))
    assert pdf.read_bytes().startswith(b"%PDF")
