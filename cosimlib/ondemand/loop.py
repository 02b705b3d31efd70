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
    OnDemandJobs,
    State,
    empty,
    empty_log,
    write_end,
)


def simulate(
    jobs: OnDemandJobs, rules: Rules, room: int | None = None
) -> tuple[np.ndarray, np.ndarray, Log]:
    """Starts, ends, and the log, cut to its rows; where `room` does not do, all is done again."""
    room = 8 * jobs.nodes.size + 1000 if room is None else room
    while True:
        start_time, end_time, log = run(jobs, rules, room)
        if log.size.max() <= room:
            stretches, evictions, plans = (
                table[:rows] for table, rows in zip(log[:3], log.size, strict=True)
            )
            return start_time, end_time, Log(stretches, evictions, plans, log.size)
        room = int(log.size.max())


@kernel
def run(jobs: OnDemandJobs, rules: Rules, room: int) -> tuple[np.ndarray, np.ndarray, Log]:
    """Simulate to the end: starts, ends, and a log with room for so many rows in each table."""
    n = jobs.nodes.size
    state, log = empty(n, rules.total_nodes), empty_log(room)
    calls = np.argsort(jobs.call_time, kind="mergesort")
    submitted, called = 0, 0
    while state.counts[FINISHED] < n:
        now = _next_instant(jobs, rules, state, submitted, calls, called)
        if now == np.inf:
            break
        state.exact[0] = now
        _absorb_machine(jobs, state, log, now)
        while submitted < n and jobs.submit_time[submitted] <= now:
            _admit(jobs, rules, state, submitted, now)
            submitted += 1
        while called < n and jobs.call_time[calls[called]] <= now:
            if state.stage[calls[called]] == UNSEEN:
                moves.gather(state, calls[called], now)
            called += 1
        _give_up(jobs, rules, state, log, now)
        serve(jobs, rules, state, log, now)
        begin_write(jobs, state, log, now)
        if rules.solver == SHRINK:
            grow(jobs, state, log, now)
        backfill(jobs, rules, state, now)
    return state.start_time, state.end_time, log


@inner_kernel
def _next_instant(
    jobs: OnDemandJobs, rules: Rules, state: State, submitted: int, calls: np.ndarray, called: int
) -> float:
    """The next instant at which anything happens; infinity where nothing will."""
    instant = np.inf
    if submitted < jobs.nodes.size:
        instant = jobs.submit_time[submitted]
    if called < jobs.nodes.size:
        instant = min(instant, jobs.call_time[calls[called]])
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
            instant = min(instant, jobs.expected_time[burst] + rules.patience)
    return instant


@inner_kernel
def _absorb_machine(jobs: OnDemandJobs, state: State, log: Log, now: float) -> None:
    """All ends of jobs, then of the write, then application checkpoints that are reached."""
    ends, ready = state.ends, state.ready
    while ends.size[0] > 0 and ends.key[ends.item[0]] <= now:
        moves.end(jobs, state, log, ends.item[0], now)
    if state.counts[WRITER] >= 0 and write_end(state) <= now:
        end_write(jobs, state, log, now)
    while ready.size[0] > 0 and ready.key[ready.item[0]] <= now:
        reach(jobs, state, log, ready.item[0], now)


@inner_kernel
def _admit(jobs: OnDemandJobs, rules: Rules, state: State, job: int, now: float) -> None:
    """A job is submitted: into the queue, or a burst gathers nodes, if it does not yet."""
    if not jobs.on_demand[job] or rules.solver == NO_SOLVER:
        if state.stage[job] != GATHERING:
            moves.wait(jobs, state, job)
    elif state.stage[job] != GATHERING:
        moves.gather(state, job, now)


@inner_kernel
def _give_up(jobs: OnDemandJobs, rules: Rules, state: State, log: Log, now: float) -> None:
    """Bursts that have not come when expected, or soon after, gather no longer."""
    place = 0
    while place < state.counts[GATHER]:
        burst = state.gathering[place]
        late = now >= jobs.expected_time[burst] + rules.patience
        if jobs.submit_time[burst] > now and late:
            moves.scatter(jobs, state, log, burst, now)
        else:
            place += 1
