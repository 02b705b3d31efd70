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

import numpy as np

from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.eviction.problem import APP, KILL, SYS
from cosimlib.kernels import backfilling
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import records
from cosimlib.ondemand.planning import (
    NO_SOLVER,
    PREDICT,
    PREPARE,
    SHARE,
    SHRINK,
    costliest,
    end_sharing,
    make_way,
)
from cosimlib.ondemand.state import (
    CALLS,
    COLLECTING,
    EVICTED,
    EXPECTED,
    JOB,
    LENGTH,
    LOG,
    NO_JOB,
    QUEUE,
    RUN,
    RUNNING,
    Ahead,
    Machine,
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


def simulate(
    requests: np.recarray,
    rules: np.recarray,
    room: int | None = None,
    calendar: Calendar = ALWAYS_OPEN,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Starts, ends, stretches and evictions (`LOG`); the log first has `room` for so many rows.

    `rules` are those of a policy, in a record of `STATE`.
    """
    asked = {field: requests[field] for field in JOB.names or ()}
    jobs = records(len(requests), RUN, **asked, attempt=-1, victim=-1, guest=-1, speed=1.0)
    jobs.stopped = jobs.start_time = jobs.end_time = np.nan
    lists = np.zeros((5, len(jobs) + 1), np.int64)
    lists[CALLS, :LENGTH] = np.argsort(jobs.call_time, kind="stable")
    log = records(4 * len(jobs) + 1000 if room is None else room, LOG)
    state = np.copy(rules).view(np.recarray)[0]
    state.free, state.longest = state.total_nodes, np.inf
    state.writer = state.asking = state.served = -1
    machine = Machine(jobs, lists, state, log)
    ahead = windows_of(calendar, state.total_nodes, jobs)
    while not run(machine, ahead):
        if state.full:
            longer = np.append(machine.log, np.zeros_like(machine.log))
            machine = machine._replace(log=longer.view(np.recarray))
        else:
            make_way(machine)
    rows, evicted = machine.log[: state.logged], machine.log.kind[: state.logged] == EVICTED
    return jobs["start_time"].copy(), jobs["end_time"].copy(), rows[~evicted], rows[evicted]


@kernel
def run(machine: Machine, ahead: Ahead) -> bool:
    """Simulate to the end, which is true, or until the log is full or jobs are to make way."""
    jobs, lists, state, log = machine
    while state.finished < jobs.size:
        if state.served < 0:
            now = _next_instant(machine, ahead)
            if now == np.inf:
                return True
            rows = 4 * (lists[RUNNING, LENGTH] + lists[COLLECTING, LENGTH])
            state.full = state.logged + rows > log.size
            if state.full:
                return False
            state.now = state.exact = now
            _absorb_machine(machine)
            pass_windows(machine, ahead)
            _absorb_bursts(machine)
            state.served = 0
        _serve(machine)
        if state.asking >= 0:
            return False
        state.served = -1
        _begin_write(machine)
        if state.solver == SHRINK and state.free > 0:
            _expand_jobs(machine)
        _backfill(machine, ahead)
    return True


@kernel
def _next_instant(machine: Machine, ahead: Ahead) -> float:
    """The next instant at which anything happens; infinity if nothing will."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    instant = ahead.edges[ahead.passed.edges].time
    if state.submitted < jobs.size:
        instant = min(instant, jobs[state.submitted].submit_time)
    if state.called < jobs.size:
        instant = min(instant, jobs[lists[CALLS, state.called]].call_time)
    for place in range(lists[RUNNING, LENGTH]):
        job = lists[RUNNING, place]
        own = jobs[job]
        instant = min(instant, own.ends)
        if own.victim >= 0:
            instant = min(instant, own.ready)
            if own.write > 0.0:
                write = own.write if state.writer == job else 0.0
                instant = min(instant, own.write_begin + write)
    for place in range(lists[COLLECTING, LENGTH]):
        burst = lists[COLLECTING, place]
        # One that has arrived is there for good.
        if state.submitted <= burst:
            instant = min(instant, jobs[burst].expected_time + state.patience)
    return instant


@kernel
def _absorb_machine(machine: Machine) -> None:
    """All ends of jobs, then of the write, then application checkpoints that are reached."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    place = 0
    while place < lists[RUNNING, LENGTH]:
        if jobs[lists[RUNNING, place]].ends <= state.now:
            _end_job(machine, lists[RUNNING, place])
        else:
            place += 1
    job = state.writer
    if job >= 0 and jobs[job].write_begin + jobs[job].write <= state.now:
        log_stretch(machine, job)
        state.writer = -1
        _give_way(machine, job)
    place = 0
    while place < lists[RUNNING, LENGTH]:
        job = lists[RUNNING, place]
        own = jobs[job]
        if own.victim < 0 or own.ready > state.now:
            place += 1
            continue
        if own.action == KILL:
            keep_exact(own, state)
        else:
            stop_job(machine, job)
        if own.write == 0.0:
            _give_way(machine, job)


@kernel
def _absorb_bursts(machine: Machine) -> None:
    """All submissions and calls, then bursts that did not come when expected, or soon after."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        own = jobs[state.submitted]
        if own.on_demand and state.solver != NO_SOLVER:
            _begin_collecting(machine, state.submitted)
        elif own.collecting == 0:
            insert(machine, QUEUE, state.submitted)
        state.submitted += 1
    while state.called < jobs.size and jobs[lists[CALLS, state.called]].call_time <= state.now:
        _begin_collecting(machine, lists[CALLS, state.called])
        state.called += 1
    for place in range(lists[COLLECTING, LENGTH] - 1, -1, -1):
        own = jobs[lists[COLLECTING, place]]
        if own.submit_time > state.now and state.now >= own.expected_time + state.patience:
            end_collecting(machine, lists[COLLECTING, place])


@kernel
def _end_job(machine: Machine, job: int) -> None:
    """A job has done its work; its nodes go to the burst that it was to make way for, if any."""
    jobs, state = machine.jobs, machine.state
    log_stretch(machine, job)
    own, burst = jobs[job], jobs[job].victim
    keep_exact(own, state)
    if own.guest >= 0 or own.hosts > 0:
        end_sharing(machine, job)
    remove_job(machine, job)
    own.end_time = state.now
    state.finished += 1
    state.free += own.width
    if own.on_demand:
        state.used -= own.width
    if burst >= 0:
        _collect(machine, burst, own.width)


@kernel
def _evict(machine: Machine, job: int) -> None:
    """Evict a job: it waits again in order of submission, with the progress that it keeps."""
    jobs, state, log = machine.jobs, machine.state, machine.log
    own, action = jobs[job], jobs[job].action
    since = state.now if np.isnan(own.stopped) else own.stopped
    log_stretch(machine, job)
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
    remove_job(machine, job)
    insert(machine, QUEUE, job)
    state.free += own.width


@kernel
def _begin_collecting(machine: Machine, burst: int) -> None:
    """Let a burst collect nodes, if it does not yet, behind those that do already."""
    jobs, state = machine.jobs, machine.state
    own = jobs[burst]
    if own.collecting == 0:
        state.begun += 1
        own.collecting, own.width, own.since = state.begun, 0, state.now
        insert(machine, COLLECTING, burst)


@kernel
def _collect(machine: Machine, burst: int, nodes: int) -> None:
    """Hold as many of these nodes for a burst as it still wants and are free."""
    jobs, state = machine.jobs, machine.state
    own = jobs[burst]
    taken = min(nodes, state.free, own.nodes - own.width)
    if taken > 0:
        hold_nodes(machine, burst, taken)


@kernel
def _serve(machine: Machine) -> None:
    """Serve bursts in order of their calls, and anew after a start: it may leave nodes over.

    If jobs could make way for a burst, it is `asking`, and served again once they do.
    """
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    answered = state.asking
    state.asking = -1
    while state.served < lists[COLLECTING, LENGTH]:
        burst = lists[COLLECTING, state.served]
        _collect(machine, burst, state.free)
        if burst != answered and state.free >= 0 and _asks(machine, burst):
            state.asking = burst
            return
        answered = -1
        if jobs[burst].submit_time <= state.now and _start(machine, burst):
            state.served = 0
        else:
            state.served += 1


@kernel
def _asks(machine: Machine, burst: int) -> bool:
    """Whether running jobs could make way for a burst now, besides those that are to do so."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
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
def _start(machine: Machine, burst: int) -> bool:
    """Start a burst where the nodes that it holds and those of jobs to be killed suffice."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    surplus = jobs[burst].width + min(state.free, 0) - jobs[burst].nodes
    for place in range(lists[RUNNING, LENGTH]):
        own = jobs[lists[RUNNING, place]]
        if own.victim == burst and own.action == KILL:
            surplus += own.width
    if surplus < 0:
        return False
    costly = costliest(machine, burst, surplus)
    while costly >= 0:
        surplus -= jobs[costly].width
        spare_job(machine, costly)
        costly = costliest(machine, burst, surplus)
    place = 0
    while place < lists[RUNNING, LENGTH]:
        job = lists[RUNNING, place]
        if jobs[job].victim == burst and jobs[job].action == KILL:
            _evict(machine, job)
        else:
            place += 1
    end_collecting(machine, burst)
    start_job(machine, burst, jobs[burst].nodes, 1.0)
    return True


@kernel
def _give_way(machine: Machine, job: int) -> None:
    """A job whose checkpoint is whole leaves its nodes to the burst."""
    jobs = machine.jobs
    burst = jobs[job].victim
    _evict(machine, job)
    _collect(machine, burst, jobs[job].width)


@kernel
def _begin_write(machine: Machine) -> None:
    """Let the file system take up the checkpoint whose turn it is now."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    first, earliest = NO_JOB, np.inf
    for place in range(lists[RUNNING, LENGTH]):
        job = lists[RUNNING, place]
        own = jobs[job]
        waits = own.victim >= 0 and own.write > 0.0 and job != state.writer
        if waits and own.write_begin < earliest:
            first, earliest = job, own.write_begin
    if earliest <= state.now:
        if np.isnan(jobs[first].stopped):
            stop_job(machine, first)
        log_stretch(machine, first)
        state.writer = first


@kernel
def _expand_jobs(machine: Machine) -> None:
    """Give free nodes to jobs that shrank, in order of submission, up to what they asked for."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    for place in range(lists[RUNNING, LENGTH]):
        job = lists[RUNNING, place]
        own = jobs[job]
        more = min(state.free, own.nodes - own.width)
        if more > 0 and not own.on_demand and own.victim < 0:
            nodes = own.width + more
            change_rate(machine, job, nodes, nodes / own.nodes)
            state.free -= more


@kernel
def _backfill(machine: Machine, ahead: Ahead) -> None:
    """EASY over the queue: the first job that may not start has a reservation."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    size, kept, state.limits = lists[QUEUE, LENGTH], 0, 0
    if ahead.passed.releases > 0 and state.free > 0 and size > 0:
        head = jobs[lists[QUEUE, 0]]
        _reserve(machine, ahead, head, backfilling.NONE, 0.0)
    for place in range(size):
        job = lists[QUEUE, place]
        own = jobs[job]
        duration = own.reread + elapsed_for(own, own.saved, own.requested_time)
        end = state.now + duration
        fits = own.nodes + _kept_from(state, own) <= state.free
        if fits and backfilling.keeps(ahead.limits, state.limits, own.nodes, end):
            backfilling.take(ahead.limits, state, own.nodes, end)
            start_job(machine, job, own.nodes, 1.0)
            continue
        if kept == 0 and state.free > 0 and place + 1 < size:
            nodes = own.nodes
            _reserve(machine, ahead, own, nodes, duration)
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
def _reserve(machine: Machine, ahead: Ahead, head: np.record, wanted: int, duration: float) -> None:
    """Reserve for the queue's head: what is kept from it for bursts is not free for it.

    Nodes held for a burst are expected back when it has arrived as expected and run as long as it
    asked for.
    """
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    expected, limits, known = ahead.expected, ahead.limits, ahead.passed.releases
    for place in range(lists[COLLECTING, LENGTH]):
        burst = lists[COLLECTING, place]
        own, arrived = jobs[burst], jobs[burst].submit_time <= state.now
        begin = state.now if arrived else max(state.now, own.expected_time)
        own.expected = begin + own.requested_time
        insert(machine, EXPECTED, burst)
    free, used, kept = state.free, state.used, _kept_from(state, head)
    size: int = lists[EXPECTED, LENGTH]
    state.free, state.releases = free - kept, size
    for place in range(size):
        own, row = jobs[lists[EXPECTED, place]], size - 1 - place
        state.used -= own.width if own.on_demand else 0
        expected[row].time = own.expected
        expected[row].nodes = own.width + kept - _kept_from(state, head)
        kept = _kept_from(state, head)
    if known == 0:
        backfilling.reserve(expected, limits, state, wanted, state.now)
    else:
        for row in range(known):
            backfilling.expect(expected, state, ahead.steps[row].time, ahead.steps[row].nodes)
        begin = backfilling.earliest_start(expected, state, wanted, duration, state.now)
        state.limits, reserved = 0, (begin, begin + duration, wanted)
        until = state.now + state.longest
        backfilling.limit_by_falls(expected, limits, state, reserved, state.now, until)
    state.free, state.used = free, used
    for place in range(lists[COLLECTING, LENGTH]):
        remove(machine, EXPECTED, lists[COLLECTING, place])
