"""Tables of records: columns of a text log, CSV or parquet as numbers, times and labels; JSON.

A format is a table of the columns that are read and of the *kind* of each: ``"numbers"``,
``"instants"`` (seconds of the epoch), ``"lengths"`` (seconds) or ``"labels"``. An error about a
value names the file, the line, the column, the value and what was expected. A column that the file
does not have is unknown throughout. Parquet needs the extra `parquet`.
"""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_float_dtype, is_numeric_dtype

from cosimlib import checks as check
from cosimlib.extras import needed_by
from cosimlib.files import check_readable
from cosimlib.traces.account import TraceError, read_bytes, shortened
from cosimlib.units import DAY, HOUR, MINUTE

if TYPE_CHECKING:
    import pyarrow

INSTANT = "seconds of the epoch, a time such as 2026-01-31T23:59:59"
LENGTH = r"^(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,9}):([0-9]{1,9}(?:\.[0-9]+)?)$"
LATEST = 2.0**52
WHOLE = 2.0**53
"""Below it, float64 counts whole numbers exactly."""
NUMBER = r"^([0-9]{1,15})"
"""The digits at the beginning of a job's name."""

BOM = b"\xef\xbb\xbf"
"""Mark of UTF-8 with which a text may begin."""
ONLY_NUMBER = r"[0-9]{1,15}"

BATCH = 50_000
"""Records that are converted at a time: as texts they take several times their file."""
MAGIC = b"PAR1"
NO_VALUE = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>")
"""Fields of a CSV that say that something is unknown."""


class Texts:
    """The records of a file as columns of texts; those of parquet may also be numbers or times.

    Parameters
    ----------
    path : Path
    table : pd.DataFrame
        NA if unknown.
    place : callable
        The place of a record in the file, such as ``"line 7"``, by its row.
    unknown : collection of str
        Texts that say that something is unknown.
    """

    def __init__(
        self,
        path: Path,
        table: pd.DataFrame,
        place: Callable[[int], str],
        unknown: Collection[str] = ("",),
    ) -> None:
        self.path, self.table, self.place, self.unknown = path, table, place, list(unknown)

    def _values(self, column: str) -> pd.Series:
        """A column as it is, NA if unknown."""
        if column not in self.table:
            return pd.Series(np.nan, index=self.table.index)
        values = self.table[column]
        if is_numeric_dtype(values) or is_datetime64_any_dtype(values):
            return values
        values = values.astype("string")
        return values.mask(values.isin(self.unknown))

    def _written(self, column: str) -> pd.Series:
        """The texts that stand in a column, such as "nan"; NA where it has none."""
        texts = pd.Series(pd.NA, index=self.table.index, dtype="string")
        values = self.table.get(column, texts)
        is_text = not (is_numeric_dtype(values) or is_datetime64_any_dtype(values))
        return values.astype("string") if is_text else texts

    def labels(self, column: str) -> pd.Series:
        """Texts, NA if unknown; whole numbers without a point."""
        values = self._values(column)
        if is_float_dtype(values) and (values.isna() | (values % 1 == 0)).all():
            values = values.where(values.abs() < WHOLE).astype("Int64")
        return values.astype("string")

    def numbers(
        self, column: str, expected: str = "a number", *, below: float = np.inf
    ) -> pd.Series:
        """Finite numbers, NaN if unknown."""
        values = self._values(column)
        numbers = as_numbers(values)
        numbers = numbers.where(numbers.abs() < below)
        return self._checked(column, values, numbers, f"{expected}, or nothing where unknown")

    def quantities(self, column: str) -> pd.Series:
        """Numbers, NaN for all else."""
        return as_numbers(self._values(column))

    def instants(self, column: str, unknown: str = "nothing where unknown") -> pd.Series:
        """Seconds of the epoch of times written as such, or as dates (UTC where no zone is)."""
        values = self._values(column)
        if is_datetime64_any_dtype(values):
            return epoch(values)
        seconds = as_numbers(values)
        seconds = seconds.where(seconds.abs() < LATEST)
        if (dates := seconds.isna() & values.notna()).any():
            seconds = seconds.fillna(epoch(values.where(dates), format="ISO8601"))
        return self._checked(column, values, seconds, f"{INSTANT}, or {unknown}")

    def lengths(self, column: str) -> pd.Series:
        """Seconds of lengths like ``1-02:03:04``, or of numbers; NaN if unknown."""
        values = self.labels(column)
        parts = values.str.extract(LENGTH).astype("Float64").fillna(0)
        scales = (DAY, HOUR, MINUTE, 1.0)
        total = sum(parts[part] * scale for part, scale in enumerate(scales))
        numbers = as_numbers(values)
        written = values.str.match(LENGTH).fillna(False).astype("bool")
        numbers = numbers.where(np.isfinite(numbers)).where(~written, total)
        expected = "seconds or [days-]hours:minutes:seconds, or nothing where unknown"
        return self._checked(column, values, numbers.astype("float64"), expected)

    def fine(self, column: str, fine: pd.Series, expected: str) -> None:
        """Raise an error for the first value that breaks a rule."""
        if not fine.all():
            texts = self.labels(column).fillna(self._written(column)).fillna("")
            numbers = as_numbers(texts)
            self._check(
                column, texts.astype("object").where(numbers.isna(), numbers), fine, expected
            )

    def _checked(
        self, column: str, values: pd.Series, converted: pd.Series, expected: str
    ) -> pd.Series:
        """The converted column; raise for the first value that could not be converted."""
        self._check(column, values, converted.notna() | values.isna(), expected)
        return converted

    def _check(self, column: str, values: pd.Series, fine: pd.Series, expected: str) -> None:
        check.rows(
            column,
            values,
            fine,
            expected,
            row=lambda row: f"{self.path}: {self.place(row)}",
            error=TraceError,
        )


