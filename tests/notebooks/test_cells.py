"""The runner of notebooks' cells, what it takes for strange, and the notebook on odd logs."""

import numpy as np
import pytest

import cosimlab as lab
from tests.notebooks.cells import Shown, run_cells, strange
from tests.suites import ROOT, THOROUGH
from tests.zoo import ZOO

ODD_LOGS = ("three-jobs", "no-requested-times", "submissions-are-starts")


@pytest.mark.parametrize("text", ["wait nan×", "inf x the base", "-inf", "NaN", "<NA>"])
def test_number_that_is_none_is_strange(text):
    assert strange(Shown(texts=[text]))


def test_figure_without_points_is_strange_unless_it_says_why():
    empty = lab.figures.theme.figure(title="T").add_scatter(x=[1, 2], y=[np.nan, np.nan])
    assert strange(Shown(figures={"f": empty})) == ["figure f: blank"]
    assert not strange(Shown(figures={"f": lab.figures.plot_empty("T", "no job")}))
    assert not strange(Shown(figures={"f": empty.add_scatter(x=[1], y=[2])}))
    infinite = lab.figures.theme.figure().add_bar(x=["a"], y=[np.inf])
    assert strange(Shown(figures={"f": infinite}))


@pytest.mark.parametrize("name", ODD_LOGS if THOROUGH else ODD_LOGS[:1])
@pytest.mark.filterwarnings("error")
def test_the_sections_are_shown_for_an_odd_log(name):
    log = str(ZOO / f"{name}.swf.gz")
    shown = run_cells(ROOT / "notebooks/0-your-log.ipynb", trace=log, budget=1.0)
    assert not strange(shown)
    # That log has no waits, and the others too few requests for the section on them.
    has_no_waits = name == "submissions-are-starts"
    assert len(shown.texts) == 9 + has_no_waits, "the sections, and what was printed"
    assert ("No number for more nodes: " in shown.texts[-1]) == has_no_waits
