"""First come, first served, or any other strict order: while the head waits, all jobs wait."""

from heapq import heappop, heappush

import numpy as np

from cosimlib.batch.orders import Order, policy_name, prepare
from cosimlib.kernels import ranked, running
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.queue import HEAD_FIRST, SUBMITTED
from cosimlib.kernels.ranked import ADMITTED, WAITING
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import JobArrays, Workload


def simulate_fcfs(
    workload: Workload, system: System, *, order: Order = "submit", kill_at_request: bool = False
) -> Schedule:
    """Start jobs strictly in the queue's order.

    Parameters
    ----------
    workload : Workload
        Needs no requested times unless `kill_at_request`, or the order is by them.
    system : System
        Of one partition.
    order : str, pd.Series or np.ndarray, default "submit"
        One of `ORDERS`, a column, or one number per job, lowest first (see `cosimlib.batch`).
        Without backfilling `sjbf` is `submit`.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.

    Returns
    -------
    Schedule
        Of policy ``"FCFS"``, or ``"FCFS (shortest)"`` and so on.

    Raises
    ------
    InvalidWorkloadError
        Where a job is wider than the system, a number that is needed is missing, or the system
        has several partitions.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> cs.simulate_fcfs(workload, cs.System.of(4)).start_time
    array([ 0., 10., 10.])
    """
    run = prepare(workload, system, order, kill_at_request, requested_time=False)
    if run.kind in (SUBMITTED, HEAD_FIRST):
        start_time = _in_order_of_submission(run.jobs, run.total_nodes)
    else:
        start_time = _in_order(run.jobs, run.rank, run.kind, run.total_nodes)
    return Schedule.from_starts(run.workload, system, start_time, policy_name("FCFS", order))


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
def _in_order(jobs: JobArrays, rank: np.ndarray, kind: int, total_nodes: int) -> np.ndarray:
    """Start times: one pass per instant starts the head of the queue as long as it fits."""
    n = jobs.submit_time.size
    start_time, ends, ordered = np.full(n, np.nan), running.empty_ends(), ranked.empty(n)
    free, waiting, counts = total_nodes, ordered.waiting, ordered.counts
    while counts[ADMITTED] < n or len(ends) > 0:
        now = running.next_instant(jobs.submit_time, counts[ADMITTED], ends)
        while len(ends) > 0 and ends[0][0] <= now:
            free += jobs.nodes[heappop(ends)[1]]
        while counts[ADMITTED] < n and jobs.submit_time[counts[ADMITTED]] <= now:
            ranked.submit(ordered, jobs, rank, kind)
        while free > 0 and counts[WAITING] > 0:
            place = ranked.head(ordered, jobs, rank, start_time, kind, now)
            job = waiting.job[place]
            if jobs.nodes[job] > free:
                break
            start_time[job] = now
            free -= jobs.nodes[job]
            heappush(ends, (now + jobs.run_time[job], job))
            ranked.take(ordered, jobs, kind, place)
    return start_time
