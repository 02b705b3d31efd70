"""Tables with the columns of a workload, as CSV or parquet, for spreadsheets, R and polars.

Parquet keeps the columns as they are, and in its metadata the workload's name, machine, calendar
time and account: nothing is lost. CSV keeps the columns as text; the rest is lost. Both are read
back by `read_columns`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from cosimlib import checks as check
from cosimlib.system import NodeType, System
from cosimlib.traces.account import (
    Account,
    TraceError,
    assemble,
    known_start,
    parses,
    read_bytes,
)
from cosimlib.traces.texts import WHOLE, Texts, is_parquet, read_csv, read_parquet, rows_of
from cosimlib.workload import (
    OPTIONAL_COLUMNS,
    Workload,
    account_table,
    rules,
)

NEEDED = ("submit_time", "run_time", "nodes")
INSTANTS, LENGTHS = ("submit_time", "recorded_start"), ("run_time", "requested_time")
KEY = b"cosimlib"
FORMAT = "a workload's own columns, submit_time, run_time, nodes and others"
OTHERS = "a CSV of Argonne's (DIM_JOB_COMPOSITE), Batsim's, Fugaku's or Peregrine's"


@parses("a workload's own columns")
def read_columns(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    system: System | None = None,
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """Workload of a table in cosimlib's own columns: CSV, plain or gzip, or parquet.

    Parameters
    ----------
    path : str or Path
        Of a file that `write_csv` or `write_parquet` wrote, or one with the columns `submit_time`,
        `run_time` and `requested_time` in seconds, `nodes`, and any others. Seconds in
        `start_time` are also taken as `recorded_start`, if there is no such column.
    columns : mapping of str to str, optional
        Names of a CSV's columns by ours, such as ``{"submit_time": "queued"}``. Then instants may
        be dates, and lengths may be written like ``1-02:03:04``.
    system : System, optional
        The machine; by default the one written with parquet.
    name : str, optional
        Of the workload; by default the one written with parquet, or the file's name.
    verbose : bool, default True
        Whether to print the account of what was mended and noted.

    Raises
    ------
    ImportError
        For parquet without pyarrow, naming the extra.
    FileNotFoundError
    TraceError
        If it is damaged; names the line of a CSV, or the job, its value and what was expected.
    """
    path, account = Path(path), Account()
    if columns is not None:
        jobs = _jobs(_renamed(path, columns), _converted)
        return _assembled(jobs, account, name, system, path, verbose)
    texts, known = _from_parquet(path) if is_parquet(path) else (_from_csv(path), {})
    if known:
        workload = Workload(
            texts.table,
            name or known["name"],
            system or _system(known["machine"]),
            account_table(tuple(entry) for entry in known["account"]),
            _began(known["began"]),
        )
        if verbose:
            print(account.text(workload.name, len(workload)))
        return workload
    return _assembled(_jobs(texts, _typed), account, name, system, path, verbose)


def _assembled(
    jobs: pd.DataFrame,
    account: Account,
    name: str | None,
    system: System | None,
    path: Path,
    verbose: bool,
) -> Workload:
    """The workload of a table without anything known of it.

    A schedule's `start_time` is what a workload calls `recorded_start`.
    """
    if "recorded_start" not in jobs and is_numeric_dtype(jobs.get("start_time")):
        jobs = jobs.assign(recorded_start=jobs["start_time"].astype(np.float64))
    if "recorded_start" in jobs:
        start = known_start(jobs["recorded_start"], jobs["submit_time"], account)
        jobs = jobs.assign(recorded_start=start)
    return assemble(jobs, name, system, account, path=path, verbose=verbose)


def _from_csv(path: Path) -> Texts:
    """The columns of a CSV."""
    expected = f"{FORMAT}, or the heading of {OTHERS}"
    return read_csv(path, read_bytes(path), None, needed=NEEDED, format_name=expected)


def _renamed(path: Path, columns: Mapping[str, str]) -> Texts:
    """The columns of a CSV by our names."""
    check.that("columns", str(path), not is_parquet(path), "the path of a CSV")
    known = {*NEEDED, "requested_time", *OPTIONAL_COLUMNS}
    for ours in columns:
        check.choice("columns", ours, sorted(known))
    ours_of = {theirs: ours for ours, theirs in columns.items()}
    data = read_bytes(path)
    heading = [field.strip() for field in next(rows_of(path, data), (1, []))[1]]
    for ours, theirs in columns.items():
        if theirs not in heading:
            raise TraceError(
                f"{path}: no column {theirs!r} for {ours}; the heading has {', '.join(heading)}"
            )
    return read_csv(
        path,
        data,
        None,
        needed=NEEDED,
        format_name=f"a CSV with {', '.join(NEEDED)}: name its columns for them",
        fold=lambda field: ours_of.get(field, field),
    )


def _converted(texts: Texts, column: str) -> pd.Series:
    """A column in its declared type; dates and written lengths are allowed."""
    if column in INSTANTS:
        return texts.instants(column)
    if column in LENGTHS:
        return texts.lengths(column)
    return _typed(texts, column)


def _jobs(texts: Texts, typed: Callable[[Texts, str], pd.Series]) -> pd.DataFrame:
    """The columns of a table with their types."""
    columns = {column: typed(texts, column) for column in texts.table}
    for column in NEEDED:
        texts.fine(column, columns[column].notna(), "a number")
    jobs = pd.DataFrame(columns)
    for column, fine, expected in rules(jobs.reindex(columns=[*NEEDED, "requested_time"])):
        texts.fine(column, fine, expected.replace("NaN", "nothing"))
    return jobs


def _typed(texts: Texts, column: str) -> pd.Series:
    """A column in its declared type; one that is not declared as numbers where all of it are."""
    if column in (*NEEDED, "requested_time"):
        return texts.numbers(column)
    if column in OPTIONAL_COLUMNS:
        kind = OPTIONAL_COLUMNS[column].dtype
        if kind == "string":
            return texts.labels(column)
        if kind == "Int64":
            return texts.numbers(column, below=WHOLE).round().astype("Int64")
        return texts.numbers(column)
    labels = texts.labels(column)
    numbers = pd.to_numeric(labels, errors="coerce").astype("float64")
    fine = np.isfinite(numbers) | labels.isna()
    return numbers if fine.all() else labels


def _from_parquet(path: Path) -> tuple[Texts, dict[str, Any]]:
    """The columns of a parquet file, and what its metadata tell of the workload."""
    table = read_parquet(path, None, needed=NEEDED, format_name=FORMAT)
    known = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    unnamed = [name for name in table.column_names if name.startswith("__index_level_")]
    # An index that pandas wrote is a column like any other, unless it has no name.
    jobs = table.drop_columns(unnamed).to_pandas(ignore_metadata=not known)
    return Texts(path, jobs, "row {}".format), known


def _system(machine: dict[str, Any] | None) -> System | None:
    """The machine in the metadata of a parquet file."""
    if machine is None:
        return None
    names = [field.name for field in fields(System) if field.init and field.name in machine]
    types = [NodeType(**each) for each in machine.get("node_types", ())]
    return System(**{name: machine[name] for name in names} | {"node_types": types})


def _began(known: Any) -> pd.Timestamp | None:
    """The calendar time of second 0: a local time and its zone."""
    return pd.Timestamp(known[0]).tz_localize(known[1]) if known else None
