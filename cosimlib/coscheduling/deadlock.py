"""Deadlock detection on coupled machines: states of jobs at an instant, and the circular wait.

The state at an instant is that after all its events: a job that starts then runs, one that ends
then has ended.

A *deadlock* is a set of groups of mates each of which has a job that holds nodes, and each of which
needs, for a waiting mate, more nodes than the other groups of the set leave on that mate's machine.
None of their jobs can start before held nodes are released. The largest such set is found by graph
reduction (Holt, 1972): as long as there is one, a group is removed that could start if all groups
removed before had given their nodes back.

A mate may also wait where enough nodes are free, since it would delay the reservation of a job that
does not fit. It counts as blocked if all jobs that may have that reservation need more nodes than
the other groups of the set leave and, as the queue may change, only if the schedule shows that it
does not start before one of the blocking holds ends.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.coscheduling.schedule import CoupledSchedule

STATES = ("unsubmitted", "waiting", "holding", "running", "ended")


class JobStates(NamedTuple):
    """The state of each job, one of `STATES`, and since when it holds (NaN where it does not)."""

    state: np.ndarray
    held_since: np.ndarray


class _Instant(NamedTuple):
    """A schedule at an instant: states, the jobs of each group that holds, and per waiting job of
    these the candidates of the reservation that it would delay."""

    schedule: CoupledSchedule
    at: float
    states: JobStates
    members: dict[int, np.ndarray]
    delayed: dict[int, np.ndarray]


def event_times(schedule: CoupledSchedule) -> np.ndarray:
    """Ascending times (s) of submissions, tries, holds, releases, starts, ends and outages."""
    jobs, holds = schedule.workload.jobs, schedule.holds
    times = [jobs["submit_time"], schedule.first_try, schedule.start_time, schedule.end_time]
    times += [holds["start"], holds["end"]]
    times += [[time for _, *span in schedule.outages for time in span]]
    events = np.concatenate([np.asarray(each, dtype=np.float64) for each in times])
    return np.unique(events[np.isfinite(events)])


def job_states(schedule: CoupledSchedule, at: float) -> JobStates:
    """The state of each job at an instant."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    state = np.where(submit_time <= at, "waiting", "unsubmitted").astype(object)
    held_since = np.full(len(state), np.nan)
    held = schedule.holds[(schedule.holds["start"] <= at) & (at < schedule.holds["end"])]
    held_since[held["job"].to_numpy()] = held["start"].to_numpy()
    state[~np.isnan(held_since)] = "holding"
    state[schedule.start_time <= at] = "running"
    state[schedule.end_time <= at] = "ended"
    return JobStates(state, held_since)


def free_nodes(schedule: CoupledSchedule, at: float) -> pd.Series:
    """Nodes per machine that are neither run on nor held at an instant."""
    state = job_states(schedule, at).state
    nodes = schedule.workload.jobs["nodes"].where(np.isin(state, ("holding", "running")), 0)
    taken = nodes.groupby(schedule.partition.to_numpy()).sum()
    total = pd.Series(dict(schedule.system.partitions), name="free_nodes")
    return total.sub(taken, fill_value=0).reindex(total.index).astype("int64")


def delayed_by(schedule: CoupledSchedule, at: float, job: int) -> np.ndarray:
    """Jobs that may have the reservation that a waiting job, whose mates are ready, would delay.

    These are the jobs of its queue that do not fit, the most urgent of which has a reservation.
    Empty where the job itself does not fit, waits for mates, or its machine is down.
    """
    state = job_states(schedule, at).state
    nodes = schedule.workload.jobs["nodes"].to_numpy()
    machine, group = schedule.partition[job], schedule.group[job]
    free = free_nodes(schedule, at)[machine]
    unready = (schedule.group == group) & np.isin(state, ("unsubmitted", "waiting"))
    waits_for_mates = group >= 0 and unready.sum() > 1
    down = any(name == machine and begin <= at < end for name, begin, end in schedule.outages)
    if state[job] != "waiting" or nodes[job] > free or waits_for_mates or down:
        return np.array([], dtype=np.int64)
    queue = (schedule.partition == machine).to_numpy() & (state == "waiting")
    return np.flatnonzero(queue & (nodes > free))


