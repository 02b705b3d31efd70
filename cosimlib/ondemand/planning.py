"""Eviction plans inside the loop: the problem of an instant, its solver, and the deadline chosen.

The solvers are those of `cosimlib.eviction`, as kernels. A plan gives each running batch job that
no other burst has chosen one of four actions; the row of the plan, a number of steps, is the
deadline by which the nodes are to be free.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.eviction.dynamic import packed_width, read_plans, relax_all, table_width
from cosimlib.eviction.overlapping import plan_blocked
from cosimlib.eviction.plan import order_of_writes
from cosimlib.eviction.problem import APP, KEEP, KILL, SYS, EvictionArrays, WriteArrays
from cosimlib.eviction.search import evict_greedily
from cosimlib.kernels import heap
from cosimlib.kernels.jit import allocating_kernel, inner_kernel
from cosimlib.kernels.sorting import ascending
from cosimlib.ondemand.pace import running_batch
from cosimlib.ondemand.state import (
    PLANS,
    RUN,
    Log,
    State,
    next_row,
    progress,
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


class Durations(NamedTuple):
    """What checkpoints of the jobs of a `Choice` take, in steps: both kinds, and their writes."""

    app: np.ndarray
    sys: np.ndarray
    writes: WriteArrays


class Choice(NamedTuple):
    """The jobs that could be evicted, one value per job: losses in node-seconds, times in s."""

    job: np.ndarray
    nodes: np.ndarray
    loss: np.ndarray
    app_wait: np.ndarray
    app_write: np.ndarray
    sys_write: np.ndarray


@allocating_kernel
def candidates(jobs: np.recarray, state: State, now: float) -> Choice:
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
            due = jobs[job].interval * (np.floor(done / jobs[job].interval) + 1.0)
            app_wait[place] = max(state.jobs[job].origin - now, 0.0) + due - done
    return Choice(found, state.jobs[found].width, loss, app_wait, app_write, sys_write)


@allocating_kernel
def make_plan(
    jobs: np.recarray, rules: Rules, state: State, log: Log, burst: int, needed: int, now: float
) -> None:
    """Choose the jobs that make way for a burst, where all that could together hold enough."""
    choice = candidates(jobs, state, now)
    if choice.nodes.sum() < needed:
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
    durations = in_steps(choice, rules.step, rows)
    choices = solve(rules, choice, durations, needed, rows)
    order = order_of_writes(choice.nodes, durations.writes, rows)
    row, delay, loss, blocked = _choose_deadline(rules, choice, choices, order, busy, early)
    begins = timetable(choice, choices[row], order, busy, early)[0]
    for place in range(choice.job.size):
        if choices[row, place] != KEEP:
            _order(state, choice, place, choices[row, place], burst, begins[place], now)
    entry = log.plans[next_row(log, PLANS, log.plans)]
    entry[0], entry[1], entry[2], entry[3] = burst, now, needed, choice.job.size
    entry[4], entry[5], entry[6], entry[7] = row * rules.step, delay, loss, blocked


@inner_kernel
def _order(
    state: State, choice: Choice, place: int, action: int, burst: int, begin: float, now: float
) -> None:
    """Order a job to make way for a burst; `begin` is when its checkpoint is written, from now."""
    job = choice.job[place]
    state.jobs[job].victim, state.jobs[job].action, state.jobs[job].decided = burst, action, now
    state.jobs[job].write, state.jobs[job].write_begin = 0.0, now + begin
    if action == APP:
        state.jobs[job].write = choice.app_write[place]
        heap.push(state.ready, job, now + choice.app_wait[place])
    elif action == SYS:
        state.jobs[job].write = choice.sys_write[place]
    if state.jobs[job].write > 0.0:
        heap.push(state.writes, job, now + begin)


@inner_kernel
def _backlog(state: State, now: float) -> float:
    """Seconds until the file system has written what other bursts have ordered."""
    end = now
    for place in range(state.counts[RUN]):
        job = state.running[place]
        if state.jobs[job].victim >= 0 and state.jobs[job].write > 0.0:
            end = max(end, state.jobs[job].write_begin + state.jobs[job].write)
    return end - now


@allocating_kernel
def in_steps(choice: Choice, step: float, rows: int) -> Durations:
    """Durations as the solvers take them (`eviction.problem.WriteArrays`)."""
    n = choice.job.size
    app, sys = np.empty(n, np.int64), np.empty(n, np.int64)
    release, write, wait = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    for place in range(n):
        both = choice.app_wait[place] + choice.app_write[place]
        app[place] = int(min(np.ceil(both / step * (1 - 1e-12)), float(rows)))
        sys[place] = int(min(np.ceil(choice.sys_write[place] / step * (1 - 1e-12)), float(rows)))
        steps = int(min(np.ceil(choice.app_write[place] / step * (1 - 1e-12)), float(rows)))
        write[place] = min(steps, app[place]) if app[place] < rows else 0
        release[place] = app[place] - write[place]
        wait[place] = np.round(min(choice.app_wait[place], rows * step) * 1e3)
    return Durations(app, sys, WriteArrays(release, write, sys, wait))


@allocating_kernel
def solve(rules: Rules, choice: Choice, durations: Durations, needed: int, rows: int) -> np.ndarray:
    """The action of each job (columns) for each deadline (rows), by the policy's solver."""
    nodes, loss = choice.nodes, np.empty(choice.nodes.size)
    for place in range(nodes.size):
        loss[place] = np.round(choice.loss[place] * 1000.0)
    choices = np.zeros((rows, nodes.size), np.uint8)
    if rules.solver == PREEMPT or rules.solver == SHRINK:
        for place in ascending(loss):
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


