"""Figures of preemptions."""

import numpy as np
import pandas as pd

import cosimlab as lab
from cosimlab.figures import theme
from cosimlab.figures.elastic import period_name


def test_grace_periods_in_words():
    assert [period_name(s) for s in (0, 120, 1200, 7200)] == ["0 s", "120 s", "20 min", "2 h"]


def test_vectors_are_the_values_given_with_boxes():
    values = pd.DataFrame(np.random.default_rng(0).random((50, 20)), np.linspace(0, 1e5, 50))
    boxes = pd.DataFrame({"start": [0.0], "end": [86_400.0], "first": [2], "last": [4]})
    figure = lab.figures.plot_vectors({"PAP": values, "PAP+": values}, boxes, title="T")
    np.testing.assert_array_equal(figure.data[0].z, values.to_numpy().T.round(3))
    assert len(figure.layout.shapes) == 2
    box = figure.layout.shapes[0]
    assert (box.x0, box.x1, box.y0, box.y1) == (0, 1, 1.5, 4.5)
    assert box.line.color == theme.VERMILION
    assert not lab.figures.plot_vectors({"PAP": values}).layout.shapes
