"""Accounting logs of PBS Professional, OpenPBS and Torque: their E records, one per job that ended.

The files are ``$PBS_HOME/server_priv/accounting/YYYYMMDD``; a line reads
``02/11/2026 20:12:21;E;2281314.server;user=ann queue=main ctime=... start=... end=...``: a date,
the kind of record, the job, and ``key=value`` pairs, values in quotes where they hold blanks. Times
are seconds of the epoch, lengths ``hours:minutes:seconds``.

Read are ctime (submitted), etime (eligible), start, end, resources_used.walltime, and of
Resource_List walltime, nodect, select, nodes, ncpus and ngpus. Records of other kinds are counted
and left out; so is an E record without a start, an end or a known number of nodes. A run lasts from
start to end: its nodes are held while it is suspended.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import System
from cosimlib.traces import records
from cosimlib.traces.account import Account, TraceError, parses, read_bytes, shortened
from cosimlib.traces.records import ARRIVALS, UNITS, Arrival, Unit
from cosimlib.traces.texts import Texts, in_batches, leading_number
from cosimlib.workload import Workload

LINE = re.compile(
    r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;([A-Za-z]+);([^;]*);(.*)", re.DOTALL | re.ASCII
)
PAIR = re.compile(r'(?:^|(?<=\s))([A-Za-z_][\w.]*)=("[^"]*"|\S*)')
KEYS = {
    "ctime": "ctime",
    "qtime": "qtime",
    "etime": "etime",
    "start": "start",
    "end": "end",
    "resources_used.walltime": "used",
    "Resource_List.walltime": "limit",
    "Resource_List.nodect": "nodect",
    "Resource_List.select": "select",
    "Resource_List.nodes": "asked",
    "Resource_List.ncpus": "ncpus",
    "Resource_List.ngpus": "ngpus",
    "total_execution_slots": "slots",
    "unique_node_count": "unique",
    "user": "user",
    "group": "group",
    "account": "account",
    "queue": "queue",
    "Exit_status": "exit",
}
CHUNK = re.compile(r"(?:^|(?<=\+))(?:([0-9]{1,9})|[A-Za-z][\w.-]*)(?=[:+]|$)([^+]*)")
PER_CHUNK = {
    "ncpus": re.compile(r":(?:ncpus|ppn)=([0-9]{1,9})"),
    "ngpus": re.compile(r":n?gpus=([0-9]{1,9})"),
}
CANCELLED = 271
"""Exit status of a job that was deleted: 256 + SIGTERM."""


@parses("an accounting log of PBS")
def read_pbs(
    path: str | Path,
    *,
    unit: Unit = "nodes",
    arrival: Arrival = "submit",
    system: System | None = None,
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """Workload of accounting logs of PBS or Torque, one or several in one file, plain or gzip.

    Parameters
    ----------
    path : str or Path
    unit : {"nodes", "cores", "gpus"}
        What a node of the workload is: nodect, else the chunks of select or nodes; ncpus; ngpus.
        A job that shares its nodes counts for all of each under ``"nodes"``.
    arrival : {"submit", "eligible"}
        What counts as `submit_time`: ctime, or the later etime of a job that was held or waited for
        another one.
    system : System, optional
        The machine, in the chosen unit; the log does not contain its size.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        `submit_time` counts from the first arrival; `eligible_time` is kept beside it. `status` is
        1 if the exit status is 0, 5 where the job was deleted, else 0.

    Raises
    ------
    FileNotFoundError
    TraceError
        If the file is damaged; names the line, its value and what was expected.

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.read_pbs("pbs-accounting", system=cs.System.of(64), verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0          0.0    7185.0      4
    1         93.0    2650.0      2
    2        411.0    1782.0      2
    """
    check.choice("unit", unit, UNITS)
    check.choice("arrival", arrival, ARRIVALS)
    path, account, kinds = Path(path), Account(), Counter[str]()
    found = _records(path, read_bytes(path), kinds)
    table = in_batches(found, lambda rows: _columns(path, rows))
    others = kinds.total() - kinds["E"]
    account.add("dropped", "record of another kind than E, the end of a job", others)
    table, unit = records.counted(table, unit, account)
    return records.workload_of(
        table,
        unit,
        account,
        system,
        path=path,
        name=name,
        verbose=verbose,
        arrival=arrival,
        status=_status(table["exit"]),
    )


def is_pbs(beginning: bytes) -> bool:
    """Whether a file begins with a record of an accounting log."""
    first = beginning.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace")
    return LINE.match(first) is not None


def _records(path: Path, data: bytes, kinds: Counter[str]) -> Iterator[list]:
    """Place, job and values of every E record; all records are counted by their kind."""
    for number, raw in enumerate(io.BytesIO(data), start=1):
        if not (text := raw.decode("utf-8", "replace").strip()):
            continue
        found = LINE.fullmatch(text)
        if found is None:
            raise TraceError(
                f"{path}: line {number} reads {shortened(raw)}; expected a record of PBS "
                "accounting such as 02/11/2026 20:12:21;E;2281314.server;user=ann ..."
            )
        kinds[found[1]] += 1
        if found[1] == "E":
            pairs = dict(PAIR.findall(found[3]))
            values = (pairs.get(key) for key in KEYS)
            yield [f"line {number}", found[2], *(value and value.strip('"') for value in values)]


def _columns(path: Path, rows: list[list]) -> pd.DataFrame:
    """The columns of records from places, jobs and values."""
    text = pd.DataFrame(rows, columns=["place", "id", *KEYS.values()], dtype="str")
    places = text.pop("place").tolist()
    texts = Texts(path, text, places.__getitem__, ("", "None", "unknown", "UNKNOWN"))
    times = {
        column: texts.instants(column) for column in ("ctime", "qtime", "etime", "start", "end")
    }
    times = {column: values.where(values > 0) for column, values in times.items()}
    chunks = texts.labels("select").fillna(texts.labels("asked"))
    nodes = texts.numbers("nodect").fillna(texts.numbers("unique")).fillna(_sums(chunks))
    asked = nodes.where(chunks.isna(), _sums(chunks, "ncpus"))
    columns = {
        "submit": times["ctime"].fillna(times["qtime"]),
        "eligible": times["etime"],
        "start": times["start"],
        "end": times["end"],
        "elapsed": (times["end"] - times["start"]).fillna(texts.lengths("used")),
        "limit": texts.lengths("limit"),
        "nodes": nodes,
        "cores": texts.numbers("slots").fillna(texts.numbers("ncpus")).fillna(asked),
        "gpus": texts.numbers("ngpus").fillna(_sums(chunks, "ngpus")),
        "job": leading_number(text["id"]),
        "user": texts.labels("user"),
        "group": texts.labels("account").fillna(texts.labels("group")),
        "queue": texts.labels("queue"),
        "exit": texts.numbers("exit"),
    }
    return records.table_of(columns)


def _sums(chunks: pd.Series, resource: str | None = None) -> pd.Series:
    """What all chunks of ``2:ncpus=4+node1:ppn=8`` have of a resource, or how many there are."""
    return chunks.map(lambda text: _total(text, resource), na_action="ignore").astype("float64")


def _total(text: str, resource: str | None) -> float:
    """Number of chunks, or what they have of a resource; NaN for what is no list of chunks.

    A chunk that names no cores has one.
    """
    total = 0
    for count, rest in CHUNK.findall(text):
        each = 1
        if resource is not None:
            found = PER_CHUNK[resource].search(rest)
            each = int(found[1]) if found else int(resource == "ncpus")
        total += int(count or 1) * each
    return float(total) if total else np.nan


def _status(exit_status: pd.Series) -> pd.Series:
    """1 completed, 5 deleted, 0 failed; unknown if the exit status is."""
    status = (exit_status == 0).astype("Int64").mask(exit_status == CANCELLED, 5)
    return status.where(exit_status.notna())
