"""EASY with predicted run times: predictions plan jobs; requested times only limit them.

The prediction of a waiting job is a number given beforehand, or the mean run time of the last two
jobs of its user that have ended (``"last two"``), updated at every pass. Until two jobs have ended
it is the requested time, and it is never more. A running job is expected to end when predicted. If
it exceeds its prediction, it is expected to end at its requested time. With the order ``"sjbf"``,
which then uses predictions, this is EASY++ as in pyss, whose published code does the same. EASY++
was published by Tsafrir, Etsion and Feitelson (Backfilling using system-generated predictions
rather than user runtime estimates, IEEE TPDS 18(6), 2007). The paper differs: a prediction that was
too short grows by steps of 1, 5, 15, 30 minutes and so on, not at once to the requested time.
"""

from typing import TypeAlias

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import machine as machines
from cosimlib.batch import queue
from cosimlib.batch.machine import STATE_FLOATS, STATE_INTEGERS, machine_of
from cosimlib.batch.orders import ASKED, HEAD_FIRST, Asking, Prepared
from cosimlib.kernels import backfilling
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.workload import InvalidWorkloadError, Workload

LAST_TWO = "last two"
EXPECTED = f"{LAST_TWO!r}, or the predicted run time of each job in seconds"

Predictions: TypeAlias = str | pd.Series | np.ndarray

JOB = record_type(floats=f"{queue.FLOATS} predicted", integers=f"{queue.INTEGERS} user")
"""A job, its predicted run time, and the number of its user."""

USER = record_type(floats="last before", integers="ended")
"""How many of a user's jobs have ended, and the run times of the last one and of the one before."""

STATE = record_type(
    floats=STATE_FLOATS,
    integers=f"{STATE_INTEGERS} shortest_first last_two per_event extra_nodes is_asked "
    "waiting limits",
)


def simulate_predicted(
    run: Prepared, predict: Predictions, *, per_event: bool, extra_nodes: bool, shortest_first: bool
) -> np.ndarray:
    """Start times under EASY where jobs are planned by predictions.

    Parameters
    ----------
    run : Prepared
    predict : str, pd.Series or np.ndarray
    per_event, extra_nodes : bool
        As in `simulate_easy`.
    shortest_first : bool
        Whether ranks are predictions.
    """
    machine = machine_of(
        run,
        JOB,
        STATE,
        last_two=isinstance(predict, str),
        per_event=per_event,
        extra_nodes=extra_nodes,
        shortest_first=shortest_first,
    )
    jobs = machine.jobs
    jobs.predicted = np.minimum(_given(run.workload, jobs, predict), jobs.requested_time)
    user = _user_numbers(run.workload)
    jobs.user = user
    users = records(user.max(initial=-1) + 1, USER)
    waiting, planned = np.empty(jobs.size, np.int64), np.empty_like(machine.expected)
    limits = np.recarray(1, STEP)
    arrays = jobs, machine.ends, machine.expected, machine.state, users, waiting, planned, limits
    ask = Asking(run, jobs)
    while _simulate(*arrays):
        ask(machine.state.now, machine.state.submitted)
    return jobs.start_time.copy()


def _user_numbers(workload: Workload) -> np.ndarray:
    """The number of each job's user; a job that names none has a user of its own."""
    numbers = pd.factorize(workload.column("user").to_numpy())[0]
    unnamed = numbers < 0
    numbers[unnamed] = numbers.max(initial=-1) + 1 + np.arange(unnamed.sum())
    return numbers


def _given(workload: Workload, jobs: np.recarray, predict: Predictions) -> np.ndarray:
    """The predictions that are known beforehand."""
    if isinstance(predict, str):
        check.that("predict", predict, predict == LAST_TWO, EXPECTED)
        return jobs.requested_time
    if isinstance(predict, pd.Series) and predict.size == jobs.size:
        predict = predict.reindex(workload.jobs.index)
    given = np.asarray(predict, dtype=np.float64)
    if given.shape != (jobs.size,):
        raise InvalidWorkloadError(
            f"{workload.name}: predict has the shape {given.shape}; expected {EXPECTED}"
        )
    fine = np.isfinite(given) & (given >= 0)
    check.rows("predict", given, fine, "seconds", row=workload.label, error=InvalidWorkloadError)
    return given


