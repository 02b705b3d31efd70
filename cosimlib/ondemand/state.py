"""The state of a machine with on-demand bursts: one record per job, sorted lists, and the machine.

A job or burst is known by its *number*, the row of its record in `Machine.jobs`. Rows are in order
of submission. Every field of a record has one meaning, which is written beside its type below.

*Attempts.* A batch job that is evicted runs again later. Each run is an *attempt*. It first reads
the checkpoint of the progress that was saved, and then computes on from there. Both together are
the *work* of the attempt. `work` is what the attempt had done of it at the moment `work_time`, and
since then the job works at `speed`. So at any time, with no case for a job that stands still::

    work(now)     = work + (now - work_time) * speed
    progress(now) = saved + max(work(now) - read_time, 0)

`speed` is 1 on all nodes that the job asked for. It is less on fewer nodes, or while the job takes
turns with a burst, and 0 while the job stands still to make way for a burst.

*Checkpoints.* Progress is the seconds of the run time that are done. The application saves it at
every multiple of the job's `interval`; writing it is part of the run time.

*Making way.* A job that is to leave its nodes to a burst has the burst's number in `makes_way_for`,
and what it does for that in `action`: it is killed, or it writes a checkpoint, of the application
(`APP`) or of the system (`SYS`). An `APP` job stands still from its checkpoint on, a `SYS` job from
when its write begins, both until the checkpoint is written.

*Rounding.* Where jobs change their speed, under `shrink` and `share`, the times at which they end
or save their progress are rounded to multiples of `GRAIN`. Otherwise, events that happen at once
would differ in their last digits. `state.now` is the rounded instant. `state.exact` is the same
instant without rounding: jobs that start or change their speed at it count their work from there,
so that rounding does not add up. Under all policies, progress that is less than half a grain from a
checkpoint counts as that of the checkpoint: differences of times that are not whole are not exact.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type

GRAIN = 2.0**-20
"""Seconds, about a millionth: times of policies under which jobs change their speed."""

NO_JOB = -1
"""The number that stands for no job."""

WAIT, BY_KILL, PREEMPT, SHRINK, SHARE, GREEDY, DYNAMIC, DYNAMIC_BLOCKED = range(8)
"""How bursts get their nodes (`RULES.mechanism`): they wait in the queue, also where nodes are
set aside for them; or jobs make way, as the policy of that name in `policies` says."""

DEADLINE_EARLIEST, DEADLINE_LEAST_LOSS, DEADLINE_WEIGHTED = range(3)
"""Which deadline of an eviction plan is taken (`RULES.deadline`)."""

IGNORE, COLLECT, PREPARE, PREDICT = range(4)
"""What happens at the notice of a burst (`RULES.notice`)."""

RULES = record_type(
    floats="weight step patience turn",
    integers="total_nodes reserved mechanism deadline notice",
)
"""The machine's nodes and the rules of a policy, which never change.

total_nodes, reserved
    Nodes of the machine, and those of them that are set aside for bursts.
mechanism, deadline, notice
    One of each of the groups of constants above.
weight
    What a second of delay is worth in node-seconds, for `DEADLINE_WEIGHTED`.
step
    Seconds from one deadline of a plan to the next.
patience
    Seconds after its expected arrival for which nodes are held for a burst.
turn
    The part of the time that a burst has on nodes that it shares.
"""

REQUEST = record_type(
    floats="submit_time run_time requested_time interval app_write sys_write longest_delay "
    "call_time expected_arrival",
    integers="nodes on_demand least_nodes",
)
"""What is known of a job or burst from the start, which never changes.

submit_time, run_time, requested_time, nodes
    As in the workload: seconds and nodes.
on_demand
    1 of a burst, 0 of a batch job.
interval
    Seconds of progress from one checkpoint of the application to the next; infinity: there are
    none.
app_write, sys_write
    Seconds that it takes to write a checkpoint of the application, and one of the system.
least_nodes
    The fewest nodes to which the job may shrink.
longest_delay
    Of a burst: seconds from its arrival to its deadline.
call_time
    Of a burst: when its notice lets it begin to collect nodes; infinity: not before it arrives.
expected_arrival
    Of a burst: when its notice says that it comes.
