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
delays the head by nothing (see `cosimlib.batch.easy`). Evicted jobs wait at the place of their
submission. Of `reserved` nodes, those that no burst uses are kept free from all batch jobs but
those that would otherwise never fit.
"""

import numpy as np

from cosimlib.eviction.problem import APP, KILL, SYS
from cosimlib.kernels import heap
from cosimlib.kernels.jit import kernel
from cosimlib.ondemand.planning import (
    NO_SOLVER,
    PREDICT,
    PREPARE,
    SHARE,
    SHRINK,
    Rules,
    choose_hosts,
    end_sharing,
    expand_jobs,
    make_plan,
    share_nodes,
    shrink_jobs,
    stop_after_checkpoints,
)
from cosimlib.ondemand.state import (
    BURST_RELEASES,
    BURSTS,
    COLLECTING,
    DONE,
    EVICTIONS,
    FINISHED,
    FREE,
    QUEUE,
    RELEASES,
    RUN,
    UNSEEN,
    USED,
    WRITER,
    Log,
    State,
    add_release,
    begin_collecting,
    elapsed_for,
    empty,
    empty_log,
    enqueue,
    expect_end,
    hold_nodes,
    keep_exact,
    log_stretch,
    next_row,
    progress,
    remove_job,
    remove_release,
    start_job,
    stop_job,
    write_end,
)


def simulate(
    jobs: np.recarray, rules: Rules, rows: int | None = None
) -> tuple[np.ndarray, np.ndarray, Log]:
    """Starts, ends, and the log; where its `rows` are too few, all is done again."""
    rows = 8 * len(jobs) + 1000 if rows is None else rows
    calls = np.argsort(jobs.call_time, kind="stable")
    while True:
        state, log = empty(len(jobs), rules.total_nodes), empty_log(rows)
        run(jobs, rules, state, log, calls)
        if log.size.max() <= rows:
            kept = [table[:size] for table, size in zip(log[:3], log.size, strict=True)]
            ends = state.jobs.start_time.copy(), state.jobs.end_time.copy()
            return *ends, Log(kept[0], kept[1], kept[2], log.size)
        rows = int(log.size.max())


@kernel
def run(jobs: np.recarray, rules: Rules, state: State, log: Log, calls: np.ndarray) -> None:
    """Simulate to the end; `calls` are the jobs in order of `call_time`."""
    submitted, called = 0, 0
    while state.counts[FINISHED] < len(jobs):
        now = _next_instant(jobs, rules, state, submitted, calls, called)
        if now == np.inf:
            break
        state.exact[0] = now
        _absorb_machine(jobs, state, log, now)
        while submitted < len(jobs) and jobs[submitted].submit_time <= now:
            _admit(jobs, rules, state, submitted, now)
            submitted += 1
        while called < len(jobs) and jobs[calls[called]].call_time <= now:
            if state.jobs[calls[called]].stage == UNSEEN:
                begin_collecting(state, calls[called], now)
            called += 1
        _give_up(jobs, rules, state, log, now)
        _serve(jobs, rules, state, log, now)
        _begin_write(jobs, state, log, now)
        if rules.solver == SHRINK:
            expand_jobs(jobs, state, log, now)
        _backfill(jobs, rules, state, now)


@kernel
def _next_instant(
    jobs: np.recarray, rules: Rules, state: State, submitted: int, calls: np.ndarray, called: int
) -> float:
    """The next instant at which anything happens; infinity where nothing will."""
    instant = np.inf
    if submitted < len(jobs):
        instant = jobs[submitted].submit_time
    if called < len(jobs):
        instant = min(instant, jobs[calls[called]].call_time)
    if state.ends.size[0] > 0:
        instant = min(instant, state.ends.key[state.ends.item[0]])
    if state.ready.size[0] > 0:
        instant = min(instant, state.ready.key[state.ready.item[0]])
    if state.counts[WRITER] >= 0:
        instant = min(instant, write_end(state))
    if state.writes.size[0] > 0:
        instant = min(instant, state.writes.key[state.writes.item[0]])
    for burst in state.collecting[: state.counts[BURSTS]]:
        # One that has arrived is there for good.
        if submitted <= burst:
            instant = min(instant, jobs[burst].expected_time + rules.patience)
    return instant


@kernel
def _absorb_machine(jobs: np.recarray, state: State, log: Log, now: float) -> None:
    """All ends of jobs, then of the write, then application checkpoints that are reached."""
    ends, ready = state.ends, state.ready
    while ends.size[0] > 0 and ends.key[ends.item[0]] <= now:
        _end_job(jobs, state, log, ends.item[0], now)
    if state.counts[WRITER] >= 0 and write_end(state) <= now:
        _end_write(jobs, state, log, now)
    while ready.size[0] > 0 and ready.key[ready.item[0]] <= now:
        _reach_checkpoint(jobs, state, log, ready.item[0], now)


@kernel
def _end_job(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job has done its work; its nodes go to the burst that it was to make way for, if any."""
    log_stretch(jobs, state, log, job, now)
    own, counts, burst = state.jobs[job], state.counts, state.jobs[job].victim
    keep_exact(state, job, now)
    end_sharing(jobs, state, log, job, now)
    remove_job(jobs, state, job)
    own.stage, own.end_time = DONE, now
    counts[FINISHED] += 1
    counts[FREE] += own.width
    if jobs[job].on_demand:
        counts[USED] -= own.width
    if burst >= 0:
        _collect(jobs, state, log, burst, own.width, now)


