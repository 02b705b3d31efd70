"""Figures of preemptions show the numbers that they are given."""

import numpy as np
import pandas as pd

from cosimlib import synthetic
from cosimlib.elastic import nodes_owned, simulate_elastic
from cosimlib.figures.elastic import period_name, plot_owners
from cosimlib.figures.tables import plot_table
from cosimlib.system import System


def test_owners_fill_the_machine():
    lent = simulate_elastic(synthetic.htc(copies=1), System.of(8), spare=2)
    owned = nodes_owned(lent, np.linspace(0, lent.end_time.max() + 60, 100))
    assert (owned.sum(axis=1) == 10).all() and owned.iloc[-1]["host"] == 10
    figure = plot_owners(owned, title="O")
    assert [trace.name for trace in figure.data] == ["main", "user", "host"]
    assert list(figure.data[0].y) == owned["main"].tolist()


def test_tables_show_their_cells():
    (table,) = plot_table(pd.DataFrame({"a": ["x"], "b": [1234.5]}), title="T").data
    assert list(table.header["values"]) == ["<b>a</b>", "<b>b</b>"]
    assert [list(column) for column in table.cells["values"]] == [["x"], ["1,234.5"]]


def test_owners_of_no_jobs_are_a_sentence():
    jobs = synthetic.htc(copies=1)
    nothing = jobs.keep(np.zeros(len(jobs), bool), "all")
    figure = plot_owners(nodes_owned(simulate_elastic(nothing, System.of(20)), []), title="O")
    said = "Nothing to draw: the workload has no jobs, so there is nothing to preempt."
    assert figure.layout.annotations[0].text == said


def test_grace_periods_in_words():
    assert [period_name(s) for s in (0, 120, 1200, 7200)] == ["0 s", "120 s", "20 min", "2 h"]
