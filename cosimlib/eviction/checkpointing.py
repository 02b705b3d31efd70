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
from cosimlib.schedule import Schedule, check_rigid, check_schedule
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


def daly_interval(
    workload: Workload, system: System, *, node_mtbf: float, seed: int = 0
) -> np.ndarray:
    """Daly's interval between application checkpoints per job, for fault tolerance alone, seconds.

    With a checkpoint that takes `delta` and a mean time `m` between failures of the job's nodes it
    is ``sqrt(2 delta m) (1 + sqrt(delta / 2m) / 3 + delta / 18m) - delta``, and `m` where `delta`
    is ``2 m`` or more.

    Parameters
    ----------
    workload : Workload
    system : System
    node_mtbf : float
        Mean time between failures of one node, seconds; that of a job is this ÷ its nodes.
    seed : int, default 0
        Of the memory drawn per job, as in `draw_memory`.

    References
    ----------
    J. Daly: A higher order estimate of the optimum checkpoint interval for restart dumps. Future
    Generation Computer Systems 22 (2006), equation 37.
    """
    check.seconds("node_mtbf", node_mtbf, above=0)
    nodes = workload.jobs["nodes"].to_numpy(dtype=np.float64)
    critical = draw_memory(workload, system, seed=seed)["critical"].to_numpy()
    delta, mtbf = checkpoint_time(nodes, critical, system), node_mtbf / nodes
    small = delta / (2 * mtbf)
    estimate = np.sqrt(2 * delta * mtbf) * (1 + np.sqrt(small) / 3 + small / 9) - delta
    return np.where(small < 1, estimate, mtbf)


def running_jobs_at(
    schedule: Schedule,
    at: float,
    *,
    system: System,
    interval: float | np.ndarray,
    seed: int = 0,
    memory: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The jobs that run at `at`, as the table of an eviction problem.

    Parameters
    ----------
    schedule : Schedule
    at : float
        Seconds of the schedule's clock.
    system : System
        With memory and bandwidths.
    interval : float or np.ndarray
        Seconds between application checkpoints, of all jobs or one per job of the workload.
    seed : int, default 0
    memory : pd.DataFrame, optional
        What `draw_memory` gives for the system and the seed, to draw it once for many moments.

    Returns
    -------
    pd.DataFrame
        Indexed by job: `nodes`, `loss` (node-hours), `app_time`, `sys_time`, `app_wait` (seconds),
        and for information `elapsed`, `since_checkpoint` (seconds) and, where known, `job_id`.
    """
    check_schedule(schedule)
    check.number("at", at, kind="seconds of the schedule's clock")
    check_rigid(schedule, "an eviction")
    intervals = _intervals(schedule.workload, interval)
    running = (schedule.start_time <= at) & (at < schedule.end_time)
    if not running.any():
        raise ValueError(
            f"{schedule.name}: no job runs at={at:g}; the schedule runs from "
            f"{schedule.start_time.min():g} to {schedule.end_time.max():g} s"
        )
    job = np.flatnonzero(running)
    jobs = schedule.workload.jobs
    nodes = jobs["nodes"].to_numpy()[job]
    if memory is None:
        memory = draw_memory(schedule.workload, system, seed=seed)
    allocated, critical = (memory[name].to_numpy()[job] for name in ("allocated", "critical"))
    elapsed = at - schedule.start_time[job]
    since_checkpoint = elapsed % intervals[job]
    to_checkpoint = intervals[job] - since_checkpoint
    columns = {
        "nodes": nodes,
        "loss": nodes * since_checkpoint / HOUR,
        "app_time": to_checkpoint + checkpoint_time(nodes, critical, system),
        "sys_time": checkpoint_time(nodes, allocated, system),
        "app_wait": to_checkpoint,
        "elapsed": elapsed,
        "since_checkpoint": since_checkpoint,
    }
    if "job_id" in jobs:
        columns["job_id"] = jobs["job_id"].array[job]
    return pd.DataFrame(columns, index=pd.Index(job, name="job"))


def _intervals(workload: Workload, interval: float | np.ndarray) -> np.ndarray:
    """Seconds between application checkpoints per job, checked."""
    if np.ndim(interval) == 0:
        check.seconds("interval", interval, above=0)
        return np.full(len(workload), float(interval))
    given = np.asarray(interval, dtype=np.float64)
    if given.shape != (len(workload),):
        raise ValueError(
            f"{workload.name}: interval has shape {given.shape}; expected a number of seconds or "
            f"one for each of {len(workload)} jobs"
        )
    fine = (given > 0) & np.isfinite(given)
    check.rows("interval", given, fine, "seconds above 0", row=workload.label)
    return given
