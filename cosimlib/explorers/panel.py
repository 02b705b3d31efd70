"""The panel of an explorer: controls, one live figure, one line of text.

There is one `LiveFigure` per panel, because each carries Plotly's 5 MB of JavaScript. It is made
from a finished figure and then given only what differs from the figure shown before, so that a
browser redraws little and keeps a reader's zoom.
"""

import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from IPython import get_ipython
from IPython.display import display
from ipywidgets import (
    HTML,
    Dropdown,
    FloatLogSlider,
    FloatSlider,
    GridBox,
    IntSlider,
    Layout,
    SelectionSlider,
    VBox,
    Widget,
)

from cosimlib import checks as check
from cosimlib.compiled import is_compiled
from cosimlib.explorers.live import LiveFigure
from cosimlib.explorers.meanwhile import told, when_compiled
from cosimlib.explorers.width_observer import WidthObserver
from cosimlib.figures.markup import plain

WIDTH = 960
"""Pixels of a figure that is on no page."""

LEAST_WIDTH = 520
"""Pixels below which a figure grows no narrower; narrower pages scroll."""

NARROW = "27em"
"""A control's least width: pages that have no room for two beside each other have one column."""

MANY = 16
"""Options up to which an error lists them all."""

CHOICES = (Dropdown, SelectionSlider)

Draw = Callable[..., tuple[go.Figure, str]]
Settings = dict[str, Any]
"""Value of each control, by its name."""


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
        Values, or pairs of label and value: a menu, or with `slider` a slider.
    low, high, step : float
        Of a slider of numbers, wider where the value is beyond it; `high` may be a function of the
        settings. Of a slider with `log` decades below and above the value.
    whole, log, slider : bool
        Kinds of sliders: whole numbers, powers of ten, options.
    form : str
        How a slider shows its number.
    scale : float
        The control's value per argument, such as 1/60 for minutes of seconds.
    check : callable, optional
        Takes the name and the argument and raises for one out of range.
    off_when : callable, optional
        Takes the settings and says why the control has no effect; "" where it has one.
    """

    name: str
    value: Any
    label: str
    unit: str = ""
    options: Iterable[Any] | None = None
    low: float = 0.0
    high: float | Callable[[Settings], float] = 1.0
    step: float = 1.0
    whole: bool = False
    log: bool = False
    slider: bool = False
    form: str = ".0f"
    scale: float = 1.0
    check: Callable[[str, Any], None] | None = None
    off_when: Callable[[Settings], str] | None = None

    def __post_init__(self) -> None:
        if self.check is not None:
            self.check(self.name, self.value)
        elif self.options is not None:
            check.choice(self.name, self.value, [_value_of(each) for each in self.options])
        elif self.whole:
            check.whole(self.name, self.value, self.low)
        else:
            check.number(self.name, self.value)

    @property
    def setting(self) -> Any:
        """What the control is first set to."""
        if self.options is not None:
            return self.value
        return int(self.value) if self.whole else float(self.value * self.scale)

    def widget(self, settings: Settings) -> Widget:
        """The control, its range such that the other settings allow."""
        label = f"{self.label} ({self.unit})" if self.unit else self.label
        if self.options is not None:
            kind = SelectionSlider if self.slider else Dropdown
            return kind(options=list(self.options), value=self.setting, description=label)
        if self.log:
            middle = math.log10(self.setting)
            low, high = middle - self.low, middle + self.most(settings)
            return FloatLogSlider(
                self.setting, min=low, max=high, step=self.step, readout_format=self.form,
                description=label,
            )  # fmt: skip
        low, high = min(self.low, self.setting), max(self.most(settings), self.setting)
        if self.whole:
            return IntSlider(self.setting, int(low), int(high), description=label)
        return FloatSlider(
            self.setting, min=low, max=high, step=self.step, readout_format=self.form,
            description=label,
        )  # fmt: skip

    def most(self, settings: Settings) -> float:
        """The slider's end."""
        return self.high(settings) if callable(self.high) else self.high


def first_settings(knobs: Iterable[Knob]) -> Settings:
    """What the controls of knobs are first set to."""
    return {knob.name: knob.setting for knob in knobs}


@contextmanager
def says_compiling(part: str) -> Iterator[None]:
    """Say in a notebook that a part is compiled, until it is."""
    note = HTML("compiling, once: about 8 s")
    if get_ipython() is not None and not is_compiled(part):
        display(note)
    try:
        yield
    finally:
        note.close()