def as_numbers(values: pd.Series) -> pd.Series:
    """Values as float64, NaN for what is no number."""
    return pd.to_numeric(values, errors="coerce").astype("float64")


def epoch(values: pd.Series, **options: Any) -> pd.Series:
    """Seconds of the epoch of dates of any year, NaN for what is none."""
    if is_numeric_dtype(values):
        return pd.Series(np.nan, index=values.index)
    if values.dtype == object:  # a number among dates is none of them
        values = values.where(values.map(lambda value: isinstance(value, str | datetime)))
    instants = pd.to_datetime(values, errors="coerce", utc=True, **options)
    try:
        counts, scale = instants.dt.as_unit("us"), 1e6
    except pd.errors.OutOfBoundsDatetime:
        counts, scale = instants.dt.as_unit("s"), 1.0
    return (counts.astype("int64") / scale).where(instants.notna())


def leading_number(names: pd.Series) -> pd.Series:
    """The number with which the name of a job begins; NaN if there is none."""
    if names.str.fullmatch(ONLY_NUMBER).fillna(False).all():
        return names.astype("float64")
    return as_numbers(names.str.extract(NUMBER, expand=False))


def in_batches(
    records: Iterator[list], convert: Callable[[list[list]], pd.DataFrame]
) -> pd.DataFrame:
    """The table of all records, so many of which are converted at a time."""
    tables = []
    while batch := list(islice(records, BATCH)):
        tables.append(convert(batch))
    return joined(tables or [convert([])])


