"""Audit of schedules: checks whether a schedule could have happened.

The class of a schedule chooses the rule. The rule in this file is for `Schedule`, with rigid jobs.
A room with its own class of schedules registers its own rule (``@audit_rule.register``), which uses
the checks below. Eviction plans have rules as well, in `cosimlib.eviction.rules`.

A recorded schedule of a real trace may hold more nodes than its machine has, because times in a
trace are rarely exact. `audit` then raises an error; `metrics.occupied_nodes` shows the nodes.
"""

from dataclasses import replace
from functools import singledispatch
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.kernels.steps import step_function, steps_at
from cosimlib.schedule import Schedule

Audited = TypeVar("Audited")

KINDS = {"number": "fiu", "whole number": "iu", "truth value": "b"}
"""Kinds of values and the codes of their arrays' types."""


class InfeasibleScheduleError(AssertionError):
    """A schedule that no system could have followed."""


def audit(schedule: Audited) -> Audited:
    """Check that a schedule or an eviction plan could have happened, and return it, or raise.

    No job starts before its submission. Each job ends exactly its run time after its start (rigid
    jobs without a break). No partition ever holds more nodes than it has; at equal times ends come
    before starts. A job without a partition is on the first one. If the system has only one
    partition, all jobs are on it, whatever partition the trace names.

    If the schedule has a calendar, no job starts on closed nodes. If the calendar kills jobs, no
    job holds closed nodes, except during a drain.

    Other kinds of schedules have their own rules: `coscheduling.audit`, `timesharing.audit`,
    `elastic.audit`, `filling.audit` and `ondemand.audit`. Those of an eviction plan are in
    `eviction.rules`: known actions, enough nodes, no checkpoint after the deadline, and the losses
    of its problem's table.

    Parameters
    ----------
    schedule : Schedule or EvictionPlan

    Returns
    -------
    Schedule or EvictionPlan
        The argument itself, so that you can write ``audit(simulate_easy(workload, system))``.

    Raises
    ------
    InfeasibleScheduleError
        If it could not. The message names the policy, and the job, or the time and the nodes.
    InfeasiblePlanError
        If a plan breaks a rule. The message names the solver, the deadline and the job.
    TypeError
        If the argument is neither.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> schedule = cs.Schedule.from_starts(workload, cs.System.of(4), [0, 10, 2], "by hand")
    >>> cs.audit(schedule) is schedule
    True
    >>> cs.audit(cs.Schedule.from_starts(workload, cs.System.of(4), [0, 5, 2], "by hand"))
    Traceback (most recent call last):
        ...
    cosimlib.audit.InfeasibleScheduleError: by hand: 7 nodes busy at t=5; partition 'main' has 4
    """
    audit_rule(schedule)
    return schedule


@singledispatch
def audit_rule(schedule: Any) -> None:
    """Raise an error if a schedule breaks the rule of its class; this one is that of rigid jobs."""
    expected = "a Schedule, as simulators return, or an EvictionPlan, as solvers do"
    check.instance("schedule", schedule, Schedule, expected=expected)
    check_times(schedule)
    check_capacity(schedule)
    check_calendar(schedule)


def check_columns(schedule: Schedule, **kinds: str) -> None:
    """Raise an error unless starts, ends and `kinds` columns are arrays with one value per job.

    `kinds` gives the kind of each additional column's values, a key of `KINDS`.
    """
    n = len(schedule.workload)
    for name, kind in {"start_time": "number", "end_time": "number", **kinds}.items():
        values = getattr(schedule, name)
        if not isinstance(values, np.ndarray):
            wrong = f"of type {type(values).__name__}"
        elif values.ndim != 1:
            wrong = f"an array of {values.ndim} dimensions"
        elif values.dtype.kind not in KINDS[kind]:
            wrong = f"an array of {values.dtype}"
        elif values.size != n:
            jobs = f"{count(n, 'job')} of {schedule.workload.name}"
            wrong = f"{count(values.size, kind)} for the {jobs}"
        else:
            continue
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {name} is {wrong}; expected an array of one {kind} per job"
        )


def demand(schedule: Schedule, fine: ArrayLike, message: str, *columns: ArrayLike) -> None:
    """Raise an error for the first row in which something is not `fine`.

    The row's values of the columns take the place of the braces in the message.
    """
    wrong = ~np.asarray(fine, dtype=bool)
    if wrong.any():
        row = int(wrong.argmax())
        values = [np.broadcast_to(column, wrong.shape)[row] for column in columns]
        raise InfeasibleScheduleError(f"{schedule.policy}: {message.format(*values)}")


def demand_of_jobs(
    schedule: Schedule,
    fine: ArrayLike,
    message: str,
    *columns: ArrayLike,
    job: ArrayLike | None = None,
) -> None:
    """As `demand`, of jobs: the error names the `job` of the row, by default that of its number."""
    wrong = ~np.asarray(fine, dtype=bool)
    if wrong.any():
        named = _label(schedule, int(wrong.argmax()), job)
        demand(schedule, fine, "{} " + message, named, *columns)


