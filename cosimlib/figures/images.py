"""Pictures of published figures: a PNG and an SVG of each, drawn beside other work."""

import asyncio
import importlib.util
import json
import queue
import re
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from cosimlib import extras
from cosimlib.figures.still import still
from cosimlib.files import write_whole

WIDTH = 900
MISSES = 3
"""Figures in a row that cannot be drawn: then the browser is gone, and no other one is tried."""


def render_images(folders: Iterable[str | Path]) -> int:
    """Draw a PNG and an SVG of every published figure in the folders; how many figures it drew."""
    with Images() as images:
        for folder in folders:
            images.draw(folder)
    return images.drawn


class Images:
    """Draws the figures of folders as they are given, while the block goes on; its end waits.

    All are drawn in one browser session, so many at once as there are `tabs`. Where some cannot be
    drawn, or none for want of a browser or of kaleido, one line at the end says why: images are an
    extra, and must not cost the run that made the figures. Where the block ends in an error, the
    figures at which the browser is are the last.
    """

    def __init__(self, tabs: int = 1) -> None:
        self.tabs, self.drawn = tabs, 0
        self._failed: list[str] = []
        self._misses, self._why = 0, ""
        self._waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._left = False
        self._lacks = importlib.util.find_spec("kaleido") is None
        # A thread of its own, because a notebook's own loop may be running in this one.
        self._thread = ThreadPoolExecutor(1)
        self._session: Future[None] | None = None

    def draw(self, folder: str | Path) -> None:
        """Have the figures of a folder drawn."""
        for path in figures_in(folder):
            self._waiting.put(path)
            if self._session is None and not self._lacks:
                self._session = self._thread.submit(lambda: asyncio.run(self._draw_all()))

    def __enter__(self) -> "Images":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        self._left = kind is not None
        try:
            self._end()
        except BaseException:
            self._left = True  # an interrupt waits for the figures begun, not for all
            raise
        finally:
            self._thread.shutdown()

    def _end(self) -> None:
        """Wait for the figures that were given, and say why there are none."""
        for _ in range(self.tabs):
            self._waiting.put(None)
        if self._session is not None:
            try:
                self._session.result()
            except Exception as error:
                print(f"no PNG and SVG images: {_reason(error)}")
            if self._failed:
                print(f"no PNG and SVG images of {', '.join(self._failed)}: {self._why}")
        elif self._lacks and self._waiting.get() is not None:
            print(f"no PNG and SVG images: {extras.lack('drawing them', 'kaleido')}")

    async def _draw_all(self) -> None:
        """Draw in one session, as many figures at once as there are tabs."""
        # The synchronous server of kaleido waits for ever where its browser does not start.
        async with _browser(self.tabs) as browser:
            await asyncio.gather(*(self._draw_some(browser) for _ in range(self.tabs)))

    async def _draw_some(self, browser: Any) -> None:
        """Draw one figure after the other until there are no more."""
        while path := await asyncio.to_thread(self._waiting.get):
            if self._left:
                continue
            try:
                if self._misses < MISSES:
                    await _draw_one(browser, path)
                    self.drawn, self._misses = self.drawn + 1, 0
                    continue
            except Exception as error:
                self._misses, self._why = self._misses + 1, self._why or _reason(error)
            self._failed.append(path.stem)


def figures_in(folder: str | Path) -> list[Path]:
    """The data of each figure published in a folder."""
    found = sorted(Path(folder).glob("*.json"))
    return [path for path in found if path.with_suffix(".html").is_file()]


def _browser(tabs: int) -> Any:
    """A session of kaleido that loads its page once per tab: drawing takes less than loading it."""
    from kaleido import Kaleido

    class Browser(Kaleido):
        async def _return_kaleido_tab(self, tab: Any) -> None:
            if sys.exc_info()[0] is None:
                await self.tabs_ready.put(tab)
            else:  # nobody knows in which state a figure that cannot be drawn leaves the page
                await super()._return_kaleido_tab(tab)

    return Browser(n=tabs, mathjax=False)


async def _draw_one(browser: Any, path: Path) -> None:
    """Draw both pictures of a figure, then write them."""
    figure = still(go.Figure(json.loads(path.read_text(encoding="utf-8"))))
    options = {"width": figure.layout.width or WIDTH, "height": figure.layout.height or 500}
    content = _with_fixed_ids(figure)
    png = await browser.calc_fig(content, opts={"format": "png", "scale": 2, **options})
    svg = await browser.calc_fig(content, opts={"format": "svg", **options})
    write_whole(path.with_suffix(".png"), png)
    write_whole(path.with_suffix(".svg"), _fixed(svg.decode()).encode())


def _with_fixed_ids(figure: go.Figure) -> dict:
    """The figure as a dict whose traces have ids of ours: Plotly's own are random."""
    content = figure.to_dict()
    for number, trace in enumerate(content.get("data", [])):
        trace["uid"] = f"{number:06x}"
    return content


def _fixed(svg: str) -> str:
    """The drawing with what is random fixed: a part of ids, and the order of attributes."""
    for drawing in set(re.findall(r'id="(?:top)?defs-([0-9a-f]{6})"', svg)):
        svg = re.sub(rf"""((?:id="|href="#|url\(['"]?#)[a-z]+-?){drawing}""", r"\g<1>000000", svg)
    attribute = r'\s[^\s="<>]+="[^"]*"'
    return re.sub(
        rf"(<[\w:-]+)((?:{attribute})+)",
        lambda tag: tag[1] + "".join(sorted(re.findall(attribute, tag[2]))),
        svg,
    )


def _reason(error: Exception) -> str:
    """Why the browser did not draw, in one line."""
    if type(error).__name__ == "ChromeNotFoundError":
        return "no Chrome or Chromium was found (install one, or set BROWSER_PATH)"
    if type(error).__name__ == "BrowserFailedError":
        return "the browser did not start (BROWSER_PATH names another one)"
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
