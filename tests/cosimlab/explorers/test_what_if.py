"""Explorer of another machine: what the controls say is what `what_if` answers."""

import numpy as np
import pytest

import cosimlab as lab
from cosimlab.explorers.what_if import _made
from cosimlib.synthetic import lublin
from cosimlib.units import HOUR


def test_controls_ask_what_if_anew():
    panel, log = lab.explore_what_if(jobs=1500, seed=1), _made(1500, 1)
    assert list(panel.controls) == ["nodes", "limit"]
    panel.controls["nodes"].value = 25.0
    answer = lab.what_if(log, nodes="+25%", seed=1)
    assert panel.text.value == answer.sentence
    sizes = answer.table[(answer.table["by"] == "size") & (answer.table["statistic"] == "mean")]
    recorded, expected, ratios = panel.figure.data
    assert np.allclose(recorded.y, sizes["recorded"] / HOUR)
    assert np.allclose(expected.y, sizes["expected"] / HOUR)
    assert len(ratios.x) > len(sizes), "users have a ratio, too"
    unknown = np.isnan(ratios.error_x.array)
    assert [mark == "circle-open" for mark in ratios.marker.symbol] == unknown.tolist()
    panel.choose(limit=24.0)
    limited = lab.what_if(log, nodes="+25%", limit="24h", seed=1)
    assert panel.text.value == limited.sentence
    numbers = panel.answer.numbers
    assert numbers["ratio, low end of 90 %"] < numbers["ratio"] < numbers["ratio, high end of 90 %"]


def test_no_answer_is_shown_as_such():
    """Few jobs wait, so that there is no number; the sentence and the caption say why."""
    panel = lab.explore_what_if(jobs=60)
    assert "no number" in panel.figure.layout.title.text
    assert panel.text.value.startswith("No number for 10 % more nodes")
    assert "No number:" in panel.notes.value
    assert len(panel.figure.data) == 3
    assert np.isnan(panel.answer.numbers["ratio"])


def test_a_log_without_starts_is_named():
    with pytest.raises(ValueError, match="expected recorded starts of at least 90 %"):
        lab.explore_what_if(lublin(100, seed=1))
