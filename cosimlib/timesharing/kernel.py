"""Event loop of a time-shared machine: ends, noise, admission by memory, rates.

At every instant at which something happens: jobs that are done leave; nodes whose noise is over
have their speed back, others are slowed; queued jobs, then new ones, start where there is
memory; and then rates are found once. Where no job runs or waits, the next instant is the next
submission: noise of steps that end before it slows nobody and is passed over.

*Noise*: in each step each node is slowed with a probability, to a speed uniform in [0.5, 1]. The
paper (Hofmeyr et al., HPCC 2016) prints a probability of 0.0001, but both numbers that it derives,
5 or 6 of 5,576 nodes in a step and 0.025 % of the capacity, need 0.001.
"""

import math
from typing import NamedTuple

import numpy as np

from cosimlib.kernels import heap
from cosimlib.kernels.heap import Heap
from cosimlib.kernels.jit import kernel
from cosimlib.timesharing import maxmin, placement
from cosimlib.timesharing.maxmin import Sharing

DONE, PAUSED, NEEDS_SLOTS = 0, 1, 2
REFUSED, STARTED, NO_SLOT = 0, 1, 2

STEP = 10.0
"""Seconds of a step."""

ROUNDING = 1e-9
"""Part of a step that counts as nothing."""

NOISE = 0.001
"""Probability that a node is slowed in a step, as the paper's own numbers need it."""

SLOWEST = 0.5
"""The least speed of a slowed node."""

NOW, TOTAL, PRESENT, FREED, RESTORE = 0, 1, 2, 3, 4
"""Cells of `Progress.clock`."""

SUBMITTED, QUEUED, SLOWED, DRAWN, UNFINISHED = 0, 1, 2, 3, 4
"""Cells of `Progress.numbers`."""


class Setup(NamedTuple):
    """Jobs as the loop sees them, one value per job, and the knobs.

    `memory` is GB per node; `speed` a node's capacity without overhead; `step` seconds, 0 for exact
    times. `placed`: the jobs' nodes are given. `fcfs`: no job passes one that waits for memory.
    `refill`: rates are found from nothing at each instant, for comparison.
    """

    submit_time: np.ndarray
    run_time: np.ndarray
    nodes: np.ndarray
    memory: np.ndarray
    speed: float
    step: float
    spmd: bool
    placed: bool
    fcfs: bool
    refill: bool


class Progress(NamedTuple):
    """Progress of the jobs, the queue, and the clock.

    Per job: `start_time`, `end_time`; `work_left` at the time `updated`, in seconds at full speed;
    `freed_needed`, what `clock[FREED]` must reach before a queued job can fit. `finish`: running
    jobs by their expected ends. `queue`: jobs that wait for memory, in order. `slowed`: nodes.

    `clock`: the time; the sums of rates × nodes and of nodes over the jobs present; on how many
    nodes memory came free so far; when slowed nodes have their speed back. `numbers`: the jobs
    submitted, those queued, the slowed nodes, the slowdowns used up, and whether the instant of the
    clock has yet to be finished. `free`: memory of nodes (GB). `tally` is scratch of `placement`.
    """

    start_time: np.ndarray
    end_time: np.ndarray
    work_left: np.ndarray
    updated: np.ndarray
    finish: Heap
    queue: np.ndarray
    freed_needed: np.ndarray
    free: np.ndarray
    slowed: np.ndarray
    clock: np.ndarray
    numbers: np.ndarray
    tally: np.ndarray


class Noise(NamedTuple):
    """Slowdowns in order of time: start of the step (s), node, speed of the node in that step."""

    time: np.ndarray
    node: np.ndarray
    speed: np.ndarray


class Series(NamedTuple):
    """Integrals over windows of `width` seconds from `begin` on.

    Columns: node-seconds of useful work, jobs × nodes × seconds present, jobs × seconds waiting.
    """

    begin: float
    width: float
    sums: np.ndarray


def with_more_slots(sharing: Sharing, progress: Progress) -> tuple[Sharing, Progress]:
    """The same state with rows for twice as many jobs on a node."""
    nodes, slots = sharing.on.shape
    on = np.empty((nodes, 2 * slots), np.uint32)
    on[:, :slots] = sharing.on
    limit, own = np.empty(2 * slots), np.empty(2 * slots, np.uint32)
    other = np.empty(2 * slots, np.int32)
    sharing = sharing._replace(on=on, limit=limit, other=other, own=own)
    return sharing, progress._replace(tally=np.zeros(2 * slots + 1, np.int64))


def empty(run_time: np.ndarray, total_nodes: int, memory: float, slots: int) -> Progress:
    """The state before the first submission."""
    n = run_time.size
    return Progress(
        np.full(n, np.nan),
        np.full(n, np.nan),
        run_time.copy(),
        np.zeros(n),
        heap.empty(n),
        np.empty(n, np.int64),
        np.zeros(n),
        np.full(total_nodes, memory),
        np.empty(total_nodes, np.int64),
        np.zeros(5),
        np.zeros(5, np.int64),
        np.zeros(slots + 1, np.int64),
    )


