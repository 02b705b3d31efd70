"""Tables: as figures, and as notebooks show them."""

import numpy as np
import pandas as pd

import cosimlib as cs


def test_numbers_that_are_none_are_words():
    table = pd.DataFrame({"a": [1.5, np.nan], "b": [1.0, 2.0]})
    told = cs.figures.in_words(table)
    assert told["a"].tolist() == [1.5, "unknown"] and told["b"].equals(table["b"])


def test_table_without_rows_says_so():
    (note,) = cs.figures.plot_table(pd.DataFrame({"a": []}), title="T").layout.annotations
    assert note.text == "Nothing to draw: the table has no rows."