"""

PROGRESS = record_type(
    floats="start_time end_time saved read_time work work_time speed stopped ends_at expected_end "
    "checkpoint_time write_time write_begin decided logged_until logged_progress",
    integers="attempt width held collecting makes_way_for action shares_with lent hosts",
)
"""Where a job or burst is.

start_time, end_time
    When its first attempt began, and when it was done; NaN until then.
attempt
    The number of the latest attempt, from 0; −1 before the first.
saved
    The progress with which the latest attempt began, or after an eviction the next one will.
read_time
    The seconds that it takes to read the checkpoint of `saved` (0: there is none).
work, work_time, speed
    Of a running job: seconds of work that the attempt had done at the moment `work_time`, at full
    speed, and seconds of work per second since then (see above).
width
    Of a running job: its nodes, without those that hosts lend to it.
stopped
    Since when the job stands still; NaN: it does not.
ends_at
    Of a running job: when it will end; infinity: it stands still.
expected_end
    Of a running job: when the scheduler expects its nodes back, by the requested time. Of a burst
    that collects nodes: when those are expected back; set and true only inside `easy._reserve`.
collecting, held
    Of a burst: whether nodes are collected for it now (1 or 0), and how many are held.
makes_way_for
    Of a running job: the burst that it makes way for (`NO_JOB`: none).
action, decided
    By which action of `eviction.problem` it does, and when that was decided; valid only while
    `makes_way_for` is set.
checkpoint_time
    Of a job that makes way: when it reaches the checkpoint of its application at which it will
    stand still (`APP`) or leave (`KILL`); infinity: it waits for none, or stands still already.
write_time, write_begin
    Of a job that makes way: the seconds that its checkpoint takes to write (0: it writes none), and
    the moment at which its write is planned to begin.
shares_with, lent
    Of a batch job, a *host*: the burst that it takes turns with (`NO_JOB`: none), and how many of
    its nodes the burst needs.
hosts
    Of a burst: the number of its hosts.
logged_until, logged_progress
    The moment up to which the log has all stretches of the job or burst, those in which nodes were
    held for it (`HOLD`) included; and its progress then.
"""

JOB = np.dtype([(name, kind[name]) for kind in (REQUEST, PROGRESS) for name in kind.names or ()])
"""A job or burst: what is known of it, and where it is."""

QUEUE, RUNNING, EXPECTED, COLLECTING, CALLS = range(5)
"""Lists of jobs' numbers, which are rows of `Machine.lists`:

QUEUE
    Jobs that wait: bursts first, each kind in order of submission.
RUNNING
    Jobs that run, in order of submission.
EXPECTED
    Jobs that run, by their `expected_end`. While EASY makes a reservation, also the bursts that
    collect nodes.
COLLECTING
    Bursts that collect nodes, in the order in which they began to.
CALLS
    All jobs by their `call_time`.
"""

STATE = record_type(
    floats="now exact write_end",
    integers="free burst_nodes writer submitted calls_passed finished serving next_served asking "
    "planned stretches evictions",
)
"""The machine at an instant.

now, exact
    The instant, and the same without rounding (see above).
free
    Nodes that are open, run no job and are held for no burst; below 0 while jobs run on nodes that
    a window is to close.
burst_nodes
    Nodes that bursts hold or run on.
writer, write_end
    The job whose checkpoint is being written (`NO_JOB`: none), and when that will be complete.
submitted, finished
    How many jobs were submitted, and have ended.
calls_passed
    How many of the list `CALLS` have a `call_time` that is past.
serving
    1 while bursts are served, and so while an instant is interrupted for a plan; else 0.
next_served
    The place in `COLLECTING` of the burst to serve next; 0 again after each start.
asking
    The burst for which jobs are to make way before anything else happens (`NO_JOB`: none).
planned
    The burst for which jobs have just been asked, as `run` is called again (`NO_JOB`: none).
stretches, evictions
    Rows of the two logs.
