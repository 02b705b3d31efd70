"""Gallery: all figures and the scorecard on one page, ``python -m papers.gallery FIGURES``.

It opens from disk. A picture is shown where there is one, and loaded when it comes into sight; the
interactive pages that it leads to share one copy of Plotly. Whatever comes from a log or a paper,
a name or a title, is text on the page and never HTML.
"""

import csv
import html
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import plotly.graph_objects as go

from cosimlab.figures.publishing import caption, title
from cosimlib.files import write_whole
from papers.claims import VERDICTS
from papers.images import render_images
from papers.scorecard import COLUMNS, RECORD, own_parameters

TEMPLATE = Path(__file__).with_name("gallery.html")
HEADINGS = {"system": "system"} | COLUMNS


def main() -> None:
    """Draw the figures that have no image yet, and write the page of a folder of results."""
    figures = Path(sys.argv[1])
    folders = (record.parent for record in figures.glob(f"[!.]*/{RECORD}"))
    render_images(folders)
    write_whole(figures / "index.html", gallery(figures).encode())


def gallery(figures: Path) -> str:
    """The page of a folder that has a folder per run, and the scorecard."""
    folders = sorted((path.parent for path in figures.glob(f"[!.]*/{RECORD}")), key=_natural)
    with (figures / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = list(csv.DictReader(file))
    places = [*((_url(folder.name), _data(folder)) for folder in folders), ("scorecard", "")]
    contents = (
        f'<a href="#{place}">{html.escape(f"{place}: {data}" if data else place)}</a>'
        for place, data in places
    )
    scorecard = (figures / "scorecard.md").read_text(encoding="utf-8")
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        contents="\n".join(contents),
        sections="\n".join(map(_section, folders)),
        counts=html.escape(scorecard.splitlines()[2]),
        systems=_options(dict.fromkeys(claim["system"] for claim in claims)),
        verdicts=_options(VERDICTS),
        headings="".join(f"<th>{heading}" for heading in HEADINGS.values()),
        claims="\n".join(map(_claim, claims)),
    )


def _section(folder: Path) -> str:
    """The figures of one run under the title of its notebook."""
    record = _record(folder)
    notebook = folder / record["notebook"]
    # No link, for a browser would show the file's JSON.
    link = f" · as a notebook, for JupyterLab: {folder.name}/{notebook.name}"
    pages = [page for page in folder.glob("*.html") if page.with_suffix(".json").is_file()]
    cards = (
        "\n".join(map(_card, sorted(pages, key=_natural)))
        or "<p>This run published no figures.</p>"
    )
    facts = f"{_data(folder)}, {record['seconds']:.0f} s"
    return (
        f'<h2 id="{_url(folder.name)}">{html.escape(_title(notebook))}</h2>\n'
        f'<p class="dim">{html.escape(facts + (link if notebook.is_file() else ""))}</p>\n'
        f'<div class="figures">\n{cards}\n</div>'
    )


def _card(page: Path) -> str:
    """One figure: its picture, caption, and links to the page, the numbers and a drawing."""
    layout = json.loads(page.with_suffix(".json").read_text(encoding="utf-8")).get("layout", {})
    figure = go.Figure(layout={name: layout.get(name) for name in ("title", "meta")})
    heading = html.escape(title(figure) or page.stem)
    place = _url(page.parent.name)

    def link(suffix: str, text: str) -> str:
        file = page.with_suffix(suffix)
        return f'<a href="{place}/{_url(file.name)}">{text}</a>' if file.is_file() else ""

    picture = page.with_suffix(".png")
    shown = '<span class="none">no picture: open the page</span>'
    if picture.is_file():
        shown = f'<img loading="lazy" alt="" src="{place}/{_url(picture.name)}">'
    kinds = {".html": "interactive", ".csv": "data", ".svg": "drawing", ".txt": "caption"}
    links = [link(suffix, text) for suffix, text in kinds.items()]
    small = "".join(f'<span class="note">{html.escape(line)}</span>' for line in caption(figure))
    return (
        f'<figure><a href="{place}/{_url(page.name)}" title="{heading}">{shown}</a>'
        f"<figcaption><strong>{heading}</strong>{small}"
        f'<span class="links">{" · ".join(filter(None, links))}</span></figcaption></figure>'
    )


def _claim(claim: dict[str, str]) -> str:
    """One row of the scorecard."""
    cells = {name: html.escape(claim[name]) for name in HEADINGS}
    verdict = cells["verdict"]
    kind = verdict.replace(" ", "-") if verdict in VERDICTS else "unknown"
    row = f'<tr data-system="{cells["system"]}" data-verdict="{verdict}">'
    cells["verdict"] = f'<span class="verdict {kind}">{verdict}</span>'
    shown = (f'<td data-heading="{HEADINGS[name]}">{text}' for name, text in cells.items())
    return f"{row}{''.join(shown)}</tr>"


def _options(names: Iterable[str]) -> str:
    """The options of a list to choose from."""
    return "".join(f"<option>{html.escape(name)}</option>" for name in names)


def _title(notebook: Path) -> str:
    """The first heading of a notebook, or else the file's name."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except OSError:
        return notebook.stem
    texts = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    headings = (re.search(r"^# +(.+)$", text, re.MULTILINE) for text in texts)
    return next((heading[1].strip() for heading in headings if heading), notebook.stem)


def _data(folder: Path) -> str:
    """What a run was made from: its trace, its scale, and what else was given."""
    given = _record(folder)["parameters"]
    common = [given[name] for name in ("trace", "scale") if name in given]
    return ", ".join([*common, *own_parameters(given)])


def _record(folder: Path) -> dict[str, Any]:
    """The record of a run."""
    return json.loads((folder / RECORD).read_text(encoding="utf-8"))


def _url(name: str) -> str:
    """A file's name as a part of an address."""
    return html.escape(quote(name))


def _natural(path: Path) -> list[tuple[int, str]]:
    """Order of names in which 10 comes after 9."""
    return [(int(part or 0), text) for text, part in re.findall(r"(\D*)(\d*)", path.name)]


if __name__ == "__main__":
    main()
