"""First come, first served, and backfilling around a reservation for the queue's head.

Jobs are rigid and run on one partition, the system's first. At every instant at which something
ends or is submitted, all ends and then all submissions of that instant are absorbed, and then the
queue is gone through once, in order of submission (ties: the lower job first).

FCFS starts the head of the queue as long as it fits; nobody overtakes anybody.

EASY (Lifka 1995) does the same, and then promises the blocked head the earliest time at which it
fits if every running job ends when its user said: the *shadow time*. The nodes that the head leaves
over then are the *extra nodes*. Each later job, in order, starts now if it fits now and either ends
by the shadow time, ``now + requested_time <= shadow_time``, or takes no more than the extra nodes,
of which it then uses up its own. So the head is never delayed beyond its promise, the others may
be (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001). Shadow time and extra nodes are found anew at
every pass: a job that ends early moves the promise forward.

Two cases that papers leave open. A running job that has outlived its requested time is expected to
end now: at ``max(start_time + requested_time, now)``. A job of zero run time holds its nodes to the
end of the pass that starts it; its end is then absorbed and there is another pass at the same
instant, until a pass starts no such job.

Why a pass after submissions alone may test the new jobs only: free nodes are as they were. A job
that overtook took back its nodes by the shadow time or paid with extra nodes, so shadow time and
what is left of the extra nodes stand, as long as the shadow time has not passed. A job that was
refused did not fit, or would have ended too late, and ends later still if it starts later.
"""

from dataclasses import replace
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.kernels import clock, profile
from cosimlib.kernels.clock import TAKEN, Queue
from cosimlib.kernels.compiling import kernel
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import ACCOUNT_COLUMNS, JobArrays, Workload


class _Running(NamedTuple):
    """Starts of all jobs, the heap of ends, and the profile of promised ends with its size."""

    start_time: np.ndarray
    ends: list[tuple[float, int]]
    times: np.ndarray
    nodes: np.ndarray
    size: np.ndarray


def simulate_fcfs(workload: Workload, system: System, *, kill_at_request: bool = False) -> Schedule:
    """Start jobs strictly in order of submission, on the system's first partition.

    Parameters
    ----------
    workload : Workload
        Needs no requested times unless `kill_at_request`.
    system : System
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    Schedule
        Of policy ``"FCFS"``.

    Raises
    ------
    InvalidWorkloadError
        Where a job is wider than the partition, or a requested time is needed and missing.
    """
    if kill_at_request:
        workload = _killed_at_request(workload, system)
    jobs = workload.arrays(system, requested_time=False)
    start_time = _fcfs(jobs, _capacity(system))
    return Schedule.from_starts(workload, system, start_time, "FCFS")


def simulate_easy(workload: Workload, system: System, *, kill_at_request: bool = False) -> Schedule:
    """Backfill around one reservation, the queue head's, on the system's first partition.

    A running job that has outlived its requested time is expected to end now, at
    ``max(start_time + requested_time, now)``.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    Schedule
        Of policy ``"EASY"``.

    Raises
    ------
    InvalidWorkloadError
        Where a job is wider than the partition, or has no requested time.
    """
    if kill_at_request:
        workload = _killed_at_request(workload, system)
    start_time = _easy(workload.arrays(system), _capacity(system))
    return Schedule.from_starts(workload, system, start_time, "EASY")


def _capacity(system: System) -> int:
    """Nodes of the first partition."""
    return next(iter(system.partitions.values()))


def _killed_at_request(workload: Workload, system: System) -> Workload:
    """The workload with run times cut at the requested time, and that said in its account."""
    jobs = workload.arrays(system)
    run_time = np.minimum(jobs.run_time, jobs.requested_time)
    killed = int((run_time < jobs.run_time).sum())
    entry = pd.DataFrame(
        [("mended", "run_time cut at requested_time", killed)], columns=list(ACCOUNT_COLUMNS)
    )
    return replace(
        workload,
        jobs=workload.jobs.assign(run_time=run_time),
        account=pd.concat([workload.account, entry], ignore_index=True),
    )


@kernel
def _fcfs(jobs: JobArrays, total_nodes: int) -> np.ndarray:
    """Start times: each job's is the first instant, from its predecessor's on, at which it fits."""
    start_time = np.full(jobs.submit_time.size, np.nan)
    ends = clock.no_ends()
    free = total_nodes
    now = -np.inf
    for job in range(start_time.size):
        now = max(now, jobs.submit_time[job])
        while len(ends) > 0 and (ends[0][0] <= now or free < jobs.nodes[job]):
            end, ended = heappop(ends)
            now = max(now, end)
            free += jobs.nodes[ended]
        start_time[job] = now
        free -= jobs.nodes[job]
        heappush(ends, (now + jobs.run_time[job], job))
    return start_time


