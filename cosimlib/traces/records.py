"""Records of a resource manager: times of one clock, what was held, labels; and jobs made of them.

Slurm, PBS, Fugaku's and Marconi100's logs differ in how a record is written, and agree in what it
says. A reader makes the table described in `COLUMNS`; `counted` drops what is no job and chooses
the unit of nodes, and `workload_of` makes the workload.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from cosimlib.system import System
from cosimlib.traces.account import Account, assemble, known_start
from cosimlib.workload import Workload

Unit = Literal["nodes", "cores", "gpus", "auto"]
UNITS = ("nodes", "cores", "gpus")
AUTO = "auto"
"""In the place of a unit: what is scarce (`scarce_unit`)."""
Arrival = Literal["submit", "eligible"]
ARRIVALS = ("submit", "eligible")
LAST = 2**33
"""Seconds of the epoch, in the year 2242: from then on a time is no date."""

COLUMNS = {
    "submit": "float64",
    "eligible": "float64",
    "start": "float64",
    "end": "float64",
    "elapsed": "float64",
    "limit": "float64",
    "nodes": "float64",
    "cores": "float64",
    "gpus": "float64",
    "job": "float64",
    "user": "string",
    "group": "string",
    "queue": "string",
    "qos": "string",
    "state": "string",
    "memory": "float64",
}
"""Seconds of the epoch; seconds; numbers held; labels; GB per node. NaN and NA where unknown."""
FINISHED = {"COMPLETED": 1, "CANCELLED": 5}
"""SWF's status by the state of a job; every other state of a job that ended is 0, failed."""


def table_of(columns: dict[str, pd.Series]) -> pd.DataFrame:
    """A table with all `COLUMNS`, unknown if a reader gives none, and the reader's others."""
    unknown = {name: np.nan if kind == "float64" else pd.NA for name, kind in COLUMNS.items()}
    return pd.DataFrame(unknown | columns, copy=False).astype(COLUMNS)


def machine_in(machine: System, unit: str, per_node: int) -> System:
    """A machine whose nodes are counted in another unit, so many per node."""
    if unit == "nodes":
        return machine
    return System(f"{machine.name} ({unit})", {"main": machine.total_nodes * per_node})


def scarce_unit(table: pd.DataFrame, account: Account) -> Unit:
    """Nodes where no job shares them; else cores or GPUs, whichever jobs held more of.

    A job shares its nodes if it holds fewer cores per node than some other job. Of cores and GPUs
    the scarce ones are those of which jobs held, over all their run time, the larger part of what
    their nodes have: as much per node as any job holds. The account says what was chosen.
    """
    table = table[run_time(table) > 0]
    density = {kind: table[kind] / table["nodes"] for kind in ("cores", "gpus")}
    most = {kind: values.max() for kind, values in density.items()}
    shared = int((density["cores"] < most["cores"]).sum())
    unit: Unit = "nodes"
    if shared:
        time = run_time(table)
        cores, gpus = (
            (table[kind] * time).sum() / most[kind] if most[kind] > 0 else 0.0 for kind in most
        )
        unit = "gpus" if gpus > cores else "cores"
    reason = f"counted in {unit}, what is scarce; jobs that share nodes: {shared:,}"
    account.add("noted", reason, len(table))
    return unit


def _per_node(table: pd.DataFrame, unit: str) -> dict[str, pd.Series]:
    """Cores, whole GPUs and GB per node, where nodes are counted."""
    if unit != "nodes":
        return {}
    gpus = np.ceil(table["gpus"] / table["nodes"])
    known = gpus.notna().any()
    return {
        "cores": table["cores"] / table["nodes"],
        "gpus": (gpus.fillna(0) if known else gpus).astype("Int64"),
        "memory": table["memory"],
    }


def run_time(table: pd.DataFrame) -> pd.Series:
    """Run time (s): the record's own, or else from start to end."""
    return table["elapsed"].fillna(table["end"] - table["start"])


def drop_rules(table: pd.DataFrame, unit: str) -> list[tuple[str, pd.Series]]:
    """Reasons why a record is not a job, in the order in which a record is counted under them."""
    return [
        ("time of submission unknown", table["submit"].isna()),
        ("not started", table["start"].isna()),
        ("end unknown", table["end"].isna()),
        ("run time unknown", ~(run_time(table) >= 0)),
        (f"number of {unit} unknown, or none", ~(table[unit] >= 1)),
    ]


def counted(
    table: pd.DataFrame,
    unit: Unit,
    account: Account,
    rules: Callable[[pd.DataFrame, str], list[tuple[str, pd.Series]]] = drop_rules,
) -> tuple[pd.DataFrame, Unit]:
    """The records that are jobs, and the unit in which their nodes are counted."""
    unit = scarce_unit(table, account) if unit == AUTO else unit
    return account.drop(table, rules(table, unit)), unit


def states(table: pd.DataFrame) -> pd.Series:
    """States in capitals without what may follow them, empty if unknown."""
    codes, found = pd.factorize(table["state"].fillna(""))
    first = pd.Series(found).astype("string").str.split(" ").str[0].str.rstrip("+").str.upper()
    return pd.Series(first.array.take(codes), index=table.index)


def workload_of(
    table: pd.DataFrame,
    unit: str,
    account: Account,
    machine: System | None,
    *,
    path: Path,
    name: str | None,
    verbose: bool,
    arrival: Arrival = "submit",
    is_local: bool = False,
    **others: Any,
) -> Workload:
    """The workload of records, with other columns; `is_local` if their clock tells no zone."""
    eligible = table["eligible"].where(table["eligible"] >= table["submit"], table["submit"])
    arrived = eligible if arrival == "eligible" else table["submit"]
    jobs = _jobs(table, unit, eligible, arrived, account).assign(**others)
    return assemble(
        jobs, name, machine, account, path=path, verbose=verbose, began=began(arrived, is_local)
    )


def began(arrived: pd.Series, is_local: bool = False) -> pd.Timestamp | None:
    """The calendar time of the first arrival, without a zone where the clock is a local one."""
    first = arrived.min()
    return (
        pd.Timestamp(first, unit="s", tz=None if is_local else "UTC") if 0 < first < LAST else None
    )


def _jobs(
    table: pd.DataFrame, unit: str, eligible: pd.Series, arrived: pd.Series, account: Account
) -> pd.DataFrame:
    """The columns of a workload from those of the records."""
    later = eligible > table["submit"]
    account.add("noted", "eligible later than submitted", int(later.sum()))
    stopped = table["elapsed"] < table["end"] - table["start"] - 1
    account.add("noted", "suspended for a time, which its run time leaves out", int(stopped.sum()))
    zero, state = arrived.min(), states(table)
    return pd.DataFrame(
        {
            "submit_time": arrived - zero,
            "eligible_time": eligible - zero,
            "run_time": run_time(table),
            "requested_time": table["limit"].where(table["limit"] > 0),
            "nodes": np.ceil(table[unit]),
            "recorded_start": known_start(table["start"], arrived, account) - zero,
            "job_id": table["job"].round().astype("Int64"),
            "user": table["user"],
            "group": table["group"],
            "queue": table["queue"],
            "qos": table["qos"],
            "status": state.map(FINISHED).astype("Int64").fillna(0).where(state != ""),
        }
        | _per_node(table, unit),
        copy=False,
    )
