"""Audit of elastic schedules: runs, nodes, owners, reclaims and users.

*Reclaims.* A node that was wanted back takes no new job. If it was idle it left at once, else when
the run on it ended. That run completed before the grace period was over, or it was killed at the
end of the grace period of one of its nodes: a job may have several, and the first of them to be
withdrawn takes the others along.

*Users.* A user's nodes come from the host, at once, or from a partition, when the reclaim for that
very preemption is over. Each is kept for the preemption's duration. A preemption that was granted
less than asked for must have found nothing else: every node was a user's or wanted back already.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.audit import audit_rule, check_columns, check_held, demand
from cosimlib.elastic.schedule import HOST, NOTICE_INTERVAL, USER, ElasticSchedule
from cosimlib.schedule import partition_numbers


class Runs(NamedTuple):
    """Runs on nodes, as arrays of one value per run and node."""

    attempt: np.ndarray
    node: np.ndarray
    job: np.ndarray
    start: np.ndarray
    end: np.ndarray
    completed: np.ndarray

    def where(self, mask: np.ndarray) -> "Runs":
        """Those where `mask` holds."""
        return Runs(*(column[mask] for column in self))


@audit_rule.register
def audit_elastic(schedule: ElasticSchedule) -> None:
    """Raise an error if a schedule of elastic partitions could not have happened.

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


def _check_disjoint(
    schedule: ElasticSchedule, of: np.ndarray, start: np.ndarray, end: np.ndarray, message: str
) -> None:
    """Raise an error if two stretches, from `start` to `end`, of one node or job overlap."""
    order = np.lexsort((end, start, of))
    of, start, end = of[order], start[order], end[order]
    fine = (of[1:] != of[:-1]) | (start[1:] >= end[:-1])
    demand(schedule, fine, message, of[1:])


def _arrays(table: pd.DataFrame, *names: str) -> tuple[np.ndarray, ...]:
    """Columns of a table as arrays."""
    return tuple(table[name].to_numpy() for name in names)


def _place(owners: pd.Series, names: list[str]) -> np.ndarray:
    """The place of each owner in `names`."""
    return pd.Index(names).get_indexer(pd.Index(owners))


def _runs_on_nodes(schedule: ElasticSchedule) -> Runs:
    """One row per run and node."""
    attempt, node = _arrays(schedule.holdings, "attempt", "node")
    known = (attempt >= 0) & (attempt < len(schedule.attempts))
    demand(schedule, known, "nodes are held by no run {}", attempt)
    columns = _arrays(schedule.attempts, "job", "start_time", "end_time", "completed")
    return Runs(attempt, node, *(column[attempt] for column in columns))


def _check_runs(schedule: ElasticSchedule) -> None:
    """Raise for a job that is lost, ends twice, or runs where it could not."""
    submit_time, run_time = _arrays(schedule.workload.jobs, "submit_time", "run_time")
    job, start, end, completed = _arrays(
        schedule.attempts, "job", "start_time", "end_time", "completed"
    )
    demand(schedule, (job >= 0) & (job < run_time.size), "there is no job {}", job)
    jobs = np.arange(run_time.size)
    ends = np.bincount(job[completed], minlength=jobs.size)
    demand(schedule, ends == 1, "job {} does not end exactly once", jobs)
    expected_end = start + run_time[job]
    fine = (end == expected_end) | ~completed
    demand(schedule, fine, "job {} ends before or after its run time", job)
    fine = (end >= start) & (end <= expected_end)
    demand(schedule, fine, "job {} is killed before its start or after its end", job)
    demand(schedule, start >= submit_time[job], "job {} runs before its submission", job)
    _check_disjoint(schedule, job, start, end, "job {} runs twice at a time")
    first, last, done = np.full(jobs.size, np.inf), np.full(jobs.size, -np.inf), np.empty(jobs.size)
    np.minimum.at(first, job, start)
    np.maximum.at(last, job, end)
    done[job[completed]] = end[completed]
    for name, times, of_runs in (
        ("start", schedule.start_time, first),
        ("end", schedule.end_time, last),
    ):
        demand(schedule, times == of_runs, f"job {{}} does not {name} when its runs do", jobs)
    demand(schedule, schedule.end_time == done, "job {} runs again after its end", jobs)


def _check_nodes(schedule: ElasticSchedule, runs: Runs) -> None:
    """Raise for a run on too few nodes, and for a node on two runs at a time."""
    job = schedule.attempts["job"].to_numpy()
    order = np.lexsort((runs.node, runs.attempt))
    attempt, node = runs.attempt[order], runs.node[order]
    new = np.append(True, (attempt[1:] != attempt[:-1]) | (node[1:] != node[:-1]))[: node.size]
    counts = np.bincount(attempt[new], minlength=job.size)
    wanted = schedule.workload.jobs["nodes"].to_numpy()[job]
    message = "job {} runs on another number of nodes than it wants"
    demand(schedule, counts == wanted, message, job)
    lasting = runs.where(runs.end > runs.start)
    message = "node {} is on two runs at a time"
    _check_disjoint(schedule, lasting.node, lasting.start, lasting.end, message)


