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

``sacct`` escapes nothing: a job's name may hold the delimiter, and line breaks. A record of too
many fields is split where only one division among its free texts lets every other field be what it
should be; where several do, or none, the error names the line.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from cosimlib import checks as check
from cosimlib.system import MOST_CORES, MOST_GPUS, MOST_MEMORY, NodeType, System
from cosimlib.traces import records
from cosimlib.traces.account import (
    Account,
    TraceError,
    base_name,
    parses,
    read_bytes,
    read_for_error,
    read_pieces,
    shortened,
)
from cosimlib.traces.hosts import Resources, count_hosts, resources_in
from cosimlib.traces.records import ARRIVALS, AUTO, UNITS, Arrival, Unit
from cosimlib.traces.texts import (
    BOM,
    ONLY_NUMBER,
    WHOLE,
    Texts,
    in_batches,
    joined,
    label,
    leading_number,
    number,
    read_json,
)
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

NOT_STARTED, STILL_RUNNING = "not started", "still running"
"""Why jobs that have not ended are left out, in the account of a log."""
UNSTARTED = ("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT")
"""States of jobs that wait, whatever their record says of an earlier try."""

DELIMITERS = ("\x1f", "|", "\t", ";", ",")
NO_VALUE = ("", "Unknown", "None", "N/A", "None assigned")
NEEDED = ("Submit", "Start", "End", "State")
FREE = (
    "JobName",
    "Comment",
    "SubmitLine",
    "WorkDir",
    "AdminComment",
    "SystemComment",
    "Extra",
    "Reason",
    "Container",
    "StdOut",
    "StdErr",
    "StdIn",
)
TIME = r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]|[0-9]+|Unknown|None|N/A|"
AMOUNT = r"[0-9]+(\.[0-9]+)?[KM]?|"
TIMES = ("Submit", "Eligible", "Start", "End")
AMOUNTS = ("ElapsedRaw", "NNodes", "NCPUS", "AllocNodes", "AllocCPUS")
FORMS = {
    **dict.fromkeys(TIMES, re.compile(TIME)),
    **dict.fromkeys(AMOUNTS, re.compile(AMOUNT)),
    "JobID": re.compile(r"[0-9]+([_+.\[].*)?"),
    "JobIDRaw": re.compile(r"[0-9]+(\..*)?"),
    "TimelimitRaw": re.compile(r"[0-9]+|UNLIMITED|Partition_Limit|"),
    "State": re.compile(r"[A-Z][A-Z_]+( by \S+)?\+?"),
    "ExitCode": re.compile(r"[0-9]+:[0-9]+|"),
}
"""What fields look like that a record is checked by where its division is in doubt."""
AS_TEXT = (
    *TIMES,
    "ElapsedRaw",
    "TimelimitRaw",
    "JobIDRaw",
    "NNodes",
    "NCPUS",
    "AllocTRES",
    "User",
    "Account",
    "Partition",
    "QOS",
    "NodeList",
    "State",
)
"""Columns into which a job of JSON is written."""
LABELS = {
    "User": "user",
    "Account": "group",
    "Partition": "queue",
    "QOS": "qos",
    "NodeList": "hosts",
    "State": "state",
}
DECISIVE = {*FORMS, *LABELS, "Elapsed", "Timelimit", "AllocTRES"}
"""Columns in which two divisions of a record must agree."""
READ = {*DECISIVE, "ReqNodes", "Constraints"}
NUMBERS = (*TIMES, *AMOUNTS, "TimelimitRaw", "ReqNodes")
"""Columns that are whole numbers in most logs."""

MOST_DIVISIONS = 2_000
COUNT = "a whole number, as sacct --noconvert prints it"


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
    beginning = next((piece.lstrip()[:1] for piece in read_pieces(path) if piece.strip()), b"")
    if not beginning:
        raise TraceError(f"{path}: the file is empty; expected what sacct prints")
    table = _read_json(path) if beginning in (b"{", b"[") else _read_text(path)
    table, unit = records.counted(table, unit, account, _drop_rules)
    _note(table, unit, account)
    if system is None and unit == "nodes":
        system = _machine(table, name or base_name(path))
    return records.workload_of(
        table,
        unit,
        account,
        system,
        path=path,
        name=name,
        verbose=verbose,
        arrival=arrival,
        is_local=bool(table["local"].all()),
        **_asked_for(table, unit),
    )


