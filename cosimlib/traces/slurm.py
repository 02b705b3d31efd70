"""Slurm's accounting records: what ``sacct`` prints, as text or as JSON.

The command that asks for all that is read here, with times that are not in anyone's local clock and
the one free text last::

    SLURM_TIME_FORMAT=%s sacct -a -X --duplicates --parsable2 --delimiter=$'\\x1f' \\
      --starttime 2026-01-01 --format=JobIDRaw,JobID,User,Account,Partition,QOS,Submit,Eligible,\\
    Start,End,ElapsedRaw,TimelimitRaw,Suspended,NNodes,NCPUS,AllocTRES,NodeList,State,JobName

``sacct`` escapes nothing: a job's name may hold the delimiter, and line breaks. A record of too
many fields is split where only one division among its free texts lets every other field be what it
should be; where several do, or none, the error names the line. No record is dropped for that.

Records that are no jobs are dropped, each counted under the first of these reasons: a step of a
job; its submission is unknown; it has not started; it was cancelled before its start; it still
runs; its run time is unknown; what it held is unknown.

A run lasts for its ElapsedRaw, which leaves out the time for which it was suspended. Limits are in
minutes; UNLIMITED and Partition_Limit are unknown requests. Tasks of arrays and components of
heterogeneous jobs are jobs of their own.
"""

import json
import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import System
from cosimlib.traces.account import Account, TraceError, assemble, read_bytes, shortened
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

Unit = Literal["nodes", "cores", "gpus"]
UNITS = ("nodes", "cores", "gpus")
ARRIVALS = ("submit", "eligible")
DELIMITERS = ("\x1f", "|", "\t", ";", ",")
UNKNOWN = ("", "Unknown", "None", "N/A", "None assigned")
TIMES = ("submit", "eligible", "start", "end")
NEEDED = ("Submit", "Start", "End", "State")
FREE = ("JobName", "Comment", "SubmitLine", "WorkDir", "AdminComment", "SystemComment", "Extra",
        "Reason", "Container", "StdOut", "StdErr", "StdIn")  # fmt: skip
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d+|Unknown|None|N/A|"
WHOLE = r"\d+|"
FORMS = {
    **dict.fromkeys(("Submit", "Eligible", "Start", "End"), re.compile(TIME)),
    **dict.fromkeys(("ElapsedRaw", "NNodes", "NCPUS", "AllocNodes", "AllocCPUS"),
                    re.compile(WHOLE)),
    "JobID": re.compile(r"\d+([_+.\[].*)?"),
    "JobIDRaw": re.compile(r"\d+(\..*)?"),
    "TimelimitRaw": re.compile(r"\d+|UNLIMITED|Partition_Limit|"),
    "State": re.compile(r"[A-Z][A-Z_]+( by \S+)?\+?"),
    "ExitCode": re.compile(r"\d+:\d+|"),
}  # fmt: skip
"""What fields look like that a record is checked by where its division is in doubt."""
READ = {*FORMS, "Elapsed", "Timelimit", "AllocTRES", "User", "Account", "Partition", "QOS",
        "NodeList"}  # fmt: skip
FINISHED = {"COMPLETED": 1, "CANCELLED": 5}
"""SWF's status by Slurm's state; every other state of a job that ended is 0, failed."""
UNSTARTED = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")