@kernel
def _evict(jobs: np.recarray, state: State, log: Log, job: int, action: int, now: float) -> None:
    """Evict a job: it waits again in order of submission, with the progress that it keeps."""
    own = state.jobs[job]
    since = now if np.isnan(own.stopped) else own.stopped
    log_stretch(jobs, state, log, job, now)
    done, saved = own.reached, progress(jobs, state, job, since)[1]
    kept = saved if action == KILL else done
    if action == SYS:
        own.reread = jobs[job].sys_write
    elif action == APP or kept > own.saved:
        own.reread = jobs[job].app_write
    entry = log.evictions[next_row(log, EVICTIONS, log.evictions)]
    entry[0], entry[1], entry[2] = job, own.attempt, own.victim
    entry[3], entry[4], entry[5] = action, own.decided, since
    entry[6], entry[7], entry[8] = now, done, kept
    own.saved = kept
    remove_job(jobs, state, job)
    enqueue(jobs, state, job)
    state.counts[FREE] += own.width


@kernel
def _admit(jobs: np.recarray, rules: Rules, state: State, job: int, now: float) -> None:
    """A job is submitted: into the queue, or a burst collects nodes, if it does not yet."""
    if state.jobs[job].stage == COLLECTING:
        return
    if jobs[job].on_demand and rules.solver != NO_SOLVER:
        begin_collecting(state, job, now)
    else:
        enqueue(jobs, state, job)


@kernel
def _end_collecting(jobs: np.recarray, state: State, log: Log, burst: int, now: float) -> None:
    """A burst collects no more: what it held is free, and jobs that it wanted to evict go on."""
    hold_nodes(state, log, burst, 0, now)
    for job in state.running[: state.counts[RUN]]:
        if state.jobs[job].victim == burst:
            _spare(jobs, state, log, job, now)
    kept = 0
    for other in state.collecting[: state.counts[BURSTS]]:
        if other != burst:
            state.collecting[kept] = other
            kept += 1
    state.counts[BURSTS] = kept
    state.jobs[burst].stage = UNSEEN


@kernel
def _collect(jobs: np.recarray, state: State, log: Log, burst: int, nodes: int, now: float) -> None:
    """Hold as many of these free nodes for a burst as it still wants."""
    held = state.jobs[burst].held
    taken = min(nodes, jobs[burst].nodes - held)
    if taken > 0:
        hold_nodes(state, log, burst, held + taken, now)


@kernel
def _give_up(jobs: np.recarray, rules: Rules, state: State, log: Log, now: float) -> None:
    """Bursts that have not come when expected, or soon after, collect no longer."""
    place = 0
    while place < state.counts[BURSTS]:
        burst = state.collecting[place]
        late = now >= jobs[burst].expected_time + rules.patience
        if jobs[burst].submit_time > now and late:
            _end_collecting(jobs, state, log, burst, now)
        else:
            place += 1


@kernel
def _serve(jobs: np.recarray, rules: Rules, state: State, log: Log, now: float) -> None:
    """Serve all bursts in order of their calls, and anew after a start: it may leave nodes over."""
    place = 0
    while place < state.counts[BURSTS]:
        started = _serve_one(jobs, rules, state, log, state.collecting[place], now)
        place = 0 if started else place + 1


