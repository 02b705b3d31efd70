"""What happened to elastic partitions: every run of a job, every owner of a node, every reclaim."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib.schedule import Schedule

HOST, USER = "host", "user"
"""How tables call the owners of nodes that no partition has."""
NOTICE_INTERVAL = 60.0


@dataclass(frozen=True, eq=False)
class ElasticSchedule(Schedule):
    """A schedule in which jobs may be killed and run again; times are first start and last end.

    Parameters
    ----------
    attempts : pd.DataFrame
        One row a run of a job, in order: `job`, `start_time`, `end_time` (s), `completed`.
    holdings : pd.DataFrame
        One row a node of a run: `attempt`, `node`.
    ownership : pd.DataFrame
        One row a stretch in which a node has one owner: `node`, `owner` (a partition, `host` or
        `user`), `start_time`, `end_time` (inf for the last).
    reclaims : pd.DataFrame
        One row a node that the host wanted back: `node`, `partition`, `notified`, `released` (s),
        `for_user` (or else for another partition), `killed` (job, or -1), and `notices`: how often
        NotifyDeletePending was called, at once and each minute until the node left.
    grace_period, staleness : float
        Seconds.
    """

    attempts: pd.DataFrame
    holdings: pd.DataFrame
    ownership: pd.DataFrame
    reclaims: pd.DataFrame
    grace_period: float
    staleness: float

    @cached_property
    def wasted_cycles(self) -> float:
        """Node-seconds that killed runs held."""
        attempts = self.attempts
        nodes = self.workload.jobs["nodes"].to_numpy()[attempts["job"]]
        held = nodes * (attempts["end_time"] - attempts["start_time"])
        return float(held[~attempts["completed"]].sum())

    @property
    def kills(self) -> int:
        """How often a job was killed."""
        return int((~self.attempts["completed"]).sum())


def ownership(moves: list[tuple[float, int, int]], names: list[str]) -> pd.DataFrame:
    """Who had each node from when to when, from the moves of nodes in order of time."""
    table = pd.DataFrame(moves, columns=["start_time", "node", "owner"])
    labels = np.array([*names, USER, HOST], dtype=object)
    table["owner"] = labels[table["owner"].to_numpy(dtype=np.int64)]
    table = table.sort_values("node", kind="stable", ignore_index=True)
    table["end_time"] = table.groupby("node")["start_time"].shift(-1).fillna(np.inf)
    lasted = table["end_time"] > table["start_time"]
    return table.loc[lasted, ["node", "owner", "start_time", "end_time"]].reset_index(drop=True)


def reclaimed(rows: list[tuple], names: list[str]) -> pd.DataFrame:
    """The reclaims as a table, with their notices counted."""
    columns = ["node", "partition", "notified", "released", "for_user", "killed"]
    table = pd.DataFrame(rows, columns=columns)
    labels = np.array(names, dtype=object)
    table["partition"] = labels[table["partition"].to_numpy(dtype=np.int64)]
    waited = table["released"] - table["notified"]
    notices = np.maximum(np.ceil(waited / NOTICE_INTERVAL), 1).astype("int64")
    return table.assign(for_user=table["for_user"].astype(bool), notices=notices)
