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
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.timesharing import maxmin
from cosimlib.timesharing.maxmin import BLOCK, Sharing, signed

DONE, PAUSED, NEEDS_SLOTS = 0, 1, 2
REFUSED, STARTED, NO_SLOT = 0, 1, 2

STEP = 10.0
"""Seconds of a step."""

ROUNDING = 1e-9
"""Part of a step that counts as nothing."""

SPARE = 1e-9
"""Gigabytes that count as nothing."""

NOISE = 0.001
"""Probability that a node is slowed in a step, as the paper's own numbers need it."""

SLOWEST = 0.5
"""The least speed of a slowed node."""

RUN = record_type(
    floats="speed step now total present freed restore",
    integers="spmd placed fcfs submitted queued slowed drawn unfinished",
)
"""A simulation: its knobs and how far it has come.

- `speed`: a node's capacity without overhead; `step` (s): 0 for exact times
- `spmd`: jobs run everywhere at the speed of their slowest node; `placed`: the jobs' nodes are
  given; `fcfs`: no job passes one that waits for memory
- `now` (s): the instant up to which all is integrated; `unfinished`: 1 if that instant broke off
  for want of slots, so that it is to be finished
- `total`, `present`: the sums of rates × nodes and of nodes over the jobs present
- `submitted`: how many jobs are; `queued`: length of the list of jobs that wait
- `freed`: on how many nodes memory came free so far
- `slowed`: length of the list of slowed nodes; `restore` (s): when these have their speed back
- `drawn`: how many of the slowdowns that are drawn have passed
"""

SLOWDOWN = record_type(floats="time speed", integers="node")
"""A slowdown: start of the step (s), node, speed of the node in that step."""


class Lists(NamedTuple):
    """Lists of the event loop: jobs that wait for memory, in order, and nodes that are slowed.

    The record of the simulation has their lengths, `queued` and `slowed`.
    """

    queue: np.ndarray
    slowed: np.ndarray


class Series(NamedTuple):
    """Integrals over windows of `width` seconds from `begin` on.

    Columns: node-seconds of useful work, jobs × nodes × seconds present, jobs × seconds waiting.
    """

    begin: float
    width: float
    sums: np.ndarray


def empty_lists(sharing: Sharing) -> Lists:
    """No job waits, and no node is slowed."""
    return Lists(np.empty(sharing.jobs.size, np.int64), np.empty(sharing.nodes.size, np.int64))


def no_noise() -> np.recarray:
    """No slowdowns."""
    return records(0, SLOWDOWN)


def noise_between(
    rng: np.random.Generator, total_nodes: int, begin: float, until: float, step: float, p: float
) -> np.recarray:
    """The noise of the steps that begin from `begin` to before `until`."""
    if not p:
        return no_noise()
    first = math.ceil(begin / step - ROUNDING)
    steps = math.ceil(until / step - ROUNDING) - first
    return draw_noise(rng, total_nodes, first * step, steps, step, p)


def draw_noise(
    rng: np.random.Generator, total_nodes: int, begin: float, steps: int, step: float, p: float
) -> np.recarray:
    """The noise of `steps` steps from `begin` on; each node is slowed with probability `p`."""
    places = total_nodes * steps
    struck = [np.empty(0, np.int64)]
    last = -1
    while p > 0 and last < places:
        gaps = rng.geometric(p, size=max(16, int(1.1 * (places - last) * p)))
        # No gap need be longer than all there is: sums of those of a tiny p would overflow.
        gaps = np.minimum(gaps, places + 1)
        struck.append(last + np.cumsum(gaps))
        last = int(struck[-1][-1])
    at = np.concatenate(struck)
    at = at[at < places]
    speed = rng.uniform(SLOWEST, 1.0, at.size)
    time = begin + at // total_nodes * step
    return records(at.size, SLOWDOWN, time=time, node=at % total_nodes, speed=speed)


