"""Page of a report: small SVG charts, tables and sentences in one HTML file without links.

Charts are 440 units wide with letters of size 13, so that they can be read on a telephone and on
paper. Colors are those of all figures; a dash, a mark or a word always repeats the meaning of a
color.
"""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.palette import BLACK, BLUE, CYCLE
from cosimlib.display import UNKNOWN, count, percent
from cosimlib.units import DAY, MINUTE

WIDTH, LEFT, END, TOP, BOTTOM = 440, 58, 428, 12, 44
PANEL = 84
"""Height of one of several panels."""
LETTER = 7.8
"""Mean width of a letter in a chart."""

LEAST_SHADE = 1.0
"""Width of a shaded stretch at least, so that short ones are seen."""

DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4")
MOST_WORDS = 25
"""Words of a finding."""
MOST_ROWS = 20
"""Rows of a table on the page; `Report.tables` has all."""
SHARES = {"share", "share used", "utilization", "offered load"}
"""Names of columns whose values are shares, shown in percent."""

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #111; background: #fff;
  max-width: 46rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.2rem;
  border-top: 1px solid #ccc; padding-top: .8rem; }
li { margin: .45rem 0; } .how { color: #333; } .note { color: #555; font-size: .85rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.6rem, 1fr)); gap: .6rem; }
.tiles div { border: 1px solid #ccc; border-radius: 4px; padding: .5rem .6rem; }
.tiles strong { display: block; font-size: 1.15rem; }
.tiles span { display: block; font-size: .9rem; } .tiles small { color: #555; }
details.how { font-size: .85rem; margin: -.6rem 0 .6rem; } details.how p { margin: .3rem 0; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; margin: .8rem 0; }
.wide { overflow-x: auto; background: linear-gradient(to right, #fff 2rem, #fff0) local,
  linear-gradient(to left, #fff 2rem, #fff0) 100% 0 / 100% 100% local,
  linear-gradient(to right, #0004, #0000 .7rem), linear-gradient(to left, #0004, #0000 .7rem);
  background-repeat: no-repeat; }
table { border-collapse: collapse; font-size: .82rem; margin: .6rem 0; }
caption { text-align: left; font-weight: 600; padding: .2rem 0; }
th, td { border-bottom: 1px solid #ddd; padding: .2rem .5rem; text-align: right; }
td { white-space: nowrap; }
th.words, td.words { text-align: left; white-space: normal; }
th:first-child, td:first-child { min-width: 5em; } nav a { margin-right: .8rem; }
.changes td { vertical-align: top; }
@media (max-width: 40rem) { .changes thead { display: none; }
  .changes table, .changes caption, .changes tbody, .changes tr, .changes td { display: block; }
  .changes tr { border-bottom: 1px solid #ccc; padding: .3rem 0; } .changes td { border: 0; }
  .changes td:nth-child(1)::before { content: "Rank "; }
  .changes td:nth-child(4)::before { content: "Gain: "; }
  .changes td:nth-child(5)::before { content: "Lose: "; }
  .changes td:nth-child(6)::before { content: "Such intervals held the truth in: "; } }
@media print { body { max-width: none; font-size: 10pt; padding: 0; } nav { display: none; }
  h2, caption { break-after: avoid; } svg, tr, li, .tiles div { break-inside: avoid; }
  svg { max-width: 13cm; } .wide { overflow: visible; background: none; } a { color: inherit; }
  details::details-content { content-visibility: visible; } }
"""


@dataclass(frozen=True, eq=False)
class Section:
    """Section of a report: findings, pictures, tables, and how to read them.

    Parameters
    ----------
    name : str
        One word, the key in `Report`.
    title : str
    findings : tuple of str
        Sentences of at most `MOST_WORDS` words, with intervals.
    pictures : tuple of str
        SVG.
    tables : dict of str to pd.DataFrame
        By caption.
    how_to_read : str
        How to read pictures and tables.
    computed : dict of str to str
        How a finding was computed, by the finding; folded behind it.
    """

    name: str
    title: str
    findings: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    how_to_read: str = ""
    computed: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"- {finding}" for finding in self.findings)])

    def __repr__(self) -> str:
        return f"<Section {self.name}: {count(len(self.findings), 'finding')}>"

    def _repr_html_(self) -> str:
        return "".join([self._sentences(), *self.pictures, self._how_to_read(), self._tables()])

    def _ipython_display_(self) -> None:
        """Words, pictures and tables as outputs of their own, as GitHub can show them."""
        from IPython.display import HTML, SVG, display

        after = HTML(self._how_to_read() + self._tables())
        display(HTML(self._sentences()), *map(SVG, self.pictures), after)

    def _sentences(self) -> str:
        return "".join(map(self._sentence, self.findings))

    def _sentence(self, finding: str) -> str:
        """A finding; how it was computed is folded behind it."""
        sentence = f"<p>{html.escape(finding)}</p>"
        return sentence + folded(self.computed.get(finding, ""))

    def _how_to_read(self) -> str:
        how = f'<p class="how"><em>How to read it.</em> {html.escape(self.how_to_read)}</p>'
        return how if self.how_to_read else ""

    def _tables(self) -> str:
        """The first table; the others folded."""
        first, *others = [table_html(t, caption) for caption, t in self.tables.items()] or [""]
        folded = f"<details><summary>More tables</summary>{''.join(others)}</details>"
        return first + folded * bool(others)


def folded(how: str) -> str:
    """How something was computed, folded; nothing if that is not told."""
    if not how:
        return ""
    summary = "<summary>How this was computed</summary>"
    return f'<details class="how">{summary}<p>{html.escape(how)}</p></details>'


@dataclass(frozen=True)
class Axis:
    """An axis of a chart: its ticks as values and labels, its title, whether it is logarithmic."""

    low: float
    high: float
    ticks: list[tuple[float, str]]
    title: str
    log: bool = False

    def at(self, values: Any, begin: float, end: float) -> Any:
        """Places of values between two ends of the chart."""
        scale: Any = np.log if self.log else np.asarray
        low, high = scale(self.low), scale(self.high)
        places = scale(np.clip(np.asarray(values, dtype=float), self.low, self.high))
        return begin + (end - begin) * (places - low) / (high - low)


def axis(values: Any, title: str, *, most: int = 5) -> Axis:
    """An axis from 0 to above the largest value, with round ticks."""
    top = _largest(values) or 1.0
    power = 10.0 ** math.floor(math.log10(top / most))
    step = next(
        digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power * most >= top * 0.999
    )
    ticks = [step * k for k in range(math.ceil(top / step * 0.999) + 1)]
    return Axis(0.0, ticks[-1], [(tick, f"{tick:,.10g}") for tick in ticks], title)


def hours_axis(hours: Any, title: str) -> Axis:
    """A logarithmic axis of hours from a minute on."""
    named = {1 / 60: "≤ 1 min", 1 / 6: "10 min", **{10.0**k: f"{10**k:,} h" for k in range(6)}}
    last = next((each for each in list(named)[2:] if each >= _largest(hours)), 1e5)
    ticks = [(value, name) for value, name in named.items() if value <= last]
    return Axis(1 / 60, last, ticks, title, log=True)


def time_axis(first: float, last: float, began: pd.Timestamp | None) -> Axis:
    """An axis of time in seconds of the log: dates where it tells when it began, else days."""
    last = max(last, first + MINUTE)
    if began is None:
        days = axis([(last - first) / DAY], "days since the log began")
        ticks = [(first + tick * DAY, name) for tick, name in days.ticks]
        return Axis(first, last, [tick for tick in ticks if tick[0] <= last], days.title)
    form = "%Y-%m-%d" if last - first > 5 * DAY else "%m-%d %H:%M"
    times = np.linspace(first, last, 4).tolist()
    ticks = [(time, f"{began + pd.Timedelta(time, 's'):{form}}") for time in times]
    return Axis(first, last, ticks, "date")


def line_chart(
    table: pd.DataFrame,
    x: Axis | str,
    y: str,
    *,
    low: pd.DataFrame | None = None,
    high: pd.DataFrame | None = None,
    steps: bool = False,
    shaded: Iterable[Any] = (),
) -> str:
    """Columns of a table as lines over its index; bands from `low` to `high`, of the same columns.

    An axis that is a title begins at 0 and has round ticks.
    Pairs of values are `shaded` between.
    """
    foot = 230 - BOTTOM
    x = axis(table.index, x) if isinstance(x, str) else x
    scale = axis(table if high is None else high, y)
    parts = _frame(x, scale, LEFT, foot)
    parts += _shades(x, shaded, TOP, foot)
    for place, name in enumerate(table):
        tint = CYCLE[place % len(CYCLE)]
        across, up = x.at(table.index, LEFT, END), scale.at(table[name], foot, TOP)
        if low is not None and high is not None:
            below, above = (scale.at(side[name], foot, TOP) for side in (low, high))
            outline = _points([*across, *across[::-1]], [*below, *above[::-1]])
            parts.append(f'<polygon points="{outline}" fill="{tint}" opacity="0.15"/>')
        if steps:
            across, up = np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]
        dash = f'stroke-width="2" stroke-dasharray="{DASHES[place % len(DASHES)]}"'
        points = _points(across, up)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{tint}" {dash}/>')
        row = 244 + 18 * place
        parts.append(_line(LEFT, row, LEFT + 30, row, tint, dash))
        parts.append(_text(LEFT + 38, row + 4, str(name)))
    return _svg(parts, 244 + 18 * table.shape[1])


def steps_chart(
    table: pd.DataFrame,
    last: float,
    began: pd.Timestamp | None,
    y: str,
    shaded: Iterable[Any] = (),
) -> str:
    """Columns of a table as steps from each instant (s) of its index on, up to the last."""
    times = [*table.index, last]
    steps = table.reindex(times[:-1] + times[-2:-1]).set_axis(times)
    return line_chart(steps, time_axis(times[0], last, began), y, steps=True, shaded=shaded)


def panels_chart(
    panels: dict[str, pd.Series],
    last: float,
    began: pd.Timestamp | None,
    shaded: Iterable[Any] = (),
) -> str:
    """Series as steps from each instant (s) of their index on, one above the other on one axis.

    Pairs of values are `shaded` between, in all panels.
    """
    first = float(next(iter(panels.values())).index[0])
    x, parts, shaded = time_axis(first, last, began), [], list(shaded)
    for place, (name, values) in enumerate(panels.items()):
        top = TOP + place * (PANEL + 14)
        foot, is_last = top + PANEL, place == len(panels) - 1
        y = axis(values, name, most=3)
        parts += _frame(x, y, LEFT, foot, top=top, named=is_last) + _shades(x, shaded, top, foot)
        across = x.at([*np.repeat(values.index.to_numpy(), 2)[1:], last], LEFT, END)
        up = np.repeat(y.at(values, foot, top), 2)
        tint = f'stroke="{CYCLE[place]}" stroke-width="2"'
        parts.append(f'<polyline points="{_points(across, up)}" fill="none" {tint}/>')
    return _svg(parts, TOP + len(panels) * (PANEL + 14) + BOTTOM - 14)


def _shades(x: Axis, shaded: Iterable[Any], top: float, foot: float) -> list[str]:
    """Grey stretches between pairs of values."""
    parts = []
    for stretch in shaded:
        begin, end = x.at(stretch, LEFT, END)
        corner, width = f'x="{begin:.1f}" y="{top}"', max(end - begin, LEAST_SHADE)
        parts.append(f'<rect {corner} width="{width:.1f}" height="{foot - top}" fill="#bbb"/>')
    return parts


def tiles_html(tiles: Iterable[Any]) -> str:
    """Numbers side by side: each its value, its name and, in small print, its interval."""
    cells = "".join(
        f"<div><strong>{html.escape(tile.value)}</strong><span>{html.escape(tile.name)}</span>"
        f"<small>{html.escape(tile.interval)}</small></div>"
        for tile in tiles
    )
    return f'<div class="tiles">{cells}</div>'


def dot_chart(table: pd.DataFrame, x: Axis | str) -> str:
    """Marks of a table by row and column, and a line from its `low` to its `high` in each row."""
    x = axis(table, x) if isinstance(x, str) else x
    y, left = _rows(table.index), 14 + LETTER * max(len(_cut(row)) for row in table.index)
    foot = TOP + 24 * len(table)
    parts = _frame(x, y, left, foot)
    kinds = [name for name in table if name not in ("low", "high")]
    for (place, _), row in zip(y.ticks, table.to_dict("records"), strict=True):
        up = y.at(place, foot, TOP)
        ends = np.array([row.get("low", math.nan), row.get("high", math.nan)])
        if np.isfinite(ends).all():
            begin, end = x.at(ends, left, END)
            parts.append(_line(begin, up, end, up, BLUE, 'stroke-width="3"'))
        parts += [
            _mark(x.at(row[name], left, END), up, kind)
            for kind, name in enumerate(kinds)
            if math.isfinite(row[name])
        ]
    for kind, name in enumerate(kinds):
        below = foot + 58 + 18 * kind
        parts += [_mark(left + 8, below, kind), _text(left + 20, below + 4, str(name))]
    return _svg(parts, foot + 58 + 18 * len(kinds))


def table_html(table: pd.DataFrame, caption: str) -> str:
    """A table with its numbers in words, its first rows where it is long."""
    shown = table.head(MOST_ROWS)
    index = [name or "" for name in shown.index.names]
    shares = [str(name).replace("_", " ") in SHARES for name in shown.columns]
    words = [*[True] * len(index), *(_is_text(shown.iloc[:, n]) for n in range(shown.shape[1]))]
    kinds = [' class="words"' * is_text for is_text in words]
    names = [str(name).replace("_", " ") for name in [*index, *shown.columns]]
    head = "".join(
        f"<th{kind}>{html.escape(name)}</th>" for kind, name in zip(kinds, names, strict=True)
    )
    rows, before = [], None
    for key, row in zip(shown.index, shown.itertuples(index=False, name=None), strict=True):
        first, *others = key if isinstance(key, tuple) else (key,)
        repeated = bool(others) and first == before
        values = [
            percent(each) if is_share else cell(each)
            for each, is_share in zip(row, shares, strict=True)
        ]
        own, before = ["" if repeated else first, *others], first
        cells = zip(kinds, [*map(cell, own), *values], strict=True)
        rows.append("".join(f"<td{kind}>{html.escape(each)}</td>" for kind, each in cells))
    more = f" (the first {MOST_ROWS} of {len(table):,} rows)" if len(table) > MOST_ROWS else ""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{html.escape(caption + more)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _is_text(column: pd.Series) -> bool:
    """Whether a column of a table has words."""
    return any(isinstance(value, str) for value in column)


def cell(value: Any) -> str:
    """A value of a table in words: three digits, whole numbers in full, unknown ones as such."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return UNKNOWN
    if isinstance(value, bool | str):
        return str(value)
    if float(value) == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else f"{value:.1g}"


def capital(text: str) -> str:
    """The same text with a capital first letter."""
    return f"{text[:1].upper()}{text[1:]}"


def document(title: str, body: str) -> str:
    """A page that needs nothing else."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _frame(
    x: Axis, y: Axis, left: float, foot: float, *, top: float = TOP, named: bool = True
) -> list[str]:
    """Lines, ticks and titles of both axes; labels that would overlap are left out.

    The horizontal axis has no labels unless it is `named`.
    """
    parts, free, middle = [], -math.inf, (top + foot) / 2
    for tick, name in y.ticks:
        up = y.at(tick, foot, top)
        parts += [_line(left, up, END, up), _text(left - 6, up + 4, _cut(name), "end")]
    for tick, name in x.ticks:
        across, half = x.at(tick, left, END), LETTER * len(name) / 2
        parts.append(_line(across, top, across, foot + 5))
        place = min(max(across, half), WIDTH - half)
        if named and place - half > free:
            parts.append(_text(place, foot + 18, name, "middle"))
            free = place + half + 4
    if named:
        parts.append(_text((left + END) / 2, foot + 35, x.title, "middle"))
    turned = f'transform="rotate(-90 12 {middle:.0f})"'
    return [
        *parts,
        _line(left, foot, END, foot, BLACK),
        _text(12, middle, y.title, "middle", turned),
    ]


def _rows(names: Iterable[Any]) -> Axis:
    """An axis of names, from the top down."""
    ticks = [(-float(place), str(name)) for place, name in enumerate(names)]
    return Axis(0.5 - len(ticks), 0.5, ticks, "")


def _mark(across: float, up: float, kind: int) -> str:
    """A mark: its form and its color tell its kind."""
    if kind == 0:
        return f'<circle cx="{across:.1f}" cy="{up:.1f}" r="5" fill="{CYCLE[kind]}"/>'
    corner = f'x="{across - 4:.1f}" y="{up - 4:.1f}"'
    return f'<rect {corner} width="8" height="8" fill="{CYCLE[kind]}"/>'


def _line(x: float, y: float, end: float, foot: float, tint: str = "#ddd", more: str = "") -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{foot:.1f}"'
    return f'<line {ends} stroke="{tint}" {more}/>'


def _text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}'
    return f"<text {place}>{html.escape(text)}</text>"


def _cut(name: str, most: int = 26) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _largest(values: Any) -> float:
    """The largest of some numbers, at least 0."""
    values = np.ravel(values).astype(float)
    return float(values[np.isfinite(values)].max(initial=0.0))


def _points(across: Iterable[float], up: Iterable[float]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))


def _svg(parts: Sequence[str], height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="13" fill="{BLACK}">'
        f"{''.join(parts)}</svg>"
    )
