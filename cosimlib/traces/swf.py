"""The Standard Workload Format (SWF) of the Parallel Workloads Archive: reader and writer.

A line is a job of 18 numbers, −1 if unknown; lines that begin with a semicolon are comments, and
those of the form ``; Key: value`` describe the machine. The format, version 2.2, is defined at
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html. Real logs deviate: whole numbers written
``995.00``, more than 18 columns, records out of order, comments and blank lines between jobs, and
headers that are missing, wordy or stale. `cosimlib.traces.swf_header` says what is read of headers,
and when processors count as nodes.

Records that are not jobs are dropped, each counted under the first of these reasons:

1. its submit time is unknown;
2. status 2, 3 or 4, where the log has a record of another status with the same number: part of the
   execution of that job (elsewhere, as where statuses are exit codes, it is a job of its own);
3. status 5 and a run time of 0 or −1: cancelled before it ran for a second, whether or not the log
   shows processors for it;
4. its run time is unknown;
5. neither the requested nor the allocated number of processors is known.

Frontier's logs of 2024 and 2025 have three more columns: 19 the GPUs used, 20 a soft limit of time,
21 a descriptor such as ``frontier:excl:2500x112``: the machine, whether its nodes are exclusive,
nodes and hardware threads per node. The descriptor has the number of nodes; the processors of
columns 5 and 8 are sometimes nodes, sometimes cores, and are not used. (Maheshwari, Klusáček,
Suter, Brewer, JSSPP 2026.)
"""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.files import write_whole
from cosimlib.system import System
from cosimlib.traces.account import (
    Account,
    TraceError,
    assemble,
    base_name,
    compressed,
    parses,
    read_for_error,
    read_pieces,
    shortened,
    written,
)
from cosimlib.traces.swf_header import (
    FIRST_RECORD,
    MOST_NOTES,
    PROCESSOR_COUNTS,
    header_machine,
    header_notes,
    header_size,
    header_start,
    infer_cores,
    note_header,
    parse_header,
    start_lines,
)
from cosimlib.workload import Workload, check_workload

FIELDS = (
    "job_id",
    "submit_time",
    "wait_time",
    "run_time",
    "allocated_processors",
    "average_cpu_time",
    "used_memory",
    "requested_processors",
    "requested_time",
    "requested_memory",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding_job",
    "think_time",
)
LABELS = ("user", "group", "application", "queue", "partition")
NUMBERS = ("job_id", "allocated_processors", "status", "preceding_job")
QUANTITIES = ("average_cpu_time", "used_memory", "requested_memory", "think_time")
WHOLE = (*LABELS, *NUMBERS, "requested_processors")
"""Fields that must be whole numbers; the others may have fractions."""

WHOLE_KINDS = (np.int8, np.int16, np.int32, np.int64)

PARTIAL_EXECUTION = (2, 3, 4)
CANCELLED = 5

LIMIT = 2.0**53
"""Below it, float64 counts whole numbers exactly."""

DESCRIBED_NUMBERS = ("used_gpus", "soft_requested_time")
DESCRIBED_COLUMNS = (*DESCRIBED_NUMBERS, "descriptor")
DESCRIPTOR = r"^[^\s:]+:([^\s:]*):([0-9]{1,7})x([0-9]{1,7})$"
RECORD = re.compile(rb"^[ \t]*[-+\d.][^\r\n;]*", re.MULTILINE)
FRONTIER = System("Frontier", {"main": 9_408}, memory_per_node=512.0)

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
INDENTED_COMMENT = re.compile(rb"^[ \t]+;", re.MULTILINE)


