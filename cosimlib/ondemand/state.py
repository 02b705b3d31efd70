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

There is one record per job, one of the machine, and one array of sorted lists of jobs. `start_job`,
`change_rate`, `stop_job` and `remove_job` are what can happen to one job by itself.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.batch import capacity
from cosimlib.calendar import Calendar
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records

# Numba would compile a kernel once more for each constant of Python's that it is called with.
NUMBERS: list[int] = [*np.arange(8)]

READ, COMPUTE, WRITE, STAND, HOLD, BURST, TURN, EVICTED = NUMBERS
"""Kinds of a stretch of time: a checkpoint is read; the job computes; its checkpoint is written to
evict it; it stands still before that; nodes are held for a burst; a burst runs; a job or burst
stands still because those that it shares nodes with have their turn. The last is an eviction."""

QUEUE, RUNNING, EXPECTED, COLLECTING, CALLS = NUMBERS[:5]
"""Lists of jobs, rows of an array: those that wait, bursts first; those that run; the same by the
ends that are expected; bursts that collect nodes, in the order in which they began to; all jobs by
`call_time`. Ties, and lists without another order, are in order of submission."""

LENGTH = -1
"""The column of a list's length."""

NO_JOB: int = np.int64(-1)  # type: ignore[assignment]

GRAIN = 2.0**-20
"""Seconds, a millionth or so: times of jobs that go slower are multiples of it."""

JOB = record_type(
    floats="submit_time run_time requested_time interval charge app_write sys_write longest_delay "
    "call_time expected_time",
    integers="nodes on_demand least_nodes",
)
"""What is asked of a job, in seconds and nodes; jobs are in order of submission.

`interval` is infinite where there are no application checkpoints, `charge` 0 where they cost
nothing. `longest_delay`, `call_time` (infinite where nodes are not collected ahead) and
`expected_time` are those of bursts. A job may shrink to its `least_nodes`.
"""

PROGRESS = record_type(
    floats="saved reread origin origin_progress reached since stopped ends expected ready write "
    "write_begin decided speed start_time end_time",
    integers="collecting attempt victim action width rounded guest lent hosts",
)
"""Where a job is, field by field.

collecting
    Of a burst that collects nodes: its number among all that ever did; else 0.
origin
    When computing began: in the future while the checkpoint is read; moved by standing still. Of a
    job whose speed changed: when it would have begun at the speed that it has now.
origin_progress, reached
    Progress at `origin`, and at `since`.
since
    Begin of the stretch that is not in the log yet.
stopped
    Since when the job stands still; NaN while it does not.
ends, expected
    When it will end (infinity: it stands still), and when it would after its requested time.
ready, write, write_begin
    Of a job that makes way: when it stops by itself, at its next checkpoint (infinity: it does
    not); seconds that its checkpoint takes to write, and when it is to be written.
width, speed
    Nodes that are its own now, or held for it, and the part of full speed, in (0, 1].
rounded
    Whether its times are to be rounded.
guest, lent
    The burst that shares its nodes (−1: none), and how many of them.
hosts
    Of a burst: the jobs that share nodes with it.
"""

RUN = np.dtype([(name, kind[name]) for kind in (JOB, PROGRESS) for name in kind.names or ()])
"""A job: what is asked of it, and where it is."""

STATE = record_type(
    floats=f"weight step patience turn now exact longest {capacity.FLOATS}",
    integers="total_nodes reserved solver deadline notice free used writer submitted called begun "
    f"finished served asking logged full releases limits {capacity.INTEGERS}",
)
"""The machine at an instant: the rules of its policy, and where it is.

total_nodes, reserved, solver, deadline, weight, step, notice, patience, turn
    The rules (see `simulation` and `planning`): `weight` is in node-seconds per second of delay,
    `turn` the part of the time that a burst has on nodes that it shares.
exact
    This instant, before it was rounded.
free, used
    Free nodes, and those that bursts hold or run on.
writer
    The job whose checkpoint is being written (−1: none).
submitted, called, begun, finished
    Jobs submitted, calls of bursts, bursts that began to collect nodes, jobs done.
served, asking
    Bursts that have been served at this instant, and the one for which jobs are to make way before
    anything else happens (−1: none).
logged, full
    Rows of the log, and whether it needs room for more before anything else happens.
releases, limits, longest
    What `kernels.backfilling` keeps in a pass; no request is too long for it.
"""

