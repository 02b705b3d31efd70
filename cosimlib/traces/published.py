"""Published logs, a table each: Argonne's, Fugaku's, Marconi100's, Peregrine's and HTCondor's.

*Argonne Leadership Computing Facility*: DIM_JOB_COMPOSITE tables as CSV, one per machine and year;
those of Mira, Theta, Polaris and others are at https://reports.alcf.anl.gov/data/. A row is a job
with the times at which it was queued, started and ended, in UTC. Later files have column names in
lower case, and EXIT_CODE for EXIT_STATUS; both forms are read. Polaris and Aurora run PBS, and
their COBALT_JOBID is the same in nearly every row: there the job's number is the leading one of its
name.

*F-DATA*: the jobs of Fugaku from March 2021 to April 2024, a parquet file per month, at
https://doi.org/10.5281/zenodo.11467483 (Antici et al., Scientific Data, 2025); some have been
passed on as CSV with the same columns. Read are adt (submitted), sdt (started), edt (ended) and
duration, elpl (the limit, in seconds), nnumr, nnuma, nnumu and cnumr, cnumat, cnumut (nodes and
cores requested, allocated, used), mszl (bytes per node; 2⁶⁴: no limit), usr, jid, pri, "exit
state", and econ, the energy of the whole job in watt-hours. The column `embedding`, most of the
file, is never loaded. A job that never started has no sdt. Nodes are those allocated, or those
requested where that is unknown.

*PM100*: the exclusive jobs of Marconi100 from May to October 2020, with their power, in parquet.
The file, job_table.parquet, is at https://doi.org/10.5281/zenodo.10127767 (Antici et al., SC-W,
2023); the job tables of the M100 data set have the same columns. Its Slurm's time_limit is in
minutes, its run_time in seconds; times bear their zone. The lists of power samples are not loaded.

*Bags of jobs* tell run times but no times of submission; all jobs are submitted at time 0. HTCondor
submit files have one ``Arguments = seconds`` per job. The HTC workload of Duplyakin et al. (2013,
2017) is such a file: jobs that sleep for so many seconds. It says run times and nothing else, so
jobs have one node. Of the 10,000 jobs that NREL published of Peregrine, drawn from two years, a
copy can be had without the jobs of unknown application: power, run_time (s), nodes_used,
processors_used, wallclock_used, cpu_used, mem_used, app_name. Order, queues, requested times and
exit status are missing, too.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import THETA, NodeType, System
from cosimlib.traces import records
from cosimlib.traces.account import Account, TraceError, assemble, parses, read_bytes
from cosimlib.traces.records import ARRIVALS, AUTO, UNITS, Arrival, Unit
from cosimlib.traces.texts import WHOLE, as_numbers, leading_number, read_kinds
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

POLARIS = System("Polaris", {"main": 560}, cores_per_node=32, memory_per_node=512.0)
AURORA = System("Aurora", {"main": 10_624}, cores_per_node=104, memory_per_node=1024.0)
MACHINES = {"theta": THETA, "polaris": POLARIS, "aurora": AURORA}
FUGAKU = System("Fugaku", {"main": 158_976}, cores_per_node=48, memory_per_node=32.0)
CORES, THREADS, GPUS = 32, 128, 4
MARCONI100 = System(
    "Marconi100",
    {"main": 980},
    cores_per_node=CORES,
    memory_per_node=256.0,
    node_types=(NodeType(980, cores=THREADS, memory=256.0, gpus=GPUS, model="V100"),),
)
"""CINECA's IBM AC922: 2 × 16 cores of POWER9 with 4 threads each, and 4 V100 per node.

