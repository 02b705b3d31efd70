"""Section on forecasts of starts: what it finds, and what it leaves open."""

from cosimlab.report import example_log, open_log, starts_section
from tests.zoo import ZOO


def test_forecasts_of_an_example_are_judged_against_simple_ones():
    section = starts_section(open_log(example_log(jobs=600)))
    assert "80 % intervals held" in section.findings[0]
    (table,) = section.tables.values()
    assert table.index[0] == "corrected forecast"
    assert table["80 % intervals hold (%)"].iloc[0] > 50


def test_what_a_log_does_not_show_is_open():
    few = starts_section(open_log(example_log(jobs=600), budget=1.0))
    assert "open: not judged: too few instants" in few.findings[0]
    for name in ("three-jobs", "submissions-are-starts", "no-requested-times"):
        section = starts_section(open_log(ZOO / f"{name}.swf.gz"))
        assert "is open: " in section.findings[0]
        assert not section.tables
