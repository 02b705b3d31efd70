"""Pace of jobs: they shrink for a burst and grow again, or take turns with it on their nodes.

A malleable job on part of its nodes goes that much slower: its work is conserved. Jobs that share
nodes with a burst, its *hosts*, take turns with it; a host's nodes that the burst does not need,
and the burst's own nodes, stand still in the turn of the other. When a host ends, the nodes that
it lent are the burst's own; when the burst ends, its hosts go on at full speed.
"""

import numpy as np

from cosimlib.kernels import heap, releases
from cosimlib.kernels.jit import inner_kernel, kernel
from cosimlib.ondemand.notes import note
from cosimlib.ondemand.state import (
    BURST_SIZE,
    FREE,
    RUN,
    SIZE,
    USED,
    Log,
    OnDemandJobs,
    State,
    elapsed_for,
    time_of,
)


@inner_kernel
def expect(jobs: OnDemandJobs, state: State, job: int) -> None:
    """Expect that a job releases its nodes when its requested time is over, at the pace it has."""
    counts, nodes = state.counts, state.width[job]
    end = time_of(
        state, job, elapsed_for(jobs, job, state.base[job], jobs.requested_time[job])
    )  # fmt: skip
    state.expected[job] = end
    if nodes == 0:
        return
    counts[SIZE] = releases.add(state.times, state.nodes, counts[SIZE], end, nodes)
    if jobs.on_demand[job]:
        counts[BURST_SIZE] = releases.add(
            state.burst_times, state.burst_nodes, counts[BURST_SIZE], end, nodes
        )


@inner_kernel
def forget(jobs: OnDemandJobs, state: State, job: int) -> None:
    """Forget the expected release of a job."""
    counts, nodes, end = state.counts, state.width[job], state.expected[job]
    if nodes == 0:
        return
    counts[SIZE] = releases.remove(state.times, state.nodes, counts[SIZE], end, nodes)
    if jobs.on_demand[job]:
        counts[BURST_SIZE] = releases.remove(
            state.burst_times, state.burst_nodes, counts[BURST_SIZE], end, nodes
        )


@inner_kernel
def change(
    jobs: OnDemandJobs, state: State, log: Log, job: int, nodes: int, speed: float, now: float
) -> None:
    """Let a running job go on with so many nodes of its own, at another speed."""
    note(jobs, state, log, job, now)
    forget(jobs, state, job)
    own = (state.exact[0] - state.origin[job]) * state.speed[job]
    state.width[job], state.speed[job], state.paced[job] = nodes, speed, True
    state.origin[job] = state.exact[0] - own / speed
    left = elapsed_for(jobs, job, state.base[job], jobs.run_time[job])
    heap.push(state.ends, job, time_of(state, job, left))
    expect(jobs, state, job)


@kernel
def running_batch(jobs: OnDemandJobs, state: State) -> np.ndarray:
    """The running batch jobs that make way for no burst and share nodes with none, in order."""
    found, size = np.empty(state.counts[RUN], np.int64), 0
    for job in state.running[: state.counts[RUN]]:
        if not jobs.on_demand[job] and state.victim[job] < 0 and state.guest[job] < 0:
            found[size] = job
            size += 1
    return np.sort(found[:size])


@kernel
def shrink(
    jobs: OnDemandJobs, state: State, log: Log, lacking: int, now: float
) -> bool:  # fmt: skip
    """Shrink malleable jobs so that so many nodes come free, if they can give as many.

    Each gives the same part of what it can, rounded down; what is then lacking, one node each in
    order of submission.
    """
    found = running_batch(jobs, state)
    room = state.width[found] - jobs.least_nodes[found]
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
            nodes = state.width[job] - gives[place]
            change(jobs, state, log, job, nodes, nodes / jobs.nodes[job], now)
            state.counts[FREE] += gives[place]
    return True


@kernel
def grow(jobs: OnDemandJobs, state: State, log: Log, now: float) -> None:
    """Give free nodes to jobs that shrank, in order of submission, up to what they asked for."""
    if state.counts[FREE] == 0:
        return
    for job in running_batch(jobs, state):
        more = min(state.counts[FREE], jobs.nodes[job] - state.width[job])
        if more > 0:
            nodes = state.width[job] + more
            change(jobs, state, log, job, nodes, nodes / jobs.nodes[job], now)
            state.counts[FREE] -= more


@kernel
def choose_hosts(jobs: OnDemandJobs, state: State, lacking: int) -> np.ndarray:
    """The jobs that share nodes with a burst, in the order chosen; none where all do not do.

    The narrowest that is wide enough by itself, else the widest and again; ties: the lower job.
    """
    found = running_batch(jobs, state)
    widths = state.width[found].copy()
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


@kernel
def share(
    jobs: OnDemandJobs, state: State, log: Log, burst: int, hosts: np.ndarray, now: float
) -> None:
    """Let a burst that has just begun take turns with its hosts, on the nodes that it lacks."""
    lacking = jobs.nodes[burst] - state.width[burst]
    for job in hosts:
        change(jobs, state, log, job, state.width[job], 1.0 - state.speed[burst], now)
        state.guest[job], state.lent[job] = burst, min(lacking, state.width[job])
        lacking -= state.lent[job]
    state.hosts[burst] = hosts.size


@kernel
def part(jobs: OnDemandJobs, state: State, log: Log, job: int, now: float) -> None:
    """End the sharing that a job or burst which ends now takes part in."""
    burst = job if jobs.on_demand[job] else state.guest[job]
    if burst < 0 or state.hosts[burst] == 0:
        return
    for host in state.running[: state.counts[RUN]]:
        if state.guest[host] == burst:
            note(jobs, state, log, host, now)
    note(jobs, state, log, burst, now)
    if job == burst:
        for host in state.running[: state.counts[RUN]]:
            if state.guest[host] == burst:
                state.guest[host], state.lent[host] = -1, 0
                change(jobs, state, log, host, state.width[host], 1.0, now)
        state.hosts[burst] = 0
        return
    given = state.lent[job]
    forget(jobs, state, job)
    state.width[job] -= given
    expect(jobs, state, job)
    state.guest[job], state.lent[job] = -1, 0
    state.counts[USED] += given
    state.hosts[burst] -= 1
    speed = 1.0 if state.hosts[burst] == 0 else state.speed[burst]
    change(jobs, state, log, burst, state.width[burst] + given, speed, now)
