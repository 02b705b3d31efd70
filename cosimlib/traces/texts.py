"""Records of a text log: fields as texts, converted to numbers and times column by column.

An error names the file, the line, the column, the value and what was expected. A column that the
file does not have is unknown throughout.
"""

import codecs
import csv
import io
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.traces.account import TraceError, shortened
from cosimlib.units import DAY, HOUR, MINUTE

INSTANT = "seconds of the epoch, a time such as 2026-01-31T23:59:59"
LENGTH = r"^(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,9}):([0-9]{1,9}(?:\.[0-9]+)?)$"
LATEST = 2.0**52

BATCH = 50_000
"""Records that are converted at a time: as texts they take several times their file."""


class Texts:
    """The records of a file as columns of text.

    Parameters
    ----------
    path : Path
    table : pd.DataFrame
        Texts, NA if unknown.
    line : callable
        The line of a record, by its row.
    unknown : collection of str
        Texts that say that something is unknown.
    """

    def __init__(
        self,
        path: Path,
        table: pd.DataFrame,
        line: Callable[[int], int],
        unknown: Collection[str] = ("",),
    ) -> None:
        self.path, self.table, self.line, self.unknown = path, table, line, list(unknown)

    def __len__(self) -> int:
        return len(self.table)

    def __contains__(self, column: str) -> bool:
        return column in self.table

    def labels(self, column: str) -> pd.Series:
        """The texts themselves, NA if unknown."""
        if column not in self.table:
            return pd.Series(pd.NA, index=self.table.index, dtype="string")
        values = self.table[column].astype("string")
        return values.mask(values.isin(self.unknown))

    def numbers(
        self, column: str, expected: str = "a number", *, below: float = np.inf
    ) -> pd.Series:
        """Finite numbers, NaN if unknown."""
        values = self.labels(column)
        numbers = pd.to_numeric(values, errors="coerce").astype("float64")
        numbers = numbers.where(numbers.abs() < below)
        return self._checked(column, values, numbers, f"{expected}, or nothing where unknown")

    def instants(self, column: str, unknown: str = "nothing where unknown") -> pd.Series:
        """Seconds of the epoch of times written as such, or as dates (UTC where no zone is)."""
        values = self.labels(column)
        seconds = pd.to_numeric(values, errors="coerce").astype("float64")
        seconds = seconds.where(seconds.abs() < LATEST)
        if (seconds.isna() & values.notna()).any():
            seconds = seconds.fillna(epoch(values.where(seconds.isna())))
        return self._checked(column, values, seconds, f"{INSTANT}, or {unknown}")

    def lengths(self, column: str) -> pd.Series:
        """Seconds of lengths like ``1-02:03:04``, or of numbers; NaN if unknown."""
        values = self.labels(column)
        parts = values.str.extract(LENGTH).astype("Float64").fillna(0)
        scales = (DAY, HOUR, MINUTE, 1.0)
        total = sum(parts[part] * scale for part, scale in enumerate(scales))
        numbers = pd.to_numeric(values, errors="coerce").astype("float64")
        written = values.str.match(LENGTH).fillna(False).astype("bool")
        numbers = numbers.where(np.isfinite(numbers)).where(~written, total)
        expected = "seconds or [days-]hours:minutes:seconds, or nothing where unknown"
        return self._checked(column, values, numbers.astype("float64"), expected)

    def known(self, column: str, values: pd.Series) -> None:
        """Raise an error for the first value that is unknown."""
        self.fine(column, values.notna(), "a number")

    def fine(self, column: str, fine: pd.Series, expected: str) -> None:
        """Raise an error for the first text that breaks a rule."""
        if fine.all():
            return
        texts = self.labels(column).fillna("")
        numbers = pd.to_numeric(texts, errors="coerce").astype("float64")
        check.rows(
            column, texts.astype("object").where(numbers.isna(), numbers), fine, expected,
            row=lambda row: f"{self.path}: line {self.line(row)}", error=TraceError,
        )  # fmt: skip

    def _checked(
        self, column: str, values: pd.Series, converted: pd.Series, expected: str
    ) -> pd.Series:
        """The converted column; raise for the first text that could not be converted."""
        check.rows(
            column, values, converted.notna() | values.isna(), expected,
            row=lambda row: f"{self.path}: line {self.line(row)}", error=TraceError,
        )  # fmt: skip
        return converted


