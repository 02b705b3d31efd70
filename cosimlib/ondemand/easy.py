"""EASY on the nodes that bursts and windows leave: what waits starts, or has a reservation.

*The queue* is served first come, first served, waiting bursts before batch jobs. The first job that
may not start has a reservation: the earliest moment at which it fits if all running jobs end as
requested. A job behind it may start now where it delays that reservation by nothing (see
`kernels.backfilling`). An evicted job waits at the place of its submission. Its request is what is
left of it, and the time to read its checkpoint.

*Nodes held for a burst* are expected back once the burst has come as expected and has run as long
as it asked for.

*Nodes set aside.* Under the policy `reserve`, nodes are set aside for bursts (`RULES.reserved`).
Those that no burst uses are kept free from batch jobs. A job that is too wide for the other nodes
may use them all the same, because it would never start otherwise.

*Windows* (see `batch.capacity`). No job of the queue starts where its request would cross a known
window, unless enough nodes stay open. A burst that is not in the queue starts as soon as it has
open nodes. It may run into a window, which waits for it. A window takes idle nodes first, then
nodes held for bursts, and of these first those of the burst that began to collect last. While a
window waits for nodes, no burst chooses jobs to evict. Windows kill nobody.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import capacity
from cosimlib.calendar import Calendar
from cosimlib.kernels import backfilling
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.ondemand.changes import hold_nodes, start_job
from cosimlib.ondemand.state import COLLECTING, EXPECTED, QUEUE, Machine, insert, remove

PROFILE = record_type(floats=capacity.FLOATS, integers=f"free releases limits {capacity.INTEGERS}")
"""Free nodes now, and the number of steps by which they change: what `kernels.backfilling` and
`batch.capacity` keep beside the steps themselves."""


class Ahead(NamedTuple):
    """What is known of the nodes that will come free, and arrays to compute with.

    `open_nodes` is the profile of open nodes by the calendar alone, whose steps are `open_steps`;
    `edges` are those of the calendar's windows. `free_nodes` is the profile of free nodes in one
    pass of EASY, whose steps are `free_steps`; `limits` are those of its reservation.
    """

    edges: np.recarray
    open_nodes: np.record
    open_steps: np.recarray
    free_nodes: np.record
    free_steps: np.recarray
    limits: np.recarray


def look_ahead(calendar: Calendar, total_nodes: int, jobs: np.recarray) -> Ahead:
    """The windows of a calendar, none of which has begun when the first job comes or collects."""
    first = np.minimum(jobs.submit_time, jobs.call_time)
    edges = capacity.edges_of(calendar, total_nodes, first)
    return Ahead(
        edges=edges,
        open_nodes=records(1, PROFILE, free=total_nodes, next_fall=np.inf)[0],
        open_steps=records(edges.size, STEP),
        free_nodes=records(1, PROFILE)[0],
        free_steps=records(jobs.size + edges.size, STEP),
        limits=records(2 + edges.size, STEP),
    )


@kernel
def pass_windows(machine: Machine, ahead: Ahead) -> None:
    """Open and close nodes: idle ones first, then held ones, of the last to collect first."""
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    if ahead.edges[ahead.open_nodes.edges].time > state.now:
        return
    closed = ahead.open_nodes.closed
    capacity.pass_edges(ahead.edges, ahead.open_steps, ahead.open_nodes, state.now)
    state.free -= ahead.open_nodes.closed - closed
    for place in range(machine.lengths[COLLECTING] - 1, -1, -1):
        number = lists[COLLECTING, place]
        kept = max(jobs[number].held + state.free, 0)
        if kept < jobs[number].held:
            hold_nodes(machine, number, kept - jobs[number].held)


@kernel
def backfill(machine: Machine, ahead: Ahead) -> None:
    """Start the jobs of the queue that may start, in its order."""
    jobs, lists, lengths, state = machine.jobs, machine.lists, machine.lengths, machine.state
    size, waiting, free_nodes = lengths[QUEUE], 0, ahead.free_nodes
    free_nodes.limits = 0
    if ahead.open_nodes.releases > 0 and state.free > 0 and size > 0:
        # No job runs into a known window, whether or not another one has a reservation.
        _reserve(machine, ahead, jobs[lists[QUEUE, 0]], backfilling.NONE, 0.0)
    for place in range(size):
        number = lists[QUEUE, place]
        job = jobs[number]
        duration = job.read_time + max(job.requested_time - job.saved, 0.0)
        end = state.now + duration
        set_aside = _nodes_set_aside_from(job, machine.rules, state.burst_nodes)
        fits = job.nodes + set_aside <= state.free
        if fits and backfilling.keeps(ahead.limits, free_nodes.limits, job.nodes, end):
            backfilling.take(ahead.limits, free_nodes, job.nodes, end)
            start_job(machine, number, job.nodes, 1.0)
            continue
        if waiting == 0 and state.free > 0 and place + 1 < size:
            _reserve(machine, ahead, job, job.nodes, duration)
        lists[QUEUE, waiting] = number
        waiting += 1
    lengths[QUEUE] = waiting


@kernel
def _nodes_set_aside_from(job: np.record, rules: np.record, burst_nodes: int) -> int:
    """Nodes that this job must leave free for bursts where these use so many already."""
    if job.on_demand or job.nodes > rules.total_nodes - rules.reserved:
        return 0
    return max(0, rules.reserved - burst_nodes)


@kernel
def _reserve(machine: Machine, ahead: Ahead, head: np.record, wanted: int, duration: float) -> None:
    """Set the limits of a reservation of `wanted` nodes for the queue's head."""
    jobs, lists, lengths, state = machine.jobs, machine.lists, machine.lengths, machine.state
    free_nodes, free_steps, limits = ahead.free_nodes, ahead.free_steps, ahead.limits
    for place in range(lengths[COLLECTING]):
        number = lists[COLLECTING, place]
        jobs[number].expected_end = _held_until(jobs[number], state.now)
        insert(machine, EXPECTED, number)
    expected = lists[EXPECTED, : lengths[EXPECTED]]
    _fill_steps(jobs, expected, machine.rules, state, head, free_nodes, free_steps)
    if ahead.open_nodes.releases == 0:
        backfilling.reserve(free_steps, limits, free_nodes, wanted, state.now)
    else:
        for row in range(ahead.open_nodes.releases):
            step = ahead.open_steps[row]
            backfilling.expect(free_steps, free_nodes, step.time, step.nodes)
        begin = backfilling.earliest_start(free_steps, free_nodes, wanted, duration, state.now)
        reserved = (begin, begin + duration, wanted)
        free_nodes.limits = 0
        backfilling.limit_by_falls(free_steps, limits, free_nodes, reserved, state.now, np.inf)
    for place in range(lengths[COLLECTING]):
        remove(machine, EXPECTED, lists[COLLECTING, place])


