"""Values as Slurm writes them: times, memory, limits, resources and lists, read from their text.

A plain number is minutes where a limit of time is meant, and megabytes where memory is. Each reader
raises `SettingError` with what it expects; who knows the setting's name puts that before it.
"""

import re
from collections.abc import Callable
from typing import Any

from cosimlib.slurm.site import NO_LIMIT
from cosimlib.units import DAY, HOUR, MINUTE

NONE = ("", "-1", "none", "unlimited", "infinite", "n/a", "(null)")
"""Words for no limit, or no value."""
UNITS_OF_MEMORY = {"": 1.0, "k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}

Read = Callable[[str], Any]


class SettingError(ValueError):
    """A name that Slurm or the simulator does not know, or a value that is none."""


def time_of(text: str) -> float:
    """Seconds of a time of Slurm: minutes, ``m:s``, ``h:m:s``, ``d-h``, ``d-h:m``, ``d-h:m:s``."""
    if text.lower() in NONE:
        return NO_LIMIT
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdecimal() for part in parts) or (dash and not days.isdecimal()):
        raise SettingError("minutes, [days-]hours:minutes:seconds, days-hours or UNLIMITED")
    numbers = [float(part) for part in parts]
    if len(numbers) > 3:
        raise SettingError("minutes, [days-]hours:minutes:seconds, days-hours or UNLIMITED")
    if dash:
        clock = (HOUR, MINUTE, 1.0)
        return float(days) * DAY + sum(n * s for n, s in zip(numbers, clock, strict=False))
    scales = {1: (MINUTE,), 2: (MINUTE, 1.0), 3: (HOUR, MINUTE, 1.0)}[len(numbers)]
    return sum(n * s for n, s in zip(numbers, scales, strict=True))


def time_or_zero(text: str) -> float:
    """Seconds of a time of Slurm; 0 where there is none."""
    return 0.0 if text.strip().lower() in NONE else time_of(text)


def memory_of(text: str) -> float:
    """Megabytes of an amount of memory."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kmgt]?)b?", text.strip().lower())
    if match is None:
        raise SettingError("a number of megabytes, or one with K, M, G or T")
    return float(match[1]) * UNITS_OF_MEMORY[match[2]]


def whole(text: str) -> int:
    """A whole number."""
    if re.fullmatch(r"-?[0-9]+", text.strip()) is None:
        raise SettingError("a whole number")
    return int(text)


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise SettingError("a number") from None


def release_of(text: str) -> str:
    """A release such as 22.05.8."""
    if not re.match(r"\d+\.\d+", text):
        raise SettingError("a release such as 22.05.8")
    return text.strip()


def is_before(release: str, year: int, month: int) -> bool:
    """Whether a release is older than another; an empty one is the newest."""
    if not release:
        return False
    parts = release.split(".")
    return (int(parts[0]), int(parts[1])) < (year, month)


def seconds_of(text: str) -> float:
    """Seconds of a plain number, or of a time with colons."""
    return time_of(text) if ":" in text else number(text)


def limit_of(text: str) -> float:
    """A limit; none for nothing, −1 and UNLIMITED."""
    return NO_LIMIT if text.strip().lower() in NONE else float(whole(text))


def memory_limit_of(text: str) -> float:
    """A limit in megabytes; none for nothing, −1 and UNLIMITED."""
    return NO_LIMIT if text.strip().lower() in NONE else memory_of(text)


def shares_of(text: str) -> int | None:
    """A number of shares; None for ``parent``."""
    return None if text.strip().lower() == "parent" else whole(text)


def yes(text: str) -> bool:
    """Yes or no."""
    word = text.strip().lower()
    if word not in ("yes", "no", "true", "false", "1", "0", "up", "down", ""):
        raise SettingError("YES or NO")
    return word in ("yes", "true", "1", "up", "")


def names_of(text: str) -> tuple[str, ...]:
    """Names parted by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def names_or_all(text: str) -> tuple[str, ...] | None:
    """Names parted by commas; None for ALL."""
    return None if text.strip().lower() == "all" else names_of(text)


def amounts_of(text: str) -> dict[str, float]:
    """Amounts of trackable resources, of which those without a limit (−1) are left out."""
    found = {}
    for part in names_of(text):
        name, equal, amount = part.partition("=")
        if not equal:
            raise SettingError("resources such as cpu=100,mem=200G,gres/gpu=4")
        name = name.strip().lower()
        if amount.strip() != "-1":
            found[name] = memory_of(amount) if name == "mem" else number(amount)
    return found


def weights_of(text: str) -> dict[str, float]:
    """Weights of trackable resources; those of memory are per MB, whatever unit they have."""
    found = {}
    for part in names_of(text):
        name, equal, weight = part.partition("=")
        match = re.fullmatch(r"([0-9.]+)([kmgt]?)", weight.strip().lower())
        if not equal or match is None:
            raise SettingError("weights such as CPU=1.0,Mem=0.25G,GRES/gpu=2.0")
        name = name.strip().lower()
        scale = UNITS_OF_MEMORY[match[2]] if name == "mem" else 1.0
        found[name] = number(match[1]) / scale
    return found


def plain(name: str) -> str:
    """A name in lower case, without blanks and marks except for the underscore."""
    return re.sub(r"[^a-z0-9_]", "", name.lower())
