"""Could a schedule have happened? Raises where it could not.

Recorded schedules of real traces may overrun their machine, for trace and machine rarely agree to
the node and to the second. `audit` raises there, rightly; `metrics.occupied_nodes` shows it.
"""

from typing import TypeVar

import numpy as np
import pandas as pd

from cosimlib.kernels.compiling import kernel
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import CoupledSchedule, Schedule, TimesharedSchedule

AnySchedule = TypeVar("AnySchedule", bound=Schedule)


class InfeasibleScheduleError(AssertionError):
    """A simulator made a schedule that no system could have followed."""


def audit(schedule: AnySchedule) -> AnySchedule:
    """The schedule itself, once it is shown that it could have happened.

    Nobody starts before its submission, everybody ends exactly its run time after its start
    (rigid jobs without a break), and no partition ever holds more nodes than it has. At equal
    times ends come before starts. A job that names no partition is on the system's first; where the
    system has but one, all jobs are on it, whatever partition of its own machine a trace names.

    Of a `CoupledSchedule` also: nodes that are held idle count as busy, a job holds between its
    submission and its start and never longer than a release allows, and all jobs of a group start
    at one instant, or else the machine of the later one was down when the earlier one started.

    Of a `TimesharedSchedule`: nobody starts early or is done sooner than alone on its nodes, each
    job is on as many different nodes as it asks for, no node's memory is exceeded, and the useful
    work of the series adds up to that of the jobs.

    Parameters
    ----------
    schedule : Schedule

    Returns
    -------
    Schedule
        Its argument, so that ``audit(simulate_easy(workload, system))`` is an expression.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, or the time and the nodes.
    """
    if isinstance(schedule, TimesharedSchedule):
        _check_sharing(schedule)
        return schedule
    _check_times(schedule)
    if isinstance(schedule, CoupledSchedule):
        _check_holds(schedule)
        _check_groups(schedule)
    first = next(iter(schedule.system.partitions))
    partition = schedule.workload.column("partition").fillna(first)
    if len(schedule.system.partitions) == 1:
        partition = partition.mask(partition != first, first)
    unknown = ~partition.isin(list(schedule.system.partitions))
    if unknown.any():
        job = int(unknown.idxmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(job)} is on partition "
            f"{partition[job]!r}; the system has {', '.join(schedule.system.partitions)}"
        )
    for name, capacity in schedule.system.partitions.items():
        _check_partition(schedule, name, capacity, (partition == name).to_numpy(dtype=bool))
    return schedule


def _check_times(schedule: Schedule) -> None:
    """Raise for the first job that starts early or does not run as long as it should."""
    jobs = schedule.workload.jobs
    for given, times in (("starts", schedule.start_time), ("ends", schedule.end_time)):
        if len(times) != len(jobs):
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {len(times)} {given} for the {len(jobs)} jobs "
                f"of {schedule.workload.name}"
            )
    submit_time, run_time = jobs["submit_time"].to_numpy(), jobs["run_time"].to_numpy()
    start_time, end_time = schedule.start_time, schedule.end_time
    # Negated, so that a job that was never started, NaN, is caught too.
    early = ~((start_time >= submit_time) & (start_time < np.inf))
    if early.any():
        job = int(early.argmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(job)} starts at "
            f"t={start_time[job]:.15g}; it was submitted at t={submit_time[job]:.15g}"
        )
    odd = end_time != start_time + run_time
    if odd.any():
        job = int(odd.argmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(job)} starts at "
            f"t={start_time[job]:.15g} and ends at t={end_time[job]:.15g}; "
            f"it runs {run_time[job]:.15g} s"
        )


def _check_partition(schedule: Schedule, name: str, capacity: int, here: np.ndarray) -> None:
    """Raise for a job wider than the partition, and for the first instant that overfills it."""
    nodes = schedule.workload.jobs["nodes"].to_numpy()[here]
    if (nodes > capacity).any():
        job = int(np.flatnonzero(here)[(nodes > capacity).argmax()])
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(job)} holds "
            f"{schedule.workload.jobs['nodes'][job]} nodes; partition {name!r} has {capacity}"
        )
    starts, ends = schedule.start_time[here], schedule.end_time[here]
    if isinstance(schedule, CoupledSchedule):
        holds = schedule.holds[here[schedule.holds["job"].to_numpy()]]
        starts = np.concatenate([starts, holds["start"].to_numpy()])
        ends = np.concatenate([ends, holds["end"].to_numpy()])
        held = schedule.workload.jobs["nodes"].to_numpy()[holds["job"].to_numpy()]
        nodes = np.concatenate([nodes, held])
    times, busy = step_function(starts, ends, nodes)
    over = busy > capacity
    if over.any():
        first = int(over.argmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {busy[first]} nodes busy at t={times[first]:.15g}; "
            f"partition {name!r} has {capacity}"
        )