@parses("a log in Standard Workload Format")
def read_swf(
    path: str | Path,
    *,
    cores_per_node: int | None = None,
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """Workload of a log in Standard Workload Format, plain or gzip, with the machine in its header.

    Parameters
    ----------
    path : str or Path
    cores_per_node : int, optional
        Processors per node; a job with a part of a node has all of it. By default derived from the
        header and the sizes of the jobs.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        `nodes` from the requested processors, or the allocated ones if those are unknown; the
        account says how many jobs were allocated others;
        `recorded_start` is submit plus wait; `memory` (GB per node) from the requested memory, or
        the used one if that is unknown. As in the file: `allocated_processors`,
        `average_cpu_time`, `used_memory`, `requested_memory` (KB per processor), `preceding_job`,
        `think_time`. Columns without any value are left out.

    Raises
    ------
    FileNotFoundError
    TraceError
        If it is damaged; names the file and, of a bad line, its number, its text and
        what was expected.

    Examples
    --------
    >>> import cosimlib as cs
    >>> print(cs.read_swf("three-jobs.swf.gz", verbose=False))
    Workload three-jobs: 3 jobs
      jobs       of 1 to 16 nodes, submitted over 2.5 h
      run time   mean 1.5 h, longest 2.2 h
      requested  mean 4.3 h, longest 6 h
      machine    three-jobs (64 nodes)
    """
    path = Path(path)
    check.whole("cores_per_node", cores_per_node, 1, floats=True, none=True)
    name = name or base_name(path)
    table, header, notes, wide = _read_records(path)
    is_frontier = "described_nodes" in table
    account = Account()
    columns = len(FIELDS) + len(DESCRIBED_COLUMNS) * is_frontier
    account.add("noted", f"more than {columns} columns, the rest ignored", wide)
    note_header(header, notes, len(table), account)
    table = account.drop(table, _drop_rules(table))
    if is_frontier:
        jobs = _jobs(table, 1, account)
        machine: System | None = _described_machine(table, header)
    else:
        if cores_per_node is None:
            held = _known(table, "allocated_processors")
            held = held.where(held > 0, _known(table, "requested_processors"))
            cores_per_node = infer_cores(header, held, account)
        elif cores_per_node == 1:
            sizes = [header_size(header, key) for key in ("MaxNodes", "MaxProcs")]
            account.add("noted", PROCESSOR_COUNTS, len(table) * (0 < sizes[0] < sizes[1]))
        jobs = _jobs(table, cores_per_node, account)
        machine = header_machine(header, name, cores_per_node)
    del table
    return assemble(
        jobs,
        name,
        machine,
        account,
        path=path,
        verbose=verbose,
        began=header_start(header),
    )


def is_swf(beginning: bytes) -> bool:
    """Whether a file begins with a comment or a record of SWF."""
    first = beginning.lstrip().split(b"\n", 1)[0]
    return first.startswith(b";") or _problem(_tokens(first), FIELDS) is None


def write_swf(workload: Workload, path: str | Path, *, cores_per_node: int = 1) -> Path:
    """Write a workload in Standard Workload Format, as gzip if `path` ends in ``.gz``.

    `read_swf` with the same `cores_per_node` returns the same jobs. `mate`, `priority` and columns
    that SWF does not have are not written; a memory of 0 is read as unknown. Labels (`user`,
    `queue`, …) that are not all numbers are numbered in order of appearance, jobs without a
    `job_id` from 1. Equal workloads give equal bytes.

    Parameters
    ----------
    workload : Workload
    path : str or Path
        An existing file is replaced only after everything has been written.
    cores_per_node : int, default 1
        Processors in the file per node of the workload.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    TraceError
        If the workload has no jobs, or a job has a value that SWF cannot hold.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> cs.write_swf(workload, "three.swf.gz").name
    'three.swf.gz'
    >>> len(cs.read_swf("three.swf.gz", verbose=False))
    3
    """
    check_workload(workload)
    path = Path(path)
    check.whole("cores_per_node", cores_per_node, 1, floats=True)
    if not len(workload):
        raise TraceError(f"{workload.name}: no job to write to {path}")
    data = _format_lines(_header(workload, cores_per_node), _table(workload, cores_per_node))
    write_whole(path, compressed(path, data))
    return path


def _read_records(path: Path) -> tuple[pd.DataFrame, dict[str, str], list[str], int]:
    """The records of a log, its header, its notes, and how many records are too wide.

    The log is parsed in pieces. Of each piece the columns are kept in as few bytes as hold them.
    """
    header: dict[str, str] = {}
    notes: list[str] = []
    columns: dict[str, Growing] = {}
    fields: tuple[str, ...] = FIELDS
    wide, in_header, before, data = 0, True, 0, b""
    try:
        for data in read_pieces(path):
            if b";" in data:
                header = parse_header(data) | header
            if in_header:
                notes += header_notes(data)
                in_header = FIRST_RECORD.search(data) is None
            if not columns:
                fields = _fields(data)
            table = _parse_table(path, data, fields)
            if len(table):
                for field in table:
                    values = _narrow(table[field])
                    if field in columns:
                        columns[field].extend(values)
                    else:
                        columns[field] = Growing(values)
                wide += _count_wide_lines(data, len(fields))
            before += data.count(b"\n")
    except TraceError:
        # Only the whole log tells which of its lines is the first bad one. Of a log that is too
        # large for that, it is the first of this piece, with a blank line for each one before.
        whole = read_for_error(path)
        if whole is not None:
            fields = _fields(whole)
        _parse_table(path, b"\n" * before + data if whole is None else whole, fields)
        raise
    if not columns:
        raise TraceError(f"{path}: no job in it; expected lines of {len(FIELDS)} numbers")
    table = pd.DataFrame({field: each.array for field, each in columns.items()}, copy=False)
    return table, header, notes[:MOST_NOTES], wide


class Growing:
    """A column that grows by pieces, of the narrowest type that holds them all.

    It is one block of memory, which grows in place: many small ones would leave gaps between them
    that no whole column fits in.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.kind = values.dtype
        self.content = bytearray(values.tobytes())

    def extend(self, values: np.ndarray) -> None:
        """Append values."""
        kind = np.result_type(self.kind, values)
        if kind != self.kind:
            self.content = bytearray(self.array.astype(kind))
            self.kind = kind
        self.content += values.astype(kind).tobytes()

    @property
    def array(self) -> np.ndarray:
        """All values so far."""
        return np.frombuffer(self.content, self.kind)


def _narrow(values: pd.Series) -> np.ndarray:
    """Numbers in as few bytes as hold them, −1 for whole ones below 0; others as they are."""
    array = values.to_numpy()
    if array.dtype.kind != "i":
        return array
    most = array.max(initial=0)
    kind = next(kind for kind in WHOLE_KINDS if most <= np.iinfo(kind).max)
    return np.maximum(array, -1).astype(kind)


def _known(table: pd.DataFrame, field: str) -> pd.Series:
    """A field of all records as floats, NaN if they are below 0: unknown."""
    values = np.array(table[field], dtype=np.float64)
    values[~(values >= 0)] = np.nan
    return pd.Series(values, table.index, copy=False)


def _whole(values: pd.Series) -> pd.Series:
    """Whole numbers, NA if they are below 0."""
    unknown = ~(values >= 0).to_numpy()
    numbers = np.array(values.where(~unknown, 0) if values.dtype.kind == "f" else values, np.int64)
    return pd.Series(pd.arrays.IntegerArray(numbers, unknown), values.index, copy=False)


def _parse_table(path: Path, data: bytes, fields: tuple[str, ...]) -> pd.DataFrame:
    """The records of a part of a log as columns of numbers."""
    # To pandas, an indented comment is a row of empty fields.
    lines = INDENTED_COMMENT.sub(b";", data)
    try:
        table = pd.read_csv(
            io.BytesIO(lines),
            sep=r"\s+",
            header=None,
            names=list(fields),
            usecols=list(fields),
            comment=";",
            quoting=csv.QUOTE_NONE,
            na_filter=False,
            low_memory=False,
            encoding="latin-1",
        )
    except ValueError as error:
        _raise_first_bad_line(path, data, str(error), fields)
    if not len(table):
        return table
    numbers = [field for field in fields if field != "descriptor"]
    for field in numbers:
        values = table[field]
        valid = values.dtype.kind in "if" and bool((values.abs() < LIMIT).all())
        if not valid or (field in WHOLE and values.dtype.kind == "f" and (values % 1 != 0).any()):
            _raise_first_bad_line(path, data, f"{field} is not a number in every line", fields)
    if (
        len(fields) > len(numbers)
        and (table["descriptor"].isna() | (table["descriptor"] == "")).any()
    ):
        _raise_first_bad_line(path, data, "no descriptor in every line", fields)
    return table if len(fields) == len(numbers) else _described(table)


def _raise_first_bad_line(
    path: Path, data: bytes, reason: str, fields: tuple[str, ...]
) -> NoReturn:
    """Name the first line that is not a record; `reason` where each line by itself is one."""
    first, valid = "", 0
    for number, line in enumerate(data.splitlines(), start=1):
        problem = _problem(_tokens(line), fields)
        if problem is None:
            valid += 1
        elif problem and not first:
            first = f"line {number} reads {shortened(line)}: {problem}"
    if first and not valid:
        raise TraceError(f"{path}: not an SWF, no line has {len(FIELDS)} numbers; {first}")
    raise TraceError(f"{path}: {first or reason}; mend the line or put a ';' before it")


def _problem(tokens: list[bytes], fields: tuple[str, ...]) -> str | None:
    """The error of a line in words; None for a record, "" for a blank line."""
    if not tokens:
        return ""
    for field, token in zip(fields, tokens, strict=False):
        if field == "descriptor":
            continue
        whole = field in WHOLE
        value = float(token) if NUMBER.fullmatch(token) else np.nan
        if not abs(value) < LIMIT or (whole and value % 1 != 0):
            shown = token[:20].decode("utf-8", "replace")
            return f"{field} is {shown!r}; expected a {'whole ' if whole else ''}number below 2**53"
    if len(tokens) < len(fields):
        return f"{len(tokens)} columns; expected {len(fields)}"
    return None


def _tokens(line: bytes) -> list[bytes]:
    return line.partition(b";")[0].split()


def _count_wide_lines(data: bytes, columns: int) -> int:
    """Number of records with more columns than are read."""
    return sum(len(tokens) > columns for tokens in map(_tokens, data.splitlines()))


def _drop_rules(table: pd.DataFrame) -> list[tuple[str, pd.Series]]:
    """Reasons why a record is not a job, in the order of the module's docstring."""
    run_time, status = _known(table, "run_time"), table["status"]
    is_part = status.isin(PARTIAL_EXECUTION)
    if is_part.any():
        numbers = _known(table, "job_id")
        jobs = numbers[~is_part & numbers.isin(numbers[is_part].dropna())]
        is_part &= numbers.isin(jobs)
    size = (
        "number of processors unknown",
        ~((table["requested_processors"] > 0) | (table["allocated_processors"] > 0)),
    )
    if "described_nodes" in table:
        size = ("no number of nodes in its descriptor", ~(table["described_nodes"] >= 1))
    return [
        ("submit time unknown", ~(table["submit_time"] >= 0)),
        ("part of an execution (status 2, 3 or 4)", is_part),
        ("cancelled before it ran (status 5)", (status == CANCELLED) & ~(run_time > 0)),
        ("run time unknown", run_time.isna()),
        size,
    ]


def _jobs(table: pd.DataFrame, cores_per_node: int, account: Account) -> pd.DataFrame:
    """The columns of a workload from those of a log."""
    if "described_nodes" in table:
        special = _described_columns(table, account)
    else:
        special = _sizes(table, cores_per_node, account)
    # Labels come first, while little else is in memory: they take the most for a moment.
    known = [field for field in table if (table[field] >= 0).any()]
    labels = {field: _labels(table.pop(field)) for field in LABELS if field in known}
    submit_time, requested_time = _known(table, "submit_time"), _known(table, "requested_time")
    columns = {
        "submit_time": submit_time,
        "run_time": _known(table, "run_time"),
        "requested_time": requested_time.where(requested_time > 0),
        "nodes": special["nodes"],
        "recorded_start": submit_time + _known(table, "wait_time"),
        "memory": special["memory"],
    }
    columns |= {field: _whole(table.pop(field)) for field in NUMBERS if field in known}
    columns |= labels
    columns |= {field: _known(table, field) for field in QUANTITIES if field in known}
    return pd.DataFrame(columns | special, copy=False)


def _sizes(table: pd.DataFrame, cores_per_node: int, account: Account) -> dict[str, pd.Series]:
    """Nodes and memory of the jobs, and notes on where they come from."""
    requested, used = _known(table, "requested_processors"), _known(table, "used_memory")
    unknown = ~(requested > 0)
    processors = _known(table, "allocated_processors").where(unknown, requested)
    account.add("noted", "requested processors unknown, allocated taken", unknown.sum())
    _note_allocated(table, account)
    used_taken = ~(table["requested_memory"] > 0) & (used > 0)
    account.add("noted", "requested memory unknown, used taken", used_taken.sum())
    parts = f"not a multiple of {cores_per_node} processors, rounded up to whole nodes"
    account.add("noted", parts, (processors % cores_per_node != 0).sum())
    nodes = np.ceil(processors / cores_per_node)
    return {"nodes": nodes, "memory": _memory(table, cores_per_node)}


def _note_allocated(table: pd.DataFrame, account: Account) -> None:
    """Note how many jobs were allocated other processors than they requested, and how much."""
    both = (table["requested_processors"] > 0) & (table["allocated_processors"] > 0)
    requested, allocated, run_time = (
        _known(table, field)[both]
        for field in ("requested_processors", "allocated_processors", "run_time")
    )
    beyond = (allocated - requested) * run_time
    for kind, outcome, size, own in (
        ("more", "leaves out", beyond.clip(lower=0), allocated),
        ("fewer", "adds", -beyond.clip(upper=0), requested),
    ):
        share = float(size.sum()) / max(float((own * run_time).sum()), 1.0)
        reason = (
            f"{kind} processors allocated than requested, requested taken: this {outcome} "
            f"{percent(share)} of the processor-hours"
        )
        account.add("noted", reason, int((size > 0).sum()))


def _memory(table: pd.DataFrame, cores_per_node: int) -> pd.Series:
    """GB per node from KB (1,024 bytes) per processor."""
    requested, used = _known(table, "requested_memory"), _known(table, "used_memory")
    kilobytes = requested.where(requested > 0, used.where(used > 0))
    return kilobytes * (1024 * cores_per_node) / 1e9


def _labels(values: pd.Series) -> pd.Series:
    """Numbers of users, queues, … as texts; unknown below 0."""
    codes, numbers = pd.factorize(values)
    texts = [str(int(number)) if number >= 0 else pd.NA for number in numbers]
    labels = pd.array([*texts, pd.NA], dtype="string")
    return pd.Series(labels.take(codes), index=values.index)


def _header(workload: Workload, cores_per_node: int) -> list[str]:
    """Comments: the machine, and the names of queues and partitions."""
    jobs, machine = workload.jobs, workload.machine
    lines = ["Version: 2.2"]
    if machine is not None:
        nodes = machine.total_nodes
        lines += [f"Computer: {machine.name}", f"MaxNodes: {nodes}"]
        lines += [f"MaxProcs: {nodes * cores_per_node}"]
    lines += [f"MaxJobs: {len(jobs)}", f"MaxRecords: {len(jobs)}", *start_lines(workload.began)]
    lines += [f"Note: {workload.name}, written by cosimlib; processors a node: {cores_per_node}"]
    for field, key in (("queue", "Queue"), ("partition", "Partition")):
        labels = workload.column(field)
        if not all_numbers(labels):
            names = pd.factorize(labels)[1]
            lines += [f"{key}: {number} {label}" for number, label in enumerate(names, start=1)]
    return lines


def _table(workload: Workload, cores_per_node: int) -> pd.DataFrame:
    """The 18 columns of a workload as floats, NaN if unknown."""
    jobs = workload.jobs
    table = jobs.reindex(columns=list(FIELDS))
    for field in LABELS:
        table[field] = _label_numbers(workload.column(field))
    table = table.astype("float64")
    if "job_id" not in jobs:
        table["job_id"] = np.arange(1.0, len(jobs) + 1.0)
    table["wait_time"] = workload.column("recorded_start") - jobs["submit_time"]
    table["requested_processors"] = jobs["nodes"] * float(cores_per_node)
    if "allocated_processors" not in jobs:
        table["allocated_processors"] = table["requested_processors"]
    memory = workload.column("memory")
    changed = memory.notna() & (_memory(table, cores_per_node) != memory)
    table.loc[changed, "requested_memory"] = _kilobytes(memory[changed], cores_per_node)
    _check_writable(workload, table)
    return table


def _kilobytes(memory: pd.Series, cores_per_node: int) -> pd.Series:
    """KB per processor from GB per node; a whole number where it converts back exactly."""
    kilobytes = memory * 1e9 / (1024 * cores_per_node)
    whole = kilobytes.round()
    return whole.where(whole * (1024 * cores_per_node) / 1e9 == memory, kilobytes)


def all_numbers(labels: pd.Series) -> bool:
    """Whether each known label is a whole number as `read_swf` returns it."""
    known = labels.dropna().unique()
    return all(label.isdecimal() and label == str(int(label)) for label in known)


def _label_numbers(labels: pd.Series) -> pd.Series:
    """Labels that are all numbers as they are; others numbered from 1 by appearance."""
    if all_numbers(labels):
        return labels.astype("Float64").astype("float64")
    codes = pd.Series(pd.factorize(labels)[0] + 1.0, index=labels.index)
    return codes.where(codes > 0)


def _check_writable(workload: Workload, table: pd.DataFrame) -> None:
    """Raise an error for the first job with a number below 0 or from `LIMIT` up."""
    wrong = table.notna() & ~((table >= 0) & (table < LIMIT))
    if not wrong.to_numpy().any():
        return
    job = int(wrong.any(axis=1).idxmax())
    field = str(wrong.loc[job].idxmax())
    value = table.loc[job, field]
    raise TraceError(
        f"{workload.label(job)} has {field}={value:g}; SWF holds numbers from 0 below 2**53, and "
        "NA if unknown"
    )


def _format_lines(header: list[str], table: pd.DataFrame) -> bytes:
    """Comment lines, then one line per job: −1 for NaN, whole numbers without a point."""
    comments = "".join(f"; {' '.join(line.split())}\n" for line in header)
    return comments.encode() + written(table[list(FIELDS)].fillna(-1.0), sep=" ", header=False)


def _fields(data: bytes) -> tuple[str, ...]:
    """The fields of records: the first has a descriptor in its 21st column, or they are 18."""
    first = RECORD.search(data)
    tokens = first[0].split() if first else []
    described = len(tokens) > 20 and re.match(DESCRIPTOR.encode(), tokens[20]) is not None
    return (*FIELDS, *DESCRIBED_COLUMNS) if described else FIELDS


def _described(table: pd.DataFrame) -> pd.DataFrame:
    """The records with `described_nodes`, `threads_per_node` and `exclusive`."""
    parts = table.pop("descriptor").astype("string").str.extract(DESCRIPTOR)
    numbers = parts[[1, 2]].astype("Float64").astype("float64")
    return table.assign(
        described_nodes=numbers[1],
        threads_per_node=numbers[2],
        exclusive=(parts[0] == "excl").fillna(False).astype("bool"),
    )


def _described_columns(table: pd.DataFrame, account: Account) -> dict[str, pd.Series]:
    """The columns of jobs that differ from those of other logs in SWF."""
    account.add("noted", "not exclusive: it may share its nodes", int((~table["exclusive"]).sum()))
    return {
        "nodes": table["described_nodes"],
        "memory": pd.Series(np.nan, index=table.index),
        "used_gpus": _known(table, "used_gpus").round().astype("Int64"),
        "soft_requested_time": _known(table, "soft_requested_time"),
    }


def _described_machine(table: pd.DataFrame, header: dict[str, str]) -> System:
    """Frontier, with the nodes in the log's header where it tells them."""
    threads = table["threads_per_node"].mode()
    cores = int(threads.iloc[0]) if len(threads) and threads.iloc[0] >= 1 else 1
    nodes = header_size(header, "MaxNodes") or FRONTIER.total_nodes
    return replace(FRONTIER, partitions={"main": nodes}, cores_per_node=cores)
