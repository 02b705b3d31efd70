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

from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import machine as machines
from cosimlib.batch import queue
from cosimlib.batch.machine import NO_JOB, STATE_FLOATS, STATE_INTEGERS, Machine, machine_of
from cosimlib.batch.orders import HEAD_FIRST, Prepared
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
    floats=STATE_FLOATS,
    integers=f"{STATE_INTEGERS} shortest_first last_two per_event extra_nodes waiting limits",
)


class Predicted(NamedTuple):
    """The machine, its users, waiting jobs; ends as predicted, limits of jobs that overtake."""

    machine: Machine
    users: np.recarray
    waiting: np.ndarray
    planned: np.recarray
    limits: np.recarray


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
        run, JOB, STATE, last_two=isinstance(predict, str), per_event=per_event,
        extra_nodes=extra_nodes, shortest_first=shortest_first,
    )  # fmt: skip
    jobs = machine.jobs
    jobs.predicted = np.minimum(_given(run.workload, jobs, predict), jobs.requested_time)
    user = pd.factorize(run.workload.column("user"))[0]
    # A job that names no user is one of its own.
    jobs.user = np.where(user < 0, user.max(initial=0) + 1 + np.arange(user.size), user)
    waiting, planned = np.empty(jobs.size, np.int64), np.empty_like(machine.expected)
    users, limits = records(2 * user.size + 1, USER), np.recarray(1, STEP)
    _simulate(Predicted(machine, users, waiting, planned, limits))
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
def _simulate(run: Predicted) -> None:
    """Write start times: events are absorbed, and there is a pass, until nothing is left to do."""
    machine, state = run.machine, run.machine.state
    state.now = machines.next_event(machine)
    while state.now < np.inf:
        _absorb_events(run)
        _predict(run)
        queue.sort(machine.jobs, run.waiting[: state.waiting], state.kind, state.now)
        _run_pass(run)
        state.now = machines.next_event(machine)


@kernel
def _absorb_events(run: Predicted) -> None:
    """Absorb all events of this instant, or the first of them if each has a pass."""
    jobs, state = run.machine.jobs, run.machine.state
    number = machines.end_next(run.machine)
    while number != NO_JOB:
        user = run.users[jobs[number].user]
        user.ended, user.before, user.last = user.ended + 1, user.last, jobs[number].run_time
        if state.per_event:
            return
        number = machines.end_next(run.machine)
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        run.waiting[state.waiting] = state.submitted
        state.waiting += 1
        state.submitted += 1
        if state.per_event:
            return


@kernel
def _predict(run: Predicted) -> None:
    """Renew the predictions of waiting jobs, and their ranks where these are predictions."""
    state = run.machine.state
    for number in run.waiting[: state.waiting]:
        job = run.machine.jobs[number]
        user = run.users[job.user]
        if state.last_two and user.ended > 1:
            job.predicted = min(job.requested_time, (user.last + user.before) / 2.0)
        if state.shortest_first:
            job.rank = job.predicted


@kernel
def _run_pass(run: Predicted) -> None:
    """One pass: each job in order starts if it may, and the first that does not is reserved."""
    jobs, state, waiting = run.machine.jobs, run.machine.state, run.waiting
    kept = state.limits = 0
    for place in range(state.waiting):
        number = waiting[place]
        job = jobs[number]
        end = state.now + job.predicted
        if backfilling.may_start(run.limits, state, job.nodes, end):
            backfilling.take(run.limits, state, job.nodes, end)
            machines.begin(run.machine, number)
            if kept == 0 and state.kind == HEAD_FIRST:
                queue.sort(jobs, waiting[place + 1 : state.waiting], state.kind, state.now)
            continue
        if kept == 0:
            _reserve(run, job.nodes)
        waiting[kept] = number
        kept += 1
    state.waiting = kept


@kernel
def _reserve(run: Predicted, nodes: int) -> None:
    """Reserve nodes for the head, beside jobs that end when predicted or else when requested."""
    state, jobs, releases = run.machine.state, run.machine.jobs, run.machine.state.releases
    state.releases = 0
    for row in range(state.running):
        job = jobs[run.machine.ends[row].job]
        end = job.start_time + job.predicted
        end = end if end > state.now else job.start_time + job.requested_time
        backfilling.expect(run.planned, state, end, job.nodes)
    backfilling.reserve(run.planned, run.limits, state, nodes, state.now)
    state.releases = releases
    if not state.extra_nodes:
        shadow_time = np.nextafter(run.limits[0].time, -np.inf)
        backfilling.limit(run.limits, state, shadow_time, backfilling.NONE)
