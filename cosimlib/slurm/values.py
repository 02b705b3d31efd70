"""Values as Slurm writes them: times, memory, limits, resources and lists, read from their text.

A plain number is minutes where a limit of time is meant, and megabytes where memory is. Each reader
raises `SettingError` with what it expects; who knows the setting's name puts that before it.
"""

import math
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
    """A finite number."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise SettingError("a number")
    return found


def within(read: Read, least: float, most: float, what: str) -> Read:
    """A reader of numbers from `least` to `most`; its error says `what` they are, and the range."""
    expected = f"{what} from {least:,}" + (f" to {most:,}" if most < math.inf else "")

    def read_within(text: str) -> Any:
        try:
            found = read(text)
        except SettingError:
            found = math.nan
        if not least <= found <= most:
            raise SettingError(expected)
        return found

    return read_within


count = within(whole, 0, math.inf, "a whole number")
"""A whole number from 0."""


def scaled(read: Read, factor: float) -> Read:
    """A reader of what another one reads, in another unit."""
    return lambda text: read(text) * factor


def or_else(read: Read, words: tuple[str, ...], value: Any, meaning: str) -> Read:
    """A reader that takes some words, too, for a value; its error tells their `meaning`."""

    def read_or_else(text: str) -> Any:
        if text.strip().lower() in words:
            return value
        try:
            return read(text)
        except SettingError as error:
            raise SettingError(f"{error}, or {words[0]} {meaning}") from None

    return read_or_else


def time_from(least: float, *, or_unlimited: bool = False) -> Read:
    """A reader of times of at least so many seconds; -1 is none, UNLIMITED only where it may be."""
    expected = f"minutes, or a time such as 1-12:00:00, from {least / MINUTE:g} min"
    expected += ", or UNLIMITED" * or_unlimited

    def read_from(text: str) -> float:
        try:
            found = math.nan if text.strip() in ("", "-1") else time_of(text)
        except SettingError:
            found = math.nan
        if not found >= least or (found == NO_LIMIT and not or_unlimited):
            raise SettingError(expected)
        return found

    return read_from


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
    if text.strip().lower() in NONE:
        return NO_LIMIT
    return float(or_else(count, ("-1",), NO_LIMIT, "for no limit")(text))


def memory_limit_of(text: str) -> float:
    """A limit in megabytes; none for nothing, −1 and UNLIMITED."""
    return NO_LIMIT if text.strip().lower() in NONE else memory_of(text)


def shares_of(text: str) -> int | None:
    """A number of shares; None for ``parent``, and 1 for -1, with which sacctmgr clears them."""
    if text.strip() == "-1":
        return 1
    return or_else(count, ("parent",), None, "for those of the account")(text)


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
            read = memory_of if name == "mem" else within(number, 0, math.inf, "a number")
            try:
                found[name] = read(amount)
            except SettingError as error:
                raise SettingError(f"{error} for {name}, or -1 for no limit") from None
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
