"""Batsim: the jobs.csv that it prints, and the workload that it reads, a JSON document.

jobs.csv has a row per job of a simulation, with the names of columns of Batsim 3 and later. It is a
schedule: its starts become `recorded_start`. Rows are
dropped where the submission, the run time or the number of resources is unknown, or where the job
was rejected.

In a workload document, ``{"nb_res": 32, "jobs": [{"id", "subtime", "walltime", "res", "profile"}],
"profiles": {}}``, how long a job runs is what its profile makes of the platform. Known without one
are profiles of type `delay`; other jobs are dropped with an account.
A job that would run for longer than its walltime is stopped by it.

Batsim's resources are what its platform says, often nodes; a workload's `nodes` count them.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib.system import System
from cosimlib.traces.account import (
    Account,
    TraceError,
    assemble,
    base_name,
    known_start,
    parses,
    read_bytes,
)
from cosimlib.traces.texts import number, read_csv, read_json
from cosimlib.workload import Workload

COLUMNS = (
    "job_id",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "final_state",
    "starting_time",
    "execution_time",
    "profile",
)
NEEDED = ("submission_time", "requested_number_of_resources", "execution_time")
WORKLOAD = "a workload of Batsim's"
MOST_RESOURCES = 10**8


@parses("Batsim's jobs.csv or workload")
def read_batsim(
    path: str | Path, *, system: System | None = None, name: str | None = None, verbose: bool = True
) -> Workload:
    """Workload of Batsim's jobs.csv, or of a workload document (JSON), plain or gzip.

    Parameters
    ----------
    path : str or Path
    system : System, optional
        The machine; by default `nb_res` resources of a workload document, else unknown.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        `nodes` are Batsim's resources. `application` is the profile.

    Raises
    ------
    FileNotFoundError
    TraceError
        If the file is damaged; names the line, the value and what was expected.

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.traces.read_batsim("batsim-workload.json", verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0         33.0      42.5      1
    1         81.0     100.0      4
    2        133.0    1800.0      1
    """
    path, account = Path(path), Account()
    name = name or base_name(path)
    data = read_bytes(path)
    as_json = data.lstrip()[:1] in (b"{", b"[")
    table, resources = _from_json(path, data) if as_json else (_from_csv(path, data), 0)
    del data
    machine = system or (System(name, {"main": resources}) if resources else None)
    jobs = _jobs(account.drop(table, _drop_rules(table)), account)
    return assemble(jobs, name, machine, account, path=path, verbose=verbose)


def is_batsim(beginning: bytes) -> bool:
    """Whether a file begins as jobs.csv or as a workload document does."""
    text = beginning.lstrip()
    if text[:1] == b"{":
        return b'"subtime"' in text or b'"nb_res"' in text
    return b"submission_time" in (first := text.split(b"\n", 1)[0]) and b"execution_time" in first


def _from_csv(path: Path, data: bytes) -> pd.DataFrame:
    """The rows of jobs.csv."""
    texts = read_csv(path, data, COLUMNS, needed=NEEDED, format_name="Batsim's jobs.csv")
    starts, success = texts.numbers("starting_time"), texts.numbers("success")
    state = texts.labels("final_state")
    status = success.where(success.isna() | (success == 1), 0)
    return pd.DataFrame(
        {
            "submit": texts.numbers("submission_time"),
            "run": texts.numbers("execution_time"),
            "limit": texts.numbers("requested_time"),
            "resources": texts.numbers("requested_number_of_resources"),
            "start": starts,
            "job": pd.to_numeric(texts.labels("job_id").str.extract(r"^(?:.*!)?([0-9]{1,15})$")[0]),
            "profile": texts.labels("profile"),
            "status": status.where(state.isna() | ~state.str.contains("KILLED"), 0),
            "rejected": state.fillna("").str.contains("REJECTED"),
        }
    )


def _from_json(path: Path, data: bytes) -> tuple[pd.DataFrame, int]:
    """The jobs of a workload document, and its number of resources."""
    _, jobs, document = read_json(path, data, WORKLOAD, "jobs")
    rows: list[tuple] = []
    for place, job in enumerate(jobs):
        if "subtime" not in job or "res" not in job:
            raise TraceError(f"{path}: jobs[{place}] has no subtime or res; expected {WORKLOAD}")
        name = job.get("profile")
        identity = str(job.get("id", ""))[-40:].rpartition("!")[2]
        rows.append(
            (
                number(job["subtime"]),
                number(job.get("walltime")),
                number(job["res"]),
                float(identity) if identity.isdecimal() and len(identity) < 16 else np.nan,
                name if isinstance(name, str) else None,
            )
        )
    profiles = document.get("profiles")
    profiles = profiles if isinstance(profiles, dict) else {}
    table = pd.DataFrame(rows, columns=["submit", "limit", "resources", "job", "profile"])
    table = table.astype(dict.fromkeys(("submit", "limit", "resources", "job"), "float64"))
    table["profile"] = table["profile"].astype("string")
    delays = {name: _delay(profile) for name, profile in profiles.items()}
    delay = table["profile"].map(delays).astype("float64")
    stopped = delay > table["limit"].where(table["limit"] > 0)
    table = table.assign(
        run=delay.where(~stopped, table["limit"]),
        start=np.nan,
        rejected=False,
        status=np.where(stopped, 0.0, np.nan),
    )
    resources = number(document.get("nb_res"))
    return table, int(resources) if 1 <= resources <= MOST_RESOURCES else 0


def _delay(profile: Any) -> float:
    """Seconds of a profile that is a delay; NaN if the platform decides."""
    is_delay = isinstance(profile, dict) and profile.get("type") == "delay"
    return number(profile.get("delay")) if is_delay else np.nan


def _drop_rules(table: pd.DataFrame) -> list[tuple[str, pd.Series]]:
    """Reasons why a record is not a job."""
    return [
        ("rejected by the scheduler", table["rejected"]),
        ("submission unknown", ~(table["submit"] >= 0)),
        ("run time unknown: only a platform gives it", ~(table["run"] >= 0)),
        ("number of resources unknown", ~(table["resources"] >= 1)),
    ]


def _jobs(table: pd.DataFrame, account: Account) -> pd.DataFrame:
    """The columns of a workload from those of the records."""
    start = known_start(table["start"], table["submit"], account)
    return pd.DataFrame(
        {
            "submit_time": table["submit"],
            "run_time": table["run"],
            "requested_time": table["limit"].where(table["limit"] > 0),
            "nodes": np.ceil(table["resources"]),
            "recorded_start": start.where(start >= 0),
            "job_id": table["job"].astype("Int64"),
            "application": table["profile"],
            "status": table["status"].astype("Int64"),
        }
    )
