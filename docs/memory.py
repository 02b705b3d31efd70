"""Picture of slowdown by memory and load in docs/open-questions.md: ``python -m docs.memory``.

It draws the table of that page, which ``python -m papers.open_questions memory`` writes. Needs a
Chromium.
"""

import re
from pathlib import Path

import pandas as pd

import cosimlab as lab

PAGE = Path(__file__).parent / "open-questions.md"
CELL = re.compile(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)")
"""A mean with its interval."""


def main() -> None:
    """Read the table, and draw."""
    picture = lab.figures.lines(
        read_table(PAGE.read_text(encoding="utf-8")),
        x="load",
        y="mean",
        line="memory",
        band=("low", "high"),
        log="y",
        labels={"load": "Offered load", "mean": "Mean slowdown"},
        title="Slowdown by load, and by who needs memory",
    )
    picture.write_image(PAGE.with_name("memory.png"), width=900, height=460)


def read_table(page: str) -> pd.DataFrame:
    """The page's table of mean slowdowns as `memory`, `load`, `mean`, `low`, `high`."""
    written = page.partition("<!-- memory:")[2].partition("\n\n")[2].partition("\n\n")[0]
    head, _, *lines = ([cell.strip() for cell in each.split("|")] for each in written.splitlines())
    rows = [
        (line[1], float(load.removeprefix("load ")), *map(float, found.groups()))
        for line in lines
        for load, cell in zip(head[2:], line[2:], strict=True)
        if (found := CELL.match(cell))
    ]
    return pd.DataFrame(rows, columns=["memory", "load", "mean", "low", "high"])


if __name__ == "__main__":
    main()
