"""Conservative backfilling in whole time slots, and the containers on the nodes that it leaves.

Times are numbers of slots. Everything that happened in a slot is absorbed at the beginning of the
next one, in this order:

1. jobs that outlive their request are expected to end one slot later;
2. jobs that have ended leave, and each waiting job, in order of submission, moves to the earliest
   start before its reservation, if jobs are rescheduled; where overdue jobs leave too few nodes,
   all reservations are made anew instead;
3. new jobs enter the queue and reserve their earliest start;
4. jobs whose reservation has come start, which may make places in the queue, so that 3 follows;
5. containers stop, the youngest first, and start, so that every idle node has one.

Jobs run for one slot or more, so no job starts and ends at once.

Where a job outlives its request and others wait, each slot is one in which the plan may change and
containers are saved: such slots are walked and kept, up to a number of reservations made again.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import availability
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.records import record_type

JOB = record_type(
    floats="submit_time run_time requested_time start promised reserved expected_end",
    integers="nodes held_up",
)
"""A job, its times in whole slots, NaN or infinite until known: `reserved` is the present
reservation, `promised` the first one; whether it was `held_up` by containers."""

RUN = record_type(
    floats="rises before",
    integers="capacity depth hold_back reschedule most_planned planned submitted waiting busy held "
    "withheld breakpoints",
)
"""The knobs of `fill`; how many reservations were made again, jobs are submitted and wait, nodes
are busy and held by containers; `before` which slot nodes have come free. `withheld` are the nodes
that containers still hold in the slot that begins, less those of jobs that were found to be held up
by them. `breakpoints` and `rises` are what `availability` keeps of a plan."""


class State(NamedTuple):
    """Jobs in order of submission, the plan for those that wait, these in order of submission, and
    a record of `RUN`."""

    jobs: np.recarray
    plan: np.recarray
    queue: np.ndarray
    run: np.record


@allocating_kernel
def fill(
    jobs: np.recarray, plan: np.recarray, queue: np.ndarray, runs: np.recarray
) -> list[tuple[float, float, int, int]]:
    """Write start, first reservation and whether held up, per job; intervals of containers.

    These are of policy B: start, end, nodes, whether saved. With `hold_back`, nodes of containers
    that were not to be saved are not free in the slot that begins; without, such containers are
    killed. With `reschedule`, waiting jobs move forward where one ends early. At most `depth` jobs
    wait.

    It ends early, with starts still NaN, once more than `most_planned` reservations were made again
    in slots in which jobs outlive their requests.
    """
    run, now = runs[0], 0.0
    state = State(jobs, plan, queue, run)
    # Heaps of ends of running jobs; expected ones that have changed since are still there.
    ends, expected = [(0.0, 0) for _ in range(0)], [(0.0, 0) for _ in range(0)]
    batches, stopped = [(0.0, 0) for _ in range(0)], [(0.0, 0.0, 0, 0) for _ in range(0)]
    availability.clear(plan, run, -np.inf, run.capacity)
    while run.submitted < jobs.size or run.waiting > 0 or len(ends) > 0:
        now, starting = _next_slot(state, ends)
        availability.advance(plan, run, now)
        released, overdue = _extend_overdue(jobs, expected, now)
        run.planned += run.waiting if overdue > 0 else 0
        if run.planned > run.most_planned:
            break
        saved = max(0, starting - released)
        run.withheld = run.held - saved if run.hold_back else 0
        freed, until = _end_jobs(state, ends, now)
        run.busy -= freed
        if overdue + run.withheld > plan[0].free:
            _plan_anew(state, ends, now)
            run.before = np.inf
        else:
            availability.add(plan, run, now, now + 1, -overdue - run.withheld)
            if run.reschedule and freed > 0 and max(run.before, until) > now:
                _compress(state, now, max(run.before, until))
        busy = -1
        while busy < run.busy:
            busy = run.busy
            _admit(state, now)
            _start_reserved(state, ends, expected, now)
        _replace_containers(run, batches, stopped, now, saved)
    for start, nodes in batches:
        if start < now:
            stopped.append((start, now, nodes, 1))
    return stopped


@allocating_kernel
def _next_slot(state: State, ends: list[tuple[float, int]]) -> tuple[float, int]:
    """The next slot in which a job ends, starts or can be admitted; nodes of jobs that start."""
    jobs, run, first, starting = state.jobs, state.run, np.inf, 0
    for place in range(run.waiting):
        job = jobs[state.queue[place]]
        if job.reserved < first:
            first, starting = job.reserved, 0
        if job.reserved == first:
            starting += job.nodes
    now = first
    if len(ends) > 0:
        now = min(now, ends[0][0])
    if run.submitted < jobs.size and run.waiting < run.depth:
        now = min(now, jobs[run.submitted].submit_time)
    return now, starting if now == first else 0


@allocating_kernel
def _extend_overdue(
    jobs: np.recarray, expected: list[tuple[float, int]], now: float
) -> tuple[int, int]:
    """Expect overdue jobs to end one slot later; nodes expected back by now, and overdue ones."""
    released, overdue = 0, 0
    while len(expected) > 0 and expected[0][0] <= now:
        end, number = heappop(expected)
        job = jobs[number]
        if job.expected_end != end:
            continue
        released += job.nodes
        if job.start + job.run_time > now:
            overdue += job.nodes
            job.expected_end = now + 1
            heappush(expected, (now + 1, number))
    return released, overdue


@allocating_kernel
def _end_jobs(state: State, ends: list[tuple[float, int]], now: float) -> tuple[int, float]:
    """End jobs up to now; the nodes freed, and the slot until which the plan had them taken."""
    freed, until = 0, -np.inf
    while len(ends) > 0 and ends[0][0] <= now:
        job = state.jobs[heappop(ends)[1]]
        freed += job.nodes
        if job.expected_end > now:
            until = max(until, job.expected_end)
            availability.add(state.plan, state.run, now, job.expected_end, job.nodes)
        job.expected_end = np.nan
    return freed, until


@kernel
def _compress(state: State, now: float, before: float) -> None:
    """Move each waiting job, in order, to its earliest start before its reservation.

    Since every job had its earliest start, nodes have come free before the slot `before` only.
    Then that is until when jobs that moved leave free nodes to jobs before them in the queue.

    The maximum of free nodes is computed anew, after a move, only when a job wants more.
    """
    jobs, plan, run = state.jobs, state.plan, state.run
    left = -np.inf
    most, stale = availability.max_free(plan, run, before), False
    for place in range(run.waiting):
        number = state.queue[place]
        job = jobs[number]
        nodes, requested, start = job.nodes, job.requested_time, job.reserved
        if stale and nodes > most:
            most, stale = availability.max_free(plan, run, before), False
        if start == now or nodes > most + max(0, run.withheld):
            continue
        moment = availability.earliest_start(plan, run, nodes, requested, now, before, start)
        moment = min(moment, start)
        if moment > now:
            _note_held_up(state, number, min(now + requested, start), now)
        if moment < start:
            availability.add(plan, run, start, start + requested, nodes)
            availability.add(plan, run, moment, moment + requested, -nodes)
            job.reserved = moment
            left = max(left, start + requested)
            before = max(before, left)
            stale = True
    run.before = left


@allocating_kernel
def _plan_anew(state: State, ends: list[tuple[float, int]], now: float) -> None:
    """Drop all reservations and make them again, in order of submission."""
    jobs, plan, queue, run = state.jobs, state.plan, state.queue, state.run
    availability.clear(plan, run, now, run.capacity)
    availability.add(plan, run, now, now + 1, -run.withheld)
    for _, number in ends:
        availability.add(plan, run, now, jobs[number].expected_end, -jobs[number].nodes)
    for place in range(run.waiting):
        _reserve(state, queue[place], now)


@kernel
def _admit(state: State, now: float) -> None:
    """Queue submitted jobs while there are places, each with a reservation."""
    jobs, run = state.jobs, state.run
    while (
        run.submitted < jobs.size
        and jobs[run.submitted].submit_time <= now
        and run.waiting < run.depth
    ):
        state.queue[run.waiting] = run.submitted
        _reserve(state, run.submitted, now)
        jobs[run.submitted].promised = jobs[run.submitted].reserved
        run.submitted += 1
        run.waiting += 1


@kernel
def _reserve(state: State, number: int, now: float) -> None:
    """Reserve the earliest start for a job that has no reservation."""
    plan, run, job = state.plan, state.run, state.jobs[number]
    nodes, requested = job.nodes, job.requested_time
    start = availability.earliest_start(plan, run, nodes, requested, now, np.inf, np.inf)
    if start > now:
        _note_held_up(state, number, now + requested, now)
    availability.add(plan, run, start, start + requested, -nodes)
    job.reserved = start


@kernel
def _note_held_up(state: State, number: int, until: float, now: float) -> None:
    """Record whether nothing but containers keeps a job from running from now to `until`."""
    plan, run, job = state.plan, state.run, state.jobs[number]
    later = until > now + 1 and availability.min_free(plan, run, now + 1, until) < job.nodes
    if job.nodes <= plan[0].free + run.withheld and not later:
        job.held_up = 1
        run.withheld -= job.nodes


@allocating_kernel
def _start_reserved(
    state: State, ends: list[tuple[float, int]], expected: list[tuple[float, int]], now: float
) -> None:
    """Start the jobs reserved for now."""
    queue, run, kept = state.queue, state.run, 0
    for place in range(run.waiting):
        number = queue[place]
        job = state.jobs[number]
        if job.reserved > now:
            queue[kept] = number
            kept += 1
            continue
        run.busy += job.nodes
        job.start, job.expected_end = now, now + job.requested_time
        heappush(ends, (now + job.run_time, number))
        heappush(expected, (job.expected_end, number))
    run.waiting = kept


@allocating_kernel
def _replace_containers(
    run: np.record,
    batches: list[tuple[float, int]],
    stopped: list[tuple[float, float, int, int]],
    now: float,
    saved: int,
) -> None:
    """Save and kill the youngest until they fit on the idle nodes, then start one on each other.

    Running containers are in batches (start, nodes), by start.
    """
    idle = run.capacity - run.busy
    killed = max(0, run.held - saved - idle)
    for saves, stopping in ((1, saved), (0, killed)):
        run.held -= stopping
        while stopping > 0:
            start, nodes = batches.pop()
            count = min(stopping, nodes)
            stopped.append((start, now, count, saves))
            stopping -= count
            if nodes > count:
                batches.append((start, nodes - count))
    if idle > run.held:
        batches.append((now, idle - run.held))
        run.held = idle
