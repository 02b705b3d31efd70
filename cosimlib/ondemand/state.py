"""State of a machine with bursts of on-demand work, and the clock of each job's progress.

A batch job computes; its *progress* is the seconds of its run time that are done. Its application
writes a checkpoint whenever progress reaches a multiple of the job's interval, which may cost time
(`charge`). A job that was evicted starts again from the progress that is `saved`, once its
checkpoint has been read. Jobs that make way for a burst (`victim` names it) stand still from the
moment at which their own checkpoint is due until it is written.

A job on fewer nodes than it asked for, or one that shares them, goes slower: all that it does,
reading and checkpoints included, takes longer by 1 / `speed`. Times that this makes are rounded to
`GRAIN`, so that what happens at once is seen to happen at once; what follows from them is reckoned
from what they are `exact`ly, so that rounding does not add up.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import heap
from cosimlib.kernels.heap import Heap
from cosimlib.kernels.jit import inner_kernel, kernel

UNSEEN, QUEUED, GATHERING, RUNNING, DONE = range(5)
"""Stages of a job; only bursts gather nodes."""

READ, COMPUTE, WRITE, STAND, HOLD, BURST, TURN = range(7)
"""Kinds of a stretch of time: a checkpoint is read; the job computes; its checkpoint is written to
evict it; it stands still before that; nodes are held for a burst; a burst runs; a job or burst
stands still because those that it shares nodes with have their turn."""

GRAIN = 2.0**-20
"""Seconds, a millionth or so: times that a slower pace makes are multiples of it."""

FREE, USED, QUEUE, GATHER, RUN, SIZE, BURST_SIZE, WRITER, FINISHED = range(9)
"""Cells of `State.counts`: free nodes, nodes that bursts hold or run on, lengths of the queue, of
the bursts that gather, of the jobs that run and of both lists of releases, the job whose checkpoint
is being written (−1: none), jobs done."""


class OnDemandJobs(NamedTuple):
    """All jobs in order of submission, one value per job; seconds and nodes.

    `interval` is infinite where there are no application checkpoints, `charge` 0 where they cost
    nothing. `longest_delay`, `call_time` (infinite where nodes are not gathered ahead) and
    `expected_time` are those of bursts. A job may shrink to its `least_nodes`.
    """

    submit_time: np.ndarray
    run_time: np.ndarray
    requested_time: np.ndarray
    nodes: np.ndarray
    on_demand: np.ndarray
    interval: np.ndarray
    charge: np.ndarray
    app_write: np.ndarray
    sys_write: np.ndarray
    longest_delay: np.ndarray
    call_time: np.ndarray
    expected_time: np.ndarray
    least_nodes: np.ndarray


class State(NamedTuple):
    """The machine at an instant: arrays of one value per job, lists, heaps and counts."""

    stage: np.ndarray
    attempt: np.ndarray
    saved: np.ndarray
    reread: np.ndarray
    origin: np.ndarray
    """When computing began: in the future while the checkpoint is read; moved by standing still.
    Of a job whose pace changed: when it would have begun at the pace that it has now."""
    base: np.ndarray
    """Progress at `origin`."""
    reached: np.ndarray
    """Progress at `since`."""
    since: np.ndarray
    """Begin of the stretch that is not in the log yet; of a burst that gathers: of its `held`."""
    stands: np.ndarray
    """Since when the job stands still; NaN while it does not."""
    expected: np.ndarray
    victim: np.ndarray
    action: np.ndarray
    write: np.ndarray
    """Seconds that its checkpoint takes to write."""
    write_begin: np.ndarray
    """When its checkpoint is to be written."""
    decided: np.ndarray
    held: np.ndarray
    width: np.ndarray
    """Nodes that are its own now, of a running job."""
    speed: np.ndarray
    """Part of full speed, in (0, 1]."""
    paced: np.ndarray
    """Whether its times are to be rounded."""
    exact: np.ndarray
    """This instant, before it was rounded; one value."""
    guest: np.ndarray
    """The burst that shares its nodes; −1: none."""
    lent: np.ndarray
    """How many of them."""
    hosts: np.ndarray
    """Of a burst: the jobs that share nodes with it."""
    start_time: np.ndarray
    end_time: np.ndarray
    ends: Heap
    ready: Heap
    writes: Heap
    times: np.ndarray
    nodes: np.ndarray
    burst_times: np.ndarray
    burst_nodes: np.ndarray
    queue: np.ndarray
    gathering: np.ndarray
    running: np.ndarray
    place: np.ndarray
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


@kernel
def empty(n: int, total_nodes: int) -> State:
    """A machine on which nothing has happened, for `n` jobs."""
    counts = np.zeros(9, np.int64)
    counts[FREE], counts[WRITER] = total_nodes, -1
    return State(
        np.zeros(n, np.int64),
        np.full(n, -1, np.int64),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.full(n, np.nan),
        np.zeros(n),
        np.full(n, -1, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.ones(n),
        np.zeros(n, np.bool_),
        np.zeros(1),
        np.full(n, -1, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.full(n, np.nan),
        np.full(n, np.nan),
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
        np.full(n, -1, np.int64),
        counts,
    )


@kernel
def empty_log(room: int) -> Log:
    """A log without rows, with room for so many in each table."""
    return Log(
        np.empty((room, 9)), np.empty((room, 9)), np.empty((room, 8)), np.zeros(3, np.int64)
    )  # fmt: skip


@inner_kernel
def next_row(log: Log, table: int, rows: np.ndarray) -> int:
    """Count a new row of a table; its place, or the last one where there is no room."""
    row = log.size[table]
    log.size[table] += 1
    return min(row, len(rows) - 1)


@inner_kernel
def elapsed_for(jobs: OnDemandJobs, job: int, done: float, until: float) -> float:
    """Seconds that computing from one progress to another takes, checkpoints in between included.

    A checkpoint is due at each multiple of the interval that lies strictly between the two.
    """
    if until <= done:
        return 0.0
    interval = jobs.interval[job]
    checkpoints = np.ceil(until / interval) - 1 - np.floor(done / interval)
    return until - done + jobs.charge[job] * max(checkpoints, 0.0)


@inner_kernel
def grain(time: float) -> float:
    """A time rounded to whole `GRAIN`s."""
    return np.round(time / GRAIN) * GRAIN


@inner_kernel
def elapsed(state: State, job: int, now: float) -> float:
    """Seconds of its own since computing began, at full speed; below 0 while it still reads."""
    own = (now - state.origin[job]) * state.speed[job]
    return grain(own) if state.paced[job] else own


@inner_kernel
def time_of(state: State, job: int, own: float) -> float:
    """When so many seconds of its own will have elapsed, at the pace that it has now."""
    time = state.origin[job] + own / state.speed[job]
    return grain(time) if state.paced[job] else time


@inner_kernel
def keep_exact(state: State, job: int, now: float) -> None:
    """Reckon from when exactly it is that something happens to a job now."""
    if state.paced[job]:
        state.exact[0] = state.origin[job] + elapsed(state, job, now) / state.speed[job]


@inner_kernel
def progress(jobs: OnDemandJobs, state: State, job: int, now: float) -> tuple[float, float, float]:
    """Progress, the part of it that is saved, and the seconds left of a checkpoint in progress.

    Of an application's own checkpoint: one that is written to evict the job is not counted.
    """
    base, interval, charge = state.base[job], jobs.interval[job], jobs.charge[job]
    own = elapsed(state, job, now)
    if own <= 0.0:
        return base, state.saved[job], 0.0
    due = interval * (np.floor(base / interval) + 1.0)
    if not own >= due - base:
        return base + own, state.saved[job], 0.0
    beyond = own - (due - base)
    periods = np.floor(beyond / (interval + charge))
    rest = beyond - periods * (interval + charge)
    due += periods * interval
    if rest < charge:
        return due, max(state.saved[job], due - interval), charge - rest
    return due + rest - charge, max(state.saved[job], due), 0.0


@inner_kernel
def write_end(state: State) -> float:
    """When the checkpoint that is being written is whole."""
    writer = state.counts[WRITER]
    return state.write_begin[writer] + state.write[writer]
