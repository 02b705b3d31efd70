"""Moves of jobs: start, stand still, go on, end, make way; and the log of what they held."""

import numpy as np

from cosimlib.eviction.problem import APP, KILL, SYS
from cosimlib.kernels import heap
from cosimlib.kernels.jit import inner_kernel
from cosimlib.ondemand.notes import note
from cosimlib.ondemand.pace import expect, forget, part
from cosimlib.ondemand.state import (
    DONE,
    EVICTIONS,
    FINISHED,
    FREE,
    GATHER,
    GATHERING,
    HOLD,
    QUEUE,
    QUEUED,
    RUN,
    RUNNING,
    STRETCHES,
    UNSEEN,
    USED,
    WRITER,
    Log,
    State,
    elapsed_for,
    keep_exact,
    next_row,
    progress,
    time_of,
)


@inner_kernel
def start(jobs: np.recarray, state: State, job: int, now: float) -> None:
    """Let a job run on free nodes, from the progress that is saved."""
    begin(jobs, state, job, jobs[job].nodes, 1.0, now)


@inner_kernel
def begin(jobs: np.recarray, state: State, job: int, nodes: int, speed: float, now: float) -> None:
    """Let a job run on so many free nodes, at a speed."""
    counts = state.counts
    saved, reread = state.jobs[job].saved, state.jobs[job].reread
    state.jobs[job].stage = RUNNING
    state.jobs[job].attempt += 1
    exact = state.exact[0]
    state.jobs[job].since, state.jobs[job].origin_progress, state.jobs[job].origin = (
        now,
        saved,
        exact + reread,
    )
    state.jobs[job].reached, state.jobs[job].paced = saved, exact != now or speed != 1.0
    state.jobs[job].width, state.jobs[job].speed = nodes, speed
    heap.push(state.ends, job, time_of(state, job, elapsed_for(
        jobs, job, saved, jobs[job].run_time
    )))  # fmt: skip
    expect(jobs, state, job)
    state.jobs[job].place = counts[RUN]
    state.running[counts[RUN]] = job
    counts[RUN] += 1
    counts[FREE] -= nodes
    if jobs[job].on_demand:
        counts[USED] += nodes
    if np.isnan(state.jobs[job].start_time):
        state.jobs[job].start_time = now


@inner_kernel
def leave(jobs: np.recarray, state: State, job: int) -> None:
    """Take a job off the machine; its nodes are the caller's to give."""
    forget(jobs, state, job)
    counts, place = state.counts, state.jobs[job].place
    counts[RUN] -= 1
    last = state.running[counts[RUN]]
    state.running[place] = last
    state.jobs[last].place = place
    state.jobs[job].place = -1
    state.jobs[job].victim = -1
    state.jobs[job].stands = np.nan
    heap.remove(state.ends, job)
    heap.remove(state.ready, job)
    heap.remove(state.writes, job)


