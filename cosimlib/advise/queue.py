"""Jobs of ``squeue --json``, in the dialects of Slurm 22.05 to 24.11 and newer ones by structure.

A number is a number or ``{"set", "infinite", "number"}``, a state a text or a list, and null is
unknown, or without an end. Finished jobs stay listed for a while, and waiting ones hold no nodes:
both are only counted. What else holds nodes is

- *running*: also while its nodes boot, or while it is resized or signalled;
- *suspended*: it holds its nodes, computes nothing, and its end does not come nearer;
- *completing*: over, its nodes being cleaned up;
- *unknown*: it holds nodes, but its state, its start or its nodes cannot be read from its record.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.advise.machine import UNKNOWN_RESOURCES, granted
from cosimlib.traces.account import TraceError
from cosimlib.traces.documents import Document, label, number
from cosimlib.traces.hosts import expand_hosts, is_host_list
from cosimlib.units import MINUTE

RUNNING, SUSPENDED, COMPLETING, UNKNOWN = "running", "suspended", "completing", "unknown"
WAITING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
OVER = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL",
        "DEADLINE", "OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL"}  # fmt: skip
COMPUTING = {"RUNNING", "CONFIGURING", "RESIZING", "SIGNALING", "POWER_UP_NODE", "UPDATE_DB"}
ENDING = {"COMPLETING", "STAGE_OUT"}
STOPPED = {"SUSPENDED", "STOPPED"}
EARLIEST, LATEST = 1e9, 1e11
"""Seconds since 1970 between which a moment is believed: from 2001 on."""
HELD = ("JobHeldUser", "JobHeldAdmin")

EXPECTED = "what squeue --json prints"
COLUMNS = {
    "job_id": "int64", "label": "object", "leader": "int64", "name": "object", "user": "object",
    "account": "object", "partition": "object", "qos": "object", "command": "object",
    "state": "object", "hosts": "object", "held_nodes": "int64", "start": "float64",
    "end": "float64", "run": "float64", "requeue": "bool", "batch": "bool", "reservation": "object",
    "cpus": "float64", "memory": "float64", "gpus": "float64",
}  # fmt: skip
"""Types of the columns of running jobs."""
WAITING_COLUMNS = {
    "job_id": "int64", "user": "object", "partition": "object", "nodes": "float64",
    "limit": "float64", "eligible": "float64", "tasks": "int64",
}  # fmt: skip
"""Types of the columns of waiting jobs: `limit` in seconds, `eligible` since 1970, NaN if not yet,
`tasks` of an array that stand in one record."""


def read_queue(
    path: Path, data: bytes, now: float | None, recorded_at: float
) -> tuple[pd.DataFrame, pd.DataFrame, Counter[str], dict[str, Any], float]:
    """The jobs that hold nodes, counts of the others, the rest of the document, and its moment.

    Parameters
    ----------
    path : Path
        For errors.
    data : bytes
    now : float or None
        Seconds since 1970; by default the document's `last_update`, or else `recorded_at`.
    recorded_at : float
        The file's time, for documents that do not tell their own.

    Returns
    -------
    tuple
        Table with `COLUMNS` (`start` and `end` in seconds since 1970, `end` NaN if unlimited or
        unknown, `run` in seconds, `requeue` whether Slurm would requeue it, which it does with jobs
        of `sbatch` alone, as `batch` says, `memory` in GB), table of those that wait and are not
        held with `WAITING_COLUMNS`, numbers of `waiting`, `held` and `over` jobs, the
        document's other values, the moment in seconds since 1970.

    Raises
    ------
    TraceError
        If it is no JSON, a job is no record or has no number, or two have the same.
    """
    document = Document(path, data, EXPECTED)
    counts: Counter[str] = Counter()
    rows: list[tuple] = []
    waiting: list[tuple] = []
    seen: set[int] = set()
    for place, job in document.jobs():
        if not isinstance(job, dict):
            raise document.refuse(place, f"a job is {type(job).__name__}, not a record")
        state = _state(job)
        if state in ("waiting", "held", "over"):
            counts[state] += 1
            waiting += [_waiting_row(job)] if state == "waiting" else []
            continue
        job_id = number(job.get("job_id"))
        if not (job_id >= 1 and job_id % 1 == 0):
            raise document.refuse(place, f"job_id is {job.get('job_id')!r}")
        if int(job_id) in seen:
            raise document.refuse(place, f"job {int(job_id)} stands there twice")
        seen.add(int(job_id))
        rows.append(_row(int(job_id), job, state))
    moment = now if now is not None else _moment(document.rest, recorded_at)
    table = pd.DataFrame(rows, columns=[*list(COLUMNS), "suspend"])
    table = table.astype(COLUMNS | {"suspend": "float64"})
    queue = pd.DataFrame(waiting, columns=list(WAITING_COLUMNS)).astype(WAITING_COLUMNS)
    return _timed(table, moment), queue, counts, document.rest, moment


def _state(job: dict[str, Any]) -> str:
    """What a job does, in this module's words."""
    state = job.get("job_state")
    states = {str(each).upper() for each in (state if isinstance(state, list) else [state])}
    if states & ENDING:
        return COMPLETING
    if states & STOPPED:
        return SUSPENDED
    if states & WAITING:
        held = job.get("hold") is True or job.get("state_reason") in HELD
        return "held" if held else "waiting"
    if states & OVER:
        return "over"
    return RUNNING if states & COMPUTING else UNKNOWN


