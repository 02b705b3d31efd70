"""Examples of the plots of tables, and of the tables behind them, print what they show."""

import doctest
import inspect

import pytest

import cosimlab as lab
import cosimlib as cs

SHOWN = [
    *(
        getattr(lab.figures, name)
        for name in ("lines", "bars", "areas", "heat_map", "ecdf", "violins")
    ),
    lab.figures.boxes,
    lab.figures.paper_style,
    cs.metrics.by_size_and_length,
    cs.metrics.ratio_by_size_and_length,
]


@pytest.mark.parametrize("function", SHOWN, ids=lambda function: function.__name__)
def test_the_example_prints_what_it_shows(function):
    text = inspect.getdoc(function)
    parsed = doctest.DocTestParser().get_doctest(text, {}, function.__name__, None, 0)
    assert parsed.examples
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(parsed, out=report.append).failed == 0, "".join(report)
