"""Pace of jobs: they shrink for a burst and grow again, or take turns with it on their nodes.

A malleable job on part of its nodes goes that much slower: its work is conserved. Jobs that share
nodes with a burst, its *hosts*, take turns with it; a host's nodes that the burst does not need,
and the burst's own nodes, stand still in the turn of the other. When a host ends, the nodes that
it lent are the burst's own; when the burst ends, its hosts go on at full speed.
"""

import numpy as np

from cosimlib.kernels import heap, releases
from cosimlib.kernels.jit import allocating_kernel, inner_kernel
from cosimlib.kernels.sorting import ascending
from cosimlib.ondemand.notes import note
from cosimlib.ondemand.state import (
    BURST_SIZE,
    FREE,
    RUN,
    SIZE,
    USED,
    Log,
    State,
    elapsed_for,
    time_of,
)


@inner_kernel
def expect(jobs: np.recarray, state: State, job: int) -> None:
    """Expect that a job releases its nodes when its requested time is over, at the pace it has."""
    counts, nodes = state.counts, state.jobs[job].width
    own = elapsed_for(jobs, job, state.jobs[job].origin_progress, jobs[job].requested_time)
    end = time_of(state, job, own)
    state.jobs[job].expected = end
    if nodes == 0:
        return
    counts[SIZE] = releases.add(state.times, state.nodes, counts[SIZE], end, nodes)
    if jobs[job].on_demand:
        counts[BURST_SIZE] = releases.add(
            state.burst_times, state.burst_nodes, counts[BURST_SIZE], end, nodes
        )


@inner_kernel
def forget(jobs: np.recarray, state: State, job: int) -> None:
    """Forget the expected release of a job."""
    counts, nodes, end = state.counts, state.jobs[job].width, state.jobs[job].expected
    if nodes == 0:
        return
    counts[SIZE] = releases.remove(state.times, state.nodes, counts[SIZE], end, nodes)
    if jobs[job].on_demand:
        counts[BURST_SIZE] = releases.remove(
            state.burst_times, state.burst_nodes, counts[BURST_SIZE], end, nodes
        )


@inner_kernel
def change(
    jobs: np.recarray, state: State, log: Log, job: int, nodes: int, speed: float, now: float
) -> None:
    """Let a running job go on with so many nodes of its own, at another speed."""
    note(jobs, state, log, job, now)
    forget(jobs, state, job)
    own = (state.exact[0] - state.jobs[job].origin) * state.jobs[job].speed
    state.jobs[job].width, state.jobs[job].speed, state.jobs[job].paced = nodes, speed, True
    state.jobs[job].origin = state.exact[0] - own / speed
    left = elapsed_for(jobs, job, state.jobs[job].origin_progress, jobs[job].run_time)
    heap.push(state.ends, job, time_of(state, job, left))
    expect(jobs, state, job)


@allocating_kernel
def running_batch(jobs: np.recarray, state: State) -> np.ndarray:
    """The running batch jobs that make way for no burst and share nodes with none, in order."""
    found, size = np.empty(state.counts[RUN], np.int64), 0
    for job in state.running[: state.counts[RUN]]:
        if not jobs[job].on_demand and state.jobs[job].victim < 0 and state.jobs[job].guest < 0:
            found[size] = job
            size += 1
    return found[ascending(found[:size].astype(np.float64))]


@allocating_kernel
def shrink(
    jobs: np.recarray, state: State, log: Log, lacking: int, now: float
) -> bool:  # fmt: skip
    """Shrink malleable jobs so that so many nodes come free, if they can give as many.

    Each gives the same part of what it can, rounded down; what is then lacking, one node each in
    order of submission.
    """
    found = running_batch(jobs, state)
    room = state.jobs[found].width - jobs[found].least_nodes
    total = room.sum()
    if total < lacking:
        return False
    gives = room * lacking // total
    rest = lacking - gives.sum()
    for place in range(found.size):
        job = found[place]
        if rest > 0 and gives[place] < room[place]:
            gives[place] += 1
            rest -= 1
        if gives[place] > 0:
            nodes = state.jobs[job].width - gives[place]
            change(jobs, state, log, job, nodes, nodes / jobs[job].nodes, now)
            state.counts[FREE] += gives[place]
    return True


@allocating_kernel
def grow(jobs: np.recarray, state: State, log: Log, now: float) -> None:
    """Give free nodes to jobs that shrank, in order of submission, up to what they asked for."""
    if state.counts[FREE] == 0:
        return
    for job in running_batch(jobs, state):
        more = min(state.counts[FREE], jobs[job].nodes - state.jobs[job].width)
        if more > 0:
            nodes = state.jobs[job].width + more
            change(jobs, state, log, job, nodes, nodes / jobs[job].nodes, now)
            state.counts[FREE] -= more


@allocating_kernel
def choose_hosts(jobs: np.recarray, state: State, lacking: int) -> np.ndarray:
    """The jobs that share nodes with a burst, in the order chosen; none where all do not do.

    The narrowest that is wide enough by itself, else the widest and again; ties: the lower job.
    """
    found = running_batch(jobs, state)
    widths = state.jobs[found].width.copy()
    chosen, size = np.empty(found.size, np.int64), 0
    if widths.sum() < lacking:
        return chosen[:0]
    while lacking > 0:
        best = -1
        for place in range(found.size):
            width = widths[place]
            if width == 0:
                continue
            enough = width >= lacking
            if best < 0:
                better = True
            elif enough:
                better = widths[best] < lacking or width < widths[best]
            else:
                better = width > widths[best]
            if better:
                best = place
        chosen[size] = found[best]
        size += 1
        lacking -= widths[best]
        widths[best] = 0
    return chosen[:size]


@inner_kernel
def share(
    jobs: np.recarray, state: State, log: Log, burst: int, hosts: np.ndarray, now: float
) -> None:
    """Let a burst that has just begun take turns with its hosts, on the nodes that it lacks."""
    lacking = jobs[burst].nodes - state.jobs[burst].width
    for job in hosts:
        change(jobs, state, log, job, state.jobs[job].width, 1.0 - state.jobs[burst].speed, now)
        state.jobs[job].guest, state.jobs[job].lent = burst, min(lacking, state.jobs[job].width)
        lacking -= state.jobs[job].lent
    state.jobs[burst].hosts = hosts.size


@inner_kernel
def part(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """End the sharing that a job or burst which ends now takes part in."""
    burst = job if jobs[job].on_demand else state.jobs[job].guest
    if burst < 0 or state.jobs[burst].hosts == 0:
        return
    for host in state.running[: state.counts[RUN]]:
        if state.jobs[host].guest == burst:
            note(jobs, state, log, host, now)
    note(jobs, state, log, burst, now)
    if job == burst:
        for host in state.running[: state.counts[RUN]]:
            if state.jobs[host].guest == burst:
                state.jobs[host].guest, state.jobs[host].lent = -1, 0
                change(jobs, state, log, host, state.jobs[host].width, 1.0, now)
        state.jobs[burst].hosts = 0
        return
    given = state.jobs[job].lent
    forget(jobs, state, job)
    state.jobs[job].width -= given
    expect(jobs, state, job)
    state.jobs[job].guest, state.jobs[job].lent = -1, 0
    state.counts[USED] += given
    state.jobs[burst].hosts -= 1
    speed = 1.0 if state.jobs[burst].hosts == 0 else state.jobs[burst].speed
    change(jobs, state, log, burst, state.jobs[burst].width + given, speed, now)
