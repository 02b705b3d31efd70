"""Page of a report: small charts as SVG, tables and sentences in one HTML file without links.

Charts are 440 units wide with letters of 13, so that they can be read on a telephone and on paper.
Colors are the house's; what a color tells, a dash, a mark or a word tells too.
"""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cosimlib.display import UNKNOWN, count
from cosimlib.palette import BLACK, BLUE, CYCLE
from cosimlib.units import DAY

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 440, 58, 12, 12, 44
LETTER = 7.2
"""Mean width of a letter in a chart."""

DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4")
MOST_ROWS = 20
"""Rows of a table on the page; `Report.tables` has all."""

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #111; background: #fff;
  max-width: 46rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.2rem;
  border-top: 1px solid #ccc; padding-top: .8rem; }
li { margin: .45rem 0; } .how { color: #333; } .note { color: #555; font-size: .85rem; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; margin: .8rem 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .82rem; margin: .6rem 0; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
th, td { border-bottom: 1px solid #ddd; padding: .2rem .5rem; text-align: right; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 5em; }
td:last-child { white-space: normal; } nav a { margin-right: .8rem; }
@media print { body { max-width: none; font-size: 10pt; padding: 0; } nav { display: none; }
  h2, caption { break-after: avoid; } svg, tr, li { break-inside: avoid; }
  svg { max-width: 13cm; } .wide { overflow: visible; } a { color: inherit; } }
"""


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report: what was found, pictures, tables, and how to read them.

    Parameters
    ----------
    name : str
        One word, by which `Report` has it.
    title : str
    findings : tuple of str
        Sentences, each with its interval and what it rests on.
    pictures : tuple of str
        SVG.
    tables : dict of str to pd.DataFrame
        By caption.
    reading : str
        How to read pictures and tables.
    """

    name: str
    title: str
    findings: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    reading: str = ""

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"- {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        return f"<Section {self.name}: {count(len(self.findings), 'finding')}>"

    def _repr_html_(self) -> str:
        return "".join([self._words(), *self.pictures, self._reading(), self._tables()])

    def _ipython_display_(self) -> None:
        """Words, pictures and tables as outputs of their own, as GitHub can show them."""
        from IPython.display import HTML, SVG, display

        after = HTML(self._reading() + self._tables())
        display(HTML(self._words()), *map(SVG, self.pictures), after)

    def _words(self) -> str:
        return "".join(f"<p>{html.escape(finding)}</p>" for finding in self.findings)

    def _reading(self) -> str:
        how = f'<p class="how"><em>How to read it.</em> {html.escape(self.reading)}</p>'
        return how if self.reading else ""

    def _tables(self) -> str:
        """The first table; the others folded."""
        first, *others = [table_html(t, caption) for caption, t in self.tables.items()] or [""]
        folded = f"<details><summary>More tables</summary>{''.join(others)}</details>"
        return first + folded * bool(others)


@dataclass(frozen=True)
class Axis:
    """An axis of a chart: its ticks as values and labels, its title, whether it is logarithmic."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    title: str
    log: bool = False

    def at(self, values: Any, begin: float, end: float) -> np.ndarray:
        """Places of values between two ends of the chart."""
        values = np.asarray(values, dtype=float)
        low, high = self.low, self.high
        if self.log:
            values, low, high = np.log(np.maximum(values, low)), math.log(low), math.log(high)
        return begin + (end - begin) * (np.clip(values, low, high) - low) / (high - low)


def axis(values: Iterable[float], title: str, *, most: int = 5) -> Axis:
    """An axis from 0 to above the largest value, with round ticks."""
    top = max((float(v) for v in values if math.isfinite(v)), default=0.0)
    top = top if top > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(top / most))
    step = next(
        digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power * most >= top * 0.999
    )
    ticks = [step * k for k in range(math.ceil(top / step * 0.999) + 1)]
    return Axis(0.0, ticks[-1], [(tick, f"{tick:,.10g}") for tick in ticks], title)


def hours_axis(hours: Iterable[float], title: str) -> Axis:
    """A logarithmic axis of hours from a minute on."""
    top = max((float(v) for v in hours if math.isfinite(v)), default=0.0)
    named = {1 / 60: "≤ 1 min", 1 / 6: "10 min", 1.0: "1 h", 10.0: "10 h", 100.0: "100 h",
             1000.0: "1,000 h", 10_000.0: "10,000 h", 1e5: "100,000 h"}  # fmt: skip
    last = next((each for each in list(named)[2:] if each >= top), 1e5)
    return Axis(
        1 / 60, last, [(v, name) for v, name in named.items() if v <= last], title, log=True
    )


def time_axis(first: float, last: float, began: pd.Timestamp | None) -> Axis:
    """An axis of time in seconds of the log: dates where it tells when it began, else days."""
    last = max(last, first + 60.0)
    if began is None:
        days = axis([(last - first) / DAY], "days since the log began")
        ticks = [
            (first + tick * DAY, name) for tick, name in days.ticks if first + tick * DAY <= last
        ]
        return Axis(first, last, ticks, days.title)
    form = "%Y-%m-%d" if last - first > 5 * DAY else "%m-%d %H:%M"
    ticks = [
        (at, f"{began + pd.Timedelta(at, 's'):{form}}")
        for at in np.linspace(first, last, 4).tolist()
    ]
    return Axis(first, last, ticks, "date")


def line_chart(
    series: Mapping[str, tuple[Any, Any]],
    x: Axis,
    y: Axis,
    *,
    bands: Mapping[str, tuple[Any, Any]] | None = None,
    steps: bool = False,
) -> str:
    """Lines by name, each of places and values; `bands` are from low to high at the same places."""
    height = 244 + 18 * len(series)
    end, foot = WIDTH - RIGHT, 230 - BOTTOM
    parts = [_frame(x, y, foot)]
    for place, (name, (xs, ys)) in enumerate(series.items()):
        tint = CYCLE[place % len(CYCLE)]
        across, up = x.at(xs, LEFT, end), y.at(ys, foot, TOP)
        if bands and name in bands:
            low, high = (y.at(side, foot, TOP) for side in bands[name])
            outline = [*zip(across, low, strict=True), *zip(across[::-1], high[::-1], strict=True)]
            parts.append(f'<polygon points="{_points(outline)}" fill="{tint}" opacity="0.15"/>')
        if steps:
            across, up = np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]
        dash = DASHES[place % len(DASHES)]
        line = f'fill="none" stroke="{tint}" stroke-width="2" stroke-dasharray="{dash}"'
        points = _points(zip(across, up, strict=True))
        parts.append(f'<polyline points="{points}" {line}/>')
        row = 244 + 18 * place
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + 30}" y1="{row}" y2="{row}" {line}/>')
        parts.append(_text(LEFT + 38, row + 4, name))
    return _svg(parts, height)


def dot_chart(table: pd.DataFrame, x: Axis) -> str:
    """Marks of a table by row and column, and a line from its `low` to its `high` in each row."""
    left, foot = _room(table.index), TOP + 24 * len(table)
    parts = [_ticks(x, left, foot)]
    kinds = [name for name in table if name not in ("low", "high")]
    for place, row in enumerate(table.to_dict("records")):
        up = TOP + 24 * place + 12
        parts.append(_text(left - 6, up + 4, _cut(table.index[place]), "end"))
        ends = np.array([row.get("low", math.nan), row.get("high", math.nan)])
        if np.isfinite(ends).all():
            begin, end = x.at(ends, left, WIDTH - RIGHT)
            parts.append(f'<line x1="{begin:.1f}" x2="{end:.1f}" y1="{up}" y2="{up}" '
                         f'stroke="{BLUE}" stroke-width="3"/>')  # fmt: skip
        parts += [_mark(float(x.at(row[name], left, WIDTH - RIGHT)), up, kind)
                  for kind, name in enumerate(kinds) if math.isfinite(row[name])]  # fmt: skip
    for kind, name in enumerate(kinds):
        parts.append(_mark(left + 8, foot + 58 + 18 * kind, kind))
        parts.append(_text(left + 20, foot + 62 + 18 * kind, str(name)))
    return _svg(parts, foot + 58 + 18 * len(kinds))


def heat_map(table: pd.DataFrame, title: str) -> str:
    """Cells of a table as shades, rows by name, columns of hours; the darkest has its number."""
    values = table.to_numpy(dtype=float)
    top = float(np.nanmax(values, initial=0.0)) or 1.0
    place = divmod(int(np.argmax(np.nan_to_num(values))), values.shape[1])
    darkest = f"{table.index[place[0]]} {table.columns[place[1]]} h, {cell(values[place])} h"
    width, high = (WIDTH - LEFT - RIGHT) / values.shape[1], 20
    parts = []
    for row, name in enumerate(table.index):
        parts.append(_text(LEFT - 6, TOP + high * row + 15, str(name), "end"))
        for column, value in enumerate(values[row]):
            shade = 0.0 if math.isnan(value) else value / top
            parts.append(f'<rect x="{LEFT + width * column:.1f}" y="{TOP + high * row}" '
                         f'width="{width:.1f}" height="{high}" fill="{BLUE}" '
                         f'fill-opacity="{shade:.2f}" stroke="#ddd"/>')  # fmt: skip
    foot = TOP + high * len(table) + 16
    parts += [_text(LEFT + width * (c + 0.5), foot, str(table.columns[c]), "middle")
              for c in range(0, values.shape[1], 3)]  # fmt: skip
    parts.append(_text(LEFT, foot + 20, f"{title}; darkest: {darkest}"))
    return _svg(parts, foot + 28)


def table_html(table: pd.DataFrame, caption: str) -> str:
    """A table with its numbers in words, its first rows where it is long."""
    shown = table.head(MOST_ROWS)
    index = [name or "" for name in shown.index.names]
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in [*index, *shown.columns])
    rows = []
    for key, row in zip(shown.index, shown.itertuples(index=False, name=None), strict=True):
        cells = [*(key if isinstance(key, tuple) else (key,)), *row]
        rows.append("".join(f"<td>{html.escape(cell(each))}</td>" for each in cells))
    more = f" (the first {MOST_ROWS} of {len(table):,} rows)" if len(table) > MOST_ROWS else ""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{html.escape(caption + more)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def cell(value: Any) -> str:
    """A value of a table in words: three digits, whole numbers in full, unknown ones as such."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool | str):
        return str(value)
    if float(value) == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.1g}"


def document(title: str, body: str) -> str:
    """A page that needs nothing else."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _frame(x: Axis, y: Axis, foot: float) -> str:
    """Both axes of a chart of lines, with ticks and titles."""
    lines = []
    for tick, name in y.ticks:
        up = float(y.at([tick], foot, TOP)[0])
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up:.1f}" y2="{up:.1f}" '
                     'stroke="#ddd"/>')  # fmt: skip
        lines.append(_text(LEFT - 5, up + 4, name, "end"))
    title = html.escape(y.title)
    lines.append(f'<text x="12" y="{(TOP + foot) / 2:.0f}" text-anchor="middle" '
                 f'transform="rotate(-90 12 {(TOP + foot) / 2:.0f})">{title}</text>')  # fmt: skip
    return "".join(lines) + _ticks(x, LEFT, foot, grid=False)


def _ticks(x: Axis, left: float, foot: float, *, grid: bool = True) -> str:
    """The horizontal axis: a line, ticks whose labels do not overlap, and the title."""
    end, lines, free = WIDTH - RIGHT, [], -math.inf
    lines.append(f'<line x1="{left}" x2="{end}" y1="{foot}" y2="{foot}" stroke="{BLACK}"/>')
    for tick, name in x.ticks:
        across = float(x.at([tick], left, end)[0])
        above = TOP if grid else foot
        lines.append(f'<line x1="{across:.1f}" x2="{across:.1f}" y1="{above}" y2="{foot + 5}" '
                     f'stroke="{"#ccc" if grid else BLACK}"/>')  # fmt: skip
        half = LETTER * len(name) / 2
        middle = min(max(across, half), WIDTH - half)
        if middle - half > free:
            lines.append(_text(middle, foot + 18, name, "middle"))
            free = middle + half + 4
    lines.append(_text((left + end) / 2, foot + 35, x.title, "middle"))
    return "".join(lines)


def _mark(across: float, up: float, kind: int) -> str:
    """A mark: its form and its color tell its kind."""
    sides = (f'r="5" cx="{across:.1f}" cy="{up}"',
             f'x="{across - 4:.1f}" y="{up - 4}" width="8" height="8"')[kind > 0]  # fmt: skip
    return f'<{("circle", "rect")[kind > 0]} {sides} fill="{CYCLE[kind]}"/>'


def _room(rows: Sequence[str]) -> float:
    """Units that the names of rows need on the left."""
    return 14 + LETTER * max((len(_cut(row)) for row in rows), default=1)


def _cut(name: str, most: int = 26) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text {place}>{html.escape(text)}</text>"


def _points(pairs: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def _svg(parts: Sequence[str], height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="13" fill="{BLACK}">'
        f"{''.join(parts)}</svg>"
    )
