"""HTCondor submit files: one `Arguments = seconds` per job, as Duplyakin et al. published one.

The HTC workload of their papers of 2013 and 2017 is such a file: jobs that sleep for so many
seconds. It says run times and nothing else, so jobs have one node and are submitted at time 0.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib.traces.account import Account, TraceError, assemble, base_name, read_bytes
from cosimlib.workload import Workload

ARGUMENTS = re.compile(
    rb"^[ \t]*arguments[ \t]*=[ \t]*(.*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE
)


def read_condor(path: str | Path, *, name: str | None = None, verbose: bool = True) -> Workload:
    """The jobs of an HTCondor submit file whose arguments are seconds.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Of the workload; by default the file's name without its endings.
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
    if not re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        line = data.count(b"\n", 0, found.start(1)) + 1
        raise TraceError(f"{path}: line {line}: Arguments = {text!r}; expected seconds")
    return float(text)
