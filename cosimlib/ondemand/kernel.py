"""Discrete-event loop of a machine with bursts: ends, writes, node collection, then EASY.

At each instant all is absorbed first: jobs end, a checkpoint is whole, application checkpoints are
reached, jobs and bursts are submitted, notices come due, bursts that did not come are given up.
Then bursts are served, the file system takes up the next checkpoint, and batch jobs start.

*Node collection.* Bursts are served in the order in which they were called. A burst takes free
nodes first. Where what it holds and what running jobs are to give it do not suffice, it makes a
plan, and again at later instants where all running jobs would not do. It starts as soon as the
nodes that it holds and those of the jobs to be killed suffice; only then jobs are killed, so that
no node stands still for it. Of those jobs, the ones with most to lose are spared as far as nodes
that came free meanwhile allow, and jobs that have not finished their checkpoint go on.

*EASY* on the nodes that bursts leave: first come, first served, one reservation. The queue's head
starts as soon as it fits, and otherwise has a reservation; what comes behind may start where it
delays the head by nothing and does not run into a known window (see `cosimlib.batch.easy`).
Evicted jobs wait at the place of their submission. Of `reserved` nodes, those that no burst uses
are kept free from all batch jobs but those that would otherwise never fit.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.eviction.problem import APP, KILL, SYS
from cosimlib.kernels import backfilling
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import records
from cosimlib.ondemand.planning import (
    NO_SOLVER,
    PREDICT,
    PREPARE,
    SHARE,
    SHRINK,
    Rules,
    costliest,
    end_sharing,
    make_way,
)
from cosimlib.ondemand.state import (
    CALLS,
    COLLECTING,
    ENDS,
    EVICTED,
    EXPECTED,
    JOB,
    LENGTH,
    LOG,
    NO_JOB,
    QUEUE,
    RUN,
    RUNNING,
    STATE,
    VICTIMS,
    Windows,
    change_rate,
    elapsed_for,
    end_collecting,
    hold_nodes,
    insert,
    keep_exact,
    log_stretch,
    pass_windows,
    progress,
    remove,
    remove_job,
    spare_job,
    start_job,
    stop_job,
    windows_of,
)


class Log(NamedTuple):
    """What happened: stretches and evictions (`LOG`), and a row per plan (see `planning`)."""

    stretches: np.ndarray
    evictions: np.ndarray
    plans: np.ndarray


def simulate(
    requests: np.ndarray, rules: Rules, rows: int | None = None, calendar: Calendar = ALWAYS_OPEN
) -> tuple[np.ndarray, np.ndarray, Log]:
    """Starts, ends, and the log, which first has room for so many `rows`."""
    jobs, lists, states = _empty(requests, rules)
    log = np.zeros(4 * len(jobs) + 1000 if rows is None else rows, LOG)
    plans: list[tuple] = []
    first = np.minimum(jobs["submit_time"], jobs["call_time"])
    windows = windows_of(calendar, rules.total_nodes, first)
    edges = windows.edges.size
    expected, limits = (np.recarray(size + edges, STEP) for size in (len(jobs), 2))
    while not run(jobs, lists, expected, limits, states, log, windows):
        if states[0].full:
            log = np.append(log, np.zeros_like(log))
        else:
            plans += make_way(jobs, lists, states, log, rules)
    log = log[: states[0].logged]
    evicted = log["kind"] == EVICTED
    tables = log[~evicted], log[evicted], np.array(plans, dtype=np.float64).reshape(-1, 8)
    return jobs["start_time"].copy(), jobs["end_time"].copy(), Log(*tables)


def _empty(requests: np.ndarray, rules: Rules) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records of jobs, lists of them, and one record of a machine on which nothing happened."""
    asked = {field: requests[field] for field in JOB.names or ()}
    jobs = records(len(requests), RUN, **asked, attempt=-1, victim=-1, guest=-1, speed=1.0)
    jobs.stopped = jobs.start_time = jobs.end_time = np.nan
    lists = np.zeros((7, len(jobs) + 1), np.int64)
    lists[CALLS, :LENGTH] = np.argsort(jobs["call_time"], kind="stable")
    states = records(1, STATE, free=rules.total_nodes, writer=-1, asking=-1, served=-1)
    states.longest = np.inf
    for field in ("solver", "notice", "total_nodes", "reserved", "patience"):
        states[field] = getattr(rules, field)
    return jobs, lists, states


