"""Alibaba's GPU jobs of high priority and on spot instances: cluster-trace-v2026-spot-gpu, as CSV.

The files are at https://github.com/alibaba/clusterdata (Duan et al., GFS: A Preemptive Scheduling
Framework for GPU Clusters with Predictive Spot Management, ASPLOS 2026). job_info_df.csv has a row
per job: job_name, organization, gpu_model, cpu_request, gpu_request, worker_num (instances),
submit_time (s from the first job), duration (s), job_type (HP or Spot); node_info_df.csv one per
node: node_name, gpu_model, gpu_capacity_num, cpu_num.

HP is work that must not wait and Spot what makes way for it, so that `ondemand.bursts_from_queue`
of queue ``"HP"`` gives both for `simulate_ondemand`. The description calls gpu_request and
cpu_request those of the job, but jobs of 94 instances ask for one GPU: they are taken as those of
one instance. When jobs started is not told.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import System
from cosimlib.traces.account import Account, assemble, base_name, parses, read_bytes
from cosimlib.traces.texts import read_csv
from cosimlib.workload import Workload

REQUESTS = {"gpus": "gpu_request", "cores": "cpu_request"}
CAPACITIES = {"gpus": "gpu_capacity_num", "cores": "cpu_num"}
TYPES = {"hp": "HP", "spot": "Spot"}
WANTED = ("job_name", "organization", "gpu_model", "cpu_request", "gpu_request", "worker_num",
          "submit_time", "duration", "job_type")  # fmt: skip
NEEDED = ("submit_time", "duration", "worker_num", "job_type")
FORMAT = "a table of jobs such as Alibaba's job_info_df.csv"
NODES = "node_info_df.csv"
NODES_FORMAT = f"a table of nodes such as Alibaba's {NODES}"


@parses("Alibaba's table of jobs")
def read_alibaba(
    path: str | Path,
    *,
    unit: str = "gpus",
    gpu_model: str | None = None,
    nodes: str | Path | None = None,
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """The jobs of Alibaba's table of high-priority and spot GPU jobs, CSV or gzip of it.

    Parameters
    ----------
    path : str or Path
    unit : {"gpus", "cores"}
        What a workload's `nodes` count: what an instance asks for times the instances, rounded up.
    gpu_model : str, optional
        Only jobs that ask for these GPUs, and only nodes that have them; by default all, as if all
        GPUs were alike.
    nodes : str or Path, optional
        The table of nodes; by default node_info_df.csv beside the table of jobs, where there is
        one.
    name : str, optional
        Of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of what was dropped, mended and noted.

    Returns
    -------
    Workload
        `submit_time` counts from the first job's; `queue` is ``"HP"`` or ``"Spot"``, `group` the
        organization; `gpu_model` and `workers` are kept beside them. `machine` has all GPUs (or
        cores) of the table of nodes, and is unknown without one.

    Raises
    ------
    FileNotFoundError
    TraceError
        Naming the columns that are missing, or the line, its value and what was expected.

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.read_alibaba("alibaba/job_info_df.csv", verbose=False)
    >>> workload.jobs[["submit_time", "nodes", "queue"]].head(3)
       submit_time  nodes queue
    0          0.0      1    HP
    1          0.0      1    HP
    2        120.0      2    HP
    """
    check.choice("unit", unit, tuple(REQUESTS))
    path, account = Path(path), Account()
    texts = read_csv(path, read_bytes(path), (*WANTED,), needed=(*NEEDED, REQUESTS[unit]),
                     format_name=FORMAT)  # fmt: skip
    numbers = ("submit_time", "duration", "worker_num", REQUESTS[unit], "job_name")
    table = pd.DataFrame(
        {column: texts.numbers(column, below=2.0**52) for column in numbers[:-1]}
        | {column: texts.labels(column) for column in WANTED if column not in numbers[:-1]}
    )
    count = len(table)
    amount = np.ceil(table[REQUESTS[unit]] * table["worker_num"])
    table = account.drop(table.assign(amount=amount), _drop_rules(table, amount, unit))
    if gpu_model is not None:
        check.choice("gpu_model", gpu_model, sorted(table["gpu_model"].dropna().unique()))
        other = (table["gpu_model"] != gpu_model).fillna(True)
        table = account.drop(table, [(f"asks for other GPUs than {gpu_model}", other)])
    machine = _machine(path, nodes, unit, gpu_model)
    return assemble(
        _jobs(table, account), name or base_name(path), machine, account, path=path, records=count,
        verbose=verbose,
    )  # fmt: skip


def is_alibaba(beginning: bytes) -> bool:
    """Whether a heading names the columns of the table."""
    first = beginning.lstrip().split(b"\n", 1)[0]
    return all(column.encode() in first for column in NEEDED)


def _drop_rules(table: pd.DataFrame, amount: pd.Series, unit: str) -> list[tuple[str, pd.Series]]:
    """Reasons why a row is not a job."""
    return [
        ("time of submission unknown", table["submit_time"].isna()),
        ("run time unknown", ~(table["duration"] >= 0)),
        ("number of instances unknown, or none", ~(table["worker_num"] >= 1)),
        (f"number of {unit} unknown, or none", ~((amount >= 1) & (amount < 2.0**52))),
    ]


def _jobs(table: pd.DataFrame, account: Account) -> pd.DataFrame:
    """The columns of a workload from those of the table."""
    kind = table["job_type"].str.strip().str.lower().map(TYPES).astype("string")
    unknown = kind.isna()
    account.add("noted", "neither HP nor Spot, queue as it is written", int(unknown.sum()))
    number = table["job_name"].where(table["job_name"].str.fullmatch(r"[0-9]{1,15}").fillna(False))
    return pd.DataFrame(
        {
            "submit_time": table["submit_time"] - table["submit_time"].min(),
            "run_time": table["duration"],
            "requested_time": np.nan,
            "nodes": table["amount"].astype("int64"),
            "recorded_start": np.nan,
            "job_id": number.astype("Int64"),
            "group": table["organization"],
            "queue": kind.fillna(table["job_type"]),
            "gpu_model": table["gpu_model"],
            "workers": table["worker_num"],
        }
    )


def _machine(
    path: Path, nodes: str | Path | None, unit: str, gpu_model: str | None
) -> System | None:
    """One partition of all GPUs, or cores, of the table of nodes; None without one."""
    place = path.with_name(NODES) if nodes is None else Path(nodes)
    if nodes is None and not place.is_file():
        return None
    column = CAPACITIES[unit]
    texts = read_csv(place, read_bytes(place), ("gpu_model", column), needed=("gpu_model", column),
                     format_name=NODES_FORMAT)  # fmt: skip
    capacity, model = texts.numbers(column, below=2.0**31), texts.labels("gpu_model")
    if gpu_model is not None:
        capacity = capacity[(model == gpu_model).fillna(False)]
    total = int(capacity[capacity > 0].sum())
    label = "Alibaba" if gpu_model is None else f"Alibaba, {gpu_model}"
    return System(f"{label} ({unit})", {"main": total}) if total else None