"""

READ, COMPUTE, WRITE, STAND, HOLD, BURST, TURN = range(7)
"""Kinds of stretches (`STRETCH.kind`): a job reads its checkpoint; it computes; its checkpoint is
being written, to evict it; it stands still before that; nodes are held for a burst; a burst runs;
a job or burst stands still because those that it shares nodes with have their turn."""

STRETCH = record_type(floats="start end before after", integers="kind job attempt nodes")
"""What a job did from `start` to `end`, on how many nodes, with its progress `before` and `after`.
Of kind `HOLD`: how many nodes were held for a burst."""

EVICTION = record_type(floats="decided since time done kept", integers="job attempt burst action")
"""An eviction: when it was decided, since when the job stood still, when it left its nodes, its
progress then, and the part of this that it keeps."""


class Machine(NamedTuple):
    """All that kernels know; `lengths[kind]` numbers of `lists[kind]` are in use."""

    jobs: np.recarray
    lists: np.ndarray
    lengths: np.ndarray
    rules: np.record
    state: np.record
    stretches: np.recarray
    evictions: np.recarray


@kernel
def insert(machine: Machine, kind: int, number: int) -> None:
    """Insert a job into a sorted list; of equal jobs the one submitted first comes first."""
    lists, lengths = machine.lists, machine.lengths
    first, last = 0, lengths[kind]
    rank = _rank(machine.jobs, kind, number)
    while first < last:
        middle = (first + last) // 2
        other = _rank(machine.jobs, kind, lists[kind, middle])
        if other < rank or (other == rank and lists[kind, middle] < number):
            first = middle + 1
        else:
            last = middle
    for place in range(lengths[kind], first, -1):
        lists[kind, place] = lists[kind, place - 1]
    lists[kind, first] = number
    lengths[kind] += 1


@kernel
def _rank(jobs: np.recarray, kind: int, number: int) -> float:
    """What a list is sorted by."""
    if kind == EXPECTED:
        return jobs[number].expected_end
    return float(number - jobs.size if kind == QUEUE and jobs[number].on_demand else number)


@kernel
def remove(machine: Machine, kind: int, number: int) -> None:
    """Remove a job from a list, if it is in it."""
    lists, lengths = machine.lists, machine.lengths
    place = 0
    while place < lengths[kind] and lists[kind, place] != number:
        place += 1
    if place < lengths[kind]:
        lengths[kind] -= 1
        for later in range(place, lengths[kind]):
            lists[kind, later] = lists[kind, later + 1]


@kernel
def rounded(rules: np.record, time: float) -> float:
    """A time as a multiple of `GRAIN` where jobs change their speed, else as it is."""
    if rules.mechanism == SHRINK or rules.mechanism == SHARE:
        return np.rint(time / GRAIN) * GRAIN
    return time


@kernel
def work_at(job: np.record, rules: np.record, now: float) -> float:
    """Seconds of work that a job's attempt has done by now."""
    return rounded(rules, job.work + (now - job.work_time) * job.speed)


@kernel
def time_of(job: np.record, rules: np.record, work: float) -> float:
    """When a job's attempt will have done so much work, at its speed, which is not 0."""
    return rounded(rules, job.work_time + (work - job.work) / job.speed)


@kernel
def progress(job: np.record, rules: np.record, now: float) -> float:
    """Seconds of its run time that a running job has done; near a checkpoint, those of that."""
    done = job.saved + max(work_at(job, rules, now) - job.read_time, 0.0)
    number = np.rint(done / job.interval)
    if number > 0.0 and abs(number * job.interval - done) < GRAIN / 2:
        return number * job.interval
    return done


@kernel
def last_checkpoint(job: np.record, done: float) -> float:
    """The progress that a running job would start from again if it were killed at this progress."""
    number = _checkpoints_by(job, done)
    return max(job.saved, number * job.interval) if number > 0.0 else job.saved


@kernel
def next_checkpoint(job: np.record, done: float) -> float:
    """The progress at which the application writes its next checkpoint."""
    return (_checkpoints_by(job, done) + 1.0) * job.interval


@kernel
def _checkpoints_by(job: np.record, done: float) -> float:
    """How many multiples of its interval a job has reached with this progress."""
    number = np.rint(done / job.interval)
    return number - 1.0 if number > 0.0 and number * job.interval > done else number


@kernel
def loss(job: np.record, done: float) -> float:
    """Node-seconds of work that are lost if a running job is killed at this progress."""
    return job.nodes * (done - last_checkpoint(job, done))


@kernel
def may_make_way(job: np.record) -> bool:
    """Whether a running job could make way: a batch job that does not, and shares no nodes."""
    return not job.on_demand and job.makes_way_for == NO_JOB and job.shares_with == NO_JOB