@kernel
def run(
    jobs: np.ndarray,
    lists: np.ndarray,
    expected: np.recarray,
    limits: np.recarray,
    states: np.ndarray,
    log: np.ndarray,
    windows: Windows,
) -> bool:
    """Simulate to the end, which is true, or until the log is full or jobs are to make way."""
    state = states[0]
    while state.finished < jobs.size:
        if state.served < 0:
            now = _next_instant(jobs, lists, state, windows)
            if now == np.inf:
                return True
            rows = 4 * (lists[RUNNING, LENGTH] + lists[COLLECTING, LENGTH])
            state.full = state.logged + rows > log.size
            if state.full:
                return False
            state.now = state.exact = now
            _absorb_machine(jobs, lists, state, log)
            pass_windows(jobs, lists, state, log, windows)
            _absorb_bursts(jobs, lists, state, log)
            state.served = 0
        _serve(jobs, lists, state, log)
        if state.asking >= 0:
            return False
        state.served = -1
        _begin_write(jobs, lists, state, log)
        if state.solver == SHRINK and state.free > 0:
            _expand_jobs(jobs, lists, state, log)
        _backfill(jobs, lists, expected, limits, state, windows)
    return True


@kernel
def _next_instant(jobs: np.ndarray, lists: np.ndarray, state: np.record, windows: Windows) -> float:
    """The next instant at which anything happens; infinity if nothing will."""
    instant = windows.edges[windows.states[0].edges].time
    if state.submitted < jobs.size:
        instant = min(instant, jobs[state.submitted].submit_time)
    if state.called < jobs.size:
        instant = min(instant, jobs[lists[CALLS, state.called]].call_time)
    if lists[ENDS, LENGTH] > 0:
        instant = min(instant, jobs[lists[ENDS, 0]].ends)
    for place in range(lists[VICTIMS, LENGTH]):
        job = lists[VICTIMS, place]
        own = jobs[job]
        instant = min(instant, own.ready)
        if own.write > 0.0:
            instant = min(instant, own.write_begin + (own.write if state.writer == job else 0.0))
    for place in range(lists[COLLECTING, LENGTH]):
        burst = lists[COLLECTING, place]
        # One that has arrived is there for good.
        if state.submitted <= burst:
            instant = min(instant, jobs[burst].expected_time + state.patience)
    return instant


@kernel
def _absorb_machine(jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray) -> None:
    """All ends of jobs, then of the write, then application checkpoints that are reached."""
    while lists[ENDS, LENGTH] > 0 and jobs[lists[ENDS, 0]].ends <= state.now:
        _end_job(jobs, lists, state, log, lists[ENDS, 0])
    job = state.writer
    if job >= 0 and jobs[job].write_begin + jobs[job].write <= state.now:
        log_stretch(jobs, state, log, job)
        state.writer = -1
        _give_way(jobs, lists, state, log, job)
    job = _next_ready(jobs, lists, state.now)
    while job >= 0:
        if jobs[job].action == KILL:
            keep_exact(jobs[job], state)
        else:
            stop_job(jobs, lists, state, log, job)
        if jobs[job].write == 0.0:
            _give_way(jobs, lists, state, log, job)
        job = _next_ready(jobs, lists, state.now)


@kernel
def _absorb_bursts(jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray) -> None:
    """All submissions and calls, then bursts that did not come when expected, or soon after."""
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        own = jobs[state.submitted]
        if own.on_demand and state.solver != NO_SOLVER:
            _begin_collecting(jobs, lists, state, state.submitted)
        elif own.collecting == 0:
            insert(jobs, lists, QUEUE, state.submitted)
        state.submitted += 1
    while state.called < jobs.size and jobs[lists[CALLS, state.called]].call_time <= state.now:
        _begin_collecting(jobs, lists, state, lists[CALLS, state.called])
        state.called += 1
    for place in range(lists[COLLECTING, LENGTH] - 1, -1, -1):
        own = jobs[lists[COLLECTING, place]]
        if own.submit_time > state.now and state.now >= own.expected_time + state.patience:
            end_collecting(jobs, lists, state, log, lists[COLLECTING, place])


@kernel
def _end_job(
    jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray, job: int
) -> None:
    """A job has done its work; its nodes go to the burst that it was to make way for, if any."""
    log_stretch(jobs, state, log, job)
    own, burst = jobs[job], jobs[job].victim
    keep_exact(own, state)
    if own.guest >= 0 or own.hosts > 0:
        end_sharing(jobs, lists, state, log, job)
    remove_job(jobs, lists, job)
    own.end_time = state.now
    state.finished += 1
    state.free += own.width
    if own.on_demand:
        state.used -= own.width
    if burst >= 0:
        _collect(jobs, state, log, burst, own.width)


@kernel
def _evict(
    jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray, job: int
) -> None:
    """Evict a job: it waits again in order of submission, with the progress that it keeps."""
    own, action = jobs[job], jobs[job].action
    since = state.now if np.isnan(own.stopped) else own.stopped
    log_stretch(jobs, state, log, job)
    done, saved = own.reached, progress(own, since)[1]
    kept = saved if action == KILL else done
    if action == SYS:
        own.reread = own.sys_write
    elif action == APP or kept > own.saved:
        own.reread = own.app_write
    entry = log[state.logged]
    state.logged += 1
    entry.kind, entry.job, entry.attempt, entry.burst = EVICTED, job, own.attempt, own.victim
    entry.start, entry.end, entry.before, entry.after = since, state.now, kept, done
    entry.action, entry.decided = action, own.decided
    own.saved = kept
    remove_job(jobs, lists, job)
    insert(jobs, lists, QUEUE, job)
    state.free += own.width


