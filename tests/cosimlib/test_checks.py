"""Checks of arguments: what they let pass, and the words in which they refuse."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from cosimlib import checks as check

FINE = [
    (check.whole, ("jobs", 1, 1), {}),
    (check.whole, ("jobs", np.int64(7), 1, 7), {}),
    (check.whole, ("slot", 60.0, 1), {"floats": True}),
    (check.whole, ("jobs", None, 1), {"none": True}),
    (check.seed, (0,), {}),
    (check.number, ("load", -1e300), {}),
    (check.number, ("overhead", 0), {"least": 0, "below": 1}),
    (check.number, ("load", None), {"above": 0, "none": "for all at once"}),
    (check.seconds, ("step", 1e-9), {"above": 0}),
    (check.flag, ("spmd", False), {}),
    (check.choice, ("policy", None, ("A", None)), {}),
    (check.instance, ("source", 1, int, str), {}),
    (check.window, (-1.0, math.inf), {}),
    (check.columns, (pd.DataFrame({"a": [1], "b": [2]}), ["b"]), {}),
]

ROWS = pd.Series([1.0, np.nan, -2.5], index=[4, 5, 6])

REFUSED = [
    (check.that, ("watch", 3, False, "a function"), {}, "watch=3; expected a function"),
    (check.whole, ("jobs", 0, 1), {}, "jobs=0; expected a whole number from 1"),
    (check.whole, ("jobs", True, 1), {}, "jobs=True; expected a whole number from 1"),
    (check.whole, ("jobs", "2", 1), {"floats": True}, "jobs='2'; expected a whole number from 1"),
    (check.whole, ("jobs", 1.5, 1), {"floats": True}, "jobs=1.5; expected a whole number from 1"),
    (check.whole, ("jobs", 9, 0, 6), {}, "jobs=9; expected a whole number from 0 to 6"),
    (check.whole, ("jobs", -1, 0), {"none": True}, "a whole number from 0, or None"),
    (check.seed, (None,), {"where": "Theta"}, "Theta: seed=None; expected a whole number from 0"),
    (check.number, ("load", math.nan), {}, "load=nan; expected a number"),
    (check.number, ("load", math.inf), {"above": 0}, "load=inf; expected a number above 0"),
    (check.number, ("load", 0), {"above": 0}, "load=0; expected a number above 0"),
    (check.number, ("load", 2), {"least": 0, "most": 1}, "load=2; expected a number from 0 to 1"),
    (check.number, ("load", 0), {"above": 0, "most": 1e6}, "a number above 0 and up to 1,000,000"),
    (check.number, ("load", 2), {"most": 1}, "load=2; expected a number up to 1"),
    (check.number, ("load", 1), {"below": 1, "most": 1}, "a number below 1"),
    (check.number, ("load", 1), {"below": 1}, "load=1; expected a number below 1"),
    (check.seconds, ("step", -1), {}, "step=-1; expected seconds from 0"),
    (
        check.seconds,
        ("step", 0),
        {"above": 0, "none": "for never"},
        "step=0; expected seconds above 0, or None for never",
    ),
    (check.flag, ("spmd", 1), {}, "spmd=1; expected True or False"),
    (check.choice, ("policy", "C", ("A", None)), {}, "policy='C'; expected one of 'A', None"),
    (check.choice, ("size", True, (1, 2)), {}, "size=True; expected one of 1, 2"),
    (check.window, (5, 5), {}, "window from 5 to 5 s; expected start before end"),
    (check.window, ("2 days", 5), {}, "start='2 days'; expected seconds"),
    (check.window, (math.nan, 5), {"name": "windows"}, "windows from nan to 5 s; expected start"),
    (
        check.machine,
        (None, "log"),
        {},
        "log: its machine is unknown; give a system, e.g. System.of(128)",
    ),
    (
        check.columns,
        ({"a": 1}, ["a", "b"]),
        {"where": "jobs"},
        "jobs: no column 'b'; expected a, b",
    ),
    (
        check.rows,
        ("size", ROWS, ROWS > 0, "a number above 0"),
        {"row": lambda row: f"job {ROWS.index[row]}"},
        "job 5 has size=nan; expected a number above 0",
    ),
    (
        check.rows,
        ("size", np.array([1, "two"], dtype=object), [True, False], "a number"),
        {"row": "row {}".format},
        "row 1 has size='two'; expected a number",
    ),
]


@pytest.mark.parametrize(("checks", "arguments", "knobs"), FINE)
def test_what_is_allowed_passes(checks, arguments, knobs):
    assert checks(*arguments, **knobs) is None


@pytest.mark.parametrize(("checks", "arguments", "knobs", "message"), REFUSED)
def test_what_is_refused_is_named_with_its_value(checks, arguments, knobs, message):
    start = "" if message.startswith(("a ", "expected")) else "^"
    with pytest.raises(ValueError, match=start + re.escape(message)):
        checks(*arguments, **knobs)


@pytest.mark.parametrize("value", [True, "1", None, math.nan, 1j, [1], np.ones(3)], ids=repr)
def test_only_numbers_are_numbers(value):
    for checks in (check.number, check.seconds):
        with pytest.raises(ValueError, match=r"^knob="):
            checks("knob", value)
    with pytest.raises(ValueError, match=r"^knob=.*; expected a whole number from 0"):
        check.whole("knob", value, 0, floats=True)


def test_types_are_named():
    message = r"^source is of type list; expected a float or an Error$"
    with pytest.raises(TypeError, match=message):
        check.instance("source", [], float, type("Error", (), {}))
    with pytest.raises(TypeError, match=r"^source is of type list; expected a table$"):
        check.instance("source", [], float, expected="a table")


@pytest.mark.parametrize("value", [128, 0.5, True, None, "log.swf"], ids=repr)
def test_values_that_are_short_are_named_themselves(value):
    with pytest.raises(TypeError, match=f"^source is {re.escape(repr(value))}; expected a list$"):
        check.instance("source", value, list)


def test_others_are_counted_where_there_are_any():
    assert [check.nor_others(number) for number in (0, 1, 2)] == [
        "",
        " (nor has 1 other)",
        " (nor have 2 others)",
    ]


def test_errors_are_of_the_kind_that_a_room_raises():
    with pytest.raises(OSError, match="size=1; expected 2"):
        check.that("size", 1, False, "2", error=OSError)
    with pytest.raises(KeyError, match="no column"):
        check.columns({}, ["a"], error=KeyError)
    with pytest.raises(LookupError, match="unknown"):
        check.machine(None, "log", error=LookupError)
    with pytest.raises(TypeError, match="job 0 has size=1"):
        check.rows("size", [1], [False], "2", row="job {}".format, error=TypeError)