def _check_ownership(schedule: ElasticSchedule, runs: Runs) -> None:
    """Raise for a node with two owners or none, and for a run on another's node."""
    owned = schedule.ownership
    known = [*schedule.system.partitions, HOST, USER]
    demand(schedule, owned["owner"].isin(known), "owner {} is unknown", owned["owner"])
    node, start, end = _arrays(owned, "node", "start_time", "end_time")
    nodes = np.arange(schedule.system.total_nodes + schedule.spare)
    demand(schedule, np.isin(node, nodes), "there is no node {}", node)
    demand(schedule, np.isin(nodes, node), "node {} never has an owner", nodes)
    _check_disjoint(schedule, node, start, end, "node {} has two owners at a time")
    order = np.lexsort((start, node))
    node, start, end = node[order], start[order], end[order]
    first = np.append(True, node[1:] != node[:-1])
    begins = np.where(first, 0.0, np.append(0.0, end[:-1]))
    demand(schedule, start == begins, "node {} has no owner once", node)
    last = np.append(first[1:], True)
    demand(schedule, np.isinf(end) == last, "node {} has no owner in the end", node)
    _check_runs_are_at_home(schedule, runs.where(runs.end > runs.start))


def _check_runs_are_at_home(schedule: ElasticSchedule, runs: Runs) -> None:
    """Raise for a run that lasts on a node that is not its partition's all the time."""
    names = list(schedule.system.partitions)
    home = partition_numbers(schedule.workload, schedule.system)
    node, since, until = _arrays(schedule.ownership, "node", "start_time", "end_time")
    owner = _place(schedule.ownership["owner"], names)
    found = _find_latest((runs.node, runs.start), (node, since))
    inside = (found >= 0) & (owner[found] == home[runs.job]) & (runs.end <= until[found])
    demand(schedule, inside, "job {} runs on a node of another partition", runs.job)


def _check_reclaims(schedule: ElasticSchedule, runs: Runs) -> None:
    """Raise for a node that left too late, too early, or with a wrong record."""
    reclaims = schedule.reclaims
    known = reclaims["partition"].isin(list(schedule.system.partitions))
    demand(schedule, known, "nodes are wanted back from {}, which is none", reclaims["partition"])
    node, notified, released, notices = _arrays(reclaims, "node", "notified", "released", "notices")
    fine = (released >= notified) & (released <= notified + schedule.grace_period)
    demand(schedule, fine, "node {} left after the grace period, or never", node)
    expected = np.maximum(1, np.ceil((released - notified) / NOTICE_INTERVAL))
    message = "node {} had another number of notices than one at once and one a minute"
    demand(schedule, notices == expected, message, node)
    _check_disjoint(schedule, node, notified, released, "node {} was wanted back twice")
    _check_departures(schedule, runs)
    _check_owners(schedule)


def _check_kills(schedule: ElasticSchedule, runs: Runs) -> None:
    """Raise for a kill without an expired reclaim, and for a reclaim of a kill that is none."""
    killed = runs.where(~runs.completed)
    kills = killed.node, killed.job, killed.end
    columns = _arrays(schedule.reclaims, "node", "killed", "released", "notified")
    node, job, released, notified = (column[columns[1] >= 0] for column in columns)
    recorded = _find((node, job, released), kills) >= 0
    demand(schedule, recorded, "job {} was not killed when a reclaim says so", job)
    expired = released == notified + schedule.grace_period
    withdrawn = _find(kills, (node[expired], job[expired], released[expired])) >= 0
    fine = schedule.attempts["completed"].to_numpy(copy=True)
    fine[killed.attempt[withdrawn]] = True
    message = "job {} was killed without a node whose grace period was over"
    demand(schedule, fine, message, schedule.attempts["job"])


def _check_departures(schedule: ElasticSchedule, runs: Runs) -> None:
    """Raise an error if a node that stays for its run does not leave at the end of that run."""
    columns = _arrays(schedule.reclaims, "node", "notified", "released", "killed")
    node, notified, released, killed = (column[columns[2] > columns[1]] for column in columns)
    lasting = runs.where(runs.end > runs.start)
    found = _find_latest((node, notified), (lasting.node, lasting.start))
    left = (found >= 0) & (lasting.end[found] == released) if lasting.node.size else found >= 0
    demand(schedule, left, "node {} left at another time than the run on it ended", node)
    job, done = lasting.job[found], lasting.completed[found]
    message = "node {} left with a run whose fate was another"
    demand(schedule, killed == np.where(done, -1, job), message, node)
    expired = released == notified + schedule.grace_period
    message = "job {} completed on a node whose grace period was over"
    demand(schedule, ~(done & expired), message, job)


def _check_owners(schedule: ElasticSchedule) -> None:
    """Raise an error if a release does not take a node from the partition that owned it."""
    node, since, until = _arrays(schedule.ownership, "node", "start_time", "end_time")
    left, notified, released = _arrays(schedule.reclaims, "node", "notified", "released")
    message = "node {} was released and stayed"
    demand(schedule, _find((left, released), (node, since)) >= 0, message, left)
    names, waited = list(schedule.system.partitions), released > notified
    found = _find((left[waited], released[waited]), (node, until))
    had = _place(schedule.ownership["owner"], names)[found]
    fine = (had == _place(schedule.reclaims["partition"], names)[waited]) & (found >= 0)
    message = "node {} was wanted back from a partition that did not have it"
    demand(schedule, fine & (since[found] <= notified[waited]), message, left[waited])