@inner_kernel
def end(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job has done its work; its nodes go to the burst that it was to make way for, if any."""
    note(jobs, state, log, job, now)
    burst = state.jobs[job].victim
    keep_exact(state, job, now)
    part(jobs, state, log, job, now)
    leave(jobs, state, job)
    state.jobs[job].stage = DONE
    state.jobs[job].end_time = now
    state.counts[FINISHED] += 1
    state.counts[FREE] += state.jobs[job].width
    if jobs[job].on_demand:
        state.counts[USED] -= state.jobs[job].width
    if burst >= 0:
        collect(jobs, state, log, burst, state.jobs[job].width, now)


@inner_kernel
def evict(jobs: np.recarray, state: State, log: Log, job: int, action: int, now: float) -> None:
    """Evict a job: it waits again in order of submission, with the progress that it keeps."""
    standing = state.jobs[job].stands
    since = now if np.isnan(standing) else standing
    note(jobs, state, log, job, now)
    done, saved = state.jobs[job].reached, progress(jobs, state, job, since)[1]
    kept = saved if action == KILL else done
    if action == SYS:
        state.jobs[job].reread = jobs[job].sys_write
    elif action == APP or kept > state.jobs[job].saved:
        state.jobs[job].reread = jobs[job].app_write
    entry = log.evictions[next_row(log, EVICTIONS, log.evictions)]
    entry[0], entry[1], entry[2] = job, state.jobs[job].attempt, state.jobs[job].victim
    entry[3], entry[4], entry[5] = action, state.jobs[job].decided, since
    entry[6], entry[7], entry[8] = now, done, kept
    state.jobs[job].saved = kept
    leave(jobs, state, job)
    wait(jobs, state, job)
    state.counts[FREE] += state.jobs[job].width


@inner_kernel
def wait(jobs: np.recarray, state: State, job: int) -> None:
    """Insert a job into the queue: bursts first, then in order of submission."""
    queue, place, n = state.queue, state.counts[QUEUE], len(jobs)
    rank = job - n if jobs[job].on_demand else job
    while place > 0:
        before = queue[place - 1]
        if (before - n if jobs[before].on_demand else before) < rank:
            break
        queue[place] = before
        place -= 1
    queue[place] = job
    state.counts[QUEUE] += 1
    state.jobs[job].stage = QUEUED


@inner_kernel
def stand(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job stands still from now on."""
    note(jobs, state, log, job, now)
    state.jobs[job].stands = now
    heap.remove(state.ends, job)
    heap.remove(state.ready, job)


@inner_kernel
def spare(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job need not make way any more; where it stood still it goes on."""
    state.jobs[job].victim = -1
    heap.remove(state.ready, job)
    heap.remove(state.writes, job)
    if np.isnan(state.jobs[job].stands):
        return
    note(jobs, state, log, job, now)
    lost = now - state.jobs[job].stands
    state.jobs[job].stands = np.nan
    state.jobs[job].origin += lost
    heap.push(state.ends, job, state.ends.key[job] + lost)
    forget(jobs, state, job)
    expect(jobs, state, job)
    if state.counts[WRITER] == job:
        state.counts[WRITER] = -1


@inner_kernel
def gather(state: State, burst: int, now: float) -> None:
    """A burst begins to gather nodes, behind those that do already."""
    state.gathering[state.counts[GATHER]] = burst
    state.counts[GATHER] += 1
    state.jobs[burst].stage = GATHERING
    state.jobs[burst].held = 0
    state.jobs[burst].since = now


@inner_kernel
def scatter(jobs: np.recarray, state: State, log: Log, burst: int, now: float) -> None:
    """A burst gathers no more: what it held is free, and whom it wanted to evict is spared."""
    hold(state, log, burst, 0, now)
    for place in range(state.counts[RUN]):
        job = state.running[place]
        if state.jobs[job].victim == burst:
            spare(jobs, state, log, job, now)
    kept = 0
    for place in range(state.counts[GATHER]):
        if state.gathering[place] != burst:
            state.gathering[kept] = state.gathering[place]
            kept += 1
    state.counts[GATHER] = kept
    state.jobs[burst].stage = UNSEEN


@inner_kernel
def collect(jobs: np.recarray, state: State, log: Log, burst: int, nodes: int, now: float) -> None:
    """Hold as many of these free nodes for a burst as it still wants."""
    taken = min(nodes, jobs[burst].nodes - state.jobs[burst].held)
    if taken > 0:
        hold(state, log, burst, state.jobs[burst].held + taken, now)


@inner_kernel
def hold(state: State, log: Log, burst: int, nodes: int, now: float) -> None:
    """Hold so many nodes in all for a burst."""
    held = state.jobs[burst].held
    if held > 0 and state.jobs[burst].since < now:
        entry = log.stretches[next_row(log, STRETCHES, log.stretches)]
        entry[0], entry[1], entry[2] = HOLD, burst, 0
        entry[3], entry[4], entry[5] = state.jobs[burst].since, now, held
        entry[6], entry[7], entry[8] = 0.0, 0.0, 0.0
    state.jobs[burst].since = now
    state.jobs[burst].held = nodes
    state.counts[FREE] += held - nodes
    state.counts[USED] += nodes - held
