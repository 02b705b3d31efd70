"""Whether every node has exactly one owner at any time, and runs are on their owner's nodes."""

import numpy as np
import pandas as pd

from cosimlib.preemption.auditing.demanding import demand, demand_apart
from cosimlib.schedulers.elastic import HOST, USER, ElasticSchedule


def check_ownership(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a node with two owners or none, and for a run on another's node."""
    owned = schedule.ownership
    known = [*schedule.system.partitions, HOST, USER]
    demand(schedule, owned["owner"].isin(known), owned["owner"], "owner {} is unknown")
    nodes = np.arange(schedule.system.total_nodes + schedule.spare)
    demand(schedule, owned["node"].isin(nodes), owned["node"], "there is no node {}")
    demand(schedule, np.isin(nodes, owned["node"]), nodes, "node {} never has an owner")
    demand_apart(schedule, owned, "node {} has two owners at a time")
    ordered = owned.sort_values(["node", "start_time"], kind="stable")
    first = ordered["node"] != ordered["node"].shift()
    begins = np.where(first, 0.0, ordered["end_time"].shift())
    demand(schedule, ordered["start_time"] == begins, ordered["node"], "node {} has no owner once")
    last = first.shift(-1, fill_value=True)
    fine = np.isinf(ordered["end_time"]) == last
    demand(schedule, fine, ordered["node"], "node {} has no owner in the end")
    _check_runs_are_at_home(schedule, runs)


def _check_runs_are_at_home(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a run that lasts on a node that is not its partition's all the time."""
    names = schedule.workload.column("partition").fillna(next(iter(schedule.system.partitions)))
    home = names.to_numpy()[runs["job"]]
    lasting = runs["end_time"] > runs["start_time"]
    runs = runs.assign(partition=home)[lasting].sort_values("start_time")
    stretches = schedule.ownership.sort_values("start_time").rename(
        columns={"start_time": "owned_from", "end_time": "owned_to"}
    )
    both = pd.merge_asof(runs, stretches, left_on="start_time", right_on="owned_from", by="node")
    inside = (both["owner"] == both["partition"]) & (both["end_time"] <= both["owned_to"])
    demand(schedule, inside, both["job"], "job {} runs on a node of another partition")
