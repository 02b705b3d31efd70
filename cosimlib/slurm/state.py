"""What the simulator knows at an instant: jobs, the queue, who runs where, the settings."""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels import heap
from cosimlib.kernels.heap import Heap
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type
from cosimlib.slurm.fairshare import Tree
from cosimlib.slurm.limits import ENDED, RUNS, WAITS, Ledger, count_job
from cosimlib.slurm.selection import Machine, give_back, hold, take
from cosimlib.slurm.sorting import precedes

SETTINGS = record_type(
    floats="age fair_share max_age decay period interval least_interval damping "
    "bf_interval bf_window bf_resolution kill_wait over_time_limit requeue_delay message_timeout",
    integers="multifactor fair_tree accrue_always queue_depth partition_depth backfill "
    "bf_max_job_test bf_max_job_user bf_max_job_part bf_max_job_start bf_node_space_size preempts "
    "youngest_first reorder_count is_before_24_11",
)
CLOCK = record_type(
    floats="next_full next_backfill next_period last_pass last_period map_end",
    integers="submitted waiting running is_requested resets passes plans stuck starts "
    "slots tested stopped stopped_nodes overflows",
)
"""When what is due, how long the lists are, and how many passes there were."""
KEY = heap.ROW
RUNNING = record_type(floats="end", integers="job nodes node first")
"""A job that runs: its limit, how many nodes it has, the first of them, and its first place.

What backfill reads most stands here, close together, as the records of jobs are large.
"""
STOPPED = record_type(floats="start end", integers="job preempted_by requeued first")
"""A run that was preempted; `first` is where its nodes are listed."""

PARTITION = record_type(integers="failed looked_at")
"""What a pass of the main loop or of backfill notes of a partition: how many of its jobs it has
looked at, and, in the main loop, whether one of them failed."""

SLOT = record_type(floats="begin end", integers="next")
"""A slot of backfill's map, and the next one; 0 for none."""


class Map(NamedTuple):
    """Backfill's slots in a list that begins with slot 0, the nodes free in each, and sets."""

    slots: np.recarray
    free: np.ndarray
    common: np.ndarray
    found: np.ndarray


class World(NamedTuple):
    """The state of a simulation.

    `queue` lists waiting jobs in order and `running` those that run, by their limit; the clock says
    how many there are. `ends` and `heap` have the jobs that run, by their real end.
    `members` has the nodes of each partition. `partitions` and `by_user` have the counts of one
    pass, which resets them first; `available` has the nodes that the main loop may still use.
    `preempts` says which partition's jobs (or which QOS's) those of another may preempt, and
    `candidates` lists such jobs. `stopped` lists the runs that were preempted, and `stopped_nodes`
    their nodes. `resets` lists when usage is forgotten.
    """

    jobs: np.recarray
    ends: np.recarray
    heap: Heap
    queue: np.ndarray
    running: np.recarray
    room: np.ndarray
    machine: Machine
    map: Map
    tree: Tree
    ledger: Ledger
    members: np.ndarray
    partitions: np.recarray
    by_user: np.ndarray
    available: np.ndarray
    preempts: np.ndarray
    candidates: np.ndarray
    stopped: np.recarray
    stopped_nodes: np.ndarray
    resets: np.ndarray
    settings: np.record
    clock: np.record


@kernel
def enqueue(queue: np.ndarray, clock: np.record, jobs: np.recarray, job: int) -> None:
    """Put a job into the queue, where its rank says."""
    place = clock.waiting
    while place > 0 and precedes(jobs.rank, jobs.submit_time, job, queue[place - 1]):
        queue[place] = queue[place - 1]
        place -= 1
    queue[place] = job
    clock.waiting += 1


@kernel
def drop_started(queue: np.ndarray, clock: np.record, jobs: np.recarray) -> None:
    """Take the jobs that do not wait any more out of the queue."""
    kept = 0
    for place in range(clock.waiting):
        job = queue[place]
        if jobs[job].state == WAITS:
            queue[kept] = job
            kept += 1
    clock.waiting = kept


@kernel
def start(world: World, job: int, now: float) -> None:
    """Let a job begin on the chosen nodes."""
    clock, machine, one = world.clock, world.machine, world.jobs[job]
    one.state, one.began, one.expected_end = RUNS, now, now + one.limit
    one.start_time = now
    if world.settings.youngest_first:
        one.victim_rank = now
    for number in range(one.nodes):
        place = one.first + number
        hold(machine, place, job, one.request, machine.chosen[number])
        take(machine, place, one.expected_end)
    count_job(world.ledger, one, False, 1)
    heap.push(world.ends, world.heap, job, now + one.run_time)
    _list_running(world.running, clock, job, one, machine.places[one.first].node)
    clock.starts += 1


@kernel
def stop(world: World, job: int, now: float) -> None:
    """End a job's run: give its nodes back."""
    clock, one = world.clock, world.jobs[job]
    one.state, one.end_time = ENDED, now
    heap.remove(world.ends, world.heap, job)
    for place in range(one.first, one.first + one.nodes):
        give_back(world.machine, place)
    count_job(world.ledger, one, False, -1)
    count_job(world.ledger, one, True, -1)
    _unlist_running(world.running, clock, job)
    clock.is_requested = 1


@kernel
def end_by(world: World, job: int, end: float) -> None:
    """Let a running job end at a time at the latest, which is before its limit."""
    one, machine, running = world.jobs[job], world.machine, world.running
    if one.began + one.run_time > end:
        heap.decrease_key(world.ends, world.heap, job, end)
    if one.expected_end <= end:
        return
    _unlist_running(running, world.clock, job)
    one.expected_end = end
    _list_running(running, world.clock, job, one, machine.places[one.first].node)
    for place in range(one.first, one.first + one.nodes):
        give_back(machine, place)
        take(machine, place, end)


@kernel
def _list_running(
    running: np.recarray, clock: np.record, job: int, one: np.record, node: int
) -> None:
    """Put a job, whose first node is given, among those that run."""
    place = clock.running
    while place > 0 and _ends_later(running[place - 1], one.expected_end, job):
        running[place] = running[place - 1]
        place -= 1
    here = running[place]
    here.end, here.job, here.nodes, here.first = one.expected_end, job, one.nodes, one.first
    here.node = node
    clock.running += 1


@kernel
def _unlist_running(running: np.recarray, clock: np.record, job: int) -> None:
    """Take a job out of those that run."""
    place = 0
    while running[place].job != job:
        place += 1
    last: int = clock.running - 1
    clock.running = last
    for later in range(place, last):
        running[later] = running[later + 1]


@kernel
def _ends_later(one: np.record, end: float, job: int) -> bool:
    """Whether a job's limit is after that of another; of equal ones the later job is later."""
    return bool(one.end > end or (one.end == end and one.job > job))
