"""Output of ``sacct --json``, in the dialects of Slurm 22.05 to 24.11."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib.traces.documents import Document, label, number
from cosimlib.traces.records import COLUMNS
from cosimlib.units import MINUTE

FIELDS = ("submit", "eligible", "start", "end", "elapsed", "limit", "nodes", "cores", "gpus",
          "job", "user", "group", "queue", "qos", "hosts", "state")  # fmt: skip


def is_json(beginning: bytes) -> bool:
    """Whether a JSON document begins with jobs of ``sacct``'s."""
    return beginning.lstrip()[:1] == b"{" and b'"submission"' in beginning


def read_json(path: Path, data: bytes) -> pd.DataFrame:
    """The records as a table with the columns of `records.COLUMNS`, `hosts`, `step`, `local`."""
    document = Document(path, data, "what sacct --json prints")
    rows: list[tuple] = []
    for place, job in document.jobs():
        if not isinstance(job, dict) or not isinstance(job.get("time"), dict):
            raise document.refuse(place, f"jobs[{len(rows)}] has no times")
        rows.append(_row(job))
    table = pd.DataFrame(rows, columns=list(FIELDS)).astype(COLUMNS | {"hosts": "string"})
    table["hosts"] = table["hosts"].mask(table["hosts"].isin(["", "None assigned"]))
    for column in ("submit", "eligible", "start", "end"):
        table[column] = table[column].where(table[column] > 0)
    return table.assign(step=False, local=False, rounded=False)


def _row(job: dict[str, Any]) -> tuple:
    """One job's values in the order of `FIELDS`."""
    times, tres = job["time"], job.get("tres")
    granted = tres.get("allocated") if isinstance(tres, dict) else None
    state = job.get("state")
    state = state.get("current") if isinstance(state, dict) else state
    state = state[0] if isinstance(state, list) and state else state
    clock = ("submission", "eligible", "start", "end", "elapsed")
    return (
        *(number(times.get(key)) for key in clock),
        number(times.get("limit")) * MINUTE,
        _granted(granted, "node"),
        _granted(granted, "cpu"),
        _granted(granted, "gres", "gpu"),
        number(job.get("job_id")),
        *(label(job.get(key)) for key in ("user", "account", "partition", "qos", "nodes")),
        state if isinstance(state, str) else None,
    )


def _granted(tres: Any, kind: str, name: str | None = None) -> float:
    """How much of a trackable resource a job was given; NaN where unknown."""
    for each in tres if isinstance(tres, list) else ():
        if isinstance(each, dict) and each.get("type") == kind and name in (None, each.get("name")):
            count = number(each.get("count"))
            return count if count >= 0 else np.nan
    return np.nan