@kernel
def _begin_collecting(jobs: np.ndarray, lists: np.ndarray, state: np.record, burst: int) -> None:
    """Let a burst collect nodes, if it does not yet, behind those that do already."""
    own = jobs[burst]
    if own.collecting == 0:
        state.begun += 1
        own.collecting, own.width, own.since = state.begun, 0, state.now
        insert(jobs, lists, COLLECTING, burst)


@kernel
def _collect(jobs: np.ndarray, state: np.record, log: np.ndarray, burst: int, nodes: int) -> None:
    """Hold as many of these nodes for a burst as it still wants and are free."""
    own = jobs[burst]
    taken = min(nodes, state.free, own.nodes - own.width)
    if taken > 0:
        hold_nodes(jobs, state, log, burst, taken)


@kernel
def _serve(jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray) -> None:
    """Serve bursts in order of their calls, and anew after a start: it may leave nodes over.

    If jobs could make way for a burst, it is `asking`, and served again once they do.
    """
    answered = state.asking
    state.asking = -1
    while state.served < lists[COLLECTING, LENGTH]:
        burst = lists[COLLECTING, state.served]
        _collect(jobs, state, log, burst, state.free)
        if burst != answered and state.free >= 0 and _asks(jobs, lists, state, burst):
            state.asking = burst
            return
        answered = -1
        if jobs[burst].submit_time <= state.now and _start(jobs, lists, state, log, burst):
            state.served = 0
        else:
            state.served += 1


@kernel
def _asks(jobs: np.ndarray, lists: np.ndarray, state: np.record, burst: int) -> bool:
    """Whether running jobs could make way for a burst now, besides those that are to do so."""
    own, arrived = jobs[burst], jobs[burst].submit_time <= state.now
    predicts = not arrived and state.notice == PREDICT and state.solver != SHARE
    prepares = not arrived and state.notice == PREPARE and state.solver != SHARE
    if state.solver == NO_SOLVER or not (arrived or predicts or prepares):
        return False
    lacking, promised, nodes, spare = own.nodes - own.width, 0, 0, 0
    for place in range(lists[RUNNING, LENGTH]):
        other = jobs[lists[RUNNING, place]]
        ends = predicts and other.victim < 0 and other.expected <= own.expected_time
        if ends or other.victim == burst:
            promised += other.width
        elif not other.on_demand and other.victim < 0 and other.guest < 0:
            nodes += other.width
            spare += other.width - other.least_nodes
    if predicts:
        return lacking > promised and own.expected_time > state.now
    shrinks = arrived and state.solver == SHRINK and 0 < lacking <= spare
    return shrinks or 0 < lacking - promised <= nodes


@kernel
def _start(
    jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray, burst: int
) -> bool:
    """Start a burst where the nodes that it holds and those of jobs to be killed suffice."""
    surplus = jobs[burst].width + min(state.free, 0) - jobs[burst].nodes
    for place in range(lists[VICTIMS, LENGTH]):
        own = jobs[lists[VICTIMS, place]]
        if own.victim == burst and own.action == KILL:
            surplus += own.width
    if surplus < 0:
        return False
    costly = costliest(jobs, lists, state, burst, surplus)
    while costly >= 0:
        surplus -= jobs[costly].width
        spare_job(jobs, lists, state, log, costly)
        costly = costliest(jobs, lists, state, burst, surplus)
    place = 0
    while place < lists[VICTIMS, LENGTH]:
        job = lists[VICTIMS, place]
        if jobs[job].victim == burst and jobs[job].action == KILL:
            _evict(jobs, lists, state, log, job)
        else:
            place += 1
    end_collecting(jobs, lists, state, log, burst)
    start_job(jobs, lists, state, burst, jobs[burst].nodes, 1.0)
    return True


@kernel
def _next_ready(jobs: np.ndarray, lists: np.ndarray, now: float) -> int:
    """The first job that stops by itself by now, or −1."""
    first, earliest = NO_JOB, np.inf
    for place in range(lists[VICTIMS, LENGTH]):
        own = jobs[lists[VICTIMS, place]]
        if own.ready <= now and own.ready < earliest:
            first, earliest = lists[VICTIMS, place], own.ready
    return first


@kernel
def _give_way(
    jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray, job: int
) -> None:
    """A job whose checkpoint is whole leaves its nodes to the burst."""
    burst = jobs[job].victim
    _evict(jobs, lists, state, log, job)
    _collect(jobs, state, log, burst, jobs[job].width)


