"""F-DATA: the jobs of Fugaku from March 2021 to April 2024, a parquet file per month.

The files are at https://doi.org/10.5281/zenodo.11467483 (Antici et al., Scientific Data, 2025);
some have been passed on as CSV with the same columns. Read are adt (submitted), sdt (started), edt
(ended) and duration, elpl (the limit, in seconds), nnumr, nnuma, nnumu and cnumr, cnumat, cnumut
(nodes and cores requested, allocated, used), mszl (bytes per node; 2⁶⁴: no limit), usr, jid, pri,
"exit state", and econ, the energy of the whole job in watt-hours. The column `embedding`, most of
the file, is never loaded.

A job that never started has no sdt. Nodes are those allocated, or those requested where that is
unknown.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import System
from cosimlib.traces import records
from cosimlib.traces.account import Account, assemble, base_name, parses, read_bytes
from cosimlib.traces.parquet import labels, names_in, numbers, read_batches, seconds
from cosimlib.traces.records import AUTO, Unit
from cosimlib.traces.texts import read_csv
from cosimlib.workload import Workload

FUGAKU = System("Fugaku", {"main": 158_976}, cores_per_node=48, memory_per_node=32.0)
TIMES = ("adt", "sdt", "edt")
NUMBERS = ("duration", "elpl", "nnumr", "nnuma", "nnumu", "cnumr", "cnumat", "cnumut", "mszl",
           "pri", "econ")  # fmt: skip
TEXTS = ("jid", "usr", "jobenv_req", "exit state")
WANTED = (*TIMES, *NUMBERS, *TEXTS)
NEEDED = ("adt", "sdt", "nnumr")
FORMAT = "a month of F-DATA"
STATUS = {"COMPLETED": 1, "FAILED": 0}
UNLIMITED = 2.0**60


@parses("a month of F-DATA")
def read_fugaku(
    path: str | Path, *, unit: Unit = "nodes", name: str | None = None, verbose: bool = True
) -> Workload:
    """Workload of a month of F-DATA, parquet (needs the extra `parquet`) or CSV.

    Parameters
    ----------
    path : str or Path
    unit : {"nodes", "cores", "auto"}
        What a node of the workload is, as allocated, or as requested if that is unknown;
        ``"auto"``: what is scarce, nodes unless jobs share them.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        `submit_time` counts from the first submission. `memory` is GB per node; `energy` watt-hours
        of the whole job; `machine` Fugaku, in the unit chosen.

    Raises
    ------
    ImportError
        For parquet without pyarrow, naming the extra.
    FileNotFoundError
    TraceError

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.read_fugaku("fugaku.csv", verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0          0.0    6126.0      1
    1        356.0   15427.0      1
    2        832.0    6298.0    384
    """
    check.choice("unit", unit, ("nodes", "cores", AUTO))
    path, account = Path(path), Account()
    tables = [_columns(batch) for batch in _batches(path)]
    table = pd.concat(tables, ignore_index=True)
    count = len(table)
    unit = records.scarce_unit(table, account) if unit == AUTO else unit
    table = account.drop(table, records.drop_rules(table, unit))
    jobs = records.jobs(table, unit, "submit", account).drop(columns=["eligible_time", "qos"])
    jobs = jobs.assign(
        memory=table["memory"], priority=table["priority"].fillna(1.0), energy=table["energy"],
        status=table["state"].str.upper().map(STATUS).astype("Int64"),
    )  # fmt: skip
    if unit != "nodes":
        jobs = jobs.drop(columns="memory")
    machine = records.machine_in(FUGAKU, unit, 48)
    name = name or base_name(path)
    first = records.began(records.arrivals(table, "submit"))
    return assemble(
        jobs, name, machine, account, path=path, records=count, verbose=verbose, began=first
    )


def is_fugaku(beginning: bytes) -> bool:
    """Whether a heading, or the footer of a parquet file, names the columns of F-DATA."""
    first = beginning if beginning[:4] == b"PAR1" else beginning.lstrip().split(b"\n", 1)[0]
    return all(name in first for name in (b"adt", b"sdt", b"nnumr"))


def _batches(path: Path) -> Iterator[pd.DataFrame]:
    """The columns that are read, as numbers, seconds and texts."""
    if not (path.suffix == ".parquet" or names_in(path)):
        texts = read_csv(path, read_bytes(path), WANTED, needed=NEEDED, format_name=FORMAT)
        table = {column: texts.instants(column) for column in TIMES}
        table |= {column: texts.numbers(column) for column in NUMBERS}
        yield pd.DataFrame(table | {column: texts.labels(column) for column in TEXTS})
        return
    for batch in read_batches(path, WANTED, needed=NEEDED, format_name=FORMAT):
        table = {column: seconds(batch[column]) for column in TIMES if column in batch}
        table |= {column: numbers(batch, column) for column in NUMBERS}
        yield pd.DataFrame(table | {column: labels(batch, column) for column in TEXTS})


def _columns(batch: pd.DataFrame) -> pd.DataFrame:
    """The columns of records from those of F-DATA."""
    limit = batch["mszl"].where((batch["mszl"] > 0) & (batch["mszl"] < UNLIMITED))
    end = batch["edt"] if "edt" in batch else batch["sdt"] + batch["duration"]
    columns = {
        "submit": batch["adt"],
        "start": batch["sdt"],
        "end": end,
        "elapsed": batch["duration"].where(batch["duration"] >= 0),
        "limit": batch["elpl"],
        "nodes": _first_known(batch, "nnuma", "nnumu", "nnumr"),
        "cores": _first_known(batch, "cnumat", "cnumut", "cnumr"),
        "job": pd.to_numeric(batch["jid"].str.extract(r"([0-9]{1,15})$", expand=False)).astype(
            "float64"
        ),
        "user": batch["usr"],
        "queue": batch["jobenv_req"],
        "state": batch["exit state"],
    }
    return records.table_of(columns, len(batch)).assign(
        memory=limit / 1e9, priority=batch["pri"], energy=batch["econ"].where(batch["econ"] >= 0)
    )


def _first_known(batch: pd.DataFrame, *columns: str) -> pd.Series:
    """The first of several columns that is above 0."""
    values = pd.Series(np.nan, index=batch.index)
    for column in columns:
        values = values.fillna(batch[column].where(batch[column] > 0))
    return values
