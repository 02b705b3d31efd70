"""Filler containers: conservative backfilling in time slots, and containers on all idle nodes.

S. P. Polyakov and Yu. Yu. Dubenskaya, Improving the Load of Supercomputers Based on Job Migration
Using Container Virtualization, GRID 2018. Besides the regular jobs, there is an endless supply of
one-node jobs of any length. Each runs in a *container*, which can be saved and continued on another
node. Containers run on every idle node.

*Regular jobs.* The scheduler acts only at the beginning of a time slot. It sees submissions and
ends during a slot when the next slot begins. Every queued job has a reservation. At its submission,
it gets the earliest start at which enough nodes are free for its whole requested time. When a job
ends early, each waiting job, in order of submission, moves to an earlier start if there is one. In
the paper's other variant, ``reschedule=False``, no job moves, and only jobs that enter the queue
later fit the gap. So no job starts later than promised, with one exception: a job runs longer than
its request and its nodes are needed. Then the whole plan is made again in order of submission. With
``kill_at_request=True`` jobs are killed at their request, so this never happens. `queue_depth`
limits the number of jobs with reservations; other jobs get theirs as places become free.

*Containers.* ``overhead`` (the paper's t) is the time to start and to save a container, as a part
of a slot. ``speed`` (the paper's c) is the speed inside a container relative to a regular job's.

- Policy A: each container runs for one slot and is saved before the slot ends. Its node is free
  whenever the scheduler acts.
- Policy B: each container runs on. It is saved in the slot before a reservation that needs its
  node. The plan cannot always show this one slot ahead: a job may have ended early or was just
  submitted. Then a regular job finds the node taken. With ``reclaim="save"`` the node is not free
  in the slot that begins. The regular job waits one slot until the container is saved, or longer if
  it then no longer fits. With ``reclaim="kill"`` the container is killed, and its work since its
  start is lost.
- Policy C, which is ours: each container runs on and is saved after every ``save_every`` slots,
  then continues at once. It is saved or killed as under policy B with ``reclaim="kill"``. The work
  since its last save is lost. A save in the middle costs as much as a start and a save, because the
  paper's t is not divided between them. With ``save_every=1`` it is policy A; with more slots than
  any container runs it is policy B that kills. The best value is in between (see `young_interval`).

When containers must stop, the youngest stop, because they lose least; otherwise the choice makes no
difference. Containers run from the first submission to the last end.
"""

from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch.orders import prepare
from cosimlib.filling.kernel import JOB, RUN, fill
from cosimlib.filling.schedule import FilledSchedule, policy_name, split_by_saves, whole_slots
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.records import records
from cosimlib.kernels.steps import step_function
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, JobArrays, Workload

FILLING_POLICIES: dict[str, dict[str, Any]] = {
    "not filled": {"policy": None},
    "filling A": {"policy": "A"},
    "filling B, save": {"policy": "B", "reclaim": "save"},
    "filling B, kill": {"policy": "B", "reclaim": "kill"},
    "filling C, 10 slots": {"policy": "C", "save_every": 10},
}
"""Arguments of `simulate_filling` by the names that tables and figures use."""

MOST_PLANNED, MOST_PLANNED_PER_JOB = 1_000_000, 20_000
"""Reservations made again in slots in which jobs outlive their requests: at most so many, and per
job so many more. A million take less than a second.
"""


