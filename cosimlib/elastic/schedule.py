"""Elastic schedules: runs of jobs, owners of nodes, reclaims and preemptions, as tables."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from cosimlib.schedule import Schedule, allocation_table

HOST, USER = "host", "user"
"""How tables call the owners of nodes that no partition has."""
NOTICE_INTERVAL = 60.0
"""Seconds between two calls of NotifyDeletePending."""


@dataclass(frozen=True, eq=False, repr=False)
class ElasticSchedule(Schedule):
    """Schedule in which jobs may be killed and run again; times are first start and last end.

    Parameters
    ----------
    attempts : pd.DataFrame
        One row per run of a job, in order: `job`, `start_time`, `end_time` (s), `completed`.
    holdings : pd.DataFrame
        One row per run and node: `attempt`, `node`.
    ownership : pd.DataFrame
        One row per node and stretch of time with one owner: `node`, `owner` (a partition, `host` or
        `user`), `start_time`, `end_time` (inf for the last).
    reclaims : pd.DataFrame
        One row per node that the host wanted back: `node`, `partition`, `notified`, `released` (s),
        `request` (row of the preemption for which it was, or -1 for another partition), `killed`
        (job, or -1), and `notices`: how often NotifyDeletePending was called, at once and each
        minute until the node left.
    preemptions : pd.DataFrame
        One row per preemption that users asked for: `time`, `nodes`, `duration` (s), and `granted`:
        how many nodes it got, at once or within the grace period. The others lapsed.
    grace_period, staleness : float
        Seconds.
    spare : int
        Nodes that were the host's own at the beginning; they have the highest numbers.
    """

    rigid: ClassVar[bool] = False
    attempts: pd.DataFrame
    holdings: pd.DataFrame
    ownership: pd.DataFrame
    reclaims: pd.DataFrame
    preemptions: pd.DataFrame
    grace_period: float
    staleness: float
    spare: int

    @property
    def total_nodes(self) -> int:
        """Nodes that the allocations may hold together: the partitions' and the host's."""
        return self.system.total_nodes + self.spare

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Nodes held over time: every run of a job, of use `run` or `killed`."""
        runs = self.attempts
        nodes = self.workload.jobs["nodes"].to_numpy()[runs["job"]]
        use = np.where(runs["completed"], "run", "killed")
        return allocation_table(runs["job"], runs["start_time"], runs["end_time"], nodes, use)

    @cached_property
    def wasted_node_seconds(self) -> float:
        """Wasted cycles: node-seconds that killed runs held."""
        killed = self.allocations[self.allocations["use"] == "killed"]
        return float((killed["nodes"] * (killed["end"] - killed["start"])).sum())

    @property
    def kills(self) -> int:
        """Number of runs that were killed."""
        return int((~self.attempts["completed"]).sum())

    @property
    def served(self) -> float:
        """Share of the nodes asked for by users that they got; 1 without preemptions."""
        nodes = int(self.preemptions["nodes"].sum())
        return int(self.preemptions["granted"].sum()) / nodes if nodes else 1.0


def preemption_table(requests: np.recarray) -> pd.DataFrame:
    """`ElasticSchedule.preemptions` from records of preemptions."""
    return pd.DataFrame(
        {name: requests[name].copy() for name in ("time", "nodes", "duration", "granted")}
    )


def ownership_table(log: np.ndarray, names: list[str]) -> pd.DataFrame:
    """`ElasticSchedule.ownership` of transfers in order of time: time, node, owner."""
    start_time, node, owner = log[:, np.argsort(log[1], kind="stable")]
    last = np.append(node[1:] != node[:-1], True)
    end_time = np.where(last, np.inf, np.append(start_time[1:], np.inf))
    lasted = end_time > start_time
    labels = np.array([*names, USER, HOST], dtype=object)
    columns = {"node": node[lasted].astype(np.int64), "owner": labels[owner[lasted].astype(int)]}
    times = {"start_time": start_time[lasted], "end_time": end_time[lasted]}
    return pd.DataFrame({**columns, **times})


def reclaim_table(log: np.ndarray, names: list[str]) -> pd.DataFrame:
    """`ElasticSchedule.reclaims`, with the notices counted."""
    node, partition, notified, released, request, killed = log
    # At once, and each minute while the node is still there: one notice by 60 s, two by 61 s.
    notices = np.maximum(np.ceil((released - notified) / NOTICE_INTERVAL), 1)
    labels = np.array(names, dtype=object)
    columns = {"node": node.astype(np.int64), "partition": labels[partition.astype(int)]}
    columns |= {"notified": notified, "released": released}
    whole = {"request": request, "killed": killed, "notices": notices}
    return pd.DataFrame({**columns, **{n: each.astype(np.int64) for n, each in whole.items()}})
