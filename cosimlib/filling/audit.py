"""Audit of filled machines: regular jobs in slots, promises, and containers on idle nodes only."""

from functools import partial

import numpy as np

from cosimlib import checks as check
from cosimlib.audit import (
    InfeasibleScheduleError,
    audit_rule,
    check_capacity,
    check_columns,
    check_times,
    demand,
    demand_column,
)
from cosimlib.filling.schedule import FilledSchedule, whole_slots
from cosimlib.kernels.steps import step_function


@audit_rule.register
def audit_filled(schedule: FilledSchedule) -> None:
    """Raise an error if a schedule with containers could not have happened.

    As of any schedule, and:

    - *Regular jobs* start where a slot begins, and none later than promised unless a job outlived
      its request meanwhile: only then is the plan made anew. Only if containers are waited for
      (policy B, ``reclaim="save"``) is a job held up by them.
    - *Containers* are on idle nodes, between the first submission and the last end, and begin and
      end with slots. Each is started once per slot under policy A, once under policy B, once per
      `save_every` slots under policy C. Killed they are under policy B with ``reclaim="kill"``, and
      under policy C before so many slots have passed; else never.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, the containers, or the time and the nodes.
    """
    check_columns(schedule, promised_time="number", held_up="truth value")
    check_times(schedule)
    _check_jobs(schedule)
    _check_containers(schedule)
    check_capacity(schedule)
    _check_slots(schedule)


def _check_jobs(schedule: FilledSchedule) -> None:
    """Raise for a job that starts inside a slot, later than promised, or waits for containers."""
    start, promised, slot = schedule.start_time, schedule.promised_time, schedule.slot
    held_up = np.array(schedule.held_up, dtype=object)
    waits = schedule.filling == "B" and schedule.reclaim == "save"
    demand = partial(demand_column, schedule)
    demand("start_time", start, start % slot == 0, f"a multiple of the slot, {slot:.15g} s")
    in_time = (start <= promised) | _plan_made_anew(schedule)
    demand("start_time", start, in_time, "its promised time or earlier: no job outlived a request")
    demand("held_up", held_up, ~schedule.held_up | waits, "False: no job waits for containers here")


def _check_slots(schedule: FilledSchedule) -> None:
    """Raise an error if containers are on nodes of a regular job before its last slot is over."""
    table, nodes = schedule.containers, schedule.workload.jobs["nodes"].to_numpy()
    times, busy = step_function(
        np.concatenate([schedule.start_time, table["start_time"]]),
        np.concatenate([schedule.slot_ends, table["end_time"]]),
        np.concatenate([nodes, table["nodes"]]),
    )
    system = schedule.system
    message = "{} nodes busy at t={:.15g}, jobs to the end of their last slots; {} has {}"
    fits = busy <= system.total_nodes
    demand(schedule, fits, message, busy, times, system.name, system.total_nodes)


def _plan_made_anew(schedule: FilledSchedule) -> np.ndarray:
    """Whether any job had outlived its request between a job's submission and its promised time."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    requested_time = schedule.workload.column("requested_time").to_numpy(np.float64)
    slots = np.maximum(whole_slots(requested_time, schedule.slot), 1)
    planned_end, end = schedule.start_time + schedule.slot * slots, schedule.slot_ends
    outlived = planned_end < end
    begun = np.searchsorted(np.sort(planned_end[outlived]), schedule.promised_time, side="right")
    return begun > np.searchsorted(np.sort(end[outlived]), submit_time, side="right")


def _check_containers(schedule: FilledSchedule) -> None:
    """Raise for containers out of place or time, or that do not run as their policy says."""
    table, slot = schedule.containers, schedule.slot
    start, end, nodes, starts = (
        table[name].to_numpy() for name in ("start_time", "end_time", "nodes", "starts")
    )
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    first = slot * whole_slots(submit_time[:1], slot).sum()
    last = schedule.slot_ends.max(initial=first)
    demand = partial(
        check.rows,
        row=lambda row: f"{schedule.policy}: row {row} of the containers",
        error=InfeasibleScheduleError,
    )
    demand(
        "nodes", nodes, (nodes > 0) & (schedule.filling is not None), "one or more, and a policy"
    )
    multiple = f"a multiple of the slot, {slot:.15g} s"
    demand("start_time", start, start % slot == 0, multiple)
    demand("end_time", end, end % slot == 0, multiple)
    demand("start_time", start, start >= first, f"t={first:.15g}, the first submission, or later")
    demand("end_time", end, end <= last, f"t={last:.15g}, the end of the last job, or earlier")
    demand("end_time", end, end > start, "an end after its start")
    length, saved = (end - start) / slot, table["saved"].to_numpy(dtype=bool)
    every = schedule.save_every or np.inf
    pieces = np.where(length < every, 1, length / every)
    demand("starts", starts, starts == pieces, f"one per {_slots(every)}, or one and a shorter run")
    killing = schedule.filling in ("B", "C") and schedule.reclaim == "kill"
    expected = "True: only policy C and policy B with reclaim='kill' kill"
    demand("saved", table["saved"].astype(object), saved | killing, expected)
    unsaved = saved | (length < every)
    expected = f"True: after {_slots(every)} a container is saved, so none is killed then"
    demand("saved", table["saved"].astype(object), unsaved, expected)


def _slots(number: float) -> str:
    """So many slots, in words."""
    if number == np.inf:
        return "container"
    return "slot" if number == 1 else f"{number:.0f} slots"
