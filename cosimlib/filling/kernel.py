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
from cosimlib.kernels.availability import BREAKPOINT
from cosimlib.kernels.jit import kernel

EXTENT = np.dtype((np.record, [("breakpoints", "i8"), ("rises", "f8")]))
"""What `availability` keeps of a plan beside its breakpoints."""


class SlotArrays(NamedTuple):
    """Jobs in order of submission, their times in whole slots, float64."""

    submit: np.ndarray
    run: np.ndarray
    requested: np.ndarray
    nodes: np.ndarray


class State(NamedTuple):
    """Times of each job, NaN or infinite until known, and the plan for those that wait.

    `reserved` is the present reservation, `promised` the first one. `queue` holds the waiting jobs
    in order of submission. `withheld` has one value: nodes that containers still hold in the slot
    that begins, less those of jobs that were found to be held up by them. `ends` and `expected` are
    heaps of (end, job) of running jobs; expected ends that have changed since are still in it.
    """

    start: np.ndarray
    promised: np.ndarray
    reserved: np.ndarray
    expected_end: np.ndarray
    held_up: np.ndarray
    queue: np.ndarray
    withheld: np.ndarray
    plan: np.recarray
    extent: np.recarray
    ends: list[tuple[float, int]]
    expected: list[tuple[float, int]]


class Containers(NamedTuple):
    """Running containers in batches (start, nodes), by start, and in `held` the sum of their nodes;
    (start, end, nodes, saved) of those that have stopped.
    """

    running: list[tuple[float, int]]
    held: np.ndarray
    stopped: list[tuple[float, float, int, int]]


@kernel
def empty(n: int, capacity: int, depth: int) -> tuple[State, Containers]:
    """Before the first submission: no jobs, no containers; room for `depth` waiting jobs."""
    state = State(
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full(n, np.inf),
        np.full(n, np.nan),
        np.zeros(n, np.bool_),
        np.empty(depth, np.int64),
        np.zeros(1, np.int64),
        np.empty(2 * (min(n, capacity) + depth) + 8, BREAKPOINT),  # type: ignore[arg-type]
        np.zeros(1, EXTENT),  # type: ignore[arg-type]
        [(0.0, 0) for _ in range(0)],
        [(0.0, 0) for _ in range(0)],
    )
    containers = Containers(
        [(0.0, 0) for _ in range(0)],
        np.zeros(1, np.int64),
        [(0.0, 0.0, 0, 0) for _ in range(0)],
    )
    return state, containers


