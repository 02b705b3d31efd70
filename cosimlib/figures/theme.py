"""Layout, markers and patterns that all figures share; colors are those of `cosimlib.palette`.

What a color tells, a marker, a dash or a pattern tells too.
"""

import math
import os
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio

from cosimlib.display import zone
from cosimlib.figures.still import StillRenderer
from cosimlib.palette import BLACK as BLACK
from cosimlib.palette import BLUE as BLUE
from cosimlib.palette import CYCLE as CYCLE
from cosimlib.palette import GREEN as GREEN
from cosimlib.palette import GREY as GREY
from cosimlib.palette import NAMED as NAMED
from cosimlib.palette import ORANGE as ORANGE
from cosimlib.palette import PURPLE as PURPLE
from cosimlib.palette import SKY as SKY
from cosimlib.palette import VERMILION as VERMILION
from cosimlib.palette import YELLOW as YELLOW
from cosimlib.palette import color as color
from cosimlib.units import DAY

MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")

PATTERNS = {"kill": "x", "app": "", "sys": "/", "keep": ".", "spare": "/"}
COLORSCALE = "Cividis_r"
AXIS = {"showline": True, "linecolor": BLACK, "ticks": "outside", "gridcolor": "#EEEEEE",
        "zeroline": False, "automargin": True,
        # "20,000" and "0.0003", where Plotly would write "20k" and "300µ".
        "exponentformat": "none", "separatethousands": True}  # fmt: skip

pio.templates["cosimlib"] = go.layout.Template(
    layout={
        "font": {"family": "DejaVu Sans, Verdana, Arial, sans-serif", "size": 13, "color": BLACK},
        "title": {"x": 0.0, "xref": "paper", "xanchor": "left", "font": {"size": 16}},
        "colorway": list(CYCLE),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "margin": {"l": 75, "r": 25, "t": 70, "b": 75},
        "legend": {"bgcolor": "rgba(255,255,255,0.8)"},
        "xaxis": {**AXIS, "title": {"standoff": 8}},
        "yaxis": AXIS,
    }
)  # fmt: skip

if "PLOTLY_RENDERER" not in os.environ:
    pio.renderers.default = os.environ.get("COSIMLIB_RENDERER", "plotly_mimetype")
    pio.renderers["png"] = StillRenderer(width=900)


def patterned(name: str) -> dict[str, Any]:
    """A bar's marker: the named color under the named pattern, outlined."""
    pattern = {"shape": PATTERNS[name], "fillmode": "overlay", "fgcolor": BLACK,
               "fgopacity": 0.6, "solidity": 0.15, "size": 7}  # fmt: skip
    return {"color": NAMED[name], "line": {"color": BLACK, "width": 0.5}, "pattern": pattern}


def whole_step(last: float, most: int = 6) -> int:
    """A round whole number of which at most so many steps lead from 0 to `last`.

    For axes of bars: Plotly would put their ticks on the bars.
    """
    step = max(1.0, last / most)
    power = 10 ** math.floor(math.log10(step))
    return int(next(digit * power for digit in (1, 2, 5, 10) if digit * power >= step))


def over_time(
    seconds: np.ndarray, began: pd.Timestamp | None = None
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
