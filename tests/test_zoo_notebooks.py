"""The report on a log runs on odd logs, and says in words what a log cannot answer."""

import numba
import pytest

from tests.cells import run_cells, strange
from tests.suites import ROOT, THOROUGH
from tests.zoo import ZOO

ODDEST = {
    "all-at-one-second", "no-header", "no-requested-times", "no-run-lasts", "over-committed",
    "several-partitions", "three-jobs", "wider-than-the-machine",
}  # fmt: skip
"""Logs that lack most of what the report reads; in a thorough run it reads all."""


def name_of(log) -> str:
    return log.name.removesuffix(".swf.gz")


LOGS = sorted(ZOO.glob("*.swf.gz"))[:: 4 if numba.config.DISABLE_JIT else 1]
LOGS = [log for log in LOGS if THOROUGH or name_of(log) in ODDEST]


@pytest.mark.parametrize("log", LOGS, ids=name_of)
@pytest.mark.filterwarnings("error")
def test_the_report_runs_on_an_odd_log(log):
    small = {"budget": 5e4, "replicates": 3}
    shown = run_cells(ROOT / "notebooks/0-your-log.ipynb", trace=str(log), **small)
    assert not strange(shown)
    assert shown.figures
    if name_of(log) == "over-committed":
        assert "NODES=" in shown.texts[-1] and "Nothing to draw" in str(shown.figures["idle"])