@kernel
def advance(
    sharing: Sharing,
    run: np.record,
    lists: Lists,
    noise: np.recarray,
    series: Series,
    until: float,
) -> int:
    """Simulate up to `until`; DONE, PAUSED there, or NEEDS_SLOTS where a row of jobs is full.

    With more slots it can then be called again for the same instant.
    """
    while True:
        now = run.now if run.unfinished else next_instant(sharing, run, noise)
        reached = now < until and now < np.inf
        edge = now if reached else until
        _integrate(run, series, edge if now < np.inf else -np.inf)
        if not reached:
            return DONE if now == np.inf else PAUSED
        run.unfinished = 1
        _end_jobs(sharing, run, now)
        _slow_down(sharing, run, lists.slowed, noise, now)
        if not _admit(sharing, run, lists.queue, now):
            return NEEDS_SLOTS
        if run.spmd:
            maxmin.settle(sharing, maxmin.MOST_ROUNDS)
        _update_ends(sharing, run, now)
        run.unfinished = 0


@kernel
def next_instant(sharing: Sharing, run: np.record, noise: np.recarray) -> float:
    """Time of the next event (s); infinite once all jobs are done."""
    jobs, finish, instant = sharing.jobs, sharing.finish, np.inf
    if run.submitted == jobs.size and finish.state.length == 0:
        return np.inf
    if run.submitted < jobs.size:
        instant = jobs[run.submitted].submit_time
    if finish.state.length > 0:
        instant = min(instant, jobs[finish.items[0]].key)
    elif run.queued == 0:
        return max(instant, run.now)
    if run.slowed > 0:
        instant = min(instant, run.restore)
    if run.drawn < noise.size:
        instant = min(instant, noise[run.drawn].time)
    return max(instant, run.now)


@kernel
def _end_jobs(sharing: Sharing, run: np.record, now: float) -> None:
    """Jobs that are done leave."""
    jobs, finish = sharing.jobs, sharing.finish
    while finish.state.length > 0 and jobs[finish.items[0]].key <= now:
        job = heap.pop(jobs, finish)
        nodes, memory = jobs[job].last - jobs[job].first, jobs[job].memory
        jobs[job].end_time = now
        maxmin.record_change(sharing, job)
        run.present -= nodes
        if run.spmd:
            maxmin.leave(sharing, job)
        else:
            maxmin.leave_equally(sharing, job)
        if memory > 0.0:
            run.freed += nodes
            for place in range(jobs[job].first, jobs[job].last):
                sharing.nodes[signed(sharing.members[place])].memory += memory


@kernel
def _slow_down(
    sharing: Sharing, run: np.record, slowed: np.ndarray, noise: np.recarray, now: float
) -> None:
    """Nodes whose slow step is over have their speed back; others are slowed for a step."""
    # Instants are a step apart at least; late times are rounded.
    latest = now + 0.5 * run.step
    if run.slowed > 0 and run.restore <= latest:
        for place in range(run.slowed):
            maxmin.resize(sharing, slowed[place], run.speed, run.spmd)
        run.slowed = 0
    # Nothing but idle time is passed over: else every step with noise is an instant.
    while run.drawn < noise.size and noise[run.drawn].time <= latest:
        slowdown = noise[run.drawn]
        run.drawn += 1
        if slowdown.time >= now - 0.5 * run.step:
            maxmin.resize(sharing, slowdown.node, run.speed * slowdown.speed, run.spmd)
            slowed[run.slowed] = slowdown.node
            run.slowed += 1
            run.restore = slowdown.time + run.step


@kernel
def _admit(sharing: Sharing, run: np.record, queue: np.ndarray, now: float) -> bool:
    """Start what there is memory for: the queue in order, then the jobs submitted now.

    All of these join the queue first; with one look at each, what cannot start stays in order.
    """
    jobs, kept, has_slots = sharing.jobs, 0, True
    while run.submitted < jobs.size and jobs[run.submitted].submit_time <= now:
        queue[run.queued] = run.submitted
        run.queued += 1
        run.submitted += 1
    for place in range(run.queued):
        job = queue[place]
        outcome = REFUSED
        if has_slots and (kept == 0 or not run.fcfs) and run.freed >= jobs[job].freed_needed:
            outcome = _start(sharing, run, job, now)
        has_slots = has_slots and outcome != NO_SLOT
        if outcome != STARTED:
            queue[kept] = job
            kept += 1
    run.queued = kept
    return has_slots


