"""First fit: backfilling without a reservation, the greedy list scheduling of Garey and Graham.

Each waiting job, in the queue's order, starts if it fits on the nodes that are free now (Garey and
Graham, SIAM J. Comput. 4(2), 1975). No node stays idle while a waiting job would fit on the free
nodes, and no requested times are needed. But no nodes are kept for a blocked head: narrow jobs take
nodes that become free one by one, so a wide job may wait as long as narrow jobs are waiting. Papers
that say "FCFS with backfilling" and name no reservation may mean this rule.

Instants, passes and jobs of zero run time are as under EASY. The only difference is the missing
reservation.
"""

from cosimlib import checks as check
from cosimlib.batch.easy import DECIDE, NO_RESERVATION, simulate_in_passes
from cosimlib.batch.orders import Order, prepare, schedule_of
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload


def simulate_first_fit(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    decide: str = "per_instant",
    kill_at_request: bool = False,
    calendar: Calendar = ALWAYS_OPEN,
) -> Schedule:
    """First fit: every waiting job that fits starts, in the queue's order; no reservation.

    Parameters
    ----------
    workload : Workload
        Needs no requested times unless `kill_at_request`, or the order is by them.
    system : System
        One partition.
    order : str, pd.Series or np.ndarray, default "submit"
        One of `ORDERS`, a column, or one number per job, lowest first (see `cosimlib.batch`): in
        which order the jobs are tested.
    decide : {"per_instant", "per_event"}, default "per_instant"
        One pass after all events of an instant, or one after each event: a job may then start on
        the nodes of one end that another, tested before it, would have needed a moment later.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.
    calendar : Calendar, optional
        When nodes are closed; it needs requested times. Runs that a window cuts are cut in the
        schedule's workload.

    Returns
    -------
    Schedule
        Its policy is ``"first fit"``, or ``"first fit (per event, largest)"`` and so on.

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
    >>> cs.simulate_first_fit(workload, cs.System.of(4)).start_time
    array([ 0., 10.,  2.])
    """
    check.choice("decide", decide, DECIDE)
    by_request = isinstance(order, str) and order == "sjbf"
    run = prepare(workload, system, order, kill_at_request, calendar, requested_time=by_request)
    times = simulate_in_passes(run, NO_RESERVATION, decide)
    details = ["per event"] if decide == "per_event" else []
    return schedule_of(run, *times, "first fit", order, *details)
