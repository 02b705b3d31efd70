"""Which nodes a job gets: what nodes have idle, where a request fits and when, and which it takes.

Places in Slurm: ``src/plugins/select/cons_tres/job_test.c`` (`jt`) and
``src/plugins/topology/common/eval_nodes.c`` (`en`).

- A *request* is what a job asks of each node: cores, memory (MB), GPUs, features, whole nodes or
  not, and a partition. It fits on a node of its partition with these features that has so much
  idle. A job on whole nodes takes all cores, and needs a node without jobs.
- *One node* (`jt` ``_get_one_res``): the node of the lowest weight, then the first in order. Before
  Slurm 26.05 it is chosen as several are.
- *Several nodes* (`en` ``_eval_nodes_consec``): runs of neighboring nodes of one weight. While
  nodes are missing, the job takes from the run of the lowest weight; of equal ones the first that
  holds all the rest, or one with fewer idle cores that does; if none does, the one with most.
  Within a run nodes are taken in order; a last single node is the one with fewest idle cores that
  are enough. Each node counts with its idle cores, up to those that are still missing.
- *When* a request fits on a node: as running jobs end at their limits, in the order of their ends.
  What a node has then depends on this node alone, so that one time per request and node says it.
"""

from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type
from cosimlib.slurm.bits import ONE, WORD, exclude, has, include, lowest_of, size_of

NOWHERE, NOBODY = -1, -1
LAST = np.iinfo(np.int64).max
"""In the place of the last of the jobs that end at a time: all of them."""
MOST_TIMES = 2**23
"""Times that are kept at most: rows of requests × nodes."""

NODE = record_type(
    floats="memory used_memory", integers="cores gpus weight used_cores used_gpus jobs head"
)
"""A node, and the first of the list of what jobs hold of it, the earliest end first."""
REQUEST = record_type(floats="memory", integers="cores gpus is_whole all_memory part")
"""What a job asks of each node. `all_memory`: of a node's memory it takes all."""
PLACE = record_type(floats="end memory", integers="node job next is_gone cores gpus")
"""What a job holds of a node, until its limit, and the next of the node's list.

`is_gone` while it is asked what would be if the job had stopped: then it is not counted as used.
"""
ROW = record_type(integers="request position fitting")
"""Whose times a row has, how much of the list of changes it has seen, on how many nodes it fits."""
RUN = record_type(integers="first last nodes cores weight")
COUNT = record_type(integers="changes chosen is_before_26_05")
"""Lengths of `changed` and `chosen`, and the release."""


class Machine(NamedTuple):
    """Nodes, and the requests that come to them.

    `eligible` has the nodes that have a request's features and enough of everything; `considered`
    those that have too few GPUs, too, as backfill looks at them first. A row of `times` says when a
    request fits on each node, −inf for now, NaN for never, `lasts` which job ends last by then, and
    `fits` where it fits now. The last row is free for questions of what would be. `changed` lists
    the nodes that changed lately, round and round. `chosen` lists the nodes of the job that is
    looked at, and `idle` has their idle cores.
    """

    nodes: np.recarray
    requests: np.recarray
    places: np.recarray
    eligible: np.ndarray
    considered: np.ndarray
    rows: np.recarray
    times: np.ndarray
    lasts: np.ndarray
    fits: np.ndarray
    changed: np.ndarray
    chosen: np.ndarray
    idle: np.ndarray
    runs: np.recarray
    counts: np.record


@kernel
def take(machine: Machine, place: int, end: float) -> None:
    """Let a job hold a node until a time at most; equal ends are in the order of jobs."""
    _change(machine, place, 1)
    one, node = machine.places[place], machine.nodes[machine.places[place].node]
    one.end = end
    before, after = NOWHERE, node.head
    while after >= 0 and has_ended(machine.places[after], end, one.job):
        before, after = after, machine.places[after].next
    one.next = after
    if before < 0:
        node.head = place
    else:
        machine.places[before].next = place


@kernel
def give_back(machine: Machine, place: int) -> None:
    """Let a job give a node back."""
    _change(machine, place, -1)
    node = machine.nodes[machine.places[place].node]
    if node.head == place:
        node.head = machine.places[place].next
        return
    before = node.head
    while machine.places[before].next != place:
        before = machine.places[before].next
    machine.places[before].next = machine.places[place].next


