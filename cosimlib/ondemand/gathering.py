"""Gathering: bursts hold nodes that are free, choose who makes way, and start; the one writer.

Bursts are served in the order in which they were called. A burst takes free nodes first. Where what
it holds and what running jobs are to give it do not suffice, it makes a plan, and again at later
instants where all running jobs would not do. It starts as soon as the nodes that it holds and those
of the jobs to be killed suffice; only then jobs are killed, so that no node stands still for it.
Of those jobs, the ones with most to lose are spared as far as nodes that came free meanwhile allow,
and who was to write a checkpoint and has not finished goes on.
"""

import numpy as np

from cosimlib.eviction.problem import KILL
from cosimlib.kernels import heap
from cosimlib.kernels.jit import allocating_kernel, embedded_kernel, inner_kernel
from cosimlib.ondemand import moves
from cosimlib.ondemand.pace import choose_hosts, share, shrink
from cosimlib.ondemand.planning import (
    NO_SOLVER,
    PREDICT,
    PREPARE,
    SHARE,
    SHRINK,
    Rules,
    make_plan,
)
from cosimlib.ondemand.predicting import collect_until_predicted
from cosimlib.ondemand.state import (
    FREE,
    GATHER,
    RUN,
    WRITER,
    Log,
    State,
    keep_exact,
    progress,
)


@embedded_kernel
def serve(jobs: np.recarray, rules: Rules, state: State, log: Log, now: float) -> None:
    """Serve all bursts that gather nodes, in order of their calls, and anew after each start.

    A job that is killed may leave more nodes than were wanted, which others then take.
    """
    place = 0
    while place < state.counts[GATHER]:
        started = _serve_one(jobs, rules, state, log, state.gathering[place], now)
        place = 0 if started else place + 1


@embedded_kernel
def _serve_one(
    jobs: np.recarray, rules: Rules, state: State, log: Log, burst: int, now: float
) -> bool:
    """Serve a burst; whether it starts."""
    moves.collect(jobs, state, log, burst, state.counts[FREE], now)
    arrived = jobs[burst].submit_time <= now
    lacking = jobs[burst].nodes - state.jobs[burst].held
    if arrived and rules.solver == SHRINK and lacking > 0 and shrink(
        jobs, state, log, lacking, now
    ):  # fmt: skip
        moves.collect(jobs, state, log, burst, lacking, now)
    if arrived and _start(jobs, state, log, burst, now):
        return True
    if rules.solver == NO_SOLVER:
        return False
    if rules.solver == SHARE:
        return arrived and _start_sharing(jobs, rules, state, log, burst, now)
    if not arrived and rules.notice == PREDICT:
        collect_until_predicted(jobs, state, burst, now)
    if not arrived and rules.notice != PREPARE:
        return False
    lacking = jobs[burst].nodes - state.jobs[burst].held - _promised(jobs, state, burst, False)
    if lacking > 0:
        make_plan(jobs, rules, state, log, burst, lacking, now)
    return arrived and lacking > 0 and _start(jobs, state, log, burst, now)


@inner_kernel
def _promised(jobs: np.recarray, state: State, burst: int, kills_only: bool) -> int:
    """Nodes of the running jobs that make way for a burst, or of those that are to be killed."""
    nodes = 0
    for place in range(state.counts[RUN]):
        job = state.running[place]
        if state.jobs[job].victim == burst and (not kills_only or state.jobs[job].action == KILL):
            nodes += state.jobs[job].width
    return nodes


@inner_kernel
def _start(jobs: np.recarray, state: State, log: Log, burst: int, now: float) -> bool:
    """Start a burst where the nodes that it holds and those of jobs to be killed suffice."""
    lacking = jobs[burst].nodes - state.jobs[burst].held
    surplus = _promised(jobs, state, burst, True) - lacking
    if surplus < 0:
        return False
    _spare_costly(jobs, state, log, burst, surplus, now)
    while True:
        job = _next_to_kill(jobs, state, burst)
        if job < 0:
            break
        moves.evict(jobs, state, log, job, KILL, now)
    moves.scatter(jobs, state, log, burst, now)
    moves.start(jobs, state, burst, now)
    return True


@allocating_kernel
def _start_sharing(
    jobs: np.recarray, rules: Rules, state: State, log: Log, burst: int, now: float
) -> bool:
    """Start a burst on what it holds and on nodes that it shares, where there are enough."""
    own = state.jobs[burst].held
    hosts = choose_hosts(jobs, state, jobs[burst].nodes - own)
    if hosts.size == 0:
        return False
    moves.scatter(jobs, state, log, burst, now)
    moves.begin(jobs, state, burst, own, rules.turn, now)
    share(jobs, state, log, burst, hosts, now)
    return True


@inner_kernel
def _spare_costly(
    jobs: np.recarray, state: State, log: Log, burst: int, surplus: int, now: float
) -> None:
    """Spare the jobs with most to lose whose nodes are not needed; ties: the lower job first."""
    while True:
        costly, most = -1, 0.0
        for place in range(state.counts[RUN]):
            job = state.running[place]
            if state.jobs[job].victim != burst or state.jobs[job].action != KILL:
                continue
            if state.jobs[job].width > surplus:
                continue
            done, saved, _ = progress(jobs, state, job, now)
            loss = jobs[job].nodes * (done - saved)
            if costly < 0 or loss > most or (loss == most and job < costly):
                costly, most = job, loss
        if costly < 0:
            return
        surplus -= state.jobs[costly].width
        moves.spare(jobs, state, log, costly, now)


@inner_kernel
def _next_to_kill(jobs: np.recarray, state: State, burst: int) -> int:
    """The lowest job that is to be killed for a burst, or −1."""
    found = -1
    for place in range(state.counts[RUN]):
        job = state.running[place]
        if (
            state.jobs[job].victim == burst
            and state.jobs[job].action == KILL
            and (found < 0 or job < found)
        ):
            found = job
    return found


@inner_kernel
def reach(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job that makes way has reached its application checkpoint."""
    if state.jobs[job].action == KILL:
        keep_exact(state, job, now)
        give_way(jobs, state, log, job, now)
        return
    moves.stand(jobs, state, log, job, now)
    if state.jobs[job].write == 0.0:
        give_way(jobs, state, log, job, now)


@inner_kernel
def give_way(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job whose checkpoint is whole leaves its nodes to the burst."""
    burst = state.jobs[job].victim
    moves.evict(jobs, state, log, job, state.jobs[job].action, now)
    moves.collect(jobs, state, log, burst, state.jobs[job].width, now)


@inner_kernel
def begin_write(jobs: np.recarray, state: State, log: Log, now: float) -> None:
    """Let the file system take up the checkpoint whose turn it is now."""
    writes = state.writes
    if writes.size[0] == 0 or writes.key[writes.item[0]] > now:
        return
    job = heap.pop(writes)
    if np.isnan(state.jobs[job].stands):
        moves.stand(jobs, state, log, job, now)
    moves.note(jobs, state, log, job, now)
    state.counts[WRITER] = job


@inner_kernel
def end_write(jobs: np.recarray, state: State, log: Log, now: float) -> None:
    """The checkpoint being written is whole."""
    job = state.counts[WRITER]
    moves.note(jobs, state, log, job, now)
    state.counts[WRITER] = -1
    give_way(jobs, state, log, job, now)