def read_sacct(
    path: str | Path,
    *,
    unit: Unit = "nodes",
    arrival: Literal["submit", "eligible"] = "submit",
    system: System | None = None,
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """The jobs of a file that ``sacct`` printed: text of any delimiter, JSON, or gzip of either.

    Parameters
    ----------
    path : str or Path
    unit : {"nodes", "cores", "gpus"}
        What a workload's `nodes` count: NNodes, NCPUS, or GPUs of AllocTRES. It is not guessed:
        nodes shared with other jobs count for each of them under ``"nodes"``; jobs without GPUs
        are dropped under ``"gpus"``.
    arrival : {"submit", "eligible"}
        What counts as `submit_time`: Submit, or the later Eligible of a job that waited for
        another one, for a time, or was held.
    system : System, optional
        The machine, in the unit chosen. By default, for nodes, the different ones on which jobs
        ran; unknown for cores and GPUs.
    name : str, optional
        What the workload is called; the file's name without its ending by default.
    verbose : bool, default True
        Whether to print the account of what was dropped, mended and noted.

    Returns
    -------
    Workload
        `submit_time` counts from the first arrival; `eligible_time` is kept beside it; `group` is
        the account, `queue` the partition.

    Raises
    ------
    FileNotFoundError
    TraceError
        Naming the columns that are missing, or the line, its value and what was expected.
    """
    check.choice("unit", unit, UNITS)
    check.choice("arrival", arrival, ARRIVALS)
    path, account = Path(path), Account()
    name = name or path.name.removesuffix(".gz").rsplit(".", 1)[0]
    data = read_bytes(path)
    if not data.strip():
        raise TraceError(f"{path}: the file is empty; expected what sacct prints")
    as_json = data.lstrip()[:1] in (b"{", b"[")
    table = _from_json(path, data) if as_json else _from_text(path, data)
    records = len(table)
    table["held"] = table[unit]
    table = account.drop(table, _no_jobs(table, unit))
    if unit == "nodes":
        density = table["cores"] / table["nodes"]
        shared = int((density < density.max()).sum())
        account.add("noted", "fewer cores than its nodes have: it may share them", shared)
    account.add("noted", "times of an unnamed local clock", int(table["local"].sum()))
    machine = system or (_machine(table, name) if unit == "nodes" else None)
    jobs = _jobs(table, arrival, account)
    return assemble(jobs, name, machine, account, path=path, records=records, verbose=verbose)


def _from_text(path: Path, data: bytes) -> pd.DataFrame:
    """The columns that we read of ``sacct --parsable`` or ``--parsable2``."""
    lines = data.decode("utf-8-sig", "replace").split("\n")
    heading = next(place for place, line in enumerate(lines) if line.strip())
    columns, delimiter = _heading(path, lines[heading].rstrip("\r"))
    fields = list(_records(path, lines, heading + 1, columns, delimiter))
    text = pd.DataFrame(fields, columns=["line", *columns], dtype="str")
    text = text.loc[:, ~text.columns.duplicated()]
    table = pd.DataFrame({"line": text["line"].astype("int64")})
    for column in TIMES:
        table[column] = _seconds(path, text, column.capitalize())
    table["local"] = text["Submit"].str.contains("T", regex=False)
    elapsed = _number(path, text, "ElapsedRaw")
    table["elapsed"] = elapsed.fillna(_lengths(text["Elapsed"])) if "Elapsed" in text else elapsed
    limit = pd.to_numeric(_column(text, "TimelimitRaw"), errors="coerce") * MINUTE
    table["limit"] = limit.fillna(_lengths(text["Timelimit"])) if "Timelimit" in text else limit
    table["nodes"] = _number(path, text, "NNodes").fillna(_number(path, text, "AllocNodes"))
    table["cores"] = _number(path, text, "NCPUS").fillna(_number(path, text, "AllocCPUS"))
    granted = _column(text, "AllocTRES").str.extract(r"gres/gpu=(\d+)", expand=False)
    table["gpus"] = pd.to_numeric(granted).astype("float64")
    for name, column in (("User", "user"), ("Account", "account"), ("Partition", "partition"),
                         ("QOS", "qos"), ("NodeList", "where"), ("State", "state")):  # fmt: skip
        table[column] = _column(text, name)
    number = _column(text, "JobIDRaw").fillna(_column(text, "JobID"))
    table["step"] = number.str.contains(".", regex=False, na=False)
    table["job"] = pd.to_numeric(number.str.extract(r"^(\d{1,15})", expand=False))
    return table


def _heading(path: Path, line: str) -> tuple[list[str], str]:
    """The columns' names and the delimiter, of which the first line has the most."""
    delimiter = max(DELIMITERS, key=line.count)
    columns = [column.strip() for column in line.split(delimiter)]
    known = {name.lower(): name for name in (*READ, *FREE)}
    columns = [known.get(column.lower(), column) for column in columns]
    missing = [column for column in NEEDED if column not in columns]
    if not {"JobID", "JobIDRaw"} & set(columns):
        missing.insert(0, "JobIDRaw")
    if missing:
        raise TraceError(
            f"{path}: no column {', '.join(missing)}; expected what sacct --parsable2 prints with "
            f"them, the first line reads {shortened(line.encode())}"
        )
    return columns, delimiter


def _records(
    path: Path, lines: list[str], first: int, columns: list[str], delimiter: str
) -> Iterator[list]:
    """The number of its line and the fields of every record."""
    wanted, place = len(columns) - 1, first
    while place < len(lines):
        line, number = lines[place].removesuffix("\r"), place + 1
        place += 1
        if not line.strip():
            continue
        found = line.count(delimiter)
        while place < len(lines) and (found < wanted or columns[-1] in FREE):
            following = lines[place].removesuffix("\r")
            if _begins(following, columns, delimiter):
                break
            line, place = f"{line}\n{following}", place + 1
            found = line.count(delimiter)
        fields = line.split(delimiter)
        if found != wanted:
            fields = _divided(path, number, fields, columns, delimiter)
        yield [number, *fields]


def _begins(line: str, columns: list[str], delimiter: str) -> bool:
    """Whether a line begins a record: its first field is a job's number where it should be."""
    form = FORMS.get(columns[0])
    begin = line.split(delimiter, 1)[0]
    return form.fullmatch(begin) is not None and delimiter in line if form else False


def _divided(
    path: Path, number: int, fields: list[str], columns: list[str], delimiter: str
) -> list[str]:
    """A record of too many fields, with delimiters given back to its free texts."""
    more = len(fields) - len(columns)
    free = [place for place, column in enumerate(columns) if column in FREE]
    found: dict[tuple[str, ...], list[str]] = {}
    if more > 0 and free:
        for bars in combinations(range(more + len(free) - 1), len(free) - 1):
            edges = (-1, *bars, more + len(free) - 1)
            extra = dict(zip(free, (b - a - 1 for a, b in pairwise(edges)), strict=True))
            trial = _merged(fields, extra, delimiter, len(columns))
            if all(
                FORMS[column].fullmatch(field)
                for column, field in zip(columns, trial, strict=True)
                if column in FORMS
            ):
                key = tuple(f for c, f in zip(columns, trial, strict=True) if c in READ)
                found[key] = trial
    if len(found) != 1:
        raise TraceError(
            f"{path}: line {number} has {len(fields)} fields, expected {len(columns)}, and "
            f"{'several divisions' if found else 'no division'} among free texts fit: "
            f"{shortened(delimiter.join(fields).encode())}; ask sacct for --delimiter=$'\\x1f' and "
            "for JobName only, last"
        )
    return next(iter(found.values()))


def _merged(fields: list[str], extra: dict[int, int], delimiter: str, count: int) -> list[str]:
    """Fields where the free text in a column takes so many more of the pieces."""
    result, place = [], 0
    for column in range(count):
        after = place + 1 + extra.get(column, 0)
        result.append(delimiter.join(fields[place:after]))
        place = after
    return result


def _column(text: pd.DataFrame, name: str) -> pd.Series:
    """A column of text, unknown where it is empty or the file has none."""
    if name not in text:
        return pd.Series(pd.NA, index=text.index, dtype="string")
    values = text[name].astype("string")
    return values.mask(values.isin(UNKNOWN))


def _number(path: Path, text: pd.DataFrame, name: str) -> pd.Series:
    """A column of whole numbers; raise for the first that is none."""
    values = _column(text, name)
    numbers = pd.to_numeric(values, errors="coerce").astype("float64")
    _demand(path, text, name, values, numbers.notna() | values.isna(), "a whole number")
    return numbers


def _seconds(path: Path, text: pd.DataFrame, name: str) -> pd.Series:
    """A column of times in seconds, of the epoch or of a local clock; raise for the first odd."""
    values = _column(text, name)
    numbers = pd.to_numeric(values, errors="coerce").astype("float64")
    if (numbers.isna() & values.notna()).any():
        texts = values.where(numbers.isna())
        instants = pd.to_datetime(texts, format="ISO8601", errors="coerce")
        since = (instants - pd.Timestamp(0)).dt.total_seconds()
        numbers = numbers.fillna(since.astype("float64"))
    expected = "seconds of the epoch, a time such as 2026-01-31T23:59:59, or Unknown"
    _demand(path, text, name, values, numbers.notna() | values.isna(), expected)
    return numbers.where(numbers > 0)


def _demand(
    path: Path, text: pd.DataFrame, name: str, values: pd.Series, fine: pd.Series, expected: str
) -> None:
    """Raise for the first value that is not what it should be, with its line."""
    check.rows(
        name, values, fine, expected,
        row=lambda row: f"{path}: line {text['line'][row]}", error=TraceError,
    )  # fmt: skip


def _lengths(values: pd.Series) -> pd.Series:
    """Seconds of texts like ``1-02:03:04``; unknown where they are not like that."""
    parts = values.str.extract(r"^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?$")
    days, hours, minutes, seconds = (parts[part].astype("Float64") for part in parts)
    total = days.fillna(0) * DAY + hours.fillna(0) * HOUR + minutes * MINUTE + seconds
    return total.astype("float64")


def _from_json(path: Path, data: bytes) -> pd.DataFrame:
    """The columns that we read of ``sacct --json``, of any of its dialects."""
    try:
        document = json.loads(data)
    except ValueError as error:
        raise TraceError(
            f"{path}: not JSON ({error}); expected what sacct --json prints"
        ) from error
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        raise TraceError(f"{path}: no list of jobs; expected what sacct --json prints")
    rows = []
    for place, job in enumerate(jobs):
        if not isinstance(job, dict) or not isinstance(job.get("time"), dict):
            raise TraceError(
                f"{path}: jobs[{place}] has no times; expected what sacct --json prints"
            )
        rows.append(_json_row(job))
    table = pd.DataFrame(rows, columns=JSON_COLUMNS)
    texts = ["user", "account", "partition", "qos", "where", "state"]
    numbers = [column for column in JSON_COLUMNS if column not in (*texts, "step")]
    table = table.astype(dict.fromkeys(numbers, "float64") | dict.fromkeys(texts, "string"))
    table["where"] = table["where"].mask(table["where"].isin(["", "None assigned"]))
    times = {column: table[column].where(table[column] > 0) for column in TIMES}
    return table.assign(local=False, **times)


JSON_COLUMNS = ["line", "submit", "eligible", "start", "end", "elapsed", "limit", "nodes", "cores",
                "gpus", "user", "account", "partition", "qos", "where", "state", "step",
                "job"]  # fmt: skip


def _json_row(job: dict[str, Any]) -> tuple:
    """One job's values in the order of `JSON_COLUMNS`."""
    times, tres = job["time"], job.get("tres")
    granted = tres.get("allocated") if isinstance(tres, dict) else None
    state = job.get("state")
    state = state.get("current") if isinstance(state, dict) else state
    state = state[0] if isinstance(state, list) and state else state
    limit = _json_number(times.get("limit"))
    return (
        np.nan,
        *(_json_number(times.get(key)) for key in ("submission", "eligible", "start", "end",
                                                   "elapsed")),
        limit * MINUTE,
        _granted(granted, "node"),
        _granted(granted, "cpu"),
        _granted(granted, "gres", "gpu"),
        *(job.get(key) if isinstance(job.get(key), str) else None
          for key in ("user", "account", "partition", "qos", "nodes")),
        state if isinstance(state, str) else None,
        False,
        _json_number(job.get("job_id")),
    )  # fmt: skip


def _json_number(value: Any) -> float:
    """A number, also as ``{"set": true, "infinite": false, "number": 1}``; NaN where unknown."""
    if isinstance(value, dict):
        known = value.get("set") and not value.get("infinite")
        value = value.get("number") if known else None
    return float(value) if check.is_number(value) else np.nan


def _granted(tres: Any, kind: str, name: str | None = None) -> float:
    """How much of a trackable resource a job was given; NaN where unknown."""
    for each in tres if isinstance(tres, list) else ():
        if isinstance(each, dict) and each.get("type") == kind and name in (None, each.get("name")):
            count = _json_number(each.get("count"))
            return count if count >= 0 else np.nan
    return np.nan


def _no_jobs(table: pd.DataFrame, unit: str) -> list[tuple[str, pd.Series]]:
    """Why a record is no job, in the order of the module's docstring."""
    state = _states(table)
    unknown = table["start"].isna()
    at_once = (table["start"] == table["end"]) & (state == "CANCELLED") & table["where"].isna()
    cancelled = (unknown & (state == "CANCELLED")) | at_once
    run_time = table["elapsed"].fillna(table["end"] - table["start"])
    return [
        ("step of a job", table["step"]),
        ("time of submission unknown", table["submit"].isna()),
        ("cancelled before its start", cancelled),
        ("not started", unknown | state.isin(UNSTARTED)),
        ("still running", table["end"].isna() | state.isin(["RUNNING", "SUSPENDED"])),
        ("run time unknown", ~(run_time >= 0)),
        (f"number of {unit} unknown, or none", ~(table["held"] >= 1)),
    ]


def _states(table: pd.DataFrame) -> pd.Series:
    """Slurm's states without what may follow them, empty where unknown."""
    known = table["state"].dropna().unique()
    return (
        table["state"].map({state: state.split(" ")[0].rstrip("+") for state in known}).fillna("")
    )


def _machine(table: pd.DataFrame, name: str) -> System | None:
    """The different nodes on which jobs ran, where all of their names are known."""
    where = table["where"].dropna().unique()
    nodes = {node for text in where for node in expand_hosts(text)}
    return System(name, {"main": len(nodes)}) if nodes and len(where) else None


def expand_hosts(text: str) -> list[str]:
    """The names in a host list such as ``n[1,6-7],login1``, leading zeros kept."""
    names = []
    for group in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)*", text):
        found = [""]
        for fixed, ranges in re.findall(r"([^\[]*)(?:\[([^\]]*)\])?", group):
            found = [begin + fixed for begin in found]
            if ranges:
                found = [begin + number for begin in found for number in _numbers(ranges)]
        names += found
    return names


