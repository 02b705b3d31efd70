"""EASY, first fit and FCFS: one pass over the queue, with one reservation or none.

EASY (Lifka 1995) starts the head of the queue as long as it fits. Then it makes a reservation for
the blocked head. The *shadow time* is the earliest time at which the head fits if all running jobs
end at their requested times. The nodes that the head then leaves free are the *extra nodes*. Each
later job, in order, starts now if it fits now and if one of two conditions holds: it ends by the
shadow time, ``now + requested_time <= shadow_time``, or it needs at most the extra nodes (which are
then reduced by its nodes). So no job delays the head beyond its reservation, but other jobs may be
delayed (Mu'alem and Feitelson, IEEE TPDS 12(6), 2001). Shadow time and extra nodes are computed at
every pass: a job that ends early moves the reservation forward.

There is one pass per instant (``decide="per_instant"``), or one after every event
(``"per_event"``). At equal times, ends then come first, one by one, and then submissions, one by
one. A job may then start before another job of the same instant is known, or before all nodes of
the instant are free.

The other rules differ in what later jobs must meet. Without extra nodes (``extra_nodes=False``),
a job may start only if its requested time is less than the time that the head must wait: it ends
strictly before the shadow time, however few nodes it needs.

*First fit* makes no reservation, and a job starts if it fits: the greedy list scheduling of Garey
and Graham (SIAM J. Comput. 4(2), 1975). No node stays idle while a waiting job would fit on the
free nodes, and no requested times are needed. But narrow jobs take nodes that become free one by
one, so a wide job may wait as long as narrow jobs are waiting. Papers that say "FCFS with
backfilling" and name no reservation may mean this rule.

*FCFS*, and every other strict order, starts no later job: while the head waits, all jobs wait.

With a calendar (`cosimlib.calendar`), free nodes also decrease when a known window begins. A job
then fits if its nodes are free for its whole requested time. The shadow time of the head is the
first moment from which it fits, and its nodes are kept for it from then on, for its requested time.
Every other job starts now if it fits in addition to that. Without windows this is the rule above.

A search of the queue finds the next job that may start without looking at all other jobs: see
`batch.queue` and `kernels.tournament`.
"""

import numpy as np

from cosimlib import checks as check
from cosimlib.batch import machine as machines
from cosimlib.batch import queue
from cosimlib.batch.machine import STATE_FLOATS, STATE_INTEGERS, machine_of
from cosimlib.batch.orders import ASKED, Asking, Order, Prepared, prepare, schedule_of
from cosimlib.batch.prediction import Predictions, simulate_predicted
from cosimlib.batch.queue import BLOCK
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.kernels import backfilling
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type
from cosimlib.kernels.tournament import ROOT
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

DECIDE = ("per_instant", "per_event")

EXTRA_NODES, STRICTLY_BEFORE, NO_RESERVATION, NO_BACKFILLING = range(4)
"""What a job that overtakes must meet: end by the shadow time or take extra nodes; end strictly
before the shadow time; nothing; or no job may overtake."""

JOB = record_type(floats=queue.FLOATS, integers=f"{queue.INTEGERS} leaf")
"""A job, and its leaf: 0 where it is still to come, has none yet, or has begun."""

STATE = record_type(
    floats=f"{STATE_FLOATS} longest",
    integers=f"{STATE_INTEGERS} rule per_event oldest leaves width limits",
)
"""State of a simulation: the longest request of all (s); the `rule` of backfilling; whether each
event has a pass; the first job that may still wait; the leaves in use and those of the tree; the
limits of jobs that start now."""