@kernel
def _serve_one(
    jobs: np.recarray, rules: Rules, state: State, log: Log, burst: int, now: float
) -> bool:
    """Serve a burst; whether it starts."""
    _collect(jobs, state, log, burst, state.counts[FREE], now)
    arrived = jobs[burst].submit_time <= now
    lacking = jobs[burst].nodes - state.jobs[burst].held
    shrinks = arrived and rules.solver == SHRINK and lacking > 0
    if shrinks and shrink_jobs(jobs, state, log, lacking, now):
        _collect(jobs, state, log, burst, lacking, now)
    if arrived and _start(jobs, state, log, burst, now):
        return True
    if rules.solver == NO_SOLVER:
        return False
    if rules.solver == SHARE:
        return arrived and _start_sharing(jobs, rules, state, log, burst, now)
    if not arrived and rules.notice == PREDICT:
        stop_after_checkpoints(jobs, state, burst, now)
    if not arrived and rules.notice != PREPARE:
        return False
    lacking = jobs[burst].nodes - state.jobs[burst].held - _promised(state, burst, False)
    if lacking > 0:
        make_plan(jobs, rules, state, log, burst, lacking, now)
    return arrived and lacking > 0 and _start(jobs, state, log, burst, now)


@kernel
def _promised(state: State, burst: int, kills_only: bool) -> int:
    """Nodes of the running jobs that make way for a burst, or of those that are to be killed."""
    nodes = 0
    for job in state.running[: state.counts[RUN]]:
        own = state.jobs[job]
        if own.victim == burst and (not kills_only or own.action == KILL):
            nodes += own.width
    return nodes


@kernel
def _start(jobs: np.recarray, state: State, log: Log, burst: int, now: float) -> bool:
    """Start a burst where the nodes that it holds and those of jobs to be killed suffice."""
    lacking = jobs[burst].nodes - state.jobs[burst].held
    surplus = _promised(state, burst, True) - lacking
    if surplus < 0:
        return False
    _spare_costly(jobs, state, log, burst, surplus, now)
    job = _next_to_kill(state, burst)
    while job >= 0:
        _evict(jobs, state, log, job, KILL, now)
        job = _next_to_kill(state, burst)
    _end_collecting(jobs, state, log, burst, now)
    start_job(jobs, state, burst, jobs[burst].nodes, 1.0, now)
    return True


@kernel
def _start_sharing(
    jobs: np.recarray, rules: Rules, state: State, log: Log, burst: int, now: float
) -> bool:
    """Start a burst on what it holds and on nodes that it shares, where there are enough."""
    held = state.jobs[burst].held
    hosts = choose_hosts(jobs, state, jobs[burst].nodes - held)
    if hosts.size == 0:
        return False
    _end_collecting(jobs, state, log, burst, now)
    start_job(jobs, state, burst, held, rules.turn, now)
    share_nodes(jobs, state, log, burst, hosts, now)
    return True


@kernel
def _spare_costly(
    jobs: np.recarray, state: State, log: Log, burst: int, surplus: int, now: float
) -> None:
    """Spare the jobs with most to lose whose nodes are not needed; ties: the lower job first."""
    while True:
        costly, most = -1, 0.0
        for job in state.running[: state.counts[RUN]]:
            own = state.jobs[job]
            if own.victim != burst or own.action != KILL or own.width > surplus:
                continue
            done, saved, _ = progress(jobs, state, job, now)
            loss = jobs[job].nodes * (done - saved)
            if costly < 0 or loss > most or (loss == most and job < costly):
                costly, most = job, loss
        if costly < 0:
            return
        surplus -= state.jobs[costly].width
        _spare(jobs, state, log, costly, now)


