"""Machine of a batch system: its jobs, those that run, and the next event.

Things happen when a job ends, when a window of a calendar becomes known, begins or ends (see
`batch.capacity`), and when a job is submitted; at equal times in this order. Running jobs are in
order of their true ends, the next end last (ties: the job that began first ends first).
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import capacity
from cosimlib.batch.orders import Prepared
from cosimlib.kernels import backfilling
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import records, whole

END = np.dtype([("time", "f8"), ("job", "i8")])
"""The end of a running job in seconds, and the job's number."""

STATE_FLOATS = f"now {capacity.FLOATS}"
STATE_INTEGERS = f"kind submitted begun running free releases {capacity.INTEGERS}"
"""Fields of every policy's state: the instant (s); the kind of order; how many jobs have been
submitted, have begun, and run; free nodes, expected releases; the fields of `batch.capacity`."""

NO_JOB = whole(-1)


class Machine(NamedTuple):
    """Records of jobs, the ends of those that run, expected releases, edges of windows, state."""

    jobs: np.recarray
    ends: np.recarray
    expected: np.recarray
    edges: np.recarray
    state: np.record


def machine_of(run: Prepared, job: np.dtype, state: np.dtype, **fields: float) -> Machine:
    """An empty machine to which all jobs are still to come; `fields` are those of the state."""
    jobs = records(run.rank.size, job, rank=run.rank, start_time=np.nan, **run.jobs._asdict())
    np.nan_to_num(jobs.requested_time, copy=False)
    edges = capacity.edges_of(run.calendar, run.total_nodes, jobs.submit_time)
    most = min(jobs.size, run.total_nodes)
    fields = {"free": run.total_nodes, "kind": run.kind, "next_fall": np.inf, **fields}
    return Machine(
        jobs,
        np.recarray(most, END),
        np.recarray(most + edges.size, STEP),
        edges,
        records(1, state, **fields)[0],
    )


@kernel
def next_event(machine: Machine) -> float:
    """The next end, edge of a window or submission (s); infinity once every job has ended."""
    jobs, state = machine.jobs, machine.state
    if state.begun == jobs.size and state.running == 0:
        return np.inf
    event = machine.edges[state.edges].time
    if state.submitted < jobs.size:
        event = min(event, jobs[state.submitted].submit_time)
    if state.running > 0:
        event = min(event, machine.ends[state.running - 1].time)
    return event


@kernel
def begin(machine: Machine, number: int) -> None:
    """Begin a job now; it is expected to end as requested."""
    job, ends, state = machine.jobs[number], machine.ends, machine.state
    job.start_time = state.now
    end, place = state.now + job.run_time, state.running
    while place > 0 and ends[place - 1].time <= end:
        ends[place].time, ends[place].job = ends[place - 1].time, ends[place - 1].job
        place -= 1
    ends[place].time, ends[place].job = end, number
    state.running += 1
    state.begun += 1
    state.free -= job.nodes
    backfilling.expect(machine.expected, state, state.now + job.requested_time, job.nodes)


@kernel
def end_next(machine: Machine) -> int:
    """End the job that ends next, and return its number; `NO_JOB` if none ends by now."""
    last = machine.state.running - 1
    if last < 0 or machine.ends[last].time > machine.state.now:
        return NO_JOB
    return _end(machine, last)


@kernel
def _end(machine: Machine, place: int) -> int:
    """End the running job at a place, and return its number."""
    ends, state, number = machine.ends, machine.state, machine.ends[place].job
    running: int = state.running - 1
    state.running = running
    for row in range(place, running):
        ends[row].time, ends[row].job = ends[row + 1].time, ends[row + 1].job
    job = machine.jobs[number]
    state.free += job.nodes
    backfilling.expect(machine.expected, state, job.start_time + job.requested_time, -job.nodes)
    return number


@kernel
def pass_edges(machine: Machine) -> bool:
    """Pass the edges of windows up to now, and kill jobs until the others fit; whether any."""
    state = machine.state
    if machine.edges[state.edges].time > state.now:
        return False
    capacity.pass_edges(machine.edges, machine.expected, state, state.now)
    while state.running > 0 and state.enforced - state.closed > state.free:
        _kill_one(machine)
    return True


@kernel
def _kill_one(machine: Machine) -> None:
    """Cut the run of a job, so that it ends now.

    First jobs that have outlived their requests, then those that started last, then higher rows.
    """
    now, chosen, last = machine.state.now, NO_JOB, (False, -np.inf, NO_JOB)
    for place in range(machine.state.running):
        number = machine.ends[place].job
        job = machine.jobs[number]
        this = (job.start_time + job.requested_time <= now, job.start_time, number)
        if this > last:
            chosen, last = place, this
    job = machine.jobs[machine.ends[chosen].job]
    job.run_time = capacity.cut_length(job.start_time, now)
    _end(machine, chosen)
