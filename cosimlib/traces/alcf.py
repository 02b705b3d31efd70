"""Job logs of the Argonne Leadership Computing Facility: DIM_JOB_COMPOSITE tables as CSV.

There is one file per machine and year; those of Mira, Theta, Polaris and others are at
https://reports.alcf.anl.gov/data/. A row is a job with the times at which it was queued, started
and ended, in UTC. Later files have column names in lower case, and EXIT_CODE for EXIT_STATUS; both
forms are read.

Rows that are not jobs are dropped, each counted under the first of these reasons: the time at which
it was queued is unknown; it never started; its run time is unknown; its nodes are unknown.
"""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import THETA, System
from cosimlib.traces.account import Account, TraceError, assemble, read_bytes, shortened
from cosimlib.workload import Workload

TIMES = ("QUEUED_TIMESTAMP", "START_TIMESTAMP", "END_TIMESTAMP")
NUMBERS = (
    "WALLTIME_SECONDS", "RUNTIME_SECONDS", "NODES_REQUESTED", "NODES_USED", "EXIT_STATUS",
    "EXIT_CODE", "COBALT_JOBID",
)  # fmt: skip
TEXTS = ("JOB_NAME", "MACHINE_NAME", "USERNAME_GENID", "PROJECT_NAME_GENID", "QUEUE_NAME")
NEEDED = (
    "QUEUED_TIMESTAMP", "START_TIMESTAMP", "WALLTIME_SECONDS", "RUNTIME_SECONDS", "NODES_REQUESTED",
)  # fmt: skip
MACHINES = {"theta": THETA}


def read_alcf(path: str | Path, *, name: str | None = None, verbose: bool = True) -> Workload:
    """The jobs of a DIM_JOB_COMPOSITE log of Argonne, CSV or gzip of it.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of what was dropped, mended and noted.

    Returns
    -------
    Workload
        `submit_time` counts from the first job's QUEUED_TIMESTAMP; `nodes` is NODES_REQUESTED, or
        NODES_USED where that is unknown; `status` is 1 where the exit status is 0, else 0; `group`
        is the project. `machine` is `cosimlib.system.THETA` for Theta, else unknown.

    Raises
    ------
    FileNotFoundError
    TraceError
        Naming the columns that are missing, or the line, its value and what was expected.
    """
    path = Path(path)
    name = name or path.name.removesuffix(".gz").removesuffix(".csv")
    table = _parse(path, read_bytes(path))
    account = Account()
    records = len(table)
    table = _mended(table, account)
    table = account.drop(table, _drop_rules(table))
    jobs = _jobs(table, account)
    machine = _machine(table)
    return assemble(jobs, name, machine, account, path=path, records=records, verbose=verbose)


def _parse(path: Path, data: bytes) -> pd.DataFrame:
    """The columns of the log that are read; a missing one is unknown throughout."""
    if not data.strip():
        raise TraceError(f"{path}: the file is empty; fetch it again")
    wanted = {*TIMES, *NUMBERS, *TEXTS}
    try:
        text = pd.read_csv(
            io.BytesIO(data), dtype="str", encoding_errors="replace", skipinitialspace=True,
            usecols=lambda column: column.strip().upper() in wanted,
        )  # fmt: skip
    except ValueError as error:
        raise TraceError(
            f"{path}: not a CSV of job records ({error}); it begins with {shortened(data)}"
        ) from error
    text.columns = text.columns.str.strip().str.upper()
    missing = [column for column in NEEDED if column not in text]
    if missing:
        raise TraceError(
            f"{path}: no column {', '.join(missing)}; expected a DIM_JOB_COMPOSITE log, the first "
            f"line reads {shortened(data)}"
        )
    times = {column: _checked(path, text, column, _instants) for column in TIMES}
    numbers = {column: _checked(path, text, column, _numbers) for column in NUMBERS}
    return pd.DataFrame(times | numbers | {column: _texts(text, column) for column in TEXTS})


def _texts(text: pd.DataFrame, column: str) -> pd.Series:
    if column in text:
        return text[column].astype("string")
    return pd.Series(pd.NA, index=text.index, dtype="string")


