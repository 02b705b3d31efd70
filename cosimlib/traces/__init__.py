"""Workload traces: logs of real machines, by the name of a public trace or the path of a file.

`load` takes either. A format is one module with its reader, and one line in `READERS`. `recognize`
names the format of a file.
"""

import inspect
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from cosimlib import checks as check
from cosimlib.files import STANDARD_INPUT, check_readable
from cosimlib.traces.account import COMPRESSIONS, TraceError, read_bytes, without_compression
from cosimlib.traces.alibaba import read_alibaba, read_openb
from cosimlib.traces.batsim import is_batsim, read_batsim
from cosimlib.traces.catalog import TRACES, Trace, fetch_trace, find_trace, known_name, suggestion
from cosimlib.traces.columns import read_columns
from cosimlib.traces.oddities import oddities
from cosimlib.traces.pbs import is_pbs, read_pbs
from cosimlib.traces.published import (
    is_condor,
    read_alcf,
    read_condor,
    read_fugaku,
    read_peregrine,
    read_pm100,
)
from cosimlib.traces.reservations import read_reservations
from cosimlib.traces.slurm import is_sacct, read_sacct
from cosimlib.traces.swf import is_swf, read_swf, write_swf
from cosimlib.traces.texts import MAGIC, footer_of
from cosimlib.workload import Workload

__all__ = [
    "READERS",
    "SYNTHETIC",
    "TRACES",
    "Format",
    "Trace",
    "TraceError",
    "fetch_trace",
    "find_trace",
    "load",
    "load_trace",
    "read_alcf",
    "read_alibaba",
    "read_batsim",
    "read_columns",
    "read_condor",
    "read_fugaku",
    "read_openb",
    "read_pbs",
    "read_peregrine",
    "read_pm100",
    "read_reservations",
    "read_sacct",
    "read_swf",
    "recognize",
    "write_swf",
]


class Format(NamedTuple):
    """A format of logs: its reader, the endings of files' names, and how its files begin."""

    read: Callable[..., Workload]
    endings: tuple[str, ...]
    recognizes: Callable[[bytes], bool]


def has_columns(*names: str) -> Callable[[bytes], bool]:
    """Whether a heading, or the footer of a parquet file, has names, in any case."""

    def recognizes(beginning: bytes) -> bool:
        is_footer = beginning[:4] == MAGIC
        heading = beginning if is_footer else beginning.lstrip().split(b"\n", 1)[0]
        return all(name.encode() in heading.lower() for name in names)

    return recognizes


READERS: dict[str, Format] = {
    "swf": Format(read_swf, (".swf",), is_swf),
    "sacct": Format(read_sacct, (".txt", ".json"), is_sacct),
    "alcf": Format(read_alcf, (".csv",), has_columns("queued_timestamp", "nodes_requested")),
    "batsim": Format(read_batsim, (".csv", ".json"), is_batsim),
    "pbs": Format(read_pbs, (".acct", ".txt"), is_pbs),
    "fugaku": Format(read_fugaku, (".parquet", ".csv"), has_columns("adt", "sdt", "nnumr")),
    "pm100": Format(read_pm100, (".parquet",), has_columns("num_nodes_alloc")),
    "peregrine": Format(
        read_peregrine, (".csv",), has_columns("run_time", "nodes_used", "app_name")
    ),
    "alibaba": Format(
        read_alibaba, (".csv",), has_columns("submit_time", "duration", "worker_num", "job_type")
    ),
    "openb": Format(
        read_openb, (".csv",), has_columns("name", "cpu_milli", "memory_mib", "num_gpu")
    ),
    "condor": Format(read_condor, (".submit",), is_condor),
    "columns": Format(
        read_columns, (".csv", ".parquet"), has_columns("submit_time", "run_time", "nodes")
    ),
}
"""Formats of logs by name; ``.gz``, ``.bz2``, ``.xz`` or ``.zip`` may follow an ending."""

OTHERS = tuple(magic for kind, (_, magic) in COMPRESSIONS.items() if kind != "gzip")
"""How files begin that are compressed in another way than gzip."""

