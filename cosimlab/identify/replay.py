"""Whom a rule would start at each instant of a recorded schedule: a kernel that replays the record.

The record goes on as it was: jobs start and end when it says (`identify.recorded`). At each instant
the rule is asked what it would start, from the jobs that then run and wait. So a wrong decision
does not make later decisions wrong. An instant is a *decision* if a job waits for which enough
nodes are free. Where jobs of a record hold more nodes than there are, no rule is asked.

FCFS, first fit and EASY decide from this state alone (`identify.passes`); their rules are those of
`cosimlib.batch`. So does conservative backfilling that plans anew (`identify.planning`).
Reservations that are kept are not in the record: they are made as the rule makes them, and renewed,
in their own order, after each wrong decision and each instant at which no rule is asked.
"""

from typing import NamedTuple

import numpy as np

from cosimlab.identify import passes, planning, recorded
from cosimlab.identify.planning import Plan
from cosimlab.identify.recorded import JOB, STATE, Record, Side, record_of
from cosimlib.batch import reservations
from cosimlib.batch.orders import Prepared
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.kernels.records import records

KEPT, REPLANNED = 4, 5
"""Kinds of rules beside those of `batch.easy`: every job has a reservation."""

MOST_WRONG = 1_000
"""Wrong decisions after which a rule is not asked again. Where thousands of jobs wait, a rule that
would start many of them takes long at each instant, and it did not make the schedule."""

NOTHING, WRONG, RIGHT, OVERFULL = 0, 1, 2, 3
"""What is noted of an instant: nothing to decide; the rule decides otherwise, or the same; or jobs
hold more nodes than there are, so that no rule could decide."""


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
    plan = Plan(kinds, reservations.empty_plan(trial.state, n))
    noted = np.zeros(record.instants.size, np.int64)
    ended, limits = np.empty(n + 1, np.int64), np.recarray(3, STEP)
    _replay(jobs, record, side, trial, plan, ended, limits, noted, until)
    return Replay(jobs, noted, trial.state)


def _side(run: Prepared, rule: int, per_event: bool) -> Side:
    """An empty machine."""
    fields = {"kind": run.kind, "rule": rule, "per_event": per_event, "free": run.total_nodes}
    n = run.rank.size
    state = records(1, STATE, head=-1, now=-np.inf, **fields)[0]
    return Side(state, np.recarray(n + 1, STEP), np.empty(n, np.int64))


@allocating_kernel
def _replay(
    jobs: np.recarray,
    record: Record,
    side: Side,
    trial: Side,
    plan: Plan,
    ended: np.ndarray,
    limits: np.recarray,
    noted: np.ndarray,
    until: float,
) -> None:
    """Note of each instant whether the rule starts the jobs that the record starts.

    The rule goes on from a copy of the recorded machine, the trial, in which kept reservations
    stay from instant to instant. `ended` and `limits` are room for a pass.
    """
    state = side.state
    begun, gone, submitted, wrong = 0, 0, 0, 0
    for index in range(record.instants.size):
        instant = record.instants[index]
        state.now = instant.time
        ends = record.by_end[gone : instant.ended]
        starts = record.by_start[begun : instant.begun]
        first, submitted = submitted, instant.submitted
        begun, gone = instant.begun, instant.ended
        is_pass = state.rule < KEPT
        if state.per_event and ends.size > 1:
            ends = recorded.in_turn(jobs, ends)
        if is_pass and recorded.may_any_start(jobs, side, ends, first, submitted):
            recorded.copy(side, trial)
            passes.choose(jobs, trial, limits, ended, ends, first, submitted)
        recorded.absorb(jobs, side, ends, first, submitted)
        if state.rule != KEPT:
            passes.sort(jobs, side)
        is_decision = starts.size > 0 or recorded.may_start_now(jobs, side)
        if state.rule == KEPT:
            recorded.copy(side, trial)
            planning.choose_reserved(jobs, trial, plan, ends, submitted - first)
        elif state.rule == REPLANNED and is_decision:
            recorded.copy(side, trial)
            planning.choose_anew(jobs, trial, plan)
        if recorded.is_overfull(jobs, side, starts):
            noted[index] = OVERFULL
        elif is_decision:
            noted[index] = RIGHT if recorded.is_equal(jobs, side, starts) else WRONG
        wrong += noted[index] == WRONG
        if instant.time >= until or (wrong == MOST_WRONG and until == np.inf):
            return
        recorded.go_on(jobs, side, starts)
        if state.rule == KEPT and (noted[index] == WRONG or noted[index] == OVERFULL):
            recorded.copy(side, trial)
            planning.renew(jobs, trial, plan)
        if state.rule == KEPT:  # jobs that are due begin in the order of the last plan
            side.waiting[: state.waiting] = trial.waiting[: state.waiting]
