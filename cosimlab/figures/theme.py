"""Layout, markers and patterns that all figures share; colors are those of `cosimlab.palette`.

What a color tells, a marker, a dash or a pattern tells too.
"""

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
from numpy.typing import ArrayLike

from cosimlab.palette import BLACK as BLACK
from cosimlab.palette import BLUE as BLUE
from cosimlab.palette import CYCLE as CYCLE
from cosimlab.palette import GREEN as GREEN
from cosimlab.palette import GREY as GREY
from cosimlab.palette import NAMED as NAMED
from cosimlab.palette import ORANGE as ORANGE
from cosimlab.palette import PURPLE as PURPLE
from cosimlab.palette import SKY as SKY
from cosimlab.palette import VERMILION as VERMILION
from cosimlab.palette import YELLOW as YELLOW
from cosimlab.palette import color as color
from cosimlib.display import zone
from cosimlib.units import DAY

MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")

PATTERNS = {"kill": "x", "app": "", "sys": "/", "keep": ".", "spare": "/"}
PATTERNS |= {"HH": "", "HY": "/", "YH": "\\", "YY": ".", "base": "", "ideal": "x"}
"""Patterns of named bars."""
HATCHES = ("", "/", "x", ".", "\\", "+")
"""Patterns of other bars, by their place."""
COLORSCALE = "Cividis_r"
LABELS = 30
"""Names that have room along an axis."""
DASHED = {"dash": "dash", "width": 1, "color": BLACK}
"""A line of reference."""
ABOVE = {
    "orientation": "h",
    "x": 1,
    "xanchor": "right",
    "y": 1.01,
    "yref": "paper",
    "yanchor": "bottom",
}
"""A short legend on the upper edge of the axes; by default legends are under the figure."""
AXIS = {
    "showline": True,
    "linecolor": BLACK,
    "ticks": "outside",
    "gridcolor": "#EEEEEE",
    "zeroline": False,
    "automargin": True,
    # "20,000" and "0.0003", where Plotly would write "20k" and "300µ".
    "exponentformat": "none",
    "separatethousands": True,
}

