"""The clock of a time-shared machine, and who is let in.

At every instant at which something happens: jobs that are done leave; nodes whose noise is over
have their speed back, others are slowed; queued jobs, then new ones, are let in where there is
memory; and then rates are found once.
"""

import numpy as np

from cosimlib.kernels import heap
from cosimlib.kernels.jit import frugal_kernel, kernel
from cosimlib.timesharing import equal_share, maxmin, placement
from cosimlib.timesharing.maxmin import Sharing
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
    Asked,
    Noise,
    Progress,
    Series,
)

DONE, PAUSED, NEEDS_ROOM = 0, 1, 2
REFUSED, ENTERED, NO_ROOM = 0, 1, 2
ROUNDING = 1e-9
"""Part of a step that counts as nothing."""


@kernel
def advance(
    asked: Asked, sharing: Sharing, progress: Progress, noise: Noise, series: Series, until: float
) -> int:
    """Let everything before `until` happen; say whether all is done or a row of jobs is full."""
    while True:
        if progress.numbers[UNFINISHED]:
            now = progress.clock[NOW]
        else:
            now = next_instant(asked, progress, noise)
        if now >= until or now == np.inf:
            _integrate(sharing, progress, series, min(until, now) if now < np.inf else -np.inf)
            return DONE if now == np.inf else PAUSED
        _integrate(sharing, progress, series, now)
        progress.numbers[UNFINISHED] = 1
        if not happen(asked, sharing, progress, noise, now):
            return NEEDS_ROOM
        progress.numbers[UNFINISHED] = 0


@kernel
def happen(asked: Asked, sharing: Sharing, progress: Progress, noise: Noise, now: float) -> bool:
    """Let all that is due `now` happen; false where the node's rows of jobs are too short.

    It can then be called again for the same instant.
    """
    _end(asked, sharing, progress, now)
    _slow_down(asked, sharing, progress, noise, now)
    if not _admit(asked, sharing, progress, now):
        return False
    if asked.spmd:
        if asked.whole:
            maxmin.fill(sharing)
        else:
            maxmin.settle(sharing)
    _reckon(asked, sharing, progress, now)
    return True


@frugal_kernel
def next_instant(asked: Asked, progress: Progress, noise: Noise) -> float:
    """When something happens next; infinite once all jobs are done."""
    n = asked.submit_time.size
    submitted = progress.numbers[SUBMITTED]
    if submitted == n and progress.finish.size[0] == 0:
        return np.inf
    instant = np.inf
    if submitted < n:
        instant = asked.submit_time[submitted]
    if progress.finish.size[0] > 0:
        instant = min(instant, progress.finish.key[progress.finish.item[0]])
    if progress.numbers[SLOWED] > 0:
        instant = min(instant, progress.clock[RESTORE])
    if progress.numbers[DRAWN] < noise.time.size:
        instant = min(instant, noise.time[progress.numbers[DRAWN]])
    return max(instant, progress.clock[NOW])


@frugal_kernel
def _end(asked: Asked, sharing: Sharing, progress: Progress, now: float) -> None:
    """Jobs that are done leave."""
    finish = progress.finish
    while finish.size[0] > 0 and finish.key[finish.item[0]] <= now:
        job = heap.pop(finish)
        progress.end_time[job] = now
        maxmin.note(sharing, job)
        progress.clock[PRESENT] -= asked.nodes[job]
        if asked.spmd:
            maxmin.leave(sharing, job)
        else:
            equal_share.leave(sharing, job)
        if asked.memory[job] > 0.0:
            progress.clock[FREED] += asked.nodes[job]
            for place in range(sharing.first[job], sharing.first[job + 1]):
                placement.use(progress.memory, sharing.members[place], -asked.memory[job])


