"""Jobs that make way for a burst: eviction plans, stops at checkpoints, smaller jobs, shared nodes.

*Eviction plans.* The solvers are those of `cosimlib.eviction`, as kernels. A plan gives each
running batch job that no other burst has chosen one of four actions; the row of the plan, a number
of steps, is the deadline by which the nodes are to be free. Checkpoints are written in the order of
`cosimlib.eviction.plan`: first those of jobs that reach no checkpoint of their own by the last
deadline, then the others by the step in which they reach theirs. Within each of the two, and within
a step, they follow Smith's rule on the times of system-level checkpoints, whatever is written.

*Ties.* Several sets of jobs may lose equally little. `dynamic` takes the one that needs the fewest
steps, of these the one that frees the fewest nodes, and of these the one that spares the jobs
submitted last: among such sets, compare the last job in which they differ. A job whose kill loses
nothing is killed rather than written. `dynamic_blocked` does the same, counts only steps of
writing, and spares the jobs that would be written first. `kill` is `dynamic` with no step to wait.
`greedy` takes jobs of equal loss in order of submission for checkpoints, and in reverse order to be
killed. `preempt` and `shrink` kill them in order of submission. Of deadlines that are equally good,
the earliest is taken.

*Stops after a checkpoint* (CUP of Fan et al.). From its notice on, a burst counts on the nodes of
the jobs that are expected to end before it comes, besides those that it holds. For what is still
lacking it chooses jobs that write a checkpoint of their own before its expected arrival: each is
stopped right after the last one of these, so that it loses nothing. The job that leaves the fewest
node-seconds idle until the arrival is chosen first, of equal ones the lower. What no such job can
give is left to the arrival itself.

*Smaller jobs.* A malleable job on part of its nodes goes that much slower: its work is conserved.

*Shared nodes.* Jobs that share nodes with a burst, its *hosts*, take turns with it; a host's nodes
that the burst does not need, and the burst's own nodes, stand still in the turn of the other. When
a host ends, the nodes that it lent are the burst's own; when the burst ends, its hosts go on at
full speed.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.eviction.dynamic import packed_width, read_plans, relax_all, table_width
from cosimlib.eviction.overlapping import plan_blocked
from cosimlib.eviction.plan import order_of_writes
from cosimlib.eviction.problem import APP, KEEP, KILL, SYS, EvictionArrays, WriteArrays
from cosimlib.eviction.search import evict_greedily
from cosimlib.kernels import heap
from cosimlib.kernels.jit import kernel
from cosimlib.ondemand.state import (
    FREE,
    PLANS,
    RUN,
    USED,
    Log,
    State,
    change_rate,
    elapsed_for,
    expect_end,
    log_stretch,
    next_row,
    progress,
    remove_release,
    time_of,
)

NO_SOLVER, LEAST_LOSS_KILL, PREEMPT, SHRINK, SHARE, GREEDY, DYNAMIC, DYNAMIC_BLOCKED = range(8)
"""What chooses the jobs to evict; with none, bursts wait for free nodes. `PREEMPT` and `SHRINK`
kill by ascending loss, the latter where malleable jobs cannot give enough; `SHARE` kills nobody."""

EARLIEST, LEAST_LOSS, WEIGHTED = range(3)
"""Which deadline of a plan is taken."""

IGNORE, COLLECT, PREPARE, PREDICT = range(4)
"""What happens at a notice: nothing; free nodes are held; jobs make way for the burst, too, by a
plan; or each when it has written its last own checkpoint before the burst is expected."""


class Rules(NamedTuple):
    """The rules of a policy; `weight` is in node-seconds per second of delay, `turn` the part of
    the time that a burst has on nodes that it shares."""

    total_nodes: int
    reserved: int
    solver: int
    deadline: int
    weight: float
    step: float
    notice: int
    patience: float
    turn: float = 0.5


@kernel
def running_batch(jobs: np.recarray, state: State) -> np.ndarray:
    """The running batch jobs that make way for no burst and share nodes with none, in order."""
    found, size = np.empty(state.counts[RUN], np.int64), 0
    for job in state.running[: state.counts[RUN]]:
        if not jobs[job].on_demand and state.jobs[job].victim < 0 and state.jobs[job].guest < 0:
            found[size] = job
            size += 1
    return np.sort(found[:size])


class Durations(NamedTuple):
    """What checkpoints of `Candidates` take, in steps: both kinds, and their writes."""

    app: np.ndarray
    sys: np.ndarray
    writes: WriteArrays


class Candidates(NamedTuple):
    """The jobs that could be evicted, one value per job: losses in node-seconds, times in s."""

    job: np.ndarray
    nodes: np.ndarray
    loss: np.ndarray
    app_wait: np.ndarray
    app_write: np.ndarray
    sys_write: np.ndarray


@kernel
def find_candidates(jobs: np.recarray, state: State, now: float) -> Candidates:
    """The running batch jobs that make way for no burst yet, in order of submission."""
    found = running_batch(jobs, state)
    loss, app_wait = np.empty(found.size), np.empty(found.size)
    app_write, sys_write = jobs[found].app_write, jobs[found].sys_write
    for place in range(found.size):
        job = found[place]
        done, saved, left = progress(jobs, state, job, now)
        loss[place] = jobs[job].nodes * (done - saved)
        if left > 0.0:
            app_wait[place], app_write[place] = left, 0.0
        else:
            checkpoint = jobs[job].interval * (np.floor(done / jobs[job].interval) + 1.0)
            app_wait[place] = max(state.jobs[job].origin - now, 0.0) + checkpoint - done
    return Candidates(found, state.jobs[found].width, loss, app_wait, app_write, sys_write)


@kernel
def make_plan(
    jobs: np.recarray, rules: Rules, state: State, log: Log, burst: int, needed: int, now: float
) -> None:
    """Choose the jobs that make way for a burst, where all that could together hold enough."""
    candidates = find_candidates(jobs, state, now)
    if candidates.nodes.sum() < needed:
        return
    early, arrival = 0.0, jobs[burst].submit_time
    if now < arrival:
        arrival = max(jobs[burst].expected_time, now)
        early = arrival - now
    busy, rows = 0.0, 1
    if rules.solver >= GREEDY:
        busy = _backlog(state, now)
        time = max(arrival + jobs[burst].longest_delay - now - busy, 0.0)
        rows += int(np.floor(time / rules.step * (1 + 1e-12)))
    durations = in_steps(candidates, rules.step, rows)
    choices = solve(rules, candidates, durations, needed, rows)
    order = order_of_writes(candidates.nodes, durations.writes, rows)
    row, delay, loss, blocked = _choose_deadline(rules, candidates, choices, order, busy, early)
    begins = timetable(candidates, choices[row], order, busy, early)[0]
    for place in range(candidates.job.size):
        if choices[row, place] != KEEP:
            _order(state, candidates, place, choices[row, place], burst, begins[place], now)
    entry = log.plans[next_row(log, PLANS, log.plans)]
    entry[0], entry[1], entry[2], entry[3] = burst, now, needed, candidates.job.size
    entry[4], entry[5], entry[6], entry[7] = row * rules.step, delay, loss, blocked


@kernel
def _order(
    state: State,
    candidates: Candidates,
    place: int,
    action: int,
    burst: int,
    begin: float,
    now: float,
) -> None:
    """Order a job to make way for a burst; `begin` is when its checkpoint is written, from now."""
    job = candidates.job[place]
    own = state.jobs[job]
    own.victim, own.action, own.decided = burst, action, now
    own.write, own.write_begin = 0.0, now + begin
    if action == APP:
        own.write = candidates.app_write[place]
        heap.push(state.ready, job, now + candidates.app_wait[place])
    elif action == SYS:
        own.write = candidates.sys_write[place]
    if own.write > 0.0:
        heap.push(state.writes, job, now + begin)


@kernel
def _backlog(state: State, now: float) -> float:
    """Seconds until the file system has written what other bursts have ordered."""
    end = now
    for job in state.running[: state.counts[RUN]]:
        own = state.jobs[job]
        if own.victim >= 0 and own.write > 0.0:
            end = max(end, own.write_begin + own.write)
    return end - now


@kernel
def in_steps(candidates: Candidates, step: float, rows: int) -> Durations:
    """Durations as the solvers take them (`eviction.problem.WriteArrays`)."""
    n = candidates.job.size
    app, sys = np.empty(n, np.int64), np.empty(n, np.int64)
    release, write, wait = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    for place in range(n):
        both = candidates.app_wait[place] + candidates.app_write[place]
        app[place] = int(min(np.ceil(both / step * (1 - 1e-12)), float(rows)))
        sys[place] = int(
            min(np.ceil(candidates.sys_write[place] / step * (1 - 1e-12)), float(rows))
        )
        steps = int(min(np.ceil(candidates.app_write[place] / step * (1 - 1e-12)), float(rows)))
        write[place] = min(steps, app[place]) if app[place] < rows else 0
        release[place] = app[place] - write[place]
        wait[place] = np.round(min(candidates.app_wait[place], rows * step) * 1e3)
    return Durations(app, sys, WriteArrays(release, write, sys, wait))


@kernel
def solve(
    rules: Rules, candidates: Candidates, durations: Durations, needed: int, rows: int
) -> np.ndarray:
    """The action of each job (columns) for each deadline (rows), by the policy's solver."""
    nodes, loss = candidates.nodes, np.empty(candidates.nodes.size)
    for place in range(nodes.size):
        loss[place] = np.round(candidates.loss[place] * 1000.0)
    choices = np.zeros((rows, nodes.size), np.uint8)
    if rules.solver == PREEMPT or rules.solver == SHRINK:
        for place in np.argsort(loss, kind="mergesort"):
            if needed > 0:
                choices[0, place] = KILL
                needed -= nodes[place]
        return choices
    if rules.solver == GREEDY:
        return evict_greedily(nodes, loss, durations.app, durations.sys, needed, rows)
    if rules.solver == DYNAMIC_BLOCKED:
        order = order_of_writes(nodes, durations.writes, rows)
        release, app_write, sys_write, app_wait = durations.writes
        plans = plan_blocked(
            EvictionArrays(nodes[order], loss[order], durations.app[order], durations.sys[order]),
            WriteArrays(release[order], app_write[order], sys_write[order], app_wait[order]),
            needed,
            rows,
            rules.step * 1e3,
        )
        for row in range(rows):
            for place, job in enumerate(order):
                choices[row, job] = plans[row, place]
        return choices
    width = table_width(nodes, needed)
    table = np.full((rows, width), np.inf)
    table[0, 0] = 0.0
    chosen = np.zeros((nodes.size, rows, packed_width(width)), np.uint8)
    evictable = EvictionArrays(nodes, loss, durations.app, durations.sys)
    relax_all(evictable, needed, needed, table, chosen)
    return read_plans(table, chosen, evictable, needed)