pio.templates["cosimlib"] = go.layout.Template(
    layout={
        "font": {"family": "DejaVu Sans, Verdana, Arial, sans-serif", "size": 13, "color": BLACK},
        "title": {"x": 0.0, "xref": "paper", "xanchor": "left", "font": {"size": 16}},
        "colorway": list(CYCLE),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "margin": {"l": 75, "r": 25, "t": 70, "b": 60},
        # On the lower edge of the picture: Plotly keeps what room its rows need.
        "legend": {
            "bgcolor": "rgba(255,255,255,0.8)",
            "orientation": "h",
            "x": 0,
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "xaxis": {**AXIS, "title": {"standoff": 8}},
        "yaxis": AXIS,
    }
)


if "PLOTLY_RENDERER" not in os.environ:
    pio.renderers.default = os.environ.get("COSIMLIB_RENDERER", "plotly_mimetype")


def bar(tint: str, shape: str = "") -> dict[str, Any]:
    """The marker of bars in a color, outlined, hatched where a pattern is named."""
    pattern = {
        "shape": shape,
        "fillmode": "overlay",
        "fgcolor": BLACK,
        "fgopacity": 0.5,
        "solidity": 0.15,
        "size": 7,
    }
    return {"color": tint, "line": {"color": BLACK, "width": 0.5}, "pattern": pattern}


def area(tint: str, shape: str = "") -> dict[str, Any]:
    """How the area under steps is filled: in a color, hatched where a pattern is named."""
    pattern = {
        "shape": shape,
        "fillmode": "overlay",
        "fgcolor": BLACK,
        "fgopacity": 0.35,
        "solidity": 0.12,
        "size": 8,
    }
    return {"fillcolor": tint, "fillpattern": pattern if shape else {}}


def steps(x: Any, y: Any, tint: str, shape: str | None = None, **options: Any) -> go.Scatter:
    """A line of values that hold until the next; with a shape, the area under it is filled."""
    filled = {} if shape is None else area(tint, shape)
    line = {"shape": "hv", "width": 1.2 if shape is None else 0.6, "color": tint}
    return go.Scatter(
        x=x, y=y, mode="lines", line=line | options.pop("line", {}), **(filled | options)
    )


def mark(name: str, place: int = 0) -> tuple[str, str]:
    """Color and pattern of bars: of a name, or else of a place.

    A bar whose color is black is white, so that its pattern is seen.
    """
    tint = color(name, place)
    shape = PATTERNS.get(name, HATCHES[place % len(HATCHES)])
    return "white" if tint == BLACK and shape else tint, shape


def patterned(name: str) -> dict[str, Any]:
    """The marker of bars in a name's own color and pattern."""
    return bar(NAMED[name], PATTERNS[name])


def faded(tint: str, opacity: float = 0.3) -> str:
    """A hexadecimal color, mostly transparent, so that what is on it or under it is legible."""
    red, green, blue = (int(tint[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def headings(names: Iterable[object], label: str = "") -> list[str]:
    """Headings of panels: a letter, what all have in common, and the name of each."""
    named = (f"{name:,}" if type(name) is int else str(name) for name in names)
    return [
        f"({letter}) {label} {name}".replace("  ", " ")
        for letter, name in zip("abcdefghijklmnopqrstuvwxyz", named, strict=False)
    ]


def log_axis(values: Any) -> dict[str, Any]:
    """A logarithmic axis for these values, with two ticks or more.

    Ticks are at powers of ten; at 1, 2 and 5 times these where the values span less than a hundred.
    """
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values) & (values > 0)]
    axis: dict[str, Any] = {"type": "log", "tickformat": ",~r"}
    if not values.size:
        return axis
    low, high = values.min(), values.max()
    if high >= 100 * low:
        return {**axis, "dtick": 1}
    ticks = np.multiply.outer(10.0 ** np.arange(-15, 16), (1, 2, 5)).ravel()
    if ((low <= ticks) & (ticks <= high)).sum() < 2:
        first, last = np.log10([ticks[ticks <= low][-1], ticks[ticks > high][0]]).tolist()
        axis["range"] = [first - 0.03, last + 0.03]
    return {**axis, "dtick": "D2"}


def names_axis(shown: int) -> dict[str, Any]:
    """An axis of names from the top down, as many labeled as have room."""
    every = max(1, -(-shown // LABELS))
    return {"type": "category", "autorange": "reversed", "dtick": every, "tickfont_size": 11}


def legend_entry(name: str, **options: Any) -> go.Scatter:
    """An entry of the legend without a point."""
    return go.Scatter(x=[None], y=[None], name=name, showlegend=True, **options)


def whole_step(last: float, most: int = 6) -> int:
    """A round whole number of which at most so many steps lead from 0 to `last`.

    For axes of bars: Plotly would put their ticks on the bars.
    """
    step = max(1.0, last / most)
    power = 10 ** math.floor(math.log10(step))
    return int(next(digit * power for digit in (1, 2, 5, 10) if digit * power >= step))


def over_time(
    seconds: ArrayLike, began: pd.Timestamp | None = None
) -> tuple[np.ndarray, dict[str, str]]:
    """Seconds from the start of a trace as values of an axis, and the options of that axis.

    Dates on the clock of the place where `began`, the calendar time of second 0, is known; days
    elsewhere.
    """
    seconds = np.asarray(seconds, dtype=float)
    if began is None:
        return (seconds / DAY).round(5), {"title": "days since the start of the trace"}
    dates = (began + pd.to_timedelta(seconds.round(), unit="s")).tz_localize(None)
    return dates.strftime("%Y-%m-%d %H:%M:%S").to_numpy(), {
        "title": f"date ({zone(began)})",
        "type": "date",
    }


def hours_since(began: pd.Timestamp | None, otherwise: str, *, start: float = 0.0) -> str:
    """The title of an axis of hours since `start` (s): with a date where second 0 has one."""
    if began is None:
        return otherwise
    moment = began + pd.Timedelta(round(start), "s")
    return f"hours since {moment:%Y-%m-%d %H:%M} ({zone(moment)})"


def figure(**layout: Any) -> go.Figure:
    """An empty figure in the house's layout."""
    return style(go.Figure(), **layout)


def style(picture: go.Figure, **layout: Any) -> go.Figure:
    """`picture` in the house's layout, with changes."""
    return picture.update_layout(template="cosimlib", **layout)
