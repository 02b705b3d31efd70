"""Replay: jobs in a given order, each at the earliest moment from which its nodes are free.

A replay knows no policy. Jobs are placed one after the other, in the order in which a log recorded
their starts. A job begins at the earliest moment from which on its nodes are free for its whole run
time, beside all jobs placed before it. It does not begin before its own `earliest` moment, nor
before another job, which it *follows*, has started or ended. A strict replay never lets a job begin
before one that was placed earlier.

A job may have a *lag*: it begins so long after its nodes have become free (if they are free then,
or at the earliest moment after it). No lag delays a job beyond its `latest` moment.

*What is true of it.* Take starts that happened on a machine, such that no job started before its
`earliest` moment or before what it follows, and let each job's `latest` moment be its start.
Replayed in order of these starts on as many nodes, no job starts later than it did. (By induction:
when a job is placed, all jobs placed so far end no later than they did, so that at its own start,
and at any later moment, they hold no more nodes than they held then.) More nodes may delay a job,
as in every schedule with run times of different length; in a strict replay they may not.

Two functions look at the starts that happened: `free_before` says for how long a job's nodes were
free while it waited, `overtakers` how many later jobs of its kind began before it.
"""

import numpy as np

from cosimlib.kernels import availability
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.kernels.steps import step_function

NOBODY = -1
"""What a job follows that follows none."""

JOB = record_type(floats="earliest run_time lag latest start", integers="nodes follows after_end")
PLAN = record_type(floats="rises", integers="breakpoints strict")


def replay_starts(
    order: np.ndarray,
    earliest: np.ndarray,
    run_time: np.ndarray,
    nodes: np.ndarray,
    total_nodes: int,
    *,
    lag: np.ndarray,
    latest: np.ndarray,
    follows: np.ndarray,
    after_end: np.ndarray,
    closed: np.ndarray,
    strict: bool = False,
) -> np.ndarray:
    """Start of each job (s), placed in a given order on a machine.

    Parameters
    ----------
    order : np.ndarray
        Every job once; a job comes after the one that it follows.
    earliest, run_time : np.ndarray
        Seconds, one per job.
    nodes : np.ndarray
        Of each job, at most `total_nodes`.
    total_nodes : int
    lag : np.ndarray
        Seconds from the moment at which its nodes are free to the start of each job.
    latest : np.ndarray
        Moment (s) beyond which no lag delays a job.
    follows : np.ndarray
        The job that each one follows; `NOBODY` if none.
    after_end : np.ndarray of bool
        Whether it begins after that job's end, not only after its start.
    closed : np.ndarray
        Windows of three columns: start and end (s), and nodes that are closed.
    strict : bool, default False
        Whether no job begins before one that is placed earlier.
    """
    columns = {"earliest": earliest, "run_time": run_time, "lag": lag, "latest": latest}
    jobs = records(order.size, JOB, nodes=nodes, follows=follows, after_end=after_end, **columns)
    profile = np.recarray(2 * order.size + 2 * len(closed) + 3, BREAKPOINT)
    plan = records(1, PLAN, strict=strict)[0]
    _replay(jobs, order.astype(np.int64), closed.astype(np.float64), profile, plan, total_nodes)
    return jobs.start.copy()


def free_before(
    submit_time: np.ndarray,
    start_time: np.ndarray,
    end_time: np.ndarray,
    nodes: np.ndarray,
    total_nodes: int,
    closed: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds for which each job's nodes were free: right before its start, and while it waited.

    Parameters
    ----------
    submit_time, start_time, end_time, nodes : np.ndarray
        Of each job, as they happened; times in seconds.
    total_nodes : int
    closed : np.ndarray
        Windows of three columns: start and end (s), and nodes that are closed.

    Returns
    -------
    at_last, in_all : np.ndarray
        The unbroken time before the start, and all time between submission and start.
    """
    starts = np.concatenate([start_time, closed[:, 0]])
    ends = np.concatenate([end_time, closed[:, 1]])
    held = np.concatenate([nodes, closed[:, 2].astype(np.int64)])
    times, in_use = step_function(starts, ends, held)
    found = np.zeros((2, submit_time.size))
    begin = np.searchsorted(times, start_time, side="left").astype(np.int64) - 1
    _free_before(submit_time, start_time, nodes, times, total_nodes - in_use, begin, found)
    return found[0], found[1]


def overtakers(position: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Number of jobs of its kind that were submitted after a job and placed before it, per job.

    Parameters
    ----------
    position : np.ndarray
        Of each job in the order of starts, from 0; jobs are in order of submission.
    kind : np.ndarray
        Whole numbers from 0.
    """
    found = np.zeros(position.size, np.int64)
    _overtakers(position.astype(np.int64), kind.astype(np.int64), found)
    return found


@kernel
def _replay(
    jobs: np.recarray,
    order: np.ndarray,
    closed: np.ndarray,
    profile: np.recarray,
    plan: np.record,
    total_nodes: int,
) -> None:
    """Write the start of each job."""
    availability.clear(profile, plan, -np.inf, total_nodes)
    for window in range(closed.shape[0]):
        begin, end, count = closed[window]
        availability.add(profile, plan, begin, end, -int(count))
    previous = -np.inf
    for number in order:
        job = jobs[number]
        since = job.earliest
        if job.follows >= 0:
            other = jobs[job.follows]
            since = max(since, other.start + other.run_time * job.after_end)
        if plan.strict:
            since = max(since, previous)
        previous = _earliest(profile, plan, job.nodes, job.run_time, since)
        lagged = min(previous + job.lag, job.latest)
        if lagged > previous:
            previous = _earliest(profile, plan, job.nodes, job.run_time, lagged)
        job.start = previous
        availability.add(profile, plan, previous, previous + job.run_time, -job.nodes)


@kernel
def _earliest(
    profile: np.recarray, plan: np.record, nodes: int, run_time: float, since: float
) -> float:
    """The earliest moment, not before `since`, from which nodes are free for a run time."""
    if availability.min_free(profile, plan, since, since + run_time) >= nodes:
        return since
    return availability.earliest_start(profile, plan, nodes, run_time, since, np.inf, np.inf)


@kernel
def _free_before(
    submit_time: np.ndarray,
    start_time: np.ndarray,
    nodes: np.ndarray,
    times: np.ndarray,
    free: np.ndarray,
    begin: np.ndarray,
    found: np.ndarray,
) -> None:
    """Write the free seconds right before each start, and in the whole wait."""
    for job in range(submit_time.size):
        step, until, unbroken = begin[job], start_time[job], True
        while step >= -1 and until > submit_time[job]:
            since = max(times[step], submit_time[job]) if step >= 0 else submit_time[job]
            if step < 0 or free[step] >= nodes[job]:
                found[1, job] += until - since
                if unbroken:
                    found[0, job] += until - since
            else:
                unbroken = False
            step, until = step - 1, since


@allocating_kernel
def _overtakers(position: np.ndarray, kind: np.ndarray, found: np.ndarray) -> None:
    """Count by a Fenwick tree over positions per kind, from the last submission back."""
    n = position.size
    for each in range(kind.max() + 1 if n > 0 else 0):
        tree = np.zeros(n + 1, np.int64)
        for job in range(n - 1, -1, -1):
            if kind[job] != each:
                continue
            place = position[job]
            while place > 0:
                found[job] += tree[place]
                place -= place & -place
            place = position[job] + 1
            while place <= n:
                tree[place] += 1
                place += place & -place
