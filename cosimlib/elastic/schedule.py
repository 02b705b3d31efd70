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
    """A schedule in which jobs may be killed and run again; times are first start and last end.

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


def attempt_table(rows: list[tuple]) -> pd.DataFrame:
    """`ElasticSchedule.attempts` from rows of job, start, end, whether completed."""
    table = pd.DataFrame(rows, columns=["job", "start_time", "end_time", "completed"])
    return table.astype({"job": "int64", "start_time": "float64", "end_time": "float64",
                         "completed": "bool"})  # fmt: skip


def holding_table(rows: list[tuple[int, int, int]]) -> pd.DataFrame:
    """`ElasticSchedule.holdings` from rows of attempt, node, the node's former row."""
    table = pd.DataFrame(rows, columns=["attempt", "node", "former"], dtype="int64")
    return table[["attempt", "node"]]


def preemption_table(requests: np.ndarray, granted: list[int]) -> pd.DataFrame:
    """`ElasticSchedule.preemptions` from rows of time, nodes, duration."""
    table = pd.DataFrame(requests, columns=["time", "nodes", "duration"])
    return table.assign(granted=granted).astype({"nodes": "int64", "granted": "int64"})


def ownership_table(moves: list[tuple[float, int, int]], names: list[str]) -> pd.DataFrame:
    """`ElasticSchedule.ownership` from moves in order of time: time, node, number of the owner."""
    table = pd.DataFrame(moves, columns=["start_time", "node", "owner"])
    labels = np.array([*names, USER, HOST], dtype=object)
    table["owner"] = labels[table["owner"].to_numpy(dtype=np.int64)]
    table = table.sort_values("node", kind="stable", ignore_index=True)
    table["end_time"] = table.groupby("node")["start_time"].shift(-1).fillna(np.inf)
    lasted = table["end_time"] > table["start_time"]
    return table.loc[lasted, ["node", "owner", "start_time", "end_time"]].reset_index(drop=True)


def reclaim_table(rows: list[tuple], names: list[str]) -> pd.DataFrame:
    """`ElasticSchedule.reclaims`, with the notices counted."""
    columns = ["node", "partition", "notified", "released", "request", "killed"]
    table = pd.DataFrame(rows, columns=columns).astype(
        {"node": "int64", "notified": "float64", "released": "float64", "request": "int64",
         "killed": "int64"}
    )  # fmt: skip
    labels = np.array(names, dtype=object)
    table["partition"] = labels[table["partition"].to_numpy(dtype=np.int64)]
    # At once, and each minute while the node is still there: one notice by 60 s, two by 61 s.
    waited = (table["released"] - table["notified"]).to_numpy()
    notices = np.maximum(np.ceil(waited / NOTICE_INTERVAL), 1).astype("int64")
    return table.assign(notices=notices)
