"""Audit of time-shared schedules: placement, memory, capacity, and the sums of the series."""

import numpy as np

from cosimlib.audit import InfeasibleScheduleError, audit_rule, check_columns
from cosimlib.kernels.jit import kernel
from cosimlib.timesharing.schedule import TimesharedSchedule


@audit_rule.register
def audit_timeshared(schedule: TimesharedSchedule) -> None:
    """Raise where a schedule of shared nodes could not have happened.

    No job starts early or is done sooner than alone on its nodes, each is on as many different
    nodes of the system as it asks for, no node's memory is exceeded, no node does more work in a
    busy period than it lasts (SPMD jobs), and the series adds up to the jobs' work, presence and
    waiting.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, the node, or the sum.
    """
    jobs = schedule.workload.jobs
    check_columns(schedule)
    _check_placement(schedule)
    submit_time, run_time = jobs["submit_time"].to_numpy(), jobs["run_time"].to_numpy()
    nodes, duration = jobs["nodes"].to_numpy(), schedule.end_time - schedule.start_time
    rules = (
        ("starts before its submission", schedule.start_time >= submit_time),
        ("never ends", schedule.end_time < np.inf),
        ("is done sooner than alone", duration * schedule.speed >= run_time * (1 - 1e-9) - 1e-6),
        ("is not on as many nodes as it asks for", np.diff(schedule.first) == nodes),
        (
            "is on a node twice, or on none of the system's",
            _distinct(schedule.first, schedule.members, schedule.system.total_nodes),
        ),
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
    if schedule.spmd:
        _check_capacity(schedule)
    _check_series(schedule)


def _check_placement(schedule: TimesharedSchedule) -> None:
    """Raise where the placement is not one list of nodes per job."""
    first, n = schedule.first, len(schedule.workload)
    whole = first.shape == (n + 1,) and first[0] == 0 and first[-1] == schedule.members.size
    if not whole or (np.diff(first) < 0).any():
        raise InfeasibleScheduleError(
            f"{schedule.policy}: a placement of {first.size - 1} jobs on {schedule.members.size} "
            f"nodes; {schedule.workload.name} has {n} jobs that ask for "
            f"{schedule.workload.jobs['nodes'].sum()} nodes, in order"
        )


def _check_series(schedule: TimesharedSchedule) -> None:
    """Raise where the series does not add up to what the jobs did."""
    jobs, series = schedule.workload.jobs, schedule.series
    nodes = jobs["nodes"].to_numpy()
    over = series["utilization"].to_numpy() > schedule.speed * (1 + 1e-6)
    if over.any():
        window = int(over.argmax())
        raise InfeasibleScheduleError(
            f"{schedule.policy}: utilization {series['utilization'].iloc[window]:.15g} at "
            f"t={series.index[window]:.15g}; nodes have a speed of {schedule.speed:.15g}"
        )
    total = series.sum() * schedule.resolution
    work, present, waited = (
        float(jobs["run_time"].to_numpy() @ nodes),
        float((schedule.end_time - schedule.start_time) @ nodes),
        float((schedule.start_time - jobs["submit_time"].to_numpy()).sum()),
    )
    offered = schedule.system.total_nodes
    sums = (
        ("node-seconds of work", work, total["utilization"] * offered),
        ("jobs × nodes × seconds", present, total["cpu_load"] * offered),
        ("seconds of waiting", waited, total["waiting"]),
    )
    for what, expected, found in sums:
        # In steps a job may be given more than it needs, in its last step only.
        more = found > expected * (1 + 1e-6) + 1e-6 and what != "node-seconds of work"
        if more or not found >= expected * (1 - 1e-6) - 1e-6:
            raise InfeasibleScheduleError(
                f"{schedule.policy}: the jobs of {schedule.workload.name} make {expected:.15g} "
                f"{what}; the series adds up to {found:.15g}"
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


def _check_capacity(schedule: TimesharedSchedule) -> None:
    """Raise for the first node that did more work in a busy period than it lasted."""
    run_time = schedule.workload.jobs["run_time"].to_numpy(np.float64).copy()
    present = np.flatnonzero(schedule.end_time > schedule.start_time)
    if not present.size:
        return
    times = np.concatenate([schedule.start_time[present], schedule.end_time[present]])
    events = np.argsort(times, kind="stable")
    event, node = _first_overworked(
        schedule.first,
        schedule.members,
        run_time,
        present,
        times,
        events,
        schedule.system.total_nodes,
        schedule.speed,
    )
    if event >= 0:
        raise InfeasibleScheduleError(
            f"{schedule.policy}: node {node} does more work than its speed of "
            f"{schedule.speed:.15g} allows in the busy period that ends at "
            f"t={times[events[event]]:.15g}"
        )


@kernel
def _first_overworked(
    first: np.ndarray,
    members: np.ndarray,
    run_time: np.ndarray,
    present: np.ndarray,
    times: np.ndarray,
    events: np.ndarray,
    total_nodes: int,
    speed: float,
) -> tuple[int, int]:
    """The first event, and the node, at which a busy period held more work than time; −1 if none.

    Jobs one of which starts when another ends make one busy period: starts come before ends.
    """
    here, work = np.zeros(total_nodes, np.int64), np.zeros(total_nodes)
    begin = np.zeros(total_nodes)
    for event in range(events.size):
        starts = events[event] < present.size
        now, job = times[events[event]], present[events[event] % present.size]
        for place in range(first[job], first[job + 1]):
            node = members[place]
            if starts:
                if here[node] == 0:
                    begin[node], work[node] = now, 0.0
                here[node] += 1
                work[node] += run_time[job]
            else:
                here[node] -= 1
                allowed = speed * (now - begin[node])
                if here[node] == 0 and work[node] > allowed * (1 + 1e-9) + 1e-6:
                    return event, node
    return -1, -1


@kernel
def _distinct(first: np.ndarray, members: np.ndarray, total_nodes: int) -> np.ndarray:
    """Whether each job's nodes are all different, and all of the system's."""
    fine = np.ones(first.size - 1, np.bool_)
    seen = np.full(total_nodes, -1, np.int64)
    for job in range(fine.size):
        for place in range(first[job], first[job + 1]):
            node = members[place]
            if node < 0 or node >= total_nodes or seen[node] == job:
                fine[job] = False
            else:
                seen[node] = job
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
