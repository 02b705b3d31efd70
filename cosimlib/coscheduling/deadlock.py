"""Deadlock of coupled machines: states of jobs at an instant, and circular waits.

The state at an instant is that after all its events: a job that starts then runs, one that ends
then has ended.

A *deadlock* is a set of groups of mates each of which has a job that holds nodes, and each of which
needs, for a waiting mate, more nodes than the other groups of the set leave on that mate's machine.
None of their jobs can start before held nodes are released. The largest such set is found by graph
reduction (Holt, 1972): as long as there is one, a group is removed that could start if all groups
removed before had given their nodes back.

`deadlock_example` has the smallest machines that can deadlock, after the circle that Tang et al.
show on their slides, with made-up jobs. Two machines have five nodes each, and their first two
pairs of mates cross: a1 waits for b2, behind b1; b1 waits for a2, behind a1. The four take three
nodes each, so that no two of them fit on one machine.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.coscheduling.mates import couple
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

STATES = ("unsubmitted", "waiting", "holding", "running", "ended")
MACHINES = System.of(A=5, B=5)
JOBS = {
    "A": [(0, 20, 3), (12, 20, 3), (16, 15, 2), (35, 20, 2), (50, 10, 4), (65, 25, 1)],
    "B": [(4, 20, 3), (8, 20, 3), (14, 10, 2), (30, 15, 3), (45, 30, 2), (60, 10, 4)],
}
"""Minute of submission, minutes of run time, nodes."""
PAIRS = ((0, 1), (1, 0), (2, 2), (3, 3), (4, 4), (5, 5))
"""Rows of A and of B that are mates, in the order in which they become so."""


class JobStates(NamedTuple):
    """The state of each job, one of `STATES`, and since when it holds (NaN if it does not)."""

    state: np.ndarray
    held_since: np.ndarray


def event_times(schedule: CoupledSchedule) -> np.ndarray:
    """Ascending times (s) of submissions, tries, holds, releases, starts, ends and outages."""
    jobs, holds = schedule.workload.jobs, schedule.holds
    times = [jobs["submit_time"], schedule.first_try, schedule.start_time, schedule.end_time]
    times += [holds["start"], holds["end"]]
    times += [[time for _, *span in schedule.outages for time in span]]
    events = np.concatenate([np.asarray(each, dtype=np.float64) for each in times])
    return np.unique(events[np.isfinite(events)])


def job_states(schedule: CoupledSchedule, at: float) -> JobStates:
    """State of each job at an instant, after all events of that instant."""
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
    """Free nodes per machine at an instant: neither used nor held."""
    state = job_states(schedule, at).state
    nodes = schedule.workload.jobs["nodes"].where(np.isin(state, ("holding", "running")), 0)
    taken = nodes.groupby(schedule.partition.to_numpy()).sum()
    total = pd.Series(dict(schedule.system.partitions), name="free_nodes")
    return total.sub(taken, fill_value=0).reindex(total.index).astype("int64")


def find_deadlock(schedule: CoupledSchedule, at: float) -> pd.DataFrame:
    """Deadlock at an instant: one row per job that waits in it; no row if there is none.

    Returns
    -------
    pd.DataFrame
        `job`, which waits for nodes; its mate that `holds` for it; and `behind`, the job of the
        deadlock that has held nodes of `job`'s machine longest.
    """
    states = job_states(schedule, at)
    submitted = pd.Series(states.state != "unsubmitted").groupby(schedule.group).all()
    held = np.unique(schedule.group[states.state == "holding"])
    locked = {group for group in held if submitted[group]}
    while free := [group for group in locked if not _blocked(schedule, states, locked, group)]:
        locked -= set(free)
    rows = []
    for group in sorted(locked):
        holder = _longest_holder(states, np.flatnonzero(schedule.group == group))
        for job in _blocked(schedule, states, locked, group):
            behind = _longest_holder(states, _holders(schedule, states, locked, job))
            rows.append((job, holder, behind))
    return pd.DataFrame(rows, columns=["job", "holds", "behind"], dtype="int64")


def circular_wait(schedule: CoupledSchedule, at: float) -> list[int]:
    """Circular wait: jobs of a deadlock, each waiting for the next; the first comes again last.

    A job that holds and its mate that waits take turns, each mate behind the next job that holds;
    empty if there is no deadlock.
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


def deadlock_example(pairs: int = 2) -> Workload:
    """Six jobs on each of two machines of five nodes, the first `pairs` pairs of them mates.

    Parameters
    ----------
    pairs : int, default 2
        From 0 to 6; from 2 on, machines that both hold can deadlock.
    """
    check.whole("pairs", pairs, 0, len(PAIRS), floats=True)
    machines = {}
    for machine, rows in JOBS.items():
        jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"])
        times = jobs[["submit_time", "run_time"]] * MINUTE
        jobs = jobs.assign(**times, requested_time=times["run_time"])
        machines[machine] = Workload(jobs, machine)
    mates = pd.DataFrame(PAIRS[: int(pairs)], columns=list(JOBS), dtype="Int64")
    return couple(machines, mates, name=f"{int(pairs)} pairs, the first two crossing")


def _blocked(
    schedule: CoupledSchedule, states: JobStates, locked: set[int], group: int
) -> list[int]:
    """The waiting jobs of a group that cannot start beside what other locked groups hold."""
    nodes, partitions = schedule.workload.jobs["nodes"].to_numpy(), schedule.system.partitions
    waiting = np.flatnonzero((schedule.group == group) & (states.state == "waiting"))
    return [
        job
        for job in waiting.tolist()
        if nodes[job] + nodes[_holders(schedule, states, locked, job)].sum()
        > partitions[schedule.partition[job]]
    ]


def _holders(
    schedule: CoupledSchedule, states: JobStates, locked: set[int], job: int
) -> np.ndarray:
    """Jobs of locked groups that hold nodes of a waiting job's machine; none is of its group."""
    machine = schedule.partition_number
    holding = (states.state == "holding") & np.isin(schedule.group, list(locked))
    return np.flatnonzero(holding & (machine == machine[job]))


def _longest_holder(states: JobStates, jobs: np.ndarray) -> int:
    """The one of some jobs that has held longest."""
    return int(jobs[np.nanargmin(states.held_since[jobs])])
