"""First come, first served, or any other strict order: the head of the queue waits, all wait."""

from heapq import heappop, heappush

import numpy as np

from cosimlib.batch.orders import policy_name, prepare, rank
from cosimlib.kernels import queue, running
from cosimlib.kernels.jit import kernel
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import JobArrays, Workload


def simulate_fcfs(
    workload: Workload, system: System, *, order: str = "submit", kill_at_request: bool = False
) -> Schedule:
    """Start jobs strictly in the queue's order.

    Parameters
    ----------
    workload : Workload
        Needs no requested times unless `kill_at_request`, or the order is by them.
    system : System
        Of one partition.
    order : str, default "submit"
        One of `ORDERS`: who is the head of the queue when nodes come free. Without backfilling
        `sjbf` is `submit`.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    Schedule
        Of policy ``"FCFS"``, or ``"FCFS (shortest)"`` and so on.

    Raises
    ------
    InvalidWorkloadError
        Where a job is wider than the system, a requested time is needed and missing, or the system
        has several partitions.
    ValueError
        For an unknown order.
    """
    asked, jobs, total_nodes = prepare(
        workload, system, order, kill_at_request, requested_time=False
    )
    if order in ("submit", "sjbf"):
        start_time = _in_order_of_submission(jobs, total_nodes)
    else:
        start_time = _in_order(jobs, rank(jobs, order), order == "wfp", total_nodes)
    return Schedule.from_starts(asked, system, start_time, policy_name("FCFS", order))


@kernel
def _in_order_of_submission(jobs: JobArrays, total_nodes: int) -> np.ndarray:
    """Start times: each job's is the first instant, from its predecessor's on, at which it fits."""
    start_time = np.full(jobs.submit_time.size, np.nan)
    ends = running.empty_ends()
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
def _in_order(jobs: JobArrays, rank: np.ndarray, aging: bool, total_nodes: int) -> np.ndarray:
    """Start times: one pass an instant starts the queue's heads as long as they fit."""
    n = jobs.submit_time.size
    start_time, ends, waiting = np.full(n, np.nan), running.empty_ends(), queue.empty(n)
    free, submitted, last = total_nodes, 0, 0
    while submitted < n or len(ends) > 0:
        now = running.next_instant(jobs.submit_time, submitted, ends)
        while len(ends) > 0 and ends[0][0] <= now:
            free += jobs.nodes[heappop(ends)[1]]
        while submitted < n and jobs.submit_time[submitted] <= now:
            last = queue.insert(waiting, rank, 0, last, submitted, jobs.nodes[submitted])
            submitted += 1
        last = queue.put_in_turn(jobs, waiting, rank, start_time, aging, False, last, now)
        first = 0
        while first < last and waiting.wanted[first] <= free:
            job = waiting.job[first]
            start_time[job] = now
            free -= jobs.nodes[job]
            heappush(ends, (now + jobs.run_time[job], job))
            first += 1
    return start_time
