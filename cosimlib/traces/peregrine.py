"""Jobs of NREL's Peregrine as they were passed on for teaching: a CSV without times of submission.

The 10,000 jobs that NREL published, drawn from two years, are no longer where they were. What can
be had is a copy without the jobs of unknown application: power, run_time (s), nodes_used,
processors_used, wallclock_used, cpu_used, mem_used, app_name. Order, times of submission, queues,
requested times and exit status are missing, so all jobs are submitted at time 0.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib.traces.account import Account, assemble, base_name, read_bytes
from cosimlib.traces.texts import read_csv
from cosimlib.workload import Workload

WANTED = ("run_time", "nodes_used", "app_name")
FORMAT = "Peregrine's jobs: power, run_time, nodes_used, …, app_name"


def read_peregrine(path: str | Path, *, name: str | None = None, verbose: bool = True) -> Workload:
    """The jobs of the public extract of Peregrine's log.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Of the workload; by default the file's name without its endings.
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
    texts = read_csv(path, read_bytes(path), WANTED, needed=WANTED, format_name=FORMAT)
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
    return all(column.encode() in first for column in WANTED)
