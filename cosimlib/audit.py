"""Could a schedule have happened? Raises where it could not.

Recorded schedules of real traces may overrun their machine, for trace and machine rarely agree to
the node and to the second. `audit` raises there, rightly; `metrics.occupied_nodes` shows it.

What an audit raises, and what it demands of every schedule.
"""

from typing import TypeVar

import numpy as np
import pandas as pd

from cosimlib.kernels.steps import step_function
from cosimlib.schedule import CoupledSchedule, Schedule, TimesharedSchedule
from cosimlib.timesharing.audit import check_sharing


class InfeasibleScheduleError(AssertionError):
    """A simulator made a schedule that no system could have followed."""


def check_lengths(schedule: Schedule) -> None:
    """Raise where there is not one start and one end a job."""
    n = len(schedule.workload)
    for given, times in (("starts", schedule.start_time), ("ends", schedule.end_time)):
        if len(times) != n:
            raise InfeasibleScheduleError(
                f"{schedule.policy}: {len(times)} {given} for the {n} jobs "
                f"of {schedule.workload.name}"
            )


AnySchedule = TypeVar("AnySchedule", bound=Schedule)


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
    job is on as many different nodes of the system as it asks for, no node's memory is exceeded,
    no node does more work in a busy period than it lasts (SPMD jobs), and the series adds up to the
    jobs' work, presence and waiting.

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
        check_sharing(schedule)
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
    check_lengths(schedule)
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