BEGINNING = 1 << 16
"""Bytes of a file by which its format is recognized."""

SYNTHETIC = "synthetic"
"""In the place of a trace's name: a synthetic workload."""


def load(
    name_or_path: str | Path,
    *,
    folder: str | Path | None = None,
    cores_per_node: int | None = None,
    **options: Any,
) -> Workload:
    """Workload of a public trace, downloaded if it is missing, or of a log at a path.

    Parameters
    ----------
    name_or_path : str or Path
        A name in `TRACES`, in upper or lower case, or the path of a file; `recognize` finds its
        format.
    folder : str or Path, optional
        For `fetch_trace`.
    cores_per_node : int, optional
        Processors of the log that count as one node, for readers that count processors. By default
        the known number of a public trace, or as the log says.
    **options
        Options of the reader. A public trace has its own `name` and machine.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.load_trace("three-jobs.swf.gz", verbose=False)
    <Workload three-jobs: 3 jobs>
    """
    expected = "the name of a trace or the path of a log"
    check.instance("name_or_path", name_or_path, str, Path, expected=expected)
    if cores_per_node is not None:
        options["cores_per_node"] = cores_per_node
    path = Path(name_or_path)
    known = None if path.is_file() else known_name(str(name_or_path))
    if known is None:
        if not path.exists() and str(path) != STANDARD_INPUT:
            raise FileNotFoundError(
                f"no trace at {name_or_path}: neither a file nor a known trace; "
                f"{suggestion(str(name_or_path))}"
            )
        check_readable(path, "a log")
        return _printed(_read(path, options), options)
    trace = TRACES[known]
    path = fetch_trace(known, folder=folder)
    defaults: dict[str, Any] = {"name": known}
    if trace.cores_per_node is not None:
        defaults["cores_per_node"] = trace.cores_per_node
    workload = _read(path, defaults | options)
    if trace.machine is not None:
        workload = replace(workload, machine=trace.machine)
    return _printed(workload, options)


load_trace = load
"""`load` by the name that it has at the front door."""


def _read(path: Path, options: dict[str, Any]) -> Workload:
    """The workload of a file by its reader, which must know the options."""
    read = READERS[recognize(path)].read
    for name, value in options.items():
        if name not in inspect.signature(read).parameters:
            raise ValueError(
                f"{path}: {name}={value!r}, which {read.__name__} does not take; leave it out"
            )
    return read(path, **options)


def _printed(workload: Workload, options: dict[str, Any]) -> Workload:
    """The workload; its oddities are printed, where readers print."""
    if options.get("verbose", True):
        for sentence in oddities(workload):
            print(f"{workload.name}: {sentence}")
    return workload


def recognize(path: str | Path) -> str:
    """Format of a log, a key of `READERS`: by the ending of its name, else by its first bytes.

    If the ending is that of several formats, or of none, the beginning decides: the heading of a
    table, the names in a JSON document. What is not recognized is read as a table of one's own
    columns or the first other format with its ending, else as SWF; the error tells what is wrong.
    """
    path = Path(path)
    ending = Path(without_compression(path.name)).suffix
    candidates = [name for name, each in READERS.items() if ending in each.endings]
    if len(candidates) == 1 or not path.is_file():
        return candidates[0] if candidates else "swf"
    beginning = footer_of(path) or _beginning(path)
    for name in (*candidates, *READERS):
        if READERS[name].recognizes(beginning):
            return name
    return "columns" if "columns" in candidates else (*candidates, "swf")[0]


def _beginning(path: Path) -> bytes:
    """The first bytes of a file, decompressed as far as they can be."""
    with path.open("rb") as file:
        data = file.read(BEGINNING)
    if data.startswith(b"\x1f\x8b"):
        try:
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, BEGINNING)
        except zlib.error:
            return b""
    elif data.startswith(OTHERS):
        try:
            data = read_bytes(path)[:BEGINNING]
        except TraceError:
            return b""
    return data.removeprefix(b"\xef\xbb\xbf")
