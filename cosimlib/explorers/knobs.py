"""Knobs of an explorer: a table of settings, each with the widget that changes it."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

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

CHOICES = (Dropdown, SelectionSlider)
KINDS = {"menu": Dropdown, "slider": SelectionSlider, "range": SelectionRangeSlider}

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
        The argument, which `check` refuses or `scale` turns into the control's unit.
    label, unit : str
        What stands beside the control.
    options : iterable, optional
        Values, or pairs of label and value, in a widget of `kind`.
    kind : {"menu", "slider", "range"}
        The widget of options.
    low, high, step : float
        Of a slider of numbers, wider where the first value is beyond it; `low` and `high` may be
        functions of the settings. Of a slider with `log` decades below and above the value.
    whole, log : bool
        Kinds of sliders: whole numbers, powers of ten.
    form : str
        How a slider shows its number.
    readout : callable, optional
        Takes the settings and says what a slider's number means; it stands in the label.
    scale : float
        The control's value per argument, such as 1/60 for minutes of seconds.
    check : callable, optional
        Takes the name and the argument and raises for one out of range.
    off_when : callable, optional
        Takes the settings and says why the control has no effect; "" where it has one.
    group : str, optional
        A heading, which stands above the first of several knobs.
    """

    name: str
    value: Any
    label: str
    unit: str = ""
    options: Iterable[Any] | None = None
    kind: str = "menu"
    low: Bound = 0.0
    high: Bound = 1.0
    step: float = 1.0
    whole: bool = False
    log: bool = False
    form: str = ".0f"
    readout: Callable[[Settings], str] | None = None
    scale: float = 1.0
    check: Callable[[str, Any], None] | None = None
    off_when: Callable[[Settings], str] | None = None
    group: str = ""

    def __post_init__(self) -> None:
        if self.check is not None:
            self.check(self.name, self.value)
        elif self.options is not None and self.kind != "range":
            check.choice(self.name, self.value, [_value_of(each) for each in self.options])
        elif self.whole:
            check.whole(self.name, self.value, self.low if not callable(self.low) else -math.inf)
        elif self.options is None:
            check.number(self.name, self.value)

    @property
    def setting(self) -> Any:
        """What the control is first set to."""
        if self.options is not None:
            return self.value
        return int(self.value) if self.whole else float(self.value * self.scale)

    @property
    def title(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def widget(self, settings: Settings) -> Widget:
        """The control, its range such that the other settings allow."""
        if self.options is not None:
            widget = KINDS[self.kind](
                options=list(self.options), value=self.value, description=self.title
            )
            if self.kind == "range":
                widget.readout = False
            return widget
        low, high = self._ends(settings)
        if self.log:
            middle = math.log10(self.setting)
            return FloatLogSlider(
                self.setting, min=middle - low, max=middle + high, step=self.step,
                readout_format=self.form, description=self.title,
            )  # fmt: skip
        low, high = min(low, self.setting), max(high, self.setting)
        numbers = {"readout": self.readout is None, "description": self.title}
        if self.whole:
            return IntSlider(self.setting, int(low), int(high), **numbers)
        return FloatSlider(
            self.setting, min=low, max=high, step=self.step, readout_format=self.form, **numbers
        )

    def limit(self, control: Widget, settings: Settings) -> None:
        """Give a slider the range that the settings allow."""
        if not self.log and (callable(self.low) or callable(self.high)):
            low, high = self._ends(settings)
            control.max = max(control.max, high)
            control.min, control.max = low, high

    def describe(self, control: Widget, settings: Settings) -> None:
        """Disable a control without effect, and say what its number means."""
        if self.off_when is not None:
            why = self.off_when(settings)
            control.disabled, control.tooltip = bool(why), why or None
        if self.readout is not None:
            control.description = f"{self.label} {self.readout(settings)}"

    def _ends(self, settings: Settings) -> tuple[float, float]:
        """Least and most of a slider, which leave out no first value unless settings say so."""
        low, high = (end(settings) if callable(end) else end for end in (self.low, self.high))
        if not self.log:
            low = low if callable(self.low) else min(low, self.setting)
            high = high if callable(self.high) else max(high, self.setting)
        return low, high


def fits(control: Widget, value: Any) -> bool:
    """Whether a value is one of a control's options, or a number of its kind."""
    if isinstance(control, SelectionRangeSlider):
        options = control._options_values
        pair = isinstance(value, tuple) and len(value) == 2 and set(value) <= set(options)
        return pair and value[0] <= value[1]
    if isinstance(control, CHOICES):
        return any(is_same(each, value) for each in control._options_values)
    return check.is_number(value) and (not isinstance(control, IntSlider) or value % 1 == 0)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal but for rounding, True not being 1."""
    if check.is_number(one) and check.is_number(other):
        return math.isclose(one, other, rel_tol=1e-12)
    return check.is_number(one) == check.is_number(other) and same(one, other)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)


def offered(control: Widget) -> str:
    """What a control can be set to, in words."""
    if isinstance(control, SelectionRangeSlider):
        first, last = control._options_values[0], control._options_values[-1]
        return f"a pair of days from {first!r} to {last!r}, the first not after the second"
    if isinstance(control, CHOICES):
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


def _value_of(option: Any) -> Any:
    """The value of an option, which may be a pair of label and value."""
    return option[1] if isinstance(option, tuple) else option
