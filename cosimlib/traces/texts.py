"""Tables of records: columns of a text log, of a CSV or of parquet, as numbers, times and labels.

A format is a table of the columns that are read and of the *kind* of each: ``"numbers"``,
``"instants"`` (seconds of the epoch), ``"lengths"`` (seconds) or ``"labels"``. An error about a
text names the file, the line, the column, the value and what was expected. A column that the file
does not have is unknown throughout. Parquet needs the extra `parquet`.
"""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.extras import needed_by
from cosimlib.traces.account import TraceError, largest_log, read_bytes, shortened, too_large
from cosimlib.units import DAY, HOUR, MINUTE

INSTANT = "seconds of the epoch, a time such as 2026-01-31T23:59:59"
LENGTH = r"^(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,9}):([0-9]{1,9}(?:\.[0-9]+)?)$"
LATEST = 2.0**52
NUMBER = r"^([0-9]{1,15})"
"""The digits at the beginning of a job's name."""

BATCH = 50_000
"""Records that are converted at a time: as texts they take several times their file."""
MAGIC = b"PAR1"
ROWS = 65_536


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
        numbers = as_numbers(values)
        numbers = numbers.where(numbers.abs() < below)
        return self._checked(column, values, numbers, f"{expected}, or nothing where unknown")

    def instants(self, column: str, unknown: str = "nothing where unknown") -> pd.Series:
        """Seconds of the epoch of times written as such, or as dates (UTC where no zone is)."""
        values = self.labels(column)
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
        """Raise an error for the first text that breaks a rule."""
        if not fine.all():
            texts = self.labels(column).fillna("")
            numbers = as_numbers(texts)
            self._check(
                column, texts.astype("object").where(numbers.isna(), numbers), fine, expected
            )

    def _checked(
        self, column: str, values: pd.Series, converted: pd.Series, expected: str
    ) -> pd.Series:
        """The converted column; raise for the first text that could not be converted."""
        self._check(column, values, converted.notna() | values.isna(), expected)
        return converted

    def _check(self, column: str, values: pd.Series, fine: pd.Series, expected: str) -> None:
        check.rows(
            column, values, fine, expected,
            row=lambda row: f"{self.path}: line {self.line(row)}", error=TraceError,
        )  # fmt: skip


