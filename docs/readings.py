"""Picture and table of docs/readings.md: ``python -m docs.readings``; the picture needs a Chromium.

They show what each admissible reading of a paper's words makes of a claim, by the stored runs at
paper scale. Claims that no run has judged under its readings are named as such.
"""

from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

import cosimlab as lab
from cosimlab.palette import GREEN, GREY, SKY, VERMILION
from papers.stored import KEYS, is_current, read_readings, stored_path

PAGE = Path(__file__).with_name("readings.md")
COLORS = {"holds": GREEN, "fails": VERMILION, "unknown": GREY, "by construction": SKY}
MARKS = {"holds": "✓", "fails": "✗", "unknown": "?", "by construction": "="}
NOT_RUN = "not run"
FEW = 4
"""Readings whose names have room in the picture."""


def main() -> None:
    """Renew the page's table, and draw."""
    table = verdicts()
    begin, end = "<!-- readings: written by python -m docs.readings -->", "<!-- end -->"
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    tail = rest.partition(end)[2]
    text = f"{head}{begin}\n\n{as_markdown(table)}\n\n{end}{tail}"
    PAGE.write_text(text, encoding="utf-8")
    picture(table).write_image(PAGE.with_suffix(".png"))


def verdicts() -> pd.DataFrame:
    """A row per claim and admissible reading: `system`, `claim`, `reading`, `points`, `verdict`."""
    stored = pd.read_csv(stored_path(), dtype=str, keep_default_na=False)
    stored = stored[is_current(stored)]
    rows = {(row.system, row.claim): row for row in stored.itertuples(index=False)}
    table = read_readings().query("admissible == 'yes'")
    found = [_verdict(rows.get((row.system, row.claim)), row.reading) for row in table.itertuples()]
    return table[[*KEYS, "open", "reading", "points"]].assign(verdict=found)


def _verdict(row: Any, reading: str) -> str:
    """A stored claim's verdict under a reading; its own where the reading changes no number."""
    if row is None:
        return NOT_RUN
    return _by_reading(row.readings).get(reading, NOT_RUN) if row.readings else str(row.verdict)


def _by_reading(text: str) -> dict[str, str]:
    """Verdicts by reading, from such as "EASY: holds; first fit: fails"."""
    return dict(part.rsplit(": ", 1) for part in text.split("; ") if part)


def as_markdown(table: pd.DataFrame) -> str:
    """A row per claim, with the verdict under each reading; bold: what the words point to."""
    lines = ["| claim | what the words leave open | readings |", "|---|---|---|"]
    for (system, claim), rows in table.groupby(KEYS, sort=False):
        each = [
            f"**{row.reading}**: {row.verdict}"
            if row.points == "yes"
            else f"{row.reading}: {row.verdict}"
            for row in rows.itertuples(index=False)
        ]
        lines.append(f"| {system} `{claim}` | {rows['open'].iloc[0]} | {' · '.join(each)} |")
    return "\n".join(lines)


def picture(table: pd.DataFrame) -> go.Figure:
    """A bar per claim, parted into its readings, colored by verdict; few parts have their names."""
    table = table[table["verdict"] != NOT_RUN]
    table = table.assign(name=table["system"].str[0] + " " + table["claim"])
    grouped = table.groupby("name", sort=False)
    table = table.assign(place=grouped.cumcount(), parts=grouped["name"].transform("size"))
    claims = table["name"].drop_duplicates().tolist()
    shown = lab.figures.theme.figure(
        title="Verdicts by reading of the paper's words", height=110 + 24 * len(claims), width=980
    )
    for _, rows in table.groupby("place"):
        marks = rows["verdict"].map(MARKS)
        shown.add_bar(
            y=rows["name"],
            x=1 / rows["parts"],
            orientation="h",
            marker={"color": rows["verdict"].map(COLORS), "line": {"color": "white", "width": 2}},
            text=marks.where(rows["parts"] > FEW, marks + " " + rows["reading"]),
            textposition="inside",
            insidetextanchor="middle",
            textfont={"color": "black"},
            showlegend=False,
        )
    for verdict in [each for each in COLORS if each in set(table["verdict"])]:
        entry = {"size": 12, "symbol": "square", "color": COLORS[verdict]}
        shown.add_scatter(
            x=[None], y=[None], mode="markers", marker=entry, name=f"{MARKS[verdict]} {verdict}"
        )
    shown.update_layout(barmode="stack", bargap=0.1)
    shown.update_yaxes(categoryorder="array", categoryarray=claims[::-1], automargin=True)
    return shown.update_xaxes(visible=False)


if __name__ == "__main__":
    main()
