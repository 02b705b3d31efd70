"""Jobs and nodes of a live Slurm, from ``squeue --json`` and ``sinfo --json``.

*Jobs*, in the dialects of Slurm 22.05 to 24.11 and newer ones by structure. A number is a number or
``{"set", "infinite", "number"}``, a state a text or a list, and null is unknown, or without an end.
Finished jobs stay listed for a while, and waiting ones hold no nodes: both are only counted. What
else holds nodes is

- *running*: also while its nodes boot, or while it is resized or signalled;
- *suspended*: it holds its nodes, computes nothing, and its end does not come nearer;
- *completing*: over, its nodes being cleaned up;
- *unknown*: it holds nodes, but its state, its start or its nodes cannot be read from its record.

*Nodes*: which are there, and which of them a burst could use. Slurm 22.05 lists nodes, newer ones
list partitions with the nodes of one state; a node then stands under each of its partitions.
``scontrol show nodes --json`` is read as well.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.traces.account import TraceError
from cosimlib.traces.hosts import GIGABYTES, expand_hosts, is_host_list, resources_in
from cosimlib.traces.slurm import UNSTARTED
from cosimlib.traces.texts import label, number
from cosimlib.units import MINUTE

RUNNING, SUSPENDED, COMPLETING, UNKNOWN = "running", "suspended", "completing", "unknown"
WAITING = {*UNSTARTED, "REQUEUED"}
OVER = {
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REVOKED",
    "LAUNCH_FAILED",
    "RECONFIG_FAIL",
}
COMPUTING = {"RUNNING", "CONFIGURING", "RESIZING", "SIGNALING", "POWER_UP_NODE", "UPDATE_DB"}
ENDING = {"COMPLETING", "STAGE_OUT"}
STOPPED = {"SUSPENDED", "STOPPED"}
EARLIEST, LATEST = 1e9, 1e11
"""Seconds since 1970 between which a moment is believed: from 2001 on."""
HELD = ("JobHeldUser", "JobHeldAdmin")

COLUMNS = {
    "job_id": "int64",
    "label": "object",
    "leader": "int64",
    "name": "object",
    "user": "object",
    "account": "object",
    "partition": "object",
    "qos": "object",
    "command": "object",
    "state": "object",
    "hosts": "object",
    "start": "float64",
    "end": "float64",
    "run": "float64",
    "requeue": "bool",
    "batch": "bool",
    "reservation": "object",
    "cpus": "float64",
    "memory": "float64",
    "gpus": "float64",
}
"""Types of the columns of running jobs."""
WAITING_COLUMNS = {
    "job_id": "int64",
    "user": "object",
    "partition": "object",
    "nodes": "float64",
    "limit": "float64",
    "eligible": "float64",
    "tasks": "int64",
}
"""Types of the columns of waiting jobs: `limit` in seconds, `eligible` since 1970, NaN if not yet,
`tasks` of an array that stand in one record."""
UNUSABLE = (
    "DOWN",
    "ERROR",
    "FUTURE",
    "FAIL",
    "FAILING",
    "NOT_RESPONDING",
    "NO_RESPOND",
    "DRAIN",
    "DRAINED",
    "DRAINING",
    "MAINT",
    "MAINTENANCE",
    "RESERVED",
    "RES",
    "REBOOT",
    "REBOOT_REQUESTED",
    "REBOOT_ISSUED",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWER_DOWN",
    "POWERING_UP",
    "POWER_UP",
    "BLOCKED",
    "INVAL",
    "INVALID_REG",
    "PERFCTRS",
    "UNKNOWN",
)
"""States and flags with one of which a node is of no use to a burst."""
BUSY = {"ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP"}
IDLE = {"IDLE"}
GPUS = re.compile(r"(?:^|,)gpu(?::[^:,(]*)?:(\d{1,9})")


class Printed(NamedTuple):
    """Output of ``squeue --json`` or ``sinfo --json``.

    `kind` is the name of the list of its `records` in the document, `recorded_at` the time of its
    file (seconds since 1970).
    """

    path: Path
    kind: str
    records: list[dict[str, Any]]
    document: dict[str, Any]
    recorded_at: float


def read_queue(
    squeue: Printed, now: float | None
) -> tuple[pd.DataFrame, pd.DataFrame, Counter[str], float]:
    """The jobs that hold nodes, those that wait, numbers of the others, and the moment.

    Parameters
    ----------
    squeue : Printed
    now : float or None
        Seconds since 1970; by default the document's `last_update`, or else its file's time.

    Returns
    -------
    tuple
        Table with `COLUMNS` (`start` and `end` in seconds since 1970, `end` NaN if unlimited or
        unknown, `run` in seconds, `requeue` whether Slurm would requeue it, which it does with jobs
        of `sbatch` alone, as `batch` says, `memory` in GB), table of those that wait and are not
        held with `WAITING_COLUMNS`, numbers of `waiting`, `held` and `over` jobs, the moment in
        seconds since 1970.

    Raises
    ------
    TraceError
        If a job has no number, or two have the same.
    """
    counts: Counter[str] = Counter()
    rows: dict[int, tuple] = {}
    waiting: list[tuple] = []
    for place, job in enumerate(squeue.records):
        state = _state(job)
        if state in ("waiting", "held", "over"):
            counts[state] += 1
            waiting += [_waiting_row(job)] if state == "waiting" else []
            continue
        job_id = number(job.get("job_id"))
        fine = job_id >= 1 and job_id % 1 == 0 and job_id not in rows
        check.that(
            "job_id",
            job.get("job_id"),
            fine,
            "a number of its own, from 1",
            where=f"{squeue.path}: jobs[{place}]",
            error=TraceError,
        )
        rows[int(job_id)] = _row(int(job_id), job, state)
    update = number(squeue.document.get("last_update"))
    printed_at = update if EARLIEST < update < LATEST else squeue.recorded_at
    moment = printed_at if now is None else now
    table = pd.DataFrame(list(rows.values()), columns=[*COLUMNS, "suspend"])
    table = table.astype(COLUMNS | {"suspend": "float64"})
    queue = pd.DataFrame(waiting, columns=list(WAITING_COLUMNS)).astype(WAITING_COLUMNS)
    return _timed(table, moment), queue, counts, moment


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
    resources = resources_in(label(job.get("tres_alloc_str")) or "")
    cpus = number(job.get("cpus"))
    is_batch = job.get("batch_flag") is not False
    return (
        job_id,
        shown,
        int(het) if het > 0 else 0,
        *(label(job.get(key)) or "" for key in names),
        state,
        hosts,
        start,
        np.nan if unlimited or not end > 0 else end,
        max(0.0, number(job.get("pre_sus_time"))),
        job.get("requeue") is True and is_batch,
        is_batch,
        label(job.get("resv_name")) or "",
        cpus if np.isnan(resources.cpus) and cpus > 0 else resources.cpus,
        resources.memory,
        resources.gpus,
        number(job.get("suspend_time")),
    )


def _waiting_row(job: dict[str, Any]) -> tuple:
    """One waiting job's values in the order of `WAITING_COLUMNS`."""
    job_id = number(job.get("job_id"))
    # Old documents do not tell: such a job is taken to be eligible.
    eligible = number(job["eligible_time"]) if "eligible_time" in job else EARLIEST + 1.0
    listed = str(label(job.get("array_task_string")) or "").partition("%")[0]
    tasks = _expanded(f"task[{listed}]") if listed else ()
    return (
        int(job_id) if job_id >= 1 else 0,
        label(job.get("user_name")) or "",
        label(job.get("partition")) or "",
        max(1.0, np.nan_to_num(number(job.get("node_count")))),
        number(job.get("time_limit")) * MINUTE,
        eligible if EARLIEST < eligible < LATEST else np.nan,
        max(1, len(tasks)),
    )


