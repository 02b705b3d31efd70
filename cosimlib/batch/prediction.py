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
from cosimlib.batch import queue
from cosimlib.batch.orders import Prepared
from cosimlib.kernels import backfilling
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.workload import InvalidWorkloadError, Workload

LAST_TWO = "last two"
EXPECTED = f"{LAST_TWO!r}, or the predicted run time of each job in seconds"

Predictions: TypeAlias = str | pd.Series | np.ndarray

JOB = record_type(floats=f"{queue.FLOATS} predicted", integers=f"{queue.INTEGERS} user")
USER = record_type(floats="last before", integers="ended")
"""How many jobs of a user have ended, and the run times of the last two of them."""

STATE = record_type(
    integers="kind shortest_first last_two per_event extra_nodes submitted waiting running free "
    "releases limits"
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
    jobs = records(run.rank.size, JOB, rank=run.rank, **run.jobs._asdict())
    jobs.predicted = np.minimum(_given(run.workload, jobs, predict), jobs.requested_time)
    user = pd.factorize(run.workload.column("user"))[0]
    # A job that names no user is one of its own.
    jobs.user = np.where(user < 0, user.max(initial=0) + 1 + np.arange(user.size), user)
    users, states = records(2 * user.size + 1, USER), records(1, STATE)
    states.kind, states.shortest_first, states.free = run.kind, shortest_first, run.total_nodes
    states.last_two, states.per_event = isinstance(predict, str), per_event
    states.extra_nodes = extra_nodes
    waiting, running = (np.empty(jobs.size, np.int64) for _ in range(2))
    expected = np.recarray(min(jobs.size, run.total_nodes), STEP)
    _simulate(jobs, users, waiting, running, expected, np.recarray(1, STEP), states)
    return jobs.start_time.copy()


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
    users: np.recarray,
    waiting: np.ndarray,
    running: np.ndarray,
    expected: np.recarray,
    limits: np.recarray,
    states: np.recarray,
) -> None:
    """Write start times: events are absorbed, and there is a pass, until nothing is left to do."""
    state = states[0]
    while state.submitted < jobs.size or state.running > 0:
        now = _absorb_events(jobs, users, waiting, running, state)
        queued = waiting[: state.waiting]
        _predict(jobs, users, queued, state)
        queue.sort(jobs, queued, state.kind, now)
        _run_pass(jobs, waiting, running, expected, limits, state, now)


@kernel
def _predict(jobs: np.recarray, users: np.recarray, waiting: np.ndarray, state: np.record) -> None:
    """Renew the predictions of waiting jobs, and their ranks where these are predictions."""
    for number in waiting:
        job = jobs[number]
        user = users[job.user]
        if state.last_two and user.ended > 1:
            job.predicted = min(job.requested_time, (user.last + user.before) / 2.0)
        if state.shortest_first:
            job.rank = job.predicted


@kernel
def _absorb_events(
    jobs: np.recarray,
    users: np.recarray,
    waiting: np.ndarray,
    running: np.ndarray,
    state: np.record,
) -> float:
    """All events of the next instant, or the first of them if each has a pass; the instant."""
    now = jobs[state.submitted].submit_time if state.submitted < jobs.size else np.inf
    for number in running[: state.running]:
        now = min(now, jobs[number].start_time + jobs[number].run_time)
    kept = ended = 0
    for place in range(state.running):
        job = jobs[running[place]]
        if job.start_time + job.run_time <= now and not (state.per_event and ended > 0):
            state.free += job.nodes
            user = users[job.user]
            user.ended, user.before, user.last = user.ended + 1, user.last, job.run_time
            ended += 1
        else:
            running[kept] = running[place]
            kept += 1
    state.running = kept
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= now:
        if state.per_event and ended > 0:
            break
        waiting[state.waiting] = state.submitted
        state.waiting += 1
        state.submitted += 1
        ended += state.per_event
    return now


@kernel
def _run_pass(
    jobs: np.recarray,
    waiting: np.ndarray,
    running: np.ndarray,
    expected: np.recarray,
    limits: np.recarray,
    state: np.record,
    now: float,
) -> None:
    """One pass: each job in order starts if it may, and the first that does not is reserved."""
    kept = state.limits = 0
    for place in range(state.waiting):
        number = waiting[place]
        job = jobs[number]
        end = now + job.predicted
        if backfilling.may_start(limits, state, job.nodes, end):
            job.start_time = now
            state.free -= job.nodes
            backfilling.take(limits, state, job.nodes, end)
            running[state.running] = number
            state.running += 1
            if kept == 0 and state.kind == queue.HEAD_FIRST:
                queue.sort(jobs, waiting[place + 1 : state.waiting], state.kind, now)
            continue
        if kept == 0:
            _expect_ends(jobs, running, expected, state, now)
            backfilling.reserve(expected, limits, state, job.nodes, now)
            if not state.extra_nodes:
                shadow_time = np.nextafter(limits[0].time, -np.inf)
                backfilling.limit(limits, state, shadow_time, backfilling.NONE)
        waiting[kept] = number
        kept += 1
    state.waiting = kept


@kernel
def _expect_ends(
    jobs: np.recarray, running: np.ndarray, expected: np.recarray, state: np.record, now: float
) -> None:
    """Expect running jobs to end when predicted, or, if that is over, when requested."""
    state.releases = 0
    for number in running[: state.running]:
        job = jobs[number]
        end = job.start_time + job.predicted
        end = end if end > now else job.start_time + job.requested_time
        backfilling.expect(expected, state, end, job.nodes)
