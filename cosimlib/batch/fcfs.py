"""First come, first served, or another strict order: while the head waits, all jobs wait.

In order of submission, a later job never affects an earlier one, so one loop over the jobs finds
their starts. Other orders, and calendars, need the queue of `batch.easy`.
"""

from heapq import heappop, heappush

import numpy as np

from cosimlib.batch.easy import NO_BACKFILLING, simulate_in_passes
from cosimlib.batch.orders import HEAD_FIRST, SUBMITTED, Order, prepare, schedule_of
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.kernels.jit import kernel
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload


def simulate_fcfs(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    kill_at_request: bool = False,
    calendar: Calendar = ALWAYS_OPEN,
) -> Schedule:
    """First come, first served: jobs start strictly in the order of the queue.

    Parameters
    ----------
    workload : Workload
        Needs no requested times unless `kill_at_request`, or the order is by them.
    system : System
        One partition.
    order : str, pd.Series or np.ndarray, default "submit"
        One of `ORDERS`, a column, or one number per job, lowest first (see `cosimlib.batch`).
        Without backfilling `sjbf` is `submit`.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.
    calendar : Calendar, optional
        When nodes are closed; it needs requested times. Runs that a window cuts are cut in the
        schedule's workload.

    Returns
    -------
    Schedule
        Its policy is ``"FCFS"``, or ``"FCFS (shortest)"`` and so on.

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the system, a number that is needed is missing, or the system
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
    run = prepare(workload, system, order, kill_at_request, calendar, requested_time=False)
    if run.kind in (SUBMITTED, HEAD_FIRST) and not len(calendar):
        jobs = run.jobs
        start_time = _starts(jobs.submit_time, jobs.run_time, jobs.nodes, run.total_nodes)
        return schedule_of(run, start_time, jobs.run_time, "FCFS", order)
    return schedule_of(run, *simulate_in_passes(run, NO_BACKFILLING), "FCFS", order)


@kernel
def _starts(
    submit_time: np.ndarray, run_time: np.ndarray, nodes: np.ndarray, total_nodes: int
) -> np.ndarray:
    """Start times in order of submission: of each job once its nodes are free, after the others."""
    start_time, now, free = np.empty(nodes.size), -np.inf, total_nodes
    ends = [(0.0, 0) for _ in range(0)]
    for job in range(nodes.size):
        now = max(now, submit_time[job])
        while free < nodes[job] or (len(ends) > 0 and ends[0][0] <= now):
            end, freed = heappop(ends)
            now, free = max(now, end), free + freed
        start_time[job] = now
        free -= nodes[job]
        heappush(ends, (now + run_time[job], nodes[job]))
    return start_time