def _row(job_id: int, job: dict[str, Any], state: str) -> tuple:
    """One job's values in the order of `COLUMNS`, and the moment since when it runs or stands."""
    hosts = _hosts(job)
    start, end = number(job.get("start_time")), number(job.get("end_time"))
    if not (hosts and EARLIEST < start < LATEST):
        state = UNKNOWN
    unlimited = not number(job.get("time_limit")) >= 0
    array, task = number(job.get("array_job_id")), number(job.get("array_task_id"))
    het, part = number(job.get("het_job_id")), number(job.get("het_job_offset"))
    shown = str(job_id)
    if array > 0 and task >= 0:
        shown = f"{int(array)}_{int(task)}"
    if het > 0 and part >= 0:
        shown = f"{int(het)}+{int(part)}"
    names = ("name", "user_name", "account", "partition", "qos", "command")
    resources = granted(job.get("tres_alloc_str")) or UNKNOWN_RESOURCES
    cpus = number(job.get("cpus"))
    is_batch = job.get("batch_flag") is not False
    return (
        job_id, shown, int(het) if het > 0 else 0,
        *(label(job.get(key)) or "" for key in names),
        state, hosts, 0, start, np.nan if unlimited or not end > 0 else end,
        max(0.0, number(job.get("pre_sus_time"))),
        job.get("requeue") is True and is_batch, is_batch,
        label(job.get("resv_name")) or "",
        cpus if np.isnan(resources.cpus) and cpus > 0 else resources.cpus,
        resources.memory, resources.gpus, number(job.get("suspend_time")),
    )  # fmt: skip


def _waiting_row(job: dict[str, Any]) -> tuple:
    """One waiting job's values in the order of `WAITING_COLUMNS`."""
    job_id = number(job.get("job_id"))
    # Old documents do not tell: such a job is taken to be eligible.
    eligible = number(job["eligible_time"]) if "eligible_time" in job else EARLIEST + 1.0
    listed = str(label(job.get("array_task_string")) or "").partition("%")[0]
    tasks = _expanded(f"task[{listed}]") if listed else ()
    return (
        int(job_id) if job_id >= 1 else 0, label(job.get("user_name")) or "",
        label(job.get("partition")) or "", max(1.0, np.nan_to_num(number(job.get("node_count")))),
        number(job.get("time_limit")) * MINUTE,
        eligible if EARLIEST < eligible < LATEST else np.nan, max(1, len(tasks)),
    )  # fmt: skip


def _hosts(job: dict[str, Any]) -> str:
    """A job's host list; empty if it cannot be read."""
    resources = job.get("job_resources")
    inner = resources.get("nodes") if isinstance(resources, dict) else None
    inner = inner.get("list") if isinstance(inner, dict) else inner
    found = next((each for each in (job.get("nodes"), inner) if label(each)), "")
    return found if isinstance(found, str) and _expanded(found) else ""


def _moment(rest: dict[str, Any], recorded_at: float) -> float:
    """The document's own time, or else that of its file."""
    update = number(rest.get("last_update"))
    return update if EARLIEST < update < LATEST else recorded_at


def _timed(table: pd.DataFrame, now: float) -> pd.DataFrame:
    """Seconds that jobs have run, without those for which they were suspended."""
    before = table["run"].fillna(0.0)
    resumed = table["suspend"] > 0
    since = np.where(resumed, table["suspend"], table["start"])
    ran = before.where(resumed, 0.0) + np.maximum(0.0, now - since)
    stands = table["state"] == SUSPENDED
    run = ran.where(~stands, before).fillna(0.0)
    return table.assign(run=run).drop(columns="suspend")


def held_by(table: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """The names of each job's nodes."""
    yield from map(_expanded, table["hosts"])


@lru_cache(maxsize=2**17)
def _expanded(text: str) -> tuple[str, ...]:
    """The different names in a host list; none in what is no host list."""
    return tuple(dict.fromkeys(expand_hosts(text))) if text and is_host_list(text) else ()


def refuse_errors(path: Path, rest: dict[str, Any]) -> None:
    """Raise for a document in which Slurm reports an error of its own."""
    errors = rest.get("errors")
    if isinstance(errors, list) and errors:
        first = errors[0]
        message = (
            first.get("description") or first.get("error") if isinstance(first, dict) else first
        )
        check.that("errors", str(message or first)[:200], False, "none: ask Slurm again",
                   where=str(path), error=TraceError)  # fmt: skip