def _hosts(job: dict[str, Any]) -> str:
    """A job's host list; empty if it cannot be read."""
    resources = job.get("job_resources")
    inner = resources.get("nodes") if isinstance(resources, dict) else None
    inner = inner.get("list") if isinstance(inner, dict) else inner
    found = next((each for each in (job.get("nodes"), inner) if label(each)), "")
    return found if isinstance(found, str) and _expanded(found) else ""


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
        check.that(
            "errors",
            str(message or first)[:200],
            False,
            "none: ask Slurm again",
            where=str(path),
            error=TraceError,
        )


def read_machine(sinfo: Printed) -> pd.DataFrame:
    """The nodes.

    Returns
    -------
    pd.DataFrame
        Indexed by name: `why` it is of no use (empty where it is usable), `busy` (Slurm says that
        jobs are on it), `planned` for a waiting job, `partitions` and `features` as frozensets,
        `cpus`, `memory` (GB) and `gpus`.

    Raises
    ------
    TraceError
        If an entry names no nodes.
    """
    found: dict[str, dict[str, Any]] = {}
    for place, entry in enumerate(sinfo.records):
        names, record = _entry(entry)
        if names is None:
            raise TraceError(
                f"{sinfo.path}: {sinfo.kind}[{place}] names no nodes; expected what sinfo --json "
                "prints"
            )
        for node in names:
            known = found.setdefault(node, record)
            if known is not record:
                found[node] = _joined(known, record)
    columns = list(_entry({})[1])
    table = pd.DataFrame.from_dict(found, orient="index", columns=columns)
    table.index.name = "node"
    return table.astype({"cpus": "float64", "memory": "float64", "gpus": "float64"})