@kernel
def hold(machine: Machine, place: int, job: int, number: int, node: int) -> None:
    """Set what a job with a request holds of a node in a place."""
    one, request, own = machine.places[place], machine.requests[number], machine.nodes[node]
    one.job, one.node = job, node
    one.cores = own.cores if request.is_whole else request.cores
    one.memory = own.memory if request.all_memory else request.memory
    one.gpus = request.gpus


@kernel
def _change(machine: Machine, place: int, sign: int) -> None:
    """Take what a place holds from its node, or give it back, and note the node."""
    _count(machine, place, sign)
    machine.changed[machine.counts.changes % machine.changed.size] = machine.places[place].node
    machine.counts.changes += 1


@kernel
def set_gone(machine: Machine, place: int, is_gone: int) -> None:
    """Take a job for gone from a node for a while, or no longer; rows of times do not notice."""
    machine.places[place].is_gone = is_gone
    _count(machine, place, -1 if is_gone else 1)


@kernel
def _count(machine: Machine, place: int, sign: int) -> None:
    """Count what a place holds as used, or no longer."""
    one, node = machine.places[place], machine.nodes[machine.places[place].node]
    node.used_cores += sign * one.cores
    node.used_memory += sign * one.memory
    node.used_gpus += sign * one.gpus
    node.jobs += sign


@kernel
def place_of(rows: np.recarray, number: int) -> int:
    """Which row is that of a request's times; it may still be that of another request."""
    return number % (rows.size - 1)


@kernel
def is_up_to_date(row: np.record, number: int, changes: int) -> bool:
    """Whether a row is that of a request, and has seen all changes: `row_of` would do nothing.

    To ask first is faster, as a call with the machine counts references to all of its arrays.
    """
    return row.request == number and row.position == changes


@kernel
def row_of(machine: Machine, number: int) -> int:
    """The row of a request's times, brought up to date."""
    row = place_of(machine.rows, number)
    state, changes = machine.rows[row], machine.counts.changes
    if state.request != number or changes - state.position >= machine.changed.size:
        state.request = number
        for node in range(machine.nodes.size):
            _look(machine, number, row, node)
    else:
        for position in range(state.position, changes):
            _look(machine, number, row, machine.changed[position % machine.changed.size])
    state.position = changes
    return row


@kernel
def row_without(machine: Machine, number: int) -> int:
    """The row of a request's times as if the jobs that are gone had stopped."""
    row = machine.rows.size - 1
    for node in range(machine.nodes.size):
        _look(machine, number, row, node)
    return row


@kernel
def _look(machine: Machine, number: int, row: int, node: int) -> None:
    """Set when a request fits on a node."""
    machine.times[row, node], fits = np.nan, machine.fits[row]
    machine.rows[row].fitting -= has(fits, node)
    exclude(fits, node)
    if has(machine.eligible[number], node):
        time, last = time_of(machine, number, node)
        machine.times[row, node], machine.lasts[row, node] = time, last
        if time == -np.inf:
            include(fits, node)
            machine.rows[row].fitting += 1


@kernel
def time_of(machine: Machine, number: int, node: int) -> tuple[float, int]:
    """When a request fits on an eligible node, if jobs run until their limits; −inf for now.

    And the job that ends last by then, in the order of ends and jobs.
    """
    request, one = machine.requests[number], machine.nodes[node]
    cores, gpus, jobs = one.cores - one.used_cores, one.gpus - one.used_gpus, one.jobs
    memory = one.memory - one.used_memory
    time, last, place = -np.inf, NOBODY, one.head
    while not _is_enough(request, one, cores, memory, gpus, jobs):
        held = machine.places[place]
        if not held.is_gone:
            cores += held.cores
            memory += held.memory
            gpus += held.gpus
            jobs -= 1
            time, last = held.end, held.job
        place = held.next
    return time, last


@kernel
def _is_enough(
    request: np.record, node: np.record, cores: int, memory: float, gpus: int, jobs: int
) -> bool:
    """Whether what a node has idle is enough for a request."""
    if request.is_whole and jobs > 0:
        return False
    memory_needed = node.memory if request.all_memory else request.memory
    return cores >= request.cores and memory >= memory_needed and gpus >= request.gpus


@kernel
def has_ended(held: np.record, time: float, last: int) -> bool:
    """Whether a job that runs until its limit has ended: by a time, or then and not after a job."""
    return bool(held.end < time or (held.end == time and held.job <= last))