def _asked_for(table: pd.DataFrame, unit: str) -> dict[str, pd.Series]:
    """What jobs asked for, where the record tells it: nodes and features."""
    names = ("requested_nodes", "constraint") if unit == "nodes" else ("constraint",)
    return {name: table[name] for name in names if name in table and table[name].notna().any()}


def is_sacct(beginning: bytes) -> bool:
    """Whether a file begins as what ``sacct`` prints does, in JSON or with a heading."""
    if beginning.lstrip()[:1] == b"{":
        return b'"submission"' in beginning
    first = beginning.lstrip().split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    delimiter = max(DELIMITERS, key=first.count)
    columns = {column.strip().lower() for column in first.split(delimiter)}
    return bool({"jobid", "jobidraw"} & columns) and bool({"state", "submit"} & columns)


def _drop_rules(table: pd.DataFrame, unit: str) -> list[tuple[str, pd.Series]]:
    """Reasons why a record is not a job, in the order of the module's docstring."""
    state = records.states(table)
    unknown = table["start"].isna()
    at_once = (table["start"] == table["end"]) & (state == "CANCELLED") & table["hosts"].isna()
    cancelled = (unknown & (state == "CANCELLED")) | at_once
    return [
        ("step of a job", table["step"]),
        ("time of submission unknown", table["submit"].isna()),
        ("cancelled before its start", cancelled),
        (NOT_STARTED, unknown | state.isin(UNSTARTED)),
        (STILL_RUNNING, table["end"].isna() | state.isin(["RUNNING", "SUSPENDED"])),
        ("run time unknown", ~(records.run_time(table) >= 0)),
        (f"number of {unit} unknown, or none", ~(table[unit] >= 1)),
    ]


def _note(table: pd.DataFrame, unit: str, account: Account) -> None:
    """Enter what is odd about the records of jobs."""
    if unit == "nodes":
        density = table["cores"] / table["nodes"]
        shared = int((density < density.max()).sum())
        account.add("noted", "fewer cores than its nodes have: it may share them", shared)
    account.add("noted", "times of an unnamed local clock", int(table["local"].sum()))


def _machine(table: pd.DataFrame, name: str) -> System | None:
    """The different nodes on which jobs ran, where their names are known."""
    nodes = count_hosts(table["hosts"].dropna().unique())
    if not nodes:
        return None
    types = _alike(table, nodes)
    return System(name, {"main": nodes}, cores_per_node=_cores(table), node_types=types)


def _alike(table: pd.DataFrame, nodes: int) -> tuple[NodeType, ...]:
    """Nodes that have the most that a job held on each of its nodes; none if nobody has so much."""
    cores, gpus = ((table[kind] / table["nodes"]).max() for kind in ("cores", "gpus"))
    cores, gpus = cores if cores > 0 else 1.0, np.nan_to_num(np.ceil(gpus))
    memory = most if (most := table["memory"].max()) > 0 else np.nan
    possible = cores < MOST_CORES and gpus <= MOST_GPUS and not memory >= MOST_MEMORY
    return (NodeType(nodes, float(cores), float(memory), int(gpus)),) if possible else ()


def _cores(table: pd.DataFrame) -> int:
    """Cores of a node, where most jobs hold that many on each of theirs and none more; else 1."""
    density = (table["cores"] / table["nodes"]).dropna()
    most = density.max() if len(density) else 1.0
    common = (density == most).mean() > 0.5
    return int(most) if most >= 1 and most % 1 == 0 and common else 1


def _read_json(path: Path) -> pd.DataFrame:
    """The records as a table with the columns of `records.COLUMNS`, `hosts`, `step`, `local`."""
    _, jobs, _ = read_json(path, read_bytes(path), "what sacct --json prints", "jobs")
    rows = []
    for place, job in enumerate(jobs):
        if not isinstance(job.get("time"), dict):
            raise TraceError(f"{path}: jobs[{place}] has no times; expected what sacct prints")
        rows.append([f"jobs[{place}]", *_as_text(job)])
    return in_batches(iter(rows), lambda batch: _placed(path, ["place", *AS_TEXT], batch))


