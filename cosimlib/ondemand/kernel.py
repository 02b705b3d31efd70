"""The event loop: what happens at each instant of a machine with on-demand bursts, in which order.

`run` goes from one instant to the next at which anything happens. At each instant

1. jobs end, then a checkpoint that is being written is complete, then the jobs stand still or
   leave that have reached the checkpoint of their application that was chosen for this; the nodes
   of jobs that make way for a burst are held for it at once (`_end_and_stop_jobs`);
2. windows of the calendar open and close nodes (`easy.pass_windows`);
3. jobs and bursts are submitted, notices come due, and bursts that did not come are given up
   (`_submit_and_collect`); bursts that arrive begin to collect before those with a notice;
4. bursts are served in the order in which they began to collect nodes (`_serve`);
5. the file system begins to write the next checkpoint that is due (`_begin_write`);
6. under `shrink`, jobs that shrank take back free nodes (`_expand_jobs`);
7. batch jobs start (`easy.backfill`).

*When a burst arrives*, it begins to collect nodes. It takes those that are free. Some running jobs
may already be about to leave it their nodes. If all these nodes do not suffice, a plan says which
other jobs make way for the burst, and how (`planning.make_way`). Plans are made in Python, which
calls the solvers of `cosimlib.eviction`. So `run` returns `PLAN_NEEDED`, and is called again once
the plan is made. If not even all running jobs could give enough nodes, no plan is made: the burst
keeps every node that comes free, and this is looked at again at each later instant. Bursts that
each hold a part of the machine could so wait for one another for ever. Therefore, where nothing
runs and all bursts that collect have arrived, the first of them takes nodes held for the others, of
the last to collect first.

*A burst starts* as soon as the nodes held for it and those of the jobs that are to be killed for it
suffice. These jobs are killed at that moment and not before, so that no node idles for the burst.
If nodes came free in the meantime, fewer jobs are killed: those with most to lose are spared. Jobs
that have not completed their checkpoint by then are spared, too. What is written of it so far is
dropped, and the time is lost.

*Excess nodes.* Nodes that come free in step 1 go first to the burst that their job made way for,
before windows and other bursts. What it does not need goes to the other bursts that collect nodes,
at the same instant, and to batch jobs only after that. Earlier bursts come first: after each start,
all bursts are served again, from the one that began to collect first.
"""

import numpy as np

from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.eviction.problem import APP, KILL, SYS
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import records
from cosimlib.ondemand.changes import (
    begin_collecting,
    change_speed,
    end_collecting,
    hold_nodes,
    remove_job,
    set_exact_instant,
    spare_job,
    start_job,
    stop_job,
)
from cosimlib.ondemand.easy import Ahead, backfill, look_ahead, pass_windows
from cosimlib.ondemand.log import log_eviction, log_stretch
from cosimlib.ondemand.planning import make_way
from cosimlib.ondemand.sharing import end_sharing
from cosimlib.ondemand.state import (
    CALLS,
    COLLECTING,
    EVICTION,
    JOB,
    NO_JOB,
    PREDICT,
    PREPARE,
    QUEUE,
    REQUEST,
    RUNNING,
    SHARE,
    SHRINK,
    STATE,
    STRETCH,
    WAIT,
    Machine,
    insert,
    last_checkpoint,
    loss,
    may_make_way,
    progress,
)

ENDED, PLAN_NEEDED, LOG_FULL = range(3)
"""Why `run` returns: nothing happens any more; a plan is needed for `state.asking`; the log needs
room before the next instant."""