def batches(records: Iterator[list], size: int = BATCH) -> Iterator[list[list]]:
    """Lists of so many records, the last one shorter."""
    while batch := list(islice(records, size)):
        yield batch


def epoch(values: pd.Series) -> pd.Series:
    """Seconds of the epoch of dates in ISO 8601, NaN for what is none."""
    return epoch_of(pd.to_datetime(values, format="ISO8601", errors="coerce", utc=True))


def epoch_of(instants: pd.Series) -> pd.Series:
    """Seconds of the epoch of times of any year, NaN for NaT."""
    try:
        counts, scale = instants.dt.as_unit("us"), 1e6
    except pd.errors.OutOfBoundsDatetime:
        counts, scale = instants.dt.as_unit("s"), 1.0
    return (counts.astype("int64") / scale).where(instants.notna())


def read_csv(
    path: Path,
    data: bytes,
    wanted: Collection[str],
    *,
    needed: Collection[str],
    format_name: str,
    aliases: Mapping[str, str] | None = None,
    fold: Callable[[str], str] = str,
) -> Texts:
    """The wanted columns of a CSV with a heading.

    Parameters
    ----------
    wanted, needed : collections of str
        Columns that are read, and those that must be there.
    format_name : str
        What errors say was expected.
    aliases : mapping of str to str, optional
        Other names of columns.
    fold : callable
        What is done to names in the heading, such as `str.upper`.
    """
    if not data.strip():
        raise TraceError(f"{path}: the file is empty; expected {format_name}")
    known = {**(aliases or {}), **{column: column for column in wanted}}
    check_widths(path, data)
    try:
        table = pd.read_csv(
            io.BytesIO(data), dtype="str", encoding="utf-8-sig", encoding_errors="replace",
            skipinitialspace=True, index_col=False,
            usecols=lambda column: fold(column.strip()) in known,
        )  # fmt: skip
    except ValueError as error:
        problem = str(error).removeprefix("Error tokenizing data. C error: ")
        raise TraceError(
            f"{path}: not a CSV of job records ({problem}); it begins with {shortened(data)}"
        ) from error
    table.columns = [known[fold(column.strip())] for column in table.columns]
    table = table.loc[:, ~table.columns.duplicated()]
    missing = [column for column in needed if column not in table]
    if missing:
        raise TraceError(
            f"{path}: no column {', '.join(missing)}; expected {format_name}, the first line reads "
            f"{shortened(data)}"
        )
    return Texts(path, table, lambda row: line_of(data, row))


def check_widths(path: Path, data: bytes) -> None:
    """Raise an error for the first row of a CSV with more fields than its heading.

    pandas would take the first field of such rows for an index, or drop the last. Shorter rows are
    fine: what they lack is unknown.
    """
    expected = 0
    for line, width in _widths(path, data):
        expected = expected or width
        if width > expected:
            raise TraceError(f"{path}: line {line} has {width} fields; expected {expected}")


def _widths(path: Path, data: bytes) -> Iterator[tuple[int, int]]:
    """The line on which each row of a CSV begins, and its number of fields; no blank lines."""
    if b'"' not in data and data.count(b"\r") == data.count(b"\r\n"):
        for line, text in enumerate(io.BytesIO(data.removeprefix(codecs.BOM_UTF8)), 1):
            if not text.isspace():
                yield line, text.count(b",") + 1
        return
    stream = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", "replace", newline="")
    rows = csv.reader(stream, skipinitialspace=True)
    line = 1
    try:
        for fields in rows:
            if len(fields) > 1 or any(map(str.strip, fields)):
                yield line, len(fields)
            line = rows.line_num + 1
    except csv.Error as error:
        raise TraceError(f"{path}: line {line} cannot be read as CSV: {error}") from error


def line_of(data: bytes, row: int) -> int:
    """The line on which a record of a CSV begins: blank lines and quoted breaks counted."""
    rows = csv.reader(io.StringIO(data.decode("utf-8-sig", "replace"), newline=""))
    record, first = -1, 1
    for fields in rows:
        if any(field.strip() for field in fields):
            if record == row:
                break
            record += 1
            if record > row:
                break
        first = rows.line_num + 1
    return first
