"""Parameters of notebooks are checked at once: the error names them and their value."""

import re

import pytest

from tests.notebooks.cells import run_cells
from tests.suites import ROOT

NOTEBOOKS = [path.stem for path in sorted((ROOT / "notebooks").glob("[1-7]-*.ipynb"))]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_scale_that_there_is_not_is_refused(notebook):
    message = "scale='papr'; expected one of 'quick', 'paper'"
    with pytest.raises(ValueError, match=re.escape(message)):
        run_cells(ROOT / f"notebooks/{notebook}.ipynb", scale="papr")


@pytest.mark.parametrize(
    ("notebook", "name", "value", "expected"),
    [
        ("1-eviction", "horizon", -5, "seconds above 0"),
        ("1-eviction", "scenario_jobs", 0, "a whole number from 1"),
        ("2-coscheduling", "order", "fcfs", "one of 'wfp', 'submit'"),
        ("2-coscheduling", "seeds", -1, "a whole number from 0"),
        ("4-filling", "accuracies", 1.5, "a number from 0 to 1"),
        ("6-ondemand", "share", 2, "a number above 0"),
        ("7-nodes", "seed", 0.5, "a whole number from 0"),
    ],
)
def test_the_error_names_the_parameter_its_value_and_what_was_expected(
    notebook, name, value, expected
):
    given = [value] if name in ("scenario_jobs", "accuracies") else value
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r}; expected {expected}")):
        run_cells(ROOT / f"notebooks/{notebook}.ipynb", **{name: given})
