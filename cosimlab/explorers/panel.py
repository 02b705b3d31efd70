"""The panel of an explorer: controls beside one live figure, a line of text, a log's time.

An explorer gives knobs and one function from their settings to a figure, a line of text and notes.
There is one `LiveFigure` per panel, because each carries Plotly's 5 MB of JavaScript. It is made
from a finished figure and then given only what differs from the figure shown before, so that a
browser redraws little and keeps a reader's zoom. A browser sends the next change of a control once
the last one is answered, and of several changes only the last: ipywidgets does that.

Three buttons keep an answer. *Pin* shows it beside the answers that follow, with the differences.
*Copy as Python* shows the cell that makes it anew. *Download* saves its table as CSV.
"""

import html
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, ParamSpec

import plotly.graph_objects as go
from IPython import display, get_ipython
from ipywidgets import HTML, Button, GridBox, HBox, Layout, Textarea, VBox, Widget

from cosimlab import compiling
from cosimlab.explorers.answer import Answer, Pin, comparison
from cosimlab.explorers.cell import Call
from cosimlab.explorers.knobs import Knob, Settings, same, settle
from cosimlab.explorers.live import LiveFigure, PinnedFigure
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.publishing import CaptionedFigure, caption, captioned, plain

WIDTH = 960
"""Pixels of a figure that is on no page."""

LEAST = (520, 380)
"""Width and height in pixels below which a figure becomes no smaller; smaller pages scroll."""

BESIDE_FIGURE = 270
"""Pixels of a window that are above and below a figure: menus, a log's time, the line of text."""

COMPILING = "compiling, once: about 8 s"

MOST_CELLS = 5_000_000
"""Rows times columns of a table that a browser is sent as CSV, some 50 MB."""

LEFT = "1 1 29em"
"""How the column of the controls shares a page's width with the figure."""
WRAPPED = {"flex_flow": "row wrap", "overflow": "hidden"}

LONGEST = 120
"""Characters of a file's name."""

PIN, UNPIN = "pin", "unpin"
COPY, HIDE = "copy as Python", "hide Python"
DOWNLOAD = "download CSV"

Draw = Callable[[Settings], Answer]
P = ParamSpec("P")


def _tell_cell(text: str) -> None:
    """Show a line in the output of a notebook's cell, or in its place another."""
    if get_ipython() is not None:
        display.display(display.HTML(text), display_id=COMPILING, update=text != COMPILING)


def tells_compiling(
    tell: Callable[[str], None] = _tell_cell,
) -> AbstractContextManager[None]:
    """Call `tell` with `COMPILING` once Numba compiles something, and with "" at the end."""
    return compiling.tells_compiling(lambda: tell(COMPILING), lambda: tell(""))


def explorer(make: Callable[P, "Panel"]) -> Callable[P, "Panel"]:
    """The function that makes a panel; it tells of compiling, and the panel knows its call."""
    signature = inspect.signature(make)

    @wraps(make)
    def explore(*given: P.args, **named: P.kwargs) -> "Panel":
        with tells_compiling():
            panel = make(*given, **named)
        panel.call = Call.of(signature.bind(*given, **named), make.__name__)
        return panel

    return explore


