"""Five long notebooks on small experiments: every cell runs, and its assertions hold.

At night the notebooks run as they are stored, and show the same outputs (`tests.suites`).
"""

import cosimlab as lab
from papers import duplyakin2017, hofmeyr2016
from papers.duplyakin2017 import experiment as cloud
from papers.hofmeyr2016 import experiment as sharing
from papers.polyakov2018 import experiment as filling
from papers.tang2011 import experiment as coupled
from tests.notebooks.cells import run_cells
from tests.suites import ROOT


def test_evictions_with_little_backtracking():
    few = {"memory_seeds": 2, "moment_cells": 2e8, "time_limit": 0.01}
    shown = run_cells(ROOT / "notebooks/1-eviction.ipynb", **few)
    assert len(shown.figures) == 15


def test_coscheduling_of_a_day(monkeypatch):
    monkeypatch.setattr(coupled, "PROPORTIONS", (0.025, 0.33))
    shown = run_cells(ROOT / "notebooks/2-coscheduling.ipynb", days=1.0, seeds=2)
    assert len(shown.figures) == 15


def test_time_sharing_of_a_few_days(monkeypatch):
    days = sharing.Kind(sharing.Span(3, 1, sharing.EIGHTH // 4), range(2))
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
    few = {"accuracies": [0.0, 0.5, 1.0], "queue_depths": [10], "logs": ["KTH-SP2"]}
    shown = run_cells(ROOT / "notebooks/4-filling.ipynb", **few)
    assert len(shown.figures) == 7


def test_elastic_partitions_of_a_few_jobs(monkeypatch):
    draw = cloud.Inputs.draw

    def draw_few(self, **knobs):
        drawn = draw(self, **knobs)
        return {n: one.keep(one.jobs.index < 400, "the first 400") for n, one in drawn.items()}

    sweep, sequences = lab.sweep, duplyakin2017.sweep_sequences

    def sweep_few(function, grid, seeds, **knobs):
        return sweep(function, grid, list(seeds)[:2], **knobs)

    def sweep_few_sequences(preferred, setting, seeds, **values):
        return sequences(preferred, setting, list(seeds)[:2], **values)

    monkeypatch.setattr(cloud.Inputs, "draw", draw_few)
    monkeypatch.setattr(lab, "sweep", sweep_few)
    monkeypatch.setattr(duplyakin2017, "sweep_sequences", sweep_few_sequences)
    shown = run_cells(ROOT / "notebooks/5-elastic.ipynb", trace="synthetic")
    assert len(shown.figures) == 12
