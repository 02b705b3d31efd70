"""The notebook on odd logs: it runs to its end, and what a log cannot answer is said in words."""

import pytest

from tests.cells import run_cells, strange
from tests.suites import ROOT
from tests.zoo import ZOO

ODD = ("three-jobs", "all-at-one-second")


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("error")
def test_notebook_runs_on_odd_log(name):
    few = {"seeds": 1, "rates": [4]}
    shown = run_cells(ROOT / "notebooks/6-ondemand.ipynb", trace=str(ZOO / f"{name}.swf.gz"), **few)
    assert not strange(shown)
    assert set(shown.claims["verdict"]) == {"unknown"}
    assert len(shown.figures) == 6