def find_deadlock(schedule: CoupledSchedule, at: float) -> pd.DataFrame:
    """The deadlock at an instant, one row per job that waits in it; empty where there is none.

    Returns
    -------
    pd.DataFrame
        `job`, which waits for nodes, or for its turn where it would delay a job that does; its
        mate that `holds` for it; and `behind`, the job of the deadlock that has held nodes of
        `job`'s machine longest, outside its own group.
    """
    states = job_states(schedule, at)
    members = {
        int(group): np.flatnonzero(schedule.group == group)
        for group in np.unique(schedule.group[states.state == "holding"])
    }
    locked = {g for g, jobs in members.items() if (states.state[jobs] != "unsubmitted").all()}
    delayed = {
        int(job): delayed_by(schedule, at, job)
        for group in locked
        for job in members[group][states.state[members[group]] == "waiting"]
    }
    instant = _Instant(schedule, at, states, members, delayed)
    while free := [group for group in locked if not _blocked(instant, locked, group)]:
        locked -= set(free)
    rows = []
    for group in sorted(locked):
        holder = _longest_holder(states, members[group])
        for job in _blocked(instant, locked, group):
            behind = _longest_holder(states, _holders(instant, locked, job))
            rows.append((job, holder, behind))
    return pd.DataFrame(rows, columns=["job", "holds", "behind"], dtype="int64")


def circular_wait(schedule: CoupledSchedule, at: float) -> list[int]:
    """Jobs of a deadlock each of which waits for the next, the first again at the end.

    A job that holds and its mate that waits take turns, each mate behind the next job that holds;
    empty where there is no deadlock.
    """
    table = find_deadlock(schedule, at)
    if table.empty:
        return []
    table = table.groupby(schedule.group[table["job"]]).first()
    holder = int(table["holds"].iloc[0])
    chain: dict[int, tuple[int, int]] = {}
    while (group := schedule.group[holder]) not in chain:
        chain[group] = holder, int(table["job"][group])
        holder = int(table["behind"][group])
    # The circle closes with a job that holds for this group, maybe another one than it began with.
    chain[group] = holder, chain[group][1]
    around = list(chain.values())[list(chain).index(group) :]
    return [job for pair in around for job in pair] + [holder]


def _blocked(instant: _Instant, locked: set[int], group: int) -> list[int]:
    """The waiting jobs of a group that cannot start beside what other locked groups hold."""
    schedule, members = instant.schedule, instant.members[group]
    nodes = schedule.workload.jobs["nodes"].to_numpy()
    blocked = []
    for job in members[instant.states.state[members] == "waiting"].tolist():
        holders, delayed = _holders(instant, locked, job), instant.delayed[job]
        room = schedule.system.partitions[schedule.partition[job]] - nodes[holders].sum()
        barred = len(delayed) > 0 and bool((nodes[delayed] > room).all())
        if nodes[job] > room or (barred and _starts_later(instant, job, holders)):
            blocked.append(job)
    return blocked


def _starts_later(instant: _Instant, job: int, holders: np.ndarray) -> bool:
    """Whether a job does not start before one of those that hold now gives its nodes back."""
    holds, at = instant.schedule.holds, instant.at
    current = holds["job"].isin(holders) & (holds["start"] <= at) & (at < holds["end"])
    return not instant.schedule.start_time[job] < holds.loc[current, "end"].min()


def _holders(instant: _Instant, locked: set[int], job: int) -> np.ndarray:
    """Jobs of locked groups that hold nodes of a waiting job's machine; none of its own group."""
    partition = instant.schedule.partition.to_numpy()
    jobs = np.concatenate([instant.members[group] for group in sorted(locked)])
    here = partition[jobs] == partition[job]
    return jobs[here & (instant.states.state[jobs] == "holding")]


def _longest_holder(states: JobStates, jobs: np.ndarray) -> int:
    """The one of some jobs that has held longest."""
    return int(jobs[np.nanargmin(states.held_since[jobs])])
