"""Alibaba's GPU jobs: those of high priority and on spot instances, and pods that share GPUs.

*cluster-trace-v2026-spot-gpu*, `read_alibaba`. The files are at
https://github.com/alibaba/clusterdata (Duan et al., GFS: A Preemptive Scheduling Framework for GPU
Clusters with Predictive Spot Management, ASPLOS 2026). job_info_df.csv has a row per job: job_name,
organization, gpu_model, cpu_request, gpu_request, worker_num (instances), submit_time (s from the
first job), duration (s), job_type (HP or Spot); node_info_df.csv one per node: node_name,
gpu_model, gpu_capacity_num, cpu_num.

HP is urgent work, and Spot is work that makes way for it. `ondemand.bursts_from_queue` with the
queue ``"HP"`` gives both for `simulate_ondemand`. The description says that gpu_request and
cpu_request are those of the job. But jobs of 94 instances ask for one GPU, so they are read as
those of one instance. Starts are unknown.

*cluster-trace-gpu-v2023*, `read_openb` (Weng et al.: Beware of Fragmentation, USENIX ATC 2023). The
lists of pods, openb_pod_list_default.csv and others, have name, cpu_milli, memory_mib, num_gpu,
gpu_milli (thousandths of each GPU), and most also gpu_spec (models of GPU, parted by |), qos,
pod_phase, creation_time, deletion_time and scheduled_time (s); openb_node_list_gpu_node.csv has sn,
cpu_milli, memory_mib, gpu and model of each node.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import NodeType, System
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
POD_NUMBERS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time", "deletion_time",
               "scheduled_time")  # fmt: skip
POD_LABELS = ("name", "gpu_spec", "qos", "pod_phase")
POD_NEEDED = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
PODS_FORMAT = "a list of pods such as Alibaba's openb_pod_list_default.csv"
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
OPENB_NODES = "openb_node_list_gpu_node.csv"
OPENB_NODES_FORMAT = f"a list of nodes such as Alibaba's {OPENB_NODES}"
MEBIBYTE = 2**20 / 1e9
"""GB of a MiB."""
PHASES = {"Succeeded": 1, "Failed": 0}


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
    """Workload of Alibaba's table of high-priority and spot GPU jobs, CSV or gzip of it.

    Parameters
    ----------
    path : str or Path
    unit : {"gpus", "cores"}
        What a node of the workload is: what an instance asks for times the instances, rounded up.
    gpu_model : str, optional
        Only jobs that ask for these GPUs, and only nodes that have them; by default all, as if all
        GPUs were alike.
    nodes : str or Path, optional
        The table of nodes; by default node_info_df.csv beside the table of jobs, where there is
        one.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

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
        If it is damaged; names the columns that are missing, or the line, its value and
        what was expected.

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


