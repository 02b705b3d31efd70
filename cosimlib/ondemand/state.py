"""State of a machine with bursts of on-demand work, the progress of each job, and the log.

A batch job computes; its *progress* is the seconds of its run time that are done. Its application
writes a checkpoint whenever progress reaches a multiple of the job's interval, which may cost time
(`charge`). A job that was evicted starts again from the progress that is `saved`, once its
checkpoint has been read. Jobs that make way for a burst (`victim` names it) stand still from the
moment at which their own checkpoint is due until it is written.

A job on fewer nodes than it asked for, or one that shares them, goes slower: all that it does,
reading and checkpoints included, takes longer by 1 / `speed`. Times that this makes are rounded to
`GRAIN`, so that what happens at once is seen to happen at once; what follows from them is reckoned
from what they are `exact`ly, so that rounding does not add up.

`start_job`, `change_rate`, `stop_job`, `remove_job`, `enqueue` and `begin_collecting` are what can
happen to one job by itself.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import heap, releases
from cosimlib.kernels.heap import Heap
from cosimlib.kernels.jit import kernel

UNSEEN, QUEUED, COLLECTING, RUNNING, DONE = range(5)
"""Stages of a job; only bursts collect nodes."""

READ, COMPUTE, WRITE, STAND, HOLD, BURST, TURN = range(7)
"""Kinds of a stretch of time: a checkpoint is read; the job computes; its checkpoint is written to
evict it; it stands still before that; nodes are held for a burst; a burst runs; a job or burst
stands still because those that it shares nodes with have their turn."""

GRAIN = 2.0**-20
"""Seconds, a millionth or so: times of jobs that go slower are multiples of it."""

FREE, USED, QUEUE, BURSTS, RUN, RELEASES, BURST_RELEASES, WRITER, FINISHED = range(9)
"""Cells of `State.counts`: free nodes, nodes that bursts hold or run on, lengths of the queue, of
the bursts that collect nodes, of the jobs that run and of both lists of releases, the job whose
checkpoint is being written (−1: none), jobs done."""


JOB = np.dtype(
    [
        ("submit_time", "f8"),
        ("run_time", "f8"),
        ("requested_time", "f8"),
        ("nodes", "i8"),
        ("on_demand", "?"),
        ("interval", "f8"),
        ("charge", "f8"),
        ("app_write", "f8"),
        ("sys_write", "f8"),
        ("longest_delay", "f8"),
        ("call_time", "f8"),
        ("expected_time", "f8"),
        ("least_nodes", "i8"),
    ],
    align=True,
)
"""What is asked of a job, in seconds and nodes; jobs are in order of submission.

`interval` is infinite where there are no application checkpoints, `charge` 0 where they cost
nothing. `longest_delay`, `call_time` (infinite where nodes are not collected ahead) and
`expected_time` are those of bursts. A job may shrink to its `least_nodes`.
"""

PROGRESS = {
    "stage": "i8",
    "attempt": "i8",
    "saved": "f8",
    "reread": "f8",
    "origin": "f8",
    "origin_progress": "f8",
    "reached": "f8",
    "since": "f8",
    "stopped": "f8",
    "expected": "f8",
    "victim": "i8",
    "action": "i8",
    "write": "f8",
    "write_begin": "f8",
    "decided": "f8",
    "held": "i8",
    "width": "i8",
    "speed": "f8",
    "rounded": "?",
    "guest": "i8",
    "lent": "i8",
    "hosts": "i8",
    "start_time": "f8",
    "end_time": "f8",
    "place": "i8",
}
"""Where a job is, field by field.

origin
    When computing began: in the future while the checkpoint is read; moved by standing still. Of a
    job whose speed changed: when it would have begun at the speed that it has now.
origin_progress, reached
    Progress at `origin`, and at `since`.
since
    Begin of the stretch that is not in the log yet; of a burst that collects: of its `held`.
stopped
    Since when the job stands still; NaN while it does not.
write, write_begin
    Seconds that its checkpoint takes to write, and when it is to be written.
width, speed
    Nodes that are its own now, and the part of full speed, in (0, 1], of a running job.
rounded
    Whether its times are to be rounded.
guest, lent
    The burst that shares its nodes (−1: none), and how many of them.
hosts
    Of a burst: the jobs that share nodes with it.
place
    Where it is in `State.running`.