def simulate_easy(
    workload: Workload,
    system: System,
    *,
    order: Order = "submit",
    decide: str = "per_instant",
    extra_nodes: bool = True,
    kill_at_request: bool = False,
    predict: Predictions | None = None,
    calendar: Calendar = ALWAYS_OPEN,
) -> Schedule:
    """EASY backfilling: jobs may overtake if they do not delay the reservation of the queue's head.

    A running job that exceeds its requested time is expected to end now, at ``max(start_time +
    requested_time, now)``.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
        One partition.
    order : str, pd.Series, np.ndarray or function, default "submit"
        One of `ORDERS`, a column, one number per job, lowest first, or a function of the jobs'
        table (and of the moment), see `cosimlib.batch`: which job is the head, and in which order
        the others are tested.
    decide : {"per_instant", "per_event"}, default "per_instant"
        One pass after all events of an instant, or one after each event.
    extra_nodes : bool, default True
        Whether a job that ends after the shadow time may use the extra nodes. If not, a job may
        overtake only if its requested time is less than the time that the head must wait.
    kill_at_request : bool, default False
        Cut runs at the requested time; the schedule's workload then holds the cut run times.
    predict : str, pd.Series or np.ndarray, optional
        Plan by predicted run times, not by requested times: ``"last two"`` is the mean of the
        user's last two jobs that have ended; or seconds per job, for example from
        `cosimlab.predict`. See `cosimlib.batch.prediction`. With ``order="sjbf"``, ``"last two"``
        is EASY++ as in pyss: a job that exceeds its prediction is expected to end at its request.
    calendar : Calendar, optional
        When nodes are closed; not together with `predict`. Runs that a window cuts are cut in the
        schedule's workload.

    Returns
    -------
    Schedule
        Its policy is ``"EASY"``, or ``"EASY (per event, no extra nodes, shortest)"`` and so on.

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the system or has no requested time, or the system has several
        partitions.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> cs.simulate_easy(workload, cs.System.of(4)).start_time
    array([ 0., 10.,  2.])
    """
    check.choice("decide", decide, DECIDE)
    check.flag("extra_nodes", extra_nodes)
    run = prepare(workload, system, order, kill_at_request, calendar, requested_time=True)
    if predict is None:
        rule = EXTRA_NODES if extra_nodes else STRICTLY_BEFORE
        start_time, run_time = simulate_in_passes(run, rule, decide)
    else:
        expected = "None: with a calendar jobs are planned by requested times"
        check.that("predict", predict, not len(calendar), expected)
        by_prediction = isinstance(order, str) and order in ("sjbf", "shortest")
        start_time = simulate_predicted(
            run,
            predict,
            per_event=decide == "per_event",
            extra_nodes=extra_nodes,
            shortest_first=by_prediction,
        )
        run_time = run.jobs.run_time
    knobs = {
        "per event": decide == "per_event",
        "no extra nodes": not extra_nodes,
        "last two": isinstance(predict, str),
        "predicted": predict is not None and not isinstance(predict, str),
    }
    chosen_knobs = (knob for knob, chosen in knobs.items() if chosen)
    return schedule_of(run, start_time, run_time, "EASY", order, *chosen_knobs)


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
    order : str, pd.Series, np.ndarray or function, default "submit"
        One of `ORDERS`, a column, one number per job, lowest first, or a function of the jobs'
        table (and of the moment), see `cosimlib.batch`. Without backfilling `sjbf` is `submit`.
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
    return schedule_of(run, *simulate_in_passes(run, NO_BACKFILLING), "FCFS", order)


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
    order : str, pd.Series, np.ndarray or function, default "submit"
        One of `ORDERS`, a column, one number per job, lowest first, or a function of the jobs'
        table (and of the moment), see `cosimlib.batch`: in which order the jobs are tested.
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


def simulate_in_passes(
    run: Prepared, rule: int, decide: str = "per_instant"
) -> tuple[np.ndarray, np.ndarray]:
    """Starts and run times where jobs may overtake a blocked head by `rule`, as `EXTRA_NODES`."""
    machine = machine_of(run, JOB, STATE, rule=rule, per_event=decide == "per_event")
    jobs = machine.jobs
    waiting = queue.queue_of(jobs.rank, run.kind)
    ask = Asking(run, jobs)
    if rule == NO_BACKFILLING:
        while _simulate_strictly(*machine, *waiting):
            ask(machine.state.now, machine.state.submitted)
            _begin_heads(*machine, waiting.tree)
    else:
        machine.state.longest = jobs.requested_time.max(initial=0.0)
        windows = 0 if machine.edges is None else machine.edges.size
        limits = np.recarray(windows + 3, STEP)
        while _simulate(*machine, *waiting, limits):
            ask(machine.state.now, machine.state.submitted)
            _run_pass(*machine, waiting.tree, limits)
    return jobs.start_time.copy(), jobs.run_time.copy()


@kernel
def _simulate_strictly(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray | None,
    state: np.record,
    tree: np.recarray,
    coming: np.ndarray,
    by_leaf: np.ndarray,
) -> bool:
    """Write start times: after each instant's events, heads of the queue begin while they fit.

    Where ranks must first be asked for, it returns True instead, and goes on when called again.
    """
    # What an event does is written here and in `_simulate`: a kernel of its own, which both would
    # call, makes EASY a sixth slower, as Numba counts references to each array that is handed on.
    event = machines.next_event(jobs, ends, state)
    while event < np.inf:
        state.now = event
        if machines.ends_by_now(ends, state):
            machines.end(jobs, ends, expected, state, state.running)
        elif edges is not None and state.next_edge <= state.now:
            machines.pass_edges(jobs, ends, expected, edges, state)
        else:
            if state.submitted % BLOCK == 0:
                queue.give_leaves(jobs, state, tree, coming, by_leaf)
            queue.submit_next(jobs, state, tree)
        event = machines.next_event(jobs, ends, state)
        if event > state.now and tree[ROOT].nodes <= state.free:
            if state.kind == ASKED:
                return True
            _begin_heads(jobs, ends, expected, edges, state, tree)
            event = machines.next_event(jobs, ends, state)
    return False