class Panel(VBox):
    """Controls in columns as wide as the page, under them a live figure and a line of text.

    Parameters
    ----------
    controls : sequence of Knob, or mapping of str to Widget
        Every control, in the order in which they are shown.
    draw : callable
        Takes the controls' values by their names and returns a figure, with as many traces each
        time, and the line of text.
    hint : str, optional
        A line under the controls; why some of them are disabled follows it (`disable`).
    beside : sequence of Widget, optional
        More widgets after the controls, such as a player that moves one of them.
    below : sequence of Widget, optional
        More widgets under the line of text.

    Attributes
    ----------
    controls, figure, text
        The widgets, `figure` a `LiveFigure` as wide as the page that shows it.
    told, ruler
        The line under the controls; what measures the page.
    """

    def __init__(
        self,
        controls: Sequence[Knob] | Mapping[str, Widget],
        draw: Draw,
        *,
        hint: str = "",
        beside: Sequence[Widget] = (),
        below: Sequence[Widget] = (),
    ) -> None:
        self._knobs = () if isinstance(controls, Mapping) else tuple(controls)
        first = first_settings(self._knobs)
        made = {knob.name: knob.widget(first) for knob in self._knobs}
        self.controls = dict(controls) if isinstance(controls, Mapping) else made
        self._follow()
        self._beside = tuple(beside)
        self._draw = draw
        self._waiting = False
        self._drawn_for: dict[str, Any] = {}
        self._hint = hint
        self.ruler = WidthObserver()
        self._shown, text = self._drawn()
        self.figure = LiveFigure(self._shown)
        self.text, self.told = HTML(text), HTML(self._reasons())
        parts = [self._grid(), self.told, self.ruler, self.figure, self.text, *below]
        super().__init__(parts)
        for control in self.controls.values():
            control.observe(self._redraw, names="value")
        self.ruler.observe(self._fit, names="width")
        if told():
            when_compiled(self._tell)

    def __repr__(self) -> str:
        title = (self._shown.layout.title.text or "").replace("<br>", " ")
        return f"{title} (a live panel: run this cell to see it)"

    @property
    def picture(self) -> go.Figure:
        """A copy of what the figure shows, as a figure without a widget."""
        return go.Figure(self._shown)

    @property
    def settings(self) -> dict[str, Any]:
        """Value of each control, by its name."""
        return {name: control.value for name, control in self.controls.items()}

    def choose(self, **values: Any) -> None:
        """Set several controls by their names, in any order, and draw once.

        Raises
        ------
        ValueError
            For a name that no control has, and for a value that its control does not offer beside
            the others. Then everything is as before.
        """
        for name, value in values.items():
            self._check(name, value)
        before = self.settings
        self._waiting = True
        try:
            self._set(values)
        except BaseException:
            self._put(before)
            raise
        finally:
            self._waiting = False
        self._redraw()

    def _check(self, name: str, value: Any) -> None:
        """Raise for what no control takes, however the others are set."""
        if name not in self.controls:
            raise ValueError(
                f"{name}={value!r}: no control of that name; expected {_listed(self.controls)}"
            )
        control = self.controls[name]
        check.that(name, value, _fits(control, value), _offered(control))

    def _set(self, values: Mapping[str, Any]) -> None:
        """Set controls, and raise for a value beyond the ends that a slider then has."""
        self._put(values)
        for name, value in values.items():
            control = self.controls[name]
            check.that(name, value, _is(control.value, value), _offered(control))

    def _put(self, values: Mapping[str, Any]) -> None:
        """Give controls these values, twice: the first may move what the second can reach."""
        for name, value in [*values.items()] * 2:
            self.controls[name].value = value

    def _grid(self) -> GridBox:
        """The controls in one or more columns, their names aligned."""
        for control in self.controls.values():
            control.layout.width = "auto"
            control.style.description_width = "12em"
        fitting = f"repeat(auto-fit, minmax(min({NARROW}, 100%), 1fr))"
        columns = Layout(grid_template_columns=fitting, grid_gap="0 1.5em", width="98%")
        return GridBox((*self.controls.values(), *self._beside), layout=columns)

    def _drawn(self) -> tuple[go.Figure, str]:
        """The picture and the text that the controls ask for."""
        self._drawn_for = self.settings
        picture, text = self._draw(**self._drawn_for)
        return plain(picture.update_layout(width=self._width)), text

    @property
    def _width(self) -> int:
        """Pixels that the page has for the figure."""
        return max(self.ruler.width, LEAST_WIDTH) if self.ruler.width else WIDTH

    def _fit(self, change: object = None) -> None:
        """Make the figure as wide as the page."""
        if self.figure.layout.width != self._width:
            self.figure.layout.width = self._width
            self.figure._repr_mimebundle_()
            self._shown.update_layout(width=self._width)

    def _reasons(self) -> str:
        """The hint, and why controls are disabled."""
        off: dict[str, list[str]] = {}
        for control in self.controls.values():
            if control.disabled and control.tooltip:
                off.setdefault(control.tooltip, []).append(control.description)
        reasons = [f"{html.escape(', '.join(names))} (off: {html.escape(why)})"
                   for why, names in off.items()]  # fmt: skip
        hint = html.escape(" ".join(filter(None, [self._hint, told()])), quote=False)
        return " ".join([hint, f"<small>{'; '.join(reasons)}</small>" if reasons else ""]).strip()

    def _follow(self) -> None:
        """Disable controls without effect, and let sliders go as far as the others allow."""
        for knob in self._knobs:
            control = self.controls[knob.name]
            if callable(knob.high) and not knob.log:
                control.max = knob.high(self.settings)
            if knob.off_when is not None:
                disable(control, knob.off_when(self.settings))

    def _redraw(self, change: object = None) -> None:
        """Draw what the controls say, and show what differs."""
        self._follow()
        # A control that moves another one reports after it, when all of it is drawn.
        if self._waiting or self._drawn_for == self.settings:
            return
        picture, text = self._drawn()
        _update(self.figure, self._shown, picture)
        # Updates are messages to the pages that are open. This stores what they led to, which a
        # page that is loaded again asks for.
        self.figure._repr_mimebundle_()
        self._shown = picture
        self.text.value = text
        self._tell()

    def _tell(self) -> None:
        """Show what is to be known of the controls now."""
        self.told.value = self._reasons()


