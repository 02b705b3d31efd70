"""Which jobs make way for a burst, and how: `make_way`, and the eviction plans of the solvers.

`make_way` is called for a burst that lacks nodes (see `kernel`). Under `share` and `shrink`, and
for bursts that are announced under the notice ``"predict"``, other files have the rules: `sharing`,
`shrinking` and `stopping`. In all other cases jobs are evicted by a plan.

*Eviction plans.* The solvers are those of `cosimlib.eviction`. The *candidates* are the running
batch jobs that do not make way for another burst. A plan is a table: row k says for each candidate
whether it is kept, killed, or writes a checkpoint (`app` or `sys`), so that the nodes are free in k
steps. `kill` has one row, for now. One row is chosen by the policy's `deadline`, and carried out.
`preempt` needs no plan: it kills the candidates by ascending loss until enough nodes come free.

*Writing.* The file system writes one checkpoint at a time, in this order:

1. those that other bursts have ordered before;
2. those of jobs that reach no checkpoint of their own by the last deadline, by Smith's rule;
3. those of the other jobs, by the step in which they reach theirs, and within a step by Smith's
   rule.

The last two are the order of `cosimlib.eviction.plan`. Smith's rule takes the times of system-level
checkpoints, whatever is written. Each checkpoint is written as late as the plan's end allows, so
that jobs compute for as long as they can. The *end* of a plan is when its last write is complete,
and not before the burst is expected; it is not the deadline of its row.

*Ties.* Several sets of jobs may lose equally little. Then one is chosen by

================= ========================== ========================== ==========================
policy            first                      then                       then
================= ========================== ========================== ==========================
`dynamic`         fewest steps               fewest nodes freed         spared: submitted last
`dynamic_blocked` fewest steps of writing    fewest nodes freed         spared: written first
`kill`            fewest nodes freed         spared: submitted last
`greedy`          written: submitted first   killed: submitted last
`preempt`         killed: submitted first
`shrink`          killed: submitted first
================= ========================== ========================== ==========================

For example, of two sets that differ in several jobs, `dynamic` compares the one submitted last, and
takes the set that spares it. Under `dynamic` and `dynamic_blocked`, a job whose kill loses nothing
is killed rather than written. Of deadlines that are equally good, the earliest is taken.
"""

import numpy as np

from cosimlib.eviction.dynamic import packed_width, read_plans, relax_all, table_width
from cosimlib.eviction.overlapping import plan_blocked
from cosimlib.eviction.plan import order_of_writes
from cosimlib.eviction.problem import APP, KEEP, KILL, SYS, EvictionArrays, WriteArrays
from cosimlib.eviction.search import evict_greedily
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.ondemand.changes import choose_jobs
from cosimlib.ondemand.sharing import share_nodes
from cosimlib.ondemand.shrinking import shrink_jobs
from cosimlib.ondemand.state import (
    BY_KILL,
    DEADLINE_EARLIEST,
    DEADLINE_WEIGHTED,
    DYNAMIC_BLOCKED,
    GREEDY,
    NO_JOB,
    PREDICT,
    PREEMPT,
    RUNNING,
    SHARE,
    SHRINK,
    Machine,
    loss,
    next_checkpoint,
    progress,
    time_of,
)
from cosimlib.ondemand.stopping import leave_after_checkpoints

CANDIDATE = record_type(floats="loss app_wait app_write sys_write", integers="nodes")
"""A job that could be evicted: the node-seconds that it would lose if it were killed at the moment
of the plan (it may lose more or less by the burst's start), the seconds until it reaches its next
checkpoint, those to write that one and one of the system, and its nodes."""

NEARLY = 1e-12
"""Relative error within which seconds are still a whole number of steps."""


def make_way(machine: Machine) -> None:
    """Let running jobs make way for the burst that asks."""
    jobs, rules, state = machine.jobs, machine.rules, machine.state
    burst, running = jobs[state.asking], machine.lists[RUNNING, : machine.lengths[RUNNING]]
    arrived = burst.submit_time <= state.now
    candidates = _candidates(jobs, running)
    lacking = int(burst.nodes - burst.held)
    if rules.mechanism == SHARE:
        share_nodes(machine, candidates, lacking)
        return
    if arrived and rules.mechanism == SHRINK and shrink_jobs(machine, candidates, lacking):
        return
    if not arrived and rules.notice == PREDICT:
        leave_after_checkpoints(machine, candidates, lacking)
        return
    promised = running[jobs.makes_way_for[running] == state.asking]
    lacking -= int(jobs.width[promised].sum())
    if rules.mechanism in (PREEMPT, SHRINK):
        _preempt(machine, candidates, lacking)
    else:
        _evict_by_plan(machine, candidates, lacking)


