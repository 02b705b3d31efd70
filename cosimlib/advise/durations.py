"""Durations as operators type them: ``900``, ``90s``, ``15m``, ``1h30m``, ``2d``."""

import re

from cosimlib import checks as check
from cosimlib.units import DAY, HOUR, MINUTE

UNITS = {"s": 1.0, "m": MINUTE, "min": MINUTE, "h": HOUR, "d": DAY}
PART = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d)")
WHOLE = re.compile(rf"(?:{PART.pattern}\s*)+")


def seconds_of(value: object, name: str, *, above: float | None = None) -> float:
    """Seconds of a number or of a text such as ``"15m"``.

    Raises
    ------
    ValueError
        Naming the value and what was expected.
    """
    found = value
    if isinstance(value, str):
        text = value.strip().lower()
        if re.fullmatch(r"\d+(?:\.\d+)?", text):
            found = float(text)
        elif WHOLE.fullmatch(text):
            found = sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))
        else:
            check.that(name, value, False, "seconds, or a duration such as '90s', '15m', '1h30m'")
    check.seconds(name, found, above=above)
    return float(found)  # type: ignore[arg-type]