@kernel
def fill(
    jobs: SlotArrays,
    capacity: int,
    depth: int,
    hold_back: bool,
    reschedule: bool,
    most_planned: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Start, first reservation and whether held up, per job; intervals of containers (policy B).

    With `hold_back`, nodes of containers that were not to be saved are not free in the slot that
    begins; without, such containers are killed. With `reschedule`, waiting jobs move forward where
    one ends early. At most `depth` jobs wait. Intervals are rows (start, end, nodes, saved).

    It ends early, with starts still NaN, once more than `most_planned` reservations were made again
    in slots in which jobs outlive their requests.
    """
    n, planned = jobs.submit.size, 0
    state, containers = empty(n, capacity, min(depth, n))
    availability.clear(state.plan, state.extent[0], -np.inf, capacity)
    submitted, waiting, busy, held, now, before = 0, 0, 0, 0, 0.0, -np.inf
    while submitted < n or waiting > 0 or len(state.ends) > 0:
        now, due = _next_slot(jobs, state, submitted, waiting, depth)
        availability.advance(state.plan, state.extent[0], now)
        released, overdue = _extend_overdue(jobs, state, now)
        planned += waiting if overdue > 0 else 0
        if planned > most_planned:
            break
        saved = max(0, due - released)
        withheld = held - saved if hold_back else 0
        state.withheld[0] = withheld
        freed, until = _end_jobs(jobs, state, now)
        busy -= freed
        if overdue + withheld > _free_now(state):
            _plan_anew(jobs, state, waiting, now, capacity, withheld)
            before = np.inf
        else:
            availability.add(state.plan, state.extent[0], now, now + 1, -overdue - withheld)
            if reschedule and freed > 0 and max(before, until) > now:
                before = _compress(jobs, state, waiting, now, max(before, until))
        started = 1
        while started > 0:
            submitted, waiting = _admit(jobs, state, submitted, waiting, now, depth)
            waiting, started = _start_due(jobs, state, waiting, now)
            busy += started
        held = capacity - busy
        _replace_containers(containers, now, saved, held)
    return state.start, state.promised, state.held_up, _intervals(containers, now)


@kernel
def _free_now(state: State) -> int:
    """Nodes free in the slot that begins."""
    return state.plan[0].free


@kernel
def _next_slot(
    jobs: SlotArrays, state: State, submitted: int, waiting: int, depth: int
) -> tuple[float, int]:
    """Next slot in which a job ends, is due or can be admitted; the nodes of all jobs due then."""
    first, due = np.inf, 0
    for place in range(waiting):
        job = state.queue[place]
        if state.reserved[job] < first:
            first, due = state.reserved[job], 0
        if state.reserved[job] == first:
            due += jobs.nodes[job]
    now = first
    if len(state.ends) > 0:
        now = min(now, state.ends[0][0])
    if submitted < jobs.submit.size and waiting < depth:
        now = min(now, jobs.submit[submitted])
    return now, due if now == first else 0


@kernel
def _extend_overdue(jobs: SlotArrays, state: State, now: float) -> tuple[int, int]:
    """Expect overdue jobs to end one slot later; nodes expected back by now, and overdue ones."""
    released, overdue = 0, 0
    expected = state.expected
    while len(expected) > 0 and expected[0][0] <= now:
        end, job = heappop(expected)
        if state.expected_end[job] != end:
            continue
        released += jobs.nodes[job]
        if state.start[job] + jobs.run[job] > now:
            overdue += jobs.nodes[job]
            state.expected_end[job] = now + 1
            heappush(expected, (now + 1, job))
    return released, overdue


@kernel
def _end_jobs(jobs: SlotArrays, state: State, now: float) -> tuple[int, float]:
    """End jobs up to now; the nodes freed, and the slot until which the plan had them taken."""
    freed, until = 0, -np.inf
    while len(state.ends) > 0 and state.ends[0][0] <= now:
        _, job = heappop(state.ends)
        freed += jobs.nodes[job]
        if state.expected_end[job] > now:
            until = max(until, state.expected_end[job])
            availability.add(
                state.plan, state.extent[0], now, state.expected_end[job], jobs.nodes[job]
            )
        state.expected_end[job] = np.nan
    return freed, until


@kernel
def _compress(jobs: SlotArrays, state: State, waiting: int, now: float, before: float) -> float:
    """Move each waiting job, in order, to its earliest start before its reservation.

    Since every job had its earliest start, nodes have come free before the slot `before` only.
    Returns until when jobs that moved leave free nodes to jobs before them in the queue.

    A job equal to the previous one, and not reserved earlier, finds nothing where that found
    nothing. The maximum of free nodes is computed anew, after a move, only when a job wants more.
    """
    left, searched = -np.inf, now
    last_nodes, last_requested, last_start = 0, 0.0, np.inf
    plan, extent = state.plan, state.extent[0]
    most, stale = availability.max_free(plan, extent, before), False
    for place in range(waiting):
        job = state.queue[place]
        nodes, requested, start = jobs.nodes[job], jobs.requested[job], state.reserved[job]
        if stale and nodes > most:
            most, stale = availability.max_free(plan, extent, before), False
        if start == now or nodes > most + max(0, state.withheld[0]):
            continue
        if start < last_start or nodes != last_nodes or requested != last_requested:
            searched = now
        last_nodes, last_requested, last_start = nodes, requested, start
        moment = availability.earliest_start(
            plan, extent, nodes, requested, searched, before, start
        )
        moment = min(moment, start)
        searched = max(searched, min(moment, before))
        if moment > now:
            _note_held_up(jobs, state, job, min(now + requested, start), now)
        if moment < start:
            availability.add(plan, extent, start, start + requested, nodes)
            availability.add(plan, extent, moment, moment + requested, -nodes)
            state.reserved[job] = moment
            left = max(left, start + requested)
            before = max(before, left)
            stale = True
    return left


@kernel
def _plan_anew(
    jobs: SlotArrays, state: State, waiting: int, now: float, capacity: int, withheld: int
) -> None:
    """Drop all reservations and make them again, in order of submission.

    A job equal to the previous one need not search earlier: reservations free no nodes.
    """
    plan, extent, queue = state.plan, state.extent[0], state.queue[:waiting]
    availability.clear(plan, extent, now, capacity)
    availability.add(plan, extent, now, now + 1, -withheld)
    for _, job in state.ends:
        availability.add(plan, extent, now, state.expected_end[job], -jobs.nodes[job])
    place = 0
    while place < waiting:
        end, searched = _next_different(jobs, queue, place), now
        while place < end:
            searched, placed = _reserve(jobs, state, queue[place:end], now, searched)
            place += placed


@kernel
def _next_different(jobs: SlotArrays, queue: np.ndarray, place: int) -> int:
    """The first place behind one whose job wants other nodes, or for another time."""
    nodes, requested, end = jobs.nodes[queue[place]], jobs.requested[queue[place]], place + 1
    while (
        end < queue.size
        and jobs.nodes[queue[end]] == nodes
        and jobs.requested[queue[end]] == requested
    ):
        end += 1
    return end


@kernel
def _admit(
    jobs: SlotArrays, state: State, submitted: int, waiting: int, now: float, depth: int
) -> tuple[int, int]:
    """Queue submitted jobs while there are places, each with a reservation; the new counts."""
    while submitted < jobs.submit.size and jobs.submit[submitted] <= now and waiting < depth:
        state.queue[waiting] = submitted
        newest = state.queue[waiting : waiting + 1]
        state.promised[submitted], _ = _reserve(jobs, state, newest, now, now)
        submitted += 1
        waiting += 1
    return submitted, waiting


@kernel
def _reserve(
    jobs: SlotArrays, state: State, equals: np.ndarray, now: float, not_before: float
) -> tuple[float, int]:
    """Reserve the earliest start for the first of equal jobs, and for those that fit beside it.

    It does not fit before `not_before`. Returns the start, and how many jobs have it.
    """
    nodes, requested = jobs.nodes[equals[0]], jobs.requested[equals[0]]
    plan, extent = state.plan, state.extent[0]
    start = availability.earliest_start(plan, extent, nodes, requested, not_before, np.inf, np.inf)
    beside = equals.size
    if start > now and _note_held_up(jobs, state, equals[0], now + requested, now):
        beside = 1
    placed = 1
    if beside > 1:
        room = availability.min_free(plan, extent, start, start + requested)
        placed = min(beside, room // nodes)
    availability.add(plan, extent, start, start + requested, -placed * nodes)
    for place in range(placed):
        state.reserved[equals[place]] = start
    return start, placed


@kernel
def _note_held_up(jobs: SlotArrays, state: State, job: int, until: float, now: float) -> bool:
    """Whether nothing but containers keeps a job from running from now to `until`; recorded.

    If not, they do not hold up the next job either if it is equal.
    """
    nodes = jobs.nodes[job]
    if nodes > _free_now(state) + state.withheld[0]:
        return False
    if (
        until > now + 1
        and availability.min_free(state.plan, state.extent[0], now + 1, until) < nodes
    ):
        return False
    state.held_up[job] = True
    state.withheld[0] -= nodes
    return True


@kernel
def _start_due(jobs: SlotArrays, state: State, waiting: int, now: float) -> tuple[int, int]:
    """Start the jobs reserved for now; how many still wait, and the nodes taken."""
    kept, taken = 0, 0
    queue = state.queue
    for place in range(waiting):
        job = queue[place]
        if state.reserved[job] > now:
            queue[kept] = job
            kept += 1
            continue
        taken += jobs.nodes[job]
        state.start[job] = now
        state.expected_end[job] = now + jobs.requested[job]
        heappush(state.ends, (now + jobs.run[job], job))
        heappush(state.expected, (state.expected_end[job], job))
    return kept, taken


@kernel
def _replace_containers(containers: Containers, now: float, saved: int, idle: int) -> None:
    """Save and kill the youngest until they fit on the idle nodes, then start one on each other."""
    batches, held = containers.running, containers.held
    killed = max(0, held[0] - saved - idle)
    for saves, stopping in ((1, saved), (0, killed)):
        held[0] -= stopping
        while stopping > 0:
            start, nodes = batches.pop()
            count = min(stopping, nodes)
            containers.stopped.append((start, now, count, saves))
            stopping -= count
            if nodes > count:
                batches.append((start, nodes - count))
    if idle > held[0]:
        batches.append((now, idle - held[0]))
        held[0] = idle


@kernel
def _intervals(containers: Containers, now: float) -> np.ndarray:
    """Rows (start, end, nodes, saved) of all containers; those still running are saved now."""
    for start, nodes in containers.running:
        if start < now:
            containers.stopped.append((start, now, nodes, 1))
    table = np.empty((len(containers.stopped), 4))
    for row in range(table.shape[0]):
        start, end, nodes, saved = containers.stopped[row]
        table[row, 0], table[row, 1], table[row, 2], table[row, 3] = start, end, nodes, saved
    return table
