"""Figures of preemptions."""

from cosimlab.figures.elastic import period_name


def test_grace_periods_in_words():
    assert [period_name(s) for s in (0, 120, 1200, 7200)] == ["0 s", "120 s", "20 min", "2 h"]
