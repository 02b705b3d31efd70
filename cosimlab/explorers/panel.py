"""The panel of an explorer: controls beside one live figure, a line of text, a log's time.

An explorer gives knobs and one function from their settings to a figure, a line of text and notes.
There is one `LiveFigure` per panel, because each carries Plotly's 5 MB of JavaScript. It is made
from a finished figure and then given only what differs from the figure shown before, so that a
browser redraws little and keeps a reader's zoom. A browser sends the next change of a control once
the last one is answered, and of several changes only the last: ipywidgets does that.
"""

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import plotly.graph_objects as go
from IPython import display, get_ipython
from ipywidgets import HTML, GridBox, HBox, Layout, VBox, Widget
from numba.core import event

from cosimlab.explorers.knobs import Knob, Settings, same, settle
from cosimlab.explorers.live import LiveFigure
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.publishing import CaptionedFigure, caption, captioned, plain

WIDTH = 960
"""Pixels of a figure that is on no page."""

LEAST_WIDTH, LEAST_HEIGHT = 520, 380
"""Pixels below which a figure becomes no smaller; smaller pages scroll."""

BESIDE_FIGURE = 270
"""Pixels of a window that are above and below a figure: menus, a log's time, the line of text."""

COMPILING = "compiling, once: about 8 s"

Drawn = tuple[go.Figure, str | Sequence[str], Iterable[str]]
"""A figure; the line of text: HTML, or facts, which are joined; and sentences under the text."""
Draw = Callable[[Settings], Drawn]


def _tell_cell(text: str) -> None:
    """Show a line in the output of a notebook's cell, or in its place another."""
    if get_ipython() is not None:
        display.display(display.HTML(text), display_id=COMPILING, update=text != COMPILING)


