"""Running jobs: the heap of their ends, and the releases expected from their requested times.

The heap holds (end time, key) where the key is the number of starts before and the job in one whole
number: of jobs that end at the same time, the one that started first comes first. A job is expected
to release its nodes at ``start_time + requested_time`` (see `kernels.releases`); the release of a
job that outlives its request stays there, overdue, until the job ends.
"""

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from cosimlib.kernels import releases
from cosimlib.kernels.jit import allocating_kernel, kernel

JOB_BITS = 32
JOB = (1 << JOB_BITS) - 1


class Running(NamedTuple):
    """Starts of all jobs (NaN before), the heap of ends, times and nodes of expected releases.

    `size` has two cells: the number of expected releases, and of jobs that have started.
    """

    start_time: np.ndarray
    ends: list[tuple[float, int]]
    times: np.ndarray
    nodes: np.ndarray
    size: np.ndarray


@kernel
def empty(n: int, total_nodes: int) -> Running:
    """No job of `n` has started; room for as many releases as can be expected at a time."""
    room = min(n, total_nodes)
    return Running(
        np.full(n, np.nan),
        empty_ends(),
        np.empty(room, np.float64),
        np.empty(room, np.int64),
        np.zeros(2, np.int64),
    )


@allocating_kernel
def empty_ends() -> list[tuple[float, int]]:
    """A heap of (end time, job) without jobs, for `heapq`."""
    return [(0.0, 0) for _ in range(0)]


@kernel
def next_instant(submit_time: np.ndarray, submitted: int, ends: list[tuple[float, int]]) -> float:
    """The earlier of the next submission and the next end; infinity where there is neither."""
    instant = np.inf
    if submitted < submit_time.size:
        instant = submit_time[submitted]
    if len(ends) > 0 and ends[0][0] < instant:
        instant = ends[0][0]
    return instant


@kernel
def start(jobs: Any, running: Running, job: int, now: float) -> None:
    """Start `job` now: note its start, its end, and its expected release."""
    running.start_time[job] = now
    heappush(running.ends, (now + jobs.run_time[job], running.size[1] << JOB_BITS | job))
    running.size[1] += 1
    running.size[0] = releases.add(
        running.times,
        running.nodes,
        running.size[0],
        now + jobs.requested_time[job],
        jobs.nodes[job],
    )


@kernel
def end_next(jobs: Any, running: Running) -> int:
    """End the job that ends first and remove its expected release; return the job."""
    job = heappop(running.ends)[1] & JOB
    expected = running.start_time[job] + jobs.requested_time[job]
    running.size[0] = releases.remove(
        running.times, running.nodes, running.size[0], expected, jobs.nodes[job]
    )
    return job


@kernel
def overrun(running: Running, now: float) -> bool:
    """Whether a running job has outlived its request, or does so now."""
    return running.size[0] > 0 and running.times[0] <= now
