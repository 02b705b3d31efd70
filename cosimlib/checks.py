"""Validation of arguments: one call per argument, one wording per kind of error.

A public function declares what it expects, ``check.whole("jobs", jobs, 1)`` after ``from cosimlib
import checks as check``. Every error reads ``where: name=value; expected what``. True, False, NaN
and infinity are never accepted as numbers. `none` allows None; as a text it says what None means:
``none="for never"``.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class ArgumentError(ValueError):
    """Argument with a value that the function does not accept."""


MOST_WINDOWS = 10_000_000
"""Windows of a series at most: as many hours are 1,141 years."""

MOST_VALUES = 2.0**28
"""Values in a table at most: 2 GiB of numbers of double precision."""


def is_number(value: object) -> bool:
    """Whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object, least: float = -math.inf) -> bool:
    """Whether a value is an integer of at least `least`; True and 1.0 are not."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def that(
    name: str,
    value: object,
    fine: bool,
    expected: str,
    *,
    none: bool | str = False,
    where: str = "",
    error: type[Exception] = ArgumentError,
) -> None:
    """Check any condition on an argument; the error is worded like those of the other checks."""
    if none:
        expected += ", or None" if none is True else f", or None {none}"
    if not fine and not (none and value is None):
        raise error(f"{_prefix(where)}{name}={value!r}; expected {expected}")


def whole(
    name: str,
    value: Any,
    least: float,
    most: float = math.inf,
    *,
    floats: bool = False,
    none: bool | str = False,
    where: str = "",
) -> None:
    """Check for a whole number from `least` to `most`; 60.0 is accepted only if `floats` are."""
    fine = is_whole(value) or (floats and is_number(value) and value % 1 == 0)
    expected = f"a whole number {_range(least, most)}"
    that(name, value, fine and least <= value <= most, expected, none=none, where=where)


def seed(value: object, *, where: str = "") -> None:
    """Check for a seed of random numbers: a whole number from 0."""
    whole("seed", value, 0, where=where)


def number(
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    kind: str = "a number",
    none: bool | str = False,
    where: str = "",
) -> None:
    """Check for a finite number; `least` and `most` are included, `above` and `below` excluded.

    `kind` names the quantity in the error: "a probability", "a part of a slot,".
    """
    fine = is_number(value) and least <= value <= most and above < value < below
    expected = " ".join([kind, _range(least, most, above, below)]).strip()
    that(name, value, fine, expected, none=none, where=where)


def seconds(
    name: str,
    value: object,
    *,
    above: float | None = None,
    most: float = math.inf,
    none: bool | str = False,
    where: str = "",
) -> None:
    """Check for a finite number of seconds: from 0, or more than `above`."""
    low = {"least": 0.0} if above is None else {"above": above}
    number(name, value, **low, most=most, kind="seconds", none=none, where=where)


def flag(name: str, value: object, *, where: str = "") -> None:
    """Check for True or False; 1 and 0 are refused."""
    that(name, value, isinstance(value, bool | np.bool_), "True or False", where=where)


def choice(name: str, value: object, options: Iterable[object], *, where: str = "") -> None:
    """Check for one of several values."""
    known = list(options)
    fine = any(_equal(value, one) for one in known)
    that(name, value, fine, f"one of {', '.join(map(repr, known))}", where=where)


def instance(name: str, value: object, *types: type, expected: str = "") -> None:
    """Check for an object of one of several types; the TypeError names the given value or type."""
    if not isinstance(value, types):
        articles = ["an" if one.__name__[0] in "AEIOU" else "a" for one in types]
        names = [f"{a} {one.__name__}" for a, one in zip(articles, types, strict=True)]
        short = value is None or isinstance(value, Real | str | PurePath)
        found = repr(value) if short else f"of type {type(value).__name__}"
        raise TypeError(f"{name} is {found}; expected {expected or ' or '.join(names)}")


def window(start: float, end: float, *, name: str = "window") -> None:
    """Check for a window of time (seconds) whose start is before its end."""
    for side, value in (("start", start), ("end", end)):
        that(side, value, is_number(value), "seconds")
    if not start < end:
        raise ArgumentError(f"{name} from {start:.15g} to {end:.15g} s; expected start before end")


def windows(first: float, last: float, every: float) -> None:
    """Check that a series of windows of `every` seconds has fewer than the maximum."""
    seconds("every", every, above=0)
    advice = "take longer windows, or a part of the time"
    span = f"windows of {every:.15g} s from t={first:.15g} to t={last:.15g}"
    room(span, (last - first) / every, advice, most=MOST_WINDOWS)


def machine(system: T | None, where: str, *, error: type[Exception] = ArgumentError) -> T:
    """System that is given, or else the machine of the workload; an error if both are missing."""
    if system is None:
        raise error(f"{where}: its machine is unknown; give a system, e.g. System.of(128)")
    return system


def columns(
    table: Any, needed: Sequence[str], *, where: str = "", error: type[Exception] = ArgumentError
) -> None:
    """Check that a table has the required columns."""
    for name in needed:
        if name not in table:
            raise error(f"{_prefix(where)}no column {name!r}; expected {', '.join(needed)}")


def rows(
    name: str,
    values: Any,
    fine: Any,
    expected: str,
    *,
    row: Callable[[int], str],
    error: type[Exception] = ArgumentError,
) -> None:
    """Check a condition on each row of a column; the error names the first wrong row by `row`."""
    broken = ~np.asarray(fine, dtype=bool)
    if broken.any():
        first = int(broken.argmax())
        value = np.asarray(values)[first]
        shown = f"{value:.15g}" if is_number(value) else repr(value)
        raise error(f"{row(first)} has {name}={shown}; expected {expected}")


def room(
    what: str, values: float, advice: str, *, most: float = MOST_VALUES, where: str = ""
) -> None:
    """Check that a table fits into memory before it is created.

    `what` names its content in the plural; `advice` says how to need less memory.
    """
    if values > most:
        problem = f"{values:,.0f} {what}; expected {most:,.0f} at most: {advice}"
        raise ArgumentError(f"{_prefix(where)}{problem}")


def nor_others(number: int) -> str:
    """Text in brackets that counts other items with the same problem; "" if there are none."""
    if not number:
        return ""
    return " (nor has 1 other)" if number == 1 else f" (nor have {number} others)"


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _equal(value: object, option: object) -> bool:
    """Whether a value is an option, which neither True is of 1 nor an array of anything."""
    same_kind = is_number(value) if is_number(option) else isinstance(value, type(option))
    return same_kind and bool(value == option)


def _range(least: float, most: float, above: float = -math.inf, below: float = math.inf) -> str:
    """Bounds in words: "from 0 to below 1", "above 0 and up to 1"."""
    parts = []
    if least > -math.inf:
        parts.append(f"from {least:,.15g}")
    if above > -math.inf:
        parts.append(f"above {above:,.15g}")
    if min(most, below) < math.inf:
        joint = "to" if least > -math.inf else "and" if parts else ""
        end = "below" if below <= most else "" if joint == "to" else "up to"
        parts += [joint, end, f"{min(most, below):,.15g}"]
    return " ".join(filter(None, parts))