Slurm counted threads there, so that `cores` of the log and of the node types are threads.
"""

ALCF = {
    **dict.fromkeys(("QUEUED_TIMESTAMP", "START_TIMESTAMP", "END_TIMESTAMP"), "instants"),
    **dict.fromkeys(
        (
            "WALLTIME_SECONDS",
            "RUNTIME_SECONDS",
            "NODES_REQUESTED",
            "NODES_USED",
            "EXIT_STATUS",
            "EXIT_CODE",
            "COBALT_JOBID",
        ),
        "numbers",
    ),
    **dict.fromkeys(
        ("JOB_NAME", "MACHINE_NAME", "USERNAME_GENID", "PROJECT_NAME_GENID", "QUEUE_NAME"), "labels"
    ),
}
"""Columns of DIM_JOB_COMPOSITE that are read, and their kinds (see `texts`)."""
ALCF_NEEDED = (
    "QUEUED_TIMESTAMP",
    "START_TIMESTAMP",
    "WALLTIME_SECONDS",
    "RUNTIME_SECONDS",
    "NODES_REQUESTED",
)
F_DATA = {
    **dict.fromkeys(("adt", "sdt", "edt"), "instants"),
    **dict.fromkeys(
        (
            "duration",
            "elpl",
            "nnumr",
            "nnuma",
            "nnumu",
            "cnumr",
            "cnumat",
            "cnumut",
            "mszl",
            "pri",
            "econ",
        ),
        "numbers",
    ),
    **dict.fromkeys(("jid", "usr", "jobenv_req", "exit state"), "labels"),
}
F_DATA_NEEDED = ("adt", "sdt", "nnumr")
PM100 = {
    **dict.fromkeys(("submit_time", "eligible_time", "start_time", "end_time"), "instants"),
    **dict.fromkeys(
        (
            "run_time",
            "time_limit",
            "num_nodes_alloc",
            "num_nodes_req",
            "num_cores_alloc",
            "num_cores_req",
            "num_gpus_alloc",
            "num_gpus_req",
            "mem_alloc",
            "job_id",
        ),
        "numbers",
    ),
    **dict.fromkeys(("user_id", "group_id", "partition", "qos", "job_state"), "labels"),
}
PM100_NEEDED = ("submit_time", "start_time", "run_time", "num_nodes_alloc")
PEREGRINE = {"run_time": "numbers", "nodes_used": "numbers", "app_name": "labels"}

CONSTANT = 0.99
"""A job number that so large a part of the rows have is none."""
UNLIMITED = 2.0**60
"""Bytes of memory from which on F-DATA has no limit."""
INFINITE = 2.0**31
"""Slurm's INFINITE and NO_VAL, as time limits, are close to 2³²."""
ARGUMENTS = re.compile(
    rb"^[ \t]*arguments[ \t]*=[ \t]*(.*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)


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
    >>> workload = cs.traces.read_alcf("alcf.csv", verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0         0.00    3600.0      8
    1       599.75     600.5    128
    2      1799.75     600.0      1
    """
    path, account = Path(path), Account()
    table = read_kinds(
        path, ALCF, needed=ALCF_NEEDED, format_name="a DIM_JOB_COMPOSITE log", fold=str.upper
    )
    table, unit = records.counted(_alcf_records(table, account), "nodes", account)
    names = table["machine"].dropna().str.strip().str.lower().unique()
    machine = MACHINES.get(names[0]) if len(names) == 1 else None
    status = (table["exit"] == 0).astype("Int64").where(table["exit"].notna())
    return records.workload_of(
        table,
        unit,
        account,
        machine,
        path=path,
        name=name,
        verbose=verbose,
        job_id=_alcf_ids(table, account),
        status=status,
        eligible_time=np.nan,
    )


def _alcf_records(table: pd.DataFrame, account: Account) -> pd.DataFrame:
    """The columns of records from those of a log."""
    elapsed = table["RUNTIME_SECONDS"].where(table["RUNTIME_SECONDS"] >= 0)
    mendable = elapsed.isna() & (table["END_TIMESTAMP"] >= table["START_TIMESTAMP"])
    account.add("mended", "run time unknown, end less start taken", int(mendable.sum()))
    used = ~(table["NODES_REQUESTED"] > 0) & (table["NODES_USED"] > 0)
    account.add("noted", "requested nodes unknown, used taken", int(used.sum()))
    columns = {
        "submit": table["QUEUED_TIMESTAMP"],
        "start": table["START_TIMESTAMP"],
        "end": table["END_TIMESTAMP"].fillna(table["START_TIMESTAMP"] + elapsed),
        "elapsed": elapsed,
        "limit": table["WALLTIME_SECONDS"],
        "nodes": _first_known(table, "NODES_REQUESTED", "NODES_USED"),
        "job": table["COBALT_JOBID"],
        "user": table["USERNAME_GENID"],
        "group": table["PROJECT_NAME_GENID"],
        "queue": table["QUEUE_NAME"],
        "machine": table["MACHINE_NAME"],
        "job_name": table["JOB_NAME"],
        "exit": table["EXIT_STATUS"].fillna(table["EXIT_CODE"]),
    }
    return records.table_of(columns)


def _alcf_ids(table: pd.DataFrame, account: Account) -> pd.Series:
    """Cobalt's number, or the leading digits of the job's name (``123.polaris-pbs-01``)."""
    numbers = table["job"]
    shares = numbers.value_counts(normalize=True)
    if len(table) >= 10 and len(shares) and shares.iloc[0] >= CONSTANT:
        same = numbers == shares.index[0]
        number = f"{shares.index[0]:.0f}"
        account.add("noted", f"COBALT_JOBID {number} as nearly everywhere, unknown", same.sum())
        numbers = numbers.where(~same)
    numbers = numbers.where((numbers % 1 == 0) & (numbers.abs() < 2.0**53))
    return numbers.fillna(leading_number(table["job_name"])).astype("Int64")


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
    >>> workload = cs.traces.read_fugaku("fugaku.csv", verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0          0.0    6126.0      1
    1        356.0   15427.0      1
    2        832.0    6298.0    384
    """
    check.choice("unit", unit, ("nodes", "cores", AUTO))
    path, account = Path(path), Account()
    table = read_kinds(path, F_DATA, needed=F_DATA_NEEDED, format_name="a month of F-DATA")
    table, unit = records.counted(_f_data_records(table), unit, account)
    machine = records.machine_in(FUGAKU, unit, 48)
    return records.workload_of(
        table,
        unit,
        account,
        machine,
        path=path,
        name=name,
        verbose=verbose,
        priority=table["priority"].fillna(1.0),
        energy=table["energy"],
        eligible_time=np.nan,
    )


def _f_data_records(table: pd.DataFrame) -> pd.DataFrame:
    """The columns of records from those of F-DATA."""
    memory = table["mszl"].where((table["mszl"] > 0) & (table["mszl"] < UNLIMITED))
    end = table["edt"] if table["edt"].notna().any() else table["sdt"] + table["duration"]
    columns = {
        "submit": table["adt"],
        "start": table["sdt"],
        "end": end,
        "elapsed": table["duration"].where(table["duration"] >= 0),
        "limit": table["elpl"],
        "nodes": _first_known(table, "nnuma", "nnumu", "nnumr"),
        "cores": _first_known(table, "cnumat", "cnumut", "cnumr"),
        "job": as_numbers(table["jid"].str.extract(r"([0-9]{1,15})$", expand=False)),
        "user": table["usr"],
        "queue": table["jobenv_req"],
        "state": table["exit state"],
        "memory": memory / 1e9,
        "priority": table["pri"],
        "energy": table["econ"].where(table["econ"] >= 0),
    }
    return records.table_of(columns)


def _first_known(table: pd.DataFrame, *columns: str) -> pd.Series:
    """The first of several columns that is above 0."""
    values = pd.Series(np.nan, index=table.index)
    for column in columns:
        values = values.fillna(table[column].where(table[column] > 0))
    return values


@parses("the job table of PM100")
def read_pm100(
    path: str | Path,
    *,
    unit: Unit = "nodes",
    arrival: Arrival = "submit",
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """Workload of PM100, or of a job table of M100. Needs the extra `parquet`.

    Parameters
    ----------
    path : str or Path
    unit : {"nodes", "cores", "gpus", "auto"}
        What a node of the workload is, as allocated, or as requested if that is unknown;
        ``"auto"``: what is scarce, nodes unless jobs share them.
    arrival : {"submit", "eligible"}
        What counts as `submit_time`.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        `submit_time` counts from the first arrival; `eligible_time` is kept beside it; `memory` is
        GB per node, `cores` and `gpus` are those of a node; `machine` Marconi100, in the unit
        chosen. All jobs are exclusive: those that shared nodes are not in PM100, so that the
        machine looks emptier than it was.

    Raises
    ------
    ImportError
        Without pyarrow, naming the extra.
    FileNotFoundError
    TraceError

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.traces.read_pm100("job_table.parquet", verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0          0.0   24554.0      2
    1        430.0   36503.0      2
    2       1099.0    1915.0      1
    """
    check.choice("unit", unit, (*UNITS, AUTO))
    check.choice("arrival", arrival, ARRIVALS)
    path, account = Path(path), Account()
    format_name = "the job table of PM100"
    table = read_kinds(path, PM100, needed=PM100_NEEDED, format_name=format_name, below=WHOLE)
    table, unit = records.counted(_pm100_records(table), unit, account)
    machine = records.machine_in(
        MARCONI100, unit, {"nodes": 1, "cores": THREADS, "gpus": GPUS}[unit]
    )
    return records.workload_of(
        table, unit, account, machine, path=path, name=name, verbose=verbose, arrival=arrival
    )


def _pm100_records(table: pd.DataFrame) -> pd.DataFrame:
    """The columns of records from those of the job table."""
    limit = table["time_limit"]
    nodes, cores, gpus = (
        table[f"num_{kind}_alloc"].where(table[f"num_{kind}_alloc"] > 0, table[f"num_{kind}_req"])
        for kind in UNITS
    )
    memory = table["mem_alloc"] / nodes
    columns = {
        "submit": table["submit_time"],
        "eligible": table["eligible_time"],
        "start": table["start_time"],
        "end": table["end_time"],
        "elapsed": table["run_time"],
        "limit": limit.where((limit > 0) & (limit < INFINITE)) * MINUTE,
        "nodes": nodes,
        "cores": cores,
        "gpus": gpus,
        "job": table["job_id"],
        "user": table["user_id"],
        "group": table["group_id"],
        "queue": table["partition"],
        "qos": table["qos"],
        "state": table["job_state"],
        "memory": memory.where(memory > 0),
    }
    return records.table_of(columns)


@parses("Peregrine's jobs")
def read_peregrine(path: str | Path, *, name: str | None = None, verbose: bool = True) -> Workload:
    """The jobs of the public extract of Peregrine's log.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of what was dropped.

    Returns
    -------
    Workload
        All jobs submitted at time 0, in the file's order, with `application`.

    Raises
    ------
    FileNotFoundError
    TraceError
    """
    path, account = Path(path), Account()
    expected = "Peregrine's jobs: power, run_time, nodes_used, …, app_name"
    table = read_kinds(path, PEREGRINE, needed=PEREGRINE, format_name=expected)
    rules = (
        ("run time unknown", ~(table["run_time"] >= 0)),
        (
            "number of nodes unknown, or none",
            ~((table["nodes_used"] >= 1) & (table["nodes_used"] % 1 == 0)),
        ),
    )
    table = account.drop(table, rules)
    jobs = pd.DataFrame(
        {
            "submit_time": 0.0,
            "run_time": table["run_time"],
            "nodes": table["nodes_used"].astype("int64"),
            "job_id": table.index + 1,
            "application": table["app_name"],
        }
    )
    return assemble(jobs, name, None, account, path=path, verbose=verbose)


@parses("an HTCondor submit file")
def read_condor(path: str | Path, *, name: str | None = None, verbose: bool = True) -> Workload:
    """The jobs of an HTCondor submit file whose arguments are seconds.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account.

    Returns
    -------
    Workload
        One-node jobs, all submitted at time 0, in the file's order; `run_time` in seconds.

    Raises
    ------
    FileNotFoundError
    TraceError
        For a file without arguments, or with arguments that are no seconds.
    """
    path = Path(path)
    data = read_bytes(path)
    run_times = [_seconds(path, data, found) for found in ARGUMENTS.finditer(data)]
    if not run_times:
        raise TraceError(f"{path}: no line 'Arguments = seconds'; expected one per job")
    jobs = pd.DataFrame({"submit_time": 0.0, "run_time": run_times, "nodes": 1})
    jobs = jobs.assign(job_id=jobs.index + 1)
    return assemble(jobs, name, None, Account(), path=path, verbose=verbose)


def is_condor(beginning: bytes) -> bool:
    """Whether a file begins like a submit file."""
    return re.match(rb"\s*(universe|executable)[ \t]*=", beginning, re.IGNORECASE) is not None


def _seconds(path: Path, data: bytes, found: re.Match[bytes]) -> float:
    """The seconds of one line."""
    text = found[1].decode("utf-8", "replace")
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", text):
        line = data.count(b"\n", 0, found.start(1)) + 1
        raise TraceError(f"{path}: line {line}: Arguments = {text!r}; expected seconds")
    return float(text)
