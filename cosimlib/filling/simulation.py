"""Conservative backfilling in time slots, and containers on every node that it leaves idle.

S. P. Polyakov and Yu. Yu. Dubenskaya, Improving the Load of Supercomputers Based on Job Migration
Using Container Virtualization, GRID 2018. Besides the regular jobs there is an endless supply of
one-node jobs of any length, each in a container that can be saved and go on elsewhere; they take
every node that is idle.

*Regular jobs.* The scheduler acts at the beginnings of time slots only: what was submitted or has
ended during a slot is seen when the next one begins. Every queued job has a reservation. At its
submission it gets the earliest start at which its nodes are free for as long as it asks; where a
job ends early, each waiting job in order of submission moves to such a start before its own
reservation, if there is one. So no job starts later than promised; only where a job outlives its
request, and the nodes are needed, is the whole plan made anew, in order of submission.
`queue_depth` limits the queue: the others are let in, and get their reservations, as places become
free.

*Containers.* ``overhead`` (the paper's t) is the time to start and to save one, as a part of a
slot, ``speed`` (c) is that in a container relative to a regular job's.

- Policy A: each runs for one slot and is saved before the slot ends, whatever follows. Its node is
  free whenever the scheduler acts.
- Policy B: each runs on and is saved in the slot before a reservation that needs its node. What the
  plan does not show one slot ahead, because a job ended early or was just submitted, finds the
  node taken. With ``reclaim="save"`` nodes of containers that were not to be saved are not free in
  the slot that begins: the regular job waits a slot until they are saved or, where it then no
  longer fits, longer. With ``reclaim="kill"`` the container is killed and what it computed since
  its start is lost.

Containers that stop are the youngest, which is the least loss; which of them stops makes no other
difference. Containers run from the first submission to the last end.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.filling.schedule import FilledSchedule, whole_slots
from cosimlib.filling.slots import SlotArrays, fill
from cosimlib.kernels.steps import step_function
from cosimlib.system import System
from cosimlib.workload import Workload


def simulate_filling(
    workload: Workload,
    system: System,
    *,
    policy: str | None = "A",
    slot: float = 60.0,
    overhead: float = 0.1,
    speed: float = 1.0,
    reclaim: str = "save",
    queue_depth: int | None = None,
) -> FilledSchedule:
    """Conservative backfilling in time slots, with filler containers on idle nodes.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
        Of one partition.
    policy : {"A", "B", None}
        When containers are saved: after each slot, or before the next reservation. None: there are
        no containers.
    slot : float, default 60.0
        Whole seconds, the paper's minute.
    overhead : float, default 0.1
        The paper's t, from 0 to below 1. It names no value.
    speed : float, default 1.0
        The paper's c, above 0 and up to 1; containers "impose little to no overhead".
    reclaim : {"save", "kill"}
        Under policy B, what happens where a regular job could start on a node whose container was
        not to be saved.
    queue_depth : int, optional
        Most jobs that wait with a reservation; by default all that are submitted.

    Returns
    -------
    FilledSchedule

    Raises
    ------
    InvalidWorkloadError
        Where a job is wider than the system or has no requested time, or the system has several
        partitions.
    """
    _check(policy, slot, overhead, speed, reclaim, queue_depth)
    jobs = _in_slots(workload, system, slot)
    depth = max(1, len(workload)) if queue_depth is None else int(queue_depth)
    hold_back = policy == "B" and reclaim == "save"
    start, promised, held_up, containers = fill(jobs, system.total_nodes, depth, hold_back)
    if policy == "A":
        containers = _slot_by_slot(jobs, start, system.total_nodes)
    start_time = start * slot
    return FilledSchedule(
        workload,
        system,
        {"A": "filling A", "B": f"filling B, {reclaim}", None: "not filled"}[policy],
        start_time,
        start_time + workload.jobs["run_time"].to_numpy(),
        _container_table(containers if policy else containers[:0], slot, each_slot=policy == "A"),
        promised * slot,
        held_up,
        policy,
        reclaim,
        float(slot),
        float(overhead),
        float(speed),
    )


def _check(
    policy: str | None,
    slot: float,
    overhead: float,
    speed: float,
    reclaim: str,
    queue_depth: int | None,
) -> None:
    """Raise for the first argument that is out of its range."""
    here = "filling"
    whole = check.is_number(slot) and 0 < slot < np.inf and slot % 1 == 0
    check.that("policy", policy, policy in ("A", "B", None), "'A', 'B' or None", where=here)
    check.that("reclaim", reclaim, reclaim in ("save", "kill"), "'save' or 'kill'", where=here)
    check.that("slot", slot, whole, "whole seconds above 0, such as 60", where=here)
    part = "a part of a slot,"
    check.number("overhead", overhead, least=0, below=1, kind=part, where=here)
    part = "that of a regular job (1) or a part of it,"
    check.number("speed", speed, above=0, most=1, kind=part, where=here)
    check.whole("queue_depth", queue_depth, 1, floats=True, none=True, where=here)


def _in_slots(workload: Workload, system: System, slot: float) -> SlotArrays:
    """Submissions seen at the next slot, times rounded up, one slot or more for each job."""
    jobs = workload.arrays(system)
    return SlotArrays(
        whole_slots(jobs.submit_time, slot),
        np.maximum(whole_slots(jobs.run_time, slot), 1),
        np.maximum(whole_slots(jobs.requested_time, slot), 1),
        jobs.nodes,
    )


def _slot_by_slot(jobs: SlotArrays, start: np.ndarray, capacity: int) -> np.ndarray:
    """Policy A: from when to when how many containers run, each of them slot by slot."""
    if not start.size:
        return np.empty((0, 4))
    times, busy = step_function(start, start + jobs.run, jobs.nodes)
    times, busy = np.append(jobs.submit[0], times), np.append(0, busy)
    idle = capacity - busy[:-1]
    rows = np.stack([times[:-1], times[1:], idle, np.ones_like(idle)], axis=1)
    return rows[(idle > 0) & (times[:-1] < times[1:])]


def _container_table(rows: np.ndarray, slot: float, *, each_slot: bool) -> pd.DataFrame:
    """`FilledSchedule.containers` of rows (first slot, end, nodes, saved), times in slots."""
    begin, end, nodes, saved = rows.T
    starts = end - begin if each_slot else np.ones(len(rows))
    return pd.DataFrame(
        {
            "start_time": begin * slot,
            "end_time": end * slot,
            "nodes": nodes.astype(np.int64),
            "starts": starts.astype(np.int64),
            "saved": saved == 1,
        }
    )
