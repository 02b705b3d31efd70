"""Notebooks on odd logs: each runs to its end, and says in words what a log cannot answer."""


import numba
import pytest
from _pytest.mark.structures import ParameterSet

import cosimlib as cs
from cosimlib.claims import VERDICTS
from cosimlib.elastic import sweep_preemptions
from tests.cells import run_cells, strange
from tests.suites import ROOT, THOROUGH
from tests.zoo import ZOO

LOGS = sorted(ZOO.glob("*.swf.gz"))[:: 4 if numba.config.DISABLE_JIT else 1]
ODDEST = {
    "0-your-log": "all-at-one-second no-header no-requested-times no-run-lasts over-committed "
    "several-partitions three-jobs wider-than-the-machine",
    "4-filling": "over-committed six-requested-times-missing three-jobs",
    "5-elastic": "all-at-one-second no-run-lasts two-sizes",
}
"""By notebook, the logs that lack most of what it reads.

Notebook 3, the quickest, runs on each log; in a thorough run every notebook does.
"""

LITTLE = ("3-timesharing",)
"""Notebooks whose claims say how little of a log they are of, where its widest jobs do not fit."""

SMALL: dict[str, dict[str, object]] = {
    "0-your-log": {"budget": 5e4, "replicates": 3},
    "3-timesharing": {"overheads": [0.0, 0.05]},
    "4-filling": {"accuracies": [0.0, 1.0], "queue_depths": [10, 100]},
    "5-elastic": {"nodes": 8, "preempted": 4},
}
"""By notebook, parameters with which it is done soon."""


COMPILED = pytest.mark.compiled("a hundred notebooks need compiled kernels")


@pytest.fixture(autouse=True)
def _short_log(monkeypatch):
    """A short made-up log is enough."""
    made = cs.synthetic.lomonosov
    monkeypatch.setattr(cs.synthetic, "lomonosov", lambda days, **how: made(min(days, 9), **how))


@pytest.fixture(autouse=True)
def _few_preempted(monkeypatch):
    """Two seeds and two rates, sizes or ages are enough to see how a log is told of."""

    def few(*, seeds, **settings):
        varied = {"rate", "size", "staleness"} & settings.keys()
        ends = {name: sorted({settings[name][0], settings[name][-1]}) for name in varied}
        return sweep_preemptions(seeds=seeds[:2], **settings | ends)

    monkeypatch.setattr(cs.elastic, "sweep_preemptions", few)


def runs() -> list[ParameterSet]:
    """Notebooks with odd logs, each log with some of them."""
    return [
        pytest.param(name, log, marks=COMPILED if number else (), id=f"{name}-{odd}")
        for number, name in enumerate(SMALL)
        for log in LOGS
        for odd in [log.name.removesuffix(".swf.gz")]
        if THOROUGH or name not in ODDEST or odd in ODDEST[name].split()
    ]


@pytest.mark.parametrize(("notebook", "log"), runs())
@pytest.mark.filterwarnings("error")
def test_notebook_runs_on_odd_log(notebook, log):
    shown = run_cells(ROOT / f"notebooks/{notebook}.ipynb", trace=str(log), **SMALL[notebook])
    assert not strange(shown)
    assert set(shown.claims.get("verdict", ())) <= {*VERDICTS}
    assert shown.figures
    if log.name.startswith("over-committed") and notebook == "0-your-log":
        assert "NODES=" in shown.texts[-1] and "Nothing to draw" in str(shown.figures["idle"])
    if log.name.startswith("wider-than") and notebook in LITTLE:
        assert shown.claims["data"].str.contains("% of its node-hours").any()


@COMPILED
def test_no_job_that_fits_a_partition_decides_nothing():
    """All jobs have eight nodes or more where each processor is one, the partition has four."""
    log = str(ZOO / "nodes-of-eight-processors.swf.gz")
    parameters = {"nodes": 4, "preempted": 2, "cores_per_node": 1}
    shown = run_cells(ROOT / "notebooks/5-elastic.ipynb", trace=log, **parameters)
    assert not strange(shown)
    assert set(shown.claims["verdict"]) == {"unknown"}
