"""Event loop of a batch system under your own policy: the machine between two decisions.

`step` starts the jobs that the policy chose, and goes on to the next instant at which the policy is
asked. Until then it absorbs events, at each instant all ends, then what changes of the open nodes,
then all submissions. The machine is that of `batch.machine`.

What a policy sees are slices of tables. Waiting jobs are in order of submission, between the places
`first` and `last` of a table that has room for all jobs. Running jobs are in order of the ends that
they promised (ties: the lower job), at the first places of theirs. The tables are changed where
something happens and never made anew.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import machine as machines
from cosimlib.batch import queue
from cosimlib.batch.machine import STATE_FLOATS, STATE_INTEGERS, Machine
from cosimlib.batch.orders import Prepared
from cosimlib.batch.state import Running, Waiting
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type

FINE, NO_SUCH_JOB, TWICE, TOO_WIDE, LATE, STARVED, RESTLESS = range(7)
"""What `step` reports: all is well, or what is wrong with the decision."""

MOST_IDLE_WAKES = 10_000
"""Wakes in a row on an empty machine with nothing to come, before a policy is said to starve."""

JOB = record_type(floats=queue.FLOATS, integers=queue.INTEGERS)

STATE = record_type(floats=STATE_FLOATS, integers=f"{STATE_INTEGERS} first last idle_wakes moment")
"""State of the loop: where the queue begins and ends in its table; how often in a row the policy
let itself be woken on an empty machine; the place of now in the timetable."""


class Timetable(NamedTuple):
    """What is known of a machine's open nodes, from each moment at which that changes.

    Parameters
    ----------
    time : np.ndarray of float64
        The moments (s), from minus infinity to infinity.
    first : np.ndarray of int64
        Where in the steps those that are known from each moment on begin.
    step_time, step_nodes : np.ndarray
        Times (s) and the nodes that are open from each on.
    """

    time: np.ndarray
    first: np.ndarray
    step_time: np.ndarray
    step_nodes: np.ndarray


class Tables(NamedTuple):
    """What a policy is shown of the waiting and of the running jobs, one value per place.

    `known` has what the policy may see of each job of the workload, one row per further column; the
    columns of the waiting and of the running jobs are copied from it.
    """

    known: np.ndarray
    waiting: Waiting
    running: Running
    timetable: Timetable


def always_open(total_nodes: int) -> Timetable:
    """The timetable of a machine that never closes."""
    time, all_nodes = np.array([-np.inf, np.inf]), np.array([total_nodes])
    return Timetable(time, np.array([0, 1]), time[:1].copy(), all_nodes)


def machine_of(run: Prepared) -> Machine:
    """An empty machine to which all jobs are still to come; unknown requests are infinite."""
    machine = machines.machine_of(run, JOB, STATE, now=-np.inf)
    unknown = np.isnan(run.jobs.requested_time)
    machine.jobs.requested_time[unknown] = np.inf
    return machine


def tables_of(known: np.ndarray, total_nodes: int, timetable: Timetable) -> Tables:
    """Empty tables with room for all jobs; `known` has a row per column and a column per job."""
    columns, n = known.shape
    most = min(n, total_nodes)
    return Tables(
        known,
        Waiting(
            job=np.empty(n, np.int64),
            submit_time=np.empty(n),
            requested_time=np.empty(n),
            nodes=np.empty(n, np.int64),
            columns=np.empty((columns, n)),
        ),
        Running(
            job=np.empty(most, np.int64),
            start_time=np.empty(most),
            expected_end=np.empty(most),
            nodes=np.empty(most, np.int64),
            columns=np.empty((columns, most)),
        ),
        Timetable(*map(_read_only, timetable)),
    )


def views(tables: Tables) -> tuple[Waiting, Running]:
    """The tables of waiting and of running jobs, behind views that cannot be written."""
    return Waiting(*map(_read_only, tables.waiting)), Running(*map(_read_only, tables.running))


def _read_only(table: np.ndarray) -> np.ndarray:
    """The same numbers behind a view that cannot be written."""
    view = table.view()
    view.flags.writeable = False
    return view


@kernel
def step(
    machine: Machine, tables: Tables, positions: np.ndarray, wake: float
) -> tuple[int, int, float, int, int, int, int, int]:
    """Start the waiting jobs at these positions, then go on to the next decision.

    Returns what is wrong, and with which of the positions; then the instant of the next decision
    (infinite when nothing is left to happen), the bounds of the queue, the number of running jobs,
    the free nodes, the place in the timetable.
    """
    jobs, ends, expected, edges, state = machine
    status, wrong = start(jobs, ends, expected, state, tables, positions)
    if status == FINE:
        status = advance(jobs, ends, expected, edges, state, tables, wake)
    free = max(0, state.free)
    return status, wrong, state.now, state.first, state.last, state.running, free, state.moment


@kernel
def start(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    state: np.record,
    tables: Tables,
    positions: np.ndarray,
) -> tuple[int, int]:
    """Start the waiting jobs at these positions; return what is wrong, and with which of them."""
    for index in range(positions.size):
        position = positions[index]
        if position < 0 or position >= state.last - state.first:
            return NO_SUCH_JOB, index
        number = tables.waiting.job[state.first + position]
        if not np.isnan(jobs[number].start_time):
            return TWICE, index
        if jobs[number].nodes > state.free:
            return TOO_WIDE, index
        _show_running(jobs, state, tables, number)
        machines.begin(jobs, ends, expected, state, number)
        state.idle_wakes = 0
    if positions.size > 0:
        _hide_started(jobs, state, tables.waiting)
    return FINE, 0


@kernel
def advance(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray | None,
    state: np.record,
    tables: Tables,
    wake: float,
) -> int:
    """Go to the next instant at which a job waits, or to infinity; return what is wrong.

    A wake counts once: it is forgotten at its instant, whether jobs wait then or not.
    """
    if not wake > state.now:
        return LATE
    status = _starvation(jobs, state, wake)
    while status == FINE:
        event = machines.next_event(jobs, ends, state)
        if wake <= event:
            event, wake = wake, np.inf
        state.now = event
        if event == np.inf:
            break
        running = state.running
        while machines.ends_by_now(ends, state):
            machines.end(jobs, ends, expected, state, state.running)
        if edges is not None and state.next_edge <= state.now:
            machines.pass_edges(jobs, ends, expected, edges, state)
        if state.running < running:
            _hide_ended(jobs, state, tables.running, running)
        while state.submitted < jobs.size and jobs[state.submitted].submit_time <= state.now:
            _show_waiting(jobs, state, tables, state.submitted)
            state.submitted += 1
        if state.first < state.last:
            break
    if edges is not None:
        while tables.timetable.time[state.moment + 1] <= state.now < np.inf:
            state.moment += 1
    _expect_overdue_ends(jobs, state, tables.running)
    return status


@kernel
def _starvation(jobs: np.recarray, state: np.record, wake: float) -> int:
    """What is wrong if jobs wait on an empty machine to which nothing is to come."""
    is_last = state.running == 0 and state.submitted == jobs.size and state.next_edge == np.inf
    if is_last and state.first < state.last:
        state.idle_wakes += 1
        if wake == np.inf:
            return STARVED
        if state.idle_wakes > MOST_IDLE_WAKES:
            return RESTLESS
    return FINE


@kernel
def _show_waiting(jobs: np.recarray, state: np.record, tables: Tables, number: int) -> None:
    """Show a job that is submitted at the end of the queue."""
    waiting, job = tables.waiting, jobs[number]
    waiting.job[state.last] = number
    waiting.submit_time[state.last] = job.submit_time
    waiting.requested_time[state.last] = job.requested_time
    waiting.nodes[state.last] = job.nodes
    for row in range(len(tables.known)):
        waiting.columns[row, state.last] = tables.known[row, number]
    state.last += 1


@kernel
def _hide_started(jobs: np.recarray, state: np.record, waiting: Waiting) -> None:
    """Close the queue's gaps: its front moves up past jobs that started, the others move down."""
    while state.first < state.last and _has_started(jobs, waiting.job[state.first]):
        state.first += 1
    kept = state.first
    for place in range(state.first, state.last):
        if _has_started(jobs, waiting.job[place]):
            continue
        if kept < place:
            waiting.job[kept] = waiting.job[place]
            waiting.submit_time[kept] = waiting.submit_time[place]
            waiting.requested_time[kept] = waiting.requested_time[place]
            waiting.nodes[kept] = waiting.nodes[place]
            for row in range(len(waiting.columns)):
                waiting.columns[row, kept] = waiting.columns[row, place]
        kept += 1
    state.last = kept


