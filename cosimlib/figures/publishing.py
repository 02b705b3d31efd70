"""Publication of figures: marked with their data, written with their numbers.

A figure is published as `<name>.html` (beside one shared `plotly.min.js`), `<name>.json` and
`<name>.csv`. The same figure gives the same bytes, so that a changed file is a changed result.
"""

import re
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from cosimlib import checks as check
from cosimlib.display import used_data
from cosimlib.figures.footnotes import FOOTER, footer, footnote
from cosimlib.figures.markup import plain
from cosimlib.files import write_whole

LIBRARY = "plotly.min.js"
FILE_NAME = re.compile(r"\w[\w.-]*")


class Publisher:
    """Marks figures with their data and, where there is a folder, writes them into it.

    Parameters
    ----------
    folder : str, Path or None
        Made where it does not exist. Empty: nothing is written.
    data : str
        What the figures show, such as ``"Theta 2023"`` or ``"synthetic, seed 1"``.
    paper : str, optional
        Whose model or figure they are after, such as ``"Maurya et al. 2020"``.
    used : float, optional
        Share of the log's node-hours that they show, such as `metrics.share_used`; the footer
        says it.
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
    ) -> go.Figure:
        """A copy of the figure with a footer: paper and data; written if there is a folder.

        Parameters
        ----------
        figure : go.Figure
        name : str
            The files' name: letters, digits, ``.``, ``-`` and ``_``.
        numbers : pd.DataFrame
            What the figure draws; its index is written where it says more than 0, 1, 2, ….
        note : str, optional
            What a reader must know who sees the figure alone, in small print under it.
        """
        if not FILE_NAME.fullmatch(name):
            raise ValueError(
                f"figure name {name!r} is not a file name; use letters, digits, '.', '-', '_'"
            )
        marked = go.Figure(figure)
        if note and not any(line.name == FOOTER for line in marked.layout.annotations):
            footnote(marked, note)
        footer(marked, f"{self.paper} · data: {self.data}" if self.paper else f"data: {self.data}")
        marked = plain(marked)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            _write_library(self.folder)
            page = marked.to_html(include_plotlyjs="directory", div_id=name, auto_play=False)
            write_whole(self.folder / f"{name}.html", page.encode())
            write_whole(self.folder / f"{name}.json", marked.to_json(engine="json").encode())
            write_whole(self.folder / f"{name}.csv", _csv(numbers).encode())
        return marked


def share_library(folder: Path, above: Path) -> None:
    """Let a folder's pages load Plotly's JavaScript from the folder above, not a copy of theirs.

    `above` is the folder that this one is in, or will be moved into.
    """
    own = folder / LIBRARY
    if not own.is_file():
        return
    _write_library(above)
    for page in folder.glob("*.html"):
        here, there = (f'src="{place}{LIBRARY}"'.encode() for place in ("", "../"))
        write_whole(page, page.read_bytes().replace(here, there, 1))
    own.unlink()


def _csv(numbers: pd.DataFrame) -> str:
    """The numbers as CSV, with their index where it carries something."""
    counts_rows = isinstance(numbers.index, pd.RangeIndex) and numbers.index.name is None
    return numbers.to_csv(index=not counts_rows, lineterminator="\n")


def _write_library(folder: Path) -> None:
    """Put Plotly's JavaScript beside the pages, once."""
    path = folder / LIBRARY
    content = get_plotlyjs().encode()
    if not path.is_file() or path.stat().st_size != len(content):
        write_whole(path, content)
