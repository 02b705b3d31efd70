"""Conservative backfilling in whole time slots, with containers that hold its idle nodes.

All that happens in a slot is absorbed at its beginning, in this order: jobs that outlive their
request are expected to end one slot later; jobs that have ended leave, and every waiting job in
order moves to an earlier hole where there is one; new jobs get theirs; jobs whose reservation has
come start. Jobs are whole numbers of slots long, one at least, so nothing
starts and ends at once.

Containers on idle nodes: the youngest are saved or killed first, and all idle nodes have one.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import availability, running
from cosimlib.kernels.availability import Profile
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.queue import next_different


class SlotArrays(NamedTuple):
    """Jobs in order of submission, their times in whole slots, float64."""

    submit: np.ndarray
    run: np.ndarray
    requested: np.ndarray
    nodes: np.ndarray


class Progress(NamedTuple):
    """What has become of every job, NaN where nothing has yet, and the plan for those that wait.

    `barred` has one value: nodes that containers still hold in the slot that begins, less those
    of jobs that would start in it if containers held none.
    """

    start: np.ndarray
    promised: np.ndarray
    reserved: np.ndarray
    expected_end: np.ndarray
    held_up: np.ndarray
    queue: np.ndarray
    barred: np.ndarray
    plan: Profile
    ends: list[tuple[float, int]]
    expected: list[tuple[float, int]]


@kernel
def fill(
    jobs: SlotArrays, capacity: int, depth: int, hold_back: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Starts, first reservations, who was held up, and stretches of containers under policy B.

    With `hold_back` the nodes of containers that were not to be saved are not to be had in the
    slot that begins; without, such containers are killed. At most `depth` jobs wait in the queue.
    """
    n = jobs.submit.size
    progress, fillers = _nothing(n, capacity, min(depth, n)), none(capacity)
    submitted, waiting, busy, held, now, before = 0, 0, 0, 0, 0.0, -np.inf
    while submitted < n or waiting > 0 or len(progress.ends) > 0:
        now, due = _next_slot(jobs, progress, submitted, waiting, depth)
        availability.advance(progress.plan, now)
        released, late = _expect(jobs, progress, now)
        saved = max(0, due - released)
        barred = held - saved if hold_back else 0
        progress.barred[0] = barred
        freed, until = _retire(jobs, progress, now)
        busy -= freed
        if late + barred > _free_now(progress):
            _plan_anew(jobs, progress, waiting, now, capacity, barred)
            before = np.inf
        else:
            availability.add(progress.plan, now, now + 1, -late - barred)
            if freed > 0 and max(before, until) > now:
                before = _compress(jobs, progress, waiting, now, max(before, until))
        started = 1
        while started > 0:
            submitted, waiting = _admit(jobs, progress, submitted, waiting, now, depth)
            waiting, started = _start(jobs, progress, waiting, now)
            busy += started
        held = capacity - busy
        turn_over(fillers, now, saved, held)
    return progress.start, progress.promised, progress.held_up, stretches(fillers, now)


@kernel
def _nothing(n: int, capacity: int, depth: int) -> Progress:
    """No job has been submitted."""
    return Progress(
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full(n, np.inf),
        np.full(n, np.nan),
        np.zeros(n, np.bool_),
        np.empty(depth, np.int64),
        np.zeros(1, np.int64),
        availability.empty(2 * (min(n, capacity) + depth) + 8, capacity),
        running.empty_ends(),
        running.empty_ends(),
    )


@kernel
def _free_now(progress: Progress) -> int:
    """Nodes that nobody has or has reserved in the slot that begins."""
    return progress.plan.free[progress.plan.bounds[0]]


@kernel
def _next_slot(
    jobs: SlotArrays, progress: Progress, submitted: int, waiting: int, depth: int
) -> tuple[float, int]:
    """When something ends, is due or can be let in next, and the nodes of all that is due then."""
    first, due = np.inf, 0
    for place in range(waiting):
        job = progress.queue[place]
        if progress.reserved[job] < first:
            first, due = progress.reserved[job], 0
        if progress.reserved[job] == first:
            due += jobs.nodes[job]
    now = first
    if len(progress.ends) > 0:
        now = min(now, progress.ends[0][0])
    if submitted < jobs.submit.size and waiting < depth:
        now = min(now, jobs.submit[submitted])
    return now, due if now == first else 0