class Panel(VBox):
    """A log's time, under it controls beside a live figure, under these text, buttons and notes.

    Parameters
    ----------
    knobs : sequence of Knob
        In the order in which their controls are shown.
    draw : callable
        Takes the settings and returns an `Answer`, whose figure has as many traces each time. A
        `ValueError` or `MemoryError` is shown in the place of the text. Why controls are disabled
        comes after the notes.
    given : mapping, optional
        Arguments of the explorer: the first values of controls by name; None: the knob's own.
    timeline : Timeline, optional
        Whose slider is the control `period`.
    least : tuple of int
        Width and height in pixels below which the figure becomes no smaller. Where a page has not
        that width beside the controls, the figure is under them.

    Attributes
    ----------
    controls, figure, text
        The widgets, `figure` a `LiveFigure` as wide as the page that shows it.
    grid, notes, curve
        The box of the controls; the notes under the text; the curve of a log's use.
    answer
        The `Answer` that is shown.
    call
        The `Call` that made the panel, which the cell of Python repeats.
    pinned
        The `Pin` that is shown beside the answer; None if there is none.
    buttons
        "pin", "copy as Python" and "download CSV".

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
        least: tuple[int, int] = LEAST,
    ) -> None:
        self._knobs = [*(timeline.knobs if timeline else ()), *knobs]
        first = settle(self._knobs, given or {})
        self._timeline, self._draw, self._least = timeline, draw, least
        self.call = Call("explore")
        self.pinned: Pin | None = None
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
        self._left = VBox([self.grid], layout=Layout(flex=LEFT, overflow="hidden"))
        body = HBox([self._left, self._in_box(self.figure)], layout=Layout(**WRAPPED))
        self._make_buttons()
        under = [self.text, self._row, self._cell, self.notes, self._below]
        super().__init__([*self._time(), body, *under])
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
            control.layout.width, control.style.description_width = "auto", "12em"
        columns = Layout(
            grid_template_columns="repeat(auto-fit, minmax(min(25em, 100%), 1fr))",
            grid_gap="0 1em",
            align_content="flex-start",
            overflow="hidden",
        )
        return GridBox(parts, layout=columns)

    def _drawn(self) -> tuple[go.Figure, str]:
        """The picture and the text that the controls ask for."""
        self._drawn_for = self.settings
        self.answer = self._draw(self._drawn_for)
        picture, text = self.answer.figure, self.answer.text
        self._own_height = picture.layout.height
        if not isinstance(text, str):
            text = html.escape(" · ".join(filter(None, text)), quote=False)
        return plain(picture.update_layout(self._page_size())), text

    def _page_size(self) -> dict[str, Any]:
        """Pixels that the page has for the figure, which becomes lower than drawn, not higher."""
        width, height = self._size["width"], self._size["height"]
        least_width, least_height = self._least
        available = max(height - BESIDE_FIGURE, least_height) if height else self._own_height
        is_low = available < 0.85 * self._own_height
        return {
            "width": max(width, least_width) if width else WIDTH,
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
                off.setdefault(control.tooltip, []).append(f'"{control.description}"')
        reasons = [
            html.escape(f"No effect of {' and '.join(names)}: {why}.", quote=False)
            for why, names in off.items()
        ]
        sentences = [more, *self.answer.notes, *caption(self._shown)]
        notes = html.escape(" ".join(filter(None, sentences)), quote=False)
        small = f"<small>{' '.join(reasons)}</small>" if reasons else ""
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
        self._compare()
        self._show_cell(False)

    def _make_buttons(self) -> None:
        """The row of buttons, and what they show: a comparison, a pinned answer, a cell."""
        small = Layout(width="auto", height="24px", margin="0 4px 0 2px")
        handlers = {PIN: self._toggle_pin, COPY: self._toggle_cell, DOWNLOAD: self.download}
        self.buttons = [
            Button(description=each, layout=small, style={"font_size": "12px"}) for each in handlers
        ]
        for button, handler in zip(self.buttons, handlers.values(), strict=True):
            button.on_click(lambda _, handler=handler: handler())
        self._said = HTML()
        self._row = HBox([*self.buttons, self._said], layout=Layout(align_items="center"))
        self._comparison, self._below, self._cell = HTML(), VBox(), VBox()
        self._code = Textarea(layout=Layout(width="98%"))
        self._code_class = f"cell-of-{self.figure.model_id}"
        self._code.add_class(self._code_class)

    def _in_box(self, figure: LiveFigure) -> VBox:
        """A figure in the column beside the controls."""
        layout = Layout(flex=f"5 1 {self._least[0]}px", min_width="0", overflow="hidden")
        return VBox([figure], layout=layout)

    def words(self) -> dict[str, str]:
        """The settings that have an effect, and the data, in words by the controls' labels."""
        now = self.settings
        data = {} if self._timeline is None else {"data": self._timeline.log.workload.name}
        return data | {
            knob.label: knob.worded(now)
            for knob in self._knobs
            if not self.controls[knob.name].disabled
        }

    def asked(self) -> Settings:
        """The settings that a call of the explorer needs to give the answer shown."""
        now = self.settings
        # The days chosen at first may depend on the moment that a call asks for.
        needed = dict(now)
        for name in sorted(now, key="period".__eq__):
            if name == "period" and "at" in needed:
                break
            fewer = {each: value for each, value in needed.items() if each != name}
            settled = settle(self._knobs, fewer)
            if all(knob.alike(settled[knob.name], now[knob.name]) for knob in self._knobs):
                needed = fewer
        return needed

    def _toggle_pin(self) -> None:
        """Pin the answer shown, or take away that pinned."""
        if self.pinned is not None:
            self.pin(None)
            return
        figure = go.Figure(self._shown)
        self.pin(Pin(figure, self.text.value, dict(self.answer.numbers), self.words()))

    def pin(self, answer: Pin | None) -> None:
        """Show an answer beside this one, such as that of another panel; None: show none."""
        before, self._below.children = self._below.children, ()
        for widget in before:
            _close(widget)
        self.pinned = answer
        self.buttons[0].description = PIN if answer is None else UNPIN
        if answer is not None:
            figure = PinnedFigure(answer.figure)
            figure.observe(self._fit_pinned, names="page_width")
            layout = Layout(flex=LEFT, min_width="0", overflow="auto")
            words = HTML(f"<b>Pinned</b><br>{answer.text}", layout=layout)
            words.add_class("explorer-text")
            parts = [words, self._in_box(figure)]
            self._below.children = [HBox(parts, layout=Layout(**WRAPPED))]
        self._compare()

    def _fit_pinned(self, change: Any) -> None:
        """Make the pinned figure as wide as the page allows."""
        change["owner"].update_layout(width=max(change["new"], self._least[0]))

    def _compare(self) -> None:
        """Show how the answer differs from the one pinned, under the controls."""
        if self.pinned is None:
            self._left.children = [self.grid]
            return
        self._comparison.value = comparison(self.pinned, self.answer.numbers, self.words())
        self._left.children = [self.grid, self._comparison]

    def cell(self) -> str:
        """The cell of Python that makes the answer shown."""
        return self.call.cell(self.asked())

    def _toggle_cell(self) -> None:
        """Show the cell of Python, and copy it; or hide it."""
        self._show_cell(not self._cell.children)

    def _show_cell(self, shown: bool) -> None:
        """Show the cell of Python, and copy it; or hide it, such as that of an earlier answer."""
        self.buttons[1].description = HIDE if shown else COPY
        self._cell.children = [self._code] if shown else []
        self._said.value = ""
        if shown:
            self._code.value = self.cell()
            self._code.rows = self._code.value.count("\n") + 1
            self.figure.copy(self._code.value, self._code_class)

    def download(self) -> None:
        """Let the browser save the table behind the answer as CSV."""
        table = self.answer.table()
        if table.size > MOST_CELLS:
            self._said.value = (
                f"The table has {len(table):,} rows, too many for a download. In Python, "
                "panel.answer.table() gives it."
            )
            return
        name = self._file_name()
        self.figure.download(name, table.to_csv(index=False))
        self._said.value = f"{html.escape(name)}: {len(table):,} rows"

    def _file_name(self) -> str:
        """Name of the table's file, after the explorer and the settings that a call needs."""
        parts = [self.call.name.removeprefix("explore_")]
        parts += [f"{name}={_brief(value)}" for name, value in self.asked().items()]
        return f"{re.sub(r'[^A-Za-z0-9=._+-]+', '_', '-'.join(parts))[:LONGEST]}.csv"


def _close(widget: Widget) -> None:
    """Remove a widget and those in it from the pages that show them."""
    for child in getattr(widget, "children", ()):
        _close(child)
    widget.close()


def _brief(value: Any) -> str:
    """A setting in a file's name."""
    if isinstance(value, tuple):
        return "-".join(map(_brief, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


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