def joined(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """One table of several with the same columns, which are taken out of them one by one."""
    if len(tables) == 1:
        return tables[0]
    columns = {
        name: pd.concat([table.pop(name) for table in tables], ignore_index=True)
        for name in [*tables[0]]
    }
    return pd.DataFrame(columns, copy=False)


def read_kinds(
    path: Path,
    kinds: Mapping[str, str],
    *,
    needed: Collection[str],
    format_name: str,
    fold: Callable[[str], str] = str,
    **options: Any,
) -> pd.DataFrame:
    """The columns of a CSV (plain or gzip) or parquet file, each converted to its kind.

    Parameters
    ----------
    kinds : mapping of str to str
        The kind of each column that is read.
    needed : collection of str
        Columns that must be there.
    format_name : str
        What errors say was expected.
    fold : callable
        What is done to names in the heading of a CSV, such as `str.upper`.
    **options
        Of `numbers`.
    """
    expected: dict[str, Any] = {"needed": needed, "format_name": format_name}
    if is_parquet(path):
        table = read_parquet(path, kinds, **expected).to_pandas(ignore_metadata=True)
        source = Texts(path, table, "row {}".format)
    else:
        source = read_csv(path, read_bytes(path), kinds, **expected, fold=fold)
    columns = {}
    for column, kind in kinds.items():
        more = options if kind == "numbers" else {}
        columns[column] = getattr(source, kind)(column, **more)
    return pd.DataFrame(columns)


def read_csv(
    path: Path,
    data: bytes,
    wanted: Collection[str] | None,
    *,
    needed: Collection[str],
    format_name: str,
    fold: Callable[[str], str] = str,
) -> Texts:
    """The wanted columns of a CSV with a heading, or all.

    A row with more fields than the heading is refused; what a shorter one lacks is unknown.
    """
    if not data.strip():
        raise TraceError(f"{path}: the file is empty; expected {format_name}")
    rows = rows_of(path, data)
    heading = [fold(name.strip()) for name in next(rows, (1, []))[1]]
    missing = [column for column in needed if column not in heading]
    if missing:
        raise TraceError(
            f"{path}: no column {', '.join(missing)}; expected {format_name}, the first line reads "
            f"{shortened(data)}"
        )
    columns = [name for name in dict.fromkeys(heading) if wanted is None or name in wanted]
    kept, lines = [heading.index(name) for name in columns], []

    def records() -> Iterator[list[str]]:
        for line, fields in rows:
            if len(fields) > len(heading):
                raise TraceError(
                    f"{path}: line {line} has {len(fields)} fields; expected {len(heading)}"
                )
            lines.append(line)
            yield [fields[place] if place < len(fields) else "" for place in kept]

    table = in_batches(records(), lambda rows: pd.DataFrame(rows, columns=columns, dtype="str"))
    return Texts(path, table, lambda row: f"line {lines[row]}", NO_VALUE)


def rows_of(path: Path, data: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV that are not blank: the line on which each begins, and its fields."""
    ended = False

    def lines() -> Iterator[str]:
        nonlocal ended
        yield from io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", "replace", newline="")
        ended = True

    rows = csv.reader(lines(), skipinitialspace=True)
    line = 1
    try:
        for fields in rows:
            # Only a row whose quote is never closed reads on after the last line.
            if ended:
                raise csv.Error("unexpected end of data")
            if len(fields) > 1 or any(map(str.strip, fields)):
                yield line, fields
            line = rows.line_num + 1
    except csv.Error as error:
        raise TraceError(f"{path}: line {line} cannot be read as CSV: {error}") from error


def read_table(path: Path) -> list[tuple[int, list[str]]]:
    """Rows of a CSV that are not blank: the line on which each begins, its fields without blanks.

    Raises
    ------
    FileNotFoundError
    TraceError
        If it is damaged; names the line that cannot be read, or that has more or fewer fields
        than the heading.
    """
    rows = [(line, [*map(str.strip, fields)]) for line, fields in rows_of(path, read_bytes(path))]
    for line, fields in rows:
        if len(fields) != len(rows[0][1]):
            raise TraceError(
                f"{path}: line {line} has {len(fields)} fields; expected {len(rows[0][1])}"
            )
    return rows


def is_parquet(path: Path) -> bool:
    """Whether a file is named as one of parquet, or begins as such a file."""
    if path.suffix == ".parquet" or not path.is_file():
        return path.suffix == ".parquet"
    with path.open("rb") as file:
        return file.read(4) == MAGIC


def footer_of(path: Path) -> bytes:
    """The footer of a parquet file, which has the columns' names; nothing for another file."""
    if not path.is_file() or path.stat().st_size < 12:
        return b""
    with path.open("rb") as file:
        end = file.seek(-8, 2)
        length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        file.seek(max(0, end - length))
        return MAGIC + file.read(min(length, 1 << 20)) if magic == MAGIC else b""


def read_parquet(
    path: Path, wanted: Collection[str] | None, *, needed: Collection[str], format_name: str
) -> "pyarrow.Table":
    """The wanted columns that a parquet file has, or all.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    FileNotFoundError
    TraceError
        For a file that is damaged, has no row, or lacks one of the columns `needed`.
    """
    with needed_by(f"reading {path.name}"):
        import pyarrow.parquet as parquet
    check_readable(path, "a log")
    with parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        missing = [column for column in needed if column not in names]
        if missing:
            raise TraceError(f"{path}: no column {', '.join(missing)}; expected {format_name}")
        if not file.metadata.num_rows:
            raise TraceError(f"{path}: no row in it; expected {format_name}")
        return file.read([column for column in names if wanted is None or column in wanted])


def read_json(
    path: Path, data: bytes, expected: str, *names: str
) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """The records of a JSON document: the first of some names of lists, that list, the document.

    Raises
    ------
    TraceError
        If it is no JSON (names the line), has no such list, or an element is no record.
    """
    try:
        document = json.loads(data.decode("utf-8-sig", "replace"))
    except json.JSONDecodeError as error:
        raise TraceError(
            f"{path}: line {error.lineno}: not JSON ({error.msg}); expected {expected}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise TraceError(
            f"{path}: not JSON (a number too long, or lists too deep); expected {expected}"
        ) from error
    document = document if isinstance(document, dict) else {}
    name = next((name for name in names if isinstance(document.get(name), list)), None)
    if name is None:
        raise TraceError(f"{path}: no list of {' or '.join(names)}; expected {expected}")
    for place, each in enumerate(document[name]):
        if not isinstance(each, dict):
            raise TraceError(
                f"{path}: {name}[{place}] is {type(each).__name__}, not a record; expected "
                f"{expected}"
            )
    return name, document[name], document


def number(value: Any) -> float:
    """A number of JSON, also as ``{"set": true, "infinite": false, "number": 1}``; else NaN."""
    if isinstance(value, dict):
        known = value.get("set") and not value.get("infinite")
        value = value.get("number") if known else None
    # Most values are plain numbers, and asking for a number of any kind takes longest.
    if type(value) is not int and type(value) is not float and not check.is_number(value):
        return np.nan
    return float(value) if abs(value) < WHOLE else np.nan


def label(value: Any) -> str | None:
    """A text of JSON, or a whole number as one; None if unknown."""
    if isinstance(value, str):
        return value or None
    return str(value) if check.is_whole(value) else None