@kernel
def timetable(
    candidates: Candidates, actions: np.ndarray, order: np.ndarray, busy: float, early: float
) -> tuple[np.ndarray, float, float]:
    """When each checkpoint is written, when all are, and the node-seconds blocked until then.

    Seconds from now. The file system is busy for `busy` seconds and then writes in the order given,
    as late as the last end allows, which is not before `early`. An application's own checkpoint
    that is in progress needs no other write.
    """
    end, last, begins = busy, early, np.zeros(order.size)
    for place in order:
        write = _write_time(candidates, actions, place)
        if actions[place] == APP:
            last = max(last, candidates.app_wait[place])
            end = max(end, candidates.app_wait[place]) if write > 0.0 else end
        end += write
    last = end if end > busy and end > last else last
    left, blocked = last, 0.0
    for place in order[::-1]:
        left -= _write_time(candidates, actions, place)
        begins[place] = left
        if actions[place] == APP:
            blocked += candidates.nodes[place] * (last - candidates.app_wait[place])
        elif actions[place] == SYS:
            blocked += candidates.nodes[place] * (last - left)
        elif actions[place] == KILL:
            blocked += candidates.nodes[place] * last
    return begins, last, blocked


@kernel
def _write_time(candidates: Candidates, actions: np.ndarray, place: int) -> float:
    """Seconds for which the file system writes a job's checkpoint."""
    if actions[place] == APP:
        return candidates.app_write[place]
    return candidates.sys_write[place] if actions[place] == SYS else 0.0


