"""Whether the host's users got what they were granted, when and for as long as they asked for it.

A user's nodes come from the host, at once, or from a partition, when the reclaim for that very
preemption is over. Each is kept for the preemption's duration. Who was granted less than asked for
must have found nothing else: every node was a user's or was wanted back already.
"""

import numpy as np
import pandas as pd

from cosimlib.preemption.auditing.demanding import demand
from cosimlib.schedulers.elastic import USER, ElasticSchedule


def check_users(schedule: ElasticSchedule) -> None:
    """Raise for a preemption that got too much, too little, or not what its records say."""
    asked, reclaims = schedule.preemptions.reset_index(drop=True), schedule.reclaims
    fine = asked["granted"].between(0, asked["nodes"])
    demand(schedule, fine, asked.index, "preemption {} was granted more nodes than it asked for")
    for_users = reclaims[reclaims["request"] >= 0]
    demand(schedule, for_users["request"].isin(asked.index), for_users["request"],
           "nodes were wanted back for preemption {}, which nobody asked for")  # fmt: skip
    times = asked["time"].to_numpy()[for_users["request"]]
    demand(schedule, for_users["notified"] == times, for_users["request"],
           "nodes were wanted back for preemption {} at another time than it came")  # fmt: skip
    _check_use(schedule, asked, for_users)
    _check_shortfalls(schedule, asked)


def _check_use(schedule: ElasticSchedule, asked: pd.DataFrame, for_users: pd.DataFrame) -> None:
    """Raise where users' stretches are not those that reclaims and preemptions make."""
    used = schedule.ownership[schedule.ownership["owner"] == USER]
    used = used.merge(for_users, how="outer", left_on=["node", "start_time"],
                      right_on=["node", "released"], suffixes=("", "_of_reclaim"))  # fmt: skip
    demand(schedule, used["owner"].notna(), used["node"], "node {} was released to no user")
    reclaimed = used[used["request"].notna()]
    duration = asked["duration"].to_numpy()[reclaimed["request"].astype(int)]
    demand(schedule, reclaimed["end_time"] == reclaimed["start_time"] + duration,
           reclaimed["node"], "a user kept node {} for another time than asked for")  # fmt: skip
    counts = for_users["request"].value_counts().reindex(asked.index, fill_value=0)
    demand(schedule, asked["granted"] >= counts, asked.index,
           "preemption {} got more nodes than it was granted")  # fmt: skip
    _check_direct(schedule, asked.assign(direct=asked["granted"] - counts), used)


def _check_direct(schedule: ElasticSchedule, asked: pd.DataFrame, used: pd.DataFrame) -> None:
    """Raise where users do not have exactly the host's own nodes that they were granted."""
    direct = used[used["request"].isna()]
    had = direct.groupby(["start_time", "end_time"]).size()
    due = asked.assign(end=asked["time"] + asked["duration"]).groupby(["time", "end"])["direct"]
    both = pd.DataFrame({"had": had.rename_axis(["time", "end"]), "due": due.sum()}).fillna(0)
    message = "users have more or fewer of the host's nodes from t={:.15g} on than granted"
    demand(schedule, both["had"] == both["due"], both.index.get_level_values("time"), message)


def _check_shortfalls(schedule: ElasticSchedule, asked: pd.DataFrame) -> None:
    """Raise where a preemption was granted too little though a node was there to be had."""
    owned, reclaims = schedule.ownership, schedule.reclaims
    short = asked["granted"] < asked["nodes"]
    fine = np.ones(len(asked), dtype=bool)
    for preemption in asked.index[short]:
        now = asked["time"][preemption]
        begun = (owned["start_time"] <= now) & (now < owned["end_time"])
        used = owned["node"][begun & (owned["owner"] == USER)]
        drains = (reclaims["notified"] <= now) & (now <= reclaims["released"])
        taken = np.union1d(used, reclaims["node"][drains])
        fine[preemption] = taken.size == owned["node"].nunique()
    demand(schedule, fine, asked.index,
           "preemption {} was granted less than it asked for though nodes were left")  # fmt: skip
