"""What can happen to one job: it starts, changes its speed, stands still, goes on, leaves.

The file also has what can happen to the nodes that are held for one burst.
"""

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.ondemand.log import add_stretch, log_stretch
from cosimlib.ondemand.state import (
    COLLECTING,
    EXPECTED,
    HOLD,
    NO_JOB,
    RUNNING,
    SHARE,
    SHRINK,
    Machine,
    insert,
    remove,
    time_of,
    work_at,
)


@kernel
def start_job(machine: Machine, number: int, nodes: int, speed: float) -> None:
    """Start a job on so many free nodes, from the progress that is saved."""
    state, job = machine.state, machine.jobs[number]
    job.attempt += 1
    job.work, job.work_time, job.speed = 0.0, state.exact, speed
    job.logged_until, job.logged_progress = state.now, job.saved
    job.width = nodes
    state.free -= nodes
    if job.on_demand:
        state.burst_nodes += nodes
    if np.isnan(job.start_time):
        job.start_time = state.now
    insert(machine, RUNNING, number)
    _expect_end(machine, number)


@kernel
def _expect_end(machine: Machine, number: int) -> None:
    """Set when a running job ends at its speed, and when it is expected to."""
    job = machine.jobs[number]
    run = job.read_time + max(job.run_time - job.saved, 0.0)
    request = job.read_time + max(job.requested_time - job.saved, 0.0)
    job.ends_at = time_of(job, machine.rules, run)
    job.expected_end = time_of(job, machine.rules, request)
    insert(machine, EXPECTED, number)


@kernel
def change_speed(machine: Machine, number: int, nodes: int, speed: float) -> None:
    """Let a running job go on with so many nodes of its own, at another speed."""
    log_stretch(machine, number)
    exact, job = machine.state.exact, machine.jobs[number]
    job.work += (exact - job.work_time) * job.speed
    job.work_time, job.speed, job.width = exact, speed, nodes
    remove(machine, EXPECTED, number)
    _expect_end(machine, number)


def choose_jobs(machine: Machine, numbers: np.ndarray, actions: np.ndarray | int) -> None:
    """Let these jobs make way for the burst that asks; none of them stops by itself or writes."""
    jobs, state = machine.jobs, machine.state
    jobs.makes_way_for[numbers], jobs.decided[numbers] = state.asking, state.now
    jobs.action[numbers] = actions
    jobs.checkpoint_time[numbers], jobs.write_time[numbers] = np.inf, 0.0


@kernel
def stop_job(machine: Machine, number: int) -> None:
    """Let a running job stand still from now on; its expected end stays as it is."""
    log_stretch(machine, number)
    now, job = machine.state.now, machine.jobs[number]
    job.work = work_at(job, machine.rules, now)
    job.work_time, job.speed, job.stopped = now, 0.0, now
    job.checkpoint_time = job.ends_at = np.inf


@kernel
def spare_job(machine: Machine, number: int) -> None:
    """Let a job make way no longer; if it stood still, it goes on at full speed."""
    state, job = machine.state, machine.jobs[number]
    job.makes_way_for = NO_JOB
    if np.isnan(job.stopped):
        return
    log_stretch(machine, number)
    job.work_time, job.speed, job.stopped = state.now, 1.0, np.nan
    remove(machine, EXPECTED, number)
    _expect_end(machine, number)
    if state.writer == number:
        state.writer = NO_JOB


@kernel
def remove_job(machine: Machine, number: int) -> None:
    """Take a job off the machine, which frees the nodes that it has."""
    state, job = machine.state, machine.jobs[number]
    remove(machine, RUNNING, number)
    remove(machine, EXPECTED, number)
    job.makes_way_for, job.stopped = NO_JOB, np.nan
    state.free += job.width
    if job.on_demand:
        state.burst_nodes -= job.width


@kernel
def set_exact_instant(job: np.record, rules: np.record, state: np.record) -> None:
    """Set the instant without rounding to that of an event of this job, which happens now."""
    if rules.mechanism == SHRINK or rules.mechanism == SHARE:
        work = work_at(job, rules, state.now)
        state.exact = job.work_time + (work - job.work) / job.speed


@kernel
def hold_nodes(machine: Machine, number: int, more: int) -> None:
    """Hold so many more free nodes for a burst, or fewer."""
    state, burst = machine.state, machine.jobs[number]
    start, held = burst.logged_until, burst.held
    if held > 0:
        add_stretch(machine, HOLD, number, start, state.now, held, 0.0, 0.0)
    burst.logged_until = state.now
    burst.held += more
    state.free -= more
    state.burst_nodes += more


@kernel
def begin_collecting(machine: Machine, number: int) -> None:
    """Let a burst collect nodes, behind all that do, unless it does already."""
    burst = machine.jobs[number]
    if not burst.collecting:
        burst.collecting, burst.held, burst.logged_until = 1, 0, machine.state.now
        machine.lists[COLLECTING, machine.lengths[COLLECTING]] = number
        machine.lengths[COLLECTING] += 1


@kernel
def end_collecting(machine: Machine, number: int) -> None:
    """Free all nodes held for a burst; jobs that still were to make way for it go on."""
    lists, burst = machine.lists, machine.jobs[number]
    hold_nodes(machine, number, -burst.held)
    for place in range(machine.lengths[RUNNING] - 1, -1, -1):
        if machine.jobs[lists[RUNNING, place]].makes_way_for == number:
            spare_job(machine, lists[RUNNING, place])
    remove(machine, COLLECTING, number)
    burst.collecting = 0
