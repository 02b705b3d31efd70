"""The answer of an explorer to its settings, and two answers side by side.

An answer has few numbers with names, so that it can be pinned: a table then shows the numbers of
the pinned answer, those of the present one, and their differences.
"""

import html
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from cosimlib.schedule import Schedule

if TYPE_CHECKING:  # where widgets are missing, too, the error names these first
    import plotly.graph_objects as go

Numbers = Mapping[str, float]
"""Numbers by their names, each name with its unit: "mean wait (h)"."""
UNKNOWN = "–"
"""Stands where a number is not known, and for a setting that an explorer does not have."""


class Answer(NamedTuple):
    """What an explorer shows for its settings.

    Parameters
    ----------
    figure : go.Figure
        With as many traces for all settings.
    text : str or sequence of str
        The line of text: HTML, or facts, which are joined; empty ones are left out.
    notes : iterable of str
        Sentences under the text; empty ones are left out.
    numbers : mapping of str to float
        What two answers are compared by: names with units.
    table : callable
        Makes the tidy table behind the answer.
    """

    figure: "go.Figure"
    text: str | Sequence[str]
    notes: Iterable[str] = ()
    numbers: Numbers = MappingProxyType({})
    table: Callable[[], pd.DataFrame] = pd.DataFrame


def jobs_of(schedule: Schedule) -> pd.DataFrame:
    """The jobs of a schedule with their times (s), one row each; `job` is the workload's row."""
    return schedule.jobs.rename_axis("job").reset_index()


@dataclass(frozen=True)
class Pin:
    """An answer that is kept, as it was shown.

    Parameters
    ----------
    figure : go.Figure
    text : str
        HTML.
    numbers : mapping of str to float
    words : mapping of str to str
        Settings by the labels of their controls, and the data, in words.
    """

    figure: "go.Figure"
    text: str
    numbers: Numbers
    words: Mapping[str, str]


def comparison(pin: Pin, numbers: Numbers, words: Mapping[str, str]) -> str:
    """The numbers pinned, those of now and their differences, and which settings differ, as HTML.

    Parameters
    ----------
    pin : Pin
    numbers, words : mapping
        Of the present answer, as those of a `Pin`.
    """
    rows = "".join(
        _row(name, pin.numbers.get(name, math.nan), numbers.get(name, math.nan))
        for name in dict.fromkeys([*pin.numbers, *numbers])
    )
    heads = "".join(f"<th>{head}</th>" for head in ("", "pinned", "now", "difference"))
    changed = " · ".join(changes(pin.words, words)) or "the same settings"
    return (
        '<div class="explorer-comparison"><b>Pinned → now:</b> '
        f"{html.escape(changed, quote=False)}<table><tr>{heads}</tr>{rows}</table></div>"
    )


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Which settings have another value, such as "policy EASY → FCFS"."""
    labels = dict.fromkeys([*before, *after])
    pairs = {label: (before.get(label, UNKNOWN), after.get(label, UNKNOWN)) for label in labels}
    return [f"{label} {old} → {new}" for label, (old, new) in pairs.items() if old != new]


def _row(name: str, before: float, after: float) -> str:
    """One number in the table of a comparison."""
    difference = after - before
    sign = "+" if difference > 0 else ""
    cells = (_short(before), _short(after), f"{sign}{_short(difference)}")
    shown = "".join(f"<td>{cell}</td>" for cell in cells)
    return f"<tr><td>{html.escape(name)}</td>{shown}</tr>"


def _short(number: float) -> str:
    """A number with at most four digits, or all of a larger one's before the point."""
    if math.isnan(number):
        return UNKNOWN
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    text = f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
    return text.replace("-", "−")
