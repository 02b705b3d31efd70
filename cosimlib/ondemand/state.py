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
from cosimlib.kernels.jit import inner_kernel

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
nothing. `longest_delay`, `call_time` (infinite where nodes are not gathered ahead) and
`expected_time` are those of bursts. A job may shrink to its `least_nodes`.
"""

STANDING = {
    "stage": "i8",
    "attempt": "i8",
    "saved": "f8",
    "reread": "f8",
    "origin": "f8",
    "origin_progress": "f8",
    "reached": "f8",
    "since": "f8",
    "stands": "f8",
    "expected": "f8",
    "victim": "i8",
    "action": "i8",
    "write": "f8",
    "write_begin": "f8",
    "decided": "f8",
    "held": "i8",
    "width": "i8",
    "speed": "f8",
    "paced": "?",
    "guest": "i8",
    "lent": "i8",
    "hosts": "i8",
    "start_time": "f8",
    "end_time": "f8",
    "place": "i8",
}
"""How a job stands, field by field.

origin
    When computing began: in the future while the checkpoint is read; moved by standing still. Of a
    job whose pace changed: when it would have begun at the pace that it has now.
origin_progress, reached
    Progress at `origin`, and at `since`.
since
    Begin of the stretch that is not in the log yet; of a burst that gathers: of its `held`.
stands
    Since when the job stands still; NaN while it does not.
write, write_begin
    Seconds that its checkpoint takes to write, and when it is to be written.
width, speed
    Nodes that are its own now, and the part of full speed, in (0, 1], of a running job.
paced
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
    gathering: np.ndarray
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
    jobs = np.zeros(n, np.dtype([*STANDING.items()], align=True)).view(np.recarray)
    jobs.attempt = jobs.victim = jobs.guest = jobs.place = -1
    jobs.stands = jobs.start_time = jobs.end_time = np.nan
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


@inner_kernel
def next_row(log: Log, table: int, rows: np.ndarray) -> int:
    """Count a new row of a table; its place, or the last one where there is no room."""
    row = log.size[table]
    log.size[table] += 1
    return min(row, len(rows) - 1)


@inner_kernel
def elapsed_for(jobs: np.recarray, job: int, done: float, until: float) -> float:
    """Seconds that computing from one progress to another takes, checkpoints in between included.

    A checkpoint is due at each multiple of the interval that lies strictly between the two.
    """
    if until <= done:
        return 0.0
    interval = jobs[job].interval
    checkpoints = np.ceil(until / interval) - 1 - np.floor(done / interval)
    return until - done + jobs[job].charge * max(checkpoints, 0.0)


@inner_kernel
def grain(time: float) -> float:
    """A time rounded to whole `GRAIN`s."""
    return np.round(time / GRAIN) * GRAIN


@inner_kernel
def elapsed(state: State, job: int, now: float) -> float:
    """Seconds of its own since computing began, at full speed; below 0 while it still reads."""
    own = (now - state.jobs[job].origin) * state.jobs[job].speed
    return grain(own) if state.jobs[job].paced else own


@inner_kernel
def time_of(state: State, job: int, own: float) -> float:
    """When so many seconds of its own will have elapsed, at the pace that it has now."""
    time = state.jobs[job].origin + own / state.jobs[job].speed
    return grain(time) if state.jobs[job].paced else time


@inner_kernel
def keep_exact(state: State, job: int, now: float) -> None:
    """Reckon from when exactly it is that something happens to a job now."""
    if state.jobs[job].paced:
        state.exact[0] = state.jobs[job].origin + elapsed(state, job, now) / state.jobs[job].speed


@inner_kernel
def progress(jobs: np.recarray, state: State, job: int, now: float) -> tuple[float, float, float]:
    """Progress, the part of it that is saved, and the seconds left of a checkpoint in progress.

    Of an application's own checkpoint: one that is written to evict the job is not counted.
    """
    base, interval, charge = state.jobs[job].origin_progress, jobs[job].interval, jobs[job].charge
    own = elapsed(state, job, now)
    if own <= 0.0:
        return base, state.jobs[job].saved, 0.0
    due = interval * (np.floor(base / interval) + 1.0)
    if not own >= due - base:
        return base + own, state.jobs[job].saved, 0.0
    beyond = own - (due - base)
    periods = np.floor(beyond / (interval + charge))
    rest = beyond - periods * (interval + charge)
    due += periods * interval
    if rest < charge:
        return due, max(state.jobs[job].saved, due - interval), charge - rest
    return due + rest - charge, max(state.jobs[job].saved, due), 0.0


@inner_kernel
def write_end(state: State) -> float:
    """When the checkpoint that is being written is whole."""
    writer = state.counts[WRITER]
    return state.jobs[writer].write_begin + state.jobs[writer].write
