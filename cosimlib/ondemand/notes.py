"""Notes of what running jobs did since their last entry in the log.

Jobs and bursts that share nodes take turns. The log shows the burst's turns of a stretch as one,
and before those of its hosts: a stretch ends, for all of them, whenever one comes or goes.
"""

import numpy as np

from cosimlib.kernels.jit import inner_kernel
from cosimlib.ondemand.state import (
    BURST,
    COMPUTE,
    READ,
    STAND,
    STRETCHES,
    TURN,
    WRITE,
    WRITER,
    Log,
    State,
    grain,
    next_row,
    progress,
)


@inner_kernel
def note(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """Enter what a running job did since its last entry."""
    begin = state.jobs[job].since
    state.jobs[job].since = now
    if not begin < now:
        return
    nodes = state.jobs[job].width
    before, left = state.jobs[job].reached, progress(jobs, state, job, begin)[2]
    done = progress(jobs, state, job, now)[0]
    state.jobs[job].reached = done
    if jobs[job].on_demand:
        turn = now if state.jobs[job].hosts == 0 else _turn(state, job, begin, now)
        _enter(state, log, BURST, job, begin, turn, jobs[job].nodes, before, done, 0.0)
        _enter(state, log, TURN, job, turn, now, nodes, done, done, 0.0)
    elif not np.isnan(state.jobs[job].stands):
        kind = WRITE if state.counts[WRITER] == job else STAND
        left = progress(jobs, state, job, state.jobs[job].stands)[2]
        state.jobs[job].reached = before
        _enter(state, log, kind, job, begin, now, nodes, before, before, left)
    else:
        origin, guest, first = state.jobs[job].origin, state.jobs[job].guest, begin
        origin = max(begin, min(grain(origin) if state.jobs[job].paced else origin, now))
        if guest >= 0:
            first = _turn(state, guest, begin, now)
            rest = nodes - state.jobs[job].lent
            _enter(state, log, TURN, job, begin, first, rest, before, before, left)
            origin = min(first + grain((origin - begin) * state.jobs[job].speed), now)
        if first < origin:
            base, left = state.jobs[job].origin_progress, 0.0
            before = base
            _enter(state, log, READ, job, first, origin, nodes, base, base, 0.0)
        _enter(state, log, COMPUTE, job, origin, now, nodes, before, done, left)


@inner_kernel
def _turn(state: State, burst: int, begin: float, now: float) -> float:
    """When the turns of a burst are over that all were taken first since `begin`."""
    return begin + grain((now - begin) * state.jobs[burst].speed)


@inner_kernel
def _enter(
    state: State, log: Log, kind: int, job: int, begin: float, end: float, nodes: int,
    before: float, after: float, left: float,
) -> None:  # fmt: skip
    """Enter a stretch of a running job, unless it has no length."""
    if not begin < end:
        return
    entry = log.stretches[next_row(log, STRETCHES, log.stretches)]
    entry[0], entry[1], entry[2] = kind, job, state.jobs[job].attempt
    entry[3], entry[4], entry[5] = begin, end, nodes
    entry[6], entry[7], entry[8] = before, after, left
