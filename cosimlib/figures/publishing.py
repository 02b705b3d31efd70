"""Publication of figures: marked with their data, written with their numbers.

A figure is published as `<name>.html` (beside one shared `plotly.min.js`), `<name>.json` and
`<name>.csv`. The same figure gives the same bytes, so that a changed file is a changed result.
"""

import asyncio
import importlib.util
import json
import re
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from cosimlib import checks as check
from cosimlib import extras
from cosimlib.display import used_data
from cosimlib.figures.footnotes import FOOTER, footer, footnote
from cosimlib.figures.markup import plain
from cosimlib.figures.still import still
from cosimlib.files import write_whole

WIDTH = 900
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
            page = marked.to_html(include_plotlyjs="directory", div_id=name)
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


def render_images(folders: Iterable[str | Path]) -> int:
    """Draw a PNG and an SVG of every published figure in the folders; how many figures it drew.

    All are drawn in one browser session. Without a browser, or without kaleido, one line says so
    and nothing is drawn: images are an extra, and must not cost the run that made the figures.
    """
    paths = [path for folder in folders for path in sorted(Path(folder).glob("*.json"))]
    paths = [path for path in paths if path.with_suffix(".html").is_file()]
    if not paths:
        return 0
    if importlib.util.find_spec("kaleido") is None:
        print(f"no PNG and SVG images: {extras.lack('drawing them', 'kaleido')}")
        return 0
    drawn: list[Path] = []
    try:
        # A thread of its own, because a notebook's own loop may be running in this one.
        with ThreadPoolExecutor(1) as thread:
            leave = threading.Event()
            try:
                thread.submit(lambda: asyncio.run(_draw(paths, drawn, leave))).result()
            finally:
                leave.set()  # an interrupt waits for one figure, not for all
    except Exception as error:
        print(f"no PNG and SVG images{_where(paths, drawn)}: {_reason(error)}")
    return len(drawn)


async def _draw(paths: list[Path], drawn: list[Path], leave: threading.Event) -> None:
    """Draw the figures one by one until told to leave, and note those that are done."""
    from kaleido import Kaleido

    # The synchronous server of kaleido waits for ever where its browser does not start.
    async with Kaleido(n=1, mathjax=False) as browser:
        for path in paths:
            if leave.is_set():
                return
            figure = still(go.Figure(json.loads(path.read_text(encoding="utf-8"))))
            options = {"width": figure.layout.width or WIDTH, "height": figure.layout.height or 500}
            content = _with_fixed_ids(figure)
            image = await browser.calc_fig(content, opts={"format": "png", "scale": 2, **options})
            write_whole(path.with_suffix(".png"), image)
            image = await browser.calc_fig(content, opts={"format": "svg", **options})
            write_whole(path.with_suffix(".svg"), _fix_ids(image.decode()).encode())
            drawn.append(path)


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


def _with_fixed_ids(figure: go.Figure) -> dict:
    """The figure as a dict whose traces have ids of ours: Plotly's own are random."""
    content = figure.to_dict()
    for number, trace in enumerate(content.get("data", [])):
        trace["uid"] = f"{number:06x}"
    return content


def _fix_ids(svg: str) -> str:
    """The drawing with the random part of its elements' ids, and of what refers to them, fixed."""
    for drawing in set(re.findall(r'id="(?:top)?defs-([0-9a-f]{6})"', svg)):
        svg = re.sub(rf"""((?:id="|href="#|url\(['"]?#)[a-z]+-?){drawing}""", r"\g<1>000000", svg)
    return svg


def _where(paths: list[Path], drawn: list[Path]) -> str:
    """From which figure on there are no images, where some were drawn."""
    return f" from {paths[len(drawn)].stem} on" if drawn else ""


def _reason(error: Exception) -> str:
    """Why the browser did not draw, in one line."""
    if type(error).__name__ == "ChromeNotFoundError":
        return "no Chrome or Chromium was found (install one, or set BROWSER_PATH)"
    if type(error).__name__ == "BrowserFailedError":
        return "the browser did not start (BROWSER_PATH names another one)"
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