def _as_text(job: dict[str, Any]) -> list[str]:
    """One job of JSON as ``sacct`` writes it as text, in the order of `AS_TEXT`."""
    times, tres, state = job["time"], job.get("tres"), job.get("state")
    granted = tres.get("allocated") if isinstance(tres, dict) else None
    amounts: dict[str, str] = {}
    for each in granted if isinstance(granted, list) else ():
        if isinstance(each, dict) and number(each.get("count")) >= 0:
            kind = "/".join(filter(None, map(label, (each.get("type"), each.get("name")))))
            amounts.setdefault(kind, f"{number(each['count']):.15g}{'M' * (kind == 'mem')}")
    state = state.get("current") if isinstance(state, dict) else state
    state = state[0] if isinstance(state, list) and state else state
    clock = ("submission", "eligible", "start", "end", "elapsed", "limit")
    numbers = [*(number(times.get(key)) for key in clock), number(job.get("job_id"))]
    texts = (job.get(key) for key in ("user", "account", "partition", "qos", "nodes"))
    return [
        *("" if np.isnan(value) else f"{value:.15g}" for value in numbers),
        *(amounts.get(kind, "") for kind in ("node", "cpu")),
        ",".join(f"{kind}={amount}" for kind, amount in amounts.items()),
        *(label(text) or "" for text in texts),
        state if isinstance(state, str) else "",
    ]


def _read_text(path: Path) -> pd.DataFrame:
    """The records as a table with the columns of `records.COLUMNS`, `hosts`, `step`, `local`."""
    try:
        return joined(list(_tables(path)))
    except TraceError:
        # Of several errors, that of the first line counts: it is found in the whole log. Of a log
        # that is too large for that, it is that of the first bad piece.
        whole = read_for_error(path)
        if whole is None:
            raise
        lines = _lines(whole.removeprefix(BOM), 1)
        heading = next((line for _, line in lines if line.strip()), "")
        _by_line(path, lines, *_heading(path, heading.rstrip("\r\n")))
        raise


def _tables(path: Path) -> Iterator[pd.DataFrame]:
    """The table of each piece of a log, cut where a record begins."""
    columns: list[str] = []
    delimiter, line_number, rest, tables = "", 1, b"", 0
    for piece in read_pieces(path):
        known = len(rest)
        rest += piece.removeprefix(BOM) if line_number == 1 and not rest else piece
        while rest and not columns:
            line, _, rest = rest.partition(b"\n")
            line_number += 1
            heading = line.decode("utf-8", "replace").rstrip("\r")
            if heading.strip():
                columns, delimiter = _heading(path, heading)
        end = _last_record(rest, known, columns, delimiter)
        if end:
            yield _table(path, rest[:end], line_number, columns, delimiter)
            tables += 1
        line_number += rest.count(b"\n", 0, end)
        rest = rest[end:]
    if not columns:
        columns, delimiter = _heading(path, "")
    if rest or not tables:
        yield _table(path, rest, line_number, columns, delimiter)


def _last_record(data: bytes, known: int, columns: list[str], delimiter: str) -> int:
    """Where the last line begins that begins a record; 0 if only the first line may.

    Of the first `known` bytes it is known that only their first line may.
    """
    form, end = FORMS.get(columns[0]) if columns else None, len(data)
    while (begin := data.rfind(b"\n", 0, max(0, end - 1)) + 1) >= max(1, known):
        line = data[begin:end].decode("utf-8", "replace").rstrip("\r\n")
        if _begins(line, form, delimiter, len(columns) - 1):
            return begin
        end = begin
    return 0


def _lines(data: bytes, first: int) -> Iterator[tuple[int, str]]:
    """The lines of a text, each with its number."""
    return enumerate(io.StringIO(data.decode("utf-8", "replace"), newline="\n"), first)


def _table(path: Path, data: bytes, first: int, columns: list[str], delimiter: str) -> pd.DataFrame:
    """The table of some lines of a log, of which the first has a number."""
    text = _split(data, columns, delimiter)
    if text is None:
        return _by_line(path, _lines(data, first), columns, delimiter)
    return _columns(path, text, lambda row: f"line {first + row}")


