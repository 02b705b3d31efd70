"""Publication of figures: with their captions, and written with their numbers.

A figure is published as `<name>.html` (beside one shared `plotly.min.js`), `<name>.json`,
`<name>.csv`, and `<name>.txt` with its title and caption, for images of it. The same figure gives
the same bytes, so that a changed file is a changed result.

A caption is text beneath a figure, not a part of it: a note, which says what the marks mean, then
the paper and the data.
"""

import html
import operator
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from cosimlib import checks as check
from cosimlib.display import used_data
from cosimlib.files import write_whole

LIBRARY = "plotly.min.js"
FILE_NAME = re.compile(r"\w[\w.-]*")
BREAK = re.compile(r"\s*<br\s*/?>\s*")
MARKUP = re.compile(r"</?(?:a|b|em|i|s|span|strong|sub|sup|u)(?:\s[^<>]*)?>")
NOTE, DATA = "note", "data"
"""Parts of a caption, by their names in a figure's `layout.meta`."""
OURS = ("b", "i", "br", "sub", "sup", "extra")
"""Tags that our figures use: any other one stands in a figure as it was written."""
FOREIGN = re.compile(rf"<(?!/?(?:{'|'.join(OURS)})\s*/?>)(?=[A-Za-z/!?])")


class CaptionedFigure(go.Figure):
    """A figure beneath which a notebook shows its caption."""

    def _ipython_display_(self) -> None:
        """Show the figure, then its caption, as two outputs."""
        from IPython.display import HTML, display

        super()._ipython_display_()
        if caption(self):
            display(HTML(paragraph(self)))


def captioned(figure: go.Figure, note: str = "", data: str = "") -> CaptionedFigure:
    """The figure with a note after those that it has, and the name of its data."""
    meta = dict(figure.layout.meta or {})
    notes = " ".join(filter(None, [meta.get(NOTE, ""), note]))
    parts = {name: part for name, part in ((NOTE, notes), (DATA, data)) if part}
    shown = CaptionedFigure(figure)
    return shown.update_layout(meta=meta | parts) if parts else shown


def caption(figure: go.Figure) -> list[str]:
    """The lines of a figure's caption: its note, and its paper and data."""
    meta = figure.layout.meta or {}
    return [meta[part] for part in (NOTE, DATA) if part in meta]


def paragraph(figure: go.Figure) -> str:
    """A figure's caption as HTML; "" without one."""
    lines = "<br>".join(map(html.escape, caption(figure)))
    style = "max-width: 60em; margin: 0; font-size: 85%; line-height: 1.3; color: #555"
    return f'<p class="caption" style="{style}">{lines}</p>' if lines else ""


def page(figure: go.Figure, **options: Any) -> str:
    """A page with the figure and its caption; `options` are those of Plotly's `to_html`."""
    text: str = figure.to_html(**options)
    head, end, tail = text.rpartition("</body>")
    return f'{head}<div style="font-family: sans-serif">{paragraph(figure)}</div>{end}{tail}'


class Publisher:
    """Gives figures their captions and, where there is a folder, writes them into it.

    Parameters
    ----------
    folder : str, Path or None
        Made where it does not exist. Empty: nothing is written.
    data : str
        What the figures show, such as ``"Theta 2023"`` or ``"synthetic, seed 1"``.
    paper : str, optional
        Whose model or figure they are after, such as ``"Maurya et al. 2020"``.
    used : float, optional
        Share of the log's node-hours that they show, such as `metrics.share_used`; captions say it.
    """

    def __init__(
        self,
        folder: str | Path | None,
        data: str,
        *,
        paper: str = "",
        used: float | None = None,
    ) -> None:
        check.number("used", used, least=0, most=1, kind="a share", none=True)
        self.folder = Path(folder) if folder else None
        self.data = used_data(data, used)
        self.paper = paper

    def publish(
        self, figure: go.Figure, name: str, numbers: pd.DataFrame, *, note: str = ""
    ) -> CaptionedFigure:
        """A copy of the figure with its caption; written if there is a folder.

        Parameters
        ----------
        figure : go.Figure
        name : str
            The files' name: letters, digits, ``.``, ``-`` and ``_``.
        numbers : pd.DataFrame
            What the figure draws; its index is written where it says more than 0, 1, 2, ….
        note : str, optional
            What a reader must know who sees the figure alone.
        """
        if not FILE_NAME.fullmatch(name):
            raise ValueError(
                f"figure name {name!r} is not a file name; use letters, digits, '.', '-', '_'"
            )
        data = f"{self.paper} · data: {self.data}" if self.paper else f"data: {self.data}"
        published = DATA in (figure.layout.meta or {})
        marked = captioned(plain(figure), "" if published else note, data)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_library(self.folder)
            texts = {
                "html": page(marked, include_plotlyjs="directory", div_id=name, auto_play=False),
                "json": marked.to_json(engine="json"),
                "csv": _csv(numbers),
                "txt": "\n".join([title(marked) or name, *caption(marked), ""]),
            }
            for suffix, text in texts.items():
                write_whole(self.folder / f"{name}.{suffix}", text.encode())
        return marked


def title(figure: go.Figure) -> str:
    """A figure's title as a line of text, without markup."""
    return html.unescape(MARKUP.sub("", BREAK.sub(" ", figure.layout.title.text or "")))


def _csv(numbers: pd.DataFrame) -> str:
    """The numbers as CSV, with their index where it carries something."""
    counts_rows = isinstance(numbers.index, pd.RangeIndex) and numbers.index.name is None
    return numbers.to_csv(index=not counts_rows, lineterminator="\n")


def write_library(folder: Path) -> None:
    """Put Plotly's JavaScript into a folder of pages, once."""
    path = folder / LIBRARY
    content = get_plotlyjs().encode()
    if not path.is_file() or path.stat().st_size != len(content):
        write_whole(path, content)


def plain(figure: go.Figure) -> go.Figure:
    """The figure, or a copy of it in whose texts foreign markup is text.

    Plotly draws a part of HTML: line breaks, bold and italic letters, but links and styles, too; it
    runs no scripts. Names of logs, users and queues may hold some.

    Examples
    --------
    >>> import plotly.graph_objects as go
    >>> figure = go.Figure(layout_title_text="<a href='x'>a</a><br><b>b</b> < c")
    >>> print(plain(figure).layout.title.text)
    &lt;a href='x'>a&lt;/a><br><b>b</b> < c
    """
    content = figure.to_dict()
    changed = _plain(content)
    return figure if changed is content else go.Figure(changed)


def _plain(value: Any) -> Any:
    """A part of a figure; the very same where nothing in it is foreign. Plotly draws no `meta`."""
    if isinstance(value, str):
        return FOREIGN.sub("&lt;", value) if "<" in value and FOREIGN.search(value) else value
    if isinstance(value, dict):
        named = {key: part if key == "meta" else _plain(part) for key, part in value.items()}
        return value if all(named[key] is value[key] for key in value) else named
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "OU":
            return value
        listed = value.tolist()
        parts = _plain(listed)
        return value if parts is listed else parts
    if isinstance(value, list | tuple):
        parts = [_plain(part) for part in value]
        return value if all(map(operator.is_, parts, value)) else type(value)(parts)
    return value