@kernel
def _easy(jobs: JobArrays, total_nodes: int) -> np.ndarray:
    """Start times: one pass an instant, `shadow_time` minus infinity while there is none."""
    n = jobs.submit_time.size
    queue = Queue(np.empty(n, np.int64), np.empty(n, np.int64))
    running = _nothing_runs(n, total_nodes)
    submit_time, ends, wanted = jobs.submit_time, running.ends, queue.wanted
    free, submitted, ended, first, last = total_nodes, 0, 0, 0, 0
    shadow_time, extra = -np.inf, 0
    while submitted < n or len(ends) > 0:
        now = clock.next_instant(submit_time, submitted, ends)
        # Calls stand behind conditions because handing arrays over costs more than most passes.
        if len(ends) > 0 and ends[0][0] <= now:
            retired, freed = _retire(jobs, running, now)
            ended += retired
            free += freed
            shadow_time = -np.inf
            if last - first > 2 * (submitted - ended - len(ends)) + 16:
                first, last = 0, clock.compact(queue, first, last)
        untested = last
        if submitted < n and submit_time[submitted] <= now:
            submitted, last = clock.admit(queue, submit_time, jobs.nodes, submitted, last, now)
        if first < last and wanted[first] <= free:
            first, free = _start_heads(jobs, queue, running, first, last, free, now)
        if free == 0 or first + 1 >= last:
            continue
        if now > shadow_time:
            untested = first + 1
            shadow_time, extra = profile.shadow(
                running.times, running.nodes, running.size[0], free, wanted[first], now
            )
        free, extra = _overtake(jobs, queue, running, untested, last, free, now, shadow_time, extra)
    return running.start_time


@kernel
def _nothing_runs(n: int, total_nodes: int) -> _Running:
    """No job has started; room for as many promises as can be open at a time."""
    room = min(n, total_nodes)
    return _Running(
        np.full(n, np.nan),
        clock.no_ends(),
        np.empty(room, np.float64),
        np.empty(room, np.int64),
        np.zeros(1, np.int64),
    )


@kernel
def _retire(jobs: JobArrays, running: _Running, now: float) -> tuple[int, int]:
    """Absorb every end up to `now`; return how many jobs and how many nodes they held."""
    retired, freed = 0, 0
    ends = running.ends
    while len(ends) > 0 and ends[0][0] <= now:
        _, job = heappop(ends)
        retired += 1
        freed += jobs.nodes[job]
        promised = running.start_time[job] + jobs.requested_time[job]
        running.size[0] = profile.redeem(
            running.times, running.nodes, running.size[0], promised, jobs.nodes[job]
        )
    return retired, freed


@kernel
def _start(jobs: JobArrays, running: _Running, job: int, now: float) -> None:
    """Let `job` run from `now`: its start, its end, and the end it promised."""
    running.start_time[job] = now
    heappush(running.ends, (now + jobs.run_time[job], job))
    running.size[0] = profile.promise(
        running.times,
        running.nodes,
        running.size[0],
        now + jobs.requested_time[job],
        jobs.nodes[job],
    )


@kernel
def _start_heads(
    jobs: JobArrays, queue: Queue, running: _Running, first: int, last: int, free: int, now: float
) -> tuple[int, int]:
    """Start from the front what fits; return where the blocked head is, and the free nodes."""
    while first < last:
        wanted = queue.wanted[first]
        if wanted != TAKEN:
            if wanted > free:
                break
            _start(jobs, running, queue.job[first], now)
            free -= wanted
        first += 1
    return first, free


@kernel
def _overtake(
    jobs: JobArrays,
    queue: Queue,
    running: _Running,
    first: int,
    last: int,
    free: int,
    now: float,
    shadow_time: float,
    extra: int,
) -> tuple[int, int]:
    """Start what fits without delaying the head; return the nodes left free and left extra."""
    queued, wanted, requested_time = queue.job, queue.wanted, jobs.requested_time
    for place in range(first, last):
        if wanted[place] > free:
            continue
        job = queued[place]
        if now + requested_time[job] > shadow_time:
            if wanted[place] > extra:
                continue
            extra -= wanted[place]
        _start(jobs, running, job, now)
        free -= wanted[place]
        wanted[place] = TAKEN
        if free == 0:
            break
    return free, extra