def _split(data: bytes, columns: list[str], delimiter: str) -> pd.DataFrame | None:
    """The columns that are read, of lines each of which is a record; None if any is not.

    Times and numbers are parsed at once if they are whole; unknown ones are NaN.
    """
    wanted, form = len(columns) - 1, FORMS.get(columns[0])
    places = [place for place, name in enumerate(columns) if name in READ]
    if not _is_regular(data, delimiter.encode(), wanted):
        return None
    numbers = [place for place in places if columns[place] in NUMBERS and place > 0]
    for parsed in (numbers, []):
        text = pd.read_csv(
            io.BytesIO(data),
            sep=delimiter,
            header=None,
            names=range(len(columns)),
            usecols=places,
            index_col=False,
            dtype={place: "str" for place in places if place not in parsed},
            na_values=dict.fromkeys(parsed, NO_VALUE),
            keep_default_na=False,
            quoting=csv.QUOTE_NONE,
            skip_blank_lines=False,
            encoding_errors="replace",
            low_memory=False,
        )
        if all(_is_exact(text[place]) for place in parsed):
            break
    if columns[-1] in FREE and form is not None and not _all_match(text[0], form):
        return None
    return text.set_axis([columns[place] for place in places], axis="columns")


def _all_match(texts: pd.Series, form: re.Pattern[str]) -> bool:
    """Whether all texts have a form; numbers of jobs, the usual case, are tested at once."""
    is_number = form in (FORMS["JobID"], FORMS["JobIDRaw"])
    if is_number and texts.str.fullmatch(ONLY_NUMBER).all():
        return True
    return all(map(form.fullmatch, texts))


def _is_regular(data: bytes, delimiter: bytes, wanted: int) -> bool:
    """Whether each line has as many delimiters as wanted, and no other kind of line ends."""
    if not data or b"\r" in data or b"\0" in data:
        return False
    characters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if data[-1:] != b"\n":
        ends = np.append(ends, len(data))
    found = np.flatnonzero(characters == ord(delimiter))
    if found.size != wanted * ends.size:
        return False
    first, last = found[::wanted], found[wanted - 1 :: wanted]
    return bool((last < ends).all() and (first[1:] > ends[:-1]).all())


def _is_exact(values: pd.Series) -> bool:
    """Whether a column was parsed to whole numbers that floats hold exactly, or stayed a text."""
    if values.dtype.kind not in "if":
        return isinstance(values.dtype, pd.StringDtype)
    return bool((values.isna() | ((values.abs() < WHOLE) & (values % 1 == 0))).all())


def _by_line(
    path: Path, lines: Iterator[tuple[int, str]], columns: list[str], delimiter: str
) -> pd.DataFrame:
    """The table of lines that are taken one by one, as records may have several."""
    places = [place for place, name in enumerate(columns) if name in READ]
    kept = [0, *(place + 1 for place in places)]
    names = ["place", *(columns[place] for place in places)]
    found = _records(path, lines, columns, delimiter)
    rows = ([fields[place] for place in kept] for fields in found)
    return in_batches(rows, lambda batch: _placed(path, names, batch))


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
    path: Path, lines: Iterator[tuple[int, str]], columns: list[str], delimiter: str
) -> Iterator[list]:
    """The place and the fields of every record."""
    wanted, free = len(columns) - 1, columns[-1] in FREE
    form = FORMS.get(columns[0])
    following = next(lines, None)
    while following is not None:
        number, line = following
        line = line.rstrip("\r\n")
        following = next(lines, None)
        if not line.strip():
            continue
        found, parts = line.count(delimiter), [line]
        while following is not None and (found < wanted or free):
            more = following[1].rstrip("\r\n")
            if _begins(more, form, delimiter, wanted):
                break
            found += more.count(delimiter)
            parts.append(more)
            following = next(lines, None)
        fields = ("\n".join(parts) if len(parts) > 1 else line).split(delimiter)
        if found != wanted:
            fields = _divided(path, number, fields, columns, delimiter)
        yield [f"line {number}", *fields]


def _begins(line: str, form: re.Pattern[str] | None, delimiter: str, wanted: int) -> bool:
    """Whether a line begins a record: by the form of its first field, or else by its fields."""
    if form is None:
        return line.count(delimiter) >= wanted
    begin, found, _ = line.partition(delimiter)
    return bool(found) and form.fullmatch(begin) is not None


