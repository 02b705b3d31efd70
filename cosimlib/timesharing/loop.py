"""Event loop of a time-shared machine: ends, noise, admission by memory, rates.

At every instant at which something happens: jobs that are done leave; nodes whose noise is over
have their speed back, others are slowed; queued jobs, then new ones, start where there is
memory; and then rates are found once. Where no job runs or waits, the next instant is the next
submission: noise of steps that end before it slows nobody and is passed over.
"""

import numpy as np

from cosimlib.kernels import heap
from cosimlib.kernels.jit import frugal_kernel, inner_kernel, kernel
from cosimlib.timesharing import equal_share, maxmin, placement
from cosimlib.timesharing.maxmin import Sharing
from cosimlib.timesharing.noise import ROUNDING
from cosimlib.timesharing.state import (
    DRAWN,
    FREED,
    NOW,
    PRESENT,
    QUEUED,
    RESTORE,
    SLOWED,
    SUBMITTED,
    TOTAL,
    UNFINISHED,
    Noise,
    Progress,
    Series,
    Setup,
)

DONE, PAUSED, NEEDS_ROOM = 0, 1, 2
REFUSED, STARTED, NO_ROOM = 0, 1, 2


@kernel
def advance(
    setup: Setup, sharing: Sharing, progress: Progress, noise: Noise, series: Series, until: float
) -> int:
    """Simulate up to `until`; DONE, PAUSED there, or NEEDS_ROOM where a row of jobs is full."""
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
            return NEEDS_ROOM
        progress.numbers[UNFINISHED] = 0


@frugal_kernel
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
            maxmin.settle(sharing, maxmin.PATIENCE)
    _update_ends(setup, sharing, progress, now)
    return True


@frugal_kernel
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


@inner_kernel
def _end_jobs(setup: Setup, sharing: Sharing, progress: Progress, now: float) -> None:
    """Jobs that are done leave."""
    finish = progress.finish
    while finish.size[0] > 0 and finish.key[finish.item[0]] <= now:
        job = heap.pop(finish)
        progress.end_time[job] = now
        maxmin.record_change(sharing, job)
        progress.clock[PRESENT] -= setup.nodes[job]
        for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
            node = sharing.members[place]
            placement.count_fewer(progress.loads, node, sharing.load[node])
        if setup.spmd:
            maxmin.leave(sharing, job)
        else:
            equal_share.leave(sharing, job)
        if setup.memory[job] > 0.0:
            progress.clock[FREED] += setup.nodes[job]
            for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
                placement.use(progress.memory, sharing.members[place], -setup.memory[job])


@inner_kernel
def _slow_down(
    setup: Setup, sharing: Sharing, progress: Progress, noise: Noise, now: float
) -> None:
    """Nodes whose slow step is over have their speed back; others are slowed for a step."""
    due = now + ROUNDING * setup.step
    if progress.numbers[SLOWED] > 0 and progress.clock[RESTORE] <= due:
        for place in range(progress.numbers[SLOWED]):
            _resize(setup, sharing, progress.slowed[place], setup.speed)
        progress.numbers[SLOWED] = 0
    # Nothing but idle time is passed over: else every step with noise is an instant.
    over = np.searchsorted(noise.time, now - 0.5 * setup.step)
    drawn = max(progress.numbers[DRAWN], over)
    while drawn < noise.time.size and noise.time[drawn] <= due:
        node = noise.node[drawn]
        _resize(setup, sharing, node, setup.speed * noise.speed[drawn])
        progress.slowed[progress.numbers[SLOWED]] = node
        progress.numbers[SLOWED] += 1
        progress.clock[RESTORE] = now + setup.step
        drawn += 1
    progress.numbers[DRAWN] = drawn


@inner_kernel
def _resize(setup: Setup, sharing: Sharing, node: int, capacity: float) -> None:
    """Change the capacity of a node."""
    if setup.spmd:
        maxmin.resize(sharing, node, capacity)
    else:
        equal_share.resize(sharing, node, capacity)


@inner_kernel
def _admit(setup: Setup, sharing: Sharing, progress: Progress, now: float) -> bool:
    """Start what there is memory for: the queue in order, then the jobs submitted now."""
    queue, waiting, kept, fits = progress.queue, progress.numbers[QUEUED], 0, True
    for place in range(waiting):
        job = queue[place]
        may_start = fits and (kept == 0 or not setup.fcfs)
        outcome = REFUSED
        if may_start and progress.clock[FREED] >= progress.freed_needed[job]:
            outcome = _start(setup, sharing, progress, job, now)
        fits = fits and outcome != NO_ROOM
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
        if outcome == NO_ROOM:
            return False
        if outcome == REFUSED:
            queue[progress.numbers[QUEUED]] = job
            progress.numbers[QUEUED] += 1
        progress.numbers[SUBMITTED] += 1
    return fits


@inner_kernel
def _start(setup: Setup, sharing: Sharing, progress: Progress, job: int, now: float) -> int:
    """Start `job` if there is memory for it: STARTED, REFUSED, or NO_ROOM in a row of jobs."""
    missing = placement.missing_nodes(
        progress.memory, sharing, job, setup.memory[job], setup.placed
    )
    if missing > 0:
        progress.freed_needed[job] = progress.clock[FREED] + missing
        return REFUSED
    if not setup.placed:
        placement.place(progress.memory, progress.loads, sharing, job, setup.memory[job])
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        if sharing.load[sharing.members[place]] == sharing.on.shape[1]:
            return NO_ROOM
    for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
        placement.count_more(progress.loads, sharing.load[sharing.members[place]])
    if setup.memory[job] > 0.0:
        for place in range(sharing.jobs[job].first, sharing.jobs[job].last):
            placement.use(progress.memory, sharing.members[place], setup.memory[job])
    if setup.spmd:
        maxmin.join(sharing, job)
    else:
        equal_share.join(sharing, job)
    progress.start_time[job] = progress.updated[job] = now
    progress.clock[PRESENT] += setup.nodes[job]
    return STARTED


@inner_kernel
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


@inner_kernel
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