def demand_column(
    schedule: Schedule,
    name: str,
    values: ArrayLike,
    fine: ArrayLike,
    expected: str,
    *,
    job: ArrayLike | None = None,
) -> None:
    """As `demand_of_jobs`, of a column: the error has its name, its value and what is expected."""
    check.rows(
        name,
        values,
        fine,
        expected,
        row=lambda row: f"{schedule.policy}: {_label(schedule, row, job)}",
        error=InfeasibleScheduleError,
    )


def _label(schedule: Schedule, row: int, job: ArrayLike | None) -> str:
    return schedule.workload.label(row if job is None else int(np.asarray(job)[row]))


def check_times(schedule: Schedule) -> None:
    """Raise an error for the first job that starts early or does not run as long as it should."""
    jobs = schedule.workload.jobs
    check_columns(schedule)
    submit_time, run_time = jobs["submit_time"].to_numpy(), jobs["run_time"].to_numpy()
    start_time, end_time = schedule.start_time, schedule.end_time
    message = "has no start (NaN); expected a start at its submission, t={:.15g}, or later"
    demand_of_jobs(schedule, ~np.isnan(start_time), message, submit_time)
    in_time = (start_time >= submit_time) & (start_time < np.inf)
    message = "starts at t={:.15g}; it was submitted at t={:.15g}"
    demand_of_jobs(schedule, in_time, message, start_time, submit_time)
    message = "starts at t={:.15g} and ends at t={:.15g}; it runs {:.15g} s"
    fine = end_time == start_time + run_time
    demand_of_jobs(schedule, fine, message, start_time, end_time, run_time)


def check_capacity(schedule: Schedule) -> None:
    """Raise an error if the allocations of a partition's jobs ever hold more nodes than it has."""
    partitions = schedule.system.partitions
    number = schedule.partition_number
    known = number >= 0
    if not known.all():
        message = "is on partition {!r}; the system has {}"
        demand_of_jobs(schedule, known, message, schedule.partition, ", ".join(partitions))
    jobs = schedule.allocations["job"].to_numpy()
    for place, (name, capacity) in enumerate(partitions.items()):
        # What no job holds, job -1, is on the first partition.
        here = np.append(number == place, place == 0)
        _check_partition(schedule, name, capacity, here[:-1], here[jobs])


def check_calendar(schedule: Schedule, later_starts: np.ndarray | None = None) -> None:
    """Raise an error if a job starts on nodes that the calendar closes, or holds them too long.

    `later_starts` are times at which evicted jobs start again, or nodes are held for a job.
    """
    calendar = schedule.calendar
    if not len(calendar):
        return
    kills = (calendar.windows["kind"] != "drain") & (calendar.on_overrun == "kill")
    enforced = replace(calendar, windows=calendar.windows[kills])
    start_time, table = schedule.start_time, schedule.allocations
    times, busy = step_function(*(table[name].to_numpy() for name in ("start", "end", "nodes")))
    # Jobs of no length hold nothing, and yet they start.
    wanted = schedule.workload.jobs["nodes"].to_numpy()
    at_start = np.maximum(steps_at(times, busy, start_time), wanted)
    if later_starts is not None:
        start_time = np.append(start_time, later_starts)
        at_start = np.append(at_start, steps_at(times, busy, later_starts))
    changes = np.union1d(times, enforced.capacity(schedule.total_nodes).index[1:])
    for moments, held, windows, verb in (
        (start_time, at_start, calendar, "held where a job starts"),
        (changes, steps_at(times, busy, changes), enforced, "busy"),
    ):
        opened = windows.capacity(schedule.total_nodes)
        room = steps_at(opened.index.to_numpy(), opened.to_numpy(), moments)
        over = held > room
        if over.any():
            first = int(over.argmax())
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {count(int(held[first]), 'node')} {verb} at "
                f"t={moments[first]:.15g}; the calendar leaves {int(room[first])} open"
            )


def _check_partition(
    schedule: Schedule, name: str, capacity: int, jobs: np.ndarray, rows: np.ndarray
) -> None:
    """Raise for a job wider than the partition, and for the first instant that overfills it."""
    wanted = schedule.workload.jobs["nodes"].to_numpy()
    wide = jobs & (wanted > capacity)
    if wide.any():
        job = int(wide.argmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(job)} holds "
            f"{count(int(wanted[job]), 'node')}; partition {name!r} has {capacity}"
        )
    check_held(schedule, rows, capacity, f"partition {name!r}")


def check_held(schedule: Schedule, rows: np.ndarray, capacity: int, where: str) -> None:
    """Raise an error if the allocations in `rows` ever hold more than `capacity` nodes together."""
    table = schedule.allocations[rows]
    start, end, nodes = (table[column].to_numpy() for column in ("start", "end", "nodes"))
    times, busy = step_function(start, end, nodes)
    over = busy > capacity
    if over.any():
        first = int(over.argmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {count(int(busy[first]), 'node')} busy at t={times[first]:.15g}; "
            f"{where} has {capacity}"
        )
