"""Summaries of the package's objects: a heading and a few rows, as text and as HTML.

``print(schedule)`` and the last line of a notebook's cell show the same rows. ``repr`` is one line,
so that lists and dataclasses stay short. A summary never raises an error: a value that cannot be
computed is "unknown".
"""

import html
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal

from cosimlib.units import DAY, HOUR, MINUTE

UNKNOWN = "unknown"
Facts = Mapping[str, Callable[[], str]]


class Displayed:
    """Base class of objects that print themselves, from `_heading` and `_facts`."""

    def _heading(self) -> str:
        """The one line that `repr` shows."""
        raise NotImplementedError

    def _facts(self) -> Facts:
        """Functions that give the text of each row, by the row's name; empty texts are left out."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._heading()}>"

    def __str__(self) -> str:
        rows = _rows(self._facts())
        width = max(map(len, rows), default=0)
        lines = [f"  {name:<{width}}  {text}" for name, text in rows.items()]
        return "\n".join([f"{type(self).__name__} {self._heading()}", *lines])

    def _repr_html_(self) -> str:
        left = 'style="text-align: left"'
        rows = [
            f"<tr><th {left}>{html.escape(name)}</th><td {left}>{html.escape(text)}</td></tr>"
            for name, text in _rows(self._facts()).items()
        ]
        heading = f"<strong>{type(self).__name__}</strong> {html.escape(self._heading())}"
        return f"<div>{heading}<table><tbody>{''.join(rows)}</tbody></table></div>"


def _rows(facts: Facts) -> dict[str, str]:
    """The text of each row; "unknown" where it cannot be had."""
    rows = {}
    for name, fact in facts.items():
        try:
            text = fact()
        except Exception:  # whatever is wrong with the object, looking at it must show the rest
            text = UNKNOWN
        if text:
            rows[name] = text
    return rows


def quantity(value: float, unit: str = "", digits: int = 1) -> str:
    """Number with its unit, "1,234.5 GB"; "unknown" if it is not finite."""
    if not math.isfinite(value):
        return UNKNOWN
    return f"{value:,.{digits}f} {unit}".rstrip()


def or_unknown(value: float, form: str, unit: str = "") -> str:
    """Number in a format such as ",.2f", with a suffix; "unknown" if it is not finite."""
    return f"{value:{form}}{unit}" if math.isfinite(value) else UNKNOWN


def duration(seconds: float) -> str:
    """Duration in a suitable unit: "45 s", "12.5 min", "1.9 h", "329.5 days"."""
    if not math.isfinite(seconds):
        return UNKNOWN
    length, unit = _unit(seconds)
    return f"{seconds / length:,.1f}".removesuffix(".0") + f" {unit}"


def durations(*seconds: float) -> list[str]:
    """Durations in one unit, which suits the first one that is not 0; negative ones are allowed."""
    length, unit = _unit(next((abs(each) for each in seconds if each and math.isfinite(each)), 0.0))
    return [_in(each / length, unit) for each in seconds]


def _unit(seconds: float) -> tuple[float, str]:
    """The length in seconds of the unit that suits a duration, and its name."""
    units = ((2 * DAY, DAY, "days"), (HOUR, HOUR, "h"), (MINUTE, MINUTE, "min"))
    return next(((s, name) for least, s, name in units if seconds >= least), (1.0, "s"))


def _in(number: float, unit: str) -> str:
    """A number of a unit: one place, or, of less than one, two digits."""
    if not math.isfinite(number):
        return UNKNOWN
    size = abs(number)
    digits = f"{size:.2g}" if size < 1 else f"{size:,.1f}".removesuffix(".0")
    return f"{'−' if number < 0 else ''}{digits} {unit}"


def calendar(instant: datetime) -> str:
    """Date and time to the minute, with time zone: "2011-02-01 15:38 Europe/Paris"."""
    return f"{instant:%Y-%m-%d %H:%M} {zone(instant)}"


def zone(instant: datetime) -> str:
    """Name of a time's zone; "local time" if it has none."""
    return "local time" if instant.tzinfo is None else str(instant.tzinfo)


def percent(share: float, places: int | None = None, *, signed: bool = False) -> str:
    """Share in percent: up to three digits, "83 %", or `places` decimals; signed "+7.5 %"."""
    if not math.isfinite(share):
        return UNKNOWN
    digits = f"{100 * share:{'.3g' if places is None else f'.{places}f'}}"
    text = f"{Decimal(digits) + 0:{'+' if signed else ''},f} %"  # no exponent, no -0
    return f"−{text[1:]}" if text.startswith("-") else text


def times_as_long(ratio: str) -> str:
    """Length relative to another one: "0.81 times as long"; of a ratio that reads 1, "as long"."""
    return "as long" if ratio == "1" else f"{ratio} times as long"


def used_data(data: str, used: float | None) -> str:
    """Name of the data, with the share that was used if not all: "RICC, 83 % of its node-hours"."""
    if used is None or percent(used) == "100 %":
        return data
    return f"{data}, {percent(used)} of its node-hours"


def count(n: int, noun: str) -> str:
    """Number of things with its noun: "1 job", "28,489 jobs"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
