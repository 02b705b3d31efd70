"""Batch jobs and bursts in one table, with their checkpoints, and as arrays for the loop."""

from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.ondemand.checkpoints import checkpoint_table
from cosimlib.ondemand.state import JOB
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload

LONGEST_DELAY = 900.0
"""Of bursts that tell none: the paper's latest deadline, seconds."""


def checkpoints_of(
    workload: Workload,
    system: System,
    needed: bool,
    interval: float | str | None,
    node_mtbf: float,
    seed: int,
) -> pd.DataFrame:
    """The checkpoints of batch jobs; without any where no policy asks for one."""
    if needed and len(workload):
        return checkpoint_table(workload, system, interval=interval, node_mtbf=node_mtbf, seed=seed)
    none = {"interval": np.inf, "app_write": 0.0, "sys_write": 0.0}
    return pd.DataFrame(none, index=workload.jobs.index, dtype=np.float64)


def join(
    workload: Workload, bursts: Workload | None, system: System
) -> tuple[Workload, np.ndarray]:
    """Batch jobs and bursts in one workload, and the rows of the batch jobs in it."""
    batch = workload.jobs.drop(columns="mate", errors="ignore").assign(on_demand=False)
    if bursts is None or not len(bursts):
        return replace(workload, jobs=batch), np.arange(len(batch))
    extra = _burst_table(bursts, system)
    table = pd.concat([batch, extra], ignore_index=True)
    order = np.argsort(table["submit_time"].to_numpy(), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    joined = replace(workload, jobs=table.iloc[order], name=f"{workload.name} + {bursts.name}")
    return joined, place[: len(batch)]


def _burst_table(bursts: Workload, system: System) -> pd.DataFrame:
    """The bursts' jobs with all their columns filled in, and checked."""
    bursts.arrays(system, requested_time=False)
    jobs = bursts.jobs.drop(columns="mate", errors="ignore")
    submit = jobs["submit_time"]
    delay = (
        jobs["longest_delay"] if "longest_delay" in jobs else pd.Series(LONGEST_DELAY, jobs.index)
    )
    notice, expected = (
        jobs[name].astype("float64") if name in jobs else pd.Series(np.nan, jobs.index)
        for name in ("notice_time", "expected_time")
    )
    rules = (
        ("longest_delay", delay, (delay >= 0) & (delay < np.inf), "seconds from 0"),
        ("notice_time", notice, notice.isna() | ((notice >= 0) & (notice <= submit)),
         "seconds from 0 to its submit_time, or NaN for no notice"),
        ("expected_time", expected, expected.isna() | ((expected >= notice) & (expected < np.inf)),
         "seconds from its notice_time on, or NaN for no notice"),
    )  # fmt: skip
    for name, values, fine, text in rules:
        check.rows(name, values, fine, text, row=bursts.label, error=InvalidWorkloadError)
    requested = jobs["requested_time"].fillna(jobs["run_time"].clip(lower=1.0))
    return jobs.assign(
        on_demand=True,
        requested_time=requested,
        longest_delay=delay.astype("float64"),
        notice_time=notice,
        expected_time=expected.fillna(submit),
    )


def job_arrays(
    joined: Workload,
    system: System,
    checkpoints: pd.DataFrame,
    charged: str,
    notice: str,
    lead: float,
    least_nodes: np.ndarray,
) -> np.recarray:
    """The bridge to the kernels: one `JOB` per job."""
    arrays, jobs = joined.arrays(system), joined.jobs
    on_demand = np.array(jobs["on_demand"], dtype=np.bool_)

    def column(name: str) -> np.ndarray:
        values = jobs[name] if name in jobs else pd.Series(np.nan, jobs.index)
        return np.array(values, dtype=np.float64)

    told, expected = column("notice_time"), column("expected_time")
    call = np.full(len(jobs), np.inf)
    if notice != "ignore":
        call = np.maximum(told, expected - lead) if notice == "prepare" else told
        call = np.where(call < arrays.submit_time, call, np.inf)
    app_write = np.array(checkpoints["app_write"], dtype=np.float64)
    columns = [
        *arrays,
        on_demand,
        checkpoints["interval"],
        app_write if charged == "added" else np.zeros(len(jobs)),
        app_write,
        checkpoints["sys_write"],
        column("longest_delay"),
        call,
        expected,
        least_nodes,
    ]
    return np.rec.fromarrays(columns, dtype=JOB)


def draw_least_nodes(jobs: pd.DataFrame, malleable: float, least: float, seed: int) -> np.ndarray:
    """Nodes that each batch job may shrink to: all of them, but for a random share of the jobs.

    Each job is malleable with probability `malleable`, and needs `least` of its nodes, rounded up.
    """
    nodes = jobs["nodes"].to_numpy(dtype=np.int64)
    drawn = np.random.default_rng([seed, 1]).random(len(jobs)) < malleable
    return np.where(drawn, np.maximum(1, np.ceil(least * nodes)), nodes).astype(np.int64)
