"""Notebooks of papers on small experiments: every cell runs, and its assertions hold.

At night the notebooks run as they are stored, and show the same outputs (`tests.suites`).
"""

from papers import duplyakin2017, hofmeyr2016, maurya2020, tang2011
from papers.hofmeyr2016 import experiment as sharing
from papers.polyakov2018 import experiment as filling
from tests.cells import run_cells
from tests.suites import ROOT


def test_evictions_of_a_few_jobs():
    few = {"scenario_jobs": [6, 8, 10], "memory_seeds": 2, "time_limit": 0.01, "moment_cells": 1e7}
    shown = run_cells(ROOT / "notebooks/1-eviction.ipynb", **few)
    assert shown.figures.keys() == maurya2020.FIGURES.keys()


def test_coupled_machines_of_half_a_day():
    shown = run_cells(ROOT / "notebooks/2-coscheduling.ipynb", days=0.5, seeds=2)
    assert shown.figures.keys() == tang2011.FIGURES.keys()


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
    draws = duplyakin2017.paper_inputs("synthetic").draw(seed=0)
    few = {name: each.keep(each.jobs.index < 200, "the first") for name, each in draws.items()}
    monkeypatch.setattr(duplyakin2017.Inputs, "draw", lambda self, **knobs: few)
    shown = run_cells(ROOT / "notebooks/5-elastic.ipynb", trace="synthetic")
    assert shown.figures.keys() == duplyakin2017.FIGURES.keys()