LOG = record_type(
    floats="start end before after left decided", integers="kind job attempt nodes burst action"
)
"""What happened: stretches of time, with progress before and after, and the seconds that an
application checkpoint in progress still takes at the start; and evictions, of kind `EVICTED`, with
`burst`, `action` and `decided`: since when the job stands, its end, the progress kept and done."""


class Machine(NamedTuple):
    """Records of `RUN`, sorted lists of jobs, a record of `STATE`, and the log, of `LOG`."""

    jobs: np.recarray
    lists: np.ndarray
    state: np.record
    log: np.recarray


@kernel
def _rank(jobs: np.ndarray, kind: int, job: int) -> float:
    """What a list is sorted by."""
    if kind == EXPECTED:
        return jobs[job].expected
    if kind == COLLECTING:
        return float(jobs[job].collecting)
    return float(job - jobs.size if kind == QUEUE and jobs[job].on_demand else job)


@kernel
def insert(machine: Machine, kind: int, job: int) -> None:
    """Insert a job into a list."""
    jobs, lists = machine.jobs, machine.lists
    first, last, rank = 0, lists[kind, LENGTH], _rank(jobs, kind, job)
    while first < last:
        middle = (first + last) // 2
        other = _rank(jobs, kind, lists[kind, middle])
        if other < rank or (other == rank and lists[kind, middle] < job):
            first = middle + 1
        else:
            last = middle
    for place in range(lists[kind, LENGTH], first, -1):
        lists[kind, place] = lists[kind, place - 1]
    lists[kind, first] = job
    lists[kind, LENGTH] += 1


@kernel
def remove(machine: Machine, kind: int, job: int) -> None:
    """Remove a job from a list, if it is there."""
    lists = machine.lists
    place = 0
    while place < lists[kind, LENGTH] and lists[kind, place] != job:
        place += 1
    if place < lists[kind, LENGTH]:
        lists[kind, LENGTH] -= 1
        for later in range(place, lists[kind, LENGTH]):
            lists[kind, later] = lists[kind, later + 1]


@kernel
def elapsed_for(own: np.record, done: float, until: float) -> float:
    """Seconds that computing from one progress to another takes, checkpoints in between included.

    A checkpoint is due at each multiple of the interval that lies strictly between the two.
    """
    if until <= done:
        return 0.0
    checkpoints = np.ceil(until / own.interval) - 1 - np.floor(done / own.interval)
    return until - done + own.charge * max(checkpoints, 0.0)


@kernel
def grain(time: float) -> float:
    """A time rounded to whole `GRAIN`s."""
    return np.rint(time / GRAIN) * GRAIN


@kernel
def elapsed(own: np.record, now: float) -> float:
    """Seconds of its own since computing began, at full speed; below 0 while it still reads."""
    seconds = (now - own.origin) * own.speed
    return grain(seconds) if own.rounded else seconds


@kernel
def time_of(own: np.record, seconds: float) -> float:
    """When so many seconds of its own will have elapsed, at the speed that it has now."""
    time = own.origin + seconds / own.speed
    return grain(time) if own.rounded else time


@kernel
def keep_exact(own: np.record, state: np.record) -> None:
    """Reckon from when exactly it is that something happens to a job now."""
    if own.rounded:
        state.exact = own.origin + elapsed(own, state.now) / own.speed