def simulate_filling(
    workload: Workload,
    system: System,
    *,
    policy: str | None = "A",
    slot: float = 60.0,
    overhead: float = 0.1,
    speed: float = 1.0,
    reclaim: str = "save",
    save_every: int = 10,
    queue_depth: int | None = None,
    reschedule: bool = True,
    kill_at_request: bool = False,
) -> FilledSchedule:
    """Filler containers on idle nodes, under conservative backfilling in time slots.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
        Of one partition.
    policy : {"A", "B", "C", None}
        When containers are saved. A: after each slot; B: before a reservation; C: before a
        reservation and after every `save_every` slots. None: there are no containers.
    slot : float, default 60.0
        Whole seconds, the paper's minute.
    overhead : float, default 0.1
        The paper's t, from 0 to below 1. The paper gives no value.
    speed : float, default 1.0
        The paper's c, above 0 and up to 1; containers "impose little to no overhead".
    reclaim : {"save", "kill"}
        Under policy B, what happens to a container if a regular job could start on its node and
        the save was not planned.
    save_every : int, default 10
        Under policy C, number of slots after which a container is saved.
    queue_depth : int, optional
        Most waiting jobs with a reservation; by default all.
    reschedule : bool, default True
        Whether waiting jobs move to earlier starts when a job ends early.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    FilledSchedule

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the system or has no requested time; if the system has several
        partitions; or if jobs run so much longer than their requests that planning the waiting
        jobs again in each slot would take longer than a second (for large logs, minutes).

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> filled = cs.audit(cs.simulate_filling(workload, cs.System.of(4), slot=1.0))
    >>> (cs.metrics.node_hours_by_use(filled) * 3600).round(3)
    use
    run          65.0
    container    15.0
    idle          0.0
    Name: node_hours, dtype: float64
    """
    _check(policy, slot, overhead, speed, reclaim, save_every, queue_depth)
    check.flag("reschedule", reschedule, where="filling")
    run = prepare(workload, system, "submit", kill_at_request, requested_time=True)
    workload, jobs = run.workload, _in_slots(run.jobs, slot)
    depth = min(int(queue_depth or jobs.size), jobs.size)
    most = MOST_PLANNED + MOST_PLANNED_PER_JOB * jobs.size
    runs = records(
        1,
        RUN,
        capacity=system.total_nodes,
        depth=depth,
        hold_back=policy == "B" and reclaim == "save",
        reschedule=reschedule,
        most_planned=most,
        before=-np.inf,
    )
    plan = np.recarray(2 * (min(jobs.size, system.total_nodes) + depth) + 8, BREAKPOINT)
    rows = np.array(fill(jobs, plan, np.empty(depth, np.int64), runs)).reshape(-1, 4)
    _check_overdue(workload, jobs.start, slot, most)
    containers = _container_table(rows if policy else rows[:0], slot)
    every = {"A": 1, "C": int(save_every)}.get(str(policy))
    if policy == "A":
        containers = _container_table(_slot_by_slot(jobs, system.total_nodes), slot)
    if every is not None:
        containers = split_by_saves(containers, every * slot)
    start_time = jobs.start * slot
    return FilledSchedule(
        workload,
        system,
        policy_name(policy, reclaim, every),
        start_time,
        start_time + workload.jobs["run_time"].to_numpy(),
        containers,
        jobs.promised * slot,
        jobs.held_up == 1,
        policy,
        "kill" if policy == "C" else reclaim,
        every,
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
    save_every: int,
    queue_depth: int | None,
) -> None:
    """Raise an error for the first argument that is out of its range."""
    here = "filling"
    whole = check.is_number(slot) and 0 < slot < np.inf and slot % 1 == 0
    check.that("policy", policy, policy in (*"ABC", None), "'A', 'B', 'C' or None", where=here)
    check.that("reclaim", reclaim, reclaim in ("save", "kill"), "'save' or 'kill'", where=here)
    check.that("slot", slot, whole, "whole seconds above 0, such as 60", where=here)
    part = "a part of a slot,"
    check.number("overhead", overhead, least=0, below=1, kind=part, where=here)
    part = "that of a regular job (1) or a part of it,"
    check.number("speed", speed, above=0, most=1, kind=part, where=here)
    check.whole("save_every", save_every, 1, where=here)
    check.whole("queue_depth", queue_depth, 1, floats=True, none=True, where=here)


def _check_overdue(workload: Workload, start: np.ndarray, slot: float, most: int) -> None:
    """Raise an error if the simulation ended early, for the job that is overdue for longest."""
    started = np.isfinite(start)
    if started.all():
        return
    over = np.where(started, workload.jobs["run_time"] - workload.jobs["requested_time"], -np.inf)
    job = int(over.argmax())
    raise InvalidWorkloadError(
        f"{workload.label(job)} outlives its request by {over[job]:.15g} s, "
        f"{np.ceil(over[job] / slot):,.0f} slots of {slot:g} s: jobs that wait are planned anew in "
        f"each of them, in all more than {most:,} times; take kill_at_request=True or longer "
        "slots, or drop it with Workload.keep"
    )


def _in_slots(jobs: JobArrays, slot: float) -> np.recarray:
    """Submissions seen at the next slot, times rounded up, one slot or more for each job."""
    return records(
        jobs.nodes.size,
        JOB,
        submit_time=whole_slots(jobs.submit_time, slot),
        run_time=np.maximum(whole_slots(jobs.run_time, slot), 1),
        requested_time=np.maximum(whole_slots(jobs.requested_time, slot), 1),
        nodes=jobs.nodes,
        start=np.nan,
        promised=np.nan,
        reserved=np.inf,
        expected_end=np.nan,
    )


def _slot_by_slot(jobs: np.recarray, capacity: int) -> np.ndarray:
    """Policy A: from when to when how many containers run, as rows of `fill`."""
    if not jobs.size:
        return np.empty((0, 4))
    times, busy = step_function(jobs.start, jobs.start + jobs.run_time, jobs.nodes)
    times, busy = np.append(jobs.submit_time[0], times), np.append(0, busy)
    idle = capacity - busy[:-1]
    rows = np.stack([times[:-1], times[1:], idle, np.ones_like(idle)], axis=1)
    return rows[(idle > 0) & (times[:-1] < times[1:])]


def _container_table(rows: np.ndarray, slot: float) -> pd.DataFrame:
    """`FilledSchedule.containers` of rows (first slot, end, nodes, saved), each started once."""
    begin, end, nodes, saved = rows.T
    return pd.DataFrame(
        {
            "start_time": begin * slot,
            "end_time": end * slot,
            "nodes": nodes.astype(np.int64),
            "starts": np.ones(len(rows), np.int64),
            "saved": saved == 1,
        }
    )
