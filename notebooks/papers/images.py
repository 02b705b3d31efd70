"""Static images of published figures: a PNG and an SVG of each, drawn in one browser session.

They have neither sliders nor buttons, to which only a live figure answers.
"""

import asyncio
import importlib.util
import io
import json
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
PICTURES = (".png", ".svg")
START_SECONDS, FIGURE_SECONDS = 60.0, 10.0
"""How long a browser may take to start, and for a figure on average."""


def render_images(folders: Iterable[str | Path]) -> int:
    """Draw a PNG and an SVG of every published figure that lacks them; how many figures it drew.

    Where some cannot be drawn, or none for want of a browser or of kaleido, one line says why:
    images are an extra, and must not cost the run that made the figures.
    """
    found = (path for folder in folders for path in figures_in(folder))
    figures = [path for path in found if not _is_drawn(path)]
    if not figures:
        return 0
    if importlib.util.find_spec("kaleido") is None:
        print(f"no PNG and SVG images: {extras.lack('drawing them', 'kaleido')}")
        return 0
    try:
        errors = asyncio.run(_draw(figures))
    except Exception as error:
        errors = (error,)
    drawn = [path for path in figures if _is_drawn(path)]
    for path in drawn:
        reduce_colors(path.with_suffix(".png"))
    left = [path.stem for path in figures if path not in drawn]
    if errors:
        of = f" of {', '.join(left)}" if len(left) < len(figures) else ""
        print(f"no PNG and SVG images{of}: {_reason(errors[0])}")
    return len(drawn)


def figures_in(folder: str | Path) -> list[Path]:
    """The data of each figure published in a folder."""
    found = sorted(Path(folder).glob("*.json"))
    return [path for path in found if path.with_suffix(".html").is_file()]


def _is_drawn(figure: Path) -> bool:
    """Whether a figure has its pictures; one without content is of a run that was ended."""
    pictures = [figure.with_suffix(suffix) for suffix in PICTURES]
    return all(picture.is_file() and picture.stat().st_size for picture in pictures)


async def _draw(figures: list[Path]) -> tuple[Exception, ...]:
    """Draw figures in a browser, for so long at most; the errors of those that cannot be drawn."""
    # Kaleido waits for ever for a browser that does not answer, also where it starts or ends.
    drawing = asyncio.create_task(_draw_in_browser(figures))
    await asyncio.wait({drawing}, timeout=START_SECONDS + FIGURE_SECONDS * len(figures))
    if not drawing.done():
        drawing.cancel()
        raise TimeoutError("the browser does not answer")
    return drawing.result()


async def _draw_in_browser(figures: list[Path]) -> tuple[Exception, ...]:
    """Draw figures, however long it takes."""
    from kaleido import Kaleido

    async with Kaleido(n=TABS, mathjax=False) as browser:
        return await browser.write_fig_from_object(_pictures(figures))


def _pictures(figures: list[Path]) -> Iterator[dict[str, Any]]:
    """What kaleido needs to know of each picture."""
    for path in figures:
        figure = static_figure(go.Figure(json.loads(path.read_text(encoding="utf-8"))))
        size = {"width": figure.layout.width or WIDTH, "height": figure.layout.height or 500}
        for suffix in PICTURES:
            knobs = {"format": suffix[1:], "scale": 2 if suffix == ".png" else 1, **size}
            yield {"fig": figure.to_dict(), "path": path.with_suffix(suffix), "opts": knobs}


def reduce_colors(path: Path) -> None:
    """Let a PNG have 256 colors: it looks the same, and takes a quarter of the bytes.

    Without Pillow it stays as it is.
    """
    if importlib.util.find_spec("PIL") is None:
        return
    from PIL import Image

    picture = Image.open(io.BytesIO(path.read_bytes())).convert("RGB")
    # This method takes 15 ms for a picture; the others of Pillow take ten times as long.
    reduced = picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    content = io.BytesIO()
    reduced.save(content, "PNG")
    write_whole(path, content.getvalue())


def _reason(error: Exception) -> str:
    """Why the browser did not draw, in one line."""
    if type(error).__name__ == "ChromeNotFoundError":
        return "no Chrome or Chromium was found (install one, or set BROWSER_PATH)"
    if type(error).__name__ == "BrowserFailedError":
        return "the browser did not start (BROWSER_PATH names another one)"
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def static_figure(figure: go.Figure) -> go.Figure:
    """The figure, or a copy without its controls and the height that they take."""
    layout = figure.layout
    if not (layout.sliders or layout.updatemenus):
        return figure
    picture = go.Figure(figure.data, layout)
    picture.layout.sliders = picture.layout.updatemenus = ()
    height = (layout.meta or {}).get(CONTROLS, 0)
    if height:
        picture.update_layout(height=layout.height - height, margin_b=layout.margin.b - height)
    return picture