@kernel
def _simulate(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    state: np.record,
    users: np.recarray,
    waiting: np.ndarray,
    planned: np.recarray,
    limits: np.recarray,
) -> bool:
    """Write start times: at each pass, predictions are renewed and the queue is put into order.

    `planned` has room for the ends of running jobs as predicted. Where ranks must first be asked
    for, it returns True instead of making a pass, and goes on when called again.
    """
    while state.is_asked or _next_pass(jobs, ends, expected, state, users, waiting):
        state.is_asked = state.kind == ASKED and not state.is_asked
        if state.is_asked:
            return True
        _predict(jobs, state, users, waiting)
        queue.sort(jobs, waiting[: state.waiting], state.kind, state.now)
        _run_pass(jobs, ends, expected, state, waiting, planned, limits)
    return False


@kernel
def _next_pass(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    state: np.record,
    users: np.recarray,
    waiting: np.ndarray,
) -> bool:
    """Let events come, up to the last of an instant or just one; whether there was any.

    There is a pass after those of an instant, or after each.
    """
    event = machines.next_event(jobs, ends, state)
    while event < np.inf:
        state.now = event
        if machines.ends_by_now(ends, state):
            job = jobs[machines.end(jobs, ends, expected, state, state.running)]
            user = users[job.user]
            user.ended, user.before, user.last = user.ended + 1, user.last, job.run_time
        else:
            waiting[state.waiting] = state.submitted
            state.waiting += 1
            state.submitted += 1
        event = machines.next_event(jobs, ends, state)
        if event > state.now or state.per_event:
            return True
    return False


@kernel
def _predict(jobs: np.recarray, state: np.record, users: np.recarray, waiting: np.ndarray) -> None:
    """Renew the predictions of waiting jobs, and their ranks where these are predictions."""
    for number in waiting[: state.waiting]:
        job = jobs[number]
        user = users[job.user]
        if state.last_two and user.ended > 1:
            job.predicted = min(job.requested_time, (user.last + user.before) / 2.0)
        if state.shortest_first:
            job.rank = job.predicted


@kernel
def _run_pass(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    state: np.record,
    waiting: np.ndarray,
    planned: np.recarray,
    limits: np.recarray,
) -> None:
    """One pass: each job in order starts if it may, and the first that does not is reserved."""
    kept = state.limits = 0
    for place in range(state.waiting):
        number = waiting[place]
        job = jobs[number]
        end = state.now + job.predicted
        if backfilling.may_start(limits, state, job.nodes, end):
            backfilling.take(limits, state, job.nodes, end)
            machines.begin(jobs, ends, expected, state, number)
            if kept == 0 and state.kind == HEAD_FIRST:
                queue.sort(jobs, waiting[place + 1 : state.waiting], state.kind, state.now)
            continue
        if kept == 0:
            _reserve(jobs, ends, state, planned, limits, job.nodes)
        waiting[kept] = number
        kept += 1
    state.waiting = kept


@kernel
def _reserve(
    jobs: np.recarray,
    ends: np.recarray,
    state: np.record,
    planned: np.recarray,
    limits: np.recarray,
    nodes: int,
) -> None:
    """Reserve nodes for the head, beside jobs that end when predicted or else when requested."""
    releases, state.releases = state.releases, 0
    for row in range(1, state.running + 1):
        job = jobs[ends[row].job]
        end = job.start_time + job.predicted
        end = end if end > state.now else job.start_time + job.requested_time
        backfilling.expect(planned, state, end, job.nodes)
    backfilling.reserve(planned, limits, state, nodes, state.now)
    state.releases = releases
    if not state.extra_nodes:
        shadow_time = np.nextafter(limits[0].time, -np.inf)
        backfilling.limit(limits, state, shadow_time, backfilling.NONE)
