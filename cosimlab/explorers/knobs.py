"""Knobs of an explorer: a table of settings, each with the widget that changes it."""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from ipywidgets import (
    Dropdown,
    FloatSlider,
    IntSlider,
    SelectionRangeSlider,
    SelectionSlider,
    Widget,
)

from cosimlib import checks as check
from cosimlib.units import MINUTE

KINDS = {"menu": Dropdown, "slider": SelectionSlider, "range": SelectionRangeSlider}
FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Of what spans powers of ten, such as a bandwidth."""

Answer = TypeVar("Answer")
Settings = dict[str, Any]
"""Value of each control, by its name."""
Bound = float | Callable[[Settings], float]
"""A number, or a function from the settings to it."""


@dataclass(frozen=True)
class Knob:
    """One setting of an explorer, and the widget that changes it.

    Parameters
    ----------
    name : str
        Of the control, and of the explorer's argument that sets its first value.
    value : object
        What the control shows first if no argument is given, or a function from the settings to
        it. The control takes the function's value again when other days are chosen.
    label : str
        What stands beside the control, with its unit.
    options : iterable, optional
        Values in a widget of `kind`.
    named : callable, default str
        Takes an option and returns its name.
    kind : {"menu", "slider", "range"}
        The widget of options.
    low, high, step : float
        Of a slider of numbers; `low` and `high` may be functions of the settings.
    whole : bool
        Whether a slider's numbers are whole.
    near : float
        How far a number may be from another one with the same answer: browsers round to steps.
    readout : callable, optional
        Takes the settings and says what a slider's number means; it stands in the label.
    off_when : callable, optional
        Takes the settings and says why the control has no effect; "" if it has one.
    """

    name: str
    value: Any
    label: str
    options: Iterable[Any] | None = None
    named: Callable[[Any], str] = str
    kind: str = "menu"
    low: Bound = 0.0
    high: Bound = 1.0
    step: float = 1.0
    whole: bool = False
    near: float = 0.0
    readout: Callable[[Settings], str] | None = None
    off_when: Callable[[Settings], str] | None = None

    @property
    def depends(self) -> bool:
        """Whether its own value or its range follows from the settings of others."""
        return any(map(callable, (self.value, self.low, self.high)))

    def own(self, now: Settings) -> Any:
        """What the control shows where nothing else is asked for."""
        return self.value(now) if callable(self.value) else self.value

    def ends(self, now: Settings) -> tuple[float, float]:
        """The least and the greatest value of a slider of numbers."""
        low, high = (end(now) if callable(end) else end for end in (self.low, self.high))
        return low, high

    def check(self, given: Any, now: Settings) -> None:
        """Raise ValueError for a value that the control does not offer."""
        if self.options is not None:
            if self.kind == "range":
                is_pair = isinstance(given, tuple | list) and len(given) == 2
                expected = f"two of {', '.join(map(repr, self.options))}"
                check.that(self.name, given, is_pair, expected)
            for each in given if self.kind == "range" else [given]:
                check.choice(self.name, each, self.options)
            return
        least, most = self.ends(now)
        if self.whole:
            check.whole(self.name, given, least, most)
        else:
            check.number(self.name, given, least=least, most=most)

    def alike(self, one: Any, other: Any) -> bool:
        """Whether two values have the same answer."""
        return same(one, other) or (self.near > 0 and abs(one - other) <= self.near)

    def worded(self, now: Settings) -> str:
        """The value in words, as the control shows it."""
        value = now[self.name]
        if self.readout is not None:
            return self.readout(now)
        if self.kind == "range":
            return " to ".join(map(self.named, dict.fromkeys(value)))
        if self.options is not None:
            return self.named(value)
        return f"{value:,}" if self.whole else f"{value:.{self._digits}f}"

    @property
    def _digits(self) -> int:
        """Digits after the point of a slider's numbers."""
        return max(0, -math.floor(math.log10(self.step)))

    def widget(self, now: Settings) -> Widget:
        """The control."""
        first = now[self.name]
        if self.options is not None:
            values = list(self.options)
            named = values if self.named is str else [(self.named(each), each) for each in values]
            return KINDS[self.kind](options=named, value=first, description=self.label)
        low, high = self.ends(now)
        shown = {"readout": self.readout is None, "description": self.label}
        if self.whole:
            return IntSlider(first, int(low), int(high), **shown)
        digits = f".{self._digits}f"
        return FloatSlider(first, min=low, max=high, step=self.step, readout_format=digits, **shown)

    def set(self, control: Widget, now: Settings) -> None:
        """Give the control its value and range, and say why it has no effect."""
        with control.hold_trait_notifications():
            if callable(self.low) or callable(self.high):
                control.min, control.max = self.ends(now)
            control.value = now[self.name]
        if self.off_when is not None:
            why = self.off_when(now)
            control.disabled, control.tooltip = bool(why), why or None
        if self.readout is not None:
            control.description = f"{self.label} {self.readout(now)}"


def settle(
    knobs: Sequence[Knob], given: Mapping[str, Any], kept: Mapping[str, Any] | None = None
) -> Settings:
    """The value of each control: given and checked, or kept as far as its range goes, or its own.

    Raises
    ------
    ValueError
        For a name that no control has, and for a value that its control does not offer.
    """
    names = [knob.name for knob in knobs]
    for name in given:
        check.choice("setting", name, names)
    asked = {name: value for name, value in given.items() if value is not None}
    now: Settings = {**(kept or {}), **asked}
    for knob in sorted(knobs, key=lambda knob: knob.depends):
        if knob.name in asked:
            knob.check(now[knob.name], now)
        elif knob.name not in now:
            now[knob.name] = knob.own(now)
        elif knob.options is None:
            low, high = knob.ends(now)
            now[knob.name] = min(max(now[knob.name], low), high)
    return {name: now[name] for name in names}


def cached(
    function: Callable[[Settings], Answer], *names: str, size: int = 4
) -> Callable[[Settings], Answer]:
    """A function of the settings of these names, which remembers its last answers."""

    @lru_cache(maxsize=size)
    def answer(*values: Any) -> Answer:
        pairs = zip(names, values, strict=True)
        return function({name: value for name, value in pairs if value is not None})

    return lambda now: answer(*map(now.get, names))


def in_minutes(seconds: float) -> str:
    """Seconds as a number of minutes, to name options."""
    return f"{seconds / MINUTE:.4g}"


def needs(why: str, **values: Container[Any]) -> Callable[[Settings], str]:
    """As `Knob.off_when`: why a control has no effect unless others have one of these values."""

    def off(now: Settings) -> str:
        fine = all(now[name] in several for name, several in values.items())
        return "" if fine else why.format(**now)

    return off


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, also arrays, and arrays in lists or in dictionaries."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