@allocating_kernel
def timetable(
    choice: Choice, actions: np.ndarray, order: np.ndarray, busy: float, early: float
) -> tuple[np.ndarray, float, float]:
    """When each checkpoint is written, when all are, and the node-seconds blocked until then.

    Seconds from now. The file system is busy for `busy` seconds and then writes in the order given,
    as late as the last end allows, which is not before `early`. An application's own checkpoint
    that is in progress needs no other write.
    """
    end, last, begins = busy, early, np.zeros(order.size)
    for place in order:
        write = _write_time(choice, actions, place)
        if actions[place] == APP:
            last = max(last, choice.app_wait[place])
            end = max(end, choice.app_wait[place]) if write > 0.0 else end
        end += write
    last = end if end > busy and end > last else last
    left, blocked = last, 0.0
    for place in order[::-1]:
        left -= _write_time(choice, actions, place)
        begins[place] = left
        if actions[place] == APP:
            blocked += choice.nodes[place] * (last - choice.app_wait[place])
        elif actions[place] == SYS:
            blocked += choice.nodes[place] * (last - left)
        elif actions[place] == KILL:
            blocked += choice.nodes[place] * last
    return begins, last, blocked


@inner_kernel
def _write_time(choice: Choice, actions: np.ndarray, place: int) -> float:
    """Seconds for which the file system writes a job's checkpoint."""
    if actions[place] == APP:
        return choice.app_write[place]
    return choice.sys_write[place] if actions[place] == SYS else 0.0


@allocating_kernel
def _choose_deadline(
    rules: Rules,
    choice: Choice,
    choices: np.ndarray,
    order: np.ndarray,
    busy: float,
    early: float,
) -> tuple[int, float, float, float]:
    """The row to take, its delay, loss and blocked node-seconds."""
    best, best_first, best_second = (0, 0.0, 0.0, 0.0), np.inf, np.inf
    for row in range(choices.shape[0]):
        loss = 0.0
        for place in range(choice.job.size):
            if choices[row, place] == KILL:
                loss += choice.loss[place]
        blocked = timetable(choice, choices[row], order, busy, early)[2]
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
