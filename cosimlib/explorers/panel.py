"""The panel of an explorer: controls beside one live figure, a line of text, a log's time.

An explorer gives knobs and one function from their settings to a figure and a line of text. There
is one `LiveFigure` per panel, because each carries Plotly's 5 MB of JavaScript. It is made from a
finished figure and then given only what differs from the figure shown before, so that a browser
redraws little and keeps a reader's zoom. A browser sends the next change of a control once the last
one is answered, and of several changes only the last: ipywidgets does that.
"""

import html
import threading
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import plotly.graph_objects as go
from IPython import get_ipython
from IPython.display import display
from ipywidgets import HTML, GridBox, HBox, Layout, VBox, Widget
from numba.core import event
from traitlets import TraitError

from cosimlib import checks as check
from cosimlib.explorers.knobs import Knob, Settings, is_same, listed, offered, same, settled
from cosimlib.explorers.live import LiveFigure
from cosimlib.explorers.timeline import Timeline
from cosimlib.figures.publishing import CaptionedFigure, caption, captioned, plain

WIDTH = 960
"""Pixels of a figure that is on no page."""

LEAST_WIDTH, LEAST_HEIGHT = 520, 380
"""Pixels below which a figure becomes no smaller; smaller pages scroll."""

BESIDE_FIGURE = 270
"""Pixels of a window that are above and below a figure: menus, a log's time, the line of text."""

COMPILING = "compiling, once: about 8 s"

Draw = Callable[[Settings], tuple[go.Figure, str | Sequence[str]]]


@contextmanager
def tells_compiling(tell: Callable[[str], None]) -> Iterator[None]:
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


@contextmanager
def says_compiling() -> Iterator[None]:
    """In a notebook's cell, show `COMPILING` while Numba compiles something."""
    note = HTML()

    def tell(text: str) -> None:
        in_cell = threading.current_thread() is threading.main_thread()
        if text and in_cell and get_ipython() is not None:
            display(note)
        note.value = text

    with tells_compiling(tell):
        yield
    note.close()