def disable(control: Widget, why: str) -> None:
    """Switch a control off that has no effect and say why, or on where there is no reason."""
    control.disabled, control.tooltip = bool(why), why or None


def _value_of(option: Any) -> Any:
    """The value of an option, which may be a pair of label and value."""
    return option[1] if isinstance(option, tuple) else option


def _fits(control: Widget, value: Any) -> bool:
    """Whether a value is one of a control's options, or a number of its kind."""
    if isinstance(control, CHOICES):
        return any(_is(each, value) for each in control._options_values)
    return check.is_number(value) and (not isinstance(control, IntSlider) or value % 1 == 0)


def _is(one: Any, other: Any) -> bool:
    """Whether two values are equal but for rounding, True not being 1."""
    if check.is_number(one) and check.is_number(other):
        return math.isclose(one, other, rel_tol=1e-12)
    return check.is_number(one) == check.is_number(other) and _same(one, other)


def _offered(control: Widget) -> str:
    """What a control can be set to, in words."""
    if isinstance(control, CHOICES):
        return _listed([repr(each) for each in control._options_values])
    ends = control.min, control.max
    if isinstance(control, FloatLogSlider):
        ends = control.base**control.min, control.base**control.max
    kind = "whole number" if isinstance(control, IntSlider) else "number"
    return f"a {kind} from {ends[0]:.10g} to {ends[1]:.10g}"


def _listed(names: Iterable[str]) -> str:
    """Several in a row, of very many the first and the last."""
    several = list(names)
    shown = several if len(several) <= MANY else [*several[:3], "...", several[-1]]
    return f"one of {', '.join(shown)}"


def _update(figure: go.FigureWidget, before: go.Figure, after: go.Figure) -> None:
    """Give the live figure what differs between two pictures."""
    with figure.batch_update():
        for live, old, new in zip(figure.data, before.data, after.data, strict=True):
            live.update(_difference(old, new), overwrite=True)
        figure.layout.update(_difference(before.layout, after.layout), overwrite=True)


def _difference(before: Any, after: Any) -> dict[str, Any]:
    """The properties of a trace or layout that have another value; None where they are gone."""
    old, new = before.to_plotly_json(), after.to_plotly_json()
    changed = {name: value for name, value in new.items() if not _same(old.get(name), value)}
    return dict.fromkeys(old.keys() - new.keys()) | changed


def _same(one: Any, other: Any) -> bool:
    """Whether two properties are equal, arrays included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one == other
