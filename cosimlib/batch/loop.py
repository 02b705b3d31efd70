"""Discrete-event loop of a batch system: the machine between two decisions of its policy.

The loop absorbs events, at each instant all ends, then what changes of the open nodes, then all
submissions, up to an instant at which jobs wait. Waiting jobs are kept in order of submission,
between the places `FIRST` and `LAST` of tables that have room for all; running jobs in order of the
ends that they promised (ties: the lower job), at the first `SIZE` places. Both are changed where
something happens and never made anew, so that what a policy sees is a slice of them.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import capacity
from cosimlib.batch.state import Running, Waiting
from cosimlib.kernels import heap
from cosimlib.kernels.heap import HEAP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import records

SUBMITTED, FIRST, LAST, SIZE, FREE, IDLE_WAKES, MOMENT = range(7)
"""Cells of `Machine.counts`: jobs submitted, where the queue begins and ends, jobs running, open
nodes less those that jobs hold, how often in a row the policy let itself be woken on an empty
machine, and the place of now in the timetable."""

FINE, NO_SUCH_JOB, TWICE, TOO_WIDE, LATE, STARVED, RESTLESS = range(7)
"""What `step` reports: all is well, or what is wrong with the decision."""

MOST_IDLE_WAKES = 10_000
"""Wakes in a row on an empty machine with nothing to come, before a policy is said to starve."""

JOB, NODES = 0, 1
"""Rows of `Machine.queue` and `Machine.running`."""

SUBMIT, REQUEST, START, EXPECTED, COLUMNS = 0, 1, 0, 1, 2
"""Rows of `Machine.jobs` and `Machine.queue_times`; of `Machine.running_times`; further columns."""


class Timetable(NamedTuple):
    """What is known of a machine's open nodes, from each moment at which that changes.

    Parameters
    ----------
    time : np.ndarray of float64
        The moments (s), from minus infinity to infinity.
    most : np.ndarray of int64
        Nodes that jobs may hold from each moment on; beyond, jobs are killed.
    first : np.ndarray of int64
        Where in the steps that are known from each moment on begin.
    step_time, step_nodes : np.ndarray
        Times (s) and the nodes that are open from each on.
    """

    time: np.ndarray
    most: np.ndarray
    first: np.ndarray
    step_time: np.ndarray
    step_nodes: np.ndarray


class Machine(NamedTuple):
    """State of the loop: all jobs, the queue, the running jobs, their true ends, counts, the clock.

    Tables have one column per job. `jobs` holds what a policy may know of every job, `queue` and
    `queue_times` of the waiting ones, `running` and `running_times` of the running ones, `promised`
    their ``start_time + requested_time``. `ends` are rows of a heap, `heaps` its record; `clock`
    has one cell, now.
    """

    jobs: np.ndarray
    nodes: np.ndarray
    run_time: np.ndarray
    start_time: np.ndarray
    queue: np.ndarray
    queue_times: np.ndarray
    running: np.ndarray
    running_times: np.ndarray
    promised: np.ndarray
    ends: np.recarray
    heaps: np.recarray
    counts: np.ndarray
    clock: np.ndarray
    timetable: Timetable


def always_open(total_nodes: int) -> Timetable:
    """The timetable of a machine that never closes."""
    time, all_nodes = np.array([-np.inf, np.inf]), np.array([total_nodes])
    return Timetable(time, all_nodes, np.array([0, 1]), time[:1].copy(), all_nodes)


def empty(
    jobs: np.ndarray,
    nodes: np.ndarray,
    run_time: np.ndarray,
    total_nodes: int,
    timetable: Timetable | None = None,
) -> Machine:
    """A machine on which nothing runs, and all jobs are still to come."""
    n, room = nodes.size, min(nodes.size, total_nodes)
    timetable = Timetable(*map(_read_only, timetable or always_open(total_nodes)))
    counts = np.zeros(7, np.int64)
    counts[FREE] = timetable.step_nodes[0]
    return Machine(
        jobs,
        nodes,
        run_time,
        start_time=np.full(n, np.nan),
        queue=np.zeros((2, n), np.int64),
        queue_times=np.zeros((len(jobs), n)),
        running=np.zeros((2, room), np.int64),
        running_times=np.zeros((len(jobs), room)),
        promised=np.zeros(room),
        ends=records(n, heap.ROW, place=-1),
        heaps=records(1, HEAP),
        counts=counts,
        clock=np.full(1, -np.inf),
        timetable=timetable,
    )


def views(machine: Machine) -> tuple[Waiting, Running]:
    """The queue's and the running jobs' whole tables, behind views that cannot be written."""
    queue, queue_times, running, running_times = (
        _read_only(table)
        for table in (machine.queue, machine.queue_times, machine.running, machine.running_times)
    )
    return (
        Waiting(
            job=queue[JOB],
            submit_time=queue_times[SUBMIT],
            requested_time=queue_times[REQUEST],
            nodes=queue[NODES],
            columns=queue_times[COLUMNS:],
        ),
        Running(
            job=running[JOB],
            start_time=running_times[START],
            expected_end=running_times[EXPECTED],
            nodes=running[NODES],
            columns=running_times[COLUMNS:],
        ),
    )


def _read_only(table: np.ndarray) -> np.ndarray:
    """The same numbers behind a view that cannot be written."""
    view = table.view()
    view.flags.writeable = False
    return view


@kernel
def step(
    machine: Machine, positions: np.ndarray, wake: float
) -> tuple[int, int, float, int, int, int, int, int]:
    """Start the waiting jobs at these positions, then go on to the next decision.

    Returns what is wrong, and with which of the positions; then the instant of the next decision
    (infinite when nothing is left to happen), the bounds of the queue, the running jobs, the free
    nodes, the place in the timetable.
    """
    counts = machine.counts
    status, wrong = start(machine, positions)
    if status == FINE:
        status = advance(machine, wake)
    now, free = machine.clock[0], max(0, counts[FREE])
    return status, wrong, now, counts[FIRST], counts[LAST], counts[SIZE], free, counts[MOMENT]


@kernel
def start(machine: Machine, positions: np.ndarray) -> tuple[int, int]:
    """Start the waiting jobs at these positions; return what is wrong, and with which of them."""
    for index in range(positions.size):
        status = _start_at(machine, positions[index])
        if status != FINE:
            return status, index
    if positions.size > 0:
        _forget_started(machine)
    return FINE, 0


@kernel
def start_one(machine: Machine, position: int) -> int:
    """Start the waiting job at this position; return what is wrong."""
    status = _start_at(machine, position)
    _forget_started(machine)
    return status


@kernel
def _start_at(machine: Machine, position: int) -> int:
    """Let a waiting job run, its place in the queue still taken; return what is wrong."""
    counts = machine.counts
    if position < 0 or position >= counts[LAST] - counts[FIRST]:
        return NO_SUCH_JOB
    job = machine.queue[JOB, counts[FIRST] + position]
    if not np.isnan(machine.start_time[job]):
        return TWICE
    if machine.nodes[job] > counts[FREE]:
        return TOO_WIDE
    _run(machine, job)
    return FINE


@kernel
def advance(machine: Machine, wake: float) -> int:
    """Go to the next instant at which a job waits, or to infinity; return what is wrong."""
    counts, clock, ends = machine.counts, machine.clock, machine.ends
    n, changes = machine.nodes.size, machine.timetable.time
    if not wake > clock[0]:
        return LATE
    is_last = counts[SIZE] == 0 and counts[SUBMITTED] == n and changes[counts[MOMENT] + 1] == np.inf
    if is_last and counts[FIRST] < counts[LAST]:
        counts[IDLE_WAKES] += 1
        if wake == np.inf:
            return STARVED
        if counts[IDLE_WAKES] > MOST_IDLE_WAKES:
            return RESTLESS
    while True:
        now = machine.jobs[SUBMIT, counts[SUBMITTED]] if counts[SUBMITTED] < n else np.inf
        if counts[SIZE] > 0:
            now = min(now, ends[ends[0].entry].key)
        now = min(now, changes[counts[MOMENT] + 1])
        if wake <= now:
            now, wake = wake, np.inf
        clock[0] = now
        if now == np.inf:
            return FINE
        while counts[SIZE] > 0 and ends[ends[0].entry].key <= now:
            _end(machine, heap.pop(ends, machine.heaps[0]))
        if changes[counts[MOMENT] + 1] <= now:
            _change_capacity(machine, now)
        while counts[SUBMITTED] < n and machine.jobs[SUBMIT, counts[SUBMITTED]] <= now:
            _submit(machine, counts[SUBMITTED])
        if counts[FIRST] < counts[LAST]:
            _expect_overdue_ends(machine, now)
            return FINE


@kernel
def _change_capacity(machine: Machine, now: float) -> None:
    """Open and close nodes, and kill jobs until the others fit on the nodes that are open."""
    counts, table = machine.counts, machine.timetable
    before = table.step_nodes[table.first[counts[MOMENT]]]
    counts[MOMENT] += 1
    now_open = table.step_nodes[table.first[counts[MOMENT]]]
    counts[FREE] += now_open - before
    while counts[SIZE] > 0 and now_open - counts[FREE] > table.most[counts[MOMENT]]:
        _kill(machine, now)


@kernel
def _kill(machine: Machine, now: float) -> None:
    """Cut the run of a job, so that it ends now.

    First jobs that have outlived their requests, then those that started last, then higher rows.
    """
    running, start_time, chosen = machine.running[JOB], machine.running_times[START], 0
    promised = machine.promised
    for place in range(1, machine.counts[SIZE]):
        one = (promised[place] <= now, start_time[place], running[place])
        if one > (promised[chosen] <= now, start_time[chosen], running[chosen]):
            chosen = place
    job = running[chosen]
    machine.run_time[job] = capacity.cut_length(start_time[chosen], now)
    heap.remove(machine.ends, machine.heaps[0], job)
    _end(machine, job)


@kernel
def _submit(machine: Machine, job: int) -> None:
    """Queue a job."""
    place = machine.counts[LAST]
    machine.queue[JOB, place] = job
    machine.queue[NODES, place] = machine.nodes[job]
    for row in range(len(machine.jobs)):
        machine.queue_times[row, place] = machine.jobs[row, job]
    machine.counts[SUBMITTED] += 1
    machine.counts[LAST] += 1


@kernel
def _forget_started(machine: Machine) -> None:
    """Close the queue's gaps: its front moves up past jobs that started, the others move down."""
    counts, queue, start_time = machine.counts, machine.queue, machine.start_time
    while counts[FIRST] < counts[LAST] and not np.isnan(start_time[queue[JOB, counts[FIRST]]]):
        counts[FIRST] += 1
    kept = counts[FIRST]
    for place in range(counts[FIRST], counts[LAST]):
        if np.isnan(start_time[queue[JOB, place]]):
            if kept < place:
                _move(queue, machine.queue_times, place, kept)
            kept += 1
    counts[LAST] = kept