@kernel
def _begin_write(jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray) -> None:
    """Let the file system take up the checkpoint whose turn it is now."""
    first, earliest = NO_JOB, np.inf
    for place in range(lists[VICTIMS, LENGTH]):
        job = lists[VICTIMS, place]
        own = jobs[job]
        if own.write > 0.0 and job != state.writer and own.write_begin < earliest:
            first, earliest = job, own.write_begin
    if earliest <= state.now:
        if np.isnan(jobs[first].stopped):
            stop_job(jobs, lists, state, log, first)
        log_stretch(jobs, state, log, first)
        state.writer = first


@kernel
def _expand_jobs(jobs: np.ndarray, lists: np.ndarray, state: np.record, log: np.ndarray) -> None:
    """Give free nodes to jobs that shrank, in order of submission, up to what they asked for."""
    for place in range(lists[RUNNING, LENGTH]):
        job = lists[RUNNING, place]
        own = jobs[job]
        more = min(state.free, own.nodes - own.width)
        if more > 0 and not own.on_demand and own.victim < 0:
            nodes = own.width + more
            change_rate(jobs, lists, state, log, job, nodes, nodes / own.nodes)
            state.free -= more


@kernel
def _backfill(
    jobs: np.ndarray,
    lists: np.ndarray,
    expected: np.recarray,
    limits: np.recarray,
    state: np.record,
    windows: Windows,
) -> None:
    """EASY over the queue: the first job that may not start has a reservation."""
    size, kept, state.limits = lists[QUEUE, LENGTH], 0, 0
    if windows.states[0].releases > 0 and state.free > 0 and size > 0:
        head = jobs[lists[QUEUE, 0]]
        _reserve(jobs, lists, expected, limits, state, windows, head, backfilling.NONE, 0.0)
    for place in range(size):
        job = lists[QUEUE, place]
        own = jobs[job]
        duration = own.reread + elapsed_for(own, own.saved, own.requested_time)
        end = state.now + duration
        fits = own.nodes + _kept_from(state, own) <= state.free
        if fits and backfilling.keeps(limits, state.limits, own.nodes, end):
            backfilling.take(limits, state, own.nodes, end)
            start_job(jobs, lists, state, job, own.nodes, 1.0)
            continue
        if kept == 0 and state.free > 0 and place + 1 < size:
            nodes = own.nodes
            _reserve(jobs, lists, expected, limits, state, windows, own, nodes, duration)
        lists[QUEUE, kept] = job
        kept += 1
    lists[QUEUE, LENGTH] = kept


@kernel
def _kept_from(state: np.record, own: np.record) -> int:
    """Nodes that are kept from a job for bursts: none from bursts and from jobs that are wide.

    Of those that are reserved, these are the ones that no burst uses.
    """
    if own.on_demand or own.nodes > state.total_nodes - state.reserved:
        return 0
    return max(0, state.reserved - state.used)


@kernel
def _reserve(
    jobs: np.ndarray,
    lists: np.ndarray,
    expected: np.recarray,
    limits: np.recarray,
    state: np.record,
    windows: Windows,
    head: np.record,
    wanted: int,
    duration: float,
) -> None:
    """Reserve for the queue's head: what is kept from it for bursts is not free for it.

    Nodes held for a burst are expected back when it has arrived as expected and run as long as it
    asked for.
    """
    for place in range(lists[COLLECTING, LENGTH]):
        burst = lists[COLLECTING, place]
        own, arrived = jobs[burst], jobs[burst].submit_time <= state.now
        begin = state.now if arrived else max(state.now, own.expected_time)
        own.expected = begin + own.requested_time
        insert(jobs, lists, EXPECTED, burst)
    free, used, kept = state.free, state.used, _kept_from(state, head)
    size: int = lists[EXPECTED, LENGTH]
    state.free, state.releases = free - kept, size
    for place in range(size):
        own, row = jobs[lists[EXPECTED, place]], size - 1 - place
        state.used -= own.width if own.on_demand else 0
        expected[row].time = own.expected
        expected[row].nodes = own.width + kept - _kept_from(state, head)
        kept = _kept_from(state, head)
    steps, known = windows.steps, windows.states[0].releases
    if known == 0:
        backfilling.reserve(expected, limits, state, wanted, state.now)
    else:
        for row in range(known):
            backfilling.expect(expected, state, steps[row].time, steps[row].nodes)
        begin = backfilling.earliest_start(expected, state, wanted, duration, state.now)
        state.limits, reserved = 0, (begin, begin + duration, wanted)
        backfilling.limit_by_falls(expected, limits, state, reserved, state.now)
    state.free, state.used = free, used
    for place in range(lists[COLLECTING, LENGTH]):
        remove(lists, EXPECTED, lists[COLLECTING, place])
