"""The folder of one run, as its pages show it: what was asked and answered, figures, claims.

A folder may be of an older run, or of a notebook of your own: what it lacks is empty.
"""

import base64
import csv
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import plotly.graph_objects as go

from cosimlab.figures.publishing import caption, title
from papers.paper import PUBLISHED
from papers.scorecard import RECORD, own_parameters

REPORT = "report.html"
ANSWER = re.compile(r"\*\*The answer(?:\.\*\*|[^*]*\*\*[^.]*\.)\s+")
"""How a notebook's text with the answer begins, up to the answer itself."""
SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z*])")
"""Where one sentence ends and the next begins."""
SHORTEST_SENTENCE = 30
"""Letters; a shorter one, such as "Yes.", is shown with the next."""
FIGURE_NUMBER = re.compile(r"figure (\d+)(.*)")
"""A figure's number in the paper; tables and slides have none, and keep their places."""


class Figure(NamedTuple):
    """A published figure: its page, title and caption, and what of the paper it redraws."""

    page: Path
    title: str
    caption: list[str]
    redraws: str

    @property
    def picture(self) -> Path:
        """The static image; it need not exist."""
        return self.page.with_suffix(".png")


@dataclass(frozen=True)
class Run:
    """The results of one notebook, in a folder."""

    folder: Path

    @property
    def name(self) -> str:
        """The folder's name, such as ``"1-eviction"``."""
        return self.folder.name

    @cached_property
    def record(self) -> dict[str, Any]:
        """What `papers.run` wrote about the run."""
        return dict(json.loads((self.folder / RECORD).read_text(encoding="utf-8")))

    @property
    def notebook(self) -> Path:
        """The executed notebook; it need not exist."""
        return self.folder / str(self.record["notebook"])

    @cached_property
    def content(self) -> dict[str, Any]:
        """The executed notebook as JSON."""
        if not self.notebook.is_file():
            return {"cells": []}
        return dict(json.loads(self.notebook.read_text(encoding="utf-8")))

    @cached_property
    def texts(self) -> list[str]:
        """The notebook's texts in order."""
        cells = self.content["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]

    @property
    def title(self) -> str:
        """The first heading of the notebook, or else its file's name."""
        headings = (re.search(r"^# +(.+)$", text, re.MULTILINE) for text in self.texts)
        found = next((heading[1].strip() for heading in headings if heading), "")
        return found or self.notebook.stem

    @property
    def opening(self) -> str:
        """The text under the first heading: the question, and the paper."""
        return self.texts[0].partition("\n")[2].strip() if self.texts else ""

    @property
    def question(self) -> str:
        """What the opening asks first, or all that it asks where no answer follows."""
        paragraphs = (part.replace("\n", " ") for part in self.opening.split("\n\n"))
        sentences = (sentence for part in paragraphs for sentence in SENTENCE.split(part))
        asked = [sentence for sentence in sentences if sentence.endswith("?")]
        return " ".join(asked[:1] if self.answer else asked)

    @property
    def answer(self) -> str:
        """The notebook's answer; "" without one."""
        found = (ANSWER.match(text) for text in self.texts)
        return next((match.string[match.end() :] for match in found if match), "")

    @property
    def short_answer(self) -> str:
        """The first sentence of the answer."""
        first, *others = SENTENCE.split(self.answer.replace("\n", " "))
        return f"{first} {others[0]}" if len(first) < SHORTEST_SENTENCE and others else first

    @property
    def data(self) -> str:
        """What the run was made from: its trace, its scale, and what else was given."""
        given = self.record["parameters"]
        common = [str(given[name]) for name in ("trace", "scale") if name in given]
        return ", ".join([*common, *own_parameters(given)])

    @property
    def report(self) -> Path | None:
        """The report on a log, where this run wrote one."""
        path = self.folder / REPORT
        return path if path.is_file() else None

    @cached_property
    def claims(self) -> list[dict[str, str]]:
        """The paper's statements beside our numbers, as `claims.csv` has them."""
        path = self.folder / "claims.csv"
        if not path.is_file():
            return []
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @cached_property
    def figures(self) -> list[Figure]:
        """All published figures, in the order of publication; those not listed come last."""
        path = self.folder / PUBLISHED
        listed = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        pages = {
            page.stem: page
            for page in sorted(self.folder.glob("*.html"), key=natural)
            if page.with_suffix(".json").is_file()
        }
        names = [name for name in listed if name in pages]
        names += [name for name in pages if name not in listed]
        return [_figure(pages[name], str(listed.get(name, ""))) for name in names]

    @property
    def redrawn(self) -> list[Figure]:
        """The figures that are in the paper, in the paper's order."""
        found = [figure for figure in self.figures if figure.redraws]
        numbers = [FIGURE_NUMBER.fullmatch(figure.redraws) for figure in found]
        keys = {place: (int(match[1]), match[2]) for place, match in enumerate(numbers) if match}
        order = dict(zip(keys, sorted(keys, key=keys.__getitem__), strict=True))
        return [found[order.get(place, place)] for place in range(len(found))]

    @property
    def own(self) -> list[Figure]:
        """The figures that no paper has."""
        return [figure for figure in self.figures if not figure.redraws]

    def picture(self) -> str:
        """The address of the picture that stands for the run, seen from the folder above.

        It is the figure that the notebook's metadata names, or else the first one with a picture,
        or else the first image among the notebook's outputs; "" without one.
        """
        named = self.content.get("metadata", {}).get("cosimlib", {}).get("picture", "")
        drawn = [figure for figure in self.figures if figure.picture.is_file()]
        drawn.sort(key=lambda figure: figure.page.stem != named)
        if drawn:
            return f"{self.name}/{drawn[0].picture.name}"
        outputs = (output for cell in self.content["cells"] for output in cell.get("outputs", []))
        images = (image_of(output.get("data", {})) for output in outputs)
        return next(filter(None, images), "")


def image_of(data: dict[str, Any]) -> str:
    """The image among an output's forms, as an address that holds all of it; "" without one."""
    if "image/png" in data:
        return f"data:image/png;base64,{''.join(data['image/png']).strip()}"
    if "image/svg+xml" in data:
        drawn = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return f"data:image/svg+xml;base64,{drawn}"
    return ""


def read_runs(figures: Path) -> list[Run]:
    """The runs in a folder of results, in the order of their names."""
    folders = sorted((path.parent for path in figures.glob(f"[!.]*/{RECORD}")), key=natural)
    return [Run(folder) for folder in folders]


def natural(path: Path) -> list[tuple[int, str]]:
    """Order of names in which 10 comes after 9."""
    return [(int(part or 0), text) for text, part in re.findall(r"(\D*)(\d*)", path.name)]


def _figure(page: Path, redraws: str) -> Figure:
    """A figure with the title and caption that its JSON holds."""
    layout = json.loads(page.with_suffix(".json").read_text(encoding="utf-8")).get("layout", {})
    drawn = go.Figure(layout={name: layout.get(name) for name in ("title", "meta")})
    return Figure(page, title(drawn) or page.stem, caption(drawn), redraws)
