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
from cosimlib.traces.account import Account, assemble, parses
from cosimlib.traces.hosts import GIGABYTES
from cosimlib.traces.texts import read_kinds
from cosimlib.workload import Workload

TYPES = {"hp": "HP", "spot": "Spot"}
JOBS = {
    **dict.fromkeys(("submit_time", "duration", "worker_num", "gpu_request"), "numbers"),
    **dict.fromkeys(("job_name", "organization", "gpu_model", "job_type"), "labels"),
}
"""Columns that are read, and their kinds (see `texts`)."""
JOBS_NEEDED = ("submit_time", "duration", "worker_num", "job_type", "gpu_request")
NODES = "node_info_df.csv"
PODS = {
    **dict.fromkeys(
        (
            "cpu_milli",
            "memory_mib",
            "num_gpu",
            "gpu_milli",
            "creation_time",
            "deletion_time",
            "scheduled_time",
        ),
        "numbers",
    ),
    **dict.fromkeys(("name", "gpu_spec", "qos", "pod_phase"), "labels"),
}
PODS_NEEDED = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
OPENB_NODES = "openb_node_list_gpu_node.csv"
OPENB = {
    "sn": "labels",
    "cpu_milli": "numbers",
    "memory_mib": "numbers",
    "gpu": "numbers",
    "model": "labels",
}
MOST = 2.0**31
"""Above it, a number is damaged: cores, MiB, GPUs, seconds."""
PHASES = {"Succeeded": 1, "Failed": 0}


@parses("Alibaba's table of jobs")
def read_alibaba(
    path: str | Path,
    *,
    gpu_model: str | None = None,
    nodes: str | Path | None = None,
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """Workload of Alibaba's table of high-priority and spot GPU jobs, CSV or gzip of it.

    Parameters
    ----------
    path : str or Path
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
        A node is a GPU: those that an instance asks for times the instances, rounded up.
        `submit_time` counts from the first job's; `queue` is ``"HP"`` or ``"Spot"``, `group` the
        organization; `gpu_model` and `workers` are kept beside them. `machine` has all GPUs of
        the table of nodes, and is unknown without one.

    Raises
    ------
    FileNotFoundError
    TraceError
        If it is damaged; names the columns that are missing, or the line, its value and
        what was expected.

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.traces.read_alibaba("alibaba/job_info_df.csv", verbose=False)
    >>> workload.jobs[["submit_time", "nodes", "queue"]].head(3)
       submit_time  nodes queue
    0          0.0      1    HP
    1          0.0      1    HP
    2        120.0      2    HP
    """
    path, account = Path(path), Account()
    table = read_kinds(
        path,
        JOBS,
        needed=JOBS_NEEDED,
        format_name="a table of jobs such as Alibaba's job_info_df.csv",
        below=2.0**52,
    )
    table = table.assign(gpus=np.ceil(table["gpu_request"] * table["worker_num"]))
    table = account.drop(table, _drop_rules(table))
    if gpu_model is not None:
        check.choice("gpu_model", gpu_model, sorted(table["gpu_model"].dropna().unique()))
        other = (table["gpu_model"] != gpu_model).fillna(True)
        table = account.drop(table, [(f"asks for other GPUs than {gpu_model}", other)])
    place = _beside(path, nodes, NODES)
    machine = None if place is None else _machine(place, gpu_model)
    return assemble(_jobs(table, account), name, machine, account, path=path, verbose=verbose)


def _beside(path: Path, nodes: str | Path | None, file_name: str) -> Path | None:
    """The table of nodes: the one that is given, or else one beside the log; None without."""
    place = path.with_name(file_name)
    return Path(nodes) if nodes is not None else place if place.is_file() else None


def _drop_rules(table: pd.DataFrame) -> list[tuple[str, pd.Series]]:
    """Reasons why a row is not a job."""
    gpus = table["gpus"]
    return [
        ("time of submission unknown", table["submit_time"].isna()),
        ("run time unknown", ~(table["duration"] >= 0)),
        ("number of instances unknown, or none", ~(table["worker_num"] >= 1)),
        ("number of gpus unknown, or none", ~((gpus >= 1) & (gpus < 2.0**52))),
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
            "nodes": table["gpus"].astype("int64"),
            "job_id": number.astype("Int64"),
            "group": table["organization"],
            "queue": kind.fillna(table["job_type"]),
            "gpu_model": table["gpu_model"],
            "workers": table["worker_num"],
        }
    )


def _machine(place: Path, gpu_model: str | None) -> System | None:
    """One partition of all GPUs of the table of nodes."""
    kinds = {"gpu_model": "labels", "gpu_capacity_num": "numbers"}
    format_name = f"a table of nodes such as Alibaba's {NODES}"
    table = read_kinds(place, kinds, needed=kinds, format_name=format_name, below=MOST)
    if gpu_model is not None:
        table = table[(table["gpu_model"] == gpu_model).fillna(False)]
    total = int(table["gpu_capacity_num"].clip(lower=0).sum())
    label = "Alibaba" if gpu_model is None else f"Alibaba, {gpu_model}"
    return System(f"{label} (gpus)", {"main": total}) if total else None


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
    >>> pods = cs.traces.read_openb("alibaba/openb_pod_list.csv", verbose=False)
    >>> pods.jobs[["cores", "gpus", "gpu_share"]].head(2)
       cores  gpus  gpu_share
    0   12.0     1       1.00
    1    6.0     1       0.46
    """
    path, account = Path(path), Account()
    format_name = "a list of pods such as Alibaba's openb_pod_list_default.csv"
    table = read_kinds(path, PODS, needed=PODS_NEEDED, format_name=format_name, below=MOST)
    table = account.drop(table, _pod_rules(table))
    place = _beside(path, nodes, OPENB_NODES)
    machine = None if place is None else _openb_machine(place)
    return assemble(_pods(table, account), name, machine, account, path=path, verbose=verbose)


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
            "nodes": 1,
            "recorded_start": table["scheduled_time"] - zero,
            "job_id": pd.to_numeric(number).astype("Int64"),
            "queue": table["qos"],
            "status": table["pod_phase"].map(PHASES).astype("Int64"),
            "cores": table["cpu_milli"] / 1000,
            "memory": table["memory_mib"] * GIGABYTES["M"],
            "gpus": gpus,
            "gpu_share": (table["gpu_milli"].clip(upper=1000) / 1000).where(gpus > 0, 1.0),
            "gpu_models": table["gpu_spec"].where(gpus > 0),
        }
    )


def _openb_machine(place: Path) -> System:
    """The nodes of a list, in the order of their names."""
    format_name = f"a list of nodes such as Alibaba's {OPENB_NODES}"
    table = read_kinds(place, OPENB, needed=OPENB, format_name=format_name, below=MOST)
    table = table.assign(
        gpu=table["gpu"].astype("int64"),
        model=table["model"].fillna(""),
        memory=table["memory_mib"] * GIGABYTES["M"],
    )
    nodes = [
        NodeType(1, row.cpu_milli / 1000, row.memory, row.gpu, row.model, row.sn)
        for row in table.sort_values("sn").itertuples()
    ]
    return System.of_types(nodes, "Alibaba 2023")
