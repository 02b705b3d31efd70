"""Jobs that run: where they end, and where their users said they would.

Ends are a heap of (end time, turn), where a turn is the number of starts before and the job in one
whole number: of jobs that end at the same time the one that started first is first. Announced
ends, ``start_time + requested_time``, are a profile of promises (see `kernels.profile`); a job that
outlives its request leaves its promise there, broken, until it ends.
"""

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from cosimlib.kernels import queue, releases
from cosimlib.kernels.jit import kernel

TURN = 32
JOB = (1 << TURN) - 1


class Running(NamedTuple):
    """Starts of all jobs (NaN before), the heap of ends, the promises.

    `size` has two cells: how many promises there are, and how many jobs have started.
    """

    start_time: np.ndarray
    ends: list[tuple[float, int]]
    times: np.ndarray
    nodes: np.ndarray
    size: np.ndarray


@kernel
def nothing_runs(n: int, total_nodes: int) -> Running:
    """None of `n` jobs has started; room for as many promises as can be open at a time."""
    room = min(n, total_nodes)
    return Running(
        np.full(n, np.nan),
        queue.no_ends(),
        np.empty(room, np.float64),
        np.empty(room, np.int64),
        np.zeros(2, np.int64),
    )


@kernel
def start(jobs: Any, running: Running, job: int, now: float) -> None:
    """Let `job` run from `now`: its start, its end, and the end it promised."""
    running.start_time[job] = now
    heappush(running.ends, (now + jobs.run_time[job], running.size[1] << TURN | job))
    running.size[1] += 1
    running.size[0] = releases.promise(
        running.times,
        running.nodes,
        running.size[0],
        now + jobs.requested_time[job],
        jobs.nodes[job],
    )


@kernel
def end_next(jobs: Any, running: Running) -> int:
    """Let the job that ends first end, promise and all; return its number."""
    job = heappop(running.ends)[1] & JOB
    promised = running.start_time[job] + jobs.requested_time[job]
    running.size[0] = releases.redeem(
        running.times, running.nodes, running.size[0], promised, jobs.nodes[job]
    )
    return job


@kernel
def retire(jobs: Any, running: Running, now: float) -> tuple[int, int]:
    """Absorb every end up to `now`; return how many jobs and how many nodes they held."""
    retired, freed = 0, 0
    while len(running.ends) > 0 and running.ends[0][0] <= now:
        retired += 1
        freed += jobs.nodes[end_next(jobs, running)]
    return retired, freed


@kernel
def overrun(running: Running, now: float) -> bool:
    """Whether a job runs that should have ended by `now`."""
    return running.size[0] > 0 and running.times[0] <= now
