"""Audit of a Slurm schedule: what no cluster could have done.

Jobs that start do so once they may, on as many different nodes of their partition as they ask for.
At no instant do jobs, those that were preempted included, take more cores, memory or GPUs of a node
than it has; a job on whole nodes has them alone.
"""

import numpy as np
import pandas as pd

from cosimlib.audit import audit_rule, check_columns, demand, demand_of_jobs
from cosimlib.slurm.jobs import gpus_of, jobs_of
from cosimlib.slurm.schedule import SlurmSchedule

ROUNDING = 1e-6


@audit_rule.register
def _(schedule: SlurmSchedule) -> None:
    """Jobs run when and where they may, and nodes have what jobs take of them."""
    check_columns(schedule)
    jobs = jobs_of(schedule.workload, schedule.site, {})
    _check_times(schedule, jobs.table)
    places = _places(schedule)
    _check_nodes(schedule, places)
    request = jobs.requests[jobs.table.request[places["job"]]]
    _check_resources(schedule, places, request)


def _check_times(schedule: SlurmSchedule, table: np.recarray) -> None:
    """Raise if a job starts early, or runs for longer than it could."""
    start_time, end_time = schedule.start_time, schedule.end_time
    runs = ~np.isnan(start_time)
    fine = ~runs | (start_time >= table.eligible_time)
    message = "starts at t={:.15g}; it may not before t={:.15g}"
    demand_of_jobs(schedule, fine, message, start_time, table.eligible_time)
    longest = start_time + table.run_time
    fine = ~runs | ((end_time >= start_time) & (end_time <= longest + ROUNDING))
    message = "starts at t={:.15g} and ends at t={:.15g}; it runs {:.15g} s at most"
    demand_of_jobs(schedule, fine, message, start_time, end_time, table.run_time)


def _places(schedule: SlurmSchedule) -> pd.DataFrame:
    """One row per run and node: `job`, `node`, `start`, `end`, and the number of the `run`."""
    last = schedule.places.assign(run=lambda table: table["job"])
    stopped = schedule.preempted.reset_index(drop=True)
    stopped = stopped.assign(run=len(schedule.workload) + np.arange(len(stopped)))
    earlier = stopped.explode("nodes").rename(columns={"nodes": "node"})[last.columns]
    # A job that was cancelled is in both.
    table = pd.concat([last, earlier.astype({"node": np.int64})], ignore_index=True)
    return table.drop_duplicates(["job", "node", "start"]).reset_index(drop=True)


def _check_nodes(schedule: SlurmSchedule, places: pd.DataFrame) -> None:
    """Raise if a run has other than as many different nodes of its partition as it asks for."""
    jobs, site = schedule.workload.jobs, schedule.site
    counted = places.groupby("run").agg(job=("job", "first"), nodes=("node", "nunique"))
    wanted = jobs["nodes"].to_numpy()[counted["job"]]
    fine = counted["nodes"].to_numpy() == wanted
    message = "is on {} different nodes; it asks for {}"
    demand_of_jobs(schedule, fine, message, counted["nodes"], wanted, job=counted["job"])
    if "partition" not in jobs or places.empty:
        return
    named = jobs["partition"].astype("string").str.split(",").str[0].to_numpy()[places["job"]]
    members = {name: set(one.nodes) for name, one in site.partitions.items()}
    node = places["node"].to_numpy()
    fine = [
        pd.isna(name) or name not in members or one in members[name]
        for name, one in zip(named, node, strict=True)
    ]
    message = "is on node {}, which is not of partition {}"
    demand_of_jobs(schedule, fine, message, node, named, job=places["job"])


def _check_resources(schedule: SlurmSchedule, places: pd.DataFrame, request: np.recarray) -> None:
    """Raise if jobs ever take more of a node than it has, or share one that a job has alone."""
    have = pd.DataFrame(
        [(one.cores, one.memory, gpus_of(one.gres)) for one in schedule.site.nodes],
        columns=["cores", "memory", "GPUs"],
        dtype=np.float64,
    )
    own = have.iloc[places["node"]]
    whole = request.is_whole == 1
    taken = pd.DataFrame(
        {
            "cores": np.where(whole, own["cores"], request.cores),
            "memory": np.where(request.all_memory == 1, own["memory"], request.memory),
            "GPUs": request.gpus,
            "whole nodes": whole.astype(float),
            "jobs": 1.0,
        }
    )
    node = places["node"].to_numpy()
    times = np.concatenate([places["end"], places["start"]])
    signs = np.concatenate([np.full(len(places), -1.0), np.ones(len(places))])
    both = np.concatenate([node, node])
    order = np.lexsort((signs, times, both))
    changes = pd.concat([taken, taken], ignore_index=True).iloc[order]
    changes = changes.mul(signs[order], axis=0)
    held = changes.groupby(both[order]).cumsum()
    where, when = both[order], times[order]
    for name in ("cores", "memory", "GPUs"):
        has = have[name].to_numpy()[where]
        fine = held[name].to_numpy() <= has + ROUNDING
        message = f"{{:.15g}} {name} of node {{}} are taken at t={{:.15g}}; it has {{:.15g}}"
        demand(schedule, fine, message, held[name].to_numpy(), where, when, has)
    alone = (held["whole nodes"].to_numpy() < 0.5) | (held["jobs"].to_numpy() < 1.5)
    message = "a job that has node {} alone shares it at t={:.15g}"
    demand(schedule, alone, message, where, when)