class Panel(VBox):
    """A log's time, under it controls beside a live figure, under these a line of text and notes.

    Parameters
    ----------
    knobs : sequence of Knob
        In the order in which their controls are shown.
    draw : callable
        Takes the settings and returns a figure, with as many traces each time, and the line of
        text: HTML, or facts, which are joined. A `ValueError` is shown in the place of the text.
    notes : callable
        Takes the settings and returns sentences under the text. Why controls are disabled comes
        after them.
    timeline : Timeline, optional
        Whose slider is the control `period`.
    beside : sequence of Widget, optional
        More widgets after the controls, such as a player that moves one of them.
    below : sequence of Widget, optional
        More widgets under the notes.

    Attributes
    ----------
    controls, figure, text
        The widgets, `figure` a `LiveFigure` as wide as the page that shows it.
    notes, curve
        The notes under the text; the curve of a log's use.
    """

    def __init__(
        self,
        knobs: Sequence[Knob],
        draw: Draw,
        *,
        notes: Callable[[Settings], Sequence[str]] = lambda now: (),
        timeline: Timeline | None = None,
        beside: Sequence[Widget] = (),
        below: Sequence[Widget] = (),
    ) -> None:
        self._knobs, first = settled([*(timeline.knobs if timeline else ()), *knobs])
        self._timeline, self._draw, self._sentences = timeline, draw, notes
        self.controls = {knob.name: knob.widget(first) for knob in self._knobs}
        self._waiting = self._adjusting = False
        self._adjust()
        self._drawn_for: Settings = {}
        self._size: dict[str, Any] = {"width": 0, "height": 0}
        self._shown, text = self._drawn()
        self.figure, self.curve = LiveFigure(self._shown), HTML()
        self.text, self.notes = HTML(text), HTML()
        for words in (self.text, self.notes):
            words.add_class("explorer-text")
        self._tell()
        super().__init__([*self._time(), self._body(beside), self.text, self.notes, *below])
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
        """Set several controls by their names, in any order, and draw once.

        Raises
        ------
        ValueError
            For a name that no control has, and for a value that its control does not offer beside
            the others. Then everything is as before.
        """
        for name, value in values.items():
            if name not in self.controls:
                raise ValueError(
                    f"{name}={value!r}: no control of that name; expected {listed(self.controls)}"
                )
            fine = sorted(value) == list(value) if isinstance(value, tuple) else value is not None
            check.that(name, value, fine, offered(self.controls[name]))
        before = self.settings
        with self._without_drawing():
            try:
                self._put(values)
                self._move_others(except_for=values)
                self._put(values)
                for name, value in values.items():
                    control = self.controls[name]
                    check.that(name, value, is_same(control.value, value), offered(control))
            except BaseException:
                self._put(before)
                raise
        self._redraw()

    @contextmanager
    def _without_drawing(self) -> Iterator[None]:
        """Leave the figure as it is while several controls are set."""
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    def _put(self, values: Mapping[str, Any]) -> None:
        """Give controls these values, twice: the first may move what the second can reach.

        A value that a control cannot take leaves it as it is.
        """
        for name, value in [*values.items()] * 2:
            with suppress(TraitError, TypeError, ValueError):
                self.controls[name].value = value

    def _move_others(self, except_for: Container[str] = ()) -> None:
        """Let controls follow those that were set."""
        for knob in self._knobs:
            value = knob.moved(self._drawn_for, self.settings)
            if value is not None and knob.name not in except_for:
                self._put({knob.name: value})

    def _time(self) -> list[Widget]:
        """The curve of a log's use, and the slider under it."""
        if "period" not in self.controls:
            return []
        slider = self.controls["period"]
        slider.layout, slider.description = Layout(width="98%", margin="-4px 0 0 0"), ""
        self.curve.layout = Layout(width="98%", margin="0")
        return [self.curve, slider]

    def _body(self, beside: Sequence[Widget]) -> HBox:
        """Controls, grouped, beside the figure; on narrow pages above it, in several columns."""
        parts: list[Widget] = []
        group = ""
        for knob in self._knobs:
            if knob.name == "period":
                continue
            if knob.group != group:
                group = knob.group
                heading = HTML(f"<b>{html.escape(group)}</b>").add_class("explorer-group")
                heading.layout = Layout(grid_column="1 / -1", height="16px", margin="0 0 0 4px")
                parts.append(heading)
            parts.append(self.controls[knob.name])
            parts[-1].layout.width = "auto"
            parts[-1].style.description_width = "12.5em"
        columns = Layout(
            grid_template_columns="repeat(auto-fit, minmax(min(25em, 100%), 1fr))",
            grid_gap="0 1em", align_content="flex-start", flex="1 1 22em", overflow="hidden",
        )  # fmt: skip
        grid = GridBox([*parts, *beside], layout=columns)
        figure = VBox([self.figure])
        figure.layout = Layout(flex="5 1 540px", min_width="0", overflow="hidden")
        return HBox([grid, figure], layout=Layout(flex_flow="row wrap", overflow="hidden"))

    def _drawn(self) -> tuple[go.Figure, str]:
        """The picture and the text that the controls ask for."""
        self._drawn_for = self.settings
        picture, text = self._draw(self._drawn_for)
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
        reasons = [f"{html.escape(', '.join(names))} (off: {html.escape(why)})"
                   for why, names in off.items()]  # fmt: skip
        sentences = [more, *self._sentences(self._drawn_for), *caption(self._shown)]
        notes = html.escape(" ".join(filter(None, sentences)), quote=False)
        small = f"<small>{'; '.join(reasons)}</small>" if reasons else ""
        self.notes.value = f"{notes} {small}".strip()
        if self._timeline is not None and "period" in self.controls:
            self.curve.value = self._timeline.drawing(self._drawn_for)

    def _adjust(self) -> None:
        """Let sliders go as far as the others allow, and disable controls without effect."""
        if self._adjusting:
            return
        self._adjusting = True
        try:
            for knob in self._knobs:
                knob.update(self.controls[knob.name], self.settings)
        finally:
            self._adjusting = False

    def _redraw(self, change: object = None) -> None:
        """Draw what the controls say, and show what differs."""
        if self._waiting:
            self._adjust()
            return
        try:
            with self._without_drawing():
                self._adjust()
                if change is not None:
                    self._move_others()
            if self._drawn_for == self.settings:
                return
            with tells_compiling(self._tell):
                picture, text = self._drawn()
        except ValueError as error:
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