def _candidates(jobs: np.recarray, running: np.ndarray) -> np.ndarray:
    """The running jobs that could make way: see `state.may_make_way`."""
    batch = jobs.on_demand[running] == 0
    spoken_for = (jobs.makes_way_for[running] != NO_JOB) | (jobs.shares_with[running] != NO_JOB)
    return running[batch & ~spoken_for]


def _preempt(machine: Machine, numbers: np.ndarray, lacking: int) -> None:
    """Choose jobs that are killed by ascending loss, until so many nodes come free."""
    candidates = _describe(machine, numbers)
    cheapest = np.argsort(_in_milliseconds(candidates.loss), kind="stable")
    freed = candidates.nodes[cheapest].cumsum()
    enough = cheapest[: np.searchsorted(freed, lacking) + 1]
    choose_jobs(machine, numbers[enough], KILL)


def _evict_by_plan(machine: Machine, numbers: np.ndarray, lacking: int) -> None:
    """Evict some of these jobs by a plan, so that so many nodes come free for the burst."""
    rules, candidates = machine.rules, _describe(machine, numbers)
    early, busy, rows = _deadlines(machine)
    evictable, writes = _in_steps(candidates, rules.step, rows)
    order = order_of_writes(evictable.nodes, writes, rows)
    plans = _solve(rules, evictable, writes, order, lacking, rows)
    actions = plans[_choose_deadline(rules, candidates, plans, order, busy, early)]
    begins, _ = timetable(candidates, actions, order, busy, early)
    _carry_out(machine, numbers, candidates, actions, begins)


def _deadlines(machine: Machine) -> tuple[float, float, int]:
    """Seconds until the burst is expected, and until the file system is idle; number of deadlines.

    The file system first writes what other bursts have ordered, and deadlines count from then on.
    The last deadline is the burst's longest delay after its arrival.
    """
    rules, now, burst = machine.rules, machine.state.now, machine.jobs[machine.state.asking]
    arrival = burst.submit_time
    if now < burst.submit_time:
        arrival = max(burst.expected_arrival, now)
    early = max(arrival - now, 0.0)
    if rules.mechanism == BY_KILL:
        return early, 0.0, 1
    busy = _seconds_until_written(machine)
    time = max(arrival + burst.longest_delay - now - busy, 0.0)
    return early, busy, 1 + int(np.floor(time / rules.step * (1 + NEARLY)))


def _carry_out(
    machine: Machine,
    numbers: np.ndarray,
    candidates: np.recarray,
    actions: np.ndarray,
    begins: np.ndarray,
) -> None:
    """Let jobs make way by their actions, and write from `begins` on, seconds from now."""
    jobs, now = machine.jobs, machine.state.now
    app, sys, chosen = actions == APP, actions == SYS, actions != KEEP
    victims = numbers[chosen]
    choose_jobs(machine, victims, actions[chosen])
    jobs.checkpoint_time[victims] = np.where(app, now + candidates.app_wait, np.inf)[chosen]
    jobs.write_time[victims] = (app * candidates.app_write + sys * candidates.sys_write)[chosen]
    jobs.write_begin[victims] = (now + begins)[chosen]


def _describe(machine: Machine, numbers: np.ndarray) -> np.recarray:
    """A `CANDIDATE` for each of these jobs."""
    candidates = records(numbers.size, CANDIDATE)
    describe_candidates(machine.jobs, machine.rules, numbers, machine.state.now, candidates)
    return candidates


def _in_milliseconds(lost: np.ndarray) -> np.ndarray:
    """Node-seconds in whole node-milliseconds, so that equal losses are equal (`eviction`)."""
    return np.round(lost * 1000.0)


def _seconds_until_written(machine: Machine) -> float:
    """Seconds until the file system has written what other bursts have ordered."""
    jobs, now = machine.jobs, machine.state.now
    running = jobs[machine.lists[RUNNING, : machine.lengths[RUNNING]]]
    writers = running[(running["makes_way_for"] != NO_JOB) & (running["write_time"] > 0)]
    return float((writers["write_begin"] + writers["write_time"]).max(initial=now)) - now


@kernel
def describe_candidates(
    jobs: np.recarray, rules: np.record, numbers: np.ndarray, now: float, candidates: np.recarray
) -> None:
    """Write a `CANDIDATE` for each of these jobs."""
    for place in range(numbers.size):
        job, candidate = jobs[numbers[place]], candidates[place]
        done = progress(job, rules, now)
        reading = max(time_of(job, rules, job.read_time) - now, 0.0)
        candidate.nodes, candidate.loss = job.width, loss(job, done)
        candidate.app_wait = reading + next_checkpoint(job, done) - done
        candidate.app_write, candidate.sys_write = job.app_write, job.sys_write


