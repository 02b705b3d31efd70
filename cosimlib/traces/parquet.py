"""Parquet files: the columns that are needed, in batches. Needs the extra `parquet`."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from cosimlib.extras import needed_by
from cosimlib.traces.account import TraceError, largest_log, too_large
from cosimlib.traces.texts import epoch_of

MAGIC = b"PAR1"
ROWS = 65_536


def read_batches(
    path: Path, wanted: Collection[str], *, needed: Collection[str], format_name: str
) -> Iterator[pd.DataFrame]:
    """The wanted columns of a file that it has, so many rows at a time.

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


def names_in(path: Path) -> bytes:
    """The footer of a file, which has the columns' names; nothing for what is no parquet file."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 12:
            return b""
        file.seek(size - 8)
        length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        if magic != MAGIC:
            return b""
        file.seek(max(0, size - 8 - length))
        return MAGIC + file.read(min(length, 1 << 20))


def seconds(values: pd.Series) -> pd.Series:
    """Seconds of the epoch of times, dates in text, or seconds; NaN if unknown or none."""
    if pd.api.types.is_numeric_dtype(values):
        return pd.to_numeric(values, errors="coerce").astype("float64")
    return epoch_of(pd.to_datetime(values, errors="coerce", utc=True))


def numbers(table: pd.DataFrame, column: str) -> pd.Series:
    """A column of numbers, NaN if unknown, or where the table has no such column."""
    if column not in table:
        return pd.Series(float("nan"), index=table.index)
    values = pd.to_numeric(table[column], errors="coerce").astype("float64")
    return values.where(values.abs() < 2.0**53)


def labels(table: pd.DataFrame, column: str) -> pd.Series:
    """A column of texts, NA if unknown, or where the table has no such column."""
    if column not in table:
        return pd.Series(pd.NA, index=table.index, dtype="string")
    values = table[column]
    if pd.api.types.is_float_dtype(values) and (values.isna() | (values % 1 == 0)).all():
        values = values.where(values.abs() < 2.0**53).astype("Int64")
    return values.astype("string")
