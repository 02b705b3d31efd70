"""Whether nodes left when they had to, and whether jobs were killed for that and nothing else.

A node that was wanted back takes no new job. If it was idle it left at once, else when the run on
it ended. That run completed before the grace period was over, or it was killed at the end of the
grace period of one of its nodes: a job may have several, and the first of them to be withdrawn
takes the others along.
"""

import numpy as np
import pandas as pd

from cosimlib.preemption.auditing.demanding import demand, demand_apart
from cosimlib.schedulers.elastic import ElasticSchedule
from cosimlib.units import MINUTE


def check_reclaims(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a node that left too late, too early, or with a wrong record."""
    reclaims = schedule.reclaims
    known = reclaims["partition"].isin(list(schedule.system.partitions))
    demand(schedule, known, reclaims["partition"], "nodes are wanted back from {}, which is none")
    latest = reclaims["notified"] + schedule.grace_period
    fine = reclaims["released"].between(reclaims["notified"], latest)
    demand(schedule, fine, reclaims["node"], "node {} left after the grace period, or never")
    waited = reclaims["released"] - reclaims["notified"]
    due = np.maximum(1, np.ceil(waited / MINUTE))
    demand(schedule, reclaims["notices"] == due, reclaims["node"],
           "node {} had another number of notices than one at once and one a minute")  # fmt: skip
    renamed = {"notified": "start_time", "released": "end_time"}
    demand_apart(schedule, reclaims.rename(columns=renamed), "node {} was wanted back twice")
    _check_departures(schedule, runs)
    _check_owners(schedule)


def check_kills(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a kill without a reclaim that is due, and for a reclaim that tells of no kill."""
    killed = runs.loc[~runs["completed"], ["attempt", "node", "job", "end_time"]]
    told = schedule.reclaims.loc[schedule.reclaims["killed"] >= 0]
    keys = {"left_on": ["node", "killed", "released"], "right_on": ["node", "job", "end_time"]}
    both = told.merge(killed, how="left", **keys)
    demand(schedule, both["attempt"].notna(), both["killed"],
           "job {} was not killed when a reclaim says so")  # fmt: skip
    due = both["released"] == both["notified"] + schedule.grace_period
    attempts = schedule.attempts.reset_index(drop=True)
    lost = attempts.index[~attempts["completed"]]
    demand(schedule, lost.isin(both.loc[due, "attempt"]), attempts["job"][lost],
           "job {} was killed without a node whose grace period was over")  # fmt: skip


def _check_departures(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise where a node that did not leave at once left for another reason than its run's end."""
    reclaims = schedule.reclaims
    waited = reclaims[reclaims["released"] > reclaims["notified"]].sort_values("notified")
    lasting = runs[runs["end_time"] > runs["start_time"]].sort_values("start_time")
    both = pd.merge_asof(waited, lasting, left_on="notified", right_on="start_time", by="node")
    demand(schedule, both["end_time"] == both["released"], both["node"],
           "node {} left at another time than the run on it ended")  # fmt: skip
    done = both["completed"].astype(bool)
    fine = both["killed"] == both["job"].where(~done, -1)
    demand(schedule, fine, both["node"], "node {} left with a run whose fate was another")
    due = both["released"] == both["notified"] + schedule.grace_period
    demand(schedule, ~(done & due), both["job"],
           "job {} completed on a node whose grace period was over")  # fmt: skip


def _check_owners(schedule: ElasticSchedule) -> None:
    """Raise where ownership does not change with a release, from the partition that had it."""
    reclaims, owned = schedule.reclaims, schedule.ownership
    after = reclaims.merge(owned, how="left", left_on=["node", "released"],
                           right_on=["node", "start_time"])  # fmt: skip
    demand(schedule, after["owner"].notna(), after["node"], "node {} was released and stayed")
    waited = reclaims[reclaims["released"] > reclaims["notified"]]
    before = waited.merge(owned, how="left", left_on=["node", "released"],
                          right_on=["node", "end_time"])  # fmt: skip
    fine = (before["owner"] == before["partition"]) & (before["start_time"] <= before["notified"])
    demand(schedule, fine, before["node"], "node {} was wanted back from who did not have it")
