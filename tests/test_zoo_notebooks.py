"""The notebook on a log runs on odd logs, and shows no number that is none."""

import pytest

from tests.cells import run_cells, strange
from tests.suites import ROOT
from tests.zoo import ZOO


@pytest.mark.parametrize("name", ["three-jobs", "no-requested-times", "submissions-are-starts"])
@pytest.mark.filterwarnings("error")
def test_the_sections_are_shown_for_an_odd_log(name):
    log = str(ZOO / f"{name}.swf.gz")
    shown = run_cells(ROOT / "notebooks/0-your-log.ipynb", trace=log, budget=1.0)
    assert not strange(shown)
    assert len(shown.texts) == 9, "eight sections, and what was printed"
