"""Three long notebooks on small experiments: every cell runs, and its assertions hold.

At night the notebooks run as they are stored, and show the same outputs (`tests.suites`).
"""

from papers import hofmeyr2016
from papers.duplyakin2017 import experiment as cloud
from papers.hofmeyr2016 import experiment as sharing
from papers.polyakov2018 import experiment as filling
from tests.notebooks.cells import run_cells
from tests.suites import ROOT


def test_time_sharing_of_a_few_days(monkeypatch):
    days = sharing.Kind(sharing.Span(4, 1, sharing.EIGHTH // 2), range(2))
    kinds = dict.fromkeys(sharing.SCALES["quick"], days)
    monkeypatch.setitem(sharing.SCALES, "quick", kinds)
    compare = hofmeyr2016.inverse_table
    few = sharing.Kind(sharing.Span(1, 0, 64), range(2))
    small = lambda assumed, _, executor: compare(assumed, few)  # noqa: E731
    monkeypatch.setattr(hofmeyr2016, "inverse_table", small)
    shown = run_cells(ROOT / "notebooks/3-timesharing.ipynb")
    assert len(shown.figures) == 11


def test_filling_of_a_few_days(monkeypatch):
    monkeypatch.setitem(filling.SPANS, "quick", (3.0, 2))
    few = {"accuracies": [0.0, 0.5, 1.0], "queue_depths": [10]}
    shown = run_cells(ROOT / "notebooks/4-filling.ipynb", **few)
    assert len(shown.figures) == 7


def test_elastic_partitions_of_a_few_jobs(monkeypatch):
    draw = cloud.Inputs.draw

    def draw_few(self, **knobs):
        drawn = draw(self, **knobs)
        return {n: one.keep(one.jobs.index < 400, "the first 400") for n, one in drawn.items()}

    monkeypatch.setattr(cloud.Inputs, "draw", draw_few)
    shown = run_cells(ROOT / "notebooks/5-elastic.ipynb", trace="synthetic")
    assert len(shown.figures) == 12
