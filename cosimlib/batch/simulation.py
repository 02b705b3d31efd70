"""Event-driven simulation of one machine under your own policy.

Jobs are rigid, and the system has one partition. Things happen when a job ends, when a job is
submitted, and at times for which the policy asked. At each such instant all ends and then all
submissions are processed. If jobs wait then, the policy is called, once; without waiting jobs it is
not called. If a job with a run time of zero starts, it ends at the same instant, which then comes
again.

With a calendar the policy is also called when nodes close or open, and when a window becomes known,
after the ends of that instant and before its submissions. `State.capacity` gives the open nodes of
the future, as far as windows are known. Only jobs that fit on the nodes that are open now can
start. The policy itself must keep jobs from running into a window; jobs that do so are waited for
or killed (`cosimlib.calendar`).
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pandas as pd
from numba.core.errors import TypingError
from numba.extending import is_jitted

from cosimlib import checks as check
from cosimlib.batch import loop
from cosimlib.batch.decisions import NO_STARTS, InvalidDecisionError, decision
from cosimlib.batch.loop import Tables, Timetable
from cosimlib.batch.machine import Machine
from cosimlib.batch.orders import Prepared, check_known, schedule_of, seen
from cosimlib.batch.queue import SUBMITTED
from cosimlib.batch.state import Capacity, Running, State, Waiting
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.display import count
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

Policy = Callable[[State], Any]


def simulate(
    workload: Workload,
    system: System,
    policy: Policy,
    *,
    columns: Sequence[str] = (),
    name: str | None = None,
    calendar: Calendar = ALWAYS_OPEN,
) -> Schedule:
    """Simulate a batch system under your own policy, a function of the state.

    Parameters
    ----------
    workload : Workload
    system : System
        One partition.
    policy : function of a State
        Called once per instant at which jobs wait. It returns the positions in `state.waiting` of
        the jobs that start now (0 is the job submitted first, ``[]`` starts none). Or it returns a
        tuple: these positions, and a time at which it wants to be called again if nothing happens
        before; the last such time counts. A function compiled by Numba (``numba.njit``) is called
        from a compiled loop, ten times as fast. It may return a list or an array of whole numbers,
        or a tuple of that and a number, but always the same type. Compiling the loop takes a few
        seconds in every process, because Numba cannot cache it on disk.
    columns : sequence of str, optional
        Other columns of the workload that the policy may see: ``state.waiting.columns[0]`` is the
        first of them. Numbers stay as they are. Texts become whole numbers; equal texts get equal
        numbers, missing texts −1.
    name : str, optional
        Name of the policy in tables and figures; by default the function's name.
    calendar : Calendar, optional
        When nodes are closed. Runs that a window cuts are cut in the schedule's workload.

    Returns
    -------
    Schedule

    Raises
    ------
    InvalidDecisionError
        If the policy starts a job that does not wait or does not fit, starts a job twice, asks for
        a call now or earlier, or lets jobs wait for ever on an empty machine. The message names the
        policy, the instant and the job.
    InvalidWorkloadError
        If a job is wider than the system, the system has several partitions, or a column is
        missing or known only after a job has ended.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> def widest(state):
    ...     fitting = [p for p, n in enumerate(state.waiting.nodes) if n <= state.free_nodes]
    ...     return fitting[:1]
    >>> cs.audit(cs.simulate(workload, cs.System.of(4), widest)).start_time
    array([ 0., 10.,  2.])
    """
    check_run(workload, system)
    check.that("policy", policy, callable(policy), "a function of a State")
    check.that("columns", columns, not isinstance(columns, str), "a list of names")
    check.instance("calendar", calendar, Calendar)
    name = name or function_name(policy)
    run = prepared(workload, system, calendar)
    timetable = timetable_of(calendar, system.total_nodes)
    tables = loop.tables_of(known_columns(workload, columns), system.total_nodes, timetable)
    machine = loop.machine_of(run)
    decide = _compiled_run() if is_jitted(policy) else _run
    try:
        shown = loop.views(tables)
        status, position, wake = decide(policy, machine, tables, *shown, run.total_nodes)
    except InvalidDecisionError as error:
        raise InvalidDecisionError(f"{_where(name, machine)} {error}") from None
    except TypingError as error:
        raise TypingError(
            f"Numba cannot compile the policy {name!r}; without numba.njit, Python names what is "
            f"wrong in a line. Numba says:\n{error}"
        ) from None
    except Exception as error:
        if machine.state.now > -np.inf:
            error.add_note(f"raised by {_where(name, machine)}")
        raise
    if status != loop.FINE:
        wrong = _wrong(workload, machine, tables, status, position, wake)
        raise InvalidDecisionError(f"{_where(name, machine)} {wrong}")
    jobs = machine.jobs
    return schedule_of(run, jobs.start_time.copy(), jobs.run_time.copy(), name, "submit")


def prepared(workload: Workload, system: System, calendar: Calendar = ALWAYS_OPEN) -> Prepared:
    """A run in which jobs have no rank of ours, and requested times may be unknown."""
    jobs = workload.arrays(system, requested_time=False, copy=False)
    return Prepared(workload, jobs, np.zeros(len(workload)), SUBMITTED, system, calendar)


def _run(
    policy: Policy,
    machine: Machine,
    tables: Tables,
    waiting: Waiting,
    running: Running,
    total_nodes: int,
) -> tuple[int, int, float]:
    """Ask and obey until nothing is left to happen, or something is wrong: what, and with what.

    `waiting` and `running` are views of the tables that a policy cannot write.
    """
    positions, wake, table = NO_STARTS, np.inf, tables.timetable
    while True:
        status, wrong, now, first, last, size, free, moment = loop.step(
            machine, tables, positions, wake
        )
        if status != loop.FINE or now == np.inf:
            return status, positions[wrong] if wrong < positions.size else -1, wake
        state = State(
            now,
            free,
            total_nodes,
            Waiting(
                waiting.job[first:last],
                waiting.submit_time[first:last],
                waiting.requested_time[first:last],
                waiting.nodes[first:last],
                waiting.columns[:, first:last],
            ),
            Running(
                running.job[:size],
                running.start_time[:size],
                running.expected_end[:size],
                running.nodes[:size],
                running.columns[:, :size],
            ),
            Capacity(
                table.step_time[table.first[moment] : table.first[moment + 1]],
                table.step_nodes[table.first[moment] : table.first[moment + 1]],
            ),
        )
        positions, wake = decision(policy(state))


@functools.cache
def _compiled_run() -> Callable[..., tuple[int, int, float]]:
    """The same loop for policies that Numba compiled."""
    return numba.njit(nogil=True)(_run)


def function_name(policy: Callable) -> str:
    """The name of a function, or of the class of what is called like one."""
    while isinstance(policy, functools.partial):
        policy = policy.func
    return getattr(policy, "__name__", type(policy).__name__)


def known_columns(workload: Workload, columns: Sequence[str]) -> np.ndarray:
    """Columns that a policy asked to see, one row each, with one number per job."""
    shown = [_numbers(workload, column) for column in columns]
    return np.array(shown).reshape(len(shown), len(workload))


def timetable_of(calendar: Calendar, total_nodes: int) -> Timetable:
    """What is known of the open nodes, from each moment at which that changes."""
    if not len(calendar):
        return loop.always_open(total_nodes)
    windows = calendar.on_machine(total_nodes)
    moments = np.unique([-np.inf, *windows[["start", "end", "known_from"]].to_numpy().ravel()])
    steps = []
    for moment in moments:
        known = windows[(windows["known_from"] <= moment) & (windows["end"] > moment)]
        opened = replace(calendar, windows=known).capacity(total_nodes)
        steps.append(opened.iloc[opened.index.searchsorted(moment, "right") - 1 :])
    return Timetable(
        np.append(moments, np.inf),
        np.cumsum([0, *map(len, steps)]),
        np.concatenate([step.index.to_numpy() for step in steps]),
        np.concatenate([step.to_numpy() for step in steps]),
    )


def _numbers(workload: Workload, column: str) -> np.ndarray:
    """A column that a scheduler may know, as numbers."""
    check_known(workload, column)
    if column not in workload.jobs:
        raise InvalidWorkloadError(
            f"{workload.name}: no column {column!r}; expected one of {', '.join(seen(workload))}"
        )
    values = workload.jobs[column]
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.factorize(values)[0].astype(np.float64)


def _where(name: str, machine: Machine) -> str:
    """Policy and instant, as errors begin."""
    return f"{name} at t={machine.state.now:.15g}"


def _wrong(
    workload: Workload, machine: Machine, tables: Tables, status: int, position: int, wake: float
) -> str:
    """What a policy did that it cannot do, and what was expected."""
    state, queue = machine.state, tables.waiting.job
    first, others, free = int(state.first), int(state.last - state.first) - 1, max(0, state.free)
    if status == loop.NO_SUCH_JOB:
        return f"starts position {position}; expected 0 to {others}, one per waiting job"
    if status in (loop.TWICE, loop.TOO_WIDE):
        job = int(queue[first + position])
        what = f"starts {workload.label(job)} (position {position})"
        if status == loop.TWICE:
            return f"{what} twice; expected every position once"
        wanted = count(int(machine.jobs.nodes[job]), "node")
        return f"{what}, which needs {wanted}; {free} {'is' if free == 1 else 'are'} free then"
    if status == loop.LATE:
        return f"asks to be called at t={wake:.15g}; expected a later time, or infinity for none"
    head = workload.label(int(queue[first]))
    waiting = f"{head} waits, and {others} more" if others else f"{head} waits"
    if status == loop.STARVED:
        return (
            "starts no job on an empty machine, asks for no later call, and no event will follow: "
            f"{waiting}; expected a start"
        )
    return (
        f"was called {loop.MOST_IDLE_WAKES:,} times in a row on an empty machine, started no job, "
        f"and no event will follow: {waiting}; expected a start"
    )