@kernel
def progress(own: np.record, now: float) -> tuple[float, float, float]:
    """Progress, the part of it that is saved, and the seconds left of a checkpoint in progress.

    Of an application's own checkpoint: one that is written to evict the job is not counted.
    """
    base, saved, interval, charge = own.origin_progress, own.saved, own.interval, own.charge
    seconds = elapsed(own, now)
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
def log_stretch(machine: Machine, job: int) -> None:
    """Log what a running job did since its last stretch.

    Jobs and bursts that share nodes take turns. The log shows the burst's turns of a stretch as
    one, and before those of its hosts: a stretch ends, for all of them, when one comes or goes.
    """
    jobs, state = machine.jobs, machine.state
    own, now = jobs[job], state.now
    begin, nodes, before = own.since, own.width, own.reached
    own.since = now
    if not begin < now:
        return
    left, own.reached = progress(own, begin)[2], progress(own, now)[0]
    if own.on_demand:
        turn = now if own.hosts == 0 else _turn_end(own, begin, now)
        done = own.reached
        _add_stretch(machine, BURST, job, (begin, turn), (own.nodes, before, done, 0.0))
        _add_stretch(machine, TURN, job, (turn, now), (nodes, done, done, 0.0))
    elif not np.isnan(own.stopped):
        kind = WRITE if state.writer == job else STAND
        left = progress(own, own.stopped)[2]
        own.reached = before
        _add_stretch(machine, kind, job, (begin, now), (nodes, before, before, left))
    else:
        _log_computing(machine, job, begin, before, left)


@kernel
def _log_computing(machine: Machine, job: int, begin: float, before: float, left: float) -> None:
    """Log the turn of others, the reading and the computing of a batch job since `begin`.

    It had this progress then, and this was `left` of a checkpoint in progress.
    """
    jobs, state = machine.jobs, machine.state
    own, now, first = jobs[job], state.now, begin
    origin = max(begin, min(grain(own.origin) if own.rounded else own.origin, now))
    if own.guest >= 0:
        first, rest = _turn_end(jobs[own.guest], begin, now), own.width - own.lent
        _add_stretch(machine, TURN, job, (begin, first), (rest, before, before, left))
        origin = min(first + grain((origin - begin) * own.speed), now)
    if first < origin:
        before, left = own.origin_progress, 0.0
        _add_stretch(machine, READ, job, (first, origin), (own.width, before, before, 0.0))
    amounts = own.width, before, own.reached, left
    _add_stretch(machine, COMPUTE, job, (origin, now), amounts)


@kernel
def _turn_end(burst: np.record, begin: float, now: float) -> float:
    """When the turns of a burst end if all of them since `begin` are taken first."""
    return begin + grain((now - begin) * burst.speed)


@kernel
def _add_stretch(
    machine: Machine,
    kind: int,
    job: int,
    span: tuple[float, float],
    amounts: tuple[int, float, float, float],
) -> None:
    """Log a stretch, unless it has no length.

    `amounts` are nodes, progress from and to, and what is left of a checkpoint in progress.
    """
    jobs, state, log = machine.jobs, machine.state, machine.log
    if span[0] < span[1]:
        entry = log[state.logged]
        state.logged += 1
        entry.kind, entry.job, entry.attempt = kind, job, max(jobs[job].attempt, 0)
        entry.start, entry.end = span
        entry.nodes, entry.before, entry.after, entry.left = amounts


@kernel
def hold_nodes(machine: Machine, burst: int, more: int) -> None:
    """Hold so many more nodes for a burst."""
    jobs, state = machine.jobs, machine.state
    own, now = jobs[burst], state.now
    if own.width > 0:
        _add_stretch(machine, HOLD, burst, (own.since, now), (own.width, 0.0, 0.0, 0.0))
    state.free -= more
    state.used += more
    own.since, own.width = now, own.width + more


class Ahead(NamedTuple):
    """What is known of free nodes ahead: edges of windows, steps, and scratch for a reservation.

    `steps` are those of open nodes. `passed`, of `STATE`, has only what `batch.capacity` keeps of
    the edges; its `free` are nodes that have opened just now.
    """

    edges: np.recarray
    steps: np.recarray
    passed: np.record
    expected: np.recarray
    limits: np.recarray


def windows_of(calendar: Calendar, total_nodes: int, jobs: np.recarray) -> Ahead:
    """The windows of a calendar, none of which has begun when the first job comes or is called."""
    edges = capacity.edges_of(calendar, total_nodes, np.minimum(jobs.submit_time, jobs.call_time))
    steps, expected, limits = (np.recarray(size + edges.size, STEP) for size in (0, jobs.size, 2))
    return Ahead(edges, steps, records(1, STATE, next_fall=np.inf)[0], expected, limits)