@contextmanager
def tells_compiling(tell: Callable[[str], None] = _tell_cell) -> Iterator[None]:
    """Call `tell` with `COMPILING` once Numba compiles something, and with "" at the end."""

    class Listener(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                tell(COMPILING)

        def on_end(self, event: Any) -> None:
            pass

    listener = Listener()
    with event.install_listener("numba:compile", listener):
        try:
            yield
        finally:
            if listener.said:
                tell("")


class Panel(VBox):
    """A log's time, under it controls beside a live figure, under these a line of text and notes.

    Parameters
    ----------
    knobs : sequence of Knob
        In the order in which their controls are shown.
    draw : callable
        Takes the settings and returns a figure, with as many traces each time, the line of text,
        and notes. A `ValueError` or `MemoryError` is shown in the place of the text. Why controls
        are disabled comes after the notes.
    given : mapping, optional
        Arguments of the explorer: the first values of controls by name; None: the knob's own.
    timeline : Timeline, optional
        Whose slider is the control `period`.

    Attributes
    ----------
    controls, figure, text
        The widgets, `figure` a `LiveFigure` as wide as the page that shows it.
    grid, notes, curve
        The box of the controls; the notes under the text; the curve of a log's use.

    Raises
    ------
    ValueError
        For an argument that no knob has, or that is out of its range.
    """

    def __init__(
        self,
        knobs: Sequence[Knob],
        draw: Draw,
        given: Mapping[str, Any] | None = None,
        *,
        timeline: Timeline | None = None,
    ) -> None:
        self._knobs = [*(timeline.knobs if timeline else ()), *knobs]
        first = settle(self._knobs, given or {})
        self._timeline, self._draw = timeline, draw
        self.controls = {knob.name: knob.widget(first) for knob in self._knobs}
        self._waiting = False
        self._set(first)
        self._drawn_for: Settings = {}
        self._size: dict[str, Any] = {"width": 0, "height": 0}
        self._shown, text = self._drawn()
        self.figure, self.curve = LiveFigure(self._shown), HTML()
        self.text, self.notes = HTML(text), HTML()
        for words in (self.text, self.notes):
            words.add_class("explorer-text")
        self._tell()
        self.grid = self._controls()
        figure = VBox([self.figure])
        figure.layout = Layout(flex="5 1 540px", min_width="0", overflow="hidden")
        body = HBox([self.grid, figure], layout=Layout(flex_flow="row wrap", overflow="hidden"))
        super().__init__([*self._time(), body, self.text, self.notes])
        for control in self.controls.values():
            control.observe(self._redraw, names="value")
        self.figure.observe(self._fit, names=["page_width", "page_height"])

    def __repr__(self) -> str:
        title = (self._shown.layout.title.text or "").replace("<br>", " ")
        return f"{title} (a live panel: run this cell to see it)"

    @property
    def picture(self) -> CaptionedFigure:
        """A copy of what the figure shows, with its caption, as a figure without a widget."""
        return captioned(self._shown)

    @property
    def settings(self) -> Settings:
        """Value of each control, by its name."""
        return {name: control.value for name, control in self.controls.items()}

    def choose(self, **values: Any) -> None:
        """Set several controls by their names, in any order, and draw once; None: as it is.

        Raises
        ------
        ValueError
            For a name that no control has, and for a value that its control does not offer beside
            the others. Then everything is as before.
        """
        asked = {name: value for name, value in values.items() if value is not None}
        self._set(settle(self._knobs, values, self._kept(self.settings | asked)))
        self._redraw()

    def _kept(self, now: Settings) -> Settings:
        """The settings that stay: where other days are chosen, some controls take their own."""
        same_days = same(now.get("period"), self._drawn_for.get("period"))
        return {
            knob.name: now[knob.name]
            for knob in self._knobs
            if same_days or not callable(knob.value)
        }

    def _set(self, now: Settings) -> None:
        """Give all controls these values and the ranges that go with them, and draw nothing."""
        self._waiting = True
        try:
            for knob in self._knobs:
                knob.set(self.controls[knob.name], now)
        finally:
            self._waiting = False

    def _time(self) -> list[Widget]:
        """The curve of a log's use, and the slider under it."""
        if "period" not in self.controls:
            return []
        slider = self.controls["period"]
        slider.layout, slider.description = Layout(width="98%", margin="-4px 0 0 0"), ""
        slider.readout = False
        self.curve.layout = Layout(width="98%", margin="0")
        return [self.curve, slider]

    def _controls(self) -> GridBox:
        """Controls beside the figure; on narrow pages in several columns."""
        parts = [control for name, control in self.controls.items() if name != "period"]
        for control in parts:
            control.layout.width, control.style.description_width = "auto", "12.5em"
        columns = Layout(
            grid_template_columns="repeat(auto-fit, minmax(min(25em, 100%), 1fr))",
            grid_gap="0 1em",
            align_content="flex-start",
            flex="1 1 22em",
            overflow="hidden",
        )
        return GridBox(parts, layout=columns)

    def _drawn(self) -> tuple[go.Figure, str]:
        """The picture and the text that the controls ask for."""
        self._drawn_for = self.settings
        picture, text, self._sentences = self._draw(self._drawn_for)
        self._own_height = picture.layout.height
        if not isinstance(text, str):
            text = html.escape(" · ".join(filter(None, text)), quote=False)
        return plain(picture.update_layout(self._page_size())), text

    def _page_size(self) -> dict[str, Any]:
        """Pixels that the page has for the figure, which becomes lower than drawn, not higher."""
        width, height = self._size["width"], self._size["height"]
        available = max(height - BESIDE_FIGURE, LEAST_HEIGHT) if height else self._own_height
        is_low = available < 0.85 * self._own_height
        return {
            "width": max(width, LEAST_WIDTH) if width else WIDTH,
            "height": min(self._own_height, available),
            "font": {"size": 11 if is_low else None},
            "title": {"font": {"size": 14 if is_low else None}},
        }

    def _fit(self, change: object = None) -> None:
        """Make the figure as large as the page allows."""
        self._size = {"width": self.figure.page_width, "height": self.figure.page_height}
        self.figure.update_layout(self._page_size())
        self.figure._repr_mimebundle_()
        self._shown.update_layout(self._page_size())

    def _tell(self, more: str = "") -> None:
        """Show notes, the caption, why controls are disabled, and the time shown."""
        off: dict[str, list[str]] = {}
        for control in self.controls.values():
            if control.disabled and control.tooltip:
                off.setdefault(control.tooltip, []).append(control.description)
        reasons = [
            f"{html.escape(', '.join(names))} (off: {html.escape(why)})"
            for why, names in off.items()
        ]
        sentences = [more, *self._sentences, *caption(self._shown)]
        notes = html.escape(" ".join(filter(None, sentences)), quote=False)
        small = f"<small>{'; '.join(reasons)}</small>" if reasons else ""
        self.notes.value = f"{notes} {small}".strip()
        if self._timeline is not None and "period" in self.controls:
            self.curve.value = self._timeline.drawing(self._drawn_for)

    def _redraw(self, change: object = None) -> None:
        """Draw what the controls say, and show what differs."""
        if self._waiting:
            return
        try:
            if change is not None:
                self._set(settle(self._knobs, {}, self._kept(self.settings)))
            if self._drawn_for == self.settings:
                return
            with tells_compiling(self._tell):
                picture, text = self._drawn()
        except (ValueError, MemoryError) as error:
            self.text.value = html.escape(str(error))
            return
        _update(self.figure, self._shown, picture)
        # Updates are messages to the pages that are open. This stores what they led to, which a
        # page that is loaded again asks for.
        self.figure._repr_mimebundle_()
        self._shown = picture
        self.text.value = text
        self._tell()


def _update(figure: go.FigureWidget, before: go.Figure, after: go.Figure) -> None:
    """Give the live figure what differs between two pictures."""
    with figure.batch_update():
        for live, old, new in zip(figure.data, before.data, after.data, strict=True):
            live.update(_difference(old, new), overwrite=True)
        figure.layout.update(_difference(before.layout, after.layout), overwrite=True)


def _difference(before: Any, after: Any) -> dict[str, Any]:
    """The properties of a trace or layout that have another value; None if they are gone."""
    old, new = before.to_plotly_json(), after.to_plotly_json()
    changed = {name: value for name, value in new.items() if not same(old.get(name), value)}
    return dict.fromkeys(old.keys() - new.keys()) | changed