@kernel
def _simulate(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray | None,
    state: np.record,
    tree: np.recarray,
    coming: np.ndarray,
    by_leaf: np.ndarray,
    limits: np.recarray,
) -> bool:
    """Write start times: there is a pass after the events of each instant, or after each event.

    The edges of windows at one instant are one event. Where ranks must first be asked for, it
    returns True instead of making a pass, and goes on when called again.
    """
    event = machines.next_event(jobs, ends, state)
    while event < np.inf:
        state.now = event
        if machines.ends_by_now(ends, state):
            machines.end(jobs, ends, expected, state, state.running)
        elif edges is not None and state.next_edge <= state.now:
            machines.pass_edges(jobs, ends, expected, edges, state)
        else:
            if state.submitted % BLOCK == 0:
                queue.give_leaves(jobs, state, tree, coming, by_leaf)
            queue.submit_next(jobs, state, tree)
        event = machines.next_event(jobs, ends, state)
        is_last = event > state.now or state.per_event
        if is_last and tree[ROOT].nodes <= state.free:
            if state.kind == ASKED:
                return True
            _run_pass(jobs, ends, expected, edges, state, tree, limits)
            event = machines.next_event(jobs, ends, state)
    return False


@kernel
def _run_pass(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray | None,
    state: np.record,
    tree: np.recarray,
    limits: np.recarray,
) -> None:
    """One pass: heads that fit begin, and then the jobs that do not delay the blocked head."""
    head = _begin_heads(jobs, ends, expected, edges, state, tree)
    if tree[ROOT].nodes > state.free:
        return
    state.limits = 0
    if edges is None:
        _reserve_for_head(expected, limits, state, tree[head])
    else:
        _reserve_beside_windows(expected, limits, state, tree[head])
    leaf = queue.next_fitting(jobs, state, tree, limits, ROOT)
    while leaf > 0:
        backfilling.take(limits, state, tree[leaf].nodes, state.now + tree[leaf].time)
        machines.begin(jobs, ends, expected, state, queue.remove(jobs, tree, leaf))
        leaf = queue.next_fitting(jobs, state, tree, limits, leaf)


@kernel
def _begin_heads(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray | None,
    state: np.record,
    tree: np.recarray,
) -> int:
    """Begin heads of the queue while they fit; return the leaf of the first that does not.

    It also stops, with no such leaf, where no waiting job has enough free nodes.
    """
    while tree[ROOT].nodes <= state.free:
        leaf = queue.head(jobs, state, tree)
        if tree[leaf].nodes > state.free:
            return leaf
        if edges is not None and not _fits_beside_windows(expected, state, tree[leaf]):
            return leaf
        machines.begin(jobs, ends, expected, state, queue.remove(jobs, tree, leaf))
    return 0


@kernel
def _fits_beside_windows(expected: np.recarray, state: np.record, job: np.record) -> bool:
    """Whether a job whose nodes are free now has them for as long as its requested time."""
    now = state.now
    if now + job.time <= state.next_fall:
        return True
    return backfilling.earliest_start(expected, state, job.nodes, job.time, now) == now


@kernel
def _reserve_for_head(
    expected: np.recarray, limits: np.recarray, state: np.record, head: np.record
) -> None:
    """Limit the jobs that overtake, so that none delays the blocked head.

    They end by its shadow time or take extra nodes. Without extra nodes, they end before it.
    """
    if state.rule == NO_RESERVATION:
        return
    shadow_time, extra = backfilling.reservation(expected, state, head.nodes, state.now)
    if state.rule == STRICTLY_BEFORE:
        shadow_time, extra = np.nextafter(shadow_time, -np.inf), 0
    backfilling.limit(limits, state, shadow_time, extra)


@kernel
def _reserve_beside_windows(
    expected: np.recarray, limits: np.recarray, state: np.record, head: np.record
) -> None:
    """Limit the jobs that overtake, so that none delays the blocked head or runs into a window.

    The rules are those of `_reserve_for_head`, where free nodes may also decrease.
    """
    now = state.now
    begin, last_end = now, now + state.longest
    if state.rule != NO_RESERVATION:
        begin = backfilling.earliest_start(expected, state, head.nodes, head.time, now)
    reserved = np.inf, np.inf, backfilling.NONE
    if state.rule == EXTRA_NODES:
        reserved = begin, begin + head.time, head.nodes
    until = begin if last_end <= state.next_fall else last_end
    backfilling.limit_by_falls(expected, limits, state, reserved, now, until)
    if state.rule == STRICTLY_BEFORE:
        backfilling.limit(limits, state, np.nextafter(begin, -np.inf), backfilling.NONE)