"""


class State(NamedTuple):
    """The machine at an instant: one record per job, lists of jobs, heaps and counts."""

    jobs: np.recarray
    exact: np.ndarray
    """This instant, before it was rounded; one value."""
    ends: Heap
    ready: Heap
    writes: Heap
    times: np.ndarray
    nodes: np.ndarray
    burst_times: np.ndarray
    burst_nodes: np.ndarray
    queue: np.ndarray
    collecting: np.ndarray
    running: np.ndarray
    counts: np.ndarray


class Log(NamedTuple):
    """What happened, one row per entry; rows beyond the tables' room are counted only.

    `stretches`: kind, job, attempt, start, end, nodes, progress from and to, and the seconds that
    an application checkpoint in progress still takes at the start. `evictions`: job, attempt,
    burst, action, time of the decision, since when it stands, end, progress, progress kept.
    `plans`: burst, time, nodes needed, jobs to choose from, deadline (s), delay (s), loss and
    blocked (node-seconds). `size` holds the number of rows of each.
    """

    stretches: np.ndarray
    evictions: np.ndarray
    plans: np.ndarray
    size: np.ndarray


STRETCHES, EVICTIONS, PLANS = range(3)
"""Cells of `Log.size`."""


def empty(n: int, total_nodes: int) -> State:
    """A machine on which nothing has happened, for `n` jobs."""
    jobs = np.zeros(n, np.dtype([*PROGRESS.items()], align=True)).view(np.recarray)
    jobs.attempt = jobs.victim = jobs.guest = jobs.place = -1
    jobs.stopped = jobs.start_time = jobs.end_time = np.nan
    jobs.speed = 1.0
    counts = np.zeros(9, np.int64)
    counts[FREE], counts[WRITER] = total_nodes, -1
    return State(
        jobs,
        np.zeros(1),
        heap.empty(n),
        heap.empty(n),
        heap.empty(n),
        np.empty(2 * n + 1),
        np.empty(2 * n + 1, np.int64),
        np.empty(2 * n + 1),
        np.empty(2 * n + 1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        counts,
    )


def empty_log(room: int) -> Log:
    """A log without rows, with room for so many in each table."""
    return Log(
        np.empty((room, 9)), np.empty((room, 9)), np.empty((room, 8)), np.zeros(3, np.int64)
    )  # fmt: skip


@kernel
def next_row(log: Log, table: int, rows: np.ndarray) -> int:
    """Count a new row of a table; its place, or the last one where there is no room."""
    row = log.size[table]
    log.size[table] += 1
    return min(row, len(rows) - 1)


@kernel
def elapsed_for(jobs: np.recarray, job: int, done: float, until: float) -> float:
    """Seconds that computing from one progress to another takes, checkpoints in between included.

    A checkpoint is due at each multiple of the interval that lies strictly between the two.
    """
    if until <= done:
        return 0.0
    interval = jobs[job].interval
    checkpoints = np.ceil(until / interval) - 1 - np.floor(done / interval)
    return until - done + jobs[job].charge * max(checkpoints, 0.0)


@kernel
def grain(time: float) -> float:
    """A time rounded to whole `GRAIN`s."""
    return np.round(time / GRAIN) * GRAIN


@kernel
def elapsed(state: State, job: int, now: float) -> float:
    """Seconds of its own since computing began, at full speed; below 0 while it still reads."""
    own = state.jobs[job]
    seconds = (now - own.origin) * own.speed
    return grain(seconds) if own.rounded else seconds


@kernel
def time_of(state: State, job: int, seconds: float) -> float:
    """When so many seconds of its own will have elapsed, at the speed that it has now."""
    own = state.jobs[job]
    time = own.origin + seconds / own.speed
    return grain(time) if own.rounded else time


@kernel
def keep_exact(state: State, job: int, now: float) -> None:
    """Reckon from when exactly it is that something happens to a job now."""
    own = state.jobs[job]
    if own.rounded:
        state.exact[0] = own.origin + elapsed(state, job, now) / own.speed


@kernel
def progress(jobs: np.recarray, state: State, job: int, now: float) -> tuple[float, float, float]:
    """Progress, the part of it that is saved, and the seconds left of a checkpoint in progress.

    Of an application's own checkpoint: one that is written to evict the job is not counted.
    """
    base, saved = state.jobs[job].origin_progress, state.jobs[job].saved
    interval, charge = jobs[job].interval, jobs[job].charge
    seconds = elapsed(state, job, now)
    if seconds <= 0.0:
        return base, saved, 0.0
    checkpoint = interval * (np.floor(base / interval) + 1.0)
    if not seconds >= checkpoint - base:
        return base + seconds, saved, 0.0
    beyond = seconds - (checkpoint - base)
    periods = np.floor(beyond / (interval + charge))
    rest = beyond - periods * (interval + charge)
    checkpoint += periods * interval
    if rest < charge:
        return checkpoint, max(saved, checkpoint - interval), charge - rest
    return checkpoint + rest - charge, max(saved, checkpoint), 0.0


@kernel
def write_end(state: State) -> float:
    """When the checkpoint that is being written is whole."""
    own = state.jobs[state.counts[WRITER]]
    return own.write_begin + own.write


@kernel
def log_stretch(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """Log what a running job did since its last stretch.

    Jobs and bursts that share nodes take turns. The log shows the burst's turns of a stretch as
    one, and before those of its hosts: a stretch ends, for all of them, when one comes or goes.
    """
    own = state.jobs[job]
    begin, nodes, before = own.since, float(own.width), own.reached
    own.since = now
    if not begin < now:
        return
    left = progress(jobs, state, job, begin)[2]
    done = progress(jobs, state, job, now)[0]
    own.reached = done
    if jobs[job].on_demand:
        turn = now if own.hosts == 0 else _turn_end(state, job, begin, now)
        all_nodes = float(jobs[job].nodes)
        _add_stretch(state, log, BURST, job, (begin, turn), (all_nodes, before, done, 0.0))
        _add_stretch(state, log, TURN, job, (turn, now), (nodes, done, done, 0.0))
    elif not np.isnan(own.stopped):
        kind = WRITE if state.counts[WRITER] == job else STAND
        left = progress(jobs, state, job, own.stopped)[2]
        own.reached = before
        _add_stretch(state, log, kind, job, (begin, now), (nodes, before, before, left))
    else:
        _log_computing(state, log, job, (begin, now), (before, done, left))


@kernel
def _log_computing(
    state: State,
    log: Log,
    job: int,
    span: tuple[float, float],
    amounts: tuple[float, float, float],
) -> None:
    """Log the turn of others, the reading and the computing of a batch job.

    `amounts` are its progress from and to, and what is left of a checkpoint in progress.
    """
    own, (begin, now), (before, done, left) = state.jobs[job], span, amounts
    nodes, first = float(own.width), begin
    origin = max(begin, min(grain(own.origin) if own.rounded else own.origin, now))
    if own.guest >= 0:
        first = _turn_end(state, own.guest, begin, now)
        rest = nodes - own.lent
        _add_stretch(state, log, TURN, job, (begin, first), (rest, before, before, left))
        origin = min(first + grain((origin - begin) * own.speed), now)
    if first < origin:
        before, left = own.origin_progress, 0.0
        _add_stretch(state, log, READ, job, (first, origin), (nodes, before, before, 0.0))
    _add_stretch(state, log, COMPUTE, job, (origin, now), (nodes, before, done, left))


@kernel
def _turn_end(state: State, burst: int, begin: float, now: float) -> float:
    """When the turns of a burst end if all of them since `begin` are taken first."""
    return begin + grain((now - begin) * state.jobs[burst].speed)


@kernel
def _add_stretch(
    state: State,
    log: Log,
    kind: int,
    job: int,
    span: tuple[float, float],
    amounts: tuple[float, float, float, float],
) -> None:
    """Log a stretch, unless it has no length.

    `amounts` are nodes, progress from and to, and what is left of a checkpoint in progress.
    """
    if not span[0] < span[1]:
        return
    entry = log.stretches[next_row(log, STRETCHES, log.stretches)]
    entry[0], entry[1], entry[2] = kind, job, max(state.jobs[job].attempt, 0)
    entry[3], entry[4], entry[5] = span[0], span[1], amounts[0]
    entry[6], entry[7], entry[8] = amounts[1], amounts[2], amounts[3]


@kernel
def hold_nodes(state: State, log: Log, burst: int, nodes: int, now: float) -> None:
    """Hold so many nodes in all for a burst."""
    own = state.jobs[burst]
    if own.held > 0:
        _add_stretch(state, log, HOLD, burst, (own.since, now), (float(own.held), 0.0, 0.0, 0.0))
    state.counts[FREE] += own.held - nodes
    state.counts[USED] += nodes - own.held
    own.since, own.held = now, nodes


@kernel
def add_release(jobs: np.recarray, state: State, job: int, nodes: int) -> None:
    """Expect that so many nodes of a job come free at its `expected` time."""
    counts, time = state.counts, state.jobs[job].expected
    if nodes == 0:
        return
    counts[RELEASES] = releases.add(state.times, state.nodes, counts[RELEASES], time, nodes)
    if jobs[job].on_demand:
        counts[BURST_RELEASES] = releases.add(
            state.burst_times, state.burst_nodes, counts[BURST_RELEASES], time, nodes
        )


@kernel
def remove_release(jobs: np.recarray, state: State, job: int, nodes: int) -> None:
    """Expect no more what `add_release` does."""
    counts, time = state.counts, state.jobs[job].expected
    if nodes == 0:
        return
    counts[RELEASES] = releases.remove(state.times, state.nodes, counts[RELEASES], time, nodes)
    if jobs[job].on_demand:
        counts[BURST_RELEASES] = releases.remove(
            state.burst_times, state.burst_nodes, counts[BURST_RELEASES], time, nodes
        )


@kernel
def expect_end(jobs: np.recarray, state: State, job: int) -> None:
    """Expect that a job releases its nodes when its requested time is over, at its speed."""
    own = state.jobs[job]
    seconds = elapsed_for(jobs, job, own.origin_progress, jobs[job].requested_time)
    own.expected = time_of(state, job, seconds)
    add_release(jobs, state, job, own.width)


@kernel
def start_job(
    jobs: np.recarray, state: State, job: int, nodes: int, speed: float, now: float
) -> None:
    """Let a job run on so many free nodes, at a speed, from the progress that is saved."""
    counts, own, exact = state.counts, state.jobs[job], state.exact[0]
    own.stage = RUNNING
    own.attempt += 1
    own.since, own.origin, own.origin_progress = now, exact + own.reread, own.saved
    own.reached, own.rounded = own.saved, exact != now or speed != 1.0
    own.width, own.speed = nodes, speed
    seconds = elapsed_for(jobs, job, own.saved, jobs[job].run_time)
    heap.push(state.ends, job, time_of(state, job, seconds))
    expect_end(jobs, state, job)
    own.place = counts[RUN]
    state.running[counts[RUN]] = job
    counts[RUN] += 1
    counts[FREE] -= nodes
    if jobs[job].on_demand:
        counts[USED] += nodes
    if np.isnan(own.start_time):
        own.start_time = now


@kernel
def change_rate(
    jobs: np.recarray, state: State, log: Log, job: int, nodes: int, speed: float, now: float
) -> None:
    """Let a running job go on with so many nodes of its own, at another speed."""
    log_stretch(jobs, state, log, job, now)
    own = state.jobs[job]
    remove_release(jobs, state, job, own.width)
    elapsed_so_far = (state.exact[0] - own.origin) * own.speed
    own.width, own.speed, own.rounded = nodes, speed, True
    own.origin = state.exact[0] - elapsed_so_far / speed
    left = elapsed_for(jobs, job, own.origin_progress, jobs[job].run_time)
    heap.push(state.ends, job, time_of(state, job, left))
    expect_end(jobs, state, job)


@kernel
def remove_job(jobs: np.recarray, state: State, job: int) -> None:
    """Take a job off the machine; its nodes are the caller's to give."""
    counts, own = state.counts, state.jobs[job]
    remove_release(jobs, state, job, own.width)
    counts[RUN] -= 1
    last = state.running[counts[RUN]]
    state.running[own.place] = last
    state.jobs[last].place = own.place
    own.place, own.victim, own.stopped = -1, -1, np.nan
    heap.remove(state.ends, job)
    heap.remove(state.ready, job)
    heap.remove(state.writes, job)


@kernel
def enqueue(jobs: np.recarray, state: State, job: int) -> None:
    """Insert a job into the queue: bursts first, then in order of submission."""
    queue, place, n = state.queue, state.counts[QUEUE], len(jobs)
    rank = job - n if jobs[job].on_demand else job
    while place > 0:
        before = queue[place - 1]
        if (before - n if jobs[before].on_demand else before) < rank:
            break
        queue[place] = before
        place -= 1
    queue[place] = job
    state.counts[QUEUE] += 1
    state.jobs[job].stage = QUEUED


@kernel
def stop_job(jobs: np.recarray, state: State, log: Log, job: int, now: float) -> None:
    """A job stands still from now on."""
    log_stretch(jobs, state, log, job, now)
    state.jobs[job].stopped = now
    heap.remove(state.ends, job)
    heap.remove(state.ready, job)


@kernel
def begin_collecting(state: State, burst: int, now: float) -> None:
    """A burst begins to collect nodes, behind those that do already."""
    own = state.jobs[burst]
    state.collecting[state.counts[BURSTS]] = burst
    state.counts[BURSTS] += 1
    own.stage, own.held, own.since = COLLECTING, 0, now
