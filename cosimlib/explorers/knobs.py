"""Knobs of an explorer: a table of settings, each with the widget that changes it."""

import math
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from ipywidgets import (
    Dropdown,
    FloatLogSlider,
    FloatSlider,
    IntSlider,
    SelectionRangeSlider,
    SelectionSlider,
    Widget,
)

from cosimlib import checks as check

MANY = 16
"""Options up to which an error lists them all."""

KINDS = {"menu": Dropdown, "slider": SelectionSlider, "range": SelectionRangeSlider}

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
        Of the control, and of the argument that sets it.
    value : object
        The argument, which is checked, and times `scale` is what the control first shows; None
        where `default` tells it.
    label, unit : str
        What stands beside the control.
    options : iterable, optional
        Values in a widget of `kind`. A slider has also a first value that is a number.
    named : callable, default str
        Takes an option and returns its name.
    kind : {"menu", "slider", "range"}
        The widget of options.
    low, high, step : float
        Of a slider of numbers, wider where the first value is beyond `high`; `low` and `high` may
        be functions of the settings. Of a slider with `log` decades below and above the value.
    most : float
        The largest first value, as an argument; the least is `low`.
    whole, log : bool
        Kinds of sliders: whole numbers, powers of ten.
    form : str
        How a slider shows its number.
    readout : callable, optional
        Takes the settings and says what a slider's number means; it stands in the label.
    scale : float
        The control's value per argument, such as 1/60 for minutes of seconds.
    default : callable, optional
        Takes the settings of the knobs before and returns the first value where none is
        given, of a knob without `scale`. The control takes it again when other days are chosen.
    check : callable, optional
        Takes the name and the argument and raises for one out of range, in the place of `low` and
        `most`.
    off_when : callable, optional
        Takes the settings and says why the control has no effect; "" if it has one.
    follows : callable, optional
        Takes the settings before another control moved and those of now, and returns the value that
        the control must take then; None: it stays. By default it stays while the days do.
    group : str, optional
        A heading, which stands above the first of several knobs.
    """

    name: str
    value: Any
    label: str
    unit: str = ""
    options: Iterable[Any] | None = None
    named: Callable[[Any], str] = str
    kind: str = "menu"
    low: Bound = 0.0
    high: Bound = 1.0
    step: float = 1.0
    most: float = math.inf
    whole: bool = False
    log: bool = False
    form: str = ".0f"
    readout: Callable[[Settings], str] | None = None
    scale: float = 1.0
    default: Callable[[Settings], Any] | None = None
    check: Callable[[str, Any], None] | None = None
    off_when: Callable[[Settings], str] | None = None
    follows: Callable[[Settings, Settings], Any] | None = None
    group: str = ""

    def __post_init__(self) -> None:
        least = -math.inf if self.log or callable(self.low) else self.low / self.scale
        if self.kind == "range" or (self.value is None and self.default is not None):
            return
        if self.check is not None:
            self.check(self.name, self.value)
        elif self.options is not None:
            check.choice(self.name, self.value, self.options)
        elif self.whole:
            check.whole(self.name, self.value, least)
        else:
            above = 0.0 if self.log else -math.inf
            check.number(self.name, self.value, least=least, most=self.most, above=above)

    def moved(self, before: Settings, now: Settings) -> Any:
        """What the control must take when another one moved; None: it stays."""
        if self.follows is not None:
            return self.follows(before, now)
        other_days = before.get("period") != now.get("period")
        return self.default(now) if self.default is not None and other_days else None

    @property
    def setting(self) -> Any:
        """What the control is first set to."""
        if self.options is not None:
            return self.value
        return int(self.value) if self.whole else float(self.value * self.scale)

    @property
    def choices(self) -> list[Any]:
        """The options, with their names where they have some."""
        values = list(self.options or ())
        if self.kind == "slider" and self.value not in values:
            words = [each for each in values if not check.is_number(each)]
            values = [*words, *sorted({*values, self.value} - {*words})]
        return values if self.named is str else [(self.named(value), value) for value in values]

    def widget(self, settings: Settings) -> Widget:
        """The control, its range such that the other settings allow."""
        title = f"{self.label} ({self.unit})" if self.unit else self.label
        if self.options is not None:
            widget = KINDS[self.kind](options=self.choices, value=self.value, description=title)
            if self.kind == "range":
                widget.readout = False
            return widget
        low, high = self._ends(settings)
        readout = {"readout": self.readout is None, "description": title}
        if self.whole:
            return IntSlider(self.setting, int(low), int(high), **readout)
        kind = FloatLogSlider if self.log else FloatSlider
        return kind(
            self.setting, min=low, max=high, step=self.step, readout_format=self.form, **readout
        )

    def update(self, control: Widget, settings: Settings) -> None:
        """Give a slider the range that the settings allow, and say why a control has no effect."""
        if callable(self.low) or callable(self.high):
            low, high = self._ends(settings)
            control.max = max(control.max, high)
            control.min, control.max = low, high
        if self.off_when is not None:
            why = self.off_when(settings)
            control.disabled, control.tooltip = bool(why), why or None
        if self.readout is not None:
            control.description = f"{self.label} {self.readout(settings)}"

    def _ends(self, settings: Settings) -> tuple[float, float]:
        """Least and most of a slider, which leave out no first value unless settings say so."""
        low, high = (end(settings) if callable(end) else end for end in (self.low, self.high))
        if self.log:
            middle = math.log10(self.setting)
            return middle - low, middle + high
        return low, high if callable(self.high) else max(high, self.setting)


def cached(
    function: Callable[[Settings], Answer], *names: str, size: int = 4
) -> Callable[[Settings], Answer]:
    """A function of the settings of these names, which remembers its last answers."""

    @lru_cache(maxsize=size)
    def answer(*values: Any) -> Answer:
        pairs = zip(names, values, strict=True)
        return function({name: value for name, value in pairs if value is not None})

    return lambda now: answer(*map(now.get, names))


def settled(knobs: Iterable[Knob]) -> tuple[list[Knob], Settings]:
    """Knobs that all have first values, and these by their names."""
    known: list[Knob] = []
    first: Settings = {}
    for knob in knobs:
        if knob.value is None and knob.default is not None:
            knob = replace(knob, value=knob.default(first))
        known.append(knob)
        first[knob.name] = knob.setting
    return known, first


def needs(why: str, **values: Container[Any]) -> Callable[[Settings], str]:
    """As `Knob.off_when`: why a control has no effect unless others have one of these values."""

    def off(now: Settings) -> str:
        fine = all(now[name] in several for name, several in values.items())
        return "" if fine else why.format(**now)

    return off


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal but for rounding, True not being 1."""
    if check.is_number(one) and check.is_number(other):
        return math.isclose(one, other, rel_tol=1e-12)
    return check.is_number(one) == check.is_number(other) and same(one, other)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, also arrays, and arrays in lists or in dictionaries."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def offered(control: Widget) -> str:
    """What a control can be set to, in words."""
    if isinstance(control, SelectionRangeSlider):
        first, last = control._options_values[0], control._options_values[-1]
        return f"a pair of days from {first!r} to {last!r}, the first not after the second"
    if hasattr(control, "_options_values"):
        return listed([repr(each) for each in control._options_values])
    ends = control.min, control.max
    if isinstance(control, FloatLogSlider):
        ends = control.base**control.min, control.base**control.max
    kind = "whole number" if isinstance(control, IntSlider) else "number"
    return f"a {kind} from {ends[0]:.10g} to {ends[1]:.10g}"


def listed(names: Iterable[str]) -> str:
    """Several in a row, of very many the first and the last."""
    several = list(names)
    shown = several if len(several) <= MANY else [*several[:3], "...", several[-1]]
    return f"one of {', '.join(shown)}"
