"""JSON documents with a list of jobs, decoded one job at a time.

A document in memory as Python's objects is several times its file; a reader keeps a row per job.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cosimlib import checks as check
from cosimlib.traces.account import TraceError

DECODER = json.JSONDecoder()
SPACE = re.compile(r"[ \t\r\n]*")


class Document:
    """A JSON object; `jobs` yields the elements of its list of jobs, `rest` has the others.

    Parameters
    ----------
    path : Path
    data : bytes
    expected : str
        What errors say the file should be.
    """

    def __init__(self, path: Path, data: bytes, expected: str) -> None:
        self.path, self.expected = path, expected
        self.text = data.decode("utf-8-sig", "replace")
        self.rest: dict[str, Any] = {}

    def jobs(self, name: str = "jobs") -> Iterator[tuple[int, Any]]:
        """Each job, or each element of the list of another name, with its place in the text."""
        place = self._after(0, "{", "no list of jobs")
        found = False
        while self._next(place) != "}":
            key, place = self._value(self._skip(place))
            place = self._after(place, ":", "no ':' after a name")
            if key == name and self._next(place) == "[":
                found = True
                place = self._skip(place) + 1
                while self._next(place) != "]":
                    first = self._skip(place)
                    job, place = self._value(first)
                    yield first, job
                    place = self._comma(place, "]")
                place = self._skip(place) + 1
            else:
                value, place = self._value(self._skip(place))
                if isinstance(key, str):
                    self.rest[key] = value
            place = self._comma(place, "}")
        if self._skip(self._skip(place) + 1) < len(self.text):
            raise self._error(self._skip(place) + 1, "more after the end of the document")
        if not found:
            raise TraceError(f"{self.path}: no list of {name}; expected {self.expected}")

    def line(self, place: int) -> int:
        """The line of a place in the text."""
        return self.text.count("\n", 0, place) + 1

    def refuse(self, place: int, problem: str) -> TraceError:
        """The error for a job, with its line."""
        return TraceError(
            f"{self.path}: line {self.line(place)}: {problem}; expected {self.expected}"
        )

    def _error(self, place: int, problem: str) -> TraceError:
        return self.refuse(min(place, len(self.text)), f"not JSON ({problem})")

    def _skip(self, place: int) -> int:
        """The place of the next character that is no blank."""
        return SPACE.match(self.text, place).end()  # type: ignore[union-attr]

    def _next(self, place: int) -> str:
        """The next character that is no blank."""
        place = self._skip(place)
        if place >= len(self.text):
            raise self._error(place, "the document ends in its midst")
        return self.text[place]

    def _after(self, place: int, character: str, problem: str) -> int:
        """The place after a character, which must come next."""
        place = self._skip(place)
        if not self.text.startswith(character, place):
            raise self._error(place, problem)
        return place + 1

    def _comma(self, place: int, end: str) -> int:
        """The place after a comma, or that of the end."""
        following = self._next(place)
        if following not in (",", end):
            raise self._error(self._skip(place), f"no ',' or '{end}' where one should be")
        return self._skip(place) + (following == ",")

    def _value(self, place: int) -> tuple[Any, int]:
        """A value, and the place after it."""
        try:
            return DECODER.raw_decode(self.text, place)
        except json.JSONDecodeError as error:
            raise self._error(error.pos, error.msg) from error
        except (ValueError, RecursionError) as error:
            raise self._error(place, "a number too long, or lists too deep") from error


def number(value: Any) -> float:
    """A number, also as ``{"set": true, "infinite": false, "number": 1}``; NaN if unknown."""
    if isinstance(value, dict):
        known = value.get("set") and not value.get("infinite")
        value = value.get("number") if known else None
    # Most values are plain numbers, and asking for a number of any kind takes longest.
    if type(value) is not int and type(value) is not float and not check.is_number(value):
        return np.nan
    return float(value) if abs(value) < 2.0**53 else np.nan


def label(value: Any) -> str | None:
    """A text, or a whole number as one; None if unknown."""
    if isinstance(value, str):
        return value or None
    return str(value) if check.is_whole(value) else None