@kernel
def choose(
    machine: Machine, number: int, members: np.ndarray, wanted: int, time: float, last: int
) -> None:
    """List in `chosen` which nodes of a set, that has enough of them, a job takes.

    Idle cores are those once all limits before a time have passed, and of the jobs that end at that
    time those that are not after the last one.
    """
    machine.counts.chosen = 0
    if wanted == 1 and not machine.counts.is_before_26_05:
        _take_node(machine, _lightest(machine, members))
        return
    request = machine.requests[number]
    runs = _find_runs(machine, request, members, time, last)
    missing, cores = wanted, wanted * request.cores
    while missing > 0 and runs > 0:
        run = machine.runs[_best_run(machine.runs, runs, missing, cores)]
        if missing == 1:
            node = _tightest(machine, members, run, cores)
            if node >= 0:
                _take_node(machine, node)
                return
        for node in range(run.first, run.last + 1):
            if missing <= 0 and cores <= 0:
                break
            if missing > 0 and has(members, node):
                _take_node(machine, node)
                counted = machine.idle[node]
                if not request.is_whole:
                    counted = max(request.cores, min(counted, cores - (missing - 1)))
                missing -= 1
                cores -= counted
        run.nodes = 0


@kernel
def _take_node(machine: Machine, node: int) -> None:
    """Add a node to the chosen ones."""
    machine.chosen[machine.counts.chosen] = node
    machine.counts.chosen += 1


@kernel
def _idle_cores(
    places: np.recarray, one: np.record, request: np.record, time: float, last: int
) -> int:
    """Idle cores of a node at a time; a job on whole nodes counts all."""
    if request.is_whole:
        return one.cores
    cores, place = one.cores - one.used_cores, one.head
    while place >= 0 and has_ended(places[place], time, last):
        if not places[place].is_gone:
            cores += places[place].cores
        place = places[place].next
    return cores


@kernel
def _lightest(machine: Machine, members: np.ndarray) -> int:
    """The node of the lowest weight, then the first."""
    best = NOWHERE
    for number in range(members.size):
        word = members[number]
        while word:
            node = number * WORD + lowest_of(word)
            if best < 0 or machine.nodes[node].weight < machine.nodes[best].weight:
                best = node
            word = word & (word - ONE)
    return best


@kernel
def _find_runs(
    machine: Machine, request: np.record, members: np.ndarray, time: float, last: int
) -> int:
    """List the runs of neighboring nodes of one weight in a set; how many there are."""
    nodes, places, runs, idle = machine.nodes, machine.places, machine.runs, machine.idle
    size, previous = 0, NOWHERE - 1
    for number in range(members.size):
        word = members[number]
        while word:
            node = number * WORD + lowest_of(word)
            weight = nodes[node].weight
            if node != previous + 1 or runs[size - 1].weight != weight:
                run = runs[size]
                run.first, run.nodes, run.cores, run.weight = node, 0, 0, weight
                size += 1
            run = runs[size - 1]
            run.last = node
            run.nodes += 1
            idle[node] = _idle_cores(places, nodes[node], request, time, last)
            run.cores += idle[node]
            previous = node
            word = word & (word - ONE)
    return size


@kernel
def _best_run(runs: np.recarray, size: int, missing: int, cores: int) -> int:
    """The run to take from next, while some have nodes."""
    best, best_is_enough = NOWHERE, False
    for number in range(size):
        run = runs[number]
        if run.nodes == 0:
            continue
        is_enough = run.cores >= cores and run.nodes >= missing
        is_better = best < 0 or run.weight < runs[best].weight
        if not is_better and run.weight == runs[best].weight:
            if is_enough:
                is_better = not best_is_enough or run.cores < runs[best].cores
            else:
                is_better = run.cores > runs[best].cores
        if is_better:
            best, best_is_enough = number, is_enough
    return best


@kernel
def _tightest(machine: Machine, members: np.ndarray, run: np.record, cores: int) -> int:
    """The first node of a run with the fewest idle cores that are enough; −1 if none has enough."""
    best, idle = NOWHERE, machine.idle
    for node in range(run.first, run.last + 1):
        if has(members, node) and idle[node] >= cores and (best < 0 or idle[node] < idle[best]):
            best = node
    return best


@kernel
def count_common(one: np.ndarray, other: np.ndarray, result: np.ndarray) -> int:
    """Set `result` to what two sets have in common; its size."""
    for number in range(one.size):
        result[number] = one[number] & other[number]
    return size_of(result)