@parses("a list of pods of Alibaba's cluster-trace-gpu-v2023")
def read_openb(
    path: str | Path,
    *,
    nodes: str | Path | None = None,
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """The pods of a list of Alibaba's cluster-trace-gpu-v2023, CSV or gzip of it.

    Parameters
    ----------
    path : str or Path
    nodes : str or Path, optional
        The list of nodes; by default openb_node_list_gpu_node.csv beside the list of pods, where
        there is one.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        One node per pod, and on it `cores`, `memory` (GB), `gpus`, `gpu_share` of each and
        `gpu_models`. `job_id` is the number in the pod's name, `queue` its quality of service. A
        list without times has all pods at 0 s, with run time 0. `machine` has the nodes of the
        list of nodes, in the order of their names.

    Raises
    ------
    FileNotFoundError
    TraceError
        If it is damaged; names the columns that are missing, or the line, its value and
        what was expected.

    Examples
    --------
    >>> import cosimlib as cs
    >>> pods = cs.read_openb("alibaba/openb_pod_list.csv", verbose=False)
    >>> pods.jobs[["cores", "gpus", "gpu_share"]].head(2)
       cores  gpus  gpu_share
    0   12.0     1       1.00
    1    6.0     1       0.46
    """
    path, account = Path(path), Account()
    texts = read_csv(path, read_bytes(path), (*POD_NUMBERS, *POD_LABELS), needed=POD_NEEDED,
                     format_name=PODS_FORMAT)  # fmt: skip
    table = pd.DataFrame(
        {column: texts.numbers(column, below=2.0**31) for column in POD_NUMBERS}
        | {column: texts.labels(column) for column in POD_LABELS}
    )
    count = len(table)
    table = account.drop(table, _pod_rules(table))
    place = path.with_name(OPENB_NODES) if nodes is None else Path(nodes)
    machine = None if nodes is None and not place.is_file() else _openb_machine(place)
    return assemble(
        _pods(table, account), name or base_name(path), machine, account, path=path, records=count,
        verbose=verbose,
    )  # fmt: skip


def is_openb(beginning: bytes) -> bool:
    """Whether a heading names the columns of a list of pods."""
    first = beginning.lstrip().split(b"\n", 1)[0]
    return all(column.encode() in first.split(b",") for column in POD_NEEDED[:4])


def _pod_rules(table: pd.DataFrame) -> list[tuple[str, pd.Series]]:
    """Reasons why a row is not a pod."""
    gpus, share = table["num_gpu"], table["gpu_milli"]
    return [
        ("number of cores unknown, or none", ~(table["cpu_milli"] > 0)),
        ("number of GPUs unknown", ~((gpus >= 0) & (gpus % 1 == 0))),
        ("part of each GPU unknown, or none", (gpus > 0) & ~(share >= 1)),
    ]


def _pods(table: pd.DataFrame, account: Account) -> pd.DataFrame:
    """The columns of a workload from those of a list of pods."""
    zero = table["creation_time"].min() if table["creation_time"].notna().any() else 0.0
    waiting = table["scheduled_time"].isna() & table["creation_time"].notna()
    began = table["scheduled_time"].fillna(table["creation_time"])
    run_time = (table["deletion_time"] - began).clip(lower=0.0)
    account.add("noted", "never scheduled, run time from creation to deletion", int(waiting.sum()))
    account.add("noted", "times unknown, taken as 0", int(run_time.isna().sum()))
    number = table["name"].str.extract(r"([0-9]{1,15})$", expand=False)
    gpus = table["num_gpu"].astype("int64")
    return pd.DataFrame(
        {
            "submit_time": (table["creation_time"] - zero).fillna(0.0),
            "run_time": run_time.fillna(0.0),
            "requested_time": np.nan,
            "nodes": 1,
            "recorded_start": table["scheduled_time"] - zero,
            "job_id": pd.to_numeric(number).astype("Int64"),
            "queue": table["qos"],
            "status": table["pod_phase"].map(PHASES).astype("Int64"),
            "cores": table["cpu_milli"] / 1000,
            "memory": table["memory_mib"] * MEBIBYTE,
            "gpus": gpus,
            "gpu_share": (table["gpu_milli"].clip(upper=1000) / 1000).where(gpus > 0, 1.0),
            "gpu_models": table["gpu_spec"].where(gpus > 0),
        }
    )


def _openb_machine(place: Path) -> System:
    """The nodes of a list, in the order of their names."""
    texts = read_csv(place, read_bytes(place), NODE_COLUMNS, needed=NODE_COLUMNS,
                     format_name=OPENB_NODES_FORMAT)  # fmt: skip
    cores, memory, gpus = (
        texts.numbers(column, below=2.0**31) for column in ("cpu_milli", "memory_mib", "gpu")
    )
    table = pd.DataFrame(
        {
            "name": texts.labels("sn"),
            "cores": cores / 1000,
            "memory": memory * MEBIBYTE,
            "gpus": gpus.astype("int64"),
            "model": texts.labels("model").fillna(""),
        }
    ).sort_values("name")
    return System.of_types([NodeType(**row) for row in table.to_dict("records")], "Alibaba 2023")