class Values:
    """The records of a parquet file as columns of values; one that cannot be converted is unknown.

    Parameters
    ----------
    table : pd.DataFrame
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    def labels(self, column: str) -> pd.Series:
        """Texts, NA if unknown."""
        if column not in self.table:
            return pd.Series(pd.NA, index=self.table.index, dtype="string")
        values = self.table[column]
        if pd.api.types.is_float_dtype(values) and (values.isna() | (values % 1 == 0)).all():
            values = values.where(values.abs() < 2.0**53).astype("Int64")
        return values.astype("string")

    def numbers(self, column: str, *, below: float = 2.0**53) -> pd.Series:
        """Numbers, NaN if unknown."""
        if column not in self.table:
            return pd.Series(np.nan, index=self.table.index)
        values = as_numbers(self.table[column])
        return values.where(values.abs() < below)

    def instants(self, column: str) -> pd.Series:
        """Seconds of the epoch of times, dates in text, or seconds; NaN if unknown or none."""
        if column not in self.table:
            return pd.Series(np.nan, index=self.table.index)
        values = self.table[column]
        return as_numbers(values) if pd.api.types.is_numeric_dtype(values) else epoch(values)


def as_numbers(values: pd.Series) -> pd.Series:
    """Values as float64, NaN for what is no number."""
    return pd.to_numeric(values, errors="coerce").astype("float64")


def epoch(values: pd.Series, **options: Any) -> pd.Series:
    """Seconds of the epoch of dates of any year, NaN for what is none."""
    instants = pd.to_datetime(values, errors="coerce", utc=True, **options)
    try:
        counts, scale = instants.dt.as_unit("us"), 1e6
    except pd.errors.OutOfBoundsDatetime:
        counts, scale = instants.dt.as_unit("s"), 1.0
    return (counts.astype("int64") / scale).where(instants.notna())


def leading_number(names: pd.Series) -> pd.Series:
    """The number with which the name of a job begins; NaN if there is none."""
    return as_numbers(names.str.extract(NUMBER, expand=False))


def in_batches(
    records: Iterator[list], convert: Callable[[list[list]], pd.DataFrame]
) -> pd.DataFrame:
    """The table of all records, so many of which are converted at a time."""
    tables = []
    while batch := list(islice(records, BATCH)):
        tables.append(convert(batch))
    return pd.concat(tables or [convert([])], ignore_index=True)


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
    sources: Iterable[Texts | Values]
    if is_parquet(path):
        sources = map(Values, read_batches(path, kinds, **expected))
    else:
        sources = [read_csv(path, read_bytes(path), kinds, **expected, fold=fold)]
    return pd.concat([_of_kinds(each, kinds, options) for each in sources], ignore_index=True)


def _of_kinds(
    source: Texts | Values, kinds: Mapping[str, str], options: dict[str, Any]
) -> pd.DataFrame:
    """The columns of one source, each converted to its kind."""
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
    aliases: Mapping[str, str] | None = None,
    fold: Callable[[str], str] = str,
) -> Texts:
    """The wanted columns of a CSV with a heading, or all; `aliases` are other names of columns."""
    if not data.strip():
        raise TraceError(f"{path}: the file is empty; expected {format_name}")
    known = {**(aliases or {}), **{column: column for column in wanted or ()}}
    lines = _lines(path, data)
    try:
        table = pd.read_csv(
            io.BytesIO(data), dtype="str", encoding="utf-8-sig", encoding_errors="replace",
            skipinitialspace=True, index_col=False,
            usecols=lambda column: wanted is None or fold(column.strip()) in known,
        )  # fmt: skip
    except ValueError as error:
        problem = str(error).removeprefix("Error tokenizing data. C error: ")
        raise TraceError(
            f"{path}: not a CSV of job records ({problem}); it begins with {shortened(data)}"
        ) from error
    names = [fold(column.strip()) for column in table.columns]
    table.columns = [known.get(name, name) for name in names]
    table = table.loc[:, ~table.columns.duplicated()]
    missing = [column for column in needed if column not in table]
    if missing:
        raise TraceError(
            f"{path}: no column {', '.join(missing)}; expected {format_name}, the first line reads "
            f"{shortened(data)}"
        )
    return Texts(path, table, lines.__getitem__)


def rows_of(path: Path, data: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV that are not blank: the line on which each begins, and its fields."""
    stream = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", "replace", newline="")
    rows = csv.reader(stream, skipinitialspace=True)
    line = 1
    try:
        for fields in rows:
            if len(fields) > 1 or any(map(str.strip, fields)):
                yield line, fields
            line = rows.line_num + 1
    except csv.Error as error:
        raise TraceError(f"{path}: line {line} cannot be read as CSV: {error}") from error


def _lines(path: Path, data: bytes) -> list[int]:
    """The line on which each record of a CSV begins; raise for one with too many fields.

    pandas would take the first field of such rows for an index, or drop the last. Shorter rows are
    fine: what they lack is unknown.
    """
    lines, expected = [], 0
    for line, fields in rows_of(path, data):
        expected = expected or len(fields)
        if len(fields) > expected:
            raise TraceError(f"{path}: line {line} has {len(fields)} fields; expected {expected}")
        lines.append(line)
    return lines[1:]


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


def read_batches(
    path: Path, wanted: Collection[str], *, needed: Collection[str], format_name: str
) -> Iterator[pd.DataFrame]:
    """The wanted columns that a parquet file has, so many rows at a time.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    FileNotFoundError
    TraceError
        For a file that is damaged, or without one of the columns `needed`.
    """
    with needed_by(f"reading {path.name}"):
        import pyarrow.parquet as parquet
    if not path.is_file():
        raise FileNotFoundError(f"no trace at {path}; give the path of a file")
    with parquet.ParquetFile(path, memory_map=True) as file:
        names = file.schema_arrow.names
        missing = [column for column in needed if column not in names]
        if missing:
            raise TraceError(f"{path}: no column {', '.join(missing)}; expected {format_name}")
        columns = [column for column in wanted if column in names]
        check_size(path, file.metadata, columns)
        if not file.metadata.num_rows:
            raise TraceError(f"{path}: no row in it; expected {format_name}")
        for batch in file.iter_batches(ROWS, columns=columns):
            yield batch.to_pandas(ignore_metadata=True)


def check_size(path: Path, metadata: Any, wanted: Collection[str]) -> None:
    """Refuse a file whose wanted columns hold more bytes than a log may have.

    A value counts for eight at least: equal ones are stored once.
    """
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    stored = sum(
        column.total_uncompressed_size
        for column in columns
        if column.path_in_schema.partition(".")[0] in wanted
    )
    most = largest_log()
    if max(8.0 * metadata.num_rows * len(wanted), stored) > most:
        raise too_large(path, most)
