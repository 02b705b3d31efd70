"""What every explorer looks like: controls, one live figure, one line of text.

There is one `FigureWidget` a panel, because each carries Plotly's 5 MB of JavaScript. It is made
from a finished figure and then given only what differs from the figure shown before, so that a
browser redraws little and keeps a reader's zoom.
"""

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import plotly.graph_objects as go
from ipywidgets import HTML, GridBox, Layout, VBox, Widget

from cosimlib.system import System
from cosimlib.workload import Workload

WIDTH = 960
"""Pixels of a figure that has no width: a live one cannot tell how much room it gets."""

Draw = Callable[..., tuple[go.Figure, str]]


class Panel(VBox):
    """Controls in two columns, under them a live figure and a line of text.

    Parameters
    ----------
    controls : mapping of str to Widget
        Every control by its name.
    draw : callable
        Takes the controls' values by their names and returns a figure, with as many traces each
        time, and the line of text.
    hint : str, optional
        A line under the controls, such as why some of them are disabled.
    beside : sequence of Widget, optional
        More widgets after the controls, such as a player that moves one of them.

    Attributes
    ----------
    controls, figure, text
        The widgets, `figure` a `go.FigureWidget`.
    """

    def __init__(
        self,
        controls: Mapping[str, Widget],
        draw: Draw,
        *,
        hint: str = "",
        beside: Sequence[Widget] = (),
    ) -> None:
        self.controls = dict(controls)
        self._beside = tuple(beside)
        self._draw = draw
        self._waiting = False
        self._shown, text = self._drawn()
        self.figure = go.FigureWidget(self._shown)
        self.text = HTML(text)
        super().__init__([self._grid(), *([HTML(hint)] if hint else []), self.figure, self.text])
        for control in self.controls.values():
            control.observe(self._redraw, names="value")

    def __repr__(self) -> str:
        return f"{self._shown.layout.title.text} (a live panel: run this cell to see it)"

    @property
    def picture(self) -> go.Figure:
        """A copy of what the figure shows, as a figure without a widget."""
        return go.Figure(self._shown)

    @property
    def settings(self) -> dict[str, Any]:
        """What each control is set to."""
        return {name: control.value for name, control in self.controls.items()}

    def choose(self, **values: Any) -> None:
        """Set several controls by their names, and draw once."""
        self._waiting = True
        try:
            for name, value in values.items():
                self.controls[name].value = value
        finally:
            self._waiting = False
        self._redraw()

    def _grid(self) -> GridBox:
        """The controls in two columns, their names aligned."""
        for control in self.controls.values():
            control.layout.width = "auto"
            control.style.description_width = "12em"
        columns = Layout(grid_template_columns="1fr 1fr", grid_gap="0 1.5em", width="98%")
        return GridBox((*self.controls.values(), *self._beside), layout=columns)

    def _drawn(self) -> tuple[go.Figure, str]:
        """The picture and the text that the controls ask for."""
        picture, text = self._draw(**self.settings)
        return picture.update_layout(width=picture.layout.width or WIDTH), text

    def _redraw(self, change: object = None) -> None:
        """Draw what the controls say, and show what differs."""
        if self._waiting:
            return
        picture, text = self._drawn()
        _update(self.figure, self._shown, picture)
        # Updates are messages to the pages that are open. This stores what they led to, which a
        # page that is loaded again asks for.
        self.figure._repr_mimebundle_()
        self._shown = picture
        self.text.value = text


def beginning(source: Workload, system: System | None, jobs: int) -> tuple[Workload, System]:
    """The first jobs of a workload, and its system."""
    if not isinstance(source, Workload):
        raise TypeError(f"source is of type {type(source).__name__}; expected a Workload")
    if not len(source):
        raise ValueError(f"{source.name}: no jobs; expected at least one")
    system = system or source.machine
    if system is None:
        raise ValueError(f"{source.name}: its machine is unknown; give a system")
    return source.keep(np.arange(len(source)) < jobs, f"after the first {jobs}"), system


def is_number(value: object) -> bool:
    """Whether `value` is a real number, truth values aside."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_whole(name: str, value: Any, least: int, expected: str = "") -> None:
    """Raise where the argument of that name is not a whole number from `least`."""
    if not is_number(value) or value < least or value % 1:
        raise ValueError(f"{name}={value!r}; expected a whole number {expected or f'from {least}'}")


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
