"""Job logs of the Argonne Leadership Computing Facility: DIM_JOB_COMPOSITE tables as CSV.

There is one file per machine and year; those of Mira, Theta, Polaris and others are at
https://reports.alcf.anl.gov/data/. A row is a job with the times at which it was queued, started
and ended, in UTC. Later files have column names in lower case, and EXIT_CODE for EXIT_STATUS; both
forms are read. Polaris and Aurora run PBS, and their COBALT_JOBID is the same in nearly every row:
there the job's number is the leading one of its name.

Rows that are not jobs are dropped, each counted under the first of these reasons: the time at which
it was queued is unknown; it never started; its run time is unknown; its nodes are unknown.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib.system import THETA, System
from cosimlib.traces.account import Account, assemble, parses, read_bytes
from cosimlib.traces.records import began
from cosimlib.traces.texts import read_csv
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
POLARIS = System("Polaris", {"main": 560}, cores_per_node=32, memory_per_node=512.0)
AURORA = System("Aurora", {"main": 10_624}, cores_per_node=104, memory_per_node=1024.0)
MACHINES = {"theta": THETA, "polaris": POLARIS, "aurora": AURORA}

CONSTANT = 0.99
"""A job number that so large a part of the rows have is none."""


@parses("a job log of Argonne's")
def read_alcf(path: str | Path, *, name: str | None = None, verbose: bool = True) -> Workload:
    """Workload of a DIM_JOB_COMPOSITE log of Argonne, CSV or gzip of it.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        `submit_time` counts from the first job's QUEUED_TIMESTAMP; `nodes` is NODES_REQUESTED, or
        NODES_USED if that is unknown; `status` is 1 if the exit status is 0, else 0; `group`
        is the project. `machine` is that of `MACHINES` for Theta, Polaris and Aurora, else unknown.

    Raises
    ------
    FileNotFoundError
    TraceError
        If it is damaged; names the columns that are missing, or the line, its value and
        what was expected.

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.read_alcf("alcf.csv", verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0         0.00    3600.0      8
    1       599.75     600.5    128
    2      1799.75     600.0      1
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
    first = began(table["QUEUED_TIMESTAMP"])
    return assemble(
        jobs, name, machine, account, path=path, records=records, verbose=verbose, began=first
    )


def is_alcf(beginning: bytes) -> bool:
    """Whether a file begins with the heading of such a log."""
    first = beginning.lstrip().split(b"\n", 1)[0].upper()
    return b"QUEUED_TIMESTAMP" in first and b"NODES_REQUESTED" in first


def _parse(path: Path, data: bytes) -> pd.DataFrame:
    """The columns of the log that are read; a missing one is unknown throughout."""
    wanted = (*TIMES, *NUMBERS, *TEXTS)
    texts = read_csv(
        path, data, wanted, needed=NEEDED, format_name="a DIM_JOB_COMPOSITE log", fold=str.upper
    )
    return pd.DataFrame(
        {column: texts.instants(column) for column in TIMES}
        | {column: texts.numbers(column) for column in NUMBERS}
        | {column: texts.labels(column) for column in TEXTS}
    )


def _mended(table: pd.DataFrame, account: Account) -> pd.DataFrame:
    """Missing run times are taken from start and end."""
    run_time = table["RUNTIME_SECONDS"]
    run_time = run_time.where(run_time >= 0)
    elapsed = table["END_TIMESTAMP"] - table["START_TIMESTAMP"]
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
    submit_time = table["QUEUED_TIMESTAMP"] - zero
    start_time = table["START_TIMESTAMP"] - zero
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
            "job_id": _job_ids(table, account),
            "user": table["USERNAME_GENID"],
            "group": table["PROJECT_NAME_GENID"],
            "queue": table["QUEUE_NAME"],
            "status": (exit_status == 0).astype("Int64").where(exit_status.notna()),
        }
    )


def _job_ids(table: pd.DataFrame, account: Account) -> pd.Series:
    """Cobalt's number, or the leading digits of the job's name (``123.polaris-pbs-01``)."""
    numbers = table["COBALT_JOBID"]
    shares = numbers.value_counts(normalize=True)
    if len(table) >= 10 and len(shares) and shares.iloc[0] >= CONSTANT:
        same = numbers == shares.index[0]
        number = f"{shares.index[0]:.0f}"
        account.add("noted", f"COBALT_JOBID {number} as nearly everywhere, unknown", same.sum())
        numbers = numbers.where(~same)
    leading = table["JOB_NAME"].str.extract(r"^([0-9]{1,15})", expand=False).astype("Float64")
    numbers = numbers.where((numbers % 1 == 0) & (numbers.abs() < 2.0**53))
    return numbers.fillna(leading.astype("float64")).astype("Int64")


def _machine(table: pd.DataFrame) -> System | None:
    """The machine of the log, where it is in `MACHINES`."""
    names = table["MACHINE_NAME"].dropna().str.strip().str.lower().unique()
    return MACHINES.get(names[0]) if len(names) == 1 else None
