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

import numpy as np

from cosimlib.eviction.dynamic import packed_width, read_plans, relax_all, table_width
from cosimlib.eviction.overlapping import plan_blocked
from cosimlib.eviction.plan import order_of_writes
from cosimlib.eviction.problem import APP, KEEP, KILL, SYS, EvictionArrays, WriteArrays
from cosimlib.eviction.search import evict_greedily
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.ondemand.state import (
    LENGTH,
    NO_JOB,
    RUNNING,
    Machine,
    change_rate,
    elapsed_for,
    end_collecting,
    log_stretch,
    progress,
    start_job,
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


CANDIDATE = record_type(floats="loss app_wait app_write sys_write", integers="nodes")
"""A job that could be evicted: its loss in node-seconds, times in seconds."""


def make_way(machine: Machine) -> None:
    """Let running jobs make way for the burst that asks."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    number, burst = state.asking, jobs[state.asking]
    job = lists[RUNNING, : lists[RUNNING, LENGTH]]
    width, victim = jobs.width[job], jobs.victim[job]
    evictable = (jobs.on_demand[job] == 0) & (victim < 0) & (jobs.guest[job] < 0)
    free, lacking = job[evictable], burst.nodes - burst.width
    arrived = burst.submit_time <= state.now
    if state.solver == SHARE:
        start_sharing(machine, _choose_hosts(free, width[evictable], lacking))
        return
    if arrived and state.solver == SHRINK:
        gives = _shares(width[evictable] - jobs.least_nodes[free], lacking)
        if gives.any():
            shrink_jobs(machine, free, gives)
            return
    if not arrived and state.notice == PREDICT:
        ends = (victim < 0) & (jobs.expected[job] <= burst.expected_time)
        lacking -= width[ends | (victim == number)].sum()
        _stop_after_checkpoints(machine, free, lacking)
        return
    _make_plan(machine, free, lacking - width[victim == number].sum())


def _make_plan(machine: Machine, free: np.ndarray, needed: int) -> None:
    """Choose among these jobs those that make way for the burst by a plan."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    burst, now, candidates = jobs[state.asking], state.now, records(free.size, CANDIDATE)
    find_candidates(jobs, free, now, candidates)
    arrival = max(burst.expected_time, now) if now < burst.submit_time else burst.submit_time
    early, busy, rows = max(arrival - now, 0.0), 0.0, 1
    if state.solver >= GREEDY:
        busy = _backlog(jobs, lists[RUNNING, : lists[RUNNING, LENGTH]], now)
        time = max(arrival + burst.longest_delay - now - busy, 0.0)
        rows += int(np.floor(time / state.step * (1 + 1e-12)))
    evictable, writes = in_steps(candidates, state.step, rows)
    order = order_of_writes(evictable.nodes, writes, rows)
    choices = solve(state, evictable, writes, order, needed, rows)
    actions = choices[_choose_deadline(state, candidates, choices, order, busy, early)]
    begins, _ = timetable(candidates, actions, order, busy, early)
    app, sys = actions == APP, actions == SYS
    ready = np.where(app, now + candidates.app_wait, np.inf)
    write = app * candidates.app_write + sys * candidates.sys_write
    _order(machine, free, actions, (ready, write, now + begins))


def _backlog(jobs: np.ndarray, running: np.ndarray, now: float) -> float:
    """Seconds until the file system has written what other bursts have ordered."""
    victims = jobs[running[(jobs["victim"][running] >= 0) & (jobs["write"][running] > 0)]]
    return float((victims["write_begin"] + victims["write"]).max(initial=now)) - now


def _order(
    machine: Machine,
    free: np.ndarray,
    actions: np.ndarray,
    times: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Order jobs to make way for the burst by their actions, but those that are kept.

    `times` are those at which they stop by themselves, and those of their writes: seconds, begins.
    """
    jobs, state = machine.jobs, machine.state
    chosen = np.flatnonzero(actions != KEEP)
    job = free[chosen]
    jobs.victim[job], jobs.decided[job], jobs.action[job] = state.asking, state.now, actions[chosen]
    for name, values in zip(("ready", "write", "write_begin"), times, strict=True):
        jobs[name][job] = values[chosen]


@kernel
def find_candidates(
    jobs: np.recarray, free: np.ndarray, now: float, candidates: np.recarray
) -> None:
    """Write a `CANDIDATE` for each of these jobs."""
    for place in range(free.size):
        own, found = jobs[free[place]], candidates[place]
        done, saved, left = progress(own, now)
        found.nodes, found.loss = own.width, own.nodes * (done - saved)
        found.app_wait, found.app_write, found.sys_write = left, 0.0, own.sys_write
        if left == 0.0:
            checkpoint = own.interval * (np.floor(done / own.interval) + 1.0)
            found.app_wait = max(own.origin - now, 0.0) + checkpoint - done
            found.app_write = own.app_write


def in_steps(candidates: np.recarray, step: float, rows: int) -> tuple[EvictionArrays, WriteArrays]:
    """Losses and durations as the solvers take them (see `eviction.problem`)."""
    app_wait, app_write = candidates.app_wait, candidates.app_write
    seconds = np.stack([app_wait + app_write, app_write, candidates.sys_write])
    steps = np.minimum(np.ceil(seconds / step * (1 - 1e-12)), rows).astype(np.int64)
    app, write, sys = steps
    write = np.where(app < rows, np.minimum(write, app), 0)
    wait = np.round(np.minimum(app_wait, rows * step) * 1e3)
    nodes, loss = candidates.nodes.copy(), np.round(candidates.loss * 1000.0)
    return EvictionArrays(nodes, loss, app, sys), WriteArrays(app - write, write, sys, wait)


def solve(
    state: np.record,
    jobs: EvictionArrays,
    writes: WriteArrays,
    order: np.ndarray,
    needed: int,
    rows: int,
) -> np.ndarray:
    """The action of each job (columns) for each deadline (rows), by the policy's solver."""
    if state.solver == GREEDY:
        return evict_greedily(*jobs, needed, rows)
    choices = np.zeros((rows, jobs.nodes.size), np.uint8)
    if state.solver in (PREEMPT, SHRINK):
        cheapest = np.argsort(jobs.loss, kind="stable")
        freed = np.cumsum(jobs.nodes[cheapest])
        choices[0, cheapest[: np.searchsorted(freed, needed) + 1]] = KILL
    elif state.solver == DYNAMIC_BLOCKED:
        ordered = EvictionArrays(*(array[order] for array in jobs))
        timed = WriteArrays(*(array[order] for array in writes))
        choices[:, order] = plan_blocked(ordered, timed, needed, rows, state.step * 1e3)
    else:
        width = table_width(jobs.nodes, needed)
        table = np.full((rows, width), np.inf)
        table[0, 0] = 0.0
        chosen = np.zeros((jobs.nodes.size, rows, packed_width(width)), np.uint8)
        relax_all(jobs, needed, needed, table, chosen)
        choices = read_plans(table, chosen, jobs, needed)
    return choices


@kernel
def timetable(
    candidates: np.recarray, actions: np.ndarray, order: np.ndarray, busy: float, early: float
) -> tuple[np.ndarray, float]:
    """When each checkpoint is written, and the node-seconds blocked until all are.

    Seconds from now. The file system is busy for `busy` seconds and then writes in the order given,
    as late as the last end allows, which is not before `early`. An application's own checkpoint
    that is in progress needs no other write.
    """
    end, last, begins = busy, early, np.zeros(order.size)
    for place in order:
        write = _write_time(candidates, actions, place)
        if actions[place] == APP:
            last = max(last, candidates[place].app_wait)
            end = max(end, candidates[place].app_wait) if write > 0.0 else end
        end += write
    last = end if end > busy and end > last else last
    left, blocked = last, 0.0
    for place in order[::-1]:
        left -= _write_time(candidates, actions, place)
        begins[place] = left
        if actions[place] == APP:
            blocked += candidates[place].nodes * (last - candidates[place].app_wait)
        elif actions[place] == SYS:
            blocked += candidates[place].nodes * (last - left)
        elif actions[place] == KILL:
            blocked += candidates[place].nodes * last
    return begins, blocked


@kernel
def _write_time(candidates: np.recarray, actions: np.ndarray, place: int) -> float:
    """Seconds for which the file system writes a job's checkpoint."""
    if actions[place] == APP:
        return candidates[place].app_write
    return candidates[place].sys_write if actions[place] == SYS else 0.0


def _choose_deadline(
    state: np.record,
    candidates: np.recarray,
    choices: np.ndarray,
    order: np.ndarray,
    busy: float,
    early: float,
) -> int:
    """The row of the plan that is carried out."""
    delay = np.maximum(np.arange(len(choices)) * state.step + busy - early, 0.0)
    cost = np.where(choices == KILL, candidates.loss, 0.0).cumsum(axis=1)[:, -1]
    if state.solver == DYNAMIC_BLOCKED:
        cost += [timetable(candidates, row, order, busy, early)[1] for row in choices]
    if state.deadline == WEIGHTED:
        return int((cost + state.weight * delay).argmin())
    keys = (cost, delay) if state.deadline == EARLIEST else (delay, cost)
    return int(np.lexsort(keys)[0])


@kernel
def costliest(machine: Machine, burst: int, surplus: int) -> int:
    """The job with most to lose that need not be killed for a burst; ties: the lower; or −1."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    costly, most = NO_JOB, -1.0
    for place in range(lists[RUNNING, LENGTH]):
        own = jobs[lists[RUNNING, place]]
        if own.victim == burst and own.action == KILL and own.width <= surplus:
            done, saved, _ = progress(own, state.now)
            if own.nodes * (done - saved) > most:
                costly, most = lists[RUNNING, place], own.nodes * (done - saved)
    return costly


def _stop_after_checkpoints(machine: Machine, free: np.ndarray, lacking: int) -> None:
    """Choose among these jobs those that are to stop after a checkpoint before the burst comes."""
    jobs = machine.jobs
    arrival, width = jobs[machine.state.asking].expected_time, jobs.width[free]
    stops = last_checkpoints(jobs, free, machine.state.now, arrival)
    use = (jobs.expected[free] > arrival) & (stops < np.inf)
    idle = np.where(use, width * (arrival - stops), np.inf)
    order = np.argsort(idle, kind="stable")
    chosen = order[: np.searchsorted(width[order].cumsum(), lacking) + 1]
    actions = np.zeros(free.size, np.int64)
    actions[chosen] = np.where(use[chosen], KILL, KEEP)
    _order(machine, free, actions, (stops, np.zeros(free.size), stops))


@kernel
def last_checkpoints(
    jobs: np.recarray, chosen: np.ndarray, now: float, arrival: float
) -> np.ndarray:
    """When the last checkpoint that each job writes from now to the arrival is whole; infinity."""
    stops = np.full(chosen.size, np.inf)
    for place in range(chosen.size):
        own = jobs[chosen[place]]
        saved = progress(own, arrival)[1]
        if saved > progress(own, now)[1]:
            seconds = elapsed_for(own, own.origin_progress, saved) + own.charge
            stops[place] = max(time_of(own, seconds), now)
    return stops


def _shares(most: np.ndarray, lacking: int) -> np.ndarray:
    """Nodes that each malleable job gives of what it can at most, so that so many come free.

    Each gives the same part, rounded down; what is then lacking, one node each in order of
    submission. None does where all cannot give enough.
    """
    total = most.sum()
    if not 0 < lacking <= total:
        return np.zeros_like(most)
    gives = most * lacking // total
    gives[np.flatnonzero(gives < most)[: lacking - gives.sum()]] += 1
    return gives


@kernel
def shrink_jobs(machine: Machine, chosen: np.ndarray, gives: np.ndarray) -> None:
    """Let each of these jobs go on with so many nodes less."""
    jobs, state = machine.jobs, machine.state
    for place in range(chosen.size):
        if gives[place] > 0:
            job = chosen[place]
            nodes = jobs[job].width - gives[place]
            change_rate(machine, job, nodes, nodes / jobs[job].nodes)
            state.free += gives[place]


def _choose_hosts(free: np.ndarray, width: np.ndarray, lacking: int) -> np.ndarray:
    """The jobs that share nodes with a burst, of those that could, in the order chosen.

    The narrowest that is wide enough by itself, else the widest and again; ties: the lower job.
    """
    width, chosen = width.copy(), []
    while lacking > 0:
        enough = np.where(width >= lacking, width, np.iinfo(np.int64).max)
        best = int(enough.argmin() if (width >= lacking).any() else width.argmax())
        chosen.append(free[best])
        lacking -= width[best]
        width[best] = 0
    return np.array(chosen, dtype=np.int64)


@kernel
def start_sharing(machine: Machine, hosts: np.ndarray) -> None:
    """Start the burst that asks on what it holds; on the rest it takes turns with its hosts."""
    jobs, state = machine.jobs, machine.state
    number, burst = state.asking, jobs[state.asking]
    held = burst.width
    lacking = burst.nodes - held
    end_collecting(machine, number)
    start_job(machine, number, held, state.turn)
    for job in hosts:
        own = jobs[job]
        change_rate(machine, job, own.width, 1.0 - burst.speed)
        own.guest, own.lent = number, min(lacking, own.width)
        lacking -= own.lent
    burst.hosts = hosts.size
    state.served = 0


@kernel
def end_sharing(machine: Machine, job: int) -> None:
    """End the sharing that a job or burst which ends now takes part in.

    The hosts of a burst go on at full speed. The nodes that a host lent are its burst's for good.
    """
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    number = job if jobs[job].on_demand else jobs[job].guest
    burst = jobs[number]
    for place in range(lists[RUNNING, LENGTH]):
        if jobs[lists[RUNNING, place]].guest == number:
            log_stretch(machine, lists[RUNNING, place])
    log_stretch(machine, number)
    given = jobs[job].lent
    for place in range(lists[RUNNING, LENGTH]):
        host = lists[RUNNING, place]
        own = jobs[host]
        if own.guest == number and (host == job or job == number):
            own.width -= given
            own.guest, own.lent = -1, 0
            burst.hosts -= 1
            if host != job:
                change_rate(machine, host, own.width, 1.0)
    if job != number:
        state.used += given
        speed = 1.0 if burst.hosts == 0 else burst.speed
        change_rate(machine, number, burst.width + given, speed)
