"""Pages of the systems, put together from what the package, notebooks and results already say."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from papers.stored import STALE, is_current

SYSTEMS = {
    "eviction": ("1-eviction", "cosimlib.eviction.problem", "Evicting jobs for a burst"),
    "coscheduling": ("2-coscheduling", "cosimlib.coscheduling.simulation", "Coupled machines"),
    "timesharing": ("3-timesharing", "cosimlib.timesharing.simulation", "Time-sharing nodes"),
    "filling": ("4-filling", "cosimlib.filling.simulation", "Filler containers"),
    "elastic": ("5-elastic", "cosimlib.elastic.simulation", "Elastic partitions"),
    "ondemand": ("6-ondemand", "cosimlib.ondemand.simulation", "What none of the papers has"),
}
"""Room of each system: its notebook, the module that states its model, its part of the results."""
STORED = {
    "statement": "the paper says",
    "paper_value": "its value",
    "limits": "limits",
    "ours": "ours",
    "verdict": "verdict",
    "data": "data",
    "date": "run on",
    "commit": "at commit",
}
"""Columns of the table of runs at paper scale, by their names in the files."""

DEVIATIONS = re.compile(r"(?:## |\*\*)What (?:deviates|differs|the model assumes)")
"""How the text begins that says what deviates from a notebook's paper."""

EXPLORERS = ("eviction", "coscheduling", "timesharing", "filling", "elastic", "ondemand")


def system_pages(root: Path, renew: Callable[[str, Path], str]) -> dict[str, str]:
    """Every system's page by its name: question, picture, model, what we found, what deviates."""
    results = root / "docs" / "results.md"
    pages = {}
    for room, (notebook, model, found) in SYSTEMS.items():
        path = root / "notebooks" / f"{notebook}.ipynb"
        title, question, deviations = opening(path)
        explorer = f", or [move its sliders](../notebooks/explore/{room}.ipynb)"
        links = (
            f"Read [the notebook](../notebooks/{notebook}.ipynb)"
            f"{explorer if room in EXPLORERS else ''}; "
            f"names are in [the reference](../api/{room}.md)."
        )
        parts = [
            f"# {title}",
            _below(renew(question, path)),
            f"![One of the notebook's figures](../notebooks/pictures/{notebook}.png)",
            links,
            "## The model",
            f"```{{eval-rst}}\n.. automodule:: {model}\n   :no-members:\n   :no-index:\n```",
            "## What we found",
            _below(renew(section(results, re.escape(found)), results)),
            "## What differs from the paper, and what is assumed",
            _below(renew(deviations, path)),
        ]
        pages[f"systems/{room}.md"] = "\n\n".join(parts) + "\n"
    return pages


def stored_table(root: Path, system: str) -> str:
    """A notebook's claims as runs at paper scale decided them, from the files in `data`."""
    claims, stored = (
        pd.read_csv(root / "data" / name, dtype=str, keep_default_na=False)
        for name in ("claims.csv", "paper-scale.csv")
    )
    stored["verdict"] = stored["verdict"].where(is_current(stored), STALE)
    table = claims.drop(columns="data").merge(stored, on=["system", "claim"])
    table = table[table["system"] == system]
    if table.empty:
        return "No run at paper scale is stored."
    rows = [list(STORED.values()), ["---"] * len(STORED), *table[list(STORED)].to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def opening(notebook: Path) -> tuple[str, str, str]:
    """Title, question and deviations of a notebook: its first text, and the last on deviations."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    title, _, question = texts[0].partition("\n")
    found = [text for text in texts if DEVIATIONS.match(text)]
    if not found:
        raise ValueError(f"{notebook.name}: no text begins with '## What deviates from the paper'")
    deviations = found[-1].partition("\n")[2]
    return title.removeprefix("# "), question.strip(), deviations.strip()


def section(page: Path, heading: str) -> str:
    """What stands under the heading of a page that a pattern matches."""
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        if re.fullmatch(heading, title):
            return text.strip()
    raise ValueError(f"{page.name} has no heading like {heading!r}; it has {parts[1::2]}")


def _below(text: str) -> str:
    """Text of the pages' folder as seen from the folder below it."""
    return re.sub(r"(\]\()(?!https?:|#|\.\./)", r"\1../", text)
