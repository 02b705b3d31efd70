"""Could an elastic schedule have happened? Raises where it could not.

`cosimlib.audit` wants jobs that run once, so schedules that kill jobs have a check of their own.
"""

import numpy as np
import pandas as pd

from cosimlib.audit import InfeasibleScheduleError
from cosimlib.schedulers.elastic import HOST, USER, ElasticSchedule


def audit_elastic(schedule: ElasticSchedule) -> ElasticSchedule:
    """The schedule itself, once it is shown that it could have happened.

    Every job completes exactly once and after its full run time, none of its runs overlap or come
    before its submission, every run holds as many nodes as the job wants, no node is on two runs or
    has two owners at a time, a run's nodes belong to its job's partition as long as it lasts, every
    node always has an owner, and a node that was wanted back left within the grace period.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job or the node.
    """
    if schedule.attempts.empty:
        _demand(schedule, [False] * len(schedule.workload), range(len(schedule.workload)),
                "job {} never runs")  # fmt: skip
        return schedule
    attempts = schedule.attempts.rename_axis("attempt").reset_index()
    _check_runs(schedule, attempts)
    held = schedule.holdings.merge(attempts, on="attempt")
    _check_nodes(schedule, attempts, held)
    _check_ownership(schedule, held)
    reclaims = schedule.reclaims
    late = ~(reclaims["released"] - reclaims["notified"] <= schedule.grace_period + 1e-6)
    _demand(schedule, ~late, reclaims["node"], "node {} left after the grace period, or never")
    return schedule


def _check_runs(schedule: ElasticSchedule, attempts: pd.DataFrame) -> None:
    """Raise for a job that is lost, ends twice, or runs where it could not."""
    jobs = schedule.workload.jobs
    completed = attempts[attempts["completed"]]
    ends = completed["job"].value_counts().reindex(jobs.index, fill_value=0)
    _demand(schedule, ends == 1, jobs.index, "job {} does not end exactly once")
    run_time = jobs["run_time"].to_numpy()[completed["job"]]
    whole = completed["end_time"] == completed["start_time"] + run_time
    _demand(schedule, whole, completed["job"], "job {} ends before or after its run time")
    submitted = jobs["submit_time"].to_numpy()[attempts["job"]]
    _demand(schedule, attempts["start_time"] >= submitted, attempts["job"],
            "job {} runs before its submission")  # fmt: skip
    own = attempts.sort_values(["job", "start_time", "end_time"], kind="stable")
    again = own["job"] == own["job"].shift()
    apart = ~again | (own["start_time"] >= own["end_time"].shift())
    _demand(schedule, apart, own["job"], "job {} runs twice at a time")


def _check_nodes(schedule: ElasticSchedule, attempts: pd.DataFrame, held: pd.DataFrame) -> None:
    """Raise for a run on too few nodes, and for a node on two runs at a time."""
    counts = held.groupby("attempt")["node"].nunique().reindex(attempts["attempt"], fill_value=0)
    wanted = schedule.workload.jobs["nodes"].to_numpy()[attempts["job"]]
    _demand(schedule, counts.to_numpy() == wanted, attempts["job"],
            "job {} runs on another number of nodes than it wants")  # fmt: skip
    lasting = held[held["end_time"] > held["start_time"]]
    _apart(schedule, lasting, "node {} is on two runs at a time")


def _check_ownership(schedule: ElasticSchedule, held: pd.DataFrame) -> None:
    """Raise for a node with two owners or none, and for a run on another's node."""
    owned = schedule.ownership
    _apart(schedule, owned, "node {} has two owners at a time")
    former = owned.sort_values(["node", "start_time"], kind="stable")
    first = former["node"] != former["node"].shift()
    begins = np.where(first, 0.0, former["end_time"].shift())
    _demand(schedule, former["start_time"] == begins, former["node"], "node {} has no owner once")
    known = [*schedule.system.partitions, HOST, USER]
    _demand(schedule, owned["owner"].isin(known), owned["owner"], "owner {} is unknown")
    names = schedule.workload.column("partition").fillna(next(iter(schedule.system.partitions)))
    runs = held.assign(partition=names.to_numpy()[held["job"]]).sort_values("start_time")
    runs = runs[runs["end_time"] > runs["start_time"]]
    stretches = owned.sort_values("start_time").rename(
        columns={"start_time": "owned_from", "end_time": "owned_to"}
    )
    both = pd.merge_asof(runs, stretches, left_on="start_time", right_on="owned_from", by="node")
    inside = (both["owner"] == both["partition"]) & (both["end_time"] <= both["owned_to"])
    _demand(schedule, inside, both["job"], "job {} runs on a node of another partition")


def _apart(schedule: ElasticSchedule, stretches: pd.DataFrame, message: str) -> None:
    """Raise where two stretches of one node overlap."""
    ordered = stretches.sort_values(["node", "start_time"], kind="stable")
    same = ordered["node"] == ordered["node"].shift()
    fine = ~same | (ordered["start_time"] >= ordered["end_time"].shift())
    _demand(schedule, fine, ordered["node"], message)


def _demand(
    schedule: ElasticSchedule,
    fine: pd.Series | np.ndarray | list[bool],
    named: pd.Series | pd.Index | range,
    message: str,
) -> None:
    """Raise, with the name of the first for which it is not so."""
    wrong = ~np.asarray(fine, dtype=bool)
    if wrong.any():
        name = np.asarray(named)[wrong.argmax()]
        raise InfeasibleScheduleError(f"{schedule.policy}: {message.format(name)}")