@kernel
def pass_windows(machine: Machine, ahead: Ahead) -> None:
    """Open nodes, and close idle ones, then those held for bursts, the last of which gives first.

    Fewer than no nodes are free while jobs run on nodes that are to close.
    """
    jobs, lists, state = machine.jobs, machine.lists, machine.state
    passed = ahead.passed
    if ahead.edges[passed.edges].time > state.now:
        return
    capacity.pass_edges(ahead.edges, ahead.steps, passed, state.now)
    state.free += passed.free
    passed.free = 0
    for place in range(lists[COLLECTING, LENGTH] - 1, -1, -1):
        burst = lists[COLLECTING, place]
        own = jobs[burst]
        kept = max(own.width + state.free, 0)
        if kept < own.width:
            hold_nodes(machine, burst, kept - own.width)


@kernel
def expect_ends(machine: Machine, job: int) -> None:
    """List when a running job ends at its speed, and when it would after its requested time."""
    jobs = machine.jobs
    own = jobs[job]
    own.ends = time_of(own, elapsed_for(own, own.origin_progress, own.run_time))
    own.expected = time_of(own, elapsed_for(own, own.origin_progress, own.requested_time))
    insert(machine, EXPECTED, job)


@kernel
def start_job(machine: Machine, job: int, nodes: int, speed: float) -> None:
    """Let a job run on so many free nodes, at a speed, from the progress that is saved."""
    jobs, state = machine.jobs, machine.state
    own, now = jobs[job], state.now
    own.attempt += 1
    own.since, own.origin, own.origin_progress = now, state.exact + own.reread, own.saved
    own.reached, own.rounded = own.saved, state.exact != now or speed != 1.0
    own.width, own.speed = nodes, speed
    expect_ends(machine, job)
    insert(machine, RUNNING, job)
    state.free -= nodes
    if own.on_demand:
        state.used += nodes
    if np.isnan(own.start_time):
        own.start_time = now


@kernel
def change_rate(machine: Machine, job: int, nodes: int, speed: float) -> None:
    """Let a running job go on with so many nodes of its own, at another speed."""
    jobs, state = machine.jobs, machine.state
    log_stretch(machine, job)
    own = jobs[job]
    remove(machine, EXPECTED, job)
    elapsed_so_far = (state.exact - own.origin) * own.speed
    own.width, own.speed, own.rounded = nodes, speed, True
    own.origin = state.exact - elapsed_so_far / speed
    expect_ends(machine, job)


@kernel
def remove_job(machine: Machine, job: int) -> None:
    """Take a job off the machine; its nodes are the caller's to give."""
    jobs = machine.jobs
    remove(machine, RUNNING, job)
    remove(machine, EXPECTED, job)
    jobs[job].victim, jobs[job].stopped = -1, np.nan


@kernel
def stop_job(machine: Machine, job: int) -> None:
    """Let a job stand still from now on."""
    jobs, state = machine.jobs, machine.state
    log_stretch(machine, job)
    jobs[job].stopped, jobs[job].ready, jobs[job].ends = state.now, np.inf, np.inf


@kernel
def spare_job(machine: Machine, job: int) -> None:
    """A job need not make way any more; where it stood still it goes on."""
    jobs, state = machine.jobs, machine.state
    own = jobs[job]
    own.victim = -1
    if np.isnan(own.stopped):
        return
    log_stretch(machine, job)
    own.origin += state.now - own.stopped
    own.stopped = np.nan
    remove(machine, EXPECTED, job)
    expect_ends(machine, job)
    if state.writer == job:
        state.writer = -1


@kernel
def end_collecting(machine: Machine, burst: int) -> None:
    """A burst collects no more: what it held is free, and jobs that it wanted to evict go on."""
    jobs, lists = machine.jobs, machine.lists
    hold_nodes(machine, burst, -jobs[burst].width)
    for place in range(lists[RUNNING, LENGTH] - 1, -1, -1):
        if jobs[lists[RUNNING, place]].victim == burst:
            spare_job(machine, lists[RUNNING, place])
    remove(machine, COLLECTING, burst)
    jobs[burst].collecting = 0
