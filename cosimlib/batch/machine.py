"""Machine of a batch system: its jobs, those that run, and the next event.

Things happen when a job ends, when a window of a calendar becomes known, begins or ends (see
`batch.capacity`), and when a job is submitted; at equal times in this order. Running jobs are in
order of their true ends, the next end last (ties: the job that began first ends first). Before them
is an end at infinity.

Kernels take arrays one by one, and each only those that it needs: Numba counts the references to
every array of a tuple at every call.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import capacity
from cosimlib.batch.orders import Prepared
from cosimlib.kernels import backfilling
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import records

END = np.dtype([("time", "f8"), ("job", "i8")])
"""The end of a running job in seconds, and the job's number."""

STATE_FLOATS = f"now {capacity.FLOATS}"
STATE_INTEGERS = f"kind submitted begun running free releases {capacity.INTEGERS}"
"""Fields of every policy's state: the instant (s); the kind of order; how many jobs have been
submitted, have begun, and run; free nodes, expected releases; the fields of `batch.capacity`."""

NO_JOB = -1


class Machine(NamedTuple):
    """Records of jobs, the ends of those that run, expected releases, edges of windows, state.

    `edges` is None on a machine that never closes. Numba compiles a kernel anew for None, and then
    leaves out what stands behind ``if edges is not None``.
    """

    jobs: np.recarray
    ends: np.recarray
    expected: np.recarray
    edges: np.recarray | None
    state: np.record


def machine_of(run: Prepared, job: np.dtype, state: np.dtype, **fields: float) -> Machine:
    """An empty machine to which all jobs are still to come; `fields` are those of the state."""
    jobs = records(run.rank.size, job, rank=run.rank, start_time=np.nan, **run.jobs._asdict())
    np.nan_to_num(jobs.requested_time, copy=False)
    edges = None
    if len(run.calendar):
        edges = capacity.edges_of(run.calendar, run.total_nodes, jobs.submit_time)
    return empty(jobs, edges, run.total_nodes, state, kind=run.kind, **fields)


def empty(
    jobs: np.recarray,
    edges: np.recarray | None,
    total_nodes: int,
    state: np.dtype,
    **fields: float,
) -> Machine:
    """An empty machine to which these jobs are still to come."""
    most = min(jobs.size, total_nodes)
    next_edge = np.inf if edges is None else edges[0].time
    fields = {"free": total_nodes, "next_edge": next_edge, "next_fall": np.inf, **fields}
    return Machine(
        jobs,
        records(most + 1, END, time=np.inf, job=NO_JOB),
        np.recarray(most + (0 if edges is None else edges.size), STEP),
        edges,
        records(1, state, **fields)[0],
    )


@kernel
def next_event(jobs: np.recarray, ends: np.recarray, state: np.record) -> float:
    """The next end, edge of a window or submission (s); infinity once every job has ended."""
    event = min(state.next_edge, ends[state.running].time)
    if state.submitted < jobs.size:
        return min(event, jobs[state.submitted].submit_time)
    return event if state.begun < jobs.size or state.running > 0 else np.inf


@kernel
def begin(
    jobs: np.recarray, ends: np.recarray, expected: np.recarray, state: np.record, number: int
) -> None:
    """Begin a job now. It is expected to end at its requested time."""
    job = jobs[number]
    job.start_time = state.now
    end, place = state.now + job.run_time, state.running
    while ends[place].time <= end:
        ends[place + 1].time, ends[place + 1].job = ends[place].time, ends[place].job
        place -= 1
    ends[place + 1].time, ends[place + 1].job = end, number
    state.running += 1
    state.begun += 1
    state.free -= job.nodes
    backfilling.expect(expected, state, state.now + job.requested_time, job.nodes)


@kernel
def ends_by_now(ends: np.recarray, state: np.record) -> bool:
    """Whether a job ends by now."""
    return ends[state.running].time <= state.now


@kernel
def end(
    jobs: np.recarray, ends: np.recarray, expected: np.recarray, state: np.record, place: int
) -> int:
    """End the running job at a place, the last if it ends next, and return its number."""
    number = ends[place].job
    for row in range(place, state.running):
        ends[row].time, ends[row].job = ends[row + 1].time, ends[row + 1].job
    state.running -= 1
    job = jobs[number]
    state.free += job.nodes
    backfilling.expect(expected, state, job.start_time + job.requested_time, -job.nodes)
    return number


@kernel
def pass_edges(
    jobs: np.recarray,
    ends: np.recarray,
    expected: np.recarray,
    edges: np.recarray,
    state: np.record,
) -> None:
    """Pass the edges of windows up to now, and kill jobs until the others fit.

    Jobs that have outlived their requests are killed first, then those that started last, then
    those of higher rows.
    """
    capacity.pass_edges(edges, expected, state, state.now)
    while state.running > 0 and state.enforced - state.closed > state.free:
        place = _first_to_kill(jobs, ends, state)
        job = jobs[ends[place].job]
        job.run_time = capacity.cut_length(job.start_time, state.now)
        end(jobs, ends, expected, state, place)


@kernel
def _first_to_kill(jobs: np.recarray, ends: np.recarray, state: np.record) -> int:
    """The place among the running jobs of the one that is killed first."""
    chosen, highest = NO_JOB, (False, -np.inf, NO_JOB)
    for place in range(1, state.running + 1):
        number = ends[place].job
        job = jobs[number]
        is_overdue = job.start_time + job.requested_time <= state.now
        urgency = (is_overdue, job.start_time, number)
        if urgency > highest:
            chosen, highest = place, urgency
    return chosen