@kernel
def _run(machine: Machine, job: int) -> None:
    """Let a job run from now: its true end, and its place among the running jobs."""
    running, times, promised = machine.running, machine.running_times, machine.promised
    now, place = machine.clock[0], machine.counts[SIZE]
    machine.start_time[job] = now
    heap.push(machine.ends, machine.heaps[0], job, now + machine.run_time[job])
    promise = now + machine.jobs[REQUEST, job]
    while place > 0 and (
        promised[place - 1] > promise
        or (promised[place - 1] == promise and running[JOB, place - 1] > job)
    ):
        _move(running, times, place - 1, place)
        promised[place] = promised[place - 1]
        place -= 1
    running[JOB, place] = job
    running[NODES, place] = machine.nodes[job]
    for row in range(COLUMNS, len(machine.jobs)):
        times[row, place] = machine.jobs[row, job]
    times[START, place] = now
    times[EXPECTED, place] = promised[place] = promise
    machine.counts[SIZE] += 1
    machine.counts[FREE] -= machine.nodes[job]
    machine.counts[IDLE_WAKES] = 0


@kernel
def _end(machine: Machine, job: int) -> None:
    """Let a job end."""
    place = 0
    while machine.running[JOB, place] != job:
        place += 1
    for later in range(place + 1, machine.counts[SIZE]):
        _move(machine.running, machine.running_times, later, later - 1)
        machine.promised[later - 1] = machine.promised[later]
    machine.counts[SIZE] -= 1
    machine.counts[FREE] += machine.nodes[job]


@kernel
def _move(table: np.ndarray, times: np.ndarray, place: int, to: int) -> None:
    """Write what two tables hold at one place to another."""
    table[JOB, to] = table[JOB, place]
    table[NODES, to] = table[NODES, place]
    for row in range(len(times)):
        times[row, to] = times[row, place]


@kernel
def _expect_overdue_ends(machine: Machine, now: float) -> None:
    """Jobs that have outlived their request are expected to end now."""
    place = 0
    while place < machine.counts[SIZE] and machine.promised[place] < now:
        machine.running_times[EXPECTED, place] = now
        place += 1
