"""Static images of published figures: a PNG and an SVG of each, drawn in one browser session.

They have neither sliders nor buttons, to which only a live figure answers.
"""

import asyncio
import importlib.util
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from cosimlib import extras
from cosimlib.files import write_whole

CONTROLS = "controls"
"""Under this name a figure's `layout.meta` says how many pixels at its bottom are controls."""
WIDTH = 900
TABS = 4
"""Figures that are drawn at once."""
MISSES = 3
"""Figures in a row that cannot be drawn: then the browser is gone, and no other one is tried."""


def render_images(folders: Iterable[str | Path]) -> int:
    """Draw a PNG and an SVG of every published figure in the folders; how many figures it drew.

    Where some cannot be drawn, or none for want of a browser or of kaleido, one line says why:
    images are an extra, and must not cost the run that made the figures.
    """
    figures = [path for folder in folders for path in figures_in(folder)]
    if not figures:
        return 0
    if importlib.util.find_spec("kaleido") is None:
        print(f"no PNG and SVG images: {extras.lack('drawing them', 'kaleido')}")
        return 0
    drawn: set[Path] = set()
    reasons: list[str] = []
    try:
        asyncio.run(_draw_all(figures, drawn, reasons))
    except Exception as error:
        print(f"no PNG and SVG images: {_reason(error)}")
    if reasons:
        failed = ", ".join(path.stem for path in figures if path not in drawn)
        print(f"no PNG and SVG images of {failed}: {reasons[0]}")
    return len(drawn)


def figures_in(folder: str | Path) -> list[Path]:
    """The data of each figure published in a folder."""
    found = sorted(Path(folder).glob("*.json"))
    return [path for path in found if path.with_suffix(".html").is_file()]


async def _draw_all(figures: list[Path], drawn: set[Path], reasons: list[str]) -> None:
    """Draw figures; note those that are drawn, and why others are not."""
    waiting = iter(figures)
    # The synchronous server of kaleido waits for ever where its browser does not start.
    async with _browser() as browser:
        await asyncio.gather(*(_draw_some(browser, waiting, drawn, reasons) for _ in range(TABS)))


async def _draw_some(
    browser: Any, waiting: Iterator[Path], drawn: set[Path], reasons: list[str]
) -> None:
    """Draw one figure after the other until there are no more."""
    misses = 0
    while misses < MISSES and (path := next(waiting, None)):
        try:
            await _draw_one(browser, path)
            drawn.add(path)
            misses = 0
        except Exception as error:
            reasons.append(_reason(error))
            misses += 1


def _browser() -> Any:
    """A session of kaleido that loads its page once per tab: drawing takes less than loading it."""
    from kaleido import Kaleido

    class Browser(Kaleido):
        async def _return_kaleido_tab(self, tab: Any) -> None:
            if sys.exc_info()[0] is None:
                await self.tabs_ready.put(tab)
            else:  # nobody knows in which state a figure that cannot be drawn leaves the page
                await super()._return_kaleido_tab(tab)

    return Browser(n=TABS, mathjax=False)


async def _draw_one(browser: Any, path: Path) -> None:
    """Draw both pictures of a figure, then write them."""
    figure = static_figure(go.Figure(json.loads(path.read_text(encoding="utf-8"))))
    options = {"width": figure.layout.width or WIDTH, "height": figure.layout.height or 500}
    content = figure.to_dict()
    png = await browser.calc_fig(content, opts={"format": "png", "scale": 2, **options})
    svg = await browser.calc_fig(content, opts={"format": "svg", **options})
    write_whole(path.with_suffix(".png"), png)
    write_whole(path.with_suffix(".svg"), svg)


def _reason(error: Exception) -> str:
    """Why the browser did not draw, in one line."""
    if type(error).__name__ == "ChromeNotFoundError":
        return "no Chrome or Chromium was found (install one, or set BROWSER_PATH)"
    if type(error).__name__ == "BrowserFailedError":
        return "the browser did not start (BROWSER_PATH names another one)"
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def static_figure(figure: go.Figure) -> go.Figure:
    """The figure, or a copy without its controls and without the room that they take."""
    layout = figure.layout
    if not (layout.sliders or layout.updatemenus):
        return figure
    picture = go.Figure(figure.data, layout)
    picture.layout.sliders = picture.layout.updatemenus = ()
    room = (layout.meta or {}).get(CONTROLS, 0)
    if room:
        picture.update_layout(height=layout.height - room, margin_b=layout.margin.b - room)
    return picture
