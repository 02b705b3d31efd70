"""A trace as the paper takes it: jobs that fit the partition, all submitted at once."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from cosimlib.preemption.states import HOUR
from cosimlib.workload import Workload


def as_batch(
    workload: Workload,
    *,
    max_nodes: int = 20,
    max_run_time: float = 24 * HOUR,
    jobs: int | None = None,
    request_factor: float = 1.0,
) -> Workload:
    """The jobs that the paper would select, in their order, all submitted at time 0.

    Parameters
    ----------
    workload : Workload
    max_nodes : int, default 20
    max_run_time : float, default 24 h
        Seconds; jobs of no run time are left out too, and so are those known not to have completed.
    jobs : int, optional
        Only so many of the jobs selected, the first ones.
    request_factor : float, default 1.0
        Requested times are run times × this.
    """
    kept = workload.keep(workload.jobs["nodes"] <= max_nodes, f"more than {max_nodes} nodes")
    run_time = kept.jobs["run_time"]
    kept = kept.keep((run_time > 0) & (run_time <= max_run_time), "run time 0 or too long")
    kept = kept.keep((kept.column("status").fillna(1) == 1).to_numpy(bool), "not completed")
    if jobs is not None:
        kept = kept.keep(kept.jobs.index < jobs, f"after the first {jobs}")
    requested = kept.jobs["run_time"] * request_factor
    return replace(kept, jobs=kept.jobs.assign(submit_time=0.0, requested_time=requested))


def describe(workloads: Mapping[str, Workload]) -> pd.DataFrame:
    """The paper's Table 1 of some workloads, one row each.

    Returns
    -------
    pd.DataFrame
        `workload`, `jobs`, `node-hours`; mean, minimum, quartiles and maximum of run times (s)
        and of node counts.
    """
    rows = []
    for name, workload in workloads.items():
        jobs = workload.jobs
        row = {"workload": name, "jobs": len(jobs)}
        row["node-hours"] = round(float(jobs["nodes"] @ jobs["run_time"]) / HOUR, 2)
        for label, column in (("run", "run_time"), ("nodes", "nodes")):
            values = jobs[column].describe().drop(["count", "std"]).round(2)
            row |= {f"{label} {statistic}": value for statistic, value in values.items()}
        rows.append(row)
    return pd.DataFrame(rows)
