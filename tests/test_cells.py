"""The runner of notebooks' cells, what it takes for strange, and the notebook on odd logs."""

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import cosimlib as cs
from tests.cells import Shown, run_cells, strange
from tests.suites import ROOT, THOROUGH
from tests.zoo import ZOO

ODD_LOGS = ("three-jobs", "no-requested-times", "submissions-are-starts")


@pytest.fixture
def notebook(tmp_path):
    """A function from code cells, the first with the parameters, to the path of a notebook."""

    def write(*sources):
        cells = [new_code_cell(source) for source in sources]
        cells[0].metadata["tags"] = ["parameters"]
        nbformat.write(new_notebook(cells=cells), tmp_path / "one.ipynb")
        return tmp_path / "one.ipynb"

    return write


def test_parameter_that_the_notebook_has_not_is_refused(notebook):
    with pytest.raises(AssertionError, match=r"no parameters \{'b'\}"):
        run_cells(notebook("a = 1"), b=4)


def test_published_figures_are_kept(notebook):
    source = """
    figure = cs.figures.plot_empty("T", "no job")
    cs.figures.Publisher("", "a log").publish(figure, "t", pd.DataFrame({"n": [3]}))
    """.replace("    ", "")
    shown = run_cells(notebook("import pandas as pd, cosimlib as cs", source))
    assert list(shown.figures) == ["t"] and shown.numbers["t"] == ",n\n0,3\n"
    assert not strange(shown)


@pytest.mark.parametrize("text", ["wait nan×", "inf x the base", "-inf", "NaN", "<NA>"])
def test_number_that_is_none_is_strange(text):
    assert strange(Shown(texts=[text]))


def test_table_with_a_hole_is_strange():
    shown = Shown()
    shown.display(pd.DataFrame({"a": [1.0, np.nan]}))
    assert strange(shown)


def test_figure_without_points_is_strange_unless_it_says_why():
    empty = cs.figures.theme.figure(title="T").add_scatter(x=[1, 2], y=[np.nan, np.nan])
    assert strange(Shown(figures={"f": empty})) == ["figure f: blank"]
    assert not strange(Shown(figures={"f": cs.figures.plot_empty("T", "no job")}))
    assert not strange(Shown(figures={"f": empty.add_scatter(x=[1], y=[2])}))
    infinite = cs.figures.theme.figure().add_bar(x=["a"], y=[np.inf])
    assert strange(Shown(figures={"f": infinite}))


@pytest.mark.parametrize("name", ODD_LOGS if THOROUGH else ODD_LOGS[:1])
@pytest.mark.filterwarnings("error")
def test_the_sections_are_shown_for_an_odd_log(name):
    log = str(ZOO / f"{name}.swf.gz")
    shown = run_cells(ROOT / "notebooks/0-your-log.ipynb", trace=log, budget=1.0)
    assert not strange(shown)
    assert len(shown.texts) == 9, "eight sections, and what was printed"
