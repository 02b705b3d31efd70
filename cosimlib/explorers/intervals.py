"""A button under an explorer's figure that compares policies with intervals, and its table."""

import html
from collections.abc import Callable
from typing import Any

from ipywidgets import HTML, Button, Layout, VBox

from cosimlib.comparison import Comparison
from cosimlib.explorers.knobs import Settings
from cosimlib.explorers.panel import Panel

Ask = Callable[[Settings], tuple[Comparison | None, str]]
"""Takes the settings and returns a comparison, or None and the reason why there is none."""

BUSY = "comparing …"


class IntervalTable(VBox):
    """A button; once it is pressed, a comparison's table and sentences, until a control moves.

    Parameters
    ----------
    ask : function
        Called when the button is pressed.

    Attributes
    ----------
    button, table
        The widgets, `table` an `HTML`.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.button = Button(
            description="compare with intervals", layout=Layout(width="auto"),
            tooltip="all policies on these jobs and on logs drawn anew from them: some seconds",
        )  # fmt: skip
        self.table = HTML()
        super().__init__([self.button, self.table], layout=Layout(align_items="flex-start"))

    def belong_to(self, panel: Panel) -> None:
        """Compare under a panel's settings; remove the table when one of its controls moves."""
        self.button.on_click(lambda button: self._show(panel.settings))
        for control in panel.controls.values():
            control.observe(self._clear, names="value")

    def _show(self, settings: Settings) -> None:
        """Compare, and show what came of it."""
        self.button.disabled, self.table.value = True, BUSY
        try:
            found, why = self._ask(settings)
            self.table.value = _page(found) if found is not None else html.escape(why)
        except (ValueError, AssertionError) as error:
            # Whoever presses a button sees no traceback.
            self.table.value = html.escape(str(error))
        finally:
            self.button.disabled = False

    def _clear(self, change: Any = None) -> None:
        """Remove a table that is of other settings."""
        self.table.value = ""


def _page(found: Comparison) -> str:
    """The table of means, one sentence per policy that is not shown, and the note."""
    means = found.brief().rename_axis(None)
    means.columns = [f"mean {name.replace('_', ' ')}" for name in means]
    sentences = "<br>".join(map(html.escape, found.sentences(against=found.policies[0])))
    note = f"<small>{html.escape(found.note)}</small>"
    return f"{means.to_html(justify='left')}<p>{sentences}</p>{note}"