@kernel
def _choose_deadline(
    rules: Rules,
    candidates: Candidates,
    choices: np.ndarray,
    order: np.ndarray,
    busy: float,
    early: float,
) -> tuple[int, float, float, float]:
    """The row to take, its delay, loss and blocked node-seconds."""
    best, best_first, best_second = (0, 0.0, 0.0, 0.0), np.inf, np.inf
    for row in range(choices.shape[0]):
        loss = 0.0
        for place in range(candidates.job.size):
            if choices[row, place] == KILL:
                loss += candidates.loss[place]
        blocked = timetable(candidates, choices[row], order, busy, early)[2]
        cost = loss + blocked if rules.solver == DYNAMIC_BLOCKED else loss
        delay = max(row * rules.step + busy - early, 0.0)
        first, second = cost + rules.weight * delay, 0.0
        if rules.deadline == EARLIEST:
            first, second = delay, cost
        elif rules.deadline == LEAST_LOSS:
            first, second = cost, delay
        if first < best_first or (first == best_first and second < best_second):
            best, best_first, best_second = (row, delay, loss, blocked), first, second
    return best


@kernel
def stop_after_checkpoints(jobs: np.recarray, state: State, burst: int, now: float) -> None:
    """Choose the jobs that are to stop after a checkpoint, before a burst is expected."""
    arrival = jobs[burst].expected_time
    lacking = jobs[burst].nodes - state.jobs[burst].held
    for job in state.running[: state.counts[RUN]]:
        own = state.jobs[job]
        if own.victim == burst or (own.victim < 0 and own.expected <= arrival):
            lacking -= own.width
    if lacking <= 0 or arrival <= now:
        return
    found = running_batch(jobs, state)
    stops, idle = np.full(found.size, np.inf), np.full(found.size, np.inf)
    for place in range(found.size):
        own = state.jobs[found[place]]
        stop = _last_checkpoint(jobs, state, found[place], now, arrival)
        if own.expected > arrival and stop < np.inf:
            stops[place], idle[place] = stop, own.width * (arrival - stop)
    for place in np.argsort(idle, kind="mergesort"):
        if lacking <= 0 or stops[place] == np.inf:
            return
        own = state.jobs[found[place]]
        own.victim, own.action, own.decided = burst, KILL, now
        own.write, own.write_begin = 0.0, stops[place]
        heap.push(state.ready, found[place], stops[place])
        lacking -= own.width


