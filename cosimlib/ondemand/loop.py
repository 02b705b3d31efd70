"""Discrete-event loop of a machine with bursts of on-demand work.

At each instant all is absorbed first: jobs end, a checkpoint is whole, application checkpoints are
reached, jobs and bursts are submitted, notices come due, bursts that did not come are given up.
Then bursts are served, the file system takes up the next checkpoint, and batch jobs start.
"""

import numpy as np

from cosimlib.kernels.jit import inner_kernel, kernel
from cosimlib.ondemand import moves
from cosimlib.ondemand.backfill import backfill
from cosimlib.ondemand.gathering import begin_write, end_write, reach, serve
from cosimlib.ondemand.pace import grow
from cosimlib.ondemand.planning import NO_SOLVER, SHRINK, Rules
from cosimlib.ondemand.state import (
    FINISHED,
    GATHER,
    GATHERING,
    UNSEEN,
    WRITER,
    Log,
    State,
    empty,
    empty_log,
    write_end,
)


def simulate(
    jobs: np.recarray, rules: Rules, room: int | None = None
) -> tuple[np.ndarray, np.ndarray, Log]:
    """Starts, ends, and the log, cut to its rows; where `room` does not do, all is done again."""
    room = 8 * len(jobs) + 1000 if room is None else room
    calls = np.argsort(jobs.call_time, kind="stable")
    while True:
        state, log = empty(len(jobs), rules.total_nodes), empty_log(room)
        run(jobs, rules, state, log, calls)
        if log.size.max() <= room:
            stretches, evictions, plans = (
                table[:rows] for table, rows in zip(log[:3], log.size, strict=True)
            )
            ends = state.jobs.start_time.copy(), state.jobs.end_time.copy()
            return *ends, Log(stretches, evictions, plans, log.size)
        room = int(log.size.max())


@kernel
def run(jobs: np.recarray, rules: Rules, state: State, log: Log, calls: np.ndarray) -> None:
    """Simulate to the end; `calls` are the jobs in order of `call_time`."""
    submitted, called = 0, 0
    while state.counts[FINISHED] < len(jobs):
        now = _next_instant(jobs, rules, state, submitted, calls, called)
        if now == np.inf:
            break
        state.exact[0] = now
        _absorb_machine(jobs, state, log, now)
        while submitted < len(jobs) and jobs[submitted].submit_time <= now:
            _admit(jobs, rules, state, submitted, now)
            submitted += 1
        while called < len(jobs) and jobs[calls[called]].call_time <= now:
            if state.jobs[calls[called]].stage == UNSEEN:
                moves.gather(state, calls[called], now)
            called += 1
        _give_up(jobs, rules, state, log, now)
        serve(jobs, rules, state, log, now)
        begin_write(jobs, state, log, now)
        if rules.solver == SHRINK:
            grow(jobs, state, log, now)
        backfill(jobs, rules, state, now)


@inner_kernel
def _next_instant(
    jobs: np.recarray, rules: Rules, state: State, submitted: int, calls: np.ndarray, called: int
) -> float:
    """The next instant at which anything happens; infinity where nothing will."""
    instant = np.inf
    if submitted < len(jobs):
        instant = jobs[submitted].submit_time
    if called < len(jobs):
        instant = min(instant, jobs[calls[called]].call_time)
    if state.ends.size[0] > 0:
        instant = min(instant, state.ends.key[state.ends.item[0]])
    if state.ready.size[0] > 0:
        instant = min(instant, state.ready.key[state.ready.item[0]])
    if state.counts[WRITER] >= 0:
        instant = min(instant, write_end(state))
    if state.writes.size[0] > 0:
        instant = min(instant, state.writes.key[state.writes.item[0]])
    for place in range(state.counts[GATHER]):
        burst = state.gathering[place]
        # One that has arrived is there for good.
        if submitted <= burst:
            instant = min(instant, jobs[burst].expected_time + rules.patience)
    return instant


@inner_kernel
def _absorb_machine(jobs: np.recarray, state: State, log: Log, now: float) -> None:
    """All ends of jobs, then of the write, then application checkpoints that are reached."""
    ends, ready = state.ends, state.ready
    while ends.size[0] > 0 and ends.key[ends.item[0]] <= now:
        moves.end(jobs, state, log, ends.item[0], now)
    if state.counts[WRITER] >= 0 and write_end(state) <= now:
        end_write(jobs, state, log, now)
    while ready.size[0] > 0 and ready.key[ready.item[0]] <= now:
        reach(jobs, state, log, ready.item[0], now)


@inner_kernel
def _admit(jobs: np.recarray, rules: Rules, state: State, job: int, now: float) -> None:
    """A job is submitted: into the queue, or a burst gathers nodes, if it does not yet."""
    if not jobs[job].on_demand or rules.solver == NO_SOLVER:
        if state.jobs[job].stage != GATHERING:
            moves.wait(jobs, state, job)
    elif state.jobs[job].stage != GATHERING:
        moves.gather(state, job, now)


@inner_kernel
def _give_up(jobs: np.recarray, rules: Rules, state: State, log: Log, now: float) -> None:
    """Bursts that have not come when expected, or soon after, gather no longer."""
    place = 0
    while place < state.counts[GATHER]:
        burst = state.gathering[place]
        late = now >= jobs[burst].expected_time + rules.patience
        if jobs[burst].submit_time > now and late:
            moves.scatter(jobs, state, log, burst, now)
        else:
            place += 1
