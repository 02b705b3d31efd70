"""A live figure whose code may take its time to load, and which tells how large its page is.

The figure also does for its panel what only a browser can: it saves a table as a file, and copies
text to the clipboard.

anywidget gives a model up that is not ready within two seconds: it says "Failed to initialize
model" and drops whatever the kernel sends from then on, so that a figure stays empty, or as it was.
Plotly's code has 5 MB, and on a busy machine a browser needs longer for it. Here the model is ready
at once, and Plotly is imported once per page, however many figures there are.

Plotly measures the box of a figure when the window's size changes and at no other time: neither
when the figure is put on a page nor when a side bar opens. So the box is measured here.
"""

from functools import cache
from pathlib import Path

import plotly
import plotly.graph_objects as go
from traitlets import Int, Unicode, default

SCRIPT = Path(__file__).with_name("live.js")

STYLE = """
.explorer-text .widget-html-content { line-height: 1.45; }
.explorer-comparison { font-size: 12px; line-height: 17px; margin: 6px 8px; }
.explorer-comparison table { border-collapse: collapse; width: 100%; font-size: 12px; }
.explorer-comparison tr { border-top: 1px solid #ddd; background: none; }
.explorer-comparison :is(th, td) { padding: 0 0 0 8px; text-align: right; white-space: nowrap;
  line-height: 17px; font-variant-numeric: tabular-nums; }
.explorer-comparison td:first-child { padding: 0; text-align: left; white-space: normal; }
"""
"""Lines of text are as close as in a notebook's prose; numbers are in columns."""


@cache
def _code() -> str:
    """Plotly for widgets, as a JavaScript module."""
    bundle = Path(plotly.__file__).parent / "package_data" / "widgetbundle.js"
    return bundle.read_text(encoding="utf-8")


class LiveFigure(go.FigureWidget):
    """A `FigureWidget` that busy browsers show, too, and keep up to date."""

    _esm, _css = SCRIPT.read_text(encoding="utf-8"), STYLE
    page_width = Int(0).tag(sync=True)
    """Pixels of the box that the figure is shown in; 0 where no page shows it."""
    page_height = Int(0).tag(sync=True)
    """Pixels of the window, in JupyterLab of a window with as much room; 0: no page shows it."""
    _plotly_version = Unicode(plotly.__version__).tag(sync=True)
    _plotly_code = Unicode().tag(sync=True)

    @default("_plotly_code")
    def _load_code(self) -> str:
        return _code()

    def download(self, name: str, text: str) -> None:
        """Let the browser save a text as a file of this name."""
        self.send({"download": text, "name": name})

    def copy(self, text: str, shown: str) -> None:
        """Let the browser copy a text, and select it in the text area of the CSS class `shown`."""
        self.send({"copy": text, "shown": shown})


class PinnedFigure(LiveFigure):
    """A figure beside a live one on the same page, whose Plotly it uses."""

    @default("_plotly_code")
    def _load_code(self) -> str:
        return ""