@kernel
def _held_until(burst: np.record, now: float) -> float:
    """When the nodes that are held for a burst are expected back: see the rule above."""
    arrival = now if burst.submit_time <= now else max(now, burst.expected_arrival)
    return arrival + burst.requested_time


@kernel
def _fill_steps(
    jobs: np.recarray,
    expected: np.ndarray,
    rules: np.record,
    state: np.record,
    head: np.record,
    free_nodes: np.record,
    free_steps: np.recarray,
) -> None:
    """Write the profile of the nodes that are free for the queue's head, by expected ends.

    When a burst gives back its nodes, fewer are in use by bursts, and more of those set aside are
    kept from the head.
    """
    burst_nodes = state.burst_nodes
    set_aside = _nodes_set_aside_from(head, rules, burst_nodes)
    free_nodes.free, free_nodes.releases = state.free - set_aside, expected.size
    for place in range(expected.size):
        job = jobs[expected[place]]
        nodes = job.held if job.collecting else job.width
        burst_nodes -= nodes if job.on_demand else 0
        set_aside_then = _nodes_set_aside_from(head, rules, burst_nodes)
        step = free_steps[expected.size - 1 - place]
        step.time, step.nodes = job.expected_end, nodes + set_aside - set_aside_then
        set_aside = set_aside_then
