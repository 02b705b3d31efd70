"""Whom a rule would start at each instant of a recorded schedule: a kernel that replays the record.

The record goes on as it was: jobs start and end when it says (`identify.recorded`). At each instant
the rule is asked what it would start, from the jobs that then run and wait. So a wrong decision
does not make later decisions wrong. An instant is a *decision* if a job waits for which enough
nodes are free.

FCFS, first fit and EASY decide from this state alone (`identify.passes`); their rules are those of
`cosimlib.batch`. So does conservative backfilling that plans anew (`identify.planning`).
Reservations that are kept are not in the record: they are made as the rule makes them, and renewed,
in their own order, after each wrong decision.
"""

from typing import NamedTuple

import numpy as np

from cosimlab.identify import passes, planning, recorded
from cosimlab.identify.recorded import JOB, STATE, Record, record_of
from cosimlib.batch import reservations
from cosimlib.batch.orders import Prepared
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import records

KEPT, REPLANNED = 4, 5
"""Kinds of rules beside those of `batch.easy`: every job has a reservation."""

MOST_WRONG = 1_000
"""Wrong decisions after which a rule is not asked again. Where thousands of jobs wait, a rule that
would start many of them takes long at each instant, and it did not make the schedule."""

NOTHING, WRONG, RIGHT = 0, 1, 2
"""What is noted of an instant: nothing to decide; the rule decides otherwise, or the same."""


class Side(NamedTuple):
    """The machine as recorded, or as the rule would go on within an instant."""

    state: np.record
    expected: np.recarray
    waiting: np.ndarray


class Replay(NamedTuple):
    """Jobs, what is noted of each instant, and the state of the last instant after the rule."""

    jobs: np.recarray
    noted: np.ndarray
    state: np.record


def replay(
    run: Prepared,
    start_time: np.ndarray,
    rule: int,
    *,
    per_event: bool = False,
    record: Record | None = None,
    until: float = np.inf,
) -> Replay:
    """Ask a rule at all instants of a record, or up to one, whose chosen jobs stay marked.

    The run has the times by which the rule plans as requested times.
    """
    record = record or record_of(run.jobs.submit_time, start_time, run.jobs.run_time)
    jobs = records(run.rank.size, JOB, rank=run.rank, **run.jobs._asdict())
    jobs.start_time, jobs.end_time = start_time, start_time + run.jobs.run_time
    jobs.reserved = np.inf
    jobs.requested_time[np.isnan(jobs.requested_time)] = np.inf
    n = jobs.size
    side, trial = _side(run, rule, per_event), _side(run, rule, per_event)
    kinds = reservations.kinds_of(jobs) if rule >= KEPT else records(0, reservations.KIND)
    profile = reservations.empty_plan(trial.state, n)
    noted = np.zeros(record.instants.size, np.int64)
    ended, limits = np.empty(n + 1, np.int64), np.recarray(3, STEP)
    _replay(jobs, *record, *side, *trial, ended, limits, kinds, profile, noted, until)
    return Replay(jobs, noted, trial.state)


def _side(run: Prepared, rule: int, per_event: bool) -> Side:
    """An empty machine."""
    fields = {"kind": run.kind, "rule": rule, "per_event": per_event, "free": run.total_nodes}
    n = run.rank.size
    state = records(1, STATE, head=-1, now=-np.inf, **fields)[0]
    return Side(state, np.recarray(n + 1, STEP), np.empty(n, np.int64))


@kernel
def _replay(
    jobs: np.recarray,
    by_start: np.ndarray,
    by_end: np.ndarray,
    instants: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    trial: np.record,
    trial_expected: np.recarray,
    trial_waiting: np.ndarray,
    ended: np.ndarray,
    limits: np.recarray,
    kinds: np.recarray,
    profile: np.recarray,
    noted: np.ndarray,
    until: float,
) -> None:
    """Note of each instant whether the rule starts the jobs that the record starts.

    The rule goes on from a copy of the recorded machine, the trial, in which kept reservations
    stay from instant to instant.
    """
    begun, gone, submitted, wrong = 0, 0, 0, 0
    for index in range(instants.size):
        instant = instants[index]
        state.now = instant.time
        ends, starts = by_end[gone : instant.ended], by_start[begun : instant.begun]
        first, submitted = submitted, instant.submitted
        begun, gone = instant.begun, instant.ended
        is_pass = state.rule < KEPT
        if is_pass and recorded.may_any_start(jobs, state, waiting, ends, first, submitted):
            recorded.copy(state, expected, waiting, trial, trial_expected, trial_waiting)
            passes.choose(
                jobs, trial, trial_expected, trial_waiting, limits, ended, ends, first, submitted
            )
        recorded.absorb(jobs, state, expected, waiting, ends, first, submitted)
        if state.rule != KEPT:
            passes.sort(jobs, state, waiting)
        is_decision = starts.size > 0 or recorded.fits_any(jobs, state, waiting)
        if state.rule == KEPT or (state.rule == REPLANNED and is_decision):
            recorded.copy(state, expected, waiting, trial, trial_expected, trial_waiting)
            _plan(
                jobs, trial, trial_expected, trial_waiting, kinds, profile, ends, submitted - first
            )
        if is_decision:
            noted[index] = RIGHT if recorded.is_equal(jobs, state, waiting, starts) else WRONG
        wrong += noted[index] == WRONG
        if instant.time >= until or (wrong == MOST_WRONG and until == np.inf):
            return
        recorded.go_on(jobs, state, expected, waiting, starts)
        if state.rule == KEPT and noted[index] == WRONG:
            recorded.copy(state, expected, waiting, trial, trial_expected, trial_waiting)
            reservations.renew(jobs, trial_expected, trial, trial_waiting, kinds, profile)
        if state.rule == KEPT:  # jobs that are due begin in the order of the last plan
            waiting[: state.waiting] = trial_waiting[: state.waiting]


@kernel
def _plan(
    jobs: np.recarray,
    state: np.record,
    expected: np.recarray,
    waiting: np.ndarray,
    kinds: np.recarray,
    profile: np.recarray,
    ends: np.ndarray,
    new: int,
) -> None:
    """Choose jobs by reservations, of which the last `new` waiting jobs have none yet."""
    if state.rule == REPLANNED:
        planning.choose_anew(jobs, state, expected, waiting, kinds, profile)
    else:
        planning.choose_reserved(jobs, state, expected, waiting, kinds, profile, ends, new)