def simulate(
    requests: np.recarray,
    rules: np.recarray,
    room: int | None = None,
    calendar: Calendar = ALWAYS_OPEN,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Starts, ends, stretches (`STRETCH`) and evictions (`EVICTION`).

    `requests` are rows of `REQUEST`, `rules` is one of `RULES`. Each log first has `room` for so
    many rows.
    """
    machine = _empty_machine(requests, rules, 4 * len(requests) + 1000 if room is None else room)
    ahead = look_ahead(calendar, machine.rules.total_nodes, machine.jobs)
    reason = run(machine, ahead)
    while reason != ENDED:
        if reason == PLAN_NEEDED:
            make_way(machine)
            machine.state.planned, machine.state.asking = machine.state.asking, NO_JOB
        else:
            machine = machine._replace(
                stretches=_twice_as_long(machine.stretches),
                evictions=_twice_as_long(machine.evictions),
            )
        reason = run(machine, ahead)
    jobs, state = machine.jobs, machine.state
    stretches, evictions = (
        machine.stretches[: state.stretches],
        machine.evictions[: state.evictions],
    )
    return jobs.start_time.copy(), jobs.end_time.copy(), stretches, evictions


def _empty_machine(requests: np.recarray, rules: np.recarray, room: int) -> Machine:
    """A machine to which no job has come yet."""
    asked = {field: requests[field] for field in REQUEST.names or ()}
    jobs = records(len(requests), JOB, **asked, attempt=-1)
    jobs.makes_way_for = jobs.shares_with = NO_JOB
    jobs.stopped = jobs.start_time = jobs.end_time = np.nan
    lists = np.zeros((5, len(jobs)), np.int64)
    lengths = np.zeros(5, np.int64)
    lists[CALLS] = np.argsort(jobs.call_time, kind="stable")
    lengths[CALLS] = len(jobs)
    nobody = {"writer": NO_JOB, "asking": NO_JOB, "planned": NO_JOB}
    return Machine(
        jobs,
        lists,
        lengths,
        rules=rules[0],
        state=records(1, STATE, free=rules.total_nodes, **nobody)[0],
        stretches=records(room, STRETCH),
        evictions=records(room, EVICTION),
    )


def _twice_as_long(log: np.recarray) -> np.recarray:
    """The same log with room for as many rows again."""
    return np.append(log, np.zeros_like(log)).view(np.recarray)


@kernel
def run(machine: Machine, ahead: Ahead) -> int:
    """Go from instant to instant until nothing happens, a plan is needed, or the log is full."""
    jobs, lengths, state = machine.jobs, machine.lengths, machine.state
    while state.serving or state.finished < jobs.size:
        if not state.serving:
            instant = _next_instant(machine, ahead)
            if instant == np.inf:
                return ENDED
            # An instant adds one eviction per job at most, and four stretches per job or burst.
            evictions = state.evictions + lengths[RUNNING]
            stretches = state.stretches + 4 * (lengths[RUNNING] + lengths[COLLECTING])
            if stretches > machine.stretches.size or evictions > machine.evictions.size:
                return LOG_FULL
            state.now = state.exact = instant
            _end_and_stop_jobs(machine)
            pass_windows(machine, ahead)
            _submit_and_collect(machine)
            state.serving, state.next_served = 1, 0
        _serve(machine)
        if state.asking != NO_JOB:
            return PLAN_NEEDED
        state.serving = 0
        _begin_write(machine)
        if machine.rules.mechanism == SHRINK and state.free > 0:
            _expand_jobs(machine)
        backfill(machine, ahead)
    return ENDED


@kernel
def _next_instant(machine: Machine, ahead: Ahead) -> float:
    """The next instant at which anything happens; infinity if nothing will."""
    jobs, lists, lengths, state = machine.jobs, machine.lists, machine.lengths, machine.state
    instant = ahead.edges[ahead.open_nodes.edges].time
    if state.writer != NO_JOB:
        instant = min(instant, state.write_end)
    if state.submitted < jobs.size:
        instant = min(instant, jobs[state.submitted].submit_time)
    if state.calls_passed < jobs.size:
        instant = min(instant, jobs[lists[CALLS, state.calls_passed]].call_time)
    for place in range(lengths[RUNNING]):
        job = jobs[lists[RUNNING, place]]
        instant = min(instant, job.ends_at)
        if job.makes_way_for != NO_JOB:
            instant = min(instant, job.checkpoint_time)
            if state.writer == NO_JOB and job.write_time > 0.0:
                instant = min(instant, job.write_begin)
    for place in range(lengths[COLLECTING]):
        number = lists[COLLECTING, place]
        if not state.submitted > number:
            instant = min(instant, jobs[number].expected_arrival + machine.rules.patience)
    return instant


@kernel
def _end_and_stop_jobs(machine: Machine) -> None:
    """End jobs that are done, then the write that is, then stop jobs at their checkpoint."""
    jobs, lists, lengths, state = machine.jobs, machine.lists, machine.lengths, machine.state
    place = 0
    while place < lengths[RUNNING]:
        if jobs[lists[RUNNING, place]].ends_at <= state.now:
            _end_job(machine, lists[RUNNING, place])
        else:
            place += 1
    writer = state.writer
    if writer != NO_JOB and state.write_end <= state.now:
        log_stretch(machine, writer)
        state.writer = NO_JOB
        _give_way(machine, writer)
    place = 0
    while place < lengths[RUNNING]:
        number = lists[RUNNING, place]
        job = jobs[number]
        if job.makes_way_for == NO_JOB or job.checkpoint_time > state.now:
            place += 1
            continue
        if job.action == KILL:
            set_exact_instant(job, machine.rules, state)
        else:
            stop_job(machine, number)
        if job.write_time == 0.0:
            _give_way(machine, number)


@kernel
def _submit_and_collect(machine: Machine) -> None:
    """Submit jobs, let bursts begin to collect, and give up those that did not come in time."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
        job = jobs[state.submitted]
        if job.on_demand and machine.rules.mechanism != WAIT:
            begin_collecting(machine, state.submitted)
        elif not job.collecting:
            insert(machine, QUEUE, state.submitted)
        state.submitted += 1
    while (
        state.calls_passed < jobs.size
        and jobs[lists[CALLS, state.calls_passed]].call_time <= state.now
    ):
        begin_collecting(machine, lists[CALLS, state.calls_passed])
        state.calls_passed += 1
    for place in range(machine.lengths[COLLECTING] - 1, -1, -1):
        number = lists[COLLECTING, place]
        late = jobs[number].expected_arrival + machine.rules.patience <= state.now
        if late and jobs[number].submit_time > state.now:
            end_collecting(machine, number)


@kernel
def _end_job(machine: Machine, number: int) -> None:
    """End a job that is done; if it was to make way for a burst, its nodes go there."""
    state, job = machine.state, machine.jobs[number]
    burst, nodes = job.makes_way_for, job.width
    log_stretch(machine, number)
    set_exact_instant(job, machine.rules, state)
    if job.shares_with != NO_JOB or job.hosts > 0:
        end_sharing(machine, number)
    remove_job(machine, number)
    job.end_time = state.now
    state.finished += 1
    if burst != NO_JOB:
        _collect(machine, burst, nodes)


@kernel
def _evict(machine: Machine, number: int) -> None:
    """Evict a job: it waits in the queue again, with the progress that it keeps."""
    job = machine.jobs[number]
    log_stretch(machine, number)
    done = progress(job, machine.rules, machine.state.now)
    kept = last_checkpoint(job, done) if job.action == KILL else done
    if job.action == SYS:
        job.read_time = job.sys_write
    elif job.action == APP or kept > job.saved:
        job.read_time = job.app_write
    log_eviction(machine.evictions, machine.state, number, job, done, kept)
    job.saved = kept
    remove_job(machine, number)
    insert(machine, QUEUE, number)


@kernel
def _give_way(machine: Machine, number: int) -> None:
    """Evict a job whose checkpoint is complete; its nodes go to the burst."""
    job = machine.jobs[number]
    burst, nodes = job.makes_way_for, job.width
    _evict(machine, number)
    _collect(machine, burst, nodes)


@kernel
def _collect(machine: Machine, number: int, nodes: int) -> None:
    """Hold as many of these nodes for a burst as it still lacks and are free."""
    burst = machine.jobs[number]
    taken = min(nodes, machine.state.free, burst.nodes - burst.held)
    if taken > 0:
        hold_nodes(machine, number, taken)


@kernel
def _serve(machine: Machine) -> None:
    """Serve bursts until jobs are to make way for one (`state.asking`), or all have been served.

    Called again after the plan has been made, it goes on with the burst that asked for it.
    """
    jobs, lists, lengths, state = machine.jobs, machine.lists, machine.lengths, machine.state
    planned = state.planned
    state.planned = NO_JOB
    if planned != NO_JOB and not jobs[planned].collecting:
        state.next_served = 0  # It has just started on shared nodes.
    while state.next_served < lengths[COLLECTING] or _take_held_nodes(machine):
        number = lists[COLLECTING, state.next_served]
        _collect(machine, number, state.free)
        if number != planned and state.free >= 0 and _asks_jobs(machine, number):
            state.asking = number
            return
        planned = NO_JOB
        if jobs[number].submit_time <= state.now and _start_burst(machine, number):
            state.next_served = 0
        else:
            state.next_served += 1


@kernel
def _take_held_nodes(machine: Machine) -> bool:
    """Where bursts wait for one another, let the first one take nodes held for the others.

    Returns True if it has now got what it lacked. Then all bursts are to be served again.
    """
    jobs, lists, lengths, state = machine.jobs, machine.lists, machine.lengths, machine.state
    if lengths[RUNNING] > 0 or lengths[COLLECTING] == 0:
        return False
    for place in range(lengths[COLLECTING]):
        if jobs[lists[COLLECTING, place]].submit_time > state.now:
            return False
    first = lists[COLLECTING, 0]
    if jobs[first].held == jobs[first].nodes:
        return False
    for place in range(lengths[COLLECTING] - 1, -1, -1):
        other = lists[COLLECTING, place]
        given = min(jobs[first].nodes - jobs[first].held, jobs[other].held)
        if other != first and given > 0:
            hold_nodes(machine, other, -given)
            hold_nodes(machine, first, given)
    state.next_served = 0
    return jobs[first].held == jobs[first].nodes


@kernel
def _asks_jobs(machine: Machine, number: int) -> bool:
    """Whether a burst lacks nodes that running jobs could give to it, and asks them now.

    A burst asks once it has arrived. From its notice on, it asks as well under `PREPARE` and
    `PREDICT`, except for sharing. Shrinking counts no promised nodes.
    """
    jobs, lists, rules, state = machine.jobs, machine.lists, machine.rules, machine.state
    burst = jobs[number]
    arrived = burst.submit_time <= state.now
    prepares = not arrived and rules.notice == PREPARE and rules.mechanism != SHARE
    predicts = not arrived and rules.notice == PREDICT and rules.mechanism != SHARE
    if rules.mechanism == WAIT or not (arrived or prepares or predicts):
        return False
    lacking, promised, evictable, shrinkable = burst.nodes - burst.held, 0, 0, 0
    for place in range(machine.lengths[RUNNING]):
        job = jobs[lists[RUNNING, place]]
        ends = job.makes_way_for == NO_JOB and job.expected_end <= burst.expected_arrival
        if job.makes_way_for == number or (predicts and ends):
            promised += job.width
        elif may_make_way(job):
            evictable += job.width
            shrinkable += job.width - job.least_nodes
    if predicts:
        return lacking > promised and burst.expected_arrival > state.now
    shrinks = arrived and rules.mechanism == SHRINK and 0 < lacking <= shrinkable
    return shrinks or 0 < lacking - promised <= evictable


@kernel
def _start_burst(machine: Machine, number: int) -> bool:
    """Start a burst if the nodes held for it and those of the jobs to be killed suffice."""
    jobs, lists, lengths = machine.jobs, machine.lists, machine.lengths
    burst = jobs[number]
    surplus = burst.held + min(machine.state.free, 0) - burst.nodes
    for place in range(lengths[RUNNING]):
        job = jobs[lists[RUNNING, place]]
        if job.makes_way_for == number and job.action == KILL:
            surplus += job.width
    if surplus < 0:
        return False
    costliest = _costliest_kill(machine, number, surplus)
    while costliest != NO_JOB:
        surplus -= jobs[costliest].width
        spare_job(machine, costliest)
        costliest = _costliest_kill(machine, number, surplus)
    place = 0
    while place < lengths[RUNNING]:
        job = jobs[lists[RUNNING, place]]
        if job.makes_way_for == number and job.action == KILL:
            _evict(machine, lists[RUNNING, place])
        else:
            place += 1
    end_collecting(machine, number)
    start_job(machine, number, burst.nodes, 1.0)
    return True


@kernel
def _costliest_kill(machine: Machine, burst: int, surplus: int) -> int:
    """The job with most to lose that need not be killed for a burst, or none.

    Of jobs with equally much to lose, it is the one submitted first.
    """
    jobs, lists, rules, state = machine.jobs, machine.lists, machine.rules, machine.state
    costliest, most = NO_JOB, -1.0
    for place in range(machine.lengths[RUNNING]):
        job = jobs[lists[RUNNING, place]]
        if job.makes_way_for == burst and job.action == KILL and job.width <= surplus:
            lost = loss(job, progress(job, rules, state.now))
            if lost > most:
                costliest, most = lists[RUNNING, place], lost
    return costliest


@kernel
def _begin_write(machine: Machine) -> None:
    """Let the file system, once it is idle, begin to write the checkpoint that is due first."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    if state.writer != NO_JOB:
        # Planned moments are rounded, so that a write may be due just before the last one ends.
        return
    first, earliest = NO_JOB, np.inf
    for place in range(machine.lengths[RUNNING]):
        number = lists[RUNNING, place]
        job = jobs[number]
        if job.makes_way_for != NO_JOB and job.write_time > 0.0 and job.write_begin < earliest:
            first, earliest = number, job.write_begin
    if earliest <= state.now:
        if np.isnan(jobs[first].stopped):
            stop_job(machine, first)
        log_stretch(machine, first)
        state.writer, state.write_end = first, state.now + jobs[first].write_time


@kernel
def _expand_jobs(machine: Machine) -> None:
    """Give free nodes to jobs that shrank, in order of submission, up to what they asked for."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    for place in range(machine.lengths[RUNNING]):
        number = lists[RUNNING, place]
        job = jobs[number]
        more = min(state.free, job.nodes - job.width)
        if more > 0 and not job.on_demand and job.makes_way_for == NO_JOB:
            nodes = job.width + more
            change_speed(machine, number, nodes, nodes / job.nodes)
            state.free -= more