@kernel
def _last_checkpoint(
    jobs: np.recarray, state: State, job: int, now: float, arrival: float
) -> float:
    """When the last checkpoint that a job writes from now to the arrival is whole; or infinity."""
    saved = progress(jobs, state, job, arrival)[1]
    if saved <= progress(jobs, state, job, now)[1]:
        return np.inf
    base = state.jobs[job].origin_progress
    seconds = elapsed_for(jobs, job, base, saved) + jobs[job].charge
    return max(time_of(state, job, seconds), now)


@kernel
def shrink_jobs(jobs: np.recarray, state: State, log: Log, lacking: int, now: float) -> bool:
    """Shrink malleable jobs so that so many nodes come free, if they can give as many.

    Each gives the same part of what it can, rounded down; what is then lacking, one node each in
    order of submission.
    """
    found = running_batch(jobs, state)
    most = state.jobs[found].width - jobs[found].least_nodes
    total = most.sum()
    if total < lacking:
        return False
    gives = most * lacking // total
    rest = lacking - gives.sum()
    for place in range(found.size):
        job = found[place]
        if rest > 0 and gives[place] < most[place]:
            gives[place] += 1
            rest -= 1
        if gives[place] > 0:
            nodes = state.jobs[job].width - gives[place]
            change_rate(jobs, state, log, job, nodes, nodes / jobs[job].nodes, now)
            state.counts[FREE] += gives[place]
    return True