@frugal_kernel
def _slow_down(
    asked: Asked, sharing: Sharing, progress: Progress, noise: Noise, now: float
) -> None:
    """Nodes whose noise is over have their speed back; others are slowed for a step."""
    due = now + ROUNDING * asked.step
    if progress.numbers[SLOWED] > 0 and progress.clock[RESTORE] <= due:
        for place in range(progress.numbers[SLOWED]):
            _resize(asked, sharing, progress.slowed[place], asked.speed)
        progress.numbers[SLOWED] = 0
    drawn = progress.numbers[DRAWN]
    while drawn < noise.time.size and noise.time[drawn] <= due:
        node = noise.node[drawn]
        _resize(asked, sharing, node, asked.speed * noise.speed[drawn])
        progress.slowed[progress.numbers[SLOWED]] = node
        progress.numbers[SLOWED] += 1
        progress.clock[RESTORE] = now + asked.step
        drawn += 1
    progress.numbers[DRAWN] = drawn


@frugal_kernel
def _resize(asked: Asked, sharing: Sharing, node: int, capacity: float) -> None:
    """Give a node another capacity."""
    if asked.spmd:
        maxmin.resize(sharing, node, capacity)
    else:
        equal_share.resize(sharing, node, capacity)


@frugal_kernel
def _admit(asked: Asked, sharing: Sharing, progress: Progress, now: float) -> bool:
    """Let in whom there is memory for: the queue in order, then the jobs submitted now."""
    queue, waiting, kept, fits = progress.queue, progress.numbers[QUEUED], 0, True
    for place in range(waiting):
        job = queue[place]
        turn = fits and (kept == 0 or not asked.in_turn)
        entered = REFUSED
        if turn and progress.clock[FREED] >= progress.enough[job]:
            entered = _enter(asked, sharing, progress, job, now)
        fits = fits and entered != NO_ROOM
        if entered != ENTERED:
            queue[kept] = job
            kept += 1
    progress.numbers[QUEUED] = kept
    while fits and progress.numbers[SUBMITTED] < asked.submit_time.size:
        job = progress.numbers[SUBMITTED]
        if asked.submit_time[job] > now:
            break
        entered = REFUSED
        if not (asked.in_turn and progress.numbers[QUEUED] > 0):
            entered = _enter(asked, sharing, progress, job, now)
        if entered == NO_ROOM:
            return False
        if entered == REFUSED:
            queue[progress.numbers[QUEUED]] = job
            progress.numbers[QUEUED] += 1
        progress.numbers[SUBMITTED] += 1
    return fits


@frugal_kernel
def _enter(asked: Asked, sharing: Sharing, progress: Progress, job: int, now: float) -> int:
    """Start `job` where there is memory for it, and say whether that was so."""
    missing = placement.missing_nodes(
        progress.memory, sharing, job, asked.memory[job], asked.placed
    )
    if missing > 0:
        progress.enough[job] = progress.clock[FREED] + missing
        return REFUSED
    if not asked.placed:
        placement.place(progress.memory, sharing, progress.tally, job, asked.memory[job])
    for place in range(sharing.first[job], sharing.first[job + 1]):
        if sharing.load[sharing.members[place]] == sharing.on.shape[1]:
            return NO_ROOM
    if asked.memory[job] > 0.0:
        for place in range(sharing.first[job], sharing.first[job + 1]):
            placement.use(progress.memory, sharing.members[place], asked.memory[job])
    if asked.spmd:
        maxmin.join(sharing, job)
    else:
        equal_share.join(sharing, job)
    progress.start_time[job] = progress.since[job] = now
    progress.clock[PRESENT] += asked.nodes[job]
    return ENTERED


@frugal_kernel
def _reckon(asked: Asked, sharing: Sharing, progress: Progress, now: float) -> None:
    """What jobs whose rate moved have done so far, and when they will be done."""
    for place in range(sharing.moved[0]):
        job = sharing.changed[place]
        rate, before = sharing.rate[job], sharing.before[job]
        progress.clock[TOTAL] += (rate - before) * asked.nodes[job]
        if rate > 0.0:
            progress.left[job] -= before * (now - progress.since[job])
            progress.since[job] = now
            end = now + max(0.0, progress.left[job]) / rate
            if asked.step > 0.0:
                end = asked.step * np.ceil(end / asked.step - ROUNDING)
            heap.push(progress.finish, job, end)
    maxmin.forget_changes(sharing)


@frugal_kernel
def _integrate(sharing: Sharing, progress: Progress, series: Series, until: float) -> None:
    """Add up what has gone on since the last instant, window by window."""
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
