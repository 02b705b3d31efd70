"""Bags of jobs: public files that tell run times but no times of submission.

HTCondor submit files have one ``Arguments = seconds`` per job. The HTC workload of Duplyakin et al.
(2013, 2017) is such a file: jobs that sleep for so many seconds. It says run times and nothing
else, so jobs have one node.

Of the 10,000 jobs that NREL published of Peregrine, drawn from two years, a copy can be had without
the jobs of unknown application: power, run_time (s), nodes_used, processors_used, wallclock_used,
cpu_used, mem_used, app_name. Order, queues, requested times and exit status are missing, too.

All jobs are submitted at time 0.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib.traces.account import Account, TraceError, assemble, base_name, parses, read_bytes
from cosimlib.traces.texts import read_csv
from cosimlib.workload import Workload

ARGUMENTS = re.compile(
    rb"^[ \t]*arguments[ \t]*=[ \t]*(.*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)
COLUMNS = ("run_time", "nodes_used", "app_name")
PEREGRINE = "Peregrine's jobs: power, run_time, nodes_used, …, app_name"


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
    jobs = pd.DataFrame(
        {
            "job_id": np.arange(1, len(run_times) + 1),
            "submit_time": 0.0,
            "recorded_start": np.nan,
            "run_time": run_times,
            "requested_time": np.nan,
            "nodes": 1,
        }
    )
    return assemble(
        jobs, name or base_name(path), None, Account(), path=path, records=len(jobs),
        verbose=verbose,
    )  # fmt: skip


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
    texts = read_csv(path, read_bytes(path), COLUMNS, needed=COLUMNS, format_name=PEREGRINE)
    table = pd.DataFrame(
        {
            "job_id": np.arange(1, len(texts) + 1),
            "submit_time": 0.0,
            "recorded_start": np.nan,
            "run_time": texts.numbers("run_time"),
            "requested_time": np.nan,
            "nodes": texts.numbers("nodes_used"),
            "application": texts.labels("app_name"),
        }
    )
    whole = (table["nodes"] >= 1) & (table["nodes"] % 1 == 0)
    rules = (
        ("run time unknown", ~(table["run_time"] >= 0)),
        ("number of nodes unknown, or none", ~whole),
    )
    jobs = account.drop(table, rules).astype({"nodes": "int64"})
    return assemble(
        jobs, name or base_name(path), None, account, path=path, records=len(table),
        verbose=verbose,
    )  # fmt: skip


def is_peregrine(beginning: bytes) -> bool:
    """Whether a heading names the columns of the extract."""
    first = beginning.lstrip().split(b"\n", 1)[0]
    return all(column.encode() in first for column in COLUMNS)
