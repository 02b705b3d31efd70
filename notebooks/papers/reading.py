"""An executed notebook as a page that opens from disk, with live figures.

The page loads Plotly's script from the folder of results and nothing from elsewhere. A figure is
drawn when it comes into sight, and all are before the page is printed.
"""

import html
import json
import re
from typing import Any

from mistune import HTMLRenderer, create_markdown
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer

from cosimlab.figures.publishing import LIBRARY
from papers.results import image_of

PLOTLY = "application/vnd.plotly.v1+json"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
"""Colors of a terminal, in the traceback of an error."""
SCRIPT = f"""
<script src="../{LIBRARY}"></script>
<script>
  const places = [...document.querySelectorAll('.live')];
  function draw(place) {{
    seen.unobserve(place);
    if (place.children.length) return;
    const content = JSON.parse(place.nextElementSibling.textContent);
    Plotly.newPlot(place, content.data, content.layout, {{responsive: true}});
  }}
  const seen = new IntersectionObserver(
    entries => entries.filter(entry => entry.isIntersecting).forEach(entry => draw(entry.target)),
    {{rootMargin: '600px'}});
  places.forEach(place => seen.observe(place));
  addEventListener('beforeprint', () => places.forEach(draw));
</script>
"""


class _Renderer(HTMLRenderer):
    """Markdown as HTML in which links lead to the web or into the page; other links are text."""

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """A link, or its text alone: files of the checkout need not be beside the page."""
        if url.startswith(("https://", "http://", "#")):
            return super().link(text, url, title)
        return text


_markdown = create_markdown(renderer=_Renderer(escape=True), plugins=["table", "strikethrough"])


def markdown(text: str) -> str:
    """A text of a notebook as HTML; HTML in it is shown as text."""
    return str(_markdown(text))


def inline(text: str) -> str:
    """A sentence of a notebook as HTML, without a paragraph around it."""
    return markdown(text).strip().removeprefix("<p>").removesuffix("</p>")


def notebook_body(content: dict[str, Any]) -> str:
    """The cells of a notebook with their outputs, as HTML."""
    cells = [_cell(cell) for cell in content["cells"]]
    styles = HtmlFormatter().get_style_defs(".code")
    live = any('class="live"' in cell for cell in cells)
    return f"<style>{styles}</style>\n" + "\n".join(cells) + (SCRIPT if live else "")


def _cell(cell: dict[str, Any]) -> str:
    """One cell."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return f'<div class="text">{markdown(source)}</div>'
    if cell["cell_type"] != "code":
        return f"<pre>{html.escape(source)}</pre>"
    code = highlight(source, PythonLexer(), HtmlFormatter(cssclass="code"))
    shown = (f'<div class="output">{_output(output)}</div>' for output in cell["outputs"])
    return code + "".join(shown)


def _output(output: dict[str, Any]) -> str:
    """One output of a cell, in the richest form that a page can show."""
    if output["output_type"] == "stream":
        return _plain("".join(output["text"]))
    if output["output_type"] == "error":
        return _plain(ANSI.sub("", "\n".join(output["traceback"])))
    data = output.get("data", {})
    if PLOTLY in data:
        return _live(data[PLOTLY])
    if "text/html" in data:
        return "".join(data["text/html"])
    if image := image_of(data):
        return f'<img alt="" src="{image}">'
    if "text/markdown" in data:
        return markdown("".join(data["text/markdown"]))
    return _plain("".join(data.get("text/plain", "")))


def _plain(text: str) -> str:
    """Text as it was printed."""
    return f"<pre>{html.escape(text)}</pre>"


def _live(figure: dict[str, Any]) -> str:
    """A figure as wide as its column, and its content for the script that draws it."""
    layout = {name: part for name, part in figure["layout"].items() if name != "width"}
    content = json.dumps({"data": figure["data"], "layout": layout | {"autosize": True}})
    # A name in a log must not end the script that it stands in.
    safe = content.replace("<", "\\u003c")
    return (
        f'<div class="live" style="height: {layout.get("height", 450)}px"></div>'
        f'<script type="application/json">{safe}</script>'
    )