def _numbers(ranges: str) -> list[str]:
    """The numbers of ``1,6-7`` as they are written."""
    numbers = []
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        if high and low.isdigit() and high.isdigit():
            numbers += [f"{n:0{len(low)}d}" for n in range(int(low), int(high) + 1)]
        else:
            numbers.append(part)
    return numbers


def _jobs(table: pd.DataFrame, arrival: str, account: Account) -> pd.DataFrame:
    """The columns of a workload, made from those of the records."""
    eligible = table["eligible"].where(table["eligible"] >= table["submit"], table["submit"])
    later = eligible > table["submit"]
    account.add("noted", "eligible later than submitted", int(later.sum()))
    arrived = eligible if arrival == "eligible" else table["submit"]
    lasted = table["end"] - table["start"]
    stopped = table["elapsed"] < lasted
    account.add("noted", "suspended for a time, which its run time leaves out", int(stopped.sum()))
    zero = arrived.min()
    early = table["start"] < arrived
    account.add("noted", "started before it arrived, start taken as unknown", int(early.sum()))
    state = _states(table)
    return pd.DataFrame(
        {
            "submit_time": arrived - zero,
            "eligible_time": eligible - zero,
            "run_time": table["elapsed"].fillna(lasted),
            "requested_time": table["limit"].where(table["limit"] > 0),
            "nodes": table["held"],
            "recorded_start": (table["start"] - zero).where(~early),
            "job_id": table["job"].astype("Int64"),
            "user": table["user"],
            "group": table["account"],
            "queue": table["partition"],
            "qos": table["qos"],
            "status": state.map(FINISHED).astype("Int64").fillna(0).where(state != ""),
        }
    )
