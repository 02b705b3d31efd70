"""Outputs as notebooks store them: pictures and figures that look the same and take fewer bytes.

Both functions leave alone what they have made. So a notebook that is run again is stored with the
same bytes, and a fresh output compares equal to a stored one once both have this form.
"""

import base64
import io
from typing import Any

import numpy as np

from cosimlab import palette

PLOTLY = "application/vnd.plotly.v1+json"
"""The kind of output that is a Plotly figure."""
COLORS = (48, 32, 24, 16)
"""Numbers of colors that a stored picture may have: the first whose picture is small enough."""
MOST_BYTES = 25 * 1024
FILLED = 0.002
"""A color that fills this share of a picture is kept exactly."""
OWN = [int(color[1:], 16) for color in dict.fromkeys((*palette.CYCLE, *palette.OWN, palette.GREY))]
"""Colors of policies and actions, which legends explain: they are kept exactly, too."""
ARRAYS = ("x", "y", "base")
"""Parts of a trace that Plotly also takes as an array in base64."""
LONG = 8
"""A list with at least so many numbers takes fewer bytes as an array."""
WHOLE = ("i1", "i2")
"""Kinds of whole numbers that take less than four bytes."""
DIGITS = 5


def in_palette(png: str) -> str:
    """A picture, in base64, with so few colors that it has at most `MOST_BYTES` bytes.

    A picture in a palette that is small enough stays as it is. Where not even the fewest colors
    make a picture small enough, it has the fewest.
    """
    from PIL import Image

    before = base64.b64decode(png)
    picture = Image.open(io.BytesIO(before))
    pixels = np.asarray(picture.convert("RGB"), dtype=int) @ [1 << 16, 1 << 8, 1]
    found, place, count = np.unique(pixels, return_inverse=True, return_counts=True)
    if picture.mode == "P" and (len(before) <= MOST_BYTES or found.size <= COLORS[-1]):
        return png
    colors = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    for most in COLORS:
        kept, nearest = fewer_colors(colors, count, most)
        reduced = Image.fromarray(nearest[place].astype(np.uint8))
        reduced.putpalette(kept.astype(np.uint8).tobytes())
        stored = io.BytesIO()
        reduced.save(stored, "PNG", optimize=True)
        if stored.tell() <= MOST_BYTES:
            break
    return base64.b64encode(stored.getvalue()).decode()


def fewer_colors(colors: np.ndarray, count: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` of the colors, and for each color which of them takes its place.

    First come the colors that fill an area, then those of policies and actions (`OWN`). Then comes,
    again and again, the color that is farthest from those already there. So no color is far from
    the one that takes its place, however few pixels it has: thin lines keep their hue.
    """
    by_count = np.argsort(-count, kind="stable")
    filled = int((count >= FILLED * count.sum()).sum())
    own = np.flatnonzero(np.isin(colors @ [1 << 16, 1 << 8, 1], OWN))
    kept = by_count[: max(1, min(filled, most // 2))].tolist()
    kept = list(dict.fromkeys([*kept, *own.tolist()]))[:most]
    apart = np.abs(colors[:, np.newaxis] - colors[kept]).max(axis=2)
    nearest, distance = apart.argmin(axis=1), apart.min(axis=1)
    while len(kept) < most and distance.any():
        farthest = int(distance.argmax())
        apart = np.abs(colors - colors[farthest]).max(axis=1)
        nearest[apart < distance] = len(kept)
        distance = np.minimum(distance, apart)
        kept.append(farthest)
    return colors[kept], nearest


def compact(value: Any) -> Any:
    """A part of a Plotly figure's JSON with numbers of five to seven digits.

    Lists of numbers on axes become arrays in base64, as Plotly itself writes those of NumPy. Their
    numbers have up to four bytes, which are 7 digits. Other numbers that are not whole get 5.
    """
    if isinstance(value, dict):
        if value.get("dtype") == "f8":
            return value | _array(np.frombuffer(base64.b64decode(value["bdata"])))
        return {
            name: _array(part) if name in ARRAYS and _is_numbers(part) else compact(part)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [compact(part) for part in value]
    if isinstance(value, float) and not value.is_integer():
        return float(f"{value:.{DIGITS}g}")
    return value


def _is_numbers(value: Any) -> bool:
    """Whether this is a long list of numbers, and of nothing else."""
    if not isinstance(value, list) or len(value) < LONG:
        return False
    return all(type(part) in (int, float) for part in value)


def _array(given: Any) -> dict[str, str]:
    """Numbers in Plotly's base64: small whole ones exactly, others in four bytes each."""
    numbers = np.asarray(given, dtype=float)
    # What is not a number, or too large, has no whole number.
    with np.errstate(invalid="ignore"):
        exact = (kind for kind in WHOLE if (numbers.astype(kind) == numbers).all())
        kind = next(exact, "f4")
    content = numbers.astype(np.dtype(kind).newbyteorder("<")).tobytes()
    return {"dtype": kind, "bdata": base64.b64encode(content).decode()}