@kernel
def expand_jobs(jobs: np.recarray, state: State, log: Log, now: float) -> None:
    """Give free nodes to jobs that shrank, in order of submission, up to what they asked for."""
    if state.counts[FREE] == 0:
        return
    for job in running_batch(jobs, state):
        more = min(state.counts[FREE], jobs[job].nodes - state.jobs[job].width)
        if more > 0:
            nodes = state.jobs[job].width + more
            change_rate(jobs, state, log, job, nodes, nodes / jobs[job].nodes, now)
            state.counts[FREE] -= more


@kernel
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
            if width > 0 and (best < 0 or _is_better_host(width, widths[best], lacking)):
                best = place
        chosen[size] = found[best]
        size += 1
        lacking -= widths[best]
        widths[best] = 0
    return chosen[:size]


@kernel
def _is_better_host(width: int, best: int, lacking: int) -> bool:
    """Whether a job of this width is a better host than one of the best width so far."""
    if width >= lacking:
        return best < lacking or width < best
    return width > best


@kernel
def share_nodes(
    jobs: np.recarray, state: State, log: Log, burst: int, hosts: np.ndarray, now: float
) -> None:
    """Let a burst that has just begun take turns with its hosts, on the nodes that it lacks."""
    lacking = jobs[burst].nodes - state.jobs[burst].width
    for job in hosts:
        own = state.jobs[job]
        change_rate(jobs, state, log, job, own.width, 1.0 - state.jobs[burst].speed, now)
        own.guest, own.lent = burst, min(lacking, own.width)
        lacking -= own.lent
    state.jobs[burst].hosts = hosts.size


@kernel
def end_sharing(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """End the sharing that a job or burst which ends now takes part in."""
    burst = job if jobs[job].on_demand else state.jobs[job].guest
    if burst < 0 or state.jobs[burst].hosts == 0:
        return
    for host in state.running[: state.counts[RUN]]:
        if state.jobs[host].guest == burst:
            log_stretch(jobs, state, log, host, now)
    log_stretch(jobs, state, log, burst, now)
    if job == burst:
        _free_hosts(jobs, state, log, burst, now)
    else:
        _leave_guest(jobs, state, log, job, now)


@kernel
def _free_hosts(jobs: np.recarray, state: State, log: Log, burst: int, now: float) -> None:
    """Let all hosts of a burst go on at full speed."""
    for host in state.running[: state.counts[RUN]]:
        own = state.jobs[host]
        if own.guest == burst:
            own.guest, own.lent = -1, 0
            change_rate(jobs, state, log, host, own.width, 1.0, now)
    state.jobs[burst].hosts = 0


@kernel
def _leave_guest(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """Leave the nodes that a host lent to its burst for good."""
    own, burst = state.jobs[job], state.jobs[job].guest
    guest, given = state.jobs[burst], own.lent
    remove_release(jobs, state, job, own.width)
    own.width -= given
    expect_end(jobs, state, job)
    own.guest, own.lent = -1, 0
    state.counts[USED] += given
    guest.hosts -= 1
    speed = 1.0 if guest.hosts == 0 else guest.speed
    change_rate(jobs, state, log, burst, guest.width + given, speed, now)
