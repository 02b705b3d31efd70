"""Knobs of an explorer: a table of settings, each with the widget that changes it."""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
        Of the control, and of the explorer's argument that sets its first value.
    value : object
        What the control shows first if no argument is given, or a function from the settings to
        it. The control takes the function's value again when other days are chosen.
    label, unit : str
        What stands beside the control.
    options : iterable, optional
        Values in a widget of `kind`.
    named : callable, default str
        Takes an option and returns its name.
    kind : {"menu", "slider", "range"}
        The widget of options.
    free : bool
        Whether another number from 0 to `most` may be the first value of a slider of options.
    low, high, step : float
        Of a slider of numbers, wider where its first value is beyond; `low` and `high` may be
        functions of the settings. Of a slider with `log` decades below and above the first value.
    most : float
        The largest argument where `high` is a number; the least is `low`.
    whole, log : bool
        Kinds of sliders: whole numbers, powers of ten.
    readout : callable, optional
        Takes the settings and says what a slider's number means; it stands in the label.
    scale : float
        The control's value per argument, such as 1/60 for minutes of seconds.
    off_when : callable, optional
        Takes the settings and says why the control has no effect; "" if it has one.
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
    free: bool = False
    low: Bound = 0.0
    high: Bound = 1.0
    step: float = 1.0
    most: float = math.inf
    whole: bool = False
    log: bool = False
    readout: Callable[[Settings], str] | None = None
    scale: float = 1.0
    off_when: Callable[[Settings], str] | None = None
    group: str = ""

    @property
    def depends(self) -> bool:
        """Whether its first value or its range follows from those of others."""
        return any(map(callable, (self.value, self.low, self.high)))

    def first(self, given: Any, now: Settings) -> Any:
        """What the control shows first: the argument, or its own value."""
        if given is None:
            return self.value(now) if callable(self.value) else self.value
        return given * self.scale if self.options is None and not self.whole else given

    def check(self, given: Any, now: Settings) -> None:
        """Raise ValueError for an argument that is out of range."""
        other = self.free and check.is_number(given)
        if self.options is not None and not other:
            return check.choice(self.name, given, self.options)
        low = self.low(now) if callable(self.low) else 0.0 if other else self.low
        most = self.high(now) / self.scale if callable(self.high) else self.most
        if self.whole:
            return check.whole(self.name, given, low, most)
        if self.log:
            return check.number(self.name, given, above=0.0)
        return check.number(self.name, given, least=low / self.scale, most=most)

    def widget(self, now: Settings) -> Widget:
        """The control, its range such that the settings allow."""
        first, title = now[self.name], f"{self.label} ({self.unit})" if self.unit else self.label
        if self.options is not None:
            values = list(self.options)
            if self.free and first not in values:
                words = [each for each in values if not check.is_number(each)]
                values = [*words, *sorted({*values, first} - {*words})]
            named = values if self.named is str else [(self.named(each), each) for each in values]
            return KINDS[self.kind](options=named, value=first, description=title)
        low, high = (end(now) if callable(end) else end for end in (self.low, self.high))
        if self.log:
            middle = math.log10(first)
            ends = {"min": middle - low, "max": middle + high, "step": self.step}
            return FloatLogSlider(first, **ends, readout_format=".3r", description=title)
        shown = {"readout": self.readout is None, "description": title}
        if self.whole:
            return IntSlider(first, int(min(low, first)), int(max(high, first)), **shown)
        digits = max(0, -math.floor(math.log10(self.step)))
        return FloatSlider(first, min=min(low, first), max=max(high, first), step=self.step,
                           readout_format=f".{digits}f", **shown)  # fmt: skip

    def update(self, control: Widget, now: Settings) -> None:
        """Give a slider the range that the settings allow, and say why a control has no effect."""
        if callable(self.low):
            control.min = min(self.low(now), control.max)
        if callable(self.high):
            control.max = max(self.high(now), control.min)
        if self.off_when is not None:
            why = self.off_when(now)
            control.disabled, control.tooltip = bool(why), why or None
        if self.readout is not None:
            control.description = f"{self.label} {self.readout(now)}"

    def restart(self, control: Widget, now: Settings) -> None:
        """Let a control take its own value for other days."""
        value = self.value(now)
        if not callable(self.high):
            control.max = max(control.max, value)
        control.value = value


def first_settings(knobs: Sequence[Knob], given: Mapping[str, Any]) -> Settings:
    """The first value of each control: the arguments given, which are checked, or its own."""
    names = [knob.name for knob in knobs]
    for name in given:
        check.choice("setting", name, names)
    now: Settings = {}
    for knob in sorted(knobs, key=lambda knob: knob.depends):
        value = given.get(knob.name)
        if value is not None:
            knob.check(value, now)
        now[knob.name] = knob.first(value, now)
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


def taken(control: Widget, value: Any) -> bool:
    """Whether a control has a value, but for rounding, True not being 1."""
    if value is None or check.is_number(value) != check.is_number(control.value):
        return False
    if check.is_number(value):
        return math.isclose(control.value, value, rel_tol=1e-12)
    return same(control.value, value)


def offered(control: Widget) -> str:
    """What a control can be set to, in words."""
    if hasattr(control, "_options_values"):
        several = [repr(each) for each in control._options_values]
        shown = several if len(several) <= MANY else [*several[:3], "...", several[-1]]
        pair = "two" if isinstance(control, SelectionRangeSlider) else "one"
        return f"{pair} of {', '.join(shown)}"
    ends = control.min, control.max
    if isinstance(control, FloatLogSlider):
        ends = control.base**control.min, control.base**control.max
    kind = "whole number" if isinstance(control, IntSlider) else "number"
    return f"a {kind} from {ends[0]:.10g} to {ends[1]:.10g}"