def _divided(
    path: Path, number: int, fields: list[str], columns: list[str], delimiter: str
) -> list[str]:
    """A record of too many fields, with delimiters given back to its free texts."""
    more = len(fields) - len(columns)
    free = [place for place, column in enumerate(columns) if column in FREE]
    found: dict[tuple[str, ...], list[str]] = {}
    possible = more > 0 and bool(free)
    if possible and comb(more + len(free) - 1, len(free) - 1) <= MOST_DIVISIONS:
        for bars in combinations(range(more + len(free) - 1), len(free) - 1):
            edges = (-1, *bars, more + len(free) - 1)
            extra = dict(zip(free, (b - a - 1 for a, b in pairwise(edges)), strict=True))
            trial = _merged(fields, extra, delimiter, len(columns))
            if all(
                FORMS[column].fullmatch(field)
                for column, field in zip(columns, trial, strict=True)
                if column in FORMS
            ):
                key = tuple(f for c, f in zip(columns, trial, strict=True) if c in DECISIVE)
                found[key] = trial
    elif possible:
        found = {(): [], ("",): []}
    if len(found) != 1:
        raise TraceError(
            f"{path}: line {number} has {len(fields)} fields, expected {len(columns)}, and "
            f"{'several divisions' if found else 'no division'} among free texts fit: "
            f"{shortened(delimiter.join(fields[:100]).encode())}; ask sacct for "
            "--delimiter=$'\\x1f' and for JobName only, last"
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


def _placed(path: Path, names: list[str], rows: list[list]) -> pd.DataFrame:
    """The columns of records that follow their place in the log."""
    text = pd.DataFrame(rows, columns=names, dtype="str")
    return _columns(path, text, text.pop("place").tolist().__getitem__)


def _columns(path: Path, text: pd.DataFrame, place: Callable[[int], str]) -> pd.DataFrame:
    """The columns of records from those that ``sacct`` printed."""
    text = text.loc[:, ~text.columns.duplicated()]
    texts = Texts(path, text, place, NO_VALUE)
    table = {
        column: _seconds(texts, column.capitalize())
        for column in ("submit", "eligible", "start", "end")
    }
    elapsed = texts.numbers("ElapsedRaw", "a whole number")
    table["elapsed"] = elapsed.fillna(_lengths(texts, "Elapsed"))
    minutes = texts.quantities("TimelimitRaw")
    table["limit"] = (minutes * MINUTE).fillna(_lengths(texts, "Timelimit"))
    table["nodes"] = texts.numbers("NNodes", COUNT).fillna(texts.numbers("AllocNodes", COUNT))
    table["cores"] = texts.numbers("NCPUS", COUNT).fillna(texts.numbers("AllocCPUS", COUNT))
    codes, granted = pd.factorize(texts.labels("AllocTRES").fillna(""))
    amounts = np.array([resources_in(each) for each in granted], dtype=np.float64)
    amounts = amounts.reshape(-1, len(Resources._fields))[codes]
    tres = pd.DataFrame(amounts, text.index, Resources._fields)
    job = texts.labels("JobIDRaw").fillna(texts.labels("JobID"))
    others = {
        "gpus": tres["gpus"].where(tres["gpus"] > 0),
        "memory": tres["memory"] / table["nodes"],
        "job": leading_number(job),
        "step": _contains(job, "."),
        "local": _contains(text["Submit"], "T"),
        "requested_nodes": texts.numbers("ReqNodes", COUNT),
        "constraint": texts.labels("Constraints"),
    }
    labels = {column: texts.labels(name) for name, column in LABELS.items()}
    return records.table_of(table | others | labels)


def _contains(values: pd.Series, sign: str) -> pd.Series:
    """Whether texts contain a sign, which numbers do not."""
    if is_numeric_dtype(values):
        return pd.Series(False, index=values.index)
    return values.str.contains(sign, regex=False).fillna(False).astype("bool")


def _seconds(texts: Texts, column: str) -> pd.Series:
    """Times of the epoch or of a local clock; 0 is unknown."""
    seconds = texts.instants(column, "Unknown")
    return seconds.where(seconds > 0)


def _lengths(texts: Texts, column: str) -> pd.Series:
    """Seconds of the lengths in a column; unknown if they are words such as UNLIMITED."""
    if column not in texts.table:
        return pd.Series(np.nan, index=texts.table.index)
    values = texts.labels(column)
    words = values[values.str.fullmatch(r"[A-Za-z_]+").fillna(False)].unique()
    return Texts(texts.path, texts.table, texts.place, [*texts.unknown, *words]).lengths(column)