def _in_steps(
    candidates: np.recarray, step: float, rows: int
) -> tuple[EvictionArrays, WriteArrays]:
    """Losses and durations as the solvers take them (see `eviction.problem`)."""
    app_wait, app_write = candidates.app_wait, candidates.app_write
    seconds = np.stack([app_wait + app_write, app_write, candidates.sys_write])
    steps = np.minimum(np.ceil(seconds / step * (1 - NEARLY)), rows).astype(np.int64)
    app, write, sys = steps
    write = np.where(app < rows, np.minimum(write, app), 0)
    wait = np.round(np.minimum(app_wait, rows * step) * 1e3)
    nodes, lost = candidates.nodes.copy(), _in_milliseconds(candidates.loss)
    return EvictionArrays(nodes, lost, app, sys), WriteArrays(app - write, write, sys, wait)


def _solve(
    rules: np.record,
    jobs: EvictionArrays,
    writes: WriteArrays,
    order: np.ndarray,
    needed: int,
    rows: int,
) -> np.ndarray:
    """The action of each job (columns) for each deadline (rows), by the policy's solver."""
    if rules.mechanism == GREEDY:
        return evict_greedily(*jobs, needed, rows)
    if rules.mechanism == DYNAMIC_BLOCKED:
        ordered = EvictionArrays(*(array[order] for array in jobs))
        timed = WriteArrays(*(array[order] for array in writes))
        plans = np.zeros((rows, jobs.nodes.size), np.uint8)
        plans[:, order] = plan_blocked(ordered, timed, needed, rows, rules.step * 1e3)
        return plans
    width = table_width(jobs.nodes, needed)
    table = np.full((rows, width), np.inf)
    table[0, 0] = 0.0
    chosen = np.zeros((jobs.nodes.size, rows, packed_width(width)), np.uint8)
    relax_all(jobs, needed, needed, table, chosen)
    return read_plans(table, chosen, jobs, needed)


def _choose_deadline(
    rules: np.record,
    candidates: np.recarray,
    plans: np.ndarray,
    order: np.ndarray,
    busy: float,
    early: float,
) -> int:
    """The row of the plans that is carried out; its cost counts blocked nodes where plans do."""
    delay = np.maximum(np.arange(len(plans)) * rules.step + busy - early, 0.0)
    cost = np.where(plans == KILL, candidates.loss, 0.0).cumsum(axis=1)[:, -1]
    if rules.mechanism == DYNAMIC_BLOCKED:
        cost += [timetable(candidates, plan, order, busy, early)[1] for plan in plans]
    if rules.deadline == DEADLINE_WEIGHTED:
        return int((cost + rules.weight * delay).argmin())
    keys = (cost, delay) if rules.deadline == DEADLINE_EARLIEST else (delay, cost)
    return int(np.lexsort(keys)[0])


@allocating_kernel
def timetable(
    candidates: np.recarray, actions: np.ndarray, order: np.ndarray, busy: float, early: float
) -> tuple[np.ndarray, float]:
    """When each checkpoint is written, and the node-seconds blocked until all are.

    Times are seconds from now. The file system is busy for `busy` seconds. Then it writes in the
    order given, as late as the plan's end allows. That end is not before `early`, when the burst is
    expected. A job blocks its nodes from the moment at which it stops until the end.
    """
    written, end, begins = busy, early, np.zeros(order.size)
    for candidate in order:
        write = _write_time(candidates, actions, candidate)
        if actions[candidate] == APP:
            end = max(end, candidates[candidate].app_wait)
            if write > 0.0:
                written = max(written, candidates[candidate].app_wait)
        written += write
    if written > busy:
        end = max(end, written)
    begin, blocked = end, 0.0
    for candidate in order[::-1]:
        begin -= _write_time(candidates, actions, candidate)
        begins[candidate] = begin
        nodes = candidates[candidate].nodes
        if actions[candidate] == APP:
            blocked += nodes * (end - candidates[candidate].app_wait)
        elif actions[candidate] == SYS:
            blocked += nodes * (end - begin)
        elif actions[candidate] == KILL:
            blocked += nodes * end
    return begins, blocked


@kernel
def _write_time(candidates: np.recarray, actions: np.ndarray, candidate: int) -> float:
    """Seconds for which the file system writes a job's checkpoint."""
    if actions[candidate] == APP:
        return candidates[candidate].app_write
    return candidates[candidate].sys_write if actions[candidate] == SYS else 0.0