@kernel
def _spare(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job need not make way any more; where it stood still it goes on."""
    own = state.jobs[job]
    own.victim = -1
    heap.remove(state.ready, job)
    heap.remove(state.writes, job)
    if np.isnan(own.stopped):
        return
    log_stretch(jobs, state, log, job, now)
    lost = now - own.stopped
    own.stopped = np.nan
    own.origin += lost
    heap.push(state.ends, job, state.ends.key[job] + lost)
    remove_release(jobs, state, job, own.width)
    expect_end(jobs, state, job)
    if state.counts[WRITER] == job:
        state.counts[WRITER] = -1


@kernel
def _next_to_kill(state: State, burst: int) -> int:
    """The lowest job that is to be killed for a burst, or −1."""
    found = -1
    for job in state.running[: state.counts[RUN]]:
        own = state.jobs[job]
        if own.victim == burst and own.action == KILL and (found < 0 or job < found):
            found = job
    return found


@kernel
def _reach_checkpoint(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job that makes way has reached its application checkpoint."""
    if state.jobs[job].action == KILL:
        keep_exact(state, job, now)
        _give_way(jobs, state, log, job, now)
        return
    stop_job(jobs, state, log, job, now)
    if state.jobs[job].write == 0.0:
        _give_way(jobs, state, log, job, now)


@kernel
def _give_way(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job whose checkpoint is whole leaves its nodes to the burst."""
    burst = state.jobs[job].victim
    _evict(jobs, state, log, job, state.jobs[job].action, now)
    _collect(jobs, state, log, burst, state.jobs[job].width, now)


@kernel
def _begin_write(jobs: np.recarray, state: State, log: Log, now: float) -> None:
    """Let the file system take up the checkpoint whose turn it is now."""
    writes = state.writes
    if writes.size[0] == 0 or writes.key[writes.item[0]] > now:
        return
    job = heap.pop(writes)
    if np.isnan(state.jobs[job].stopped):
        stop_job(jobs, state, log, job, now)
    log_stretch(jobs, state, log, job, now)
    state.counts[WRITER] = job


@kernel
def _end_write(jobs: np.recarray, state: State, log: Log, now: float) -> None:
    """The checkpoint being written is whole."""
    job = state.counts[WRITER]
    log_stretch(jobs, state, log, job, now)
    state.counts[WRITER] = -1
    _give_way(jobs, state, log, job, now)


@kernel
def _backfill(jobs: np.recarray, rules: Rules, state: State, now: float) -> None:
    """Start all waiting jobs that may start now: EASY's pass over the queue."""
    queue, counts = state.queue, state.counts
    size, first, kept = counts[QUEUE], 0, 0
    while first < size and _fits(jobs, rules, state, queue[first]):
        start_job(jobs, state, queue[first], jobs[queue[first]].nodes, 1.0, now)
        first += 1
    if counts[FREE] > 0 and first + 1 < size:
        queue[0] = queue[first]
        kept = 1
        shadow_time, extra = _reservation(jobs, rules, state, queue[0], now)
        for job in queue[first + 1 : size]:
            nodes = jobs[job].nodes
            late = now + _estimate(jobs, state, job) > shadow_time
            if _fits(jobs, rules, state, job) and (nodes <= extra or not late):
                extra -= nodes if late else 0
                start_job(jobs, state, job, nodes, 1.0, now)
            else:
                queue[kept] = job
                kept += 1
    else:
        for job in queue[first:size]:
            queue[kept] = job
            kept += 1
    counts[QUEUE] = kept


@kernel
def _fits(jobs: np.recarray, rules: Rules, state: State, job: int) -> bool:
    """Whether a job fits on the free nodes that are not kept for bursts."""
    kept = max(0, _reserved_from(jobs, rules, job) - state.counts[USED])
    return jobs[job].nodes + kept <= state.counts[FREE]


@kernel
def _reserved_from(jobs: np.recarray, rules: Rules, job: int) -> int:
    """Nodes that a job may not use unless bursts use others: none for bursts and wide jobs."""
    wide = jobs[job].nodes > rules.total_nodes - rules.reserved
    return 0 if wide or jobs[job].on_demand else rules.reserved


@kernel
def _estimate(jobs: np.recarray, state: State, job: int) -> float:
    """Seconds that a job is expected to take if it starts now."""
    saved, reread = state.jobs[job].saved, state.jobs[job].reread
    return reread + elapsed_for(jobs, job, saved, jobs[job].requested_time)


@kernel
def _reservation(
    jobs: np.recarray, rules: Rules, state: State, head: int, now: float
) -> tuple[float, int]:
    """Shadow time and extra nodes of the queue's head.

    Nodes held for a burst are expected back when it has arrived as expected and run as long as it
    asked for.
    """
    bursts = state.collecting[: state.counts[BURSTS]]
    for burst in bursts:
        own, arrived = state.jobs[burst], jobs[burst].submit_time <= now
        begin = now if arrived else max(now, jobs[burst].expected_time)
        own.expected = begin + jobs[burst].requested_time
        add_release(jobs, state, burst, own.held)
    found = _shadow(state, _reserved_from(jobs, rules, head), jobs[head].nodes, now)
    for burst in bursts:
        remove_release(jobs, state, burst, state.jobs[burst].held)
    return found


@kernel
def _shadow(state: State, reserved: int, wanted: int, now: float) -> tuple[float, int]:
    """`releases.shadow` where as many nodes of `reserved` as no burst uses count as taken."""
    free, used, ended, shadow_time = state.counts[FREE], state.counts[USED], 0, now
    of_bursts = state.burst_times[: state.counts[BURST_RELEASES]]
    for place in range(state.counts[RELEASES]):
        if state.times[place] > shadow_time and free - max(0, reserved - used) >= wanted:
            break
        shadow_time = max(state.times[place], now)
        free += state.nodes[place]
        while ended < of_bursts.size and of_bursts[ended] <= state.times[place]:
            used -= state.burst_nodes[ended]
            ended += 1
    return shadow_time, free - max(0, reserved - used) - wanted