@kernel
def _has_started(jobs: np.recarray, number: int) -> bool:
    """Whether a job has started."""
    return not np.isnan(jobs[number].start_time)


@kernel
def _show_running(jobs: np.recarray, state: np.record, tables: Tables, number: int) -> None:
    """Show a job that starts now among the running ones, by the end that it promises."""
    running, job, place = tables.running, jobs[number], state.running
    promise = state.now + job.requested_time
    while place > 0 and _promises_later(jobs, running.job[place - 1], promise, number):
        _move_running(running, place - 1, place)
        place -= 1
    running.job[place] = number
    running.start_time[place] = state.now
    running.expected_end[place] = promise
    running.nodes[place] = job.nodes
    for row in range(len(tables.known)):
        running.columns[row, place] = tables.known[row, number]


@kernel
def _promises_later(jobs: np.recarray, other: int, promise: float, number: int) -> bool:
    """Whether another running job promised a later end than a job, or the same and is higher."""
    others = jobs[other].start_time + jobs[other].requested_time
    return others > promise or (others == promise and other > number)


@kernel
def _hide_ended(jobs: np.recarray, state: np.record, running: Running, shown: int) -> None:
    """Close the gaps of jobs that have ended among those shown as running."""
    kept = 0
    for place in range(shown):
        job = jobs[running.job[place]]
        if job.start_time + job.run_time > state.now:
            if kept < place:
                _move_running(running, place, kept)
            kept += 1


@kernel
def _move_running(running: Running, place: int, to: int) -> None:
    """Show the running job of one place at another."""
    running.job[to] = running.job[place]
    running.start_time[to] = running.start_time[place]
    running.expected_end[to] = running.expected_end[place]
    running.nodes[to] = running.nodes[place]
    for row in range(len(running.columns)):
        running.columns[row, to] = running.columns[row, place]


@kernel
def _expect_overdue_ends(jobs: np.recarray, state: np.record, running: Running) -> None:
    """Jobs that have outlived their request are expected to end now."""
    for place in range(state.running):
        job = jobs[running.job[place]]
        if job.start_time + job.requested_time >= state.now:
            return
        running.expected_end[place] = state.now