def no_noise() -> Noise:
    """No slowdowns."""
    return Noise(np.empty(0), np.empty(0, np.int64), np.empty(0))


def noise_between(
    rng: np.random.Generator, total_nodes: int, begin: float, until: float, step: float, p: float
) -> Noise:
    """The noise of the steps that begin from `begin` to before `until`."""
    if not p:
        return no_noise()
    first = math.ceil(begin / step - ROUNDING)
    steps = math.ceil(until / step - ROUNDING) - first
    return draw_noise(rng, total_nodes, first * step, steps, step, p)


def draw_noise(
    rng: np.random.Generator, total_nodes: int, begin: float, steps: int, step: float, p: float
) -> Noise:
    """The noise of `steps` steps from `begin` on; each node is slowed with probability `p`."""
    places = total_nodes * steps
    found = [np.empty(0, np.int64)]
    last = -1
    while p > 0 and last < places:
        gaps = rng.geometric(p, size=max(16, int(1.1 * (places - last) * p)))
        # No gap need be longer than all there is: sums of those of a tiny p would overflow.
        gaps = np.minimum(gaps, places + 1)
        found.append(last + np.cumsum(gaps))
        last = int(found[-1][-1])
    at = np.concatenate(found)
    at = at[at < places]
    speed = rng.uniform(SLOWEST, 1.0, at.size)
    return Noise(begin + at // total_nodes * step, at % total_nodes, speed)


@kernel
def advance(
    setup: Setup, sharing: Sharing, progress: Progress, noise: Noise, series: Series, until: float
) -> int:
    """Simulate up to `until`; DONE, PAUSED there, or NEEDS_SLOTS where a row of jobs is full."""
    while True:
        if progress.numbers[UNFINISHED]:
            now = progress.clock[NOW]
        else:
            now = next_instant(setup, progress, noise)
        if now >= until or now == np.inf:
            _integrate(sharing, progress, series, min(until, now) if now < np.inf else -np.inf)
            return DONE if now == np.inf else PAUSED
        _integrate(sharing, progress, series, now)
        progress.numbers[UNFINISHED] = 1
        if not process_instant(setup, sharing, progress, noise, now):
            return NEEDS_SLOTS
        progress.numbers[UNFINISHED] = 0


@kernel
def process_instant(
    setup: Setup, sharing: Sharing, progress: Progress, noise: Noise, now: float
) -> bool:
    """Let all that is due `now` happen; False where a node's row of jobs is too short.

    It can then be called again for the same instant.
    """
    _end_jobs(setup, sharing, progress, now)
    _slow_down(setup, sharing, progress, noise, now)
    if not _admit(setup, sharing, progress, now):
        return False
    if setup.spmd:
        if setup.refill:
            maxmin.fill(sharing)
        else:
            maxmin.settle(sharing, maxmin.MOST_ROUNDS)
    _update_ends(setup, sharing, progress, now)
    return True


@kernel
def next_instant(setup: Setup, progress: Progress, noise: Noise) -> float:
    """Time of the next event (s); infinite once all jobs are done."""
    n = setup.submit_time.size
    submitted = progress.numbers[SUBMITTED]
    if submitted == n and progress.finish.size[0] == 0:
        return np.inf
    instant = np.inf
    if submitted < n:
        instant = setup.submit_time[submitted]
    if progress.finish.size[0] > 0:
        instant = min(instant, progress.finish.key[progress.finish.item[0]])
    elif progress.numbers[QUEUED] == 0:
        return max(instant, progress.clock[NOW])
    if progress.numbers[SLOWED] > 0:
        instant = min(instant, progress.clock[RESTORE])
    if progress.numbers[DRAWN] < noise.time.size:
        instant = min(instant, noise.time[progress.numbers[DRAWN]])
    return max(instant, progress.clock[NOW])


@kernel
def _end_jobs(setup: Setup, sharing: Sharing, progress: Progress, now: float) -> None:
    """Jobs that are done leave."""
    finish = progress.finish
    while finish.size[0] > 0 and finish.key[finish.item[0]] <= now:
        job = heap.pop(finish)
        progress.end_time[job] = now
        maxmin.record_change(sharing, job)
        progress.clock[PRESENT] -= setup.nodes[job]
        if setup.spmd:
            maxmin.leave(sharing, job)
        else:
            maxmin.leave_equally(sharing, job)
        if setup.memory[job] > 0.0:
            progress.clock[FREED] += setup.nodes[job]
            for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
                progress.free[sharing.members[place]] += setup.memory[job]


@kernel
def _slow_down(
    setup: Setup, sharing: Sharing, progress: Progress, noise: Noise, now: float
) -> None:
    """Nodes whose slow step is over have their speed back; others are slowed for a step."""
    # Instants are a step apart at least; late times are rounded.
    latest = now + 0.5 * setup.step
    if progress.numbers[SLOWED] > 0 and progress.clock[RESTORE] <= latest:
        for place in range(progress.numbers[SLOWED]):
            _resize(setup, sharing, progress.slowed[place], setup.speed)
        progress.numbers[SLOWED] = 0
    # Nothing but idle time is passed over: else every step with noise is an instant.
    over = np.searchsorted(noise.time, now - 0.5 * setup.step)
    drawn = max(progress.numbers[DRAWN], over)
    while drawn < noise.time.size and noise.time[drawn] <= latest:
        node = noise.node[drawn]
        _resize(setup, sharing, node, setup.speed * noise.speed[drawn])
        progress.slowed[progress.numbers[SLOWED]] = node
        progress.numbers[SLOWED] += 1
        progress.clock[RESTORE] = noise.time[drawn] + setup.step
        drawn += 1
    progress.numbers[DRAWN] = drawn


@kernel
def _resize(setup: Setup, sharing: Sharing, node: int, capacity: float) -> None:
    """Change the capacity of a node."""
    if setup.spmd:
        maxmin.resize(sharing, node, capacity)
    else:
        maxmin.resize_equally(sharing, node, capacity)


@kernel
def _admit(setup: Setup, sharing: Sharing, progress: Progress, now: float) -> bool:
    """Start what there is memory for: the queue in order, then the jobs submitted now."""
    queue, waiting, kept, fits = progress.queue, progress.numbers[QUEUED], 0, True
    for place in range(waiting):
        job = queue[place]
        may_start = fits and (kept == 0 or not setup.fcfs)
        outcome = REFUSED
        if may_start and progress.clock[FREED] >= progress.freed_needed[job]:
            outcome = _start(setup, sharing, progress, job, now)
        fits = fits and outcome != NO_SLOT
        if outcome != STARTED:
            queue[kept] = job
            kept += 1
    progress.numbers[QUEUED] = kept
    while fits and progress.numbers[SUBMITTED] < setup.submit_time.size:
        job = progress.numbers[SUBMITTED]
        if setup.submit_time[job] > now:
            break
        outcome = REFUSED
        if not (setup.fcfs and progress.numbers[QUEUED] > 0):
            outcome = _start(setup, sharing, progress, job, now)
        if outcome == NO_SLOT:
            return False
        if outcome == REFUSED:
            queue[progress.numbers[QUEUED]] = job
            progress.numbers[QUEUED] += 1
        progress.numbers[SUBMITTED] += 1
    return fits


@kernel
def _start(setup: Setup, sharing: Sharing, progress: Progress, job: int, now: float) -> int:
    """Start `job` if there is memory for it: STARTED, REFUSED, or NO_SLOT in a row of jobs."""
    missing = placement.missing_nodes(progress.free, sharing, job, setup.memory[job], setup.placed)
    if missing > 0:
        progress.freed_needed[job] = progress.clock[FREED] + missing
        return REFUSED
    if not setup.placed:
        placement.place(progress.free, progress.tally, sharing, job, setup.memory[job])
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        if sharing.load[sharing.members[place]] == sharing.on.shape[1]:
            return NO_SLOT
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        progress.free[sharing.members[place]] -= setup.memory[job]
    if setup.spmd:
        maxmin.join(sharing, job)
    else:
        maxmin.join_equally(sharing, job)
    progress.start_time[job] = progress.updated[job] = now
    progress.clock[PRESENT] += setup.nodes[job]
    return STARTED


@kernel
def _update_ends(setup: Setup, sharing: Sharing, progress: Progress, now: float) -> None:
    """Update work left and expected end of the jobs whose rate changed."""
    for place in range(sharing.moved[0]):
        job = sharing.changed[place]
        rate, before = sharing.jobs[job].rate, sharing.jobs[job].before
        progress.clock[TOTAL] += (rate - before) * setup.nodes[job]
        if rate > 0.0:
            progress.work_left[job] -= before * (now - progress.updated[job])
            progress.updated[job] = now
            end = now + max(0.0, progress.work_left[job]) / rate
            if setup.step > 0.0:
                end = setup.step * np.ceil(end / setup.step - ROUNDING)
            heap.push(progress.finish, job, end)
    maxmin.clear_changes(sharing)


@kernel
def _integrate(sharing: Sharing, progress: Progress, series: Series, until: float) -> None:
    """Add up work, presence and waiting since the last instant, window by window."""
    now = progress.clock[NOW]
    while now < until:
        window = int((now - series.begin) // series.width)
        edge = min(until, series.begin + (window + 1) * series.width)
        if edge <= now:
            edge = until
        series.sums[window, 0] += progress.clock[TOTAL] * (edge - now)
        series.sums[window, 1] += progress.clock[PRESENT] * (edge - now)
        series.sums[window, 2] += progress.numbers[QUEUED] * (edge - now)
        now = edge
    progress.clock[NOW] = max(progress.clock[NOW], until)
