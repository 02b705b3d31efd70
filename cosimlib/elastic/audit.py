"""Audit of elastic schedules: runs, nodes, owners, reclaims and users.

*Reclaims.* A node that was wanted back takes no new job. If it was idle it left at once, else when
the run on it ended. That run completed before the grace period was over, or it was killed at the
end of the grace period of one of its nodes: a job may have several, and the first of them to be
withdrawn takes the others along.

*Users.* A user's nodes come from the host, at once, or from a partition, when the reclaim for that
very preemption is over. Each is kept for the preemption's duration. A preemption that was granted
less than asked for must have found nothing else: every node was a user's or wanted back already.
"""

import numpy as np
import pandas as pd

from cosimlib.audit import InfeasibleScheduleError, audit_rule, check_columns, check_held
from cosimlib.elastic.schedule import HOST, NOTICE_INTERVAL, USER, ElasticSchedule


@audit_rule.register
def audit_elastic(schedule: ElasticSchedule) -> None:
    """Raise where a schedule of elastic partitions could not have happened.

    - *Jobs*: every job completes exactly once and after its full run time, none of its runs overlap
      or come before its submission, and its start and end are those of its first and last run.
    - *Nodes*: every run holds as many nodes as the job wants, no node is on two runs at a time.
    - *Owners*: every node has exactly one owner from 0 to infinity, and a run's nodes belong to its
      job's partition as long as it lasts.
    - *Reclaims*: a node that was wanted back left when its run ended, and if that was a kill, the
      run's grace period was over on one of its nodes; every kill has such a reclaim. Notices were
      given at once and each minute.
    - *Users*: each has the nodes granted, no more than asked for, for as long as asked for; where
      it got fewer, none were left.
    - *Capacity*: runs never hold more nodes together than partitions and host have.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, the node or the preemption.
    """
    check_columns(schedule)
    runs = _runs_on_nodes(schedule)
    _check_runs(schedule)
    _check_nodes(schedule, runs)
    _check_ownership(schedule, runs)
    _check_reclaims(schedule, runs)
    _check_kills(schedule, runs)
    _check_users(schedule)
    every = np.ones(len(schedule.allocations), dtype=bool)
    check_held(schedule, every, schedule.total_nodes, "the system")


def _demand(
    schedule: ElasticSchedule, fine: pd.Series | np.ndarray, named: object, message: str
) -> None:
    """Raise where `fine` is not true everywhere.

    `named` has a name for each of `fine`; the first that fails takes the place of the braces.
    """
    wrong = ~np.asarray(fine, dtype=bool)
    if wrong.any():
        name = np.asarray(named)[wrong.argmax()]
        raise InfeasibleScheduleError(f"{schedule.policy}: {message.format(name)}")


def _demand_apart(schedule: ElasticSchedule, stretches: pd.DataFrame, message: str) -> None:
    """Raise where two stretches of one node, from `start_time` to `end_time`, overlap."""
    ordered = stretches.sort_values(["node", "start_time", "end_time"], kind="stable")
    same = ordered["node"] == ordered["node"].shift()
    fine = ~same | (ordered["start_time"] >= ordered["end_time"].shift())
    _demand(schedule, fine, ordered["node"], message)


def _runs_on_nodes(schedule: ElasticSchedule) -> pd.DataFrame:
    """One row per run and node: `attempt`, `node`, and the run's columns."""
    count = len(schedule.attempts)
    known = schedule.holdings["attempt"].between(0, count - 1)
    _demand(schedule, known, schedule.holdings["attempt"], "nodes are held by no run {}")
    attempts = schedule.attempts.reset_index(drop=True)
    return schedule.holdings.join(attempts, on="attempt")