@kernel
def _expect(jobs: SlotArrays, progress: Progress, now: float) -> tuple[int, int]:
    """Nodes of running jobs expected to have ended by now; of these, nodes of those that go on.

    They are then expected to end one slot later.
    """
    released, late = 0, 0
    expected = progress.expected
    while len(expected) > 0 and expected[0][0] <= now:
        end, job = heappop(expected)
        if progress.expected_end[job] != end:
            continue
        released += jobs.nodes[job]
        if progress.start[job] + jobs.run[job] > now:
            late += jobs.nodes[job]
            progress.expected_end[job] = now + 1
            heappush(expected, (now + 1, job))
    return released, late


@kernel
def _retire(jobs: SlotArrays, progress: Progress, now: float) -> tuple[int, float]:
    """Absorb every end up to now; return the nodes freed, and until when more are free."""
    freed, until = 0, -np.inf
    while len(progress.ends) > 0 and progress.ends[0][0] <= now:
        _, job = heappop(progress.ends)
        freed += jobs.nodes[job]
        if progress.expected_end[job] > now:
            until = max(until, progress.expected_end[job])
            availability.add(progress.plan, now, progress.expected_end[job], jobs.nodes[job])
        progress.expected_end[job] = np.nan
    return freed, until


@kernel
def _reserve(
    jobs: SlotArrays, progress: Progress, waiting: np.ndarray, now: float, since: float
) -> tuple[float, int]:
    """Give the first of some who are alike the first hole, and others of them the room beside it.

    It is known that no hole is before `since`. Returns the start, and how many have it.
    """
    nodes, requested = jobs.nodes[waiting[0]], jobs.requested[waiting[0]]
    start, neighbors = (
        availability.earliest_start(progress.plan, nodes, requested, since),
        waiting.size,
    )
    if start > now and _note_barred(jobs, progress, waiting[0], now + requested, now):
        neighbors = 1
    _, placed = availability.reserve(progress.plan, nodes, requested, start, neighbors)
    for place in range(placed):
        progress.reserved[waiting[place]] = start
    return start, placed


@kernel
def _note_barred(jobs: SlotArrays, progress: Progress, job: int, until: float, now: float) -> bool:
    """Note, and tell, where only containers keep a job from starting now in a hole until then.

    If it is not so, it is not so for the next one either, if that is alike.
    """
    nodes = jobs.nodes[job]
    if nodes > _free_now(progress) + progress.barred[0]:
        return False
    if until > now + 1 and availability.min_free(progress.plan, now + 1, until) < nodes:
        return False
    progress.held_up[job] = True
    progress.barred[0] -= nodes
    return True


@kernel
def _compress(
    jobs: SlotArrays, progress: Progress, waiting: int, now: float, before: float
) -> float:
    """Let every waiting job, in order, move to an earlier hole.

    Nodes have come free before the moment `before` and nowhere else since everybody was in the
    first hole. Returns until when those who moved leave holes to others before them in the queue.
    What a job has looked at in vain, the next need not look at if it is alike and not earlier;
    the most nodes free are counted anew, after a move, only when somebody wants more.
    """
    left, wide, long, latest, since = -np.inf, 0, 0.0, np.inf, now
    plan = progress.plan
    most, stale = availability.max_free(plan, before), False
    for place in range(waiting):
        job = progress.queue[place]
        nodes, lasting, start = jobs.nodes[job], jobs.requested[job], progress.reserved[job]
        if stale and nodes > most:
            most, stale = availability.max_free(plan, before), False
        if start == now or nodes > most + max(0, progress.barred[0]):
            continue
        if start < latest or nodes != wide or lasting != long:
            since = now
        wide, long, latest = nodes, lasting, start
        moment, _ = availability.earlier_start(plan, nodes, lasting, start, before, since)
        since = max(since, min(moment, before))
        if moment > now:
            _note_barred(jobs, progress, job, min(now + lasting, start), now)
        if moment < start:
            availability.add(plan, start, start + lasting, nodes)
            availability.add(plan, moment, moment + lasting, -nodes)
            progress.reserved[job] = moment
            left = max(left, start + lasting)
            before = max(before, left)
            stale = True
    return left


