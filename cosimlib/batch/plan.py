"""Plan of conservative backfilling: a reservation for every waiting job, at its earliest start.

What the loop needs of a plan: absorb the ends of an instant, start the jobs that are due, reserve
for new jobs (`extend`), make the plan anew (`renew`), or `drop` it and make as much as matters. How
reservations are moved forward where a job ended early has a file of its own (`batch.compression`).

Running jobs hold their nodes to their expected end. Where a job has outlived its request its nodes
count as free from the present on, so that a reservation may be for *now* and yet cannot begin; such
a plan holds for this instant only, and is renewed at the next.

Where thousands of jobs wait, most are equal to their neighbors in the queue, in nodes and in
requested time: an array of jobs is submitted at once. Equal neighbors are planned together, and
start as if they were planned one by one: each takes its earliest start, which is the same for as
many as have room side by side; the search for the next begins there, for those placed before have
only taken nodes.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import availability, heap, holes, rising, running
from cosimlib.kernels.availability import Profile
from cosimlib.kernels.heap import Heap
from cosimlib.kernels.holes import Holes
from cosimlib.kernels.jit import allocating_kernel, inner_kernel
from cosimlib.kernels.queue import Queue
from cosimlib.kernels.rising import Coming
from cosimlib.kernels.running import Running
from cosimlib.workload import JobArrays


class Plan(NamedTuple):
    """Availability profile; reserved starts, now and at first; heap of the reservations.

    Starts are NaN before a job is submitted; `near` is about the place of each in the profile. The
    heap `due` has starts as keys. A plan made anew does not list its reservations there, for it may
    be renewed soon: `unlisted` has one value, the earliest start of those that are not in the heap.
    Jobs of one `kind` are equal in nodes and requested time; `holes` are those that compression has
    not filled, and what is known of the kinds. While a plan is made anew, the profile is extended
    by the releases that are `coming`.
    """

    profile: Profile
    coming: Coming
    kind: np.ndarray
    holes: Holes
    start: np.ndarray
    first_start: np.ndarray
    near: np.ndarray
    due: Heap
    unlisted: np.ndarray


def kinds_of(jobs: JobArrays) -> np.ndarray:
    """A number per job, the same for jobs that are equal in nodes and requested time."""
    by_kind = np.lexsort((jobs.requested_time, jobs.nodes))
    nodes, requested_time = jobs.nodes[by_kind], jobs.requested_time[by_kind]
    differs = (np.diff(nodes) != 0) | (np.diff(requested_time) != 0)
    kinds = np.zeros(by_kind.size, np.int64)
    kinds[by_kind[1:]] = np.cumsum(differs)
    return kinds


@allocating_kernel
def empty(jobs: JobArrays, kinds: np.ndarray, total_nodes: int) -> Plan:
    """No reservations; room for one per job."""
    n = jobs.nodes.size
    new = holes.empty(kinds.max() + 1 if n > 0 else 0, total_nodes)
    for job in range(n):
        new.cell[kinds[job]] = holes.cell_of(jobs.nodes[job], jobs.requested_time[job])
    return Plan(
        availability.empty(2 * n, total_nodes),
        rising.empty(n),
        kinds,
        new,
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.zeros(n, np.int64),
        heap.empty(n),
        np.full(1, np.inf),
    )


@allocating_kernel
def next_due(plan: Plan) -> float:
    """The next reserved start; infinity where there is none."""
    due = plan.due
    return min(plan.unlisted[0], due.key[due.item[0]] if due.size[0] > 0 else np.inf)


@allocating_kernel
def absorb_ends(
    jobs: JobArrays, plan: Plan, started: Running, now: float, free: int
) -> tuple[int, float]:
    """End all jobs that end by `now`; return the free nodes, and until when more are free."""
    availability.advance(plan.profile, now)
    until = -np.inf
    while len(started.ends) > 0 and started.ends[0][0] <= now:
        job = running.end_next(jobs, started)
        expected = started.start_time[job] + jobs.requested_time[job]
        free += jobs.nodes[job]
        if expected > now:
            place, after = availability.add(plan.profile, now, expected, jobs.nodes[job])
            holes.note(plan.holes, plan.profile, place, now, after, expected)
            until = max(until, expected)
    return free, until


@allocating_kernel
def start_due(
    jobs: JobArrays, plan: Plan, started: Running, waiting: Queue, last: int, now: float, free: int
) -> int:
    """Start the jobs whose reservations begin now; return the free nodes."""
    if plan.unlisted[0] <= now:
        list_all(plan, started, waiting, last)
    while next_due(plan) <= now:
        job = heap.pop(plan.due)
        running.start(jobs, started, job, now)
        free -= jobs.nodes[job]
    return free


@allocating_kernel
def list_all(plan: Plan, started: Running, waiting: Queue, last: int) -> None:
    """Let the heap have all waiting jobs that have a reservation."""
    for place in range(last):
        job = waiting.job[place]
        if np.isnan(started.start_time[job]) and not np.isnan(plan.start[job]):
            heap.push(plan.due, job, plan.start[job])
    plan.unlisted[0] = np.inf


@allocating_kernel
def renew(
    jobs: JobArrays, plan: Plan, started: Running, order: np.ndarray, now: float, free: int
) -> int:
    """Drop all reservations and reserve for the jobs of `order` in turn; return the free nodes.

    In order of their starts most jobs begin behind those placed before, whose ends are therefore
    kept apart until a search reaches them (see `kernels.rising`).
    """
    _clear(plan, started, now, free)
    _, free = extend(jobs, plan, started, order, 0, now, free, np.inf, False)
    rising.settle(plan.profile, plan.coming, np.inf)
    return free


@allocating_kernel
def drop(plan: Plan, started: Running, now: float, free: int) -> None:
    """Drop all reservations."""
    _clear(plan, started, now, free)
    rising.settle(plan.profile, plan.coming, np.inf)


@allocating_kernel
def _clear(plan: Plan, started: Running, now: float, free: int) -> None:
    """Drop all reservations, and keep the expected ends of running jobs apart."""
    while plan.due.size[0] > 0:
        heap.remove(plan.due, plan.due.item[plan.due.size[0] - 1])
    plan.unlisted[0] = np.inf
    holes.forget(plan.holes)
    rising.rebuild(
        plan.profile, plan.coming, now, free, started.times, started.nodes, started.size[0]
    )


@allocating_kernel
def extend(
    jobs: JobArrays,
    plan: Plan,
    started: Running,
    order: np.ndarray,
    place: int,
    now: float,
    free: int,
    before: float,
    listed: bool,
) -> tuple[int, int]:
    """Reserve for the jobs of `order` in turn, from `place` on; start those whose turn is now.

    It ends where none of the others could begin before the moment `before`, for jobs placed before
    one only take nodes from it; return their first place and the free nodes. Reservations are
    `listed` in the heap, or not.
    """
    due = True
    while due:
        place, end, due = _reserve(jobs, plan, order, place, now, before, listed)
        while place < end:
            job = order[place]
            if jobs.nodes[job] <= free:
                running.start(jobs, started, job, now)
                free -= jobs.nodes[job]
            place += 1
    return place, free


@inner_kernel
def _reserve(
    jobs: JobArrays,
    plan: Plan,
    order: np.ndarray,
    place: int,
    now: float,
    before: float,
    listed: bool,
) -> tuple[int, int, bool]:
    """As `extend`, until jobs have a reservation for now: their places, and whether there are any.

    Equal neighbors are placed together, as many at the earliest start as have room; the search for
    the next of their kind begins there: while nodes are only taken no earlier start appears.
    """
    wanted, apart = place - 1, plan.coming.bounds[0] < plan.coming.bounds[1]
    while place < order.size:
        if place > wanted and before < np.inf:
            wanted = _next_before(jobs, plan, order, place, now, before)
            if wanted == order.size:
                break
        kind, end = plan.kind[order[place]], place + 1
        while end < order.size and plan.kind[order[end]] == kind:
            end += 1
        moment, near = max(now, holes.none_before(plan.holes, kind)), -1
        while place < end:
            job = order[place]
            nodes, request = jobs.nodes[job], jobs.requested_time[job]
            if apart:
                moment, placed, near = rising.reserve(
                    plan.profile, plan.coming, nodes, request, moment, near, end - place
                )
            else:
                moment, placed = availability.reserve(
                    plan.profile, nodes, request, moment, end - place
                )
            if moment > now and not listed:
                plan.unlisted[0] = min(plan.unlisted[0], moment)
            for neighbor in range(place, place + placed):
                job = order[neighbor]
                plan.start[job] = moment
                if np.isnan(plan.first_start[job]):
                    plan.first_start[job] = moment
                if moment > now and listed:
                    heap.push(plan.due, job, moment)
            place += placed
            if moment <= now:
                holes.learn(plan.holes, kind, moment)
                return place - placed, place, True
        holes.learn(plan.holes, kind, moment)
    return place, place, False


@inner_kernel
def _next_before(
    jobs: JobArrays, plan: Plan, order: np.ndarray, place: int, now: float, before: float
) -> int:
    """The first place from `place` on whose job could begin before the moment `before`."""
    while place < order.size:
        kind = plan.kind[order[place]]
        known = max(now, holes.none_before(plan.holes, kind))
        if known < before:
            nodes, request = jobs.nodes[order[place]], jobs.requested_time[order[place]]
            moment, _ = availability.earlier_start(
                plan.profile, nodes, request, np.inf, before, known
            )
            holes.learn(plan.holes, kind, min(moment, before))
            if moment < before:
                break
        place += 1
    return place