@kernel
def _start(sharing: Sharing, run: np.record, number: int, now: float) -> int:
    """Start a job if there is memory for it: STARTED, REFUSED, or NO_SLOT in a row of jobs."""
    job, nodes = sharing.jobs[number], sharing.nodes
    missing = _place(sharing, number, run.placed)
    if missing > 0:
        job.freed_needed = run.freed + missing
        return REFUSED
    for place in range(job.first, job.last):
        if nodes[signed(sharing.members[place])].load == sharing.on.shape[1]:
            return NO_SLOT
    for place in range(job.first, job.last):
        node = signed(sharing.members[place])
        nodes[node].memory -= job.memory
        block = sharing.blocks[node // BLOCK]
        block.least_free = min(block.least_free, nodes[node].memory)
    if run.spmd:
        maxmin.join(sharing, number)
    else:
        maxmin.join_equally(sharing, number)
    job.start_time = job.updated = now
    run.present += job.last - job.first
    return STARTED


@kernel
def _place(sharing: Sharing, number: int, placed: int) -> int:
    """Place a job on the nodes with the fewest jobs that have memory for it; ties by node number.

    Returns how many more nodes need the memory; 0 if there are enough. Where the job is `placed`
    already, they are its own.
    """
    job, nodes = sharing.jobs[number], sharing.nodes
    least, wanted = job.memory - SPARE, job.last - job.first
    if placed:
        for member in range(job.first, job.last):
            wanted -= nodes[signed(sharing.members[member])].memory >= least
        return wanted
    _count_nodes(sharing, least)
    bound = 0
    while bound < sharing.loads.size and sharing.loads[bound].tally < wanted:
        wanted -= sharing.loads[bound].tally
        bound += 1
    if bound == sharing.loads.size:
        return wanted
    _take_least_loaded(sharing, number, bound, wanted)
    return 0


@kernel
def _count_nodes(sharing: Sharing, least: float) -> None:
    """Tally the nodes with so much memory free by their number of jobs.

    All that there are, but for those that lack it: only in blocks with less can there be any.
    """
    nodes, loads = sharing.nodes, sharing.loads
    for load in range(loads.size):
        loads[load].tally = loads[load].nodes
    for first in range(0, nodes.size, BLOCK):
        block = sharing.blocks[first // BLOCK]
        if block.least_free >= least:
            continue
        free = np.inf
        for node in range(first, min(nodes.size, first + BLOCK)):
            loads[nodes[node].load].tally -= nodes[node].memory < least
            free = min(free, nodes[node].memory)
        block.least_free = free


@kernel
def _take_least_loaded(sharing: Sharing, number: int, bound: int, wanted: int) -> None:
    """Place a job on the nodes with fewer jobs than `bound`, and on `wanted` with as many.

    A block of nodes is passed over if all have more jobs; one that is looked at has its bound anew.
    """
    job, nodes = sharing.jobs[number], sharing.nodes
    member, least = job.first, job.memory - SPARE
    for first in range(0, nodes.size, BLOCK):
        block = sharing.blocks[first // BLOCK]
        if block.least_load >= bound + (wanted > 0):
            continue
        fewest = bound + 1
        for node in range(first, min(nodes.size, first + BLOCK)):
            load = nodes[node].load
            fewest = min(fewest, load)
            if load > bound or nodes[node].memory < least or (load == bound and wanted == 0):
                continue
            wanted -= load == bound
            sharing.members[member] = node
            member += 1
            if member == job.last:
                return
        block.least_load = fewest


@kernel
def _update_ends(sharing: Sharing, run: np.record, now: float) -> None:
    """Update work left and expected end of the jobs whose rate changed."""
    for place in range(sharing.counts.changed):
        number = sharing.changed[place]
        job = sharing.jobs[number]
        job.is_changed = False
        run.total += (job.rate - job.before) * (job.last - job.first)
        if job.rate > 0.0:
            job.work_left -= job.before * (now - job.updated)
            job.updated = now
            end = now + max(0.0, job.work_left) / job.rate
            if run.step > 0.0:
                end = run.step * np.ceil(end / run.step - ROUNDING)
            heap.push(sharing.jobs, sharing.finish, number, end)
    sharing.counts.changed = 0


@kernel
def _integrate(run: np.record, series: Series, until: float) -> None:
    """Add up work, presence and waiting since the last instant, window by window."""
    now = run.now
    while now < until:
        window = int((now - series.begin) // series.width)
        edge = min(until, series.begin + (window + 1) * series.width)
        if edge <= now:
            edge = until
        series.sums[window, 0] += run.total * (edge - now)
        series.sums[window, 1] += run.present * (edge - now)
        series.sums[window, 2] += run.queued * (edge - now)
        now = edge
    run.now = max(run.now, until)