def _check_runs(schedule: ElasticSchedule) -> None:
    """Raise for a job that is lost, ends twice, or runs where it could not."""
    jobs, attempts = schedule.workload.jobs, schedule.attempts
    _demand(schedule, attempts["job"].isin(jobs.index), attempts["job"], "there is no job {}")
    completed = attempts[attempts["completed"]]
    ends = completed["job"].value_counts().reindex(jobs.index, fill_value=0)
    _demand(schedule, ends == 1, jobs.index, "job {} does not end exactly once")
    expected_end = attempts["start_time"] + jobs["run_time"].to_numpy()[attempts["job"]]
    fine = (attempts["end_time"] == expected_end) | ~attempts["completed"]
    _demand(schedule, fine, attempts["job"], "job {} ends before or after its run time")
    fine = attempts["end_time"].between(attempts["start_time"], expected_end)
    _demand(schedule, fine, attempts["job"], "job {} is killed before its start or after its end")
    submitted = jobs["submit_time"].to_numpy()[attempts["job"]]
    _demand(schedule, attempts["start_time"] >= submitted, attempts["job"],
            "job {} runs before its submission")  # fmt: skip
    own = attempts.sort_values(["job", "start_time", "end_time"], kind="stable")
    again = own["job"] == own["job"].shift()
    apart = ~again | (own["start_time"] >= own["end_time"].shift())
    _demand(schedule, apart, own["job"], "job {} runs twice at a time")
    _check_times(schedule)


def _check_times(schedule: ElasticSchedule) -> None:
    """Raise where a job's start or end is not that of its first or last run."""
    jobs = schedule.workload.jobs.index
    by_job = schedule.attempts.groupby("job")
    for name, times, of_runs in (
        ("start", schedule.start_time, by_job["start_time"].min()),
        ("end", schedule.end_time, by_job["end_time"].max()),
    ):
        fine = np.asarray(times) == of_runs.reindex(jobs).to_numpy()
        _demand(schedule, fine, jobs, f"job {{}} does not {name} when its runs do")
    last = schedule.attempts.loc[schedule.attempts["completed"]].set_index("job")["end_time"]
    fine = np.asarray(schedule.end_time) == last.reindex(jobs).to_numpy()
    _demand(schedule, fine, jobs, "job {} runs again after its end")