def _instants(values: pd.Series) -> pd.Series:
    return pd.to_datetime(values, format="ISO8601", errors="coerce", utc=True)


def _numbers(values: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce").astype("float64")
    return numbers.where(np.isfinite(numbers))


def _checked(
    path: Path, text: pd.DataFrame, column: str, convert: Callable[[pd.Series], pd.Series]
) -> pd.Series:
    """A column converted; raise for the first value that cannot be."""
    values = _texts(text, column)
    converted = convert(values)
    kind = "a time such as 2023-01-31 23:59:59" if column in TIMES else "a number"
    check.rows(
        column,
        values,
        converted.notna() | values.isna(),
        f"{kind}, or nothing where unknown",
        row=lambda row: f"{path}: record {row + 1} (line {row + 2})",
        error=TraceError,
    )
    return converted


def _mended(table: pd.DataFrame, account: Account) -> pd.DataFrame:
    """Missing run times are taken from start and end."""
    run_time = table["RUNTIME_SECONDS"]
    run_time = run_time.where(run_time >= 0)
    elapsed = (table["END_TIMESTAMP"] - table["START_TIMESTAMP"]).dt.total_seconds()
    mendable = run_time.isna() & (elapsed >= 0)
    account.add("mended", "run time unknown, end less start taken", int(mendable.sum()))
    return table.assign(RUNTIME_SECONDS=run_time.where(~mendable, elapsed))


def _drop_rules(table: pd.DataFrame) -> list[tuple[str, pd.Series]]:
    """Reasons why a row is not a job, in the order of the module's docstring."""
    nodes = table[["NODES_REQUESTED", "NODES_USED"]]
    return [
        ("time of queueing unknown", table["QUEUED_TIMESTAMP"].isna()),
        ("never started", table["START_TIMESTAMP"].isna()),
        ("run time unknown", table["RUNTIME_SECONDS"].isna()),
        ("number of nodes unknown", ~(nodes > 0).any(axis=1)),
    ]


def _jobs(table: pd.DataFrame, account: Account) -> pd.DataFrame:
    """The columns of a workload from those of a log."""
    zero = table["QUEUED_TIMESTAMP"].min()
    submit_time = (table["QUEUED_TIMESTAMP"] - zero).dt.total_seconds()
    start_time = (table["START_TIMESTAMP"] - zero).dt.total_seconds()
    early = start_time < submit_time
    account.add("noted", "started before it was queued, start taken as unknown", int(early.sum()))
    requested = table["NODES_REQUESTED"]
    unknown = ~(requested > 0)
    account.add("noted", "requested nodes unknown, used taken", int(unknown.sum()))
    exit_status = table["EXIT_STATUS"].fillna(table["EXIT_CODE"])
    return pd.DataFrame(
        {
            "submit_time": submit_time,
            "run_time": table["RUNTIME_SECONDS"],
            "requested_time": table["WALLTIME_SECONDS"].where(table["WALLTIME_SECONDS"] > 0),
            "nodes": np.ceil(table["NODES_USED"].where(unknown, requested)),
            "recorded_start": start_time.where(~early),
            "job_id": _job_ids(table),
            "user": table["USERNAME_GENID"],
            "group": table["PROJECT_NAME_GENID"],
            "queue": table["QUEUE_NAME"],
            "status": (exit_status == 0).astype("Int64").where(exit_status.notna()),
        }
    )


def _job_ids(table: pd.DataFrame) -> pd.Series:
    """Cobalt's number, or the leading digits of the job's name (``123.polaris-pbs-01``)."""
    leading = table["JOB_NAME"].str.extract(r"^(\d{1,15})", expand=False).astype("Float64")
    return table["COBALT_JOBID"].fillna(leading.astype("float64")).astype("Int64")


def _machine(table: pd.DataFrame) -> System | None:
    """The machine of the log, where it is in `MACHINES`."""
    names = table["MACHINE_NAME"].dropna().str.strip().str.lower().unique()
    return MACHINES.get(names[0]) if len(names) == 1 else None
