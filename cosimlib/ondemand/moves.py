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
    OnDemandJobs,
    State,
    elapsed_for,
    keep_exact,
    next_row,
    progress,
    time_of,
)


@inner_kernel
def start(jobs: OnDemandJobs, state: State, job: int, now: float) -> None:
    """Let a job run on free nodes, from the progress that is saved."""
    begin(jobs, state, job, jobs.nodes[job], 1.0, now)


@inner_kernel
def begin(jobs: OnDemandJobs, state: State, job: int, nodes: int, speed: float, now: float) -> None:
    """Let a job run on so many free nodes, at a speed."""
    counts = state.counts
    saved, reread = state.saved[job], state.reread[job]
    state.stage[job] = RUNNING
    state.attempt[job] += 1
    exact = state.exact[0]
    state.since[job], state.base[job], state.origin[job] = now, saved, exact + reread
    state.reached[job], state.paced[job] = saved, exact != now or speed != 1.0
    state.width[job], state.speed[job] = nodes, speed
    heap.push(state.ends, job, time_of(state, job, elapsed_for(
        jobs, job, saved, jobs.run_time[job]
    )))  # fmt: skip
    expect(jobs, state, job)
    state.place[job] = counts[RUN]
    state.running[counts[RUN]] = job
    counts[RUN] += 1
    counts[FREE] -= nodes
    if jobs.on_demand[job]:
        counts[USED] += nodes
    if np.isnan(state.start_time[job]):
        state.start_time[job] = now


@inner_kernel
def leave(jobs: OnDemandJobs, state: State, job: int) -> None:
    """Take a job off the machine; its nodes are the caller's to give."""
    forget(jobs, state, job)
    counts, place = state.counts, state.place[job]
    counts[RUN] -= 1
    last = state.running[counts[RUN]]
    state.running[place] = last
    state.place[last] = place
    state.place[job] = -1
    state.victim[job] = -1
    state.stands[job] = np.nan
    heap.remove(state.ends, job)
    heap.remove(state.ready, job)
    heap.remove(state.writes, job)


@inner_kernel
def end(jobs: OnDemandJobs, state: State, log: Log, job: int, now: float) -> None:
    """A job has done its work; its nodes go to the burst that it was to make way for, if any."""
    note(jobs, state, log, job, now)
    burst = state.victim[job]
    keep_exact(state, job, now)
    part(jobs, state, log, job, now)
    leave(jobs, state, job)
    state.stage[job] = DONE
    state.end_time[job] = now
    state.counts[FINISHED] += 1
    state.counts[FREE] += state.width[job]
    if jobs.on_demand[job]:
        state.counts[USED] -= state.width[job]
    if burst >= 0:
        collect(jobs, state, log, burst, state.width[job], now)


@inner_kernel
def evict(jobs: OnDemandJobs, state: State, log: Log, job: int, action: int, now: float) -> None:
    """Evict a job: it waits again in order of submission, with the progress that it keeps."""
    standing = state.stands[job]
    since = now if np.isnan(standing) else standing
    note(jobs, state, log, job, now)
    done, saved = state.reached[job], progress(jobs, state, job, since)[1]
    kept = saved if action == KILL else done
    if action == SYS:
        state.reread[job] = jobs.sys_write[job]
    elif action == APP or kept > state.saved[job]:
        state.reread[job] = jobs.app_write[job]
    entry = log.evictions[next_row(log, EVICTIONS, log.evictions)]
    entry[0], entry[1], entry[2] = job, state.attempt[job], state.victim[job]
    entry[3], entry[4], entry[5] = action, state.decided[job], since
    entry[6], entry[7], entry[8] = now, done, kept
    state.saved[job] = kept
    leave(jobs, state, job)
    wait(jobs, state, job)
    state.counts[FREE] += state.width[job]


@inner_kernel
def wait(jobs: OnDemandJobs, state: State, job: int) -> None:
    """Insert a job into the queue: bursts first, then in order of submission."""
    queue, place, n = state.queue, state.counts[QUEUE], jobs.nodes.size
    rank = job - n if jobs.on_demand[job] else job
    while place > 0:
        before = queue[place - 1]
        if (before - n if jobs.on_demand[before] else before) < rank:
            break
        queue[place] = before
        place -= 1
    queue[place] = job
    state.counts[QUEUE] += 1
    state.stage[job] = QUEUED


@inner_kernel
def stand(jobs: OnDemandJobs, state: State, log: Log, job: int, now: float) -> None:
    """A job stands still from now on."""
    note(jobs, state, log, job, now)
    state.stands[job] = now
    heap.remove(state.ends, job)
    heap.remove(state.ready, job)


@inner_kernel
def spare(jobs: OnDemandJobs, state: State, log: Log, job: int, now: float) -> None:
    """A job need not make way any more; where it stood still it goes on."""
    state.victim[job] = -1
    heap.remove(state.ready, job)
    heap.remove(state.writes, job)
    if np.isnan(state.stands[job]):
        return
    note(jobs, state, log, job, now)
    lost = now - state.stands[job]
    state.stands[job] = np.nan
    state.origin[job] += lost
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
    state.stage[burst] = GATHERING
    state.held[burst] = 0
    state.since[burst] = now


@inner_kernel
def scatter(jobs: OnDemandJobs, state: State, log: Log, burst: int, now: float) -> None:
    """A burst gathers no more: what it held is free, and whom it wanted to evict is spared."""
    hold(state, log, burst, 0, now)
    for place in range(state.counts[RUN]):
        job = state.running[place]
        if state.victim[job] == burst:
            spare(jobs, state, log, job, now)
    kept = 0
    for place in range(state.counts[GATHER]):
        if state.gathering[place] != burst:
            state.gathering[kept] = state.gathering[place]
            kept += 1
    state.counts[GATHER] = kept
    state.stage[burst] = UNSEEN


@inner_kernel
def collect(jobs: OnDemandJobs, state: State, log: Log, burst: int, nodes: int, now: float) -> None:
    """Hold as many of these free nodes for a burst as it still wants."""
    taken = min(nodes, jobs.nodes[burst] - state.held[burst])
    if taken > 0:
        hold(state, log, burst, state.held[burst] + taken, now)


@inner_kernel
def hold(state: State, log: Log, burst: int, nodes: int, now: float) -> None:
    """Hold so many nodes in all for a burst."""
    held = state.held[burst]
    if held > 0 and state.since[burst] < now:
        entry = log.stretches[next_row(log, STRETCHES, log.stretches)]
        entry[0], entry[1], entry[2] = HOLD, burst, 0
        entry[3], entry[4], entry[5] = state.since[burst], now, held
        entry[6], entry[7], entry[8] = 0.0, 0.0, 0.0
    state.since[burst] = now
    state.held[burst] = nodes
    state.counts[FREE] += held - nodes
    state.counts[USED] += nodes - held