def _check_nodes(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a run on too few nodes, and for a node on two runs at a time."""
    attempts = schedule.attempts.reset_index(drop=True)
    counts = runs.groupby("attempt")["node"].nunique().reindex(attempts.index, fill_value=0)
    wanted = schedule.workload.jobs["nodes"].to_numpy()[attempts["job"]]
    _demand(schedule, counts.to_numpy() == wanted, attempts["job"],
            "job {} runs on another number of nodes than it wants")  # fmt: skip
    nonzero = runs[runs["end_time"] > runs["start_time"]]
    _demand_apart(schedule, nonzero, "node {} is on two runs at a time")


def _check_ownership(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a node with two owners or none, and for a run on another's node."""
    owned = schedule.ownership
    known = [*schedule.system.partitions, HOST, USER]
    _demand(schedule, owned["owner"].isin(known), owned["owner"], "owner {} is unknown")
    nodes = np.arange(schedule.system.total_nodes + schedule.spare)
    _demand(schedule, owned["node"].isin(nodes), owned["node"], "there is no node {}")
    _demand(schedule, np.isin(nodes, owned["node"]), nodes, "node {} never has an owner")
    _demand_apart(schedule, owned, "node {} has two owners at a time")
    ordered = owned.sort_values(["node", "start_time"], kind="stable")
    first = ordered["node"] != ordered["node"].shift()
    begins = np.where(first, 0.0, ordered["end_time"].shift())
    _demand(schedule, ordered["start_time"] == begins, ordered["node"], "node {} has no owner once")
    last = first.shift(-1, fill_value=True)
    fine = np.isinf(ordered["end_time"]) == last
    _demand(schedule, fine, ordered["node"], "node {} has no owner in the end")
    _check_runs_are_at_home(schedule, runs)


def _check_runs_are_at_home(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a run that lasts on a node that is not its partition's all the time."""
    names = schedule.workload.column("partition").fillna(next(iter(schedule.system.partitions)))
    home = names.to_numpy()[runs["job"]]
    nonzero = runs["end_time"] > runs["start_time"]
    runs = runs.assign(partition=home)[nonzero].sort_values("start_time")
    stretches = schedule.ownership.sort_values("start_time").rename(
        columns={"start_time": "owned_from", "end_time": "owned_to"}
    )
    both = pd.merge_asof(runs, stretches, left_on="start_time", right_on="owned_from", by="node")
    inside = (both["owner"] == both["partition"]) & (both["end_time"] <= both["owned_to"])
    _demand(schedule, inside, both["job"], "job {} runs on a node of another partition")


def _check_reclaims(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a node that left too late, too early, or with a wrong record."""
    reclaims = schedule.reclaims
    known = reclaims["partition"].isin(list(schedule.system.partitions))
    _demand(schedule, known, reclaims["partition"], "nodes are wanted back from {}, which is none")
    latest = reclaims["notified"] + schedule.grace_period
    fine = reclaims["released"].between(reclaims["notified"], latest)
    _demand(schedule, fine, reclaims["node"], "node {} left after the grace period, or never")
    waited = reclaims["released"] - reclaims["notified"]
    due = np.maximum(1, np.ceil(waited / NOTICE_INTERVAL))
    _demand(schedule, reclaims["notices"] == due, reclaims["node"],
            "node {} had another number of notices than one at once and one a minute")  # fmt: skip
    renamed = {"notified": "start_time", "released": "end_time"}
    _demand_apart(schedule, reclaims.rename(columns=renamed), "node {} was wanted back twice")
    _check_departures(schedule, runs)
    _check_owners(schedule)


def _check_kills(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a kill without a reclaim that is due, and for a reclaim of a kill that is none."""
    killed = runs.loc[~runs["completed"], ["attempt", "node", "job", "end_time"]]
    recorded = schedule.reclaims.loc[schedule.reclaims["killed"] >= 0]
    keys = {"left_on": ["node", "killed", "released"], "right_on": ["node", "job", "end_time"]}
    both = recorded.merge(killed, how="left", **keys)
    _demand(schedule, both["attempt"].notna(), both["killed"],
            "job {} was not killed when a reclaim says so")  # fmt: skip
    due = both["released"] == both["notified"] + schedule.grace_period
    attempts = schedule.attempts.reset_index(drop=True)
    lost = attempts.index[~attempts["completed"]]
    _demand(schedule, lost.isin(both.loc[due, "attempt"]), attempts["job"][lost],
            "job {} was killed without a node whose grace period was over")  # fmt: skip


def _check_departures(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise where a node that did not leave at once left at another time than its run's end."""
    reclaims = schedule.reclaims
    waited = reclaims[reclaims["released"] > reclaims["notified"]].sort_values("notified")
    nonzero = runs[runs["end_time"] > runs["start_time"]].sort_values("start_time")
    both = pd.merge_asof(waited, nonzero, left_on="notified", right_on="start_time", by="node")
    _demand(schedule, both["end_time"] == both["released"], both["node"],
            "node {} left at another time than the run on it ended")  # fmt: skip
    done = both["completed"].astype(bool)
    fine = both["killed"] == both["job"].where(~done, -1)
    _demand(schedule, fine, both["node"], "node {} left with a run whose fate was another")
    due = both["released"] == both["notified"] + schedule.grace_period
    _demand(schedule, ~(done & due), both["job"],
            "job {} completed on a node whose grace period was over")  # fmt: skip


def _check_owners(schedule: ElasticSchedule) -> None:
    """Raise where ownership does not change with a release, from the partition that had it."""
    reclaims, owned = schedule.reclaims, schedule.ownership
    after = reclaims.merge(owned, how="left", left_on=["node", "released"],
                           right_on=["node", "start_time"])  # fmt: skip
    _demand(schedule, after["owner"].notna(), after["node"], "node {} was released and stayed")
    waited = reclaims[reclaims["released"] > reclaims["notified"]]
    before = waited.merge(owned, how="left", left_on=["node", "released"],
                          right_on=["node", "end_time"])  # fmt: skip
    fine = (before["owner"] == before["partition"]) & (before["start_time"] <= before["notified"])
    message = "node {} was wanted back from a partition that did not have it"
    _demand(schedule, fine, before["node"], message)


def _check_users(schedule: ElasticSchedule) -> None:
    """Raise for a preemption that got too much, too little, or not what its records say."""
    preemptions, reclaims = schedule.preemptions.reset_index(drop=True), schedule.reclaims
    fine = preemptions["granted"].between(0, preemptions["nodes"])
    _demand(
        schedule, fine, preemptions.index, "preemption {} was granted more nodes than it asked for"
    )
    for_users = reclaims[reclaims["request"] >= 0]
    _demand(schedule, for_users["request"].isin(preemptions.index), for_users["request"],
            "nodes were wanted back for preemption {}, which no user asked for")  # fmt: skip
    times = preemptions["time"].to_numpy()[for_users["request"]]
    _demand(schedule, for_users["notified"] == times, for_users["request"],
            "nodes were wanted back for preemption {} at another time than it came")  # fmt: skip
    _check_use(schedule, preemptions, for_users)
    _check_shortfalls(schedule, preemptions)


def _check_use(
    schedule: ElasticSchedule, preemptions: pd.DataFrame, for_users: pd.DataFrame
) -> None:
    """Raise where users' stretches are not those that reclaims and preemptions make."""
    used = schedule.ownership[schedule.ownership["owner"] == USER]
    used = used.merge(for_users, how="outer", left_on=["node", "start_time"],
                      right_on=["node", "released"], suffixes=("", "_of_reclaim"))  # fmt: skip
    _demand(schedule, used["owner"].notna(), used["node"], "node {} was released to no user")
    reclaimed = used[used["request"].notna()]
    duration = preemptions["duration"].to_numpy()[reclaimed["request"].astype(int)]
    _demand(schedule, reclaimed["end_time"] == reclaimed["start_time"] + duration,
            reclaimed["node"], "a user kept node {} for another time than asked for")  # fmt: skip
    counts = for_users["request"].value_counts().reindex(preemptions.index, fill_value=0)
    _demand(schedule, preemptions["granted"] >= counts, preemptions.index,
            "preemption {} got more nodes than it was granted")  # fmt: skip
    _check_direct(schedule, preemptions.assign(direct=preemptions["granted"] - counts), used)


def _check_direct(schedule: ElasticSchedule, preemptions: pd.DataFrame, used: pd.DataFrame) -> None:
    """Raise where users do not have exactly the host's own nodes that they were granted."""
    direct = used[used["request"].isna()]
    had = direct.groupby(["start_time", "end_time"]).size()
    due = preemptions.assign(end=preemptions["time"] + preemptions["duration"]).groupby(
        ["time", "end"]
    )["direct"]
    both = pd.DataFrame({"had": had.rename_axis(["time", "end"]), "due": due.sum()}).fillna(0)
    message = "users have more or fewer of the host's nodes from t={:.15g} on than granted"
    _demand(schedule, both["had"] == both["due"], both.index.get_level_values("time"), message)


def _check_shortfalls(schedule: ElasticSchedule, preemptions: pd.DataFrame) -> None:
    """Raise where a preemption was granted too little though a node was there to be had."""
    owned, reclaims = schedule.ownership, schedule.reclaims
    short = preemptions["granted"] < preemptions["nodes"]
    fine = np.ones(len(preemptions), dtype=bool)
    for preemption in preemptions.index[short]:
        now = preemptions["time"][preemption]
        begun = (owned["start_time"] <= now) & (now < owned["end_time"])
        used = owned["node"][begun & (owned["owner"] == USER)]
        drains = (reclaims["notified"] <= now) & (now <= reclaims["released"])
        taken = np.union1d(used, reclaims["node"][drains])
        fine[preemption] = taken.size == owned["node"].nunique()
    _demand(schedule, fine, preemptions.index,
            "preemption {} was granted less than it asked for though nodes were left")  # fmt: skip