def _check_holds(schedule: CoupledSchedule) -> None:
    """Raise for the first stretch of holding that is too early, too late or too long."""
    holds = schedule.holds
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()[holds["job"].to_numpy()]
    start_time = schedule.start_time[holds["job"].to_numpy()]
    begin, end = holds["start"].to_numpy(), holds["end"].to_numpy()
    allowed = (submit_time <= begin) & (begin < end) & (end <= start_time)
    wrong = ~(allowed & (end - begin <= schedule.longest_hold))
    if wrong.any():
        stretch = int(wrong.argmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: {schedule.workload.label(holds['job'][stretch])} holds from "
            f"t={begin[stretch]:.15g} to t={end[stretch]:.15g}; it was submitted at "
            f"t={submit_time[stretch]:.15g}, starts at t={start_time[stretch]:.15g} and may hold "
            f"for {schedule.longest_hold:.15g} s"
        )


def _check_groups(schedule: CoupledSchedule) -> None:
    """Raise for the first job that starts after a mate that could have known of it."""
    grouped = np.flatnonzero(schedule.group >= 0)
    table = pd.DataFrame(
        {
            "group": schedule.group[grouped],
            "start": schedule.start_time[grouped],
            "partition": schedule.partition.to_numpy()[grouped],
        },
        index=grouped,
    )
    first = table.groupby("group")["start"].transform("min")
    for job in table.index[table["start"] != first]:
        heard = not any(
            partition == table["partition"][job] and begin <= first[job] < end
            for partition, begin, end in schedule.outages
        )
        if heard:
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {schedule.workload.label(job)} starts at "
                f"t={table['start'][job]:.15g}, a mate of it at t={first[job]:.15g}; mates start "
                "at one instant"
            )


def _check_sharing(schedule: TimesharedSchedule) -> None:
    """Raise for the first job, node or sum that no sharing of nodes can have led to."""
    jobs = schedule.workload.jobs
    submit_time, run_time = jobs["submit_time"].to_numpy(), jobs["run_time"].to_numpy()
    nodes, duration = jobs["nodes"].to_numpy(), schedule.end_time - schedule.start_time
    sizes = np.diff(schedule.first)
    rules = (
        ("starts before its submission", schedule.start_time >= submit_time),
        ("never ends", schedule.end_time < np.inf),
        ("is done sooner than alone", duration * schedule.speed >= run_time * (1 - 1e-9) - 1e-6),
        ("is not on as many nodes as it asks for", sizes == nodes),
        ("is on a node twice", _distinct(schedule.first, schedule.members)),
    )
    for wrong, fine in rules:
        if not fine.all():
            job = int(np.argmin(fine))
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {schedule.workload.label(job)} {wrong}: submitted at "
                f"t={submit_time[job]:.15g}, from t={schedule.start_time[job]:.15g} to "
                f"t={schedule.end_time[job]:.15g}, {run_time[job]:.15g} s alone, "
                f"{nodes[job]} nodes, placed on {schedule.nodes_of(job).tolist()}"
            )
    _check_memory(schedule)
    series = schedule.series
    width = series.index[1] - series.index[0] if len(series) > 1 else 3_600.0
    done = float(series["utilization"].sum()) * width * schedule.system.total_nodes
    asked = float(run_time @ nodes)
    # In steps a job may be given more than it needs, in its last step only.
    if len(series) > 1 and not asked * (1 - 1e-6) <= done:
        raise InfeasibleScheduleError(
            f"{schedule.policy}: the jobs of {schedule.workload.name} need {asked:.15g} "
            f"node-seconds; the series adds up to {done:.15g}"
        )


def _check_memory(schedule: TimesharedSchedule) -> None:
    """Raise for the first node that holds more than its memory."""
    memory = schedule.workload.column("memory").fillna(0.0).to_numpy(np.float64).copy()
    present = np.flatnonzero((memory > 0) & (schedule.end_time > schedule.start_time))
    if not present.size or not schedule.system.memory_per_node < np.inf:
        return
    times = np.concatenate([schedule.end_time[present], schedule.start_time[present]])
    events = np.argsort(times, kind="stable")
    event, node = _first_overfull(
        schedule.first,
        schedule.members,
        memory,
        present,
        events,
        np.full(schedule.system.total_nodes, schedule.system.memory_per_node),
    )
    if event >= 0:
        raise InfeasibleScheduleError(
            f"{schedule.policy}: node {node} holds more than its "
            f"{schedule.system.memory_per_node:g} GB at t={times[events[event]]:.15g}, when "
            f"{schedule.workload.label(int(present[events[event] - present.size]))} starts"
        )


@kernel
def _distinct(first: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Whether each job's nodes are all different."""
    fine = np.ones(first.size - 1, np.bool_)
    seen = np.full(members.max() + 1 if members.size else 0, -1, np.int64)
    for job in range(fine.size):
        for place in range(first[job], first[job + 1]):
            fine[job] &= seen[members[place]] != job
            seen[members[place]] = job
    return fine


@kernel
def _first_overfull(
    first: np.ndarray,
    members: np.ndarray,
    memory: np.ndarray,
    present: np.ndarray,
    events: np.ndarray,
    free: np.ndarray,
) -> tuple[int, int]:
    """The first event, and the node, at which more memory is taken than is free; −1 if none."""
    for event in range(events.size):
        ends = events[event] < present.size
        job = present[events[event] % present.size]
        for place in range(first[job], first[job + 1]):
            free[members[place]] += memory[job] if ends else -memory[job]
            if free[members[place]] < -1e-6:
                return event, members[place]
    return -1, -1
