"""The schedule of a site: starts, ends and nodes of jobs, refused jobs, priorities."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.schedule import Schedule
from cosimlib.slurm.jobs import MEGABYTES, gpus_of
from cosimlib.slurm.preemption import not_followed
from cosimlib.slurm.site import NotModeled, Site
from cosimlib.system import NodeType, System
from cosimlib.workload import Workload


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SlurmSchedule(Schedule):
    """What Slurm did with the jobs of a workload.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`; NaN for jobs that never start. Those of a job that was preempted and
        requeued are of its last run.
    site : Site
    node : np.ndarray
        The nodes of each job, job after job, in its last run; −1 for jobs that never start.
    priority : np.ndarray
        Each job's priority when it began.
    restarts : np.ndarray
        How often each job was requeued.
    reason : np.ndarray
        Slurm's word for why a job was refused; empty for others.
    preempted : pd.DataFrame
        One row per run that was preempted: `job`, `start`, `end` (s), `preempted_by`, `requeued`
        (else the job was cancelled), and `nodes`, a tuple of numbers.
    """

    site: Site
    node: np.ndarray
    priority: np.ndarray
    restarts: np.ndarray
    reason: np.ndarray
    preempted: pd.DataFrame

    @classmethod
    def of(
        cls,
        workload: Workload,
        site: Site,
        jobs: np.recarray,
        places: np.recarray,
        reason: np.ndarray,
        stopped: np.ndarray,
        stopped_nodes: np.ndarray,
    ) -> "SlurmSchedule":
        """The schedule in the records of a simulation that has ended."""
        started = np.repeat(~np.isnan(jobs.start_time), jobs.nodes)
        return cls(
            workload=workload,
            system=system_of(site),
            policy="Slurm",
            start_time=np.array(jobs.start_time),
            end_time=np.array(jobs.end_time),
            site=site,
            node=np.where(started, places.node, -1),
            priority=np.where(np.isnan(jobs.start_time), np.nan, jobs.priority),
            restarts=np.array(jobs.restarts),
            reason=reason,
            preempted=_table_of(stopped, stopped_nodes, jobs.nodes),
        )

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """The workload's jobs with starts, ends, waits, `start_priority` and `restarts`."""
        table = Schedule.jobs.func(self)  # type: ignore[attr-defined]
        return table.assign(start_priority=self.priority, restarts=self.restarts)

    @property
    def not_modeled(self) -> tuple[NotModeled, ...]:
        """Settings of the site that the simulator did not follow."""
        return (*self.site.not_modeled, *not_followed(self.site))

    @cached_property
    def refused(self) -> pd.DataFrame:
        """Jobs that never start: `job` and `reason`, Slurm's word."""
        job = np.flatnonzero(np.isnan(self.start_time))
        reason = pd.Series(self.reason[job], dtype="str")
        return pd.DataFrame({"job": job, "reason": reason})

    @cached_property
    def places(self) -> pd.DataFrame:
        """One row per job and node of jobs that started: `job`, `node`, `start`, `end` (s)."""
        wanted = self.workload.jobs["nodes"].to_numpy()
        job = np.repeat(np.arange(wanted.size), wanted)
        table = pd.DataFrame(
            {
                "job": job,
                "node": self.node,
                "start": self.start_time[job],
                "end": self.end_time[job],
            }
        )
        return table[table["node"] >= 0].reset_index(drop=True)


def _table_of(stopped: np.ndarray, nodes: np.ndarray, wanted: np.ndarray) -> pd.DataFrame:
    """Runs that were preempted, with their nodes."""
    names = ["job", "start", "end", "preempted_by", "requeued"]
    table = pd.DataFrame({name: np.array(stopped[name]) for name in names})
    table["requeued"] = table["requeued"].astype(bool)
    table["nodes"] = [
        tuple(sorted(nodes[first : first + wanted[job]].tolist()))
        for first, job in zip(stopped["first"], stopped["job"], strict=True)
    ]
    return table


def system_of(site: Site) -> System:
    """The nodes of a site as a system of one partition."""
    types: list[NodeType] = []
    for one in site.nodes:
        memory, gpus = one.memory / MEGABYTES, gpus_of(one.gres)
        last = types[-1] if types else None
        if last and (last.cores, last.memory, last.gpus) == (one.cores, memory, gpus):
            types[-1] = NodeType(last.count + 1, one.cores, memory, gpus)
        else:
            types.append(NodeType(1, one.cores, memory, gpus))
    return System.of_types(types, site.name)
