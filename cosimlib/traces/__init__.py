"""Workload traces: logs of real machines, by the name of a public trace or the path of a file.

`load` takes either. A format is one module with its reader and one line in `READERS`.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cosimlib.traces.account import TraceError
from cosimlib.traces.alcf import read_alcf
from cosimlib.traces.catalog import TRACES, Trace, fetch_trace, find_trace, known_name
from cosimlib.traces.slurm import read_sacct
from cosimlib.traces.swf import read_swf, write_swf
from cosimlib.workload import Workload

__all__ = [
    "READERS",
    "SYNTHETIC",
    "TRACES",
    "Trace",
    "TraceError",
    "fetch_trace",
    "find_trace",
    "is_log",
    "load",
    "load_trace",
    "read_alcf",
    "read_sacct",
    "read_swf",
    "write_swf",
]

READERS: dict[str, Callable[..., Workload]] = {
    ".swf": read_swf,
    ".csv": read_alcf,
    ".txt": read_sacct,
    ".json": read_sacct,
}
"""Readers of logs by the ending of the file's name; ``.gz`` may follow it."""

SYNTHETIC = "synthetic"
"""In the place of a trace's name: a synthetic workload."""


def load(
    name_or_path: str | Path,
    *,
    folder: str | Path | None = None,
    cores_per_node: int | None = None,
    **options: Any,
) -> Workload:
    """The workload of a public trace, downloaded where it is missing, or of a log at a path.

    Parameters
    ----------
    name_or_path : str or Path
        A name in `TRACES`, in any case, or the path of a file. Its ending selects the reader in
        `READERS`; a file of another ending is read as SWF.
    folder : str or Path, optional
        For `fetch_trace`.
    cores_per_node : int, optional
        Processors of the log that count as one node. By default those known of a public trace, or
        as the log says; for readers that count processors.
    **options
        For the reader. A public trace has its own `name` and machine.
    """
    if cores_per_node is not None:
        options["cores_per_node"] = cores_per_node
    path = Path(name_or_path)
    known = None if path.is_file() else known_name(str(name_or_path))
    if known is None:
        if not path.is_file() and not is_log(path.name):
            raise FileNotFoundError(
                f"{str(name_or_path)!r} is neither a file nor a known trace; known are "
                f"{', '.join(TRACES)}"
            )
        return _read(path, options)
    trace = TRACES[known]
    path = fetch_trace(known, folder=folder)
    defaults = {"name": known, "cores_per_node": trace.cores_per_node}
    workload = _read(path, defaults | options)
    return workload if trace.machine is None else replace(workload, machine=trace.machine)


load_trace = load
"""`load` by the name that it has at the front door."""


def is_log(name: str) -> bool:
    """Whether a text ends like the name of a log: an ending in `READERS`, or ``.gz``."""
    return name.endswith((*READERS, ".gz"))


def _read(path: Path, options: dict[str, Any]) -> Workload:
    """The workload of a file by its reader, which must know the options."""
    read = _reader(path)
    if "cores_per_node" in options and "cores_per_node" not in inspect.signature(read).parameters:
        raise ValueError(
            f"{path}: cores_per_node={options['cores_per_node']!r}; expected None, as "
            f"{read.__name__} does not count processors"
        )
    return read(path, **options)


def _reader(path: Path) -> Callable[..., Workload]:
    """The reader for the ending of a file's name."""
    return READERS.get(Path(path.name.removesuffix(".gz")).suffix, read_swf)