def _check_users(schedule: ElasticSchedule) -> None:
    """Raise for a preemption that got too much, too little, or not what its records say."""
    time, nodes, granted = _arrays(schedule.preemptions, "time", "nodes", "granted")
    asked = np.arange(time.size)
    message = "preemption {} was granted more nodes than it asked for"
    demand(schedule, (granted >= 0) & (granted <= nodes), message, asked)
    request, notified = _arrays(schedule.reclaims, "request", "notified")
    request, notified = request[request >= 0], notified[request >= 0]
    message = "nodes were wanted back for preemption {}, which no user asked for"
    demand(schedule, request < time.size, message, request)
    message = "nodes were wanted back for preemption {} at another time than it came"
    demand(schedule, notified == time[request], message, request)
    _check_use(schedule)
    _check_shortfalls(schedule)


def _check_use(schedule: ElasticSchedule) -> None:
    """Raise an error if users' stretches are not those that reclaims and preemptions make."""
    duration, granted = _arrays(schedule.preemptions, "duration", "granted")
    columns = _arrays(schedule.reclaims, "request", "node", "released")
    request, left, released = (column[columns[0] >= 0] for column in columns)
    users = schedule.ownership["owner"].to_numpy() == USER
    node, since, until = (
        column[users] for column in _arrays(schedule.ownership, "node", "start_time", "end_time")
    )
    found = _find((left, released), (node, since))
    demand(schedule, found >= 0, "node {} was released to no user", left)
    message = "a user kept node {} for another time than asked for"
    demand(schedule, until[found] == since[found] + duration[request], message, left)
    counts = np.bincount(request, minlength=granted.size)
    message = "preemption {} got more nodes than it was granted"
    demand(schedule, granted >= counts, message, np.arange(granted.size))
    direct = np.ones(node.size, dtype=bool)
    direct[found] = False
    _check_direct(schedule, granted - counts, since[direct], until[direct])


def _check_direct(
    schedule: ElasticSchedule, direct: np.ndarray, since: np.ndarray, until: np.ndarray
) -> None:
    """Raise an error if users do not have exactly the host's own nodes that they were granted.

    `direct` is how many, per preemption; `since` and `until` are users' stretches on such nodes.
    """
    time, duration = _arrays(schedule.preemptions, "time", "duration")
    begin, end = np.append(time, since), np.append(time + duration, until)
    (begin, _), same = np.unique(np.stack([begin, end]), axis=1, return_inverse=True)
    left = np.bincount(same.ravel(), np.append(direct, -np.ones(since.size)), minlength=begin.size)
    message = "users have more or fewer of the host's nodes from t={:.15g} on than granted"
    demand(schedule, left == 0, message, begin)


def _check_shortfalls(schedule: ElasticSchedule) -> None:
    """Raise an error if a preemption was granted too little though a node was there to be had."""
    time, nodes, granted = _arrays(schedule.preemptions, "time", "nodes", "granted")
    node, since, until = _arrays(schedule.ownership, "node", "start_time", "end_time")
    used = schedule.ownership["owner"].to_numpy() == USER
    left, notified, released = _arrays(schedule.reclaims, "node", "notified", "released")
    fine, every = np.ones(time.size, dtype=bool), np.unique(node).size
    for preemption in np.flatnonzero(granted < nodes):
        now = time[preemption]
        users = node[used & (since <= now) & (now < until)]
        drains = left[(notified <= now) & (now <= released)]
        fine[preemption] = np.union1d(users, drains).size == every
    message = "preemption {} was granted less than it asked for though nodes were left"
    demand(schedule, fine, message, np.arange(time.size))


def _find(wanted: tuple[np.ndarray, ...], rows: tuple[np.ndarray, ...]) -> np.ndarray:
    """The first of the rows that is equal in all columns to each of those wanted, -1 for none."""
    known = pd.MultiIndex.from_arrays(rows)
    first = np.flatnonzero(~known.duplicated())
    found = known[first].get_indexer(pd.MultiIndex.from_arrays(wanted))
    # Where nothing is found, that is the last of these: -1.
    return np.append(first, -1)[found]


def _find_latest(
    wanted: tuple[np.ndarray, np.ndarray], rows: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The last of the rows of the same node that begins by the time wanted, -1 for none.

    Both are nodes and times.
    """
    size, (node, time) = rows[0].size, (np.append(*each) for each in zip(rows, wanted, strict=True))
    order = np.lexsort((np.arange(node.size) >= size, time, node))
    latest = np.maximum.accumulate(np.where(order < size, np.arange(order.size), -1))
    row = np.where(latest >= 0, order[latest], -1)
    found = np.empty(order.size, dtype=np.int64)
    found[order] = np.where((row >= 0) & (node[row] == node[order]), row, -1)
    return found[size:]
