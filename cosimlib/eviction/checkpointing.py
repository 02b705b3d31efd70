"""Checkpoint times and losses of running jobs (Maurya et al., DS-RT 2020, Sections III-B, IV-B).

A checkpoint of a job takes ``max(total size / B_a, largest node's size / B_c)``: B_a is the
aggregate bandwidth of the parallel file system, B_c what one node can write. A system-level
checkpoint holds all allocated memory and begins at once; an application-level one holds the
critical data and waits for the application's next scheduled checkpoint. Application checkpoints
come every `interval` from a job's start; a kill loses the node-hours since the last one.

Traces have no checkpoint sizes. As in the paper, allocated memory is uniform in 40–90 % of a
node's, critical data uniform in 20–60 % of that, drawn once per job; a workload's `memory` column,
where known, replaces the allocated memory drawn.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.schedule import Schedule, check_rigid
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

ALLOCATED_SHARE = (0.4, 0.9)
CRITICAL_SHARE = (0.2, 0.6)


def checkpoint_time(nodes: np.ndarray, size: np.ndarray, system: System) -> np.ndarray:
    """Checkpoint time in seconds: `size` GB from each of `nodes` nodes, the paper's Equation 1."""
    for quantity in ("aggregate_bandwidth", "node_bandwidth"):
        if not getattr(system, quantity) > 0:
            raise ValueError(
                f"{system.name}: {quantity} is unknown; give a System with it, in GB/s"
            )
    return np.maximum(nodes * size / system.aggregate_bandwidth, size / system.node_bandwidth)


def draw_memory(workload: Workload, system: System, *, seed: int = 0) -> pd.DataFrame:
    """Allocated memory and critical data per job, GB per node.

    Parameters
    ----------
    workload : Workload
        Its `memory` column, where known, is the allocated memory, cut at that of a node.
    system : System
        Its `memory_per_node` must be known.
    seed : int, default 0
    """
    if not system.memory_per_node > 0:
        raise ValueError(f"{system.name}: memory_per_node is unknown; give a System with it, in GB")
    random = np.random.default_rng(seed)
    allocated = system.memory_per_node * random.uniform(*ALLOCATED_SHARE, len(workload))
    share = random.uniform(*CRITICAL_SHARE, len(workload))
    known = workload.column("memory").clip(upper=system.memory_per_node).to_numpy()
    allocated = np.where(np.isnan(known), allocated, known)
    return pd.DataFrame({"allocated": allocated, "critical": allocated * share})


def running_jobs_at(
    schedule: Schedule, at: float, *, system: System, interval: float, seed: int
) -> pd.DataFrame:
    """The jobs that run at `at`, as the table of an eviction problem.

    Returns
    -------
    pd.DataFrame
        Indexed by job: `nodes`, `loss` (node-hours), `app_time`, `sys_time`, `app_wait` (seconds),
        and for information `elapsed`, `since_checkpoint` (seconds) and, where known, `job_id`.
    """
    check_rigid(schedule, "an eviction")
    check.seconds("interval", interval, above=0)
    running = (schedule.start_time <= at) & (at < schedule.end_time)
    if not running.any():
        raise ValueError(
            f"{schedule.name}: no job runs at={at:g}; the schedule runs from "
            f"{schedule.start_time.min():g} to {schedule.end_time.max():g} s"
        )
    nodes = schedule.workload.jobs["nodes"].to_numpy()[running]
    memory = draw_memory(schedule.workload, system, seed=seed)[running]
    elapsed = at - schedule.start_time[running]
    since_checkpoint = elapsed % interval
    to_checkpoint = interval - since_checkpoint
    app_time = to_checkpoint + checkpoint_time(nodes, memory["critical"].to_numpy(), system)
    columns = schedule.workload.jobs.columns.intersection(["job_id"])
    table = pd.DataFrame(
        {
            "nodes": nodes,
            "loss": nodes * since_checkpoint / HOUR,
            "app_time": app_time,
            "sys_time": checkpoint_time(nodes, memory["allocated"].to_numpy(), system),
            "app_wait": to_checkpoint,
            "elapsed": elapsed,
            "since_checkpoint": since_checkpoint,
        },
        index=pd.Index(np.flatnonzero(running), name="job"),
    )
    return table.join(schedule.workload.jobs[columns])
