"""The log: what every job did, in stretches of time, and the evictions.

A stretch ends when something changes for the job. `log_stretch` is called just before that, and
writes what the job did since its last stretch.
"""

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.ondemand.state import (
    BURST,
    COMPUTE,
    NO_JOB,
    READ,
    STAND,
    TURN,
    WRITE,
    Machine,
    progress,
    rounded,
    time_of,
)


@kernel
def log_stretch(machine: Machine, number: int) -> None:
    """Log what a running job or burst did since its last stretch."""
    state, job = machine.state, machine.jobs[number]
    start, before = job.logged_until, job.logged_progress
    job.logged_until = state.now
    if not start < state.now:
        return
    job.logged_progress = progress(job, machine.rules, state.now)
    if job.on_demand:
        _log_burst(machine, number, start, before)
    elif not np.isnan(job.stopped):
        kind = WRITE if state.writer == number else STAND
        add_stretch(machine, kind, number, start, state.now, job.width, before, before)
    else:
        _log_computing(machine, number, start, before)


@kernel
def _log_burst(machine: Machine, number: int, start: float, before: float) -> None:
    """Log what a burst did: its turns as one stretch, then the turns of its hosts as another.

    In truth turns alternate. The stretch of a burst and those of its hosts begin and end together,
    when a host comes or goes, so that they show the same turns.
    """
    now, burst = machine.state.now, machine.jobs[number]
    done, turn_end = burst.logged_progress, now
    if burst.hosts > 0:
        turn_end = _turn_end(burst, machine.rules, start, now)
    add_stretch(machine, BURST, number, start, turn_end, burst.nodes, before, done)
    add_stretch(machine, TURN, number, turn_end, now, burst.width, done, done)


@kernel
def _log_computing(machine: Machine, number: int, start: float, before: float) -> None:
    """Log what a batch job did: it stands still in the burst's turn, then reads, then computes."""
    now, job = machine.state.now, machine.jobs[number]
    read_until = max(start, min(time_of(job, machine.rules, job.read_time), now))
    if job.shares_with != NO_JOB:
        burst = machine.jobs[job.shares_with]
        turn_end = _turn_end(burst, machine.rules, start, now)
        rest = job.width - job.lent
        add_stretch(machine, TURN, number, start, turn_end, rest, before, before)
        reading = rounded(machine.rules, (read_until - start) * job.speed)
        start, read_until = turn_end, min(turn_end + reading, now)
    add_stretch(machine, READ, number, start, read_until, job.width, before, before)
    done = job.logged_progress
    add_stretch(machine, COMPUTE, number, read_until, now, job.width, before, done)


@kernel
def _turn_end(burst: np.record, rules: np.record, start: float, now: float) -> float:
    """When the turns of a burst end if all of them from the start until now are taken first."""
    return start + rounded(rules, (now - start) * burst.speed)


@kernel
def add_stretch(
    machine: Machine,
    kind: int,
    number: int,
    start: float,
    end: float,
    nodes: int,
    before: float,
    after: float,
) -> None:
    """Add a stretch to the log, unless it has no length."""
    if start < end:
        stretch = machine.stretches[machine.state.stretches]
        machine.state.stretches += 1
        stretch.kind, stretch.job, stretch.nodes = kind, number, nodes
        stretch.attempt = max(machine.jobs[number].attempt, 0)
        stretch.start, stretch.end = start, end
        stretch.before, stretch.after = before, after


@kernel
def log_eviction(
    evictions: np.recarray, state: np.record, number: int, job: np.record, done: float, kept: float
) -> None:
    """Log that a job is evicted now, with the progress that it has done and that it keeps."""
    eviction = evictions[state.evictions]
    state.evictions += 1
    eviction.job, eviction.attempt = number, job.attempt
    eviction.burst, eviction.action = job.makes_way_for, job.action
    eviction.decided, eviction.time = job.decided, state.now
    eviction.since = state.now if np.isnan(job.stopped) else job.stopped
    eviction.done, eviction.kept = done, kept
