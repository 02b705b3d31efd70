"""Accounting records of Slurm: the output of ``sacct``, as text or JSON.

This command prints everything that is read here, with times in seconds since 1970 and the only free
text last::

    SLURM_TIME_FORMAT=%s sacct -a -X --duplicates --noconvert --parsable2 --delimiter=$'\\x1f' \\
      --starttime 2026-01-01 --format=JobIDRaw,JobID,User,Account,Partition,QOS,Submit,Eligible,\\
    Start,End,ElapsedRaw,TimelimitRaw,Suspended,NNodes,NCPUS,AllocTRES,NodeList,State,JobName

Records that are not jobs are dropped, each counted under the first of these reasons: a step of a
job; its submission is unknown; it was cancelled before its start; it has not started; it still
runs; its run time is unknown; what it held is unknown.

The run time is ElapsedRaw, which does not include suspensions. Limits are in
minutes; UNLIMITED and Partition_Limit are unknown requests. Tasks of arrays and components of
heterogeneous jobs are jobs of their own; so is each try of a job that was requeued.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import MOST_CORES, MOST_GPUS, MOST_MEMORY, NodeType, System
from cosimlib.traces import records
from cosimlib.traces.account import Account, TraceError, assemble, base_name, parses, read_bytes
from cosimlib.traces.documents import Document, label, number
from cosimlib.traces.hosts import count_hosts
from cosimlib.traces.records import ARRIVALS, AUTO, COLUMNS, UNITS, Arrival, Unit
from cosimlib.traces.sacct_text import is_text, read_text
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

FIELDS = ("submit", "eligible", "start", "end", "elapsed", "limit", "nodes", "cores", "gpus",
          "job", "user", "group", "queue", "qos", "hosts", "state", "memory")  # fmt: skip
"""Columns of a record of JSON, in the order of `_row`."""
FINISHED = {"COMPLETED": 1, "CANCELLED": 5}
"""SWF's status by Slurm's state; every other state of a job that ended is 0, failed."""
MEBIBYTE = 2**20 / 1e9
"""GB of a MiB, in which JSON tells memory."""
UNSTARTED = ("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
"""States of jobs that wait, whatever their record says of an earlier try."""


@parses("what sacct prints")
def read_sacct(
    path: str | Path,
    *,
    unit: Unit = "nodes",
    arrival: Arrival = "submit",
    system: System | None = None,
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """Workload of the output of ``sacct``: text with any delimiter, or JSON, plain or gzip.

    Parameters
    ----------
    path : str or Path
    unit : {"nodes", "cores", "gpus", "auto"}
        What a node of the workload is: NNodes, NCPUS, or GPUs of AllocTRES. It is not guessed:
        nodes shared with other jobs count for each of them under ``"nodes"``; jobs without GPUs
        are dropped under ``"gpus"``. ``"auto"`` takes what is scarce (`records.scarce_unit`), and
        the account says which.
    arrival : {"submit", "eligible"}
        What counts as `submit_time`: Submit, or the later Eligible of a job that waited for
        another one, for a time, or was held.
    system : System, optional
        The machine, in the chosen unit. By default, for nodes, the different ones on which jobs
        ran, each with as many cores and GPUs and as much memory as some job held on a node;
        unknown for cores and GPUs.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        `submit_time` counts from the first arrival; `eligible_time` is kept beside it; `group` is
        the account, `queue` the partition. Where nodes are counted, `cores`, `gpus` and `memory`
        (GB) are those of AllocTRES per node, for ReqTRES leaves out what an exclusive job holds
        beyond its request.

    Raises
    ------
    FileNotFoundError
    TraceError
        If it is damaged; names the columns that are missing, or the line, its value and
        what was expected.

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.read_sacct("sacct_X_parsable2_epoch.txt", unit="cores", verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0          0.0       6.0      1
    1          0.0      31.0     16
    2          0.0       4.0      1
    """
    check.choice("unit", unit, (*UNITS, AUTO))
    check.choice("arrival", arrival, ARRIVALS)
    path, account = Path(path), Account()
    name = name or base_name(path)
    data = read_bytes(path)
    if not data.strip():
        raise TraceError(f"{path}: the file is empty; expected what sacct prints")
    as_json = data.lstrip()[:1] in (b"{", b"[")
    table = _read_json(path, data) if as_json else read_text(path, data)
    del data
    count = len(table)
    unit = records.scarce_unit(table, account) if unit == AUTO else unit
    table = account.drop(table, _drop_rules(table, unit))
    _note(table, unit, account)
    machine = system or (_machine(table, name) if unit == "nodes" else None)
    jobs = records.jobs(table, unit, arrival, account).assign(status=_status(table))
    if unit == "nodes":
        jobs = jobs.assign(memory=table["memory"] / table["nodes"])
    first = records.began(records.arrivals(table, arrival), local=bool(table["local"].all()))
    return assemble(
        jobs, name, machine, account, path=path, records=count, verbose=verbose, began=first
    )


def is_sacct(beginning: bytes) -> bool:
    """Whether a file begins as what ``sacct`` prints does."""
    return _is_json(beginning) or is_text(beginning)


def _drop_rules(table: pd.DataFrame, unit: str) -> list[tuple[str, pd.Series]]:
    """Reasons why a record is not a job, in the order of the module's docstring."""
    state = _states(table)
    unknown = table["start"].isna()
    at_once = (table["start"] == table["end"]) & (state == "CANCELLED") & table["hosts"].isna()
    cancelled = (unknown & (state == "CANCELLED")) | at_once
    return [
        ("step of a job", table["step"]),
        ("time of submission unknown", table["submit"].isna()),
        ("cancelled before its start", cancelled),
        ("not started", unknown | state.isin(UNSTARTED)),
        ("still running", table["end"].isna() | state.isin(["RUNNING", "SUSPENDED"])),
        ("run time unknown", ~(records.run_time(table) >= 0)),
        (f"number of {unit} unknown, or none", ~(table[unit] >= 1)),
    ]


def _note(table: pd.DataFrame, unit: str, account: Account) -> None:
    """Enter what is odd about the records of jobs."""
    if unit == "nodes":
        density = table["cores"] / table["nodes"]
        shared = int((density < density.max()).sum())
        account.add("noted", "fewer cores than its nodes have: it may share them", shared)
        rounded = int(table["rounded"].sum())
        account.add("noted", "nodes rounded to thousands: ask sacct for --noconvert", rounded)
    account.add("noted", "times of an unnamed local clock", int(table["local"].sum()))


def _states(table: pd.DataFrame) -> pd.Series:
    """Slurm's states without what may follow them, empty if unknown."""
    return table["state"].str.split(" ").str[0].str.rstrip("+").fillna("").astype("string")


def _status(table: pd.DataFrame) -> pd.Series:
    state = _states(table)
    return state.map(FINISHED).astype("Int64").fillna(0).where(state != "")


def _machine(table: pd.DataFrame, name: str) -> System | None:
    """The different nodes on which jobs ran, where their names are known."""
    nodes = count_hosts(table["hosts"].dropna().unique())
    if not nodes:
        return None
    types = _alike(table, nodes)
    return System(name, {"main": nodes}, cores_per_node=_cores(table), node_types=types)


def _alike(table: pd.DataFrame, nodes: int) -> tuple[NodeType, ...]:
    """Nodes that have the most that a job held on each of its nodes; none if nobody has so much."""
    held = {kind: (table[kind] / table["nodes"]).max() for kind in ("cores", "memory", "gpus")}
    gpus = np.nan_to_num(np.ceil(held["gpus"]))
    cores = held["cores"] if held["cores"] > 0 else 1.0
    memory = held["memory"] if held["memory"] > 0 else np.nan
    possible = cores < MOST_CORES and gpus <= MOST_GPUS and not memory >= MOST_MEMORY
    return (NodeType(nodes, float(cores), float(memory), int(gpus)),) if possible else ()


def _cores(table: pd.DataFrame) -> int:
    """Cores of a node, where most jobs hold that many on each of theirs and none more; else 1."""
    density = (table["cores"] / table["nodes"]).dropna()
    most = density.max() if len(density) else 1.0
    common = (density == most).mean() > 0.5
    return int(most) if most >= 1 and most % 1 == 0 and common else 1


def _is_json(beginning: bytes) -> bool:
    """Whether a JSON document begins with jobs of ``sacct``'s."""
    return beginning.lstrip()[:1] == b"{" and b'"submission"' in beginning


def _read_json(path: Path, data: bytes) -> pd.DataFrame:
    """The records as a table with the columns of `records.COLUMNS`, `hosts`, `step`, `local`."""
    document = Document(path, data, "what sacct --json prints")
    rows: list[tuple] = []
    for place, job in document.jobs():
        if not isinstance(job, dict) or not isinstance(job.get("time"), dict):
            raise document.refuse(place, f"jobs[{len(rows)}] has no times")
        rows.append(_row(job))
    table = pd.DataFrame(rows, columns=list(FIELDS)).astype(COLUMNS | {"hosts": "string"})
    table["hosts"] = table["hosts"].mask(table["hosts"].isin(["", "None assigned"]))
    for column in ("submit", "eligible", "start", "end"):
        table[column] = table[column].where(table[column] > 0)
    return table.assign(step=False, local=False, rounded=False)


def _row(job: dict[str, Any]) -> tuple:
    """One job's values in the order of `FIELDS`."""
    times, tres = job["time"], job.get("tres")
    granted = tres.get("allocated") if isinstance(tres, dict) else None
    state = job.get("state")
    state = state.get("current") if isinstance(state, dict) else state
    state = state[0] if isinstance(state, list) and state else state
    clock = ("submission", "eligible", "start", "end", "elapsed")
    return (
        *(number(times.get(key)) for key in clock),
        number(times.get("limit")) * MINUTE,
        _granted(granted, "node"),
        _granted(granted, "cpu"),
        _granted(granted, "gres", "gpu"),
        number(job.get("job_id")),
        *(label(job.get(key)) for key in ("user", "account", "partition", "qos", "nodes")),
        state if isinstance(state, str) else None,
        _granted(granted, "mem") * MEBIBYTE,
    )


def _granted(tres: Any, kind: str, name: str | None = None) -> float:
    """How much of a trackable resource a job was given; NaN if unknown."""
    for each in tres if isinstance(tres, list) else ():
        if isinstance(each, dict) and each.get("type") == kind and name in (None, each.get("name")):
            count = number(each.get("count"))
            return count if count >= 0 else np.nan
    return np.nan