@kernel
def _plan_anew(
    jobs: SlotArrays, progress: Progress, waiting: int, now: float, capacity: int, barred: int
) -> None:
    """Forget every reservation and make them again, in order.

    A job like the one before it looks no earlier: while nodes are only taken no hole appears.
    """
    plan, queue = progress.plan, progress.queue[:waiting]
    plan.bounds[0], plan.bounds[1] = 0, 1
    plan.times[0], plan.free[0] = now, capacity
    availability.add(plan, now, now + 1, -barred)
    for _, job in progress.ends:
        availability.add(plan, now, progress.expected_end[job], -jobs.nodes[job])
    place = 0
    while place < waiting:
        end, since = next_different(jobs.nodes, jobs.requested, queue, place), now
        while place < end:
            since, placed = _reserve(jobs, progress, queue[place:end], now, since)
            place += placed


@kernel
def _admit(
    jobs: SlotArrays, progress: Progress, submitted: int, waiting: int, now: float, depth: int
) -> tuple[int, int]:
    """Queue jobs as long as there are places, and promise each its start."""
    while submitted < jobs.submit.size and jobs.submit[submitted] <= now and waiting < depth:
        progress.queue[waiting] = submitted
        waiting += 1
        newest = progress.queue[waiting - 1 : waiting]
        progress.promised[submitted], _ = _reserve(jobs, progress, newest, now, now)
        submitted += 1
    return submitted, waiting


@kernel
def _start(jobs: SlotArrays, progress: Progress, waiting: int, now: float) -> tuple[int, int]:
    """Start what is due; return how many still wait, and the nodes now taken."""
    kept, taken = 0, 0
    queue = progress.queue
    for place in range(waiting):
        job = queue[place]
        if progress.reserved[job] > now:
            queue[kept] = job
            kept += 1
            continue
        taken += jobs.nodes[job]
        progress.start[job] = now
        progress.expected_end[job] = now + jobs.requested[job]
        heappush(progress.ends, (now + jobs.run[job], job))
        heappush(progress.expected, (progress.expected_end[job], job))
    return kept, taken


class Containers(NamedTuple):
    """Batches that run, the youngest last; and stretches (from, to, nodes, saved) of others."""

    since: np.ndarray
    nodes: np.ndarray
    batches: np.ndarray
    stopped: list[tuple[float, float, int, int]]


@kernel
def none(capacity: int) -> Containers:
    """None runs, none has."""
    return Containers(
        np.empty(capacity + 1, np.float64),
        np.empty(capacity + 1, np.int64),
        np.zeros(1, np.int64),
        [(0.0, 0.0, 0, 0) for _ in range(0)],
    )


@kernel
def turn_over(containers: Containers, now: float, saved: int, idle: int) -> None:
    """Save and kill the youngest containers, so that nobody holds more than is idle; fill up."""
    since, nodes, batches = containers.since, containers.nodes, containers.batches
    held = np.sum(nodes[: batches[0]])
    killed = max(0, held - saved - idle)
    for saves, stopping in ((1, saved), (0, killed)):
        held -= stopping
        while stopping > 0:
            batch = batches[0] - 1
            count = min(stopping, nodes[batch])
            containers.stopped.append((since[batch], now, count, saves))
            stopping -= count
            nodes[batch] -= count
            if nodes[batch] == 0:
                batches[0] -= 1
    if idle > held:
        since[batches[0]], nodes[batches[0]] = now, idle - held
        batches[0] += 1


@kernel
def stretches(containers: Containers, now: float) -> np.ndarray:
    """One row for each stretch of containers; those still running are saved now."""
    for batch in range(containers.batches[0]):
        if containers.since[batch] < now:
            containers.stopped.append((containers.since[batch], now, containers.nodes[batch], 1))
    table = np.empty((len(containers.stopped), 4))
    for row in range(table.shape[0]):
        since, end, nodes, saved = containers.stopped[row]
        table[row, 0], table[row, 1], table[row, 2], table[row, 3] = since, end, nodes, saved
    return table