def _entry(entry: dict[str, Any]) -> tuple[list[str] | None, dict[str, Any]]:
    """The names of the nodes that an entry is about, and what it says of them."""
    grouped = isinstance(entry.get("nodes"), dict)
    node = entry.get("node")
    state = node.get("state") if isinstance(node, dict) else entry.get("state")
    states = {part for text in _texts(state) for part in text.upper().replace("*", "").split("+")}
    states |= {text.upper() for text in _texts(entry.get("state_flags"))}
    features, reservation = entry.get("features"), label(entry.get("reservation"))
    if isinstance(features, dict):
        features = [*_texts(features.get("active")), *_texts(features.get("total"))]
    partition = entry.get("partition")
    partitions = _texts(entry.get("partitions"))
    if isinstance(partition, dict):
        partitions = _texts(partition.get("name"))
    why = next((state.lower().replace("_", " ") for state in UNUSABLE if state in states), "")
    if not why and not states & (BUSY | IDLE):
        why = "unknown"
    record = {
        "why": why or ("reserved" if reservation else ""),
        "busy": bool(states & BUSY),
        "planned": "PLANNED" in states,
        "partitions": frozenset(partitions),
        "features": frozenset(
            part.strip() for text in _texts(features) for part in text.split(",") if part.strip()
        ),
        **_capacity(entry),
    }
    named = entry["nodes"].get("nodes") if grouped else entry.get("name")
    return _names(named), record


def _capacity(entry: dict[str, Any]) -> dict[str, float]:
    """What each of an entry's nodes has."""
    if granted := label(entry.get("tres")):
        return resources_in(granted)._asdict()
    cpus, memory, gres = (entry.get(key) for key in ("cpus", "memory", "gres"))
    cpus = cpus.get("maximum") if isinstance(cpus, dict) else cpus
    memory = memory.get("maximum") if isinstance(memory, dict) else entry.get("real_memory")
    gres = gres.get("total") if isinstance(gres, dict) else gres
    return {
        "cpus": _positive(cpus),
        "memory": _positive(memory) * GIGABYTES["M"],
        "gpus": float(sum(map(int, GPUS.findall(gres if isinstance(gres, str) else "")))),
    }


def _positive(value: Any) -> float:
    value = number(value)
    return value if value > 0 else np.nan


def _names(value: Any) -> list[str] | None:
    """Names from a host list or a list of such; None if there is none."""
    texts = _texts(value)
    if not texts or not all(map(is_host_list, texts)):
        return [] if value == [] else None
    names = [name for text in texts for name in expand_hosts(text)]
    return names or None


def _texts(value: Any) -> list[str]:
    """A text, or each of a list of them."""
    parts = value if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, str) and part]


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What two entries say of a node together."""
    return {
        **one,
        "why": one["why"] or other["why"],
        **{key: one[key] | other[key] for key in ("busy", "planned", "partitions", "features")},
    }
