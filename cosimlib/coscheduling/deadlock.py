"""Who holds, who waits for whom, and who is stuck: coupled machines at one moment.

At a moment all that happens at it has happened: who starts then runs, who ends then is gone.

A *deadlock* is a set of groups of mates each of which has a job that holds nodes, and each of which
needs, for a mate that waits, more nodes than others of the set leave on that mate's machine. Nobody
in it can start before held nodes are released. It is found by taking away, as long as there is one,
a group that could start if all groups taken away had given their nodes back.

A mate may also wait where nodes are free, since it would delay the reservation of a job that does
not fit. It counts like one without nodes where all jobs that may have that reservation need more
nodes than others of the set leave and, as the queue may change, only where the schedule shows that
it does not start before held nodes in the way are given back.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.coscheduling.schedule import CoupledSchedule

STATES = ("unsubmitted", "waiting", "holding", "running", "ended")


class Standing(NamedTuple):
    """The state of every job, one of `STATES`, and since when it holds (NaN where it does not)."""

    state: np.ndarray
    since: np.ndarray


def moments(schedule: CoupledSchedule) -> np.ndarray:
    """Seconds at which somebody is submitted, first tries, holds, is released, starts or ends."""
    jobs, holds = schedule.workload.jobs, schedule.holds
    times = [jobs["submit_time"], schedule.first_try, schedule.start_time, schedule.end_time]
    times += [
        holds["start"],
        holds["end"],
        [time for _, *span in schedule.outages for time in span],
    ]
    every = np.concatenate([np.asarray(each, dtype=np.float64) for each in times])
    return np.unique(every[np.isfinite(every)])


def standing(schedule: CoupledSchedule, at: float) -> Standing:
    """What every job does at a moment."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    state = np.where(submit_time <= at, "waiting", "unsubmitted").astype(object)
    since = np.full(len(state), np.nan)
    held = schedule.holds[(schedule.holds["start"] <= at) & (at < schedule.holds["end"])]
    since[held["job"].to_numpy()] = held["start"].to_numpy()
    state[~np.isnan(since)] = "holding"
    state[schedule.start_time <= at] = "running"
    state[schedule.end_time <= at] = "ended"
    return Standing(state, since)


def free_nodes(schedule: CoupledSchedule, at: float) -> pd.Series:
    """Nodes of each machine that nobody runs on or holds at a moment."""
    now = standing(schedule, at).state
    nodes = schedule.workload.jobs["nodes"].where(np.isin(now, ("holding", "running")), 0)
    taken = nodes.groupby(schedule.partition.to_numpy()).sum()
    total = pd.Series(dict(schedule.system.partitions), name="free_nodes")
    return total.sub(taken, fill_value=0).reindex(total.index).astype("int64")


def delayed_by(schedule: CoupledSchedule, at: float, job: int) -> np.ndarray:
    """Who might have the reservation that a waiting job, whose mates are ready, would delay.

    The jobs of its machine's queue that do not fit, of which the most urgent has a reservation;
    nobody where the job does not fit itself, waits for mates, or its machine is down.
    """
    now = standing(schedule, at).state
    nodes = schedule.workload.jobs["nodes"].to_numpy()
    machine, group = schedule.partition[job], schedule.group[job]
    free = free_nodes(schedule, at)[machine]
    unready = (schedule.group == group) & np.isin(now, ("unsubmitted", "waiting"))
    waits_for_mates = group >= 0 and unready.sum() > 1
    down = any(name == machine and begin <= at < end for name, begin, end in schedule.outages)
    if now[job] != "waiting" or nodes[job] > free or waits_for_mates or down:
        return np.array([], dtype=np.int64)
    here = (schedule.partition == machine).to_numpy() & (now == "waiting")
    return np.flatnonzero(here & (nodes > free))


def deadlock(schedule: CoupledSchedule, at: float) -> pd.DataFrame:
    """Who of a deadlock waits at a moment for whom.

    Returns
    -------
    pd.DataFrame
        A row a job that waits for nodes, or for its turn where it would delay one that does:
        `job`; its mate, that `holds` for it; and `behind`, the job of the deadlock that has held
        nodes of `job`'s machine longest, apart from its own group's. Empty where there is no
        deadlock.
    """
    now = standing(schedule, at)
    members = {
        group: np.flatnonzero(schedule.group == group)
        for group in np.unique(schedule.group[now.state == "holding"])
    }
    stuck = {group for group, jobs in members.items() if _all_submitted(now.state[jobs])}
    heads = {
        int(job): delayed_by(schedule, at, job)
        for group in stuck
        for job in members[group][now.state[members[group]] == "waiting"]
    }
    blocked = partial(_blocked, schedule, at, now, members, heads)
    while free := [group for group in stuck if not blocked(stuck, group)]:
        stuck -= set(free)
    rows = []
    for group in sorted(stuck):
        holder = _eldest(now, members[group])
        for job in blocked(stuck, group):
            rows.append(
                (job, holder, _eldest(now, _in_the_way(schedule, now, members, stuck, job)))
            )
    return pd.DataFrame(rows, columns=["job", "holds", "behind"], dtype="int64")


def circle(schedule: CoupledSchedule, at: float) -> list[int]:
    """Jobs of a deadlock each of which waits for the next, the first again at the end.

    By turns a job that holds and its mate that waits, behind the next one that holds; empty where
    there is no deadlock.
    """
    table = deadlock(schedule, at)
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


def _all_submitted(states: np.ndarray) -> bool:
    return bool((states != "unsubmitted").all())


def _blocked(
    schedule: CoupledSchedule,
    at: float,
    now: Standing,
    members: dict,
    heads: dict,
    stuck: set,
    group: int,
) -> list[int]:
    """The waiting jobs of a group that cannot start beside what other stuck groups hold."""
    nodes = schedule.workload.jobs["nodes"].to_numpy()
    blocked = []
    for job in members[group][now.state[members[group]] == "waiting"].tolist():
        holders = _in_the_way(schedule, now, members, stuck, job)
        room = schedule.system.partitions[schedule.partition[job]] - nodes[holders].sum()
        barred = len(heads[job]) > 0 and bool((nodes[heads[job]] > room).all())
        if nodes[job] > room or (barred and _starts_after(schedule, at, job, holders)):
            blocked.append(job)
    return blocked


def _starts_after(schedule: CoupledSchedule, at: float, job: int, holders: np.ndarray) -> bool:
    """Whether a job does not start before one of those who hold now gives its nodes back."""
    holds = schedule.holds
    current = holds["job"].isin(holders) & (holds["start"] <= at) & (at < holds["end"])
    return not schedule.start_time[job] < holds.loc[current, "end"].min()


def _in_the_way(
    schedule: CoupledSchedule, now: Standing, members: dict, stuck: set, job: int
) -> np.ndarray:
    """Jobs of stuck groups that hold nodes of a waiting job's machine, where its group has none."""
    jobs = np.concatenate([members[group] for group in sorted(stuck)])
    here = schedule.partition.to_numpy()[jobs] == schedule.partition[job]
    return jobs[here & (now.state[jobs] == "holding")]


def _eldest(now: Standing, jobs: np.ndarray) -> int:
    """Of some jobs the one that has held longest."""
    return int(jobs[np.nanargmin(now.since[jobs])])
